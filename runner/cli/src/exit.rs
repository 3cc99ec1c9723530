//! Exit codes, the same for every command. The main types are [`Exit`] and [`Stop`].

use cetp_reports::error::ReportError;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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

/// Set when the user asks for the end (SIGINT or SIGTERM); asked twice, the program ends at once.
pub fn interruptible() -> Result<Arc<AtomicBool>, Stop> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&interrupted))
            .and_then(|_| flag::register(signal, Arc::clone(&interrupted)))
            .map_err(|error| Stop { message: error.to_string(), exit: Exit::OwnFault })?;
    }
    Ok(interrupted)
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
