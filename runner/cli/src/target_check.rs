//! `target check`: whether a target can be driven, and what it lacks.

use crate::builtin;
use crate::exit::{Exit, Stop};
use cetp_reports::text;
use cetp_runner::check::{Finding, check};

/// What to do with a target.
#[derive(clap::Subcommand)]
pub enum TargetCommand {
    /// Start a target, try each verb that it claims, and say what is missing
    Check {
        /// builtin:NAME, stdio:COMMAND, or a target file
        target: String,
    },
}

/// Carries out `target`.
pub fn target(command: &TargetCommand) -> Result<Exit, Stop> {
    let TargetCommand::Check { target: name } = command;
    let target = builtin::opener(true).open(name).map_err(|error| Stop::usage(error.to_string()))?;
    let told = |words: &str| target.redactor.cut_text(words);
    let report = check(target.adapter.as_ref()).map_err(|fault| Stop::target(told(&format!("{name}: {fault}"))))?;
    for (finding, words) in &report.lines {
        let mark = match finding {
            Finding::Good => "ok      ",
            Finding::Missing => "missing ",
            Finding::Wrong => "WRONG   ",
        };
        anstream::println!("{mark}{}", text::wrap(&told(words), "        ").trim_start());
    }
    let wrong = report.lines.iter().filter(|(finding, _)| *finding == Finding::Wrong).count();
    if wrong > 0 {
        return Err(Stop::target(format!("{wrong} of the things above must be mended before the suite can judge")));
    }
    anstream::println!("\nThe suite can drive this target.");
    Ok(Exit::Good)
}
