//! The loader names file and place of every fault, and agrees with the published JSON Schemas.

use cetp_vectors::load::{Catalogue, EMBEDDED, FileKind, kind_of};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

const SCHEMA: &str = include_str!("../schemas/vectors.schema.json");
const RULES_SCHEMA: &str = include_str!("../schemas/rules.schema.json");

fn base() -> Json {
    json!({"format": "cetp-vectors/1", "suite": "cetp-v2", "vectors": [{
        "id": "cetp2/provider/2.2/limits", "title": "Limits", "role": "provider", "level": "core",
        "requirements": ["CETP2-2.2-14"], "flags": ["grey-zone"], "needs": ["clock"], "tools": ["fixture_echo"],
        "steps": [
            {"call": "negotiate", "offer": [], "save": "s", "expect": ["negotiated"]},
            {"control": "clock", "with": {"advance_ms": 1}},
            {"repeat": [{"call": "list_tools", "session": "s", "save": "l"}], "times": 2},
            {"parallel": [[{"call": "execute_tool", "session": "s", "tool": "fixture_echo", "args": {"value": 1}}]], "copies": 2},
            {"expect": [{"requirement": "CETP2-2.2-14", "that": "${s.data.limits.max_request_bytes}", "is": {"$gte": 65536}}]}
        ]
    }]})
}

/// Reads one file of vectors beside the embedded ledgers and rules.
fn load(name: &str, text: &str) -> Result<Catalogue, String> {
    let shared = |name: &str| {
        matches!(kind_of(name), Some(FileKind::Ledger | FileKind::Contract | FileKind::Fixture | FileKind::Rules(_)))
    };
    let mut files: BTreeMap<String, Vec<u8>> =
        EMBEDDED.iter().filter(|(name, _)| shared(name)).map(|(n, t)| ((*n).into(), t.as_bytes().to_vec())).collect();
    files.insert(name.into(), text.as_bytes().to_vec());
    Catalogue::from_files(files).map_err(|error| error.to_string())
}

fn load_json(json: &Json) -> Result<Catalogue, String> {
    load("cetp-v2/provider/test.json", &json.to_string())
}

fn schema_accepts(json: &Json) -> bool {
    let schema: Json = serde_json::from_str(SCHEMA).unwrap();
    jsonschema::options().build(&schema).unwrap().is_valid(json)
}

/// A change at a JSON Pointer: another value, or none.
fn changed(pointer: &str, value: Option<Json>) -> Json {
    let mut json = base();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = json.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Json::Object(o), Some(value)) => drop(o.insert(name.into(), value)),
        (Json::Object(o), None) => drop(o.remove(name)),
        (Json::Array(a), Some(value)) => a[name.parse::<usize>().unwrap()] = value,
        _ => unreachable!(),
    }
    json
}

#[test]
fn the_base_is_good() {
    assert!(schema_accepts(&base()));
    assert_eq!(load_json(&base()).map(|c| c.vectors.len()), Ok(1));
}

