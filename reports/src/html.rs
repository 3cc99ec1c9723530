//! The page for people: one file that needs nothing else. The main function is [`html()`].
//!
//! Everything that comes from a target is escaped (maud does it where nobody asks for the opposite), and the page's policy
//! lets only its own style and script act, by their digests: a hostile target's text stays text. The page works without
//! script; script adds search, and opens what a link points to.

use crate::html_about::about;
use crate::html_broken::broken;
use crate::html_matrix::{map, matrix};
use crate::html_vector::{Detail, vectors};
use crate::model::{Level, Verdict};
use crate::text::safe;
use crate::view::View;
use crate::words::{self, Words, count, t};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cetp_vectors::judge::Outcome;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The language in which a page opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// That of the reader's browser.
    Readers,
    /// English.
    English,
    /// Chinese.
    Chinese,
}

/// A page may be so long, in bytes: it is mailed, attached and opened on phones.
pub const MOST_BYTES: usize = 4_900_000;

/// The page. Where there is much to show, messages of vectors that passed are cut shorter until it fits.
pub fn html(view: &View<'_>, language: Language) -> String {
    let mut page = String::new();
    for detail in Detail::LEVELS {
        page = whole(view, language, detail).into_string();
        if page.len() <= MOST_BYTES {
            break;
        }
    }
    page
}

