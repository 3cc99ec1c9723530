//! One life of the provider's process, and one call from its entry to its reply. The main type is [`Provider`].
//!
//! What a `Provider` holds itself is volatile: sessions, open descriptors, who is executing what. What must survive is in
//! the [`Store`], which outlives it. A call that runs when its provider dies stops at its next store access or point and
//! has no further effect.

use crate::application::Application;
use crate::caller::Caller;
use crate::catalogue::Catalogue;
use crate::confirm;
use crate::distort;
use crate::envelope::{self, Code, Refusal, key, refuse};
use crate::error::{Error, Result};
use crate::faults;
use crate::limits::{self, Negotiated, PURGE_EVERY_MS};
use crate::lock;
use crate::results::Files;
use crate::schedule::{Bell, Busy, Schedule};
use crate::session::{Capabilities, Capability, Session, Sessions};
use crate::store::Store;
use crate::switches::{Fault, Leeway, Switches};
use cetp_vectors::bundle::{Bundle, Value};
use rusqlite::Connection;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// What does not change from one life of the process to the next.
pub struct Setup {
    /// The app behind the provider.
    pub application: Arc<dyn Application>,
    /// What is durable.
    pub store: Store,
    /// Whether the provider speaks v1 beside v2 (§8).
    pub v1: bool,
    /// The optional capabilities that it was built with.
    pub capabilities: Capabilities,
    /// How it is broken or bent; empty for a conforming provider.
    pub switches: Switches,
    /// Ends the process at a crash point; the default only marks it dead.
    pub end_process: Option<fn()>,
    /// Rings whenever a waiting call should look again.
    pub bell: Arc<Bell>,
    /// Operations that run in the background.
    pub busy: Arc<Busy>,
    catalogues: Mutex<HashMap<String, Arc<Catalogue>>>,
    purged_ms: AtomicI64,
    /// Processes that were started since nothing had happened.
    lives: AtomicU64,
    /// Sessions of the last process, where they are kept.
    kept: Mutex<Sessions>,
}

impl Setup {
    /// A setup for an app, over an opened store.
    pub fn new(
        application: Arc<dyn Application>,
        store: Store,
        v1: bool,
        capabilities: Capabilities,
        switches: Switches,
    ) -> Setup {
        Setup {
            application,
            store,
            v1,
            capabilities,
            switches,
            end_process: None,
            bell: Arc::default(),
            busy: Arc::default(),
            catalogues: Mutex::default(),
            purged_ms: AtomicI64::new(i64::MIN),
            lives: AtomicU64::new(0),
            kept: Mutex::default(),
        }
    }

    /// Nothing has happened: whatever was kept is gone.
    pub(crate) fn begin_anew(&self) {
        self.lives.store(0, Ordering::SeqCst);
        *lock(&self.kept) = Sessions::default();
    }

    /// The catalogue of the app's present edition; each edition is compiled once.
    pub(crate) fn present_catalogue(&self) -> Result<Arc<Catalogue>> {
        let edition = self.store.query(|db| self.application.edition(db))?;
        let mut catalogues = lock(&self.catalogues);
        if let Some(catalogue) = catalogues.get(&edition) {
            return Ok(Arc::clone(catalogue));
        }
        let built = Catalogue::build(&*self.application, &edition, self.capabilities, &self.switches)?;
        let catalogue = Arc::new(built);
        catalogues.insert(edition, Arc::clone(&catalogue));
        Ok(catalogue)
    }
}

/// A place at which a control can make the process die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPoint {
    /// The execution is reserved and has had no effect.
    AfterReserve,
    /// The effect and its result are committed and the caller knows nothing of it.
    AfterCommit,
}

/// A logical execution within the provider (§6): UID and request_id.
pub(crate) type Key = (i64, String);

/// A running provider.
pub struct Provider {
    pub(crate) setup: Arc<Setup>,
    alive: AtomicBool,
    life: u64,
    pub(crate) catalogue: RwLock<Arc<Catalogue>>,
    pub(crate) sessions: Mutex<Sessions>,
    /// Executions that a thread of this process is working on. A stored reservation that is not among them was left by
    /// a process that died.
    pub(crate) executing: Mutex<HashSet<Key>>,
    pub(crate) files: Mutex<Files>,
    crashes: Mutex<Vec<(CrashPoint, String)>>,
    /// What faults remember; a conforming provider has no use for it.
    pub(crate) fault_memory: Mutex<HashSet<String>>,
    /// The values of reads; only a leeway keeps them.
    pub(crate) read_memory: Mutex<HashMap<Asked, String>>,
    /// What the request_ids of reads are bound to; only a leeway binds them.
    pub(crate) reads: Mutex<HashMap<Key, (String, [u8; 32])>>,
    pub(crate) faults: faults::Memory,
}

