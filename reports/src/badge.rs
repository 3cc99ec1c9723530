//! A badge: the endpoint form of shields. The main function is [`badge`].

use crate::claims::CORE;
use crate::model::{Report, Verdict};
use serde_json::{Value as Json, json};

/// The JSON that the endpoint of a badge serves.
pub fn badge(report: &Report) -> Json {
    let level = report.levels.get(CORE);
    let (message, colour) = match level.map(|level| (level, level.verdict)) {
        Some((_, Verdict::Pass)) if report.claims.iter().any(|claim| claim.claim.ends_with("-core")) => {
            let optional = report.claims.len() - 1;
            let more = if optional == 0 { String::new() } else { format!(" + {optional}") };
            (format!("core{more} ({})", report.suite.version), "brightgreen")
        }
        Some((level, Verdict::Fail)) => (format!("{} of {} failed", level.failed, level.vectors), "red"),
        Some((level, Verdict::Error)) => (format!("{} of {} broke", level.errors, level.vectors), "orange"),
        Some((_, Verdict::Pass | Verdict::Incomplete | Verdict::NotApplicable)) => {
            ("not proven".to_owned(), "lightgrey")
        }
        None => ("no verdict".to_owned(), "lightgrey"),
    };
    json!({ "schemaVersion": 1, "label": report.suite.name, "message": message, "color": colour })
}
