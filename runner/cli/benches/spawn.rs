//! What the guard costs: a program that is started and reaped bare, and the same through the guard, with its outputs read and
//! nothing left behind. Both are measured in turn, so that what else the machine does falls on both alike.
//!
//! ```sh
//! cargo bench -p cetp-conformance --bench spawn
//! ```

#![allow(clippy::print_stdout, reason = "a bench tells its figures")]

use cetp_runner::exchange::{Ended, Exchange, Terms};
use cetp_runner::guard::{Guard, Program};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A request as providers get them.
const REQUEST: &[u8] = br#"{"api_version":"aw-provider/v1alpha1","method":"describe","request_id":"bench"}"#;

/// Pairs of measurements of each program.
const ROUNDS: usize = 500;

fn main() {
    // `cargo test` builds and starts benches as well, where nobody wants figures.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { ROUNDS } else { 3 };
    let mut guard = Guard::new(Path::new(env!("CARGO_BIN_EXE_cetp-conformance"))).expect("the guard starts");
    for name in ["/bin/true", "/bin/cat"] {
        let program = Program { command: vec![name.to_owned()], directory: "/".into(), environment: Vec::new() };
        let (mut alone, mut below) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            alone.push(timed(|| drop(bare(name))));
            below.push(timed(|| drop(guarded(&mut guard, &program))));
        }
        let ([a25, a50, a75], [b25, b50, b75]) = (quartiles(alone), quartiles(below));
        println!("{name}, quartiles of {rounds}: bare {a25} {a50} {a75} us, guarded {b25} {b50} {b75} us");
        println!("{name}, guarded / bare: {:.2} (medians)", b50 as f64 / a50 as f64);
    }
}

fn timed(work: impl FnOnce()) -> u128 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_micros()
}

fn quartiles(mut figures: Vec<u128>) -> [u128; 3] {
    figures.sort_unstable();
    [1, 2, 3].map(|quarter| figures[figures.len() * quarter / 4])
}

fn bare(program: &str) -> Output {
    let mut child = Command::new(program)
        .env_clear()
        .current_dir("/")
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
