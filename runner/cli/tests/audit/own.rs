//! The tools of this project: what is found there is accepted, with reasons, in `accepted.toml`.

use crate::command::program;
use cetp_vectors::contract;
use serde_json::Value as Json;
use std::path::Path;

/// Every entry of the list holds for each of them, and nothing else is found.
#[test]
fn what_is_found_in_the_fixture_is_accepted() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let accepted = here.join("tests/audit/accepted.toml").display().to_string();
    let fixture = here.join("../../vectors/fixture/fixture-tools.json").display().to_string();
    let python = here.join("../../examples/python-provider/target.toml").display().to_string();
    for (source, hidden) in [
        (vec!["--target", "builtin:provider"], true),
        (vec!["--target", "builtin:provider-v2-only"], true),
        (vec!["--target", python.as_str()], true),
        (vec![fixture.as_str()], false),
    ] {
        let text = std::fs::read_to_string(&accepted).unwrap();
        // The fixture's file has a tool that no caller is shown.
        let (head, _) = text.split_once("# Only in the file").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("accepted.toml");
        std::fs::write(&list, if hidden { head.to_owned() } else { text.clone() }).unwrap();
        let list = list.display().to_string();
        let mut arguments = vec!["audit", "--deny", "hint", "--accept", &list];
        arguments.extend(&source);
        let output = program(&arguments);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{source:?}\n{said}{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The grades of the fixture are what its annotations say.
#[test]
fn the_fixture_is_graded() {
    let output = program(&["audit", "--target", "builtin:provider", "--json", "-"]);
    let audit: Json = serde_json::from_slice(&output.stdout).unwrap();
    let tools = audit["providers"][0]["tools"].as_array().unwrap();
    let grade = |name: &str| tools.iter().find(|tool| tool["tool"] == name).unwrap()["grade"].clone();
    assert_eq!(grade("fixture_echo"), "T1");
    assert_eq!(grade("fixture_append"), "T2");
    assert_eq!(grade("fixture_transfer"), "T4");
    assert!(contract::ledger().grades.contains_key("T4"));
}

/// A provider whose v1 lists what writes, and one whose schemas are no good.
#[test]
fn faults_of_the_reference_are_found() {
    let found = |target: &str| {
        let output = program(&["audit", "--target", target, "--json", "-"]);
        let audit: Json = serde_json::from_slice(&output.stdout).unwrap();
        let findings = audit["findings"].as_array().unwrap().clone();
        findings.into_iter().filter(|f| f["severity"] == "finding").collect::<Vec<Json>>()
    };
    let v1 = found("builtin:provider+v1_lists_writes");
    assert!(v1.iter().any(|f| f["requirement"] == "TC-07" && f["tool"] == "fixture_append (v1)"), "{v1:#?}");
}
