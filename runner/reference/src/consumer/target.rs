//! The target protocol's verbs for this consumer, in process. The main type is [`ConsumerTarget`].
//!
//! ```
//! use cetp_reference::consumer::target::{ConsumerTarget, Host, HostError, Options};
//! use serde_json::{Value, json};
//!
//! /// A world without providers.
//! struct Nobody;
//!
//! impl Host for Nobody {
//!     fn request(&self, verb: &str, _params: Value) -> Result<Value, HostError> {
//!         Err(HostError(format!("{verb} is not needed here")))
//!     }
//! }
//!
//! let target = ConsumerTarget::new(Options::default());
//! target.handle("target.reset", &json!({ "nonce": "1", "now_ms": 1_780_000_000_000_i64 }), &Nobody)?;
//! let found = target.handle("consumer.discover", &json!({ "packages": [] }), &Nobody)?;
//! assert_eq!(found, json!({ "providers": [] }));
//! # Ok::<(), cetp_reference::target::VerbError>(())
//! ```

use super::Consumer;
use super::context::Context;
use super::distort::{self, Distorted, Memory};
use super::execute::Request;
use super::manifest::{ContentProvider, Package, Service};
use super::outcome::{Data, Ending, Outcome};
use super::platform::{Called, Chunk, Launched, Platform};
use super::providers::{Decision, Row};
use super::switches::Switches;
use crate::lock;
use crate::session::Capabilities;
use crate::target::{PROTOCOL, VerbError};
use base64::{Engine, engine::general_purpose::STANDARD};
use cetp_vectors::bundle::{Bundle, PendingIntent, Value};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

/// Where the consumer's calls go: the runner, which plays providers, the user, the clock and descriptors.
pub trait Host: Send + Sync {
    /// Sends a request and waits for the answer.
    ///
    /// # Errors
    /// The runner refuses, or is gone.
    fn request(&self, verb: &str, params: Json) -> Result<Json, HostError>;
}

/// A request that the runner does not fulfil.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HostError(pub String);

/// How a target is built.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Its optional capabilities.
    pub capabilities: Capabilities,
    /// How it is broken or bent.
    pub switches: Switches,
}

impl Default for Options {
    fn default() -> Options {
        Options { capabilities: Capabilities::ALL, switches: Switches::default() }
    }
}

/// The consumer as a target. Verbs may be handled from many threads at once.
pub struct ConsumerTarget {
    options: Options,
    life: RwLock<Arc<Life>>,
}

/// The consumer from one reset to the next.
#[derive(Default)]
struct Life {
    consumer: Consumer,
    memory: Memory,
    /// Executions that are under way, each with its wish to end.
    open: Mutex<Vec<Open>>,
    /// Descriptors that were received and not closed.
    fds: Mutex<BTreeSet<String>>,
}

struct Open {
    provider_id: String,
    tool: String,
    cancel: Arc<AtomicBool>,
}

impl ConsumerTarget {
    /// A target.
    pub fn new(options: Options) -> ConsumerTarget {
        ConsumerTarget { options, life: RwLock::default() }
    }

    /// Handles one verb; `host` is asked while it is at work.
    ///
    /// # Errors
    /// See [`VerbError`].
    pub fn handle(&self, verb: &str, params: &Json, host: &dyn Host) -> Result<Json, VerbError> {
        match verb {
            "target.describe" => self.describe(params),
            "target.reset" => {
                let now_ms = params["now_ms"].as_i64().ok_or_else(|| invalid("now_ms is no integer"))?;
                *self.life.write().unwrap_or_else(PoisonError::into_inner) = Arc::default();
                Ok(json!({ "now_ms": now_ms }))
            }
            "target.shutdown" => Ok(json!({})),
            "consumer.discover" => self.discover(params, host),
            "consumer.execute" => self.execute(params, host),
            "consumer.cancel" => {
                let (provider_id, tool) = (text(params, "provider_id")?, text(params, "tool")?);
                let (life, switches) = (self.life(), &self.options.switches);
                let open = lock(&life.open);
                for (n, one) in open.iter().enumerate() {
                    let meant = one.provider_id == provider_id && one.tool == tool;
                    if distort::is_meant(switches, meant, one.tool == tool, (n, open.len())) {
                        one.cancel.store(true, Ordering::SeqCst);
                    }
                }
                Ok(json!({}))
            }
            "observe.fds" => Ok(json!({ "open": lock(&self.life().fds).len() })),
            _ => Err(VerbError::UnknownVerb(verb.to_owned())),
        }
    }

    /// Blocks until nothing goes on but what waits for answers of the host, but no longer than `limit`; whether it is so. That
    /// a verb waits for its host only the host can tell.
    pub fn at_rest(&self, limit: Duration) -> bool {
        self.life().memory.busy.at_rest(limit)
    }

