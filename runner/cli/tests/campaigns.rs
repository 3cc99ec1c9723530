//! Campaigns as a user runs them: silent against what conforms, and against what does not a vector that `run` repeats.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// The exit code and what was printed.
fn cetp(words: &[&str]) -> (i32, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_cetp-conformance")).args(words).current_dir(root()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code().unwrap_or(-1), text(&out.stdout) + &text(&out.stderr))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    out.sort();
    out
}

fn found_in(output: &str) -> usize {
    output.lines().filter(|line| line.starts_with("found ")).count()
}

#[test]
fn a_conforming_target_has_no_findings() {
    // Leeways together are as far from the reference's own ways as the text allows.
    let targets = [
        "builtin:provider",
        "builtin:provider-v2-only",
        "builtin:provider-core",
        "builtin:provider+strict_version_list+short_sessions+token_burned_by_misuse+rate_limited+restart_ends_questions",
        "builtin:provider+small_results_as_file+more_keys_in_replies+null_members+tools_in_any_order+other_limits",
        "builtin:consumer",
        "builtin:consumer-core",
    ];
    for target in targets {
        for which in [&[][..], &["--made-only"]] {
            let words = ["fuzz", "--target", target, "--cases", "60", "--seed", "3"];
            let (exit, output) = cetp(&[&words[..], which].concat());
            assert_eq!((exit, found_in(&output)), (0, 0), "{target}\n{output}");
            assert!(output.contains("60 cases"), "{output}");
        }
    }
}

