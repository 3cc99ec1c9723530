//! The target protocol's verbs for this provider, in process. The main type is [`ProviderTarget`].

use crate::application::Application;
use crate::authorize;
use crate::caller::Caller;
use crate::confirm::Decision;
use crate::distort;
use crate::error::{Error, Result};
use crate::fixture::{Change, Fixture};
use crate::limits::{RETENTION_MS, resume_ttl_ms};
use crate::lock;
use crate::operations::{Moved, Step};
use crate::provider::{CrashPoint, Exception, Provider, Setup};
use crate::schedule::{Free, Round, Schedule};
use crate::session::{Capabilities, Capability};
use crate::store::Store;
use crate::switches::{Fault, Switches};
use base64::{Engine, engine::general_purpose::STANDARD};
use cetp_vectors::bundle::{Bundle, Value};
use cetp_vectors::json::object;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

/// The version of the target protocol that is spoken here.
pub const PROTOCOL: i64 = 1;

/// How a target is built.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether it is dual-stack; otherwise it is v2-only.
    pub v1: bool,
    /// Its optional capabilities.
    pub capabilities: Capabilities,
    /// How it is broken or bent.
    pub switches: Switches,
}

impl Default for Options {
    fn default() -> Options {
        Options { v1: true, capabilities: Capabilities::ALL, switches: Switches::default() }
    }
}

/// Why a verb has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerbError {
    /// This target has no such verb (-32601).
    #[error("unknown verb {0:?}")]
    UnknownVerb(String),
    /// The parameters do not fit the verb (-32602).
    #[error("{0}")]
    InvalidParams(String),
    /// The verb cannot act now (-32000).
    #[error("{0}")]
    CannotAct(String),
    /// The provider's process ended while the verb was at work. An open `provider.call` does not end so: it has its
    /// exception as its result.
    #[error("the provider process ended")]
    Died,
}

impl VerbError {
    /// The code in JSON-RPC.
    pub fn code(&self) -> i64 {
        match self {
            VerbError::UnknownVerb(_) => -32601,
            VerbError::InvalidParams(_) => -32602,
            VerbError::CannotAct(_) | VerbError::Died => -32000,
        }
    }
}

impl From<Error> for VerbError {
    fn from(error: Error) -> VerbError {
        match error {
            Error::Died => VerbError::Died,
            other => VerbError::CannotAct(other.to_string()),
        }
    }
}

/// The provider with the fixture, as a target. Verbs may be handled from many threads at once.
pub struct ProviderTarget {
    setup: Arc<Setup>,
    options: Options,
    /// The process that lives now. A dead one is replaced when the next verb needs it.
    process: RwLock<Arc<Provider>>,
    round: Mutex<Option<(Arc<Round>, usize)>>,
}

