//! Transcripts without what may differ between two conforming runs. The main function is [`normalise`].
//!
//! Tokens, ids and other opaque values become names in the order in which they appear, free texts and times are left out,
//! the replies of a parallel step are a multiset, and of a repeat that waits only its last round is kept, and the
//! events of an audit are a multiset too. What is left of two
//! transcripts is equal when the targets behaved the same, whatever language they are written in.

use crate::json::{Limits, parse};
use crate::machine::Answer;
use crate::model::{Kind, Rounds, Step, Vector};
use crate::transcript::Transcript;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// Members whose value is opaque: it becomes a name that stands for every place where it occurs.
const OPAQUE: [&str; 6] = ["session_token", "resume_token", "operation_id", "revision", "pending_intent", "fd"];

/// Members whose value is free.
const FREE: [&str; 18] = [
    "error_message",
    "error_details",
    "provider_name",
    "description",
    "title",
    "message",
    "texts",
    "expires_at",
    "poll_after_ms",
    "retry_after_ms",
    "progress",
    "creator_uid",
    "component",
    "name",
    "permission",
    "class",
    "decision",
    "nonce",
];

/// What two transcripts of the same vector have in common where the targets behaved the same.
pub fn normalise(vector: &Vector, transcript: &Transcript) -> Json {
    let mut names = Names { package: text(&transcript.start.target, "package"), ..Names::default() };
    names.authority = text(&transcript.start.target, "authority");
    names.begin_ms = transcript.start.now_ms;
    let waits = waiting_repeats(&vector.steps, "");
    let mut last_rounds: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in &transcript.entries {
        if let Some((repeat, round)) = round_of(&entry.at, &waits) {
            last_rounds.insert(repeat, round);
        }
    }
    let mut groups: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    let mut order = Vec::new();
    for entry in &transcript.entries {
        let waiting = round_of(&entry.at, &waits);
        if waiting.is_some_and(|(repeat, round)| last_rounds.get(repeat) != Some(&round)) {
            continue;
        }
        let answer = match &entry.answer {
            Answer::Result(result) => names.value("", result),
            Answer::Refused { code, .. } => json!({ "refused": code }),
            Answer::Broken { kind, .. } => json!({ "broken": kind }),
            Answer::Unread => json!("unread"),
        };
        let params = names.value("", &entry.params);
        let mut place = without_branch(&entry.at);
        if let Some((repeat, round)) = waiting {
            place = place.replacen(&format!("{repeat}[{round}]"), &format!("{repeat}[last]"), 1);
        }
        let row = json!({ "at": place, "verb": entry.verb, "params": params, "answer": answer });
        if !groups.contains_key(&place) {
            order.push(place.clone());
        }
        groups.entry(place).or_default().push(row);
    }
    let mut out = Vec::new();
    for place in order {
        let mut rows = groups.remove(&place).expect("every place has a group");
        rows.sort_by_cached_key(Json::to_string);
        out.extend(rows);
    }
    Json::Array(out)
}

fn text(json: &Json, name: &str) -> String {
    json.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}

/// The places of repeats that wait for something.
fn waiting_repeats(steps: &[Step], prefix: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        if let Kind::Repeat { steps, rounds } = &step.kind {
            let at = format!("{prefix}{n}");
            match rounds {
                Rounds::Until { .. } => out.push(at),
                // Rounds that are counted are all kept; what waits inside them is found by its shape.
                Rounds::Times(_) | Rounds::Over(_) => out.extend(waiting_repeats(steps, &format!("{at}[*]."))),
            }
        }
    }
    out
}

/// Where a place lies in a waiting repeat: the place of the repeat, and the round.
fn round_of<'a>(at: &'a str, waits: &[String]) -> Option<(&'a str, u64)> {
    let mut from = 0;
    while let Some(open) = at[from..].find('[').map(|n| from + n) {
        let close = open + at[open..].find(']')?;
        if waits.contains(&any_round(&at[..open])) {
            return Some((&at[..open], at[open + 1..close].parse().ok()?));
        }
        from = close;
    }
    None
}

/// A place with every round replaced by `*`.
fn any_round(at: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in at.chars() {
        match c {
            '[' => {
                inside = true;
                out.push_str("[*");
            }
            ']' => {
                inside = false;
                out.push(']');
            }
            _ if inside => {}
            _ => out.push(c),
        }
    }
    out
}

