//! `report.schema.json` is what the types say. `BLESS=1` writes it.

use cetp_reports::model::schema;

#[test]
fn it_is_fresh() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("report.schema.json");
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let lies_there = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(lies_there, text, "run BLESS=1 cargo test -p cetp-reports --test schema");
}

#[test]
fn it_is_a_schema() {
    jsonschema::validator_for(&schema()).unwrap();
}
