//! From a vector and its transcript to a verdict. The main function is [`judge`].
//!
//! The judge is pure: it interprets the vector again, with the transcript in the target's place, and asks of every step
//! what its expectations say. It checks on the way that the transcript is one of this vector: each message in it is the one
//! that the vector would send. The first step that decides ends the matter; what came after it proves nothing.

use crate::ledger::Strength;
use crate::machine::{Action, Answer, End, Machine, Message, Observer, View};
use crate::model::{About, Expectation, Step, Vector};
use crate::pattern::{Match, Mismatch};
use crate::transcript::{Entry, Transcript};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// What became of a vector, from strongest to weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The suite, adapter or target process broke, or the fixture is not as agreed: nobody's verdict.
    Error,
    /// A sentence of the specification is broken.
    Fail,
    /// A control, role, tool or fact that the vector needs is missing.
    NotRun,
    /// A SHOULD is not met.
    Warn,
    /// A capability or version that the target does not claim.
    NotApplicable,
    /// All that was expected came.
    Pass,
}

impl Outcome {
    /// Every outcome, from strongest to weakest.
    pub const ALL: [Outcome; 6] =
        [Outcome::Error, Outcome::Fail, Outcome::NotRun, Outcome::Warn, Outcome::NotApplicable, Outcome::Pass];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Error => "error",
            Outcome::Fail => "fail",
            Outcome::NotRun => "not_run",
            Outcome::Warn => "warn",
            Outcome::NotApplicable => "not_applicable",
            Outcome::Pass => "pass",
        }
    }
}

/// One expectation that was not met, or could not be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The step.
    pub at: String,
    /// The requirement, where one is concerned.
    pub requirement: Option<String>,
    /// What it is, in a sentence.
    pub message: String,
    /// The places at which the value was not as expected.
    pub mismatches: Vec<Mismatch>,
}

/// The verdict on one vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The outcome.
    pub outcome: Outcome,
    /// Why, in a sentence; nothing for a pass.
    pub reason: Option<String>,
    /// What decided it: for a fail every broken expectation of the deciding step, for an error the cause.
    pub findings: Vec<Finding>,
    /// SHOULDs that were not met.
    pub warnings: Vec<Finding>,
    /// What could not be judged.
    pub unknown: Vec<Finding>,
    /// Remarks that decide nothing.
    pub advice: Vec<Finding>,
    /// Requirements on which at least one expectation applied, sorted.
    pub judged: Vec<String>,
}

impl Judgement {
    /// The requirements that were broken, without duplicates, sorted.
    pub fn failed_requirements(&self) -> Vec<String> {
        let list = if self.outcome == Outcome::Warn { &self.warnings } else { &self.findings };
        let mut ids: Vec<String> = list.iter().filter_map(|f| f.requirement.clone()).collect();
        ids.sort();
        ids.dedup();
        ids
    }
}

/// A transcript that does not belong to the vector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the transcript is not one of this vector: {0}")]
pub struct Foreign(pub String);

/// Judges a transcript.
///
/// # Errors
/// [`Foreign`] where the transcript holds other messages than the vector would have sent, or ends without a reason.
pub fn judge(vector: &Vector, transcript: &Transcript) -> Result<Judgement, Foreign> {
    let mut machine = Machine::new(vector, transcript.start.clone());
    let mut judge = Judge::new(vector);
    let mut replay = Replay::new(transcript)?;
    let end = loop {
        match machine.next(&mut judge) {
            Action::Send(messages) => messages.iter().try_for_each(|m| replay.sent(m, machine.now_ms()))?,
            Action::Read { message, .. } => replay.sent(&message, machine.now_ms())?,
            // The message after a pause was made at the time at which the pause ended.
            Action::Pause { .. } => match replay.unsent.front() {
                Some(entry) => machine.resume(entry.now_ms),
                None if transcript.ended.is_some() => machine.stop(),
                None => return Err(Foreign("it ends while the vector waits".into())),
            },
            Action::Wait => match replay.next_answer() {
                Some(entry) => machine.deliver(&entry.at, entry.answer.clone(), entry.answered_ms, &mut judge),
                None if replay.cut_short => machine.stop(),
                None => return Err(Foreign("an answer is missing".into())),
            },
            Action::Finished(end) => break end,
        }
    };
    if end == End::Complete && !(replay.unsent.is_empty() && replay.open.is_empty()) {
        return Err(Foreign("it goes on after the end of the vector".into()));
    }
    Ok(judge.verdict(transcript, &end))
}

