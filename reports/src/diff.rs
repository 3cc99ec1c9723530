//! What changed from one report to another. The main function is [`compare`].

use crate::markdown::{cell, cut};
use crate::model::{Report, VectorRow};
use cetp_vectors::judge::Outcome;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How a vector changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its id.
    pub vector: String,
    /// Before.
    pub before: Option<Outcome>,
    /// Now.
    pub after: Option<Outcome>,
    /// Why it is as it is now.
    pub reason: Option<String>,
}

/// What changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Vectors that fare worse.
    pub worse: Vec<Change>,
    /// Vectors that fare better.
    pub better: Vec<Change>,
    /// Vectors that fall short as before, for another reason.
    pub otherwise: Vec<Change>,
    /// Vectors that only the second has.
    pub new: Vec<Change>,
    /// Vectors that only the first has.
    pub gone: Vec<Change>,
    /// Claims that only the second has.
    pub claims_won: Vec<String>,
    /// Claims that only the first has.
    pub claims_lost: Vec<String>,
}

/// From worst to best, as a reader of a change sees it: a clean fail says more than an error.
fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Fail => 0,
        Outcome::Error => 1,
        Outcome::NotRun => 2,
        Outcome::Warn => 3,
        Outcome::NotApplicable => 4,
        Outcome::Pass => 5,
    }
}

fn by_id(report: &Report) -> BTreeMap<&str, &VectorRow> {
    report.results.iter().map(|row| (row.vector.as_str(), row)).collect()
}

/// Compares two reports of one suite and role.
pub fn compare(before: &Report, after: &Report) -> Difference {
    let (old, new) = (by_id(before), by_id(after));
    let ids: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    let mut out = Difference::default();
    for id in ids {
        let (a, b) = (old.get(id), new.get(id));
        let change = Change {
            vector: id.to_owned(),
            before: a.map(|row| row.outcome),
            after: b.map(|row| row.outcome),
            reason: b.or(a).and_then(|row| row.reason.clone()),
        };
        match (a, b) {
            (Some(a), Some(b)) if rank(b.outcome) < rank(a.outcome) => out.worse.push(change),
            (Some(a), Some(b)) if rank(b.outcome) > rank(a.outcome) => out.better.push(change),
            (Some(a), Some(b)) if a.reason != b.reason => out.otherwise.push(change),
            (Some(_), Some(_)) => {}
            (None, _) => out.new.push(change),
            (_, None) => out.gone.push(change),
        }
    }
    let claims = |report: &Report| -> BTreeSet<String> { report.claims.iter().map(|c| c.claim.clone()).collect() };
    let (had, has) = (claims(before), claims(after));
    out.claims_won = has.difference(&had).cloned().collect();
    out.claims_lost = had.difference(&has).cloned().collect();
    out
}

/// A comment on a pull request may be so long, in bytes; the platforms take 65,536 characters.
pub const MOST_BYTES: usize = 60_000;

/// The change as Markdown, short enough for a comment on a pull request.
pub fn markdown(difference: &Difference, before: &Report, after: &Report) -> String {
    let d = difference;
    let mut out = String::new();
    let name = |report: &Report| cell(&format!("{} {}", report.target.name, report.target.version), 80);
    let _ = writeln!(out, "### Conformance: {} → {}\n", name(before), name(after));
    let counts = [
        ("worse", d.worse.len()),
        ("better", d.better.len()),
        ("otherwise", d.otherwise.len()),
        ("new", d.new.len()),
        ("gone", d.gone.len()),
    ];
    let counts: Vec<String> = counts.iter().map(|(word, n)| format!("**{n}** {word}")).collect();
    let _ = writeln!(out, "{}\n", counts.join(" · "));
    for (words, list) in [("Claims lost", &d.claims_lost), ("Claims won", &d.claims_won)] {
        if !list.is_empty() {
            let list: Vec<String> = list.iter().map(|claim| format!("`{}`", cell(claim, 80))).collect();
            let _ = writeln!(out, "{words}: {}\n", list.join(", "));
        }
    }
    if before.suite != after.suite {
        let suite = |r: &Report| format!("{} {} ({}…)", r.suite.name, r.suite.version, short(&r.suite.vectors_sha256));
        let line = format!("The suites differ: {} → {}.", suite(before), suite(after));
        let _ = writeln!(out, "{}\n", cell(&line, 200));
    }
    for (title, list) in [
        ("Worse", &d.worse),
        ("New", &d.new),
        ("Falls short for another reason", &d.otherwise),
        ("Better", &d.better),
        ("Gone", &d.gone),
    ] {
        table(&mut out, title, list);
    }
    cut(out, MOST_BYTES)
}

/// The beginning of a digest, whoever wrote it.
fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
}

fn table(out: &mut String, title: &str, list: &[Change]) {
    if list.is_empty() {
        return;
    }
    let _ = writeln!(out, "#### {title} ({})\n\n| vector | before | now | why |\n|---|---|---|---|", list.len());
    let word = |outcome: Option<Outcome>| outcome.map_or("–", Outcome::name);
    for change in list {
        let why = change.reason.as_deref().filter(|_| change.after.is_some()).unwrap_or_default();
        let id = cell(&change.vector, 120);
        let _ = writeln!(out, "| `{id}` | {} | {} | {} |", word(change.before), word(change.after), cell(why, 240));
    }
    out.push('\n');
}
