//! §2.2, §2.3 and the manifest of §2.1.

use crate::rig::*;
use serde_json::{Value as Json, json};
use std::collections::HashSet;

probes! {
    ["CETP2-2.1-01", "CETP2-2.1-08"]
    fn the_manifest_is_that_of_a_dual_stack_provider(rig) {
        let manifest = rig.act("provider.manifest", json!({}));
        let meta = manifest_meta(&manifest);
        assert_eq!(meta["com.clawseed.tools.version"], json!({"int":1}));
        assert_eq!(meta["com.clawseed.tools.versions"], json!({"string":"1,2"}));
    }

    #[v2_only] ["CETP2-2.1-05", "CETP2-2.1-08"]
    fn the_manifest_is_that_of_a_v2_only_provider(rig) {
        let manifest = rig.act("provider.manifest", json!({}));
        let meta = manifest_meta(&manifest);
        assert_eq!(meta["com.clawseed.tools.version"], json!({"int":2}));
        assert_eq!(meta["com.clawseed.tools.versions"], json!({"int":2}));
    }

    ["CETP2-2.2-04", "CETP2-2.2-14", "CETP2-3.1-01"]
    fn negotiate_answers_with_everything(rig) {
        let reply = rig.negotiate(&a(), &[2], ALL);
        let data = reply.is_success().data();
        assert_eq!(data["selected_version"], 2);
        assert_eq!(data["provider_id"], "org.cetp.reference");
        assert!(data["provider_name"].is_string() && data["session_token"].is_string());
        assert_eq!(data["capabilities"], json!(ALL));
        let limit = |name: &str| data["limits"][name].as_i64().unwrap();
        assert!(limit("max_request_bytes") >= 65_536);
        assert!(limit("max_inline_result_bytes") >= 262_144);
        assert!(limit("max_concurrent_requests") >= 1);
        assert!(limit("idempotency_window_seconds") >= 86_400);
        let expires: jiff::Timestamp = data["expires_at"].as_str().unwrap().parse().unwrap();
        assert!(expires.as_millisecond() > NOW);
    }

    ["CETP2-2.2-05"]
    fn the_highest_common_version_is_selected(rig) {
        let ordered = rig.negotiate(&a(), &[2, 1], &[]);
        assert_eq!(ordered.is_success().data()["selected_version"], 2);
        let ordered = rig.negotiate(&a(), &[9, 2, 1], &[]);
        assert_eq!(ordered.is_success().data()["selected_version"], 2);
        let unordered = rig.negotiate(&a(), &[1, 2], &[]);
        match unordered.status().as_str() {
            "success" => assert_eq!(unordered.data()["selected_version"], 2),
            _ => assert_eq!(unordered.code(), "INVALID_REQUEST"),
        }
        let old = rig.negotiate(&a(), &[1], ALL);
        match old.status().as_str() {
            "success" => {
                // A token is bound to its version.
                assert_eq!(old.data()["selected_version"], 1);
                let token = old.data()["session_token"].as_str().unwrap().to_owned();
                let a = Consumer { rig, caller: a(), token };
                assert_eq!(a.execute("fixture_echo", 1, json!({"value":1})).code(), "NEGOTIATION_REQUIRED");
            }
            _ => assert_eq!(old.code(), "UNSUPPORTED_VERSION"),
        }
    }

    ["CETP2-2.2-06", "CETP2-2.2-18"]
    fn only_common_capabilities_are_returned(rig) {
        let reply = rig.negotiate(&a(), &[2], &["large_results", "telepathy"]);
        assert_eq!(reply.is_success().data()["capabilities"], json!(["large_results"]));
        assert_eq!(rig.negotiate(&a(), &[2], &[]).data()["capabilities"], json!([]));
    }

    ["CETP2-2.2-07"]
    fn tokens_are_opaque_and_unpredictable(rig) {
        let tokens: Vec<String> = (0..40)
            .map(|n| {
                let caller = caller(20_000 + n, &[("org.example.many", &["aa"], &[])]);
                rig.consumer(&caller, ALL).token
            })
            .collect();
        assert_eq!(tokens.iter().collect::<HashSet<_>>().len(), tokens.len());
        for token in &tokens {
            assert!(token.len() <= 256 && token.len() >= 32, "{token}");
        }
        // Every place of the token varies: it holds no counter with a fixed front.
        for at in 0..tokens[0].len() {
            let seen: HashSet<_> = tokens.iter().map(|token| token.as_bytes()[at]).collect();
            assert!(seen.len() > 3, "place {at} is {seen:?}");
        }
    }

    ["CETP2-2.2-08"]
    fn a_session_is_bound_to_its_uid(rig) {
        let a = rig.a();
        let thief = Consumer { rig, caller: b(), token: a.token.clone() };
        for reply in [
            thief.call("list_tools", thief.extras(1)),
            thief.execute("fixture_append", 2, json!({"value":"stolen"})),
        ] {
            reply.refused_with(&["NEGOTIATION_REQUIRED", "INVALID_REQUEST", "PERMISSION_DENIED"]);
        }
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-2.2-09", "CETP2-2.2-19", "CETP2-2.3-02"]
    fn a_session_is_bound_to_its_capabilities(rig) {
        let with_all = rig.a();
        let operation = with_all.start(1, json!({"value":"v","hold":true}));
        let without = rig.consumer(&a(), &[]);
        for method in ["get_operation", "cancel_operation"] {
            without.operation(method, 1, &operation).refused_with(&["UNSUPPORTED_CAPABILITY"]);
        }
        // The earlier token keeps its own set.
        assert!(with_all.state(1, &operation)["state"].is_string());
    }

    ["CETP2-2.2-10"]
    fn a_session_ends_at_its_time(rig) {
        let reply = rig.negotiate(&a(), &[2], ALL);
        let expires: jiff::Timestamp = reply.data()["expires_at"].as_str().unwrap().parse().unwrap();
        let token = reply.data()["session_token"].as_str().unwrap().to_owned();
        let a = Consumer { rig, caller: a(), token };
        rig.advance(expires.as_millisecond() - NOW - 1_001);
        a.execute("fixture_echo", 1, json!({"value":1})).is_success();
        rig.advance(2_002);
        assert_eq!(a.execute("fixture_echo", 2, json!({"value":1})).code(), "NEGOTIATION_REQUIRED");
    }

    ["CETP2-2.2-11"]
    fn a_call_without_a_good_token_is_refused(rig) {
        let a = rig.a();
        for method in ["list_tools", "execute_tool"] {
            let extras = a.execute_extras("fixture_append", 1, r#"{"value":"v"}"#);
            let with_token = |token: Json| a.call(method, with(extras.clone(), &[("session_token", token)]));
            assert_eq!(with_token(Json::Null).code(), "NEGOTIATION_REQUIRED");
            let half = &a.token[..a.token.len() / 2];
            for token in [json!({"string":""}), json!({"int":7}), json!({"string":"x"}), json!({"string":half})] {
                with_token(token).refused_with(&["NEGOTIATION_REQUIRED", "INVALID_REQUEST"]);
            }
        }
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-2.2-12"]
    fn a_restart_ends_sessions_and_nothing_else(rig) {
        let a = rig.a();
        rig.restart();
        let reply = a.execute("fixture_append", 1, json!({"value":"v"}));
        assert_eq!(reply.code(), "NEGOTIATION_REQUIRED");
        assert!(rig.ledger().is_empty());
        rig.a().execute("fixture_append", 1, json!({"value":"v"})).is_success();
    }

    ["CETP2-2.2-19"]
    fn many_sessions_cost_nobody_else(rig) {
        let (first, other) = (rig.a(), rig.consumer(&b(), ALL));
        let mut last = rig.a();
        for _ in 0..300 {
            last = rig.a();
        }
        last.execute("fixture_echo", 1, json!({"value":1})).is_success();
        other.execute("fixture_echo", 1, json!({"value":1})).is_success();
        let reply = first.execute("fixture_echo", 1, json!({"value":1}));
        if reply.status() == "error" {
            assert_eq!(reply.code(), "NEGOTIATION_REQUIRED");
        }
    }

    ["CETP2-2.2-13"]
    fn without_a_common_version_there_is_no_session(rig) {
        for versions in [&[3][..], &[], &[0], &[-1, 7]] {
            let reply = rig.negotiate(&a(), versions, ALL);
            assert_eq!(reply.code(), "UNSUPPORTED_VERSION");
            assert!(!reply.has("data"));
        }
    }

    #[v2_only] ["CETP2-2.2-13"]
    fn a_v2_only_provider_has_no_version_in_common_with_v1(rig) {
        assert_eq!(rig.negotiate(&a(), &[1], ALL).code(), "UNSUPPORTED_VERSION");
    }

    ["CETP2-2.2-17"]
    fn a_malformed_offer_is_an_error(rig) {
        let whole = offer(&[2], ALL);
        for (key, value) in [
            ("consumer_versions", Json::Null),
            ("consumer_versions", json!({"int_list":[2]})),
            ("consumer_versions", json!({"long_array":[2]})),
            ("consumer_versions", json!({"int":2})),
            ("consumer_versions", json!({"string":"2"})),
            ("consumer_capabilities", Json::Null),
            ("consumer_capabilities", json!({"string_array":["large_results"]})),
            ("consumer_capabilities", json!({"string":"large_results"})),
            ("consumer_capabilities", json!({"string":"{}"})),
            ("consumer_capabilities", json!({"string":"[1]"})),
            ("consumer_capabilities", json!({"string":""})),
        ] {
            let reply = rig.call(&a(), "negotiate", with(whole.clone(), &[(key, value)]));
            assert_eq!(reply.code(), "INVALID_REQUEST");
            assert!(!reply.has("data"));
        }
        rig.call(&a(), "negotiate", Json::Null).refused_with(&["INVALID_REQUEST", "UNSUPPORTED_VERSION"]);
    }

    ["CETP2-2.3-03", "CETP2-3.3-02"]
    fn a_dropped_capability_ends_the_session(rig) {
        let large = rig.consumer(&a(), ALL);
        let other = rig.consumer(&a(), &["async_operations"]);
        let blob = json!({"length":300_000,"fill":"ascii"});
        assert_eq!(large.execute("fixture_blob", 1, blob.clone()).is_success().data()["kind"], "file");
        rig.act("control.reconfigure", json!({"change":"drop_capability"}));
        assert_eq!(large.execute("fixture_blob", 2, blob.clone()).code(), "NEGOTIATION_REQUIRED");
        other.execute("fixture_echo", 3, json!({"value":1})).is_success();
        let again = rig.negotiate(&a(), &[2], ALL).data();
        assert_eq!(again["capabilities"], json!(["async_operations", "cancellation"]));
        assert_eq!(rig.a().execute("fixture_blob", 4, blob).code(), "RESULT_TOO_LARGE");
    }

    ["CETP2-2.2-04"]
    fn a_clock_beyond_the_calendar_is_no_obstacle(rig) {
        rig.act("control.clock", json!({"advance_ms":i64::MAX}));
        let reply = rig.negotiate(&a(), &[2], ALL);
        assert!(reply.is_success().data().get("expires_at").is_none());
    }
}

fn manifest_meta(manifest: &Json) -> Json {
    let service = &manifest["services"][0];
    let provider = &manifest["providers"][0];
    assert_eq!(service["exported"], true);
    assert_eq!(service["actions"], json!(["com.clawseed.action.TOOL_PROVIDER"]));
    let authority = &service["meta_data"]["com.clawseed.tools.authority"]["string"];
    assert_eq!(*authority, provider["authority"]);
    assert_eq!(provider["permission"], "com.clawseed.permission.ACCESS_TOOLS");
    service["meta_data"].clone()
}
