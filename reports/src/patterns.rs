//! What was expected and what came, in words. The main functions are [`expected`] and [`received`].
//!
//! A pattern is JSON that a stranger cannot read at sight. The usual ones are said in words; of the rest the JSON is shown.

use crate::outline;
use crate::words::{Words, t};
use serde_json::{Map, Value as Json};

/// Android types of a Bundle, with the names that readers know.
const TYPES: &[(&str, &str)] = &[
    ("string", "String"),
    ("int", "Int"),
    ("long", "Long"),
    ("bool", "Boolean"),
    ("double", "Double"),
    ("float", "Float"),
    ("short", "Short"),
    ("byte", "Byte"),
    ("char", "Char"),
    ("int_array", "int[]"),
    ("long_array", "long[]"),
    ("bool_array", "boolean[]"),
    ("double_array", "double[]"),
    ("string_array", "String[]"),
    ("string_list", "ArrayList<String>"),
    ("int_list", "ArrayList<Integer>"),
    ("bytes", "byte[]"),
    ("bundle", "Bundle"),
    ("pending_intent", "PendingIntent"),
    ("fd", "ParcelFileDescriptor"),
];

/// What a pattern asks for.
pub fn expected(pattern: &Json) -> Words {
    match pattern {
        Json::Object(members) if members.len() == 1 => sole(members).unwrap_or_else(|| plain(pattern)),
        Json::Object(members) if members.contains_key("$tally") => {
            tally(&members["$tally"], members.get("counted")).unwrap_or_else(|| plain(pattern))
        }
        Json::Object(members) if !members.is_empty() && members.keys().all(|name| name.starts_with('$')) => {
            let parts: Vec<Words> = members
                .iter()
                .map(|(name, value)| expected(&Json::Object(Map::from_iter([(name.clone(), value.clone())]))))
                .collect();
            joined(&parts, " and ", "，且")
        }
        other => plain(other),
    }
}

/// What came.
pub fn received(value: Option<&Json>) -> Words {
    match value {
        None => t("nothing", "无"),
        Some(value) => typed(value).unwrap_or_else(|| plain(value)),
    }
}

/// The place of a mismatch: `${reply.data}/kind` is `reply.data › kind`.
pub fn place(pointer: &str) -> String {
    pointer.replace("${", "").replace('}', "").trim_start_matches('/').replace('/', " › ")
}

/// JSON, in which operators are said in words.
fn plain(json: &Json) -> Words {
    if outline::is_value(json) {
        let text = json.to_string();
        return t(text.clone(), text);
    }
    match json {
        Json::Object(members) => {
            let parts: Vec<Words> = members
                .iter()
                .map(|(name, inner)| {
                    let inner = expected(inner);
                    t(format!("\"{name}\": {}", inner.en), format!("\"{name}\": {}", inner.zh))
                })
                .collect();
            let inner = joined(&parts, ", ", "，");
            t(format!("{{{}}}", inner.en), format!("{{{}}}", inner.zh))
        }
        Json::Array(items) => {
            let inner = joined(&items.iter().map(expected).collect::<Vec<_>>(), ", ", "，");
            t(format!("[{}]", inner.en), format!("[{}]", inner.zh))
        }
        other => t(other.to_string(), other.to_string()),
    }
}

/// A number of elements, and how many there were.
fn tally(argument: &Json, counted: Option<&Json>) -> Option<Words> {
    let (number, of) = (expected(argument.get("is")?), expected(argument.get("of")?));
    let entries = if argument["is"].as_object().is_some_and(|is| is.values().all(|n| n == 1)) || argument["is"] == 1 {
        "entry"
    } else {
        "entries"
    };
    let mut words =
        t(format!("{} {entries} like {}", number.en, of.en), format!("{} 个形如 {} 的元素", number.zh, of.zh));
    if let Some(n) = counted {
        words.en += &format!("; {n} counted");
        words.zh += &format!("；实际为 {n} 个");
    }
    Some(words)
}

fn joined(parts: &[Words], en: &str, zh: &str) -> Words {
    let list = |of: fn(&Words) -> &str| parts.iter().map(of).collect::<Vec<_>>();
    t(list(|w| &w.en).join(en), list(|w| &w.zh).join(zh))
}

fn typed(value: &Json) -> Option<Words> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    let (name, inner) = members.iter().next()?;
    let (_, label) = TYPES.iter().find(|(known, _)| known == name)?;
    Some(t(format!("{label} {inner}"), format!("{label} {inner}")))
}

