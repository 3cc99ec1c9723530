//! JUnit, CTRF, Markdown, badge, diff and merge on real reports.

use crate::rig::{FAULTY, FEW, SIGNED, cetp, refused, text};
use serde_json::Value as Json;

#[test]
fn every_form_is_made_of_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let words = ["report", "render", SIGNED.folder()];
    let (junit, ctrf, markdown, html, badge, bundle) =
        (at("j.xml"), at("c.json"), at("s.md"), at("p.html"), at("b.json"), at("bundle.json"));
    let forms = [
        "--junit",
        text(&junit),
        "--ctrf",
        text(&ctrf),
        "--markdown",
        text(&markdown),
        "--html",
        text(&html),
        "--badge",
        text(&badge),
        "--bundle",
        text(&bundle),
    ];
    cetp(&[words.as_slice(), &forms].concat(), 0);
    let read = |path| std::fs::read_to_string(path).unwrap();

    let xml = read(&junit);
    assert!(xml.contains("<failure ") && xml.contains("classname=\"cetp2.provider.6\""), "{xml}");
    assert!(xml.contains("<property name=\"failed_requirement\" value=\"CETP2-6-"), "{xml}");

    let ctrf: Json = serde_json::from_str(&read(&ctrf)).unwrap();
    let summary = &ctrf["results"]["summary"];
    let sum: u64 =
        ["passed", "failed", "skipped", "pending", "other"].iter().map(|n| summary[n].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), summary["tests"].as_u64());

    let markdown = read(&markdown);
    let first: String = markdown.lines().take(3).collect();
    assert!(first.contains("does not conform") && first.contains("failed"), "counts come first: {markdown}");

    let badge: Json = serde_json::from_str(&read(&badge)).unwrap();
    assert_eq!(badge["schemaVersion"], 1);
    assert_eq!(badge["color"], "red");
    assert_eq!(cetp(&["report", "badge", SIGNED.folder()], 0).trim(), badge.to_string());

    let bundle: Json = serde_json::from_str(&read(&bundle)).unwrap();
    let hint = &bundle["verificationMaterial"]["publicKey"]["hint"];
    assert_eq!(*hint, bundle["dsseEnvelope"]["signatures"][0]["keyid"]);

    let html = read(&html);
    assert!(html.contains("Does not conform to CETP v2") && html.contains("不符合 CETP v2"));
    for outside in ["http://", "https://", "src=\"", "@import", "url("] {
        assert!(!html.contains(outside), "the page refers to {outside}");
    }
}

#[test]
fn nothing_is_rendered_of_a_report_that_does_not_follow() {
    let folder = tempfile::tempdir().unwrap();
    let mut report = SIGNED.report();
    report["levels"]["core"]["verdict"] = "pass".into();
    std::fs::write(folder.path().join("report.json"), report.to_string()).unwrap();
    let page = folder.path().join("p.html");
    let said = refused(&["report", "render", text(folder.path()), "--html", text(&page)], 1);
    assert!(said.contains("levels.core") && !page.exists(), "{said}");
}

#[test]
fn a_difference_says_what_got_worse() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("good");
    cetp(&["run", "--report", text(&good), FEW], 0);
    let said = cetp(&["report", "diff", text(&good), SIGNED.folder()], 0);
    assert!(said.contains("#### Worse") && said.contains("| pass | fail |"), "{said}");
    assert!(said.len() < 60_000);
    refused(&["report", "diff", text(&good), SIGNED.folder(), "--exit-code"], 1);
    let said = cetp(&["report", "diff", SIGNED.folder(), text(&good), "--exit-code"], 0);
    assert!(said.contains("#### Better"), "{said}");
}

#[test]
fn shards_make_one_report_and_contradictions_none() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let run = |name: &str, more: &[&str], exit: i32| {
        let place = at(name);
        let words = ["run", "--report", text(&place), FEW];
        cetp(&[words.as_slice(), more].concat(), exit);
    };
    run("whole", &[], 0);
    run("a", &["--shard", "1/2"], 0);
    run("b", &["--shard", "2/2"], 0);
    let key = SIGNED.path("key.pem");
    let merged = at("merged");
    cetp(&["report", "merge", text(&at("a")), text(&at("b")), "--report", text(&merged), "--sign", text(&key)], 0);
    cetp(&["report", "verify", text(&merged), "--key", text(&SIGNED.path("key.pub.pem"))], 0);
    let read =
        |name: &str| -> Json { serde_json::from_slice(&std::fs::read(at(name).join("report.json")).unwrap()).unwrap() };
    assert_eq!(read("merged")["levels"], read("whole")["levels"]);
    assert_eq!(read("merged")["requirements"], read("whole")["requirements"]);

    let broken = at("broken");
    cetp(&["run", "--target", FAULTY, "--report", text(&broken), FEW], 1);
    let said = refused(&["report", "merge", text(&at("whole")), text(&broken), "--report", text(&at("x"))], 2);
    assert!(said.contains("is pass in one and fail in report 2"), "{said}");
    assert!(!at("x").join("report.json").exists());
}

#[test]
fn the_report_fits_its_schema() {
    let schema: Json = serde_json::from_str(include_str!("../../../../reports/report.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let report = SIGNED.report();
    let wrong: Vec<String> =
        validator.iter_errors(&report).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
