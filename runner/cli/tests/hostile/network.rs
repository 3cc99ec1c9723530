//! The runner opens no network connection, whatever a target says.

use crate::rig::Place;
use cetp_vectors::ledger::Role;
use libtest_mimic::{Completion, Failed};
use std::process::Command;

/// Switches in which a target gives the runner something that a careless program would follow.
const SWITCHES: [(&str, Role); 4] = [
    ("schema-elsewhere", Role::Provider),
    ("paths-for-ids", Role::Provider),
    ("asks-nobody", Role::Consumer),
    ("escapes-in-data", Role::Provider),
];

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
    for (switch, role) in SWITCHES {
        let place = Place::new(switch, role);
        let log = place.path("calls");
        let calls = "trace=socket,connect,bind,listen,sendto,sendmsg";
        let file = log.to_str().expect("a plain path");
        let mut words = vec!["-f", "-qq", "-e", calls, "-o", file, "--", env!("CARGO_BIN_EXE_cetp-conformance")];
        let arguments = place.arguments();
        words.extend(arguments.iter().map(String::as_str));
        strace(&words)?;
        let seen = std::fs::read_to_string(&log)?;
        // The runner talks to its guard; without that nothing was seen at all.
        if !seen.contains("sendmsg") {
            return Err(format!("{switch}: strace saw no call of the runner").into());
        }
        let network = |line: &&str| ["AF_INET", "AF_NETLINK", "AF_PACKET", "AF_VSOCK"].iter().any(|f| line.contains(f));
        if let Some(call) = seen.lines().find(network) {
            return Err(format!("{switch}: {call}").into());
        }
        if !place.path("out/report.json").exists() {
            return Err(format!("{switch}: the run did not come to its end").into());
        }
    }
    Ok(Completion::Completed)
}
