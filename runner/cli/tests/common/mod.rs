//! What tests of whole suites share: running vectors against a target. The main function is [`run`].

use cetp_runner::adapter::Adapter;
use cetp_runner::engine::{Options, Run, VectorResult, describe};
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use std::sync::atomic::AtomicBool;

/// Runs vectors against a target that an adapter starts.
pub fn run(vectors: &[&Vector], adapter: &dyn Adapter) -> Vec<VectorResult> {
    let (session, target_json, target) = describe(adapter).unwrap();
    let options = Options { threads: 2, ..Options::default() };
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
