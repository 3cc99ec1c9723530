//! Copies and generated parts are fresh. `BLESS=1 cargo test -p cetp-vectors --test documents` makes them so.

#![allow(clippy::print_stdout, reason = "a test says why it did not run")]

use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn bless() -> bool {
    std::env::var_os("BLESS").is_some()
}

fn same(place: &Path, wanted: &str) {
    if bless() {
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, wanted).unwrap();
    }
    let found = std::fs::read_to_string(place).unwrap_or_default();
    assert!(found == wanted, "{} is stale: run this test with BLESS=1", place.display());
}

/// A manual with its generated part of this name anew.
fn with_part(text: &str, name: &str, part: &str) -> String {
    let begin = format!("<!-- generated: {name} -->\n");
    let start = text.find(&begin).unwrap() + begin.len();
    let end = start + text[start..].find("<!-- end -->").unwrap();
    format!("{}{part}{}", &text[..start], &text[end..])
}

/// The design lies beside a checkout of its authors only; the product does not depend on it.
#[test]
fn copies_of_the_design_are_fresh() {
    let shared = root().join("../shared");
    if !shared.is_dir() {
        println!("not run: there is no ../shared beside this checkout");
        return;
    }
    let copies = [
        ("requirements/cetp-v2.json", "vectors/requirements/cetp-v2.json"),
        ("requirements/aw-provider-v1alpha1.json", "vectors/requirements/aw-provider-v1alpha1.json"),
        ("requirements/tool-contract.json", "vectors/requirements/tool-contract.json"),
        ("data/fixture-tools.json", "vectors/fixture/fixture-tools.json"),
        ("design/target-protocol.md", "docs/target-protocol.md"),
    ];
    for (original, copy) in copies {
        same(&root().join(copy), &std::fs::read_to_string(shared.join(original)).unwrap());
    }
}

#[test]
fn the_manuals_tables_are_fresh() {
    let place = root().join("docs/vector-format.md");
    let mut text = std::fs::read_to_string(&place).unwrap();
    let tables = [
        ("functions", cetp_vectors::expr::FUNCTIONS),
        ("operators", cetp_vectors::pattern::OPERATORS),
        ("actions", cetp_vectors::parse::aw::ACTIONS),
    ];
    for (name, rows) in tables {
        let rows: String =
            rows.iter().map(|(name, words)| format!("| `{name}` | {} |\n", words.replace('|', "\\|"))).collect();
        text = with_part(&text, name, &format!("\n| name | meaning |\n|---|---|\n{rows}\n"));
    }
    same(&place, &text);
}

#[test]
fn the_table_of_attacks_is_fresh() {
    let catalogue = std::fs::read_to_string(root().join("vectors/catalogue/malicious.json")).unwrap();
    let catalogue: serde_json::Value = serde_json::from_str(&catalogue).unwrap();
    let (families, entries) = (catalogue["families"].as_object().unwrap(), catalogue["entries"].as_array().unwrap());
    let mut names: Vec<&String> = families.keys().collect();
    names.sort();
    let rows: String = names
        .into_iter()
        .map(|name| {
            let count = entries.iter().filter(|entry| entry["family"] == **name).count();
            format!("| `{name}` | {count} | {} |\n", families[name].as_str().unwrap())
        })
        .collect();
    let table = format!("\n| family | vectors | what is tried |\n|---|---|---|\n{rows}\n");
    let place = root().join("docs/consumers.md");
    let text = std::fs::read_to_string(&place).unwrap();
    same(&place, &with_part(&text, "malicious", &table));
}

#[test]
fn generated_vectors_are_fresh() {
    let folder = root().join("vectors");
    for generator in cetp_vectors::generate::GENERATORS {
        let files = generator.files(generator.seed).unwrap();
        for (name, text) in &files {
            same(&folder.join(name), text);
        }
        assert_eq!(
            generator.left_over(&files, &folder),
            Vec::<String>::new(),
            "remove what {} makes no more",
            generator.name
        );
    }
}

#[test]
fn the_embedded_vectors_load_and_every_file_belongs_somewhere() {
    let embedded = Catalogue::embedded();
    let folder = Catalogue::from_path(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert_eq!(embedded.sha256, folder.sha256);
    assert!(!embedded.vectors.is_empty());
}

#[test]
fn heads_tell_the_same_of_every_vector_but_its_steps() {
    let (whole, heads) = (Catalogue::embedded(), Catalogue::heads(None).unwrap());
    let about = |vector: &Vector| {
        let Vector { id, title, suite, role, level, requirements, flags, file, .. } = vector.clone();
        (id, title, suite, role, level, requirements, flags, file)
    };
    assert!(whole.vectors.iter().map(about).eq(heads.vectors.iter().map(about)));
    assert!(heads.vectors.iter().all(|vector| vector.steps.is_empty()));
}

#[test]
fn a_vector_that_is_read_when_it_runs_is_the_one_that_a_whole_reading_gives() {
    let told = |vector: &Vector| {
        let Vector { id, steps, providers, needs, tools, callers, facts, generated, file, .. } = vector;
        format!("{id} {steps:?} {providers:?} {needs:?} {tools:?} {callers:?} {facts:?} {generated:?} {file}")
    };
    let whole = Catalogue::embedded();
    let mut sides: Vec<(&str, Role)> =
        whole.vectors.iter().map(|vector| (vector.suite.as_str(), vector.role)).collect();
    sides.sort();
    sides.dedup();
    for (suite, role) in sides {
        let mine = |vector: &&Vector| vector.suite == suite && vector.role == role;
        let late = Catalogue::embedded_for(suite, role);
        assert_eq!(late.sha256, whole.sha256);
        assert!(late.vectors.iter().all(|vector| vector.steps.is_empty()));
        let read = late.vectors.iter().filter(mine).map(|vector| told(&vector.whole()));
        assert!(whole.vectors.iter().filter(mine).map(told).eq(read), "{suite}, {}", role.name());
    }
}
