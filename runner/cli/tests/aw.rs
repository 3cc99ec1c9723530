//! The references of `aw-provider` and the Python provider pass every vector, in this process and as programs; and the
//! adapter `spawn` sees what a program does.

mod common;

use cetp_conformance::{builtin, builtin_aw};
use cetp_runner::adapter::Adapter;
use cetp_runner::engine::VectorResult;
use cetp_runner::exchange::{Ended, Exchange, Terms};
use cetp_runner::guard::{Exit, Guard, Program};
use cetp_runner::limits::Limits;
use cetp_runner::spawn::SpawnAdapter;
use cetp_vectors::aw::SUITE;
use cetp_vectors::judge::Outcome;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use common::{run, vectors_of};
use std::path::Path;
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_cetp-conformance");

fn builtin_target(name: &str) -> Box<dyn Adapter> {
    builtin::reference(name, &[], Limits::default(), Path::new(PROGRAM)).unwrap()
}

/// Every vector passes; those of a level that is not claimed are not applicable, and nothing else is.
fn assert_all_pass(vectors: &[&Vector], results: &[VectorResult], core_only: bool, what: &str) {
    assert_eq!(vectors.len(), results.len());
    let others: Vec<String> = vectors
        .iter()
        .zip(results)
        .filter(|(vector, result)| {
            let of_core = vector.level == "core" && vector.capabilities.is_empty();
            let wanted = if core_only && !of_core { Outcome::NotApplicable } else { Outcome::Pass };
            result.outcome != wanted
        })
        .map(|(_, r)| format!("{} {}: {}", r.outcome.name(), r.vector, r.reason.as_deref().unwrap_or_default()))
        .collect();
    assert!(others.is_empty(), "{what}:\n{}", others.join("\n"));
}

#[test]
fn the_references_pass() {
    let catalogue = Catalogue::embedded();
    for name in builtin_aw::NAMES {
        let vectors = vectors_of(&catalogue, SUITE, builtin_aw::role(name).unwrap());
        assert!(vectors.len() > 20, "{name}");
        let results = run(&vectors, builtin_target(name).as_ref());
        assert_all_pass(&vectors, &results, name.ends_with("-core"), name);
    }
}

/// As programs they do the same as in this process.
#[test]
fn the_programs_do_the_same() {
    let catalogue = Catalogue::embedded();
    for (role, words) in
        [(Role::Provider, &["reference", "aw-provider"][..]), (Role::Admission, &["reference", "aw-admission"])]
    {
        let adapter = SpawnAdapter {
            name: "program".into(),
            version: "1".into(),
            program: Program {
                command: std::iter::once(PROGRAM).chain(words.iter().copied()).map(str::to_owned).collect(),
                directory: std::env::temp_dir(),
                environment: Vec::new(),
            },
            profile: builtin_aw::profile(role, false).unwrap(),
            limits: Limits::default(),
            guard: PROGRAM.into(),
        };
        // What is watched is the folder, and others write into a temporary one.
        let vectors: Vec<&Vector> = vectors_of(&catalogue, SUITE, role)
            .into_iter()
            .filter(|v| !v.requirements.contains(&"AW1-P-46".to_owned()))
            .collect();
        assert_all_pass(&vectors, &run(&vectors, &adapter), false, words[1]);
    }
}

#[test]
fn the_python_provider_passes() {
    let catalogue = Catalogue::embedded();
    let vectors = vectors_of(&catalogue, SUITE, Role::Provider);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let mut opener = builtin::opener(false);
    opener.guard = PROGRAM.into();
    let target = opener.open(&root.join("examples/aw-policy-provider/target.toml").display().to_string()).unwrap();
    assert_eq!(target.role, Some(Role::Provider));
    assert_all_pass(&vectors, &run(&vectors, target.adapter.as_ref()), false, "python");
}

/// The reader of the Python provider refuses what the table of requests says, and nothing else.
#[test]
fn the_python_reader_agrees_with_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let test = root.join("examples/aw-policy-provider/test_messages.py");
    let output = std::process::Command::new("python3").arg(test).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("Ran 1 test"), "{said}");
}

