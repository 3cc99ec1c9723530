//! Arguments made from input schemas: those of the fixture, and those of a real provider's tools. The main functions are
//! `files` and [`of_tools`].

use super::instances::{Instance, instances};
use super::{Files, Made, file};
use crate::expr::json_text;
use crate::schema::DRAFT_2020_12;
use serde_json::{Value as Json, json};

pub(super) const NAME: &str = "arguments";
const SOURCE: &str = "fixture/fixture-tools.json";

/// Tools of the fixture that look at their arguments before anything else.
const TOOLS: [&str; 10] = [
    "fixture_append",
    "fixture_bad_output",
    "fixture_blob",
    "fixture_crash",
    "fixture_echo",
    "fixture_escalate",
    "fixture_job",
    "fixture_ledger",
    "fixture_set",
    "fixture_transfer",
];
/// Those that give a value for any arguments that conform.
const WORKING: [&str; 4] = ["fixture_append", "fixture_blob", "fixture_echo", "fixture_set"];

pub(super) fn files(seed: u64) -> Result<Made, String> {
    let mut vectors = Vec::new();
    let (mut broken, mut kept) = (0, 0);
    for name in TOOLS {
        let tool = crate::fixture::tool(name).ok_or_else(|| format!("there is no {name}"))?;
        let (sample, cases) = instances(&tool["input_schema"], DRAFT_2020_12);
        let sample = sample.ok_or_else(|| format!("{name}: no arguments that conform"))?;
        let invalid: Vec<&Instance> = cases.iter().filter(|case| !case.valid).collect();
        broken += invalid.len();
        vectors.push(refused(name, &invalid));
        if WORKING.contains(&name) {
            let mut valid = vec![sample];
            valid.extend(cases.iter().filter(|case| case.valid).map(|case| case.value.clone()));
            kept += valid.len();
            vectors.push(taken(name, &valid));
        }
    }
    let report = format!(
        "{broken} arguments that break a keyword and {kept} at its boundaries; folded into {} vectors, one for each tool and answer",
        vectors.len()
    );
    let files =
        Files::from([("cetp-v2/provider/generated/arguments.json".to_owned(), file(NAME, seed, SOURCE, vectors))]);
    Ok(Made { files, report })
}

fn texts<'i>(values: impl IntoIterator<Item = &'i Json>) -> Vec<Json> {
    values.into_iter().map(|value| short(&json_text(value))).collect()
}

/// A text in which nothing is a placeholder.
fn literal(text: &str) -> Json {
    json!(text.replace("${", "$${"))
}

/// A text in which a long run of one character is not written out.
fn short(text: &str) -> Json {
    const LONG: usize = 64;
    let mut parts: Vec<Json> = Vec::new();
    let mut plain = String::new();
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        let run = chars[at..].iter().take_while(|c| **c == chars[at]).count();
        if run >= LONG {
            if !plain.is_empty() {
                parts.push(literal(&std::mem::take(&mut plain)));
            }
            parts.push(json!({ "repeat": chars[at].to_string(), "times": run }));
        } else {
            plain.extend(&chars[at..at + run]);
        }
        at += run;
    }
    if parts.is_empty() {
        return literal(text);
    }
    if !plain.is_empty() {
        parts.push(literal(&plain));
    }
    json!({ "$text": parts })
}

fn negotiate(name: &str) -> Json {
    let offer: &[&str] = if name == "fixture_job" { &["async_operations"] } else { &[] };
    let granted = |name: &&str| json!({ "use": "granted", "with": { "capability": name } });
    let mut expect = vec![json!("negotiated")];
    expect.extend(offer.iter().map(granted));
    json!({ "call": "negotiate", "offer": offer, "save": "s", "expect": expect })
}

fn refused(name: &str, cases: &[&Instance]) -> Json {
    let mut keywords: Vec<&str> = cases.iter().map(|case| case.keyword.as_str()).collect();
    keywords.sort_unstable();
    keywords.dedup();
    let expect = json!([{ "use": "turned_down", "with": { "requirement": "CETP2-5-10", "codes": ["INVALID_ARGS"] } }]);
    let mut tools = vec![name, "fixture_ledger"];
    tools.dedup();
    let mut vector = json!({
        "id": format!("cetp2/provider/5/arguments-of-{}-that-break-the-schema", name.replace('_', "-")),
        "title": format!("Arguments of {name} that break a keyword of its input_schema are INVALID_ARGS and have no effect"),
        "notes": format!("Each of these is broken alone: {}.", keywords.join(", ")),
        "role": "provider", "level": "core", "requirements": ["CETP2-5-10"], "tools": tools,
        "steps": [
            negotiate(name),
            { "repeat": [{ "call": "execute_tool", "session": "s", "tool": name, "args_text": "${item}", "expect": expect }],
              "over": texts(cases.iter().map(|case| &case.value)) },
            { "call": "execute_tool", "session": "s", "tool": "fixture_ledger", "args": {}, "expect": [
                { "use": "ledger", "with": { "requirement": "CETP2-5-10", "entries": [] } }] }
        ]
    });
    if name == "fixture_job" {
        vector["capabilities"] = json!(["async_operations"]);
    }
    vector
}

fn taken(name: &str, values: &[Json]) -> Json {
    json!({
        "id": format!("cetp2/provider/4.2/arguments-of-{}-that-conform", name.replace('_', "-")),
        "title": format!("Arguments of {name} at the boundaries of its input_schema give a result that conforms to its output_schema"),
        "role": "provider", "level": "core", "requirements": ["CETP2-4.2-02"], "tools": [name],
        "steps": [
            negotiate(name),
            { "repeat": [{ "call": "execute_tool", "session": "s", "tool": name, "args_text": "${item}", "expect": ["not_busy", "done",
                { "requirement": "CETP2-4.2-02", "that": "${reply.data.value}",
                  "is": { "$instance_of": { "schema": format!("${{fixture.tool.{name}.output_schema}}"), "dialect": DRAFT_2020_12 } } }] }],
              "over": texts(values) }
        ]
    })
}

