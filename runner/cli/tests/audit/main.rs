//! The audit of tool contracts: what each rule flags and what not, what becomes of each row of the ledger, the command line,
//! and the tools of this project.

mod cases;
mod command;
mod own;

use cetp_conformance::audit::report;
use cetp_conformance::audit::rules::{Judge, RULES};
use cetp_vectors::contract;
use cetp_vectors::load::Catalogue;
use std::collections::BTreeSet;

#[test]
fn every_row_of_the_ledger_is_judged_or_explained() {
    let rows: Vec<&str> = contract::ledger().requirements.iter().map(|row| row.id.as_str()).collect();
    let rules: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(rows, rules);
    for rule in RULES {
        if let Judge::No(reason) = rule.judge {
            assert!(reason.len() > 20, "{}: the reason says something", rule.id);
            assert!(!rule.vectors.is_empty(), "{}: nothing judges it", rule.id);
        }
    }
}

/// Where an audit sends its readers to vectors, there are some.
#[test]
fn the_requirements_that_it_refers_to_have_vectors() {
    let catalogue = Catalogue::heads(None).unwrap();
    let judged: BTreeSet<&str> = catalogue.vectors.iter().flat_map(|v| &v.requirements).map(String::as_str).collect();
    for rule in RULES {
        for id in rule.vectors {
            assert!(catalogue.ledger.get(id).is_some(), "{}: there is no requirement {id}", rule.id);
            assert!(judged.contains(id), "{}: no vector judges {id}", rule.id);
        }
    }
}

/// `tool-audit.schema.json` is what the types say. `BLESS=1` writes it.
#[test]
fn the_schema_of_the_format_is_fresh() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/tool-audit.schema.json");
    let text = serde_json::to_string_pretty(&report::schema()).unwrap() + "\n";
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let lies_there = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(lies_there, text, "run BLESS=1 cargo test -p cetp-conformance --test audit");
    jsonschema::validator_for(&report::schema()).unwrap();
}