impl ProviderTarget {
    /// A target whose durable state is in memory. The end of the process is simulated: what was volatile is gone, and
    /// calls that were open stop at their next store access or point, without a further effect.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn in_memory(options: Options) -> Result<ProviderTarget> {
        let fixture = Fixture::new(options.switches);
        let store = Store::in_memory(fixture.tables())?;
        ProviderTarget::new(options, fixture, store, None)
    }

    /// A target over a database file, as it was left. `end_process` ends the real process at a crash point.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn open(path: &Path, options: Options, end_process: Option<fn()>) -> Result<ProviderTarget> {
        let fixture = Fixture::new(options.switches);
        let store = Store::open(path, fixture.tables())?;
        ProviderTarget::new(options, fixture, store, end_process)
    }

    fn new(options: Options, fixture: Fixture, store: Store, end_process: Option<fn()>) -> Result<ProviderTarget> {
        let mut setup = Setup::new(Arc::new(fixture), store, options.v1, options.capabilities, options.switches);
        setup.end_process = end_process;
        let setup = Arc::new(setup);
        let process = RwLock::new(Provider::start(Arc::clone(&setup), &Free)?);
        Ok(ProviderTarget { setup, options, process, round: Mutex::default() })
    }

    /// Lets the next `calls` calls of [`handle`](ProviderTarget::handle), which have to come from as many threads, start
    /// together and run one at a time; the seed decides who goes on at each point. None of them goes on before all have
    /// come. The round tells afterwards what came in which order.
    pub fn schedule(&self, seed: u64, calls: usize) -> Arc<Round> {
        let round = Round::new(seed, calls);
        *lock(&self.round) = (calls > 0).then(|| (Arc::clone(&round), calls));
        round
    }

    /// Blocks until nothing goes on by itself, but no longer than `limit`; whether it is so. From then on nothing changes
    /// that nobody asks for, as the clock stands still too.
    pub fn at_rest(&self, limit: Duration) -> bool {
        self.setup.busy.at_rest(limit)
    }

    /// Handles one verb.
    ///
    /// # Errors
    /// See [`VerbError`].
    pub fn handle(&self, verb: &str, params: &Json) -> Result<Json, VerbError> {
        self.in_round(|| label(verb, params), |schedule| self.act(schedule, verb, params))
    }

    /// Handles one verb as the call at `place` in the scheduled round: equal places, seeds and calls give equal
    /// interleavings. [`handle`](ProviderTarget::handle) orders calls by what they are, without their tokens, which
    /// cannot tell calls apart that differ in tokens only.
    ///
    /// # Errors
    /// See [`VerbError`].
    pub fn handle_at(&self, place: usize, verb: &str, params: &Json) -> Result<Json, VerbError> {
        self.in_round(|| format!("{place:020}"), |schedule| self.act(schedule, verb, params))
    }

    /// [`handle_at`](ProviderTarget::handle_at) for `fd.read`, with the bytes as they are, and whether the file ends with them.
    ///
    /// # Errors
    /// See [`VerbError`].
    pub fn read_at(&self, place: usize, params: &Json) -> Result<(Vec<u8>, bool), VerbError> {
        self.in_round(|| format!("{place:020}"), |schedule| self.read(schedule, Params(params)))
    }

    fn in_round<T>(&self, label: impl FnOnce() -> String, act: impl FnOnce(&dyn Schedule) -> T) -> T {
        match self.next_round() {
            None => act(&Free),
            Some(round) => act(&round.join(label())),
        }
    }

    fn next_round(&self) -> Option<Arc<Round>> {
        let mut place = lock(&self.round);
        let (round, left) = place.as_mut()?;
        let round = Arc::clone(round);
        *left -= 1;
        if *left == 0 {
            *place = None;
        }
        Some(round)
    }

    fn act(&self, schedule: &dyn Schedule, verb: &str, params: &Json) -> Result<Json, VerbError> {
        let params = Params(params);
        match verb {
            "target.describe" => self.describe(params),
            "target.reset" => self.reset(schedule, params),
            "target.shutdown" => {
                self.present(schedule)?.kill();
                Ok(json!({}))
            }
            "provider.manifest" => Ok(self.manifest()),
            "provider.call" => self.call(schedule, params),
            "fd.read" => {
                let (bytes, eof) = self.read(schedule, params)?;
                Ok(object([("base64", Json::String(STANDARD.encode(bytes))), ("eof", Json::Bool(eof))]))
            }
            "fd.close" => {
                self.present(schedule)?.close_file(params.text("fd")?);
                Ok(json!({}))
            }
            "control.clock" => self.advance_clock(params),
            "control.restart" => self.restart(schedule, params),
            "control.user" => self.decide(schedule, params),
            "control.scopes" => self.scopes(params),
            "control.operation" => self.operation(schedule, params),
            "control.fault" => self.fault(schedule, params),
            "control.reconfigure" => self.reconfigure(schedule, params),
            "observe.audit" => Ok(json!({ "events": self.present(schedule)?.audit()? })),
            "observe.ui" => {
                let shown = self.present(schedule)?.shown(params.question()?)?;
                Ok(json!({ "texts": shown.ok_or_else(no_question)? }))
            }
            "observe.fds" => Ok(json!({ "open": self.present(schedule)?.open_files() })),
            _ => Err(VerbError::UnknownVerb(verb.to_owned())),
        }
    }

    /// The process that lives, started if the last one died.
    fn present(&self, schedule: &dyn Schedule) -> Result<Arc<Provider>, VerbError> {
        let process = self.process.read().unwrap_or_else(PoisonError::into_inner);
        if process.is_alive() {
            return Ok(Arc::clone(&process));
        }
        drop(process);
        let mut process = self.process.write().unwrap_or_else(PoisonError::into_inner);
        if !process.is_alive() {
            *process = Provider::start(Arc::clone(&self.setup), schedule)?;
        }
        Ok(Arc::clone(&process))
    }

    fn describe(&self, params: Params<'_>) -> Result<Json, VerbError> {
        if params.whole("protocol")? != PROTOCOL {
            return Err(VerbError::InvalidParams(format!("only protocol {PROTOCOL} is spoken here")));
        }
        let about = self.setup.application.about();
        let operations = self.options.capabilities.has(Capability::AsyncOperations).then_some("operations");
        let controls: Vec<&str> = ["clock", "restart", "user_decision", "caller_identity", "scopes", "faults"]
            .into_iter()
            .chain(operations)
            .chain(["reconfigure", "audit", "ui", "fds"])
            .collect();
        Ok(json!({
            "protocol": PROTOCOL,
            "name": "cetp-reference",
            "version": env!("CARGO_PKG_VERSION"),
            "roles": ["provider"],
            "versions": if self.options.v1 { json!([1, 2]) } else { json!([2]) },
            "capabilities": self.options.capabilities.names(),
            "controls": controls,
            "callers": "any",
            "package": about.package,
            "authority": about.authority,
            "fixture": 1,
            "resume_ttl_ms": resume_ttl_ms(&self.setup.switches),
            "retention_ms": RETENTION_MS,
        }))
    }

    fn reset(&self, schedule: &dyn Schedule, params: Params<'_>) -> Result<Json, VerbError> {
        let now_ms = params.whole("now_ms")?;
        let mut process = self.process.write().unwrap_or_else(PoisonError::into_inner);
        // Whatever still runs belongs to what never happened.
        process.kill();
        self.setup.begin_anew();
        self.setup.store.clear(now_ms)?;
        *process = Provider::start(Arc::clone(&self.setup), schedule)?;
        Ok(json!({ "now_ms": now_ms }))
    }

    /// What the package manager would tell of the built app (§2.1). `aapt` turns `android:value="2"` into an Int and
    /// leaves `"1,2"` a String.
    fn manifest(&self) -> Json {
        let about = self.setup.application.about();
        let (version, versions) = match self.options.v1 {
            true => (1, Value::string("1,2")),
            false => (2, Value::Int(2)),
        };
        let meta_data = Bundle::new()
            .with("com.clawseed.tools.authority", Value::string(about.authority))
            .with("com.clawseed.tools.version", Value::Int(version))
            .with("com.clawseed.tools.versions", versions);
        let mut manifest = json!({
            "package": about.package,
            "services": [{
                "name": format!("{}.ToolProviderService", about.package),
                "exported": true,
                "actions": ["com.clawseed.action.TOOL_PROVIDER"],
                "meta_data": meta_data.to_json(),
            }],
            "providers": [{
                "name": format!("{}.ToolProvider", about.package),
                "authority": about.authority,
                "exported": true,
                "permission": "com.clawseed.permission.ACCESS_TOOLS",
            }],
        });
        distort::manifest(&self.setup.switches, self.options.v1, &mut manifest);
        manifest
    }

    fn call(&self, schedule: &dyn Schedule, params: Params<'_>) -> Result<Json, VerbError> {
        let caller = Caller::from_json(params.member("caller")).map_err(VerbError::InvalidParams)?;
        let method = params.text("method")?;
        let extras = match params.member("extras") {
            Json::Null => None,
            extras => Some(Bundle::from_json(extras).map_err(|e| VerbError::InvalidParams(format!("extras{e}")))?),
        };
        if params.text("authority")? != self.setup.application.about().authority {
            let message = "Unknown authority".to_owned();
            return Ok(exception(&Exception { class: "java.lang.IllegalArgumentException", message }));
        }
        Ok(match self.present(schedule)?.call(schedule, &caller, method, extras.as_ref()) {
            Ok(Some(bundle)) => object([("bundle", bundle.to_json())]),
            Ok(None) => json!({ "bundle": null }),
            Err(thrown) => exception(&thrown),
        })
    }

    fn read(&self, schedule: &dyn Schedule, params: Params<'_>) -> Result<(Vec<u8>, bool), VerbError> {
        let max_bytes = usize::try_from(params.whole("max_bytes")?).ok().filter(|max| *max > 0);
        let max_bytes = max_bytes.ok_or_else(|| VerbError::InvalidParams("max_bytes is not positive".into()))?;
        let read = self.present(schedule)?.read_file(params.text("fd")?, max_bytes)?;
        read.ok_or_else(|| VerbError::CannotAct("this descriptor is not open".into()))
    }

    fn advance_clock(&self, params: Params<'_>) -> Result<Json, VerbError> {
        let advance_ms = params.whole("advance_ms")?;
        if advance_ms < 0 {
            return Err(VerbError::InvalidParams("a clock does not go back".into()));
        }
        self.setup.store.set_now_ms(self.setup.store.now_ms().saturating_add(advance_ms))?;
        Ok(json!({}))
    }

    fn restart(&self, schedule: &dyn Schedule, params: Params<'_>) -> Result<Json, VerbError> {
        // In process both ways are the same: nothing is written on the way out, so being polite makes no difference.
        if !matches!(params.text("mode")?, "stop" | "kill") {
            return Err(VerbError::InvalidParams("mode is stop or kill".into()));
        }
        // In a round the calls come some way before the process dies; how far changes from one restart to the next. Without
        // this a call would hardly ever get to its effect: one turn ends it.
        for _ in 0..self.present(schedule)?.life() % 4 * 4 {
            schedule.point("restart.before");
        }
        let mut process = self.process.write().unwrap_or_else(PoisonError::into_inner);
        process.kill();
        *process = Provider::start(Arc::clone(&self.setup), schedule)?;
        Ok(json!({}))
    }

    fn decide(&self, schedule: &dyn Schedule, params: Params<'_>) -> Result<Json, VerbError> {
        let decision = match params.text("decision")? {
            "approve" => Decision::Approve,
            "deny" => Decision::Deny,
            "dismiss" => Decision::Dismiss,
            other => return Err(VerbError::InvalidParams(format!("{other:?} is no decision"))),
        };
        if !self.present(schedule)?.decide(params.question()?, decision)? {
            return Err(no_question());
        }
        Ok(json!({ "activity_finished": !self.setup.switches.broken(Fault::ActivityStays) }))
    }

    fn scopes(&self, params: Params<'_>) -> Result<Json, VerbError> {
        let caller = Caller::from_json(params.member("caller")).map_err(VerbError::InvalidParams)?;
        let identity = caller.identity();
        let (grants, revokes) = (params.texts("grant")?, params.texts("revoke")?);
        let expires_ms = match params.member("expires_at_ms") {
            Json::Null => None,
            _ => Some(params.whole("expires_at_ms")?),
        };
        self.setup.store.transaction(|db| {
            grants.iter().try_for_each(|scope| authorize::grant(db, &identity, scope, expires_ms))?;
            revokes.iter().try_for_each(|scope| authorize::withdraw(db, &identity, scope))
        })?;
        Ok(json!({}))
    }

    fn operation(&self, schedule: &dyn Schedule, params: Params<'_>) -> Result<Json, VerbError> {
        let step = match params.text("to")? {
            "running" => Step::Run,
            "commit" => Step::Commit,
            "succeed" => Step::Succeed,
            "fail" => Step::Fail,
            other => return Err(VerbError::InvalidParams(format!("{other:?} is no step of an operation"))),
        };
        match self.present(schedule)?.move_operation(schedule, params.text("operation_id")?, step) {
            // The operation was moved, and dying there is what was asked for.
            Ok(Moved::Yes) | Err(Error::Died) => Ok(json!({})),
            Ok(Moved::No) => Err(VerbError::CannotAct("what is committed can only succeed".into())),
            Ok(Moved::Unknown) => Err(VerbError::InvalidParams("there is no such operation".into())),
            Err(error) => Err(error.into()),
        }
    }

    fn fault(&self, schedule: &dyn Schedule, params: Params<'_>) -> Result<Json, VerbError> {
        let at = match params.text("at")? {
            "after_reserve" => CrashPoint::AfterReserve,
            "after_commit" => CrashPoint::AfterCommit,
            other => return Err(VerbError::InvalidParams(format!("{other:?} is no point to die at"))),
        };
        let (process, tool) = (self.present(schedule)?, params.text("tool")?);
        if process.catalogue().find(tool).is_none() {
            return Err(VerbError::InvalidParams(format!("there is no tool {tool:?}")));
        }
        process.crash_at(at, tool);
        Ok(json!({}))
    }

    fn reconfigure(&self, schedule: &dyn Schedule, params: Params<'_>) -> Result<Json, VerbError> {
        let name = params.text("change")?;
        let change = Change::ALL.into_iter().find(|change| change.name() == name);
        let change = change.ok_or_else(|| VerbError::InvalidParams(format!("{name:?} is no change")))?;
        self.setup.store.query(|db| Fixture::change(db, change))?;
        self.present(schedule)?.reload()?;
        Ok(json!({}))
    }
}

