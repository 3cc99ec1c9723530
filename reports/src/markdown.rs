//! A summary as Markdown, for a CI step or a comment. The main function is [`summary`].
//!
//! Counts come first, and what does not fit into the platform's limit is cut with a word about it.

use crate::text::{difference, safe, telling, verdict_word};
use crate::view::{Row, View, strength_word};
use cetp_vectors::judge::{Finding, Outcome};
use std::fmt::Write;

/// A step's summary may be so long, in bytes; the platform takes 1 MiB, shared by all that is written in the step.
pub const MOST_BYTES: usize = 900 << 10;

/// Vectors whose findings are spelled out.
const MOST_DETAILS: usize = 100;

/// The summary of a report.
pub fn summary(view: &View<'_>) -> String {
    let report = view.report;
    let mut out = String::new();
    let target = cell(&format!("{} {}", report.target.name, report.target.version), 120);
    let _ = writeln!(out, "## {target}: {}\n", headline(view));
    let ran = report.results.len();
    let counts: Vec<String> = [
        (Outcome::Fail, "failed"),
        (Outcome::Error, "broke"),
        (Outcome::NotRun, "not run"),
        (Outcome::Warn, "warned"),
        (Outcome::Pass, "passed"),
        (Outcome::NotApplicable, "not applicable"),
    ]
    .iter()
    .map(|(outcome, word)| format!("**{}** {word}", view.count(*outcome)))
    .collect();
    let total = report.suite.vector_count;
    let _ = writeln!(out, "{} — {ran} of {total} vectors were run.\n", counts.join(" · "));
    if report.interrupted {
        let _ = writeln!(out, "> The run was interrupted: it says nothing about what was not run.\n");
    }
    let _ = writeln!(out, "| level | verdict | passed | failed | warned | not run | n/a | errors | of |");
    let _ = writeln!(out, "|---|---|--:|--:|--:|--:|--:|--:|--:|");
    for (name, l) in view.levels() {
        let verdict = verdict_word(l.verdict);
        let counts = [l.passed, l.failed, l.warned, l.not_run, l.not_applicable, l.errors, l.vectors];
        let counts: Vec<String> = counts.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "| {} | {verdict} | {} |", cell(name, 60), counts.join(" | "));
    }
    out.push('\n');
    let claims: Vec<String> = report.claims.iter().map(|claim| format!("`{}`", cell(&claim.claim, 80))).collect();
    let claims = if claims.is_empty() { "none".to_owned() } else { claims.join(", ") };
    let role = report.target.role.name();
    let _ = writeln!(out, "Claims ({role}, suite {}): {claims}\n", cell(&report.suite.version, 40));
    let gaps: usize = report.levels.values().map(|level| level.uncovered.len()).sum();
    if gaps > 0 {
        let _ = writeln!(out, "{gaps} requirements have no vector yet.\n");
    }
    details(&mut out, view);
    cut(out, MOST_BYTES)
}

/// What the report says of the target, in a few words.
pub fn headline(view: &View<'_>) -> String {
    use crate::model::Verdict;
    match view.core() {
        Verdict::Pass if !view.report.claims.is_empty() => "conforms".into(),
        Verdict::Fail => "does not conform".into(),
        Verdict::Error => "no verdict, as the target or the suite broke".into(),
        _ => "not proven".into(),
    }
}

fn details(out: &mut String, view: &View<'_>) {
    let short: Vec<Row<'_>> =
        view.rows().filter(|r| !matches!(r.row.outcome, Outcome::Pass | Outcome::NotApplicable)).collect();
    for (n, row) in short.iter().enumerate() {
        if n == MOST_DETAILS {
            let _ = writeln!(out, "\n… and {} more, which the report shows.", short.len() - n);
            break;
        }
        let id = cell(&row.row.vector, 160);
        let _ = writeln!(out, "<details><summary>{} <code>{id}</code></summary>\n", row.row.outcome.name());
        let _ = writeln!(out, "{}\n", cell(&row.vector.title, 300));
        let findings = row.findings();
        if findings.is_empty() {
            let _ = writeln!(out, "{}\n", cell(row.row.reason.as_deref().unwrap_or_default(), 1000));
        }
        for finding in findings {
            one(out, view, finding);
        }
        let _ = writeln!(out, "</details>\n");
    }
}

fn one(out: &mut String, view: &View<'_>, finding: &Finding) {
    if let Some(row) = finding.requirement.as_ref().and_then(|id| view.requirement(id)) {
        let strength = strength_word(row.strength);
        let _ = writeln!(out, "**{}** (§{}, {strength}): {}\n", row.id, row.section, cell(&row.text, 1000));
    }
    let _ = writeln!(out, "step {}: {}\n", cell(&finding.at, 60), cell(&finding.message, 1000));
    for mismatch in telling(finding) {
        let text = difference(mismatch);
        // A fence longer than any in the text, so that nothing of the target's ends it.
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let _ = writeln!(out, "{fence}diff\n{}{fence}\n", unindented(&text));
    }
}

/// Signs of a diff stand in the first column.
fn unindented(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line))).collect()
}

/// A text in which nothing acts as Markdown or HTML, on one line, cut.
pub fn cell(text: &str, most_chars: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for (n, c) in safe(text).chars().enumerate() {
        if n == most_chars {
            out.push('…');
            break;
        }
        match c {
            '\n' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // Mentions would call people.
            '@' => out.push_str("&#64;"),
            '|' => out.push_str("&#124;"),
            '`' => out.push_str("&#96;"),
            '[' => out.push_str("&#91;"),
            ']' => out.push_str("&#93;"),
            '*' | '_' | '~' | '#' | '!' | '\\' => {
                let _ = write!(out, "&#{};", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// A text of at most so many bytes, cut at the end of a line, with a word about it.
pub fn cut(text: String, most_bytes: usize) -> String {
    const WORD: &str = "\n</details>\n\n… the rest did not fit here; the report has it.\n";
    if text.len() <= most_bytes {
        return text;
    }
    let mut end = most_bytes.saturating_sub(WORD.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let end = text[..end].rfind("\n<details>").or_else(|| text[..end].rfind('\n')).unwrap_or(end);
    format!("{}{}", &text[..end], WORD.trim_start_matches("\n</details>\n"))
}
