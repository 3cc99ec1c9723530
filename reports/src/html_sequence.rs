//! The messages of a vector as a sequence between runner and target. The main function is [`sequence`].

use crate::html_vector::Detail;
use crate::sequence::{Exchange, Mood, exchanges};
use crate::text::{clip, safe};
use crate::view::{Row, Weight};
use crate::words::t;
use cetp_vectors::transcript::{Entry, Transcript};
use maud::{Markup, html};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// Messages before one in which something was found that are shown with it in any case.
const BEFORE: usize = 2;

pub(crate) fn sequence(row: &Row<'_>, transcript: &Transcript, detail: &Detail, short: bool) -> Markup {
    let all = exchanges(transcript);
    let (chars, most) =
        if short { (detail.short_chars, detail.short_messages) } else { (detail.passed_chars, detail.passed_messages) };
    let found: BTreeSet<String> = row
        .weighed()
        .into_iter()
        .filter(|(weight, finding)| *weight != Weight::Remark && !finding.at.is_empty())
        .filter_map(|(_, finding)| Row::message_of(finding, transcript))
        .collect();
    let bad = |exchange: &Exchange| !exchange.from_target && found.contains(&exchange.at);
    // Of a long sequence the beginning, the end, and where something was found with what came just before.
    let near = |n: usize| most > 0 && all[n..].iter().take(BEFORE + 1).any(bad);
    let shown = |n: usize| n < most / 2 || n + most / 2 >= all.len() || near(n);
    // As they were sent: those in which something was found, and the nearest before the last of them.
    let entries: BTreeMap<&str, &Entry> = transcript.entries.iter().map(|entry| (entry.at.as_str(), entry)).collect();
    let sent = || (0..all.len()).filter(|n| shown(*n) && !all[*n].from_target);
    let last = sent().rfind(|n| bad(&all[*n])).or_else(|| sent().next_back());
    let typed: BTreeSet<usize> = match last {
        Some(last) if short && detail.typed_messages > 0 => {
            let before = sent().filter(|n| *n <= last).rev().take(detail.typed_messages);
            before.chain(sent().filter(|n| bad(&all[*n]))).collect()
        }
        _ => BTreeSet::new(),
    };
    // Where something is left out there is a gap.
    let mut items: Vec<Option<usize>> = Vec::new();
    for n in 0..all.len() {
        if shown(n) {
            items.push(Some(n));
        } else if !matches!(items.last(), Some(None)) {
            items.push(None);
        }
    }
    html! {
        @if !all.is_empty() && most > 0 {
            div.lanes { span { (t("runner", "运行器")) } span { (t("target", "被测方")) } }
            ol.sequence aria-label=(t("Messages: what the runner asks, then what the target answers", "消息：先为运行器的请求，后为被测方的答复").both()) {
                @for item in &items {
                    @if let Some(n) = item {
                        @let exchange = &all[*n];
                        (message(exchange, bad(exchange), chars, typed.contains(n).then(|| entries.get(exchange.at.as_str()).copied()).flatten()))
                    } @else {
                        li.gap { "⋮" }
                    }
                }
            }
        }
        @let hidden = if most == 0 { all.len() } else { (0..all.len()).filter(|n| !shown(*n)).count() };
        @if hidden > 0 {
            p.quiet { (t(format!("{hidden} of {} messages are not shown here; report.json has them all.", all.len()),
                         format!("共 {} 条消息，此处略去 {hidden} 条；report.json 中有全部消息。", all.len()))) }
        }
        @let raw = sent().filter(|n| !typed.contains(n)).count();
        @if short && most > 0 && raw > 0 {
            p.quiet { (t(format!("{raw} {} not shown as sent; report.json has them all.", if raw == 1 { "message is" } else { "messages are" }),
                         format!("有 {raw} 条消息未列出原始形式；report.json 中有全部原始消息。"))) }
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
            @if !exchange.at.is_empty() {
                span.at { (safe(&exchange.at)) @if bad { " " b.mark { "✗" span.hush { " " (t("here it fell short", "不足之处在此")) } } } }
            }
            p.ask {
                b { bdi { (safe(&exchange.verb)) } } @if !exchange.about.is_empty() { " " span.who { bdi { (safe(&exchange.about)) } } }
                @for label in &exchange.labels { " " span.label { bdi { (safe(label)) } } }
                @if !exchange.content.is_empty() { " " code { bdi { (tokens(&exchange.content, chars)) } } }
            }
            p.reply.(mood) {
                b { bdi { (safe(&exchange.answer)) } }
                @if !exchange.brought.is_empty() { " " code { bdi { (tokens(&exchange.brought, chars)) } } }
            }
            @if let Some(entry) = typed { (as_sent(entry, chars)) }
        }
    }
}

/// A run of so many letters and digits is a token, a digest or the like, and nobody reads it.
const TOKEN: usize = 40;

/// A text of at most so many characters, whose tokens are cut by the style sheet until they are asked for.
pub(crate) fn tokens(text: &str, most: usize) -> Markup {
    let text = clip(&safe(text), most);
    let opaque = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '/' | '.' | '…');
    let mut parts: Vec<(bool, &str)> = Vec::new();
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let inside = opaque(first);
        let end = rest.find(|c| opaque(c) != inside).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        parts.push((inside && end > TOKEN, part));
        rest = after;
    }
    html! {
        @for (long, part) in parts {
            @if long { span.tok tabindex="-1" { (part) } } @else { (part) }
        }
    }
}

/// A message as it was on the wire, with its types.
fn as_sent(entry: &Entry, chars: usize) -> Markup {
    html! {
        details.raw {
            summary { (t("as it was sent", "原始消息")) }
            pre { (safe(&entry.verb)) " " (whole(&entry.params, chars)) }
            @if let cetp_vectors::machine::Answer::Result(result) = &entry.answer { pre { (whole(result, chars)) } }
        }
    }
}

/// JSON, and how much of it is left out.
fn whole(json: &Json, chars: usize) -> Markup {
    let most = chars.saturating_mul(2);
    let text = safe(&json.to_string());
    let more = text.chars().count().saturating_sub(most);
    html! {
        (clip(&text, most))
        @if more > 0 { " " em { (t(format!("{more} more characters are in report.json"), format!("其余 {more} 个字符见 report.json"))) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_tokens_are_marked_and_words_are_not() {
        let token = "a1".repeat(30);
        let marked = tokens(&format!("data={{\"t\":\"{token}\"}} and plain words"), 1000).into_string();
        assert!(marked.contains(&format!("<span class=\"tok\" tabindex=\"-1\">{token}</span>")), "{marked}");
        assert_eq!(marked.matches("tok").count(), 1, "{marked}");
        assert!(!tokens("<b>", 10).into_string().contains('<'));
    }
}
