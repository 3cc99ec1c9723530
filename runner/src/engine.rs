//! Runs many vectors on several sessions at once and tells what happens. The main type is [`Run`].
//!
//! The engine prints nothing: it emits [`Event`]s, in whatever order things happen, and returns the results sorted by id.

use crate::adapter::{Adapter, Fault, Session};
use crate::execute::{INTERRUPTED, Setting, exchange, execute};
use crate::limits::STACK_BYTES;
use cetp_reports::check::{flake_reason, over_repeats};
use cetp_reports::redact::Redactor;
use cetp_vectors::judge::{Finding, Judge, Judgement, Outcome};
use cetp_vectors::machine::Answer;
use cetp_vectors::model::Vector;
use cetp_vectors::plan::{Plan, plan};
use cetp_vectors::protocol::{Describe, VERSION};
use cetp_vectors::transcript::{Ended, Transcript};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// So many sessions at once.
    pub threads: usize,
    /// Decides UUIDs and schedules; the n-th repeat of a vector takes `seed + n`.
    pub seed: u64,
    /// Each vector so many times.
    pub repeat: u32,
    /// End after the first vector that fell short.
    pub fail_fast: bool,
    /// Takes the target's secrets out of every result before anybody is told of it.
    pub redactor: Redactor,
}

impl Default for Options {
    fn default() -> Options {
        Options { threads: 1, seed: 0, repeat: 1, fail_fast: false, redactor: Redactor::default() }
    }
}

/// What the engine tells while it runs.
#[derive(Debug)]
pub enum Event<'e> {
    /// A vector begins.
    Begun {
        /// Its id.
        vector: &'e str,
    },
    /// A vector is over.
    Finished {
        /// What became of it. What nobody needs any more may be taken out: a long run holds every result.
        result: &'e mut VectorResult,
    },
}

/// What became of a vector.
#[derive(Clone, Debug)]
pub struct VectorResult {
    /// The vector's id.
    pub vector: String,
    /// The outcome; over several repeats the strongest.
    pub outcome: Outcome,
    /// Why, in a sentence; nothing for a pass.
    pub reason: Option<String>,
    /// The judge's findings, where it ran.
    pub judgement: Option<Judgement>,
    /// What happened, where it ran; over several repeats that of the first with this outcome.
    pub transcript: Option<Transcript>,
    /// The end of what the target wrote to stderr meanwhile, or of its device's log; empty where the vector passed.
    pub diagnostics: String,
    /// Wall time.
    pub duration: Duration,
    /// How often each outcome came, where it was repeated.
    pub repeats: BTreeMap<Outcome, u32>,
    /// The suite itself broke: its authors are at fault, not the target.
    pub own_fault: bool,
}

impl VectorResult {
    fn without_run(vector: &Vector, outcome: Outcome, reason: String) -> VectorResult {
        VectorResult {
            vector: vector.id.clone(),
            outcome,
            reason: Some(reason),
            judgement: None,
            transcript: None,
            diagnostics: String::new(),
            duration: Duration::ZERO,
            repeats: BTreeMap::new(),
            own_fault: false,
        }
    }

    /// Whether it was under way when the user ended the run: it proves nothing, and is no result.
    pub fn cut_short(&self) -> bool {
        let ended = self.transcript.as_ref().and_then(|transcript| transcript.ended.as_ref());
        self.outcome == Outcome::Error && self.repeats.len() < 2 && ended.is_some_and(|ended| ended.why == INTERRUPTED)
    }

    /// Whether it is an error, a fail or a vector that was not run.
    pub fn falls_short(&self) -> bool {
        matches!(self.outcome, Outcome::Error | Outcome::Fail | Outcome::NotRun)
    }
}

/// Starts a target and asks what it is. The session is given back, ready to be used.
///
/// # Errors
/// It did not start, did not answer, or its answer breaks the protocol.
pub fn describe(adapter: &dyn Adapter) -> Result<(Box<dyn Session>, Json, Describe), Fault> {
    let mut session = adapter.start()?;
    let params = json!({ "protocol": VERSION });
    let answer = exchange(session.as_mut(), "target.describe", &params, adapter.limits().start());
    let garbage = |why: String| Fault::new(crate::adapter::FaultKind::Garbage, why);
    match answer {
        Ok(Answer::Result(json)) => {
            let describe = Describe::from_json(&json).map_err(|e| garbage(e.to_string()))?;
            Ok((session, json, describe))
        }
        Ok(Answer::Refused { message, .. }) => Err(garbage(format!("the target refuses target.describe: {message}"))),
        Ok(Answer::Broken { why, .. }) => Err(garbage(why)),
        Ok(Answer::Unread) => unreachable!("an exchange is answered"),
        Err(fault) => {
            let said = session.diagnostics();
            let said = if said.trim().is_empty() { String::new() } else { format!("; it wrote: {}", said.trim()) };
            Err(Fault::new(fault.kind, format!("{}{said}", fault.message)))
        }
    }
}

