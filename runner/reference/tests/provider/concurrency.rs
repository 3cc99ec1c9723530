//! §6, §2.2: calls at the same time, free and in every interleaving that seeds give.

use crate::rig::*;
use serde_json::{Value as Json, json};
use std::collections::HashSet;
use std::thread;

/// Sends calls at once, each from its own thread, and gives the replies in their order.
fn together(rig: &Rig, calls: &[(&str, Json)]) -> Vec<Json> {
    thread::scope(|scope| {
        let threads: Vec<_> = calls
            .iter()
            .enumerate()
            .map(|(place, (verb, params))| {
                scope.spawn(move || rig.target.handle_at(place, verb, params).unwrap_or_else(|e| json!(e.to_string())))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn execute(consumer: &Consumer<'_>, tool: &str, id: u32, args: Json) -> (&'static str, Json) {
    let extras = consumer.execute_extras(tool, id, &args.to_string());
    ("provider.call", call(&consumer.caller, "execute_tool", extras))
}

const SEEDS: std::ops::Range<u64> = 0..32;

probes! {
    ["CETP2-6-06"]
    fn of_identical_requests_one_executes(rig) {
        for seed in SEEDS {
            rig.reset();
            let a = rig.a();
            let calls = vec![execute(&a, "fixture_append", 1, json!({"value":"v"})); 4];
            rig.target.schedule(seed, calls.len());
            let replies: Vec<Reply> = together(rig, &calls).into_iter().map(Reply).collect();
            for reply in &replies {
                assert_eq!(rig.value(reply), json!({"entry":1}), "seed {seed}");
            }
            assert_eq!(rig.ledger(), ["v"], "seed {seed}");
        }
    }

    ["CETP2-6-06", "CETP2-6-12"]
    fn identical_requests_on_free_threads(rig) {
        let a = rig.a();
        for id in 0..20 {
            let calls = vec![execute(&a, "fixture_append", id, json!({"value":id.to_string()})); 4];
            for reply in together(rig, &calls).into_iter().map(Reply) {
                assert_eq!(rig.value(&reply), json!({"entry":id + 1}));
            }
        }
        assert_eq!(rig.ledger().len(), 20);
    }

    ["CETP2-6-06"]
    fn identical_jobs_are_one_operation(rig) {
        for seed in SEEDS {
            rig.reset();
            let a = rig.a();
            let calls = vec![execute(&a, "fixture_job", 1, json!({"value":"v","hold":false})); 3];
            rig.target.schedule(seed, calls.len());
            let replies: Vec<Reply> = together(rig, &calls).into_iter().map(Reply).collect();
            let accepted: Vec<Json> = replies
                .iter()
                .filter(|reply| reply.status() == "accepted")
                .map(|reply| reply.data()["operation_id"].clone())
                .collect();
            assert!(!accepted.is_empty() && accepted.iter().all(|operation| *operation == accepted[0]), "seed {seed}");
            let operation = accepted[0].as_str().unwrap();
            for reply in replies.iter().filter(|reply| reply.status() != "accepted") {
                assert_eq!(rig.value(reply), json!({"entry":1}), "seed {seed}");
            }
            assert_eq!(a.finished(1, operation)["state"], "succeeded");
            assert_eq!(rig.ledger(), ["v"], "seed {seed}");
        }
    }

    ["CETP2-4.4-18", "CETP2-4.4-11", "CETP2-4.4-12"]
    fn cancelling_races_with_the_commit(rig) {
        let mut ends = HashSet::new();
        for seed in SEEDS {
            rig.reset();
            let a = rig.a();
            let operation = a.start(1, json!({"value":"v","hold":true}));
            let extras = with(a.extras(1), &[("operation_id", json!({"string":operation}))]);
            let calls = [
                ("provider.call", call(&a.caller, "cancel_operation", extras)),
                ("control.operation", json!({"operation_id":operation,"to":"commit"})),
            ];
            rig.target.schedule(seed, calls.len());
            let replies = together(rig, &calls);
            rig.act("control.operation", json!({"operation_id":operation,"to":"succeed"}));
            let end = a.finished(1, &operation)["state"].as_str().unwrap().to_owned();
            let cancelled = Reply(replies[0].clone());
            match end.as_str() {
                "cancelled" => {
                    cancelled.is_success();
                    assert!(rig.ledger().is_empty(), "seed {seed}");
                }
                "succeeded" => assert_eq!(rig.ledger(), ["v"], "seed {seed}"),
                other => panic!("{other}"),
            }
            ends.insert(end);
        }
        assert_eq!(ends.len(), 2, "the seeds show both ends");
    }

    ["CETP2-4.4-18"]
    fn cancelling_races_with_the_work(rig) {
        let mut ends = HashSet::new();
        for seed in SEEDS {
            rig.reset();
            let a = rig.a();
            let start = execute(&a, "fixture_job", 1, json!({"value":"v","hold":false}));
            rig.target.schedule(seed, 1);
            let started = Reply(together(rig, &[start]).remove(0));
            let operation = started.data()["operation_id"].as_str().unwrap().to_owned();
            a.operation("cancel_operation", 1, &operation);
            let end = a.finished(1, &operation)["state"].as_str().unwrap().to_owned();
            assert_eq!(rig.ledger().len(), usize::from(end == "succeeded"), "seed {seed}: {end}");
            ends.insert(end);
        }
        assert!(ends.iter().all(|end| end == "cancelled" || end == "succeeded"));
    }

    ["CETP2-4.3-08", "CETP2-6-06"]
    fn a_token_that_comes_twice_at_once_works_once(rig) {
        for seed in SEEDS {
            rig.reset();
            let a = rig.a();
            let args = json!({"to":"bob","amount":1});
            let asked = a.execute("fixture_transfer", 1, args.clone());
            rig.decide(&asked, "approve");
            let (verb, mut params) = execute(&a, "fixture_transfer", 1, args);
            params["extras"]["resume_token"] = json!({"string":asked.token()});
            let calls = vec![(verb, params); 3];
            rig.target.schedule(seed, calls.len());
            for reply in together(rig, &calls) {
                assert_eq!(rig.value(&Reply(reply)), json!({"entry":1}), "seed {seed}");
            }
            assert_eq!(rig.ledger(), ["bob:1"], "seed {seed}");
        }
    }

    ["CETP2-6-12", "CETP2-2.2-14"]
    fn more_calls_than_places_all_end(rig) {
        for seed in 0..10 {
            rig.reset();
            let a = rig.a();
            let calls: Vec<_> =
                (0..9).map(|id| execute(&a, "fixture_append", id, json!({"value":format!("{id}")}))).collect();
            rig.target.schedule(seed, calls.len());
            let mut done = 0;
            for reply in together(rig, &calls).into_iter().map(Reply) {
                match reply.status().as_str() {
                    "success" => done += 1,
                    _ => reply.refused_with(&["RATE_LIMITED", "UNAVAILABLE"]),
                }
            }
            let ledger = rig.ledger();
            assert_eq!(ledger.iter().collect::<HashSet<_>>().len(), done);
            assert_eq!(ledger.len(), done);
        }
    }

    ["CETP2-4.4-10", "CETP2-6-10", "CETP2-6-11"]
    fn a_kill_at_any_moment_leads_to_one_effect(rig) {
        for seed in SEEDS {
            rig.reset();
            let a = rig.a();
            let calls = [
                execute(&a, "fixture_append", 1, json!({"value":"v"})),
                execute(&a, "fixture_append", 1, json!({"value":"v"})),
                ("control.restart", json!({"mode":"kill"})),
            ];
            rig.target.schedule(seed, calls.len());
            let replies = together(rig, &calls);
            assert_eq!(replies[2], json!({}));
            for reply in &replies[..2] {
                let dead = Reply(reply.clone()).is_dead();
                // A call that came after the restart brings a session from before it.
                let late = reply["bundle"]["error_code"]["string"] == "NEGOTIATION_REQUIRED";
                assert!(dead || late || reply["bundle"]["status"]["string"] == "success", "seed {seed}: {reply}");
            }
            let retry = rig.a().execute("fixture_append", 1, json!({"value":"v"}));
            assert_eq!(rig.value(&retry), json!({"entry":1}), "seed {seed}");
            assert_eq!(rig.ledger(), ["v"], "seed {seed}");
        }
    }

    ["CETP2-7.1-01"]
    fn callers_that_overlap_are_told_apart(rig) {
        for seed in SEEDS {
            rig.reset();
            let (a, b) = (rig.a(), rig.consumer(&b(), ALL));
            rig.act("control.scopes", json!({"caller":a.caller,"grant":["fixture.secret"]}));
            let calls = [
                execute(&a, "fixture_secret", 1, json!({})),
                execute(&b, "fixture_secret", 1, json!({})),
                execute(&a, "fixture_append", 2, json!({"value":"a"})),
                execute(&b, "fixture_append", 2, json!({"value":"b"})),
            ];
            rig.target.schedule(seed, calls.len());
            let replies: Vec<Reply> = together(rig, &calls).into_iter().map(Reply).collect();
            replies[0].is_success();
            replies[1].refused_with(&["AUTH_REQUIRED", "PERMISSION_DENIED"]);
            replies[2].is_success();
            replies[3].is_success();
            assert_eq!(rig.ledger().len(), 2);
        }
    }

    ["CETP2-6-06"]
    fn a_seed_repeats_its_interleaving(rig) {
        let run = |seed| {
            rig.reset();
            let a = rig.a();
            let mut calls = vec![execute(&a, "fixture_append", 1, json!({"value":"v"})); 2];
            calls.push(execute(&a, "fixture_set", 2, json!({"key":"k","value":"v"})));
            let round = rig.target.schedule(seed, calls.len());
            let replies: Vec<Json> = together(rig, &calls).into_iter().map(|reply| rig.value(&Reply(reply))).collect();
            (round.trace(), replies, rig.ledger())
        };
        let traces: HashSet<_> = SEEDS.map(|seed| {
            let (trace, replies, ledger) = run(seed);
            assert_eq!((trace.clone(), replies, ledger), run(seed), "seed {seed}");
            trace
        }).collect();
        assert!(traces.len() > 20, "{} interleavings", traces.len());
    }
}
