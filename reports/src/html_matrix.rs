//! The requirements, by section of the specification: a map of all at a glance, and a table with their texts. The main
//! functions are [`map`] and [`matrix`].

use crate::html_vector::anchor;
use crate::model::{RequirementRow, VectorRow};
use crate::view::View;
use crate::words::{self, count, t};
use cetp_vectors::judge::Outcome;
use cetp_vectors::ledger::Requirement;
use maud::{Markup, html};
use std::collections::BTreeMap;

type Section<'v> = (String, Vec<(&'v Requirement, &'v RequirementRow)>);

fn sections<'v>(view: &View<'v>) -> Vec<Section<'v>> {
    let mut out: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for row in &view.report.requirements {
        if let Some(requirement) = view.requirement(&row.id) {
            out.entry(requirement.section.clone()).or_default().push((requirement, row));
        }
    }
    let mut out: Vec<_> = out.into_iter().collect();
    out.sort_by_key(|(number, _)| words::section_order(number));
    out
}

fn state(row: &RequirementRow) -> (&'static str, &'static str, words::Words) {
    match row.outcome {
        Some(outcome) => (words::class(Some(outcome)), words::sign(outcome), words::outcome(outcome)),
        None if row.reason.as_deref().is_some_and(|reason| reason.starts_with("judged by")) => {
            ("none", "·", t("not by vectors", "不由向量判定"))
        }
        None => ("none", "·", t("not judged", "未判定")),
    }
}

/// Every requirement as a small field, in its section.
pub(crate) fn map(view: &View<'_>) -> Markup {
    html! {
        section.map aria-labelledby="map" {
            h2 id="map" {
                (t("Requirements at a glance", "要求一览"))
                small { " " (count(view.report.requirements.len(), "requirement", "requirements", "条要求")) }
            }
            div.fields {
                @for (number, rows) in sections(view) {
                    div.field {
                        a.number href={ "#s-" (number) } title=(words::section(&view.report.suite.name, &number).both()) { "§" (number) }
                        span.squares {
                            @for (requirement, row) in rows {
                                @let (class, sign, word) = state(row);
                                a.sq.(class) href={ "#r-" (requirement.id) } title={ (requirement.id) ": " (word.both()) } {
                                    span aria-hidden="true" { (sign) }
                                    span.hush { (requirement.id) " " (word) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Every requirement with its text, and the vectors that are about it.
pub(crate) fn matrix(view: &View<'_>) -> Markup {
    let results: BTreeMap<&str, &VectorRow> =
        view.report.results.iter().map(|row| (row.vector.as_str(), row)).collect();
    html! {
        section.matrix aria-labelledby="matrix" {
            h2 id="matrix" { (t("Requirements by section", "按章节列出的要求")) }
            label.toggle { input type="checkbox" id="only-short"; " " (t("only those that fell short or were not judged", "仅显示不足或未判定的")) }
            @for (number, rows) in sections(view) {
                section.sect id={ "s-" (number) } {
                    h3 {
                        @if !number.is_empty() { span.number { "§" (number) } " " }
                        (words::section(&view.report.suite.name, &number))
                    }
                    div.table role="table" aria-label={ "§" (number) } {
                        @for (requirement, row) in rows { (line(view, requirement, row, &results)) }
                    }
                }
            }
        }
    }
}

fn line(
    view: &View<'_>,
    requirement: &Requirement,
    row: &RequirementRow,
    results: &BTreeMap<&str, &VectorRow>,
) -> Markup {
    let (class, sign, word) = state(row);
    let list: Vec<&VectorRow> = row.vectors.iter().filter_map(|id| results.get(id.as_str()).copied()).collect();
    html! {
        div.req.(class) role="row" id={ "r-" (requirement.id) } {
            div.state role="cell" { span.badge.(class) { i aria-hidden="true" { (sign) } " " (word) } }
            div.says role="cell" {
                p.ids {
                    b { (requirement.id) } " "
                    span.strength { (words::strength(requirement.strength)) }
                    span.strength { (words::level(&requirement.level)) }
                    @if requirement.reading { span.strength { (t("our reading", "我方解读")) } }
                }
                p.text lang="en" { (requirement.text) }
                @if let Some(interpretation) = &requirement.interpretation {
                    p.accepted lang="en" { span.tag { (t("accepted", "可接受")) } " " (interpretation) }
                }
            }
            div.by role="cell" {
                @if list.is_empty() {
                    span.quiet { (row.reason.as_deref().map_or_else(|| t("no vector", "无向量"), |reason| t(reason, reason))) }
                } @else {
                    details {
                        summary { (count(list.len(), "vector", "vectors", "个向量")) (tally(&list)) }
                        ul { @for result in &list { (one(view, result)) } }
                    }
                }
            }
        }
    }
}

/// How many of the vectors did not pass.
fn tally(list: &[&VectorRow]) -> Markup {
    html! {
        @for outcome in [Outcome::Fail, Outcome::Error, Outcome::NotRun, Outcome::Warn] {
            @let n = list.iter().filter(|row| row.outcome == outcome).count();
            @if n > 0 { (t(", ", "，")) (n) " " (words::outcome(outcome)) }
        }
    }
}

fn one(view: &View<'_>, result: &VectorRow) -> Markup {
    let title = view.catalogue.get(&result.vector).map_or(result.vector.as_str(), |vector| &vector.title);
    html! {
        li.(words::class(Some(result.outcome))) {
            i aria-hidden="true" { (words::sign(result.outcome)) } span.hush { (words::outcome(result.outcome)) } " "
            a href={ "#" (anchor(&result.vector)) } { (title) }
        }
    }
}
