//! Results that are known to fall short. The main type is [`Baseline`], a TOML file.
//!
//! A baseline decides how a run exits and nothing else: no verdict and no claim ever depends on it.

use crate::error::ReportError;
use crate::model::VectorRow;
use cetp_vectors::judge::Outcome;
use cetp_vectors::load::Catalogue;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The file of expected results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The entries, one a vector.
    #[serde(default)]
    pub expected: Vec<Expected>,
}

/// A vector that is known to fall short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Its id.
    pub vector: String,
    /// Its outcome: fail, error, not_run or warn.
    pub outcome: Outcome,
    /// A part of the reason.
    pub reason: String,
    /// Why that is accepted for now, for people.
    pub why: String,
}

/// What `--update-baseline` writes as the why of a new entry.
pub const UNEXPLAINED: &str = "not explained yet";

/// A baseline beside the results of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Vectors that fall short as expected.
    pub expected: BTreeSet<String>,
    /// Entries that match nothing, pass now, or fall short otherwise, each with a sentence.
    pub stale: Vec<String>,
}

/// Outcomes that a baseline can expect.
pub fn falls_short(outcome: Outcome) -> bool {
    !matches!(outcome, Outcome::Pass | Outcome::NotApplicable)
}

impl Baseline {
    /// Reads the file.
    ///
    /// # Errors
    /// It cannot be read, is no baseline, names a vector twice, or has an entry without a why.
    pub fn read(path: &Path) -> Result<Baseline, ReportError> {
        let text = std::fs::read_to_string(path).map_err(ReportError::file(path))?;
        Baseline::parse(&text, &path.display().to_string())
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// As [`Baseline::read`].
    pub fn parse(text: &str, what: &str) -> Result<Baseline, ReportError> {
        let wrong = |message: String| ReportError::Baseline { what: what.to_owned(), message };
        let baseline: Baseline = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
        let mut seen = BTreeSet::new();
        for entry in &baseline.expected {
            if !seen.insert(&entry.vector) {
                return Err(wrong(format!("{} occurs twice", entry.vector)));
            }
            if !falls_short(entry.outcome) {
                return Err(wrong(format!("{}: {} needs no entry", entry.vector, entry.outcome.name())));
            }
            if entry.why.trim().is_empty() || entry.reason.trim().is_empty() {
                return Err(wrong(format!("{}: reason and why must say something", entry.vector)));
            }
        }
        Ok(baseline)
    }

    /// Compares results. An entry about a vector that the suite has, but that was not selected, says nothing here.
    pub fn compare(&self, results: &[VectorRow], catalogue: &Catalogue) -> Comparison {
        let rows: BTreeMap<&str, &VectorRow> = results.iter().map(|row| (row.vector.as_str(), row)).collect();
        let mut out = Comparison::default();
        for entry in &self.expected {
            let id = &entry.vector;
            let Some(row) = rows.get(id.as_str()) else {
                if catalogue.get(id).is_none() {
                    out.stale.push(format!("{id}: the suite has no such vector"));
                }
                continue;
            };
            let reason = row.reason.as_deref().unwrap_or_default();
            if row.outcome == entry.outcome && reason.contains(&entry.reason) {
                out.expected.insert(id.clone());
            } else if row.outcome == entry.outcome {
                out.stale.push(format!("{id}: falls short for another reason than {:?}: {reason}", entry.reason));
            } else {
                let (is, was) = (row.outcome.name(), entry.outcome.name());
                out.stale.push(format!("{id}: the outcome is {is} now, and {was} was expected"));
            }
        }
        out
    }

    /// The baseline that these results need: entries that still hold are kept, those about other vectors too.
    #[must_use]
    pub fn updated(&self, results: &[VectorRow], catalogue: &Catalogue) -> Baseline {
        let held = self.compare(results, catalogue).expected;
        let ran: BTreeSet<&str> = results.iter().map(|row| row.vector.as_str()).collect();
        let keep = |entry: &&Expected| {
            held.contains(&entry.vector)
                || (!ran.contains(entry.vector.as_str()) && catalogue.get(&entry.vector).is_some())
        };
        let mut expected: Vec<Expected> = self.expected.iter().filter(keep).cloned().collect();
        for row in results.iter().filter(|row| falls_short(row.outcome) && !held.contains(&row.vector)) {
            let why = self.expected.iter().find(|entry| entry.vector == row.vector).map(|entry| entry.why.clone());
            expected.push(Expected {
                vector: row.vector.clone(),
                outcome: row.outcome,
                reason: row.reason.clone().unwrap_or_default(),
                why: why.unwrap_or_else(|| UNEXPLAINED.to_owned()),
            });
        }
        expected.sort_by(|a, b| a.vector.cmp(&b.vector));
        Baseline { expected }
    }

    /// The text of the file.
    ///
    /// # Errors
    /// A text that TOML cannot hold.
    pub fn to_toml(&self) -> Result<String, ReportError> {
        let head = "# Vectors that are known to fall short. Each entry says why that is accepted for now. An entry that no\n\
                    # longer holds makes the run fail: take it out, or run with --update-baseline.\n\n";
        let body = toml::to_string(self)
            .map_err(|error| ReportError::Render { form: "the baseline", message: error.to_string() })?;
        Ok(head.to_owned() + &body)
    }
}
