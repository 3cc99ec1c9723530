//! The providers that the runner plays for a consumer under test. The main type is [`Script`].
//!
//! A script answers the consumer's requests by the rules of the vector, keeps the descriptors that it handed out, and
//! notes everything, so that expectations can look at which calls came, in which order and with what in them. It is as pure
//! as the machine that it belongs to: the same requests get the same answers.

use crate::bundle::{Bundle, Value};
use crate::expr::{self, ExprError, Scope};
use crate::json::Limits;
use crate::machine::flatten_reply;
use crate::matching::Match;
use crate::model::{Args, Content, Descriptor, Reply, ReplyForm, Scripted, Vector};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What the runner answers to a request of a consumer.
#[derive(Clone, Debug, PartialEq)]
pub enum Response {
    /// The result of the verb.
    Result(Json),
    /// A JSON-RPC error.
    Refused {
        /// The code.
        code: i64,
        /// A sentence.
        message: String,
    },
}

impl Response {
    fn refused(message: impl Into<String>) -> Response {
        Response::Refused { code: -32000, message: message.into() }
    }

    /// What a transcript keeps of it: of what was read from a descriptor only how much, as the vector says what it was.
    pub fn summary(&self, verb: &str) -> Json {
        match self {
            Response::Result(result) if verb == "fd.read" => {
                let bytes = result["base64"].as_str().map_or(0, |text| STANDARD.decode(text).map_or(0, |b| b.len()));
                json!({ "result": { "bytes": bytes, "eof": result["eof"] } })
            }
            Response::Result(result) => json!({ "result": result }),
            Response::Refused { code, message } => json!({ "refused": { "code": code, "message": message } }),
        }
    }
}

/// What comes of a request.
pub struct Played {
    /// The answer.
    pub response: Response,
    /// The target's time after it, in milliseconds since 1970.
    pub now_ms: i64,
    /// The open execution is to be cancelled before the answer is given.
    pub cancel: bool,
    /// The answer is to be withheld for so much real time, in milliseconds.
    pub hold_ms: Option<u64>,
    /// What is in flight until the answer goes out, when [`Script::answered`] is told of it: a provider and a session.
    pub flight: Option<Flight>,
}

/// A provider, and the session token of a request to it; the limit of calls in flight is one of a session (§2.2).
pub type Flight = (String, Option<String>);

/// What is in flight while a screen of a provider is shown.
fn screen_of(provider: &str) -> Flight {
    (format!("ui.launch of {provider}"), None)
}

impl Played {
    fn new(response: Response, now_ms: i64) -> Played {
        Played { response, now_ms, cancel: false, hold_ms: None, flight: None }
    }
}

/// Bytes that one descriptor serves at most: a consumer that has read so much keeps no limit of its own.
pub const MOST_SERVED: u64 = 1 << 30;

/// The latest time that a clock can show, so that every number stays exact.
const LATEST_MS: i64 = 1 << 53;

/// The state of the scripted providers of a vector.
pub struct Script<'v> {
    vector: &'v Vector,
    /// Requests so far, by provider and method.
    counts: BTreeMap<String, BTreeMap<String, u64>>,
    /// Requests so far in the step that is open, by provider and method.
    step_counts: BTreeMap<(String, String), u64>,
    step: String,
    /// Requests that are not answered yet.
    in_flight: BTreeMap<Flight, u64>,
    /// Every request but those about descriptors, as `${calls}` shows them.
    calls: Json,
    descriptors: Vec<Open<'v>>,
    /// Replies to negotiate, to find the session of a token; each with its `provider` and what was `offered`.
    sessions: Vec<Json>,
    /// The provider that handed out a PendingIntent, by its id.
    intents: BTreeMap<String, String>,
}

/// A descriptor that was handed out.
struct Open<'v> {
    name: String,
    descriptor: Option<&'v Descriptor>,
    text: Option<String>,
    bytes: u64,
    reads: u64,
    closed: u64,
}

/// A request with what a script's conditions and expressions see.
struct Request<'r> {
    below: &'r dyn Scope,
    own: BTreeMap<&'static str, Json>,
}

