//! Faults that act between the consumer and the system: on what is sent, on what came, on files, waits and screens. The
//! main type is [`Distorted`].

use crate::consumer::limits::MAX_IN_FLIGHT;
use crate::consumer::platform::{Called, Chunk, Launched, Platform};
use crate::consumer::reply::{new_id, request};
use crate::consumer::switches::{Fault, Switches};
use crate::envelope::{Code, key};
use crate::lock;
use crate::schedule::Busy;
use crate::session::Capabilities;
use cetp_vectors::bundle::{Bundle, PendingIntent, Value};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What faults remember from one call to the next.
#[derive(Debug, Default)]
pub struct Memory {
    remembered: Mutex<Remembered>,
    /// What goes on while the consumer seems to wait for an answer.
    pub busy: Arc<Busy>,
}

#[derive(Debug, Default)]
struct Remembered {
    /// How the last call of each `request_id` ended.
    ends: HashMap<String, End>,
    /// Tools that are listed, and whether they only read.
    reads: BTreeMap<String, bool>,
    /// The `provider_id` that each authority negotiated with.
    ids: HashMap<String, String>,
    /// The one id of all reads.
    shared_id: Option<String>,
    /// Descriptors that were read to their end.
    read: BTreeSet<String>,
    /// Texts that were obeyed.
    obeyed: BTreeSet<String>,
}

impl Remembered {
    /// Whether a call is of a tool that only reads.
    fn reads_with(&self, extras: &Bundle) -> bool {
        extras.string(key::TOOL_NAME).and_then(|tool| self.reads.get(tool)) == Some(&true)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Death,
    TimeOut,
    NoAnswer,
    Error(String),
    Other,
}

/// The system, as a faulty consumer deals with it.
pub struct Distorted<'d> {
    inner: &'d dyn Platform,
    switches: &'d Switches,
    memory: &'d Memory,
    /// Whether the last answer was that an operation goes on.
    goes_on: Mutex<bool>,
    /// The call that an answer asked to resume: where it goes, and its extras.
    resumable: Mutex<Option<(String, Bundle)>>,
    /// The answer to a call that was resumed too early.
    early: Mutex<Option<Called>>,
}

impl<'d> Distorted<'d> {
    /// Stands between a consumer with these switches and the system.
    pub fn new(inner: &'d dyn Platform, switches: &'d Switches, memory: &'d Memory) -> Distorted<'d> {
        Distorted {
            inner,
            switches,
            memory,
            goes_on: Mutex::new(false),
            resumable: Mutex::default(),
            early: Mutex::default(),
        }
    }

    fn on(&self, fault: Fault) -> bool {
        self.switches.broken(fault)
    }
}

impl Platform for Distorted<'_> {
    fn call(&self, authority: &str, method: &str, extras: Option<&Bundle>) -> Called {
        let version_2 =
            method == "negotiate" || extras.is_some_and(|extras| extras.get(key::PROTOCOL_VERSION).is_some());
        let id = extras.and_then(|extras| extras.string(key::REQUEST_ID)).map(str::to_owned);
        self.unasked(authority, method, version_2);
        let sent = self.outgoing(method, extras, version_2);
        let resumes = sent.as_ref().is_some_and(|extras| extras.get(key::RESUME_TOKEN).is_some());
        let early = if resumes { lock(&self.early).take() } else { None };
        let mut called = early.unwrap_or_else(|| self.inner.call(authority, method, sent.as_ref()));
        if let (Called::Bundle(bundle), Some(extras)) = (&called, &sent)
            && let Some(token) = bundle.get(key::RESUME_TOKEN)
        {
            let extras = extras.clone().with(key::RESUME_TOKEN, token.clone());
            *lock(&self.resumable) = Some((authority.to_owned(), extras));
        }
        if let (Some(id), "execute_tool") = (&id, method) {
            lock(&self.memory.remembered).ends.insert(id.clone(), end_of(&called));
        }
        if let Called::Bundle(bundle) = &mut called {
            let sent_id = sent.as_ref().and_then(|extras| extras.get(key::REQUEST_ID));
            if let Some(id) = id.as_ref().filter(|_| sent_id.is_some() && bundle.get(key::REQUEST_ID) == sent_id) {
                bundle.0.insert(key::REQUEST_ID.to_owned(), Value::string(id));
            }
            self.incoming(authority, method, extras, version_2, bundle);
            let state = bundle.string(key::DATA).unwrap_or_default();
            let goes_on =
                bundle.string(key::STATUS) == Some("accepted") || method == "get_operation" && state.contains("state");
            *lock(&self.goes_on) = goes_on;
        }
        called
    }

