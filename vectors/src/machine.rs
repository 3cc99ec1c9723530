//! The interpreter of vectors, without any input or output of its own. The main type is [`Machine`].
//!
//! A machine says what to do next ([`Machine::next`]) and is told what came of it ([`Machine::deliver`]). The runner drives
//! one with a live target; the judge drives one with a transcript, and thereby sees the same values at the same places.
//! An [`Observer`] is called after each step, with the [`View`] that expectations are judged in.

use crate::bundle::{Bundle, Text, Value};
use crate::expr::{self, ExprError, Scope};
use crate::fixture;
use crate::json::{Limits, parse};
use crate::model::{Args, Assertion, Call, Kind, Rounds, Step, Vector};
use crate::pattern::{self, Match};
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What a target answered to one message.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The result of the verb.
    Result(Json),
    /// A JSON-RPC error: the target says that it cannot.
    Refused {
        /// The JSON-RPC code.
        code: i64,
        /// Its message.
        message: String,
    },
    /// There was no answer, as the target died, hung, or broke the protocol.
    Broken(String),
}

/// One message to the target.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Where in the vector it belongs, for example `3`, `4[0].1` (a round of a repeat) or `5{1}.0` (a branch).
    pub at: String,
    /// The verb of the target protocol.
    pub verb: String,
    /// Its parameters.
    pub params: Json,
}

/// What a machine wants next.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// These messages are to be sent, in this order, without waiting in between. More than one: they start together.
    Send(Vec<Message>),
    /// An `fd.read` is to be repeated to the end of the descriptor or up to the limit, and delivered as one result.
    Read {
        /// The message of the first reading.
        message: Message,
        /// Stop after so many bytes.
        limit_bytes: u64,
    },
    /// Real time is to pass; then [`Machine::resume`], and [`Machine::next`] again. `at` names the waiting step, whose patience the caller counts.
    Pause {
        /// The step that waits.
        at: String,
        /// How long, in milliseconds.
        ms: u64,
    },
    /// Nothing until a delivery.
    Wait,
    /// The vector is over.
    Finished(End),
}

/// How a vector ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All steps were done.
    Complete,
    /// A step could not be done, as an earlier answer lacked a value, or an expression made no sense.
    Stuck {
        /// The step.
        at: String,
        /// Why.
        why: String,
    },
    /// The observer had seen enough, or the target was gone.
    Stopped,
}

/// What is visible after a step, for conditions and expectations.
pub struct View<'m> {
    machine: &'m Core<'m>,
    task: usize,
    /// The step's own values: `request`, `session`, `answer`, `reply`.
    own: &'m BTreeMap<&'static str, Json>,
}

/// Is told of every step that is over.
pub trait Observer {
    /// A step is over. `answer` is what came back, where the step asked something. False ends the vector.
    fn step(&mut self, at: &str, step: &Step, answer: Option<&Answer>, view: &View<'_>) -> bool;

    /// A step was left out, as it could not be told whether its condition holds.
    fn skipped(&mut self, at: &str, why: &str);
}

/// Sees nothing: for the runner, which judges afterwards.
pub struct Blind;

impl Observer for Blind {
    fn step(&mut self, _: &str, _: &Step, answer: Option<&Answer>, _: &View<'_>) -> bool {
        // A target that is gone can be asked nothing more.
        !matches!(answer, Some(Answer::Broken(_)))
    }

    fn skipped(&mut self, _: &str, _: &str) {}
}

/// What a machine is started with; all of it is in the transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// The target's answer to `target.describe`.
    pub target: Json,
    /// Decides UUIDs and schedules.
    pub seed: u64,
    /// The clock as the target's answer to `target.reset` gave it.
    pub now_ms: i64,
}

/// The interpreter of one vector.
pub struct Machine<'v> {
    core: Core<'v>,
    end: Option<End>,
}

struct Core<'v> {
    vector: &'v Vector,
    start: Start,
    now_ms: i64,
    tasks: Vec<Task<'v>>,
}

#[derive(PartialEq, Eq)]
enum State {
    Ready,
    /// Waits for the delivery at this place.
    Waiting(String),
    Paused,
    AtBarrier,
    /// The main task, while branches run.
    Joining,
    Done,
}

struct Task<'v> {
    frames: Vec<Frame<'v>>,
    state: State,
    /// The step that waits, with its own values.
    open: Option<(&'v Step, BTreeMap<&'static str, Json>)>,
}

