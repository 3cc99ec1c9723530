//! Vectors that take every transition of the model: see [`crate::spec`]. The main function is [`files`].
//!
//! A vector is a tour: the shortest way to a transition that no other takes, and from there on to others that are near.
//! Where calls overlap in what a tour takes for the first time, it comes with several schedules, so that different
//! interleavings happen at the target.

use super::{Files, Made, file};
use crate::expr::sha256_hex;
use crate::spec::explore::{Explored, FOCUSES, Focus, explore};
use crate::spec::{Action, State, Step, render, step};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const NAME: &str = "model";
const SOURCE: &str = "src/spec";

/// Interleavings of calls that overlap.
const SCHEDULES: u8 = 4;
/// A tour does so much at most, so that people can follow it.
const LONGEST: usize = 16;
/// A tour goes so far to the next transition.
const NEAR: usize = 2;

pub(super) fn files(seed: u64) -> Result<Made, String> {
    let mut files = Files::new();
    let mut report = String::new();
    let mut open: BTreeMap<String, (usize, Vec<Action>)> = BTreeMap::new();
    let mut explored = Vec::new();
    for (n, focus) in FOCUSES.iter().enumerate() {
        let mut found = explore(focus);
        for (label, way) in std::mem::take(&mut found.transitions) {
            // Two parts may hold the same transition: it is taken where the way to it is shorter.
            let shorter = open.get(&label).is_none_or(|(_, other)| way.len() < other.len());
            if shorter {
                open.insert(label, (n, way));
            }
        }
        explored.push(found);
    }
    let (all, mut actions) = (open.len(), 0);
    let mut missing: BTreeSet<String> = open.keys().cloned().collect();
    for (n, (focus, found)) in FOCUSES.iter().zip(&explored).enumerate() {
        let mine: Vec<(&String, &Vec<Action>)> =
            open.iter().filter(|(_, (place, _))| *place == n).map(|(label, (_, way))| (label, way)).collect();
        let tours = tours(focus, mine.clone(), &mut missing);
        let mut vectors = Vec::new();
        for tour in &tours {
            actions += tour.way.len();
            vectors.extend(vectors_of(focus.name, tour)?);
        }
        report.push_str(&line(focus, found, mine.len(), tours.len(), vectors.len()));
        if !vectors.is_empty() {
            let path = format!("cetp-v2/provider/generated/model-{}.json", focus.name);
            files.insert(path, file(NAME, seed, SOURCE, vectors));
        }
    }
    report.push_str(&format!(
        "\n  transitions taken by vectors: {} of {all}, each on the shortest way to it or near another; {actions} actions",
        all - missing.len()
    ));
    if !missing.is_empty() {
        return Err(format!("not every transition is taken:{report}\n  {missing:?}"));
    }
    Ok(Made { files, report })
}

fn line(focus: &Focus, found: &Explored, kinds: usize, tours: usize, vectors: usize) -> String {
    format!(
        "\n  {}: depth {}, {} states (symmetric ones folded), {} edges, {kinds} kinds of transitions; folded into {tours} tours, {vectors} vectors with their schedules",
        focus.name, focus.depth, found.states, found.edges
    )
}

/// A sequence of actions, and the transitions that it takes before all others.
struct Tour {
    way: Vec<Action>,
    first: Vec<Step>,
    /// Whether calls overlap in one of those.
    overlaps: bool,
}

/// Tours that take every transition that is missing: from the ones that are far away first, as they go along others.
fn tours(focus: &Focus, mut open: Vec<(&String, &Vec<Action>)>, missing: &mut BTreeSet<String>) -> Vec<Tour> {
    open.sort_by_key(|(label, way)| (std::cmp::Reverse(way.len()), (*label).clone()));
    let mut tours = Vec::new();
    for (label, way) in open {
        if !missing.contains(label) {
            continue;
        }
        let mut tour = Tour { way: Vec::new(), first: Vec::new(), overlaps: false };
        let mut state = State::default();
        tour.go(&mut state, way, missing);
        let level = tour.first.last().and_then(|taken| render::level(taken.about));
        while let Some(next) = near(focus, &state, level, missing).filter(|on| tour.way.len() + on.len() <= LONGEST) {
            tour.go(&mut state, &next, missing);
        }
        tours.push(tour);
    }
    tours
}

impl Tour {
    fn go(&mut self, state: &mut State, way: &[Action], missing: &mut BTreeSet<String>) {
        for action in way {
            let Some(taken) = step(state, *action) else { return };
            *state = taken.next.clone();
            self.way.push(*action);
            if missing.remove(&taken.label) {
                self.overlaps |= matches!(action, Action::Twins { .. } | Action::Race { .. } | Action::Pair { .. });
                self.first.push(taken);
            }
        }
    }
}

/// The shortest way on to a transition that is missing, of those about a requirement of the level.
fn near(focus: &Focus, from: &State, level: Option<&str>, missing: &BTreeSet<String>) -> Option<Vec<Action>> {
    let mut layer: Vec<(State, Vec<Action>)> = vec![(from.clone(), Vec::new())];
    let mut seen: BTreeSet<State> = BTreeSet::from([from.folded()]);
    for _ in 0..NEAR {
        let mut next_layer = Vec::new();
        for (state, path) in &layer {
            for action in focus.actions(state) {
                let Some(taken) = step(state, action) else { continue };
                let way = || path.iter().copied().chain([action]).collect::<Vec<Action>>();
                if missing.contains(&taken.label) && render::level(taken.about) == level {
                    return Some(way());
                }
                if seen.insert(taken.next.folded()) {
                    next_layer.push((taken.next, way()));
                }
            }
        }
        layer = next_layer;
    }
    None
}

fn vectors_of(focus: &str, tour: &Tour) -> Result<Vec<Json>, String> {
    let last = tour.first.last().ok_or("a tour that takes nothing for the first time")?;
    let schedules = if tour.overlaps { SCHEDULES } else { 1 };
    let labels: Vec<&str> = tour.first.iter().map(|taken| taken.label.as_str()).collect();
    let digest = &sha256_hex(labels.join("\n").as_bytes())[..10];
    let section = last.about.split('-').nth(1).unwrap_or("6");
    let title = match labels.len() {
        1 => format!("The model: {}", labels[0]),
        n => format!("The model: {}; and {} more transitions", labels[0], n - 1),
    };
    let mut out = Vec::new();
    for schedule in 0..schedules {
        let way: Vec<Action> = tour.way.iter().map(|action| scheduled(*action, schedule)).collect();
        let which = if schedules > 1 { format!("-{schedule}") } else { String::new() };
        let id = format!("cetp2/provider/{section}/model-{focus}-{digest}{which}");
        let mut vector =
            render::vector(&id, &title, &way).ok_or_else(|| format!("{id}: the model does not follow it"))?;
        vector["notes"] = json!(format!("Takes these transitions of the model first: {}.", labels.join("; ")));
        out.push(vector);
    }
    out.sort_by_key(|vector| vector["id"].to_string());
    Ok(out)
}

fn scheduled(action: Action, number: u8) -> Action {
    match action {
        Action::Twins { slot, request, content, token, .. } => {
            Action::Twins { slot, request, content, token, schedule: number }
        }
        Action::Race { slot, request, .. } => Action::Race { slot, request, schedule: number },
        Action::Pair { content, resumed, .. } => Action::Pair { content, resumed, schedule: number },
        other => other,
    }
}
