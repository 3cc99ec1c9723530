//! Every vector with what happened: its messages as a sequence between runner and target, and where it fell short what was
//! expected and what came. The main function is [`vectors`].

use crate::html_broken::step;
use crate::outline;
use crate::patterns::{expected, received};
use crate::sequence::{Exchange, Mood, exchanges};
use crate::text::{safe, telling};
use crate::view::{Row, View, duration};
use crate::words::{self, Words, count, t};
use cetp_vectors::judge::{Finding, Outcome};
use cetp_vectors::pattern::Mismatch;
use cetp_vectors::transcript::{Entry, Transcript};
use maud::{Markup, html};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// How much of the messages is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detail {
    /// Characters of a message of a vector that passed.
    passed_chars: usize,
    /// Messages of a vector that passed.
    passed_messages: usize,
    /// Characters of a message of a vector that fell short.
    short_chars: usize,
    /// Messages of a vector that fell short.
    short_messages: usize,
    /// Messages of a vector that fell short that are also shown as they were sent.
    typed_messages: usize,
}

impl Detail {
    /// From much to little.
    pub(crate) const LEVELS: &'static [Detail] = &[
        Detail { passed_chars: 600, passed_messages: 60, short_chars: 2000, short_messages: 120, typed_messages: 40 },
        Detail { passed_chars: 240, passed_messages: 24, short_chars: 1000, short_messages: 60, typed_messages: 12 },
        Detail { passed_chars: 100, passed_messages: 10, short_chars: 500, short_messages: 30, typed_messages: 6 },
        Detail { passed_chars: 0, passed_messages: 0, short_chars: 300, short_messages: 12, typed_messages: 2 },
        Detail { passed_chars: 0, passed_messages: 0, short_chars: 0, short_messages: 0, typed_messages: 0 },
    ];
}

/// The place of a vector on the page.
pub(crate) fn anchor(id: &str) -> String {
    format!(
        "v-{}",
        id.chars().map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' }).collect::<String>()
    )
}

const FILTERS: [Outcome; 6] =
    [Outcome::Fail, Outcome::Error, Outcome::NotRun, Outcome::Warn, Outcome::Pass, Outcome::NotApplicable];

