//! CTRF JSON, the Common Test Report Format. The main function is [`ctrf`].

use crate::junit::explained;
use crate::text::safe;
use crate::view::{Row, View};
use cetp_vectors::judge::Outcome;
use serde_json::{Map, Value as Json, json};

/// The version of the format that is written.
const SPEC_VERSION: &str = "0.0.0";

/// The report as CTRF.
pub fn ctrf(view: &View<'_>) -> Json {
    let report = view.report;
    let count = |wanted: &str| report.results.iter().filter(|row| status(row.outcome) == wanted).count();
    let instant = |text: &str| text.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_millisecond);
    let (start, stop) = (instant(&report.started_at), instant(&report.finished_at));
    json!({
        "reportFormat": "CTRF",
        "specVersion": SPEC_VERSION,
        "timestamp": report.finished_at,
        "generatedBy": format!("{} {}", report.runner.name, report.runner.version),
        "results": {
            "tool": { "name": report.runner.name, "version": report.runner.version },
            "summary": {
                "tests": report.results.len(),
                "passed": count("passed"),
                "failed": count("failed"),
                "skipped": count("skipped"),
                "pending": 0,
                "other": count("other"),
                "suites": report.levels.len(),
                "start": start,
                "stop": stop,
                "duration": stop - start,
                "extra": { "claims": report.claims, "levels": report.levels },
            },
            "environment": {
                "reportName": format!("{} {}", report.suite.name, report.suite.version),
                "appName": safe(&report.target.name),
                "appVersion": safe(&report.target.version),
                "osPlatform": report.environment.get("os").cloned().unwrap_or_default(),
                "extra": { "vectors_sha256": report.suite.vectors_sha256, "subjects": report.target.subjects },
            },
            "tests": view.rows().map(|row| test(&row, view)).collect::<Vec<_>>(),
        },
    })
}

/// An error is not the target's failure: CTRF has `other` for it.
fn status(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass | Outcome::Warn => "passed",
        Outcome::Fail => "failed",
        Outcome::NotRun | Outcome::NotApplicable => "skipped",
        Outcome::Error => "other",
    }
}

fn test(row: &Row<'_>, view: &View<'_>) -> Json {
    let result = row.row;
    let mut out = Map::from_iter([
        ("name".to_owned(), json!(result.vector)),
        ("testId".to_owned(), json!(result.vector)),
        ("status".to_owned(), json!(status(result.outcome))),
        ("rawStatus".to_owned(), json!(result.outcome.name())),
        ("duration".to_owned(), json!(result.duration_ms)),
        ("suite".to_owned(), json!([view.report.suite.name, result.level])),
        ("tags".to_owned(), json!(result.requirements)),
        ("filePath".to_owned(), json!(row.vector.file)),
        ("type".to_owned(), json!("conformance")),
        (
            "extra".to_owned(),
            json!({
                "title": row.vector.title,
                "failed_requirements": result.failed_requirements,
                "warned_requirements": result.warned_requirements,
            }),
        ),
    ]);
    if let Some(reason) = &result.reason {
        out.insert("message".into(), json!(safe(reason)));
    }
    if !row.findings().is_empty() {
        out.insert("trace".into(), json!(explained(row, view)));
    }
    Json::Object(out)
}