/// A run that is about to begin.
#[derive(Clone, Copy)]
pub struct Run<'r> {
    /// The vectors.
    pub vectors: &'r [&'r Vector],
    /// What starts targets.
    pub adapter: &'r dyn Adapter,
    /// The target's answer to `target.describe`.
    pub target_json: &'r Json,
    /// The same, read.
    pub target: &'r Describe,
    /// How to run.
    pub options: &'r Options,
    /// Set to end the run early.
    pub interrupted: &'r AtomicBool,
}

/// What all workers share.
struct Shared<'r> {
    run: Run<'r>,
    /// Vectors that move much, for the first worker alone: several at once would take that many times the memory.
    large: Queue,
    /// All others.
    small: Queue,
    stop: AtomicBool,
}

/// Places of vectors that are still to be run.
struct Queue {
    places: Vec<usize>,
    next: AtomicUsize,
}

impl Queue {
    fn take(&self) -> Option<usize> {
        self.places.get(self.next.fetch_add(1, Ordering::Relaxed)).copied()
    }
}

enum Told {
    Begun(usize),
    Finished(Box<VectorResult>),
}

impl Run<'_> {
    /// Runs the vectors and returns what became of each that was begun, sorted by id. `first` is a session that is ready.
    pub fn run(&self, first: Box<dyn Session>, events: &mut dyn FnMut(Event<'_>)) -> Vec<VectorResult> {
        let most = self.vectors.len().min(self.adapter.most_sessions()).max(1);
        let threads = self.options.threads.clamp(1, most);
        // Alone a worker takes all as they come.
        let is_large = |n: &usize| threads > 1 && self.vectors[*n].has_flag("large");
        let (large, small) = (0..self.vectors.len()).partition(is_large);
        let queue = |places| Queue { places, next: AtomicUsize::new(0) };
        let shared = Shared { run: *self, large: queue(large), small: queue(small), stop: AtomicBool::new(false) };
        let mut results = Vec::new();
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            let mut first = Some(first);
            for n in 0..threads {
                let (sender, shared, session) = (sender.clone(), &shared, first.take());
                std::thread::Builder::new()
                    .name(format!("worker-{n}"))
                    .stack_size(STACK_BYTES)
                    .spawn_scoped(scope, move || worker(shared, n == 0, session, &|told| drop(sender.send(told))))
                    .expect("the system has threads");
            }
            drop(sender);
            for told in receiver {
                match told {
                    Told::Begun(n) => events(Event::Begun { vector: &self.vectors[n].id }),
                    Told::Finished(mut result) => {
                        events(Event::Finished { result: &mut result });
                        if self.options.fail_fast && result.falls_short() {
                            shared.stop.store(true, Ordering::Relaxed);
                        }
                        results.push(*result);
                    }
                }
            }
        });
        results.sort_by(|a, b| a.vector.cmp(&b.vector));
        results
    }

    /// Plans and runs one vector. A session that can be used again is left in `session`, where one is taken from too.
    pub fn one(&self, vector: &Vector, session: &mut Option<Box<dyn Session>>) -> VectorResult {
        let vector = &*vector.whole();
        match plan(vector, self.target) {
            Plan::NotRun(why) => VectorResult::without_run(vector, Outcome::NotRun, why),
            Plan::NotApplicable(why) => VectorResult::without_run(vector, Outcome::NotApplicable, why),
            Plan::Run => self.repeated(vector, session),
        }
    }

    fn repeated(&self, vector: &Vector, session: &mut Option<Box<dyn Session>>) -> VectorResult {
        let begun = Instant::now();
        let mut worst: Option<VectorResult> = None;
        let mut repeats = BTreeMap::new();
        for n in 0..self.options.repeat.max(1) {
            if n > 0 && self.interrupted.load(Ordering::Relaxed) {
                break;
            }
            let seed = self.options.seed.wrapping_add(n.into());
            let result = self.once(vector, session, seed);
            if n > 0 && result.cut_short() {
                break;
            }
            *repeats.entry(result.outcome).or_insert(0) += 1;
            if worst.as_ref().is_none_or(|worst| result.outcome < worst.outcome) {
                worst = Some(result);
            }
        }
        let mut worst = worst.expect("at least one run");
        worst.duration = begun.elapsed();
        if repeats.len() > 1 {
            let seed = worst.transcript.as_ref().map_or(self.options.seed, |t| t.start.seed);
            worst.outcome = over_repeats(worst.outcome, &repeats);
            worst.reason = Some(flake_reason(&repeats, seed, worst.reason.as_deref()));
        }
        worst.repeats = repeats;
        worst
    }

    fn once(&self, vector: &Vector, slot: &mut Option<Box<dyn Session>>, seed: u64) -> VectorResult {
        let attempt = catch_unwind(AssertUnwindSafe(|| self.attempt(vector, slot, seed)));
        let result = attempt.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            let why = format!("the suite itself failed: {}", text.unwrap_or("it panicked"));
            VectorResult { own_fault: true, ..VectorResult::without_run(vector, Outcome::Error, why) }
        });
        if self.options.redactor.is_empty() { result } else { self.without_secrets(vector, result) }
    }

    /// The result as it may be told: no secret is in it, and the verdict is one that the transcript without them leads to.
    fn without_secrets(&self, vector: &Vector, result: VectorResult) -> VectorResult {
        let redactor = &self.options.redactor;
        let mut out = VectorResult {
            reason: result.reason.as_deref().map(|reason| redactor.cut_text(reason)),
            diagnostics: redactor.cut_text(&result.diagnostics),
            judgement: None,
            transcript: None,
            ..result
        };
        if let (Some(transcript), Some(live)) = (result.transcript, result.judgement) {
            match redactor.judged(vector, transcript, live) {
                Ok((transcript, judgement)) => {
                    out.reason.clone_from(&judgement.reason);
                    out.judgement = Some(judgement);
                    out.transcript = Some(transcript);
                }
                Err(why) => {
                    out.outcome = Outcome::Error;
                    out.reason = Some(why);
                }
            }
        }
        out
    }

    fn attempt(&self, vector: &Vector, slot: &mut Option<Box<dyn Session>>, seed: u64) -> VectorResult {
        let begun = Instant::now();
        let mut session = match slot.take() {
            Some(session) => session,
            None => match describe(self.adapter) {
                Ok((session, _, _)) => session,
                Err(fault) => {
                    return VectorResult::without_run(vector, Outcome::Error, format!("no target: {fault}"));
                }
            },
        };
        let nonce = nonce();
        let setting = Setting {
            target: self.target_json,
            virtual_clock: self.target.has_control("clock"),
            seed,
            nonce: &nonce,
            limits: self.adapter.limits(),
            interrupted: self.interrupted,
        };
        let mut judge = Judge::new(vector);
        let mut executed = match execute(vector, session.as_mut(), &setting, &mut judge) {
            Ok(executed) => executed,
            Err(fault) => {
                let diagnostics = session.diagnostics();
                session.end();
                let why = format!("target.reset failed: {fault}");
                return VectorResult { diagnostics, ..VectorResult::without_run(vector, Outcome::Error, why) };
            }
        };
        if executed.fault.is_none() {
            // What comes late belongs to this vector, and must not fall on the next.
            if let Err(fault) = session.settle() {
                executed.transcript.ended.get_or_insert(Ended { at: "end".into(), why: fault.message.clone() });
                executed.fault = Some(fault);
            }
        }
        let judgement = judge.verdict(&executed.end, executed.transcript.ended.as_ref());
        let told = executed.fault.is_some() || !matches!(judgement.outcome, Outcome::Pass | Outcome::Warn);
        let diagnostics = if told {
            session.diagnostics()
        } else {
            session.no_diagnostics();
            String::new()
        };
        if executed.fault.is_some() {
            session.end();
        } else {
            *slot = Some(session);
        }
        VectorResult {
            vector: vector.id.clone(),
            outcome: judgement.outcome,
            reason: judgement.reason.clone(),
            judgement: Some(judgement),
            transcript: Some(executed.transcript),
            diagnostics,
            duration: begun.elapsed(),
            repeats: BTreeMap::new(),
            own_fault: false,
        }
    }
}

fn worker(shared: &Shared<'_>, first: bool, mut session: Option<Box<dyn Session>>, tell: &dyn Fn(Told)) {
    while !shared.stop.load(Ordering::Relaxed) && !shared.run.interrupted.load(Ordering::Relaxed) {
        let large = if first { shared.large.take() } else { None };
        let Some(n) = large.or_else(|| shared.small.take()) else { break };
        let vector = shared.run.vectors[n];
        tell(Told::Begun(n));
        let result = shared.run.one(vector, &mut session);
        if !result.cut_short() {
            tell(Told::Finished(Box::new(result)));
        }
    }
    if let Some(session) = session {
        session.end();
    }
}

/// Opaque to the target: it must not know which vector runs.
fn nonce() -> String {
    use std::hash::{BuildHasher, RandomState};
    let word = || format!("{:016x}", RandomState::new().hash_one(Instant::now()));
    word() + &word()
}

/// Every finding of a result, from the deciding ones down.
pub fn findings(result: &VectorResult) -> Vec<&Finding> {
    let Some(judgement) = &result.judgement else { return Vec::new() };
    let lists = [&judgement.findings, &judgement.warnings, &judgement.unknown, &judgement.advice];
    lists.into_iter().flatten().collect()
}
