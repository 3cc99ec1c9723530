//! From a vector and its transcript to a verdict. The main function is [`judge`]; the main type is [`Judge`], which judges
//! step by step while a machine runs.
//!
//! Judging is pure: the same vector and the same answers give the same verdict, live or from a transcript. [`judge`] also
//! checks that the transcript is one of this vector: each message in it is the one that the vector would send. The first
//! step that decides ends the matter; what came after it proves nothing.

use crate::expr;
use crate::ledger::Strength;
use crate::machine::{Action, Answer, Breakdown, End, Machine, Message, Observer, View};
use crate::matching::{Match, Mismatch, cut};
use crate::model::{About, Assertion, Expectation, Kind, Step, Vector};
use crate::script::Response;
use crate::transcript::{Ended, Entry, Incoming, Transcript};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

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
    /// A capability or version that the target does not claim, or a case that may not arise and did not.
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
    /// The places at which the value was not as expected; of long values the beginning.
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
    /// Requirements that the vector's own expectations judged, sorted.
    pub judged: Vec<String>,
}

impl Judgement {
    /// The requirements that were broken, without duplicates, sorted.
    pub fn failed_requirements(&self) -> Vec<String> {
        requirements(&self.findings)
    }

    /// The SHOULDs that were not met, without duplicates, sorted.
    pub fn warned_requirements(&self) -> Vec<String> {
        requirements(&self.warnings)
    }
}

fn requirements(findings: &[Finding]) -> Vec<String> {
    let ids: BTreeSet<String> = findings.iter().filter_map(|f| f.requirement.clone()).collect();
    ids.into_iter().collect()
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
            Action::Send { messages, .. } => {
                messages.iter().try_for_each(|message| replay.sent(message, machine.now_ms()))?;
            }
            Action::Read { message, .. } | Action::Pause { message, .. } => replay.sent(&message, machine.now_ms())?,
            Action::Answer { number, response } => replay.answered(number, &response)?,
            Action::Wait => match replay.next_event() {
                Some(Event::Answer(entry)) => {
                    machine.deliver(&entry.at, &entry.params, &entry.answer, entry.answered_ms, &mut judge);
                }
                Some(Event::Request(request)) => {
                    if request.now_ms != machine.now_ms() {
                        return Err(Foreign(format!("a request at another time, with the order {}", request.order)));
                    }
                    let number = machine.request(&request.verb, &request.params, &mut judge);
                    replay.asked.insert(number, request);
                }
                None if transcript.ended.is_some() => machine.stop(),
                None => return Err(Foreign("an answer is missing".into())),
            },
            Action::Finished(end) => break end,
        }
    };
    // After a vector that ended early the answers that were on their way are noted, and nothing else.
    let rest = replay.unsent.iter().chain(replay.open.iter());
    if let Some(entry) = rest.into_iter().find(|e| e.answer != Answer::Unread && end == End::Complete) {
        return Err(Foreign(format!("it goes on after the end of the vector, with the message at {}", entry.at)));
    }
    Ok(judge.verdict(&end, transcript.ended.as_ref()))
}

/// The transcript in the place of the target.
struct Replay<'t> {
    /// Messages that the machine has not made yet, in the order in which they were sent.
    unsent: VecDeque<&'t Entry>,
    /// Messages whose answer has not been delivered yet.
    open: Vec<&'t Entry>,
    /// Requests of the target that have not come yet.
    incoming: VecDeque<&'t Incoming>,
    /// Requests of the target by the number that the machine gave them.
    asked: BTreeMap<u64, &'t Incoming>,
}