fn digest(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

fn whole(view: &View<'_>, language: Language, detail: &Detail) -> Markup {
    let report = view.report;
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    );
    let name = safe(&format!("{} {}", report.target.name, report.target.version));
    let (headline, spec) = (headline(view), words::specification(&report.suite.name));
    let title = t(format!("{name} – {} – {spec}", headline.en), format!("{name} – {} – {spec}", headline.zh));
    let zh = language == Language::Chinese;
    let lang = if zh { "zh-Hans" } else { "en" };
    html! {
        (DOCTYPE)
        // The script puts the language and title of the one that is chosen here.
        html lang=(lang) data-language=[(language == Language::Readers).then_some("readers")]
            data-title-en=(title.en) data-title-zh=(title.zh) {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                meta name="color-scheme" content="light dark";
                title { (if zh { &title.zh } else { &title.en }) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @for (place, name) in places() { a.skip href={ "#" (place) } { (t("Skip to: ", "跳至：")) (name) } }
                (bar(view, language))
                main {
                    (first_screen(view, &name))
                    (broken(view))
                    (matrix(view))
                    (vectors(view, detail))
                    (about(view))
                }
                footer { (made_by(view)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// The parts of the page that are linked from its top.
fn places() -> [(&'static str, Words); 4] {
    [
        ("broken", t("what fell short", "不足之处")),
        ("matrix", t("requirements", "要求")),
        ("vectors", t("vectors", "测试向量")),
        ("about", t("legend", "图例")),
    ]
}

fn bar(view: &View<'_>, language: Language) -> Markup {
    let zh = language == Language::Chinese;
    html! {
        header.bar {
            p.brand { b { (words::specification(&view.report.suite.name)) } " " (t("conformance report", "一致性测试报告")) }
            nav aria-label=(t("Parts of the page", "页面各部分").both()) {
                @for (place, name) in places() { a href={ "#" (place) } { (name) } " " }
            }
            fieldset.pick {
                legend.hush { "Language / 语言" }
                label { input type="radio" name="language" id="lang-en" checked[!zh]; span { "English" } }
                label { input type="radio" name="language" id="lang-zh" checked[zh]; span lang="zh-Hans" { "中文" } }
            }
            fieldset.pick.theme {
                legend.hush { (t("Colours", "配色")) }
                label { input type="radio" name="theme" id="theme-auto" checked; span title="auto" { "◐" span.hush { (t("as the system", "跟随系统")) } } }
                label { input type="radio" name="theme" id="theme-light"; span title="light" { "☀" span.hush { (t("light", "浅色")) } } }
                label { input type="radio" name="theme" id="theme-dark"; span title="dark" { "☾" span.hush { (t("dark", "深色")) } } }
            }
        }
    }
}

/// What the report says, in a few words.
pub(crate) fn headline(view: &View<'_>) -> Words {
    let spec = words::specification(&view.report.suite.name);
    match view.core() {
        Verdict::Pass if !view.report.claims.is_empty() => t(format!("Conforms to {spec}"), format!("符合 {spec}")),
        Verdict::Fail => t(format!("Does not conform to {spec}"), format!("不符合 {spec}")),
        Verdict::Error => t("No verdict: something broke", "无法判定：运行出错"),
        _ => t(format!("Conformance to {spec} is not proven"), format!("尚未证实符合 {spec}")),
    }
}

/// The sentence below the headline: how many vectors, and how many requirements they broke.
fn because(view: &View<'_>) -> Words {
    let report = view.report;
    let Some(core) = report.levels.get(crate::claims::CORE) else { return t("", "") };
    let broken = report.requirements.iter().filter(|row| row.outcome == Some(Outcome::Fail)).count();
    let (failed, all) = (core.failed, core.vectors);
    match view.core() {
        Verdict::Fail => {
            let plural = if broken == 1 {
                "requirement of the specification is"
            } else {
                "requirements of the specification are"
            };
            let (every, whole) = (view.count(Outcome::Fail), report.results.len());
            let (mut en, mut zh) = (String::new(), String::new());
            if every > failed {
                en = format!(" ({every} of all {whole})");
                zh = format!("（全部 {whole} 个中有 {every} 个）");
            }
            t(
                format!("{failed} of {all} core vectors failed{en}: {broken} {plural} broken."),
                format!("{all} 个核心向量中有 {failed} 个失败{zh}：违反了规范中的 {broken} 条要求。"),
            )
        }
        Verdict::Error => t(
            format!("No core vector failed, but in {} of {all} the target or the suite broke.", core.errors),
            format!("没有核心向量失败，但 {all} 个中有 {} 个因被测方或测试套件出错而无结果。", core.errors),
        ),
        Verdict::Pass if !report.claims.is_empty() => t(
            format!("All {all} core vectors were run; nothing fell short."),
            format!("全部 {all} 个核心向量均已运行，没有不足之处。"),
        ),
        _ => {
            let missing = core.not_run + core.unselected;
            let gaps = core.uncovered.len();
            let (mut en, mut zh) = (Vec::new(), Vec::new());
            if missing > 0 {
                en.push(format!("{missing} of {all} core vectors were not run"));
                zh.push(format!("{all} 个核心向量中有 {missing} 个未运行"));
            }
            if gaps > 0 {
                en.push(format!("{gaps} core requirements have no vector yet"));
                zh.push(format!("{gaps} 条核心要求尚无向量"));
            }
            if en.is_empty() {
                return t("Nothing failed, but nothing follows from it either.", "没有失败，但也得不出任何结论。");
            }
            t(
                format!("Nothing failed in what was judged, but {}.", en.join(", and ")),
                format!("已判定的部分没有失败，但{}。", zh.join("，且")),
            )
        }
    }
}

fn first_screen(view: &View<'_>, name: &str) -> Markup {
    let report = view.report;
    let core = view.core();
    let class = if core == Verdict::Pass && report.claims.is_empty() { "notrun" } else { words::verdict_class(core) };
    html! {
        section.hero aria-labelledby="tested" {
            div.seal.(class) aria-hidden="true" { (words::verdict_sign(core)) }
            div.what {
                p.tested id="tested" {
                    b { bdi { (name) } }
                    " · " (words::role(report.target.role)) " · " (t("suite", "测试套件")) " " (report.suite.version)
                    " · " (day(&report.finished_at))
                }
                h1.(class) { (headline(view)) }
                p.because { (because(view)) }
                @if report.interrupted {
                    p.note { (t("The run was interrupted: nothing is said about what was not run.", "运行被中断：对未运行的部分不作任何说明。")) }
                }
                (claims(view))
            }
        }
        section.levels aria-labelledby="levels" {
            h2.hush id="levels" { (t("Verdict on each level", "各级别判定")) }
            (totals(view))
            table role="table" aria-labelledby="levels" {
                thead.hush role="rowgroup" {
                    tr role="row" {
                        th role="columnheader" { (t("Level", "级别")) }
                        th role="columnheader" { (t("Verdict", "判定")) }
                        th role="columnheader" { (t("Vectors", "测试向量")) }
                    }
                }
                tbody role="rowgroup" { @for (name, level) in view.levels() { (level_row(name, level)) } }
            }
        }
        // Only Chinese readers need to be told.
        p.quiet { span.z lang="zh-Hans" { "要求条文、向量标题以及测试套件给出的原因为英文原文，未翻译。" } }
        (map(view))
        (facts(view))
    }
}

fn day(instant: &str) -> String {
    instant.get(..10).map(safe).unwrap_or_default()
}

fn claims(view: &View<'_>) -> Markup {
    let claims = &view.report.claims;
    html! {
        p.claims {
            b { (t("May be claimed: ", "可以声明：")) }
            @if claims.is_empty() {
                (t("nothing. A claim needs every core vector run, and none failed, broken or missing.",
                   "无。作出声明要求全部核心向量均已运行，且无失败、出错或缺失。"))
            } @else {
                @for claim in claims { code.claim { (claim.claim) } " " }
                (t(format!("(as {}, suite {})", view.report.target.role.name(), view.report.suite.version),
                   format!("（{}，测试套件 {}）", words::role(view.report.target.role).zh, view.report.suite.version)))
            }
        }
    }
}

fn totals(view: &View<'_>) -> Markup {
    let ran = view.report.results.len();
    let whole = view.report.suite.vector_count;
    html! {
        p.totals {
            @for outcome in [Outcome::Fail, Outcome::Error, Outcome::NotRun, Outcome::Warn, Outcome::Pass, Outcome::NotApplicable] {
                @let n = view.count(outcome);
                span.total.(words::class(Some(outcome))).nil[n == 0] {
                    i aria-hidden="true" { (words::sign(outcome)) } b { (n) } " " (words::outcome(outcome))
                }
            }
            span.whole { (t(format!("{ran} of {whole} vectors run"), format!("共 {whole} 个向量，运行 {ran} 个"))) }
        }
    }
}

fn level_row(name: &str, level: &Level) -> Markup {
    let parts = [
        (Outcome::Pass, level.passed),
        (Outcome::Warn, level.warned),
        (Outcome::Fail, level.failed),
        (Outcome::Error, level.errors),
        (Outcome::NotRun, level.not_run + level.unselected),
        (Outcome::NotApplicable, level.not_applicable),
    ];
    let class = words::verdict_class(level.verdict);
    html! {
        tr.level role="row" {
            th.name scope="row" role="rowheader" { (words::level(name)) @if words::level(name).en != name { " " code { (name) } } }
            td.verdict.(class) role="cell" { i aria-hidden="true" { (words::verdict_sign(level.verdict)) } " " (words::verdict(level.verdict)) }
            td.counts role="cell" {
                (proportions(&parts, level.vectors))
                div {
                    @if level.vectors == 0 {
                        (t("no vectors yet", "尚无向量"))
                    } @else {
                        (t(format!("{} of {} passed", level.passed + level.warned, level.vectors), format!("{} 个中 {} 个通过", level.vectors, level.passed + level.warned)))
                    }
                    @for (outcome, n) in parts.iter().filter(|(outcome, n)| *n > 0 && *outcome != Outcome::Pass) {
                        (t(", ", "，")) (n) " " (words::outcome(*outcome))
                    }
                    @if !level.uncovered.is_empty() {
                        (t(", ", "，")) (count(level.uncovered.len(), "requirement without a vector", "requirements without a vector", "条要求尚无向量"))
                    }
                }
            }
        }
    }
}

/// A bar whose parts are as long as the counts are large. What it shows stands beside it in words.
fn proportions(parts: &[(Outcome, usize)], whole: usize) -> Markup {
    let mut from = 0;
    let mut rects = Vec::new();
    for (outcome, n) in parts {
        rects.push((from, *n, words::class(Some(*outcome))));
        from += n;
    }
    let width = whole.max(from).max(1);
    html! {
        svg.bar-of viewBox={ "0 0 " (width) " 1" } preserveAspectRatio="none" aria-hidden="true" {
            rect.track width=(width) height="1" {}
            @for (x, n, class) in rects.iter().filter(|(_, n, _)| *n > 0) {
                rect.(class) x=(x) width=(n) height="1" {}
            }
        }
    }
}

fn facts(view: &View<'_>) -> Markup {
    let report = view.report;
    let target = &report.target;
    let fact = |name: Words, value: Markup| html! { div { dt { (name) } dd { (value) } } };
    let list = |items: &[String]| {
        html! {
            @if items.is_empty() { (t("none", "无")) }
            @for (n, item) in items.iter().enumerate() { @if n > 0 { ", " } code { bdi { (safe(item)) } } }
        }
    };
    let environment: Vec<String> =
        report.environment.iter().map(|(name, value)| safe(&format!("{name} {value}"))).collect();
    html! {
        details.facts {
            summary { (t("What was tested, with what, and who signed", "测试对象、测试工具与签名者")) }
            dl {
                (fact(t("Target", "被测方"), html! { bdi { (safe(&target.name)) " " (safe(&target.version)) } ", " (words::adapter(&target.adapter)) }))
                (fact(t("Files under test", "被测文件"), html! {
                    @for subject in &target.subjects { div { bdi { (safe(&subject.name)) } " " code.digest.tok tabindex="-1" { (safe(&subject.sha256)) } } }
                }))
                (fact(t("Specification", "规范"), html! { (words::full_name(&report.suite.name)) }))
                (fact(t("Versions spoken", "支持的版本"), list(&target.versions.iter().map(ToString::to_string).collect::<Vec<_>>())))
                (fact(t("Capabilities claimed", "声明的能力"), list(&target.capabilities)))
                (fact(t("Controls offered", "提供的控制手段"), list(&target.controls)))
                (fact(t("Declared by the target, and seen by no one else", "仅由被测方自述，他方无法核实"), list(&target.declared)))
                (fact(t("Suite", "测试套件"), html! { (report.suite.name) " " (safe(&report.suite.version)) " " code.digest.tok tabindex="-1" { (safe(&report.suite.vectors_sha256)) } }))
                (fact(t("Run by", "运行程序"), html! { (safe(&report.runner.name)) " " (safe(&report.runner.version)) ", " (environment.join(", ")) }))
                (fact(t("Began and ended", "起止时间"), html! { (safe(&report.started_at)) " – " (safe(&report.finished_at)) }))
                (fact(t("Signed by", "签名者"), html! {
                    @match view.signer {
                        Some(key) => { code.digest.tok tabindex="-1" { (safe(key)) } }
                        None => { (t("nobody", "未签名")) }
                    }
                }))
                (fact(t("SHA-256 of report.json", "report.json 的 SHA-256"), html! { code.digest.tok tabindex="-1" { (view.sha256) } }))
                @if !report.redacted.is_empty() {
                    (fact(t("Secrets taken out", "已隐去的机密"), html! {
                        @for (name, n) in &report.redacted { code { (safe(name)) } " " (count(*n as usize, "place", "places", "处")) " " }
                    }))
                }
            }
        }
    }
}

fn made_by(view: &View<'_>) -> Markup {
    let report = view.report;
    html! {
        p {
            (t("Made by", "生成程序：")) " " (safe(&report.runner.name)) " " (safe(&report.runner.version)) " · report.json "
            code.digest.tok tabindex="-1" { (view.sha256) }
        }
    }
}
