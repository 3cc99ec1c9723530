//! The record of what happened while a vector ran. The main type is [`Transcript`].
//!
//! It holds every message, in order, with the target's time; that is enough to judge the vector again, later and
//! elsewhere. Long texts are kept in their compact form ([`crate::compact`]).

use crate::compact::{compact, expand};
use crate::machine::{Answer, Start};
use serde_json::{Map, Value as Json, json};

/// The record of one run of one vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    /// With what the machine was started.
    pub start: Start,
    /// Every exchange, in the order in which the messages were sent.
    pub entries: Vec<Entry>,
    /// Every request of the target to the runner, in the order in which they came.
    pub incoming: Vec<Incoming>,
    /// Why the vector cannot be judged to its end, where the runner ended it, or the target disturbed what came after it.
    pub ended: Option<Ended>,
}

/// One message and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Place in the vector.
    pub at: String,
    /// Verb of the target protocol.
    pub verb: String,
    /// Parameters as sent.
    pub params: Json,
    /// The target's time when it was made, in milliseconds since 1970.
    pub now_ms: i64,
    /// What came back.
    pub answer: Answer,
    /// The target's time when that came.
    pub answered_ms: i64,
    /// Position of the answer among all answers, as parallel answers come in any order.
    pub order: u64,
}

/// A request of the target to the runner.
#[derive(Clone, Debug, PartialEq)]
pub struct Incoming {
    /// Verb of the target protocol.
    pub verb: String,
    /// Parameters as they came.
    pub params: Json,
    /// The target's time when it came, in milliseconds since 1970.
    pub now_ms: i64,
    /// Position among all answers and requests.
    pub order: u64,
    /// What it was answered, in short ([`crate::script::Response::summary`]); null where the vector was over before.
    pub answer: Json,
}

/// Why a vector cannot be judged to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The step that was under way, or `end`.
    pub at: String,
    /// Why, in a sentence.
    pub why: String,
}

impl Transcript {
    /// Writes the JSON form.
    pub fn to_json(&self) -> Json {
        let entries: Vec<Json> = self.entries.iter().map(Entry::to_json).collect();
        let mut out = json!({
            "target": self.start.target,
            "seed": self.start.seed.to_string(),
            "now_ms": self.start.now_ms,
            "entries": entries,
        });
        if !self.incoming.is_empty() {
            out["incoming"] = self.incoming.iter().map(Incoming::to_json).collect();
        }
        if let Some(ended) = &self.ended {
            out["ended"] = json!({ "at": ended.at, "why": ended.why });
        }
        out
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// What is wrong and where, for a transcript that somebody edited.
    pub fn from_json(json: &Json) -> Result<Transcript, String> {
        let o = only(json, &["target", "seed", "now_ms", "entries", "incoming", "ended"])?;
        let start = Start {
            target: o.get("target").ok_or("no target")?.clone(),
            seed: o.get("seed").and_then(Json::as_str).and_then(|s| s.parse().ok()).ok_or("no seed")?,
            now_ms: o.get("now_ms").and_then(Json::as_i64).ok_or("no now_ms")?,
        };
        let list = o.get("entries").and_then(Json::as_array).ok_or("no entries")?;
        let entries: Result<Vec<Entry>, String> =
            list.iter().enumerate().map(|(n, e)| Entry::from_json(e).map_err(|m| format!("entry {n}: {m}"))).collect();
        let incoming: Result<Vec<Incoming>, String> = match o.get("incoming").map(Json::as_array) {
            None => Ok(Vec::new()),
            Some(None) => Err("incoming is no list".into()),
            Some(Some(list)) => {
                let read = |(n, json)| Incoming::from_json(json).map_err(|message| format!("incoming {n}: {message}"));
                list.iter().enumerate().map(read).collect()
            }
        };
        let ended = match o.get("ended") {
            None => None,
            Some(json) => {
                let o = only(json, &["at", "why"])?;
                Some(Ended { at: text(o, "at")?, why: text(o, "why")? })
            }
        };
        Ok(Transcript { start, entries: entries?, incoming: incoming?, ended })
    }
}

impl Entry {
    fn to_json(&self) -> Json {
        let mut out = Map::new();
        out.insert("at".into(), json!(self.at));
        out.insert("verb".into(), json!(self.verb));
        out.insert("params".into(), compact(&self.params));
        out.insert("now_ms".into(), json!(self.now_ms));
        let (name, value) = match &self.answer {
            Answer::Result(result) => ("result", compact(result)),
            Answer::Refused { code, message } => ("refused", json!({ "code": code, "message": message })),
            Answer::Broken { kind, why } => ("broken", json!({ "kind": kind, "why": why })),
            Answer::Unread => ("unread", json!(true)),
        };
        out.insert(name.into(), value);
        out.insert("answered_ms".into(), json!(self.answered_ms));
        out.insert("order".into(), json!(self.order));
        Json::Object(out)
    }

