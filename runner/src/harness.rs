//! The suite inside an implementer's own `cargo test` or nextest. The main function is [`main`].
//!
//! A test file with `harness = false` calls it with an adapter: each vector becomes a trial of libtest-mimic. A vector that
//! could not be run, or is not applicable, shows as ignored with its reason; it never shows as passed.
//!
//! ```no_run
//! use cetp_runner::harness::{Setup, main};
//! use cetp_runner::inprocess::InProcessAdapter;
//! # fn my_target() -> Result<Box<dyn cetp_runner::inprocess::LocalTarget>, String> { unimplemented!() }
//!
//! fn main_of_the_test() -> std::process::ExitCode {
//!     let adapter = InProcessAdapter::new(Default::default(), my_target);
//!     main(Setup::new(adapter))
//! }
//! ```

use crate::adapter::{Adapter, Session};
use crate::engine::{self, Options, Run, VectorResult};
use crate::limits::STACK_BYTES;
use cetp_vectors::judge::Outcome;
use cetp_vectors::ledger::{Ledger, Role};
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use cetp_vectors::protocol::Describe;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::Value as Json;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What is tested, and with what.
pub struct Setup {
    adapter: Arc<dyn Adapter>,
    suite: String,
    role: Role,
    seed: u64,
    /// The embedded vectors where there is none.
    catalogue: Option<Catalogue>,
    fail_fast: bool,
}

impl Setup {
    /// The provider suite of CETP v2 with the embedded vectors.
    pub fn new(adapter: impl Adapter + 'static) -> Setup {
        Setup {
            adapter: Arc::new(adapter),
            suite: "cetp-v2".into(),
            role: Role::Provider,
            seed: 0,
            catalogue: None,
            fail_fast: false,
        }
    }

    /// Another side or suite.
    #[must_use]
    pub fn testing(mut self, suite: &str, role: Role) -> Setup {
        self.suite = suite.to_owned();
        self.role = role;
        self
    }

    /// Another seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Setup {
        self.seed = seed;
        self
    }

    /// Whether vectors after the first that fails are not run any more, but shown as ignored: for who changes the target some
    /// hundred times, as mutation testing does. Under a runner that starts a process for each trial it changes nothing.
    #[must_use]
    pub fn fail_fast(mut self, fail_fast: bool) -> Setup {
        self.fail_fast = fail_fast;
        self
    }

    /// Other vectors.
    #[must_use]
    pub fn vectors(mut self, catalogue: Catalogue) -> Setup {
        self.catalogue = Some(catalogue);
        self
    }
}

/// Sessions that are free; a trial takes one, or starts another.
struct Pool {
    adapter: Arc<dyn Adapter>,
    /// What the target is, asked for by the first trial: listing trials starts no target.
    described: OnceLock<Result<(Json, Describe), String>>,
    seed: u64,
    ledger: Ledger,
    fail_fast: bool,
    failed: AtomicBool,
    idle: Mutex<Vec<Box<dyn Session>>>,
}

impl Pool {
    fn described(&self) -> Result<&(Json, Describe), Failed> {
        let described = self.described.get_or_init(|| {
            let (session, json, target) = engine::describe(self.adapter.as_ref()).map_err(|fault| fault.to_string())?;
            self.give_back(session);
            Ok((json, target))
        });
        described.as_ref().map_err(Failed::from)
    }

    fn take(&self) -> Option<Box<dyn Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn give_back(&self, session: Box<dyn Session>) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
    }
}

/// Runs the suite as libtest-mimic trials, with the arguments of the process.
pub fn main(setup: Setup) -> ExitCode {
    crate::guard::run_if_asked();
    let arguments = Arguments::from_args();
    // Some runners of tests start a process for each, which then reads the vectors.
    let embedded = || Catalogue::embedded_for(&setup.suite, setup.role);
    let catalogue = setup.catalogue.unwrap_or_else(embedded);
    let pool = Arc::new(Pool {
        adapter: setup.adapter,
        described: OnceLock::new(),
        seed: setup.seed,
        ledger: catalogue.ledger,
        fail_fast: setup.fail_fast,
        failed: AtomicBool::new(false),
        idle: Mutex::default(),
    });
    let mine = |v: &Vector| v.suite == setup.suite && v.role == setup.role;
    let vectors = catalogue.vectors.into_iter().filter(mine);
    let trial = |vector: Vector| {
        let pool = Arc::clone(&pool);
        Trial::ignorable_test(vector.id.clone(), move || {
            if pool.fail_fast && pool.failed.load(Ordering::Relaxed) {
                return Ok(Completion::ignored_with("not run, as another vector failed"));
            }
            let judged = judge(&vector, &pool);
            pool.failed.fetch_or(judged.is_err(), Ordering::Relaxed);
            judged
        })
    };
    let conclusion = libtest_mimic::run(&arguments, vectors.map(trial).collect());
    while let Some(session) = pool.take() {
        session.end();
    }
    conclusion.exit_code()
}

fn judge(vector: &Vector, pool: &Pool) -> Result<Completion, Failed> {
    let (target_json, target) = pool.described()?;
    let options = Options { seed: pool.seed, ..Options::default() };
    let interrupted = AtomicBool::new(false);
    let run = Run {
        vectors: &[vector],
        adapter: pool.adapter.as_ref(),
        target_json,
        target,
        options: &options,
        interrupted: &interrupted,
    };
    // Trials run on small stacks, and values from targets may be nested deeply.
    std::thread::scope(|scope| {
        let judged = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || {
            let mut session = pool.take();
            let result = run.one(vector, &mut session);
            if let Some(session) = session {
                pool.give_back(session);
            }
            concluded(&result, &pool.ledger)
        });
        judged
            .map_err(|error| Failed::from(error.to_string()))?
            .join()
            .map_err(|_| Failed::from("the suite itself failed"))?
    })
}

fn concluded(result: &VectorResult, ledger: &Ledger) -> Result<Completion, Failed> {
    match result.outcome {
        Outcome::Pass | Outcome::Warn => Ok(Completion::Completed),
        Outcome::NotRun | Outcome::NotApplicable => {
            Ok(Completion::ignored_with(result.reason.clone().unwrap_or_default()))
        }
        Outcome::Fail | Outcome::Error => Err(Failed::from(explained(result, ledger))),
    }
}

fn explained(result: &VectorResult, ledger: &Ledger) -> String {
    let head = format!("{}: {}", result.outcome.name(), result.reason.as_deref().unwrap_or_default());
    let mut text = cetp_reports::text::safe(&head);
    for finding in engine::findings(result) {
        text.push('\n');
        text += &cetp_reports::text::finding(finding, ledger);
    }
    text
}
