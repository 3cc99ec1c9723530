//! The command line: exit codes, what a bad file is told, hostile text, accepted findings, the JSON form.

use cetp_conformance::audit::report;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::{Command, Output};

pub fn program(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cetp-conformance")).args(arguments).output().unwrap()
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A file of tools, and its name.
fn file(folder: &Path, name: &str, json: &Json) -> String {
    let place = folder.join(name);
    std::fs::write(&place, json.to_string()).unwrap();
    place.display().to_string()
}

/// A tool with one plain finding (no description) and some hints.
fn poor(name: &str) -> Json {
    json!({ "name": name, "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false } })
}

#[test]
fn an_audit_exits_0_unless_something_is_denied() {
    let folder = tempfile::tempdir().unwrap();
    let poor = file(folder.path(), "poor.json", &json!([poor("get_rows")]));
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tool-audit/library.json");
    let (code, out, _) = said(&program(&["audit", &poor]));
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("no verdict") && out.contains("TC-02 finding: There is no description."), "{out}");
    assert_eq!(program(&["audit", "--deny", "finding", &poor]).status.code(), Some(1));
    assert_eq!(program(&["audit", "--deny", "hint", &example.display().to_string()]).status.code(), Some(1));
}

#[test]
fn hints_are_denied_only_where_asked() {
    let folder = tempfile::tempdir().unwrap();
    let output = json!({ "type": "object", "properties": { "state": { "type": "string" } } });
    let tool = json!({ "name": "get_rows", "description": "Use when needed, not otherwise. Returns rows.",
        "inputSchema": poor("x")["inputSchema"], "outputSchema": output, "annotations": { "readOnlyHint": true } });
    let path = file(folder.path(), "hints.json", &json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [tool] } }));
    assert_eq!(program(&["audit", "--deny", "finding", &path]).status.code(), Some(0));
    assert_eq!(program(&["audit", "--deny", "hint", &path]).status.code(), Some(1));
}

#[test]
fn a_bad_file_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    for (name, json, words) in [
        ("shape.json", json!({ "functions": [] }), "holds no tools"),
        ("text.json", json!("tools"), "holds no tools"),
        ("none.json", json!([]), "lists no tool"),
        ("tools.json", json!({ "tools": {} }), "at /tools: tools are an array"),
        ("tool.json", json!({ "tools": [poor("a"), 7] }), "at /tools/1: a tool is an object"),
        ("nameless.json", json!([{ "description": "x" }]), "at /0: the tool has no name"),
        ("name.json", json!({ "result": { "tools": [{ "name": 7 }] } }), "at /result/tools/0/name"),
        ("text-member.json", json!([{ "name": "a", "description": {} }]), "at /0/description"),
        ("scopes.json", json!([{ "name": "a", "scopes": ["a", 1] }]), "at /0/scopes/1"),
        ("catalogue.json", json!({ "scopes": [{}], "tools": [poor("a")] }), "at /scopes/0"),
        ("annotations.json", json!([{ "name": "a", "annotations": [] }]), "at /0/annotations"),
        ("deep.json", json!([{ "name": "a", "inputSchema": deep }]), "at /0: nested deeper"),
    ] {
        let path = file(folder.path(), name, &json);
        let (code, _, err) = said(&program(&["audit", &path]));
        assert_eq!(code, Some(2), "{name}: {err}");
        assert!(err.contains(name) && err.contains(words), "{name}: {err}");
    }
    let broken = folder.path().join("broken.json");
    std::fs::write(&broken, "[{\"name\": }]").unwrap();
    let (code, _, err) = said(&program(&["audit", &broken.display().to_string()]));
    assert!(code == Some(2) && err.contains("broken.json") && err.contains("at /0/name"), "{err}");
    assert_eq!(program(&["audit", "/nowhere.json"]).status.code(), Some(2));
    assert_eq!(program(&["audit"]).status.code(), Some(2));
    assert_eq!(program(&["audit", "--target", "builtin:nobody"]).status.code(), Some(2));
    let twice = file(folder.path(), "twice.json", &json!([poor("a")]));
    assert_eq!(program(&["audit", &twice, &twice]).status.code(), Some(2));
}

#[test]
fn a_target_that_cannot_be_driven_exits_3() {
    assert_eq!(program(&["audit", "--target", "stdio:false"]).status.code(), Some(3));
    let (code, _, err) = said(&program(&["audit", "--target", "builtin:consumer"]));
    assert_eq!(code, Some(3), "{err}");
}

