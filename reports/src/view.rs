//! What the forms for people and machines are made of. The main type is [`View`].

use crate::check::Judged;
use crate::model::{Report, VectorRow, Verdict};
use cetp_vectors::judge::{Finding, Outcome};
use cetp_vectors::ledger::{Requirement, Strength};
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use cetp_vectors::transcript::Transcript;

/// A report with what its transcripts lead to, and with the vectors that it rests on.
#[derive(Clone, Copy)]
pub struct View<'v> {
    /// The report.
    pub report: &'v Report,
    /// What judging it again gave, in the order of its results.
    pub judged: &'v [Judged],
    /// The vectors and requirements.
    pub catalogue: &'v Catalogue,
    /// The fingerprint of the key that signed it, where one did.
    pub signer: Option<&'v str>,
    /// SHA-256 of `report.json`.
    pub sha256: &'v str,
}

/// One result with all that belongs to it.
#[derive(Clone, Copy)]
pub struct Row<'v> {
    /// The result.
    pub row: &'v VectorRow,
    /// What judging it again gave.
    pub judged: &'v Judged,
    /// The vector.
    pub vector: &'v Vector,
}

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// It decided the vector.
    Decisive,
    /// A SHOULD that was not met.
    Should,
    /// It could not be judged.
    Unjudged,
    /// A remark, which decides nothing.
    Remark,
}

impl<'v> View<'v> {
    /// Every result.
    pub fn rows(&self) -> impl Iterator<Item = Row<'v>> + use<'v> {
        let catalogue = self.catalogue;
        let pairs = self.report.results.iter().zip(self.judged);
        pairs.filter_map(move |(row, judged)| Some(Row { row, judged, vector: catalogue.get(&row.vector)? }))
    }

    /// A requirement's row in the ledger.
    pub fn requirement(&self, id: &str) -> Option<&'v Requirement> {
        self.catalogue.ledger.get(id)
    }

    /// How many results have an outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.report.results.iter().filter(|row| row.outcome == outcome).count()
    }

    /// The levels, core first, then by name.
    pub fn levels(&self) -> Vec<(&'v str, &'v crate::model::Level)> {
        let mut levels: Vec<_> = self.report.levels.iter().map(|(name, level)| (name.as_str(), level)).collect();
        levels.sort_by_key(|(name, _)| (*name != crate::claims::CORE, *name));
        levels
    }

    /// The verdict on core; incomplete where there is no such level.
    pub fn core(&self) -> Verdict {
        self.report.levels.get(crate::claims::CORE).map_or(Verdict::Incomplete, |level| level.verdict)
    }
}

impl<'v> Row<'v> {
    /// What happened. It is read anew each time: all at once would take much memory.
    pub fn transcript(&self) -> Option<Transcript> {
        Transcript::from_json(&self.row.transcript.as_ref()?.json()).ok()
    }

    /// Every finding, from the deciding ones down.
    pub fn findings(&self) -> Vec<&'v Finding> {
        self.weighed().into_iter().map(|(_, finding)| finding).collect()
    }

    /// Every finding with its weight, from the deciding ones down.
    pub fn weighed(&self) -> Vec<(Weight, &'v Finding)> {
        let Some(judgement) = &self.judged.judgement else { return Vec::new() };
        let lists = [
            (Weight::Decisive, &judgement.findings),
            (Weight::Should, &judgement.warnings),
            (Weight::Unjudged, &judgement.unknown),
            (Weight::Remark, &judgement.advice),
        ];
        lists.into_iter().flat_map(|(weight, list)| list.iter().map(move |finding| (weight, finding))).collect()
    }

    /// The message of a transcript to which a finding belongs: the one of its step; where the step sent none itself, the
    /// last that was sent within it, or before it.
    pub fn message_of(finding: &Finding, transcript: &Transcript) -> Option<String> {
        let entries = &transcript.entries;
        let within = |at: &str| {
            let rest = at.strip_prefix(finding.at.as_str());
            rest.is_some_and(|rest| rest.starts_with(['[', '{', '.']))
        };
        let own = entries.iter().find(|entry| entry.at == finding.at);
        let found = own.or_else(|| entries.iter().rev().find(|entry| within(&entry.at))).or_else(|| entries.last());
        found.map(|entry| entry.at.clone())
    }

    /// The command that runs it again. How the target is reached the report does not say; and what a target says of itself
    /// has no place in a line that people paste into a shell.
    pub fn again(&self, view: &View<'_>, seed: u64) -> String {
        let report = view.report;
        let mut command = "cetp-conformance run --target your-target.toml".to_owned();
        if report.suite.name != "cetp-v2" {
            command += &format!(" --suite {}", report.suite.name);
        }
        if report.target.description["roles"].as_array().is_some_and(|roles| roles.len() > 1) {
            command += &format!(" --role {}", report.target.role.name());
        }
        if !view.catalogue.is_official() {
            command += " --vectors your-vectors";
        }
        if seed != 0 {
            command += &format!(" --seed {seed}");
        }
        command + &format!(" --exact {}", self.vector.id)
    }

    /// The requirements that decided it, where it fell short: those that were broken, else those that were not met.
    pub fn decisive(&self) -> &'v [String] {
        if self.row.failed_requirements.is_empty() {
            &self.row.warned_requirements
        } else {
            &self.row.failed_requirements
        }
    }
}

/// How strongly a requirement obliges, in the words of the specification's translation.
pub fn strength_word(strength: Strength) -> &'static str {
    match strength {
        Strength::Must => "must",
        Strength::MustNot => "must not",
        Strength::Should => "should",
        Strength::May => "may",
    }
}

/// A duration for people.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}
