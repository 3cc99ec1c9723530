//! Making one report of several: shards of a run, or runs of one target on several devices. The main function is [`merge`].

use crate::claims::conclude;
use crate::error::ReportError;
use crate::model::{Report, VectorRow};
use cetp_vectors::load::Catalogue;
use std::collections::BTreeMap;

/// Merges reports about one target. A vector that several hold must have the same outcome in all.
///
/// # Errors
/// They are about different targets or suites, or contradict each other.
pub fn merge(reports: &[Report], catalogue: &Catalogue) -> Result<Report, ReportError> {
    let Some((first, others)) = reports.split_first() else {
        return Err(ReportError::Merge("there are none".into()));
    };
    let mut merged = first.clone();
    let mut rows: BTreeMap<String, VectorRow> = BTreeMap::new();
    for (n, report) in reports.iter().enumerate() {
        for row in &report.results {
            match rows.get(&row.vector) {
                Some(known) if known.outcome != row.outcome => {
                    let (a, b) = (known.outcome.name(), row.outcome.name());
                    let message = format!("{} is {a} in one and {b} in report {}", row.vector, n + 1);
                    return Err(ReportError::Merge(message));
                }
                Some(_) => {}
                None => {
                    rows.insert(row.vector.clone(), row.clone());
                }
            }
        }
    }
    for (n, other) in others.iter().enumerate() {
        for (what, same) in [
            ("suite", first.suite == other.suite),
            ("runner", first.runner == other.runner),
            ("target", first.target == other.target),
        ] {
            if !same {
                return Err(ReportError::Merge(format!("report {} is about another {what} than the first", n + 2)));
            }
        }
        for (name, value) in &other.environment {
            let known = merged.environment.entry(name.clone()).or_insert_with(|| value.clone());
            if !known.split(", ").any(|one| one == value) {
                *known += &format!(", {value}");
            }
        }
        for (name, count) in &other.redacted {
            *merged.redacted.entry(name.clone()).or_default() += count;
        }
        merged.started_at = earlier(&merged.started_at, &other.started_at);
        merged.finished_at = later(&merged.finished_at, &other.finished_at);
        merged.interrupted |= other.interrupted;
    }
    merged.results = rows.into_values().collect();
    let suite = &merged.suite;
    let conclusion = conclude(catalogue, &suite.name, &suite.version, merged.target.role, &merged.results);
    merged.levels = conclusion.levels;
    merged.requirements = conclusion.requirements;
    merged.claims = conclusion.claims;
    Ok(merged)
}

/// Instants are compared as instants: their texts may have fractions of different lengths.
fn earlier(a: &str, b: &str) -> String {
    if instant(b) < instant(a) { b.to_owned() } else { a.to_owned() }
}

fn later(a: &str, b: &str) -> String {
    if instant(b) > instant(a) { b.to_owned() } else { a.to_owned() }
}

fn instant(text: &str) -> Option<jiff::Timestamp> {
    text.parse().ok()
}