fn sole(members: &Map<String, Json>) -> Option<Words> {
    let (name, value) = members.iter().next()?;
    if let Some((_, label)) = TYPES.iter().find(|(known, _)| known == name) {
        let inner = expected(value);
        return Some(match value {
            Json::Object(o) if o.contains_key("$any") => t(format!("any {label}"), format!("任意 {label}")),
            _ => t(format!("{label} {}", inner.en), format!("{label} {}", inner.zh)),
        });
    }
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Some(match name.as_str() {
        "$any" => t("anything", "任意值"),
        "$absent" => t("nothing there", "不存在"),
        "$optional" => around(value, "nothing, or ", "不存在，或 "),
        "$fact" | "$equals" => expected(value),
        "$not" => around(value, "anything but ", "除此之外的任意值："),
        "$one_of" => alternatives(value.as_array()?),
        "$all" => joined(&value.as_array()?.iter().map(expected).collect::<Vec<_>>(), " and ", "，且"),
        "$type" => t(format!("a JSON {text}"), format!("JSON 类型 {text}")),
        "$gt" => t(format!("more than {text}"), format!("大于 {text}")),
        "$gte" => t(format!("at least {text}"), format!("至少 {text}")),
        "$lt" => t(format!("less than {text}"), format!("小于 {text}")),
        "$lte" => t(format!("at most {text}"), format!("至多 {text}")),
        "$length" => around(value, "a length of ", "长度为 "),
        "$utf8_bytes" => around(value, "a UTF-8 length in bytes of ", "UTF-8 字节数为 "),
        "$starts_with" => t(format!("a text that begins with {value}"), format!("以 {value} 开头的文本")),
        "$has_text" => t(format!("a text that holds {value}"), format!("包含 {value} 的文本")),
        "$lacks" => t(format!("a text without any of {text}"), format!("不含下列任何内容的文本：{text}")),
        "$regex" => t(format!("a text of the form {text}"), format!("符合 {text} 的文本")),
        "$uuid_form" => t("a UUID of 36 characters", "36 个字符的 UUID"),
        "$json" => around(value, "JSON text: ", "JSON 文本："),
        "$each" => around(value, "each element: ", "每个元素："),
        "$tally" => tally(value, None)?,
        "$only" => t(format!("no other members than {text}"), format!("不含 {text} 以外的成员")),
        "$unique" if text.is_empty() => t("no two elements alike", "元素互不相同"),
        "$unique" => t(format!("no two elements with the same {text}"), format!("各元素的 {text} 互不相同")),
        "$descending" => t("numbers, none greater than the one before", "依次不增的数"),
        "$instant" => around(value, "an instant, in milliseconds since 1970: ", "时刻（1970 年以来的毫秒数）："),
        "$instance_of" => {
            around(&value["schema"], "a value that conforms to the JSON Schema ", "符合此 JSON Schema 的值：")
        }
        "$valid_schema" => t(format!("a valid schema of {text}"), format!("{text} 的有效 schema")),
        "$self_contained" => t("a schema without outside references", "不引用外部文档的 schema"),
        "$same" if text.is_empty() => t("all elements alike", "所有元素相同"),
        "$same" => t(format!("the same {text} in all elements"), format!("所有元素的 {text} 相同")),
        "$bag" => around(value, "exactly these, in any order: ", "恰为以下元素，顺序不限："),
        "$some" => around(value, "at least one element: ", "至少一个元素："),
        _ => return None,
    })
}

fn around(value: &Json, en: &str, zh: &str) -> Words {
    let inner = expected(value);
    t(format!("{en}{}", inner.en), format!("{zh}{}", inner.zh))
}

fn alternatives(list: &[Json]) -> Words {
    match list {
        [one] => expected(one),
        _ => {
            let parts: Vec<Words> = list.iter().map(expected).collect();
            joined(&parts, " or ", " 或 ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn usual_patterns_are_said_in_words() {
        for (pattern, en) in [
            (json!({"string": {"$one_of": ["DEADLINE_EXCEEDED"]}}), "String \"DEADLINE_EXCEEDED\""),
            (json!({"bool": {"$any": true}}), "any Boolean"),
            (json!({"$length": {"$gte": 1}}), "a length of at least 1"),
            (json!({"$not": "x"}), "anything but \"x\""),
            (json!({"$gte": 1, "$lt": 5}), "at least 1 and less than 5"),
            (json!({"a": 1, "b": 2}), "{\"a\":1,\"b\":2}"),
            (json!({"a": 1, "b": {"$any": true}}), "{\"a\": 1, \"b\": anything}"),
            (
                json!({"$tally": {"is": {"$lte": 1}, "of": {"id": "x"}}, "counted": 2}),
                "at most 1 entry like {\"id\":\"x\"}; 2 counted",
            ),
            (json!({"$tally": {"is": 2, "of": {"$any": true}}}), "2 entries like anything"),
            (json!("error"), "\"error\""),
        ] {
            assert_eq!(expected(&pattern).en, en);
        }
        assert_eq!(place("${reply.data}/kind"), "reply.data › kind");
        assert_eq!(received(None).zh, "无");
        assert_eq!(received(Some(&json!({"int": 2}))).en, "Int 2");
    }
}
