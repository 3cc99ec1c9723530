//! The requirements, by section of the specification: a map of all at a glance, and a table with their texts. The main
//! functions are [`map`] and [`matrix`].

use crate::claims::{Word, word};
use crate::html_vector::anchor;
use crate::model::{RequirementRow, VectorRow};
use crate::view::View;
use crate::words::{self, count, t};
use cetp_vectors::judge::Outcome;
use cetp_vectors::ledger::Requirement;
use maud::{Markup, html};
use std::collections::BTreeMap;

/// A requirement with its row, and with what each vector says of it.
struct Line<'v> {
    requirement: &'v Requirement,
    row: &'v RequirementRow,
    said: Vec<(&'v VectorRow, Word)>,
}

type Section<'v> = (String, Vec<Line<'v>>);

fn sections<'v>(view: &View<'v>) -> Vec<Section<'v>> {
    let results: BTreeMap<&str, &VectorRow> =
        view.report.results.iter().map(|row| (row.vector.as_str(), row)).collect();
    let mut out: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for row in &view.report.requirements {
        let Some(requirement) = view.requirement(&row.id) else { continue };
        let about = row.vectors.iter().filter_map(|id| results.get(id.as_str()).copied());
        let mut said: Vec<_> = about.filter_map(|result| Some((result, word(result, &row.id)?))).collect();
        // What did not pass comes first.
        said.sort_by_key(|(_, word)| *word);
        out.entry(requirement.section.clone()).or_default().push(Line { requirement, row, said });
    }
    let mut out: Vec<_> = out.into_iter().collect();
    out.sort_by_key(|(number, _)| words::section_order(number));
    out
}

impl Line<'_> {
    fn is_partly_judged(&self) -> bool {
        self.is_open() && self.said.iter().any(|(_, word)| word.outcome() != Outcome::NotRun)
    }

    /// Whether some vectors that were run did not come to judge it.
    fn is_open(&self) -> bool {
        self.row.outcome == Some(Outcome::NotRun)
            && self.said.iter().any(|(_, word)| *word != Word::Said(Outcome::NotRun))
    }

    fn state(&self) -> (&'static str, &'static str, words::Words) {
        match self.row.outcome {
            Some(outcome) if self.is_partly_judged() => {
                (words::class(Some(outcome)), words::PARTLY_SIGN, words::partly())
            }
            Some(outcome) if self.is_open() => {
                (words::class(Some(outcome)), words::sign(outcome), t("not judged", "未判定"))
            }
            Some(outcome) => (words::class(Some(outcome)), words::sign(outcome), words::outcome(outcome)),
            None if self.row.reason.as_deref().is_some_and(|reason| reason.starts_with("judged by")) => {
                ("none", "·", t("not by vectors", "不由向量判定"))
            }
            None => ("none", "·", t("not judged", "未判定")),
        }
    }

    /// Whether the vectors say different things, so that their counts say more than their number.
    fn is_mixed(&self) -> bool {
        self.said.iter().any(|(_, word)| *word != Word::Said(Outcome::Pass))
    }
}

