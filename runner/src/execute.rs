//! Runs one vector against one session and writes the transcript. The main function is [`execute`].
//!
//! It does what the machine says, keeps the time, and decides nothing about right and wrong: that is the observer's part.

use crate::adapter::{Fault, FaultKind, Incoming, Piece, RpcError, Session, await_message};
use crate::limits::Limits;
use base64::{Engine, engine::general_purpose::STANDARD};
use cetp_vectors::expr::hex;
use cetp_vectors::json::{Limits as JsonLimits, parse};
use cetp_vectors::ledger::Role;
use cetp_vectors::machine::{Action, Answer, Breakdown, End, HOLD, MEMORY, Machine, Message, Observer, Start};
use cetp_vectors::model::Vector;
use cetp_vectors::protocol::check_result;
use cetp_vectors::script::Response;
use cetp_vectors::transcript::{self, Ended, Entry, Transcript};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
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

/// What happened to a vector.
pub struct Executed {
    /// Every message.
    pub transcript: Transcript,
    /// How the machine ended.
    pub end: End,
    /// Why the session cannot be used again, where that is so.
    pub fault: Option<Fault>,
}

/// Runs a vector from `target.reset` to its end.
///
/// # Errors
/// The target could not even be reset: there is no transcript.
pub fn execute(
    vector: &Vector,
    session: &mut dyn Session,
    setting: &Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<Executed, Fault> {
    let params = json!({ "nonce": setting.nonce, "now_ms": vector.now_ms });
    let now_ms = match exchange(session, "target.reset", &params, setting.limits.verb())? {
        Answer::Result(result) => result["now_ms"].as_i64().expect("the result was checked"),
        Answer::Refused { message, .. } => {
            return Err(Fault::new(FaultKind::Garbage, format!("the target refuses target.reset: {message}")));
        }
        Answer::Broken { why, .. } => return Err(Fault::new(FaultKind::Garbage, why)),
        Answer::Unread => unreachable!("an exchange is answered"),
    };
    // For consumers the clock is always the runner's.
    let virtual_clock = setting.virtual_clock || vector.role == Role::Consumer;
    let start = Start { target: setting.target.clone(), seed: setting.seed, now_ms };
    let run = Run {
        session,
        setting,
        observer,
        machine: Machine::new(vector, start.clone()),
        clock: Clock { base_ms: now_ms, begun: (!virtual_clock).then(Instant::now) },
        entries: Vec::new(),
        open: BTreeMap::new(),
        pauses: Vec::new(),
        waits: BTreeMap::new(),
        order: 0,
        asked: BTreeMap::new(),
        incoming: Vec::new(),
        unasked: 0,
        ended: None,
        fault: None,
    };
    Ok(run.drive(start))
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

/// A request on its way.
struct Flight {
    /// Its entry.
    place: usize,
    begun: Instant,
    deadline: Instant,
    /// What was read so far, where it is part of a reading.
    reading: Option<Reading>,
}

#[derive(Default)]
struct Reading {
    /// What was read, while it is not more than [`MOST_CONTENT`]; of more, what the digest lacks.
    content: Vec<u8>,
    /// All that was read but for what follows the first so many bytes of the content.
    digest: Sha256,
    digested: usize,
    bytes: u64,
    reads: u64,
    eof: bool,
    limit_bytes: u64,
}

/// So much of a descriptor is kept, in bytes: above the largest result of the fixture. Of more only length and digest are
/// told, so that a descriptor may be larger than the memory.
const MOST_CONTENT: u64 = 64 << 20;

/// From so many bytes on a content may become much larger.
const LARGE: usize = 1 << 20;

/// What a repeat has waited for what comes by itself.
struct Waited {
    since: Instant,
    /// So often in a row the target was at rest.
    at_rest: u32,
    /// So often in a row the last poll of a round was a definite error.
    refused: u32,
}

/// What a provider said last to a repeat that waits.
struct LastReply {
    method: String,
    status: Option<String>,
    error_code: Option<String>,
    /// What it says of an operation.
    state: Option<String>,
    retryable: Option<bool>,
}

impl LastReply {
    /// Whether nothing else can follow: the operation is refused for good, or its session is gone, which a repeat that polls
    /// does not negotiate anew.
    fn is_definite_refusal(&self) -> bool {
        let lost = self.error_code.as_deref() == Some("NEGOTIATION_REQUIRED");
        self.method == "get_operation"
            && self.status.as_deref() == Some("error")
            && (self.retryable == Some(false) || lost)
    }
}

impl std::fmt::Display for LastReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let status = self.status.as_deref().unwrap_or("nothing");
        write!(f, "; the last answer to {} was status={}", self.method, shortened(status))?;
        if let Some(code) = &self.error_code {
            write!(f, ", error_code={}", shortened(code))?;
        }
        if let Some(state) = &self.state {
            write!(f, ", state={}", shortened(state))?;
        }
        Ok(())
    }
}

