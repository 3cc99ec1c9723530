//! Making a case that breaks a requirement small. The main function is [`shrink`].
//!
//! First parts of a walk go, in ever smaller pieces, as the model can say anew what is answered; then what follows the step
//! that decides; of a changed vector also steps before it, expectations, replies and last values. What is left still breaks
//! the requirement, each time that was tried, and is the vector that a file holds: it breaks it under `run` as well.

use super::bench::{Bench, broken};
use super::case::{Case, Material};
use cetp_runner::engine;
use cetp_vectors::expr::sha256_hex;
use serde_json::{Value as Json, json};
use std::time::{Duration, Instant};

/// Trials of one shrinking.
const MOST_TRIALS: usize = 600;
/// And the time that they may take: a target over a slow transport is not tried for ever.
const MOST_TIME: Duration = Duration::from_secs(60);

struct Trials<'t, 'b> {
    bench: &'t mut Bench<'b>,
    requirement: &'t str,
    left: usize,
    until: Instant,
}

impl Trials<'_, '_> {
    fn breaks(&mut self, vector: &Json) -> bool {
        if self.left == 0 || Instant::now() > self.until {
            return false;
        }
        self.left -= 1;
        self.bench
            .run(vector)
            .is_ok_and(|(vector, result)| broken(&vector, &result).iter().any(|id| id == self.requirement))
    }
}

/// The smallest vector found that breaks the requirement, and what it says of it.
pub fn shrink(case: &Case, requirement: &str, material: &Material, bench: &mut Bench<'_>) -> Option<(Json, String)> {
    let mut trials = Trials { bench, requirement, left: MOST_TRIALS, until: Instant::now() + MOST_TIME };
    let vector = fewer_parts(case, material, &mut trials)?;
    // The id of a vector decides its UUIDs: a fault that rests on one may be lost with a new one.
    let mut vector = first(&mut trials, [named(&vector, requirement), vector])?;
    without_end(&mut vector, &mut trials);
    // What a walk or a written vector expects rests on all that came before: with less, it might ask of a target what the
    // specification does not. A changed vector expects only what holds after anything.
    if let Case::Changed(_) = case {
        fewer_steps(&mut vector, &mut trials);
        unrolled(&mut vector, &mut trials);
        fewer_steps(&mut vector, &mut trials);
        for list in lists(&vector) {
            without_elements(&mut vector, &list, &mut trials);
        }
    }
    let fitted = Json::clone(&trials.bench.reader().fitted(&vector).ok()?.source);
    // A small vector has the digest of what it became.
    let vector = first(&mut trials, [named(&fitted, requirement), fitted.clone()]).unwrap_or(fitted);
    let (_, result) = trials.bench.run(&vector).ok()?;
    let message = engine::findings(&result)
        .into_iter()
        .find(|finding| finding.requirement.as_deref() == Some(requirement))
        .map(|finding| finding.message.clone())
        .or(result.reason)
        .unwrap_or_default();
    Some((vector, message))
}

fn first(trials: &mut Trials<'_, '_>, vectors: [Json; 2]) -> Option<Json> {
    vectors.into_iter().find(|vector| trials.breaks(vector))
}

/// The vector of a case of which parts are left out.
fn fewer_parts(case: &Case, material: &Material, trials: &mut Trials<'_, '_>) -> Option<Json> {
    let mut vector = material.vector(case)?.json().clone();
    let mut smaller: Option<Case> = None;
    let mut size = case.parts().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < smaller.as_ref().unwrap_or(case).parts() {
            let fewer = smaller.as_ref().unwrap_or(case).without(at, size);
            let made = fewer.as_ref().and_then(|case| material.vector(case)).map(|made| made.json().clone());
            match made {
                Some(made) if trials.breaks(&made) => {
                    smaller = fewer;
                    vector = made;
                }
                _ => at += size,
            }
        }
        size /= 2;
    }
    Some(vector)
}

/// With an id and a title of its own.
fn named(vector: &Json, requirement: &str) -> Json {
    let mut vector = vector.clone();
    let section = requirement.split('-').nth(1).unwrap_or("5");
    let what = json!([vector["steps"], vector["providers"]]).to_string();
    let role = vector["role"].as_str().unwrap_or("provider").to_owned();
    vector["id"] = json!(format!("cetp2/{role}/{section}/found-{}", &sha256_hex(what.as_bytes())[..10]));
    vector["title"] = json!(format!("Found by a campaign: {requirement} is broken"));
    if let Some(members) = vector.as_object_mut() {
        members.remove("notes");
    }
    vector
}

