//! Vectors of a provider's own tools: made from a provider that carries no fixture, passed by it, and failed by one that
//! takes what its schemas forbid.

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn program(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cetp-conformance")).args(arguments).output().unwrap()
}

/// A target file for the provider in this folder.
fn target(folder: &Path, loose: bool) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = here.join("tests/own_tools/provider.py");
    let examples = here.join("../../examples/python-provider").canonicalize().unwrap();
    let mut command = vec!["python3".to_owned(), script.display().to_string(), examples.display().to_string()];
    command.extend(loose.then(|| "--loose".to_owned()));
    let place = folder.join(if loose { "loose.toml" } else { "target.toml" });
    let text = format!("name = \"own-tools\"\nrole = \"provider\"\nadapter = \"stdio\"\ncommand = {command:?}\n");
    std::fs::write(&place, text).unwrap();
    place
}

fn made(target: &str, folder: &Path, more: &[&str]) -> (String, String) {
    let folder = folder.display().to_string();
    let arguments: Vec<&str> =
        ["vectors", "generate", "--from-target", target].iter().chain(more).copied().chain([&*folder]).collect();
    let output = program(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(Path::new(&folder).join("cetp-v2/provider/own-tools.json")).unwrap();
    (String::from_utf8(output.stdout).unwrap(), text)
}

#[test]
fn tools_with_effects_are_asked_for_and_those_that_need_the_user_are_never_called() {
    let folder = tempfile::tempdir().unwrap();
    let target = target(folder.path(), false).display().to_string();
    let (said, careful) = made(&target, &folder.path().join("careful"), &[]);
    assert!(said.contains("notes_add: it has effects") && said.contains("notes_wipe: it needs the user"), "{said}");
    assert!(careful.contains("notes_search") && !careful.contains("notes_add"), "{careful}");
    let (said, bold) = made(&target, &folder.path().join("bold"), &["--allow-effects"]);
    assert!(said.contains("notes_wipe: it needs the user") && !said.contains("it has effects"), "{said}");
    assert!(bold.contains("notes_add") && !bold.contains("notes_wipe"), "{bold}");
}

#[test]
fn a_provider_passes_the_vectors_of_its_own_tools_and_a_loose_one_fails() {
    let folder = tempfile::tempdir().unwrap();
    let (right, loose) = (target(folder.path(), false), target(folder.path(), true));
    let vectors = folder.path().join("vectors");
    let (_, text) = made(&right.display().to_string(), &vectors, &["--allow-effects"]);
    let file: Json = serde_json::from_str(&text).unwrap();
    assert_eq!(file["vectors"].as_array().map(Vec::len), Some(5), "an envelope, and two for each of two tools");
    let run = |target: &Path| {
        let (target, vectors) = (target.display().to_string(), vectors.display().to_string());
        program(&["run", "--target", &target, "--vectors", &vectors])
    };
    let passed = run(&right);
    assert!(passed.status.success(), "{}", String::from_utf8_lossy(&passed.stdout));
    let failed = run(&loose);
    let said = String::from_utf8_lossy(&failed.stdout).into_owned();
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(said.contains("CETP2-5-10") && said.contains("own-tool-0-arguments-that-break-the-schema"), "{said}");
}

/// The fixture has vectors of its own.
#[test]
fn tools_of_the_fixture_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (said, text) = made("builtin:provider", folder.path(), &["--allow-effects"]);
    assert!(said.contains("fixture_echo: it is of the fixture"), "{said}");
    assert!(text.contains("own-tools-envelope") && !text.contains("fixture_"), "{text}");
    let output = program(&["run", "--vectors", &folder.path().display().to_string()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
