//! §3: who the provider is, and what it lists.

use crate::rig::*;
use serde_json::{Value as Json, json};
use std::collections::HashSet;

probes! {
    ["CETP2-3.2-01", "CETP2-3.2-02", "CETP2-3.2-03", "CETP2-3.2-04", "CETP2-3.1-01"]
    fn provider_info_is_complete(rig) {
        let negotiated = rig.negotiate(&a(), &[2], &[]).data();
        let a = rig.a();
        let info = a.call("get_provider_info", a.extras(1)).is_success().data();
        assert_eq!(info["provider_id"], negotiated["provider_id"]);
        assert!(info["provider_name"].is_string() && info["description"].is_string());
        assert_eq!(info["schema_dialect"], "https://json-schema.org/draft/2020-12/schema");
        let names: HashSet<&str> = info["scopes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|scope| {
                assert!(["read", "write"].contains(&scope["access"].as_str().unwrap()));
                let sensitivity = scope["sensitivity"].as_str().unwrap();
                assert!(["public", "personal", "financial", "health", "device", "other"].contains(&sensitivity));
                assert!(scope["title"].is_string() && scope["description"].is_string());
                scope["name"].as_str().unwrap()
            })
            .collect();
        assert_eq!(names, HashSet::from(["fixture.read", "fixture.write", "fixture.admin", "fixture.secret"]));
        rig.restart();
        let a = rig.a();
        assert_eq!(a.call("get_provider_info", a.extras(2)).data(), info);
    }

    ["CETP2-3.1-02", "CETP2-3.2-05", "CETP2-3.2-06", "CETP2-3.3-01", "CETP2-3.3-03", "CETP2-3.3-05", "CETP2-3.4-01",
     "CETP2-3.4-03"]
    fn tools_are_listed_as_the_suite_publishes_them(rig) {
        let a = rig.a();
        let minimal = json!({"protocol_version":{"int":2},"session_token":{"string":a.token}});
        let list = a.call("list_tools", minimal).is_success().data();
        let published: Json = serde_json::from_str(include_str!("../../../../vectors/fixture/fixture-tools.json")).unwrap();
        let published: Vec<&Json> =
            published["tools"].as_array().unwrap().iter().filter(|tool| tool["name"] != "fixture_hidden").collect();
        assert_eq!(list["tools"].as_array().unwrap().iter().collect::<Vec<_>>(), published);
        for tool in published {
            for schema in ["input_schema", "output_schema"] {
                assert!(jsonschema::draft202012::meta::is_valid(&tool[schema]));
            }
        }
        assert!(list["revision"].is_string());
        rig.restart();
        let a = rig.a();
        assert_eq!(a.call("list_tools", a.extras(1)).data(), list);
    }

    ["CETP2-3.3-01"]
    fn list_tools_needs_version_and_session(rig) {
        let a = rig.a();
        let reply = a.call("list_tools", with(a.extras(1), &[("session_token", Json::Null)]));
        assert_eq!(reply.code(), "NEGOTIATION_REQUIRED");
        assert_eq!(reply.text("request_id"), uuid(1));
    }

    ["CETP2-3.3-02"]
    fn a_change_gives_a_new_revision(rig) {
        let mut revisions = HashSet::new();
        for change in ["", "add_tool", "change_schema", "raise_risk"] {
            if !change.is_empty() {
                rig.act("control.reconfigure", json!({"change":change}));
            }
            let a = rig.a();
            let list = a.call("list_tools", a.extras(1)).data();
            assert!(revisions.insert(list["revision"].as_str().unwrap().to_owned()), "{change}");
            rig.restart();
            let a = rig.a();
            assert_eq!(a.call("list_tools", a.extras(2)).data(), list, "{change}");
        }
        let a = rig.a();
        let list = a.call("list_tools", a.extras(1)).data();
        let tool = |name: &str| list["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        assert!(tool("fixture_echo")["input_schema"]["title"].is_string());
        assert!(tool("fixture_added")["input_schema"].get("title").is_none());
        assert_eq!(tool("fixture_append")["annotations"]["confirmation"], "always");
        let reply = a.execute("fixture_added", 3, json!({"value":[1]}));
        assert_eq!(rig.value(&reply), json!({"value":[1]}));
    }

    ["CETP2-7.2-01", "CETP2-3.4-06"]
    fn what_nobody_may_discover_is_not_listed_and_not_executed(rig) {
        for caller in [a(), b()] {
            let consumer = rig.consumer(&caller, ALL);
            let list = consumer.call("list_tools", consumer.extras(1)).text("data");
            assert!(!list.contains("fixture_hidden"));
            assert_eq!(consumer.execute("fixture_hidden", 2, json!({})).code(), "TOOL_NOT_FOUND");
        }
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-3.4-06", "CETP2-3.3-02"]
    fn a_raised_risk_is_enforced_under_live_sessions(rig) {
        let a = rig.a();
        a.execute("fixture_append", 1, json!({"value":"before"})).is_success();
        rig.act("control.reconfigure", json!({"change":"raise_risk"}));
        let args = json!({"value":"after"});
        let asked = a.execute("fixture_append", 2, args.clone());
        assert_eq!(asked.code(), "USER_ACTION_REQUIRED");
        assert_eq!(rig.ledger(), ["before"]);
        rig.restart();
        let a = rig.a();
        assert_eq!(a.execute("fixture_append", 3, args.clone()).code(), "USER_ACTION_REQUIRED");
        rig.decide(&asked, "approve");
        a.resume("fixture_append", 2, args, &asked.token()).is_success();
        assert_eq!(rig.ledger(), ["before", "after"]);
    }
}
