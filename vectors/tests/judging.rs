//! The machine and the judge together, with a target that is a function.

use cetp_vectors::judge::{Judge, Judgement, Outcome, judge};
use cetp_vectors::load::{Catalogue, EMBEDDED, FileKind, kind_of};
use cetp_vectors::machine::{Action, Answer, Breakdown, End, Machine, Message, Start};
use cetp_vectors::model::Vector;
use cetp_vectors::transcript::{Entry, Transcript};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// A vector about CETP2-2.2-14 (a must), with these steps.
fn vector(steps: Json) -> Vector {
    vector_with(json!({ "steps": steps }))
}

fn vector_with(members: Json) -> Vector {
    let mut vector = json!({"id": "cetp2/provider/0/test", "title": "Test", "role": "provider", "level": "core", "requirements": ["CETP2-2.2-14"]});
    vector.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let file = json!({"format": "cetp-vectors/1", "suite": "cetp-v2", "vectors": [vector]});
    let shared = |name: &str| matches!(kind_of(name), Some(FileKind::Ledger | FileKind::Rules(_)));
    let mut files: BTreeMap<String, Vec<u8>> =
        EMBEDDED.iter().filter(|(name, _)| shared(name)).map(|(n, t)| ((*n).into(), t.as_bytes().to_vec())).collect();
    files.insert("cetp-v2/provider/test.json".into(), file.to_string().into_bytes());
    let mut catalogue = Catalogue::from_files(files).unwrap_or_else(|error| panic!("{error}"));
    catalogue.vectors.remove(0)
}

fn start() -> Start {
    Start { target: json!({"authority": "org.example", "package": "org.example"}), seed: 7, now_ms: 1000 }
}

/// What was sent together, by place.
type Batches = Vec<Vec<String>>;

/// Runs a vector against a function. Answers come in the order of sending; the clock goes on by 10 ms with each.
fn play(vector: &Vector, mut target: impl FnMut(&Message) -> Answer) -> (Judgement, Transcript, Batches) {
    let mut machine = Machine::new(vector, start());
    let mut live = Judge::new(vector);
    let mut transcript = Transcript { start: start(), entries: Vec::new(), incoming: Vec::new(), ended: None };
    let mut open: Vec<usize> = Vec::new();
    let mut batches = Vec::new();
    let (mut order, mut now) = (0, 1000);
    let end = loop {
        let messages = match machine.next(&mut live) {
            Action::Send { messages, .. } => messages,
            Action::Read { message, .. } | Action::Pause { message, .. } => vec![message],
            Action::Wait => {
                let place = open.remove(0);
                let entry = &mut transcript.entries[place];
                now += 10;
                entry.answer =
                    target(&Message { at: entry.at.clone(), verb: entry.verb.clone(), params: entry.params.clone() });
                entry.answered_ms = now;
                entry.order = order;
                order += 1;
                machine.deliver(&entry.at, &entry.params, &entry.answer, now, &mut live);
                continue;
            }
            Action::Answer { .. } => unreachable!("no target of these tests asks anything"),
            Action::Finished(end) => break end,
        };
        batches.push(messages.iter().map(|m| m.at.clone()).collect());
        for Message { at, verb, params } in messages {
            open.push(transcript.entries.len());
            let now_ms = machine.now_ms();
            transcript.entries.push(Entry {
                at,
                verb,
                params,
                now_ms,
                answer: Answer::Unread,
                answered_ms: now_ms,
                order: 0,
            });
        }
    };
    let live = live.verdict(&end, None);
    // A judge who sees only the transcript comes to the same end, also after a journey through JSON.
    let again = Transcript::from_json(&transcript.to_json()).unwrap();
    assert_eq!(again, transcript);
    assert_eq!(judge(vector, &again), Ok(live.clone()));
    assert!(matches!(end, End::Complete | End::Stopped | End::Stuck { .. }));
    (live, transcript, batches)
}

fn reply(bundle: Json) -> Answer {
    Answer::Result(json!({ "bundle": bundle }))
}

fn ok() -> Answer {
    reply(json!({"status": {"string": "success"}, "n": {"int": 1}}))
}

/// A call whose reply no rule for every call looks at.
fn call(name: &str) -> Json {
    json!({ "call": name, "extras": null })
}

fn with(mut step: Json, members: Json) -> Json {
    step.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    step
}

fn must(that: &str, is: Json) -> Json {
    json!({"requirement": "CETP2-2.2-14", "that": that, "is": is})
}