impl Scope for Request<'_> {
    fn get(&self, name: &str) -> Option<Cow<'_, Json>> {
        self.own.get(name).map(Cow::Borrowed).or_else(|| self.below.get(name))
    }

    fn uuid(&self, name: &str) -> String {
        self.below.uuid(name)
    }
}

impl<'v> Script<'v> {
    /// The script of a vector, before anything happened.
    pub fn new(vector: &'v Vector) -> Script<'v> {
        Script {
            vector,
            counts: BTreeMap::new(),
            step_counts: BTreeMap::new(),
            step: String::new(),
            in_flight: BTreeMap::new(),
            calls: GROUPS.iter().map(|group| ((*group).to_owned(), json!([]))).collect::<Map<_, _>>().into(),
            descriptors: Vec::new(),
            sessions: Vec::new(),
            intents: BTreeMap::new(),
        }
    }

    /// Answers a request. `during` is the place of the step that is open.
    ///
    /// # Errors
    /// A rule of the vector makes no sense.
    pub fn play(
        &mut self,
        verb: &str,
        params: &Json,
        now_ms: i64,
        during: &str,
        scope: &dyn Scope,
    ) -> Result<Played, ExprError> {
        let plain = |response| Ok(Played::new(response, now_ms));
        match verb {
            "provider.call" => self.call(params, now_ms, during, scope),
            "ui.launch" => self.launch(params, now_ms, during, scope),
            "clock.now" => plain(Response::Result(json!({ "now_ms": now_ms }))),
            "clock.sleep" => {
                let ms = params["ms"].as_f64().unwrap_or(0.0).clamp(0.0, 9e15);
                #[allow(clippy::cast_possible_truncation, reason = "clamped to what is exact")]
                let now_ms = now_ms.saturating_add(ms.ceil() as i64).min(LATEST_MS);
                self.note(json!({ "verb": verb, "ms": params["ms"], "now_ms": now_ms, "during": during }));
                Ok(Played::new(Response::Result(json!({ "now_ms": now_ms })), now_ms))
            }
            "fd.read" => Ok(self.read(params, now_ms)),
            "fd.close" => plain(self.close(params)),
            other => plain(Response::Refused { code: -32601, message: format!("the runner has no verb {other:?}") }),
        }
    }

    /// What `${calls}` is: every request so far, by method, and `all`.
    pub fn calls(&self) -> &Json {
        &self.calls
    }

    /// How many there were.
    fn count_of_calls(&self) -> usize {
        self.calls["all"].as_array().map_or(0, Vec::len)
    }

    /// Writes a request down.
    fn note(&mut self, call: Json) {
        let name = match call["verb"].as_str() {
            Some("clock.sleep") => "sleep",
            Some("ui.launch") => "launch",
            _ => call["method"].as_str().filter(|m| GROUPS.contains(m)).unwrap_or("other"),
        };
        // Nobody asks for a method `all`; a request that says so is among the others.
        let group = if name == "all" { "other" } else { name }.to_owned();
        for (group, call) in [(group.as_str(), call.clone()), ("all", call)] {
            if let Some(Json::Array(list)) = self.calls.get_mut(group) {
                list.push(call);
            }
        }
    }

    /// What `${fds}` is: every descriptor that was handed out.
    pub fn fds(&self) -> Json {
        let row = |open: &Open<'_>| json!({ "of": open.name, "bytes": open.bytes, "reads": open.reads, "closed": open.closed > 0, "closes": open.closed });
        self.descriptors.iter().map(row).collect()
    }

    /// The manifests of providers, in this order, for `consumer.discover`.
    ///
    /// # Errors
    /// A manifest of the vector makes no sense.
    pub fn manifests(&self, names: &[String], scope: &dyn Scope) -> Result<Json, ExprError> {
        names.iter().map(|name| expr::resolve(&self.vector.providers[name].manifest, scope)).collect()
    }

    fn call(&mut self, params: &Json, now_ms: i64, during: &str, scope: &dyn Scope) -> Result<Played, ExprError> {
        let authority = params["authority"].as_str().unwrap_or_default();
        let vector = self.vector;
        let found = vector.providers.iter().find(|(_, provider)| provider.authority == authority);
        let mut request = crate::machine::request_view(params);
        let method = request["method"].as_str().unwrap_or("?").to_owned();
        request["authority"] = json!(authority);
        request["arg"] = params["arg"].clone();
        let name = found.map(|(name, _)| name.as_str()).unwrap_or_default();
        let session = self.session_of(name, &request["extras"]["session_token"]).cloned();
        let mut note = request.clone();
        note["verb"] = json!("provider.call");
        note["now_ms"] = json!(now_ms);
        note["during"] = json!(during);
        note["n"] = json!(self.count_of_calls());
        let Some((name, provider)) = found else {
            note["provider"] = Json::Null;
            self.note(note);
            let class = "java.lang.IllegalArgumentException";
            let result = json!({ "exception": { "class": class, "message": "Unknown authority" } });
            return Ok(Played::new(Response::Result(result), now_ms));
        };
        self.count(name, &method, during);
        note["screens"] = json!(self.in_flight.get(&screen_of(name)).copied().unwrap_or(0));
        let flight = (name.clone(), request["extras"]["session_token"].as_str().map(str::to_owned));
        let in_flight = self.in_flight.entry(flight.clone()).or_default();
        *in_flight += 1;
        note["provider"] = json!(name);
        note["declares"] = json!(provider.declares);
        note["in_flight"] = json!(*in_flight);
        note["negotiated"] = json!(self.counts[name].get("negotiate").copied().unwrap_or(0));
        note["in_step"] = json!(self.step_counts[&(name.clone(), method.clone())]);
        self.note(note);
        let offered = request["extras"]["consumer_capabilities"].as_str().map(str::to_owned);
        let mut own = BTreeMap::from([("request", request)]);
        own.extend(session.map(|session| ("session", session)));
        let mut played = self.by_rule(name, provider, &method, own, now_ms, scope)?;
        if let (Response::Result(result), "negotiate") = (&played.response, method.as_str()) {
            let mut session = flatten_reply(result);
            if session.is_object() {
                let offered = offered.and_then(|text| crate::json::parse(text.as_bytes(), Limits::DATA).ok());
                session["offered"] = offered.unwrap_or_default();
                session["provider"] = json!(name);
            }
            self.sessions.push(session);
        }
        played.flight = Some(flight);
        Ok(played)
    }

    fn count(&mut self, provider: &str, method: &str, during: &str) {
        if self.step != during {
            during.clone_into(&mut self.step);
            self.step_counts.clear();
        }
        *self.step_counts.entry((provider.to_owned(), method.to_owned())).or_default() += 1;
        *self.counts.entry(provider.to_owned()).or_default().entry(method.to_owned()).or_default() += 1;
    }

    /// The answer to a request goes out.
    pub fn answered(&mut self, flight: &Flight) {
        if let Some(n) = self.in_flight.get_mut(flight) {
            *n = n.saturating_sub(1);
        }
    }

    /// The reply to negotiate that gave a token: that of the same provider where it gave it, else that of another one.
    fn session_of(&self, provider: &str, token: &Json) -> Option<&Json> {
        let token = token.as_str()?;
        let gave = |reply: &&Json| reply["data"]["session_token"].as_str() == Some(token);
        let own = self.sessions.iter().rev().filter(gave).find(|reply| reply["provider"] == provider);
        own.or_else(|| self.sessions.iter().rev().find(gave))
    }

    fn launch(&mut self, params: &Json, now_ms: i64, during: &str, scope: &dyn Scope) -> Result<Played, ExprError> {
        let id = params["pending_intent"].clone();
        let n = self.count_of_calls();
        self.note(json!({ "verb": "ui.launch", "pending_intent": id, "now_ms": now_ms, "during": during, "n": n }));
        let creator = id.as_str().and_then(|id| self.intents.get(id));
        let creator = creator.and_then(|name| self.vector.providers.get_key_value(name));
        if let Some((name, provider)) = creator {
            let own = BTreeMap::from([("request", params.clone())]);
            self.count(name, "ui.launch", during);
            *self.in_flight.entry(screen_of(name)).or_default() += 1;
            let played = self.by_rule(name, provider, "ui.launch", own, now_ms, scope)?;
            return Ok(Played { flight: Some(screen_of(name)), ..played });
        }
        // Nobody handed it out.
        Ok(Played::new(Response::Result(json!({ "result": "cancelled" })), now_ms))
    }

    fn by_rule(
        &mut self,
        name: &str,
        provider: &'v Scripted,
        method: &str,
        mut own: BTreeMap<&'static str, Json>,
        now_ms: i64,
        below: &dyn Scope,
    ) -> Result<Played, ExprError> {
        let counts = &self.counts[name];
        let count = counts[method];
        own.insert("call", json!({ "n": count, "total": self.count_of_calls(), "counts": counts }));
        own.insert("provider", json!({ "package": provider.package, "authority": provider.authority, "name": name }));
        let request = Request { below, own };
        let mut changes: Vec<&Reply> = Vec::new();
        for rule in &provider.rules {
            let named = rule.to == method || (rule.to == "*" && method != "ui.launch");
            let counted = rule.nth.is_none_or(|(first, last)| (first..=last).contains(&count));
            if !named || !counted {
                continue;
            }
            match rule.when.as_ref().map(|when| when.applies(None, &request)) {
                None | Some(Match::Yes) => {}
                Some(Match::Wrong(why)) => return Err(ExprError::Wrong(why)),
                Some(_) => continue,
            }
            if matches!(rule.answer, ReplyForm::Change { .. }) {
                changes.push(rule);
                continue;
            }
            return self.answer(name, provider, rule, &changes, &request, now_ms);
        }
        // No rule fits: an honest provider does not know the method.
        let unknown = Reply {
            to: method.to_owned(),
            nth: None,
            when: None,
            answer: ReplyForm::Error {
                code: json!("METHOD_NOT_FOUND"),
                message: json!("no such method"),
                retryable: json!(false),
                v1: false,
            },
            extras: Map::new(),
            advance_ms: None,
            cancel: false,
            hold_ms: None,
        };
        self.answer(name, provider, &unknown, &changes, &request, now_ms)
    }

    /// The answer of a rule, with the changes of the rules before it; the nearest comes first.
    fn answer(
        &mut self,
        name: &str,
        provider: &'v Scripted,
        rule: &Reply,
        changes: &[&Reply],
        request: &Request<'_>,
        now_ms: i64,
    ) -> Result<Played, ExprError> {
        let mut result = wire(&rule.answer, request)?;
        for rule in std::iter::once(rule).chain(changes.iter().rev().copied()) {
            if let ReplyForm::Change { set, remove } = &rule.answer {
                change_data(&mut result, set, remove, request)?;
            }
            if let Some(Json::Object(bundle)) = result.get_mut("bundle") {
                for (key, value) in &rule.extras {
                    match value {
                        Json::Null => drop(bundle.remove(key)),
                        value => drop(bundle.insert(key.clone(), expr::resolve(value, request)?)),
                    }
                }
            }
        }
        if let Some(bundle) = result.get("bundle").filter(|bundle| bundle.is_object()) {
            let mut read =
                Bundle::from_json(bundle).map_err(|error| ExprError::Wrong(format!("a scripted Bundle: {error}")))?;
            self.hand_out(name, provider, &mut read, request)?;
            result["bundle"] = read.to_json();
        }
        let all = || changes.iter().copied().chain([rule]);
        let advance = match all().find_map(|rule| rule.advance_ms.as_ref()) {
            None => 0,
            Some(ms) => expr::resolve(ms, request)?.as_i64().unwrap_or(0).max(0),
        };
        let now_ms = now_ms.saturating_add(advance).min(LATEST_MS);
        Ok(Played {
            cancel: all().any(|rule| rule.cancel),
            hold_ms: all().find_map(|rule| rule.hold_ms),
            ..Played::new(Response::Result(result), now_ms)
        })
    }

    /// Every descriptor in a reply becomes one of its own, with an id of its own; of PendingIntents it is noted whose they
    /// are.
    fn hand_out(
        &mut self,
        name: &str,
        provider: &'v Scripted,
        bundle: &mut Bundle,
        request: &Request<'_>,
    ) -> Result<(), ExprError> {
        for value in bundle.0.values_mut() {
            match value {
                Value::Fd { id, .. } => {
                    let descriptor = provider.descriptors.get(id);
                    let text = match descriptor.map(|d| &d.content) {
                        Some(Content::Text(text)) => match expr::resolve(text, request)? {
                            Json::String(text) => Some(text),
                            other => Some(other.to_string()),
                        },
                        _ => None,
                    };
                    let name = std::mem::replace(id, format!("fd-{}", self.descriptors.len() + 1));
                    self.descriptors.push(Open { name, descriptor, text, bytes: 0, reads: 0, closed: 0 });
                }
                Value::PendingIntent(intent) => drop(self.intents.insert(intent.id.clone(), name.to_owned())),
                Value::Bundle(inner) => self.hand_out(name, provider, inner, request)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn open(&mut self, params: &Json) -> Option<&mut Open<'v>> {
        let number: usize = params["fd"].as_str()?.strip_prefix("fd-")?.parse().ok()?;
        self.descriptors.get_mut(number.checked_sub(1)?)
    }

    fn read(&mut self, params: &Json, now_ms: i64) -> Played {
        let most = params["max_bytes"].as_u64().unwrap_or(0);
        let refused = |message: &str| Played::new(Response::refused(message), now_ms);
        let Some(open) = self.open(params) else { return refused("there is no such descriptor") };
        open.reads += 1;
        if open.closed > 0 {
            return refused("the descriptor is closed");
        }
        let Some(descriptor) = open.descriptor else { return refused("nothing can be read from the descriptor") };
        if descriptor.error_after.is_some_and(|bytes| open.bytes >= bytes) {
            return refused("reading failed");
        }
        if open.bytes >= MOST_SERVED {
            return refused("the runner serves no more of this descriptor");
        }
        let left = match (&descriptor.content, &open.text) {
            (Content::Text(_), text) => text.as_ref().map_or(0, |t| t.len() as u64) - open.bytes,
            (Content::Fill { bytes, .. }, _) => bytes.map_or(u64::MAX, |bytes| bytes - open.bytes),
        };
        let until_error = descriptor.error_after.map_or(u64::MAX, |bytes| bytes - open.bytes);
        // A reading of more than a message may hold is served in part, as a pipe does.
        const LARGEST: u64 = 4 << 20;
        let chunk = descriptor.chunk_bytes.unwrap_or(u64::MAX);
        let n = most.min(chunk).min(left).min(until_error).min(LARGEST);
        let size = usize::try_from(n).expect("at most the largest reading");
        let start = usize::try_from(open.bytes).unwrap_or(usize::MAX);
        let content = match (&descriptor.content, &open.text) {
            (Content::Fill { unit, .. }, _) => vec![*unit; size],
            (Content::Text(_), Some(text)) => text.as_bytes()[start..start + size].to_vec(),
            (Content::Text(_), None) => Vec::new(),
        };
        open.bytes += n;
        let eof = n == left && until_error > n;
        let now_ms = now_ms.saturating_add(i64::try_from(descriptor.slow_ms).unwrap_or(i64::MAX)).min(LATEST_MS);
        let result = json!({ "base64": STANDARD.encode(content), "eof": eof });
        Played::new(Response::Result(result), now_ms)
    }

    fn close(&mut self, params: &Json) -> Response {
        match self.open(params) {
            Some(open) => {
                open.closed += 1;
                Response::Result(json!({}))
            }
            None => Response::refused("there is no such descriptor"),
        }
    }

    /// The reply to negotiate that gave the token of the last call, for rules about sessions.
    pub fn last_request(&self) -> Option<(Json, Option<Json>)> {
        let call = self.calls["all"].as_array()?.last()?;
        let session = self.session_of(call["provider"].as_str().unwrap_or_default(), &call["extras"]["session_token"]);
        Some((call.clone(), session.cloned()))
    }
}

/// The members of `${calls}`.
const GROUPS: [&str; 10] = [
    "all",
    "negotiate",
    "get_provider_info",
    "list_tools",
    "execute_tool",
    "get_operation",
    "cancel_operation",
    "launch",
    "sleep",
    "other",
];

/// Puts values into the `data` of a reply and takes others away.
fn change_data(
    result: &mut Json,
    set: &Map<String, Json>,
    remove: &[String],
    request: &Request<'_>,
) -> Result<(), ExprError> {
    if set.is_empty() && remove.is_empty() {
        return Ok(());
    }
    let wrong = |what: String| ExprError::Wrong(format!("change: {what}"));
    let place = result.pointer_mut("/bundle/data/string");
    let place = place.ok_or_else(|| wrong("the reply has no data".into()))?;
    let text = place.as_str().unwrap_or_default();
    let mut data = crate::json::parse(text.as_bytes(), Limits::DATA).map_err(|error| wrong(error.to_string()))?;
    for (pointer, value) in set {
        let value = expr::resolve(value, request)?;
        let (parent, name) = pointer.rsplit_once('/').unwrap_or_default();
        let name = name.replace("~1", "/").replace("~0", "~");
        match data.pointer_mut(parent) {
            Some(Json::Object(members)) => drop(members.insert(name, value)),
            Some(Json::Array(items)) if name == "-" => items.push(value),
            Some(Json::Array(items)) => match name.parse().ok().and_then(|n: usize| items.get_mut(n)) {
                Some(item) => *item = value,
                None => return Err(wrong(format!("there is no element {pointer}"))),
            },
            _ => return Err(wrong(format!("there is nothing at {parent:?}"))),
        }
    }
    for pointer in remove {
        let (parent, name) = pointer.rsplit_once('/').unwrap_or_default();
        let name = name.replace("~1", "/").replace("~0", "~");
        let gone = match data.pointer_mut(parent) {
            Some(Json::Object(members)) => members.remove(&name),
            Some(Json::Array(items)) => name.parse().ok().filter(|n| *n < items.len()).map(|n: usize| items.remove(n)),
            _ => None,
        };
        gone.ok_or_else(|| wrong(format!("there is nothing at {pointer:?}")))?;
    }
    *place = Json::String(expr::json_text(&data));
    Ok(())
}

/// The answer of a rule on the wire, before its extras.
fn wire(form: &ReplyForm, request: &Request<'_>) -> Result<Json, ExprError> {
    let echo = request.path("request.extras.request_id").filter(|id| id.is_string());
    let bundle = |status: &str, v1: bool, members: Vec<(&str, Json)>| {
        let mut bundle = Map::new();
        bundle.insert("status".into(), json!({ "string": status }));
        if !v1 {
            bundle.insert("protocol_version".into(), json!({ "int": 2 }));
            bundle.extend(echo.iter().map(|id| ("request_id".to_owned(), json!({ "string": id }))));
        }
        bundle.extend(members.into_iter().map(|(key, value)| (key.to_owned(), value)));
        json!({ "bundle": bundle })
    };
    Ok(match form {
        ReplyForm::Wire(wire) => expr::resolve(wire, request)?,
        ReplyForm::Success { data, v1 } => {
            let text = match data {
                Args::Value(value) => Json::String(expr::json_text(&expr::resolve(value, request)?)),
                Args::Text(text) => expr::resolve(text, request)?,
            };
            bundle("success", *v1, vec![("data", json!({ "string": text }))])
        }
        ReplyForm::Error { code, message, retryable, v1 } => {
            let mut members = vec![
                ("error_code", json!({ "string": expr::resolve(code, request)? })),
                ("error_message", json!({ "string": expr::resolve(message, request)? })),
            ];
            if !v1 {
                members.push(("retryable", json!({ "bool": expr::resolve(retryable, request)? })));
            }
            bundle("error", *v1, members)
        }
        ReplyForm::Accepted(data) => {
            let text = expr::json_text(&expr::resolve(data, request)?);
            bundle("accepted", false, vec![("data", json!({ "string": text }))])
        }
        ReplyForm::Change { .. } => return Err(ExprError::Wrong("a change answers nothing itself".into())),
    })
}
