//! §4, §4.1, §4.2, §5, §6: requests, replies, errors, deduplication.

use crate::rig::*;
use serde_json::{Value as Json, json};

const CANARIES: &[&str] = &["canary", "Fixture", ".kt", "/data", "secret", "sqlite", "panic"];

probes! {
    ["CETP2-4.2-01"]
    fn a_success_has_the_envelope(rig) {
        let reply = rig.a().execute("fixture_echo", 1, json!({"value":{"x":[1,"é",null]}}));
        assert_eq!(reply.is_success().get("protocol_version", "int"), 2);
        assert_eq!(reply.text("request_id"), uuid(1));
        assert_eq!(rig.value(&reply), json!({"value":{"x":[1,"é",null]}}));
    }

    ["CETP2-4.2-01"]
    fn values_pass_unchanged(rig) {
        for (n, text) in [
            r#"{"value":12345678901234567890}"#,
            r#"{"value":-0.1}"#,
            r#"{"value":1e308}"#,
            r#"{"value":"😀\u0000\"\\\u001f"}"#,
            r#"{ "value" : [ [ [ {} ] ] ] }"#,
        ]
        .into_iter()
        .enumerate()
        {
            let reply = rig.a().execute_text("fixture_echo", n as u32, text);
            assert_eq!(rig.value(&reply), serde_json::from_str::<Json>(text).unwrap());
        }
    }

    ["CETP2-4-01"]
    fn an_unknown_method_is_told(rig) {
        let a = rig.a();
        for method in ["", "call", "Execute_tool", "list_tools "] {
            let reply = a.call(method, a.extras(1));
            assert_eq!(reply.code(), "METHOD_NOT_FOUND");
            assert_eq!(reply.text("request_id"), uuid(1));
        }
    }

    ["CETP2-4-04"]
    fn another_protocol_version_is_never_v2(rig) {
        let a = rig.a();
        for version in
            [json!({"int":0}), json!({"int":3}), json!({"int":-1}), json!({"long":2}), json!({"string":"2"})]
        {
            let extras = a.execute_extras("fixture_append", 1, r#"{"value":"v"}"#);
            let reply = a.call("execute_tool", with(extras, &[("protocol_version", version)]));
            reply.refused_with(&["UNSUPPORTED_VERSION", "INVALID_REQUEST"]);
        }
        let extras = a.execute_extras("fixture_append", 1, r#"{"value":"v"}"#);
        let reply = a.call("execute_tool", with(extras, &[("protocol_version", json!({"int":1}))]));
        assert_eq!(reply.status(), "error");
        assert!(rig.ledger().is_empty());
    }

    #[v2_only] ["CETP2-4-03", "CETP2-4-04"]
    fn a_v2_only_provider_answers_nothing_else(rig) {
        let a = rig.a();
        for version in [Json::Null, json!({"null":null}), json!({"int":1}), json!({"double":2.0})] {
            for method in ["list_tools", "get_provider_info", "execute_tool"] {
                let extras = a.execute_extras("fixture_append", 1, r#"{"value":"v"}"#);
                let reply = a.call(method, with(extras, &[("protocol_version", version.clone())]));
                assert_eq!(reply.status(), "error");
            }
        }
        for method in ["list_tools", "get_provider_info", "execute_tool", "nonsense"] {
            assert_eq!(a.call(method, Json::Null).status(), "error");
        }
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.1-02", "CETP2-5-01"]
    fn a_request_id_is_a_uuid(rig) {
        let a = rig.a();
        let extras = a.execute_extras("fixture_append", 1, r#"{"value":"v"}"#);
        for id in [Json::Null, json!({"int":1}), json!({"null":null}), json!({"string":{"utf16":"ANg="}})] {
            let reply = a.call("execute_tool", with(extras.clone(), &[("request_id", id)]));
            assert_eq!(reply.code(), "INVALID_REQUEST");
        }
        for id in ["", "1", "00000000-0000-4000-8000-00000000000g", "00000000-0000-4000-8000-0000000000011", "é"] {
            let reply = a.call("execute_tool", with(extras.clone(), &[("request_id", json!({"string":id}))]));
            assert_eq!(reply.code(), "INVALID_REQUEST");
            assert_eq!(reply.text("request_id"), id);
        }
        assert!(rig.ledger().is_empty());
        for id in ["6BA7B810-9dad-11d1-80b4-00c04fd430c8", "01890a5d-ac96-774b-bcce-b302099a8057"] {
            let reply = a.call("execute_tool", with(extras.clone(), &[("request_id", json!({"string":id}))]));
            assert_eq!(reply.is_success().text("request_id"), id);
        }
    }

    ["CETP2-4.1-03"]
    fn a_deadline_is_a_long(rig) {
        let a = rig.a();
        for deadline in [Json::Null, json!({"int":2_000_000_000}), json!({"string":"1"}), json!({"double":1e15})] {
            let extras = a.execute_extras("fixture_append", 1, r#"{"value":"v"}"#);
            let reply = a.call("execute_tool", with(extras, &[("deadline_at_ms", deadline)]));
            reply.refused_with(&["INVALID_REQUEST", "DEADLINE_EXCEEDED"]);
        }
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.1-04"]
    fn the_size_of_args_is_counted_in_utf8_bytes(rig) {
        let a = rig.a();
        let of_size = |size: usize, fill: &str| {
            let rest = size - r#"{"value":""}"#.len();
            let text = format!("{}{}", fill.repeat(rest / fill.len()), "x".repeat(rest % fill.len()));
            json!({ "value": text }).to_string()
        };
        for fill in ["x", "测", "😀"] {
            assert_eq!(of_size(65_536, fill).len(), 65_536);
            a.execute_text("fixture_echo", 1, &of_size(65_536, fill)).is_success();
            for size in [65_537, 140_000] {
                a.execute_text("fixture_echo", 2, &of_size(size, fill)).refused_with(&["INVALID_REQUEST", "INVALID_ARGS"]);
                let padded = format!(r#"{{"key":"k","value":"v"{}}}"#, " ".repeat(size));
                let reply = a.execute_text("fixture_set", 3, &padded);
                reply.refused_with(&["INVALID_REQUEST", "INVALID_ARGS"]);
            }
        }
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.1-06"]
    fn a_tool_name_is_a_string(rig) {
        let a = rig.a();
        for name in [Json::Null, json!({"int":1}), json!({"string_array":["fixture_append"]})] {
            let extras = a.execute_extras("", 1, r#"{"value":"v"}"#);
            let reply = a.call("execute_tool", with(extras, &[("tool_name", name)]));
            reply.refused_with(&["INVALID_REQUEST", "TOOL_NOT_FOUND", "INVALID_ARGS"]);
        }
    }

    ["CETP2-4.1-10"]
    fn a_past_deadline_stops_a_write(rig) {
        let a = rig.a();
        for (n, (tool, args)) in [
            ("fixture_append", r#"{"value":"v"}"#),
            ("fixture_job", r#"{"value":"v","hold":false}"#),
            ("fixture_transfer", r#"{"to":"x","amount":1}"#),
        ]
        .into_iter()
        .enumerate()
        {
            for deadline in [NOW - 1, 0, -1, i64::MIN + 1] {
                let extras = a.execute_extras(tool, n as u32, args);
                let deadline = json!({"long": cetp_vectors::bundle::Value::Long(deadline).to_json()["long"]});
                let reply = a.call("execute_tool", with(extras, &[("deadline_at_ms", deadline)]));
                assert_eq!(reply.code(), "DEADLINE_EXCEEDED");
            }
        }
        assert!(rig.ledger().is_empty());
        // It was no terminal result.
        a.execute("fixture_append", 0, json!({"value":"v"})).is_success();
    }

    ["CETP2-4.1-12"]
    fn a_repeat_never_runs_again_whatever_its_deadline(rig) {
        let a = rig.a();
        let first = a.execute("fixture_append", 1, json!({"value":"v"}));
        let extras = a.execute_extras("fixture_append", 1, r#"{"value":"v"}"#);
        let late = a.call("execute_tool", with(extras, &[("deadline_at_ms", json!({"long":NOW - 1}))]));
        match late.status().as_str() {
            "success" => assert_eq!(late.data(), first.data()),
            _ => assert_eq!(late.code(), "DEADLINE_EXCEEDED"),
        }
        assert_eq!(rig.ledger(), ["v"]);
    }

    ["CETP2-4.1-13"]
    fn args_is_a_string(rig) {
        let a = rig.a();
        for args in [Json::Null, json!({"bundle":{"value":{"string":"v"}}}), json!({"bytes":"e30="})] {
            let extras = with(a.execute_extras("fixture_append", 1, ""), &[("args", args)]);
            a.call("execute_tool", extras).refused_with(&["INVALID_REQUEST", "INVALID_ARGS"]);
        }
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.2-02"]
    fn a_value_that_breaks_its_schema_is_no_success(rig) {
        assert_eq!(rig.a().execute("fixture_bad_output", 1, json!({})).code(), "INTERNAL_ERROR");
    }

    ["CETP2-5-01", "CETP2-5-03", "CETP2-5-04"]
    fn errors_are_whole(rig) {
        let a = rig.a();
        // `code` looks at the whole Bundle.
        for (reply, code) in [
            (a.execute("fixture_no_such", 1, json!({})), "TOOL_NOT_FOUND"),
            (a.execute("fixture_append", 1, json!({})), "INVALID_ARGS"),
            (a.execute("fixture_busy", 1, json!({})), "RATE_LIMITED"),
            (a.execute("fixture_crash", 1, json!({})), "INTERNAL_ERROR"),
            (a.execute("fixture_transfer", 1, json!({"to":"x","amount":1})), "USER_ACTION_REQUIRED"),
            (a.operation("get_operation", 1, "op_none"), "INVALID_REQUEST"),
        ] {
            assert_eq!(reply.code(), code);
            assert_eq!(reply.text("request_id"), uuid(1));
        }
    }

    ["CETP2-5-02"]
    fn retry_after_is_a_long(rig) {
        let reply = rig.a().execute("fixture_busy", 1, json!({}));
        assert_eq!(reply.code(), "RATE_LIMITED");
        assert_eq!(reply.get("retry_after_ms", "long"), 250);
    }

    ["CETP2-5-05", "CETP2-5-13"]
    fn an_exception_is_an_internal_error_and_says_nothing(rig) {
        let a = rig.a();
        for n in 0..3 {
            let reply = a.execute("fixture_crash", n, json!({}));
            assert_eq!(reply.code(), "INTERNAL_ERROR");
            let text = reply.text("error_message");
            assert!(!CANARIES.iter().any(|canary| text.contains(canary)), "{text}");
        }
        a.execute("fixture_append", 9, json!({"value":"alive"})).is_success();
    }

    ["CETP2-5-10"]
    fn args_that_do_not_fit_are_refused(rig) {
        let a = rig.a();
        let deep = format!(r#"{{"value":{}1{}}}"#, "[".repeat(20_000), "]".repeat(20_000));
        for args in [
            "", "{", "null", "[]", "\"v\"", "{}", r#"{"value":1}"#, r#"{"value":""}"#, r#"{"value":"v","more":1}"#,
            r#"{"value":"v"} x"#, r#"{"value":"v",}"#, r#"{"value":"\ud800"}"#, deep.as_str(),
        ] {
            a.execute_text("fixture_append", 1, args).refused_with(&["INVALID_ARGS", "INVALID_REQUEST"]);
        }
        let surrogate = json!({"string":{"utf16":"ANg="}});
        let extras = with(a.execute_extras("fixture_append", 1, ""), &[("args", surrogate)]);
        a.call("execute_tool", extras).refused_with(&["INVALID_ARGS", "INVALID_REQUEST"]);
        assert!(rig.ledger().is_empty());
        // The code points of a string count, not its bytes.
        a.execute("fixture_append", 2, json!({"value":"测".repeat(1024)})).is_success();
        assert_eq!(a.execute("fixture_append", 3, json!({"value":"测".repeat(1025)})).code(), "INVALID_ARGS");
    }

    ["CETP2-5-11"]
    fn a_hidden_tool_is_like_none(rig) {
        let a = rig.a();
        let hidden = a.execute("fixture_hidden", 1, json!({}));
        let none = a.execute("fixture_nothing", 1, json!({}));
        assert_eq!(hidden.code(), "TOOL_NOT_FOUND");
        assert_eq!(hidden, none);
    }

    ["CETP2-7.3-04"]
    fn business_rules_are_checked(rig) {
        let a = rig.a();
        let reply = a.execute("fixture_append", 1, json!({"value":"forbidden fruit"}));
        assert_eq!(reply.code(), "INVALID_ARGS");
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-3.4-02"]
    fn a_read_changes_nothing(rig) {
        let a = rig.a();
        a.execute("fixture_echo", 1, json!({"value":1})).is_success();
        a.execute("fixture_blob", 2, json!({"length":3,"fill":"cjk"})).is_success();
        a.execute("fixture_ledger", 3, json!({})).is_success();
        a.execute("fixture_bad_output", 4, json!({}));
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-6-01", "CETP2-6-04", "CETP2-6-09"]
    fn a_repeat_gives_the_same_result_and_no_second_effect(rig) {
        let args = json!({"value":"once"});
        let first = rig.a().execute("fixture_append", 1, args.clone());
        let again = rig.a().execute("fixture_append", 1, args.clone());
        assert_eq!(first.is_success().data(), again.is_success().data());
        let value = rig.value(&first);
        // Deduplication does not hang on the session, nor on the process.
        rig.restart();
        assert_eq!(rig.value(&rig.consumer(&a(), &[]).execute("fixture_append", 1, args)), value);
        assert_eq!(rig.ledger(), ["once"]);
    }

    ["CETP2-6-08"]
    fn idempotent_tools_are_deduplicated_too(rig) {
        let a = rig.a();
        let args = json!({"key":"k","value":"v"});
        let first = a.execute("fixture_set", 1, args.clone());
        assert_eq!(a.execute("fixture_set", 1, args.clone()).is_success().data(), first.is_success().data());
        assert_eq!(rig.ledger(), ["k=v"]);
        a.execute("fixture_set", 2, args).is_success();
        assert_eq!(rig.ledger(), ["k=v", "k=v"]);
    }

    ["CETP2-6-03"]
    fn a_request_id_belongs_to_one_tool_and_one_text(rig) {
        let a = rig.a();
        a.execute("fixture_append", 1, json!({"value":"v"})).is_success();
        for (tool, args) in [
            ("fixture_append", r#"{"value":"w"}"#),
            ("fixture_append", r#"{"value": "v"}"#),
            ("fixture_set", r#"{"key":"v","value":"v"}"#),
            ("fixture_job", r#"{"value":"v","hold":false}"#),
            ("fixture_transfer", r#"{"to":"v","amount":1}"#),
        ] {
            assert_eq!(a.execute_text(tool, 1, args).code(), "INVALID_REQUEST");
        }
        // A read is free to reuse it.
        a.execute("fixture_echo", 1, json!({"value":1})).is_success();
        assert_eq!(rig.ledger(), ["v"]);
    }

    ["CETP2-6-02"]
    fn another_uid_is_another_execution(rig) {
        let first = rig.a().execute("fixture_append", 1, json!({"value":"of a"}));
        let other = rig.consumer(&b(), ALL).execute("fixture_append", 1, json!({"value":"of b"}));
        assert_ne!(first.is_success().data(), other.is_success().data());
        assert_eq!(rig.ledger(), ["of a", "of b"]);
        assert_eq!(rig.a().execute("fixture_append", 1, json!({"value":"of a"})).data(), first.data());
    }

    ["CETP2-6-04"]
    fn a_definite_failure_is_a_terminal_result(rig) {
        let sync = rig.consumer(&a(), &[]);
        let args = json!({"value":"v","hold":false,"fail":true});
        let first = sync.execute("fixture_job", 1, args.clone());
        if first.code() == "CONFLICT" {
            assert_eq!(first.get("retryable", "bool"), false);
            assert_eq!(sync.execute("fixture_job", 1, args).code(), "CONFLICT");
        }
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-6-05"]
    fn the_window_is_kept(rig) {
        let args = json!({"value":"v"});
        let first = rig.a().execute("fixture_append", 1, args.clone());
        rig.advance(86_400_000 - 1_000);
        assert_eq!(rig.a().execute("fixture_append", 1, args.clone()).is_success().data(), first.data());
        rig.restart();
        assert_eq!(rig.a().execute("fixture_append", 1, args).is_success().data(), first.data());
        assert_eq!(rig.ledger(), ["v"]);
        // Long after it the record makes room, and the identifier is new again.
        rig.advance(86_400_000 * 40);
        let later = with(rig.a().execute_extras("fixture_append", 1, r#"{"value":"w"}"#), &[
            ("deadline_at_ms", json!({"long":NOW + 86_400_000 * 90})),
        ]);
        rig.a().call("execute_tool", with(later, &[("session_token", json!({"string":rig.a().token}))])).is_success();
    }
}
