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
    // Other vectors than those that the suite is known for prove whatever their author likes.
    concluded(catalogue, catalogue.is_official(), suite, suite_version, role, results)
}

fn concluded(
    catalogue: &Catalogue,
    official: bool,
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
    let claims = if official { claims(&levels, suite, suite_version, role) } else { Vec::new() };
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

/// What one vector has to say of one requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// This.
    Said(Outcome),
    /// Nothing, or not all: it ended over another requirement before.
    EndedEarlier,
    /// Nothing to rely on: its outcome changes from run to run.
    Unsteady,
}

impl Word {
    /// The outcome that counts for the requirement.
    pub fn outcome(self) -> Outcome {
        match self {
            Word::Said(outcome) => outcome,
            Word::EndedEarlier | Word::Unsteady => Outcome::NotRun,
        }
    }
}

/// What a vector says of a requirement; nothing where it is not about it.
pub fn word(row: &VectorRow, id: &str) -> Option<Word> {
    let among = |list: &[String]| list.iter().any(|one| one == id);
    let (broken, warned) = (among(&row.failed_requirements), among(&row.warned_requirements));
    if !among(&row.requirements) && !broken && !warned {
        return None;
    }
    let judged = among(&row.judged_requirements);
    Some(match row.outcome {
        Outcome::Fail if broken => Word::Said(Outcome::Fail),
        _ if warned => Word::Said(Outcome::Warn),
        Outcome::Fail if row.failed_requirements.is_empty() => Word::Unsteady,
        // It ended before it had said all that it has to say of this requirement.
        Outcome::Fail => Word::EndedEarlier,
        Outcome::Warn if judged => Word::Said(Outcome::Pass),
        Outcome::Pass | Outcome::Warn if !judged => Word::Said(Outcome::NotApplicable),
        other => Word::Said(other),
    })
}

/// Of two outcomes for one requirement the one that says more, as it is with the verdict of a level: a sentence that one
/// vector found broken is broken, whatever kept another vector from saying anything; and a vector that does not apply says
/// less than one that passed.
fn stronger(a: Outcome, b: Outcome) -> Outcome {
    match (a, b) {
        (Outcome::Fail, _) | (_, Outcome::Fail) => Outcome::Fail,
        (Outcome::NotApplicable, other) | (other, Outcome::NotApplicable) => other,
        _ => a.min(b),
    }
}

