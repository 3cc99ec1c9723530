//! Operations: polling, the end, and cancelling.

use crate::rig::{Call, Rig, World, same};
use cetp_reference::session::Capabilities;
use serde_json::{Value as Json, json};

fn job(rig: &Rig, world: &World<'_>) -> Json {
    rig.call("fixture_job", &json!({ "value": "one", "hold": false }), world)
}

/// A world in which the job becomes an operation whose polls are answered so.
fn world(state: impl Fn(usize) -> Json + Send + Sync + 'static) -> World<'static> {
    World::new(move |call: &Call<'_>| match call.method {
        "execute_tool" => call.accepted(&json!({ "operation_id": "op", "poll_after_ms": 100 })),
        "get_operation" => {
            let mut data = json!({ "operation_id": "op", "poll_after_ms": 100 });
            data.as_object_mut().unwrap().extend(state(call.n).as_object().unwrap().clone());
            call.success(&data)
        }
        "cancel_operation" => call.success(&json!({ "operation_id": "op", "state": "cancellation_requested" })),
        _ => call.honest(),
    })
}

fn succeeded() -> Json {
    json!({ "state": "succeeded", "result": { "kind": "inline", "value": { "entry": 1 } } })
}

#[test]
fn an_operation_is_polled_to_its_end() {
    let world = world(|n| match n {
        1 => json!({ "state": "queued" }),
        2 => json!({ "state": "running", "progress": { "current": 100, "total": 100 }, "poll_after_ms": 70_000 }),
        _ => succeeded(),
    });
    assert_eq!(job(&Rig::new(), &world)["value"], json!({ "entry": 1 }));
    let polls = world.extras("get_operation");
    assert_eq!(polls.len(), 3);
    assert!(same(&polls, "operation_id") && same(&polls, "request_id"));
    assert_eq!(polls[0]["request_id"], world.extras("execute_tool")[0]["request_id"]);
    assert_eq!(world.slept(), [100, 100, 60_000]);
}

#[test]
fn only_a_terminal_state_that_is_whole_is_an_end() {
    for (state, outcome) in [
        (json!({ "state": "succeeded" }), "refused"),
        (json!({ "state": "succeeded", "result": { "kind": "inline", "value": { "entry": "x" } } }), "refused"),
        (json!({ "state": "Succeeded", "result": { "kind": "inline", "value": { "entry": 1 } } }), "refused"),
        (json!({ "operation_id": "another", "state": "cancelled" }), "refused"),
        (json!({ "state": "failed" }), "refused"),
        (
            json!({ "state": "failed", "error": { "error_code": "CONFLICT", "error_message": "no", "retryable": false } }),
            "error",
        ),
        (json!({ "state": "cancelled" }), "error"),
        (json!({}), "refused"),
    ] {
        let shown = state.to_string();
        let world = world(move |_| state.clone());
        assert_eq!(job(&Rig::new(), &world)["outcome"], outcome, "{shown}");
        assert_eq!(world.extras("get_operation").len(), 1, "{shown}");
    }
}

#[test]
fn an_operation_without_an_end_is_left() {
    let world = world(|_| json!({ "state": "running" }));
    assert_eq!(job(&Rig::new(), &world)["error_code"], "OUTCOME_UNKNOWN");
    assert_eq!(world.extras("get_operation").len(), 500);
}

#[test]
fn what_was_not_negotiated_is_not_followed() {
    let world = world(|_| succeeded());
    assert_eq!(job(&Rig::with(Capabilities::default(), &[]), &world)["outcome"], "refused");
    assert!(world.extras("get_operation").is_empty());
}

#[test]
fn a_poll_without_an_answer_is_repeated() {
    let world = World::new(|call: &Call<'_>| match (call.method, call.n) {
        ("execute_tool", _) => call.accepted(&json!({ "operation_id": "op", "poll_after_ms": 100 })),
        ("get_operation", 1) => json!({ "timeout": true }),
        ("get_operation", 2) => call.error("NEGOTIATION_REQUIRED", true),
        ("get_operation", 3) => call.error("UNAVAILABLE", true),
        ("get_operation", _) => {
            let mut data = succeeded();
            data["operation_id"] = json!("op");
            call.success(&data)
        }
        _ => call.honest(),
    });
    assert_eq!(job(&Rig::new(), &world)["outcome"], "success");
    let polls = world.extras("get_operation");
    assert!(polls.len() == 4 && same(&polls, "request_id"));
    assert_eq!(polls[2]["session_token"], json!({ "string": "session-2-of-org.example.p" }));
}

/// Cancels at the first poll, and ends so at the third; gives what it came to, and the methods from the execution on.
fn cancelled(end: &Json) -> (Json, Vec<String>) {
    let rig = Rig::new();
    let nobody = World::new(|call| call.honest());
    let world = World::new(|call: &Call<'_>| match (call.method, call.n) {
        ("execute_tool", _) => call.accepted(&json!({ "operation_id": "op", "poll_after_ms": 100 })),
        ("get_operation", 1) => {
            rig.act("consumer.cancel", &json!({ "provider_id": "org.example.p", "tool": "fixture_job" }), &nobody);
            call.success(&json!({ "operation_id": "op", "state": "running" }))
        }
        ("get_operation", 2) => call.success(&json!({ "operation_id": "op", "state": "running" })),
        ("get_operation", _) => call.success(end),
        // It says more than it can know.
        ("cancel_operation", _) => call.success(&json!({ "operation_id": "op", "state": "cancelled" })),
        _ => call.honest(),
    });
    let answer = job(&rig, &world);
    let cancel = &world.extras("cancel_operation")[0];
    assert_eq!(cancel["operation_id"], json!({ "string": "op" }));
    assert_eq!(cancel["request_id"], world.extras("execute_tool")[0]["request_id"]);
    (answer, world.methods().into_iter().skip_while(|method| method != "execute_tool").collect())
}

#[test]
fn cancelled_is_only_what_a_state_says() {
    let (answer, methods) = cancelled(&json!({ "operation_id": "op", "state": "cancelled" }));
    assert_eq!(answer["error_code"], "CANCELLED");
    assert_eq!(methods, ["execute_tool", "get_operation", "cancel_operation", "get_operation", "get_operation"]);
    let mut end = succeeded();
    end["operation_id"] = json!("op");
    assert_eq!(cancelled(&end).0["outcome"], "success");
    assert_eq!(cancelled(&json!({ "operation_id": "op", "state": "canceled" })).0["outcome"], "refused");
}
