//! Writing a report and its forms. The main function is [`publish`].

use crate::exit::{Exit, Stop};
use crate::forms::{Forms, write};
use crate::run::SUITE_VERSION;
use cetp_reports::check::check;
use cetp_reports::dsse::Envelope;
use cetp_reports::error::ReportError;
use cetp_reports::key::PrivateKey;
use cetp_reports::model::Report;
use cetp_reports::statement::statement;
use cetp_reports::view::View;
use cetp_vectors::expr::sha256_hex;
use cetp_vectors::load::Catalogue;
use std::path::Path;

/// The names of the two files.
pub const REPORT: &str = "report.json";
/// The signed envelope beside it.
pub const ENVELOPE: &str = "report.dsse.json";

/// The key of `--sign`.
pub struct Key(PrivateKey);

impl Key {
    /// Opens a key as the argument names it.
    pub fn open(argument: &str) -> Result<Key, Stop> {
        Ok(Key(PrivateKey::from_argument(argument)?))
    }
}

/// Writes the report, signs it, and writes the forms that are asked for. A report that does not follow from its transcripts
/// is our own fault: it is written, so that it can be looked at, and neither signed nor shown as anything.
pub fn publish(
    report: &Report,
    catalogue: &Catalogue,
    folder: Option<&Path>,
    key: Option<&Key>,
    forms: &Forms,
    tell: &dyn Fn(&str),
) -> Result<(), Stop> {
    if folder.is_none() && forms.is_empty() {
        return Ok(());
    }
    let text = cetp_reports::json::text(report)
        .map_err(|error| ReportError::Render { form: REPORT, message: error.to_string() })?;
    if let Some(folder) = folder {
        // An envelope of a former run must not lie beside another report.
        let envelope = folder.join(ENVELOPE);
        if envelope.exists() {
            std::fs::remove_file(&envelope).map_err(ReportError::file(&envelope))?;
        }
        write(&folder.join(REPORT), &text)?;
    }
    let judged = check(report, catalogue, SUITE_VERSION).map_err(|error| Stop {
        message: format!("the suite is at fault, this report cannot be relied on: {error}"),
        exit: Exit::OwnFault,
    })?;
    let mut signer = None;
    if let (Some(folder), Some(Key(key))) = (folder, key) {
        let payload = statement(report, text.as_bytes()).to_string();
        let envelope = Envelope::sign(payload.as_bytes(), key);
        let json = serde_json::to_string(&envelope)
            .map_err(|error| ReportError::Render { form: ENVELOPE, message: error.to_string() })?;
        write(&folder.join(ENVELOPE), &json)?;
        signer = Some(key.public().fingerprint());
    }
    if let Some(folder) = folder {
        let signed = signer.as_ref().map(|key| format!(", signed by {key}")).unwrap_or_default();
        tell(&format!("Report: {}{signed}", folder.join(REPORT).display()));
    }
    let sha256 = sha256_hex(text.as_bytes());
    forms.write(&View { report, judged: &judged, catalogue, signer: signer.as_deref(), sha256: &sha256 })
}