    fn read(&self, fd: &str, max_bytes: usize) -> Option<Chunk> {
        let chunk = self.inner.read(fd, max_bytes);
        if chunk.as_ref().is_some_and(|chunk| chunk.eof) {
            lock(&self.memory.remembered).read.insert(fd.to_owned());
        }
        chunk
    }

    fn close(&self, fd: &str) {
        let was_read = lock(&self.memory.remembered).read.contains(fd);
        let left_open = if was_read { Fault::ReadFileLeftOpen } else { Fault::UnreadFileLeftOpen };
        if !self.on(left_open) {
            self.inner.close(fd);
        }
    }

    fn launch(&self, intent: &PendingIntent) -> Launched {
        if self.on(Fault::ResumesUnlaunched) {
            return Launched::Ok;
        }
        let resumable = lock(&self.resumable).take().filter(|_| self.on(Fault::ResumesWhileShown));
        let Some((authority, extras)) = resumable else { return self.inner.launch(intent) };
        let impatient = self.memory.busy.begin();
        std::thread::scope(|scope| {
            let shown = scope.spawn(|| self.inner.launch(intent));
            std::thread::sleep(SHOWN);
            let extras = extras.with(key::DEADLINE_AT_MS, Value::Long(self.now_ms() + 10_000));
            *lock(&self.early) = Some(self.inner.call(&authority, "execute_tool", Some(&extras)));
            drop(impatient);
            shown.join().unwrap_or(Launched::Failed)
        })
    }

    fn now_ms(&self) -> i64 {
        self.inner.now_ms()
    }

    fn sleep(&self, ms: u64) {
        if !(self.on(Fault::PollsWithoutWaiting) && *lock(&self.goes_on)) {
            self.inner.sleep(ms);
        }
    }
}

/// How long a screen has been shown when an impatient consumer resumes the call.
const SHOWN: Duration = Duration::from_millis(50);

fn end_of(called: &Called) -> End {
    match called {
        Called::Died => End::Death,
        Called::TimedOut => End::TimeOut,
        Called::Null => End::NoAnswer,
        Called::Bundle(bundle) if bundle.0.is_empty() => End::NoAnswer,
        Called::Bundle(bundle) => bundle.string(key::ERROR_CODE).map_or(End::Other, |code| End::Error(code.to_owned())),
        Called::Thrown => End::Other,
    }
}

/// What a validator minds that somebody wrote for the schemas at hand.
const FEW_KEYWORDS: [&str; 9] =
    ["type", "required", "properties", "items", "additionalProperties", "minimum", "pattern", "anyOf", "$ref"];

/// Drops keywords from a schema and from those inside of it.
fn keep_keywords(schema: &mut Json, kept: &dyn Fn(&str) -> bool) {
    let Json::Object(members) = schema else { return };
    members.retain(|keyword, _| keyword == "$defs" || kept(keyword));
    for (keyword, inner) in members {
        match (keyword.as_str(), inner) {
            ("properties" | "$defs" | "patternProperties", Json::Object(named)) => {
                named.values_mut().for_each(|schema| keep_keywords(schema, kept));
            }
            ("items" | "additionalProperties" | "contains" | "not" | "propertyNames", schema) => {
                keep_keywords(schema, kept)
            }
            ("anyOf" | "allOf" | "oneOf" | "prefixItems", Json::Array(list)) => {
                list.iter_mut().for_each(|schema| keep_keywords(schema, kept));
            }
            _ => {}
        }
    }
}

// What is sent.

