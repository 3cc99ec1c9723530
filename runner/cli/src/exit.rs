//! Exit codes, the same for every command. The main types are [`Exit`] and [`Stop`].

use cetp_reports::error::ReportError;
use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All as wanted.
    Good = 0,
    /// The target falls short: a fail, or a vector that was not run.
    FallsShort = 1,
    /// Usage or input is wrong.
    Usage = 2,
    /// The target could not be driven.
    Target = 3,
    /// The suite itself is at fault.
    OwnFault = 70,
    /// Interrupted by the user.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// The end of a command that could not do its work, with a sentence for people.
#[derive(Debug)]
pub struct Stop {
    /// What was wrong, where, and what to do.
    pub message: String,
    /// The exit code.
    pub exit: Exit,
}

impl Stop {
    /// The user's input is wrong.
    pub fn usage(message: impl Into<String>) -> Stop {
        Stop { message: message.into(), exit: Exit::Usage }
    }

    /// The target could not be driven.
    pub fn target(message: impl Into<String>) -> Stop {
        Stop { message: message.into(), exit: Exit::Target }
    }
}

/// A report, key or baseline that does not fit is the user's input, but for one that was read and refused.
impl From<ReportError> for Stop {
    fn from(error: ReportError) -> Stop {
        let exit = match error {
            ReportError::DoesNotFollow(_)
            | ReportError::Signature(_)
            | ReportError::Demand(_)
            | ReportError::Format { .. }
            | ReportError::Form { .. } => Exit::FallsShort,
            ReportError::Render { .. } => Exit::OwnFault,
            ReportError::File { .. }
            | ReportError::OtherVectors { .. }
            | ReportError::Key { .. }
            | ReportError::Baseline { .. }
            | ReportError::Merge(_) => Exit::Usage,
        };
        Stop { message: error.to_string(), exit }
    }
}
