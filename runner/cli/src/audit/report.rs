//! What an audit comes to, as data. The main type is [`Audit`], which `--json` writes (format [`FORMAT`]).

use super::finding::{Finding, Out, Severity, Unjudged};
use super::grade::Grade;
use super::rules::{self, Judge, RULES};
use super::tool::Provider;
use cetp_reports::model::Program;
use cetp_vectors::contract;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The value of `format`.
pub const FORMAT: &str = "cetp-tool-audit/1";

/// What an audit is, in its own words.
pub const NOTICE: &str = "This is advice. It is no verdict, and no claim rests on it.";

/// A whole audit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Audit {
    /// `cetp-tool-audit/1`.
    #[schemars(extend("const" = FORMAT))]
    pub format: String,
    /// The program that made it.
    pub program: Program,
    /// What it is and is not.
    pub notice: String,
    /// Those whose tools were looked at, in the order of the command line.
    pub providers: Vec<ProviderRow>,
    /// Every row of the ledger, sorted by id.
    pub requirements: Vec<RequirementRow>,
    /// What was found, sorted by provider, tool, requirement and pointer.
    pub findings: Vec<Finding>,
    /// What was not judged, sorted by requirement.
    pub not_judged: Vec<NotJudged>,
    /// Entries of the list of accepted findings that match nothing.
    pub stale: Vec<String>,
}

/// Somebody who lists tools.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProviderRow {
    /// How it was named on the command line.
    pub provider: String,
    /// What it calls itself: `provider_id`; null where it does not say.
    pub provider_id: Option<String>,
    /// How many tools were looked at.
    pub tool_count: usize,
    /// Bytes of all descriptors as compact JSON.
    pub bytes: usize,
    /// Bytes of the schemas among them.
    pub schema_bytes: usize,
    /// What a reader has to know about the listing.
    pub notes: Vec<String>,
    /// The tools, in the order of the listing.
    pub tools: Vec<ToolRow>,
}

/// A tool.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ToolRow {
    /// Its name. ` (v1)` follows where only the listing of v1 has it so.
    pub tool: String,
    /// The form of its descriptor.
    #[schemars(extend("enum" = ["cetp-v2", "cetp-v1", "mcp"]))]
    pub form: String,
    /// Its grade; null where neither annotations nor name say.
    pub grade: Option<Grade>,
    /// Why it has that grade, or none.
    pub because: String,
    /// Findings of the severity `finding` that are not accepted.
    pub findings: usize,
    /// Findings of the severity `hint` that are not accepted.
    pub hints: usize,
    /// Findings of both that are accepted.
    pub accepted: usize,
}

/// A row of the ledger.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RequirementRow {
    /// Its id.
    pub requirement: String,
    /// Its weight in the ledger.
    #[schemars(extend("enum" = ["advice", "warning", "error"]))]
    pub weight: String,
    /// Chapters of the text.
    pub chapter: String,
    /// The requirement in words.
    pub text: String,
    /// Whether a listing shows all of it, a part, or nothing.
    #[schemars(extend("enum" = ["whole", "part", "nothing"]))]
    pub judged: String,
    /// Requirements of CETP v2 whose vectors judge the same thing, or the part that a listing does not show.
    pub vectors: Vec<String>,
    /// Findings of the severity `finding` that are not accepted.
    pub findings: usize,
    /// Findings of the severity `hint` that are not accepted.
    pub hints: usize,
    /// Findings of both that are accepted.
    pub accepted: usize,
}

/// Something that was not judged.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NotJudged {
    /// Id of the ledger.
    pub requirement: String,
    /// Why.
    pub reason: String,
    /// Of whom; empty where it is so for every tool of every provider.
    pub of: Vec<Whose>,
    /// Requirements of CETP v2 whose vectors judge the same thing.
    pub vectors: Vec<String>,
}

/// A provider or one of its tools.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Whose {
    /// The provider, as it was named on the command line.
    pub provider: String,
    /// The tool; null for all of the provider.
    pub tool: Option<String>,
}

/// How many of some findings there are.
#[derive(Clone, Copy, Default)]
pub struct Count {
    /// Plain ones.
    pub findings: usize,
    /// Signs.
    pub hints: usize,
    /// Both, where accepted.
    pub accepted: usize,
}

