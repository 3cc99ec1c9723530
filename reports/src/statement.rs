//! What is signed about a report: an in-toto Statement v1 with a test-result predicate. The main function is [`statement`].
//!
//! It is made of the report alone, so whoever has the report can make it again and compare.

use crate::model::{Report, Verdict};
use cetp_vectors::expr::sha256_hex;
use cetp_vectors::judge::Outcome;
use serde_json::{Map, Value as Json, json};

/// The type of the Statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// The type of its predicate.
pub const PREDICATE_TYPE: &str = "https://in-toto.io/attestation/test-result/v0.1";

/// The largest whole number that every JSON reader keeps.
const MOST_EXACT: u64 = 1 << 53;

/// The Statement about a report, whose bytes are `text`.
pub fn statement(report: &Report, text: &[u8]) -> Json {
    let subjects: Vec<Json> =
        report.target.subjects.iter().map(|s| json!({ "name": s.name, "digest": { "sha256": s.sha256 } })).collect();
    let with = |outcomes: &[Outcome]| -> Vec<&str> {
        report.results.iter().filter(|row| outcomes.contains(&row.outcome)).map(|row| row.vector.as_str()).collect()
    };
    json!({
        "_type": STATEMENT_TYPE,
        "subject": subjects,
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "result": result(report),
            "configuration": [
                {
                    "name": format!("vectors of {} {}", report.suite.name, report.suite.version),
                    "digest": { "sha256": report.suite.vectors_sha256 },
                },
                { "name": "report.json", "digest": { "sha256": sha256_hex(text) } },
            ],
            "passedTests": with(&[Outcome::Pass]),
            "warnedTests": with(&[Outcome::Warn]),
            "failedTests": with(&[Outcome::Fail, Outcome::Error]),
            "notRunTests": with(&[Outcome::NotRun]),
            "notApplicableTests": with(&[Outcome::NotApplicable]),
            "levels": levels(report),
            "claims": report.claims,
            "role": report.target.role,
            "target": { "name": report.target.name, "version": report.target.version },
            "finishedAt": report.finished_at,
            "redacted": report.redacted.keys().collect::<Vec<_>>(),
        },
    })
}

/// `PASSED` and `WARNED` only where every level was run to its end and passed, or is not claimed; a gate that knows nothing
/// but this word must not take a partial run for a conforming target.
pub fn result(report: &Report) -> &'static str {
    let good = |verdict| matches!(verdict, Verdict::Pass | Verdict::NotApplicable);
    let core = report.levels.get(crate::claims::CORE).is_some_and(|level| level.verdict == Verdict::Pass);
    if !core || report.interrupted || !report.levels.values().all(|level| good(level.verdict)) {
        "FAILED"
    } else if report.levels.values().any(|level| level.warned > 0) {
        "WARNED"
    } else {
        "PASSED"
    }
}

fn levels(report: &Report) -> Json {
    let mut out = Map::new();
    for (name, level) in &report.levels {
        let counts = [
            ("vectors", level.vectors),
            ("passed", level.passed),
            ("failed", level.failed),
            ("warned", level.warned),
            ("notRun", level.not_run),
            ("notApplicable", level.not_applicable),
            ("errors", level.errors),
            ("unselected", level.unselected),
            ("uncovered", level.uncovered.len()),
        ];
        let mut row = Map::from_iter([("verdict".to_owned(), json!(level.verdict))]);
        row.extend(counts.map(|(name, n)| (name.to_owned(), exact(n as u64))));
        out.insert(name.clone(), Json::Object(row));
    }
    Json::Object(out)
}

/// A number that every reader keeps: a text above 2^53.
fn exact(n: u64) -> Json {
    if n <= MOST_EXACT { json!(n) } else { json!(n.to_string()) }
}
