//! How to read the page and check the report: what its words and signs mean. The main function is [`about`].

use crate::view::View;
use crate::words::{self, Words, t};
use cetp_vectors::judge::Outcome;
use maud::{Markup, html};

/// The last part of the page.
pub(crate) fn about(view: &View<'_>) -> Markup {
    let signed = view.signer.is_some();
    html! {
        section.about aria-labelledby="about" {
            h2 id="about" { (t("Legend: how to read and check this report", "图例：如何阅读与核对本报告")) }
            h3 { (t("Outcomes", "结果")) }
            dl.meanings {
                @for outcome in Outcome::ALL {
                    div { dt.(words::class(Some(outcome))) { i aria-hidden="true" { (words::sign(outcome)) } " " (words::outcome(outcome)) } dd { (words::outcome_meaning(outcome)) } }
                }
                div { dt.notrun { i aria-hidden="true" { (words::PARTLY_SIGN) } " " (words::partly()) } dd { (t(
                    "Said of a requirement: some vectors about it ended over another requirement (“ended earlier”), or were not run, before they had judged this one. What the others say is counted beside it. It is not green until all have judged it.",
                    "用于要求：部分相关向量在判定本条之前已因其他要求而结束（“提前结束”），或未运行；其余向量的结果列在旁边。全部判定之前不算通过。")) } }
                div { dt.none { i aria-hidden="true" { "·" } " " (t("not by vectors", "不由向量判定")) } dd { (t(
                    "A requirement that messages cannot show, such as one on documents or source text; beside it stands what judges it instead, if anything does. Nothing is said of it here.",
                    "无法由消息体现的要求，例如关于文档或源代码的要求；旁边注明由何者判定。本页不作判定。")) } }
            }
            h3 { (t("Words", "术语")) }
            dl.meanings { @for (name, meaning) in terms() { div { dt { (name) } dd { (meaning) } } } }
            h3 { (t("Checking the report", "核对报告")) }
            p { (t(
                "This page is made from report.json and can be made again. To check the report itself, judge it again from its transcripts:",
                "本页由 report.json 生成，可重新生成。如需核对报告本身，可依据其消息记录重新判定：")) }
            pre { code { "cetp-conformance report verify DIR " @if signed { "--key PUB.pem" } @else { "--unsigned" } } }
            p { (t(
                "A signature shows who vouches for the transcripts, not that they took place. What the target declared of itself nobody else has seen.",
                "签名表明由谁为消息记录担保，并不证明其确曾发生。被测方自述之事，他方无从核实。")) }
        }
    }
}

fn terms() -> Vec<(Words, Words)> {
    vec![
        (
            t("vector", "测试向量"),
            t(
                "One test: messages that are sent to the target, and what must come back. The first step that decides ends it. Each expectation names the requirement that it judges.",
                "即一项测试：发送给被测方的消息，以及必须得到的答复。由首个能定论的步骤作结。每条预期都指明其判定的要求。",
            ),
        ),
        (
            t("requirement", "要求"),
            t(
                "Our English of a sentence of the specification, whose section is named. “Our reading” marks one that the sentence does not say in so many words.",
                "规范相应语句的英文表述，并注明所在章节。“我方解读”表示规范未如此明言。",
            ),
        ),
        (
            t("core, level", "核心、级别"),
            t(
                "Core is what every implementation must do. Every further level is a capability that a target may claim, and is judged only where it does.",
                "核心是所有实现都必须满足的部分。其他级别为被测方可声明的可选能力，仅在声明后判定。",
            ),
        ),
        (
            t("control", "控制手段"),
            t(
                "What a test needs to steer at the target and no message of the protocol can: its clock, a restart, what the user decides. A target says which it offers.",
                "测试需要操控、而协议消息无法做到的事：时钟、重启、用户的决定等。由被测方说明提供哪些。",
            ),
        ),
        (
            t("fixture", "夹具"),
            t(
                "The tools, accounts and callers that a target must offer for the tests, named fixture_…, with agreed behaviour.",
                "被测方须为测试提供的工具、账户与调用方，以 fixture_ 命名，行为事先约定。",
            ),
        ),
        (
            t("step 0[0].1{2}.0", "步骤 0[0].1{2}.0"),
            t(
                "A place in a vector. Steps count from 0; [n] is round n of a step that repeats, {n} the nth of several branches that run at the same time, .n a step within.",
                "向量中的位置。步骤从 0 起计；[n] 为重复步骤的第 n 轮，{n} 为同时进行的第 n 个分支，.n 为其中的步骤。",
            ),
        ),
        (
            t("session S1, request R1", "session S1、request R1"),
            t(
                "Short names for opaque values: the same name is the same value wherever it occurs in a vector.",
                "不透明值的简称：同一向量中，名称相同即值相同。",
            ),
        ),
        (
            t("Run it again", "重新运行"),
            t(
                "The command that runs one vector again. This report does not hold how the target was reached: put your own for your-target.toml.",
                "重新运行单个向量的命令。报告未记录被测方的连接方式：请将 your-target.toml 换成你的目标文件。",
            ),
        ),
    ]
}
