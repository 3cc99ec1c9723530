//! An audit for people. The main function is [`print`].

use super::finding::{Finding, Severity};
use super::grade::Grade;
use super::report::{Audit, Count, NOTICE, NotJudged, ProviderRow, ToolRow};
use anstream::println;
use cetp_reports::text;
use cetp_vectors::judge::Outcome;

/// Columns of the names of tools at most.
const NAME_WIDTH: usize = 26;

/// Tells an audit on standard output.
pub fn print(audit: &Audit) {
    let tools: usize = audit.providers.iter().map(|provider| provider.tool_count).sum();
    let head = format!(
        "Audit of the contracts of {}, {}. {NOTICE}",
        count(tools, "tool"),
        count(audit.providers.len(), "provider")
    );
    println!("{}", text::wrap(&head, ""));
    for provider in &audit.providers {
        println!();
        self::provider(provider);
        let mine =
            audit.findings.iter().filter(|finding| finding.provider == provider.provider && finding.accepted.is_none());
        let mine: Vec<&Finding> = mine.collect();
        for group in mine.chunk_by(|a, b| a.tool == b.tool) {
            println!("\n{}", text::wrap(group[0].tool.as_deref().unwrap_or("the set of tools"), ""));
            for alike in group.chunk_by(same_words) {
                self::finding(alike);
            }
        }
    }
    println!("\nNot judged");
    for row in &audit.not_judged {
        not_judged(row, tools);
    }
    println!();
    summary(audit);
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn provider(row: &ProviderRow) {
    let id = row.provider_id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
    let size = format!(
        "{}, {} bytes, of which {} are schemas (TC-20).",
        count(row.tool_count, "tool"),
        row.bytes,
        row.schema_bytes
    );
    println!("{}", text::wrap(&format!("{}{id}: {size}", row.provider), ""));
    for note in &row.notes {
        println!("{}", text::wrap(note, ""));
    }
    println!();
    let name = |tool: &ToolRow| text::column_width(&tool.tool);
    let width = row.tools.iter().map(name).max().unwrap_or(0).clamp(4, NAME_WIDTH);
    println!("{}  grade  findings  hints  why this grade", text::column("tool", width));
    for tool in &row.tools {
        let grade = tool.grade.map_or("-", Grade::name);
        let cells =
            format!("{}  {grade:<5}  {:>8}  {:>5}  ", text::column(&tool.tool, width), tool.findings, tool.hints);
        let indent = " ".repeat(width + 2 + 5 + 2 + 8 + 2 + 5 + 2);
        let why = text::wrap(&tool.because, &indent);
        println!("{cells}{}", why.trim_start());
    }
}

/// Findings that differ in their place only are told as one.
fn same_words(a: &&Finding, b: &&Finding) -> bool {
    (&a.requirement, a.severity, &a.seen, &a.advice) == (&b.requirement, b.severity, &b.seen, &b.advice)
}

fn finding(alike: &[&Finding]) {
    let first = alike[0];
    // Yellow and grey: red is for verdicts.
    let style = text::style(match first.severity {
        Severity::Finding => Outcome::Warn,
        Severity::Hint => Outcome::NotApplicable,
    });
    let word = first.severity.name();
    let words = text::wrap(&format!("{} {word}: {}", first.requirement, first.seen), "  ");
    let rest = words.trim_start().strip_prefix(&format!("{} {word}", first.requirement)).unwrap_or_default().to_owned();
    println!("  {} {style}{word}{style:#}{rest}", first.requirement);
    for finding in alike {
        let place = if finding.pointer.is_empty() { "the descriptor" } else { &finding.pointer };
        println!("{}", text::wrap(&format!("at {place}"), "    "));
    }
    println!("{}", text::wrap(&format!("do: {}", first.advice), "    "));
}

fn not_judged(row: &NotJudged, tools: usize) {
    const MOST: usize = 4;
    let whose: Vec<String> =
        row.of.iter().map(|of| of.tool.clone().unwrap_or_else(|| of.provider.clone())).take(MOST).collect();
    let more = row.of.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let whose = match row.of.len() {
        0 => String::new(),
        n if n == tools && n > 1 => " of every tool".to_owned(),
        _ => format!(" of {}{more}", whose.join(", ")),
    };
    println!("{}", text::wrap(&format!("{}{whose}: {}.", row.requirement, row.reason), "  "));
    // Where it is a whole row that a listing does not show, what does.
    if row.of.is_empty() && !row.vectors.is_empty() {
        println!("{}", text::wrap(&format!("vectors are about it: {}", row.vectors.join(", ")), "    "));
    }
}

fn summary(audit: &Audit) {
    let Count { findings, hints, accepted } = Count::of(audit.findings.iter());
    let accepted = if accepted > 0 { format!("; accepted: {accepted}") } else { String::new() };
    println!("Findings: {findings}, hints: {hints}{accepted}.");
    for line in &audit.stale {
        println!("{}", text::wrap(&format!("Accepted, but no longer so: {line}"), ""));
    }
}
