//! The interpreter of vectors, without any input or output of its own. The main type is [`Machine`].
//!
//! A machine says what to do next ([`Machine::next`]) and is told what came of it ([`Machine::deliver`]). The runner drives
//! one with a live target; [`crate::judge::judge`] drives one with a transcript, and thereby sees the same values at the same
//! places. An [`Observer`] is told of each step that is over, with the [`View`] that expectations are judged in.

use crate::aw;
use crate::bundle::{self, Bundle, Text, Value};
use crate::expr::{self, ExprError, Scope};
use crate::fixture;
use crate::json::{Limits, object, parse};
use crate::matching::Match;
use crate::model::{Args, Assertion, Call, Kind, Parallel, Rounds, Spawn, Step, Vector};
use crate::script::{Flight, Played, Response, Script};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

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
    /// There was no answer.
    Broken {
        /// What kind of breakdown.
        kind: Breakdown,
        /// What happened, in a sentence.
        why: String,
    },
    /// The vector was over before there was an answer.
    Unread,
}

/// Why there is no answer. Only the first two can break a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Breakdown {
    /// The target ended.
    Died,
    /// The target did not answer, or what was waited for did not come.
    Hung,
    /// The target broke the target protocol.
    Protocol,
}

/// One message to the target.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Where in the vector it belongs, for example `3`, `4[0].1` (a round of a repeat) or `5{1}.0` (a branch).
    pub at: String,
    /// The verb of the target protocol, or [`WAIT`].
    pub verb: String,
    /// Its parameters.
    pub params: Json,
}

/// The verb of a pause, which is not sent to the target: real time passes.
pub const WAIT: &str = "wait";

/// Between the place of a step and the number of a request whose answer is withheld: the place of the pause.
pub const HOLD: &str = ".hold";

/// The verb of a question to the runner about the target's process: its peak memory in this vector.
pub const MEMORY: &str = "memory";

/// What a machine wants next. Everything in it is answered by [`Machine::deliver`].
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// These messages are to be sent, in this order, without waiting in between.
    Send {
        /// The messages.
        messages: Vec<Message>,
        /// Where several start together: the seed by which a target in this process interleaves them.
        schedule: Option<u64>,
    },
    /// An `fd.read` is to be repeated to the end of the descriptor or up to the limit, and delivered as one result.
    Read {
        /// The message of each reading.
        message: Message,
        /// Stop after so many bytes.
        limit_bytes: u64,
    },
    /// Real time is to pass. `at` of the message is that of the waiting step and its round: `4[2]`.
    Pause {
        /// A message with the verb [`WAIT`].
        message: Message,
        /// How long, in milliseconds.
        ms: u64,
    },
    /// A request of the target ([`Machine::request`]) is to be answered.
    Answer {
        /// The number that the machine gave the request.
        number: u64,
        /// The answer.
        response: Response,
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
    /// The observer had seen enough, or the caller stopped it.
    Stopped,
}

/// What is visible after a step, for conditions and expectations.
pub struct View<'m> {
    core: &'m Core<'m>,
    task: usize,
    /// The step's own values: `request`, `session`, `reply`.
    own: &'m Own,
    /// What came back, as it came.
    answer: Option<&'m Json>,
    call: Option<Called<'m>>,
}

/// A call and what came back, as they are in the transcript. What placeholders see of them is made where one asks for it.
struct Called<'m> {
    /// Its parameters, and what is asked for most of them.
    params: &'m Json,
    method: &'m Json,
    typed: &'m Json,
    /// The keys that it was given, without types.
    extras: OnceCell<Json>,
    /// The Bundle that came back, where it is one.
    bundle: Option<&'m Json>,
    /// Its keys without types.
    reply: OnceCell<Json>,
    /// The JSON of its `data`.
    data: OnceCell<Json>,
}

impl<'m> Called<'m> {
    fn new(params: &'m Json, answer: &'m Answer) -> Called<'m> {
        let bundle = match answer {
            Answer::Result(result) => result.get("bundle").filter(|bundle| Bundle::check(bundle).is_ok()),
            _ => None,
        };
        Called {
            params,
            method: &params["method"],
            typed: &params["extras"],
            extras: OnceCell::new(),
            bundle,
            reply: OnceCell::new(),
            data: OnceCell::new(),
        }
    }

    fn of_request(&self, name: &str) -> Option<Option<&Json>> {
        Some(match name {
            "method" => Some(self.method),
            "typed" => Some(self.typed),
            "caller" => Some(&self.params["caller"]),
            "extras" => Some(self.extras.get_or_init(|| untyped_extras(self.params))),
            _ => None,
        })
    }

    fn of_reply(&self, name: &str) -> Option<Option<&Json>> {
        let Some(value) = self.bundle?.get(name) else { return Some(None) };
        Some(Some(match bundle::simple(value)? {
            Json::String(text) if name == "data" => self.data.get_or_init(|| text_of(name, Cow::Borrowed(text))),
            plain => plain,
        }))
    }

    fn reply(&self) -> Option<&Json> {
        let bundle = self.bundle?;
        Some(self.reply.get_or_init(|| untyped(bundle).expect("it was checked")))
    }
}