    fn from_json(json: &Json) -> Result<Entry, String> {
        const ANSWERS: [&str; 4] = ["result", "refused", "broken", "unread"];
        let known = [["at", "verb", "params", "now_ms"].as_slice(), &ANSWERS, &["answered_ms", "order"]].concat();
        let o = only(json, &known)?;
        let given: Vec<(&str, &Json)> = ANSWERS.iter().filter_map(|name| Some((*name, o.get(*name)?))).collect();
        let answer = match given.as_slice() {
            [("result", result)] => Answer::Result(expand(result)?),
            [("refused", json)] => {
                let o = only(json, &["code", "message"])?;
                let code = o.get("code").and_then(Json::as_i64).ok_or("no code")?;
                Answer::Refused { code, message: text(o, "message")? }
            }
            [("broken", json)] => {
                let o = only(json, &["kind", "why"])?;
                let kind = o.get("kind").cloned().unwrap_or_default();
                let kind = serde_json::from_value(kind).map_err(|error| error.to_string())?;
                Answer::Broken { kind, why: text(o, "why")? }
            }
            [("unread", Json::Bool(true))] => Answer::Unread,
            _ => return Err(format!("not exactly one of {ANSWERS:?}")),
        };
        let number = |name: &str| o.get(name).and_then(Json::as_i64).ok_or_else(|| format!("no {name}"));
        Ok(Entry {
            at: text(o, "at")?,
            verb: text(o, "verb")?,
            params: expand(o.get("params").ok_or("no params")?)?,
            now_ms: number("now_ms")?,
            answer,
            answered_ms: number("answered_ms")?,
            order: o.get("order").and_then(Json::as_u64).ok_or("no order")?,
        })
    }
}

impl Incoming {
    fn to_json(&self) -> Json {
        json!({
            "verb": self.verb,
            "params": compact(&self.params),
            "now_ms": self.now_ms,
            "order": self.order,
            "answer": compact(&self.answer),
        })
    }

    fn from_json(json: &Json) -> Result<Incoming, String> {
        let o = only(json, &["verb", "params", "now_ms", "order", "answer"])?;
        Ok(Incoming {
            verb: text(o, "verb")?,
            params: expand(o.get("params").ok_or("no params")?)?,
            now_ms: o.get("now_ms").and_then(Json::as_i64).ok_or("no now_ms")?,
            order: o.get("order").and_then(Json::as_u64).ok_or("no order")?,
            answer: expand(o.get("answer").ok_or("no answer")?)?,
        })
    }
}

fn only<'j>(json: &'j Json, known: &[&str]) -> Result<&'j Map<String, Json>, String> {
    let o = json.as_object().ok_or("an object was expected")?;
    match o.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(format!("unknown member {name:?}")),
        None => Ok(o),
    }
}

fn text(o: &Map<String, Json>, name: &str) -> Result<String, String> {
    o.get(name).and_then(Json::as_str).map(str::to_owned).ok_or_else(|| format!("no {name}"))
}
