//! Reports as text for a terminal. The main functions are [`finding`] and [`summary`].
//!
//! What a target said is shown spelled out: control characters, terminal escapes and directional marks of a hostile target
//! reach nobody's terminal.

use crate::model::{Level, Report, Verdict};
use crate::outline;
use anstyle::{AnsiColor, Style};
use cetp_vectors::judge::{Finding, Outcome};
use cetp_vectors::ledger::{Ledger, Strength};
use cetp_vectors::matching::Mismatch;
use std::fmt::Write;

/// Columns that a text is wrapped to.
pub const WIDTH: usize = 80;

/// The colour of an outcome.
pub fn style(outcome: Outcome) -> Style {
    let colour = match outcome {
        Outcome::Pass => AnsiColor::Green,
        Outcome::Fail => AnsiColor::Red,
        Outcome::Error => AnsiColor::Magenta,
        Outcome::Warn | Outcome::NotRun => AnsiColor::Yellow,
        Outcome::NotApplicable => AnsiColor::BrightBlack,
    };
    Style::new().fg_color(Some(colour.into())).bold()
}

/// Whether a character acts on a terminal, or is a directional or invisible mark. A line end is neither.
pub fn acts(c: char) -> bool {
    let control = c.is_control() && c != '\n';
    control
        || matches!(c, '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text in which nothing acts on a terminal: controls and directional or invisible marks are spelled out.
pub fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if acts(c) {
            let _ = write!(out, "\\u{{{:x}}}", c as u32);
        } else {
            out.push(c);
        }
    }
    out
}

/// A text of at most so many characters.
pub fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Wraps a text, each line behind an indent.
pub fn wrap(text: &str, indent: &str) -> String {
    let options = textwrap::Options::new(WIDTH).initial_indent(indent).subsequent_indent(indent);
    textwrap::fill(&safe(text), options)
}

/// The columns that a text takes, when it is [`safe`].
pub fn column_width(text: &str) -> usize {
    textwrap::core::display_width(&safe(text))
}

/// A text in a column: safe, on one line, cut to a width and filled up to it.
pub fn column(text: &str, width: usize) -> String {
    let safe = safe(text).replace('\n', "\\n");
    let mut out = String::new();
    let mut used = 0;
    let fits = textwrap::core::display_width(&safe) <= width;
    for c in safe.chars() {
        let wide = textwrap::core::display_width(c.encode_utf8(&mut [0; 4]));
        // Where it is cut, room is left for the sign that says so.
        if !fits && used + wide + 1 > width {
            out.push('…');
            used += 1;
            break;
        }
        out.push(c);
        used += wide;
    }
    out + &" ".repeat(width.saturating_sub(used))
}

/// A finding: step, requirement with its text, and the difference.
pub fn finding(finding: &Finding, ledger: &Ledger) -> String {
    let mut out = String::new();
    let row = finding.requirement.as_ref().and_then(|id| ledger.get(id));
    let _ = writeln!(out, "  step {}", safe(&finding.at));
    if let Some(row) = row {
        let strength = match row.strength {
            Strength::Must => "must",
            Strength::MustNot => "must not",
            Strength::Should => "should",
            Strength::May => "may",
        };
        let basis = if row.reading { ", our reading" } else { "" };
        let section = if row.section.is_empty() { String::new() } else { format!("§{}, ", row.section) };
        let head = format!("{} ({section}{strength}{basis}): {}", row.id, row.text);
        let _ = writeln!(out, "{}", wrap(&head, "  "));
        if let Some(interpretation) = &row.interpretation {
            let _ = writeln!(out, "{}", wrap(&format!("accepted: {interpretation}"), "    "));
        }
    }
    // Where a requirement is named, its text has said it; the message says more about breakdowns, and where it has a note.
    if row.is_none() || finding.mismatches.is_empty() || finding.message.contains(": ") {
        let _ = writeln!(out, "{}", wrap(&finding.message, "  "));
    }
    for mismatch in telling(finding) {
        out.push_str(&difference(mismatch));
    }
    out
}

/// Lines of a value that are shown at most on each side.
const MOST_LINES: usize = 24;
/// Characters of a line that are shown at most.
const MOST_CHARS: usize = 160;

/// The places that were not as expected; first those where something came, as it says more than what is missing: after
/// `status` is `error`, that there is no `data` follows.
pub fn telling(finding: &Finding) -> Vec<&Mismatch> {
    let mut all: Vec<&Mismatch> = finding.mismatches.iter().collect();
    all.sort_by_key(|mismatch| mismatch.actual.is_none());
    all
}