/// The beginning of what a target wrote.
fn shortened(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_default).collect()
}

/// A pause that runs.
#[derive(Clone, Copy)]
struct Pause {
    place: usize,
    until: Instant,
}

/// Why a vector that was under way ended, where the user wanted the run to end.
pub const INTERRUPTED: &str = "the run was interrupted";

/// How long the executor waits at once, so that it notices an interruption.
const SLICE: Duration = Duration::from_millis(100);

/// A repeat that waits has looked so often at a target in which nothing goes on: it is not looked at for ever, however
/// patient one is. A target may move on at each look, and a vector may end its repeat by itself after some tens of rounds, so
/// that few are not enough.
const MOST_RESTS: u32 = 200;

/// A repeat that waits for an operation has been given a definite error by so many polls in a row: what it waits for does not
/// come any more. A vector may end its repeat by itself after some tens of rounds.
const MOST_REFUSALS: u32 = 100;

/// So many requests a target may send to the runner when nothing that it was asked is open, before it is taken for a flood.
const MOST_UNASKED: u32 = 16;

/// So many requests of a consumer that is still at work are refused after the end of its vector.
const MOST_AFTERWARDS: u32 = 1000;

/// A consumer works for as long as it asks something; all in all so many times the limit of a verb.
const EXECUTION_LIMITS: u32 = 10;

struct Run<'r> {
    session: &'r mut dyn Session,
    setting: &'r Setting<'r>,
    observer: &'r mut dyn Observer,
    machine: Machine<'r>,
    clock: Clock,
    entries: Vec<Entry>,
    open: BTreeMap<u64, Flight>,
    pauses: Vec<Pause>,
    /// What each waiting repeat has waited, by its place.
    waits: BTreeMap<String, Waited>,
    order: u64,
    /// Requests of the target, by the number that the machine gave them: the target's own id, and the entry.
    asked: BTreeMap<u64, (Json, usize)>,
    incoming: Vec<transcript::Incoming>,
    unasked: u32,
    ended: Option<Ended>,
    fault: Option<Fault>,
}

