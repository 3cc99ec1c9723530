//! Targets in the same process, such as the built-in reference. The main types are [`InProcessAdapter`] and the trait
//! [`LocalTarget`] that a target implements.
//!
//! Requests run on threads of the session, so that they overlap as they would over a transport, and so that a target that
//! hangs is noticed. A thread cannot be ended from outside: one that hangs is left behind, which only faulty targets do.

use crate::adapter::{Adapter, Fault, FaultKind, Incoming, Piece, RpcError, Session};
use crate::limits::Limits;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A target that is a value in this process.
pub trait LocalTarget: Send + Sync {
    /// Handles one verb of the target protocol. Called from several threads at once; `number` counts the requests of the
    /// session in the order in which they were sent, so that calls that start together can be told apart.
    ///
    /// # Errors
    /// A JSON-RPC error, or the end of the target.
    fn handle(&self, number: u64, verb: &str, params: &Json, host: &dyn Host) -> Result<Json, LocalError>;

    /// [`LocalTarget::handle`] for `fd.read`, for a target that gives bytes as they are: to write them as base64 and read that
    /// again costs more than their digest. Nothing for one that does not; it is asked by [`LocalTarget::handle`].
    fn read(&self, number: u64, params: &Json) -> Option<Result<Piece, LocalError>> {
        let _ = (number, params);
        None
    }

    /// The next `calls` calls of [`LocalTarget::handle`] start together and are interleaved as the seed says.
    fn schedule(&self, seed: u64, calls: usize) {
        let _ = (seed, calls);
    }

    /// As [`Session::at_rest`], leaving aside the threads that handle verbs: whether these wait for the runner is known.
    fn at_rest(&self, limit: Duration) -> Option<bool> {
        let _ = limit;
        None
    }
}

/// Why a [`LocalTarget`] has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalError {
    /// A JSON-RPC error.
    Rpc(RpcError),
    /// The target is no more; a sentence says why.
    Died(String),
}

/// What a consumer target may ask of the runner.
pub trait Host: Send + Sync {
    /// Sends a request to the runner and waits for the answer.
    ///
    /// # Errors
    /// The runner refuses, or has ended the session.
    fn request(&self, verb: &str, params: Json) -> Result<Json, RpcError>;
}

/// Stack of a thread of the target, in bytes. There may be hundreds at once; only what is touched is used.
const STACK_BYTES: usize = 16 << 20;

type Make = dyn Fn() -> Result<Box<dyn LocalTarget>, String> + Send + Sync;

/// Makes a [`LocalTarget`] for each session.
pub struct InProcessAdapter {
    make: Box<Make>,
    limits: Limits,
}

impl InProcessAdapter {
    /// From a function that makes targets.
    pub fn new(
        limits: Limits,
        make: impl Fn() -> Result<Box<dyn LocalTarget>, String> + Send + Sync + 'static,
    ) -> InProcessAdapter {
        InProcessAdapter { make: Box::new(make), limits }
    }
}

impl Adapter for InProcessAdapter {
    fn kind(&self) -> &'static str {
        "in-process"
    }

    fn start(&self) -> Result<Box<dyn Session>, Fault> {
        let target = (self.make)().map_err(|why| Fault::new(FaultKind::Start, why))?;
        let (sender, incoming) = channel();
        let shared = Arc::new(Shared {
            target,
            sender,
            traffic: Mutex::default(),
            changed: Condvar::new(),
            idle: Mutex::default(),
        });
        Ok(Box::new(InProcessSession { shared, incoming, last_id: 0 }))
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }
}

enum Event {
    Incoming(Incoming),
    Died(String),
}

struct Shared {
    target: Box<dyn LocalTarget>,
    sender: Sender<Event>,
    traffic: Mutex<Traffic>,
    /// A message came, or a verb was handled.
    changed: Condvar,
    /// The threads that wait for a job.
    idle: Mutex<Vec<Sender<Work>>>,
}

/// What is on its way between the runner and the target.
#[derive(Default)]
struct Traffic {
    /// Verbs that are being handled.
    open: usize,
    /// Messages of the target that the runner has not taken yet.
    unread: usize,
    /// Requests of the target that wait for an answer. Dropping the senders wakes those who wait.
    waiting: BTreeMap<u64, Sender<Result<Json, RpcError>>>,
    /// How many requests there were.
    requests: u64,
    closed: bool,
}

impl Traffic {
    /// Whether a verb is at work, of which everything was taken so far.
    fn goes_on(&self) -> bool {
        self.unread == 0 && self.open != self.waiting.len()
    }

    /// Whether every message was taken, and each verb that is being handled waits for an answer of the runner.
    fn is_quiet(&self) -> bool {
        self.unread == 0 && self.open == self.waiting.len()
    }
}

