//! What the probes are written with: a target, callers, consumers, replies.

use cetp_reference::switches::Switches;
use cetp_reference::target::{Options, ProviderTarget, VerbError};
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::LazyLock;

pub const NOW: i64 = 1_780_000_000_000;
pub const ALL: &[&str] = &["async_operations", "cancellation", "large_results"];
pub const CODES: &str = "UNSUPPORTED_VERSION UNSUPPORTED_CAPABILITY NEGOTIATION_REQUIRED AUTH_REQUIRED \
    USER_ACTION_REQUIRED USER_CANCELLED PERMISSION_DENIED TOOL_NOT_FOUND METHOD_NOT_FOUND INVALID_ARGS INVALID_REQUEST \
    CONFLICT RATE_LIMITED DEADLINE_EXCEEDED CANCELLED RESULT_TOO_LARGE RESULT_EXPIRED UNAVAILABLE INTERNAL_ERROR";

/// One check of the provider, and the requirements whose breach it notices.
pub struct Probe {
    pub name: &'static str,
    pub requirements: &'static [&'static str],
    /// For v2-only targets; all others are for dual-stack ones.
    pub v2_only: bool,
    pub run: fn(&Rig),
}

/// Makes a `#[test]` and a [`Probe`] of each function.
macro_rules! probes {
    ($( $(#[$v2_only:ident])? [$($requirement:literal),+] fn $name:ident($rig:ident) $body:block )+) => {
        $( fn $name($rig: &$crate::rig::Rig) $body )+

        pub const PROBES: &[$crate::rig::Probe] = &[$($crate::rig::Probe {
            name: stringify!($name),
            requirements: &[$($requirement),+],
            v2_only: $crate::rig::probes!(@v2 $($v2_only)?),
            run: $name,
        }),+];

        mod each {
            $( #[test] fn $name() {
                let v2_only = $crate::rig::probes!(@v2 $($v2_only)?);
                super::$name(&$crate::rig::Rig::new(v2_only, &[]));
            } )+
        }
    };
    (@v2) => { false };
    (@v2 v2_only) => { true };
}
pub(crate) use probes;

pub struct Rig {
    pub target: ProviderTarget,
}

impl Rig {
    pub fn new(v2_only: bool, switches: &[&str]) -> Rig {
        let switches = Switches::from_names(switches).unwrap();
        let options = Options { v1: !v2_only, switches, ..Options::default() };
        let rig = Rig { target: ProviderTarget::in_memory(options).unwrap() };
        rig.reset();
        rig
    }

    pub fn reset(&self) {
        assert_eq!(self.act("target.reset", json!({"nonce":"n","now_ms":NOW})), json!({"now_ms":NOW}));
    }

    pub fn try_act(&self, verb: &str, params: Json) -> Result<Json, VerbError> {
        conforms(verb, "params", &params);
        let result = self.target.handle(verb, &params)?;
        conforms(verb, "result", &result);
        Ok(result)
    }

    #[track_caller]
    pub fn act(&self, verb: &str, params: Json) -> Json {
        self.try_act(verb, params).unwrap_or_else(|error| panic!("{verb}: {error}"))
    }

    pub fn advance(&self, ms: i64) {
        self.act("control.clock", json!({"advance_ms":ms}));
    }

    pub fn restart(&self) {
        self.act("control.restart", json!({"mode":"kill"}));
    }

    pub fn decide(&self, reply: &Reply, decision: &str) {
        let done = self.act("control.user", json!({"pending_intent":reply.intent()["id"],"decision":decision}));
        assert_eq!(done, json!({"activity_finished":true}));
    }

    pub fn call(&self, caller: &Json, method: &str, extras: Json) -> Reply {
        Reply(self.act("provider.call", call(caller, method, extras)))
    }

    pub fn negotiate(&self, caller: &Json, versions: &[i32], capabilities: &[&str]) -> Reply {
        self.call(caller, "negotiate", offer(versions, capabilities))
    }

    #[track_caller]
    pub fn consumer(&self, caller: &Json, capabilities: &[&str]) -> Consumer<'_> {
        let reply = self.negotiate(caller, &[2, 1], capabilities);
        let token = reply.data()["session_token"].as_str().expect("a session").to_owned();
        Consumer { rig: self, caller: caller.clone(), token }
    }

    /// The usual caller with every capability.
    #[track_caller]
    pub fn a(&self) -> Consumer<'_> {
        self.consumer(&a(), ALL)
    }

    /// The ledger's values, as a caller of their own sees them.
    #[track_caller]
    pub fn ledger(&self) -> Vec<String> {
        let watcher = caller(10_999, &[("org.example.watcher", &["ee"], &[])]);
        let reply = self.consumer(&watcher, &["large_results"]).execute("fixture_ledger", 999_999, json!({}));
        let entries = self.value(&reply)["entries"].as_array().expect("entries").clone();
        entries.iter().map(|entry| entry["value"].as_str().unwrap().to_owned()).collect()
    }

    /// The value of a success, inline or as a file.
    #[track_caller]
    pub fn value(&self, reply: &Reply) -> Json {
        self.value_of(reply, &reply.data())
    }

    /// The value of a result envelope beside whose reply a file may lie.
    #[track_caller]
    pub fn value_of(&self, reply: &Reply, envelope: &Json) -> Json {
        if envelope["kind"] == "inline" {
            return envelope["value"].clone();
        }
        assert_eq!(envelope["kind"], "file", "{envelope}");
        let bytes = self.read_all(reply.get("result_fd", "fd")["id"].as_str().unwrap());
        assert_eq!(envelope["size_bytes"], bytes.len());
        assert_eq!(envelope["media_type"], "application/json");
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(envelope["sha256"], digest);
        serde_json::from_slice(&bytes).unwrap()
    }

    #[track_caller]
    pub fn read_all(&self, fd: &str) -> Vec<u8> {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let mut bytes = Vec::new();
        loop {
            let part = self.act("fd.read", json!({"fd":fd,"max_bytes":1 << 20}));
            bytes.extend(STANDARD.decode(part["base64"].as_str().unwrap()).unwrap());
            if part["eof"] == true {
                self.act("fd.close", json!({"fd":fd}));
                return bytes;
            }
        }
    }
}