#[test]
fn a_finding_is_a_small_vector_that_run_repeats() {
    let faults = [("provider", "not_deduplicated", "CETP2-6-04"), ("consumer", "digest_unchecked", "CETP2-4.5-08")];
    for (side, fault, requirement) in faults {
        let folder = tempfile::tempdir().unwrap();
        let corpus = folder.path().to_str().unwrap();
        let target = format!("builtin:{side}+{fault}");
        let (exit, output) =
            cetp(&["fuzz", "--target", &target, "--cases", "130", "--generated-only", "--corpus", corpus]);
        assert_eq!(exit, 1, "{output}");
        let found = files(&folder.path().join("findings"));
        assert!(!found.is_empty());
        let about = |file: &&PathBuf| file.file_name().unwrap().to_str().unwrap().starts_with(requirement);
        let file = found.iter().find(about).unwrap_or_else(|| panic!("{requirement} is not in {found:?}"));
        let (exit, output) = cetp(&["run", "--vectors", file.to_str().unwrap(), "--target", &target]);
        assert_eq!(exit, 1, "{output}");
        assert!(output.contains(requirement), "{output}");
        // It is the fault that they show, and not a whim of the vector.
        for file in &found {
            let (exit, output) =
                cetp(&["run", "--vectors", file.to_str().unwrap(), "--target", &format!("builtin:{side}")]);
            assert_eq!(exit, 0, "{output}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_campaign_and_another_one_another() {
    let campaign = |seed: &str| {
        let folder = tempfile::tempdir().unwrap();
        let corpus = folder.path().to_str().unwrap().to_owned();
        let words = ["fuzz", "--target", "builtin:provider-core", "--cases", "25", "--made-only", "--seed", seed];
        let (exit, output) = cetp(&[&words[..], &["--corpus", &corpus]].concat());
        assert_eq!(exit, 0, "{output}");
        let names = |file: PathBuf| file.file_name().unwrap().to_owned();
        (files(&folder.path().join("cases")).into_iter().map(names).collect::<Vec<_>>(), folder)
    };
    let (first, folder) = campaign("8");
    assert!(!first.is_empty());
    assert_eq!(first, campaign("8").0);
    assert_ne!(first, campaign("9").0);

    // What was kept is where it goes on, and what shows nothing new goes.
    let corpus = folder.path().to_str().unwrap();
    let again = ["fuzz", "--target", "builtin:provider-core", "--corpus", corpus, "--resume"];
    let (exit, output) = cetp(&[&again[..], &["--cases", "3"]].concat());
    assert_eq!(exit, 0, "{output}");
    assert!(output.contains(&format!(" {} cases", first.len() + 3)), "three more than were kept: {output}");
    let before = files(&folder.path().join("cases")).len();
    std::fs::write(folder.path().join("cases/README"), "somebody else's").unwrap();
    let (exit, output) = cetp(&[&again[..], &["--minimize-corpus"]].concat());
    assert_eq!(exit, 0, "{output}");
    let kept = files(&folder.path().join("cases")).len() - 1;
    let told = format!("{} cases dropped, {kept} kept", before - kept);
    assert!(output.contains(&told) && kept > 0, "{told}: {output}");

    // The first night there is nothing to go on with.
    let new = tempfile::tempdir().unwrap();
    let (exit, output) =
        cetp(&["fuzz", "--cases", "1", "--resume", "--corpus", new.path().join("x").to_str().unwrap()]);
    assert_eq!(exit, 0, "{output}");
}

#[test]
fn a_campaign_does_not_depend_on_how_many_cases_run_at_the_same_time() {
    // Without operations: how far one has come when it is asked about is a matter of time, also where cases run alone.
    for target in ["builtin:provider-core+not_deduplicated", "builtin:consumer+version_wins"] {
        let campaign = |threads: &str| {
            let folder = tempfile::tempdir().unwrap();
            let corpus = folder.path().to_str().unwrap();
            let words = ["fuzz", "--target", target, "--cases", "150", "--made-only", "--seed", "5"];
            let (exit, output) = cetp(&[&words[..], &["--corpus", corpus, "--test-threads", threads]].concat());
            assert_eq!(exit, 1, "{output}");
            let content = |part: &str| -> Vec<(String, Vec<u8>)> {
                let name = |file: &PathBuf| file.file_name().unwrap().to_str().unwrap().to_owned();
                let files = files(&folder.path().join(part));
                files.iter().map(|file| (name(file), std::fs::read(file).unwrap())).collect()
            };
            let found: Vec<String> = output.lines().filter(|l| l.starts_with("found ")).map(str::to_owned).collect();
            (content("cases"), content("findings"), found)
        };
        let alone = campaign("1");
        assert!(!alone.0.is_empty() && !alone.1.is_empty());
        for threads in ["2", "7"] {
            assert_eq!(campaign(threads), alone, "{target}, {threads} at the same time");
        }
    }
}

#[test]
fn another_target_of_the_same_kind_is_compared() {
    let against = |other: &str| {
        let words = ["fuzz", "--target", "builtin:provider", "--against", other, "--cases", "60"];
        let (exit, output) = cetp(&words);
        assert_eq!(exit, 0, "a difference is no finding: {output}");
        output.lines().filter(|line| line.starts_with("differs ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(against("builtin:provider"), Vec::<String>::new());
    let differences = against("builtin:provider+small_results_as_file");
    assert!(differences.iter().any(|line| line.contains("execute_tool")), "{differences:?}");
}

#[test]
fn a_campaign_that_is_killed_has_left_what_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus");
    let mut campaign = std::process::Command::new(env!("CARGO_BIN_EXE_cetp-conformance"))
        .args(["fuzz", "--target", "builtin:provider-core+not_deduplicated", "--time", "1h", "--corpus"])
        .arg(&corpus)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let left = |part: &str| std::fs::read_dir(corpus.join(part)).map_or(0, Iterator::count);
    while left("cases") == 0 || left("findings") == 0 {
        assert!(campaign.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    campaign.kill().unwrap();
    campaign.wait().unwrap();
}

#[test]
fn a_folder_that_cannot_be_written_is_told_before_a_campaign_begins() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("findings"), "a file in the way").unwrap();
    let (exit, output) =
        cetp(&["fuzz", "--target", "stdio:never-started", "--corpus", folder.path().to_str().unwrap()]);
    assert_eq!(exit, 2, "{output}");
    assert!(output.contains("findings"), "{output}");
}
