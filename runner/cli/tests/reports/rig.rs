//! What the tests share: running the program, and reports to work on.

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use tempfile::TempDir;

pub const BINARY: &str = env!("CARGO_BIN_EXE_cetp-conformance");

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(arguments);
    command
}

/// Runs the program and asserts how it exits.
pub fn cetp(arguments: &[&str], exit: i32) -> String {
    let output = command(arguments).output().unwrap();
    assert_exit(&output, exit, arguments);
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the program, asserts how it exits, and gives what it wrote to stderr.
pub fn refused(arguments: &[&str], exit: i32) -> String {
    let output = command(arguments).output().unwrap();
    assert_exit(&output, exit, arguments);
    String::from_utf8(output.stderr).unwrap()
}

fn assert_exit(output: &Output, exit: i32, arguments: &[&str]) {
    let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (told(&output.stdout), told(&output.stderr));
    assert_eq!(output.status.code(), Some(exit), "{arguments:?}\nstdout: {out}\nstderr: {err}");
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A folder with a key and a signed report of a provider that breaks several requirements.
pub struct Signed {
    pub folder: TempDir,
}

impl Signed {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn report(&self) -> Json {
        serde_json::from_slice(&std::fs::read(self.path("report.json")).unwrap()).unwrap()
    }

    pub fn folder(&self) -> &str {
        text(self.folder.path())
    }
}

/// A target with faults that a few vectors notice, so that a report has failures and passes.
pub const FAULTY: &str = "builtin:provider+reserves_late";

/// A filter for a few vectors with short transcripts, half of which the faulty target fails: reports of them are judged often.
pub const FEW: &str = "cetp2/provider/6/d";

/// One signed report, made once; tests copy what they change.
pub static SIGNED: LazyLock<Signed> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key.pem");
    cetp(&["keygen", text(&key)], 0);
    cetp(&["run", "--target", FAULTY, "--report", text(folder.path()), "--sign", text(&key), FEW], 1);
    Signed { folder }
});

/// A target file for the target that means ill.
pub fn contrary(folder: &Path, words: &[&str], more: &str) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports/contrary.py");
    let words: Vec<&str> = ["python3", text(&script)].into_iter().chain(words.iter().copied()).collect();
    let command = serde_json::to_string(&words).unwrap();
    let path = folder.join("target.toml");
    let toml = format!("name = \"contrary\"\nadapter = \"stdio\"\ncommand = {command}\n{more}\n");
    std::fs::write(&path, toml).unwrap();
    path
}