impl Run<'_> {
    fn drive(mut self, start: Start) -> Executed {
        let end = loop {
            match self.machine.next(self.observer) {
                Action::Send { messages, schedule } => {
                    if let Some(seed) = schedule {
                        self.session.schedule(seed, messages.len());
                    }
                    for message in messages {
                        let place = self.enter(message);
                        self.send(place, None);
                    }
                }
                Action::Read { message, limit_bytes } => {
                    let place = self.enter(message);
                    self.send(place, Some(Reading { limit_bytes, ..Reading::default() }));
                }
                Action::Pause { message, ms } => self.pause(message, ms),
                Action::Answer { number, response } => self.answer(number, &response),
                Action::Wait => self.turn(),
                Action::Finished(end) => break end,
            }
        };
        self.drain();
        let transcript = Transcript { start, entries: self.entries, incoming: self.incoming, ended: self.ended };
        Executed { transcript, end, fault: self.fault }
    }

    /// Makes the entry of a message that has no answer yet.
    fn enter(&mut self, message: Message) -> usize {
        let Message { at, verb, params } = message;
        let now_ms = self.machine.now_ms();
        self.entries.push(Entry { at, verb, params, now_ms, answer: Answer::Unread, answered_ms: now_ms, order: 0 });
        self.entries.len() - 1
    }

    fn send(&mut self, place: usize, reading: Option<Reading>) {
        if self.fault.is_some() {
            return;
        }
        let entry = &self.entries[place];
        if entry.verb == MEMORY {
            // A question to the runner itself. What it cannot tell is left out, and then nothing is judged by it.
            let peak = self.session.peak_memory_bytes();
            return self
                .delivered(place, Answer::Result(peak.map_or(json!({}), |bytes| json!({ "peak_bytes": bytes }))));
        }
        match self.session.send(&entry.verb, &entry.params) {
            Ok(id) => {
                let begun = Instant::now();
                self.open.insert(id, Flight { place, begun, deadline: begun + self.setting.limits.verb(), reading });
            }
            Err(fault) => self.broken(place, fault),
        }
    }

    fn pause(&mut self, message: Message, ms: u64) {
        let repeat = message.at.rsplit_once('[').map_or(message.at.as_str(), |(repeat, _)| repeat).to_owned();
        let until = Instant::now() + Duration::from_millis(ms);
        let at_rest = self.is_alone(&message.at) && self.session.at_rest(Duration::from_millis(ms)) == Some(true);
        let last = self.last_reply(&message.at);
        let fresh = || Waited { since: Instant::now(), at_rest: 0, refused: 0 };
        let waited = self.waits.entry(repeat).or_insert_with(fresh);
        waited.at_rest = if at_rest { waited.at_rest + 1 } else { 0 };
        let definite = last.as_ref().is_some_and(LastReply::is_definite_refusal);
        waited.refused = if definite { waited.refused + 1 } else { 0 };
        let (rests, refusals, elapsed) = (waited.at_rest, waited.refused, waited.since.elapsed());
        let said = || last.as_ref().map_or_else(String::new, LastReply::to_string);
        let place = self.enter(message);
        let patience = Duration::from_millis(self.setting.limits.patience_ms);
        let hung = |why| Answer::Broken { kind: Breakdown::Hung, why };
        if rests > MOST_RESTS {
            self.delivered(
                place,
                hung(format!("what is waited for did not come, and nothing goes on in the target{}", said())),
            );
        } else if refusals > MOST_REFUSALS {
            self.delivered(place, hung(format!("what is waited for did not come in {refusals} polls{}", said())));
        } else if at_rest {
            self.delivered(place, Answer::Result(json!({})));
        } else if elapsed > patience {
            let why = format!("what is waited for did not come within {} s{}", patience.as_secs_f64(), said());
            self.delivered(place, hung(why));
        } else {
            self.pauses.push(Pause { place, until });
        }
    }

    /// The last reply of a provider in the round after which a pause comes.
    fn last_reply(&self, pause: &str) -> Option<LastReply> {
        let within = format!("{pause}.");
        let entry = self
            .entries
            .iter()
            .rev()
            .take_while(|entry| entry.at.starts_with(&within))
            .find(|entry| entry.verb == "provider.call")?;
        let Answer::Result(result) = &entry.answer else { return None };
        let text = |name: &str| Some(result["bundle"][name]["string"].as_str()?.to_owned());
        Some(LastReply {
            method: entry.params["method"].as_str().unwrap_or_default().to_owned(),
            status: text("status"),
            error_code: text("error_code"),
            state: text("data").and_then(|data| {
                let data = parse(data.as_bytes(), JsonLimits::DATA).ok()?;
                Some(data["state"].as_str()?.to_owned())
            }),
            retryable: result["bundle"]["retryable"]["bool"].as_bool(),
        })
    }

    /// Whether a pause is one of a repeat that waits, and nothing else of the vector is under way: then what it waits for
    /// can only come from the target itself. The place of such a pause is that of a round, `4[2]`; that of an answer that is
    /// held goes on after it, and a branch of a parallel step is in braces.
    fn is_alone(&self, at: &str) -> bool {
        let waits = at.ends_with(']') && !at.contains('{');
        waits && self.open.is_empty() && self.pauses.is_empty() && self.clock.begun.is_none()
    }

    /// Takes out the pause that ends next, where it only holds an answer back and nothing can come in between: the target does
    /// nothing before it gets an answer. Where that cannot be told the pause takes its time.
    fn needless_pause(&mut self) -> Option<usize> {
        let next = (0..self.pauses.len()).min_by_key(|n| self.pauses[*n].until)?;
        let Pause { place, until } = self.pauses[next];
        let left = until.saturating_duration_since(Instant::now());
        let needless = self.entries[place].at.contains(HOLD) && self.session.at_rest(left.min(SLICE)) == Some(true);
        needless.then(|| self.pauses.remove(next).place)
    }

    /// Waits for whatever comes first: a message, the end of a pause, a time limit, an interruption.
    fn turn(&mut self) {
        if self.setting.interrupted.load(Ordering::Relaxed) {
            let at = self.entries.last().map_or_else(|| "0".to_owned(), |entry| entry.at.clone());
            self.ended = Some(Ended { at, why: INTERRUPTED.into() });
            return self.machine.stop();
        }
        let now = Instant::now();
        if let Some(due) = self.pauses.iter().position(|pause| pause.until <= now) {
            let place = self.pauses.remove(due).place;
            return self.delivered(place, Answer::Result(json!({})));
        }
        if let Some(place) = self.needless_pause() {
            return self.delivered(place, Answer::Result(json!({})));
        }
        let next_pause = self.pauses.iter().map(|pause| pause.until).min();
        let now = Instant::now();
        let wait = next_pause.map_or(SLICE, |until| SLICE.min(until.saturating_duration_since(now)));
        if self.open.is_empty() {
            if next_pause.is_none() {
                // Nothing is on its way, and the machine wants nothing.
                return self.machine.stop();
            }
            return std::thread::sleep(wait);
        }
        match self.session.receive(wait) {
            Ok(Some(incoming)) => self.incoming(incoming),
            Ok(None) => {}
            Err(fault) => return self.broke_down(None, fault),
        }
        let late = self.open.values().find(|flight| flight.deadline <= Instant::now());
        if let Some((place, begun)) = late.map(|flight| (flight.place, flight.begun))
            && self.fault.is_none()
        {
            let (limit, whole) = (self.setting.limits.verb(), self.setting.limits.verb() * EXECUTION_LIMITS);
            let fault = if begun.elapsed() < whole {
                self.session.silence(limit)
            } else {
                Fault::new(FaultKind::Silent, format!("the target was still at work after {} s", whole.as_secs_f64()))
            };
            self.broke_down(Some(place), fault);
        }
    }

    fn incoming(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Answer { id, result } => match self.open.remove(&id) {
                Some(flight) => self.answered(flight, result),
                None => self.foreign(id),
            },
            Incoming::Piece { id, piece } => match self.open.remove(&id).map(|flight| (flight.place, flight.reading)) {
                Some((place, Some(mut reading))) => {
                    let taken = reading.take_piece(piece, &self.entries[place].params);
                    self.go_on_reading(place, reading, taken);
                }
                _ => self.foreign(id),
            },
            Incoming::Request { id, verb, params } => self.request(id, verb, params),
        }
    }

    fn foreign(&mut self, id: u64) {
        let message = format!("the target answered request {id} of another vector");
        self.broke_down(None, Fault::new(FaultKind::Garbage, message));
    }

    fn request(&mut self, id: Json, verb: String, params: Json) {
        let consumer = self.open.values().any(|flight| self.entries[flight.place].verb.starts_with("consumer."));
        if !consumer {
            self.unasked += 1;
            let message = format!("the target sent {verb:?}, and nothing that it was asked needs that");
            if self.unasked > MOST_UNASKED {
                return self.broke_down(None, Fault::new(FaultKind::Flood, message));
            }
            let refusal = RpcError { code: RpcError::NO_SUCH_VERB, message };
            return match self.session.answer(&id, Err(refusal)) {
                Ok(()) => {}
                Err(fault) => self.broke_down(None, fault),
            };
        }
        // It is at work: its time begins anew, up to a limit for all of it.
        let limit = self.setting.limits.verb();
        for flight in self.open.values_mut() {
            flight.deadline = (Instant::now() + limit).min(flight.begun + limit * EXECUTION_LIMITS);
        }
        let now_ms = self.machine.now_ms();
        let number = self.machine.request(&verb, &params, self.observer);
        self.asked.insert(number, (id, self.incoming.len()));
        self.incoming.push(transcript::Incoming { verb, params, now_ms, order: self.order, answer: Json::Null });
        self.order += 1;
        // The clock of a consumer is the machine's.
        self.clock = Clock { base_ms: self.machine.now_ms(), begun: None };
    }

    fn answer(&mut self, number: u64, response: &Response) {
        let Some((id, place)) = self.asked.remove(&number) else { return };
        let incoming = &mut self.incoming[place];
        incoming.answer = response.summary(&incoming.verb);
        let result = match response {
            Response::Result(result) => Ok(result.clone()),
            Response::Refused { code, message } => Err(RpcError { code: *code, message: message.clone() }),
        };
        if self.fault.is_none()
            && let Err(fault) = self.session.answer(&id, result)
        {
            self.broke_down(None, fault);
        }
    }

    fn answered(&mut self, flight: Flight, result: Result<Json, RpcError>) {
        let place = flight.place;
        let answer = checked(&self.entries[place].verb, result);
        let Some(mut reading) = flight.reading else { return self.delivered(place, answer) };
        let error = match answer {
            Answer::Result(result) => {
                let taken = reading.take(&result, &self.entries[place].params);
                drop(result);
                return self.go_on_reading(place, reading, taken);
            }
            Answer::Refused { code, message } => json!({ "code": code, "message": message }),
            other => return self.delivered(place, other),
        };
        self.delivered(place, Answer::Result(reading.result(Some(error))));
    }

    /// `taken` is whether the reading is at its end.
    fn go_on_reading(&mut self, place: usize, reading: Reading, taken: Result<bool, String>) {
        match taken {
            Ok(true) => self.delivered(place, Answer::Result(reading.result(None))),
            Ok(false) => {
                self.send(place, Some(reading));
                // While the target reads on.
                let flight = self.open.values_mut().find(|flight| flight.place == place);
                if let Some(reading) = flight.and_then(|flight| flight.reading.as_mut()) {
                    reading.update_digest();
                }
            }
            Err(why) => self.broken(place, Fault::new(FaultKind::Garbage, why)),
        }
    }

    fn delivered(&mut self, place: usize, answer: Answer) {
        let entry = &self.entries[place];
        if entry.verb == "control.clock" && matches!(answer, Answer::Result(_)) && self.clock.begun.is_none() {
            let advance = entry.params["advance_ms"].as_i64().unwrap_or(0);
            self.clock.base_ms = self.clock.base_ms.saturating_add(advance);
        }
        if let Answer::Broken { kind: Breakdown::Protocol, why } = &answer {
            self.fault.get_or_insert(Fault::new(FaultKind::Garbage, why));
        }
        // The vector itself may have moved the clock of a consumer.
        let now_ms = self.clock.now_ms().max(self.machine.now_ms());
        let entry = &mut self.entries[place];
        entry.answer = answer;
        entry.answered_ms = now_ms;
        entry.order = self.order;
        self.order += 1;
        self.machine.deliver(&entry.at, &entry.params, &entry.answer, now_ms, self.observer);
    }

    /// The target broke down with several requests on their way: one that a requirement forbids to be broken down on is
    /// the one that counts, else the late one, else the first.
    fn broke_down(&mut self, late: Option<usize>, fault: Fault) {
        let places: Vec<usize> = self.open.values().map(|flight| flight.place).collect();
        let forbidden = |place: &&usize| self.machine.breakdown_at(&self.entries[**place].at).is_some();
        let place = places.iter().find(forbidden).copied().or(late).or(places.first().copied());
        match place {
            Some(place) => self.broken(place, fault),
            None => {
                self.ended = Some(Ended { at: "end".into(), why: fault.message.clone() });
                self.fault = Some(fault);
                self.machine.stop();
            }
        }
    }

    fn broken(&mut self, place: usize, fault: Fault) {
        self.open.retain(|_, flight| flight.place != place);
        let kind = match fault.kind {
            FaultKind::Died => Breakdown::Died,
            FaultKind::Silent => Breakdown::Hung,
            FaultKind::Start | FaultKind::Flood | FaultKind::Garbage | FaultKind::Device => Breakdown::Protocol,
        };
        let why = fault.message.clone();
        self.fault = Some(fault);
        self.delivered(place, Answer::Broken { kind, why });
        self.machine.stop();
    }

    /// A vector may be over before all its requests are answered. The answers mean nothing to it, and must not reach the
    /// next one.
    fn drain(&mut self) {
        while self.fault.is_none() && !self.open.is_empty() {
            let deadline = self.open.values().map(|flight| flight.deadline).max().expect("one is open");
            match self.session.receive(SLICE) {
                Ok(Some(Incoming::Answer { id, .. } | Incoming::Piece { id, .. })) => drop(self.open.remove(&id)),
                Ok(Some(Incoming::Request { id, .. })) => {
                    // A consumer that is still at work gets nothing more, and so comes to an end.
                    self.unasked += 1;
                    let refusal = RpcError { code: RpcError::CANNOT, message: "the vector is over".into() };
                    self.fault = match self.session.answer(&id, Err(refusal)) {
                        Ok(()) if self.unasked <= MOST_AFTERWARDS => None,
                        Ok(()) => Some(Fault::new(FaultKind::Flood, "the target goes on asking after its vector")),
                        Err(fault) => Some(fault),
                    };
                }
                Ok(None) if deadline <= Instant::now() || self.setting.interrupted.load(Ordering::Relaxed) => {
                    self.fault = Some(self.session.silence(self.setting.limits.verb()));
                }
                Ok(None) => {}
                Err(fault) => self.fault = Some(fault),
            }
        }
    }
}

