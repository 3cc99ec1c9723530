//! Judging a report again, from its transcripts. The main function is [`check`].
//!
//! Nothing that a report concludes is believed: each transcript is judged anew with the vectors of the named digest, and
//! outcomes, verdicts and claims must come out as the report says. A vector that was not run must be one that the target, by
//! its own description, cannot take.

use crate::claims::conclude;
use crate::error::ReportError;
use crate::model::{Report, VectorRow, declared_facts};
use cetp_vectors::judge::{Judgement, Outcome, judge};
use cetp_vectors::load::{Catalogue, SUITES};
use cetp_vectors::model::Vector;
use cetp_vectors::plan::{Plan, plan};
use cetp_vectors::protocol::Describe;
use cetp_vectors::transcript::Transcript;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A result that was judged again.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The findings; nothing for a vector that has no transcript.
    pub judgement: Option<Judgement>,
}

/// Something in a report that does not follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discrepancy {
    /// Where, for people: a vector's id, or a member of the report.
    pub place: String,
    /// What does not fit.
    pub message: String,
}

impl fmt::Display for Discrepancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Judges every transcript of a report again; the results are in the order of its rows.
///
/// # Errors
/// [`ReportError::OtherVectors`] where the vectors are not those of the report, [`ReportError::DoesNotFollow`] with all that
/// does not follow.
pub fn check(report: &Report, catalogue: &Catalogue, suite_version: &str) -> Result<Vec<Judged>, ReportError> {
    let suite = &report.suite;
    if suite.vectors_sha256 != catalogue.sha256 {
        return Err(ReportError::OtherVectors {
            named: suite.vectors_sha256.clone(),
            here: catalogue.sha256.clone(),
            version: suite.version.clone(),
        });
    }
    let mut checker = Checker { report, found: Vec::new() };
    if !SUITES.contains(&suite.name.as_str()) {
        checker.note("suite.name", format!("there is no suite {:?}", suite.name));
    }
    checker.same("suite.version", &suite.version, suite_version, "the vectors of this digest are version");
    let mine = |v: &&Vector| v.suite == suite.name && v.role == report.target.role;
    let count = catalogue.vectors.iter().filter(mine).count();
    if suite.vector_count != count {
        checker.note("suite.vector_count", format!("says {}, and the suite has {count}", suite.vector_count));
    }
    checker.times();
    let judged = match Describe::from_json(&report.target.description) {
        Ok(describe) => {
            checker.target(&describe);
            checker.results(catalogue, &describe)
        }
        Err(error) => {
            checker.note("target.description", error.to_string());
            Vec::new()
        }
    };
    let conclusion = conclude(catalogue, &suite.name, suite_version, report.target.role, &report.results);
    checker.conclusions(&conclusion);
    if checker.found.is_empty() { Ok(judged) } else { Err(ReportError::DoesNotFollow(checker.found)) }
}

/// The outcome of a vector that was run several times, from the strongest of its outcomes: one that changes from run to run
/// is no verdict to rely on, whatever the outcomes are.
pub fn over_repeats(strongest: Outcome, repeats: &BTreeMap<Outcome, u32>) -> Outcome {
    if repeats.len() > 1 { strongest.min(Outcome::Fail) } else { strongest }
}

/// Why a vector whose outcome changes from run to run falls short; `reason` is that of the strongest outcome.
pub fn flake_reason(repeats: &BTreeMap<Outcome, u32>, seed: u64, reason: Option<&str>) -> String {
    let counts: Vec<String> = repeats.iter().map(|(outcome, n)| format!("{} {n}", outcome.name())).collect();
    let reason = reason.unwrap_or_default();
    format!("the outcome changes from run to run ({}); seed {seed}: {reason}", counts.join(", "))
}

struct Checker<'r> {
    report: &'r Report,
    found: Vec<Discrepancy>,
}

