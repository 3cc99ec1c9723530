//! Ctrl-C ends the targets and leaves a report of what was run.

use crate::rig::{BINARY, cetp, contrary, text};
use serde_json::Value as Json;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Processes whose command line holds a word.
fn running(word: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let line = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).ok();
    processes
        .filter_map(line)
        .map(|l| String::from_utf8_lossy(&l).replace('\0', " "))
        .filter(|l| l.contains(word))
        .collect()
}

#[test]
fn what_there_is_is_written_and_marked() {
    let folder = tempfile::tempdir().unwrap();
    let mark = format!("mark-{}", std::process::id());
    let target = contrary(folder.path(), &["hang", &mark], "[limits]\nverb_ms = 600000");
    let out = folder.path().join("out");
    let mut run = Command::new(BINARY)
        .args(["run", "--target", text(&target), "--report", text(&out), "cetp2/provider/6/"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("Running"));
    // A target hangs in its first call as soon as it runs; the runner notices the signal whenever it comes.
    while running(&mark).is_empty() {
        std::thread::yield_now();
    }
    let pid = run.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let said: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(run.wait().unwrap().code(), Some(130), "{said:?}");
    let report: Json = serde_json::from_slice(&std::fs::read(out.join("report.json")).unwrap()).unwrap();
    assert_eq!(report["interrupted"], true);
    assert_eq!(report["results"], serde_json::json!([]), "what was cut short is no result");
    assert_eq!(report["levels"]["core"]["verdict"], "incomplete");
    cetp(&["report", "verify", text(&out), "--unsigned"], 0);
    while !running(&mark).is_empty() {
        std::thread::yield_now();
    }
    assert!(Path::new(&out).is_dir());
}