/// A place without the number of a branch, so that the branches of a parallel step fall together.
fn without_branch(at: &str) -> String {
    match (at.find('{'), at.find('}')) {
        (Some(open), Some(close)) => format!("{}{{}}{}", &at[..open], &at[close + 1..]),
        _ => at.to_owned(),
    }
}

#[derive(Default)]
struct Names {
    package: String,
    authority: String,
    begin_ms: i64,
    known: BTreeMap<String, String>,
    counts: BTreeMap<String, usize>,
}

impl Names {
    fn value(&mut self, key: &str, json: &Json) -> Json {
        if FREE.contains(&key) && !json.is_null() {
            return json!("<free>");
        }
        match json {
            Json::String(text) => self.text(key, text),
            Json::Array(items) => {
                let mut items: Vec<Json> = items.iter().map(|item| self.value(key, item)).collect();
                // What ends in the background comes into the audit when it ends.
                if key == "events" {
                    items.sort_by_cached_key(Json::to_string);
                }
                Json::Array(items)
            }
            Json::Object(members) if members.len() == 1 && !key.is_empty() => self.typed(key, members),
            Json::Object(members) => {
                // What a process needs in memory can only be told of one that is a child.
                let members = members.iter().filter(|(name, _)| *name != "peak_bytes");
                Json::Object(members.map(|(name, value)| (name.clone(), self.value(name, value))).collect())
            }
            Json::Number(n) if key.ends_with("_ms") => {
                json!(n.as_i64().map_or(0, |ms| ms.saturating_sub(self.begin_ms)))
            }
            other => other.clone(),
        }
    }

    /// A typed value of a Bundle: the type is kept, the value is seen under the key.
    fn typed(&mut self, key: &str, members: &Map<String, Json>) -> Json {
        let (kind, value) = members.iter().next().expect("one member");
        let inner = match (kind.as_str(), value) {
            ("pending_intent" | "fd", Json::Object(facts)) => {
                let id = facts.get("id").and_then(Json::as_str).unwrap_or_default();
                let name = self.text(kind, id);
                let mut facts = facts.clone();
                facts.insert("id".into(), name);
                facts.iter().map(|(k, v)| (k.clone(), if k == "id" { v.clone() } else { self.value(k, v) })).collect()
            }
            ("bundle", _) => return json!({ "bundle": self.value("", value) }),
            _ => self.value(key, value),
        };
        json!({ kind: inner })
    }

    fn text(&mut self, key: &str, text: &str) -> Json {
        if OPAQUE.contains(&key) && !text.is_empty() {
            if let Some(name) = self.known.get(text) {
                return json!(name);
            }
            let count = self.counts.entry(key.to_owned()).or_default();
            *count += 1;
            let name = format!("<{key} {count}>");
            self.known.insert(text.to_owned(), name.clone());
            return json!(name);
        }
        if let Some(name) = self.known.get(text) {
            return json!(name);
        }
        // `data` and `args` hold JSON; members of it may be opaque.
        if let Ok(inner @ (Json::Object(_) | Json::Array(_))) = parse(text.as_bytes(), Limits::DATA) {
            return json!({ "json": self.inner(&inner) });
        }
        let mut text = text.to_owned();
        for (value, name) in [(&self.authority, "<authority>"), (&self.package, "<package>")] {
            if !value.is_empty() {
                text = text.replace(value.as_str(), name);
            }
        }
        json!(text)
    }

    /// JSON inside a text has no typed values.
    fn inner(&mut self, json: &Json) -> Json {
        match json {
            Json::Object(members) => {
                let one = |(name, value): (&String, &Json)| {
                    let value = match value {
                        _ if FREE.contains(&name.as_str()) && name != "name" && name != "class" => json!("<free>"),
                        Json::Object(_) | Json::Array(_) => self.inner(value),
                        other => self.value(name, other),
                    };
                    (name.clone(), value)
                };
                Json::Object(members.iter().map(one).collect())
            }
            Json::Array(items) => items.iter().map(|item| self.inner(item)).collect(),
            other => self.value("", other),
        }
    }
}
