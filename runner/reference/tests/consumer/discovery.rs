//! Who is found, in which version, and who is who.

use crate::rig::{Call, Rig, World, manifest, v2};
use serde_json::{Value as Json, json};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

fn decisions(rows: &[Json]) -> Vec<&str> {
    rows.iter().map(|row| row["decision"].as_str().unwrap()).collect()
}

#[test]
fn versions_decide_and_version_serves_old_consumers() {
    let v1 = json!({ "bundle": { "status": { "string": "success" }, "data": { "string": r#"{"tools":[]}"# } } });
    let cases = [
        (json!({ "int": 2 }), Json::Null, "v2"),
        (json!({ "string": "2" }), Json::Null, "v2"),
        (json!({ "int": 1 }), json!({ "string": "1,2" }), "v2"),
        (json!({ "int": 1 }), json!({ "string": "2, 1,2" }), "v2"),
        (json!({ "int": 2 }), json!({ "int": 1 }), "v1"),
        (json!({ "int": 1 }), Json::Null, "v1"),
        (json!({ "int": 2 }), json!({ "string": "7" }), "ignored"),
        (json!({ "int": 1 }), json!({ "string": "" }), "ignored"),
        (json!({ "int": 1 }), json!({ "string": "1,x" }), "refused"),
        (json!({ "bool": true }), Json::Null, "refused"),
        (Json::Null, Json::Null, "ignored"),
    ];
    for (version, versions, decision) in cases {
        let world = World::new(|call: &Call<'_>| match call.extras["protocol_version"]["int"].as_i64() {
            None if call.method != "negotiate" => v1.clone(),
            _ => call.honest(),
        });
        let rows = Rig::new().discover(&[manifest("org.example.p", version.clone(), versions.clone())], &world);
        assert_eq!(decisions(&rows), [decision], "{version} {versions}");
        if matches!(decision, "ignored" | "refused") {
            assert_eq!(world.methods(), [""; 0], "{version} {versions}");
        }
    }
}

#[test]
fn an_authority_is_of_its_own_package() {
    let mut evil = v2("org.example.evil");
    evil["services"][0]["meta_data"]["com.clawseed.tools.authority"] = json!({ "string": "org.example.p.tools" });
    let world = World::new(|call| call.honest());
    let rows = Rig::new().discover(&[evil, v2("org.example.p")], &world);
    assert_eq!(decisions(&rows), ["refused", "v2"]);
}

#[test]
fn a_failed_negotiation_disables_and_never_downgrades() {
    for versions in ["2", "1,2"] {
        for answer in [
            json!({ "timeout": true }),
            json!({ "bundle": null }),
            json!({ "bundle": {} }),
            json!({ "exception": { "class": "java.lang.SecurityException", "message": "" } }),
        ] {
            let world = World::new(|_: &Call<'_>| answer.clone());
            let rig = Rig::new();
            let rows =
                rig.discover(&[manifest("org.example.p", json!({ "int": 1 }), json!({ "string": versions }))], &world);
            assert_eq!(decisions(&rows), ["refused"]);
            assert!(world.methods().iter().all(|method| method == "negotiate"), "{:?}", world.methods());
            let world = World::new(|call| call.honest());
            let answer = rig.execute("org.example.p", "fixture_echo", &json!({ "value": 1 }), &world);
            assert_eq!(answer["outcome"], "refused");
            assert_eq!(world.methods(), [""; 0]);
        }
    }
}

#[test]
fn calls_go_to_the_provider_that_was_meant() {
    let world = World::new(|call: &Call<'_>| match call.method {
        "execute_tool" => call.inline(json!({ "value": call.package })),
        _ => call.honest(),
    });
    for order in [["org.example.a", "org.example.b"], ["org.example.b", "org.example.a"]] {
        let rig = Rig::new();
        let rows = rig.discover(&order.map(v2), &world);
        for id in order {
            assert_eq!(rig.execute(id, "fixture_echo", &json!({ "value": 1 }), &world)["value"]["value"], id);
        }
        let names = rows.iter().flat_map(|row| row["tools"].as_array().unwrap()).map(|tool| &tool["exposed_name"]);
        let all: Vec<_> = names.collect();
        let unique: HashSet<String> = all.iter().map(|name| name.to_string()).collect();
        assert_eq!(unique.len(), all.len());
    }
}

#[test]
fn an_id_belongs_to_the_nearest_package() {
    let world = World::new(|call: &Call<'_>| {
        let mut reply = call.honest();
        if matches!(call.method, "negotiate" | "get_provider_info") && call.package == "org.example.a" {
            let data =
                reply["bundle"]["data"]["string"].as_str().unwrap().replace("org.example.a\"", "org.example.a.b\"");
            reply["bundle"]["data"]["string"] = json!(data);
        }
        reply
    });
    for order in [["org.example.a", "org.example.a.b"], ["org.example.a.b", "org.example.a"]] {
        let rows = Rig::new().discover(&order.map(v2), &world);
        let used: Vec<&Json> = rows.iter().filter(|row| row["decision"] == "v2").map(|row| &row["package"]).collect();
        assert_eq!(used, ["org.example.a.b"]);
    }
}

#[test]
fn a_list_is_kept_for_as_long_as_its_revision() {
    let (revision, described) = (AtomicUsize::new(1), AtomicUsize::new(1));
    let world = World::new(|call: &Call<'_>| {
        let mut reply = call.honest();
        if call.method == "list_tools" {
            let mut tools = cetp_vectors::fixture::tools()["tools"].clone();
            tools[0]["description"] = json!(format!("number {}", described.load(Ordering::SeqCst)));
            let data = json!({ "revision": format!("tools-{}", revision.load(Ordering::SeqCst)), "tools": tools });
            reply = call.success(&data);
        }
        reply
    });
    let rig = Rig::new();
    let shown = || {
        let rows = rig.discover(&[v2("org.example.p")], &world);
        let tools = rows[0]["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == "fixture_echo").unwrap()["description"].clone()
    };
    assert_eq!(shown(), "number 1");
    // Nobody changes a tool without its revision; who does shows that the list was not read again.
    described.store(2, Ordering::SeqCst);
    assert_eq!(shown(), "number 1");
    revision.store(2, Ordering::SeqCst);
    assert_eq!(shown(), "number 2");
    let asked = world.extras("list_tools");
    assert_eq!(asked.len(), 3, "the revision is asked for after each negotiation");
    assert_ne!(asked[0]["request_id"], asked[1]["request_id"], "a new reading has a new id");
}

#[test]
fn a_provider_of_version_1_is_read_as_one() {
    let world = World::new(|call: &Call<'_>| {
        let data = match call.method {
            "list_tools" => {
                json!({ "tools": [{ "name": "look up", "description": "d", "parameters": { "type": "object" } }] })
            }
            "execute_tool" => json!({ "found": call.args() }),
            method => panic!("version 1 has no {method}"),
        };
        json!({ "bundle": { "status": { "string": "success" }, "data": { "string": data.to_string() } } })
    });
    let rig = Rig::new();
    let rows = rig.discover(&[manifest("org.example.p", json!({ "int": 1 }), Json::Null)], &world);
    assert_eq!(decisions(&rows), ["v1"]);
    let answer = rig.execute("org.example.p", "look up", &json!({ "word": "x" }), &world);
    assert_eq!(answer, json!({ "outcome": "success", "trust": "data", "value": { "found": { "word": "x" } } }));
    assert_eq!(world.extras("list_tools"), [Json::Null]);
    assert!(world.extras("execute_tool")[0].get("protocol_version").is_none());
}
