//! The page in a real browser, over a report full of hostile text: no script of the target runs, and nothing is fetched.
//!
//! It needs Chromium. Where there is none the tests say so and pass, except in CI, where that is a failure.

use crate::rig::{contrary, text};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[expect(clippy::print_stderr, reason = "whoever runs the tests should see what they do not test")]
fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = names.iter().flat_map(|name| folders.iter().map(move |f| f.join(name))).find(|file| file.is_file());
    assert!(found.is_some() || std::env::var_os("CI").is_none(), "CI installs Chromium");
    if found.is_none() {
        eprintln!("there is no Chromium here: the page is not tested");
    }
    found
}

/// The document as it is after its scripts have run.
fn dom(browser: &Path, page: &Path) -> String {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--virtual-time-budget=5000"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Counts who comes to a port of this machine.
fn listener() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    std::thread::spawn(move || {
        for _ in listener.incoming() {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    (port, count)
}

/// Everything that has ever made a page run what it shows. Running or loading changes the title or comes to the port.
fn hostile(port: u16) -> String {
    let run = "document.title='PWNED'";
    let at = format!("http://127.0.0.1:{port}");
    [
        format!("</title></style></script></pre></code><script>{run}</script><script src={at}/s></script>"),
        format!("\"'><img src={at}/i onerror={run}><svg onload={run}><iframe src={at}/f srcdoc='<script>{run}</script>'>"),
        format!("\" autofocus onfocus=\"{run}\" x=\"' onmouseover='{run}' style='background:url({at}/c)' y='"),
        format!("<a href=\"javascript:{run}\">x</a><base href={at}/><link rel=stylesheet href={at}/l><meta http-equiv=refresh content='0;url={at}/m'>"),
        format!("<!--><script>{run}</script>-->]]><![CDATA[<object data={at}/o><embed src={at}/e><form action={at}/g><style>@import '{at}/y'</style>"),
        "\u{202e}\u{2066}\u{feff}\u{1b}[31m{{7*7}}${7*7}&lt;script&gt;&#x3c;b>\u{0}\u{2028}".to_owned(),
    ]
    .concat()
    .replace('\u{0}', "")
}

#[test]
fn a_hostile_target_gets_no_script_to_run_and_nothing_fetched() {
    let Some(browser) = chromium() else { return };
    let (port, fetched) = listener();
    let words = hostile(port);
    let folder = tempfile::tempdir().unwrap();
    let target = contrary(folder.path(), &["hostile", &words], "");
    let (out, page) = (folder.path().join("out"), folder.path().join("page.html"));
    let (summary, junit) = (folder.path().join("s.md"), folder.path().join("j.xml"));
    let arguments = ["run", "--target", text(&target), "--report", text(&out), "--html", text(&page)];
    let arguments = [arguments.as_slice(), &["--markdown", text(&summary), "--junit", text(&junit)]].concat();
    let output = crate::rig::command(&arguments).output().unwrap();
    assert!(page.exists(), "{}", String::from_utf8_lossy(&output.stderr));
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("PWNED"), "the hostile text is there, as text");

    // No tag and no mention of theirs acts in a comment, and the XML can be read.
    let summary = std::fs::read_to_string(&summary).unwrap();
    let own = ["<details>", "<summary>", "<code>", "</details>", "</summary>", "</code>"];
    let outside_fences: String = summary.split("```").step_by(2).collect();
    let foreign = own.iter().fold(outside_fences, |text, tag| text.replace(tag, ""));
    assert!(!foreign.contains('<'), "a tag that is not ours: {foreign}");
    assert!(
        Command::new("python3")
            .arg("-c")
            .arg("import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])")
            .arg(&junit)
            .status()
            .unwrap()
            .success()
    );

    let with_policy = dom(&browser, &page);
    assert!(with_policy.contains("conformance report"), "the browser shows the page and stays there");
    assert!(!with_policy.contains("<title>PWNED"), "a script ran");
    assert_eq!(fetched.load(Ordering::SeqCst), 0, "something was fetched");

    // Escaping alone holds too: the policy is a second wall, not the only one.
    let (start, end) =
        (html.find("<meta http-equiv=\"Content").unwrap(), html.find("<meta name=\"viewport\"").unwrap());
    let bare = folder.path().join("bare.html");
    std::fs::write(&bare, format!("{}{}", &html[..start], &html[end..])).unwrap();
    let without_policy = dom(&browser, &bare);
    assert!(without_policy.contains("conformance report"), "the browser left the page");
    assert!(!without_policy.contains("<title>PWNED"), "a script ran without the policy");
    assert_eq!(fetched.load(Ordering::SeqCst), 0, "something was fetched without the policy");

    // The test can tell: the same text unescaped does run and fetch. (Its refresh would lead away from what ran.)
    let naive = folder.path().join("naive.html");
    let words = words.replace("http-equiv=refresh", "");
    std::fs::write(&naive, format!("<!DOCTYPE html><title>x</title><body>{words}")).unwrap();
    assert!(dom(&browser, &naive).contains("<title>PWNED"), "the test itself does not see a script that runs");
    assert!(fetched.load(Ordering::SeqCst) > 0, "the test itself does not see a fetch");
}

#[test]
fn the_pages_own_script_runs_under_its_policy() {
    let Some(browser) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    crate::rig::cetp(&["report", "render", crate::rig::SIGNED.folder(), "--html", text(&page)], 0);
    let dom = dom(&browser, &page);
    // The script counts the vectors that are shown, and makes the search appear.
    let rows = crate::rig::SIGNED.report()["results"].as_array().unwrap().len();
    assert!(dom.contains(&format!("{rows} / {rows}</output>")), "the page's own script did not run");
}

#[test]
fn a_failed_vector_says_how_it_is_run_again_and_a_row_which_vectors_have_not_judged_it() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    crate::rig::cetp(&["report", "render", crate::rig::SIGNED.folder(), "--html", text(&page)], 0);
    let html = std::fs::read_to_string(&page).unwrap();
    let report = crate::rig::SIGNED.report();
    let mut failed = report["results"].as_array().unwrap().iter().filter(|row| row["outcome"] == "fail").peekable();
    assert!(failed.peek().is_some(), "the report shows nothing that failed");
    for row in failed {
        let id = row["vector"].as_str().unwrap();
        assert!(html.contains(&format!("cetp-conformance run --target your-target.toml --exact {id}<")), "{id}");
    }
    // Every row that is neither green nor broken says why in the report, and what is open on the page.
    for row in report["requirements"].as_array().unwrap().iter().filter(|row| row["outcome"] == "not_run") {
        assert!(row["reason"].is_string(), "{row}");
    }
    assert!(!html.contains("${"), "a placeholder of a vector is not resolved");
}