/// Faults that the JSON Schema sees as well.
#[test]
fn faults_of_shape_are_named() {
    let v = "/vectors/0";
    let cases = [
        ("/format", Some(json!("cetp-vectors/2")), "/format"),
        ("/extra", Some(json!(1)), "/extra: unknown member"),
        ("/vectors/0/id", None, "\"id\" is missing"),
        ("/vectors/0/id", Some(json!("Upper/case/id")), "lower-case parts"),
        ("/vectors/0/id", Some(json!("short")), "at least three"),
        ("/vectors/0/role", Some(json!("both_sides")), "unknown role"),
        ("/vectors/0/comment", Some(json!("x")), "/comment: unknown member"),
        ("/vectors/0/requirements", Some(json!([])), "about at least one requirement"),
        ("/vectors/0/flags", Some(json!(["fast"])), "unknown flag"),
        ("/vectors/0/stack", Some(json!("v3")), "must be \"dual\""),
        ("/vectors/0/now_ms", Some(json!("now")), "milliseconds"),
        ("/vectors/0/steps", None, "\"steps\" is missing"),
        ("/vectors/0/steps/0/cal", Some(json!(1)), "/cal: unknown member"),
        ("/vectors/0/steps/1/control", Some(json!("time")), "must be one of"),
        ("/vectors/0/steps/1", Some(json!({"call": "x", "control": "clock"})), "exactly one of"),
        ("/vectors/0/steps/1", Some(json!({})), "exactly one of"),
        ("/vectors/0/steps/2/until", Some(json!({"is": 1})), "exactly one of \"times\", \"over\" and \"until\""),
        ("/vectors/0/steps/3/copies", None, "at least two branches"),
        ("/vectors/0/steps/4/expect/0/is", None, "exactly one of \"is\""),
        ("/vectors/0/steps/4/expect/0/strength", Some(json!("must")), "must be \"should\""),
        ("/vectors/0/steps/4/expect/0/precondition", Some(json!("x")), "exactly one of \"requirement\""),
        ("/vectors/0/steps/0/save", Some(json!("With Space")), "cannot be the name"),
    ];
    for (pointer, value, message) in cases {
        let json = changed(pointer, value);
        let error = load_json(&json).map(|_| ()).expect_err(message);
        assert!(error.contains(message), "{pointer}: {error}");
        assert!(error.starts_with("cetp-v2/provider/test.json"), "{pointer}: {error}");
        assert!(error.contains(v) || !pointer.starts_with(v), "{pointer}: {error}");
        assert!(!schema_accepts(&json), "{pointer}: the schema lets it pass");
    }
}

/// Faults that only the loader can see.
#[test]
fn faults_of_meaning_are_named() {
    let step = |json: Json| changed("/vectors/0/steps/4", Some(json));
    let expectation = |json: Json| changed("/vectors/0/steps/4/expect/0", Some(json));
    let cases = [
        (changed("/vectors/0/requirements/0", Some(json!("CETP2-9.9-99"))), "is in no ledger"),
        (changed("/vectors/0/requirements/0", Some(json!("CETP2-2.2-01"))), "does not bind a provider"),
        (changed("/vectors/0/requirements/0", Some(json!("CETP2-4.4-01"))), "is of the level async_operations"),
        (changed("/vectors/0/requirements/0", Some(json!("CETP2-6-01"))), "no expectation of the vector judges"),
        (changed("/vectors/0/requirements/0", Some(json!("AW1-P-01"))), "belongs to aw-provider-v1alpha1"),
        (changed("/vectors/0/needs", Some(json!([]))), "must name exactly what the steps use"),
        (changed("/vectors/0/tools", Some(json!(["fixture_set"]))), "must name exactly what the steps use"),
        (changed("/vectors/0/role", Some(json!("consumer"))), "does not bind a consumer"),
        (step(json!({"call": "execute_tool", "session": "t"})), "no earlier step saves \"t\""),
        (step(json!({"call": "execute_tool", "as": "zoe"})), "unknown caller"),
        (step(json!({"call": "x", "extras": {"a": {"integer": 1}}})), "is no type of the target protocol"),
        (step(json!({"call": "x", "extras": {"a": {"int": "1"}}})), "an integer was expected"),
        (step(json!({"call": "${t.data}"})), "no earlier step saves"),
        (step(json!({"call": "${s.data"})), "does not end"),
        (step(json!({"call": {"$sum": [1]}})), "is no function"),
        (step(json!({"expect": ["no-such-rule"]})), "there is no rule"),
        (step(json!({"expect": [{"use": "ledger", "with": {"requirement": "CETP2-6-01"}}]})), "needs \"entries\""),
        (step(json!({"expect": [{"use": "done", "with": {"more": 1}}]})), "does not take \"more\""),
        (expectation(json!({"requirement": "CETP2-2.2-14", "is": {"$smallest": 1}})), "there is no operator"),
        (expectation(json!({"requirement": "CETP2-2.2-14", "is": {"$gte": 1, "a": 1}})), "do not mix"),
        (expectation(json!({"requirement": "CETP2-2.2-14", "is": {"$regex": "("}})), "not a regular expression"),
        (expectation(json!({"requirement": "CETP2-2.2-14", "is": {"$absent": false}})), "must be true"),
        (expectation(json!({"requirement": "CETP2-0-00", "is": 1})), "is in no ledger"),
        (
            changed("/vectors/0/steps/3/parallel/0/0", Some(json!({"parallel": [[], []]}))),
            "parallel is not possible here",
        ),
        (step(json!({"barrier": true})), "barrier is not possible here"),
        (step(json!({"call": "x", "when": {"is": 1}})), "needs \"that\""),
        (step(json!({"call": "x", "when": {"that": "${reply.data}", "is": 1}})), "only there in the expectations"),
        (step(json!({"expect": [], "save": "x"})), "only an answer can be saved"),
        (step(json!({"call": {"$slice": {"text": "x", "too": 1}}})), "takes [\"text\", \"from\", \"to\"]"),
        (step(json!({"read": "x", "chunk_bytes": 0})), "at least one byte"),
        (step(json!({"call": "x", "breakdown": "CETP2-7.1-02"})), "is no must"),
        (step(json!({"expect": [{"requirement": "CETP2-2.2-01", "is": 1}]})), "does not bind a provider"),
        (changed("/vectors/0/capabilities", Some(json!(["async_operation"]))), "is no capability"),
        (changed("/vectors/0/level", Some(json!("cores"))), "is no level of the suite"),
        (changed("/vectors/0/callers", Some(json!(["zoe"]))), "unknown caller"),
    ];
    for (json, message) in cases {
        let error = load_json(&json).map(|_| ()).expect_err(message);
        assert!(error.contains(message), "{message}: {error}");
    }
}

