//! Vectors of the suite as what campaigns begin with: each is played once as it is, and then changed at random. The main
//! type is [`Scenes`].
//!
//! What is changed loses its own expectations, as nobody knows any more what is answered. What is left are the rules that
//! hold for whatever is sent (the `always` rules of the suite), that a consumer takes what a provider says for data and
//! closes each descriptor, and that the target lives.

use super::bytes::Bytes;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use serde_json::{Value as Json, json};
use std::sync::LazyLock;

/// The vectors that a target can take.
pub struct Scenes {
    role: Role,
    all: Vec<Vector>,
    /// So many of them are small and come first. Only these are changed: one that moves mebibytes takes the time of many.
    small: usize,
    /// Tools that calls are turned to.
    tools: Vec<String>,
}

/// Values of every kind, and of every length and size at which something may end.
static VALUES: LazyLock<Vec<Json>> = LazyLock::new(|| {
    let long = |times: u32| json!({ "$text": [{ "repeat": "x", "times": times }] });
    vec![
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1),
        json!(2),
        json!(300_000),
        json!(2_147_483_647),
        json!(2_147_483_648_u64),
        json!(9_007_199_254_740_993_u64),
        json!(i64::MIN),
        json!(1.5),
        json!(1e300),
        json!(""),
        json!("x"),
        json!(" "),
        json!("\u{0}"),
        json!("%"),
        json!("../../x"),
        json!("\u{202e}x"),
        json!("ä€𝄞"),
        json!("{}"),
        json!("2"),
        json!("async_operations"),
        json!("succeeded"),
        json!("org.example.p"),
        json!("fixture_append"),
        json!("2035-01-01T00:00:00Z"),
        json!("2001-01-01T00:00:00Z"),
        json!("00000000-0000-4000-8000-000000000000"),
        json!([]),
        json!([1]),
        json!(["x", "x"]),
        json!({}),
        json!({ "x": 1 }),
        long(256),
        long(257),
        long(65_537),
    ]
});

/// Tools that a call is turned to.
const TOOLS: [&str; 8] = [
    "fixture_echo",
    "fixture_append",
    "fixture_set",
    "fixture_transfer",
    "fixture_job",
    "fixture_blob",
    "fixture_ledger",
    "fixture_nothing",
];

/// Methods that a reply is moved to.
const METHODS: [&str; 6] =
    ["negotiate", "get_provider_info", "list_tools", "execute_tool", "get_operation", "cancel_operation"];

/// Places in replies that a consumer reads.
const PLACES: [&str; 26] = [
    "/selected_version",
    "/provider_id",
    "/provider_name",
    "/session_token",
    "/expires_at",
    "/capabilities",
    "/capabilities/0",
    "/limits",
    "/limits/max_request_bytes",
    "/limits/max_inline_result_bytes",
    "/limits/max_concurrent_requests",
    "/limits/idempotency_window_seconds",
    "/schema_dialect",
    "/scopes",
    "/scopes/0/access",
    "/revision",
    "/tools",
    "/tools/0/name",
    "/tools/0/annotations",
    "/tools/0/annotations/effect",
    "/tools/0/input_schema",
    "/kind",
    "/value",
    "/operation_id",
    "/state",
    "/result",
];

impl Scenes {
    /// The vectors for a side; those that a person wrote only if asked for.
    pub fn new(catalogue: &Catalogue, role: Role, dual: bool, capabilities: &[String], written: bool) -> Scenes {
        let fits = |vector: &Vector| {
            let has = |name: &str| capabilities.iter().any(|own| own == name);
            let level = matches!(vector.level.as_str(), "core" | "v1_compat") || has(&vector.level);
            vector.stack.fits(dual)
                && level
                && (role == Role::Consumer || vector.capabilities.iter().all(|name| has(name)))
        };
        let mut all: Vec<Vector> = catalogue
            .vectors
            .iter()
            .filter(|vector| vector.suite == "cetp-v2" && vector.role == role)
            .filter(|vector| (written || vector.generated.is_some()) && fits(vector))
            .cloned()
            .collect();
        // Small ones first, as they tell as much.
        all.sort_by_cached_key(|vector| (is_large(vector), vector.source.to_string().len()));
        let small = all.iter().filter(|vector| !is_large(vector)).count();
        Scenes { role, all, small, tools: TOOLS.iter().map(|name| (*name).to_owned()).collect() }
    }