struct Frame<'v> {
    steps: &'v [Step],
    index: usize,
    prefix: String,
    values: BTreeMap<String, Json>,
    round: Option<Round<'v>>,
}

struct Round<'v> {
    step: &'v Step,
    at: String,
    index: u64,
    times: Option<u64>,
    collected: BTreeMap<String, Vec<Json>>,
}

impl Scope for View<'_> {
    fn get(&self, name: &str) -> Option<Cow<'_, Json>> {
        match self.own.get(name) {
            Some(value) => Some(Cow::Borrowed(value)),
            None => self.machine.lookup(self.task, name),
        }
    }

    fn uuid(&self, name: &str) -> String {
        self.machine.uuid(name)
    }
}

impl View<'_> {
    /// Whether an assertion holds here.
    pub fn holds(&self, assertion: &Assertion) -> Match {
        match assertion {
            Assertion::Is { that, is } => {
                let value = match that {
                    None => Ok(self.own.get("answer").cloned()),
                    Some(that) => expr::resolve_optional(that, self),
                };
                match value {
                    Ok(value) => pattern::matches(is, value.as_ref(), self),
                    Err(why) => Match::No(vec![pattern::Mismatch {
                        pointer: String::new(),
                        expected: json!(why),
                        actual: None,
                    }]),
                }
            }
            Assertion::AnyOf(list) => Match::any(list.iter().map(|a| self.holds(a))),
            Assertion::AllOf(list) => Match::all(list.iter().map(|a| self.holds(a))),
            Assertion::NoneOf(list) => match Match::any(list.iter().map(|a| self.holds(a))) {
                Match::Yes => Match::No(vec![pattern::Mismatch {
                    pointer: String::new(),
                    expected: json!("none of the excluded cases"),
                    actual: self.own.get("answer").cloned(),
                }]),
                Match::No(_) => Match::Yes,
                unknown => unknown,
            },
        }
    }
}

impl Core<'_> {
    fn lookup(&self, task: usize, name: &str) -> Option<Cow<'_, Json>> {
        // A branch sees its own values, then those of the main task.
        for frame in self.tasks[task].frames.iter().rev().chain(self.tasks[0].frames.iter().rev()) {
            if let Some(value) = frame.values.get(name) {
                return Some(Cow::Borrowed(value));
            }
        }
        match name {
            "now" => Some(Cow::Owned(json!(self.now_ms))),
            "target" => Some(Cow::Borrowed(&self.start.target)),
            "reset" => Some(Cow::Owned(json!({ "now_ms": self.start.now_ms }))),
            "seed" => Some(Cow::Owned(json!(self.start.seed))),
            "callers" => Some(Cow::Borrowed(fixture::callers())),
            _ => None,
        }
    }

    /// Version 4 by shape; decided by seed, vector and name.
    fn uuid(&self, name: &str) -> String {
        let mut hex = expr::sha256_hex(format!("{} {} {name}", self.start.seed, self.vector.id).as_bytes());
        hex.truncate(32);
        hex.replace_range(12..13, "4");
        let variant = u8::from_str_radix(&hex[16..17], 16).expect("hex") & 3 | 8;
        hex.replace_range(16..17, &format!("{variant:x}"));
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }

    /// A number that depends on the seed, the vector and a place in it.
    fn dice(&self, at: &str) -> u64 {
        let hex = expr::sha256_hex(format!("{} {} dice {at}", self.start.seed, self.vector.id).as_bytes());
        u64::from_str_radix(&hex[..16], 16).expect("hex")
    }

    fn shuffle<T>(&self, at: &str, items: &mut [T]) {
        let mut state = self.dice(at) | 1;
        for n in (1..items.len()).rev() {
            // xorshift64: no statistics are asked of it, only that every order can come.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            #[allow(clippy::cast_possible_truncation, reason = "below the length")]
            items.swap(n, (state % (n as u64 + 1)) as usize);
        }
    }
}

