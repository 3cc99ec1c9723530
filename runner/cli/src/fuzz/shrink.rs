//! Making a plan that breaks a requirement small. The main function is [`shrink`].
//!
//! First items of the plan go, in ever smaller pieces, as the model can say anew what is answered; then steps of the vector,
//! and last values. What is left still breaks the requirement, each time that was tried.

use super::campaign::{Bench, broken};
use super::plan::Plan;
use super::probes::Probes;
use cetp_vectors::expr::sha256_hex;
use cetp_vectors::spec::render::assembled;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// Trials of one shrinking.
const MOST_TRIALS: usize = 400;

/// The smallest vector found that breaks the requirement.
pub fn shrink(plan: &Plan, requirement: &str, probes: &Probes, bench: &mut Bench<'_>) -> Option<Json> {
    let mut trials = 0;
    let mut breaks = |vector: &Json, bench: &mut Bench<'_>| {
        trials += 1;
        trials <= MOST_TRIALS && bench.run(vector).is_ok_and(|result| broken(&result).as_deref() == Some(requirement))
    };
    let mut plan = plan.clone();
    let mut size = plan.items.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < plan.items.len() {
            let fewer = plan.without(at, size);
            let smaller = fewer.vector(probes).filter(|_| !fewer.items.is_empty());
            if smaller.is_some_and(|vector| breaks(&vector, bench)) {
                plan = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    let vector = plan.vector(probes)?;
    let capabilities: BTreeSet<&'static str> = ["async_operations", "cancellation", "large_results"]
        .into_iter()
        .filter(|name| vector["capabilities"].to_string().contains(name) || vector["level"] == *name)
        .collect();
    let flags: BTreeSet<&'static str> =
        ["race", "restart"].into_iter().filter(|flag| vector["flags"].to_string().contains(flag)).collect();
    let remade = |steps: &[Json]| {
        let section = requirement.split('-').nth(1).unwrap_or("5");
        let digest = &sha256_hex(json!(steps).to_string().as_bytes())[..10];
        let id = format!("cetp2/provider/{section}/found-{digest}");
        assembled(
            &id,
            &format!("Found by a campaign: {requirement} is broken"),
            requirement,
            steps,
            &capabilities,
            &flags,
        )
    };
    // The ids of a vector decide its UUIDs: a fault that rests on one may be lost here, and then the plan's own is kept.
    let mut steps = vector["steps"].as_array()?.clone();
    if !breaks(&remade(&steps), bench) {
        return Some(vector);
    }
    let mut at = steps.len();
    while at > 0 {
        at -= 1;
        let mut fewer = steps.clone();
        fewer.remove(at);
        if !fewer.is_empty() && breaks(&remade(&fewer), bench) {
            steps = fewer;
        }
    }
    for at in 0..steps.len() {
        let simpler = simpler(&steps[at]);
        if let Some(simpler) = simpler {
            let mut changed = steps.clone();
            changed[at] = simpler;
            if breaks(&remade(&changed), bench) {
                steps = changed;
            }
        }
    }
    Some(remade(&steps))
}

/// A repeat over one value as the one step that it is.
fn simpler(step: &Json) -> Option<Json> {
    let ([inner], [value]) = (step["repeat"].as_array()?.as_slice(), step["over"].as_array()?.as_slice()) else {
        return None;
    };
    Some(with_value(inner, value))
}

fn with_value(json: &Json, value: &Json) -> Json {
    match json {
        Json::String(text) if text == "${item}" => value.clone(),
        Json::Array(items) => items.iter().map(|item| with_value(item, value)).collect(),
        Json::Object(members) => {
            members.iter().map(|(name, member)| (name.clone(), with_value(member, value))).collect()
        }
        other => other.clone(),
    }
}
