//! What each rule flags, and near misses that it does not: the files in `cases/`, one for each row of the ledger that a listing
//! shows something of.
//!
//! A case gives tools as what differs from a faultless descriptor (`null` takes a member out; `mcp` begins from one of MCP), the
//! findings of its rule that must come, and no others may, and the tools that the rule must say it did not judge. `others` are
//! the tools of a second provider, `scopes` the catalogue, `info` what the provider says of itself.

use cetp_conformance::audit::input::from_json;
use cetp_conformance::audit::rules::{Judge, RULES, judge};
use cetp_conformance::audit::tool::Provider;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::Path;

fn faultless(mcp: bool) -> Json {
    let description = "Use it when you have the id of a book and need to know whether it can be borrowed now. Do not use it to \
                       search for titles; it reserves nothing. Returns the state and the time of observation.";
    let input = json!({ "type": "object", "properties": { "book_id": { "type": "string", "pattern": "^BK-[0-9]{1,6}$" } },
        "required": ["book_id"], "additionalProperties": false });
    let output = json!({ "type": "object", "properties": { "status": { "enum": ["available", "lent"] },
        "source": { "type": "string" }, "observed_at": { "type": "string", "format": "date-time" } },
        "required": ["status", "source", "observed_at"], "additionalProperties": false });
    if mcp {
        return json!({ "name": "get_availability", "description": description, "inputSchema": input,
            "outputSchema": output });
    }
    json!({ "name": "get_availability", "title": "Current availability of a book", "description": description,
        "input_schema": input, "output_schema": output, "scopes": ["catalog.read"],
        "annotations": { "effect": "read", "risk": "low", "destructive": false, "idempotent": true, "open_world": false,
            "confirmation": "never", "execution": "sync" } })
}

fn tool(changes: &Json) -> Json {
    let mut tool = faultless(changes["mcp"] == true);
    for (member, value) in changes.as_object().into_iter().flatten().filter(|(member, _)| *member != "mcp") {
        if value.is_null() {
            tool.as_object_mut().unwrap().remove(member);
        } else {
            tool[member] = value.clone();
        }
    }
    tool
}

fn provider(label: &str, tools: &Json, case: &Json) -> Provider {
    let mut document = if case["info"].is_object() { case["info"].clone() } else { json!({}) };
    document["tools"] = tools.as_array().unwrap().iter().map(tool).collect();
    if case["scopes"].is_array() {
        document["scopes"] = case["scopes"].clone();
    }
    from_json(label, document).unwrap()
}

type Place = (Option<String>, String, String);

fn place(finding: &Json) -> Place {
    let text = |member: &str| finding[member].as_str().unwrap_or_default().to_owned();
    (finding["tool"].as_str().map(str::to_owned), text("severity"), text("pointer"))
}

