//! The user's part.

use crate::rig::{Call, Rig, World, same};
use serde_json::json;

fn transfer(world: &World<'_>) -> serde_json::Value {
    Rig::new().call("fixture_transfer", &json!({ "to": "x", "amount": 7 }), world)
}

fn resumed(call: &Call<'_>) -> serde_json::Value {
    match (call.method, call.text("resume_token")) {
        ("execute_tool", "") => call.asks_user("org.example.p", "t"),
        ("execute_tool", "t") => call.inline(json!({ "entry": 1 })),
        _ => call.honest(),
    }
}

#[test]
fn the_call_is_resumed_after_the_screen() {
    let world = World::new(resumed);
    assert_eq!(transfer(&world)["outcome"], "success");
    assert_eq!(world.launched(), ["pi-t"]);
    let sent = world.extras("execute_tool");
    assert!(sent.len() == 2 && same(&sent, "request_id") && same(&sent, "args"));
    assert_eq!(sent[1]["resume_token"], json!({ "string": "t" }));
}

#[test]
fn a_user_who_left_is_not_asked_again() {
    let mut world = World::new(|call: &Call<'_>| match call.method {
        "execute_tool" => call.asks_user("org.example.p", "t"),
        _ => call.honest(),
    });
    world.user = "cancelled";
    assert_eq!(transfer(&world)["error_code"], "USER_ACTION_REQUIRED");
    assert_eq!(world.launched().len(), 1);
    assert_eq!(world.extras("execute_tool").len(), 2);
}

#[test]
fn a_provider_that_always_asks_is_given_up() {
    let world = World::new(|call: &Call<'_>| match call.method {
        "execute_tool" => call.asks_user("org.example.p", "t"),
        _ => call.honest(),
    });
    assert_eq!(transfer(&world)["outcome"], "error");
    assert_eq!(world.launched().len(), 3);
}

#[test]
fn only_the_providers_own_screen_is_shown() {
    for (part, value) in [
        ("creator_package", json!("com.bank")),
        ("creator_package", json!("org.example.pp")),
        ("creator_package", json!(null)),
        ("immutable", json!(false)),
        ("explicit", json!(false)),
        ("component", json!("com.bank/.Pay")),
    ] {
        let world = World::new(|call: &Call<'_>| {
            let mut reply = resumed(call);
            if call.method == "execute_tool" {
                let intent = &mut reply["bundle"]["resolution"]["pending_intent"];
                match value.is_null() {
                    true => drop(intent.as_object_mut().unwrap().remove(part)),
                    false => intent[part] = value.clone(),
                }
            }
            reply
        });
        assert_eq!(transfer(&world)["outcome"], "refused", "{part}");
        assert!(world.launched().is_empty(), "{part}");
    }
}

#[test]
fn without_a_screen_it_is_an_error_like_any_other() {
    for key in ["resolution", "resume_token"] {
        let world = World::new(|call: &Call<'_>| {
            let mut reply = resumed(call);
            if call.method == "execute_tool" {
                reply["bundle"].as_object_mut().unwrap().remove(key);
                reply["bundle"]["retryable"] = json!({ "bool": true });
                reply["bundle"]["authorize_intent"] = json!({ "string": "org.example.p.AUTHORIZE" });
            }
            reply
        });
        assert_eq!(transfer(&world)["error_code"], "USER_ACTION_REQUIRED");
        assert!(world.launched().is_empty());
        assert_eq!(world.extras("execute_tool").len(), 1);
    }
}
