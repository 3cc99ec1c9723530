//! From results to level verdicts, requirement rows and claims. The main function is [`conclude`].
//!
//! A claim follows from the verdicts alone, and a verdict from the results and the suite alone, so that anybody can repeat
//! the step.

use crate::model::{Claim, Level, RequirementRow, VectorRow, Verdict};
use cetp_vectors::judge::Outcome;
use cetp_vectors::ledger::{Requirement, Role, Strength};
use cetp_vectors::load::Catalogue;
use std::collections::{BTreeMap, BTreeSet};

/// What follows from results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// Verdict of each level that the suite has for the role.
    pub levels: BTreeMap<String, Level>,
    /// One row a requirement that binds the role.
    pub requirements: Vec<RequirementRow>,
    /// What may be claimed.
    pub claims: Vec<Claim>,
}

/// The level without which nothing is claimed (§9 of the specification).
pub const CORE: &str = "core";

/// Draws the conclusions.
pub fn conclude(
    catalogue: &Catalogue,
    suite: &str,
    suite_version: &str,
    role: Role,
    results: &[VectorRow],
) -> Conclusion {
    let outcomes: BTreeMap<&str, Outcome> = results.iter().map(|row| (row.vector.as_str(), row.outcome)).collect();
    let mut levels: BTreeMap<String, Level> = BTreeMap::new();
    for vector in catalogue.vectors.iter().filter(|v| v.suite == suite && v.role == role) {
        let level = levels.entry(vector.level.clone()).or_insert_with(empty);
        level.vectors += 1;
        match outcomes.get(vector.id.as_str()) {
            Some(Outcome::Pass) => level.passed += 1,
            Some(Outcome::Fail) => level.failed += 1,
            Some(Outcome::Warn) => level.warned += 1,
            Some(Outcome::NotRun) => level.not_run += 1,
            Some(Outcome::NotApplicable) => level.not_applicable += 1,
            Some(Outcome::Error) => level.errors += 1,
            None => level.unselected += 1,
        }
    }
    for gap in gaps(catalogue, suite, role) {
        levels.entry(gap.level.clone()).or_insert_with(empty).uncovered.push(gap.id.clone());
    }
    for level in levels.values_mut() {
        level.verdict = verdict(level);
    }
    // Other vectors than those that the suite is known for prove whatever their author likes.
    let claims = if catalogue.is_official() { claims(&levels, suite, suite_version, role) } else { Vec::new() };
    Conclusion { requirements: requirements(catalogue, suite, role, results), levels, claims }
}

fn empty() -> Level {
    Level {
        verdict: Verdict::Incomplete,
        vectors: 0,
        passed: 0,
        failed: 0,
        warned: 0,
        not_run: 0,
        not_applicable: 0,
        errors: 0,
        unselected: 0,
        uncovered: Vec::new(),
    }
}

/// Requirements that bind, that vectors should judge, and that no vector of the suite is about.
pub fn gaps<'c>(catalogue: &'c Catalogue, suite: &str, role: Role) -> Vec<&'c Requirement> {
    let about: BTreeSet<&String> = catalogue
        .vectors
        .iter()
        .filter(|v| v.suite == suite && v.role == role)
        .flat_map(|vector| &vector.requirements)
        .collect();
    let open = |row: &&Requirement| {
        row.suite == suite
            && row.role.binds(role)
            && row.not_by_vector.is_none()
            && row.strength <= Strength::MustNot
            && !about.contains(&row.id)
    };
    catalogue.ledger.iter().filter(open).collect()
}

/// The verdict that follows from the counts of a level.
pub fn verdict(level: &Level) -> Verdict {
    if level.failed > 0 {
        Verdict::Fail
    } else if level.errors > 0 {
        Verdict::Error
    } else if level.not_run > 0 || level.unselected > 0 || level.vectors == 0 || !level.uncovered.is_empty() {
        Verdict::Incomplete
    } else if level.passed + level.warned == 0 {
        Verdict::NotApplicable
    } else {
        Verdict::Pass
    }
}

fn claims(levels: &BTreeMap<String, Level>, suite: &str, suite_version: &str, role: Role) -> Vec<Claim> {
    if levels.get(CORE).is_none_or(|core| core.verdict != Verdict::Pass) {
        return Vec::new();
    }
    let passed = levels.iter().filter(|(_, level)| level.verdict == Verdict::Pass);
    passed
        .map(|(name, _)| Claim { claim: format!("{suite}-{name}"), role, suite_version: suite_version.to_owned() })
        .collect()
}

fn requirements(catalogue: &Catalogue, suite: &str, role: Role, results: &[VectorRow]) -> Vec<RequirementRow> {
    let mut rows = Vec::new();
    for requirement in catalogue.ledger.iter().filter(|r| r.suite == suite && r.role.binds(role)) {
        let id = &requirement.id;
        let mut vectors = BTreeSet::new();
        let mut strongest: Option<Outcome> = None;
        for row in results {
            let about = row.requirements.contains(id);
            let broken = row.failed_requirements.contains(id);
            let warned = row.warned_requirements.contains(id);
            if !about && !broken && !warned {
                continue;
            }
            vectors.insert(row.vector.clone());
            let judged = row.judged_requirements.contains(id);
            let outcome = match row.outcome {
                Outcome::Fail if broken => Outcome::Fail,
                _ if warned => Outcome::Warn,
                // It ended over something else, before it had said all that it has to say of this requirement.
                Outcome::Fail => Outcome::NotRun,
                Outcome::Warn if judged => Outcome::Pass,
                Outcome::Pass | Outcome::Warn if !judged => Outcome::NotApplicable,
                other => other,
            };
            strongest = Some(strongest.map_or(outcome, |s| s.min(outcome)));
        }
        let reason = match (&requirement.not_by_vector, strongest) {
            (Some(by), _) => Some(format!("judged by {by}")),
            (None, None) => Some("no vector of this run is about it".to_owned()),
            _ => None,
        };
        rows.push(RequirementRow {
            id: id.clone(),
            outcome: strongest,
            reason,
            vectors: vectors.into_iter().collect(),
        });
    }
    rows
}
