//! Where another target answers otherwise. The main type is [`Differ`].
//!
//! A difference is no finding: the specification leaves room, and both may be right. It says where to look.

use super::bench::Bench;
use cetp_reports::text::clip;
use cetp_runner::engine::VectorResult;
use cetp_vectors::judge::Outcome;
use cetp_vectors::model::Vector;
use cetp_vectors::normalise::normalise;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Another target, and where it answered otherwise.
pub struct Differ<'b> {
    bench: Bench<'b>,
    /// By the call and the place in its answer: the vector, and both values.
    differences: BTreeMap<String, String>,
}

impl<'b> Differ<'b> {
    /// With another target.
    pub fn new(bench: Bench<'b>) -> Differ<'b> {
        Differ { bench, differences: BTreeMap::new() }
    }

    /// Runs a vector against the other target as well, and compares what came.
    ///
    /// What differs is played again by both, `ours` being the target of `result`: calls at the same time may be answered
    /// now so, now so, which says nothing of the two.
    pub fn compare(&mut self, ours: &mut Bench<'_>, vector: &Vector, result: &VectorResult) {
        let theirs = self.bench.run_vector(vector);
        let Some(first) = difference(vector, result, &theirs) else { return };
        if self.differences.contains_key(&first.place) {
            return;
        }
        let (mut here, mut there) = (vec![first.ours.clone()], vec![first.theirs.clone()]);
        for _ in 0..REPEATS {
            let (one, other) = (ours.run_vector(vector), self.bench.run_vector(vector));
            match difference(vector, &one, &other) {
                Some(again) if again.place == first.place => {
                    here.push(again.ours);
                    there.push(again.theirs);
                }
                _ => return,
            }
        }
        if here.iter().any(|value| there.contains(value)) {
            return;
        }
        let short = |json: Json| clip(&json.to_string(), 80);
        self.differences
            .insert(first.place, format!("{} against {} ({})", short(first.ours), short(first.theirs), vector.id));
    }

    /// What differed, a line for each.
    pub fn lines(&self) -> impl Iterator<Item = String> + '_ {
        self.differences.iter().map(|(place, what)| format!("{place}: {what}"))
    }
}

/// So often is a vector played again before a difference is believed.
const REPEATS: usize = 3;

/// Where two targets first answered otherwise.
struct Difference {
    /// The call, and the place in its answer.
    place: String,
    ours: Json,
    theirs: Json,
}

/// The first difference between two runs of a vector that both came to an end.
fn difference(vector: &Vector, one: &VectorResult, other: &VectorResult) -> Option<Difference> {
    let told = |result: &VectorResult| !matches!(result.outcome, Outcome::Error | Outcome::NotRun);
    // Of a race only the outcome counts, here as everywhere.
    if !told(one) || !told(other) || vector.has_flag("race") {
        return None;
    }
    let rows = |result: &VectorResult| {
        let transcript = result.transcript.as_ref()?;
        normalise(vector, transcript).as_array().cloned()
    };
    for (one, other) in rows(one)?.iter().zip(&rows(other)?) {
        if one["params"] != other["params"] {
            // What was sent rests on what was answered before.
            return None;
        }
        // What follows the first may rest on it.
        if let Some((pointer, ours, theirs)) = first_difference(&one["answer"], &other["answer"], String::new()) {
            let method = one["params"]["method"].as_str().or(one["verb"].as_str()).unwrap_or("-");
            let tool = one["params"]["extras"]["tool_name"]["string"].as_str().unwrap_or("-");
            let place: String = pointer.chars().filter(|c| !c.is_ascii_digit()).collect();
            return Some(Difference { place: format!("{method} {tool} {place}"), ours, theirs });
        }
        if works_beside_the_calls(one) {
            // Whatever follows rests on how far the work has come.
            return None;
        }
    }
    None
}

/// Whether a row began an operation that nothing holds back.
fn works_beside_the_calls(row: &Json) -> bool {
    let accepted = row["answer"]["bundle"]["status"]["string"] == "accepted";
    accepted && row["params"]["extras"]["args"]["string"]["json"]["hold"] != true
}

/// The first place at which two values differ; nothing stands for what is not there.
fn first_difference(one: &Json, other: &Json, pointer: String) -> Option<(String, Json, Json)> {
    match (one, other) {
        (Json::Object(ours), Json::Object(theirs)) => {
            let names: std::collections::BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            names.into_iter().find_map(|name| {
                let (a, b) = (ours.get(name).unwrap_or(&Json::Null), theirs.get(name).unwrap_or(&Json::Null));
                first_difference(a, b, format!("{pointer}/{name}"))
            })
        }
        (Json::Array(ours), Json::Array(theirs)) if ours.len() == theirs.len() => {
            ours.iter().zip(theirs).enumerate().find_map(|(n, (a, b))| first_difference(a, b, format!("{pointer}/{n}")))
        }
        _ if one == other => None,
        _ => Some((pointer, one.clone(), other.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use cetp_vectors::reader::Reader;
    use serde_json::json;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn only_work_that_nothing_holds_back_goes_on_beside_the_calls() {
        let adapter = builtin::open("provider", Path::new("")).unwrap();
        let (reader, interrupted) = (Reader::new("cetp-v2").unwrap(), AtomicBool::new(false));
        let mut bench = Bench::new(adapter.as_ref(), &reader, &interrupted).unwrap();
        let mut goes_on = |offer: Json, args: Json| {
            let vector = json!({
                "id": "cetp2/provider/3.4/of-a-test", "title": "Work", "role": "provider", "level": "core", "requirements": ["CETP2-3.4-09"],
                "steps": [
                    { "call": "negotiate", "offer": offer, "save": "s", "expect": ["negotiated"] },
                    { "call": "execute_tool", "session": "s", "tool": "fixture_job", "args": args, "expect": [
                        { "requirement": "CETP2-3.4-09", "that": "${reply.error_code}", "is": { "$absent": true } }] },
                ],
            });
            let (vector, result) = bench.run(&vector).unwrap();
            assert_eq!(result.outcome, Outcome::Pass, "{:?}", result.reason);
            let rows = normalise(&vector, result.transcript.as_ref().unwrap());
            rows.as_array().unwrap().iter().any(works_beside_the_calls)
        };
        let asynchronous = json!(["async_operations"]);
        assert!(goes_on(asynchronous.clone(), json!({ "value": "one", "hold": false })));
        assert!(!goes_on(asynchronous, json!({ "value": "one", "hold": true })));
        assert!(!goes_on(json!([]), json!({ "value": "one", "hold": false })));
    }

    #[test]
    fn the_first_difference_has_its_place() {
        let one = json!({ "a": [1, { "b": 2 }], "c": 3 });
        assert_eq!(first_difference(&one, &one, String::new()), None);
        let other = json!({ "a": [1, { "b": 3 }], "d": 3 });
        assert_eq!(first_difference(&one, &other, String::new()), Some(("/a/1/b".into(), json!(2), json!(3))));
        let longer = json!({ "a": [1], "c": 3 });
        assert_eq!(first_difference(&one, &longer, String::new()).map(|(at, ..)| at), Some("/a".into()));
    }
}