/// Shared: what is saved of an answer is looked at again by many calls.
type Own = BTreeMap<&'static str, Rc<Json>>;

/// Is told of every step that is over.
pub trait Observer {
    /// A step is over. `answer` is what came back, where the step asked something. False ends the vector.
    fn step(&mut self, at: &str, step: &Step, answer: Option<&Answer>, view: &View<'_>) -> bool;

    /// A request came from the target while the step at a place was open. False ends the vector.
    fn incoming(&mut self, at: &str, view: &View<'_>) -> bool;

    /// A step was left out, as it could not be told whether its condition holds.
    fn skipped(&mut self, at: &str, why: &str);
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
    pending: VecDeque<Action>,
    /// Answers that wait for the answer to a `consumer.cancel` or for the end of a pause, by its place.
    withheld: BTreeMap<String, (u64, Response)>,
    /// Requests that are not answered yet.
    asked: BTreeMap<u64, Flight>,
    /// Requests of the target so far.
    requests: u64,
    end: Option<End>,
}

struct Core<'v> {
    vector: &'v Vector,
    start: Start,
    now_ms: i64,
    /// The main task, and while it joins the branches.
    tasks: Vec<Task<'v>>,
    /// The providers that the runner plays; away while they play.
    script: Option<Script<'v>>,
    /// What the consumer calls packages that it uses in version 1, which knows no `provider_id`: its own affair.
    version_1_ids: BTreeMap<String, Json>,
}

/// From the rows of `consumer.discover`.
fn version_1_ids(found: &Json) -> impl Iterator<Item = (String, Json)> + '_ {
    let rows = found["providers"].as_array().into_iter().flatten().filter(|row| row["decision"] == "v1");
    rows.filter_map(|row| Some((row["package"].as_str()?.to_owned(), row["provider_id"].clone())))
        .filter(|(_, id)| id.is_string())
}

#[derive(PartialEq, Eq)]
enum State {
    Ready,
    /// Waits for the delivery at this place.
    Waiting(String),
    AtBarrier,
    /// The main task, while branches run.
    Joining,
    Done,
}

struct Task<'v> {
    frames: Vec<Frame<'v>>,
    state: State,
    /// The step that waits, with its own values.
    open: Option<(&'v Step, Own)>,
}

/// What steps saved, by name.
type Values = BTreeMap<String, Rc<Json>>;

struct Frame<'v> {
    steps: &'v [Step],
    index: usize,
    prefix: String,
    values: Values,
    round: Option<Round<'v>>,
}

struct Round<'v> {
    step: &'v Step,
    at: String,
    index: usize,
    kind: RoundKind,
    /// What each round saved.
    saved: Vec<Values>,
}

enum RoundKind {
    Times(usize),
    Over(Vec<Json>),
    Until,
}

impl Scope for View<'_> {
    fn get(&self, name: &str) -> Option<Cow<'_, Json>> {
        if let Some(own) = self.own.get(name) {
            return Some(Cow::Borrowed(own));
        }
        // A step has a reply of its own only where that is not the answer as it came.
        let reply = || self.call.as_ref().and_then(Called::reply).or(self.answer);
        match (name, &self.call) {
            ("answer", _) if self.answer.is_some() => self.answer.map(Cow::Borrowed),
            ("reply", _) if self.answer.is_some() => reply().map(Cow::Borrowed),
            ("request", Some(call)) => Some(Cow::Owned(request_view(call.params))),
            _ => self.core.lookup(self.task, name),
        }
    }

    fn member(&self, first: &str, second: &str) -> Option<Option<&Json>> {
        let call = self.call.as_ref()?;
        match first {
            // A call has no request of its own beside this.
            "request" => call.of_request(second),
            "reply" if !self.own.contains_key(first) => call.of_reply(second),
            _ => None,
        }
    }

    fn uuid(&self, name: &str) -> String {
        self.core.uuid(name)
    }
}