#[test]
fn each_rule_flags_what_it_must_and_no_more() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/audit/cases");
    let mut wrong = Vec::new();
    let mut count = 0;
    for rule in RULES.iter().filter(|rule| !matches!(rule.judge, Judge::No(_))) {
        let text = std::fs::read_to_string(folder.join(format!("{}.json", rule.id))).unwrap();
        let cases: Vec<Json> = serde_json::from_str(&text).unwrap();
        let flagged = cases.iter().any(|case| case["expect"] != json!([]));
        let near = cases.iter().any(|case| case["expect"] == json!([]));
        assert!(flagged && near, "{}: one that is flagged and a near miss", rule.id);
        for case in &cases {
            count += 1;
            let mut providers = vec![provider("it", &case["tools"], case)];
            if case["others"].is_array() {
                providers.push(provider("other", &case["others"], &Json::Null));
            }
            let out = judge(&providers);
            let findings = out.findings.iter().filter(|finding| finding.requirement == rule.id);
            let mut found: Vec<Place> = findings.map(|f| place(&serde_json::to_value(f).unwrap())).collect();
            found.sort();
            let mut expected: Vec<Place> = case["expect"].as_array().unwrap().iter().map(place).collect();
            expected.sort();
            if found != expected {
                wrong.push(format!("{} {}\n  expected {expected:?}\n  found    {found:?}", rule.id, case["name"]));
            }
            for name in case["unjudged"].as_array().into_iter().flatten() {
                let told = |u: &&cetp_conformance::audit::finding::Unjudged| {
                    u.requirement == rule.id && u.tool.as_deref() == name.as_str()
                };
                if !out.unjudged.iter().any(|unjudged| told(&unjudged)) {
                    wrong.push(format!("{} {}: nothing says that {name} was not judged", rule.id, case["name"]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_faultless_descriptor_brings_nothing() {
    for mcp in [json!([{}]), json!([{ "mcp": true, "annotations": { "readOnlyHint": true } }])] {
        let out = judge(&[provider("it", &mcp, &Json::Null)]);
        assert!(out.findings.is_empty(), "{:#?}", out.findings);
    }
}

/// A listing must not be able to bury what matters, and nothing of it may be left out without a word.
#[test]
fn much_of_a_kind_is_counted() {
    let members: serde_json::Map<String, Json> =
        (0..50).map(|n| (format!("a{n:02}"), json!({ "type": "string" }))).collect();
    let many = json!({ "input_schema": { "type": "object", "properties": members, "required": [], "additionalProperties": false } });
    // Each level has the next one twice: two lines are a million values.
    let level = |n: usize| json!({ "type": "object", "properties": { "a": { "$ref": format!("#/$defs/d{}", n + 1) }, "b": { "$ref": format!("#/$defs/d{}", n + 1) } } });
    let mut levels: serde_json::Map<String, Json> = (0..30).map(|n| (format!("d{n}"), level(n))).collect();
    levels.insert("d30".into(), json!({ "type": "string" }));
    let deep = json!({ "name": "get_b", "output_schema": { "$ref": "#/$defs/d0", "$defs": levels } });
    let out = judge(&[provider("it", &json!([many, deep]), &Json::Null)]);
    let told: Vec<&str> = out.findings.iter().filter(|f| f.requirement == "TC-04").map(|f| f.seen.as_str()).collect();
    assert_eq!(told.len(), 21, "{told:?}");
    assert_eq!(told[20], "30 more like these, from here on.");
    let cut = out.unjudged.iter().find(|unjudged| unjudged.requirement == "TC-18").unwrap();
    assert_eq!(cut.tool.as_deref(), Some("get_b"));
    assert!(cut.reason.contains("too many values"), "{}", cut.reason);
}

/// §2.1: the tools that the text itself proposes.
#[test]
fn the_tools_of_the_text_are_as_it_wants_them() {
    let marks = |effect: &str, open: bool, confirmation: &str| {
        json!({ "effect": effect, "risk": "low", "destructive": false, "idempotent": false, "open_world": open,
            "confirmation": confirmation, "execution": "sync" })
    };
    let read = |name: &str| json!({ "name": name });
    let write = |name: &str, open: bool| json!({ "name": name, "annotations": marks("create", open, "provider_policy"), "scopes": ["card.write"] });
    let tools = json!([
        read("search_catalog"),
        read("get_book_details"),
        read("get_availability"),
        write("create_card_preview", false),
        write("request_teacher_approval", true),
        { "name": "send_class_message", "annotations": marks("create", true, "always"), "scopes": ["message.write"] },
        read("get_message_status"),
    ]);
    let set = provider("it", &tools, &Json::Null);
    let out = judge(std::slice::from_ref(&set));
    assert!(out.findings.is_empty(), "{:#?}", out.findings);
    let grades: BTreeMap<&str, &str> =
        set.tools.iter().map(|tool| (tool.name.as_str(), tool.graded.grade.unwrap().name())).collect();
    assert_eq!(grades["search_catalog"], "T1");
    assert_eq!(grades["create_card_preview"], "T2");
    assert_eq!(grades["send_class_message"], "T3");
}

#[test]
fn grades_are_those_of_the_text() {
    let marks = |effect: &str, risk: &str, destructive: bool, open: bool| json!({ "effect": effect, "risk": risk, "destructive": destructive, "open_world": open });
    for (changes, grade) in [
        (json!({ "name": "hash_text", "scopes": [] }), Some("T0")),
        (json!({ "name": "hash_text" }), Some("T1")),
        (json!({}), Some("T1")),
        (json!({ "name": "set_note", "annotations": marks("update", "low", false, false) }), Some("T2")),
        (json!({ "name": "set_note", "annotations": marks("update", "low", false, true) }), Some("T3")),
        (json!({ "name": "share_note", "annotations": marks("update", "low", false, false) }), Some("T3")),
        (json!({ "name": "set_note", "annotations": marks("update", "high", false, false) }), Some("T4")),
        (json!({ "name": "set_note", "annotations": marks("update", "low", true, false) }), Some("T4")),
        (json!({ "name": "remove_note", "annotations": marks("delete", "low", false, false) }), Some("T4")),
        (json!({ "name": "pay_invoice", "annotations": marks("create", "low", false, false) }), Some("T4")),
        (json!({ "name": "create_payment_draft", "annotations": marks("create", "low", false, false) }), Some("T2")),
        (
            json!({ "name": "run_shell", "input_schema": { "properties": { "command": { "type": "string" } } } }),
            Some("T4"),
        ),
        (json!({ "mcp": true, "name": "delete_note" }), Some("T4")),
        (json!({ "mcp": true, "name": "get_note" }), Some("T1")),
        (json!({ "mcp": true, "name": "weather" }), None),
    ] {
        let set = provider("it", &json!([changes]), &Json::Null);
        assert_eq!(set.tools[0].graded.grade.map(|grade| grade.name()), grade, "{changes}: {:?}", set.tools[0].graded);
    }
}