/// The transcript in the place of the target.
struct Replay<'t> {
    /// Messages that the machine has not made yet, in the order in which they were sent.
    unsent: VecDeque<&'t Entry>,
    /// Messages whose answer has not been delivered yet.
    open: Vec<&'t Entry>,
    /// Whether the runner ended the vector, so that messages on their way have no entry.
    cut_short: bool,
}

impl<'t> Replay<'t> {
    fn new(transcript: &'t Transcript) -> Result<Replay<'t>, Foreign> {
        let mut seen = BTreeSet::new();
        if let Some(twice) = transcript.entries.iter().find(|entry| !seen.insert(&entry.at)) {
            return Err(Foreign(format!("two messages at {}", twice.at)));
        }
        let broken = transcript.entries.iter().any(|e| matches!(e.answer, Answer::Broken(_)));
        Ok(Replay {
            unsent: transcript.entries.iter().collect(),
            open: Vec::new(),
            cut_short: broken || transcript.ended.is_some(),
        })
    }

    fn sent(&mut self, message: &Message, now_ms: i64) -> Result<(), Foreign> {
        let Some(place) = self.unsent.iter().position(|entry| entry.at == message.at) else {
            if self.cut_short {
                return Ok(());
            }
            return Err(Foreign(format!("the message at {} is missing", message.at)));
        };
        let entry = self.unsent.remove(place).expect("found");
        if entry.verb != message.verb || entry.params != message.params || entry.now_ms != now_ms {
            return Err(Foreign(format!("another message at {}", message.at)));
        }
        self.open.push(entry);
        Ok(())
    }

    fn next_answer(&mut self) -> Option<&'t Entry> {
        let (first, _) = self.open.iter().enumerate().min_by_key(|(_, entry)| entry.order)?;
        Some(self.open.remove(first))
    }
}

struct Judge<'v> {
    vector: &'v Vector,
    findings: Vec<Finding>,
    outcome: Option<Outcome>,
    warnings: Vec<Finding>,
    unknown: Vec<Finding>,
    advice: Vec<Finding>,
    judged: BTreeSet<String>,
}