    /// The vectors of a provider's own tools: no other tool is ever called.
    pub fn of_own_tools(all: Vec<Vector>) -> Scenes {
        let mut tools = Vec::new();
        for vector in &all {
            let mut json = (*vector.source).clone();
            let mut calls = Vec::new();
            json["steps"].as_array_mut().into_iter().flatten().for_each(|step| called(step, &mut calls));
            tools.extend(calls.iter().filter_map(|call| call["tool"].as_str().map(str::to_owned)));
        }
        tools.sort();
        tools.dedup();
        Scenes { role: Role::Provider, small: all.len(), all, tools }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// How many of them are small; they come first.
    pub fn small(&self) -> usize {
        self.small
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// One of them.
    pub fn get(&self, number: usize) -> Option<&Vector> {
        self.all.get(number)
    }

    /// A vector that is one of them, changed as bytes say.
    pub fn changed(&self, bytes: &mut Bytes<'_>) -> Option<Json> {
        let mut vector = self.pick(bytes)?;
        let mut edits = 0;
        while let Some(kind) = bytes.byte() {
            let edited = match self.role {
                Role::Consumer if kind < 170 => self.edit_reply(&mut vector, kind, bytes),
                _ => self.edit_step(&mut vector, kind, bytes),
            };
            if edited.is_none() {
                break;
            }
            edits += 1;
            if edits == 6 {
                break;
            }
        }
        self.passive(&mut vector);
        Some(vector)
    }

    fn pick(&self, bytes: &mut Bytes<'_>) -> Option<Json> {
        let number = bytes.below(self.small)?;
        self.all.get(number).map(|vector| (*vector.source).clone())
    }

    /// Changes what a scripted provider answers.
    fn edit_reply(&self, vector: &mut Json, kind: u8, bytes: &mut Bytes<'_>) -> Option<()> {
        let value = VALUES[bytes.below(VALUES.len())?].clone();
        let place = bytes.below(256)?;
        let other = if kind < 40 { self.pick(bytes) } else { None };
        let providers = vector["providers"].as_object_mut()?;
        let count = providers.len();
        let provider = providers.values_mut().nth(place % count.max(1))?;
        let replies = provider.as_object_mut()?.entry("replies").or_insert_with(|| json!([])).as_array_mut()?;
        match kind {
            // What the provider of another vector answers comes first.
            0..40 => {
                let other = other?;
                let theirs = other["providers"].as_object()?.values().next()?;
                // Files that it names are not there.
                let plain = theirs["replies"].as_array().cloned().unwrap_or_default();
                let plain = plain.into_iter().filter(|reply| !reply.to_string().contains("\"fd\""));
                replies.splice(0..0, plain);
            }
            40..60 => {
                if replies.is_empty() {
                    return Some(());
                }
                drop(replies.remove(place % replies.len()));
            }
            60..80 => {
                let at = place % replies.len().max(1);
                if let Some(reply) = replies.get_mut(at) {
                    reply["to"] = json!(METHODS[place % METHODS.len()]);
                }
            }
            _ => {
                let pointer = PLACES[place % PLACES.len()];
                let to = METHODS[usize::from(kind) % METHODS.len()];
                let change =
                    if kind < 100 { json!({ "remove": [pointer] }) } else { json!({ "set": { pointer: value } }) };
                replies.insert(0, json!({ "to": to, "change": change }));
            }
        }
        Some(())
    }

    /// Changes what is done.
    fn edit_step(&self, vector: &mut Json, kind: u8, bytes: &mut Bytes<'_>) -> Option<()> {
        let place = bytes.below(256)?;
        let value = VALUES[bytes.below(VALUES.len())?].clone();
        let other = if kind % 8 == 3 && self.role == Role::Provider { self.pick(bytes) } else { None };
        let steps = vector["steps"].as_array_mut()?;
        let count = steps.len();
        if count == 0 {
            return None;
        }
        let at = place % count;
        match kind % 8 {
            0 if count > 1 => drop(steps.remove(at)),
            1 if count < 24 => steps.insert(at, steps[at].clone()),
            2 if count > 1 => steps.swap(at, (at + 1) % count),
            3 => {
                let theirs = other.and_then(|other| other["steps"].as_array().cloned()).unwrap_or_default();
                steps.extend(theirs.into_iter().take(8));
            }
            4 => {
                let mut calls = Vec::new();
                steps.iter_mut().for_each(|step| called(step, &mut calls));
                let count = calls.len();
                let call = calls.into_iter().nth(place % count.max(1))?;
                call["tool"] = json!(self.tools.get(place % self.tools.len().max(1))?);
            }
            5 if self.role == Role::Provider => {
                let mut calls = Vec::new();
                steps.iter_mut().for_each(|step| called(step, &mut calls));
                let count = calls.len();
                let call = calls.into_iter().nth(place % count.max(1))?;
                call["as"] = json!(if place % 2 == 0 { "b" } else { "a" });
            }
            6 if self.role == Role::Provider => {
                let what = match place % 4 {
                    0 => json!({ "control": "restart", "with": { "mode": "kill" } }),
                    1 => json!({ "control": "clock", "with": { "advance_ms": 1_000 } }),
                    2 => json!({ "control": "clock", "with": { "advance_ms": 3_600_000 } }),
                    _ => json!({ "control": "clock", "with": { "advance_ms": 86_400_001 } }),
                };
                steps.insert(at, what);
            }
            _ => {
                let mut calls = Vec::new();
                steps.iter_mut().for_each(|step| called(step, &mut calls));
                let count = calls.len();
                let call = calls.into_iter().nth(place % count.max(1))?;
                if call.get("args_text").is_some() {
                    call["args_text"] = json!({ "$json_text": value });
                } else if let Some(members) = call["args"].as_object_mut().filter(|members| !members.is_empty()) {
                    let count = members.len();
                    *members.values_mut().nth(place % count)? = value;
                } else {
                    call["args"] = json!({ "value": value });
                }
            }
        }
        Some(())
    }

    /// Leaves of the expectations only what holds for whatever is sent.
    fn passive(&self, vector: &mut Json) {
        for name in ["notes", "may_not_arise"] {
            vector.as_object_mut().map(|members| members.remove(name));
        }
        let steps = vector["steps"].as_array_mut();
        let Some(steps) = steps else { return };
        steps.retain_mut(|step| quiet(step, self.role));
        match self.role {
            Role::Consumer => steps.push(json!({ "expect": ["all_closed"] })),
            // Something must be judged of its own; every provider must be able to negotiate.
            _ => {
                read_files(steps);
                steps.push(json!({ "call": "negotiate", "offer": [], "expect": [
                { "requirement": "CETP2-2.2-05", "when": { "that": "${reply.error_code}", "is": { "$absent": true } },
                  "that": "${reply.data.selected_version}", "is": 2 }] }));
            }
        }
        vector["level"] = json!("core");
        vector["flags"] = vector["flags"].as_array().map_or(json!(["hostile"]), |flags| {
            let mut flags: Vec<Json> = flags.clone();
            flags.push(json!("hostile"));
            flags.dedup();
            json!(flags)
        });
        vector["id"] = json!(match self.role {
            Role::Consumer => "cetp2/consumer/fuzz/changed",
            _ => "cetp2/provider/fuzz/changed",
        });
        vector["title"] = json!("A vector that a campaign changed");
    }
}

/// Whether a vector moves mebibytes, and takes the time of many.
pub(super) fn is_large(vector: &Vector) -> bool {
    vector.has_flag("large") || vector.has_flag("over-binder")
}

/// The calls of tools in a step.
fn called<'j>(step: &'j mut Json, out: &mut Vec<&'j mut Json>) {
    match step {
        Json::Array(items) => items.iter_mut().for_each(|item| called(item, out)),
        Json::Object(members) if members.contains_key("tool") => out.push(step),
        Json::Object(members) => {
            let inner =
                members.iter_mut().filter(|(name, _)| ["repeat", "parallel", "execute"].contains(&name.as_str()));
            inner.for_each(|(_, value)| called(value, out));
        }
        _ => {}
    }
}

/// Behind the first few executions: where a file came, it is read, and has to be what was said of it.
fn read_files(steps: &mut Vec<Json>) {
    const MOST: usize = 3;
    let executes = |(_, step): &(usize, &Json)| step["call"] == "execute_tool";
    let places: Vec<usize> = steps.iter().enumerate().filter(executes).map(|(place, _)| place).take(MOST).collect();
    // From the last on, as each moves those that follow.
    for place in places.into_iter().rev() {
        let name = steps[place]["save"].as_str().map_or_else(|| format!("file{place}"), str::to_owned);
        steps[place]["save"] = json!(name);
        let fact = |path: &str| format!("${{{name}.{path}}}");
        steps.insert(
            place + 1,
            json!({
                "read": fact("result_fd.id"),
                "when": { "all_of": [
                    { "that": fact("data.kind"), "is": "file" }, { "that": fact("result_fd.id"), "is": { "$any": true } },
                ] },
                "expect": [{ "requirement": "CETP2-4.5-06", "that": "${reply}", "is": {
                    "bytes": fact("data.size_bytes"), "sha256": fact("data.sha256"), "eof": true, "error": { "$absent": true },
                } }],
            }),
        );
    }
}

/// Takes the expectations out of a step; false where nothing is left of it.
fn quiet(step: &mut Json, role: Role) -> bool {
    let Some(members) = step.as_object_mut() else { return true };
    // Which call a fault that was asked for will strike is no longer known, and it may end the process.
    if members.get("control").is_some_and(|name| name == "fault") {
        return false;
    }
    members.remove("expect");
    members.remove("breakdown");
    for name in ["repeat", "parallel"] {
        if let Some(Json::Array(inner)) = members.get_mut(name) {
            for item in inner.iter_mut() {
                if let Json::Array(branch) = item {
                    branch.retain_mut(|step| quiet(step, role));
                }
            }
            inner.retain_mut(|item| item.is_array() || quiet(item, role));
            if inner.iter().all(|item| item.as_array().is_some_and(Vec::is_empty)) {
                return false;
            }
        }
    }
    if role == Role::Consumer {
        if members.contains_key("discover") {
            members.insert("expect".into(), json!(["rows_are_data"]));
        } else if members.contains_key("execute") {
            members.insert("expect".into(), json!(["data_only"]));
        }
    }
    !(members.is_empty() || members.keys().all(|name| name == "when"))
}

#[cfg(test)]
mod tests {
    use super::super::bench::{Bench, broken};
    use super::*;
    use crate::builtin;
    use cetp_vectors::reader::Reader;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_file_has_to_be_what_was_said_of_it_in_whatever_vector_it_comes() {
        let (reader, quiet) = (Reader::new("cetp-v2").unwrap(), AtomicBool::new(false));
        let mut vector = json!({
            "id": "cetp2/provider/4.5/any", "title": "Any", "role": "provider", "level": "large_results",
            "requirements": ["CETP2-4.5-06"], "steps": [
                { "call": "negotiate", "offer": ["large_results"], "save": "s" },
                { "call": "execute_tool", "session": "s", "tool": "fixture_blob", "args": { "length": 300_000, "fill": "cjk" } },
                { "call": "execute_tool", "session": "s", "tool": "fixture_echo", "args": { "value": 1 } },
            ],
        });
        Scenes::of_own_tools(Vec::new()).passive(&mut vector);
        for (target, expected) in [
            ("builtin:provider", Vec::new()),
            ("builtin:provider+digest_of_envelope", vec!["CETP2-4.5-06".to_owned()]),
            ("builtin:provider+file_cut_at_1_mib", Vec::new()),
            ("builtin:provider+file_ends_in_newline", vec!["CETP2-4.5-06".to_owned()]),
        ] {
            let opened = builtin::opener(false).open(target).unwrap();
            let mut bench = Bench::new(opened.adapter.as_ref(), &reader, &quiet).unwrap();
            let (vector, result) = bench.run(&vector).unwrap();
            assert!(result.judgement.is_some(), "{:?}", result.reason);
            assert_eq!(broken(&vector, &result), expected, "{target}: {:?}", result.reason);
        }
    }
}
