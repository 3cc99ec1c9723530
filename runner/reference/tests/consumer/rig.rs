//! What the tests are written with: a consumer, and a world around it that a function plays.

use cetp_reference::consumer::switches::Switches;
use cetp_reference::consumer::target::{ConsumerTarget, Host, HostError, Options};
use cetp_reference::session::Capabilities;
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

pub const NOW: i64 = 1_780_000_000_000;

/// A call, as a provider gets it.
pub struct Call<'c> {
    /// The provider's package.
    pub package: &'c str,
    pub method: &'c str,
    /// Typed values.
    pub extras: &'c Json,
    /// How many calls of this method to this provider there were, with this one.
    pub n: usize,
}

impl Call<'_> {
    pub fn text(&self, key: &str) -> &str {
        self.extras[key]["string"].as_str().unwrap_or_default()
    }

    pub fn args(&self) -> Json {
        serde_json::from_str(self.text("args")).unwrap()
    }

    /// A success of version 2 with this `data`.
    pub fn success(&self, data: &Json) -> Json {
        self.reply("success", &data.to_string())
    }

    pub fn inline(&self, value: Json) -> Json {
        self.success(&json!({ "kind": "inline", "value": value }))
    }

    pub fn accepted(&self, data: &Json) -> Json {
        self.reply("accepted", &data.to_string())
    }

    /// A reply that echoes, with this text for `data`.
    pub fn reply(&self, status: &str, data: &str) -> Json {
        self.echoing(
            json!({ "status": { "string": status }, "protocol_version": { "int": 2 }, "data": { "string": data } }),
        )
    }

    /// A Bundle with the request's identifier; `negotiate` has none.
    fn echoing(&self, mut bundle: Json) -> Json {
        if let Some(request_id) = self.extras.get("request_id") {
            bundle["request_id"] = request_id.clone();
        }
        json!({ "bundle": bundle })
    }

    pub fn error(&self, code: &str, retryable: bool) -> Json {
        self.echoing(
            json!({ "status": { "string": "error" }, "protocol_version": { "int": 2 }, "error_code": { "string": code },
            "error_message": { "string": "it did not work" }, "retryable": { "bool": retryable } }),
        )
    }

    /// An error that only the user can change, with a screen of this package.
    pub fn asks_user(&self, creator: &str, token: &str) -> Json {
        let mut reply = self.error("USER_ACTION_REQUIRED", false);
        reply["bundle"]["resolution"] = json!({ "pending_intent": { "id": format!("pi-{token}"), "creator_package": creator,
            "creator_uid": 10042, "immutable": true, "explicit": true, "component": format!("{creator}/.Confirm") } });
        reply["bundle"]["resume_token"] = json!({ "string": token });
        reply
    }

    /// What an honest provider answers before anything is executed; an echo for every execution.
    pub fn honest(&self) -> Json {
        match self.method {
            "negotiate" => self.success(&json!({
                "selected_version": 2, "provider_id": self.package, "provider_name": "Example",
                "session_token": format!("session-{}-of-{}", self.n, self.package),
                "capabilities": ["async_operations", "cancellation", "large_results"],
                "limits": { "max_request_bytes": 65536, "max_inline_result_bytes": 262_144, "max_concurrent_requests": 2,
                            "idempotency_window_seconds": 86400 }
            })),
            "get_provider_info" => self.success(&json!({
                "provider_id": self.package, "provider_name": "Example", "description": "Tools for tests",
                "scopes": [{ "name": "fixture.read", "access": "read", "sensitivity": "public" }]
            })),
            "list_tools" => self.success(&json!({
                "revision": "tools-1", "tools": cetp_vectors::fixture::tools()["tools"]
            })),
            "execute_tool" => self.inline(self.args()),
            method => panic!("an honest provider does not expect {method}"),
        }
    }
}

type Answers<'w> = dyn Fn(&Call<'_>) -> Json + Send + Sync + 'w;

/// Everything around the consumer.
pub struct World<'w> {
    answers: Box<Answers<'w>>,
    now_ms: AtomicI64,
    seen: Mutex<Seen>,
    /// What the user does with a screen: `ok` or `cancelled`.
    pub user: &'static str,
    /// Content of descriptors by their id; what is not here never ends.
    pub files: HashMap<&'static str, Vec<u8>>,
}

#[derive(Default)]
struct Seen {
    counts: HashMap<(String, String), usize>,
    calls: Vec<(String, Json)>,
    launched: Vec<String>,
    places: HashMap<String, usize>,
    closed: Vec<String>,
    slept: Vec<u64>,
}

impl<'w> World<'w> {
    pub fn new(answers: impl Fn(&Call<'_>) -> Json + Send + Sync + 'w) -> World<'w> {
        World {
            answers: Box::new(answers),
            now_ms: AtomicI64::new(NOW),
            seen: Mutex::default(),
            user: "ok",
            files: HashMap::new(),
        }
    }

    /// Methods that were called, in order.
    pub fn methods(&self) -> Vec<String> {
        self.seen.lock().unwrap().calls.iter().map(|(method, _)| method.clone()).collect()
    }

    /// Extras of the calls of a method.
    pub fn extras(&self, method: &str) -> Vec<Json> {
        let seen = self.seen.lock().unwrap();
        seen.calls.iter().filter(|(name, _)| name == method).map(|(_, extras)| extras.clone()).collect()
    }

    pub fn launched(&self) -> Vec<String> {
        self.seen.lock().unwrap().launched.clone()
    }

    pub fn closed(&self) -> Vec<String> {
        self.seen.lock().unwrap().closed.clone()
    }

