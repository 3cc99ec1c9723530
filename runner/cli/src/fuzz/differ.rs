//! Where another target answers otherwise. The main type is [`Differ`].
//!
//! A difference is no finding: the specification leaves room, and both may be right. It says where to look.

use super::bench::Bench;
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
    pub fn compare(&mut self, vector: &Vector, result: &VectorResult) {
        let theirs = self.bench.run_vector(vector);
        let (Some(one), Some(other)) = (&result.transcript, &theirs.transcript) else { return };
        let told = |outcome: Outcome| !matches!(outcome, Outcome::Error | Outcome::NotRun);
        if !told(result.outcome) || !told(theirs.outcome) {
            return;
        }
        let (one, other) = (normalise(vector, one), normalise(vector, other));
        let rows = |json: &Json| json.as_array().cloned().unwrap_or_default();
        for (one, other) in rows(&one).iter().zip(&rows(&other)) {
            if one["params"] != other["params"] {
                // What was sent rests on what was answered before.
                break;
            }
            let Some((pointer, ours, theirs)) = first_difference(&one["answer"], &other["answer"], String::new())
            else {
                continue;
            };
            let method = one["params"]["method"].as_str().or(one["verb"].as_str()).unwrap_or("-");
            let tool = one["params"]["extras"]["tool_name"]["string"].as_str().unwrap_or("-");
            let place: String = pointer.chars().filter(|c| !c.is_ascii_digit()).collect();
            let short = |json: Json| {
                let text = json.to_string();
                let cut: String = text.chars().take(80).collect();
                if cut.len() < text.len() { cut + "…" } else { cut }
            };
            self.differences
                .entry(format!("{method} {tool} {place}"))
                .or_insert_with(|| format!("{} against {} ({})", short(ours), short(theirs), vector.id));
            // What follows may rest on it.
            break;
        }
    }

    /// What differed, a line for each.
    pub fn lines(&self) -> impl Iterator<Item = String> + '_ {
        self.differences.iter().map(|(place, what)| format!("{place}: {what}"))
    }
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
    use serde_json::json;

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
