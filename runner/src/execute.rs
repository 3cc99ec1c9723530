//! Runs one vector against one session and writes the transcript. The main function is [`execute`].
//!
//! It does what the machine says, keeps the time, and decides nothing about right and wrong.

use crate::adapter::{Fault, FaultKind, Incoming, RpcError, Session};
use crate::limits::Limits;
use base64::{Engine, engine::general_purpose::STANDARD};
use cetp_vectors::expr::sha256_hex;
use cetp_vectors::machine::{Action, Answer, Blind, Machine, Message, Start};
use cetp_vectors::model::Vector;
use cetp_vectors::protocol::check_result;
use cetp_vectors::transcript::{Ended, Entry, Transcript};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a run of a vector needs beside the session.
pub struct Setting<'a> {
    /// The target's answer to `target.describe`.
    pub target: &'a Json,
    /// Whether the target's clock moves by `control.clock` only.
    pub virtual_clock: bool,
    /// Decides UUIDs and schedules.
    pub seed: u64,
    /// The nonce of `target.reset`.
    pub nonce: &'a str,
    /// The limits.
    pub limits: &'a Limits,
    /// Set when the user wants the run to end.
    pub interrupted: &'a AtomicBool,
}

/// A transcript, and why the session cannot be used again.
pub struct Executed {
    /// What happened.
    pub transcript: Transcript,
    /// The fault of the target, where there was one.
    pub fault: Option<Fault>,
}

/// Runs a vector from `target.reset` to its end.
///
/// # Errors
/// The target could not even be reset: there is no transcript.
pub fn execute(vector: &Vector, session: &mut dyn Session, setting: &Setting<'_>) -> Result<Executed, Fault> {
    let params = json!({ "nonce": setting.nonce, "now_ms": vector.now_ms });
    let reset = exchange(session, "target.reset", &params, setting.limits.verb())?;
    let reset = match reset {
        Answer::Result(result) => result,
        Answer::Refused { message, .. } => {
            return Err(Fault::new(FaultKind::Garbage, format!("the target refuses target.reset: {message}")));
        }
        Answer::Broken(why) => return Err(Fault::new(FaultKind::Garbage, why)),
    };
    let now_ms = reset["now_ms"].as_i64().expect("the result was checked");
    let start = Start { target: setting.target.clone(), seed: setting.seed, now_ms };
    let run = Run {
        session,
        setting,
        clock: Clock { base_ms: now_ms, begun: (!setting.virtual_clock).then(Instant::now) },
        entries: Vec::new(),
        open: BTreeMap::new(),
        order: 0,
        ended: None,
        fault: None,
    };
    Ok(run.drive(vector, start))
}

struct Clock {
    base_ms: i64,
    /// None where the target's time is virtual.
    begun: Option<Instant>,
}

impl Clock {
    fn now_ms(&self) -> i64 {
        let elapsed = self.begun.map_or(0, |begun| i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX));
        self.base_ms.saturating_add(elapsed)
    }
}

struct Run<'r> {
    session: &'r mut dyn Session,
    setting: &'r Setting<'r>,
    clock: Clock,
    entries: Vec<Entry>,
    /// Requests on their way: their number, and their place in `entries`.
    open: BTreeMap<u64, usize>,
    order: u64,
    ended: Option<Ended>,
    fault: Option<Fault>,
}