#[test]
fn what_holds_passes_and_what_does_not_fails() {
    let vector = vector(json!([with(call("a"), json!({"expect": [must("${reply.n}", json!(1))]}))]));
    assert_eq!(play(&vector, |_| ok()).0.outcome, Outcome::Pass);
    let (judgement, _, _) = play(&vector, |_| reply(json!({"n": {"int": 2}})));
    assert_eq!(judgement.outcome, Outcome::Fail);
    assert_eq!(judgement.failed_requirements(), ["CETP2-2.2-14"]);
}

#[test]
fn the_first_step_that_decides_ends_the_matter() {
    let steps = json!([
        with(
            call("a"),
            json!({"expect": [must("${reply.n}", json!(2)), {"requirement": "CETP2-5-01", "that": "${reply.n}", "is": 3}]})
        ),
        with(call("b"), json!({"expect": [{"requirement": "CETP2-6-01", "that": "${reply.n}", "is": 2}]})),
    ]);
    let (judgement, transcript, _) = play(&vector(steps), |_| ok());
    assert_eq!(judgement.failed_requirements(), ["CETP2-2.2-14", "CETP2-5-01"]);
    assert_eq!(transcript.entries.len(), 1);
}

#[test]
fn without_its_precondition_a_step_judges_nothing_more() {
    let steps = json!([with(
        call("a"),
        json!({"expect": [
            {"precondition": "it must be busy", "that": "${reply.busy}", "is": true},
            must("${reply.data.value.entries}", json!([])),
        ]})
    )]);
    let (judgement, _, _) = play(&vector(steps), |_| ok());
    assert_eq!(judgement.outcome, Outcome::Error);
    assert!(judgement.reason.unwrap().contains("it must be busy"));
}

#[test]
fn what_the_target_was_free_not_to_do_is_not_run() {
    let refusing = |first: serde_json::Value| {
        let not_run = json!({"not_run": "it may refuse", "that": "${reply.busy}", "is": true});
        let steps = json!([
            with(call("a"), json!({"expect": [first, not_run, must("${reply.data.value.entries}", json!([]))]})),
            with(call("b"), json!({"expect": [must("${reply.n}", json!(2))]})),
        ]);
        play(&vector(steps), |_| ok()).0
    };
    // What comes after it would be broken, and is not judged.
    let judgement = refusing(must("${reply.n}", json!(1)));
    assert_eq!(judgement.outcome, Outcome::NotRun);
    assert!(judgement.reason.unwrap().contains("it may refuse"));
    // What was broken before it stays broken.
    assert_eq!(refusing(must("${reply.n}", json!(2))).outcome, Outcome::Fail);
}

#[test]
fn what_cannot_be_told_is_not_run() {
    let fact = vector(json!([with(
        call("a"),
        json!({"expect": [must("${reply}", json!({"n": 1, "explicit": {"$fact": true}}))]})
    )]));
    assert_eq!(play(&fact, |_| ok()).0.outcome, Outcome::NotRun);
    // A value that never came decides nothing, also where its absence would read as a pass.
    let typo = vector(json!([
        with(call("a"), json!({"save": "before"})),
        with(call("a"), json!({"expect": [must("${reply.n}", json!({"$not": "${before.revison}"}))]})),
    ]));
    assert_eq!(play(&typo, |_| ok()).0.outcome, Outcome::NotRun);
}

#[test]
fn a_vector_that_makes_no_sense_is_an_error() {
    let steps = json!([with(
        call("a"),
        json!({"expect": [{"requirement": "CETP2-2.2-14", "that": {"$utf8_length": "${reply}"}, "is": 1}]})
    )]);
    assert_eq!(play(&vector(steps), |_| ok()).0.outcome, Outcome::Error);
}

#[test]
fn what_judged_nothing_does_not_pass() {
    let step = with(
        call("a"),
        json!({"expect": [with(must("${reply.n}", json!(1)), json!({"when": {"that": "${reply.other}", "is": 5}}))]}),
    );
    assert_eq!(play(&vector(json!([step])), |_| ok()).0.outcome, Outcome::NotRun);
    let may = vector_with(json!({"steps": [step], "may_not_arise": "nobody needs other"}));
    let (judgement, _, _) = play(&may, |_| ok());
    assert_eq!((judgement.outcome, judgement.reason.as_deref()), (Outcome::NotApplicable, Some("nobody needs other")));
}

