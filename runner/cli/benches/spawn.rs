//! What the guard costs: a program that is started and reaped bare, and the same through the guard with its outputs read and
//! nothing left behind.
//!
//! ```sh
//! cargo bench -p cetp-conformance --bench spawn
//! ```

#![allow(missing_docs, reason = "criterion's macros write a function without")]

use cetp_runner::exchange::{Ended, Exchange, Terms};
use cetp_runner::guard::{Guard, Program};
use criterion::{Criterion, criterion_group, criterion_main};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A request as providers get them.
const REQUEST: &[u8] = br#"{"api_version":"aw-provider/v1alpha1","method":"describe","request_id":"bench"}"#;

fn bare(program: &str) -> Output {
    let mut child = Command::new(program)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is there");
    // A program that does not read is none the worse.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(REQUEST));
    child.wait_with_output().expect("it ends")
}

fn guarded(guard: &mut Guard, program: &Program) -> Ended {
    let terms = Terms {
        stdin: REQUEST.to_vec(),
        pause: None,
        limit: Duration::from_secs(60),
        stdout_bytes: 1 << 20,
        stderr_bytes: 1 << 20,
        stderr_kept: 1 << 10,
    };
    let mut exchange = Exchange::start(guard, program, terms).expect("the program starts");
    loop {
        let until = Instant::now() + Duration::from_secs(60);
        if let Some(ended) = exchange.turn(guard, until, &mut || ()).expect("the guard is there") {
            return ended;
        }
    }
}

fn spawn(criterion: &mut Criterion) {
    let mut guard = Guard::new(Path::new(env!("CARGO_BIN_EXE_cetp-conformance"))).expect("the guard starts");
    for name in ["/bin/true", "/bin/cat"] {
        let program = Program { command: vec![name.to_owned()], directory: "/".into(), environment: Vec::new() };
        let mut group = criterion.benchmark_group(name.trim_start_matches("/bin/"));
        group.bench_function("bare", |bencher| bencher.iter(|| bare(name)));
        group.bench_function("guarded", |bencher| bencher.iter(|| guarded(&mut guard, &program)));
        group.finish();
    }
}

criterion_group!(benches, spawn);
criterion_main!(benches);
