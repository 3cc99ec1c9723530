//! §7.1, §7.2: who calls, what it may, and what is written down of it.

use crate::rig::*;
use serde_json::{Value as Json, json};

const REFUSED: &[&str] = &["AUTH_REQUIRED", "PERMISSION_DENIED"];

fn append(consumer: &Consumer<'_>, id: u32) -> Reply {
    consumer.execute("fixture_append", id, json!({"value":"v"}))
}

probes! {
    ["CETP2-7.1-01"]
    fn what_a_caller_says_of_itself_changes_nothing(rig) {
        rig.act("control.scopes", json!({"caller":a(),"grant":["fixture.secret"]}));
        let b = rig.consumer(&b(), ALL);
        let mut extras = b.execute_extras("fixture_secret", 1, "{}");
        for key in ["caller", "package", "uid", "calling_package"] {
            extras = with(extras, &[(key, json!({"string":"org.example.a"}))]);
        }
        extras = with(extras, &[("calling_uid", json!({"int":10_101}))]);
        b.call("execute_tool", extras).refused_with(REFUSED);
        rig.a().execute("fixture_secret", 2, json!({})).is_success();
        let told = b.execute("fixture_append", 3, json!({"value":"v","caller":"org.example.a"}));
        assert_eq!(told.code(), "INVALID_ARGS");
    }

    ["CETP2-7.1-03"]
    fn another_certificate_holds_nothing(rig) {
        append(&rig.a(), 1).is_success();
        let other_key = caller(10_101, &[("org.example.a", &["ff"], &[])]);
        append(&rig.consumer(&other_key, ALL), 2).refused_with(REFUSED);
        // Nor does it learn what the first identity did.
        append(&rig.consumer(&other_key, ALL), 1).refused_with(REFUSED);
        assert_eq!(rig.ledger(), ["v"]);
    }

    ["CETP2-7.1-02", "CETP2-7.1-05"]
    fn a_second_package_under_the_uid_holds_nothing(rig) {
        append(&rig.a(), 1).is_success();
        let shared = caller(10_101, &[("org.example.a", &["aa"], &[]), ("org.example.c", &["aa"], &[])]);
        append(&rig.consumer(&shared, ALL), 2).refused_with(REFUSED);
        append(&rig.a(), 3).is_success();
    }

    ["CETP2-7.1-05"]
    fn a_rotated_certificate_is_a_matter_of_policy(rig) {
        append(&rig.a(), 1).is_success();
        let rotated = caller(10_101, &[("org.example.a", &["cc"], &["aa"])]);
        let reply = append(&rig.consumer(&rotated, ALL), 2);
        if reply.status() != "success" {
            reply.refused_with(REFUSED);
        }
        let stranger = caller(10_101, &[("org.example.a", &["cc"], &["dd"])]);
        append(&rig.consumer(&stranger, ALL), 3).refused_with(REFUSED);
    }

    ["CETP2-7.1-04"]
    fn a_grant_ends_at_its_time(rig) {
        let a = rig.a();
        let grant = json!({"caller":a.caller,"grant":["fixture.secret"],"expires_at_ms":NOW + 60_000});
        rig.act("control.scopes", grant);
        a.execute("fixture_secret", 1, json!({})).is_success();
        rig.advance(59_999);
        a.execute("fixture_secret", 2, json!({})).is_success();
        rig.advance(2);
        a.execute("fixture_secret", 3, json!({})).refused_with(REFUSED);
    }

    ["CETP2-7.2-02", "CETP2-3.4-08"]
    fn scopes_are_checked_at_every_call(rig) {
        let a = rig.a();
        append(&a, 1).is_success();
        a.call("list_tools", a.extras(2)).is_success();
        rig.act("control.scopes", json!({"caller":a.caller,"revoke":["fixture.write"]}));
        append(&a, 3).refused_with(REFUSED);
        assert_eq!(rig.ledger(), ["v"]);
        rig.restart();
        append(&rig.a(), 4).refused_with(REFUSED);
        rig.act("control.scopes", json!({"caller":a.caller,"grant":["fixture.write"]}));
        append(&rig.a(), 5).is_success();
    }

    ["CETP2-3.4-08"]
    fn a_withdrawal_before_the_first_call_stands(rig) {
        rig.act("control.scopes", json!({"caller":b(),"revoke":["fixture.write"]}));
        let b = rig.consumer(&b(), ALL);
        append(&b, 1).refused_with(REFUSED);
        b.execute("fixture_echo", 2, json!({"value":1})).is_success();
        b.execute("fixture_secret", 3, json!({})).refused_with(REFUSED);
    }

    ["CETP2-7.2-04"]
    fn the_audit_tells_what_happened_and_no_arguments(rig) {
        let a = rig.a();
        a.execute("fixture_append", 1, json!({"value":"sensitive-1"})).is_success();
        a.execute("fixture_append", 1, json!({"value":"sensitive-1"})).is_success();
        a.execute("fixture_echo", 2, json!({"value":"sensitive-2"})).is_success();
        let asked = a.execute("fixture_transfer", 3, json!({"to":"sensitive-3","amount":1}));
        rig.decide(&asked, "approve");
        a.resume("fixture_transfer", 3, json!({"to":"sensitive-3","amount":1}), &asked.token()).is_success();
        a.execute("sensitive-4", 4, json!({}));
        let events = rig.act("observe.audit", json!({}))["events"].clone();
        assert!(!events.to_string().contains("sensitive"), "{events}");
        let told: Vec<(&Json, &Json, &Json)> = events
            .as_array()
            .unwrap()
            .iter()
            .map(|event| {
                assert_eq!(event["caller_uid"], 10_101);
                (&event["tool"], &event["decision"], &event["result"])
            })
            .collect();
        assert_eq!(json!(told), json!([
            ["fixture_append", "allowed", "success"],
            ["fixture_append", "repeated", "success"],
            ["fixture_echo", "allowed", "success"],
            ["fixture_transfer", "confirmation_required", "USER_ACTION_REQUIRED"],
            ["fixture_transfer", "confirmed", "success"],
            [null, "refused", "TOOL_NOT_FOUND"],
        ]));
        assert_eq!(events[0]["request_id"], uuid(1));
    }
}
