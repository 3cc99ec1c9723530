//! Secrets of a target reach no output, no report and no transcript, and the report can still be judged.

use crate::rig::{cetp, contrary, text};
use serde_json::Value as Json;
use std::path::Path;

const SECRET: &str = "s3cr3t/\"value\" of ours";

fn files(folder: &Path) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|p| p.is_file()).map(|p| (p.display().to_string(), std::fs::read_to_string(&p).unwrap())).collect()
}

#[test]
fn they_are_taken_out_and_the_report_still_follows() {
    let folder = tempfile::tempdir().unwrap();
    let environment = format!("secrets = [\"API_TOKEN\"]\n[environment]\nAPI_TOKEN = {SECRET:?}");
    let target = contrary(folder.path(), &["secret"], &environment);
    let out = folder.path().join("out");
    let at = |name: &str| out.join(name);
    let arguments = ["run", "--target", text(&target), "--report", text(&out), "--format", "pretty"];
    let (page, junit, ctrf, markdown) = (at("p.html"), at("j.xml"), at("c.json"), at("s.md"));
    let forms =
        [["--html", text(&page)], ["--junit", text(&junit)], ["--ctrf", text(&ctrf)], ["--markdown", text(&markdown)]];
    let output = crate::rig::command(&[arguments.as_slice(), &forms.concat()].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let mut written = files(&out);
    written.push(("the output".into(), said));
    assert_eq!(written.len(), 6);
    for (name, content) in &written {
        for part in ["s3cr3t", "value\" of", "of ours", "c2NyM3Q", "czNjcjN0"] {
            assert!(!content.contains(part), "{name} holds {part}");
        }
    }
    let report: Json = serde_json::from_slice(&std::fs::read(at("report.json")).unwrap()).unwrap();
    assert!(report["redacted"]["API_TOKEN"].as_u64().unwrap() > 10, "{}", report["redacted"]);
    // Tokens that hold the secret went back and forth, and each transcript can be judged again.
    let judged = report["results"].as_array().unwrap().iter().filter(|row| row["transcript"].is_object()).count();
    assert!(judged > 0);
    let said = cetp(&["report", "verify", text(&out), "--unsigned"], 0);
    assert!(said.contains("[redacted API") || said.contains("agree"), "{said}");
    let page = std::fs::read_to_string(at("p.html")).unwrap();
    assert!(page.contains("[redacted API_TOKEN]"));
}

#[test]
fn a_secret_that_is_not_there_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let target = contrary(folder.path(), &["secret"], "secrets = [\"NO_SUCH_VARIABLE_HERE\"]");
    let said = crate::rig::refused(&["run", "--target", text(&target)], 2);
    assert!(said.contains("NO_SUCH_VARIABLE_HERE"), "{said}");
}

#[test]
fn secrets_of_files_are_taken_out_too() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token.txt"), format!("{SECRET}\n")).unwrap();
    let target = contrary(
        folder.path(),
        &["secret"],
        &format!("secret_files = [\"token.txt\"]\n[environment]\nAPI_TOKEN = {SECRET:?}"),
    );
    let out = folder.path().join("out");
    crate::rig::command(&["run", "--target", text(&target), "--report", text(&out)]).output().unwrap();
    let report = std::fs::read_to_string(out.join("report.json")).unwrap();
    assert!(!report.contains("s3cr3t") && report.contains("[redacted token.txt]"));
}
