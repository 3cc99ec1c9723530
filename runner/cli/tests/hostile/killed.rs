//! A runner that is killed leaves no process of a target behind, and the results so far can be read.

use crate::program::ARGUMENT;
use crate::rig::{Place, processes_left};
use cetp_vectors::ledger::Role;
use libtest_mimic::Failed;
use serde_json::Value as Json;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BINARY: &str = env!("CARGO_BIN_EXE_cetp-conformance");

/// So long a process of a target may outlive the runner.
const GRACE: Duration = Duration::from_secs(2);

/// Milliseconds from the start of a run to its end; nothing means that it ends when there are a few results.
const MOMENTS: [Option<u64>; 7] = [Some(0), Some(20), Some(60), Some(150), Some(400), Some(900), None];

/// Kills a run of the built-in reference as a program, at several moments.
pub fn an_honest_target() -> Result<(), Failed> {
    let mut results = 0;
    let random = RandomState::new().hash_one(Instant::now()) % 1500;
    for moment in MOMENTS.into_iter().chain([Some(random)]) {
        let place = Place::new("silence", Role::Provider);
        let target = format!("stdio:{BINARY} reference provider");
        results += killed(&place, &target, moment).map_err(|why| format!("after {moment:?} ms: {why}"))?;
    }
    if results < 3 {
        return Err("no run left a result, so nothing was proved".into());
    }
    Ok(())
}

/// The same with targets that do not want to end.
pub fn a_hostile_target() -> Result<(), Failed> {
    for switch in ["ignores-sigterm", "leaves-one-in-another-group", "answers-beside-an-orphan", "fork-storm"] {
        let place = Place::new(switch, Role::Provider);
        let exe = std::env::current_exe()?;
        let target = format!("stdio:{} {ARGUMENT} {switch} {}", exe.display(), place.path("target").display());
        killed(&place, &target, Some(700)).map_err(|why| format!("{switch}: {why}"))?;
    }
    Ok(())
}

/// Kills a run, and gives the number of results that it left.
fn killed(place: &Place, target: &str, moment: Option<u64>) -> Result<usize, String> {
    let out = place.path("out");
    let text = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let mut run = Command::new(BINARY)
        .args(["run", "--target", target, "--report", &text(&out)])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let journal = out.join("results.jsonl");
    match moment {
        Some(ms) => std::thread::sleep(Duration::from_millis(ms)),
        // The first line is about the run.
        None => while lines(&journal) < 4 && run.try_wait().is_ok_and(|ended| ended.is_none()) {},
    }
    run.kill().map_err(|error| error.to_string())?;
    let killed_at = Instant::now();
    let _ = run.wait();
    let pid = run.id().to_string();
    // Another run of the same executable may have begun under this load; how long the system takes for a process now.
    let slowness = starting_a_process();
    loop {
        let left = processes_left(&pid, &place.path("target"));
        if left.is_empty() {
            break;
        }
        if killed_at.elapsed() > GRACE + slowness * 20 {
            return Err(format!("after {:?} there are still {left:?}", killed_at.elapsed()));
        }
    }
    if out.join("report.json").exists() {
        return Err("the run came to its end before it was killed".into());
    }
    let rows = lines(&journal);
    if rows == 0 {
        return Ok(0);
    }
    let program = |words: &[&str]| -> Result<(), String> {
        let output = Command::new(BINARY).args(words).output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        output.status.success().then_some(()).ok_or_else(|| format!("{words:?}: {said}"))
    };
    program(&["report", "recover", &text(&out)])?;
    program(&["report", "verify", &text(&out), "--unsigned"])?;
    let report = std::fs::read(out.join("report.json")).map_err(|error| error.to_string())?;
    let report: Json = serde_json::from_slice(&report).map_err(|error| error.to_string())?;
    let results = report["results"].as_array().map_or(0, Vec::len);
    if results != rows - 1 || report["interrupted"] != true || report["claims"] != serde_json::json!([]) {
        return Err(format!("{results} of {} results; interrupted: {}", rows - 1, report["interrupted"]));
    }
    if journal.exists() {
        return Err("the journal lies beside the report".into());
    }
    Ok(results)
}

/// Whole lines of a file.
fn lines(path: &Path) -> usize {
    std::fs::read(path).map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count())
}

fn starting_a_process() -> Duration {
    let begun = Instant::now();
    let _ = Command::new("true").status();
    begun.elapsed()
}
