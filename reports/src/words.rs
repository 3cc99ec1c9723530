//! Words of the page, in English and Chinese: the readers of the specification are Chinese. The main type is [`Words`].
//!
//! Requirement texts exist in English only; they are translations of sentences whose section is named.

use crate::claims::Word;
use crate::model::Verdict;
use cetp_vectors::judge::Outcome;
use cetp_vectors::ledger::{Requirement, Role, Strength};
use maud::{Markup, Render, html};

/// A text in both languages. Rendered, both are there, and the style sheet shows one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// English.
    pub en: String,
    /// Chinese.
    pub zh: String,
}

/// Both languages of a text.
pub fn t(en: impl Into<String>, zh: impl Into<String>) -> Words {
    Words { en: en.into(), zh: zh.into() }
}

impl Words {
    /// One text for places that hold no elements, such as labels: both languages, if they differ.
    pub fn both(&self) -> String {
        if self.en == self.zh { self.en.clone() } else { format!("{} / {}", self.en, self.zh) }
    }
}

impl Render for Words {
    fn render(&self) -> Markup {
        if self.en == self.zh {
            return html! { (self.en) };
        }
        html! { span.e { (self.en) } span.z lang="zh-Hans" { (self.zh) } }
    }
}

/// An outcome, as a participle that fits a vector and a requirement.
pub fn outcome(outcome: Outcome) -> Words {
    match outcome {
        Outcome::Pass => t("passed", "通过"),
        Outcome::Fail => t("failed", "失败"),
        Outcome::Error => t("broke", "出错"),
        Outcome::NotRun => t("not run", "未运行"),
        Outcome::Warn => t("warned", "警告"),
        Outcome::NotApplicable => t("not applicable", "不适用"),
    }
}

/// What an outcome means.
pub fn outcome_meaning(outcome: Outcome) -> Words {
    match outcome {
        Outcome::Pass => t("All that was expected came.", "所有预期均已满足。"),
        Outcome::Fail => t("A sentence of the specification is broken.", "违反了规范中的某条要求。"),
        Outcome::Error => t(
            "The target or the suite broke, or the fixture is not as agreed: this is nobody's verdict.",
            "被测方或测试套件出错，或夹具与约定不符：不构成任何一方的判定。",
        ),
        Outcome::NotRun => t(
            "A control, tool or fact that the vector needs is missing. No claim survives such a gap.",
            "缺少该向量所需的控制手段、工具或事实。存在此类缺口时不得作出声明。",
        ),
        Outcome::Warn => t(
            "A recommendation (should) is not met, or what came lies where the suite accepts it and advises against it.",
            "未满足某条“应该”要求，或答复处于测试套件容许但不建议的范围。",
        ),
        Outcome::NotApplicable => t(
            "It is about a capability or version that the target does not claim; or the target gave an answer that is permitted and left nothing to judge. A requirement is so only where no vector about it judged it.",
            "针对被测方未声明的能力或版本；或被测方给出了允许的答复，因而没有可判定的内容。仅当没有任何向量判定某条要求时，该要求才为不适用。",
        ),
    }
}

/// What a vector says of one requirement.
pub fn word(word: Word) -> Words {
    match word {
        Word::Said(said) => outcome(said),
        Word::EndedEarlier => t("ended earlier", "提前结束"),
        Word::Unsteady => t("unsteady", "结果不稳定"),
    }
}

/// The sign of it.
pub fn word_sign(word: Word) -> &'static str {
    match word {
        Word::Said(outcome) => sign(outcome),
        Word::EndedEarlier | Word::Unsteady => PARTLY_SIGN,
    }
}

/// Said of a requirement that some of its vectors did not come to judge.
pub fn partly() -> Words {
    t("not fully judged", "未完全判定")
}

/// The sign of it.
pub const PARTLY_SIGN: &str = "◐";

/// The sign of an outcome, so that it is not told by colour alone.
pub fn sign(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "✓",
        Outcome::Fail => "✗",
        Outcome::Error => "!",
        Outcome::NotRun => "○",
        Outcome::Warn => "△",
        Outcome::NotApplicable => "–",
    }
}

/// The class name of an outcome.
pub fn class(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Pass) => "pass",
        Some(Outcome::Fail) => "fail",
        Some(Outcome::Error) => "error",
        Some(Outcome::NotRun) => "notrun",
        Some(Outcome::Warn) => "warn",
        Some(Outcome::NotApplicable) => "na",
        None => "none",
    }
}

/// A verdict on a level.
pub fn verdict(verdict: Verdict) -> Words {
    match verdict {
        Verdict::Pass => t("Passed", "通过"),
        Verdict::Fail => t("Failed", "未通过"),
        Verdict::Error => t("No verdict", "无法判定"),
        Verdict::Incomplete => t("Not proven", "尚未证实"),
        Verdict::NotApplicable => t("Not claimed", "未声明"),
    }
}

/// The class name of a verdict.
pub fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Error => "error",
        Verdict::Incomplete => "notrun",
        Verdict::NotApplicable => "na",
    }
}