impl<'m> View<'m> {
    /// What is visible where nothing has come back.
    fn of(core: &'m Core<'m>, task: usize, own: &'m Own) -> View<'m> {
        View { core, task, own, answer: None, call: None }
    }

    /// Whether an assertion holds here.
    pub fn holds(&self, assertion: &Assertion) -> Match {
        assertion.holds(self.answer, self)
    }

    /// The same where nobody reads why not.
    pub fn applies(&self, assertion: &Assertion) -> Match {
        assertion.applies(self.answer, self)
    }
}

impl Core<'_> {
    /// The frames that a task sees, innermost first: its own, then those of the main task.
    fn frames(&self, task: usize) -> impl Iterator<Item = &Frame<'_>> {
        let main = if task == 0 { [].iter() } else { self.tasks[0].frames.iter() };
        self.tasks[task].frames.iter().rev().chain(main.rev())
    }

    fn lookup(&self, task: usize, name: &str) -> Option<Cow<'_, Json>> {
        if let Some(value) = self.frames(task).find_map(|frame| frame.values.get(name)) {
            return Some(Cow::Borrowed(value.as_ref()));
        }
        match name {
            "now" => Some(Cow::Owned(json!(self.now_ms))),
            "target" => Some(Cow::Borrowed(&self.start.target)),
            "reset" => Some(Cow::Owned(json!({ "now_ms": self.start.now_ms }))),
            "seed" => Some(Cow::Owned(json!(self.start.seed))),
            "callers" => Some(Cow::Borrowed(fixture::callers())),
            "fixture" => Some(Cow::Borrowed(fixture::tools())),
            "schemas" => Some(Cow::Borrowed(crate::aw::schemas())),
            "values" => Some(Cow::Borrowed(self.vector.values.as_ref())),
            "calls" => Some(Cow::Borrowed(self.script.as_ref()?.calls())),
            "fds" => Some(Cow::Owned(self.script.as_ref()?.fds())),
            _ => None,
        }
    }

    /// The saved reply of `negotiate` that brought a token.
    fn session_of(&self, task: usize, token: &str) -> Option<&Rc<Json>> {
        let brought = |value: &&Rc<Json>| value["data"]["session_token"].as_str() == Some(token);
        self.frames(task).flat_map(|frame| frame.values.values()).find(brought)
    }

    /// Version 4 by shape; decided by seed, vector and name.
    fn uuid(&self, name: &str) -> String {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&self.drawn(name)[..16]);
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let mut text = expr::hex(&bytes);
        for dash in [20, 16, 12, 8] {
            text.insert(dash, '-');
        }
        text
    }

    /// A number that depends on the seed, the vector and a place in it.
    fn dice(&self, at: &str) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.drawn(&format!("dice {at}"))[..8]);
        u64::from_be_bytes(bytes)
    }

    /// Bytes that are decided by seed, vector and name.
    fn drawn(&self, name: &str) -> [u8; 32] {
        let seed = self.start.seed.to_string();
        let parts = [seed.as_str(), " ", self.vector.id.as_str(), " ", name];
        parts.iter().fold(Sha256::new(), |digest, part| digest.chain_update(part)).finalize().into()
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
        let script = Some(Script::new(vector));
        let core =
            Core { vector, now_ms: start.now_ms, start, tasks: vec![main], script, version_1_ids: BTreeMap::new() };
        Machine {
            core,
            pending: VecDeque::new(),
            withheld: BTreeMap::new(),
            asked: BTreeMap::new(),
            requests: 0,
            end: None,
        }
    }

    /// The target's time at which the next messages are made.
    pub fn now_ms(&self) -> i64 {
        self.core.now_ms
    }

    /// What to do next. No time passes in here: the target's time is that of the last delivery.
    pub fn next(&mut self, observer: &mut dyn Observer) -> Action {
        let mut send: Vec<Message> = Vec::new();
        while self.end.is_none() {
            let Some(task) = self.runnable() else { break };
            match self.advance(task, observer) {
                Ok(None) => {}
                Ok(Some(Action::Send { messages, .. })) => send.extend(messages),
                Ok(Some(action)) => self.pending.push_back(action),
                Err((at, error)) => self.end = Some(End::Stuck { at, why: error.to_string() }),
            }
        }
        if !send.is_empty() {
            return self.together(send);
        }
        // After the end nothing more is sent, but who asked is answered.
        if self.end.is_some() {
            let withheld = std::mem::take(&mut self.withheld).into_values();
            self.pending.extend(withheld.map(|(number, response)| Action::Answer { number, response }));
        }
        while let Some(action) = self.pending.pop_front() {
            if let Action::Answer { number, .. } = &action {
                if let (Some(flight), Some(script)) = (self.asked.remove(number), &mut self.core.script) {
                    script.answered(&flight);
                }
                return action;
            }
            if self.end.is_none() {
                return action;
            }
        }
        match &self.end {
            Some(end) => Action::Finished(end.clone()),
            None => Action::Wait,
        }
    }

    /// Messages that start together, in the order and with the schedule of their parallel step.
    fn together(&self, mut messages: Vec<Message>) -> Action {
        let parallel = match &self.core.tasks[0].open {
            Some((Step { kind: Kind::Parallel(parallel), .. }, _)) => Some(parallel),
            _ => None,
        };
        if messages.len() == 1 {
            return Action::Send { messages, schedule: None };
        }
        let place = messages[0].at.clone();
        let seed = parallel.and_then(|p| p.schedule);
        let schedule = Some(seed.unwrap_or_else(|| self.core.dice(&format!("schedule {place}"))));
        if !parallel.is_some_and(|p| p.as_written) {
            self.core.shuffle(&place, &mut messages);
        }
        Action::Send { messages, schedule }
    }

    /// Tells what came of a message, whose parameters are given again. `now_ms` is the target's time, in milliseconds since
    /// 1970; it never goes back.
    pub fn deliver(&mut self, at: &str, params: &Json, answer: &Answer, now_ms: i64, observer: &mut dyn Observer) {
        self.core.now_ms = self.core.now_ms.max(now_ms);
        if let Some((number, response)) = self.withheld.remove(at) {
            // What a target answers to consumer.cancel is free; that it answers is not.
            match answer {
                Answer::Broken { .. } if !at.contains(HOLD) => self.broken_cancel(answer, observer),
                _ => self.pending.push_back(Action::Answer { number, response }),
            }
            return;
        }
        let Some(task) = self.waiting_at(at) else { return };
        let (step, mut own) = self.core.tasks[task].open.take().expect("a waiting task has an open step");
        self.core.tasks[task].state = State::Ready;
        if matches!(step.kind, Kind::Repeat { .. }) && matches!(answer, Answer::Result(_)) {
            // A pause is over: the next round is ready.
            return;
        }
        if let Answer::Result(result) = answer {
            if matches!(step.kind, Kind::Discover(_)) {
                self.core.version_1_ids.extend(version_1_ids(result));
            }
            let reply = match &step.kind {
                Kind::Spawn(_) => Cow::Owned(aw::exchange_view(result)),
                Kind::Host { .. } => Cow::Owned(aw::host_view(result)),
                Kind::Call(_) if step.save.is_none() => Cow::Borrowed(result),
                _ => flattened(result),
            };
            // Where it is the answer as it came, or is made of it when somebody asks, there is no second copy of it but in
            // what is saved.
            let own_reply = match reply {
                Cow::Owned(reply) => Some(Rc::new(reply)),
                Cow::Borrowed(_) => None,
            };
            if let Some(name) = &step.save {
                self.save(task, name, own_reply.clone().unwrap_or_else(|| Rc::new(result.clone())));
            }
            if let Some(reply) = own_reply {
                own.insert("reply", reply);
            }
        }
        // A pause that is given up belongs to the repeat, whose place has no round.
        let place =
            if matches!(step.kind, Kind::Repeat { .. }) { at.rsplit_once('[').map_or(at, |(p, _)| p) } else { at };
        let call = matches!(step.kind, Kind::Call(_)).then(|| Called::new(params, answer));
        self.over(task, place, step, Some((answer, call)), &own, observer);
    }

    /// Tells of a request of the target; the answer is an [`Action::Answer`] with the number that this gives.
    pub fn request(&mut self, verb: &str, params: &Json, observer: &mut dyn Observer) -> u64 {
        self.requests += 1;
        let number = self.requests;
        let (during, task) = self.open_step();
        let mut script = self.core.script.take().expect("it is only away while it plays");
        let none = Own::new();
        let view = View::of(&self.core, task, &none);
        let played = script.play(verb, params, self.core.now_ms, &during, &view);
        let mut own = Own::new();
        if verb == "provider.call"
            && let Some((request, session)) = script.last_request()
        {
            own.insert("request", Rc::new(request));
            own.extend(session.map(|session| ("session", Rc::new(session))));
        }
        self.core.script = Some(script);
        // Also a request that the script has no answer for, as something in it is wrong.
        if verb == "provider.call" {
            let view = View::of(&self.core, task, &own);
            if !observer.incoming(&during, &view) {
                self.stop();
            }
        }
        match played {
            Ok(played) => {
                self.core.now_ms = self.core.now_ms.max(played.now_ms);
                self.asked.extend(played.flight.clone().map(|flight| (number, flight)));
                self.respond(number, &during, task, played);
            }
            Err(error) => {
                let response = Response::Refused { code: -32000, message: "the vector makes no sense here".into() };
                self.pending.push_back(Action::Answer { number, response });
                self.end.get_or_insert(End::Stuck { at: during, why: error.to_string() });
            }
        }
        number
    }

    fn respond(&mut self, number: u64, during: &str, task: usize, played: Played) {
        let Played { response, cancel, hold_ms, .. } = played;
        if let Some(ms) = hold_ms {
            let at = format!("{during}{HOLD}{number}");
            let message = Message { at: at.clone(), verb: WAIT.to_owned(), params: json!({ "ms": ms }) };
            self.withheld.insert(at, (number, response));
            return self.pending.push_back(Action::Pause { message, ms });
        }
        let execute = self.core.tasks[task].open.as_ref().and_then(|(_, own)| own.get("execute"));
        let Some(execute) = execute.filter(|_| cancel) else {
            return self.pending.push_back(Action::Answer { number, response });
        };
        let params = json!({ "provider_id": execute["provider_id"], "tool": execute["tool"] });
        let message = Message { at: format!("{during}.cancel{number}"), verb: "consumer.cancel".into(), params };
        self.withheld.insert(message.at.clone(), (number, response));
        self.pending.push_back(Action::Send { messages: vec![message], schedule: None });
    }

    /// The target broke down over `consumer.cancel`: that is a breakdown of the execution that it cancels.
    fn broken_cancel(&mut self, answer: &Answer, observer: &mut dyn Observer) {
        let (during, _) = self.open_step();
        let now_ms = self.core.now_ms;
        // An execution is no call, whose parameters are looked at again.
        self.deliver(&during, &Json::Null, answer, now_ms, observer);
    }

    /// Place and task of the step that waits for the target.
    fn open_step(&self) -> (String, usize) {
        let waiting = self.core.tasks.iter().enumerate().find_map(|(n, task)| match &task.state {
            State::Waiting(at) => Some((at.clone(), n)),
            _ => None,
        });
        waiting.unwrap_or_else(|| ("end".into(), 0))
    }

    /// The requirement that a breakdown of the message at a place breaks.
    pub fn breakdown_at(&self, at: &str) -> Option<&str> {
        let (step, _) = self.core.tasks[self.waiting_at(at)?].open.as_ref()?;
        step.breakdown.as_deref()
    }

    /// Ends the vector, as the caller's patience is at its end.
    pub fn stop(&mut self) {
        self.end.get_or_insert(End::Stopped);
    }

    fn waiting_at(&self, at: &str) -> Option<usize> {
        self.core.tasks.iter().position(|task| matches!(&task.state, State::Waiting(place) if place == at))
    }

    fn runnable(&mut self) -> Option<usize> {
        let tasks = &mut self.core.tasks;
        let ready = |tasks: &[Task<'_>]| tasks.iter().position(|t| t.state == State::Ready);
        if let Some(task) = ready(tasks) {
            return Some(task);
        }
        // A barrier opens for all at once, when every branch that is not done stands at it.
        if tasks.len() > 1 && tasks[1..].iter().all(|t| matches!(t.state, State::AtBarrier | State::Done)) {
            for task in &mut tasks[1..] {
                if task.state == State::AtBarrier {
                    task.state = State::Ready;
                }
            }
        }
        ready(tasks)
    }

    fn save(&mut self, task: usize, name: &str, value: Rc<Json>) {
        let frame = self.core.tasks[task].frames.last_mut().expect("a frame");
        frame.values.insert(name.to_owned(), value);
    }

    fn over(
        &mut self,
        task: usize,
        at: &str,
        step: &Step,
        came: Option<(&Answer, Option<Called<'_>>)>,
        own: &Own,
        observer: &mut dyn Observer,
    ) {
        let (answer, call) = came.unzip();
        let call = call.flatten();
        let answered = match answer {
            Some(Answer::Result(result)) => Some(result),
            _ => None,
        };
        let view = View { answer: answered, call, ..View::of(&self.core, task, own) };
        if !observer.step(at, step, answer, &view) {
            self.stop();
        }
    }

    /// Does the next step of a task, up to its message or its end.
    fn advance(&mut self, task: usize, observer: &mut dyn Observer) -> Result<Option<Action>, (String, ExprError)> {
        let frame = self.core.tasks[task].frames.last_mut().expect("a frame");
        let Some(step) = frame.steps.get(frame.index) else {
            return self.frame_over(task, observer);
        };
        let step: &'v Step = step;
        let at = format!("{}{}", frame.prefix, frame.index);
        frame.index += 1;
        if let Some(when) = &step.when {
            let own = Own::new();
            let view = View::of(&self.core, task, &own);
            match view.applies(when) {
                Match::Yes => {}
                Match::No(_) => return Ok(None),
                Match::Unknown(why) => {
                    observer.skipped(&at, &why);
                    return Ok(None);
                }
                Match::Wrong(why) => return Err((at, ExprError::Wrong(why))),
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
        let mut own = Own::new();
        let none = Own::new();
        let view = View::of(&self.core, task, &none);
        let message = |verb: &str, params: Json| Message { at: at.to_owned(), verb: verb.to_owned(), params };
        match &step.kind {
            Kind::Call(call) => {
                let params = call_params(call, at, &view)?;
                let token = params["extras"]["session_token"]["string"].as_str();
                if let Some(session) = token.and_then(|token| self.core.session_of(task, token)) {
                    own.insert("session", Rc::clone(session));
                }
                Ok(Some(self.wait(task, step, own, message("provider.call", params))))
            }
            Kind::Control { name, with } => {
                let params = expr::resolve(with, &view)?;
                Ok(Some(self.wait(task, step, own, message(&format!("control.{name}"), params))))
            }
            Kind::Observe { name, with } => {
                let params = expr::resolve(with, &view)?;
                let verb = match name.as_str() {
                    "manifest" => "provider.manifest".into(),
                    "memory" => MEMORY.into(),
                    name => format!("observe.{name}"),
                };
                Ok(Some(self.wait(task, step, own, message(&verb, params))))
            }
            Kind::Discover(names) => {
                let script = self.core.script.as_ref().expect("it is only away while it plays");
                let params = json!({ "packages": script.manifests(names, &view)? });
                Ok(Some(self.wait(task, step, own, message("consumer.discover", params))))
            }
            Kind::Execute { provider_id, tool, args, timeout_ms } => {
                let args = match args {
                    Args::Value(value) => Json::String(expr::json_text(&expr::resolve(value, &view)?)),
                    Args::Text(text) => expr::resolve(text, &view)?,
                };
                let provider_id = expr::resolve(provider_id, &view)?;
                let own_id = provider_id.as_str().and_then(|package| self.core.version_1_ids.get(package)).cloned();
                let params = json!({
                    "provider_id": own_id.unwrap_or(provider_id),
                    "tool": expr::resolve(tool, &view)?,
                    "args": args,
                    "timeout_ms": expr::resolve(timeout_ms, &view)?,
                });
                own.insert("execute", Rc::new(params.clone()));
                Ok(Some(self.wait(task, step, own, message("consumer.execute", params))))
            }
            Kind::Advance(ms) => {
                let ms = expr::resolve(ms, &view)?;
                let ms =
                    ms.as_i64().filter(|ms| *ms >= 0).ok_or_else(|| ExprError::Wrong(format!("{ms} is no time")))?;
                self.core.now_ms = self.core.now_ms.saturating_add(ms);
                Ok(None)
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
            Kind::Spawn(spawn) => {
                let params = spawn_params(spawn, &view)?;
                own.insert("request", Rc::new(aw::request_view(&params["stdin"], spawn.valid)));
                Ok(Some(self.wait(task, step, own, message("aw.spawn", params))))
            }
            Kind::Host { scenario, scripts } => {
                let params = json!({ "scenario": expr::resolve(scenario, &view)?, "scripts": scripts });
                Ok(Some(self.wait(task, step, own, message("aw.host", params))))
            }
            Kind::Admit(input) => {
                let params = expr::resolve(input, &view)?;
                Ok(Some(self.wait(task, step, own, message("aw.admit", params))))
            }
            Kind::Let(values) => {
                let values: Result<Vec<(String, Json)>, ExprError> =
                    values.iter().map(|(name, value)| Ok((name.clone(), expr::resolve(value, &view)?))).collect();
                for (name, value) in values? {
                    self.save(task, &name, Rc::new(value));
                }
                self.over(task, at, step, None, &own, observer);
                Ok(None)
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
                let kind = match rounds {
                    Rounds::Times(times) => RoundKind::Times(count(&expr::resolve(times, &view)?, MOST_ROUNDS)?),
                    Rounds::Over(list) => match expr::resolve(list, &view)? {
                        Json::Array(items) => RoundKind::Over(items),
                        _ => return Err(ExprError::Wrong("over is no list".into())),
                    },
                    Rounds::Until { .. } => RoundKind::Until,
                };
                let none = matches!(&kind, RoundKind::Times(0)) || matches!(&kind, RoundKind::Over(l) if l.is_empty());
                if none {
                    self.over(task, at, step, None, &own, observer);
                } else {
                    self.push_round(task, steps, Round { step, at: at.to_owned(), index: 0, kind, saved: Vec::new() });
                }
                Ok(None)
            }
            Kind::Parallel(parallel) => {
                let copies = match &parallel.copies {
                    Some(copies) => Some(count(&expr::resolve(copies, &view)?, MOST_COPIES)?),
                    None => None,
                };
                self.fork(task, step, at, parallel, copies, observer);
                Ok(None)
            }
        }
    }

    fn fork(
        &mut self,
        task: usize,
        step: &'v Step,
        at: &str,
        parallel: &'v Parallel,
        copies: Option<usize>,
        observer: &mut dyn Observer,
    ) {
        for n in 0..copies.unwrap_or(parallel.branches.len()) {
            let steps = &parallel.branches[if copies.is_some() { 0 } else { n }];
            let values = Values::from([("branch".to_owned(), Rc::new(json!(n)))]);
            let frame = Frame { steps, index: 0, prefix: format!("{at}{{{n}}}."), values, round: None };
            self.core.tasks.push(Task { frames: vec![frame], state: State::Ready, open: None });
        }
        self.core.tasks[task].state = State::Joining;
        self.core.tasks[task].open = Some((step, Own::new()));
        if self.core.tasks.len() == 1 {
            self.join(observer);
        }
    }

    fn wait(&mut self, task: usize, step: &'v Step, own: Own, message: Message) -> Action {
        let task = &mut self.core.tasks[task];
        task.state = State::Waiting(message.at.clone());
        task.open = Some((step, own));
        Action::Send { messages: vec![message], schedule: None }
    }

    fn push_round(&mut self, task: usize, steps: &'v [Step], round: Round<'v>) {
        let prefix = format!("{}[{}].", round.at, round.index);
        let mut values = Values::from([("i".to_owned(), Rc::new(json!(round.index)))]);
        if let RoundKind::Over(items) = &round.kind {
            values.insert("item".into(), Rc::new(items[round.index].clone()));
        }
        self.core.tasks[task].frames.push(Frame { steps, index: 0, prefix, values, round: Some(round) });
    }

    /// The steps of a frame are done: another round, back to the frame above, or the end of the task.
    fn frame_over(&mut self, task: usize, observer: &mut dyn Observer) -> Result<Option<Action>, (String, ExprError)> {
        let Some(Frame { steps, mut values, round, .. }) = self.core.tasks[task].frames.pop() else {
            unreachable!("a task has a frame")
        };
        let Some(mut round) = round else {
            self.task_over(task, values, observer);
            return Ok(None);
        };
        for own in ["i", "item"] {
            values.remove(own);
        }
        let (step, at) = (round.step, round.at.clone());
        let own = Own::new();
        if let Kind::Repeat { rounds: Rounds::Until { until, pause_ms }, .. } = &step.kind {
            for (name, value) in values {
                self.save(task, &name, value);
            }
            let view = View::of(&self.core, task, &own);
            match view.applies(until) {
                Match::Yes => {
                    self.over(task, &at, step, None, &own, observer);
                    return Ok(None);
                }
                Match::No(_) => {}
                Match::Unknown(why) => return Err((at, ExprError::Unknown(why))),
                Match::Wrong(why) => return Err((at, ExprError::Wrong(why))),
            }
            let params = json!({ "ms": pause_ms });
            let message = Message { at: format!("{at}[{}]", round.index), verb: WAIT.to_owned(), params };
            round.index += 1;
            self.push_round(task, steps, round);
            self.wait(task, step, own, message.clone());
            return Ok(Some(Action::Pause { message, ms: *pause_ms }));
        }
        round.saved.push(values);
        round.index += 1;
        let all = match &round.kind {
            RoundKind::Times(times) => *times,
            RoundKind::Over(items) => items.len(),
            RoundKind::Until => unreachable!("dealt with"),
        };
        if round.index < all {
            self.push_round(task, steps, round);
            return Ok(None);
        }
        for (name, list) in columns(round.saved) {
            self.save(task, &name, Rc::new(list));
        }
        self.over(task, &at, step, None, &own, observer);
        Ok(None)
    }

    fn task_over(&mut self, task: usize, values: Values, observer: &mut dyn Observer) {
        self.core.tasks[task].state = State::Done;
        if task == 0 {
            self.end.get_or_insert(End::Complete);
            return;
        }
        // What the branch saved is kept until all branches are done.
        let frame = Frame { steps: &[], index: 0, prefix: String::new(), values, round: None };
        self.core.tasks[task].frames.push(frame);
        if self.core.tasks[1..].iter().all(|t| t.state == State::Done) {
            self.join(observer);
        }
    }

    /// All branches are done: what they saved goes to the main task.
    fn join(&mut self, observer: &mut dyn Observer) {
        let branches = self.core.tasks.split_off(1);
        let (step, own) = self.core.tasks[0].open.take().expect("the parallel step");
        let saved = branches.into_iter().map(|mut branch| {
            let mut values = branch.frames.pop().map(|frame| frame.values).unwrap_or_default();
            values.remove("branch");
            values
        });
        if matches!(&step.kind, Kind::Parallel(Parallel { copies: Some(_), .. })) {
            for (name, list) in columns(saved.collect()) {
                self.save(0, &name, Rc::new(list));
            }
        } else {
            for (name, value) in saved.flatten() {
                self.save(0, &name, value);
            }
        }
        self.core.tasks[0].state = State::Ready;
        let frame = self.core.tasks[0].frames.last().expect("a frame");
        let at = format!("{}{}", frame.prefix, frame.index - 1);
        self.over(0, &at, step, None, &own, observer);
    }
}

/// Values by name and round become lists by name; a round that did not save a name has null there.
fn columns(rows: Vec<Values>) -> BTreeMap<String, Json> {
    let names: BTreeSet<String> = rows.iter().flat_map(|row| row.keys().cloned()).collect();
    let value = |row: &Values, name: &String| row.get(name).map_or(Json::Null, |value| value.as_ref().clone());
    let list = |name: &String| rows.iter().map(|row| value(row, name)).collect();
    names.iter().map(|name| (name.clone(), list(name))).collect()
}

/// More rounds than any vector needs: a captured value must not become an endless loop.
const MOST_ROUNDS: usize = 100_000;
/// More copies than any vector needs: in process each is a thread.
const MOST_COPIES: usize = 1_000;

fn count(json: &Json, most: usize) -> Result<usize, ExprError> {
    match json.as_u64().and_then(|n| usize::try_from(n).ok()) {
        Some(n) if n <= most => Ok(n),
        _ => Err(ExprError::Wrong(format!("{json} is no number of times (0 to {most})"))),
    }
}

/// Makes the parameters of a `provider.call`.
fn call_params(call: &Call, at: &str, view: &View<'_>) -> Result<Json, ExprError> {
    let method = expr::resolve(&call.method, view)?;
    let authority = match &call.authority {
        Some(authority) => expr::resolve(authority, view)?,
        None => view.path("target.authority").map_or_else(|| json!(""), Cow::into_owned),
    };
    let arg = expr::resolve(&call.arg, view)?;
    let extras = match &call.extras {
        None => Json::Null,
        Some(given) => extras(call, given, at, view)?,
    };
    let name = expr::resolve(&call.caller, view)?;
    let caller = name.as_str().and_then(|name| fixture::callers().get(name)).cloned();
    let caller =
        caller.ok_or_else(|| ExprError::Unresolved(format!("callers.{}", name.as_str().unwrap_or_default())))?;
    let members = [("caller", caller), ("authority", authority), ("method", method), ("arg", arg), ("extras", extras)];
    Ok(object(members))
}

fn extras(call: &Call, given: &Map<String, Json>, at: &str, view: &View<'_>) -> Result<Json, ExprError> {
    let mut extras = Map::new();
    if let Some(session) = &call.session {
        let token = path_of(view, &format!("{session}.data.session_token"))?;
        let in_ms = expr::resolve(&call.deadline_in_ms, view)?;
        let in_ms = expr::integer(&in_ms).ok_or_else(|| ExprError::Wrong("deadline_in_ms is no integer".into()))?;
        let deadline = expr::saturated(i128::from(view.core.now_ms).saturating_add(in_ms));
        let request = match &call.request {
            Some(name) => {
                let name = expr::resolve(name, view)?;
                view.uuid(name.as_str().ok_or_else(|| ExprError::Wrong("request is no text".into()))?)
            }
            None => view.uuid(&format!("@{at}")),
        };
        extras.insert("protocol_version".into(), object([("int", Json::from(2))]));
        extras.insert("session_token".into(), object([("string", token)]));
        extras.insert("request_id".into(), object([("string", Json::String(request))]));
        extras.insert("deadline_at_ms".into(), object([("long", deadline)]));
    }
    if let Some(offer) = &call.offer {
        let offer = expr::resolve(offer, view)?;
        extras.insert("consumer_versions".into(), json!({ "int_array": [2] }));
        extras.insert("consumer_capabilities".into(), json!({ "string": offer.to_string() }));
    }
    if let Some(tool) = &call.tool {
        extras.insert("tool_name".into(), object([("string", expr::resolve(tool, view)?)]));
    }
    if let Some(args) = &call.args {
        let text = match args {
            Args::Value(value) => Json::String(expr::json_text(&expr::resolve(value, view)?)),
            Args::Text(text) => expr::resolve(text, view)?,
        };
        extras.insert("args".into(), object([("string", text)]));
    }
    if let Some(resume) = &call.resume {
        let token = path_of(view, &format!("{resume}.resume_token"))?;
        extras.insert("resume_token".into(), object([("string", token)]));
    }
    for (key, value) in given {
        if value.is_null() {
            extras.remove(key);
            continue;
        }
        let value = expr::resolve(value, view)?;
        // What the vector computed must be a value that the wire can carry.
        let value = match bundle::simple(&value) {
            Some(_) => value,
            None => Value::from_json(&value).map_err(|e| ExprError::Wrong(format!("extras {key}: {e}")))?.to_json(),
        };
        extras.insert(key.clone(), value);
    }
    Ok(Json::Object(extras))
}

fn spawn_params(spawn: &Spawn, view: &View<'_>) -> Result<Json, ExprError> {
    // As it is written, so that the transcript holds the bytes.
    let bytes = aw::json_to_bytes(&expr::resolve(&spawn.stdin, view)?).map_err(ExprError::Wrong)?;
    let stdin = aw::bytes_to_json(&bytes);
    let mut params = json!({ "stdin": stdin });
    if let Some(limit) = &spawn.limit_ms {
        params["limit_ms"] = expr::resolve(limit, view)?;
    }
    if let Some(after) = &spawn.pause_after {
        params["pause_after"] = expr::resolve(after, view)?;
        params["pause_ms"] = json!(spawn.pause_ms);
    }
    if spawn.watch {
        params["watch"] = json!(true);
    }
    Ok(params)
}

fn path_of(view: &View<'_>, path: &str) -> Result<Json, ExprError> {
    view.path(path).map(Cow::into_owned).ok_or_else(|| ExprError::Unresolved(path.to_owned()))
}

/// What placeholders see of a request: its keys without types (`extras`) and with them (`typed`), beside `method` and
/// `caller`.
pub(crate) fn request_view(params: &Json) -> Json {
    let given = |name: &str| params[name].clone();
    let (typed, extras) = (given("extras"), untyped_extras(params));
    object([("method", given("method")), ("caller", given("caller")), ("typed", typed), ("extras", extras)])
}

fn untyped_extras(params: &Json) -> Json {
    params.get("extras").and_then(untyped).unwrap_or(Json::Null)
}

/// What placeholders see of an answer: for a Bundle its keys without their types, `data` read as JSON where it is some;
/// for anything else the answer itself.
pub fn flatten_reply(result: &Json) -> Json {
    flattened(result).into_owned()
}

/// [`flatten_reply`], which copies nothing where there is no Bundle: the content of a descriptor may be large.
fn flattened(result: &Json) -> Cow<'_, Json> {
    let bundle = result.get("bundle").filter(|bundle| bundle.is_object());
    bundle.and_then(untyped).map_or(Cow::Borrowed(result), Cow::Owned)
}

/// The keys of a Bundle without their types. Nothing where it is none.
fn untyped(bundle: &Json) -> Option<Json> {
    let mut out = Map::new();
    for (key, value) in bundle.as_object()? {
        let plain = match bundle::simple(value) {
            Some(Json::String(text)) => text_of(key, Cow::Borrowed(text)),
            Some(plain) => plain.clone(),
            None => match (value.get("bundle"), value.as_object()?.len()) {
                (Some(inner), 1) => untyped(inner)?,
                _ => match Value::from_json(value).ok()? {
                    Value::String(Text::Unicode(text)) => text_of(key, Cow::Owned(text)),
                    other => match other.to_json() {
                        Json::Object(o) => o.into_iter().next().map_or(Json::Null, |(_, value)| value),
                        other => other,
                    },
                },
            },
        };
        out.insert(key.clone(), plain);
    }
    Some(Json::Object(out))
}

/// A text; that of `data` is read as JSON where it is some.
fn text_of(key: &str, text: Cow<'_, str>) -> Json {
    let data = if key == "data" { parse(text.as_bytes(), Limits::DATA).ok() } else { None };
    data.unwrap_or_else(|| Json::String(text.into_owned()))
}
