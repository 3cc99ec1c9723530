//! What tests of whole suites share: running vectors against a target. The main function is [`run`].

#![allow(dead_code, reason = "each test uses what it needs")]

use cetp_runner::adapter::Adapter;
use cetp_runner::engine::{Options, Run, VectorResult, describe};
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use std::sync::atomic::AtomicBool;

/// Runs vectors against a target that an adapter starts, two at the same time.
pub fn run(vectors: &[&Vector], adapter: &dyn Adapter) -> Vec<VectorResult> {
    run_on(2, vectors, adapter)
}

/// Runs vectors, as many at the same time as there are threads.
pub fn run_on(threads: usize, vectors: &[&Vector], adapter: &dyn Adapter) -> Vec<VectorResult> {
    let (session, target_json, target) = describe(adapter).unwrap();
    let options = Options { threads, ..Options::default() };
    let interrupted = AtomicBool::new(false);
    let run = Run {
        vectors,
        adapter,
        target_json: &target_json,
        target: &target,
        options: &options,
        interrupted: &interrupted,
    };
    run.run(session, &mut |_| ())
}

/// The vectors of a suite for one role.
pub fn vectors_of<'c>(catalogue: &'c Catalogue, suite: &str, role: Role) -> Vec<&'c Vector> {
    catalogue.vectors.iter().filter(|v| v.suite == suite && v.role == role).collect()
}

/// Values of vectors and targets may be nested deeply, and a test's thread is small.
pub fn on_a_large_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(cetp_runner::limits::STACK_BYTES).spawn(work).unwrap();
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