/// Runs a shell script under a guard.
fn exchange(guard: &mut Guard, script: &str, stdin: &[u8], limit_ms: u64) -> Ended {
    let program = Program {
        command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        directory: std::env::temp_dir(),
        environment: vec![("PATH".into(), std::env::var("PATH").unwrap_or_default())],
    };
    let terms = Terms {
        stdin: stdin.to_vec(),
        pause: None,
        limit: Duration::from_millis(limit_ms),
        stdout_bytes: 1000,
        stderr_bytes: 10_000,
        stderr_kept: 100,
    };
    let mut exchange = Exchange::start(guard, &program, terms).unwrap();
    loop {
        let until = Instant::now() + Duration::from_secs(1);
        if let Some(ended) = exchange.turn(guard, until, &mut || ()).unwrap() {
            return ended;
        }
    }
}

/// Far more than anything here takes.
const LONG_MS: u64 = 60_000;

#[test]
fn one_guard_serves_many_programs() {
    let mut guard = Guard::new(Path::new(PROGRAM)).unwrap();
    for n in 0..20 {
        let text = format!("{{\"n\":{n}}}");
        let ended = exchange(&mut guard, "cat; echo err >&2; exit 3", text.as_bytes(), LONG_MS);
        assert_eq!(
            (ended.exit, ended.stdout, ended.stderr),
            (Some(Exit::Code(3)), text.into_bytes(), b"err\n".to_vec())
        );
        assert!(!ended.timed_out && !ended.refused && ended.held.is_empty() && ended.flooded.is_none());
    }
    assert_eq!(exchange(&mut guard, "kill -TERM $$", b"", LONG_MS).exit, Some(Exit::Signal(15)));
    let missing = Program { command: vec!["/no/such/program".into()], directory: "/".into(), environment: Vec::new() };
    let terms = Terms {
        stdin: Vec::new(),
        pause: None,
        limit: Duration::from_secs(1),
        stdout_bytes: 1,
        stderr_bytes: 1,
        stderr_kept: 1,
    };
    assert!(Exchange::start(&mut guard, &missing, terms).is_err());
    assert_eq!(exchange(&mut guard, "true", b"", LONG_MS).exit, Some(Exit::Code(0)), "it goes on after a failed start");
}

#[test]
fn outputs_have_their_own_caps() {
    let mut guard = Guard::new(Path::new(PROGRAM)).unwrap();
    let exact = exchange(&mut guard, "printf '%01000d' 0", b"", LONG_MS);
    assert_eq!((exact.stdout_bytes, exact.flooded), (1000, None));
    let more = exchange(&mut guard, "printf '%01001d' 0; sleep 100", b"", LONG_MS);
    assert_eq!((more.flooded, more.exit), (Some("stdout"), None));
    let errors = exchange(&mut guard, "yes >&2", b"", LONG_MS);
    assert_eq!(errors.flooded, Some("stderr"));
    assert!(errors.stderr.len() <= 100);
}

#[test]
fn what_hangs_or_holds_a_pipe_is_ended() {
    let mut guard = Guard::new(Path::new(PROGRAM)).unwrap();
    let hangs = exchange(&mut guard, "trap '' TERM; sleep 100", b"", 300);
    assert!(hangs.timed_out && hangs.exit.is_none());
    let file = tempfile::NamedTempFile::new().unwrap();
    let script = format!("sleep 100 & echo $! > {}; echo done", file.path().display());
    let held = exchange(&mut guard, &script, b"", 1000);
    assert_eq!((held.exit, held.held), (Some(Exit::Code(0)), vec!["stdout", "stderr"]));
    let pid = std::fs::read_to_string(file.path()).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "it is still there: {stat}");
}

#[test]
fn a_reader_that_leaves_is_noticed() {
    let mut guard = Guard::new(Path::new(PROGRAM)).unwrap();
    let left = exchange(&mut guard, "exit 0", &vec![b'x'; 1 << 20], LONG_MS);
    assert!(left.refused && left.stdin.1 < left.stdin.0);
    let read = exchange(&mut guard, "cat >/dev/null", &vec![b'x'; 1 << 20], LONG_MS);
    assert!(!read.refused && read.stdin == (1 << 20, 1 << 20));
}
