//! The output that the documents show is what the program prints. `BLESS=1 cargo test -p cetp-conformance --test readme`
//! writes it anew.

use std::path::Path;
use std::process::Command;

/// A block of output in a document.
struct Shown {
    /// The document.
    file: &'static str,
    /// The marker before the block.
    marker: &'static str,
    /// The arguments whose output it is.
    arguments: &'static [&'static str],
    /// Where the command runs; an empty folder where nothing is said.
    folder: Option<&'static str>,
    /// What the output has.
    holds: &'static str,
}

const SHOWN: &[Shown] = &[
    Shown {
        file: "README.md",
        marker: "<!-- run:",
        arguments: &["run", "--report", "report", "--html", "report/index.html"],
        folder: None,
        holds: "Claims",
    },
    Shown {
        file: "README.md",
        marker: "<!-- broken:",
        arguments: &["run", "--target", "builtin:provider+size_in_units"],
        folder: None,
        holds: "Claims",
    },
    Shown {
        file: "docs/tool-audit.md",
        marker: "<!-- audit:",
        arguments: &["audit", "examples/tool-audit/library.json"],
        folder: Some(""),
        holds: "TC-03 finding",
    },
];

#[test]
fn the_output_in_the_documents_is_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for shown in SHOWN {
        let Shown { file, marker, arguments, folder, holds } = shown;
        let path = root.join(file);
        let document = std::fs::read_to_string(&path).unwrap();
        let mut fresh = document.clone();
        let empty = tempfile::tempdir().unwrap();
        let folder = folder.map_or(empty.path().to_owned(), |folder| root.join(folder));
        let mut command = Command::new(env!("CARGO_BIN_EXE_cetp-conformance"));
        let ran = command.args(*arguments).env("COLUMNS", "100").current_dir(folder).output().unwrap();
        let printed = String::from_utf8(ran.stdout).unwrap();
        let begin = fresh.find(marker).unwrap_or_else(|| panic!("{file} has lost {marker}"));
        let begin = begin + fresh[begin..].find("```text\n").unwrap() + "```text\n".len();
        let end = begin + fresh[begin..].find("```\n").unwrap();
        let printed = printed.trim_matches('\n');
        assert!(printed.contains(holds), "{arguments:?} printed no {holds}: {}", String::from_utf8_lossy(&ran.stderr));
        fresh.replace_range(begin..end, &format!("{printed}\n"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, &fresh).unwrap();
        }
        let diff = similar::TextDiff::from_lines(&document, &fresh).unified_diff().header(file, "printed").to_string();
        assert!(document == fresh || std::env::var_os("BLESS").is_some(), "not fresh; BLESS=1 writes it anew\n{diff}");
    }
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