impl Reading {
    /// Takes the result of an `fd.read`; whether the reading is at its end.
    fn take(&mut self, result: &Json, params: &Json) -> Result<bool, String> {
        // Decoded to where it is kept: a buffer for each piece would cost more than the digest.
        let kept = self.content.len();
        let decoded = result["base64"].as_str().map(|text| {
            self.make_room(base64::decoded_len_estimate(text.len()));
            STANDARD.decode_vec(text, &mut self.content)
        });
        let Some(Ok(())) = decoded else {
            self.content.truncate(kept);
            return Err("fd.read brought no padded base64".into());
        };
        self.taken(kept, result["eof"].as_bool().unwrap_or(false), params)
    }

    /// The same for bytes that came as they are.
    fn take_piece(&mut self, piece: Piece, params: &Json) -> Result<bool, String> {
        let kept = self.content.len();
        if kept == 0 {
            self.content = piece.bytes;
        } else {
            self.make_room(piece.bytes.len());
            self.content.extend_from_slice(&piece.bytes);
        }
        self.taken(kept, piece.eof, params)
    }

    /// For so many bytes more. Where the content is large already the room is had for all that may come: what is not filled
    /// takes no memory, and nothing is copied again and again.
    fn make_room(&mut self, bytes: usize) {
        let kept = self.content.len();
        if kept >= LARGE && self.content.capacity() - kept < bytes {
            let all = usize::try_from(self.limit_bytes.min(MOST_CONTENT)).unwrap_or(usize::MAX);
            self.content.reserve_exact(all.saturating_sub(kept).max(bytes));
        }
    }

