//! Reading reports that come from somebody else. The main function is [`report`].
//!
//! A report is untrusted text. It is read by the strict reader: a member that occurs twice, an unknown member or a format of
//! another version is refused, never guessed at.

use crate::error::ReportError;
use crate::model::{FORMAT, Report, VectorRow};
use cetp_vectors::json::{self, Limits};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// What a report may be at most. A message of a target is nested up to 10,000 levels, and in the compact form each of its
/// levels may be wrapped once; a thousand vectors of the largest kind stay below the length.
pub const LIMITS: Limits = Limits { max_bytes: 1 << 30, max_level: 20_100, ..Limits::TEXT };

/// Reads `report.json`.
///
/// # Errors
/// It is no JSON, of another format, or has not the members of a report.
pub fn report(text: &[u8]) -> Result<Report, ReportError> {
    let json = json::parse(text, LIMITS).map_err(|error| ReportError::form("report.json", error))?;
    match json.get("format") {
        Some(Json::String(format)) if format == FORMAT => {}
        Some(Json::String(other)) => return Err(ReportError::Format { found: other.clone() }),
        _ => return Err(ReportError::form("report.json", "it has no format, so it is no report of this suite")),
    }
    shaped(json, "report.json")
}

/// Reads one result, a line of a journal.
pub(crate) fn row(line: &[u8], what: &str) -> Result<VectorRow, ReportError> {
    shaped(json::parse(line, LIMITS).map_err(|error| ReportError::form(what, error))?, what)
}

/// Reads a small JSON document strictly, into a type that refuses unknown members.
pub(crate) fn strict<T: DeserializeOwned>(text: &[u8], what: &str) -> Result<T, ReportError> {
    let json = json::parse(text, Limits::TEXT).map_err(|error| ReportError::form(what, error))?;
    shaped(json, what)
}

fn shaped<T: DeserializeOwned>(json: Json, what: &str) -> Result<T, ReportError> {
    serde_json::from_value(json).map_err(|error| ReportError::form(what, error))
}
