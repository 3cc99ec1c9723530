//! Results as they come, so that a run that is killed leaves those that there were. The main function is [`recover`].
//!
//! A journal has one JSON document a line: first a [`Report`] without results, then a [`VectorRow`] for each vector, in the
//! order in which they finished. A line is there whole or not at all but for the last, which a killed writer may have left
//! in the middle.

use crate::claims::conclude;
use crate::error::ReportError;
use crate::model::{Report, VectorRow};
use crate::read;
use cetp_vectors::load::Catalogue;
use std::collections::BTreeSet;

/// The name of a journal beside `report.json`.
pub const FILE: &str = "results.jsonl";

/// Makes the report of a run that did not come to its end. `finished_at` is when the last result was written.
///
/// # Errors
/// The journal is not one, or rests on other vectors.
pub fn recover(journal: &[u8], finished_at: String, catalogue: &Catalogue) -> Result<Report, ReportError> {
    // What follows the last line end is a line that was not finished.
    let whole = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut lines = journal[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let head =
        lines.next().ok_or_else(|| ReportError::form(FILE, "the run ended before there was anything to tell"))?;
    let mut report = read::report(head)?;
    if report.suite.vectors_sha256 != catalogue.sha256 {
        return Err(ReportError::OtherVectors {
            named: report.suite.vectors_sha256,
            here: catalogue.sha256.clone(),
            version: report.suite.version,
        });
    }
    let mut seen = BTreeSet::new();
    for (n, line) in lines.enumerate() {
        let row: VectorRow = read::row(line, &format!("{FILE}, line {}", n + 2))?;
        if !seen.insert(row.vector.clone()) {
            return Err(ReportError::form(FILE, format!("line {}: {} came before", n + 2, row.vector)));
        }
        report.results.push(row);
    }
    report.results.sort_by(|a, b| a.vector.cmp(&b.vector));
    let text = String::from_utf8_lossy(&journal[head.len()..whole]);
    for (name, count) in &mut report.redacted {
        *count = u64::try_from(text.matches(&crate::redact::marker(name)).count()).unwrap_or(u64::MAX);
    }
    report.interrupted = true;
    // The time of a file is kept less exactly than that of a run.
    let instant = |text: &str| text.parse::<jiff::Timestamp>().ok();
    if instant(&finished_at) >= instant(&report.started_at) {
        report.finished_at = finished_at;
    }
    let (suite, role) = (&report.suite, report.target.role);
    let conclusion = conclude(catalogue, &suite.name, &suite.version, role, &report.results);
    report.levels = conclusion.levels;
    report.requirements = conclusion.requirements;
    report.claims = conclusion.claims;
    Ok(report)
}