    pub fn slept(&self) -> Vec<u64> {
        self.seen.lock().unwrap().slept.clone()
    }

    /// How many bytes of a descriptor were read.
    pub fn bytes_read(&self, fd: &str) -> usize {
        self.seen.lock().unwrap().places.get(fd).copied().unwrap_or_default()
    }
}

impl Host for World<'_> {
    fn request(&self, verb: &str, params: Json) -> Result<Json, HostError> {
        match verb {
            "provider.call" => {
                let authority = params["authority"].as_str().unwrap();
                let package = authority.strip_suffix(".tools").unwrap();
                let method = params["method"].as_str().unwrap();
                let n = {
                    let mut seen = self.seen.lock().unwrap();
                    seen.calls.push((method.to_owned(), params["extras"].clone()));
                    let count = seen.counts.entry((package.to_owned(), method.to_owned())).or_default();
                    *count += 1;
                    *count
                };
                Ok((self.answers)(&Call { package, method, extras: &params["extras"], n }))
            }
            "ui.launch" => {
                let id = params["pending_intent"].as_str().unwrap().to_owned();
                self.seen.lock().unwrap().launched.push(id);
                Ok(json!({ "result": self.user }))
            }
            "clock.now" => Ok(json!({ "now_ms": self.now_ms.load(Ordering::SeqCst) })),
            "clock.sleep" => {
                let ms = params["ms"].as_u64().unwrap();
                self.seen.lock().unwrap().slept.push(ms);
                let now_ms = self.now_ms.fetch_add(ms.try_into().unwrap(), Ordering::SeqCst);
                Ok(json!({ "now_ms": now_ms }))
            }
            "fd.read" => Ok(self.read(params["fd"].as_str().unwrap(), params["max_bytes"].as_u64().unwrap())),
            "fd.close" => {
                self.seen.lock().unwrap().closed.push(params["fd"].as_str().unwrap().to_owned());
                Ok(json!({}))
            }
            other => panic!("nobody asks for {other}"),
        }
    }
}

impl World<'_> {
    fn read(&self, fd: &str, most: u64) -> Json {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let most = usize::try_from(most).unwrap();
        let mut seen = self.seen.lock().unwrap();
        assert!(!seen.closed.iter().any(|closed| closed == fd), "{fd} is closed");
        let place = seen.places.entry(fd.to_owned()).or_default();
        let (bytes, eof) = match self.files.get(fd) {
            Some(content) => {
                let end = content.len().min(*place + most);
                (content[*place..end].to_vec(), end == content.len())
            }
            None => (vec![b' '; most], false),
        };
        *place += bytes.len();
        json!({ "base64": STANDARD.encode(bytes), "eof": eof })
    }
}

/// The manifest of a provider.
pub fn manifest(package: &str, version: Json, versions: Json) -> Json {
    let mut meta_data = json!({ "com.clawseed.tools.authority": { "string": format!("{package}.tools") } });
    for (key, value) in [("com.clawseed.tools.version", version), ("com.clawseed.tools.versions", versions)] {
        if !value.is_null() {
            meta_data[key] = value;
        }
    }
    json!({
        "package": package,
        "services": [{ "name": "S", "exported": true, "actions": ["com.clawseed.action.TOOL_PROVIDER"], "meta_data": meta_data }],
        "providers": [{ "name": "P", "authority": format!("{package}.tools"), "exported": true, "permission": null }]
    })
}

/// The manifest of a provider of version 2.
pub fn v2(package: &str) -> Json {
    manifest(package, json!({ "int": 2 }), json!({ "string": "2" }))
}

/// A consumer under test.
pub struct Rig {
    pub target: ConsumerTarget,
}

impl Rig {
    pub fn new() -> Rig {
        Rig::with(Capabilities::ALL, &[])
    }

    pub fn with(capabilities: Capabilities, switches: &[&str]) -> Rig {
        let switches = Switches::from_names(switches).unwrap();
        let rig = Rig { target: ConsumerTarget::new(Options { capabilities, switches }) };
        rig.act("target.reset", &json!({ "nonce": "n", "now_ms": NOW }), &World::new(|call| call.honest()));
        rig
    }

    pub fn act(&self, verb: &str, params: &Json, world: &World<'_>) -> Json {
        self.target.handle(verb, params, world).unwrap()
    }

    /// The rows of a discovery.
    pub fn discover(&self, packages: &[Json], world: &World<'_>) -> Vec<Json> {
        let found = self.act("consumer.discover", &json!({ "packages": packages }), world);
        found["providers"].as_array().unwrap().clone()
    }

    pub fn execute(&self, provider_id: &str, tool: &str, args: &Json, world: &World<'_>) -> Json {
        let params =
            json!({ "provider_id": provider_id, "tool": tool, "args": args.to_string(), "timeout_ms": 10_000 });
        self.act("consumer.execute", &params, world)
    }

    /// Finds `org.example.p` and executes a tool of it.
    pub fn call(&self, tool: &str, args: &Json, world: &World<'_>) -> Json {
        self.discover(&[v2("org.example.p")], world);
        self.execute("org.example.p", tool, args, world)
    }

    /// Finds `org.example.p` and echoes.
    pub fn echo(&self, world: &World<'_>) -> Json {
        self.call("fixture_echo", &json!({ "value": "hello" }), world)
    }

    /// Descriptors that are still open.
    pub fn open(&self) -> Json {
        self.act("observe.fds", &json!({}), &World::new(|call| call.honest()))["open"].clone()
    }
}

/// Values that are all equal.
pub fn same(extras: &[Json], key: &str) -> bool {
    extras.iter().all(|one| one[key] == extras[0][key])
}