/// Holds a message of the target protocol to its published schema.
fn conforms(verb: &str, part: &str, message: &Json) {
    static VALIDATORS: LazyLock<HashMap<String, jsonschema::Validator>> = LazyLock::new(|| {
        let text = include_str!("../../../../vectors/schemas/target-protocol.schema.json");
        let schema: Json = serde_json::from_str(text).unwrap();
        let definitions = schema["$defs"].as_object().unwrap();
        let of_verbs = definitions.keys().filter(|name| name.starts_with("to_target."));
        of_verbs
            .map(|name| {
                let one = json!({"$ref":format!("#/$defs/{name}"),"$defs":definitions});
                (name.clone(), jsonschema::draft202012::new(&one).unwrap())
            })
            .collect()
    });
    if let Some(validator) = VALIDATORS.get(&format!("to_target.{verb}.{part}"))
        && let Err(error) = validator.validate(message)
    {
        panic!("{verb} {part}: {error}");
    }
}

pub struct Consumer<'r> {
    pub rig: &'r Rig,
    pub caller: Json,
    pub token: String,
}

impl Consumer<'_> {
    pub fn extras(&self, id: u32) -> Json {
        json!({
            "protocol_version":{"int":2},
            "session_token":{"string":self.token},
            "request_id":{"string":uuid(id)},
            "deadline_at_ms":{"long":NOW + 40 * 86_400_000},
        })
    }

    pub fn execute_extras(&self, tool: &str, id: u32, args: &str) -> Json {
        with(self.extras(id), &[("tool_name", json!({"string":tool})), ("args", json!({"string":args}))])
    }

    pub fn call(&self, method: &str, extras: Json) -> Reply {
        self.rig.call(&self.caller, method, extras)
    }

    pub fn execute(&self, tool: &str, id: u32, args: Json) -> Reply {
        self.execute_text(tool, id, &args.to_string())
    }

    pub fn execute_text(&self, tool: &str, id: u32, args: &str) -> Reply {
        self.call("execute_tool", self.execute_extras(tool, id, args))
    }

    pub fn resume(&self, tool: &str, id: u32, args: Json, token: &str) -> Reply {
        let extras = self.execute_extras(tool, id, &args.to_string());
        self.call("execute_tool", with(extras, &[("resume_token", json!({"string":token}))]))
    }

    pub fn operation(&self, method: &str, id: u32, operation: &str) -> Reply {
        self.call(method, with(self.extras(id), &[("operation_id", json!({"string":operation}))]))
    }

    /// Starts a job and gives its operation.
    #[track_caller]
    pub fn start(&self, id: u32, args: Json) -> String {
        let reply = self.execute("fixture_job", id, args);
        assert_eq!(reply.status(), "accepted", "{reply:?}");
        reply.data()["operation_id"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub fn state(&self, id: u32, operation: &str) -> Json {
        let reply = self.operation("get_operation", id, operation);
        assert_eq!(reply.status(), "success", "{reply:?}");
        assert_eq!(reply.data()["operation_id"], operation);
        reply.data()
    }

    /// Polls until the operation has ended.
    #[track_caller]
    pub fn finished(&self, id: u32, operation: &str) -> Json {
        loop {
            let data = self.state(id, operation);
            if !matches!(data["state"].as_str(), Some("queued" | "running" | "cancellation_requested")) {
                return data;
            }
            std::thread::yield_now();
        }
    }
}

/// What `provider.call` gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply(pub Json);

impl Reply {
    /// The value of a key, which must be of that Bundle type.
    #[track_caller]
    pub fn get(&self, key: &str, kind: &str) -> Json {
        self.0["bundle"][key].get(kind).unwrap_or_else(|| panic!("no {kind} {key} in {}", self.0)).clone()
    }

    pub fn is_dead(&self) -> bool {
        self.0["exception"]["class"] == "android.os.DeadObjectException"
    }

    pub fn has(&self, key: &str) -> bool {
        self.0["bundle"].get(key).is_some()
    }

    #[track_caller]
    pub fn text(&self, key: &str) -> String {
        self.get(key, "string").as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub fn status(&self) -> String {
        self.text("status")
    }

    #[track_caller]
    pub fn data(&self) -> Json {
        serde_json::from_str(&self.text("data")).unwrap()
    }

    #[track_caller]
    pub fn is_success(&self) -> &Reply {
        assert_eq!(self.status(), "success", "{}", self.0);
        self
    }

    /// The error code, after a look at the whole error Bundle of v2.
    #[track_caller]
    pub fn code(&self) -> String {
        assert_eq!(self.status(), "error", "{}", self.0);
        let code = self.text("error_code");
        assert!(CODES.split_whitespace().any(|known| known == code), "{code}");
        assert!(!self.text("error_message").is_empty());
        assert_eq!(self.get("protocol_version", "int"), 2);
        let retryable = self.get("retryable", "bool");
        match code.as_str() {
            "NEGOTIATION_REQUIRED" | "RATE_LIMITED" | "UNAVAILABLE" => assert_eq!(retryable, true),
            "AUTH_REQUIRED" | "USER_ACTION_REQUIRED" => {
                self.intent();
                self.token();
            }
            "CONFLICT" | "DEADLINE_EXCEEDED" | "INTERNAL_ERROR" => {}
            _ => assert_eq!(retryable, false),
        }
        if self.has("retry_after_ms") {
            assert!(self.get("retry_after_ms", "long").as_i64().unwrap() >= 0);
        }
        assert!(!self.has("authorize_intent"));
        code
    }

    #[track_caller]
    pub fn refused_with(&self, codes: &[&str]) {
        assert!(codes.contains(&self.code().as_str()), "{codes:?}: {}", self.0);
    }

    #[track_caller]
    pub fn intent(&self) -> Json {
        self.get("resolution", "pending_intent")
    }

    #[track_caller]
    pub fn token(&self) -> String {
        self.text("resume_token")
    }
}

/// A caller; each certificate is named by one byte of its digest.
pub fn caller(uid: i64, packages: &[(&str, &[&str], &[&str])]) -> Json {
    let digests = |bytes: &[&str]| -> Vec<String> { bytes.iter().map(|byte| byte.repeat(32)).collect() };
    let packages: Vec<Json> = packages
        .iter()
        .map(|(name, signers, history)| {
            json!({"name":name,"signing_sha256":digests(signers),"history_sha256":digests(history)})
        })
        .collect();
    json!({ "uid": uid, "packages": packages })
}

pub fn a() -> Json {
    caller(10_101, &[("org.example.a", &["aa"], &[])])
}

pub fn b() -> Json {
    caller(10_102, &[("org.example.b", &["bb"], &[])])
}

pub fn call(caller: &Json, method: &str, extras: Json) -> Json {
    json!({
        "caller": caller, "authority": "org.cetp.reference.tools", "method": method, "arg": null, "extras": extras
    })
}

pub fn offer(versions: &[i32], capabilities: &[&str]) -> Json {
    json!({
        "consumer_versions":{"int_array":versions},
        "consumer_capabilities":{"string":json!(capabilities).to_string()},
    })
}

pub fn uuid(n: u32) -> String {
    format!("00000000-0000-4000-8000-{n:012x}")
}

/// Extras with members added, replaced, or with `null` removed.
pub fn with(extras: Json, changes: &[(&str, Json)]) -> Json {
    let mut extras: Map<String, Json> = extras.as_object().unwrap().clone();
    for (key, value) in changes {
        extras.remove(*key);
        if !value.is_null() {
            extras.insert((*key).to_owned(), value.clone());
        }
    }
    Json::Object(extras)
}