impl Count {
    /// Counts.
    pub fn of<'f>(findings: impl Iterator<Item = &'f Finding>) -> Count {
        let mut count = Count::default();
        for finding in findings {
            match (&finding.accepted, finding.severity) {
                (Some(_), _) => count.accepted += 1,
                (None, Severity::Finding) => count.findings += 1,
                (None, Severity::Hint) => count.hints += 1,
            }
        }
        count
    }
}

impl Audit {
    /// Puts together what the rules have said.
    pub fn new(providers: &[Provider], out: Out, version: &str) -> Audit {
        let Out { findings, unjudged } = out;
        Audit {
            format: FORMAT.to_owned(),
            program: Program { name: "cetp-conformance".into(), version: version.to_owned() },
            notice: NOTICE.to_owned(),
            providers: providers.iter().map(provider_row).collect(),
            requirements: requirement_rows(),
            findings,
            not_judged: not_judged(unjudged),
            stale: Vec::new(),
        }
    }

    /// Counts anew what is accepted and what is not.
    pub fn count(&mut self) {
        for provider in &mut self.providers {
            let label = &provider.provider;
            for row in &mut provider.tools {
                let mine = |f: &&Finding| f.provider == *label && f.tool.as_ref() == Some(&row.tool);
                let count = Count::of(self.findings.iter().filter(mine));
                (row.findings, row.hints, row.accepted) = (count.findings, count.hints, count.accepted);
            }
        }
        for row in &mut self.requirements {
            let count = Count::of(self.findings.iter().filter(|f| f.requirement == row.requirement));
            (row.findings, row.hints, row.accepted) = (count.findings, count.hints, count.accepted);
        }
    }
}

fn provider_row(provider: &Provider) -> ProviderRow {
    let (bytes, schema_bytes) = rules::bytes(provider);
    let tools = provider.tools.iter().map(|tool| ToolRow {
        tool: tool.shown(),
        form: tool.form.name().to_owned(),
        grade: tool.graded.grade,
        because: tool.graded.because.clone(),
        findings: 0,
        hints: 0,
        accepted: 0,
    });
    ProviderRow {
        provider: provider.label.clone(),
        provider_id: provider.info["provider_id"].as_str().map(str::to_owned),
        tool_count: provider.tools.len(),
        bytes,
        schema_bytes,
        notes: provider.notes.clone(),
        tools: tools.collect(),
    }
}

fn vectors_of(id: &str) -> Vec<String> {
    let rule = RULES.iter().find(|rule| rule.id == id);
    rule.map(|rule| rule.vectors.iter().map(|id| (*id).to_owned()).collect()).unwrap_or_default()
}

fn requirement_rows() -> Vec<RequirementRow> {
    let judged = |id: &str| match RULES.iter().find(|rule| rule.id == id) {
        None => "nothing",
        Some(rule) if matches!(rule.judge, Judge::No(_)) => "nothing",
        Some(rule) if !rule.beyond.is_empty() => "part",
        Some(_) => "whole",
    };
    let row = |row: &contract::Row| RequirementRow {
        requirement: row.id.clone(),
        weight: row.weight.clone(),
        chapter: row.chapter.clone(),
        text: row.text.clone(),
        judged: judged(&row.id).to_owned(),
        vectors: vectors_of(&row.id),
        findings: 0,
        hints: 0,
        accepted: 0,
    };
    contract::ledger().requirements.iter().map(row).collect()
}

/// One row a reason, with those that it is so for.
fn not_judged(unjudged: Vec<Unjudged>) -> Vec<NotJudged> {
    let mut rows: BTreeMap<(String, String), Vec<Whose>> = BTreeMap::new();
    for Unjudged { requirement, reason, provider, tool } in unjudged {
        let of = rows.entry((requirement, reason)).or_default();
        of.extend(provider.map(|provider| Whose { provider, tool }));
    }
    let row = |((requirement, reason), of): ((String, String), Vec<Whose>)| {
        let vectors = vectors_of(&requirement);
        NotJudged { requirement, reason, of, vectors }
    };
    rows.into_iter().map(row).collect()
}

/// The JSON Schema of the format, as it lies in `reports/tool-audit.schema.json`.
pub fn schema() -> Json {
    let mut schema = schemars::schema_for!(Audit).to_value();
    schema["title"] = "Audit of tool contracts by the CETP conformance suite".into();
    schema
}