    fn life(&self) -> Arc<Life> {
        Arc::clone(&self.life.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn describe(&self, params: &Json) -> Result<Json, VerbError> {
        if params["protocol"].as_i64() != Some(PROTOCOL) {
            return Err(invalid(&format!("only protocol {PROTOCOL} is spoken here")));
        }
        Ok(json!({
            "protocol": PROTOCOL,
            "name": "cetp-reference",
            "version": env!("CARGO_PKG_VERSION"),
            "roles": ["consumer"],
            "versions": [1, 2],
            "capabilities": self.options.capabilities.names(),
            "controls": ["fds"],
            "callers": [],
        }))
    }

    fn discover(&self, params: &Json, host: &dyn Host) -> Result<Json, VerbError> {
        let packages = params["packages"].as_array().ok_or_else(|| invalid("packages is no list"))?;
        let packages: Vec<Package> = packages.iter().map(package).collect::<Result<_, _>>()?;
        let life = self.life();
        let rows = self.within(&life, host, |cx| life.consumer.discover(cx, &packages));
        Ok(json!({ "providers": rows.iter().map(row).collect::<Vec<_>>() }))
    }

    fn execute(&self, params: &Json, host: &dyn Host) -> Result<Json, VerbError> {
        let (provider_id, tool) = (text(params, "provider_id")?, text(params, "tool")?);
        let args = text(params, "args")?;
        let timeout_ms = params["timeout_ms"].as_i64().ok_or_else(|| invalid("timeout_ms is no integer"))?;
        let life = self.life();
        let cancel = Arc::new(AtomicBool::new(false));
        let open = Open { provider_id: provider_id.to_owned(), tool: tool.to_owned(), cancel: Arc::clone(&cancel) };
        lock(&life.open).push(open);
        let request = Request { tool, args, timeout_ms, cancel: &cancel };
        let outcome = self.within(&life, host, |cx| life.consumer.execute(cx, provider_id, request));
        lock(&life.open).retain(|open| !Arc::ptr_eq(&open.cancel, &cancel));
        Ok(answer(&self.options.switches, outcome))
    }

    /// Works with the system as this verb's host gives it.
    fn within<T>(&self, life: &Life, host: &dyn Host, work: impl FnOnce(Context<'_>) -> T) -> T {
        let Options { capabilities, switches } = &self.options;
        let runner = Runner { host, life };
        let distorted = Distorted::new(&runner, switches, &life.memory);
        // A conforming consumer deals with the system itself.
        let platform: &dyn Platform = if *switches == Switches::default() { &runner } else { &distorted };
        work(Context { platform, capabilities: *capabilities, switches })
    }
}

/// The runner as the system around the consumer.
struct Runner<'r> {
    host: &'r dyn Host,
    life: &'r Life,
}

/// How deep a Bundle may lie in Bundles. On a device inner ones are only read when they are asked for.
const MAX_BUNDLE_LEVEL: usize = 64;

impl Platform for Runner<'_> {
    fn call(&self, authority: &str, method: &str, extras: Option<&Bundle>) -> Called {
        let extras = extras.map(Bundle::to_json);
        let params = json!({ "authority": authority, "method": method, "arg": null, "extras": extras });
        // Without a runner there is no provider either.
        let Ok(result) = self.host.request("provider.call", params) else { return Called::Died };
        if result["timeout"] == true {
            return Called::TimedOut;
        }
        if let Some(class) = result["exception"]["class"].as_str() {
            // What the Binder throws when the other side died or the transaction did not fit.
            let lost =
                ["DeadObjectException", "DeadSystemException", "TransactionTooLargeException", "RemoteException"];
            return if lost.iter().any(|name| class.ends_with(name)) { Called::Died } else { Called::Thrown };
        }
        match &result["bundle"] {
            Json::Null => Called::Null,
            bundle if !is_shallow(bundle) => Called::Thrown,
            bundle => match Bundle::from_json(bundle) {
                Ok(bundle) => {
                    self.took(&bundle);
                    Called::Bundle(bundle)
                }
                Err(_) => Called::Thrown,
            },
        }
    }

    fn read(&self, fd: &str, max_bytes: usize) -> Option<Chunk> {
        let result = self.host.request("fd.read", json!({ "fd": fd, "max_bytes": max_bytes })).ok()?;
        let bytes = STANDARD.decode(result["base64"].as_str()?).ok()?;
        Some(Chunk { bytes, eof: result["eof"].as_bool()? })
    }

    fn close(&self, fd: &str) {
        if lock(&self.life.fds).remove(fd) {
            // It is closed for us, whatever the runner says.
            let _ = self.host.request("fd.close", json!({ "fd": fd }));
        }
    }

    fn launch(&self, intent: &PendingIntent) -> Launched {
        let result = self.host.request("ui.launch", json!({ "pending_intent": intent.id }));
        match result.as_ref().ok().and_then(|result| result["result"].as_str()) {
            Some("ok") => Launched::Ok,
            Some("cancelled") => Launched::Cancelled,
            _ => Launched::Failed,
        }
    }

    fn now_ms(&self) -> i64 {
        // A runner without a clock has ended the session, and nothing that is computed with the time goes anywhere.
        self.host.request("clock.now", json!({})).ok().and_then(|result| result["now_ms"].as_i64()).unwrap_or(0)
    }

    fn sleep(&self, ms: u64) {
        let _ = self.host.request("clock.sleep", json!({ "ms": ms }));
    }
}

impl Runner<'_> {
    fn took(&self, bundle: &Bundle) {
        for value in bundle.0.values() {
            match value {
                Value::Fd { id, .. } => drop(lock(&self.life.fds).insert(id.clone())),
                Value::Bundle(inner) => self.took(inner),
                _ => {}
            }
        }
    }
}