/// The sign of a verdict.
pub fn verdict_sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "✓",
        Verdict::Fail => "✗",
        Verdict::Error => "!",
        Verdict::Incomplete => "○",
        Verdict::NotApplicable => "–",
    }
}

/// How strongly a requirement obliges; the Chinese is that of the specification.
pub fn strength(strength: Strength) -> Words {
    match strength {
        Strength::Must => t("must", "必须"),
        Strength::MustNot => t("must not", "不得"),
        Strength::Should => t("should", "应该"),
        Strength::May => t("may", "可以"),
    }
}

/// What is accepted as meeting a requirement, where its text leaves that open.
pub fn accepted(requirement: &Requirement) -> Markup {
    html! {
        @if let Some(interpretation) = &requirement.interpretation {
            p.accepted lang="en" { span.tag { (t("accepted", "可接受")) } " " (interpretation) }
        }
    }
}

/// The full name of a suite's specification, for who has not heard of it.
pub fn full_name(suite: &str) -> Words {
    match suite {
        "cetp-v2" => {
            t("ClawSeed External Tool Protocol (CETP) v2", "ClawSeed External Tool Protocol (CETP) v2 实验规范")
        }
        other => t(specification(other), specification(other)),
    }
}

/// A role.
pub fn role(role: Role) -> Words {
    match role {
        Role::Provider => t("provider", "提供方（Provider）"),
        Role::Consumer => t("consumer", "消费方（Consumer）"),
        Role::Both => t("provider and consumer", "提供方与消费方"),
        Role::Host => t("host", "宿主（Host）"),
        Role::Admission => t("admission check", "准入检查"),
    }
}

/// A level: core, or an optional capability.
pub fn level(name: &str) -> Words {
    match name {
        "core" => t("core", "核心"),
        "v1_compat" => t("v1 compatibility", "v1 兼容"),
        "async_operations" => t("async operations", "异步操作"),
        "cancellation" => t("cancellation", "取消"),
        "large_results" => t("large results", "大结果"),
        "text_replacement" => t("text replacement", "文本替换"),
        other => t(other, other),
    }
}

/// A suite's specification.
pub fn specification(suite: &str) -> &str {
    match suite {
        "cetp-v2" => "CETP v2",
        "aw-provider-v1alpha1" => "aw-provider/v1alpha1",
        other => other,
    }
}

/// How a target was reached.
pub fn adapter(kind: &str) -> Words {
    match kind {
        "in-process" => t("in the runner's own process", "在运行器进程内"),
        "stdio" => t("as a program, over standard input and output", "作为程序，经标准输入输出"),
        "spawn" => t("as a program that is started for each request", "每个请求启动一个进程"),
        "adb" => t("on an Android device", "在 Android 设备上"),
        other => t(other, other),
    }
}

/// The titles of the sections of CETP v2; the Chinese is the specification's own.
const SECTIONS: &[(&str, &str, &str)] = &[
    ("1", "Design goals", "设计目标"),
    ("2", "Discovery and negotiation", "兼容发现与协商"),
    ("2.1", "Manifest declaration", "Manifest 声明"),
    ("2.2", "negotiate", "negotiate"),
    ("2.3", "Core and optional capabilities", "v2 核心与可选能力"),
    ("3", "Provider and tool descriptions", "Provider 与工具描述"),
    ("3.1", "Stable identity", "稳定标识"),
    ("3.2", "get_provider_info", "get_provider_info"),
    ("3.3", "list_tools", "list_tools"),
    ("3.4", "Tool annotations", "工具注解"),
    ("4", "Calling tools", "调用模型"),
    ("4.1", "Fields of every request", "通用请求字段"),
    ("4.2", "Synchronous success", "同步成功"),
    ("4.3", "Authorization and confirmation of each call", "Provider 授权与逐次确认"),
    ("4.4", "Asynchronous operations", "异步操作"),
    ("4.5", "Large results", "大结果"),
    ("5", "Errors", "错误模型"),
    ("6", "Idempotency, retries and concurrency", "幂等、重试与并发"),
    ("7", "Security", "安全模型"),
    ("7.1", "Identity of the caller", "调用方身份"),
    ("7.2", "Least privilege and confirmation", "最小权限与确认"),
    ("7.3", "Untrusted content", "不可信内容"),
    ("8", "Coexistence with v1 and migration", "v1 共存与迁移"),
    ("9", "Conformance testing", "一致性测试要求"),
    ("10", "Android SDK", "Android SDK 实现"),
];

/// The title of a section of a suite's specification.
pub fn section(suite: &str, number: &str) -> Words {
    let known = SECTIONS.iter().find(|(n, ..)| suite == "cetp-v2" && *n == number);
    match known {
        Some((_, en, zh)) => t(*en, *zh),
        None if number.is_empty() => t(specification(suite), specification(suite)),
        None => t("", ""),
    }
}

/// An order of sections in which 10 comes after 9.
pub fn section_order(number: &str) -> Vec<u32> {
    number.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}

/// So many of something; English has a plural.
pub fn count(n: usize, one: &str, many: &str, zh: &str) -> Words {
    t(format!("{n} {}", if n == 1 { one } else { many }), format!("{n} {zh}"))
}