/// Steps at the end go, one after the other.
fn without_end(vector: &mut Json, trials: &mut Trials<'_, '_>) {
    loop {
        let mut fewer = vector.clone();
        let gone = fewer["steps"].as_array_mut().and_then(Vec::pop);
        if gone.is_none() || !trials.breaks(&fewer) {
            return;
        }
        *vector = fewer;
    }
}

/// Steps go from the end on, as what comes later needs what came before.
fn fewer_steps(vector: &mut Json, trials: &mut Trials<'_, '_>) {
    let mut size = vector["steps"].as_array().map_or(0, Vec::len) / 2;
    while size > 0 {
        let mut end = vector["steps"].as_array().map_or(0, Vec::len);
        while end > 0 {
            let begin = end.saturating_sub(size);
            let mut fewer = vector.clone();
            if let Some(steps) = fewer["steps"].as_array_mut() {
                steps.drain(begin..end.min(steps.len()));
            }
            if trials.breaks(&fewer) {
                *vector = fewer;
            }
            end = begin;
        }
        size /= 2;
    }
}

/// A repeat as one round of its steps, where that is enough.
fn unrolled(vector: &mut Json, trials: &mut Trials<'_, '_>) {
    let mut at = 0;
    while let Some(step) = vector["steps"].get(at).cloned() {
        for rounds in simpler(&step) {
            let mut changed = vector.clone();
            if let Some(steps) = changed["steps"].as_array_mut() {
                steps.splice(at..=at, rounds);
            }
            if trials.breaks(&changed) {
                *vector = changed;
                break;
            }
        }
        at += 1;
    }
}

/// What may take the place of a step that repeats: its steps once, for each value of what it goes over.
fn simpler(step: &Json) -> Vec<Vec<Json>> {
    let inner = match (&step["repeat"], &step["parallel"]) {
        (Json::Array(steps), _) => steps.clone(),
        (_, Json::Array(branches)) => branches.iter().flat_map(|b| b.as_array().cloned().unwrap_or_default()).collect(),
        _ => return Vec::new(),
    };
    let once = |value: &Json| inner.iter().map(|step| with_value(step, value)).collect::<Vec<Json>>();
    match &step["over"] {
        Json::Array(values) => {
            let mut out: Vec<Vec<Json>> = values.iter().map(once).collect();
            // Several values may be needed: then half of them.
            if values.len() > 2 {
                let (one, other) = values.split_at(values.len() / 2);
                for half in [one, other] {
                    let mut step = step.clone();
                    step["over"] = json!(half);
                    out.push(vec![step]);
                }
            }
            out
        }
        _ => vec![inner],
    }
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

/// Lists of a vector whose elements may go: expectations and replies.
fn lists(vector: &Json) -> Vec<String> {
    let mut out = Vec::new();
    for (name, provider) in vector["providers"].as_object().into_iter().flatten() {
        if provider["replies"].is_array() {
            out.push(format!("/providers/{}/replies", name.replace('~', "~0").replace('/', "~1")));
        }
    }
    for (n, step) in vector["steps"].as_array().into_iter().flatten().enumerate() {
        if step["expect"].is_array() {
            out.push(format!("/steps/{n}/expect"));
        }
    }
    out
}

fn without_elements(vector: &mut Json, list: &str, trials: &mut Trials<'_, '_>) {
    let mut at = vector.pointer(list).and_then(Json::as_array).map_or(0, Vec::len);
    while at > 0 {
        at -= 1;
        let mut fewer = vector.clone();
        let Some(Json::Array(items)) = fewer.pointer_mut(list) else { return };
        items.remove(at);
        if items.is_empty()
            && let Some((parent, name)) = list.rsplit_once('/')
            && let Some(Json::Object(members)) = fewer.pointer_mut(parent)
        {
            members.remove(name);
        }
        if trials.breaks(&fewer) {
            *vector = fewer;
        }
    }
}

/// How many steps a vector has, those of repeats and branches counted once.
pub fn steps_of(vector: &Json) -> usize {
    fn count(step: &Json) -> usize {
        match (&step["repeat"], &step["parallel"]) {
            (Json::Array(steps), _) => steps.iter().map(count).sum(),
            (_, Json::Array(branches)) => {
                branches.iter().flat_map(|b| b.as_array().into_iter().flatten()).map(count).sum()
            }
            _ => 1,
        }
    }
    vector["steps"].as_array().map_or(0, |steps| steps.iter().map(count).sum())
}
