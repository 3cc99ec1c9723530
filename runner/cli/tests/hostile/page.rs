//! `docs/robustness.md` holds the table. `BLESS=1` writes it.

use crate::table::{Case, Moment, TABLE};
use cetp_vectors::ledger::Role;
use libtest_mimic::Failed;
use std::path::Path;

/// The table in the page is the one that was tested.
pub fn is_fresh() -> Result<(), Failed> {
    const BEGIN: &str = "<!-- generated: misbehaviours -->\n";
    const END: &str = "<!-- end -->";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/robustness.md");
    let page = std::fs::read_to_string(&path)?;
    let (head, rest) = page.split_once(BEGIN).ok_or("the page has no place for the table")?;
    let (_, tail) = rest.split_once(END).ok_or("the table has no end")?;
    let fresh = format!("{head}{BEGIN}\n{}\n{END}{tail}", table());
    if fresh == page {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        return Ok(std::fs::write(path, fresh)?);
    }
    Err("docs/robustness.md is stale: run this test with BLESS=1".into())
}

fn table() -> String {
    let mut out = String::new();
    for (role, title) in [(Role::Provider, "Providers"), (Role::Consumer, "Consumers")] {
        let rows: Vec<&Case> = TABLE.iter().filter(|case| case.role == role).collect();
        out += &format!(
            "### {title}: {}\n\n| switch | what it does | outcome | message |\n|---|---|---|---|\n",
            rows.len()
        );
        for case in rows {
            let outcome = if case.on == Moment::FirstStart { "exit 3" } else { case.outcome };
            let message = if case.message.is_empty() { String::new() } else { code(case.message).to_string() };
            out += &format!("| `{}` | {} | {outcome} | {message} |\n", case.switch, case.does.replace('|', r"\|"));
        }
        out.push('\n');
    }
    out.trim_end().to_owned() + "\n"
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', r"\|"))
}