impl Shared {
    /// Hands a message to the runner, together with what it changes. Whether there still is a runner.
    fn tell(&self, traffic: &mut Traffic, event: Event) -> bool {
        traffic.unread += 1;
        self.changed.notify_all();
        !traffic.closed && self.sender.send(event).is_ok()
    }
}

/// A job, and the sender of the thread that it goes to, which makes itself idle with it again: while it waits it holds none
/// itself, so that it ends with the session.
struct Work {
    job: Job,
    own: Sender<Work>,
}

struct Job {
    id: u64,
    verb: String,
    params: Json,
}

struct InProcessSession {
    shared: Arc<Shared>,
    incoming: Receiver<Event>,
    last_id: u64,
}

impl Session for InProcessSession {
    fn send(&mut self, verb: &str, params: &Json) -> Result<u64, Fault> {
        self.last_id += 1;
        let id = self.last_id;
        let mut job = Job { id, verb: verb.to_owned(), params: params.clone() };
        lock(&self.shared.traffic).open += 1;
        while let Some(worker) = lock(&self.shared.idle).pop() {
            match worker.send(Work { job, own: worker.clone() }) {
                Ok(()) => return Ok(id),
                Err(back) => job = back.0.job,
            }
        }
        let shared = Arc::clone(&self.shared);
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .name("target".into())
            .spawn(move || work(&shared, job))
            .map_err(|error| Fault::new(FaultKind::Start, format!("no thread for the target: {error}")))?;
        Ok(id)
    }

    fn receive(&mut self, limit: Duration) -> Result<Option<Incoming>, Fault> {
        let event = soon(&self.incoming, limit.min(MOMENT)).map_or_else(|| self.incoming.recv_timeout(limit), Ok);
        if event.is_ok() {
            lock(&self.shared.traffic).unread -= 1;
        }
        match event {
            Ok(Event::Incoming(incoming)) => Ok(Some(incoming)),
            Ok(Event::Died(why)) => Err(Fault::new(FaultKind::Died, why)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Fault::new(FaultKind::Died, "the target is gone")),
        }
    }

    fn answer(&mut self, id: &Json, result: Result<Json, RpcError>) -> Result<(), Fault> {
        let sender = id.as_u64().and_then(|id| lock(&self.shared.traffic).waiting.remove(&id));
        // Nobody waits any more where the target gave up; that is its business.
        sender.map(|sender| sender.send(result));
        Ok(())
    }

    fn schedule(&mut self, seed: u64, calls: usize) {
        self.shared.target.schedule(seed, calls);
    }

    fn at_rest(&mut self, limit: Duration) -> Option<bool> {
        let until = Instant::now() + limit;
        let left = || until.saturating_duration_since(Instant::now());
        loop {
            let Shared { target, traffic, changed, .. } = &*self.shared;
            let waited = changed.wait_timeout_while(lock(traffic), left(), |traffic| traffic.goes_on());
            if !waited.unwrap_or_else(PoisonError::into_inner).0.is_quiet() {
                return Some(false);
            }
            // In short looks, as a message may come meanwhile.
            let rests = target.at_rest(left().min(LOOK))?;
            if rests || left().is_zero() {
                return Some(rests && lock(traffic).is_quiet());
            }
        }
    }

    fn settle(&mut self) -> Result<(), Fault> {
        match self.incoming.try_recv() {
            Ok(Event::Incoming(incoming)) => {
                Err(Fault::new(FaultKind::Garbage, format!("a message came that nobody asked for: {incoming:?}")))
            }
            Ok(Event::Died(why)) => Err(Fault::new(FaultKind::Died, why)),
            Err(_) => Ok(()),
        }
    }

    fn diagnostics(&mut self) -> String {
        String::new()
    }

    fn end(self: Box<Self>) {}
}

impl Drop for InProcessSession {
    fn drop(&mut self) {
        let mut traffic = lock(&self.shared.traffic);
        traffic.closed = true;
        traffic.waiting.clear();
        drop(traffic);
        lock(&self.shared.idle).clear();
    }
}