/// Every requirement as a small field, in its section.
pub(crate) fn map(view: &View<'_>) -> Markup {
    let sections = sections(view);
    html! {
        section.map aria-labelledby="map" {
            h2 id="map" {
                (t("Requirements at a glance", "要求一览"))
                small { " " (count(view.report.requirements.len(), "requirement", "requirements", "条要求")) (t(": ", "：")) (sum(&sections)) }
            }
            p.quiet { (t(
                "The numbers of requirements have gaps: those that bind only another role are not on this page.",
                "要求编号不连续：仅约束其他角色的要求不在本页。")) " "
                a href="#about" { (t("What the signs and words mean", "符号与术语说明")) }
            }
            div.fields {
                @for (number, lines) in &sections {
                    div.field {
                        a.number href={ "#s-" (number) } title=(words::section(&view.report.suite.name, number).both()) { "§" (number) }
                        span.squares {
                            @for line in lines {
                                @let id = &line.requirement.id;
                                @let (class, sign, word) = line.state();
                                a.sq.(class) href={ "#r-" (id) } title={ (id) ": " (word.both()) } {
                                    span aria-hidden="true" { (sign) }
                                    span.hush { (id) " " (word) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// How many requirements have which sign.
fn sum(sections: &[Section<'_>]) -> Markup {
    let mut counts: BTreeMap<(&str, String), (usize, words::Words)> = BTreeMap::new();
    for (_, sign, word) in sections.iter().flat_map(|(_, lines)| lines).map(Line::state) {
        counts.entry((sign, word.en.clone())).or_insert((0, word)).0 += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, (n, _))| std::cmp::Reverse(*n));
    html! {
        @for (n, ((sign, _), (many, word))) in counts.iter().enumerate() {
            @if n > 0 { " · " }
            (many) " " i aria-hidden="true" { (sign) } " " (word)
        }
    }
}

/// Every requirement with its text, and the vectors that are about it.
pub(crate) fn matrix(view: &View<'_>) -> Markup {
    html! {
        section.matrix aria-labelledby="matrix" {
            h2 id="matrix" { (t("Requirements by section", "按章节列出的要求")) }
            label.toggle { input type="checkbox" id="only-short"; " " (t("only those that fell short or were not judged", "仅显示不足或未判定的")) }
            @for (number, lines) in sections(view) {
                section.sect id={ "s-" (number) } {
                    h3 {
                        @if !number.is_empty() { span.number { "§" (number) } " " }
                        (words::section(&view.report.suite.name, &number))
                    }
                    div.table role="table" aria-label={ "§" (number) } {
                        div.hush role="row" {
                            span role="columnheader" { (t("Outcome", "结果")) }
                            span role="columnheader" { (t("Requirement", "要求")) }
                            span role="columnheader" { (t("Vectors", "测试向量")) }
                        }
                        @for line in &lines { (one_line(view, line)) }
                    }
                }
            }
        }
    }
}

fn one_line(view: &View<'_>, line: &Line<'_>) -> Markup {
    let Line { requirement, row, said } = line;
    let (class, sign, word) = line.state();
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
                (words::accepted(requirement))
            }
            div.by role="cell" {
                @if said.is_empty() {
                    span.quiet { (row.reason.as_deref().map_or_else(|| t("no vector", "无向量"), |reason| t(reason, reason))) }
                } @else {
                    details {
                        summary { (count(said.len(), "vector", "vectors", "个向量")) @if line.is_mixed() { ": " (tally(said)) } }
                        ul { @for (result, word) in said { (one(view, result, *word)) } }
                    }
                    @if line.is_open() { (stopped(view, said)) }
                }
            }
        }
    }
}

/// How many vectors say what.
fn tally(said: &[(&VectorRow, Word)]) -> Markup {
    let mut counts: BTreeMap<Word, usize> = BTreeMap::new();
    for (_, word) in said {
        *counts.entry(*word).or_default() += 1;
    }
    html! {
        @for (n, (word, many)) in counts.into_iter().enumerate() {
            @if n > 0 { " · " }
            (many) " " (words::word(word))
        }
    }
}

/// Vectors that are named at once where they came to no verdict; all are behind the fold.
const MOST_NAMED: usize = 3;

/// The vectors that have not judged a requirement that others have.
fn stopped(view: &View<'_>, said: &[(&VectorRow, Word)]) -> Markup {
    let open = said.iter().filter(|(_, word)| word.outcome() == Outcome::NotRun);
    html! { ul { @for (result, word) in open.take(MOST_NAMED) { (one(view, result, *word)) } } }
}

fn one(view: &View<'_>, result: &VectorRow, word: Word) -> Markup {
    let title = view.catalogue.get(&result.vector).map_or(result.vector.as_str(), |vector| &vector.title);
    html! {
        li.(words::class(Some(word.outcome()))) {
            i aria-hidden="true" { (words::word_sign(word)) } span.hush { (words::word(word)) } " "
            a href={ "#" (anchor(&result.vector)) } lang="en" { (title) }
        }
    }
}