#[test]
fn faults_of_files_are_named() {
    let good = base().to_string();
    let error = |name: &str, text: &str| load(name, text).map(|_| ()).unwrap_err();
    assert!(error("cetp-v2/notes.txt", &good).contains("belongs to nothing"));
    assert!(error("cetp-v3/provider/a.json", &good).contains("belongs to nothing"));
    assert!(error("cetp-v2/consumer/a.json", &good).contains("lies in the folder of cetp-v2, consumer"));
    assert!(error("cetp-v2/provider/a.json", "{\"a\":1,\"a\":2}").contains("the member \"a\" occurs twice"));
    assert!(error("cetp-v2/provider/a.json", "[").contains("ends too early"));
    assert!(error("requirements/more.json", "{}").contains("missing field"));
    let rules = |rules: Json| {
        let file = json!({"format": "cetp-rules/1", "suite": "cetp-v2", "rules": rules});
        error("cetp-v2/rules.json", &file.to_string())
    };
    assert!(rules(json!({"a": ["b"], "b": ["a"]})).contains("uses itself"));
    assert!(rules(json!({"a": [{"requirement": "CETP2-nonsense", "is": 1}]})).contains("is in no ledger"));
    assert!(rules(json!({"a": []})).contains("not empty"));
    let mut twice = base();
    let vector = twice["vectors"][0].clone();
    twice["vectors"].as_array_mut().unwrap().push(vector);
    assert!(error("cetp-v2/provider/a.json", &twice.to_string()).contains("also occurs in"));
}

#[test]
fn a_folder_without_vectors_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = Catalogue::from_path(folder.path()).unwrap_err().to_string();
    assert!(error.contains("holds no vectors"), "{error}");
    let error = Catalogue::from_path(&folder.path().join("none")).unwrap_err().to_string();
    assert!(error.contains("none"), "{error}");
}

#[test]
fn the_schemas_accept_every_embedded_file() {
    let compile = |text: &str| jsonschema::options().build(&serde_json::from_str(text).unwrap()).unwrap();
    let (vectors, rules) = (compile(SCHEMA), compile(RULES_SCHEMA));
    for (name, text) in EMBEDDED {
        let json: Json = serde_json::from_str(text).unwrap();
        let validator = match kind_of(name) {
            Some(FileKind::Vectors(..)) => &vectors,
            Some(FileKind::Rules(_)) => &rules,
            _ => continue,
        };
        if let Err(error) = validator.validate(&json) {
            panic!("{name}: {error} at {}", error.instance_path());
        }
    }
}
