//! What broke, by requirement: the part of the page that a stranger reads first. The main function is [`broken`].

use crate::claims::{Word, word};
use crate::html_diff::mismatches;
use crate::html_sequence::tokens;
use crate::html_vector::{again, anchor};
use crate::sequence::exchanges;
use crate::text::{safe, telling};
use crate::view::{Row, View, Weight};
use crate::words::{self, Words, count, t};
use cetp_vectors::judge::{Finding, Outcome};
use cetp_vectors::ledger::Requirement;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// Vectors that are named below a requirement; the rest is behind a fold.
const MOST_NAMED: usize = 5;

/// What failed, warned, broke, was not run and does not apply.
pub(crate) fn broken(view: &View<'_>) -> Markup {
    let failed = by_requirement(view, |row| row.row.outcome == Outcome::Fail, |row| &row.row.failed_requirements);
    // What is broken says more than what was not met in a weaker form too.
    let mut warned = by_requirement(view, |_| true, |row| &row.row.warned_requirements);
    warned.retain(|(requirement, _)| failed.iter().all(|(broken, _)| broken.id != requirement.id));
    let flaky: Vec<Row<'_>> =
        view.rows().filter(|r| r.row.outcome == Outcome::Fail && r.row.failed_requirements.is_empty()).collect();
    let errors = by_reason(view, Outcome::Error);
    let not_run = by_reason(view, Outcome::NotRun);
    let not_applicable = by_reason(view, Outcome::NotApplicable);
    let nothing = failed.is_empty() && warned.is_empty() && flaky.is_empty() && errors.is_empty() && not_run.is_empty();
    html! {
        section.broken id="broken" aria-labelledby="broken-title" {
            @if nothing {
                h2 id="broken-title" { (t("Nothing fell short", "没有不足之处")) }
                p { (t("No vector that was run failed, warned or broke.", "已运行的向量均无失败、警告或出错。")) }
            } @else {
                h2 id="broken-title" { (t("What fell short", "不足之处")) }
            }
            @if !failed.is_empty() {
                h3.fail { (words::sign(Outcome::Fail)) " " (count(failed.len(), "requirement is broken", "requirements are broken", "条要求被违反")) }
                p.quiet { (filed(view)) }
                (shared(view))
                @for (requirement, rows) in &failed { (card(view, requirement, rows, "fail")) }
            }
            @if !flaky.is_empty() {
                h3.fail { (words::sign(Outcome::Fail)) " " (t("The outcome changes from run to run", "结果随运行而变")) }
                ul.reasons { @for row in &flaky { li { (link(row)) ": " bdi { (safe(row.row.reason.as_deref().unwrap_or_default())) } } } }
            }
            @if !warned.is_empty() {
                h3.warn { (words::sign(Outcome::Warn)) " " (count(warned.len(), "warning: what should be so is not", "warnings: what should be so is not", "条警告：未满足“应该”要求")) }
                @for (requirement, rows) in &warned { (card(view, requirement, rows, "warn")) }
            }
            (reasons(&errors, Outcome::Error, t(
                "No verdict: they could not be judged to their end. What is broken above is often the cause; else it is the target, the fixture or the suite",
                "无判定：未能判定到底。原因往往是上面所列的问题，否则是被测方、夹具或测试套件出错")))
            (reasons(&not_run, Outcome::NotRun, t("Not run: something that the vector needs is missing", "未运行：缺少向量所需之物")))
            @if !not_applicable.is_empty() {
                // Nothing fell short in these: they are told, and not in the way.
                details.aside {
                    summary { (t("Vectors that do not apply, and why", "不适用的向量及原因")) }
                    (reasons(&not_applicable, Outcome::NotApplicable, t("Not applicable", "不适用")))
                }
            }
        }
    }
}

/// How vectors and requirements that are broken belong together: their numbers differ.
fn filed(view: &View<'_>) -> Words {
    let failed = view.count(Outcome::Fail);
    t(
        format!(
            "{failed} {} failed. Each ends with the first step that breaks something, and stands under every requirement that this step broke.",
            if failed == 1 { "vector" } else { "vectors" }
        ),
        format!("{failed} 个向量失败。每个向量在首个违反要求的步骤结束，并列在该步骤所违反的每条要求之下。"),
    )
}

