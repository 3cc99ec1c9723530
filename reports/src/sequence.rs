//! A transcript as a sequence of messages between runner and target. The main function is [`exchanges`].

use cetp_vectors::json::{Limits, parse};
use cetp_vectors::machine::{Answer, Breakdown, WAIT};
use cetp_vectors::transcript::{Entry, Incoming, Transcript};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// One message with its answer, as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Place in the vector; empty for a request of the target.
    pub at: String,
    /// Whether it is the target that asks.
    pub from_target: bool,
    /// What is asked, in a word or two.
    pub verb: String,
    /// What the verb is about: caller, tool.
    pub about: String,
    /// Session, request and deadline, by short names: equal names are equal values.
    pub labels: Vec<String>,
    /// The content that matters.
    pub content: String,
    /// The answer in a word.
    pub answer: String,
    /// Whether the answer is no plain success.
    pub mood: Mood,
    /// What the answer holds.
    pub brought: String,
}

/// What kind of answer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// It went well.
    Good,
    /// The target says no, in the words of the protocol.
    Refused,
    /// There is no answer.
    Broken,
}

/// The messages of a transcript in the order in which they were sent.
pub fn exchanges(transcript: &Transcript) -> Vec<Exchange> {
    let mut out = Vec::new();
    let mut names = Names::default();
    let mut incoming = transcript.incoming.iter().peekable();
    for entry in &transcript.entries {
        out.push(names.of_entry(entry));
        // What the target asked before it answered belongs below what it was asked.
        while let Some(request) = incoming.next_if(|request| request.order < entry.order) {
            out.push(names.of_incoming(request));
        }
    }
    out.extend(incoming.map(|request| names.of_incoming(request)));
    out
}

/// Short names of opaque values, in the order in which they appear.
#[derive(Default)]
struct Names {
    sessions: BTreeMap<String, String>,
    requests: BTreeMap<String, String>,
}

impl Names {
    fn of_entry(&mut self, entry: &Entry) -> Exchange {
        let (verb, about, content) = asked(&entry.verb, &entry.params);
        let labels = self.labels(&entry.params["extras"], entry.now_ms);
        let (answer, mood, brought) = match &entry.answer {
            Answer::Result(result) => {
                self.learn(result);
                answered(&entry.verb, result)
            }
            Answer::Refused { code, message } => (format!("refused ({code})"), Mood::Refused, message.clone()),
            Answer::Broken { kind, why } => (broken(*kind).to_owned(), Mood::Broken, why.clone()),
            Answer::Unread => ("not awaited".to_owned(), Mood::Good, String::new()),
        };
        Exchange { at: entry.at.clone(), from_target: false, verb, about, labels, content, answer, mood, brought }
    }

    fn of_incoming(&mut self, request: &Incoming) -> Exchange {
        let (verb, about, content) = asked(&request.verb, &request.params);
        let labels = self.labels(&request.params["extras"], request.now_ms);
        self.learn(&request.answer);
        let (answer, mood, brought) = match &request.answer {
            Json::Null => ("not answered".to_owned(), Mood::Good, String::new()),
            answer => answered(&request.verb, answer),
        };
        Exchange { at: String::new(), from_target: true, verb, about, labels, content, answer, mood, brought }
    }

    /// A reply to `negotiate` names a session.
    fn learn(&mut self, result: &Json) {
        let data = result["bundle"]["data"]["string"].as_str().unwrap_or_default();
        if !data.contains("session_token") {
            return;
        }
        let token = parse(data.as_bytes(), Limits::DATA)
            .ok()
            .and_then(|data| data["session_token"].as_str().map(str::to_owned));
        if let Some(token) = token {
            let name = format!("S{}", self.sessions.len() + 1);
            self.sessions.entry(token).or_insert(name);
        }
    }

    fn labels(&mut self, extras: &Json, now_ms: i64) -> Vec<String> {
        let mut out = Vec::new();
        if let Some(token) = extras["session_token"]["string"].as_str() {
            let name = self.sessions.get(token).cloned();
            out.push(name.map_or_else(|| "session unknown".to_owned(), |name| format!("session {name}")));
        }
        if let Some(id) = extras["request_id"]["string"].as_str() {
            let name = format!("R{}", self.requests.len() + 1);
            out.push(format!("request {}", self.requests.entry(id.to_owned()).or_insert(name)));
        }
        if let Some(deadline) = extras["deadline_at_ms"]["long"].as_i64() {
            let left = deadline.saturating_sub(now_ms);
            if left < 0 {
                out.push(format!("deadline {} ms ago", left.unsigned_abs()));
            } else if left != USUAL_DEADLINE_MS {
                out.push(format!("deadline in {left} ms"));
            }
        }
        out
    }
}