/// What was expected and what came, as a diff.
pub fn difference(mismatch: &Mismatch) -> String {
    let mut out = String::new();
    let place = if mismatch.pointer.is_empty() { "the value".to_owned() } else { mismatch.pointer.clone() };
    let _ = writeln!(out, "    at {}", safe(&place));
    let wanted = outline::pattern(&mismatch.expected).en;
    let came = mismatch.actual.as_ref().map_or_else(|| "(nothing)".to_owned(), outline::value);
    let (expected, actual) = (lines(&wanted), lines(&came));
    let _ = writeln!(out, "    - expected");
    let _ = writeln!(out, "    + received");
    let diff = similar::TextDiff::from_lines(&expected, &actual);
    for (n, change) in diff.iter_all_changes().enumerate() {
        if n == 2 * MOST_LINES {
            let _ = writeln!(out, "      …");
            break;
        }
        let sign = match change.tag() {
            similar::ChangeTag::Delete => '-',
            similar::ChangeTag::Insert => '+',
            similar::ChangeTag::Equal => ' ',
        };
        let _ = writeln!(out, "    {sign} {}", safe(change.value().trim_end_matches('\n')));
    }
    out
}

/// The beginning of a text. The judge has cut the value already; here the lines are.
fn lines(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().take(MOST_LINES).map(|line| clip(line, MOST_CHARS)).collect();
    if text.lines().count() > MOST_LINES {
        lines.push("…".into());
    }
    lines.join("\n") + "\n"
}

/// The table level × outcome, and the claims.
pub fn summary(report: &Report) -> String {
    let mut out = String::new();
    let head = ["level", "verdict", "pass", "fail", "warn", "not run", "n/a", "error", "of"];
    let mut rows: Vec<Vec<String>> = vec![head.iter().map(|h| (*h).to_owned()).collect()];
    // Core first, then the rest by name.
    let mut names: Vec<&String> = report.levels.keys().collect();
    names.sort_by_key(|name| (name.as_str() != crate::claims::CORE, name.as_str()));
    for name in names {
        let level = &report.levels[name];
        let mut row = vec![name.clone(), verdict_word(level.verdict).to_owned()];
        row.extend(counts(level).iter().map(ToString::to_string));
        rows.push(row);
    }
    let widths: Vec<usize> = (0..head.len()).map(|n| rows.iter().map(|row| row[n].len()).max().unwrap_or(0)).collect();
    for row in &rows {
        let mut line = String::new();
        for (n, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if n < 2 { write!(line, "{cell:<width$}  ") } else { write!(line, "{cell:>width$}  ") };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let gaps: usize = report.levels.values().map(|level| level.uncovered.len()).sum();
    if gaps > 0 {
        let _ = writeln!(out, "{gaps} requirements have no vector yet: `requirements --uncovered` lists them.");
    }
    let unselected: usize = report.levels.values().map(|level| level.unselected).sum();
    if unselected > 0 {
        let _ = writeln!(out, "{unselected} of {} vectors were not selected.", report.suite.vector_count);
    }
    out.push('\n');
    if report.claims.is_empty() {
        let _ = writeln!(out, "Claims: none.");
    } else {
        let names: Vec<&str> = report.claims.iter().map(|claim| claim.claim.as_str()).collect();
        let role = report.target.role.name();
        let version = &report.suite.version;
        let _ = writeln!(out, "{}", wrap(&format!("Claims ({role}, suite {version}): {}", names.join(", ")), ""));
    }
    out
}

fn counts(level: &Level) -> [usize; 7] {
    [level.passed, level.failed, level.warned, level.not_run, level.not_applicable, level.errors, level.vectors]
}

/// A verdict in words.
pub fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Error => "error",
        Verdict::Incomplete => "incomplete",
        Verdict::NotApplicable => "not claimed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_its_width() {
        for (text, shown) in [
            ("abc", "abc  "),
            ("abcde", "abcde"),
            ("abcdef", "abcd…"),
            ("很很很", "很很…"),
            ("a很很b", "a很… "),
            ("", "     "),
        ] {
            assert_eq!(column(text, 5), shown, "{text}");
            assert_eq!(column_width(&column(text, 5)), 5, "{text}");
        }
        assert_eq!(column("a\u{1b}\nb", 20).trim_end(), "a\\u{1b}\\nb");
    }
}
