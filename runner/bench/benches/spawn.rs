//! A provider of `aw-provider` started for one message, under its guard and with every limit, against starting and reaping
//! the same program bare.
//!
//! The two are done in turn and the median of each is compared: what the machine does meanwhile then falls on both.

use cetp_runner::adapter::{Adapter, Incoming, Session};
use cetp_runner::guard::Program;
use cetp_runner::limits::Limits;
use cetp_runner::profile::Profile;
use cetp_runner::spawn::SpawnAdapter;
use cetp_vectors::ledger::Role;
use serde_json::json;
use std::io::{Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// What is written to each; too little for any program to take its time over.
const MESSAGE: &str = "{\"method\":\"describe\"}";

const ROUNDS: usize = 300;

fn main() -> ExitCode {
    cetp_bench::bench(|| {
        // The cheapest program that there is, and two that a provider may be.
        compare("cat", &["cat"]);
        compare("the reference", &[&cetp_bench::program(), "reference", "aw-provider"]);
        compare("Python", &["python3", "-c", "import json, sys; json.load(sys.stdin); print('{}')"]);
    })
}

fn compare(name: &str, command: &[&str]) {
    let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    // As the suite does it: nothing of the own environment but where programs lie.
    let path = std::env::var("PATH").unwrap_or_default();
    let environment = vec![("PATH".to_owned(), path)];
    let program = Program { command, directory: std::env::temp_dir(), environment };
    let adapter = SpawnAdapter {
        name: "bench".into(),
        version: "1".into(),
        program: program.clone(),
        profile: Profile::from_json(Role::Provider, &json!({})).unwrap(),
        limits: Limits::default(),
        guard: std::env::current_exe().unwrap(),
    };
    let mut session = adapter.start().unwrap();
    let (mut bare, mut suite) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(timed(|| alone(&program)));
        suite.push(timed(|| exchange(session.as_mut())));
    }
    session.end();
    let (bare, suite) = (median(bare), median(suite));
    println!(
        "RATIO spawn: {name}: suite / bare = {:.2} ({:.2} ms and {:.2} ms; at most 1.3 was the aim)",
        suite.as_secs_f64() / bare.as_secs_f64(),
        suite.as_secs_f64() * 1e3,
        bare.as_secs_f64() * 1e3
    );
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Starts it, writes, reads both outputs to their ends and reaps.
fn alone(program: &Program) {
    let (name, arguments) = program.command.split_first().unwrap();
    let mut child = Command::new(name)
        .args(arguments)
        .current_dir(&program.directory)
        .env_clear()
        .envs(program.environment.iter().cloned())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses such a message may have ended by now.
    let _ = child.stdin.take().unwrap().write_all(MESSAGE.as_bytes());
    let mut output = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut output).unwrap();
    child.stderr.take().unwrap().read_to_end(&mut output).unwrap();
    child.wait().unwrap();
    assert!(!output.is_empty());
}

fn exchange(session: &mut dyn Session) {
    session.send("aw.spawn", &json!({ "stdin": MESSAGE })).unwrap();
    loop {
        match session.receive(Duration::from_secs(10)).unwrap() {
            Some(Incoming::Answer { result, .. }) => {
                let result = result.unwrap();
                assert!(result["stdout"]["bytes"] != 0 || result["stderr"]["bytes"] != 0, "{result}");
                return;
            }
            Some(other) => panic!("{other:?}"),
            None => {}
        }
    }
}