/// Where the vectors that failed found their first difference, where more than one found it at the same: one defect often
/// breaks many requirements.
fn shared(view: &View<'_>) -> Markup {
    let mut places: BTreeMap<String, (usize, BTreeSet<&str>)> = BTreeMap::new();
    for row in view.rows().filter(|row| row.row.outcome == Outcome::Fail) {
        let findings = row.weighed().into_iter().filter(|(weight, _)| *weight == Weight::Decisive);
        let first = findings.flat_map(|(_, finding)| telling(finding)).next();
        let name = first.and_then(|mismatch| mismatch.pointer.rsplit('/').find(|name| is_name(name)));
        if let Some(name) = name {
            let (vectors, ids) = places.entry(name.to_owned()).or_default();
            *vectors += 1;
            ids.extend(row.row.failed_requirements.iter().map(String::as_str));
        }
    }
    let mut places: Vec<_> = places.into_iter().filter(|(_, (vectors, _))| *vectors > 1).collect();
    places.sort_by_key(|(_, (vectors, _))| std::cmp::Reverse(*vectors));
    html! {
        @if !places.is_empty() {
            p.quiet {
                (t("Many requirements may be broken by one defect. The differences lie at: ", "一个缺陷可能违反多条要求。差异所在："))
                @for (n, (name, (vectors, ids))) in places.iter().take(MOST_NAMED).enumerate() {
                    @if n > 0 { " · " }
                    code { bdi { (safe(name)) } } " ("
                    (count(*vectors, "vector", "vectors", "个向量")) (t(", ", "，"))
                    (count(ids.len(), "requirement", "requirements", "条要求")) ")"
                }
            }
        }
    }
}

/// Whether a part of a pointer names a member, and is no number of an element and no placeholder.
fn is_name(part: &str) -> bool {
    part.chars().next().is_some_and(|c| c.is_ascii_alphabetic())
        && part.chars().all(|c| c.is_alphanumeric() || c == '_')
}

type Group<'v> = (&'v Requirement, Vec<Row<'v>>);

/// Those that the most vectors found broken come first: they are the likeliest cause of the rest.
fn by_requirement<'v>(
    view: &View<'v>,
    counts: impl Fn(&Row<'v>) -> bool,
    ids: impl Fn(&Row<'v>) -> &'v [String],
) -> Vec<Group<'v>> {
    let mut groups: BTreeMap<&str, Vec<Row<'v>>> = BTreeMap::new();
    for row in view.rows().filter(|row| counts(row)) {
        for id in ids(&row) {
            groups.entry(id).or_default().push(row);
        }
    }
    let mut groups: Vec<Group<'v>> =
        groups.into_iter().filter_map(|(id, rows)| Some((view.requirement(id)?, rows))).collect();
    // The first is shown in detail: what the model made is harder to read than what people wrote.
    for (_, rows) in &mut groups {
        rows.sort_by_key(|row| row.row.vector.contains("/model-"));
    }
    groups.sort_by_key(|(requirement, rows)| {
        (std::cmp::Reverse(rows.len()), words::section_order(&requirement.section), &requirement.id)
    });
    groups
}

fn by_reason<'v>(view: &View<'v>, outcome: Outcome) -> Vec<(String, Vec<Row<'v>>)> {
    let mut groups: BTreeMap<String, Vec<Row<'v>>> = BTreeMap::new();
    for row in view.rows().filter(|row| row.row.outcome == outcome) {
        // The step stands before the reason, and is another in each vector.
        let reason = row.row.reason.as_deref().unwrap_or_default();
        let words =
            reason.strip_prefix("step ").and_then(|rest| rest.split_once(": ")).map_or(reason, |(_, words)| words);
        groups.entry(safe(words)).or_default().push(row);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.len()));
    groups
}

fn link(row: &Row<'_>) -> Markup {
    html! { a href={ "#" (anchor(&row.row.vector)) } lang="en" { (row.vector.title) } }
}