/// A read that was asked for: request, tool and digest of the args.
type Asked = (Key, String, [u8; 32]);

/// What a caller sees instead of a Bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Its class.
    pub class: &'static str,
    /// Its message.
    pub message: String,
}

impl Exception {
    /// The provider's process died during the call.
    pub fn dead_object() -> Exception {
        Exception { class: "android.os.DeadObjectException", message: String::new() }
    }
}

/// One call under way: who calls, in which process, on which schedule. The modules of the protocol add their part to it.
#[derive(Clone, Copy)]
pub struct Call<'p> {
    pub(crate) provider: &'p Arc<Provider>,
    pub(crate) schedule: &'p dyn Schedule,
    pub(crate) caller: &'p Caller,
}

/// How a request is to be read (§4).
enum Spoken {
    V1,
    V2,
}

impl Provider {
    /// Starts the process over what the store holds, and goes on with operations that an earlier process left; that work
    /// follows `schedule`.
    ///
    /// # Errors
    /// The store fails, or the app's tools are not valid.
    pub fn start(setup: Arc<Setup>, schedule: &dyn Schedule) -> Result<Arc<Provider>> {
        let catalogue = RwLock::new(setup.present_catalogue()?);
        let life = setup.lives.fetch_add(1, Ordering::SeqCst) + 1;
        let sessions = Mutex::new(std::mem::take(&mut *lock(&setup.kept)));
        let provider = Arc::new(Provider {
            setup,
            alive: AtomicBool::new(true),
            life,
            catalogue,
            sessions,
            executing: Mutex::default(),
            files: Mutex::default(),
            crashes: Mutex::default(),
            fault_memory: Mutex::default(),
            read_memory: Mutex::default(),
            reads: Mutex::default(),
            faults: faults::Memory::default(),
        });
        for (fault, sql) in [
            (Fault::RestartApproves, "UPDATE confirmations SET state = 'approved' WHERE state = 'pending'"),
            (Fault::RestartGrantsAgain, "UPDATE grants SET granted = 1"),
            (Fault::GrantEndLostInRestart, "UPDATE grants SET expires_ms = NULL"),
        ] {
            if provider.broken(fault) {
                provider.query(|db| Ok(db.execute(sql, [])?))?;
            }
        }
        if provider.setup.switches.leeway(Leeway::RestartEndsQuestions) {
            provider.query(confirm::end_questions)?;
        }
        provider.recover_operations(schedule)?;
        Ok(provider)
    }

    /// Answers one `ContentResolver.call`. `caller` was captured at its entry, before anything else (§7.1).
    ///
    /// # Errors
    /// The process died in the call.
    pub fn call(
        self: &Arc<Provider>,
        schedule: &dyn Schedule,
        caller: &Caller,
        method: &str,
        extras: Option<&Bundle>,
    ) -> Result<Option<Bundle>, Exception> {
        let caller = self.caller_at_entry(caller, extras);
        let call = Call { provider: self, schedule, caller: &caller };
        let (sent_method, sent_extras) = (method, extras);
        let (method, extras) = distort::read(&call, method, extras);
        let (method, extras) = (method.as_ref(), extras.as_deref());
        let reply = match call.spoken(method, extras) {
            Ok(Spoken::V1) => call.v1(method, extras),
            Ok(Spoken::V2) => call.v2(method, extras),
            Err(error) => call.v2_error(error, extras),
        };
        let reply = match reply {
            // A reply that was ready when the process died does not leave it any more.
            Ok(bundle) if self.is_alive() => Ok(Some(bundle)),
            Ok(_) | Err(Error::Died) => Err(Exception::dead_object()),
            Err(Error::Thrown(_)) if self.broken(Fault::ExceptionGivesNull) => Ok(None),
            Err(Error::Thrown(message)) => Err(Exception { class: "java.lang.IllegalStateException", message }),
            // Every other error has become a Bundle.
            Err(_) => Ok(None),
        };
        distort::reply(&call, sent_method, sent_extras, reply)
    }