fn exception(thrown: &Exception) -> Json {
    json!({ "exception": { "class": thrown.class, "message": thrown.message } })
}

fn no_question() -> VerbError {
    VerbError::InvalidParams("there is no such pending_intent".into())
}

/// What a scheduled call is, without what is drawn by chance.
fn label(verb: &str, params: &Json) -> String {
    let mut params = params.clone();
    for at in ["", "/extras"] {
        if let Some(members) = params.pointer_mut(at).and_then(Json::as_object_mut) {
            for drawn in ["session_token", "resume_token", "operation_id"] {
                members.remove(drawn);
            }
        }
    }
    format!("{verb} {params}")
}

/// Parameters of a verb; unknown members are ignored.
#[derive(Clone, Copy)]
struct Params<'p>(&'p Json);

impl<'p> Params<'p> {
    fn member(&self, name: &str) -> &'p Json {
        &self.0[name]
    }

    fn text(&self, name: &str) -> Result<&'p str, VerbError> {
        self.member(name).as_str().ok_or_else(|| VerbError::InvalidParams(format!("{name} is no string")))
    }

    fn whole(&self, name: &str) -> Result<i64, VerbError> {
        self.member(name).as_i64().ok_or_else(|| VerbError::InvalidParams(format!("{name} is no integer")))
    }

    fn texts(&self, name: &str) -> Result<Vec<&'p str>, VerbError> {
        match self.member(name) {
            Json::Null => Ok(Vec::new()),
            list => list
                .as_array()
                .and_then(|list| list.iter().map(Json::as_str).collect())
                .ok_or_else(|| VerbError::InvalidParams(format!("{name} is no array of strings"))),
        }
    }

    fn question(&self) -> Result<i64, VerbError> {
        let id = self.text("pending_intent")?;
        id.strip_prefix("pi-").and_then(|number| number.parse().ok()).ok_or_else(no_question)
    }
}
