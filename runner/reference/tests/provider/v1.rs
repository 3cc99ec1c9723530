//! §8: the read-only subset of a dual-stack provider.

use crate::rig::*;
use serde_json::{Value as Json, json};

fn execute(rig: &Rig, tool: &str, args: &str) -> Reply {
    rig.call(&a(), "execute_tool", json!({"tool_name":{"string":tool},"args":{"string":args}}))
}

probes! {
    ["CETP2-2.1-04", "CETP2-4-02"]
    fn v1_lists_the_reads(rig) {
        let reply = rig.call(&a(), "list_tools", Json::Null);
        assert!(!reply.is_success().has("protocol_version"));
        let names: Vec<String> = reply.data()["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| {
                assert!(tool["description"].is_string() && tool["parameters"].is_object());
                tool["name"].as_str().unwrap().to_owned()
            })
            .collect();
        let reads = ["echo", "blob", "ledger", "bad_output", "crash", "secret", "busy"];
        assert_eq!(names, reads.map(|name| format!("fixture_{name}")));
        let info = rig.call(&a(), "get_provider_info", Json::Null).is_success().data();
        assert!(info["provider_name"].is_string() && info["scopes"].is_array());
    }

    ["CETP2-4-02"]
    fn v1_executes_reads(rig) {
        assert_eq!(execute(rig, "fixture_echo", r#"{"value":[1]}"#).is_success().data(), json!({"value":[1]}));
        for (tool, args, codes) in [
            ("fixture_no_such", "{}", &["TOOL_NOT_FOUND"][..]),
            ("fixture_hidden", "{}", &["TOOL_NOT_FOUND"]),
            ("fixture_echo", "{}", &["INVALID_ARGS"]),
            ("fixture_crash", "{}", &["INTERNAL_ERROR"]),
            ("fixture_bad_output", "{}", &["INTERNAL_ERROR"]),
            ("fixture_busy", "{}", &["RATE_LIMITED"]),
            ("fixture_secret", "{}", &["PERMISSION_DENIED", "AUTH_REQUIRED"]),
        ] {
            let reply = execute(rig, tool, args);
            assert_eq!(reply.status(), "error");
            assert!(codes.contains(&reply.text("error_code").as_str()), "{reply:?}");
            assert!(!reply.text("error_message").contains("canary"));
            assert!(!reply.has("protocol_version") && !reply.has("retryable"));
        }
        for method in ["get_operation", "nonsense"] {
            assert_eq!(rig.call(&a(), method, Json::Null).text("error_code"), "TOOL_NOT_FOUND");
        }
    }

    ["CETP2-8-03", "CETP2-4-02"]
    fn v1_reaches_no_write(rig) {
        for (tool, args) in [
            ("fixture_append", r#"{"value":"v"}"#),
            ("fixture_set", r#"{"key":"k","value":"v"}"#),
            ("fixture_transfer", r#"{"to":"x","amount":1,"confirmed":true}"#),
            ("fixture_job", r#"{"value":"v","hold":false}"#),
        ] {
            let reply = execute(rig, tool, args);
            assert_eq!(reply.status(), "error");
            // Nor with everything of v2 but the version.
            let a = rig.a();
            let extras = with(a.execute_extras(tool, 1, args), &[("protocol_version", Json::Null)]);
            assert_eq!(a.call("execute_tool", extras).status(), "error");
        }
        assert!(rig.ledger().is_empty());
    }
}