/// How many vectors have not judged a requirement, and why.
fn unjudged(words: &[Word]) -> Option<String> {
    let all = words.len();
    let parts: Vec<String> = [
        (Word::Said(Outcome::Error), "broke", "broke"),
        (Word::Said(Outcome::NotRun), "was not run", "were not run"),
        (
            Word::EndedEarlier,
            "ended over another requirement before it had judged this one",
            "ended over another requirement before they had judged this one",
        ),
        (Word::Unsteady, "changes its outcome from run to run", "change their outcome from run to run"),
        (Word::Said(Outcome::NotApplicable), "is not applicable", "are not applicable"),
    ]
    .into_iter()
    .filter_map(|(word, one, many)| {
        let n = words.iter().filter(|w| **w == word).count();
        let vectors = if all == 1 { "vector" } else { "vectors" };
        (n > 0).then(|| format!("{n} of {all} {vectors} {}", if n == 1 { one } else { many }))
    })
    .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn requirements(catalogue: &Catalogue, suite: &str, role: Role, results: &[VectorRow]) -> Vec<RequirementRow> {
    let mut rows = Vec::new();
    for requirement in catalogue.ledger.iter().filter(|r| r.suite == suite && r.role.binds(role)) {
        let id = &requirement.id;
        let said: Vec<(&VectorRow, Word)> = results.iter().filter_map(|row| Some((row, word(row, id)?))).collect();
        let words: Vec<Word> = said.iter().map(|(_, word)| *word).collect();
        let strongest = words.iter().map(|word| word.outcome()).reduce(stronger);
        let reason = match (&requirement.not_by_vector, strongest) {
            (Some(by), _) => Some(format!("judged by {by}")),
            (None, None) => Some("no vector of this run is about it".to_owned()),
            (None, Some(_)) => unjudged(&words),
        };
        let vectors: BTreeSet<String> = said.iter().map(|(row, _)| row.vector.clone()).collect();
        rows.push(RequirementRow {
            id: id.clone(),
            outcome: strongest,
            reason,
            vectors: vectors.into_iter().collect(),
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};
    use std::collections::BTreeMap as Files;
    use std::sync::LazyLock;

    /// A small suite: two requirements of core, one of each of two optional levels, with two vectors each; and a role that
    /// the results are not about.
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
        let levels = ["core", "core", "async_operations", "cancellation"];
        let requirement = |n: usize| {
            json!({"id": format!("CETP2-1-0{n}"), "section": "1", "role": "provider", "level": levels[n],
                   "strength": "must", "text": "x"})
        };
        let ledger = json!({"specification": "CETP v2", "requirements": (0..4).map(requirement).collect::<Vec<_>>()});
        let vector = |n: usize| {
            let id = format!("CETP2-1-0{}", n / 2);
            json!({"id": format!("cetp2/provider/1/v{n}"), "title": "x", "role": "provider", "level": levels[n / 2],
                   "requirements": [id], "steps": [
                       {"call": "negotiate", "offer": [], "save": "s", "expect": [{"requirement": id, "is": {"$any": true}}]}]})
        };
        let vectors =
            json!({"format": "cetp-vectors/1", "suite": "cetp-v2", "vectors": (0..8).map(vector).collect::<Vec<_>>()});
        let file = |json: Json| json.to_string().into_bytes();
        let files = Files::from([
            ("requirements/a.json".to_owned(), file(ledger)),
            ("cetp-v2/provider/a.json".to_owned(), file(vectors)),
        ]);
        Catalogue::from_files(files).unwrap()
    });

    fn row(n: usize, outcome: Outcome) -> VectorRow {
        let vector = &CATALOGUE.vectors[n];
        VectorRow {
            vector: vector.id.clone(),
            requirements: vector.requirements.clone(),
            judged_requirements: vector.requirements.clone(),
            failed_requirements: Vec::new(),
            warned_requirements: Vec::new(),
            level: vector.level.clone(),
            role: vector.role,
            outcome,
            reason: None,
            duration_ms: 0,
            repeats: BTreeMap::new(),
            diagnostics: None,
            transcript: None,
        }
    }

    fn claimed(rows: &[VectorRow]) -> BTreeSet<String> {
        let conclusion = concluded(&CATALOGUE, true, "cetp-v2", "1", Role::Provider, rows);
        conclusion.claims.into_iter().map(|claim| claim.claim).collect()
    }

    /// Any result for each vector, or none.
    fn results() -> impl Strategy<Value = Vec<VectorRow>> {
        // Passes are frequent, so that claims are.
        let outcome = prop_oneof![
            12 => Just(Some(Outcome::Pass)),
            1 => proptest::sample::select(Outcome::ALL.to_vec()).prop_map(Some),
            1 => Just(None),
        ];
        proptest::collection::vec(outcome, CATALOGUE.vectors.len())
            .prop_map(|list| list.into_iter().enumerate().filter_map(|(n, o)| Some(row(n, o?))).collect())
    }

    #[test]
    fn a_run_without_a_gap_claims_every_level() {
        let rows: Vec<VectorRow> = (0..8).map(|n| row(n, Outcome::Pass)).collect();
        let all = ["cetp-v2-async_operations", "cetp-v2-cancellation", "cetp-v2-core"];
        assert_eq!(claimed(&rows), all.map(str::to_owned).into());
        let conclusion = conclude(&CATALOGUE, "cetp-v2", "1", Role::Provider, &rows);
        assert!(conclusion.claims.is_empty(), "vectors that are not the suite's carry no claim");
    }

    #[test]
    fn a_requirement_without_a_vector_is_a_gap() {
        let mut catalogue = CATALOGUE.clone();
        catalogue.vectors.retain(|vector| vector.requirements != ["CETP2-1-01"]);
        let rows: Vec<VectorRow> = (0..8).map(|n| row(n, Outcome::Pass)).collect();
        let conclusion = concluded(&catalogue, true, "cetp-v2", "1", Role::Provider, &rows);
        assert_eq!(conclusion.levels["core"].uncovered, ["CETP2-1-01"]);
        assert_eq!(conclusion.levels["core"].verdict, Verdict::Incomplete);
        assert!(conclusion.claims.is_empty());
    }

    #[test]
    fn a_requirement_that_one_vector_found_broken_is_broken() {
        let mut broken = row(0, Outcome::Fail);
        broken.failed_requirements = broken.requirements.clone();
        for other in Outcome::ALL {
            for rows in [[broken.clone(), row(1, other)], [row(1, other), broken.clone()]] {
                let conclusion = concluded(&CATALOGUE, true, "cetp-v2", "1", Role::Provider, &rows);
                let found = conclusion.requirements.iter().find(|row| row.id == "CETP2-1-00").unwrap();
                assert_eq!(found.outcome, Some(Outcome::Fail), "{other:?}");
            }
        }
    }

    fn concluded_row(rows: &[VectorRow]) -> RequirementRow {
        let conclusion = concluded(&CATALOGUE, true, "cetp-v2", "1", Role::Provider, rows);
        conclusion.requirements.into_iter().find(|row| row.id == "CETP2-1-00").unwrap()
    }

    #[test]
    fn a_vector_that_does_not_apply_takes_nothing_from_one_that_passed() {
        for other in Outcome::ALL {
            for rows in
                [[row(0, Outcome::NotApplicable), row(1, other)], [row(1, other), row(0, Outcome::NotApplicable)]]
            {
                let found = concluded_row(&rows);
                // The one failed over no requirement, the other is no warning of this one.
                let expected = match other {
                    Outcome::Fail => Outcome::NotRun,
                    Outcome::Warn => Outcome::Pass,
                    other => other,
                };
                assert_eq!(found.outcome, Some(expected));
                let na = if other == Outcome::NotApplicable { "2 of 2 vectors are" } else { "1 of 2 vectors is" };
                assert!(found.reason.unwrap().ends_with(&format!("{na} not applicable")), "{other:?}");
            }
        }
    }

    #[test]
    fn a_row_says_which_vectors_have_not_judged_it() {
        let mut elsewhere = row(0, Outcome::Fail);
        elsewhere.failed_requirements = vec!["CETP2-1-01".into()];
        let passed = row(1, Outcome::Pass);
        let found = concluded_row(&[elsewhere, passed.clone()]);
        assert_eq!(found.outcome, Some(Outcome::NotRun), "it is not green");
        let reason = "1 of 2 vectors ended over another requirement before it had judged this one";
        assert_eq!(found.reason.as_deref(), Some(reason));
        let found = concluded_row(&[row(0, Outcome::NotRun), passed.clone()]);
        assert_eq!(found.reason.as_deref(), Some("1 of 2 vectors was not run"));
        assert_eq!(concluded_row(&[passed]).reason, None);
    }

    proptest! {
        #[test]
        fn a_requirement_is_green_only_where_every_vector_about_it_judged_it_or_does_not_apply(rows in results()) {
            let conclusion = concluded(&CATALOGUE, true, "cetp-v2", "1", Role::Provider, &rows);
            for found in conclusion.requirements {
                let words: Vec<Word> = rows.iter().filter_map(|row| word(row, &found.id)).collect();
                let harmless = |w: &Word| matches!(w.outcome(), Outcome::Pass | Outcome::Warn | Outcome::NotApplicable);
                let sound = words.iter().all(harmless) && words.iter().any(|w| w.outcome() == Outcome::Pass);
                prop_assert!(found.outcome != Some(Outcome::Pass) || sound, "{found:?}");
                prop_assert!(found.outcome != Some(Outcome::NotApplicable) || words.iter().all(|w| w.outcome() == Outcome::NotApplicable));
            }
        }

        #[test]
        fn a_level_with_a_gap_or_fault_is_not_claimed(rows in results()) {
            let claims = claimed(&rows);
            for level in ["core", "async_operations", "cancellation"] {
                let suite = CATALOGUE.vectors.iter().filter(|v| v.level == level).count();
                let ran: Vec<&VectorRow> = rows.iter().filter(|row| row.level == level).collect();
                let bad = |row: &&VectorRow| matches!(row.outcome, Outcome::Error | Outcome::Fail | Outcome::NotRun);
                let sound = ran.len() == suite && !ran.iter().any(bad);
                prop_assert!(sound || !claims.contains(&format!("cetp-v2-{level}")), "{level}");
            }
            prop_assert!(claims.is_empty() || claims.contains("cetp-v2-core"), "an option is claimed only with core");
        }

        #[test]
        fn taking_a_vector_away_makes_no_claim_appear(rows in results(), n in 0..8usize) {
            let before = claimed(&rows);
            let mut fewer = rows;
            if n < fewer.len() {
                fewer.remove(n);
            }
            prop_assert!(claimed(&fewer).is_subset(&before));
        }

        #[test]
        fn a_worse_outcome_makes_no_claim_appear(rows in results(), n in 0..8usize) {
            let before = claimed(&rows);
            let mut worse = rows;
            if let Some(row) = worse.get_mut(n).filter(|row| row.outcome != Outcome::Error) {
                row.outcome = Outcome::Fail;
            }
            prop_assert!(claimed(&worse).is_subset(&before));
        }
    }
}
