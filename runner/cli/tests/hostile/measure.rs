//! A small process that runs a command and says how much memory the command and its children took at most. The system
//! counts that per process for all children together, so one that runs many commands cannot tell them apart.

use std::process::{Command, ExitCode};

/// The argument by which the executable is asked to measure: FILE COMMAND….
pub const ARGUMENT: &str = "__measure";

/// Runs the command, writes its process id and the peak in bytes into the file, and exits as the command did.
pub fn serve(words: &[String]) -> ExitCode {
    let mut child = Command::new(&words[1]).args(&words[2..]).spawn().expect("the command starts");
    let status = child.wait().expect("it ends");
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).expect("usage is told");
    let peak = usage.max_rss() * 1024;
    std::fs::write(&words[0], format!("{} {peak}", child.id())).expect("the figure can be written");
    ExitCode::from(u8::try_from(status.code().unwrap_or(255)).unwrap_or(255))
}