impl Distorted<'_> {
    fn unasked(&self, authority: &str, method: &str, version_2: bool) {
        let offer = || {
            let (versions, capabilities) = (Value::IntArray(vec![2, 1]), Value::string("[]"));
            Bundle::new().with(key::CONSUMER_VERSIONS, versions).with(key::CONSUMER_CAPABILITIES, capabilities)
        };
        if self.on(Fault::AsksBeforeNegotiating) && method == "negotiate" {
            self.inner.call(authority, "get_provider_info", self.made_up().as_ref());
        }
        if self.on(Fault::LegacyNegotiated) && method == "list_tools" && !version_2 {
            self.inner.call(authority, "negotiate", Some(&offer()));
        }
    }

    /// The fields of version 2 without a session.
    fn made_up(&self) -> Option<Bundle> {
        Some(request("none", &new_id().ok()?, self.now_ms() + 10_000))
    }

    fn outgoing(&self, method: &str, extras: Option<&Bundle>, version_2: bool) -> Option<Bundle> {
        let Some(extras) = extras else {
            return if self.on(Fault::LegacyExtras) { self.made_up() } else { None };
        };
        let mut extras = extras.clone();
        let mut put = |key: &str, value: Value| drop(extras.0.insert(key.to_owned(), value));
        match method {
            "negotiate" => {
                if self.on(Fault::VersionsAscending) {
                    put(key::CONSUMER_VERSIONS, Value::IntArray(vec![1, 2]));
                }
                if self.on(Fault::VersionsAsList) {
                    put(key::CONSUMER_VERSIONS, Value::IntList(vec![Some(2), Some(1)]));
                }
                if self.on(Fault::SurplusCapabilitiesUsed) {
                    put(key::CONSUMER_CAPABILITIES, Value::string("[]"));
                }
                let names = Capabilities::ALL.names();
                if self.on(Fault::CapabilitiesAsArray) {
                    let names = names.iter().map(|name| Some((*name).into())).collect();
                    put(key::CONSUMER_CAPABILITIES, Value::StringArray(names));
                }
                if self.on(Fault::CapabilitiesAsWords) {
                    put(key::CONSUMER_CAPABILITIES, Value::string(names.join(",")));
                }
            }
            _ if version_2 => self.outgoing_v2(method, &mut extras),
            _ => {}
        }
        Some(extras)
    }

    fn outgoing_v2(&self, method: &str, extras: &mut Bundle) {
        if self.on(Fault::VersionAsLong) {
            extras.0.insert(key::PROTOCOL_VERSION.to_owned(), Value::Long(2));
        }
        if let Some(Value::Long(deadline)) = extras.get(key::DEADLINE_AT_MS).cloned() {
            if self.on(Fault::DeadlineInSeconds) {
                extras.0.insert(key::DEADLINE_AT_MS.to_owned(), Value::Long(deadline / 1000));
            }
            if self.on(Fault::DeadlineAsText) {
                extras.0.insert(key::DEADLINE_AT_MS.to_owned(), Value::string(deadline.to_string()));
            }
        }
        if self.on(Fault::ReadsWithoutEnvelope) && matches!(method, "get_provider_info" | "list_tools") {
            extras.0.remove(key::REQUEST_ID);
            extras.0.remove(key::DEADLINE_AT_MS);
        }
        self.opaque(method, extras);
        let resumes = extras.get(key::RESUME_TOKEN).is_some();
        if self.on(Fault::ResumeRewritesArgs)
            && resumes
            && let Some(args) = extras.string(key::ARGS).and_then(|args| serde_json::from_str::<Json>(args).ok())
        {
            extras.0.insert(key::ARGS.to_owned(), Value::string(format!("{args:#}")));
        }
        if self.on(Fault::ResumeTokenLost) {
            extras.0.remove(key::RESUME_TOKEN);
        }
        if let Some(id) = extras.string(key::REQUEST_ID).and_then(|id| self.other_id(method, extras, id, resumes)) {
            extras.0.insert(key::REQUEST_ID.to_owned(), Value::string(id));
        }
    }

    /// Texts of the provider that are to go back as they came.
    fn opaque(&self, method: &str, extras: &mut Bundle) {
        let mut change = |key: &str, of: &dyn Fn(&str) -> String| {
            if let Some(text) = extras.string(key).map(of) {
                extras.0.insert(key.to_owned(), Value::string(text));
            }
        };
        if self.on(Fault::TokenEncoded) && matches!(method, "get_operation" | "cancel_operation") {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
            let encoded = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
            change(key::SESSION_TOKEN, &|token| token.bytes().map(encoded).collect());
        }
        if self.on(Fault::OperationIdLowered) && method == "cancel_operation" {
            change(key::OPERATION_ID, &|id| id.to_lowercase());
        }
        if self.on(Fault::ResumeTokenDecoded) {
            change(key::RESUME_TOKEN, &|token| token.replace('+', " "));
        }
    }

    /// The id in the place of the right one.
    fn other_id(&self, method: &str, extras: &Bundle, id: &str, resumes: bool) -> Option<String> {
        if self.on(Fault::IdIsNoUuid) {
            return Some(id.replace('-', ""));
        }
        let mut memory = lock(&self.memory.remembered);
        let reads = memory.reads_with(extras);
        let before = memory.ends.get(id).cloned();
        let error = |code: Code| before == Some(End::Error(code.name().to_owned()));
        let new = match method {
            "execute_tool" => {
                if self.on(Fault::ReadsShareId) && reads {
                    let shared = memory.shared_id.get_or_insert_with(|| id.to_owned());
                    return Some(shared.clone());
                }
                self.on(Fault::TimeoutNewId) && before == Some(End::TimeOut)
                    || self.on(Fault::DeathNewId) && before == Some(End::Death)
                    || self.on(Fault::NoAnswerNewId) && before == Some(End::NoAnswer)
                    || self.on(Fault::DeadlineNewId) && error(Code::DeadlineExceeded)
                    || self.on(Fault::RenegotiatedNewId) && error(Code::NegotiationRequired)
                    || self.on(Fault::RepeatedReadNewId) && reads && before.is_some()
                    || self.on(Fault::ResumedNewId) && resumes
            }
            "get_operation" => self.on(Fault::PollsUnderNewId),
            "cancel_operation" => self.on(Fault::CancelsUnderNewId),
            _ => false,
        };
        new.then(new_id)?.ok()
    }
}

