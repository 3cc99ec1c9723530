//! Why a call does not end in a success. The main type is [`Error`].

use crate::envelope::Refusal;
use std::panic::Location;

/// Everything that can end a call, a control or the start of the provider.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An answer of the protocol: it becomes an error Bundle (§5).
    #[error("{} ({})", .0.message, .0.code.name())]
    Refused(Box<Refusal>),
    /// The provider process in which this ran is gone. Nothing may be done and nobody is there to be answered.
    #[error("the provider process is gone")]
    Died,
    /// A tool's exception that is let through to the caller; only a fault switch does that (§5 forbids it).
    #[error("{0}")]
    Thrown(String),
    /// The database failed. The transaction was rolled back.
    #[error("storage: {0}")]
    Store(#[from] rusqlite::Error),
    /// A stored value does not read back, or a value does not write.
    #[error("stored value: {0}")]
    Json(#[from] serde_json::Error),
    /// The system gives no random bytes.
    #[error("randomness: {0}")]
    Random(#[from] getrandom::Error),
    /// Pipes, processes and files.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A tool that the application describes is no tool.
    #[error("tool {tool}: {message}")]
    Tool {
        /// Its name, or its place in the list.
        tool: String,
        /// What was wrong.
        message: String,
    },
    /// A switch of that name does not exist.
    #[error("{0:?} is no fault or leeway switch")]
    UnknownSwitch(String),
    /// Our own mistake: a row that must be there is not.
    #[error("{what} ({place})")]
    Lost {
        /// What is missing.
        what: &'static str,
        /// Where it was missed.
        place: &'static Location<'static>,
    },
}

/// A result whose error is [`Error`] unless it says otherwise.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// [`Error::Lost`] with the caller's place.
    #[track_caller]
    pub fn lost(what: &'static str) -> Error {
        Error::Lost { what, place: Location::caller() }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(Box::new(refusal))
    }
}