/// Vectors for tools that nobody knows beforehand, as `list_tools` shows them. Tools that need the user are never called;
/// those with effects only where that is allowed.
///
/// Arguments that break a schema must be INVALID_ARGS. What conforms may still break a rule of the business: there only the
/// shape of the answer is judged, and a success by its output_schema.
pub fn of_tools(tools: &[Json], dialect: &str, allow_effects: bool) -> (Vec<Json>, Vec<String>) {
    let named = |name: &str| tools.iter().filter(|tool| tool["name"] == *name).count();
    let mut nobodys = "no_such_tool".to_owned();
    while named(&nobodys) > 0 {
        nobodys.push('_');
    }
    let mut vectors = vec![envelope(&nobodys)];
    let mut left_out = Vec::new();
    for (n, tool) in tools.iter().enumerate() {
        let name = tool["name"].as_str().unwrap_or_default();
        let annotations = &tool["annotations"];
        if crate::fixture::tool(name).is_some() {
            left_out.push(format!("{name}: it is of the fixture, for which there are vectors"));
            continue;
        }
        if named(name) > 1 {
            left_out.push(format!("{name}: it is listed twice, and it is not known which would be called"));
            continue;
        }
        if annotations["confirmation"] != "never" && annotations["confirmation"] != "provider_policy" {
            left_out.push(format!("{name}: it needs the user"));
            continue;
        }
        if annotations["effect"] != "read" && !allow_effects {
            left_out.push(format!("{name}: it has effects"));
            continue;
        }
        let (sample, cases) = instances(&tool["input_schema"], dialect);
        let Some(sample) = sample else {
            left_out.push(format!("{name}: no arguments that conform were found"));
            continue;
        };
        let wrong: Vec<&Json> = cases.iter().filter(|case| !case.valid).map(|case| &case.value).collect();
        let session = json!({ "call": "negotiate", "offer": [], "save": "s", "expect": ["negotiated"] });
        let call = |expect: Json| json!({ "call": "execute_tool", "session": "s", "tool": literal(name), "args_text": "${item}", "expect": expect });
        // Whether the caller may use it at all is the provider's to say.
        let codes = ["INVALID_ARGS", "INVALID_REQUEST", "AUTH_REQUIRED", "PERMISSION_DENIED", "USER_ACTION_REQUIRED"];
        if !wrong.is_empty() {
            vectors.push(json!({
                "id": format!("cetp2/provider/5/own-tool-{n}-arguments-that-break-the-schema"),
                "title": format!("Arguments of {name} that break its input_schema are refused"),
                "role": "provider", "level": "core", "requirements": ["CETP2-5-10"],
                "steps": [session, { "repeat": [call(json!([
                    { "use": "turned_down", "with": { "requirement": "CETP2-5-10", "codes": codes } }]))], "over": texts(wrong) }]
            }));
        }
        let mut right = vec![&sample];
        right.extend(cases.iter().filter(|case| case.valid).map(|case| &case.value));
        let conforms =
            json!({ "$instance_of": { "schema": { "$literal": tool["output_schema"] }, "dialect": dialect } });
        vectors.push(json!({
            "id": format!("cetp2/provider/4.2/own-tool-{n}-arguments-that-conform"),
            "title": format!("What {name} gives for arguments that conform conforms to its output_schema"),
            "role": "provider", "level": "core", "requirements": ["CETP2-4.2-02"],
            "may_not_arise": "the tool gave no inline result for any of these arguments",
            "steps": [session, { "repeat": [call(json!([
                { "requirement": "CETP2-4.2-02", "when": { "that": "${reply.data.kind}", "is": "inline" },
                  "that": "${reply.data.value}", "is": conforms }]))], "over": texts(right) }]
        }));
    }
    (vectors, left_out)
}

/// The errors that need no tool; `nobodys` is a name that no tool has.
fn envelope(nobodys: &str) -> Json {
    let with = |requirement: &str, codes: Json| json!([{ "use": "turned_down", "with": { "requirement": requirement, "codes": codes } }]);
    json!({
        "id": "cetp2/provider/5/own-tools-envelope",
        "title": "Unknown methods, unknown tools and broken envelopes are refused in the shape of section 5",
        "role": "provider", "level": "core", "requirements": ["CETP2-5-11", "CETP2-4-01", "CETP2-2.2-11", "CETP2-4.1-02"],
        "steps": [
            { "call": "negotiate", "offer": [], "save": "s", "expect": ["negotiated"] },
            { "call": "list_tools", "session": "s", "expect": ["listed"] },
            { "call": "get_provider_info", "session": "s", "expect": ["informed"] },
            { "call": "no_such_method", "session": "s", "expect": with("CETP2-4-01", json!(["METHOD_NOT_FOUND"])) },
            { "call": "execute_tool", "session": "s", "tool": nobodys, "args": {}, "expect": with("CETP2-5-11", json!(["TOOL_NOT_FOUND"])) },
            { "call": "execute_tool", "session": "s", "tool": nobodys, "args": {}, "extras": { "session_token": null },
              "expect": with("CETP2-2.2-11", json!(["NEGOTIATION_REQUIRED"])) },
            { "call": "execute_tool", "session": "s", "tool": nobodys, "args": {}, "extras": { "request_id": null },
              "expect": with("CETP2-4.1-02", json!(["INVALID_REQUEST", "TOOL_NOT_FOUND"])) }
        ]
    })
}