#[test]
fn nothing_of_a_hostile_listing_acts_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let escape = "\u{1b}[31m\u{202e}\u{7}\n\rx";
    let wide = "很".repeat(300);
    let mut tool = poor(&format!("get_{escape}{wide}"));
    tool["title"] = json!(escape);
    tool["description"] = json!(format!("Sends it. {escape}<script>"));
    tool["inputSchema"]["properties"][escape] = json!({ "type": "string" });
    tool["annotations"] = json!({ "readOnlyHint": true });
    let document = json!({ "provider_id": escape, "description": escape, "tools": [tool] });
    let path = file(folder.path(), "hostile.json", &document);
    let (code, out, _) = said(&program(&["audit", &path]));
    assert_eq!(code, Some(0));
    assert!(!out.contains(cetp_reports::text::acts), "{out:?}");
    assert!(out.contains("\\u{1b}[31m\\u{202e}"), "{out}");
    let json = folder.path().join("audit.json").display().to_string();
    let output = program(&["audit", &path, "--json", &json]);
    assert!(output.status.success());
    let text = std::fs::read_to_string(&json).unwrap();
    assert!(!text.contains(cetp_reports::text::acts));
}

/// What can be broken is broken before column 80; a pointer or a name is shown whole.
#[test]
fn lines_have_80_columns() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tool-audit");
    let output = Command::new(env!("CARGO_BIN_EXE_cetp-conformance"))
        .args(["audit", "library.json", "--target", "builtin:provider"])
        .current_dir(example)
        .output()
        .unwrap();
    let (_, out, _) = said(&output);
    for line in out.lines() {
        assert!(cetp_reports::text::column_width(line) <= 80, "{line}");
    }
}

#[test]
fn accepted_findings_cannot_rot() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "poor.json", &json!([poor("get_rows")]));
    let run = |list: &str| {
        let place = folder.path().join("accept.toml");
        std::fs::write(&place, list).unwrap();
        said(&program(&["audit", &path, "--deny", "finding", "--accept", &place.display().to_string()]))
    };
    let entry = |id: &str, tool: &str, why: &str| {
        format!("[[accepted]]\nrequirement = {id:?}\ntool = {tool:?}\nwhy = {why:?}\n")
    };
    let all = entry("TC-02", "get_rows", "it is old") + &entry("TC-06", "get_rows", "it is old");
    let (code, out, _) = run(&all);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("accepted: 2"), "{out}");
    let (code, out, _) = run(&(all.clone() + &entry("TC-18", "get_rows", "it is old")));
    assert!(code == Some(1) && out.contains("no longer so: TC-18 get_rows"), "{out}");
    let (code, out, _) = run(&(all.clone() + &entry("TC-02", "get_row", "it is old")));
    assert!(code == Some(1) && out.contains("no longer so: TC-02 get_row:"), "{out}");
    for (list, words) in [
        (entry("TC-99", "get_rows", "x"), "no such requirement"),
        (entry("TC-02", "get_rows", " "), "why must say something"),
        (entry("TC-02", "get_rows", "x").repeat(2), "occurs twice"),
        ("[[accept]]\n".to_owned(), "unknown field"),
    ] {
        let (code, _, err) = run(&list);
        assert!(code == Some(2) && err.contains(words) && err.contains("accept.toml"), "{err}");
    }
}

#[test]
fn the_json_form_follows_its_schema_and_is_the_same_each_time() {
    let arguments = ["audit", "--target", "builtin:provider", "--target", "builtin:provider-core", "--json", "-"];
    let (first, second) = (program(&arguments), program(&arguments));
    assert_eq!(first.stdout, second.stdout);
    let audit: Json = serde_json::from_slice(&first.stdout).unwrap();
    let validator = jsonschema::validator_for(&report::schema()).unwrap();
    let faults: Vec<String> = validator.iter_errors(&audit).map(|error| error.to_string()).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    assert_eq!(audit["format"], report::FORMAT);
    // Two providers of the same tools: each shadows the other.
    let findings = audit["findings"].as_array().unwrap();
    let shadows = findings.iter().filter(|finding| finding["requirement"] == "TC-19").count();
    assert_eq!(shadows, 24, "{findings:#?}");
    let mut sorted = findings.clone();
    let key =
        |f: &Json| ["provider", "tool", "requirement"].map(|member| f[member].as_str().unwrap_or_default().to_owned());
    sorted.sort_by_key(key);
    assert_eq!(findings.iter().map(key).collect::<Vec<_>>(), sorted.iter().map(key).collect::<Vec<_>>());
    // What a listing does not show is told.
    let untold = audit["not_judged"].as_array().unwrap();
    for id in ["TC-22", "TC-23", "TC-24", "TC-25", "TC-26", "TC-27", "TC-28"] {
        assert!(untold.iter().any(|row| row["requirement"] == id && row["vectors"] != json!([])), "{id}");
    }
}
