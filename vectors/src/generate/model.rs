//! Vectors that take every transition of the model: see [`crate::spec`]. The main function is [`files`].
//!
//! Each kind of transition is taken on the shortest way to it. A way that another goes along is folded into that one. Where
//! calls overlap, the vector comes with several schedules, so that different interleavings happen at the target.

use super::{Files, Made, file};
use crate::expr::sha256_hex;
use crate::spec::explore::{Explored, FOCUSES, explore};
use crate::spec::{Action, State, render, step};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const NAME: &str = "model";
const SOURCE: &str = "src/spec";

/// Interleavings of calls that overlap.
const SCHEDULES: u8 = 4;

pub(super) fn files(seed: u64) -> Result<Made, String> {
    let explored: Vec<(&str, usize, Explored)> =
        FOCUSES.iter().map(|focus| (focus.name, focus.depth, explore(focus))).collect();
    let mut files = Files::new();
    let mut report = String::new();
    let mut covered = BTreeSet::new();
    let mut all = BTreeSet::new();
    for (name, depth, found) in &explored {
        all.extend(found.transitions.keys().cloned());
        let ways = folded(found, &mut covered);
        let mut vectors = Vec::new();
        for way in &ways {
            vectors.extend(vectors_of(name, way)?);
        }
        report.push_str(&format!(
            "\n  {name}: depth {depth}, {} states (folded), {} edges, {} kinds of transitions; {} ways kept, {} vectors with their schedules",
            found.states,
            found.edges,
            found.transitions.len(),
            ways.len(),
            vectors.len()
        ));
        if !vectors.is_empty() {
            files.insert(format!("cetp-v2/provider/generated/model-{name}.json"), file(NAME, seed, SOURCE, vectors));
        }
    }
    let taken = all.intersection(&covered).count();
    report.push_str(&format!("\n  transitions taken by vectors: {taken} of {}", all.len()));
    if taken < all.len() {
        return Err(format!("not every transition is taken:{report}"));
    }
    Ok(Made { files, report })
}

/// The labels of the transitions along a way.
fn labels(way: &[Action]) -> Vec<String> {
    let mut state = State::default();
    let mut out = Vec::new();
    for action in way {
        let Some(taken) = step(&state, *action) else { break };
        out.push(taken.label);
        state = taken.next;
    }
    out
}

/// The ways that take every transition that is not covered yet: long ones first, as they go along others.
fn folded<'f>(found: &'f Explored, covered: &mut BTreeSet<String>) -> Vec<&'f Vec<Action>> {
    let mut open: Vec<(&String, &Vec<Action>)> = found.transitions.iter().collect();
    open.sort_by_key(|(label, way)| (std::cmp::Reverse(way.len()), (*label).clone()));
    let mut kept = Vec::new();
    for (label, way) in open {
        if !covered.contains(label) {
            covered.extend(labels(way));
            kept.push(way);
        }
    }
    kept
}

fn vectors_of(focus: &str, way: &[Action]) -> Result<Vec<Json>, String> {
    let labels = labels(way);
    let last = labels.last().ok_or("an empty way")?;
    let overlaps = |action: &Action| matches!(action, Action::Twins { .. } | Action::Race { .. });
    let schedules = if way.iter().any(overlaps) { SCHEDULES } else { 1 };
    let mut out: BTreeMap<String, Json> = BTreeMap::new();
    for schedule in 0..schedules {
        let way: Vec<Action> = way.iter().map(|action| scheduled(*action, schedule)).collect();
        let digest = &sha256_hex(labels.join("\n").as_bytes())[..10];
        let which = if schedules > 1 { format!("-{schedule}") } else { String::new() };
        let title = format!("The model: {last}");
        let about = way
            .iter()
            .fold((State::default(), ""), |(state, about), action| match step(&state, *action) {
                Some(taken) => (taken.next, taken.about),
                None => (state, about),
            })
            .1;
        let section = about.split('-').nth(1).unwrap_or("6");
        let id = format!("cetp2/provider/{section}/model-{focus}-{digest}{which}");
        let vector = render::vector(&id, &title, &way).ok_or_else(|| format!("{id}: the model does not follow it"))?;
        out.insert(id, vector);
    }
    Ok(out.into_values().collect())
}

fn scheduled(action: Action, number: u8) -> Action {
    match action {
        Action::Twins { slot, request, content, token, .. } => {
            Action::Twins { slot, request, content, token, schedule: number }
        }
        Action::Race { slot, request, .. } => Action::Race { slot, request, schedule: number },
        other => other,
    }
}
