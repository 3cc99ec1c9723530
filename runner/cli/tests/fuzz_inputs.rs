//! Inputs of the fuzz targets, played without a fuzzer: what is kept in `fuzz/inputs/TARGET`, and what lies in the suite.

mod common;

use cetp_conformance::fuzz::blind;
use cetp_conformance::fuzz::targets::{self, TARGETS};
use common::on_a_large_stack;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    out.sort();
    out
}

#[test]
fn each_target_takes_the_kept_inputs() {
    on_a_large_stack(|| {
        for (name, target) in TARGETS {
            let folder = root().join("fuzz/inputs").join(name);
            let inputs = files(&folder);
            assert!(!inputs.is_empty(), "{} holds no input", folder.display());
            for input in inputs {
                target(&std::fs::read(input).unwrap());
            }
        }
    });
}

/// Without coverage to lead it, but with nothing to build: each target for so many seconds as FUZZ_SECONDS says.
#[test]
#[allow(clippy::print_stdout, reason = "how many inputs were played is worth reading")]
fn each_target_takes_changed_inputs() {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(0.1);
    let work = move || {
        while let Some((name, target)) = TARGETS.get(NEXT.fetch_add(1, Ordering::Relaxed)) {
            let inputs = files(&root().join("fuzz/inputs").join(name));
            let inputs: Vec<Vec<u8>> = inputs.iter().map(|path| std::fs::read(path).unwrap()).collect();
            let kept = std::env::temp_dir().join(format!("fuzz-{name}-{}", std::process::id()));
            let play = || blind::play(*target, &inputs, Duration::from_secs_f64(seconds), &kept).unwrap();
            match std::panic::catch_unwind(std::panic::AssertUnwindSafe(play)) {
                Ok(played) => println!("{name}: {played} inputs"),
                Err(_) => panic!("{name} does not take {}", kept.display()),
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(|| on_a_large_stack(work)))));
}

#[test]
fn each_target_takes_nothing_and_noise() {
    on_a_large_stack(|| {
        for (_, target) in TARGETS {
            for input in [&b""[..], b"\0", b"\xff\xfe\x80", b"{", b"[[[[", b"null", b"{\"a\":1,\"a\":2}", &[7; 40]] {
                target(input);
            }
        }
    });
}

/// The tables hold messages as texts; of what is longer, parts are put together.
#[test]
fn targets_of_aw_provider_take_the_tables() {
    on_a_large_stack(|| {
        let read = |name: &str| -> Json {
            let path = root().join("vectors/aw-provider-v1alpha1/tables").join(name);
            serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
        };
        let cases = |table: &Json| table["cases"].as_array().unwrap().clone();
        let mut played = 0;
        for case in cases(&read("requests.json")) {
            if let Some(text) = case["text"].as_str() {
                targets::aw_request(text.as_bytes());
                played += 1;
            }
        }
        let responses = read("responses.json");
        for case in cases(&responses) {
            let request = responses["requests"][case["to"].as_str().unwrap()].as_str().unwrap();
            if let Some(text) = case["text"].as_str() {
                targets::aw_response(format!("{request}\n{text}").as_bytes());
                played += 1;
            }
        }
        for case in cases(&read("admission.json")) {
            targets::aw_admission(case["case"].to_string().as_bytes());
            played += 1;
        }
        assert!(played > 300, "{played}");
    });
}

#[test]
fn every_target_is_a_target_of_the_fuzzer() {
    let mut found: Vec<String> = files(&root().join("fuzz/fuzz_targets"))
        .iter()
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    let mut known: Vec<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    found.sort();
    known.sort();
    assert_eq!(found, known);
}
