//! What can be wrong with a report, a key or a baseline. The main type is [`ReportError`].

use crate::check::Discrepancy;
use crate::model::FORMAT;
use std::path::PathBuf;

/// Why something cannot be read, trusted or made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file cannot be read or written.
    #[error("{path}: {error}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A text is no JSON, or not what it should be.
    #[error("{what}: {message}")]
    Form {
        /// Which text.
        what: String,
        /// What is wrong, with the place where there is one.
        message: String,
    },
    /// A report of another format.
    #[error("this is no report that this program reads: its format is {found:?}, and {FORMAT:?} was expected")]
    Format {
        /// What `format` says.
        found: String,
    },
    /// The vectors are others than those of the report.
    #[error(
        "the report rests on other vectors than these: it names {named}, these are {here}. Take the program of suite \
         version {version}, or give the vectors by --vectors DIR"
    )]
    OtherVectors {
        /// The digest in the report.
        named: String,
        /// The digest of the vectors at hand.
        here: String,
        /// The suite version in the report.
        version: String,
    },
    /// What a report says does not follow from its transcripts.
    #[error("{}", listed(.0))]
    DoesNotFollow(Vec<Discrepancy>),
    /// A signature, or what is signed, does not fit.
    #[error("{0}")]
    Signature(String),
    /// A key that cannot be used.
    #[error("{what}: {message}")]
    Key {
        /// Where the key came from; never the key.
        what: String,
        /// Why.
        message: String,
    },
    /// Something that was demanded of a report and is not so.
    #[error("{0}")]
    Demand(String),
    /// A baseline that makes no sense.
    #[error("{what}: {message}")]
    Baseline {
        /// The file.
        what: String,
        /// What is wrong.
        message: String,
    },
    /// Reports that are not parts of one.
    #[error("the reports cannot be merged: {0}")]
    Merge(String),
    /// A form could not be written.
    #[error("{form} could not be written: {message}")]
    Render {
        /// Which form.
        form: &'static str,
        /// Why.
        message: String,
    },
}

impl ReportError {
    /// A file that could not be read or written.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> ReportError {
        let path = path.into();
        move |error| ReportError::File { path, error }
    }

    /// A text that is not what it should be.
    pub fn form(what: impl Into<String>, message: impl ToString) -> ReportError {
        ReportError::Form { what: what.into(), message: message.to_string() }
    }
}

fn listed(list: &[Discrepancy]) -> String {
    /// More would scroll the first away, which is the one to begin with.
    const MOST: usize = 20;
    let mut out = String::from("the report says what does not follow from it:");
    for one in list.iter().take(MOST) {
        out += &format!("\n  {one}");
    }
    if list.len() > MOST {
        out += &format!("\n  … and {} more", list.len() - MOST);
    }
    out
}
