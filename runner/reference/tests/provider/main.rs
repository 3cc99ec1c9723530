//! The ledger, family by family, against the provider in process. Each probe is a test of its own; together they also
//! show that every leeway is within what the ledger allows and that every fault is noticed under its requirement.

mod concurrency;
mod confirmation;
mod crashes;
mod describing;
mod executing;
mod identity;
mod negotiation;
mod operations;
mod results;
mod rig;
mod v1;

use cetp_reference::switches::{Fault, Leeway};
use rig::{Probe, Rig};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn probes() -> impl Iterator<Item = &'static Probe> {
    [
        concurrency::PROBES,
        confirmation::PROBES,
        crashes::PROBES,
        describing::PROBES,
        executing::PROBES,
        identity::PROBES,
        negotiation::PROBES,
        operations::PROBES,
        results::PROBES,
        v1::PROBES,
    ]
    .into_iter()
    .flatten()
}

thread_local! {
    /// A probe that is expected to fail says nothing.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

fn passes(probe: &Probe, rig: &Rig) -> bool {
    QUIET.set(true);
    let passed = catch_unwind(AssertUnwindSafe(|| {
        rig.reset();
        (probe.run)(rig);
    }))
    .is_ok();
    QUIET.set(false);
    passed
}

fn be_quiet_when_asked() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                usual(panic);
            }
        }));
    });
}

/// A target for dual-stack probes and one for those of v2-only targets.
fn rigs(switches: &[&str]) -> [Rig; 2] {
    [Rig::new(false, switches), Rig::new(true, switches)]
}

#[test]
fn a_reset_makes_the_target_new() {
    let rigs = rigs(&[]);
    for _ in 0..2 {
        for probe in probes() {
            let rig = &rigs[usize::from(probe.v2_only)];
            rig.reset();
            (probe.run)(rig);
        }
    }
}

#[test]
fn every_leeway_passes_every_probe() {
    be_quiet_when_asked();
    let mut failed = Vec::new();
    for (info, _) in Leeway::ALL {
        let rigs = rigs(&[info.name]);
        for probe in probes() {
            if !passes(probe, &rigs[usize::from(probe.v2_only)]) {
                failed.push(format!("{} under {}", probe.name, info.name));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The first fault that probes need not notice. It and those after it are proved by the suite's vectors, which say the same
/// as probes would: `cetp-conformance mutants` is the proof of record, and fails on a fault that no vector kills.
const FIRST_PROVED_BY_VECTORS: &str = "secret_writes";

#[test]
fn every_fault_is_noticed_under_its_requirement() {
    be_quiet_when_asked();
    let mut survivors = Vec::new();
    for (info, _) in Fault::ALL.iter().take_while(|(info, _)| info.name != FIRST_PROVED_BY_VECTORS) {
        let rigs = rigs(&[info.name]);
        let mut meant = probes().filter(|probe| probe.requirements.contains(&info.rests_on));
        if meant.all(|probe| passes(probe, &rigs[usize::from(probe.v2_only)])) {
            survivors.push(format!("{} ({})", info.name, info.rests_on));
        }
    }
    assert!(survivors.is_empty(), "{survivors:#?}");
}

#[test]
fn every_requirement_of_a_provider_has_a_probe() {
    let ledger = include_str!("../../../../vectors/requirements/cetp-v2.json");
    let ledger: serde_json::Value = serde_json::from_str(ledger).unwrap();
    let missing: Vec<_> = ledger["requirements"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["role"] != "consumer" && row["judged_by"] == "vector")
        .filter_map(|row| row["id"].as_str())
        .filter(|id| !probes().any(|probe| probe.requirements.contains(id)))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn probes_name_requirements_that_exist() {
    let ledger = include_str!("../../../../vectors/requirements/cetp-v2.json");
    for probe in probes() {
        for id in probe.requirements {
            assert!(ledger.contains(&format!("\"{id}\"")), "{}: {id}", probe.name);
        }
    }
}
