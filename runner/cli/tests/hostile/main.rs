//! Targets that mean ill. Each row of [`table::TABLE`] is one misbehaviour; the outcome must concern the vector under way
//! alone, a message must name the cause, the run must end within its limits and in little memory, nothing of the target may
//! be left, and no byte of it may act on a terminal or a reader of reports.
//!
//! This executable is the target, too, started as [`program::ARGUMENT`] SWITCH FOLDER; and the process that measures.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::zombie_processes,
    reason = "it plays programs that do what they should not"
)]

mod descriptors;
mod killed;
mod measure;
mod network;
mod page;
mod program;
mod rig;
mod table;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    cetp_runner::guard::run_if_asked();
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some(program::ARGUMENT) => program::serve(&words[2], words[3].as_ref()),
        Some(program::RELATIVE) => program::relative(&words[2]),
        Some(measure::ARGUMENT) => return measure::serve(&words[2..]),
        _ => {}
    }
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = table::TABLE
        .iter()
        .map(|case| Trial::test(format!("{}::{}", case.role.name(), case.switch), || rig::check(case)))
        .collect();
    trials.push(Trial::test("page::is_fresh", page::is_fresh));
    trials.push(Trial::test("table::is_whole", table::is_whole));
    trials.push(Trial::test("descriptors::none_is_left_open", descriptors::none_is_left_open));
    trials.push(Trial::test("killed::an_honest_target", killed::an_honest_target));
    trials.push(Trial::test("killed::a_hostile_target", killed::a_hostile_target));
    trials.push(Trial::ignorable_test("network::is_not_used", network::is_not_used));
    libtest_mimic::run(&arguments, trials).exit_code()
}
