//! The reference passes every vector, in process and over stdio, and does the same in both.

mod common;

use cetp_conformance::builtin;
use cetp_runner::engine::VectorResult;
use cetp_runner::target::Target;
use cetp_vectors::judge::Outcome;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use cetp_vectors::normalise::normalise;
use common::{on_a_large_stack, run, vectors_of};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn open(name: &str) -> Target {
    let mut opener = builtin::opener(true);
    opener.guard = env!("CARGO_BIN_EXE_cetp-conformance").into();
    opener.open(name).unwrap()
}

fn stdio_reference(options: &str) -> String {
    format!("stdio:{} reference {options}", env!("CARGO_BIN_EXE_cetp-conformance"))
}

/// Every vector passes, but for those that are about a provider of another kind.
fn assert_all_pass(results: &[VectorResult], what: &str) {
    let others: Vec<String> = results
        .iter()
        .filter(|r| !matches!(r.outcome, Outcome::Pass | Outcome::NotApplicable))
        .map(|r| format!("{} {}: {}", r.outcome.name(), r.vector, r.reason.as_deref().unwrap_or_default()))
        .collect();
    assert!(others.is_empty(), "{what}:\n{}", others.join("\n"));
    assert!(results.iter().any(|r| r.outcome == Outcome::Pass), "{what}: nothing passed");
}

#[test]
fn the_provider_does_the_same_in_process_and_over_stdio() {
    on_a_large_stack(|| does_the_same(Role::Provider));
}

#[test]
fn the_consumer_does_the_same_in_process_and_over_stdio() {
    on_a_large_stack(|| does_the_same(Role::Consumer));
}

fn does_the_same(role: Role) {
    let catalogue = Catalogue::embedded();
    let vectors = vectors_of(&catalogue, "cetp-v2", role);
    let in_process = run(&vectors, open(&format!("builtin:{}", role.name())).adapter.as_ref());
    let over_stdio = run(&vectors, open(&stdio_reference(role.name())).adapter.as_ref());
    assert_all_pass(&in_process, "in process");
    assert_all_pass(&over_stdio, "over stdio");
    let mut differ = Vec::new();
    for (a, b) in in_process.iter().zip(&over_stdio) {
        assert_eq!(a.vector, b.vector);
        let vector = catalogue.get(&a.vector).unwrap();
        // What is judged not applicable to one of them has no transcript to compare; a race may go either way.
        let race = vector.has_flag("race");
        if race || [a, b].iter().any(|r| r.outcome == Outcome::NotApplicable) {
            continue;
        }
        let view = |r: &VectorResult| {
            let normal = r.transcript.as_ref().map(|t| normalise(vector, t));
            serde_json::to_string_pretty(&normal).unwrap()
        };
        let (in_process, over_stdio) = (view(a), view(b));
        if in_process != over_stdio {
            let diff = similar::TextDiff::from_lines(&in_process, &over_stdio);
            differ.push(format!("{}:\n{}", a.vector, diff.unified_diff().header("in process", "over stdio")));
        }
    }
    assert!(differ.is_empty(), "{} transcripts differ\n{}", differ.len(), differ.join("\n"));
}

#[test]
fn a_provider_of_version_2_alone_passes_as_well() {
    let catalogue = Catalogue::embedded();
    let vectors = vectors_of(&catalogue, "cetp-v2", Role::Provider);
    assert_all_pass(&run(&vectors, open("builtin:provider-v2-only").adapter.as_ref()), "in process");
    assert_all_pass(&run(&vectors, open(&stdio_reference("provider --v2-only")).adapter.as_ref()), "over stdio");
}

#[test]
fn the_python_provider_passes_as_well() {
    let catalogue = Catalogue::embedded();
    let vectors = vectors_of(&catalogue, "cetp-v2", Role::Provider);
    let file = root().join("examples/python-provider/target.toml");
    assert_all_pass(&run(&vectors, open(&file.display().to_string()).adapter.as_ref()), "python-provider");
}

#[test]
fn a_consumer_without_optional_capabilities_passes_as_well() {
    let catalogue = Catalogue::embedded();
    let vectors = vectors_of(&catalogue, "cetp-v2", Role::Consumer);
    assert_all_pass(&run(&vectors, open("builtin:consumer-core").adapter.as_ref()), "in process");
}

#[test]
fn the_python_consumer_passes_as_well() {
    let catalogue = Catalogue::embedded();
    let vectors = vectors_of(&catalogue, "cetp-v2", Role::Consumer);
    let file = root().join("examples/python-consumer/target.toml");
    assert_all_pass(&run(&vectors, open(&file.display().to_string()).adapter.as_ref()), "python-consumer");
}

#[test]
fn the_manuals_examples_pass() {
    let manual = std::fs::read_to_string(root().join("docs/vector-format.md")).unwrap();
    let blocks: Vec<&str> =
        manual.split("```json vector\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 4, "the manual has lost its examples");
    let file = format!("{{\"format\":\"cetp-vectors/1\",\"suite\":\"cetp-v2\",\"vectors\":[{}]}}", blocks.join(","));
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("manual.json");
    std::fs::write(&place, file).unwrap();
    let catalogue = Catalogue::from_path(&place).unwrap_or_else(|error| panic!("{error}"));
    let consumer = root().join("examples/python-consumer/target.toml").display().to_string();
    for (role, target) in [(Role::Provider, "builtin:provider"), (Role::Consumer, consumer.as_str())] {
        let vectors: Vec<&Vector> = catalogue.vectors.iter().filter(|v| v.role == role).collect();
        let results = run(&vectors, open(target).adapter.as_ref());
        assert!(!results.is_empty() && results.iter().all(|r| r.outcome == Outcome::Pass), "{results:#?}");
    }
}
