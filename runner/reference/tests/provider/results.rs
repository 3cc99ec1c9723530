//! §4.5: inline, file, too large.

use crate::rig::*;
use serde_json::{Value as Json, json};

const LIMIT: usize = 262_144;

fn blob(length: usize, fill: &str) -> Json {
    json!({"length":length,"fill":fill})
}

probes! {
    ["CETP2-4.5-01", "CETP2-4.5-02", "CETP2-4.5-03"]
    fn the_inline_limit_is_exact(rig) {
        let small = rig.consumer(&a(), &[]);
        let value = r#"{"blob":""}"#.len();
        let envelope = r#"{"kind":"inline","value":{"blob":""}}"#.len();
        let whole = small.execute("fixture_blob", 1, blob(LIMIT - envelope, "ascii"));
        assert_eq!(whole.is_success().text("data").len(), LIMIT);
        // The grey zone: the value fits, the envelope does not.
        let grey = small.execute("fixture_blob", 2, blob(LIMIT - value, "ascii"));
        if grey.status() == "error" {
            assert_eq!(grey.code(), "RESULT_TOO_LARGE");
        }
        for (length, fill) in [(LIMIT - value + 1, "ascii"), (LIMIT, "ascii"), (LIMIT / 3 + 1, "cjk"), (16_777_216, "ascii")] {
            assert_eq!(small.execute("fixture_blob", 3, blob(length, fill)).code(), "RESULT_TOO_LARGE");
        }
        let three = small.execute("fixture_blob", 4, blob((LIMIT - 1024) / 3, "cjk"));
        assert!(three.is_success().text("data").len() <= LIMIT);
    }

    ["CETP2-4.5-04", "CETP2-4.5-05", "CETP2-4.5-06", "CETP2-4.5-14"]
    fn a_large_result_is_a_file(rig) {
        let a = rig.a();
        for (id, (length, fill, size)) in
            [(LIMIT, "ascii", LIMIT + 11), (LIMIT, "cjk", 3 * LIMIT + 11)].into_iter().enumerate()
        {
            let reply = a.execute("fixture_blob", id as u32, blob(length, fill));
            let data = reply.is_success().data();
            assert_eq!(data["kind"], "file");
            assert_eq!(data["size_bytes"], size);
            assert_eq!(reply.get("result_fd", "fd")["access"], "r");
            assert!(data["sha256"].as_str().unwrap().bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)));
            assert_eq!(rig.act("observe.fds", json!({})), json!({"open":1}));
            let value = rig.value(&reply);
            assert_eq!(value["blob"].as_str().unwrap().chars().count(), length);
            assert_eq!(rig.act("observe.fds", json!({})), json!({"open":0}));
        }
        let reply = a.execute("fixture_blob", 9, blob(9 << 20, "ascii"));
        assert_eq!(reply.is_success().data()["kind"], "file");
    }

    ["CETP2-4.5-05"]
    fn a_file_ends_with_its_process_and_closes_twice(rig) {
        let a = rig.a();
        let reply = a.execute("fixture_blob", 1, blob(LIMIT, "ascii"));
        let fd = reply.get("result_fd", "fd")["id"].clone();
        assert_eq!(reply.get("result_fd", "fd")["access"], "r");
        let part = rig.act("fd.read", json!({"fd":fd,"max_bytes":3}));
        assert_eq!(part, json!({"base64":"eyJi","eof":false}));
        rig.restart();
        assert!(rig.try_act("fd.read", json!({"fd":fd,"max_bytes":3})).is_err());
        for _ in 0..2 {
            assert_eq!(rig.act("fd.close", json!({"fd":fd})), json!({}));
        }
    }

    ["CETP2-4.5-13", "CETP2-4.2-02"]
    fn an_operation_follows_the_same_rules(rig) {
        let a = rig.a();
        let operation = a.start(1, json!({"value":"v","hold":false,"length":LIMIT}));
        a.finished(1, &operation);
        let reply = a.operation("get_operation", 1, &operation);
        let result = reply.data()["result"].clone();
        assert_eq!(result["kind"], "file");
        assert_eq!(rig.value_of(&reply, &result)["blob"].as_str().unwrap().len(), LIMIT);
        let small = rig.consumer(&a.caller, &["async_operations"]);
        assert_eq!(small.operation("get_operation", 1, &operation).code(), "RESULT_TOO_LARGE");
        assert_eq!(rig.ledger(), ["v"]);
        let fits = a.start(2, json!({"value":"w","hold":false,"length":LIMIT - 1024}));
        a.finished(2, &fits);
        let reply = small.operation("get_operation", 2, &fits);
        assert_eq!(reply.is_success().data()["result"]["kind"], "inline");
        assert!(reply.text("data").len() <= LIMIT);
    }

    ["CETP2-6-04", "CETP2-4.5-03"]
    fn a_stored_result_follows_the_session_that_asks(rig) {
        let args = json!({"value":"v","hold":false,"length":LIMIT});
        let small = rig.consumer(&a(), &[]);
        let first = small.execute("fixture_job", 1, args.clone());
        if first.code() != "RESULT_TOO_LARGE" {
            return;
        }
        let large = rig.consumer(&a(), &["large_results"]);
        let again = large.execute("fixture_job", 1, args.clone());
        assert_eq!(rig.value(&again)["entry"], 1);
        assert_eq!(small.execute("fixture_job", 1, args).code(), "RESULT_TOO_LARGE");
        assert_eq!(rig.ledger(), ["v"]);
    }
}