enum Event<'t> {
    Answer(&'t Entry),
    Request(&'t Incoming),
}

impl<'t> Replay<'t> {
    fn new(transcript: &'t Transcript) -> Result<Replay<'t>, Foreign> {
        let mut seen = BTreeSet::new();
        if let Some(twice) = transcript.entries.iter().find(|entry| !seen.insert(&entry.at)) {
            return Err(Foreign(format!("two messages at {}", twice.at)));
        }
        Ok(Replay {
            unsent: transcript.entries.iter().collect(),
            open: Vec::new(),
            incoming: transcript.incoming.iter().collect(),
            asked: BTreeMap::new(),
        })
    }

    fn sent(&mut self, message: &Message, now_ms: i64) -> Result<(), Foreign> {
        let place = self.unsent.iter().position(|entry| entry.at == message.at);
        let entry = place.and_then(|place| self.unsent.remove(place));
        let entry = entry.ok_or_else(|| Foreign(format!("the message at {} is missing", message.at)))?;
        if entry.verb != message.verb || entry.params != message.params || entry.now_ms != now_ms {
            return Err(Foreign(format!("another message at {}", message.at)));
        }
        self.open.push(entry);
        Ok(())
    }

    /// What came next then: an answer or a request of the target.
    fn next_event(&mut self) -> Option<Event<'t>> {
        let answered = self.open.iter().enumerate().filter(|(_, entry)| entry.answer != Answer::Unread);
        let first = answered.min_by_key(|(_, entry)| entry.order).map(|(n, entry)| (n, entry.order));
        let request = self.incoming.front().map(|request| request.order);
        match (first, request) {
            (Some((_, answer)), Some(request)) if request < answer => self.incoming.pop_front().map(Event::Request),
            (Some((n, _)), _) => Some(Event::Answer(self.open.remove(n))),
            (None, _) => self.incoming.pop_front().map(Event::Request),
        }
    }

    fn answered(&mut self, number: u64, response: &Response) -> Result<(), Foreign> {
        let request = self.asked.remove(&number).ok_or_else(|| Foreign("an answer to no request".into()))?;
        if request.answer != response.summary(&request.verb) {
            return Err(Foreign(format!("another answer to the request with the order {}", request.order)));
        }
        Ok(())
    }
}

/// Judges a vector while a machine runs it.
pub struct Judge<'v> {
    vector: &'v Vector,
    findings: Vec<Finding>,
    outcome: Option<Outcome>,
    warnings: Vec<Finding>,
    unknown: Vec<Finding>,
    advice: Vec<Finding>,
    judged: BTreeSet<String>,
    /// Something that could not be judged stands in the way of a pass.
    open: bool,
    /// Rules that a request of the step that is open broke: the next request that breaks one is no news.
    broken: BTreeSet<usize>,
    /// Requests of a consumer that came after one that had broken a rule.
    since: usize,
}

/// Places of one finding that are kept.
const MOST_MISMATCHES: usize = 20;

/// How many more requests a consumer may send in a step in which one has broken a rule, so that the step's own expectations
/// are judged as well: they often say better what went wrong. One that never comes to an end is cut here.
const MOST_AFTER_A_FAIL: usize = 1_000;

