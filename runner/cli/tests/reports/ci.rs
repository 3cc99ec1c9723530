//! The recipes for CI: the script behind the action does what it says, and every flag that they name is there.

use crate::rig::{BINARY, FAULTY, FEW, cetp, text};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

struct Gate {
    folder: tempfile::TempDir,
}

impl Gate {
    fn new() -> Gate {
        Gate { folder: tempfile::tempdir().unwrap() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, target: &str, more: &[(&str, &str)]) -> Output {
        Command::new("bash")
            .arg(root().join("reports/ci/gate"))
            .arg(BINARY)
            .env("CETP_TARGET", target)
            .env("CETP_REPORT", self.at("out"))
            .env("CETP_ARGS", format!("{FEW}\n--quiet"))
            .env("GITHUB_OUTPUT", self.at("output"))
            .env("GITHUB_STEP_SUMMARY", self.at("summary"))
            .envs(more.iter().copied())
            .output()
            .unwrap()
    }

    fn outputs(&self) -> String {
        std::fs::read_to_string(self.at("output")).unwrap()
    }
}

#[test]
fn a_target_without_faults_passes_and_everything_is_kept() {
    let gate = Gate::new();
    let key = gate.at("key.pem");
    cetp(&["keygen", text(&key)], 0);
    let pem = std::fs::read_to_string(&key).unwrap();
    let output = gate.run("builtin:provider", &[("CETP_SIGNING_KEY", &pem)]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for file in ["report.json", "report.dsse.json", "junit.xml", "ctrf.json", "summary.md", "index.html", "badge.json"]
    {
        assert!(gate.at("out").join(file).is_file(), "{file}");
    }
    assert!(gate.outputs().contains("exit-code=0\nconforms=true"), "{}", gate.outputs());
    let summary = std::fs::read_to_string(gate.at("summary")).unwrap();
    assert!(summary.starts_with("## cetp-reference"), "{summary}");
    cetp(&["report", "verify", text(&gate.at("out")), "--key", text(&gate.at("key.pub.pem"))], 0);
}

#[test]
fn a_faulty_target_fails_after_everything_was_kept() {
    let gate = Gate::new();
    let before = gate.at("before");
    cetp(&["run", "--report", text(&before), FEW], 0);
    let output = gate.run(FAULTY, &[("CETP_BEFORE", text(&before))]);
    assert_eq!(output.status.code(), Some(1));
    assert!(gate.at("out/index.html").is_file());
    assert!(gate.outputs().contains("exit-code=1"), "{}", gate.outputs());
    let diff = std::fs::read_to_string(gate.at("out/diff.md")).unwrap();
    assert!(diff.contains("#### Worse"), "{diff}");
}

#[test]
fn a_claim_that_does_not_follow_fails_the_gate() {
    let gate = Gate::new();
    let output = gate.run("builtin:provider", &[("CETP_REQUIRE", "cetp-v2-no_such_level")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(gate.outputs().contains("exit-code=1\nconforms=false"), "{}", gate.outputs());
}

#[test]
fn a_target_that_cannot_be_driven_leaves_no_old_report() {
    let gate = Gate::new();
    gate.run("builtin:provider", &[]);
    let output = gate.run("stdio:false", &[]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!gate.at("out/report.json").exists());
}

#[test]
fn every_flag_that_the_recipes_name_is_there() {
    let helps = [
        &["run"][..],
        &["audit"],
        &["report", "verify"],
        &["report", "render"],
        &["report", "diff"],
        &["report", "merge"],
    ];
    let help: String = helps.iter().map(|words| cetp(&[*words, &["--help"]].concat(), 0)).collect();
    // Flags of other programs that stand in the recipes.
    let others =
        ["--body-file", "--edit-last", "--create-if-none", "--release", "--locked", "--manifest-path", "--quiet"];
    for file in ["reports/ci/gate", "docs/ci.md", "docs/reports.md"] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        let word =
            |word: &str| word.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap_or("").to_owned();
        let flags: BTreeSet<String> =
            text.match_indices("--").map(|(at, _)| word(&text[at..])).filter(|f| f.len() > 3).collect();
        assert!(!flags.is_empty());
        for flag in flags.iter().filter(|flag| !others.contains(&flag.as_str())) {
            assert!(help.contains(&format!("{flag} ")) || help.contains(&format!("{flag}\n")), "{file}: {flag}");
        }
    }
}

#[test]
fn the_action_hands_every_input_on() {
    let action = std::fs::read_to_string(root().join("action.yml")).unwrap();
    let gate = std::fs::read_to_string(root().join("reports/ci/gate")).unwrap();
    let variables = ["TARGET", "SUITE", "REPORT", "BASELINE", "DENY_WARN", "REQUIRE", "BEFORE", "SIGNING_KEY", "ARGS"];
    for name in variables {
        assert!(gate.contains(&format!("CETP_{name}")), "{name}");
        let input = name.to_lowercase().replace('_', "-");
        assert!(action.contains(&format!("CETP_{name}: ${{{{ inputs.{input} }}}}")), "{name}");
        assert!(action.contains(&format!("\n  {input}:\n")), "{input}");
    }
    assert!(Command::new("bash").arg("-n").arg(root().join("reports/ci/gate")).status().unwrap().success());
}
