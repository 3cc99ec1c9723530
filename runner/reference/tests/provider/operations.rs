//! §4.4: operations.

use crate::rig::*;
use serde_json::{Value as Json, json};

fn held(value: &str) -> Json {
    json!({"value":value,"hold":true})
}

fn step(rig: &Rig, operation: &str, to: &str) {
    rig.act("control.operation", json!({"operation_id":operation,"to":to}));
}

probes! {
    ["CETP2-4.4-01", "CETP2-4.4-02", "CETP2-4.4-03", "CETP2-4.4-04"]
    fn a_job_goes_its_way(rig) {
        let a = rig.a();
        let reply = a.execute("fixture_job", 1, held("v"));
        assert_eq!(reply.status(), "accepted");
        assert_eq!(reply.get("protocol_version", "int"), 2);
        assert_eq!(reply.text("request_id"), uuid(1));
        assert!(reply.data()["poll_after_ms"].as_i64().unwrap() >= 0);
        let operation = reply.data()["operation_id"].as_str().unwrap().to_owned();
        let queued = a.state(1, &operation);
        assert_eq!(queued["state"], "queued");
        step(rig, &operation, "running");
        let running = a.state(1, &operation);
        assert_eq!(running["state"], "running");
        assert!(running["progress"]["current"].is_number() && running["progress"]["message"].is_string());
        assert!(rig.ledger().is_empty());
        step(rig, &operation, "commit");
        assert_eq!(a.state(1, &operation)["state"], "running");
        assert_eq!(rig.ledger(), ["v"]);
        step(rig, &operation, "succeed");
        let ended = a.operation("get_operation", 1, &operation);
        assert_eq!(ended.data()["state"], "succeeded");
        assert_eq!(rig.value_of(&ended, &ended.data()["result"]), json!({"entry":1}));
        assert!(ended.data().get("error").is_none());
        assert_eq!(rig.ledger(), ["v"]);
    }

    ["CETP2-4.4-02", "CETP2-4.4-03"]
    fn a_job_that_is_not_held_ends_by_itself(rig) {
        let a = rig.a();
        let operation = a.start(1, json!({"value":"v","hold":false}));
        assert_eq!(a.finished(1, &operation)["state"], "succeeded");
        let failing = a.start(2, json!({"value":"w","hold":false,"fail":true}));
        let ended = a.finished(2, &failing);
        assert_eq!(ended["state"], "failed");
        assert_eq!(ended["error"]["error_code"], "CONFLICT");
        assert_eq!(ended["error"]["retryable"], false);
        assert!(ended["error"]["error_message"].is_string() && ended.get("result").is_none());
        assert_eq!(rig.ledger(), ["v"]);
    }

    ["CETP2-4.4-03"]
    fn a_held_job_can_fail(rig) {
        let a = rig.a();
        let operation = a.start(1, held("v"));
        step(rig, &operation, "fail");
        assert_eq!(a.state(1, &operation)["state"], "failed");
        let failing = a.start(2, json!({"value":"w","hold":true,"fail":true}));
        step(rig, &failing, "succeed");
        assert_eq!(a.state(2, &failing)["error"]["error_code"], "CONFLICT");
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.4-06", "CETP2-4.4-11", "CETP2-4.4-13"]
    fn cancelling_before_the_effect(rig) {
        for (id, first) in [(1, "queued"), (2, "running")] {
            let a = rig.a();
            let operation = a.start(id, held("v"));
            if first == "running" {
                step(rig, &operation, "running");
            }
            let reply = a.operation("cancel_operation", id, &operation);
            assert_eq!(reply.is_success().data()["state"], "cancellation_requested");
            assert_eq!(reply.data()["operation_id"], operation);
            assert_eq!(a.finished(id, &operation)["state"], "cancelled");
            for to in ["running", "commit", "succeed", "fail"] {
                step(rig, &operation, to);
            }
            rig.restart();
            let a = rig.a();
            assert_eq!(a.state(id, &operation)["state"], "cancelled");
            let again = a.operation("cancel_operation", id, &operation);
            if again.status() == "error" {
                assert_eq!(again.code(), "CONFLICT");
            }
            assert_eq!(a.state(id, &operation)["state"], "cancelled");
        }
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.4-12", "CETP2-4.4-13"]
    fn cancelling_after_the_effect(rig) {
        let a = rig.a();
        let operation = a.start(1, held("v"));
        step(rig, &operation, "commit");
        let reply = a.operation("cancel_operation", 1, &operation);
        if reply.status() == "error" {
            assert_eq!(reply.code(), "CONFLICT");
        }
        let refused = rig.try_act("control.operation", json!({"operation_id":operation,"to":"fail"}));
        assert_eq!(refused.unwrap_err().code(), -32000);
        step(rig, &operation, "succeed");
        assert_eq!(a.state(1, &operation)["state"], "succeeded");
        assert_eq!(a.operation("cancel_operation", 1, &operation).code(), "CONFLICT");
        for to in ["running", "commit", "succeed", "fail"] {
            step(rig, &operation, to);
            assert_eq!(a.state(1, &operation)["state"], "succeeded");
        }
        assert_eq!(rig.ledger(), ["v"]);
    }

    ["CETP2-4.1-08", "CETP2-4.4-16"]
    fn an_operation_is_found_with_its_own_request_only(rig) {
        let a = rig.a();
        let operation = a.start(1, held("v"));
        for method in ["get_operation", "cancel_operation"] {
            let none = a.operation(method, 1, "op_none");
            none.refused_with(&["INVALID_REQUEST", "RESULT_EXPIRED"]);
            let mut wrong = a.operation(method, 2, &operation);
            wrong.0["bundle"]["request_id"] = none.0["bundle"]["request_id"].clone();
            assert_eq!(wrong, none);
            let without = a.call(method, a.extras(1));
            assert_eq!(without.code(), "INVALID_REQUEST");
        }
        assert_eq!(a.state(1, &operation)["state"], "queued");
    }

    ["CETP2-4.4-08"]
    fn an_operation_belongs_to_its_uid(rig) {
        let operation = rig.a().start(1, held("v"));
        let b = rig.consumer(&b(), ALL);
        for method in ["get_operation", "cancel_operation"] {
            assert_eq!(b.operation(method, 1, &operation), b.operation(method, 1, "op_none"));
        }
        assert_eq!(rig.a().state(1, &operation)["state"], "queued");
    }

    ["CETP2-4.4-09", "CETP2-5-12"]
    fn an_operation_is_kept_and_then_expires(rig) {
        let retention = rig.act("target.describe", json!({"protocol":1}))["retention_ms"].as_i64().unwrap();
        assert!(retention >= 86_400_000);
        let operation = rig.a().start(1, held("v"));
        step(rig, &operation, "succeed");
        let waiting = rig.a().start(2, held("w"));
        rig.advance(86_400_000 - 1);
        let kept = rig.a().state(1, &operation);
        assert_eq!(kept["state"], "succeeded");
        rig.advance(retention - 86_400_000 + 1);
        let a = rig.a();
        for method in ["get_operation", "cancel_operation"] {
            assert_eq!(a.operation(method, 1, &operation).code(), "RESULT_EXPIRED");
        }
        // Also when the rows have been cleared away; what has not ended stays.
        a.execute("fixture_append", 3, json!({"value":"x"})).is_success();
        rig.restart();
        let a = rig.a();
        a.execute("fixture_append", 4, json!({"value":"y"})).is_success();
        assert_eq!(a.operation("get_operation", 1, &operation).code(), "RESULT_EXPIRED");
        assert_eq!(a.state(2, &waiting)["state"], "queued");
    }

    ["CETP2-4.4-10", "CETP2-4.4-13"]
    fn operations_outlive_the_process(rig) {
        let a = rig.a();
        let waiting = a.start(1, held("waiting"));
        let running = a.start(2, held("running"));
        let committed = a.start(3, held("committed"));
        let ended = a.start(4, held("ended"));
        let free = a.start(5, json!({"value":"free","hold":false}));
        step(rig, &running, "running");
        step(rig, &committed, "commit");
        step(rig, &ended, "succeed");
        rig.restart();
        let a = rig.a();
        assert_eq!(a.state(1, &waiting)["state"], "queued");
        assert_eq!(a.state(2, &running)["state"], "running");
        assert_eq!(a.state(4, &ended)["state"], "succeeded");
        assert_eq!(a.finished(5, &free)["state"], "succeeded");
        assert_eq!(a.finished(3, &committed)["state"], "succeeded");
        step(rig, &committed, "succeed");
        step(rig, &running, "succeed");
        assert_eq!(a.finished(2, &running)["state"], "succeeded");
        let mut ledger = rig.ledger();
        ledger.sort_unstable();
        assert_eq!(ledger, ["committed", "ended", "free", "running"]);
    }

    ["CETP2-4.4-14", "CETP2-6-01"]
    fn a_repeat_is_the_same_operation(rig) {
        let a = rig.a();
        let operation = a.start(1, held("v"));
        assert_eq!(a.start(1, held("v")), operation);
        rig.restart();
        let a = rig.a();
        assert_eq!(a.start(1, held("v")), operation);
        let without = rig.consumer(&a.caller, &[]);
        without.execute("fixture_job", 1, held("v")).refused_with(&["UNSUPPORTED_CAPABILITY", "CONFLICT", "UNAVAILABLE"]);
        step(rig, &operation, "succeed");
        let again = a.execute("fixture_job", 1, held("v"));
        match again.status().as_str() {
            "accepted" => assert_eq!(again.data()["operation_id"], operation),
            _ => assert_eq!(rig.value(&again), json!({"entry":1})),
        }
        assert_eq!(rig.value(&without.execute("fixture_job", 1, held("v"))), json!({"entry":1}));
        assert_eq!(a.execute("fixture_job", 1, held("w")).code(), "INVALID_REQUEST");
        let cancelled = a.start(2, held("w"));
        a.operation("cancel_operation", 2, &cancelled).is_success();
        let again = a.execute("fixture_job", 2, held("w"));
        if again.status() == "error" {
            assert_eq!(again.code(), "CANCELLED");
        }
        assert_eq!(without.execute("fixture_job", 2, held("w")).code(), "CANCELLED");
        assert_eq!(rig.ledger(), ["v"]);
    }

    ["CETP2-2.3-04", "CETP2-3.4-05"]
    fn without_the_capability_a_job_is_synchronous_or_not_there(rig) {
        let without = rig.consumer(&a(), &["cancellation", "large_results"]);
        let reply = without.execute("fixture_job", 1, held("v"));
        if reply.status() == "success" {
            assert_eq!(rig.value(&reply), json!({"entry":1}));
            assert_eq!(rig.ledger(), ["v"]);
        } else {
            reply.refused_with(&["TOOL_NOT_FOUND", "UNSUPPORTED_CAPABILITY"]);
            assert!(rig.ledger().is_empty());
        }
    }

    ["CETP2-3.4-09"]
    fn a_sync_tool_is_never_accepted(rig) {
        let a = rig.a();
        for (id, (tool, args)) in [
            ("fixture_append", json!({"value":"v"})),
            ("fixture_set", json!({"key":"k","value":"v"})),
            ("fixture_escalate", json!({"amount":1})),
            ("fixture_echo", json!({"value":1})),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(a.execute(tool, id as u32, args).status(), "success");
        }
    }

    ["CETP2-2.3-02"]
    fn an_operation_needs_its_capability(rig) {
        let operation = rig.a().start(1, held("v"));
        for capabilities in [&[][..], &["large_results"], &["cancellation"], &["async_operations"]] {
            let consumer = rig.consumer(&a(), capabilities);
            for (method, capability) in [("get_operation", "async_operations"), ("cancel_operation", "cancellation")] {
                if !capabilities.contains(&capability) {
                    assert_eq!(consumer.operation(method, 1, &operation).code(), "UNSUPPORTED_CAPABILITY");
                }
            }
        }
        assert_eq!(rig.a().state(1, &operation)["state"], "queued");
    }
}
