//! Long texts in a short, lossless form. The main functions are [`compact`] and [`expand`].
//!
//! A text with long runs of one character is written `{"$text":["{\"blob\":\"",{"repeat":"x","times":262144},"\"}"]}`.
//! Vectors use the form to ask for such a text, transcripts to keep what came. A genuine object whose only member begins
//! with `$` is wrapped in `{"$literal":…}`, so that nothing is lost.

use serde_json::{Map, Value as Json, json};

/// Runs shorter than this are left as they are.
const MIN_RUN: usize = 64;

/// Replaces every text with long runs, at any depth.
pub fn compact(json: &Json) -> Json {
    match json {
        Json::String(text) => compact_text(text),
        Json::Array(items) => items.iter().map(compact).collect(),
        Json::Object(members) => {
            let inner = Json::Object(members.iter().map(|(k, v)| (k.clone(), compact(v))).collect());
            if sole_dollar(members) { json!({ "$literal": inner }) } else { inner }
        }
        other => other.clone(),
    }
}

/// Undoes [`compact`].
///
/// # Errors
/// Says what is no such form, for a transcript that somebody edited.
pub fn expand(json: &Json) -> Result<Json, String> {
    match json {
        Json::Array(items) => items.iter().map(expand).collect(),
        Json::Object(members) if sole_dollar(members) => {
            if let Some(parts) = members.get("$text") {
                return expand_text(parts).map(Json::String);
            }
            match members.get("$literal") {
                Some(Json::Object(inner)) => expand_members(inner),
                _ => Err(format!("unknown form {:?}", members.keys().next())),
            }
        }
        Json::Object(members) => expand_members(members),
        other => Ok(other.clone()),
    }
}

fn expand_members(members: &Map<String, Json>) -> Result<Json, String> {
    let members: Result<Map<_, _>, String> = members.iter().map(|(k, v)| Ok((k.clone(), expand(v)?))).collect();
    members.map(Json::Object)
}

/// Texts above this are refused: no vector or transcript needs them, and a hostile count must not exhaust memory.
const MAX_TEXT: usize = 128 << 20;

/// The text of a `$text` list: strings and `{"repeat","times"}`.
///
/// # Errors
/// A part of another shape, or more than 128 MiB in all.
pub fn expand_text(parts: &Json) -> Result<String, String> {
    let mut out = String::new();
    for part in parts.as_array().ok_or("$text is a list")? {
        let (unit, times) = match part {
            Json::String(text) => (text.as_str(), 1),
            Json::Object(o) if o.len() == 2 => {
                let unit = o.get("repeat").and_then(Json::as_str).ok_or("repeat is a string")?;
                let times = o.get("times").and_then(Json::as_u64).ok_or("times is a whole number")?;
                (unit, usize::try_from(times).map_err(|_| "times is too large")?)
            }
            _ => return Err("a part of $text is a string or {\"repeat\",\"times\"}".into()),
        };
        let bytes = unit.len().checked_mul(times).and_then(|n| n.checked_add(out.len()));
        if bytes.is_none_or(|n| n > MAX_TEXT) {
            return Err(format!("a $text is longer than {MAX_TEXT} bytes"));
        }
        // Piece by piece would take longer than all else that is done with such a text.
        match times {
            1 => out.push_str(unit),
            _ => out.push_str(&unit.repeat(times)),
        }
    }
    Ok(out)
}

fn sole_dollar(members: &Map<String, Json>) -> bool {
    members.len() == 1 && members.keys().all(|k| k.starts_with('$'))
}

fn compact_text(text: &str) -> Json {
    if text.len() < MIN_RUN {
        return Json::String(text.to_owned());
    }
    let mut parts = Vec::new();
    let mut plain = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut times = 1;
        while chars.next_if(|(_, next)| *next == c).is_some() {
            times += 1;
        }
        if times >= MIN_RUN {
            if plain < start {
                parts.push(json!(&text[plain..start]));
            }
            parts.push(json!({ "repeat": c, "times": times }));
            plain = start + times * c.len_utf8();
        }
    }
    if parts.is_empty() {
        return Json::String(text.to_owned());
    }
    if plain < text.len() {
        parts.push(json!(&text[plain..]));
    }
    json!({ "$text": parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost() {
        let long = format!("{{\"blob\":\"{}\"}}", "测".repeat(100_000));
        for json in [
            json!(long),
            json!({"$text": ["a"]}),
            json!({"$literal": {"$literal": 1}}),
            json!({"a": {"$x": long}, "b": [long, "x".repeat(64), "x".repeat(63), 1, null]}),
            json!("ab".repeat(50)),
            json!({}),
        ] {
            let short = compact(&json);
            assert_eq!(expand(&short).unwrap(), json);
            assert!(short.to_string().len() < 1000, "{short}");
        }
    }

    #[test]
    fn hostile_forms_are_refused() {
        for json in [
            json!({"$text": [{"repeat": "xxxxxxxx", "times": u64::MAX}]}),
            json!({"$text": [{"repeat": "x", "times": 1 << 30}]}),
            json!({"$text": "x"}),
            json!({"$text": [{"repeat": 1, "times": 1}]}),
            json!({"$other": 1}),
            json!({"$literal": 1}),
        ] {
            assert!(expand(&json).is_err(), "{json}");
        }
    }
}