impl Checker<'_> {
    fn note(&mut self, place: &str, message: impl Into<String>) {
        self.found.push(Discrepancy { place: place.to_owned(), message: message.into() });
    }

    fn same(&mut self, place: &str, says: &str, is: &str, what: &str) {
        if says != is {
            self.note(place, format!("says {says:?}, and {what} {is:?}"));
        }
    }

    fn times(&mut self) {
        let report = self.report;
        let read = |text: &str| text.parse::<jiff::Timestamp>().ok();
        match (read(&report.started_at), read(&report.finished_at)) {
            (Some(started), Some(finished)) if started <= finished => {}
            (Some(_), Some(_)) => self.note("finished_at", "lies before started_at"),
            _ => self.note("started_at, finished_at", "are no instants as RFC 3339 writes them"),
        }
    }

    fn target(&mut self, describe: &Describe) {
        let target = &self.report.target;
        self.same("target.name", &target.name, &describe.name, "the target's description says");
        self.same("target.version", &target.version, &describe.version, "the target's description says");
        if target.versions != describe.versions {
            self.note("target.versions", "are not those of the target's description");
        }
        if target.capabilities != describe.capabilities {
            self.note("target.capabilities", "are not those of the target's description");
        }
        if target.controls != describe.controls {
            self.note("target.controls", "are not those of the target's description");
        }
        if !describe.roles.contains(&target.role) {
            self.note("target.role", format!("the target's description names no role {}", target.role.name()));
        }
        if target.declared != declared_facts(&target.adapter) {
            self.note("target.declared", format!("is not what holds for the adapter {:?}", target.adapter));
        }
        if target.subjects.is_empty() {
            self.note("target.subjects", "names no file: a report must say what was tested");
        }
        for subject in &target.subjects {
            let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            if subject.sha256.len() != 64 || !subject.sha256.chars().all(hex) || subject.name.is_empty() {
                self.note("target.subjects", format!("{:?} has no SHA-256 in lowercase hex, or no name", subject.name));
            }
        }
    }

    fn results(&mut self, catalogue: &Catalogue, describe: &Describe) -> Vec<Judged> {
        let mut seen = BTreeSet::new();
        let mut last = "";
        let mut judged = Vec::new();
        for row in &self.report.results {
            let id = row.vector.as_str();
            if !seen.insert(id) {
                self.note(id, "occurs twice in results");
            } else if id < last {
                self.note(id, "stands in the wrong place: results are sorted by vector");
            }
            last = id;
            let vector = catalogue.get(id).filter(|v| v.suite == self.report.suite.name);
            let Some(vector) = vector.filter(|v| v.role == self.report.target.role) else {
                self.note(id, "the suite has no such vector for this role");
                continue;
            };
            if row.requirements != vector.requirements || row.level != vector.level || row.role != vector.role {
                self.note(id, "requirements, level or role are not those of the vector");
            }
            judged.push(self.row(row, vector, describe));
        }
        judged
    }

    fn row(&mut self, row: &VectorRow, vector: &Vector, describe: &Describe) -> Judged {
        let none = Judged { judgement: None };
        let vector = &*vector.whole();
        let planned = plan(vector, describe);
        let Some(packed) = &row.transcript else {
            self.row_without_transcript(row, &planned);
            return none;
        };
        if planned != Plan::Run {
            self.note(&row.vector, "has a transcript, and the target, by its description, cannot take this vector");
        }
        let transcript = match Transcript::from_json(&packed.json()) {
            Ok(transcript) => transcript,
            Err(message) => {
                self.note(&row.vector, format!("its transcript cannot be read: {message}"));
                return none;
            }
        };
        if transcript.start.target != self.report.target.description {
            self.note(&row.vector, "its transcript names another target");
        }
        let judgement = match judge(vector, &transcript) {
            Ok(judgement) => judgement,
            Err(foreign) => {
                self.note(&row.vector, foreign.to_string());
                return none;
            }
        };
        self.follows(row, &judgement, transcript.start.seed);
        Judged { judgement: Some(judgement) }
    }

    /// A vector without a transcript was not run, which nobody decides but target and vector; or nothing came of it.
    fn row_without_transcript(&mut self, row: &VectorRow, planned: &Plan) {
        let judged = [&row.judged_requirements, &row.failed_requirements, &row.warned_requirements];
        if judged.iter().any(|list| !list.is_empty()) || !row.repeats.is_empty() {
            self.note(&row.vector, "names judged requirements or repeats, and has no transcript to show for it");
        }
        let (outcome, reason) = match planned {
            Plan::NotRun(why) => (Outcome::NotRun, Some(why)),
            Plan::NotApplicable(why) => (Outcome::NotApplicable, Some(why)),
            Plan::Run => (Outcome::Error, None),
        };
        if row.outcome != outcome {
            let (says, is) = (row.outcome.name(), outcome.name());
            self.note(
                &row.vector,
                format!("says {says}; without a transcript, and with this target, it can only be {is}"),
            );
        } else if reason.is_some() && row.reason.as_ref() != reason {
            self.note(&row.vector, "another reason than the one for which it was not run");
        }
    }

    fn follows(&mut self, row: &VectorRow, judgement: &Judgement, seed: u64) {
        let id = row.vector.as_str();
        if row.repeats.keys().next().is_some_and(|strongest| *strongest != judgement.outcome) {
            self.note(id, "the transcript that is kept is not that of its strongest outcome");
        }
        if row.repeats.values().any(|n| *n == 0) || (!row.repeats.is_empty() && row.repeats.values().sum::<u32>() < 2) {
            self.note(id, "repeats do not count at least two runs");
        }
        let outcome = over_repeats(judgement.outcome, &row.repeats);
        if row.outcome != outcome {
            self.note(id, format!("says {}, and its transcript leads to {}", row.outcome.name(), outcome.name()));
        }
        for (what, says, is) in [
            ("judged_requirements", &row.judged_requirements, &judgement.judged),
            ("failed_requirements", &row.failed_requirements, &judgement.failed_requirements()),
            ("warned_requirements", &row.warned_requirements, &judgement.warned_requirements()),
        ] {
            if says != is {
                self.note(id, format!("{what} says {says:?}, and its transcript leads to {is:?}"));
            }
        }
        let reason = if row.repeats.len() > 1 {
            Some(flake_reason(&row.repeats, seed, judgement.reason.as_deref()))
        } else {
            judgement.reason.clone()
        };
        if row.reason != reason {
            let words = reason.as_deref().unwrap_or("none");
            self.note(id, format!("another reason than its transcript leads to, which is: {words}"));
        }
    }

    fn conclusions(&mut self, conclusion: &crate::claims::Conclusion) {
        let report = self.report;
        let names: BTreeSet<&String> = report.levels.keys().chain(conclusion.levels.keys()).collect();
        for name in names {
            match (report.levels.get(name), conclusion.levels.get(name)) {
                (Some(says), Some(is)) if says == is => {}
                (Some(says), Some(is)) if says.verdict != is.verdict => {
                    let (says, is) = (says.verdict.name(), is.verdict.name());
                    self.note(&format!("levels.{name}"), format!("says {says}, and the results lead to {is}"));
                }
                (Some(_), Some(_)) => self.note(&format!("levels.{name}"), "its counts are not those of the results"),
                (None, _) => self.note(&format!("levels.{name}"), "is missing"),
                (_, None) => self.note(&format!("levels.{name}"), "the suite has no such level for this role"),
            }
        }
        let says: BTreeMap<&str, _> = report.requirements.iter().map(|row| (row.id.as_str(), row)).collect();
        for row in &conclusion.requirements {
            if says.get(row.id.as_str()) != Some(&row) {
                self.note(&format!("requirements {}", row.id), "is not what the results lead to");
            }
        }
        if report.requirements.len() != conclusion.requirements.len() {
            self.note("requirements", "are not one row each of those that bind this role");
        }
        for claim in &report.claims {
            if !conclusion.claims.contains(claim) {
                self.note("claims", format!("{} does not follow from the verdicts", claim.claim));
            }
        }
        if report.claims != conclusion.claims {
            let names: Vec<&str> = conclusion.claims.iter().map(|claim| claim.claim.as_str()).collect();
            self.note("claims", format!("what follows from the verdicts is {names:?}"));
        }
    }
}
