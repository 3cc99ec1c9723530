//! The runner opens no network connection, whatever a target says.

use crate::rig::Place;
use crate::table::{Case, TABLE};
use libtest_mimic::{Completion, Failed};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Looks at every system call that could open one. Where the calls cannot be seen, the trial says why it was not run.
pub fn is_not_used() -> Result<Completion, Failed> {
    let strace = |words: &[&str]| Command::new("strace").args(words).output();
    match strace(&["-qq", "-e", "trace=none", "true"]) {
        Err(error) => return Ok(Completion::ignored_with(format!("strace cannot be started: {error}"))),
        Ok(output) if !output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Ok(Completion::ignored_with(format!("strace cannot look at processes: {said}")));
        }
        Ok(_) => {}
    }
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // Most of these targets make the runner wait: several at a time cost little more than one.
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(case) = TABLE.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = watched(case) {
                        found.lock().expect("no worker panics").push(format!("{}: {why}", case.switch));
                    }
                }
            });
        }
    });
    let found = found.into_inner()?;
    if found.is_empty() { Ok(Completion::Completed) } else { Err(found.join("\n").into()) }
}

const WORKERS: usize = 4;

/// Runs a case under strace, and says what is wrong.
fn watched(case: &Case) -> Result<(), String> {
    let place = Place::new(case.switch, case.role);
    let log = place.path("calls");
    // Only these calls stop a process: what it does else goes on at its own speed.
    let calls = "trace=socket,connect,bind,listen,sendto,sendmsg";
    let run = Command::new("strace")
        .args(["-f", "--seccomp-bpf", "-qq", "-e", calls, "-o"])
        .arg(&log)
        .arg("--")
        .arg(env!("CARGO_BIN_EXE_cetp-conformance"))
        .args(place.arguments())
        .env("TMPDIR", place.path("tmp"))
        .stdout(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let seen = std::fs::read_to_string(&log).map_err(|error| format!("the calls: {error}"))?;
    // The runner talks to its guard; without that nothing was seen at all.
    if !seen.contains("sendmsg") {
        return Err("strace saw no call of the runner".into());
    }
    let network = |line: &&str| ["AF_INET", "AF_NETLINK", "AF_PACKET", "AF_VSOCK"].iter().any(|f| line.contains(f));
    if let Some(call) = seen.lines().find(network) {
        return Err(call.into());
    }
    if !case.never_starts() && !place.path("out/report.json").exists() {
        let said = String::from_utf8_lossy(&run.stderr);
        let from = said.char_indices().rev().nth(600).map_or(0, |(at, _)| at);
        return Err(format!("the run did not come to its end ({}): {}", run.status, said[from..].escape_debug()));
    }
    Ok(())
}
