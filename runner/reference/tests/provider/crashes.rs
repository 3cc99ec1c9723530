//! §4.4, §6: what survives the end of the process, at the worst moments.

use crate::rig::*;
use serde_json::{Value as Json, json};

fn crash_at(rig: &Rig, at: &str, tool: &str) {
    rig.act("control.fault", json!({"at":at,"tool":tool}));
}

probes! {
    ["CETP2-6-10", "CETP2-4.4-10"]
    fn after_the_commit_the_retry_gets_the_stored_result(rig) {
        for (id, (tool, args)) in
            [("fixture_append", json!({"value":"v"})), ("fixture_set", json!({"key":"k","value":"v"}))].into_iter().enumerate()
        {
            crash_at(rig, "after_commit", tool);
            assert!(rig.a().execute(tool, id as u32, args.clone()).is_dead());
            let done = rig.a().execute(tool, id as u32, args.clone());
            assert_eq!(rig.value(&done), json!({"entry":id + 1}));
            assert_eq!(rig.a().execute(tool, id as u32, args).data(), done.data());
        }
        assert_eq!(rig.ledger(), ["v", "k=v"]);
    }

    ["CETP2-6-11", "CETP2-4.4-10"]
    fn after_the_reservation_the_retry_executes_once(rig) {
        let args = json!({"value":"v"});
        crash_at(rig, "after_reserve", "fixture_append");
        assert!(rig.a().execute("fixture_append", 1, args.clone()).is_dead());
        assert!(rig.ledger().is_empty());
        // The reservation is bound to its content already.
        assert_eq!(rig.a().execute("fixture_append", 1, json!({"value":"w"})).code(), "INVALID_REQUEST");
        rig.a().execute("fixture_append", 1, args.clone()).is_success();
        rig.a().execute("fixture_append", 1, args).is_success();
        assert_eq!(rig.ledger(), ["v"]);
    }

    ["CETP2-6-11", "CETP2-4.3-08"]
    fn a_confirmed_execution_goes_on_after_a_crash(rig) {
        let args = json!({"to":"bob","amount":1});
        for (id, at) in [(1, "after_reserve"), (2, "after_commit")] {
            let asked = rig.a().execute("fixture_transfer", id, args.clone());
            rig.decide(&asked, "approve");
            crash_at(rig, at, "fixture_transfer");
            assert!(rig.a().resume("fixture_transfer", id, args.clone(), &asked.token()).is_dead());
            if id == 1 {
                assert_eq!(rig.a().resume("fixture_transfer", id, args.clone(), "rt_1").code(), "INVALID_REQUEST");
            }
            rig.a().resume("fixture_transfer", id, args.clone(), &asked.token()).is_success();
            rig.a().execute("fixture_transfer", id, args.clone()).is_success();
        }
        assert_eq!(rig.ledger(), ["bob:1", "bob:1"]);
    }

    ["CETP2-6-10", "CETP2-6-11"]
    fn an_operation_goes_on_after_a_crash(rig) {
        for (id, at) in [(1, "after_reserve"), (2, "after_commit")] {
            let args = json!({"value":at,"hold":false});
            crash_at(rig, at, "fixture_job");
            assert!(rig.a().execute("fixture_job", id, args.clone()).is_dead());
            let a = rig.a();
            let reply = a.execute("fixture_job", id, args);
            if reply.status() == "success" {
                assert_eq!(rig.value(&reply), json!({"entry":id}));
                continue;
            }
            let operation = reply.data()["operation_id"].as_str().expect("accepted").to_owned();
            assert_eq!(a.finished(id, &operation)["state"], "succeeded");
            let reply = a.operation("get_operation", id, &operation);
            assert_eq!(rig.value_of(&reply, &reply.data()["result"]), json!({"entry":id}));
        }
        assert_eq!(rig.ledger(), ["after_reserve", "after_commit"]);
    }

    ["CETP2-6-11"]
    fn work_that_fails_has_no_effect_to_crash_after(rig) {
        crash_at(rig, "after_commit", "fixture_job");
        let a = rig.a();
        let failing = a.start(1, json!({"value":"v","hold":false,"fail":true}));
        assert_eq!(a.finished(1, &failing)["state"], "failed");
        assert!(a.execute("fixture_job", 2, json!({"value":"w","hold":false})).is_dead());
        rig.a().execute("fixture_job", 2, json!({"value":"w","hold":false}));
        assert_eq!(rig.ledger(), ["w"]);
    }

    ["CETP2-6-10"]
    fn a_held_operation_dies_where_its_effect_is_committed(rig) {
        let operation = rig.a().start(1, json!({"value":"v","hold":true}));
        crash_at(rig, "after_commit", "fixture_job");
        let moved = rig.act("control.operation", json!({"operation_id":operation,"to":"commit"}));
        assert_eq!(moved, json!({}));
        assert_eq!(rig.a().finished(1, &operation)["state"], "succeeded");
        assert_eq!(rig.ledger(), ["v"]);
    }

    ["CETP2-6-11"]
    fn a_fault_strikes_the_next_execution_of_its_tool_only(rig) {
        let a = rig.a();
        a.execute("fixture_append", 1, json!({"value":"v"})).is_success();
        crash_at(rig, "after_reserve", "fixture_append");
        a.execute("fixture_append", 1, json!({"value":"v"})).is_success();
        a.execute("fixture_set", 2, json!({"key":"k","value":"v"})).is_success();
        assert!(a.execute("fixture_append", 3, json!({"value":"w"})).is_dead());
        rig.a().execute("fixture_append", 3, json!({"value":"w"})).is_success();
        assert_eq!(rig.ledger(), ["v", "k=v", "w"]);
    }

    ["CETP2-4.4-10"]
    fn durable_state_is_durable(rig) {
        let a = rig.a();
        rig.advance(1_000);
        rig.act("control.scopes", json!({"caller":a.caller,"grant":["fixture.secret"]}));
        rig.act("control.reconfigure", json!({"change":"add_tool"}));
        for mode in ["stop", "kill"] {
            assert_eq!(rig.act("control.restart", json!({"mode":mode})), json!({}));
            let a = rig.a();
            a.execute("fixture_secret", 1, json!({})).is_success();
            a.execute("fixture_added", 2, json!({"value":1})).is_success();
            let extras = a.execute_extras("fixture_echo", 3, r#"{"value":1}"#);
            let reply = a.call("execute_tool", with(extras, &[("deadline_at_ms", json!({"long":NOW + 1_001}))]));
            reply.is_success();
        }
        // A reset is new in everything.
        rig.reset();
        let a = rig.a();
        a.execute("fixture_secret", 1, json!({})).refused_with(&["AUTH_REQUIRED", "PERMISSION_DENIED"]);
        assert_eq!(a.execute("fixture_added", 2, json!({"value":1})).code(), "TOOL_NOT_FOUND");
        assert_eq!(rig.act("observe.audit", json!({}))["events"].as_array().map(Vec::len), Some(2));
        let events: Vec<Json> = rig.act("observe.audit", json!({}))["events"].as_array().unwrap().clone();
        assert_eq!(events[1]["result"], "TOOL_NOT_FOUND");
    }
}