impl<'v> Judge<'v> {
    fn new(vector: &'v Vector) -> Judge<'v> {
        Judge {
            vector,
            findings: Vec::new(),
            outcome: None,
            warnings: Vec::new(),
            unknown: Vec::new(),
            advice: Vec::new(),
            judged: BTreeSet::new(),
        }
    }

    fn expectation(&mut self, at: &str, expectation: &Expectation, view: &View<'_>) {
        let mut applies = Match::Yes;
        for condition in &expectation.when {
            applies = Match::all([applies, view.holds(condition)]);
        }
        let held = match applies {
            Match::Yes => view.holds(&expectation.claim),
            Match::No(_) => return,
            Match::Unknown(why) => Match::Unknown(why),
        };
        let (requirement, strength) = match &expectation.about {
            About::Requirement { id, strength } => (Some(id.clone()), *strength),
            About::Precondition(_) => (None, Strength::Must),
        };
        if let (Some(id), Match::Yes | Match::No(_)) = (&requirement, &held) {
            self.judged.insert(id.clone());
        }
        let finding = |message: String, mismatches| Finding {
            at: at.to_owned(),
            requirement: requirement.clone(),
            message,
            mismatches,
        };
        match (held, &expectation.about) {
            (Match::Yes, _) => {}
            (Match::Unknown(why), _) => self.unknown.push(finding(format!("not judged: {why}"), Vec::new())),
            (Match::No(mismatches), About::Precondition(why)) => {
                let decided = self.outcome.get_or_insert(Outcome::Error);
                if *decided == Outcome::Error {
                    self.findings.push(finding(why.clone(), mismatches));
                }
            }
            (Match::No(mismatches), About::Requirement { id, .. }) => match strength {
                Strength::Must | Strength::MustNot => {
                    // A broken sentence weighs more than a precondition of the same step.
                    if self.outcome != Some(Outcome::Fail) {
                        self.findings.clear();
                    }
                    self.outcome = Some(Outcome::Fail);
                    self.findings.push(finding(format!("{id} is not met"), mismatches));
                }
                Strength::Should => self.warnings.push(finding(format!("{id} is not met (should)"), mismatches)),
                Strength::May => self.advice.push(finding(format!("remark on {id}"), mismatches)),
            },
        }
    }

    fn verdict(self, transcript: &Transcript, end: &End) -> Judgement {
        let Judge { vector, mut findings, mut outcome, warnings, unknown, advice, judged } = self;
        if outcome.is_none() {
            let told = match (end, &transcript.ended) {
                (_, Some(ended)) => Some((ended.at.clone(), ended.why.clone())),
                (End::Stuck { at, why }, None) => Some((at.clone(), why.clone())),
                (End::Complete | End::Stopped, None) => None,
            };
            if let Some((at, message)) = told {
                outcome = Some(Outcome::Error);
                findings.push(Finding { at, requirement: None, message, mismatches: Vec::new() });
            }
        }
        let outcome = outcome.unwrap_or(match (unknown.is_empty(), warnings.is_empty()) {
            (false, _) => Outcome::NotRun,
            (true, false) => Outcome::Warn,
            // Conditions that never held have tested nothing, and must not read as a pass.
            (true, true) if !vector.requirements.iter().any(|id| judged.contains(id)) => Outcome::NotApplicable,
            (true, true) => Outcome::Pass,
        });
        let first = match outcome {
            Outcome::NotRun => unknown.first(),
            Outcome::Warn => warnings.first(),
            _ => findings.first(),
        };
        let mut reason = first.map(|f| format!("step {}: {}", f.at, f.message));
        if outcome == Outcome::NotApplicable {
            reason = Some("the case that this vector is about did not arise with this target".into());
        }
        Judgement { outcome, reason, findings, warnings, unknown, advice, judged: judged.into_iter().collect() }
    }
}

impl Observer for Judge<'_> {
    fn step(&mut self, at: &str, step: &Step, answer: Option<&Answer>, view: &View<'_>) -> bool {
        match answer {
            Some(Answer::Broken(why)) => {
                let requirement = step.breakdown.clone();
                self.outcome = Some(if requirement.is_some() { Outcome::Fail } else { Outcome::Error });
                self.findings.push(Finding {
                    at: at.to_owned(),
                    requirement,
                    message: why.clone(),
                    mismatches: Vec::new(),
                });
                return false;
            }
            Some(Answer::Refused { code, message }) => {
                self.outcome = Some(Outcome::Error);
                let message = format!("the target cannot do this step: {message} ({code})");
                self.findings.push(Finding { at: at.to_owned(), requirement: None, message, mismatches: Vec::new() });
                return false;
            }
            _ => {}
        }
        if answer.is_some() {
            // It lives: what forbids it to die here holds.
            self.judged.extend(step.breakdown.clone());
        }
        for expectation in &step.expect {
            self.expectation(at, expectation, view);
        }
        let judged_always = matches!(&step.kind, crate::model::Kind::Call(call) if call.always);
        if judged_always && answer.is_some() {
            for expectation in self.vector.always.iter() {
                self.expectation(at, expectation, view);
            }
        }
        self.outcome.is_none()
    }

    fn skipped(&mut self, at: &str, why: &str) {
        let message = format!("the step was left out: {why}");
        self.unknown.push(Finding { at: at.to_owned(), requirement: None, message, mismatches: Vec::new() });
    }
}
