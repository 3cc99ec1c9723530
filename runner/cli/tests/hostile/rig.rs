//! Runs the suite's program against a hostile target, and looks at all that is left.

use crate::measure;
use crate::program::ARGUMENT;
use crate::table::Case;
use cetp_vectors::json::{Limits, parse};
use cetp_vectors::ledger::Role;
use libtest_mimic::Failed;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The most memory that the runner, its guards and the target may take, in bytes.
const MOST_MEMORY: u64 = 128 << 20;

/// Vectors in a run, all alike but for their ids. One of them meets the misbehaviour.
pub const VECTORS: usize = 4;

/// Limits of the runs: small, so that silence is soon noticed, but above what an honest target needs on a busy machine.
const LIMITS: &str = "[limits]
start_ms = 10000
verb_ms = 5000
patience_ms = 5000
end_ms = 200
output_bytes = 67108864
stderr_bytes = 4194304
requests = 300
kept_bytes = 10485760
values = 100000
unread_bytes = 16777216
";

type Checked<T = ()> = Result<T, Failed>;

/// A folder with everything that a run needs.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// For a switch.
    pub fn new(switch: &str, role: Role) -> Place {
        let folder = tempfile::Builder::new().prefix("hostile-").tempdir().expect("a folder");
        let place = Place { folder };
        for name in ["out", "tmp", "target"] {
            std::fs::create_dir(place.path(name)).expect("a folder");
        }
        let exe = std::env::current_exe().expect("this executable");
        let words = json!([exe, ARGUMENT, switch, place.path("target")]);
        let head = format!("name = \"hostile\"\nrole = \"{}\"\nadapter = \"stdio\"\ncommand = {words}\n", role.name());
        std::fs::write(place.path("target.toml"), head + LIMITS).expect("the target file");
        std::fs::write(place.path("vectors.json"), vectors().to_string()).expect("the vectors");
        place
    }

    /// A file of it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The arguments of the suite's program.
    pub fn arguments(&self) -> Vec<String> {
        let text = |name: &str| self.path(name).to_str().expect("a plain path").to_owned();
        let mut words: Vec<String> = ["run", "--test-threads", "1"].map(str::to_owned).into();
        for (option, file) in [
            ("--target", "target.toml"),
            ("--vectors", "vectors.json"),
            ("--report", "out"),
            ("--junit", "out/junit.xml"),
            ("--ctrf", "out/ctrf.json"),
            ("--markdown", "out/summary.md"),
            ("--html", "out/page.html"),
            ("--badge", "out/badge.json"),
        ] {
            words.extend([option.to_owned(), text(file)]);
        }
        words
    }
}

/// The vectors of the file, each several times.
fn vectors() -> Json {
    let mut file: Json = serde_json::from_str(include_str!("vectors.json")).expect("JSON");
    let one = file["vectors"].as_array().expect("a list").clone();
    let copies = one.iter().flat_map(|vector| {
        (1..=VECTORS).map(|n| {
            let mut copy = vector.clone();
            copy["id"] = json!(vector["id"].as_str().expect("an id").replace("-1", &format!("-{n}")));
            copy
        })
    });
    file["vectors"] = copies.collect();
    file
}

/// A command that tells in the file `peak` of the place how much memory it took.
fn measured(place: &Place, arguments: &[String]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this executable"));
    command
        .arg(measure::ARGUMENT)
        .arg(place.path("peak"))
        .arg(env!("CARGO_BIN_EXE_cetp-conformance"))
        .args(arguments)
        .env("TMPDIR", place.path("tmp"));
    command
}

/// Runs a case and checks all that must hold.
pub fn check(case: &Case) -> Checked {
    let place = Place::new(case.switch, case.role);
    let output = measured(&place, &place.arguments()).output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let told = format!("stdout:\n{}\nstderr:\n{}", text(&output.stdout), text(&output.stderr));
    nothing_is_left(&place)?;
    let figures = std::fs::read_to_string(place.path("peak"))?;
    let (pid, peak) = figures.split_once(' ').ok_or("no figures")?;
    no_process_is_left(pid, &place)?;
    is_clean("stdout", &output.stdout)?;
    is_clean("stderr", &output.stderr)?;
    for entry in std::fs::read_dir(place.path("out"))? {
        let path = entry?.path();
        is_clean(&path.display().to_string(), &std::fs::read(&path)?)?;
    }
    let judged = if case.never_starts() { refused(case, &output) } else { outcomes(case, &place) };
    judged.map_err(|why| format!("{}\n{told}", why.message().unwrap_or_default()))?;
    let peak: u64 = peak.parse()?;
    if peak > MOST_MEMORY {
        return Err(format!("{} MiB were used", peak >> 20).into());
    }
    Ok(())
}

/// A target that cannot even be described: the run ends at once and says why.
fn refused(case: &Case, output: &Output) -> Checked {
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(3) {
        return Err(format!("exit {:?} and not 3", output.status.code()).into());
    }
    said.contains(case.message).then_some(()).ok_or_else(|| format!("no {:?} is said", case.message).into())
}

/// The vector under way has the outcome, and all others pass.
fn outcomes(case: &Case, place: &Place) -> Checked {
    // Not by serde_json: what a target said may be nested deeply.
    let report: Json = parse(&std::fs::read(place.path("out/report.json"))?, Limits::TEXT)?;
    let rows = report["results"].as_array().ok_or("no results")?;
    if rows.len() != VECTORS {
        return Err(format!("{} results", rows.len()).into());
    }
    for (n, row) in rows.iter().enumerate() {
        let reason = row["reason"].as_str().unwrap_or_default();
        let (outcome, message) = case.expected(n);
        if row["outcome"] != outcome || !reason.contains(message) {
            return Err(format!("vector {}: {} {reason:?}, not {outcome} {message:?}", n + 1, row["outcome"]).into());
        }
    }
    Ok(())
}

/// The runner's folder for temporary files is empty.
fn nothing_is_left(place: &Place) -> Checked {
    let left: Vec<_> = std::fs::read_dir(place.path("tmp"))?.flatten().map(|entry| entry.path()).collect();
    left.is_empty().then_some(()).ok_or_else(|| format!("{left:?} are left").into())
}

/// No process has the guard's mark of that runner in its environment, or the place in its command line.
pub fn no_process_is_left(runner: &str, place: &Place) -> Checked {
    let left = processes_left(runner, &place.path("target"));
    left.is_empty().then_some(()).ok_or_else(|| format!("processes are left: {left:?}").into())
}

/// Command lines of processes that belong to a runner's targets.
pub fn processes_left(runner: &str, folder: &Path) -> Vec<String> {
    let mark = format!("CETP_GUARDED_BY={runner}-");
    let folder = folder.to_str().expect("a plain path");
    let mut left = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        let (line, environment) = (read("cmdline"), read("environ"));
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let marked = environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(mark.as_bytes()));
        if marked || line.contains(folder) && line.contains(" __") {
            left.push(format!("{} {line}", entry.file_name().to_string_lossy()));
        }
    }
    left
}

/// No byte acts on a terminal, changes the direction of text or is no UTF-8.
pub fn is_clean(what: &str, bytes: &[u8]) -> Checked {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("{what}: {error}"))?;
    let acts = |c: &char| {
        c.is_control() && *c != '\n'
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    match text.char_indices().find(|(_, c)| acts(c)) {
        None => Ok(()),
        Some((at, c)) => {
            let around: String = text[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
            Err(format!("{what} holds {c:?} after {around:?}").into())
        }
    }
}