// What comes.

impl Distorted<'_> {
    fn incoming(&self, authority: &str, method: &str, extras: Option<&Bundle>, version_2: bool, bundle: &mut Bundle) {
        self.coerce(bundle);
        self.crash(bundle);
        self.errors(method, extras, bundle);
        let unchecked = match bundle.string(key::STATUS) {
            Some("accepted") => self.on(Fault::EchoOfAcceptedUnchecked),
            Some("error") => self.on(Fault::EchoOfErrorsUnchecked),
            _ => false,
        };
        if unchecked || self.on(Fault::EchoUnchecked) && bundle.get(key::STATUS).is_some() {
            let id = extras.and_then(|extras| extras.get(key::REQUEST_ID)).cloned();
            bundle.0.extend(id.map(|id| (key::REQUEST_ID.to_owned(), id)));
        }
        if self.on(Fault::VersionEchoUnchecked) && version_2 && bundle.get(key::STATUS).is_some() {
            bundle.0.insert(key::PROTOCOL_VERSION.to_owned(), Value::Int(2));
        }
        edit(bundle, |data| match method {
            "negotiate" => self.negotiated(authority, data),
            "get_provider_info" if version_2 => self.info(authority, data),
            "list_tools" if version_2 => self.list(data),
            "list_tools" => self.legacy_list(data),
            "execute_tool" => self.result(data),
            "get_operation" => self.state(extras, data),
            _ => false,
        });
        self.obey(authority, extras, bundle);
    }

    fn coerce(&self, bundle: &mut Bundle) {
        if self.on(Fault::TypesCoerced) {
            for key in [key::DATA, key::STATUS] {
                let text = match bundle.get(key) {
                    Some(Value::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
                    Some(Value::StringArray(list) | Value::StringList(list)) => {
                        list.iter().flatten().filter_map(|text| text.as_str()).collect()
                    }
                    Some(Value::Bundle(inner)) => inner.to_json().to_string(),
                    Some(Value::Int(n)) => n.to_string(),
                    _ => continue,
                };
                bundle.0.insert(key.to_owned(), Value::string(text));
            }
        }
        if self.on(Fault::JsonLenient)
            && let Some(text) = bundle.string(key::DATA)
            && let Some(Ok(first)) =
                serde_json::Deserializer::from_str(text.trim_start_matches('\u{feff}')).into_iter::<Json>().next()
        {
            bundle.0.insert(key::DATA.to_owned(), Value::string(first.to_string()));
        }
    }

    fn crash(&self, bundle: &Bundle) {
        let no_code = bundle.string(key::STATUS) == Some("error") && bundle.string(key::ERROR_CODE).is_none();
        assert!(!(self.on(Fault::MalformedErrorCrashes) && no_code), "an error without a code");
        let deep = bundle.string(key::DATA).is_some_and(|data| {
            let mut level = 0_i64;
            data.bytes().any(|byte| {
                level += i64::from(matches!(byte, b'[' | b'{')) - i64::from(matches!(byte, b']' | b'}'));
                level > 90
            })
        });
        assert!(!(self.on(Fault::DeepDataCrashes) && deep), "nested too deeply");
    }

    fn errors(&self, method: &str, extras: Option<&Bundle>, bundle: &mut Bundle) {
        if bundle.string(key::STATUS) != Some("error") {
            return;
        }
        if self.on(Fault::PollErrorIgnored) && method == "get_operation" {
            let operation = extras.and_then(|extras| extras.string(key::OPERATION_ID)).unwrap_or_default();
            let running = json!({ "operation_id": operation, "state": "running" }).to_string();
            bundle.0.insert(key::STATUS.to_owned(), Value::string("success"));
            bundle.0.insert(key::DATA.to_owned(), Value::string(running));
            return;
        }
        if self.on(Fault::ResumeTokenInvented)
            && bundle.get(key::RESOLUTION).is_some()
            && bundle.string(key::RESUME_TOKEN).is_none()
        {
            bundle.0.insert(key::RESUME_TOKEN.to_owned(), Value::string("none"));
        }
        let retryable = match bundle.get(key::RETRYABLE) {
            None | Some(Value::Null) if self.on(Fault::RetryableAssumed) => Some(true),
            Some(Value::String(text)) if self.on(Fault::RetryableCoerced) => Some(text.as_str() == Some("true")),
            Some(Value::Int(n)) if self.on(Fault::RetryableCoerced) => Some(*n != 0),
            Some(Value::Long(n)) if self.on(Fault::RetryableCoerced) => Some(*n != 0),
            _ if self.on(Fault::DeadlineNewId) && bundle.string(key::ERROR_CODE) == Some("DEADLINE_EXCEEDED") => {
                Some(true)
            }
            _ => None,
        };
        let setup = matches!(method, "negotiate" | "get_provider_info" | "list_tools");
        let reads = extras.is_some_and(|extras| lock(&self.memory.remembered).reads_with(extras));
        let anyway = self.on(Fault::UnretryableSetupRepeated) && setup
            || self.on(Fault::UnretryableReadsRepeated) && method == "execute_tool" && reads;
        let retryable = if anyway { Some(true) } else { retryable };
        bundle.0.extend(retryable.map(|retryable| (key::RETRYABLE.to_owned(), Value::Bool(retryable))));
        let unheeded = self.on(Fault::RetryAfterIgnored)
            || self.on(Fault::SetupRetryAfterIgnored) && setup
            || self.on(Fault::PollRetryAfterIgnored) && method == "get_operation";
        match bundle.get(key::RETRY_AFTER_MS) {
            Some(_) if unheeded => drop(bundle.0.remove(key::RETRY_AFTER_MS)),
            Some(Value::Long(ms)) if self.on(Fault::RetryAfterCapped) => {
                let ms = Value::Long((*ms).min(1_000));
                bundle.0.insert(key::RETRY_AFTER_MS.to_owned(), ms);
            }
            _ => {}
        }
        if let Some(action) = bundle.string("authorize_intent").filter(|_| self.on(Fault::AuthorizeIntentFollowed)) {
            self.inner.launch(&PendingIntent { id: action.to_owned(), ..PendingIntent::default() });
        }
    }

    fn negotiated(&self, authority: &str, data: &mut Json) -> bool {
        if let Some(id) = data["provider_id"].as_str() {
            lock(&self.memory.remembered).ids.insert(authority.to_owned(), id.to_owned());
        }
        let Some(members) = data.as_object_mut() else { return false };
        if self.on(Fault::NegotiateTypesCoerced) {
            coerce_negotiated(members);
        }
        if self.on(Fault::SelectedVersionUnchecked) {
            members.insert("selected_version".to_owned(), json!(2));
        }
        if self.on(Fault::TokenMissingAccepted)
            && members.get("session_token").and_then(Json::as_str).is_none_or(str::is_empty)
        {
            members.insert("session_token".to_owned(), json!("none"));
        }
        if self.on(Fault::OfferTakenForAgreed) {
            members.insert("capabilities".to_owned(), json!(Capabilities::ALL.names()));
        }
        if self.on(Fault::InFlightUnlimited) && members.get("limits").is_some_and(Json::is_object) {
            members["limits"]["max_concurrent_requests"] = json!(MAX_IN_FLIGHT);
        }
        true
    }

    fn info(&self, authority: &str, data: &mut Json) -> bool {
        let known = ["provider_id", "provider_name", "description", "schema_dialect", "scopes"];
        let of_scope = ["name", "title", "description", "access", "sensitivity"];
        let Some(members) = data.as_object_mut() else { return false };
        let has_unknown = |json: &Json, known: &[&str]| {
            json.as_object().is_some_and(|members| members.keys().any(|name| !known.contains(&name.as_str())))
        };
        let scopes = members.get("scopes").and_then(Json::as_array).cloned().unwrap_or_default();
        let unknown = members.keys().any(|name| !known.contains(&name.as_str()))
            || scopes.iter().any(|scope| has_unknown(scope, &of_scope));
        if self.on(Fault::UnknownInfoFieldRefused) && unknown {
            members.clear();
        }
        if self.on(Fault::InfoIdUnchecked) {
            members.insert("provider_id".to_owned(), json!(lock(&self.memory.remembered).ids.get(authority)));
        }
        if self.on(Fault::DialectUnchecked) {
            members.remove("schema_dialect");
        }
        if self.on(Fault::MissingTextsDefaulted) {
            for name in ["provider_name", "description"] {
                default(members, name, &json!(""));
            }
        }
        if self.on(Fault::MissingScopeFieldsDefaulted) {
            for scope in members.get_mut("scopes").and_then(Json::as_array_mut).into_iter().flatten() {
                if let Json::Object(scope) = scope {
                    default(scope, "access", &json!("read"));
                    default(scope, "sensitivity", &json!("public"));
                }
            }
        }
        true
    }

    fn list(&self, data: &mut Json) -> bool {
        let Some(members) = data.as_object_mut() else { return false };
        if self.on(Fault::MissingRevisionDefaulted) {
            default(members, "revision", &json!("none"));
        }
        for tool in members.get_mut("tools").and_then(Json::as_array_mut).into_iter().flatten() {
            if let Json::Object(tool) = tool {
                self.tool(tool);
                let name = tool.get("name").and_then(Json::as_str).unwrap_or_default().to_owned();
                let effect = tool.get("annotations").map(|annotations| annotations["effect"].clone());
                lock(&self.memory.remembered).reads.insert(name, effect == Some(json!("read")));
            }
        }
        true
    }

    fn tool(&self, tool: &mut Map<String, Json>) {
        let known =
            ["name", "title", "description", "input_schema", "output_schema", "scopes", "annotations"].as_slice();
        let annotations: &[&str] =
            &["effect", "risk", "destructive", "idempotent", "open_world", "confirmation", "execution"];
        let unknown =
            |members: &Map<String, Json>, known: &[&str]| members.keys().any(|name| !known.contains(&name.as_str()));
        let odd = unknown(tool, known)
            || tool.get("annotations").and_then(Json::as_object).is_some_and(|members| unknown(members, annotations));
        if self.on(Fault::UnknownToolFieldRefused) && odd {
            return tool.clear();
        }
        if self.on(Fault::MissingTextsDefaulted) {
            default(tool, "description", &json!(""));
        }
        if self.on(Fault::MissingScopesDefaulted) {
            default(tool, "scopes", &json!([]));
        }
        for name in ["input_schema", "output_schema"] {
            if self.on(Fault::MissingSchemasDefaulted) {
                default(tool, name, &json!(true));
            }
            if let Some(schema) = tool.get_mut(name) {
                self.schema(schema);
            }
        }
        if let Some(schema) = tool.get_mut("output_schema") {
            if self.on(Fault::OutputUnchecked) {
                *schema = json!(true);
            }
            if self.on(Fault::OutputCheckedShallowly) && schema["type"].is_string() {
                *schema = json!({ "type": schema["type"] });
            }
            if self.on(Fault::OutputKeywordsFew) {
                keep_keywords(schema, &|keyword| FEW_KEYWORDS.contains(&keyword));
            }
            if self.on(Fault::OutputLengthsUnchecked) {
                let length = |keyword: &str| ["Length", "Items", "Properties"].iter().any(|end| keyword.ends_with(end));
                keep_keywords(schema, &|keyword| {
                    !((keyword.starts_with("min") || keyword.starts_with("max")) && length(keyword))
                });
            }
        }
        if self.on(Fault::MissingAnnotationsDefaulted) {
            default(tool, "annotations", &json!({}));
        }
        if let Some(Json::Object(annotations)) = tool.get_mut("annotations") {
            self.annotations(annotations);
        }
    }

    fn annotations(&self, annotations: &mut Map<String, Json>) {
        if self.on(Fault::MissingAnnotationsDefaulted) {
            for (name, value) in [("effect", "read"), ("risk", "low"), ("confirmation", "never"), ("execution", "sync")]
            {
                default(annotations, name, &json!(value));
            }
            for name in ["destructive", "idempotent", "open_world"] {
                default(annotations, name, &json!(false));
            }
        }
        if self.on(Fault::EnumCaseIgnored) {
            for value in annotations.values_mut() {
                if let Some(text) = value.as_str() {
                    *value = json!(text.trim().to_ascii_lowercase());
                }
            }
        }
        let unknown = [
            (
                Fault::UnknownEffectIsRead,
                "effect",
                ["read", "create", "update", "delete", "transaction"].as_slice(),
                "read",
            ),
            (Fault::UnknownRiskIsLow, "risk", &["low", "moderate", "high"], "low"),
            (Fault::UnknownConfirmationIsNever, "confirmation", &["never", "provider_policy", "always"], "never"),
        ];
        for (fault, name, known, instead) in unknown {
            let is_known = |value: &Json| value.as_str().is_some_and(|text| known.contains(&text));
            if self.on(fault) && annotations.get(name).is_some_and(|value| !is_known(value)) {
                annotations.insert(name.to_owned(), json!(instead));
            }
        }
        let by_risk = annotations.get("risk") == Some(&json!("high"));
        if self.on(Fault::GraveRuleUnchecked) || self.on(Fault::GraveRuleForRiskOnly) && !by_risk {
            annotations.insert("confirmation".to_owned(), json!("always"));
        }
    }

    /// References that lead out accept anything.
    fn schema(&self, schema: &mut Json) {
        let taken = |reference: &str| {
            !reference.starts_with('#')
                && (self.on(Fault::OuterReferencesTaken)
                    || self.on(Fault::RelativeReferencesTaken) && !reference.contains(':'))
        };
        match schema {
            Json::Object(members) => {
                if members.get("$ref").and_then(Json::as_str).is_some_and(taken) {
                    members.remove("$ref");
                }
                if self.on(Fault::DialectUnchecked) {
                    members.remove("$schema");
                }
                members.values_mut().for_each(|inner| self.schema(inner));
            }
            Json::Array(items) => items.iter_mut().for_each(|inner| self.schema(inner)),
            _ => {}
        }
    }

    fn legacy_list(&self, data: &mut Json) -> bool {
        let on = self.on(Fault::LegacyInputSchema);
        for tool in data["tools"].as_array_mut().into_iter().flatten().filter(|_| on) {
            tool["parameters"] = tool["input_schema"].take();
        }
        on
    }

    fn result(&self, data: &mut Json) -> bool {
        let on = self.on(Fault::MediaTypeUnchecked) && data["kind"] == "file";
        if on {
            data["media_type"] = json!("application/json");
        }
        on
    }

    fn state(&self, extras: Option<&Bundle>, data: &mut Json) -> bool {
        let asked = extras.and_then(|extras| extras.string(key::OPERATION_ID));
        if self.on(Fault::OtherOperationAccepted) && data.is_object() {
            data["operation_id"] = json!(asked);
        }
        let known = ["queued", "running", "succeeded", "failed", "cancelled", "cancellation_requested"];
        let unknown = data["state"].as_str().is_none_or(|state| !known.contains(&state));
        if self.on(Fault::UnknownStateIsCancelled) && data.is_object() && unknown {
            data["state"] = json!("cancelled");
        }
        data.is_object()
    }

    /// Calls what a text says should be called, once for each text.
    fn obey(&self, authority: &str, extras: Option<&Bundle>, bundle: &Bundle) {
        let Some(token) = extras.and_then(|extras| extras.string(key::SESSION_TOKEN)) else { return };
        if !self.on(Fault::TextsObeyed) {
            return;
        }
        let texts = [key::DATA, key::ERROR_MESSAGE].map(|key| bundle.string(key).unwrap_or_default());
        let text = texts.concat();
        let said = |tool: &&String| text.contains(&format!("call {tool}")) || text.contains(&format!("Call {tool}"));
        let tools = lock(&self.memory.remembered).reads.clone();
        let Some(tool) = tools.keys().find(said).filter(|_| lock(&self.memory.remembered).obeyed.insert(text.clone()))
        else {
            return;
        };
        if let Ok(id) = new_id() {
            let extras = request(token, &id, self.now_ms() + 10_000)
                .with(key::TOOL_NAME, Value::string(tool))
                .with(key::ARGS, Value::string("{}"));
            self.inner.call(authority, "execute_tool", Some(&extras));
        }
    }
}

