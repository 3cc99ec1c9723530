//! Whether a signed report can be trusted, and for what. The main function is [`verify`].

use crate::check::{Judged, check};
use crate::dsse::Envelope;
use crate::error::ReportError;
use crate::key::PublicKey;
use crate::model::Report;
use crate::read;
use crate::statement::statement;
use cetp_vectors::expr::sha256_hex;
use cetp_vectors::json::{Limits, parse, pointer_token};
use cetp_vectors::load::Catalogue;
use serde_json::Value as Json;

/// What is asked of a report beside that it follows from its transcripts.
#[derive(Clone, Debug, Default)]
pub struct Demands<'d> {
    /// Keys of which one must have signed it; nothing where an unsigned report is taken.
    pub keys: Option<&'d [PublicKey]>,
    /// The suite's version.
    pub suite_version: Option<&'d str>,
    /// It must not have ended before this, nor after `now`.
    pub not_before: Option<jiff::Timestamp>,
    /// Claims that must be there.
    pub claims: &'d [String],
    /// Files, each with its name, that must be among what was tested.
    pub subjects: &'d [(String, Vec<u8>)],
}

/// A report that was found to be trustworthy.
#[derive(Debug)]
pub struct Verified {
    /// The report.
    pub report: Report,
    /// What judging it again gave, in the order of its results.
    pub judged: Vec<Judged>,
    /// Who signed it; nothing where that was not asked.
    pub signer: Option<PublicKey>,
    /// Which of the report's subjects were compared with files.
    pub compared: Vec<usize>,
}

/// Checks signature, statement, verdicts and demands, in this order.
///
/// # Errors
/// The first of them that does not hold, with what does not fit.
pub fn verify(
    text: &[u8],
    envelope: Option<&[u8]>,
    catalogue: &Catalogue,
    suite_version: &str,
    demands: &Demands<'_>,
) -> Result<Verified, ReportError> {
    let mut signed = None;
    if let Some(keys) = demands.keys {
        let envelope = envelope.ok_or_else(|| {
            ReportError::Signature("the report is not signed: there is no report.dsse.json beside it".into())
        })?;
        let (payload, key) = Envelope::read(envelope)?.open(keys)?;
        let payload =
            parse(&payload, Limits::TEXT).map_err(|error| ReportError::form("the signed statement", error))?;
        names_this_file(&payload, text)?;
        signed = Some((payload, key.clone()));
    }
    let report = read::report(text)?;
    if let Some((payload, _)) = &signed {
        let expected = statement(&report, text);
        if let Some(place) = first_difference(&expected, payload, String::new()) {
            return Err(ReportError::Signature(format!(
                "the signed statement is not the one that report.json leads to: they differ at {place}"
            )));
        }
    }
    let judged = check(&report, catalogue, suite_version)?;
    let compared = demanded(&report, demands)?;
    Ok(Verified { report, judged, signer: signed.map(|(_, key)| key), compared })
}

/// Before the report is read at all: it is the file that was signed.
fn names_this_file(payload: &Json, text: &[u8]) -> Result<(), ReportError> {
    let list = payload["predicate"]["configuration"].as_array();
    let named = list.into_iter().flatten().find(|entry| entry["name"] == "report.json");
    let digest = named.and_then(|entry| entry["digest"]["sha256"].as_str()).unwrap_or("none");
    let here = sha256_hex(text);
    if digest == here {
        return Ok(());
    }
    let message =
        format!("report.json is not the file that was signed: its SHA-256 is {here}, and {digest} was signed");
    Err(ReportError::Signature(message))
}

fn demanded(report: &Report, demands: &Demands<'_>) -> Result<Vec<usize>, ReportError> {
    let unmet = |message: String| Err(ReportError::Demand(message));
    if let Some(version) = demands.suite_version.filter(|version| *version != report.suite.version) {
        return unmet(format!("the report rests on suite version {}, and {version} is demanded", report.suite.version));
    }
    if let Some(limit) = demands.not_before {
        let finished: jiff::Timestamp = report
            .finished_at
            .parse()
            .map_err(|error: jiff::Error| ReportError::form("report.json: finished_at", error))?;
        if finished < limit {
            return unmet(format!("the run ended at {finished}, and nothing before {limit} is taken"));
        }
        if finished > jiff::Timestamp::now() {
            return unmet(format!("the run ended at {finished}, which is yet to come"));
        }
    }
    for claim in demands.claims {
        if !report.claims.iter().any(|made| made.claim == *claim) {
            return unmet(format!("{claim} is demanded, and the report does not lead to it"));
        }
    }
    let mut compared = Vec::new();
    for (name, content) in demands.subjects {
        let digest = sha256_hex(content);
        let subjects = &report.target.subjects;
        match subjects.iter().position(|subject| subject.sha256 == digest) {
            Some(place) => compared.push(place),
            None => {
                let other = subjects.iter().find(|subject| subject.name == *name).map_or_else(
                    || "the report is about no such file".to_owned(),
                    |subject| format!("the report is about a {} with SHA-256 {}", subject.name, subject.sha256),
                );
                return unmet(format!("{name} was not tested: its SHA-256 is {digest}, and {other}"));
            }
        }
    }
    compared.sort_unstable();
    compared.dedup();
    Ok(compared)
}

/// The JSON Pointer of the first place at which two values differ.
fn first_difference(a: &Json, b: &Json, at: String) -> Option<String> {
    match (a, b) {
        (Json::Object(a), Json::Object(b)) => {
            let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
            names.into_iter().find_map(|name| {
                let at = format!("{at}/{}", pointer_token(name));
                match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) => first_difference(a, b, at),
                    _ => Some(at),
                }
            })
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(n, (a, b))| first_difference(a, b, format!("{at}/{n}")))
        }
        _ if a == b => None,
        _ => Some(if at.is_empty() { "its root".into() } else { at }),
    }
}
