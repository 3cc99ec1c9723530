//! What was expected and what came, side by side or line by line. The main function is [`mismatches`].

use crate::outline;
use crate::patterns::{expected, place, received};
use crate::text::{clip, safe, telling};
use crate::words::{Words, count, t};
use cetp_vectors::judge::Finding;
use cetp_vectors::matching::Mismatch;
use maud::{Markup, html};
use serde_json::Value as Json;

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
    let place = place(&mismatch.pointer);
    let long = is_long(&wanted) || is_long(&came);
    html! {
        dl.diff {
            @if !place.is_empty() { div.at { dt { (t("at", "位置")) } dd { code { bdi { (safe(&place)) } } } } }
            @match &mismatch.actual {
                Some(actual) if long && outline::is_value(&mismatch.expected) => {
                    div.long { dt { (t("difference", "差异")) } dd { (lines(&mismatch.expected, actual)) } }
                }
                actual => {
                    // Both in the same form, so that what is equal looks so.
                    (side("wanted", expected_word(), &wanted, long, || outline::pattern(&mismatch.expected)))
                    (side("came", received_word(), &came, long && actual.is_some(), || {
                        let text = actual.as_ref().map(outline::value).unwrap_or_default();
                        t(text.clone(), text)
                    }))
                }
            }
        }
    }
}

fn expected_word() -> Words {
    t("expected", "预期")
}

fn received_word() -> Words {
    t("received", "实际")
}

fn is_long(words: &Words) -> bool {
    words.en.chars().count() > LINE
}

/// What was expected, or what came: in a line, or where it is long in several.
fn side(class: &str, name: Words, short: &Words, long: bool, outline: impl Fn() -> Words) -> Markup {
    html! {
        @if long {
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
    let (wanted, came) = (outline::pattern(wanted).en + "\n", outline::value(&asked_for(wanted, came)) + "\n");
    let diff = similar::TextDiff::from_lines(&wanted, &came);
    let cut = |text: &str| clip(&safe(text.trim_end_matches('\n')), 400);
    html! {
        p.sides { del { "− " (expected_word()) } " " ins { "+ " (received_word()) } }
        pre.lines {
            @for change in diff.iter_all_changes().take(MOST) {
                @match change.tag() {
                    similar::ChangeTag::Delete => { del { "− " (cut(change.value())) } "\n" }
                    similar::ChangeTag::Insert => { ins { "+ " (cut(change.value())) } "\n" }
                    similar::ChangeTag::Equal => { "  " (cut(change.value())) "\n" }
                }
            }
            @if diff.iter_all_changes().count() > MOST { "  …" }
        }
        @if wanted == came {
            p.quiet { (t("What is shown of both is equal; they differ further on, or in members that were not asked for. report.json has them whole.",
                         "此处显示的部分相同；差异在其后，或在未要求的成员中。report.json 中有完整内容。")) }
        }
    }
}

/// What came without the members that the pattern leaves free: they are no difference.
fn asked_for(pattern: &Json, came: &Json) -> Json {
    match (pattern, came) {
        (Json::Object(pattern), Json::Object(came)) => {
            came.iter().filter_map(|(name, inner)| Some((name.clone(), asked_for(pattern.get(name)?, inner)))).collect()
        }
        (Json::Array(pattern), Json::Array(came)) if pattern.len() == came.len() => {
            pattern.iter().zip(came).map(|(pattern, inner)| asked_for(pattern, inner)).collect()
        }
        // Which element stands for which cannot be told: each is cut to what any of the pattern's asks for.
        (Json::Array(pattern), Json::Array(came)) => {
            let members = pattern.iter().filter_map(Json::as_object).flatten();
            let any = Json::Object(members.map(|(name, inner)| (name.clone(), inner.clone())).collect());
            let cut = |inner: &Json| {
                if inner.is_object() && any != serde_json::json!({}) { asked_for(&any, inner) } else { inner.clone() }
            };
            came.iter().map(cut).collect()
        }
        _ => came.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_that_nobody_asked_for_are_no_difference() {
        let pattern = json!([{"id": 1}, {"id": 2, "in": {"a": 1}}]);
        let came = json!([{"id": 1, "more": 1}, {"id": 3, "in": {"a": 1, "b": 2}}]);
        assert_eq!(asked_for(&pattern, &came), json!([{"id": 1}, {"id": 3, "in": {"a": 1}}]));
        assert_eq!(asked_for(&pattern, &json!([{"id": 1, "more": 1}])), json!([{"id": 1}]));
        assert_eq!(asked_for(&json!("x"), &json!({"y": 1})), json!({"y": 1}));
        assert_eq!(asked_for(&json!([]), &json!([{"y": 1}])), json!([{"y": 1}]));
    }
}
