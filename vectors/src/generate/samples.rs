//! Values that probably conform to a JSON Schema. The main function is [`sample`].

use serde_json::{Map, Value as Json, json};

/// Texts, lists and numbers are not made larger than that.
pub(super) const LARGEST: u64 = 4096;
/// A value has no more values within. Texts do not count: they are bounded by [`LARGEST`] each.
const MOST_VALUES: u64 = 16_384;
/// Schemas are not followed deeper.
pub(super) const DEEPEST: usize = 12;

/// What a local reference means; anything else for itself.
pub(super) fn followed<'s>(schema: &'s Json, root: &'s Json) -> &'s Json {
    let target = schema.get("$ref").and_then(Json::as_str).and_then(|text| text.strip_prefix('#'));
    target.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// A value that probably conforms; nothing where it would be large.
pub(super) fn sample(schema: &Json, root: &Json, depth: usize) -> Option<Json> {
    part(schema, root, depth, &mut { MOST_VALUES })
}

/// A part of a value, which may still have so many.
fn part(schema: &Json, root: &Json, depth: usize, left: &mut u64) -> Option<Json> {
    if depth > DEEPEST {
        return None;
    }
    *left = left.checked_sub(1)?;
    let schema = followed(schema, root);
    if let Some(value) = schema.get("const") {
        return Some(value.clone());
    }
    for list in ["enum", "examples"] {
        if let Some(first) = schema[list].as_array().and_then(|list| list.first()) {
            return Some(first.clone());
        }
    }
    // Of combined schemas the first that says anything.
    let mut merged = schema.as_object().cloned().unwrap_or_default();
    for list in ["allOf", "anyOf", "oneOf"] {
        let parts = schema[list].as_array().map(Vec::as_slice).unwrap_or_default();
        for part in if list == "allOf" { parts } else { &parts[..parts.len().min(1)] } {
            for (name, value) in followed(part, root).as_object().into_iter().flatten() {
                merge(&mut merged, name, value);
            }
        }
    }
    let schema = Json::Object(merged);
    let kind = match &schema["type"] {
        Json::String(kind) => kind.clone(),
        Json::Array(kinds) => kinds.first()?.as_str()?.to_owned(),
        _ if schema.get("properties").is_some() || schema.get("required").is_some() => "object".into(),
        _ if schema.get("items").is_some() => "array".into(),
        _ if schema.get("minimum").is_some() || schema.get("maximum").is_some() => "number".into(),
        _ => "string".into(),
    };
    Some(match kind.as_str() {
        "object" => {
            let mut out = Map::new();
            for name in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
                let property = schema["properties"].get(name).cloned().unwrap_or_else(|| json!({}));
                out.insert(name.to_owned(), part(&property, root, depth + 1, left)?);
            }
            fill(&mut out, &schema, root, depth, left);
            Json::Object(out)
        }
        "array" => {
            let contained = schema.get("contains").and_then(|inner| part(inner, root, depth + 1, left));
            let wanted = schema["minContains"].as_u64().unwrap_or(1).min(LARGEST);
            if let Some(one) =
                contained.filter(|_| schema.get("items").is_none() && schema.get("prefixItems").is_none())
            {
                let least = schema["minItems"].as_u64().unwrap_or(0).max(wanted).min(LARGEST);
                *left = left.checked_sub(least.checked_mul(values(&one))?)?;
                return Some(Json::Array((0..least).map(|_| one.clone()).collect()));
            }
            let least = schema["minItems"].as_u64().unwrap_or(0).min(LARGEST);
            let mut item = |n: u64| match usize::try_from(n).ok().and_then(|n| schema["prefixItems"].get(n)) {
                Some(item) => part(item, root, depth + 1, left),
                None => part(schema.get("items").unwrap_or(&json!({})), root, depth + 1, left),
            };
            Json::Array((0..least).map(&mut item).collect::<Option<Vec<Json>>>()?)
        }
        "integer" | "number" => number(&schema, kind == "integer")?,
        "boolean" => json!(true),
        "null" => Json::Null,
        _ => text(&schema)?,
    })
}