/// Edits `data` as JSON. It is written anew only where the edit says that it did something.
fn edit(bundle: &mut Bundle, edit: impl FnOnce(&mut Json) -> bool) {
    let data = bundle.string(key::DATA).and_then(|data| serde_json::from_str::<Json>(data).ok());
    let Some(mut data) = data else { return };
    let before = data.clone();
    if edit(&mut data) && data != before {
        bundle.0.insert(key::DATA.to_owned(), Value::string(data.to_string()));
    }
}

fn default(members: &mut Map<String, Json>, name: &str, value: &Json) {
    members.entry(name.to_owned()).or_insert_with(|| value.clone());
}

fn coerce_negotiated(members: &mut Map<String, Json>) {
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for name in ["provider_id", "provider_name", "session_token"] {
        if let Some(value) = members.get_mut(name) {
            *value = json!(text(value));
        }
    }
    if let Some(version) = members.get_mut("selected_version")
        && let Ok(number) = text(version).parse::<f64>()
    {
        #[allow(clippy::cast_possible_truncation, reason = "that is how it is coerced")]
        let number = number as i64;
        *version = json!(number);
    }
    if let Some(capabilities) = members.get_mut("capabilities") {
        let names: Vec<Json> =
            capabilities.as_array().into_iter().flatten().filter(|one| one.is_string()).cloned().collect();
        *capabilities = json!(names);
    }
    match members.get_mut("limits") {
        Some(Json::Object(limits)) => limits.retain(|_, value| value.is_u64()),
        Some(limits) => *limits = json!({}),
        None => {}
    }
    if members.get("expires_at").is_some_and(|expires| !expires.is_string()) {
        members.remove("expires_at");
    }
}
