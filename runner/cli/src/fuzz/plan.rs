//! A walk through the model of the specification with requests between: a [`Plan`], which is read from bytes and becomes a
//! vector.
//!
//! Bytes are what is mutated and kept: any bytes are a plan, and a change in one place changes the plan in one place. It is
//! a walk through the model, in which the model says what is answered, with probes between: requests that differ in one
//! field from a right one, and looks at descriptors.

use super::bytes::Bytes;
use super::probes::Probes;
use cetp_vectors::spec::Action;
use cetp_vectors::spec::explore::{FOCUSES, Focus};
use cetp_vectors::spec::render::Script;
use cetp_vectors::spec::step;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The longest plan.
const MOST_ITEMS: usize = 16;
/// Of 256 values of a byte so many lead to a probe.
const PROBES: u8 = 110;

/// One thing that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// An action of the model.
    Act(Action),
    /// A probe, and which of its values.
    Probe(usize, usize),
}

/// A sequence of things to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// In order.
    pub items: Vec<Item>,
    /// The versions that sessions offer.
    versions: usize,
}

const VERSIONS: [Option<&[i32]>; 4] = [None, None, Some(&[2, 1]), Some(&[3, 2])];

impl Plan {
    /// The plan that some bytes are.
    pub fn read(bytes: &mut Bytes<'_>, probes: &Probes) -> Plan {
        let mut plan = Plan::default();
        let mut script = Script::default();
        let Some(focus) = bytes.below(FOCUSES.len()).map(|n| &FOCUSES[n]) else { return plan };
        plan.versions = bytes.below(VERSIONS.len()).unwrap_or(0);
        while plan.items.len() < MOST_ITEMS {
            let Some(kind) = bytes.byte() else { break };
            let item = if kind < PROBES && !probes.is_empty() {
                let Some(probe) = bytes.below(probes.len()) else { break };
                let Some(value) = bytes.byte() else { break };
                script.forget_sessions();
                Item::Probe(probe, value.into())
            } else {
                let Some(action) = action(focus, &script, bytes) else { break };
                script.act(action);
                Item::Act(action)
            };
            plan.items.push(item);
        }
        plan
    }

    /// The vector of the plan; nothing where the model does not follow it.
    pub fn vector(&self, probes: &Probes) -> Option<Json> {
        let mut script = Script::default();
        if let Some(versions) = VERSIONS[self.versions % VERSIONS.len()] {
            script = script.offering(versions);
        }
        for item in &self.items {
            match item {
                Item::Act(action) => {
                    script.act(*action)?;
                }
                // Without its scope a call may be refused for the want of that, whatever else is wrong with it.
                Item::Probe(..) if script.state().may_write.contains(&false) => {}
                Item::Probe(probe, value) => probes.put(*probe, *value, &mut script),
            }
        }
        Some(script.finish("cetp2/provider/fuzz/plan", "A plan of a campaign"))
    }

    /// Without some of its items.
    #[must_use]
    pub fn without(&self, from: usize, count: usize) -> Plan {
        let mut plan = self.clone();
        plan.items.drain(from..(from + count).min(plan.items.len()));
        plan
    }
}

/// An action that the model follows. First its kind is chosen and then one of the kind, as otherwise the kinds with many
/// variants would take all the room. Where the model does not follow it the next one is taken, in a circle: to ask it about
/// each would take more time than all the rest.
fn action(focus: &Focus, script: &Script, bytes: &mut Bytes<'_>) -> Option<Action> {
    let mut kinds: BTreeMap<u8, Vec<Action>> = BTreeMap::new();
    for action in focus.actions(script.state()) {
        kinds.entry(kind(&action)).or_default().push(action);
    }
    let kinds: Vec<Vec<Action>> = kinds.into_values().collect();
    let (first, n) = (bytes.below(kinds.len())?, usize::from(bytes.byte()?));
    let circle = |len: usize, from: usize| (0..len).map(move |n| (from + n) % len);
    let chosen = circle(kinds.len(), first).find_map(|place| {
        let actions = &kinds[place];
        // A byte that is the same for many leads to any of them.
        let from = n * actions.len() / 256;
        circle(actions.len(), from).map(|at| actions[at]).find(|action| step(script.state(), *action).is_some())
    })?;
    Some(match chosen {
        Action::Twins { slot, request, content, token, .. } => {
            Action::Twins { slot, request, content, token, schedule: bytes.byte().unwrap_or(0) }
        }
        Action::Race { slot, request, .. } => Action::Race { slot, request, schedule: bytes.byte().unwrap_or(0) },
        other => other,
    })
}

fn kind(action: &Action) -> u8 {
    match action {
        Action::Negotiate { .. } => 0,
        Action::Execute { late: true, .. } => 1,
        Action::Execute { .. } => 2,
        Action::Twins { .. } | Action::Pair { .. } => 3,
        Action::Steal { .. } => 4,
        Action::Decide { .. } => 5,
        Action::Move { .. } => 6,
        Action::Poll { .. } => 7,
        Action::Cancel { .. } => 8,
        Action::Race { .. } => 9,
        Action::Arm { .. } => 10,
        Action::Restart { .. } => 11,
        Action::Wait(_) => 12,
        Action::Scope { .. } => 13,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cetp_vectors::load::Catalogue;

    #[test]
    fn nothing_is_probed_while_a_scope_is_withdrawn() {
        let probes = Probes::new(&Catalogue::embedded(), false, &[], false).unwrap();
        let steps = |items: &[Item]| {
            let plan = Plan { items: items.to_vec(), versions: 0 };
            plan.vector(&probes).unwrap()["steps"].as_array().unwrap().len()
        };
        let [taken, given] = [false, true].map(|grant| Item::Act(Action::Scope { caller: 0, grant }));
        let probe = Item::Probe(0, 0);
        assert!(steps(&[probe]) > steps(&[]));
        assert_eq!(steps(&[taken, probe]), steps(&[taken]));
        assert!(steps(&[taken, given, probe]) > steps(&[taken, given]));
    }
}