#[test]
fn a_should_warns_and_a_remark_does_not() {
    let steps = json!([with(
        call("a"),
        json!({"expect": [
            must("${reply.n}", json!(1)),
            with(must("${reply.n}", json!(2)), json!({"strength": "should"})),
            with(must("${reply.n}", json!(2)), json!({"strength": "advice"})),
        ]})
    )]);
    let (judgement, _, _) = play(&vector(steps), |_| ok());
    assert_eq!(judgement.outcome, Outcome::Warn);
    assert_eq!((judgement.warnings.len(), judgement.advice.len()), (1, 1));
}

#[test]
fn a_target_that_dies_breaks_what_forbids_it() {
    let dies = |kind| move |_: &Message| Answer::Broken { kind, why: "gone".into() };
    let plain = vector(json!([with(call("a"), json!({"expect": [must("${reply.n}", json!(1))]}))]));
    assert_eq!(play(&plain, dies(Breakdown::Died)).0.outcome, Outcome::Error);
    let named = vector(json!([with(call("a"), json!({"breakdown": "CETP2-2.2-14"}))]));
    let (judgement, _, _) = play(&named, dies(Breakdown::Died));
    assert_eq!((judgement.outcome, judgement.failed_requirements().len()), (Outcome::Fail, 1));
    assert_eq!(play(&named, dies(Breakdown::Hung)).0.outcome, Outcome::Fail);
    assert_eq!(play(&named, dies(Breakdown::Protocol)).0.outcome, Outcome::Error);
    assert_eq!(play(&named, |_| ok()).0.outcome, Outcome::Pass);
    assert_eq!(play(&named, |_| Answer::Refused { code: -32000, message: "no".into() }).0.outcome, Outcome::Error);
}

#[test]
fn barriers_open_for_all_branches_at_once() {
    let branch = |name: &str| json!([call(name), {"barrier": true}, call(name), {"barrier": true}, call(name)]);
    let steps = json!([
        {"parallel": [branch("m"), branch("n")], "order": "written"},
        with(call("a"), json!({"expect": [must("${reply.n}", json!(1))]})),
    ]);
    let (_, _, batches) = play(&vector(steps), |_| ok());
    assert_eq!(batches, [vec!["0{0}.0", "0{1}.0"], vec!["0{0}.2", "0{1}.2"], vec!["0{0}.4", "0{1}.4"], vec!["1"]]);
}

#[test]
fn copies_and_rounds_make_lists_with_gaps() {
    let sometimes = |name: &str| json!({"that": format!("${{{name}}}"), "is": {"$not": 1}});
    let steps = json!([
        {"parallel": [[with(call("a"), json!({"save": "r", "when": sometimes("branch")}))]], "copies": 3,
         "expect": [must("${r}", json!([{"n": 1}, null, {"n": 1}]))]},
        {"repeat": [with(call("a"), json!({"save": "s", "when": sometimes("i")}))], "times": 2,
         "expect": [must("${s}", json!([{"n": 1}, null]))]},
        {"repeat": [with(json!({"call": "${item}", "extras": null}), json!({"save": "t"}))], "over": ["x", "y"]},
        {"let": {"both": {"$concat": ["${r}", "${t}"]}},
         "expect": [must("${both}", json!([{"n": 1}, null, {"n": 1}, {"n": 1}, {"n": 1}]))]},
    ]);
    let (judgement, transcript, _) = play(&vector(steps), |_| ok());
    assert_eq!(judgement.outcome, Outcome::Pass, "{judgement:#?}");
    assert_eq!(transcript.entries.last().unwrap().params["method"], "y");
}

#[test]
fn waiting_ends_when_it_holds_or_is_given_up() {
    let waits = |members: Json| {
        with(
            json!({"repeat": [with(call("poll"), json!({"save": "p"}))], "until": {"that": "${p.n}", "is": 3}}),
            members,
        )
    };
    let steps = json!([waits(json!({})), {"expect": [must("${p.n}", json!(3))]}]);
    let mut n = 0;
    let count = |message: &Message| {
        if message.verb == "wait" {
            return Answer::Result(json!({}));
        }
        n += 1;
        reply(json!({"n": {"int": n}}))
    };
    let (judgement, transcript, _) = play(&vector(steps), count);
    assert_eq!(judgement.outcome, Outcome::Pass);
    let places: Vec<&str> = transcript.entries.iter().map(|e| e.at.as_str()).collect();
    assert_eq!(places, ["0[0].0", "0[0]", "0[1].0", "0[1]", "0[2].0"]);

    let give_up = |message: &Message| match message.verb.as_str() {
        "wait" => Answer::Broken { kind: Breakdown::Hung, why: "patience".into() },
        _ => ok(),
    };
    let error = vector(json!([waits(json!({})), {"expect": [must("${p.n}", json!(3))]}]));
    assert_eq!(play(&error, give_up).0.outcome, Outcome::Error);
    let stuck = vector(json!([waits(json!({"breakdown": "CETP2-2.2-14"}))]));
    assert_eq!(play(&stuck, give_up).0.outcome, Outcome::Fail);
}