impl<'v> Judge<'v> {
    /// A judge who has seen nothing yet.
    pub fn new(vector: &'v Vector) -> Judge<'v> {
        Judge {
            vector,
            findings: Vec::new(),
            outcome: None,
            warnings: Vec::new(),
            unknown: Vec::new(),
            advice: Vec::new(),
            judged: BTreeSet::new(),
            open: false,
            broken: BTreeSet::new(),
            since: 0,
        }
    }

    /// Judges one expectation of which is known whether it applies; whether it held, or at least was not found broken.
    fn expectation(&mut self, at: &str, expectation: &Expectation, applies: Match, own: bool, view: &View<'_>) -> bool {
        let held = match applies {
            Match::Yes => match view.applies(&expectation.claim) {
                // Asked once more, for the reasons: most hold, and then nobody needs what was gathered on the way.
                Match::No(_) => view.holds(&expectation.claim),
                other => other,
            },
            Match::No(_) => return true,
            open => open,
        };
        let (requirement, strength) = match &expectation.about {
            About::Requirement { id, strength } => (Some(id), *strength),
            About::Precondition(_) | About::NotRun(_) => (None, Strength::Must),
        };
        if let (true, Some(id), Match::Yes | Match::No(_)) = (own, requirement, &held)
            && !self.judged.contains(id)
        {
            self.judged.insert(id.clone());
        }
        let finding = |message: String, mismatches: Vec<Mismatch>| Finding {
            at: at.to_owned(),
            requirement: requirement.cloned(),
            message,
            mismatches: mismatches
                .into_iter()
                .take(MOST_MISMATCHES)
                .map(|one| shortened(at_value(one, expectation)))
                .collect(),
        };
        let note = || expectation.note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
        match (held, &expectation.about) {
            (Match::Yes, _) => true,
            (Match::Wrong(why), _) => {
                self.error(finding(format!("the vector makes no sense here: {why}"), Vec::new()));
                false
            }
            (Match::Unknown(why), _) => {
                // What decides nothing when it is broken decides nothing when it cannot be told.
                self.open |= strength != Strength::Should && strength != Strength::May;
                if strength != Strength::May {
                    self.unknown.push(finding(format!("not judged: {why}"), Vec::new()));
                }
                true
            }
            (Match::No(mismatches), About::Precondition(why)) => {
                self.error(finding(why.clone(), mismatches));
                false
            }
            (Match::No(mismatches), About::NotRun(why)) => {
                // The last word: whatever could not be told before is no better reason.
                self.unknown.insert(0, finding(why.clone(), mismatches));
                self.outcome.get_or_insert(Outcome::NotRun);
                false
            }
            (Match::No(mismatches), About::Requirement { id, .. }) => {
                match strength {
                    Strength::Must | Strength::MustNot => {
                        self.fail(finding(format!("{id} is not met{}", note()), mismatches));
                    }
                    Strength::Should => {
                        self.warnings.push(finding(format!("{id} is not met (should){}", note()), mismatches));
                    }
                    Strength::May => self.advice.push(finding(format!("remark on {id}{}", note()), mismatches)),
                }
                true
            }
        }
    }

    fn fail(&mut self, finding: Finding) {
        // A broken sentence weighs more than a precondition of the same step.
        if self.outcome != Some(Outcome::Fail) {
            self.findings.clear();
        }
        self.outcome = Some(Outcome::Fail);
        self.findings.push(finding);
    }

    fn error(&mut self, finding: Finding) {
        if *self.outcome.get_or_insert(Outcome::Error) == Outcome::Error {
            self.findings.push(finding);
        }
    }

    /// The verdict at the end of the vector; `ended` is why it could not be judged to its end.
    pub fn verdict(mut self, end: &End, ended: Option<&Ended>) -> Judgement {
        let told = match (end, ended) {
            (_, Some(ended)) => Some((ended.at.clone(), ended.why.clone())),
            (End::Stuck { at, why }, None) => Some((at.clone(), why.clone())),
            (End::Complete | End::Stopped, None) => None,
        };
        if let (None, Some((at, message))) = (self.outcome, told) {
            self.error(Finding { at, requirement: None, message, mismatches: Vec::new() });
        }
        let Judge { vector, findings, outcome, warnings, unknown, advice, judged, open, .. } = self;
        let nothing_judged = !vector.requirements.iter().any(|id| judged.contains(id));
        let outcome = outcome.unwrap_or(match (open, warnings.is_empty()) {
            (true, _) => Outcome::NotRun,
            (false, false) => Outcome::Warn,
            // Conditions that never held have tested nothing, and must not read as a pass.
            (false, true) if nothing_judged && unknown.is_empty() && vector.may_not_arise.is_some() => {
                Outcome::NotApplicable
            }
            (false, true) if nothing_judged => Outcome::NotRun,
            (false, true) => Outcome::Pass,
        });
        let first = match outcome {
            Outcome::NotRun => unknown.first(),
            Outcome::Warn => warnings.first(),
            _ => findings.first(),
        };
        let reason = match (outcome, first) {
            (Outcome::Pass, _) => None,
            (_, Some(finding)) => Some(format!("step {}: {}", finding.at, finding.message)),
            (Outcome::NotApplicable, None) => vector.may_not_arise.clone(),
            (_, None) => Some("none of the vector's expectations applied to what came".into()),
        };
        Judgement { outcome, reason, findings, warnings, unknown, advice, judged: judged.into_iter().collect() }
    }
}

/// A place in a value that the expectation names begins with that name: `${calls.launch}/0`.
fn at_value(mut mismatch: Mismatch, expectation: &Expectation) -> Mismatch {
    if let Assertion::Is { that: Some(that), .. } = &expectation.claim {
        mismatch.pointer.insert_str(0, &named(that.written()));
    }
    mismatch
}

/// The name of a value: what stands for it, or how it is computed: `size(${reply.data})`.
fn named(that: &Json) -> String {
    match that {
        Json::String(text) => text.clone(),
        Json::Object(members) if expr::is_function(members) => {
            members.iter().map(|(name, of)| format!("{}({})", name.trim_start_matches('$'), named(of))).collect()
        }
        Json::Object(members) => {
            members.iter().map(|(name, of)| format!("{name}: {}", named(of))).collect::<Vec<_>>().join(", ")
        }
        Json::Array(items) => items.iter().map(named).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn shortened(mismatch: Mismatch) -> Mismatch {
    let Mismatch { mut pointer, expected, actual } = mismatch;
    if let Some((end, _)) = pointer.char_indices().nth(300) {
        pointer.truncate(end);
        pointer.push('…');
    }
    Mismatch { pointer, expected: cut(&expected), actual: actual.map(|value| cut(&value)) }
}

impl Observer for Judge<'_> {
    fn step(&mut self, at: &str, step: &Step, answer: Option<&Answer>, view: &View<'_>) -> bool {
        match answer {
            Some(Answer::Broken { kind, why }) => {
                // Only a target that died or hung has done what a requirement can forbid.
                let requirement = step.breakdown.clone().filter(|_| *kind != Breakdown::Protocol);
                self.judged.extend(requirement.clone());
                let broken = requirement.is_some();
                let finding = Finding { at: at.to_owned(), requirement, message: why.clone(), mismatches: Vec::new() };
                if broken {
                    self.fail(finding)
                } else {
                    self.error(finding)
                }
                return false;
            }
            Some(Answer::Refused { code, message }) => {
                let message = format!("the target cannot do this step: {message} ({code})");
                self.error(Finding { at: at.to_owned(), requirement: None, message, mismatches: Vec::new() });
                return false;
            }
            _ => {}
        }
        // It lives, or came to what was waited for: what forbids the opposite holds.
        self.judged.extend(step.breakdown.clone());
        for expectation in &step.expect {
            // Without its precondition the rest of the step's own expectations has no ground.
            let applies = Match::all(expectation.when.iter().map(|condition| view.applies(condition)));
            if !self.expectation(at, expectation, applies, true, view) {
                break;
            }
        }
        let cut_off = match &step.kind {
            Kind::Call(call) => call.may_die && answer.is_some_and(is_dead_object),
            Kind::Spawn(_) | Kind::Host { .. } | Kind::Admit(_) => false,
            _ => return self.outcome.is_none(),
        };
        if !cut_off {
            let always = &self.vector.always;
            let mut asked = always.asked();
            for (n, expectation) in always.expectations().enumerate() {
                let applies = asked.applies(n, view);
                self.expectation(at, expectation, applies, false, view);
            }
        }
        self.outcome.is_none()
    }

    fn incoming(&mut self, at: &str, view: &View<'_>) -> bool {
        let always = &self.vector.always;
        let mut asked = always.asked();
        for (n, expectation) in always.expectations().enumerate() {
            if !self.broken.contains(&n) {
                let found = self.findings.len();
                let applies = asked.applies(n, view);
                self.expectation(at, expectation, applies, false, view);
                if self.findings.len() > found {
                    self.broken.insert(n);
                }
            }
        }
        match self.outcome {
            None => true,
            // The vector ends with the step; see `step`.
            Some(Outcome::Fail) => {
                self.since += 1;
                self.since <= MOST_AFTER_A_FAIL
            }
            Some(_) => false,
        }
    }

    fn skipped(&mut self, at: &str, why: &str) {
        self.open = true;
        let message = format!("the step was left out: {why}");
        self.unknown.push(Finding { at: at.to_owned(), requirement: None, message, mismatches: Vec::new() });
    }
}

fn is_dead_object(answer: &Answer) -> bool {
    let Answer::Result(result) = answer else { return false };
    result["exception"]["class"].as_str() == Some("android.os.DeadObjectException")
}
