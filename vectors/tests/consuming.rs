//! The machine, the judge and a script together, with a consumer that is a function from a step to its requests.

use cetp_vectors::judge::{Judge, Judgement, Outcome};
use cetp_vectors::ledger::Role;
use cetp_vectors::load::{Catalogue, EMBEDDED, FileKind, kind_of};
use cetp_vectors::machine::{Action, Answer, Machine, Start};
use cetp_vectors::model::Vector;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

fn vector(steps: Json) -> Vector {
    let vector = json!({"id": "cetp2/consumer/0/test", "title": "Test", "role": "consumer", "level": "core", "requirements": ["CETP2-2.1-02"],
        "providers": {"p": {}}, "steps": steps});
    let file = json!({"format": "cetp-vectors/1", "suite": "cetp-v2", "vectors": [vector]});
    let shared = |name: &str| {
        matches!(kind_of(name), Some(FileKind::Ledger | FileKind::Rules(_))) || name.starts_with("fixture/")
    };
    let mut files: BTreeMap<String, Vec<u8>> =
        EMBEDDED.iter().filter(|(name, _)| shared(name)).map(|(n, t)| ((*n).into(), t.as_bytes().to_vec())).collect();
    files.insert("cetp-v2/consumer/test.json".into(), file.to_string().into_bytes());
    let mut catalogue = Catalogue::from_files(files).unwrap_or_else(|error| panic!("{error}"));
    catalogue.vectors.remove(0)
}

/// Runs a vector against a consumer that sends these requests, by their method and extras, in each step. Gives the verdict
/// and how many requests were answered.
fn play(vector: &Vector, requests: impl Fn(&str) -> Vec<(&'static str, Json)>) -> (Judgement, usize) {
    let start = Start { target: json!({}), seed: 1, now_ms: 1000 };
    let mut machine = Machine::new(vector, start);
    let mut judge = Judge::new(vector);
    let (mut open, mut todo, mut answered) = (Vec::new(), Vec::new(), 0);
    let end = loop {
        match machine.next(&mut judge) {
            Action::Send { messages, .. } => {
                for message in messages {
                    todo = requests(&message.verb);
                    todo.reverse();
                    open.push(message.at);
                }
            }
            Action::Wait => match todo.pop() {
                Some((method, extras)) => {
                    let params =
                        json!({"authority": "org.example.p.tools", "method": method, "arg": null, "extras": extras});
                    machine.request("provider.call", &params, &mut judge);
                }
                None => {
                    let answer = Answer::Result(json!({"providers": []}));
                    machine.deliver(&open.remove(0), &Json::Null, &answer, 1000, &mut judge);
                }
            },
            Action::Answer { .. } => answered += 1,
            Action::Finished(end) => break end,
            other => panic!("{other:?}"),
        }
    };
    (judge.verdict(&end, None), answered)
}

fn wrong_offer() -> (&'static str, Json) {
    ("negotiate", json!({"consumer_versions": {"int_array": [1, 2]}, "consumer_capabilities": {"string": "[]"}}))
}

#[test]
fn a_request_that_breaks_a_rule_leaves_the_step_to_be_judged() {
    let expect = json!([{"requirement": "CETP2-2.1-02", "that": "${calls.negotiate}", "is": {"$length": 0}}]);
    let vector = vector(json!([{"discover": ["p"], "expect": expect}, {"discover": ["p"], "expect": expect}]));
    let (judgement, answered) = play(&vector, |_| vec![wrong_offer(), wrong_offer(), wrong_offer()]);
    assert_eq!(judgement.outcome, Outcome::Fail);
    // Each rule once, however often it was broken, and the step's own; the second step is not reached.
    assert_eq!(judgement.failed_requirements(), ["CETP2-2.1-02", "CETP2-2.2-02"]);
    assert_eq!(judgement.findings.len(), 2, "{:?}", judgement.findings);
    assert_eq!(answered, 3);
}

#[test]
fn a_consumer_that_does_not_stop_is_cut_off() {
    let vector = vector(json!([{"discover": ["p"], "expect": [
        {"requirement": "CETP2-2.1-02", "that": "${calls.negotiate}", "is": {"$length": 0}}]}]));
    let (judgement, answered) = play(&vector, |_| vec![wrong_offer(); 3000]);
    assert_eq!(judgement.outcome, Outcome::Fail);
    assert_eq!(judgement.failed_requirements(), ["CETP2-2.2-02"]);
    assert!((1000..1010).contains(&answered), "{answered}");
}

#[test]
fn every_requirement_that_vectors_judge_has_a_vector_of_each_side_that_it_binds() {
    let catalogue = Catalogue::embedded();
    let judged = catalogue.ledger.iter().filter(|row| row.suite == "cetp-v2" && row.not_by_vector.is_none());
    let mut missing = Vec::new();
    for row in judged {
        for role in [Role::Provider, Role::Consumer].into_iter().filter(|role| row.role.binds(*role)) {
            if !catalogue.vectors.iter().any(|v| v.role == role && v.requirements.contains(&row.id)) {
                missing.push((&row.id, role.name()));
            }
        }
    }
    assert!(missing.is_empty(), "no vector is about {missing:?}");
}