    /// What follows the first `kept` bytes of the content has come.
    fn taken(&mut self, kept: usize, eof: bool, params: &Json) -> Result<bool, String> {
        self.reads += 1;
        let brought = self.content.len() - kept;
        let most = params["max_bytes"].as_u64().unwrap_or(u64::MAX);
        if brought as u64 > most {
            self.content.truncate(kept);
            return Err(format!("fd.read brought {brought} bytes where {most} were asked for"));
        }
        self.eof = eof;
        if brought == 0 && !eof {
            return Err("fd.read brought nothing and no end of file".into());
        }
        self.bytes += brought as u64;
        Ok(eof || self.bytes >= self.limit_bytes)
    }

    fn update_digest(&mut self) {
        let new = &self.content[self.digested..];
        self.digest.update(new);
        if self.bytes > MOST_CONTENT {
            let piece = new.len();
            self.content.clear();
            self.content.shrink_to(2 * piece);
        }
        self.digested = self.content.len();
    }

    fn result(mut self, error: Option<Json>) -> Json {
        self.update_digest();
        let Reading { content, digest, bytes, reads, eof, .. } = self;
        let digest = hex(&digest.finalize());
        let mut result = json!({ "bytes": bytes, "sha256": digest, "eof": eof, "reads": reads });
        if bytes <= MOST_CONTENT {
            match String::from_utf8(content) {
                Ok(text) => result["text"] = Json::String(text),
                Err(error) => result["base64"] = Json::String(STANDARD.encode(error.as_bytes())),
            }
        }
        if let Some(error) = error {
            result["error"] = error;
        }
        result
    }
}