/// A thread of a session: does a job, then waits for another until the session ends.
fn work(shared: &Arc<Shared>, first: Job) {
    let (own, jobs) = channel();
    let mut next = Some(Work { job: first, own });
    while let Some(Work { job, own }) = next {
        let host = LocalHost { shared };
        let handled = catch_unwind(AssertUnwindSafe(|| {
            let Job { id, verb, params } = &job;
            if verb == "fd.read"
                && let Some(read) = shared.target.read(*id, params)
            {
                return read.map(|piece| Incoming::Piece { id: *id, piece });
            }
            let result = shared.target.handle(*id, verb, params, &host)?;
            Ok(Incoming::Answer { id: *id, result: Ok(result) })
        }));
        let event = match handled {
            Ok(Ok(incoming)) => Event::Incoming(incoming),
            Ok(Err(LocalError::Rpc(error))) => Event::Incoming(Incoming::Answer { id: job.id, result: Err(error) }),
            Ok(Err(LocalError::Died(why))) => Event::Died(why),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
                Event::Died(format!("the target panicked: {}", text.unwrap_or("without a message")))
            }
        };
        // Idle before the answer is out, so that the next request finds this thread.
        lock(&shared.idle).push(own);
        let mut traffic = lock(&shared.traffic);
        traffic.open -= 1;
        if !shared.tell(&mut traffic, event) {
            return;
        }
        drop(traffic);
        next = soon(&jobs, MOMENT).or_else(|| jobs.recv().ok());
    }
}

struct LocalHost<'s> {
    shared: &'s Arc<Shared>,
}

impl Host for LocalHost<'_> {
    fn request(&self, verb: &str, params: Json) -> Result<Json, RpcError> {
        let over = || RpcError { code: RpcError::CANNOT, message: "the session is over".into() };
        let (sender, receiver) = channel();
        let mut traffic = lock(&self.shared.traffic);
        traffic.requests += 1;
        let id = traffic.requests;
        traffic.waiting.insert(id, sender);
        let request = Incoming::Request { id: json!(id), verb: verb.to_owned(), params };
        if !self.shared.tell(&mut traffic, Event::Incoming(request)) {
            return Err(over());
        }
        drop(traffic);
        soon(&receiver, MOMENT).map_or_else(|| receiver.recv(), Ok).map_err(|_| over())?
    }
}

/// What comes within a time that is not slept through. Both sides take turns, and a processor that went to sleep takes longer
/// to wake than most answers take to come.
fn soon<T>(receiver: &Receiver<T>, limit: Duration) -> Option<T> {
    let until = Instant::now() + limit;
    loop {
        match receiver.try_recv() {
            Ok(value) => return Some(value),
            Err(TryRecvError::Empty) if Instant::now() < until => std::thread::yield_now(),
            Err(_) => return None,
        }
    }
}

/// So long a thread looks whether something has come before it sleeps.
const MOMENT: Duration = Duration::from_micros(200);

/// So long a target is asked at once whether it is at rest.
const LOOK: Duration = Duration::from_millis(1);

/// A thread that panicked while it held the lock has left nothing half done here.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Handles `ask` by asking the runner and answering what it is answered, and `work` until it is let go.
    struct Asker(Mutex<Receiver<()>>);

    impl LocalTarget for Asker {
        fn handle(&self, _number: u64, verb: &str, params: &Json, host: &dyn Host) -> Result<Json, LocalError> {
            match verb {
                "work" => {
                    lock(&self.0).recv().expect("somebody lets it go");
                    Ok(json!({}))
                }
                _ => host.request(verb, params.clone()).map_err(LocalError::Rpc),
            }
        }

        fn at_rest(&self, _limit: Duration) -> Option<bool> {
            Some(true)
        }
    }

    #[test]
    fn a_target_rests_while_all_its_threads_wait_for_the_runner() {
        const LONG: Duration = Duration::from_secs(3600);
        let (let_go, jobs) = channel();
        let jobs = Mutex::new(Some(jobs));
        let make = move || Ok(Box::new(Asker(Mutex::new(lock(&jobs).take().unwrap()))) as Box<dyn LocalTarget>);
        let mut session = InProcessAdapter::new(Limits::default(), make).start().unwrap();
        assert_eq!(session.at_rest(LONG), Some(true));

        session.send("ask", &json!({ "n": 1 })).unwrap();
        assert_eq!(session.at_rest(LONG), Some(false), "its request is unread");
        let Ok(Some(Incoming::Request { id, .. })) = session.receive(LONG) else { panic!("it asks") };
        assert_eq!(session.at_rest(LONG), Some(true));

        let working = session.send("work", &json!({})).unwrap();
        assert_eq!(session.at_rest(Duration::from_millis(1)), Some(false), "a thread works");
        let_go.send(()).unwrap();
        assert_eq!(session.at_rest(LONG), Some(false), "an answer is unread");
        assert!(matches!(session.receive(LONG), Ok(Some(Incoming::Answer { id, .. })) if id == working));
        assert_eq!(session.at_rest(LONG), Some(true));

        session.answer(&id, Ok(json!({ "n": 2 }))).unwrap();
        assert_eq!(session.at_rest(LONG), Some(false), "it goes on with what it was answered");
        assert!(matches!(session.receive(LONG), Ok(Some(Incoming::Answer { result: Ok(_), .. }))));
        assert_eq!(session.at_rest(LONG), Some(true));
    }
}