    /// Whether this life of the process still lasts.
    pub fn is_alive(&self) -> bool {
        self.alive.load(Ordering::SeqCst)
    }

    /// How many processes there have been, with this one.
    pub(crate) fn life(&self) -> u64 {
        self.life
    }

    /// Ends this life: no transaction of it commits from now on, and whoever waits stops waiting.
    pub fn kill(&self) {
        // Inside the store, so that a transaction is either wholly before the death or never.
        let dead = self.setup.store.query(|_| {
            self.alive.store(false, Ordering::SeqCst);
            Ok(())
        });
        debug_assert!(dead.is_ok());
        if self.keeps_sessions() {
            let sessions = std::mem::take(&mut *lock(&self.sessions));
            *lock(&self.setup.kept) = sessions.carried_over();
        }
        self.setup.bell.ring();
    }

    /// [`Provider::kill`] by what runs inside the store; only a fault does so.
    pub(crate) fn die(&self) -> Error {
        if let Some(end_process) = self.setup.end_process {
            end_process();
        }
        self.alive.store(false, Ordering::SeqCst);
        self.setup.bell.ring();
        Error::Died
    }

    /// Lets the next execution of a tool die at a point.
    pub fn crash_at(&self, point: CrashPoint, tool: &str) {
        lock(&self.crashes).push((point, tool.to_owned()));
    }

    pub(crate) fn crash_point(&self, point: CrashPoint, tool: &str) -> Result<()> {
        if !self.crash_is_due(point, tool) {
            return Ok(());
        }
        // It stays due until the process is dead: who waits for it must not find it neither due nor come.
        if let Some(end_process) = self.setup.end_process {
            end_process();
        }
        self.kill();
        lock(&self.crashes).retain(|(p, t)| *p != point || t != tool);
        Err(Error::Died)
    }

    pub(crate) fn crash_is_due(&self, point: CrashPoint, tool: &str) -> bool {
        lock(&self.crashes).iter().any(|(p, t)| *p == point && t == tool)
    }

    pub(crate) fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn broken(&self, fault: Fault) -> bool {
        self.setup.switches.broken(fault)
    }

    /// Reads the store, or writes what is one statement.
    pub(crate) fn query<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.setup.store.query(|db| if self.is_alive() { work(db) } else { Err(Error::Died) })
    }

    /// Writes to the store: all of it or nothing.
    pub(crate) fn transaction<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.setup.store.transaction(|db| if self.is_alive() { work(db) } else { Err(Error::Died) })
    }

    /// A place at which another call may go on instead, or the process may have died.
    pub(crate) fn point(&self, schedule: &dyn Schedule, name: &'static str) -> Result<()> {
        schedule.point(name);
        if self.is_alive() { Ok(()) } else { Err(Error::Died) }
    }

    /// Whether it is time to remove old rows again.
    pub(crate) fn purge_is_due(&self, now_ms: i64) -> bool {
        let last = self.setup.purged_ms.load(Ordering::Relaxed);
        let due = last == i64::MIN || now_ms.saturating_sub(last).saturating_abs() >= PURGE_EVERY_MS;
        if due {
            self.setup.purged_ms.store(now_ms, Ordering::Relaxed);
        }
        due
    }
}