/// As many members as an object must have.
fn fill(out: &mut Map<String, Json>, schema: &Json, root: &Json, depth: usize, left: &mut u64) {
    let least = usize::try_from(schema["minProperties"].as_u64().unwrap_or(0).min(LARGEST)).unwrap_or(0);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if out.len() >= least {
            return;
        }
        if let Some(value) = part(property, root, depth + 1, left).filter(|_| !out.contains_key(name)) {
            out.insert(name.clone(), value);
        }
    }
    let more = part(schema.get("additionalProperties").unwrap_or(&json!({})), root, depth + 1, left);
    let missing = u64::try_from(least.saturating_sub(out.len())).unwrap_or(u64::MAX);
    let Some(enough) = left.checked_sub(missing.saturating_mul(more.as_ref().map_or(0, values))) else { return };
    *left = enough;
    for n in 0.. {
        match &more {
            Some(value) if out.len() < least => drop(out.insert(format!("x{n}"), value.clone())),
            _ => return,
        }
    }
}

/// How many values there are in one.
fn values(value: &Json) -> u64 {
    1 + match value {
        Json::Array(items) => items.iter().map(values).sum(),
        Json::Object(members) => members.values().map(values).sum(),
        _ => 0,
    }
}

fn merge(into: &mut Map<String, Json>, name: &str, value: &Json) {
    match (into.get_mut(name), value) {
        (Some(Json::Object(old)), Json::Object(new)) => old.extend(new.clone()),
        (Some(Json::Array(old)), Json::Array(new)) => old.extend(new.clone()),
        (Some(_), _) => {}
        (None, _) => drop(into.insert(name.to_owned(), value.clone())),
    }
}

fn number(schema: &Json, whole: bool) -> Option<Json> {
    let bound = |name: &str| schema[name].as_f64();
    let step = bound("multipleOf").unwrap_or(if whole { 1.0 } else { 0.5 });
    let least = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|n| n + step)).unwrap_or(1.0);
    let most = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|n| n - step)).unwrap_or(f64::MAX);
    let at = if least <= 1.0 && most >= 1.0 && bound("multipleOf").is_none() { 1.0 } else { least.min(most) };
    let at = (at / step).ceil() * step;
    as_number(at)
}

pub(super) fn as_number(n: f64) -> Option<Json> {
    #[allow(clippy::cast_possible_truncation, reason = "a whole number of this size is exact")]
    if n.fract() == 0.0 && n.abs() < 9e15 {
        Some(json!(n as i64))
    } else {
        serde_json::Number::from_f64(n).map(Json::Number)
    }
}

/// Texts that many patterns and formats take.
pub(super) const TEXTS: &[&str] = &[
    "x",
    "a",
    "A",
    "1",
    "a1",
    "abc",
    "ABC",
    "123",
    "1234",
    "abcdef",
    "a-b",
    "a_b",
    "a.b",
    "2026-01-31",
    "12:30:00",
    "2026-01-31T12:30:00Z",
    "a@example.org",
    "https://example.org/",
    "6ba7b810-9dad-41d1-80b4-00c04fd430c8",
    "127.0.0.1",
    "",
    "+491234567890",
    "EUR",
    "en-US",
    "#ffffff",
    "0.0.1",
];

fn text(schema: &Json) -> Option<Json> {
    let least = schema["minLength"].as_u64().unwrap_or(0).min(LARGEST);
    let most = schema["maxLength"].as_u64().unwrap_or(u64::MAX);
    let pattern = schema["pattern"].as_str();
    let format = match schema["format"].as_str() {
        Some("date") => Some("2026-01-31"),
        Some("time") => Some("12:30:00Z"),
        Some("date-time") => Some("2026-01-31T12:30:00Z"),
        Some("email") => Some("a@example.org"),
        Some("uri" | "url" | "iri") => Some("https://example.org/"),
        Some("uuid") => Some("6ba7b810-9dad-41d1-80b4-00c04fd430c8"),
        Some("ipv4") => Some("127.0.0.1"),
        _ => None,
    };
    let fits = |text: &&str| {
        let length = text.chars().count() as u64;
        let matches = pattern.is_none_or(|pattern| regex::Regex::new(pattern).is_ok_and(|regex| regex.is_match(text)));
        (least..=most).contains(&length) && matches
    };
    if let Some(text) = format.into_iter().chain(TEXTS.iter().copied()).find(fits) {
        return Some(json!(text));
    }
    pattern.is_none().then(|| json!("x".repeat(usize::try_from(least).unwrap_or(0))))
}
