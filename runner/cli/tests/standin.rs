//! The fixture provider for Android in the stand-in for a device, beside the reference: both pass the whole suite, and with
//! the same transcripts once what may differ is normalised. Where the specification leaves a choice and the two chose
//! differently, the vector is named here with the choice.

mod common;

use cetp_conformance::builtin;
use cetp_reports::model::{Packed, VectorRow};
use cetp_runner::engine::VectorResult;
use cetp_vectors::judge::Outcome;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use cetp_vectors::normalise::normalise;
use cetp_vectors::transcript::Transcript;
use common::{on_a_large_stack, run, vectors_of};
use serde_json::Value as Json;

/// Vectors in which the two choose differently, always, and what the choice is.
const CHOICES: [(&str, &str); 17] = [
    ("cetp2/provider/2.1/content-provider-is-exported", CONTROLS),
    ("cetp2/provider/2.1/declared-versions-are-supported", CONTROLS),
    ("cetp2/provider/2.1/discovery-service-names-its-authority", CONTROLS),
    ("cetp2/provider/2.1/dual-stack-keeps-version-1", CONTROLS),
    (
        "cetp2/provider/3.3/each-change-has-a-revision-of-its-own",
        "the tool that a control adds is a copy of echo as it is by now, or as it was at first",
    ),
    (
        "cetp2/provider/3.4/risk-at-run-time-is-seen-in-every-spelling",
        "a number that a double does not hold exactly is INVALID_ARGS, or asked of the user (CETP2-3.4-07)",
    ),
    ("cetp2/provider/4.3/dismissed-confirmation-is-no-approval", LEFT),
    ("cetp2/provider/4.3/model-confirm-4ea31d7c29", LEFT),
    ("cetp2/provider/4.5/closing-early", END),
    ("cetp2/provider/4.5/file-holds-the-value-ascii", END),
    ("cetp2/provider/4.5/file-holds-the-value-cjk", END),
    ("cetp2/provider/4.5/file-in-small-pieces", END),
    ("cetp2/provider/4.5/file-outlives-later-calls", END),
    ("cetp2/provider/4.5/files-are-independent", END),
    ("cetp2/provider/4.5/largest-result", END),
    ("cetp2/provider/4.5/operation-result-as-a-file", END),
    (
        "cetp2/provider/5/result-expired",
        "the name of an operation past its retention is known for a while, or not (CETP2-4.4-09)",
    ),
];

const LEFT: &str = "a question that the user left is USER_CANCELLED or asked again (CETP2-4.3-13)";

const END: &str = "the end of a file comes with its last bytes, or with one more reading, as of a pipe";

const CONTROLS: &str = "the manifest has the fixture's controls, on Android a ContentProvider of their own";

/// Vectors in which it depends on the moment what comes, and what it is. Both answers are right, and either may come.
const MOMENTS: [(&str, &str); 1] = [(
    "cetp2/provider/6/crash-after-commit-of-operation",
    "the process dies before or after the reply that says \"accepted\" has left it",
)];

/// As many as are in the suite, less the races, what needs a provider with one version only, and callers that a device lacks.
const AT_LEAST: usize = 700;

/// The variable with the reports of the stand-in, one or more with `:` between them.
const REPORTS: &str = "STANDIN_REPORTS";

#[test]
#[ignore = "needs reports of the stand-in for a device; android-harness/ci.sh makes them and asks for this test"]
fn it_does_the_same_as_the_reference() {
    let reports =
        std::env::var(REPORTS).unwrap_or_else(|_| panic!("{REPORTS} names the reports of runs on the stand-in"));
    on_a_large_stack(move || {
        let catalogue = Catalogue::embedded();
        let vectors = vectors_of(&catalogue, "cetp-v2", Role::Provider);
        let reference = builtin::opener(true).open("builtin:provider").unwrap();
        let ours = run(&vectors, reference.adapter.as_ref());
        for report in reports.split(':') {
            let theirs = cetp_reports::read::report(&std::fs::read(report).unwrap()).unwrap();
            compare(report, &vectors, &theirs.results, &ours);
        }
    });
}

#[expect(clippy::print_stdout, reason = "ci.sh shows how many were compared")]
fn compare(report: &str, vectors: &[&Vector], theirs: &[VectorRow], ours: &[VectorResult]) {
    assert_eq!((theirs.len(), ours.len()), (vectors.len(), vectors.len()), "{report}");
    let mut wrong = Vec::new();
    let (mut same, mut chosen, mut left_out) = (0, 0, 0);
    for ((vector, a), b) in vectors.iter().zip(theirs).zip(ours) {
        let id = vector.id.as_str();
        assert_eq!((a.vector.as_str(), b.vector.as_str()), (id, id));
        // What cannot be run on a device is the baseline's business; it is an outcome of the run that made the report.
        if a.outcome != b.outcome && a.outcome != Outcome::NotRun {
            wrong.push(format!("{id}: {} and in the reference {}", a.outcome.name(), b.outcome.name()));
        }
        let race = vector.has_flag("race") || MOMENTS.iter().any(|(moment, _)| *moment == id);
        let transcripts = (a.transcript.as_ref().map(Packed::json), b.transcript.as_ref().map(Transcript::to_json));
        let (Some(a), Some(b)) = transcripts else {
            // Not applicable to either, by what they claim.
            left_out += 1;
            continue;
        };
        let [a, b] = [a, b].map(|json| normalise(vector, &Transcript::from_json(&json).unwrap()));
        let choice = CHOICES.iter().find(|(choice, _)| *choice == id);
        match (difference("", &a, &b), choice) {
            _ if race => left_out += 1,
            (None, None) => same += 1,
            (Some(_), Some(_)) => chosen += 1,
            (Some(difference), None) => wrong.push(format!("{id}: {difference}")),
            (None, Some((_, why))) => wrong.push(format!("{id}: the same, though listed as a choice: {why}")),
        }
    }
    println!(
        "{report}: {} vectors: {same} with the same transcript, {chosen} with another choice, {left_out} not compared \
         (not applicable, no such caller, or a race)",
        vectors.len()
    );
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), vectors.len(), wrong.join("\n"));
    assert!(same >= AT_LEAST, "only {same} were compared");
    assert_eq!(chosen, CHOICES.len());
    let there = |id: &str| vectors.iter().any(|vector| vector.id == id);
    assert!(CHOICES.iter().chain(&MOMENTS).all(|(id, _)| there(id)), "a vector is listed that there is not");
}

/// The first place at which two values differ, with both.
fn difference(at: &str, a: &Json, b: &Json) -> Option<String> {
    if a == b {
        return None;
    }
    match (a, b) {
        (Json::Object(x), Json::Object(y)) => {
            let null = Json::Null;
            let mut names = x.keys().chain(y.keys());
            names.find_map(|name| {
                difference(&format!("{at}/{name}"), x.get(name).unwrap_or(&null), y.get(name).unwrap_or(&null))
            })
        }
        (Json::Array(x), Json::Array(y)) if x.len() == y.len() => {
            x.iter().zip(y).enumerate().find_map(|(n, (a, b))| difference(&format!("{at}/{n}"), a, b))
        }
        _ => {
            let cut = |v: &Json| v.to_string().chars().take(300).collect::<String>();
            Some(format!("at {at}: {} and in the reference {}", cut(a), cut(b)))
        }
    }
}