impl Run<'_> {
    fn drive(mut self, vector: &Vector, start: Start) -> Executed {
        let mut machine = Machine::new(vector, start.clone());
        let mut waiting: Option<(String, Instant)> = None;
        loop {
            let action = machine.next(&mut Blind);
            if !matches!(action, Action::Finished(_)) && self.setting.interrupted.load(Ordering::Relaxed) {
                self.end(&mut machine, "", "the run was interrupted");
                break;
            }
            match action {
                Action::Send(messages) => {
                    if messages.len() > 1 {
                        let seed = machine.schedule_seed(&messages[0].at);
                        self.session.schedule(seed, messages.len());
                    }
                    for message in messages {
                        self.send(&mut machine, message);
                    }
                }
                Action::Read { message, limit_bytes } => self.read(&mut machine, message, limit_bytes),
                Action::Pause { at, ms } => {
                    let begun = match &waiting {
                        Some((place, begun)) if *place == at => *begun,
                        _ => waiting.insert((at.clone(), Instant::now())).1,
                    };
                    let patience = Duration::from_millis(self.setting.limits.patience_ms);
                    if begun.elapsed() > patience {
                        let why = format!("what it waits for did not come within {} s", patience.as_secs());
                        self.end(&mut machine, &at, &why);
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(ms));
                    machine.resume(self.clock.now_ms());
                }
                Action::Wait => self.receive(&mut machine),
                Action::Finished(_) => break,
            }
        }
        // Descriptors that a vector left open are closed by the next reset; requests without an answer cannot be judged.
        let unanswered: BTreeSet<usize> = self.open.into_values().collect();
        let numbered = self.entries.into_iter().enumerate();
        let entries = numbered.filter(|(place, _)| !unanswered.contains(place)).map(|(_, entry)| entry).collect();
        let transcript = Transcript { start, entries, ended: self.ended };
        Executed { transcript, fault: self.fault }
    }

    fn end(&mut self, machine: &mut Machine<'_>, at: &str, why: &str) {
        let last = || self.entries.last().map_or_else(|| "0".to_owned(), |entry| entry.at.clone());
        let at = if at.is_empty() { last() } else { at.to_owned() };
        self.ended = Some(Ended { at, why: why.to_owned() });
        machine.stop();
    }

    fn send(&mut self, machine: &mut Machine<'_>, message: Message) {
        let sent = self.session.send(&message.verb, &message.params);
        let place = self.enter(machine, message);
        match sent {
            Ok(id) => {
                self.open.insert(id, place);
            }
            Err(fault) => self.broken(machine, place, fault),
        }
    }

    /// Makes the entry of a message that has no answer yet.
    fn enter(&mut self, machine: &Machine<'_>, message: Message) -> usize {
        let Message { at, verb, params } = message;
        let now_ms = machine.now_ms();
        let answer = Answer::Broken("no answer".into());
        self.entries.push(Entry { at, verb, params, now_ms, answer, answered_ms: now_ms, order: 0 });
        self.entries.len() - 1
    }

    fn receive(&mut self, machine: &mut Machine<'_>) {
        let Some(first) = self.open.values().next().copied() else {
            // Nothing is on its way, and the machine wants nothing: it was stopped.
            machine.stop();
            return;
        };
        match self.session.receive(self.setting.limits.verb()) {
            Ok(Incoming::Answer { id, result }) => match self.open.remove(&id) {
                Some(place) => {
                    let answer = checked(&self.entries[place].verb, result);
                    self.delivered(machine, place, answer);
                }
                None => {
                    let message = format!("the target answered request {id} of another vector");
                    self.broken(machine, first, Fault::new(FaultKind::Garbage, message));
                }
            },
            Ok(Incoming::Request { id, verb, .. }) => {
                let message = format!("a provider target has nothing to ask the runner, not {verb:?}");
                let _ = self.session.answer(&id, Err(RpcError { code: RpcError::NO_SUCH_VERB, message }));
            }
            Err(fault) => self.broken(machine, first, fault),
        }
    }

    fn delivered(&mut self, machine: &mut Machine<'_>, place: usize, answer: Answer) {
        let entry = &self.entries[place];
        if entry.verb == "control.clock" && matches!(answer, Answer::Result(_)) && self.clock.begun.is_none() {
            let advance = entry.params["advance_ms"].as_i64().unwrap_or(0);
            self.clock.base_ms = self.clock.base_ms.saturating_add(advance);
        }
        if let Answer::Broken(why) = &answer {
            self.fault = Some(Fault::new(FaultKind::Garbage, why));
        }
        let now_ms = self.clock.now_ms();
        let entry = &mut self.entries[place];
        entry.answer = answer.clone();
        entry.answered_ms = now_ms;
        entry.order = self.order;
        self.order += 1;
        let at = entry.at.clone();
        machine.deliver(&at, answer, now_ms, &mut Blind);
    }

    fn broken(&mut self, machine: &mut Machine<'_>, place: usize, fault: Fault) {
        self.open.retain(|_, other| *other != place);
        self.delivered(machine, place, Answer::Broken(fault.message.clone()));
        self.fault = Some(fault);
    }

    /// Reads a descriptor to its end, or to the limit.
    fn read(&mut self, machine: &mut Machine<'_>, message: Message, limit_bytes: u64) {
        let params = message.params.clone();
        let place = self.enter(machine, message);
        match self.content(&params, limit_bytes) {
            Ok(result) => self.delivered(machine, place, Answer::Result(result)),
            Err(fault) => self.broken(machine, place, fault),
        }
    }

    fn content(&mut self, params: &Json, limit_bytes: u64) -> Result<Json, Fault> {
        let garbage = |message: String| Fault::new(FaultKind::Garbage, message);
        let mut content: Vec<u8> = Vec::new();
        let (mut eof, mut reads, mut error) = (false, 0_u64, None);
        while !eof && (content.len() as u64) < limit_bytes {
            reads += 1;
            match exchange(self.session, "fd.read", params, self.setting.limits.verb())? {
                Answer::Result(result) => {
                    let bytes = result["base64"].as_str().and_then(|text| STANDARD.decode(text).ok());
                    let bytes = bytes.ok_or_else(|| garbage("fd.read brought no padded base64".into()))?;
                    let most = params["max_bytes"].as_u64().unwrap_or(u64::MAX);
                    if bytes.len() as u64 > most {
                        return Err(garbage(format!(
                            "fd.read brought {} bytes where {most} were asked for",
                            bytes.len()
                        )));
                    }
                    eof = result["eof"].as_bool().unwrap_or(false);
                    if bytes.is_empty() && !eof {
                        return Err(garbage("fd.read brought nothing and no end of file".into()));
                    }
                    content.extend(bytes);
                }
                Answer::Refused { code, message } => {
                    error = Some(json!({ "code": code, "message": message }));
                    break;
                }
                Answer::Broken(why) => return Err(garbage(why)),
            }
        }
        let mut result = json!({ "bytes": content.len(), "sha256": sha256_hex(&content), "eof": eof, "reads": reads });
        match String::from_utf8(content) {
            Ok(text) => result["text"] = json!(text),
            Err(error) => result["base64"] = json!(STANDARD.encode(error.as_bytes())),
        }
        if let Some(error) = error {
            result["error"] = error;
        }
        Ok(result)
    }
}

/// Sends one request and waits for its answer, with nothing else on its way.
///
/// # Errors
/// The target is gone, silent, or answered something else.
pub fn exchange(session: &mut dyn Session, verb: &str, params: &Json, limit: Duration) -> Result<Answer, Fault> {
    let id = session.send(verb, params)?;
    match session.receive(limit)? {
        Incoming::Answer { id: answered, result } if answered == id => Ok(checked(verb, result)),
        Incoming::Answer { id, .. } => {
            Err(Fault::new(FaultKind::Garbage, format!("the target answered request {id} out of turn")))
        }
        Incoming::Request { verb: asked, .. } => {
            Err(Fault::new(FaultKind::Garbage, format!("the target sent {asked:?} instead of its answer to {verb}")))
        }
    }
}

fn checked(verb: &str, result: Result<Json, RpcError>) -> Answer {
    match result {
        Ok(result) => match check_result(verb, &result) {
            Ok(()) => Answer::Result(result),
            Err(error) => Answer::Broken(error.to_string()),
        },
        Err(RpcError { code, message }) => Answer::Refused { code, message },
    }
}
