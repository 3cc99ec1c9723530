//! Decides, before anything runs, which vectors a target can take. The main function is [`plan`].
//!
//! It lies here and not with the runner, as whoever reads a report decides the same again: a vector that was not run must be
//! one that this target cannot take.

use crate::ledger::Role;
use crate::model::{Stack, Vector};
use crate::protocol::Describe;

/// What is to be done with a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// It is run.
    Run,
    /// The target lacks something that the vector needs, with the reason: a gap of the test, which no claim survives.
    NotRun(String),
    /// It is about a capability or version that the target does not claim, with the reason.
    NotApplicable(String),
}

fn plan_consumer(vector: &Vector, target: &Describe) -> Plan {
    if let Some(capability) = missing_capability(vector, target) {
        return Plan::NotApplicable(format!("the target does not claim {capability}"));
    }
    match vector.needs.iter().find(|control| !target.has_control(control)) {
        Some(control) => Plan::NotRun(format!("the target has no control {control:?}")),
        None => Plan::Run,
    }
}

/// A target of `aw-provider` is known by its profile, whose entries are its controls.
fn plan_aw(vector: &Vector, target: &Describe) -> Plan {
    if !target.roles.contains(&vector.role) {
        return Plan::NotRun(format!("the target is no {}", vector.role.name()));
    }
    if let Some(level) = missing_capability(vector, target) {
        return Plan::NotApplicable(format!("the profile does not claim {level}"));
    }
    match vector.needs.iter().find(|entry| !target.has_control(entry)) {
        Some(entry) => Plan::NotRun(format!("the profile has no {entry:?}")),
        None => Plan::Run,
    }
}

fn missing_capability<'v>(vector: &'v Vector, target: &Describe) -> Option<&'v str> {
    let level = Some(vector.level.as_str()).filter(|level| !PLAIN_LEVELS.contains(level));
    let mut asked = vector.capabilities.iter().map(String::as_str).chain(level);
    asked.find(|capability| !target.capabilities.iter().any(|claimed| claimed == capability))
}

/// Levels that are not capabilities.
pub(crate) const PLAIN_LEVELS: [&str; 2] = ["core", "v1_compat"];

/// Decides what to do with a vector.
pub fn plan(vector: &Vector, target: &Describe) -> Plan {
    if vector.suite == crate::aw::SUITE {
        return plan_aw(vector, target);
    }
    if vector.role == Role::Consumer {
        // A consumer plays no fixture and assumes no caller.
        return plan_consumer(vector, target);
    }
    let (v1, v2) = (target.versions.contains(&1), target.versions.contains(&2));
    match vector.stack {
        Stack::Any if !v2 => return Plan::NotApplicable("the target does not claim version 2".into()),
        Stack::Dual if !(v1 && v2) => return Plan::NotApplicable("the target does not claim versions 1 and 2".into()),
        Stack::V2Only if v1 || !v2 => return Plan::NotApplicable("the target does not claim version 2 alone".into()),
        _ => {}
    }
    if let Some(capability) = missing_capability(vector, target) {
        return Plan::NotApplicable(format!("the target does not claim {capability}"));
    }
    if let Some(control) = vector.needs.iter().find(|control| !target.has_control(control)) {
        return Plan::NotRun(format!("the target has no control {control:?}"));
    }
    if let Some(caller) = vector.callers.iter().find(|caller| !target.callers.has(caller)) {
        return Plan::NotRun(format!("the target cannot assume the caller {caller:?}"));
    }
    if !vector.tools.is_empty() && target.fixture != Some(1) {
        return Plan::NotRun("the target does not carry the fixture".into());
    }
    for fact in &vector.facts {
        let told = match fact.as_str() {
            "resume_ttl_ms" => target.resume_ttl_ms,
            "retention_ms" => target.retention_ms,
            _ => None,
        };
        if told.is_none() {
            return Plan::NotRun(format!("the target does not tell {fact}"));
        }
    }
    Plan::Run
}
