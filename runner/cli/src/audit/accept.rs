//! Findings that somebody has looked at and lives with. The main type is [`Accepted`], a TOML file.
//!
//! As a baseline, it decides how the command exits and nothing else, and it cannot rot: an entry that matches nothing is an
//! error.

use super::finding::Finding;
use crate::exit::Stop;
use cetp_vectors::contract;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

/// The file.
///
/// ```toml
/// [[accepted]]
/// requirement = "TC-04"
/// tool = "fixture_set"       # without it: about the set of tools
/// pointer = "/input_schema/properties/key"    # optional
/// provider = "target.toml"   # optional: as named on the command line
/// why = "keys are made by the app, and short"
/// ```
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// The entries.
    #[serde(default)]
    accepted: Vec<Entry>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    requirement: String,
    tool: Option<String>,
    pointer: Option<String>,
    provider: Option<String>,
    why: String,
}

impl Entry {
    fn matches(&self, finding: &Finding) -> bool {
        self.requirement == finding.requirement
            && self.tool == finding.tool
            && self.pointer.as_ref().is_none_or(|pointer| *pointer == finding.pointer)
            && self.provider.as_ref().is_none_or(|provider| *provider == finding.provider)
    }

    fn words(&self) -> String {
        let mut words = self.requirement.clone();
        for part in [&self.provider, &self.tool, &self.pointer].into_iter().flatten() {
            words.push(' ');
            words.push_str(part);
        }
        words
    }
}

impl Accepted {
    /// Reads the file.
    ///
    /// # Errors
    /// It cannot be read, names no row of the ledger, holds an entry twice or one without a why.
    pub fn read(path: &Path) -> Result<Accepted, Stop> {
        let wrong = |why: String| Stop::usage(format!("{}: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let accepted: Accepted = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let mut seen = BTreeSet::new();
        for entry in &accepted.accepted {
            let words = entry.words();
            if contract::ledger().get(&entry.requirement).is_none() {
                return Err(wrong(format!("{words}: there is no such requirement")));
            }
            if entry.why.trim().is_empty() {
                return Err(wrong(format!("{words}: why must say something")));
            }
            if !seen.insert(words.clone()) {
                return Err(wrong(format!("{words} occurs twice")));
            }
        }
        Ok(accepted)
    }

    /// Marks what is accepted; the entries that match nothing, in words.
    pub fn apply(&self, findings: &mut [Finding]) -> Vec<String> {
        let mut stale = Vec::new();
        for entry in &self.accepted {
            let mut any = false;
            for finding in findings.iter_mut().filter(|finding| entry.matches(finding)) {
                finding.accepted.get_or_insert_with(|| entry.why.clone());
                any = true;
            }
            if !any {
                stale.push(format!("{}: nothing is found there", entry.words()));
            }
        }
        stale
    }
}
