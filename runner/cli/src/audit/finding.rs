//! What an audit has to say. The main types are [`Finding`] and [`Desk`], where a rule lays its findings down.

use super::tool::{Provider, Tool};
use cetp_reports::text::clip;
use schemars::JsonSchema;
use serde::Serialize;

/// Findings of one requirement about one tool that are told one by one.
const MOST_OF_A_KIND: usize = 20;

/// Characters of a text of a provider that are repeated.
const MOST_CHARS: usize = 160;

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A sentence of the text is plainly missed.
    Finding,
    /// A sign that one may be: a list of words or a number that the text does not give.
    Hint,
}

impl Severity {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Finding => "finding",
            Severity::Hint => "hint",
        }
    }
}

/// One thing to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Finding {
    /// The provider, as it was named on the command line.
    pub provider: String,
    /// The tool; null where it is about the set of tools. ` (v1)` follows the name where only the listing of v1 has it so.
    pub tool: Option<String>,
    /// Id of the ledger, for example `TC-04`.
    pub requirement: String,
    /// How sure it is.
    pub severity: Severity,
    /// JSON Pointer into the descriptor, or, where `tool` is null, into what the provider says of itself.
    pub pointer: String,
    /// What was seen.
    pub seen: String,
    /// What to do.
    pub advice: String,
    /// Why it is accepted, where it is.
    pub accepted: Option<String>,
}

/// Something that was not judged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unjudged {
    /// Id of the ledger.
    pub requirement: String,
    /// Why.
    pub reason: String,
    /// The provider; nothing where it is so for all.
    pub provider: Option<String>,
    /// The tool; nothing where it is so for all.
    pub tool: Option<String>,
}

/// What rules have laid down.
#[derive(Debug, Default)]
pub struct Out {
    /// The findings.
    pub findings: Vec<Finding>,
    /// What was not judged.
    pub unjudged: Vec<Unjudged>,
}

impl Out {
    /// Of what was laid down since there were `from` findings, takes out what was said twice and counts what would be too much.
    pub fn fold(&mut self, from: usize) {
        let mut new = self.findings.split_off(from);
        new.sort();
        new.dedup();
        let of_a_kind = |a: &Finding, b: &Finding| {
            (&a.provider, &a.tool, &a.requirement, a.severity) == (&b.provider, &b.tool, &b.requirement, b.severity)
        };
        for kind in new.chunk_by(of_a_kind) {
            self.findings.extend(kind.iter().take(MOST_OF_A_KIND).cloned());
            if let Some(next) = kind.get(MOST_OF_A_KIND) {
                let seen = format!("{} more like these, from here on.", kind.len() - MOST_OF_A_KIND);
                self.findings.push(Finding { seen, ..next.clone() });
            }
        }
    }

    /// Brings everything into its order.
    pub fn settle(&mut self) {
        self.findings.sort();
        self.unjudged.sort();
        self.unjudged.dedup();
    }
}

/// Where a rule lays down what it finds about one tool, or about a provider.
pub struct Desk<'d> {
    requirement: &'static str,
    provider: &'d Provider,
    tool: Option<&'d Tool>,
    out: &'d mut Out,
}

impl<'d> Desk<'d> {
    /// A desk for a requirement.
    pub fn new(
        requirement: &'static str,
        provider: &'d Provider,
        tool: Option<&'d Tool>,
        out: &'d mut Out,
    ) -> Desk<'d> {
        Desk { requirement, provider, tool, out }
    }

    /// A desk for the same requirement and one tool.
    pub fn of<'t>(&'t mut self, tool: &'t Tool) -> Desk<'t> {
        Desk { requirement: self.requirement, provider: self.provider, tool: Some(tool), out: self.out }
    }

    /// A sentence of the text is plainly missed.
    pub fn finding(&mut self, pointer: &str, seen: impl Into<String>, advice: impl Into<String>) {
        self.say(Severity::Finding, pointer, seen, advice);
    }

    /// A sign that one may be.
    pub fn hint(&mut self, pointer: &str, seen: impl Into<String>, advice: impl Into<String>) {
        self.say(Severity::Hint, pointer, seen, advice);
    }

    /// Either.
    pub fn say(&mut self, severity: Severity, pointer: &str, seen: impl Into<String>, advice: impl Into<String>) {
        self.out.findings.push(Finding {
            provider: self.provider.label.clone(),
            tool: self.tool.map(Tool::shown),
            requirement: self.requirement.to_owned(),
            severity,
            pointer: pointer.to_owned(),
            seen: seen.into(),
            advice: advice.into(),
            accepted: None,
        });
    }

    /// It cannot be judged here.
    pub fn unjudged(&mut self, reason: impl Into<String>) {
        self.out.unjudged.push(Unjudged {
            requirement: self.requirement.to_owned(),
            reason: reason.into(),
            provider: Some(self.provider.label.clone()),
            tool: self.tool.map(Tool::shown),
        });
    }
}

/// The beginning of a text of a provider, in quotes.
pub fn quoted(text: &str) -> String {
    format!("\u{201c}{}\u{201d}", clip(text, MOST_CHARS))
}