/// Looks without recursion: what comes may be nested as deep as a message of the target protocol.
fn is_shallow(bundle: &Json) -> bool {
    let mut open = vec![(bundle, 0)];
    while let Some((json, level)) = open.pop() {
        if level > 3 * MAX_BUNDLE_LEVEL {
            return false;
        }
        match json {
            Json::Array(items) => open.extend(items.iter().map(|item| (item, level + 1))),
            Json::Object(members) => open.extend(members.values().map(|member| (member, level + 1))),
            _ => {}
        }
    }
    true
}

fn row(row: &Row) -> Json {
    let mut json = json!({ "package": row.package, "authority": row.authority });
    match &row.decision {
        Decision::Ignored => json["decision"] = json!("ignored"),
        Decision::Refused(why) => {
            json["decision"] = json!("refused");
            json["reason"] = json!(why);
        }
        Decision::Used(version, provider_id, tools) => {
            json["decision"] = json!(format!("v{version}"));
            json["provider_id"] = json!(provider_id);
            let tool = |tool: &super::providers::Shown| json!({ "name": tool.name, "exposed_name": tool.exposed_name, "description": tool.description });
            json["tools"] = tools.iter().map(tool).collect();
        }
    }
    json
}

/// The longest value that fits into a line of the target protocol (8 MiB) with what is around it.
const MAX_ANSWER_BYTES: usize = 8_000_000;

/// What the agent is told: every text and value of a provider labelled as data (§7.3).
fn answer(switches: &Switches, outcome: Outcome) -> Json {
    match outcome {
        Outcome::Success(Data(value)) => {
            if value.to_string().len() > MAX_ANSWER_BYTES {
                return json!({ "outcome": "refused", "message": "The value is too long to be handed on" });
            }
            let mut answer = json!({ "outcome": "success" });
            if let Some(trust) = distort::trust(switches, &value) {
                answer["trust"] = json!(trust);
            }
            answer["value"] = value;
            answer
        }
        Outcome::Ending(Ending::Error { code, message }) => {
            json!({ "outcome": "error", "error_code": code, "message": message, "trust": "data" })
        }
        Outcome::Ending(Ending::Refused { message }) => json!({ "outcome": "refused", "message": message }),
    }
}

fn package(json: &Json) -> Result<Package, VerbError> {
    let list = |name: &str| json[name].as_array().ok_or_else(|| invalid(&format!("{name} is no list")));
    let services = list("services")?.iter().map(|service| {
        Ok(Service {
            exported: service["exported"].as_bool().unwrap_or(false),
            actions: service["actions"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Json::as_str)
                .map(str::to_owned)
                .collect(),
            meta_data: Bundle::from_json(&service["meta_data"]).map_err(|error| invalid(&error.to_string()))?,
        })
    });
    let providers = list("providers")?.iter().map(|provider| {
        Ok(ContentProvider {
            authority: text(provider, "authority")?.to_owned(),
            exported: provider["exported"].as_bool().unwrap_or(false),
        })
    });
    Ok(Package {
        name: text(json, "package")?.to_owned(),
        services: services.collect::<Result<_, VerbError>>()?,
        providers: providers.collect::<Result<_, VerbError>>()?,
    })
}

fn text<'j>(params: &'j Json, name: &str) -> Result<&'j str, VerbError> {
    params[name].as_str().ok_or_else(|| invalid(&format!("{name} is no text")))
}

fn invalid(why: &str) -> VerbError {
    VerbError::InvalidParams(why.to_owned())
}
