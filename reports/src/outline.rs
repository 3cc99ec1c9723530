//! Long patterns and values on several lines, as a person would write them down. The main functions are [`pattern`] and
//! [`value`].
//!
//! A difference line by line says something where both sides are values. A pattern with operators is written out beside the
//! value: members in lines, operators in words.

use crate::patterns::expected;
use crate::words::{Words, t};
use serde_json::{Map, Value as Json};

/// Whether a pattern is a value and holds no operator, so that it can be compared with another line by line.
pub fn is_value(pattern: &Json) -> bool {
    match pattern {
        Json::Object(members) => members.iter().all(|(name, inner)| !name.starts_with('$') && is_value(inner)),
        Json::Array(items) => items.iter().all(is_value),
        _ => true,
    }
}

/// What a pattern asks for, with a line for each member.
pub fn pattern(pattern: &Json) -> Words {
    let (mut en, mut zh) = (String::new(), String::new());
    write(&mut en, pattern, 0, |words| &words.en);
    write(&mut zh, pattern, 0, |words| &words.zh);
    t(en, zh)
}

/// A value, with a line for each member.
pub fn value(value: &Json) -> String {
    let mut out = String::new();
    write(&mut out, value, 0, |words| &words.en);
    out
}

fn write(out: &mut String, json: &Json, depth: usize, language: fn(&Words) -> &str) {
    let indent = |out: &mut String, depth: usize| out.extend(std::iter::repeat_n("  ", depth));
    match json {
        Json::Object(members) if members.keys().any(|name| name.starts_with('$')) => match around(members) {
            Some((words, inner)) => {
                out.push_str(language(&words));
                write(out, inner, depth, language);
            }
            None => out.push_str(language(&expected(json))),
        },
        Json::Object(members) if !members.is_empty() => {
            out.push_str("{\n");
            for (name, inner) in members {
                indent(out, depth + 1);
                out.push_str(name);
                out.push_str(": ");
                write(out, inner, depth + 1, language);
                out.push('\n');
            }
            indent(out, depth);
            out.push('}');
        }
        Json::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            out.push_str("[\n");
            for item in items {
                indent(out, depth + 1);
                write(out, item, depth + 1, language);
                out.push('\n');
            }
            indent(out, depth);
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// An operator that stands around a value, which is written out below its words.
fn around(members: &Map<String, Json>) -> Option<(Words, &Json)> {
    let (name, inner) = members.iter().next().filter(|_| members.len() == 1)?;
    let words = match name.as_str() {
        "$json" => t("JSON text of ", "JSON 文本："),
        "$bag" => t("exactly these, in any order: ", "恰为以下元素，顺序不限："),
        "$equals" => t("exactly ", "恰为："),
        _ => return None,
    };
    Some((words, inner))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_stand_in_lines_and_operators_in_words() {
        let written =
            pattern(&json!({"string": {"$json": {"id": "${r.id}", "state": {"$one_of": ["queued", "running"]}}}}));
        let lines = [
            "{",
            "  string: JSON text of {",
            "    id: \"${r.id}\"",
            "    state: \"queued\" or \"running\"",
            "  }",
            "}",
        ];
        assert_eq!(written.en, lines.join("\n"));
        assert!(
            written.zh.contains("JSON 文本：{") && written.zh.contains("\"queued\" 或 \"running\""),
            "{}",
            written.zh
        );
        assert_eq!(
            value(&json!({"a": [1, 2], "b": [{"c": null}]})),
            "{\n  a: [1,2]\n  b: [\n    {\n      c: null\n    }\n  ]\n}"
        );
    }

    #[test]
    fn what_holds_operators_is_no_value() {
        assert!(is_value(&json!({"a": [1, {"b": "${uuid.r}"}]})));
        for pattern in [json!({"a": {"$any": true}}), json!([{"$type": "string"}])] {
            assert!(!is_value(&pattern), "{pattern}");
        }
    }
}