impl Call<'_> {
    /// §4: the same method exists in v1 and v2, and `protocol_version` tells them apart. Without it a call to a dual-stack
    /// provider is v1; anything but the Int 2 is never read as v2.
    fn spoken(&self, method: &str, extras: Option<&Bundle>) -> Result<Spoken> {
        if method == "negotiate" {
            return Ok(Spoken::V2);
        }
        match extras.and_then(|extras| envelope::get(extras, key::PROTOCOL_VERSION)) {
            Some(Value::Int(envelope::VERSION)) => Ok(Spoken::V2),
            Some(Value::Int(1)) if self.leeway(Leeway::Version1Refused) => {
                refuse(Code::UnsupportedVersion, "v1 has no protocol_version.")
            }
            None | Some(Value::Int(1)) if self.provider.setup.v1 || self.broken(Fault::V2OnlySpeaksV1) => {
                Ok(Spoken::V1)
            }
            None | Some(Value::Int(_)) => {
                refuse(Code::UnsupportedVersion, "This provider does not support that protocol version.")
            }
            Some(_) => refuse(Code::InvalidRequest, "protocol_version is no Int."),
        }
    }

    fn v2(&self, method: &str, extras: Option<&Bundle>) -> Result<Bundle> {
        let none = Bundle::new();
        let extras = extras.unwrap_or(&none);
        self.v2_method(method, extras).or_else(|error| self.v2_error(error, Some(extras)))
    }

    fn v2_method(&self, method: &str, extras: &Bundle) -> Result<Bundle> {
        self.arrive()?;
        if self.broken(Fault::RotatedIsInternalError) && !self.caller.earlier_identities().is_empty() {
            return refuse(Code::InternalError, "The call failed.");
        }
        if method == "negotiate" {
            return self.negotiate(extras);
        }
        if self.leeway(Leeway::SessionBeforeMethod) {
            self.enter_session(extras)?;
        }
        let work: fn(&Self, &Session, &Bundle) -> Result<Bundle> = match method {
            "get_provider_info" => Self::provider_info,
            "list_tools" => Self::list_tools,
            "execute_tool" => Self::execute_tool,
            "get_operation" => Self::get_operation,
            "cancel_operation" => Self::cancel_operation,
            _ => return refuse(Code::MethodNotFound, "There is no such method."),
        };
        let session = self.enter_session(extras)?;
        if self.broken(Fault::UnknownKeysRefused) && distort::has_unknown_key(extras) {
            return refuse(Code::InvalidRequest, "The request has a key that is not known.");
        }
        if method == "cancel_operation" && self.broken(Fault::CancelsThenRefuses) {
            self.cancel_operation(&session, extras)?;
        }
        let needed = match method {
            "get_operation" => Some(Capability::AsyncOperations),
            "cancel_operation" => Some(Capability::Cancellation),
            _ => None,
        };
        if self.broken(Fault::MethodWithoutCapabilityIsEmpty) && needed.is_some_and(|need| !self.can(&session, need)) {
            return Ok(envelope::success(envelope::echo(extras), "{}".to_owned()));
        }
        match method {
            "get_operation" => self.need(&session, Capability::AsyncOperations)?,
            "cancel_operation" => self.need(&session, Capability::Cancellation)?,
            _ => {}
        }
        work(self, &session, extras)
    }

    /// §5: a refusal becomes an error Bundle. What the caller must not learn, such as a failure of the database, becomes
    /// UNAVAILABLE: the transaction was rolled back, so repeating is right.
    fn v2_error(&self, error: Error, extras: Option<&Bundle>) -> Result<Bundle> {
        let refusal = match error {
            Error::Refused(refusal)
                if refusal.code == Code::InvalidRequest && self.broken(Fault::TraceOfMistypedKeys) =>
            {
                let message =
                    format!("{}\n\tat android.os.BaseBundle.getString(BaseBundle.java:1245)", refusal.message);
                Refusal { message, ..*refusal }
            }
            Error::Refused(refusal) => *refusal,
            Error::Died | Error::Thrown(_) => return Err(error),
            _ => Refusal::new(Code::Unavailable, "The provider cannot answer at the moment."),
        };
        Ok(refusal.to_bundle(extras.and_then(envelope::echo)))
    }

    /// The entry of a call, v1 or v2.
    pub(crate) fn arrive(&self) -> Result<()> {
        self.point("call.entered")?;
        self.query(|db| self.provider.setup.application.arrives(db, self.caller))
    }

    pub(crate) fn limits(&self) -> Negotiated {
        limits::of(&self.provider.setup.switches)
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.provider.setup.store.now_ms()
    }

    pub(crate) fn broken(&self, fault: Fault) -> bool {
        self.provider.setup.switches.broken(fault)
    }

    pub(crate) fn leeway(&self, leeway: Leeway) -> bool {
        self.provider.setup.switches.leeway(leeway)
    }

    pub(crate) fn query<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.provider.query(work)
    }

    pub(crate) fn transaction<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.provider.transaction(work)
    }

    pub(crate) fn point(&self, name: &'static str) -> Result<()> {
        self.provider.point(self.schedule, name)
    }

    /// Blocks until `ready`, or until the process has died.
    pub(crate) fn wait(&self, ready: &mut dyn FnMut() -> bool) -> Result<()> {
        self.schedule.wait(&self.provider.setup.bell, &mut || !self.provider.is_alive() || ready());
        if self.provider.is_alive() { Ok(()) } else { Err(Error::Died) }
    }
}
