//! Inputs of the fuzz targets, played without a fuzzer: what is kept in `fuzz/inputs/TARGET`, and what lies in the suite.

use cetp_conformance::fuzz::targets::TARGETS;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    out.sort();
    out
}

/// Values from targets are nested deeply, and a test's thread is small.
fn on_a_large_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(cetp_runner::limits::STACK_BYTES).spawn(work).unwrap();
    thread.join().unwrap();
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