/// The time to the deadline where a vector says nothing about it.
const USUAL_DEADLINE_MS: i64 = 60_000;

fn broken(kind: Breakdown) -> &'static str {
    match kind {
        Breakdown::Died => "the target ended",
        Breakdown::Hung => "no answer",
        Breakdown::Protocol => "no message of the protocol",
    }
}

/// Members that every request of a session has, as they usually are: the labels tell of them.
fn is_usual(name: &str, value: &Json) -> bool {
    match name {
        "protocol_version" => value["int"] == 2,
        "session_token" | "request_id" | "tool_name" => value["string"].is_string(),
        "deadline_at_ms" => value["long"].is_i64(),
        _ => false,
    }
}

fn asked(verb: &str, params: &Json) -> (String, String, String) {
    match verb {
        "provider.call" => call(params),
        "control.clock" => {
            ("clock".into(), String::new(), format!("+{} ms", params["advance_ms"].as_i64().unwrap_or_default()))
        }
        "control.user" => ("the user".into(), word(&params["decision"]), word(&params["pending_intent"])),
        WAIT => ("waits".into(), String::new(), String::new()),
        _ => {
            let name = verb.strip_prefix("control.").or(verb.strip_prefix("observe.")).unwrap_or(verb);
            (name.to_owned(), String::new(), if is_empty(params) { String::new() } else { params.to_string() })
        }
    }
}

fn call(params: &Json) -> (String, String, String) {
    let extras = params["extras"].as_object();
    let mut about = caller(params);
    if let Some(tool) = extras.and_then(|extras| extras.get("tool_name")) {
        if !about.is_empty() {
            about += " · ";
        }
        about += &plain(tool);
    }
    let content = match extras {
        None => "no extras".to_owned(),
        Some(extras) => pairs(extras, is_usual),
    };
    (word(&params["method"]), about, content)
}

/// The caller by the last part of its package's name, which in the vectors tells it apart.
fn caller(params: &Json) -> String {
    let Some(name) = params["caller"]["packages"][0]["name"].as_str() else { return String::new() };
    format!("{} (uid {})", name, params["caller"]["uid"])
}

fn answered(verb: &str, result: &Json) -> (String, Mood, String) {
    if let Some(exception) = result.get("exception") {
        return ("exception".into(), Mood::Broken, exception.to_string());
    }
    if let Some(bundle) = result.get("bundle") {
        let Some(bundle) = bundle.as_object() else { return ("a null Bundle".into(), Mood::Refused, String::new()) };
        let status = bundle.get("status").map(plain).unwrap_or_default();
        let code = bundle.get("error_code").map(plain);
        let skip = |name: &str, _: &Json| ["status", "error_code", "protocol_version", "request_id"].contains(&name);
        let mood = if code.is_some() || status == "error" { Mood::Refused } else { Mood::Good };
        let head = match (status.as_str(), code) {
            ("", None) => "a Bundle".to_owned(),
            ("", Some(code)) => code,
            (status, None) => status.to_owned(),
            (status, Some(code)) => format!("{status} {code}"),
        };
        return (head, mood, pairs(bundle, skip));
    }
    if let Some(true) = result.get("timeout").and_then(Json::as_bool) {
        return ("no answer in time".into(), Mood::Refused, String::new());
    }
    let silent = is_empty(result) || verb == WAIT;
    ("done".into(), Mood::Good, if silent { String::new() } else { result.to_string() })
}

fn is_empty(json: &Json) -> bool {
    json.as_object().is_some_and(Map::is_empty) || json.is_null()
}

/// Members of a Bundle without their types.
fn pairs(bundle: &Map<String, Json>, skip: impl Fn(&str, &Json) -> bool) -> String {
    let mut out = String::new();
    for (name, value) in bundle.iter().filter(|(name, value)| !skip(name, value)) {
        if !out.is_empty() {
            out.push_str("  ");
        }
        let _ = write!(out, "{name}={}", plain(value));
    }
    out
}

/// A typed value without its type.
fn plain(value: &Json) -> String {
    let sole = value.as_object().filter(|members| members.len() == 1).and_then(|members| members.iter().next());
    match sole {
        Some((kind, inner)) if kind == "pending_intent" || kind == "fd" => format!("{kind} {}", word(&inner["id"])),
        Some((_, inner)) => word(inner),
        None => word(value),
    }
}

fn word(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}