/// A requirement: its text, who found it broken, and the first of them in detail.
fn card(view: &View<'_>, requirement: &Requirement, rows: &[Row<'_>], class: &str) -> Markup {
    let suite = &view.report.suite.name;
    html! {
        article.card.(class) {
            h4.where {
                @if !requirement.section.is_empty() {
                    span.section { "§" (requirement.section) " " (words::section(suite, &requirement.section)) }
                }
                a.id href={ "#r-" (requirement.id) } { (requirement.id) }
                span.strength { (words::strength(requirement.strength)) }
                @if requirement.reading { span.strength { (t("our reading", "我方解读")) } }
            }
            p.text lang="en" { (requirement.text) }
            (words::accepted(requirement))
            @if let Some(first) = rows.first() { (example(view, first, &requirement.id)) }
            p.found {
                @if rows.len() == 1 {
                    (t("Found by ", "由此向量发现："))
                } @else {
                    (t(format!("Found by {} vectors: ", rows.len()), format!("由 {} 个向量发现：", rows.len())))
                }
                @for (n, row) in rows.iter().take(MOST_NAMED).enumerate() { @if n > 0 { " · " } (link(row)) }
            }
            @if rows.len() > MOST_NAMED {
                details.more {
                    summary { (t(format!("{} more", rows.len() - MOST_NAMED), format!("另有 {} 个", rows.len() - MOST_NAMED))) }
                    ul { @for row in &rows[MOST_NAMED..] { li { (link(row)) } } }
                }
            }
            (elsewhere(view, requirement))
        }
    }
}

/// Vectors about a requirement that failed over another one first: the reader counts them too.
fn elsewhere(view: &View<'_>, requirement: &Requirement) -> Markup {
    let words = view.report.results.iter().filter_map(|row| word(row, &requirement.id));
    let n = words.filter(|word| *word == Word::EndedEarlier).count();
    html! {
        @if n > 0 {
            p.found { (t(
                format!("{n} more {} about it failed over another requirement before judging this one, and {} there.",
                    if n == 1 { "vector" } else { "vectors" }, if n == 1 { "stands" } else { "stand" }),
                format!("另有 {n} 个与之相关的向量在判定本条之前已因其他要求失败，列在那些要求之下。"))) }
        }
    }
}

/// What was expected and what came, in one vector.
fn example(view: &View<'_>, row: &Row<'_>, id: &str) -> Markup {
    let about = |(weight, finding): &(Weight, &Finding)| {
        matches!(weight, Weight::Decisive | Weight::Should) && finding.requirement.as_deref() == Some(id)
    };
    let (Some((_, finding)), Some(transcript)) = (row.weighed().into_iter().find(about), row.transcript()) else {
        return html! {};
    };
    let at = Row::message_of(finding, &transcript);
    let exchange =
        exchanges(&transcript).into_iter().find(|exchange| !exchange.from_target && Some(&exchange.at) == at.as_ref());
    html! {
        div.example {
            p.say { "“" span lang="en" { (row.vector.title) } "”, " (step(&finding.at)) }
            @if let Some(exchange) = exchange {
                p.told {
                    (t("asked ", "请求 ")) code { b { bdi { (safe(&exchange.verb)) } } }
                    @if !exchange.about.is_empty() { " " span.who { bdi { (safe(&exchange.about)) } } }
                    @if !exchange.content.is_empty() { " " code { bdi { (tokens(&exchange.content, SHORT)) } } }
                    @for label in &exchange.labels { " " span.label { bdi { (safe(label)) } } }
                    (t(", answered ", "，答复 ")) code { b { bdi { (safe(&exchange.answer)) } } " " bdi { (tokens(&exchange.brought, SHORT)) } }
                }
            }
            @if finding.mismatches.is_empty() { p { bdi { (safe(&finding.message)) } } }
            (mismatches(finding, 2))
            (again(view, row, transcript.start.seed))
        }
    }
}

/// Characters of a message in an example.
const SHORT: usize = 120;

/// A step of a vector.
pub(crate) fn step(at: &str) -> Words {
    t(format!("step {}", safe(at)), format!("步骤 {}", safe(at)))
}

fn reasons(groups: &[(String, Vec<Row<'_>>)], outcome: Outcome, title: Words) -> Markup {
    let all: usize = groups.iter().map(|(_, rows)| rows.len()).sum();
    html! {
        @if !groups.is_empty() {
            h3.(words::class(Some(outcome))) { (words::sign(outcome)) " " (count(all, "vector", "vectors", "个向量")) " – " (title) }
            ul.reasons {
                @for (reason, rows) in groups {
                    li {
                        details {
                            summary { b { (rows.len()) "×" } " " bdi { (reason) } }
                            ul { @for row in rows { li { (link(row)) } } }
                        }
                    }
                }
            }
        }
    }
}