/// Sends one request and waits for its answer, with nothing else on its way.
///
/// # Errors
/// The target is gone, silent, or answered something else.
pub fn exchange(session: &mut dyn Session, verb: &str, params: &Json, limit: Duration) -> Result<Answer, Fault> {
    let id = session.send(verb, params)?;
    match await_message(session, limit)? {
        Incoming::Answer { id: answered, result } if answered == id => Ok(checked(verb, result)),
        Incoming::Answer { id, .. } | Incoming::Piece { id, .. } => {
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
            Err(error) => {
                Answer::Broken { kind: Breakdown::Protocol, why: Fault::new(FaultKind::Garbage, error).message }
            }
        },
        Err(RpcError { code, message }) => {
            Answer::Refused { code, message: Fault::new(FaultKind::Garbage, message).message }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poll_that_is_refused_for_good_is_definite() {
        let said = |method: &str, code: &str, retryable| LastReply {
            method: method.into(),
            status: Some("error".into()),
            error_code: Some(code.into()),
            state: None,
            retryable: Some(retryable),
        };
        let gone = said("get_operation", "INVALID_REQUEST", false);
        assert!(gone.is_definite_refusal());
        assert_eq!(gone.to_string(), "; the last answer to get_operation was status=error, error_code=INVALID_REQUEST");
        assert!(said("get_operation", "NEGOTIATION_REQUIRED", true).is_definite_refusal());
        assert!(!said("get_operation", "UNAVAILABLE", true).is_definite_refusal());
        assert!(!said("execute_tool", "INVALID_REQUEST", false).is_definite_refusal());
        let running = LastReply {
            status: Some("success".into()),
            error_code: None,
            state: Some("RUNNING".into()),
            ..said("get_operation", "", false)
        };
        assert!(!running.is_definite_refusal());
        assert_eq!(running.to_string(), "; the last answer to get_operation was status=success, state=RUNNING");
    }
}
