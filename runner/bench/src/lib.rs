//! What the benches share. Each bench compares two things in one run and prints their ratio, as figures of different runs,
//! machines or loads say nothing about each other.

use cetp_conformance::builtin;
use cetp_runner::adapter::{Adapter, Session};
use cetp_runner::engine::{Options, Run, VectorResult, describe};
use cetp_vectors::judge::Outcome;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use cetp_vectors::protocol::Describe;
use serde_json::Value as Json;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use tempfile::NamedTempFile;

/// Runs a bench, on a stack as the suite's own program has it. The executable of a bench is that program too, so that the
/// targets which it starts are built as it is.
///
/// # Panics
/// The bench does.
pub fn bench(run: impl FnOnce() + Send + 'static) -> ExitCode {
    cetp_runner::guard::run_if_asked();
    if std::env::args().nth(1).is_some_and(|word| word == "reference" || word == "run") {
        return cetp_conformance::main();
    }
    let thread = std::thread::Builder::new().stack_size(cetp_runner::limits::STACK_BYTES).spawn(run);
    thread.expect("a thread").join().expect("a bench that comes to its end");
    ExitCode::SUCCESS
}

/// The suite's own program: this executable, see [`bench`].
///
/// # Panics
/// It has no path that can be written.
pub fn program() -> String {
    std::env::current_exe().expect("an executable").to_str().expect("a path").to_owned()
}

/// The mean time of a benchmark that has just run, in nanoseconds.
/// Nothing where a filter left it out.
pub fn mean_ns(group: &str, name: &str) -> Option<f64> {
    let folder = std::env::var_os("CRITERION_HOME").map(PathBuf::from).unwrap_or_else(|| {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
        target.join("criterion")
    });
    let path = folder.join(group).join(name).join("new/estimates.json");
    let text = std::fs::read(path).ok()?;
    serde_json::from_slice::<Json>(&text).ok()?["mean"]["point_estimate"].as_f64()
}

/// Prints how many times longer one benchmark of a group takes than another.
pub fn ratio(group: &str, name: &str, other: &str, what: &str) {
    match (mean_ns(group, name), mean_ns(group, other)) {
        (Some(a), Some(b)) => println!("RATIO {group}: {name} / {other} = {:.2} ({what})", a / b),
        _ => println!("RATIO {group}: {name} / {other} was not measured"),
    }
}

/// The adapter of a target named as on the command line; `guard` is an executable that serves as one.
///
/// # Panics
/// There is no such target.
pub fn adapter(name: &str) -> Box<dyn Adapter> {
    builtin::opener(false).open(name).expect("a target").adapter
}

/// A target that was asked what it is.
pub struct Target {
    /// What starts it.
    pub adapter: Box<dyn Adapter>,
    /// What it says of itself.
    pub json: Json,
    /// The same, read.
    pub described: Describe,
    /// The session in which it was asked.
    pub session: Option<Box<dyn Session>>,
    interrupted: AtomicBool,
    options: Options,
}

impl Target {
    /// Starts and asks.
    ///
    /// # Panics
    /// It does not start.
    pub fn new(adapter: Box<dyn Adapter>) -> Target {
        let (session, json, described) = describe(adapter.as_ref()).expect("a target");
        let (interrupted, options) = (AtomicBool::new(false), Options::default());
        Target { adapter, json, described, session: Some(session), interrupted, options }
    }

    /// Runs one vector, which passes.
    ///
    /// # Panics
    /// It does not pass.
    pub fn pass(&mut self, vector: &Vector) -> VectorResult {
        let mut session = self.session.take();
        let result = self.run(&[vector], &self.options).one(vector, &mut session);
        self.session = session;
        assert_eq!(result.outcome, Outcome::Pass, "{result:?}");
        result
    }

    /// Runs many vectors on several threads; none falls short.
    ///
    /// # Panics
    /// One does.
    pub fn all(&mut self, vectors: &[&Vector], threads: usize) -> Vec<VectorResult> {
        let first = self.session.take().unwrap_or_else(|| describe(self.adapter.as_ref()).expect("a target").0);
        let options = Options { threads, ..Options::default() };
        let results = self.run(vectors, &options).run(first, &mut |_| ());
        if let Some(short) = results.iter().find(|result| result.falls_short()) {
            panic!("{}: {:?}", short.vector, short.reason);
        }
        results
    }

    fn run<'r>(&'r self, vectors: &'r [&'r Vector], options: &'r Options) -> Run<'r> {
        Run {
            vectors,
            adapter: self.adapter.as_ref(),
            target_json: &self.json,
            target: &self.described,
            options,
            interrupted: &self.interrupted,
        }
    }
}

/// The provider vectors of a catalogue.
pub fn providers(catalogue: &Catalogue) -> Vec<&Vector> {
    catalogue.vectors.iter().filter(|v| v.suite == "cetp-v2" && v.role == Role::Provider).collect()
}

/// A file of vectors.
///
/// # Panics
/// It cannot be written.
pub fn file(vectors: &[Json]) -> NamedTempFile {
    let file = tempfile::Builder::new().suffix(".json").tempfile().expect("a file");
    let json = serde_json::json!({ "format": "cetp-vectors/1", "suite": "cetp-v2", "vectors": vectors });
    std::fs::write(file.path(), json.to_string()).expect("it can be written");
    file
}

/// The vectors of a file, which is read like any other.
///
/// # Panics
/// It is no such file.
pub fn catalogue(vectors: &[Json]) -> Catalogue {
    Catalogue::from_path(file(vectors).path()).unwrap_or_else(|error| panic!("{error}"))
}

/// A vector of so many calls.
pub fn calls(id: usize, times: u64) -> Json {
    serde_json::json!({
        "id": format!("cetp2/provider/0/bench-{id:05}"), "title": "Calls", "role": "provider", "level": "core",
        "requirements": ["CETP2-4.2-01"], "tools": ["fixture_echo"],
        "steps": [
            { "call": "negotiate", "offer": [], "save": "s", "expect": ["negotiated"] },
            { "repeat": [
                { "call": "execute_tool", "session": "s", "tool": "fixture_echo", "args": { "value": "hello" }, "expect": [
                    "done",
                    { "requirement": "CETP2-4.2-01", "that": "${reply.data}", "is": { "kind": "inline", "value": { "value": "hello" } } }
                ] }
            ], "times": times },
        ],
    })
}
