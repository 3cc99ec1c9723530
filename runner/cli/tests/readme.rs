//! The output that the README shows is what the program prints. `BLESS=1 cargo test -p cetp-conformance --test readme`
//! writes it anew.

use std::path::Path;
use std::process::Command;

/// The block of text after a marker: the marker, and the arguments whose output it shows.
const SHOWN: [(&str, &[&str]); 2] = [
    ("<!-- run:", &["run", "--report", "report", "--html", "report/index.html"]),
    ("<!-- broken:", &["run", "--target", "builtin:provider+size_in_units"]),
];

#[test]
fn the_output_in_the_readme_is_what_is_printed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let mut fresh = readme.clone();
    for (marker, arguments) in SHOWN {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_cetp-conformance"));
        let ran = command.args(arguments).env("COLUMNS", "100").current_dir(folder.path()).output().unwrap();
        let printed = String::from_utf8(ran.stdout).unwrap();
        let begin = fresh.find(marker).unwrap_or_else(|| panic!("the README has lost {marker}"));
        let begin = begin + fresh[begin..].find("```text\n").unwrap() + "```text\n".len();
        let end = begin + fresh[begin..].find("```\n").unwrap();
        let shown = printed.trim_matches('\n');
        assert!(shown.contains("Claims"), "{arguments:?} printed no table: {}", String::from_utf8_lossy(&ran.stderr));
        fresh.replace_range(begin..end, &format!("{shown}\n"));
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let diff = similar::TextDiff::from_lines(&readme, &fresh).unified_diff().header("README", "printed").to_string();
    assert!(readme == fresh || std::env::var_os("BLESS").is_some(), "not fresh; BLESS=1 writes it anew\n{diff}");
}

/// Relative links of the documents lead to files that are there.
#[test]
fn no_link_of_the_documents_is_broken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [root.clone(), root.join("docs")];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap().flatten());
    let mut broken = Vec::new();
    let mut links = 0;
    for path in files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|ext| ext == "md")) {
        let text = std::fs::read_to_string(&path).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            if file.is_empty() || link.contains("://") || link.contains(' ') {
                continue;
            }
            links += 1;
            if !path.parent().unwrap().join(file).exists() {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(links > 20, "the documents have lost their links");
    assert!(broken.is_empty(), "{broken:#?}");
}
