//! Baselines: how a run exits, and that no verdict depends on them.

use crate::rig::{FAULTY, FEW, cetp, text};
use std::path::Path;

fn run(target: &str, baseline: &Path, more: &[&str], exit: i32) -> String {
    let arguments = ["run", "--target", target, "--baseline", text(baseline)];
    cetp(&[arguments.as_slice(), more, &[FEW]].concat(), exit)
}

#[test]
fn expected_failures_do_not_fail_the_run_and_anything_else_does() {
    let folder = tempfile::tempdir().unwrap();
    let baseline = folder.path().join("baseline.toml");
    run(FAULTY, &baseline, &["--update-baseline"], 0);
    let written = std::fs::read_to_string(&baseline).unwrap();
    assert!(written.contains("not explained yet"), "{written}");
    let said = run(FAULTY, &baseline, &[], 0);
    assert!(said.contains("fall short as expected"), "{said}");
    assert!(said.contains("entries are not explained yet"), "{said}");
    // The verdict is what it was.
    assert!(said.lines().any(|line| line.starts_with("core") && line.contains("fail")), "{said}");

    // They pass now.
    let said = run("builtin:provider", &baseline, &[], 1);
    assert!(said.contains("the outcome is pass now, and fail was expected"), "{said}");

    // Another reason.
    std::fs::write(&baseline, written.replace("reason = \"step", "reason = \"somewhere else, step")).unwrap();
    let said = run(FAULTY, &baseline, &[], 1);
    assert!(said.contains("for another reason"), "{said}");

    // An entry is missing.
    let (head, _) = written.rsplit_once("[[expected]]").unwrap();
    std::fs::write(&baseline, head).unwrap();
    run(FAULTY, &baseline, &[], 1);
}

#[test]
fn an_update_keeps_what_people_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let baseline = folder.path().join("baseline.toml");
    run(FAULTY, &baseline, &["--update-baseline"], 0);
    let explained = std::fs::read_to_string(&baseline).unwrap().replace("not explained yet", "issue 7");
    std::fs::write(&baseline, &explained).unwrap();
    run(FAULTY, &baseline, &["--update-baseline"], 0);
    assert_eq!(std::fs::read_to_string(&baseline).unwrap(), explained);
    // What passes now is taken out.
    run("builtin:provider", &baseline, &["--update-baseline"], 0);
    assert!(!std::fs::read_to_string(&baseline).unwrap().contains("[[expected]]"));
}

#[test]
fn a_baseline_that_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let baseline = folder.path().join("baseline.toml");
    let entry = |vector: &str, outcome: &str, why: &str| {
        format!("[[expected]]\nvector = {vector:?}\noutcome = {outcome:?}\nreason = \"x\"\nwhy = {why:?}\n")
    };
    for (content, exit) in [
        (entry("cetp2/no/such", "fail", "because"), 1),
        (entry("cetp2/no/such", "pass", "because"), 2),
        (entry("cetp2/no/such", "fail", " "), 2),
        (entry("a", "fail", "because") + &entry("a", "fail", "because"), 2),
        ("expected = 1".to_owned(), 2),
        ("[[other]]".to_owned(), 2),
    ] {
        std::fs::write(&baseline, &content).unwrap();
        run("builtin:provider", &baseline, &[], exit);
    }
    let missing = folder.path().join("missing.toml");
    run("builtin:provider", &missing, &[], 2);
}