impl<'v> Machine<'v> {
    /// A machine at the beginning of a vector, after `target.reset`.
    pub fn new(vector: &'v Vector, start: Start) -> Machine<'v> {
        let root =
            Frame { steps: &vector.steps, index: 0, prefix: String::new(), values: BTreeMap::new(), round: None };
        let main = Task { frames: vec![root], state: State::Ready, open: None };
        Machine { core: Core { vector, now_ms: start.now_ms, start, tasks: vec![main] }, end: None }
    }

    /// The seed for interleaving the messages that start together at a place.
    pub fn schedule_seed(&self, at: &str) -> u64 {
        self.core.dice(&format!("schedule {at}"))
    }

    /// What to do next. No time passes in here: the target's time is that of the last delivery or pause.
    pub fn next(&mut self, observer: &mut dyn Observer) -> Action {
        let mut send = Vec::new();
        loop {
            if let Some(end) = &self.end {
                return Action::Finished(end.clone());
            }
            let Some(task) = self.runnable() else { break };
            self.core.tasks[task].state = State::Ready;
            match self.advance(task, observer) {
                Ok(None) => {}
                Ok(Some(Action::Send(messages))) => send.extend(messages),
                Ok(Some(action)) => {
                    // Only the main task reads and pauses, and then it is alone.
                    debug_assert!(send.is_empty());
                    return action;
                }
                Err((at, error)) => {
                    let why = match error {
                        ExprError::Unresolved(path) => format!("no earlier answer brought ${{{path}}}"),
                        ExprError::Wrong(what) => what,
                    };
                    self.end = Some(End::Stuck { at, why });
                }
            }
        }
        if !send.is_empty() {
            let place = send[0].at.clone();
            self.core.shuffle(&place, &mut send);
            return Action::Send(send);
        }
        Action::Wait
    }

    /// After an [`Action::Pause`]: the target's time, in milliseconds since 1970. It never goes back.
    pub fn resume(&mut self, now_ms: i64) {
        self.core.now_ms = self.core.now_ms.max(now_ms);
    }

    /// The target's time at which the next messages are made.
    pub fn now_ms(&self) -> i64 {
        self.core.now_ms
    }

    /// Tells what came of a message. `now_ms` is the target's time, in milliseconds since 1970; it never goes back.
    pub fn deliver(&mut self, at: &str, answer: Answer, now_ms: i64, observer: &mut dyn Observer) {
        self.core.now_ms = self.core.now_ms.max(now_ms);
        let task = self.core.tasks.iter().position(|task| matches!(&task.state, State::Waiting(place) if place == at));
        let Some(task) = task else { return };
        let (step, mut own) = self.core.tasks[task].open.take().expect("a waiting task has an open step");
        if let Answer::Result(result) = &answer {
            own.insert("answer", result.clone());
            own.insert("reply", flatten_reply(result));
        }
        self.core.tasks[task].state = State::Ready;
        if let Some(name) = &step.save {
            let value = own.get("reply").cloned().unwrap_or(Json::Null);
            self.save(task, name, value);
        }
        self.over(task, at, step, Some(&answer), &own, observer);
    }

    /// Ends the vector, as the target is gone or the caller's patience is at its end.
    pub fn stop(&mut self) {
        self.end.get_or_insert(End::Stopped);
    }

    fn runnable(&self) -> Option<usize> {
        let tasks = &self.core.tasks;
        if let Some(ready) = tasks.iter().position(|t| matches!(t.state, State::Ready | State::Paused)) {
            return Some(ready);
        }
        // A barrier opens when every branch that is not done stands at it.
        let at_barrier = |t: &Task<'_>| t.state == State::AtBarrier;
        let all = tasks[1..].iter().all(|t| at_barrier(t) || t.state == State::Done);
        if all { tasks.iter().position(at_barrier) } else { None }
    }

    fn save(&mut self, task: usize, name: &str, value: Json) {
        let frame = self.core.tasks[task].frames.last_mut().expect("a frame");
        frame.values.insert(name.to_owned(), value);
    }

    fn over(
        &mut self,
        task: usize,
        at: &str,
        step: &Step,
        answer: Option<&Answer>,
        own: &BTreeMap<&'static str, Json>,
        observer: &mut dyn Observer,
    ) {
        let view = View { machine: &self.core, task, own };
        if !observer.step(at, step, answer, &view) {
            self.stop();
        }
    }

    /// Does the next step of a task, up to its message or its end.
    fn advance(&mut self, task: usize, observer: &mut dyn Observer) -> Result<Option<Action>, (String, ExprError)> {
        let frame = self.core.tasks[task].frames.last_mut().expect("a frame");
        let Some(step) = frame.steps.get(frame.index) else {
            return self.frame_over(task, observer).map_err(|e| (String::new(), e));
        };
        let step: &'v Step = step;
        let at = format!("{}{}", frame.prefix, frame.index);
        frame.index += 1;
        if let Some(when) = &step.when {
            let own = BTreeMap::new();
            let view = View { machine: &self.core, task, own: &own };
            match view.holds(when) {
                Match::Yes => {}
                Match::No(_) => return Ok(None),
                Match::Unknown(why) => {
                    observer.skipped(&at, &why);
                    return Ok(None);
                }
            }
        }
        self.begin(task, step, &at, observer).map_err(|error| (at, error))
    }

    fn begin(
        &mut self,
        task: usize,
        step: &'v Step,
        at: &str,
        observer: &mut dyn Observer,
    ) -> Result<Option<Action>, ExprError> {
        let mut own = BTreeMap::new();
        let view = View { machine: &self.core, task, own: &BTreeMap::new() };
        let message = |verb: &str, params: Json| Message { at: at.to_owned(), verb: verb.to_owned(), params };
        match &step.kind {
            Kind::Call(call) => {
                let params = call_params(call, at, &view)?;
                own.insert("request", request_view(&params));
                if let Some(session) = call.session.as_ref().and_then(|name| view.get(name)) {
                    own.insert("session", session.into_owned());
                }
                Ok(Some(self.wait(task, step, own, message("provider.call", params))))
            }
            Kind::Control { name, with } => {
                let params = expr::resolve(with, &view)?;
                Ok(Some(self.wait(task, step, own, message(&format!("control.{name}"), params))))
            }
            Kind::Observe { name, with } => {
                let params = expr::resolve(with, &view)?;
                let verb = if name == "manifest" { "provider.manifest".into() } else { format!("observe.{name}") };
                Ok(Some(self.wait(task, step, own, message(&verb, params))))
            }
            Kind::Close { fd } => {
                let fd = expr::resolve(fd, &view)?;
                Ok(Some(self.wait(task, step, own, message("fd.close", json!({ "fd": fd })))))
            }
            Kind::Read { fd, chunk_bytes, limit_bytes } => {
                let params =
                    json!({ "fd": expr::resolve(fd, &view)?, "max_bytes": expr::resolve(chunk_bytes, &view)? });
                let limit = expr::resolve(limit_bytes, &view)?;
                let limit_bytes =
                    limit.as_u64().ok_or_else(|| ExprError::Wrong("limit_bytes is no whole number".into()))?;
                let message = message("fd.read", params);
                self.wait(task, step, own, message.clone());
                Ok(Some(Action::Read { message, limit_bytes }))
            }
            Kind::Expect => {
                self.over(task, at, step, None, &own, observer);
                Ok(None)
            }
            Kind::Barrier => {
                self.core.tasks[task].state = State::AtBarrier;
                Ok(None)
            }
            Kind::Repeat { steps, rounds } => {
                let times = match rounds {
                    Rounds::Times(times) => Some(count(&expr::resolve(times, &view)?)?),
                    Rounds::Until { .. } => None,
                };
                let round = Round { step, at: at.to_owned(), index: 0, times, collected: BTreeMap::new() };
                if times == Some(0) {
                    self.over(task, at, step, None, &own, observer);
                } else {
                    self.push_round(task, steps, round);
                }
                Ok(None)
            }
            Kind::Parallel { branches, copies } => {
                let taken = match copies {
                    Some(copies) => count(&expr::resolve(copies, &view)?)?,
                    None => branches.len() as u64,
                };
                for n in 0..taken {
                    let steps = &branches[if copies.is_some() { 0 } else { n as usize }];
                    let values = BTreeMap::from([("branch".to_owned(), json!(n))]);
                    let frame = Frame { steps, index: 0, prefix: format!("{at}{{{n}}}."), values, round: None };
                    self.core.tasks.push(Task { frames: vec![frame], state: State::Ready, open: None });
                }
                self.core.tasks[task].state = State::Joining;
                self.core.tasks[task].open = Some((step, own));
                if taken == 0 {
                    self.join(observer);
                }
                Ok(None)
            }
        }
    }

    fn wait(&mut self, task: usize, step: &'v Step, own: BTreeMap<&'static str, Json>, message: Message) -> Action {
        let task = &mut self.core.tasks[task];
        task.state = State::Waiting(message.at.clone());
        task.open = Some((step, own));
        Action::Send(vec![message])
    }

    fn push_round(&mut self, task: usize, steps: &'v [Step], round: Round<'v>) {
        let prefix = format!("{}[{}].", round.at, round.index);
        let values = BTreeMap::from([("i".to_owned(), json!(round.index))]);
        self.core.tasks[task].frames.push(Frame { steps, index: 0, prefix, values, round: Some(round) });
    }

    /// The steps of a frame are done: another round, back to the frame above, or the end of the task.
    fn frame_over(&mut self, task: usize, observer: &mut dyn Observer) -> Result<Option<Action>, ExprError> {
        let Some(Frame { steps, values, round, .. }) = self.core.tasks[task].frames.pop() else {
            unreachable!("a task has a frame")
        };
        let Some(mut round) = round else {
            self.core.tasks[task].state = State::Done;
            if task == 0 {
                self.end.get_or_insert(End::Complete);
            } else {
                // Keep what the branch saved until all branches are done.
                self.core.tasks[task].frames.push(Frame {
                    steps: &[],
                    index: 0,
                    prefix: String::new(),
                    values,
                    round: None,
                });
                if self.core.tasks[1..].iter().all(|t| t.state == State::Done) {
                    self.join(observer);
                }
            }
            return Ok(None);
        };
        let at = round.at.clone();
        let own = BTreeMap::new();
        match (&round.step.kind, round.times) {
            (Kind::Repeat { rounds: Rounds::Until { until, pause_ms }, .. }, _) => {
                for (name, value) in values.into_iter().filter(|(name, _)| name != "i") {
                    self.save(task, &name, value);
                }
                let view = View { machine: &self.core, task, own: &own };
                if view.holds(until) == Match::Yes {
                    let step = round.step;
                    self.over(task, &at, step, None, &own, observer);
                    return Ok(None);
                }
                round.index += 1;
                self.push_round(task, steps, round);
                self.core.tasks[task].state = State::Paused;
                Ok(Some(Action::Pause { at, ms: *pause_ms }))
            }
            (_, times) => {
                for (name, value) in values.into_iter().filter(|(name, _)| name != "i") {
                    round.collected.entry(name).or_default().push(value);
                }
                round.index += 1;
                if Some(round.index) < times {
                    self.push_round(task, steps, round);
                    return Ok(None);
                }
                for (name, list) in round.collected {
                    self.save(task, &name, Json::Array(list));
                }
                let step = round.step;
                self.over(task, &at, step, None, &own, observer);
                Ok(None)
            }
        }
    }

    /// All branches are done: what they saved goes to the main task.
    fn join(&mut self, observer: &mut dyn Observer) {
        let branches = self.core.tasks.split_off(1);
        let (step, own) = self.core.tasks[0].open.take().expect("the parallel step");
        let copies = matches!(&step.kind, Kind::Parallel { copies: Some(_), .. });
        let mut lists: BTreeMap<String, Vec<Json>> = BTreeMap::new();
        for mut branch in branches {
            let values = branch.frames.pop().map(|frame| frame.values).unwrap_or_default();
            for (name, value) in values.into_iter().filter(|(name, _)| name != "branch") {
                if copies {
                    lists.entry(name).or_default().push(value);
                } else {
                    self.save(0, &name, value);
                }
            }
        }
        for (name, list) in lists {
            self.save(0, &name, Json::Array(list));
        }
        self.core.tasks[0].state = State::Ready;
        let frame = self.core.tasks[0].frames.last().expect("a frame");
        let at = format!("{}{}", frame.prefix, frame.index - 1);
        self.over(0, &at, step, None, &own, observer);
    }
}

fn count(json: &Json) -> Result<u64, ExprError> {
    /// More than any vector needs; a captured value must not become an endless loop.
    const MOST: u64 = 100_000;
    match json.as_u64() {
        Some(n) if n <= MOST => Ok(n),
        _ => Err(ExprError::Wrong(format!("{json} is no number of times (0 to {MOST})"))),
    }
}

/// Makes the parameters of a `provider.call`.
fn call_params(call: &Call, at: &str, view: &View<'_>) -> Result<Json, ExprError> {
    let method = expr::resolve(&call.method, view)?;
    let authority = match &call.authority {
        Some(authority) => expr::resolve(authority, view)?,
        None => view.path("target.authority").unwrap_or_else(|| json!("")),
    };
    let arg = expr::resolve(&call.arg, view)?;
    let extras = match &call.extras {
        None => Json::Null,
        Some(given) => {
            let mut extras = Map::new();
            if let Some(session) = &call.session {
                let token = path_of(view, &format!("{session}.data.session_token"))?;
                let deadline = json!({ "$add": ["${now}", call.deadline_in_ms] });
                let request = match &call.request {
                    Some(name) => {
                        let name = expr::resolve(name, view)?;
                        view.uuid(name.as_str().ok_or_else(|| ExprError::Wrong("request is no text".into()))?)
                    }
                    None => view.uuid(&format!("@{at}")),
                };
                extras.insert("protocol_version".into(), json!({ "int": 2 }));
                extras.insert("session_token".into(), json!({ "string": token }));
                extras.insert("request_id".into(), json!({ "string": request }));
                extras.insert("deadline_at_ms".into(), json!({ "long": expr::resolve(&deadline, view)? }));
            }
            if let Some(offer) = &call.offer {
                let offer = expr::resolve(offer, view)?;
                extras.insert("consumer_versions".into(), json!({ "int_array": [2] }));
                extras.insert("consumer_capabilities".into(), json!({ "string": offer.to_string() }));
            }
            if let Some(tool) = &call.tool {
                extras.insert("tool_name".into(), json!({ "string": expr::resolve(tool, view)? }));
            }
            if let Some(args) = &call.args {
                let text = match args {
                    Args::Value(value) => Json::String(expr::resolve(value, view)?.to_string()),
                    Args::Text(text) => expr::resolve(text, view)?,
                };
                extras.insert("args".into(), json!({ "string": text }));
            }
            if let Some(resume) = &call.resume {
                let token = path_of(view, &format!("{resume}.resume_token"))?;
                extras.insert("resume_token".into(), json!({ "string": token }));
            }
            for (key, value) in given {
                if value.is_null() {
                    extras.remove(key);
                } else {
                    let value = expr::resolve(value, view)?;
                    // What the vector computed must be a value that the wire can carry.
                    let value = Value::from_json(&value).map_err(|e| ExprError::Wrong(format!("extras {key}: {e}")))?;
                    extras.insert(key.clone(), value.to_json());
                }
            }
            Json::Object(extras)
        }
    };
    let caller = path_of(view, &format!("callers.{}", call.caller))?;
    Ok(json!({ "caller": caller, "authority": authority, "method": method, "arg": arg, "extras": extras }))
}

fn path_of(view: &View<'_>, path: &str) -> Result<Json, ExprError> {
    view.path(path).ok_or_else(|| ExprError::Unresolved(path.to_owned()))
}

/// What placeholders see of a request: its keys without types, beside `method` and `caller`.
fn request_view(params: &Json) -> Json {
    let extras = params.get("extras").map_or(Json::Null, |extras| match Bundle::from_json(extras) {
        Ok(bundle) => flatten_bundle(&bundle),
        Err(_) => Json::Null,
    });
    json!({ "method": params["method"], "caller": params["caller"], "typed": params["extras"], "extras": extras })
}

/// What placeholders see of an answer: for a Bundle its keys without their types, `data` read as JSON where it is some;
/// for anything else the answer itself.
pub fn flatten_reply(result: &Json) -> Json {
    match result.get("bundle") {
        Some(bundle @ Json::Object(_)) => match Bundle::from_json(bundle) {
            Ok(bundle) => flatten_bundle(&bundle),
            Err(_) => result.clone(),
        },
        _ => result.clone(),
    }
}

fn flatten_bundle(bundle: &Bundle) -> Json {
    let mut out = Map::new();
    for (key, value) in &bundle.0 {
        let plain = match value {
            Value::String(Text::Unicode(text)) if key == "data" => {
                parse(text.as_bytes(), Limits::DATA).unwrap_or_else(|_| Json::String(text.clone()))
            }
            Value::Bundle(inner) => flatten_bundle(inner),
            other => match other.to_json() {
                Json::Object(o) => o.into_iter().next().map_or(Json::Null, |(_, value)| value),
                other => other,
            },
        };
        out.insert(key.clone(), plain);
    }
    Json::Object(out)
}
