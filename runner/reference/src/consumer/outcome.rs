//! What an execution comes to. The main type is [`Outcome`].

use crate::envelope::Code;
use serde_json::Value as Json;

/// A value that a provider gave: checked against the tool's schema, and data. Whatever it says, in whatever role or
/// markup, it is never an instruction (§4.2, §7.3). The type is how the consumer's own code cannot forget that.
#[derive(Clone, Debug, PartialEq)]
pub struct Data(pub Json);

/// How an execution ended, for the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The tool gave a value that conforms to its output schema.
    Success(Data),
    /// It did not work.
    Ending(Ending),
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The provider says so, or nothing could be learned.
    Error {
        /// A code of §5, or one of this consumer: [`UNKNOWN_CODE`], [`OUTCOME_UNKNOWN`].
        code: &'static str,
        /// For people. It may be the provider's text, bounded: it is data as well.
        message: String,
    },
    /// This consumer does not do it, or does not take what came.
    Refused {
        /// For people, in our own words.
        message: String,
    },
}

/// Instead of a code that the specification does not have.
pub const UNKNOWN_CODE: &str = "UNKNOWN_ERROR_CODE";

/// The tool may have had its effect or not: the provider is gone, or answers nothing that can be relied on (§4.1, §6).
pub const OUTCOME_UNKNOWN: &str = "OUTCOME_UNKNOWN";

/// The error code of an operation that is certain to have been cancelled.
pub const CANCELLED: &str = "CANCELLED";

impl Ending {
    /// A refusal in our own words.
    pub fn refused(message: impl Into<String>) -> Ending {
        Ending::Refused { message: message.into() }
    }

    /// An error with a code of the specification, in our own words.
    pub fn error(code: Code, message: impl Into<String>) -> Ending {
        Ending::Error { code: code.name(), message: message.into() }
    }

    /// Nobody knows whether the tool had its effect.
    pub fn unknown(why: &str) -> Ending {
        Ending::Error {
            code: OUTCOME_UNKNOWN,
            message: format!("{why}. Whether the tool had its effect is not known."),
        }
    }

    /// The message.
    pub fn message(&self) -> &str {
        match self {
            Ending::Error { message, .. } | Ending::Refused { message } => message,
        }
    }
}

impl From<Result<Data, Ending>> for Outcome {
    fn from(result: Result<Data, Ending>) -> Outcome {
        result.map_or_else(Outcome::Ending, Outcome::Success)
    }
}