#[test]
fn a_condition_on_the_time_is_judged_as_it_was_run() {
    let steps = json!([
        {"repeat": [{"let": {"seen": "${now}"}}, with(call("a"), json!({"save": "p", "when": {"that": "${now}", "is": {"$gte": 1025}}}))],
         "until": {"that": "${now}", "is": {"$gte": 1040}}, "pause_ms": 1},
        {"expect": [must("${seen}", json!({"$gte": 1020}))]},
    ]);
    assert_eq!(
        play(&vector(steps), |m| if m.verb == "wait" { Answer::Result(json!({})) } else { ok() }).0.outcome,
        Outcome::Pass
    );
}

#[test]
fn waiting_in_a_branch_does_not_hold_the_others_up() {
    let wait = json!({"repeat": [with(call("poll"), json!({"save": "p"}))], "until": {"that": "${p.n}", "is": 2}});
    let steps = json!([
        {"parallel": [[wait], [with(call("raise"), json!({"save": "q"}))]], "order": "written"},
        {"expect": [must("${q.n}", json!(7))]},
    ]);
    let mut raised = false;
    let (judgement, _, _) = play(&vector(steps), |message| match message.params["method"].as_str() {
        Some("raise") => {
            raised = true;
            reply(json!({"n": {"int": 7}}))
        }
        Some(_) => reply(json!({"n": {"int": if raised { 2 } else { 1 }}})),
        None => Answer::Result(json!({})),
    });
    assert_eq!(judgement.outcome, Outcome::Pass);
}

#[test]
fn a_missing_value_in_a_request_is_an_error_and_other_calls_stay_judged() {
    let steps = json!([
        with(call("a"), json!({"save": "s"})),
        {"parallel": [
            [call("b"), with(json!({"call": "${s.none}", "extras": null}), json!({}))],
            [with(call("c"), json!({"expect": [must("${reply.n}", json!(1))]}))],
        ], "order": "written"},
    ]);
    let (judgement, transcript, _) = play(&vector(steps), |_| ok());
    assert_eq!(judgement.outcome, Outcome::Error);
    assert!(judgement.reason.unwrap().contains("${s.none}"));
    assert_eq!(transcript.entries.last().unwrap().answer, Answer::Unread);
}

#[test]
fn transcripts_of_others_are_refused() {
    let vector = vector(json!([with(call("a"), json!({"expect": [must("${reply.n}", json!(1))]})), call("b")]));
    let (_, good, _) = play(&vector, |_| ok());
    let foreign = |change: &dyn Fn(&mut Transcript)| {
        let mut transcript = good.clone();
        change(&mut transcript);
        judge(&vector, &transcript).unwrap_err().to_string()
    };
    assert!(foreign(&|t| drop(t.entries.pop())).contains("missing"));
    assert!(foreign(&|t| t.entries[0].params["method"] = json!("x")).contains("another message"));
    assert!(foreign(&|t| t.entries[1].now_ms += 1).contains("another message"));
    assert!(foreign(&|t| t.entries[1].at = "0".into()).contains("two messages"));
    assert!(foreign(&|t| t.entries[1].answer = Answer::Unread).contains("answer is missing"));
    let more = Entry { at: "9".into(), ..good.entries[0].clone() };
    assert!(foreign(&|t| t.entries.push(more.clone())).contains("goes on after the end"));
}

#[test]
fn what_a_restart_cuts_off_is_not_judged() {
    let dead = || Answer::Result(json!({"exception": {"class": "android.os.DeadObjectException"}}));
    let v2 = json!({"call": "execute_tool", "extras": {"protocol_version": {"int": 2}}, "expect": [must("${now}", json!({"$gt": 0}))]});
    assert_eq!(play(&vector(json!([v2])), |_| dead()).0.failed_requirements(), ["CETP2-5-13"]);
    let may = with(v2, json!({"may_die": true}));
    assert_eq!(play(&vector(json!([may])), |_| dead()).0.outcome, Outcome::Pass);
    let other = |_: &Message| Answer::Result(json!({"exception": {"class": "java.lang.RuntimeException"}}));
    assert_eq!(play(&vector(json!([may])), other).0.failed_requirements(), ["CETP2-5-13"]);
}
