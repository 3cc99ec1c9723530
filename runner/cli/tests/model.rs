//! The reference is checked against the model of the specification: it passes what random ways through the model expect, and
//! with a fault it does not.

mod common;

use cetp_conformance::builtin;
use cetp_conformance::fuzz::campaign::Dice;
use cetp_runner::engine::VectorResult;
use cetp_vectors::judge::Outcome;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::spec::explore::{FOCUSES, Focus};
use cetp_vectors::spec::render::Script;
use common::{run, vectors_of};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// Ways of each part of the model.
const WAYS: u64 = 24;
/// The longest way.
const LONGEST: usize = 14;

/// A vector of a random way, and the kinds of its transitions.
fn way(focus: &Focus, number: u64, labels: &mut BTreeSet<String>) -> Json {
    let mut dice = Dice::new(number + 1);
    let mut script = Script::default();
    let mut taken = 0;
    // Much of what could be done is nothing that the model follows.
    for _ in 0..4000 {
        let actions = focus.actions(script.state());
        let action = actions[dice.below(actions.len())];
        // Sessions come and go seldom, or nothing else would happen.
        let is_rare = matches!(action, cetp_vectors::spec::Action::Negotiate { .. }) && taken > 1 && dice.below(4) > 0;
        if !is_rare && let Some(step) = script.act(action) {
            labels.insert(step.label);
            taken += 1;
            if taken == LONGEST {
                break;
            }
        }
    }
    script.finish(&format!("cetp2/provider/6/way-{}-{number}", focus.name), "A way through the model")
}

/// All ways, as a catalogue; and how many kinds of transitions they take.
fn ways() -> (Catalogue, usize) {
    let mut labels = BTreeSet::new();
    let mut vectors = Vec::new();
    for focus in FOCUSES {
        vectors.extend((0..WAYS).map(|number| way(focus, number, &mut labels)));
    }
    let file = json!({ "format": "cetp-vectors/1", "suite": "cetp-v2", "vectors": vectors });
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("ways.json");
    std::fs::write(&place, file.to_string()).unwrap();
    (Catalogue::from_path(&place).unwrap_or_else(|error| panic!("{error}")), labels.len())
}

fn played(catalogue: &Catalogue, target: &str) -> Vec<VectorResult> {
    let vectors = vectors_of(catalogue, "cetp-v2", Role::Provider);
    run(&vectors, builtin::opener(true).open(target).unwrap().adapter.as_ref())
}

#[test]
fn the_reference_goes_every_way_of_the_model() {
    let (catalogue, kinds) = ways();
    assert!(kinds > 80, "only {kinds} kinds of transitions are taken");
    let others: Vec<String> = played(&catalogue, "builtin:provider")
        .iter()
        .filter(|r| r.outcome != Outcome::Pass)
        .map(|r| format!("{} {}: {}", r.outcome.name(), r.vector, r.reason.as_deref().unwrap_or_default()))
        .collect();
    assert!(others.is_empty(), "{}", others.join("\n"));
}

#[test]
fn a_broken_reference_does_not() {
    let (catalogue, _) = ways();
    for fault in ["not_deduplicated", "early_resume_runs"] {
        let results = played(&catalogue, &format!("builtin:provider+{fault}"));
        assert!(results.iter().any(|r| r.outcome == Outcome::Fail), "{fault} goes every way of the model");
    }
}
