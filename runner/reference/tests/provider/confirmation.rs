//! §4.3: what the user decides; §3.4: when the user is needed; §7.2: what the user sees.

use crate::rig::*;
use serde_json::{Value as Json, json};

/// What a resume token that does not fit may be answered with.
const REFUSALS: &[&str] =
    &["INVALID_REQUEST", "PERMISSION_DENIED", "CONFLICT", "USER_ACTION_REQUIRED", "AUTH_REQUIRED"];

const TRANSFER: &str = "fixture_transfer";

fn args() -> Json {
    json!({"to":"bob","amount":250})
}

probes! {
    ["CETP2-4.3-01", "CETP2-4.3-02", "CETP2-4.3-14"]
    fn a_question_carries_resolution_and_token(rig) {
        let a = rig.a();
        for reply in [a.execute(TRANSFER, 1, args()), a.execute("fixture_secret", 2, json!({}))] {
            if reply.code() == "PERMISSION_DENIED" {
                continue;
            }
            let intent = reply.intent();
            assert_eq!(intent["creator_package"], "org.cetp.reference");
            assert_eq!((&intent["immutable"], &intent["explicit"]), (&json!(true), &json!(true)));
            assert!(intent["component"].as_str().unwrap().starts_with("org.cetp.reference/"));
            assert!(!reply.token().is_empty());
        }
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.3-09", "CETP2-4.3-11", "CETP2-3.4-06"]
    fn approval_then_resuming_executes_once(rig) {
        let a = rig.a();
        let asked = a.execute(TRANSFER, 1, args());
        assert_eq!(asked.code(), "USER_ACTION_REQUIRED");
        let early = a.resume(TRANSFER, 1, args(), &asked.token());
        early.refused_with(&["USER_ACTION_REQUIRED", "CONFLICT", "UNAVAILABLE"]);
        assert!(rig.ledger().is_empty());
        rig.decide(&asked, "approve");
        assert!(rig.ledger().is_empty());
        // Approving does not replace coming back with the token.
        a.execute(TRANSFER, 1, args()).refused_with(&["USER_ACTION_REQUIRED"]);
        let done = a.resume(TRANSFER, 1, args(), &early.token());
        assert_eq!(rig.value(&done), json!({"entry":1}));
        assert_eq!(rig.ledger(), ["bob:250"]);
        // Another request is confirmed anew.
        assert_eq!(a.execute(TRANSFER, 2, args()).code(), "USER_ACTION_REQUIRED");
        assert_eq!(rig.ledger(), ["bob:250"]);
    }

    ["CETP2-4.3-03"]
    fn a_token_is_bound_to_the_caller(rig) {
        let asked = rig.a().execute(TRANSFER, 1, args());
        rig.decide(&asked, "approve");
        rig.consumer(&b(), ALL).resume(TRANSFER, 1, args(), &asked.token()).refused_with(REFUSALS);
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.3-04"]
    fn a_token_is_bound_to_the_tool(rig) {
        let a = rig.a();
        let asked = a.execute("fixture_escalate", 1, json!({"amount":5000}));
        rig.decide(&asked, "approve");
        a.resume(TRANSFER, 1, args(), &asked.token()).refused_with(REFUSALS);
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.3-05"]
    fn a_token_is_bound_to_the_bytes_of_args(rig) {
        let a = rig.a();
        let asked = a.execute_text(TRANSFER, 1, r#"{"to":"bob","amount":250}"#);
        rig.decide(&asked, "approve");
        for text in [r#"{"to":"bob","amount":251}"#, r#"{"to": "bob","amount":250}"#, r#"{"amount":250,"to":"bob"}"#] {
            let token = [("resume_token", json!({"string":asked.token()}))];
            a.call("execute_tool", with(a.execute_extras(TRANSFER, 1, text), &token)).refused_with(REFUSALS);
        }
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.3-06", "CETP2-4.3-08"]
    fn a_token_is_bound_to_the_request(rig) {
        let a = rig.a();
        let asked = a.execute(TRANSFER, 1, args());
        rig.decide(&asked, "approve");
        a.resume(TRANSFER, 2, args(), &asked.token()).refused_with(REFUSALS);
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.3-07"]
    fn a_token_ends_at_its_time(rig) {
        let ttl = rig.act("target.describe", json!({"protocol":1}))["resume_ttl_ms"].as_i64().unwrap();
        let asked = rig.a().execute(TRANSFER, 1, args());
        rig.decide(&asked, "approve");
        rig.advance(ttl + 1);
        let a = rig.a();
        a.resume(TRANSFER, 1, args(), &asked.token()).refused_with(REFUSALS);
        assert!(rig.ledger().is_empty());
        // Asked anew; what the user decides on the old question after its time decides nothing.
        let anew = a.execute(TRANSFER, 1, args());
        assert_eq!(anew.code(), "USER_ACTION_REQUIRED");
        let late = a.execute(TRANSFER, 2, args());
        rig.advance(ttl + 1);
        rig.decide(&late, "approve");
        rig.a().resume(TRANSFER, 2, args(), &late.token()).refused_with(REFUSALS);
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.3-08"]
    fn a_token_works_once(rig) {
        let a = rig.a();
        let asked = a.execute(TRANSFER, 1, args());
        rig.decide(&asked, "approve");
        let done = a.resume(TRANSFER, 1, args(), &asked.token());
        for again in [a.resume(TRANSFER, 1, args(), &asked.token()), a.execute(TRANSFER, 1, args())] {
            assert_eq!(again.is_success().data(), done.is_success().data());
        }
        a.resume(TRANSFER, 2, args(), &asked.token()).refused_with(REFUSALS);
        assert_eq!(rig.ledger(), ["bob:250"]);
        // A read has no stored result; its token works once all the same.
        let asked = a.execute("fixture_secret", 3, json!({}));
        if asked.code() == "AUTH_REQUIRED" {
            rig.decide(&asked, "approve");
            a.resume("fixture_secret", 3, json!({}), &asked.token()).is_success();
            a.resume("fixture_secret", 4, json!({}), &asked.token()).refused_with(REFUSALS);
        }
    }

    ["CETP2-4.3-10"]
    fn a_flag_does_not_confirm(rig) {
        let a = rig.a();
        let reply = a.execute(TRANSFER, 1, json!({"to":"bob","amount":1,"confirmed":true}));
        assert_eq!(reply.code(), "USER_ACTION_REQUIRED");
        for key in ["confirmed", "user_confirmed", "confirmation"] {
            let extras = a.execute_extras(TRANSFER, 2, &args().to_string());
            let reply = a.call("execute_tool", with(extras, &[(key, json!({"bool":true}))]));
            assert_eq!(reply.code(), "USER_ACTION_REQUIRED");
        }
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.3-13"]
    fn a_denial_is_final(rig) {
        let a = rig.a();
        let asked = a.execute(TRANSFER, 1, args());
        rig.decide(&asked, "deny");
        // The first decision stands.
        rig.decide(&asked, "approve");
        assert_eq!(a.resume(TRANSFER, 1, args(), &asked.token()).code(), "USER_CANCELLED");
        assert_eq!(a.resume(TRANSFER, 1, args(), &asked.token()).code(), "USER_CANCELLED");
        assert_eq!(a.execute(TRANSFER, 1, args()).code(), "USER_CANCELLED");
        rig.restart();
        rig.advance(3_600_000);
        assert_eq!(rig.a().execute(TRANSFER, 1, args()).code(), "USER_CANCELLED");
        assert!(rig.ledger().is_empty());
        // Never resumed with its token, it is a "no" too, and it holds the request_id.
        let a = rig.a();
        let asked = a.execute(TRANSFER, 2, args());
        rig.decide(&asked, "deny");
        assert_eq!(a.execute(TRANSFER, 2, args()).code(), "USER_CANCELLED");
        assert_eq!(a.execute(TRANSFER, 2, json!({"to":"eve","amount":1})).code(), "INVALID_REQUEST");
        // An approval stands as well.
        let asked = a.execute(TRANSFER, 3, args());
        rig.decide(&asked, "approve");
        rig.decide(&asked, "deny");
        a.resume(TRANSFER, 3, args(), &asked.token()).is_success();
    }

    ["CETP2-4.3-13"]
    fn leaving_the_question_is_no_yes(rig) {
        let a = rig.a();
        let asked = a.execute(TRANSFER, 1, args());
        rig.decide(&asked, "dismiss");
        let reply = a.resume(TRANSFER, 1, args(), &asked.token());
        reply.refused_with(&["USER_CANCELLED", "USER_ACTION_REQUIRED"]);
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.3-17"]
    fn an_invented_token_never_executes(rig) {
        let a = rig.a();
        for token in ["", "rt_1", "approve"] {
            a.resume(TRANSFER, 1, args(), token).refused_with(REFUSALS);
            a.resume("fixture_append", 2, json!({"value":"v"}), token).refused_with(REFUSALS);
            a.resume("fixture_echo", 3, json!({"value":1}), token).refused_with(REFUSALS);
        }
        let extras = a.execute_extras("fixture_append", 4, r#"{"value":"v"}"#);
        let reply = a.call("execute_tool", with(extras, &[("resume_token", json!({"int":1}))]));
        assert_eq!(reply.code(), "INVALID_REQUEST");
        assert!(rig.ledger().is_empty());
    }

    ["CETP2-4.3-09", "CETP2-4.4-10"]
    fn a_question_outlives_the_process(rig) {
        let asked = rig.a().execute(TRANSFER, 1, args());
        rig.restart();
        rig.decide(&asked, "approve");
        rig.restart();
        rig.a().resume(TRANSFER, 1, args(), &asked.token()).is_success();
        assert_eq!(rig.ledger(), ["bob:250"]);
    }

    ["CETP2-3.4-07"]
    fn a_large_amount_needs_the_user(rig) {
        let a = rig.a();
        a.execute("fixture_escalate", 1, json!({"amount":1000})).is_success();
        let asked = a.execute("fixture_escalate", 2, json!({"amount":1001}));
        asked.refused_with(&["USER_ACTION_REQUIRED", "AUTH_REQUIRED", "PERMISSION_DENIED", "CONFLICT"]);
        assert_eq!(rig.ledger(), ["1000"]);
        rig.decide(&asked, "approve");
        a.resume("fixture_escalate", 2, json!({"amount":1001}), &asked.token()).is_success();
        assert_eq!(rig.ledger(), ["1000", "1001"]);
    }

    ["CETP2-7.2-03"]
    fn the_question_shows_object_and_amount(rig) {
        let a = rig.a();
        let texts = |reply: &Reply| rig.act("observe.ui", json!({"pending_intent":reply.intent()["id"]}))["texts"].clone();
        let first = a.execute(TRANSFER, 1, json!({"to":"carol","amount":73}));
        let second = a.execute(TRANSFER, 2, json!({"to":"dave","amount":91}));
        let shown = texts(&first).to_string();
        assert!(shown.contains("carol") && shown.contains("73"), "{shown}");
        assert_ne!(texts(&first), texts(&second));
        let large = texts(&a.execute("fixture_escalate", 3, json!({"amount":4321}))).to_string();
        assert!(large.contains("4321"));
    }

    ["CETP2-3.4-08", "CETP2-4.3-09"]
    fn an_approved_authorization_lasts(rig) {
        let a = rig.a();
        let asked = a.execute("fixture_secret", 1, json!({}));
        asked.refused_with(&["AUTH_REQUIRED", "PERMISSION_DENIED"]);
        if asked.code() == "PERMISSION_DENIED" {
            return;
        }
        assert_eq!(a.resume("fixture_secret", 1, json!({}), &asked.token()).code(), "AUTH_REQUIRED");
        rig.decide(&asked, "approve");
        let told = a.resume("fixture_secret", 1, json!({}), &asked.token());
        assert!(rig.value(&told)["secret"].is_string());
        rig.restart();
        rig.a().execute("fixture_secret", 2, json!({})).is_success();
        // To another caller it gives nothing.
        assert_eq!(rig.consumer(&b(), ALL).execute("fixture_secret", 3, json!({})).code(), "AUTH_REQUIRED");
        // Withdrawn after the approval: asked anew, under the same request.
        let b = rig.consumer(&b(), ALL);
        let asked = b.execute("fixture_secret", 4, json!({}));
        rig.decide(&asked, "approve");
        rig.act("control.scopes", json!({"caller":b.caller,"revoke":["fixture.secret"]}));
        let anew = b.resume("fixture_secret", 4, json!({}), &asked.token());
        assert_eq!(anew.code(), "AUTH_REQUIRED");
        assert_ne!(anew.token(), asked.token());
        rig.decide(&anew, "approve");
        b.resume("fixture_secret", 4, json!({}), &anew.token()).is_success();
    }

    ["CETP2-4.3-13"]
    fn a_denied_authorization_is_final_for_its_request(rig) {
        let a = rig.a();
        let asked = a.execute("fixture_secret", 1, json!({}));
        if asked.code() == "PERMISSION_DENIED" {
            return;
        }
        rig.decide(&asked, "deny");
        assert_eq!(a.resume("fixture_secret", 1, json!({}), &asked.token()).code(), "USER_CANCELLED");
        assert_eq!(a.execute("fixture_secret", 1, json!({})).code(), "USER_CANCELLED");
        assert_eq!(a.execute("fixture_secret", 2, json!({})).code(), "AUTH_REQUIRED");
    }

    ["CETP2-3.4-08"]
    fn scope_and_confirmation_are_asked_one_after_the_other(rig) {
        let a = rig.a();
        rig.act("control.scopes", json!({"caller":a.caller,"revoke":["fixture.admin"]}));
        let asked = a.execute(TRANSFER, 1, args());
        if asked.code() == "PERMISSION_DENIED" {
            return;
        }
        assert_eq!(asked.code(), "AUTH_REQUIRED");
        rig.decide(&asked, "approve");
        let confirm = a.resume(TRANSFER, 1, args(), &asked.token());
        assert_eq!(confirm.code(), "USER_ACTION_REQUIRED");
        rig.decide(&confirm, "approve");
        a.resume(TRANSFER, 1, args(), &asked.token()).refused_with(REFUSALS);
        assert!(rig.ledger().is_empty());
        a.resume(TRANSFER, 1, args(), &confirm.token()).is_success();
        assert_eq!(rig.ledger(), ["bob:250"]);
    }
}
