//! Every vector with what happened: its messages as a sequence between runner and target, and where it fell short what was
//! expected and what came. The main function is [`vectors`].

use crate::html_broken::step;
use crate::html_diff::mismatches;
use crate::html_sequence::sequence;
use crate::text::safe;
use crate::view::{Row, View, Weight, duration};
use crate::words::{self, count, t};
use cetp_vectors::judge::{Finding, Outcome};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// How much of the messages is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Detail {
    /// Characters of a message of a vector that passed.
    pub(crate) passed_chars: usize,
    /// Messages of a vector that passed.
    pub(crate) passed_messages: usize,
    /// Characters of a message of a vector that fell short.
    pub(crate) short_chars: usize,
    /// Messages of a vector that fell short.
    pub(crate) short_messages: usize,
    /// Messages of a vector that fell short that are also shown as they were sent: those up to where it fell short.
    pub(crate) typed_messages: usize,
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
                button type="button" id="only-failed" hidden { (t("failed and broke only", "仅失败与出错")) }
                button type="button" id="reset" hidden { (t("show all", "全部显示")) }
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
    let transcript = row.transcript();
    html! {
        details.v.(class) id=(anchor(&result.vector)) data-level=(result.level) {
            summary {
                span.badge.(class) { i aria-hidden="true" { (words::sign(result.outcome)) } " " (words::outcome(result.outcome)) }
                span.title lang="en" { (row.vector.title) }
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
                @for (weight, finding, times) in once(row) { (one_finding(view, weight, finding, times)) }
                @if let Some(text) = &result.diagnostics {
                    details.raw { summary { (t("What the target wrote", "被测方的输出")) } pre { (safe(text)) } }
                }
                @if let Some(transcript) = &transcript {
                    (sequence(row, transcript, detail, short))
                    @if short { (again(view, row, transcript.start.seed)) }
                }
            }
        }
    }
}

/// The command that runs a vector again.
pub(crate) fn again(view: &View<'_>, row: &Row<'_>, seed: u64) -> Markup {
    html! { p.again { span { (t("Run it again: ", "重新运行：")) } code { (row.again(view, seed)) } } }
}

/// Every finding; of remarks that are equal but for the step the first, and how often it comes.
fn once<'v>(row: &Row<'v>) -> Vec<(Weight, &'v Finding, usize)> {
    let mut out: Vec<(Weight, &Finding, usize)> = Vec::new();
    for (weight, finding) in row.weighed() {
        let same = |(known_weight, known, _): &&mut (Weight, &Finding, usize)| {
            (*known_weight, &known.requirement, &known.message) == (weight, &finding.requirement, &finding.message)
        };
        match out.iter_mut().find(same) {
            Some((.., times)) if weight == Weight::Remark => *times += 1,
            _ => out.push((weight, finding, 1)),
        }
    }
    out
}

fn one_finding(view: &View<'_>, weight: Weight, finding: &Finding, times: usize) -> Markup {
    let class = match weight {
        Weight::Decisive => "",
        Weight::Should => "warn",
        Weight::Unjudged => "notrun",
        Weight::Remark => "na remark",
    };
    html! {
        div class={ "finding " (class) } {
            @match weight {
                Weight::Decisive => {}
                Weight::Should => { p.quiet { (t("A recommendation is not met; it is no failure.", "未满足一条建议，不构成失败。")) } }
                Weight::Unjudged => { p.quiet { (t("Not judged.", "未判定。")) } }
                Weight::Remark => { p.quiet { (t(
                    "A remark that is not counted, as the sentence can be read more mildly: this broke nothing.",
                    "仅为提示，不计入判定：该条要求可作更宽松的解读，此处未违反任何要求。")) } }
            }
            p {
                b { (step(&finding.at)) } " "
                @if times > 1 { (t(format!("and {} more ", times - 1), format!("及另外 {} 处 ", times - 1))) }
                @match finding.requirement.as_ref().and_then(|id| view.requirement(id)) {
                    Some(requirement) => {
                        a href={ "#r-" (requirement.id) } { (requirement.id) }
                        @if !requirement.section.is_empty() { " (§" (requirement.section) ", " (words::strength(requirement.strength)) ")" }
                        ": " span lang="en" { (requirement.text) }
                    }
                    None => { bdi { (safe(&finding.message)) } }
                }
            }
            // Where it has a note, the message says more than the requirement's text.
            @if finding.requirement.is_some() && (finding.mismatches.is_empty() || finding.message.contains(": ")) {
                p { bdi lang="en" { (safe(&finding.message)) } }
            }
            (mismatches(finding, usize::MAX))
        }
    }
}
