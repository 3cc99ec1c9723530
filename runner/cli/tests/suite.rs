//! What the vectors for providers have to be, beside right: complete, and provable by faults. That each fault is killed
//! and no leeway minded is shown by `cetp-conformance mutants`, which takes too long for a test and is a stage of CI.

use cetp_reference::switches::Fault;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn every_requirement_of_a_provider_is_judged_by_a_vector() {
    let program = env!("CARGO_BIN_EXE_cetp-conformance");
    let all = Command::new(program).args(["requirements", "--role", "provider"]).output().unwrap();
    assert!(String::from_utf8_lossy(&all.stdout).contains("CETP2-6-01"), "the ledger is there: {all:?}");
    let uncovered = Command::new(program).args(["requirements", "--uncovered", "--role", "provider"]).output().unwrap();
    assert!(uncovered.status.success(), "{uncovered:?}");
    assert_eq!(String::from_utf8_lossy(&uncovered.stdout), "", "requirements without a vector");
}

#[test]
fn every_requirement_of_a_provider_is_broken_by_a_fault() {
    let catalogue = Catalogue::embedded();
    let broken: BTreeSet<&str> = Fault::ALL.iter().map(|(info, _)| info.rests_on).collect();
    let judged = catalogue
        .ledger
        .iter()
        .filter(|row| row.suite == "cetp-v2" && row.role.binds(Role::Provider) && row.not_by_vector.is_none());
    let without: Vec<&str> = judged.map(|row| row.id.as_str()).filter(|id| !broken.contains(id)).collect();
    assert!(without.is_empty(), "no fault breaks {without:?}");
}
