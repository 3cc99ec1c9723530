//! The providers that the runner plays for a consumer under test. The main type is [`Script`].
//!
//! A script answers the consumer's requests by the rules of the vector, keeps the descriptors that it handed out, and
//! notes everything, so that expectations can look at which calls came, in which order and with what in them. It is as pure
//! as the machine that it belongs to: the same requests get the same answers.

use crate::bundle::{Bundle, Value};
use crate::expr::{self, ExprError, Scope};
use crate::machine::flatten_reply;
use crate::model::{Args, Content, Descriptor, Reply, ReplyForm, Scripted, Vector};
use crate::pattern::Match;
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
}

/// Bytes that one descriptor serves at most: a consumer that has read so much keeps no limit of its own.
pub const MOST_SERVED: u64 = 1 << 30;

/// The latest time that a clock can show, so that every number stays exact.
const LATEST_MS: i64 = 1 << 53;

/// The state of the scripted providers of a vector.
pub struct Script<'v> {
    vector: &'v Vector,
    /// Requests so far, by provider and method.
    counts: BTreeMap<(String, String), u64>,
    /// Every request but those about descriptors.
    calls: Vec<Json>,
    descriptors: Vec<Open<'v>>,
    /// Replies to negotiate, to find the session of a token.
    sessions: Vec<Json>,
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
        Script { vector, counts: BTreeMap::new(), calls: Vec::new(), descriptors: Vec::new(), sessions: Vec::new() }
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
        let plain = |response| Ok(Played { response, now_ms, cancel: false });
        match verb {
            "provider.call" => self.call(params, now_ms, during, scope),
            "ui.launch" => self.launch(params, now_ms, during, scope),
            "clock.now" => plain(Response::Result(json!({ "now_ms": now_ms }))),
            "clock.sleep" => {
                let ms = params["ms"].as_f64().unwrap_or(0.0).clamp(0.0, 9e15);
                #[allow(clippy::cast_possible_truncation, reason = "clamped to what is exact")]
                let now_ms = now_ms.saturating_add(ms.ceil() as i64).min(LATEST_MS);
                self.calls.push(json!({ "verb": verb, "ms": params["ms"], "now_ms": now_ms, "during": during }));
                Ok(Played { response: Response::Result(json!({ "now_ms": now_ms })), now_ms, cancel: false })
            }
            "fd.read" => Ok(self.read(params, now_ms)),
            "fd.close" => plain(self.close(params)),
            other => plain(Response::Refused { code: -32601, message: format!("the runner has no verb {other:?}") }),
        }
    }

    /// What `${calls}` is: every request so far, by method, and `all`.
    pub fn calls(&self) -> Json {
        let mut groups: Map<String, Json> = Map::new();
        for group in GROUPS {
            groups.insert(group.into(), json!([]));
        }
        for call in &self.calls {
            let name = match call["verb"].as_str() {
                Some("clock.sleep") => "sleep",
                Some("ui.launch") => "launch",
                _ => call["method"].as_str().filter(|m| GROUPS.contains(m)).unwrap_or("other"),
            };
            for group in [name, "all"] {
                if let Some(Json::Array(list)) = groups.get_mut(group) {
                    list.push(call.clone());
                }
            }
        }
        Json::Object(groups)
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
        let session = request["extras"]["session_token"].as_str().and_then(|token| {
            self.sessions.iter().find(|reply| reply["data"]["session_token"].as_str() == Some(token)).cloned()
        });
        let mut note = request.clone();
        note["verb"] = json!("provider.call");
        note["now_ms"] = json!(now_ms);
        note["during"] = json!(during);
        note["n"] = json!(self.calls.len());
        let Some((name, provider)) = found else {
            note["provider"] = Json::Null;
            self.calls.push(note);
            let class = "java.lang.IllegalArgumentException";
            let result = json!({ "exception": { "class": class, "message": "Unknown authority" } });
            return Ok(Played { response: Response::Result(result), now_ms, cancel: false });
        };
        note["provider"] = json!(name);
        self.calls.push(note);
        let mut own = BTreeMap::from([("request", request)]);
        own.extend(session.map(|session| ("session", session)));
        let played = self.by_rule(name, provider, &method, own, now_ms, scope)?;
        if let (Response::Result(result), "negotiate") = (&played.response, method.as_str()) {
            self.sessions.push(flatten_reply(result));
        }
        Ok(played)
    }

    fn launch(&mut self, params: &Json, now_ms: i64, during: &str, scope: &dyn Scope) -> Result<Played, ExprError> {
        let id = params["pending_intent"].clone();
        self.calls.push(json!({ "verb": "ui.launch", "pending_intent": id, "now_ms": now_ms, "during": during, "n": self.calls.len() }));
        // The provider that has a rule for it; the ids of a vector are unique.
        for (name, provider) in &self.vector.providers {
            let own = BTreeMap::from([("request", params.clone())]);
            if provider.rules.iter().any(|rule| rule.to == "ui.launch") {
                return self.by_rule(name, provider, "ui.launch", own, now_ms, scope);
            }
        }
        Ok(Played { response: Response::Result(json!({ "result": "ok" })), now_ms, cancel: false })
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
        let count = self.counts.entry((name.to_owned(), method.to_owned())).or_default();
        *count += 1;
        let count = *count;
        own.insert("call", json!({ "n": count, "total": self.calls.len() }));
        own.insert("provider", json!({ "package": provider.package, "authority": provider.authority, "name": name }));
        let request = Request { below, own };
        for rule in &provider.rules {
            let named = rule.to == method || (rule.to == "*" && method != "ui.launch");
            let counted = rule.nth.is_none_or(|(first, last)| (first..=last).contains(&count));
            if !named || !counted {
                continue;
            }
            match rule.when.as_ref().map(|when| when.holds(None, &request)) {
                None | Some(Match::Yes) => {}
                Some(Match::Wrong(why)) => return Err(ExprError::Wrong(why)),
                Some(_) => continue,
            }
            return self.answer(provider, rule, &request, now_ms);
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
        };
        self.answer(provider, &unknown, &request, now_ms)
    }

    fn answer(
        &mut self,
        provider: &'v Scripted,
        rule: &Reply,
        request: &Request<'_>,
        now_ms: i64,
    ) -> Result<Played, ExprError> {
        let mut result = wire(&rule.answer, request)?;
        if let Some(Json::Object(bundle)) = result.get_mut("bundle") {
            for (key, value) in &rule.extras {
                match value {
                    Json::Null => drop(bundle.remove(key)),
                    value => drop(bundle.insert(key.clone(), expr::resolve(value, request)?)),
                }
            }
        }
        if let Some(bundle) = result.get("bundle").filter(|bundle| bundle.is_object()) {
            let mut read =
                Bundle::from_json(bundle).map_err(|error| ExprError::Wrong(format!("a scripted Bundle: {error}")))?;
            self.hand_out(provider, &mut read, request)?;
            result["bundle"] = read.to_json();
        }
        let advance = match &rule.advance_ms {
            None => 0,
            Some(ms) => expr::resolve(ms, request)?.as_i64().unwrap_or(0).max(0),
        };
        let now_ms = now_ms.saturating_add(advance).min(LATEST_MS);
        Ok(Played { response: Response::Result(result), now_ms, cancel: rule.cancel })
    }

    /// Every descriptor in a reply becomes one of its own, with an id of its own.
    fn hand_out(
        &mut self,
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
                Value::Bundle(inner) => self.hand_out(provider, inner, request)?,
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
        let refused = |message: &str| Played { response: Response::refused(message), now_ms, cancel: false };
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
        Played { response: Response::Result(result), now_ms, cancel: false }
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
        let call = self.calls.last()?;
        let token = call["extras"]["session_token"].as_str();
        let session = token.and_then(|token| {
            self.sessions.iter().find(|reply| reply["data"]["session_token"].as_str() == Some(token))
        });
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

/// The answer of a rule on the wire, before its extras.
fn wire(form: &ReplyForm, request: &Request<'_>) -> Result<Json, ExprError> {
    let echo = request.path("request.extras.request_id").filter(Json::is_string);
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
    })
}