/// The list of vectors, with its filters.
pub(crate) fn vectors(view: &View<'_>, detail: &Detail) -> Markup {
    let mut sections: BTreeMap<Vec<u32>, (String, Vec<Row<'_>>)> = BTreeMap::new();
    for row in view.rows() {
        let number = section_of(&row);
        let key = words::section_order(&number);
        sections.entry(key).or_insert_with(|| (number, Vec::new())).1.push(row);
    }
    html! {
        section.vectors aria-labelledby="vectors" {
            h2 id="vectors" { (t("Vectors", "测试向量")) small { " " (count(view.report.results.len(), "vector", "vectors", "个")) } }
            div.filters role="group" aria-label=(t("Show", "显示").both()) {
                @for outcome in FILTERS {
                    @let n = view.count(outcome);
                    label.chip.(words::class(Some(outcome))) {
                        input type="checkbox" id={ "f-" (words::class(Some(outcome))) } checked;
                        span { i aria-hidden="true" { (words::sign(outcome)) } " " (words::outcome(outcome)) " " b { (n) } }
                    }
                }
                label.search hidden { span.hush { (t("Search", "搜索")) } input type="search" id="search" placeholder="Search / 搜索"; }
                label.select hidden {
                    span.hush { (t("Level", "级别")) }
                    select id="level" {
                        option value="" { "all levels / 全部级别" }
                        @for (name, _) in view.levels() { option value=(name) { (words::level(name).both()) } }
                    }
                }
                output id="shown" for="search level" {}
            }
            p.quiet.empty hidden { (t("No vector matches.", "没有匹配的向量。")) }
            @for (number, rows) in sections.values() {
                section.group {
                    h3 { @if !number.is_empty() { span.number { "§" (number) } " " } (words::section(&view.report.suite.name, number)) }
                    @for row in rows { (one(view, row, detail)) }
                }
            }
        }
    }
}

/// The section that a vector's id names.
fn section_of(row: &Row<'_>) -> String {
    let part = row.row.vector.split('/').nth(2).unwrap_or_default();
    if part.chars().all(|c| c.is_ascii_digit() || c == '.') { part.to_owned() } else { String::new() }
}

fn one(view: &View<'_>, row: &Row<'_>, detail: &Detail) -> Markup {
    let result = row.row;
    let class = words::class(Some(result.outcome));
    let short = !matches!(result.outcome, Outcome::Pass | Outcome::NotApplicable);
    html! {
        details.v.(class) id=(anchor(&result.vector)) data-level=(result.level) {
            summary {
                span.badge.(class) { i aria-hidden="true" { (words::sign(result.outcome)) } " " (words::outcome(result.outcome)) }
                span.title { (row.vector.title) }
                span.time { (duration(result.duration_ms)) }
            }
            div.body {
                p.quiet { code { (result.vector) } " · " (words::level(&result.level)) }
                ul.about {
                    @for id in &result.requirements {
                        li {
                            a href={ "#r-" (id) } { (id) }
                            @if let Some(requirement) = view.requirement(id) { " " span lang="en" { (requirement.text) } }
                        }
                    }
                }
                @if row.findings().is_empty() || result.repeats.len() > 1 {
                    @if let Some(reason) = &result.reason { p.reason { bdi { (safe(reason)) } } }
                }
                @if let Some(notes) = &row.vector.notes { p.quiet lang="en" { (notes) } }
                @for finding in row.findings() { (one_finding(view, finding)) }
                @if let Some(text) = &result.diagnostics {
                    details.raw { summary { (t("What the target wrote", "被测方的输出")) } pre { (safe(text)) } }
                }
                @if let Some(transcript) = row.transcript() { (sequence(row, &transcript, detail, short)) }
            }
        }
    }
}

fn one_finding(view: &View<'_>, finding: &Finding) -> Markup {
    html! {
        div.finding {
            p {
                b { (step(&finding.at)) } " "
                @match finding.requirement.as_ref().and_then(|id| view.requirement(id)) {
                    Some(requirement) => {
                        a href={ "#r-" (requirement.id) } { (requirement.id) }
                        @if !requirement.section.is_empty() { " (§" (requirement.section) ", " (words::strength(requirement.strength)) ")" }
                        ": " span lang="en" { (requirement.text) }
                    }
                    None => { bdi { (safe(&finding.message)) } }
                }
            }
            @if finding.requirement.is_some() && finding.mismatches.is_empty() { p { bdi { (safe(&finding.message)) } } }
            (mismatches(finding, usize::MAX))
        }
    }
}

/// What was expected and what came, at each place.
pub(crate) fn mismatches(finding: &Finding, most: usize) -> Markup {
    html! {
        @for mismatch in telling(finding).into_iter().take(most) { (difference(mismatch)) }
    }
}

/// Characters up to which a value stands in a line; a longer one is shown as a diff.
const LINE: usize = 120;

fn difference(mismatch: &Mismatch) -> Markup {
    let (wanted, came) = (expected(&mismatch.expected), received(mismatch.actual.as_ref()));
    let place = mismatch.pointer.trim_start_matches('/').replace('/', " › ");
    let long = is_long(&wanted) || is_long(&came);
    html! {
        dl.diff {
            @if !place.is_empty() { div.at { dt { (t("at", "位置")) } dd { code { bdi { (safe(&place)) } } } } }
            @match &mismatch.actual {
                Some(actual) if long && outline::is_value(&mismatch.expected) => {
                    div.long { dt { (t("difference", "差异")) } dd { (lines(&mismatch.expected, actual)) } }
                }
                actual => {
                    (side("wanted", t("expected", "预期"), &wanted, || outline::pattern(&mismatch.expected)))
                    (side("came", t("received", "实际"), &came, || {
                        let text = actual.as_ref().map(outline::value).unwrap_or_default();
                        t(text.clone(), text)
                    }))
                }
            }
        }
    }
}

fn is_long(words: &Words) -> bool {
    words.en.chars().count() > LINE
}

/// What was expected, or what came: in a line, or where it is long in several.
fn side(class: &str, name: Words, short: &Words, outline: impl Fn() -> Words) -> Markup {
    html! {
        @if is_long(short) {
            @let all = outline();
            div.long.(class) { dt { (name) } dd dir="auto" { (block(&all)) } }
        } @else {
            div.(class) { dt { (name) } dd { bdi { (t(safe(&short.en), safe(&short.zh))) } } }
        }
    }
}

/// Lines of a value that are seen at once.
const SEEN: usize = 14;
/// Lines of a value that are shown at most.
const MOST: usize = 60;

/// A text of several lines; what is long is behind a fold.
fn block(text: &Words) -> Markup {
    let part = |text: &str, from: usize, to: usize| {
        let lines = text.lines().skip(from).take(to - from).map(|line| clip(&safe(line), 400));
        lines.collect::<Vec<_>>().join("\n")
    };
    let part = |from: usize, to: usize| t(part(&text.en, from, to), part(&text.zh, from, to));
    let lines = text.en.lines().count();
    html! {
        pre.lines { (part(0, SEEN)) }
        @if lines > SEEN {
            details.more {
                summary { (count(lines - SEEN, "more line", "more lines", "行")) }
                pre.lines { (part(SEEN, MOST)) @if lines > MOST { "\n…" } }
            }
        }
    }
}

/// A difference line by line.
fn lines(wanted: &Json, came: &Json) -> Markup {
    let (wanted, came) = (outline::pattern(wanted).en + "\n", outline::value(came) + "\n");
    let diff = similar::TextDiff::from_lines(&wanted, &came);
    let cut = |text: &str| clip(&safe(text.trim_end_matches('\n')), 400);
    html! {
        pre.lines {
            @for change in diff.iter_all_changes().take(MOST) {
                @match change.tag() {
                    similar::ChangeTag::Delete => { del { "- " (cut(change.value())) } "\n" }
                    similar::ChangeTag::Insert => { ins { "+ " (cut(change.value())) } "\n" }
                    similar::ChangeTag::Equal => { "  " (cut(change.value())) "\n" }
                }
            }
            @if diff.iter_all_changes().count() > MOST { "  …" }
        }
    }
}

/// A text of at most so many characters.
pub(crate) fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn sequence(row: &Row<'_>, transcript: &Transcript, detail: &Detail, short: bool) -> Markup {
    let all = exchanges(transcript);
    let (chars, most) =
        if short { (detail.short_chars, detail.short_messages) } else { (detail.passed_chars, detail.passed_messages) };
    let findings = row.findings();
    let bad = |exchange: &Exchange| findings.iter().any(|finding| finding.at == exchange.at && !exchange.at.is_empty());
    // Of a long sequence the beginning, the end, and where something was found.
    let shown =
        |n: usize, exchange: &Exchange| n < most / 2 || n + most / 2 >= all.len() || (most > 0 && bad(exchange));
    let entries: BTreeMap<&str, &Entry> = transcript.entries.iter().map(|entry| (entry.at.as_str(), entry)).collect();
    let mut typed = detail.typed_messages;
    // Where something is left out there is a gap.
    let mut items: Vec<Option<(&Exchange, bool)>> = Vec::new();
    for (n, exchange) in all.iter().enumerate() {
        if shown(n, exchange) {
            let with_typed = short && typed > 0;
            typed -= usize::from(with_typed && !exchange.from_target);
            items.push(Some((exchange, with_typed)));
        } else if !matches!(items.last(), Some(None)) {
            items.push(None);
        }
    }
    html! {
        @if !all.is_empty() && most > 0 {
            div.lanes { span { (t("runner", "运行器")) } span { (t("target", "被测方")) } }
            ol.sequence aria-label=(t("Messages: what the runner asks, then what the target answers", "消息：先为运行器的请求，后为被测方的答复").both()) {
                @for item in &items {
                    @if let Some((exchange, with_typed)) = item {
                        (message(exchange, bad(exchange), chars, with_typed.then(|| entries.get(exchange.at.as_str()).copied()).flatten()))
                    } @else {
                        li.gap { "⋮" }
                    }
                }
            }
        }
        @let hidden = if most == 0 { all.len() } else { all.iter().enumerate().filter(|(n, e)| !shown(*n, e)).count() };
        @if hidden > 0 {
            p.quiet { (t(format!("{hidden} of {} messages are not shown here; report.json has them all.", all.len()),
                         format!("共 {} 条消息，此处略去 {hidden} 条；report.json 中有全部消息。", all.len()))) }
        }
    }
}

fn message(exchange: &Exchange, bad: bool, chars: usize, typed: Option<&Entry>) -> Markup {
    let mood = match exchange.mood {
        Mood::Good => "good",
        Mood::Refused => "refused",
        Mood::Broken => "broke",
    };
    html! {
        li.m.bad[bad].back[exchange.from_target] {
            @if !exchange.at.is_empty() { span.at { (safe(&exchange.at)) } }
            p.ask {
                b { bdi { (safe(&exchange.verb)) } } @if !exchange.about.is_empty() { " " span.who { bdi { (safe(&exchange.about)) } } }
                @for label in &exchange.labels { " " span.label { bdi { (safe(label)) } } }
                @if !exchange.content.is_empty() { " " code { bdi { (clip(&safe(&exchange.content), chars)) } } }
            }
            p.reply.(mood) {
                b { bdi { (safe(&exchange.answer)) } }
                @if !exchange.brought.is_empty() { " " code { bdi { (clip(&safe(&exchange.brought), chars)) } } }
            }
            @if let Some(entry) = typed { (as_sent(entry, chars)) }
        }
    }
}

/// A message as it was on the wire, with its types.
fn as_sent(entry: &Entry, chars: usize) -> Markup {
    let most = chars.saturating_mul(2);
    let text = |json: &Json| clip(&safe(&serde_json::to_string(json).unwrap_or_default()), most);
    html! {
        details.raw {
            summary { (t("as it was sent", "原始消息")) }
            pre { (safe(&entry.verb)) " " (text(&entry.params)) }
            @if let cetp_vectors::machine::Answer::Result(result) = &entry.answer { pre { (text(result)) } }
        }
    }
}
