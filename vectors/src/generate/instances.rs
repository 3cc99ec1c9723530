//! Values that conform to a JSON Schema, and values that break one keyword of it. The main function is [`instances`].
//!
//! Candidates are made from the keywords, and the validator decides what they are: a candidate that does not do what it was
//! made for is dropped, so that every case is certain, and a keyword that cannot be broken alone has none.

use crate::schema::{Checked, instance_of};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

/// One value for a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// The keyword that it is about.
    pub keyword: String,
    /// Where in the value, as a JSON Pointer.
    pub at: String,
    /// The value.
    pub value: Json,
    /// Whether it conforms.
    pub valid: bool,
}

/// Texts, lists and numbers are not made larger than that.
const LARGEST: u64 = 4096;
/// Schemas are not followed deeper.
const DEEPEST: usize = 12;

/// A conforming value, where one was found, and cases around it: each keyword broken, and its boundaries kept.
pub fn instances(schema: &Json, dialect: &str) -> (Option<Json>, Vec<Instance>) {
    let conforms = |value: &Json| matches!(instance_of(schema, dialect, value), Checked::Yes);
    let breaks = |value: &Json| matches!(instance_of(schema, dialect, value), Checked::No(_));
    let Some(sample) = sample(schema, schema, 0).filter(|value| conforms(value)) else {
        return (None, Vec::new());
    };
    let mut maker = Maker { root: schema, out: Vec::new() };
    maker.around(schema, &sample, &mut |changed| changed, "", 0);
    let mut seen = BTreeSet::new();
    let mut cases = Vec::new();
    for case in maker.out {
        let right = if case.valid { conforms(&case.value) } else { breaks(&case.value) };
        if right && seen.insert((case.value.to_string(), case.valid)) {
            cases.push(case);
        }
    }
    (Some(sample), cases)
}

/// What a local reference means; anything else for itself.
fn followed<'s>(schema: &'s Json, root: &'s Json) -> &'s Json {
    let target = schema.get("$ref").and_then(Json::as_str).and_then(|text| text.strip_prefix('#'));
    target.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// A value that probably conforms.
fn sample(schema: &Json, root: &Json, depth: usize) -> Option<Json> {
    if depth > DEEPEST {
        return None;
    }
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
                out.insert(name.to_owned(), sample(&property, root, depth + 1)?);
            }
            Json::Object(out)
        }
        "array" => {
            let least = schema["minItems"].as_u64().unwrap_or(0).min(LARGEST);
            let item = |n: u64| match usize::try_from(n).ok().and_then(|n| schema["prefixItems"].get(n)) {
                Some(item) => sample(item, root, depth + 1),
                None => sample(schema.get("items").unwrap_or(&json!({})), root, depth + 1),
            };
            Json::Array((0..least).map(item).collect::<Option<Vec<Json>>>()?)
        }
        "integer" | "number" => number(&schema, kind == "integer")?,
        "boolean" => json!(true),
        "null" => Json::Null,
        _ => text(&schema)?,
    })
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

fn as_number(n: f64) -> Option<Json> {
    #[allow(clippy::cast_possible_truncation, reason = "a whole number of this size is exact")]
    if n.fract() == 0.0 && n.abs() < 9e15 {
        Some(json!(n as i64))
    } else {
        serde_json::Number::from_f64(n).map(Json::Number)
    }
}

/// Texts that many patterns and formats take.
const TEXTS: &[&str] = &[
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

struct Maker<'s> {
    root: &'s Json,
    out: Vec<Instance>,
}

impl Maker<'_> {
    fn add(&mut self, keyword: &str, at: &str, value: Json, valid: bool) {
        self.out.push(Instance { keyword: keyword.to_owned(), at: at.to_owned(), value, valid });
    }

    /// Cases around the part of a value at a place; `whole` puts a changed part in.
    fn around(&mut self, schema: &Json, part: &Json, whole: &mut dyn FnMut(Json) -> Json, at: &str, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let schema = &followed(schema, self.root).clone();
        if schema.get("type").is_some() || schema.get("const").is_some() || schema.get("enum").is_some() {
            let keyword = ["type", "const", "enum"].into_iter().find(|name| schema.get(*name).is_some());
            let others = [
                json!(null),
                json!(true),
                json!(0),
                json!(1.5),
                json!(""),
                json!("1"),
                json!("x-none-of-these"),
                json!([]),
                json!([part]),
                json!({}),
                json!({ "value": part }),
            ];
            for other in others {
                let value = whole(other);
                self.add(keyword.unwrap_or("type"), at, value, false);
            }
        }
        match part {
            Json::Number(_) => self.numbers(schema, whole, at),
            Json::String(_) => self.texts(schema, whole, at),
            Json::Array(items) => self.arrays(schema, items, whole, at, depth),
            Json::Object(members) => self.objects(schema, members, whole, at, depth),
            _ => {}
        }
        for keyword in ["not", "anyOf", "oneOf", "allOf", "if"] {
            if schema.get(keyword).is_some() {
                for other in [json!(null), json!(0), json!(""), json!([]), json!({})] {
                    let value = whole(other);
                    self.add(keyword, at, value, false);
                }
            }
        }
    }

    fn numbers(&mut self, schema: &Json, whole: &mut dyn FnMut(Json) -> Json, at: &str) {
        let step = schema["multipleOf"].as_f64().unwrap_or(1.0);
        for (keyword, inwards, open) in [
            ("minimum", 1.0, false),
            ("maximum", -1.0, false),
            ("exclusiveMinimum", 1.0, true),
            ("exclusiveMaximum", -1.0, true),
        ] {
            let Some(bound) = schema[keyword].as_f64() else { continue };
            for (offset, valid) in [(-step, false), (0.0, !open), (step, true)] {
                let value = bound + inwards * offset;
                // A large number may mean a large result.
                if let Some(number) = as_number(value).filter(|_| !valid || value.abs() <= LARGEST as f64) {
                    let value = whole(number);
                    self.add(keyword, at, value, valid);
                }
            }
        }
        if let Some(step) = schema["multipleOf"].as_f64() {
            let value = whole(json!(step * 1.5));
            self.add("multipleOf", at, value, false);
        }
        if schema["type"] == "integer" {
            for text in [1.5, 0.1, 1e-1] {
                let value = whole(json!(text));
                self.add("type", at, value, false);
            }
        }
    }

    fn texts(&mut self, schema: &Json, whole: &mut dyn FnMut(Json) -> Json, at: &str) {
        for (keyword, outwards) in [("minLength", -1_i64), ("maxLength", 1)] {
            let Some(bound) = schema[keyword].as_u64().filter(|bound| *bound <= LARGEST) else { continue };
            for (offset, valid) in [(outwards, false), (0, true), (-outwards, true)] {
                let Ok(length) = usize::try_from(bound.cast_signed() + offset) else { continue };
                for unit in ["x", "é", "测", "😀"] {
                    let value = whole(json!(unit.repeat(length)));
                    self.add(keyword, at, value, valid);
                }
            }
        }
        if schema.get("pattern").is_some() {
            for text in ["", " ", "\u{1}", "x y", "测", "\n"] {
                let value = whole(json!(text));
                self.add("pattern", at, value, false);
            }
        }
    }

    fn arrays(&mut self, schema: &Json, items: &[Json], whole: &mut dyn FnMut(Json) -> Json, at: &str, depth: usize) {
        let item_schema = schema.get("items").cloned().unwrap_or_else(|| json!({}));
        let one = items.first().cloned().or_else(|| sample(&item_schema, self.root, depth + 1));
        if !items.is_empty() {
            let value = whole(json!(items[1..]));
            self.add("minItems", at, value, false);
        }
        let Some(one) = one else { return };
        if let Some(most) = schema["maxItems"].as_u64().filter(|most| *most < LARGEST) {
            let most = usize::try_from(most).unwrap_or(0);
            let value = whole(json!(vec![one.clone(); most + 1]));
            self.add("maxItems", at, value, false);
        }
        let twice = whole(json!([one, one]));
        self.add("uniqueItems", at, twice, false);
        if schema.get("items").is_some() {
            let items: Vec<Json> = if items.is_empty() { vec![one.clone()] } else { items.to_vec() };
            let mut inner = |changed: Json| {
                let mut items = items.clone();
                items[0] = changed;
                whole(Json::Array(items))
            };
            self.around(&item_schema, &one, &mut inner, &format!("{at}/0"), depth + 1);
        }
    }

    fn objects(
        &mut self,
        schema: &Json,
        members: &Map<String, Json>,
        whole: &mut dyn FnMut(Json) -> Json,
        at: &str,
        depth: usize,
    ) {
        for name in members.keys() {
            let mut fewer = members.clone();
            fewer.remove(name);
            let value = whole(Json::Object(fewer));
            self.add("required", at, value, false);
        }
        for name in ["x_unknown", ""] {
            let mut more = members.clone();
            more.insert(name.into(), json!(1));
            let value = whole(Json::Object(more));
            self.add("additionalProperties", at, value, false);
        }
        for (name, property) in schema["properties"].as_object().cloned().into_iter().flatten() {
            let Some(part) = members.get(&name).cloned().or_else(|| sample(&property, self.root, depth + 1)) else {
                continue;
            };
            if !members.contains_key(&name) {
                let mut more = members.clone();
                more.insert(name.clone(), part.clone());
                let value = whole(Json::Object(more));
                self.add("properties", at, value, true);
            }
            let place = format!("{at}/{}", crate::json::pointer_token(&name));
            let mut inner = |changed: Json| {
                let mut members = members.clone();
                members.insert(name.clone(), changed);
                whole(Json::Object(members))
            };
            self.around(&property, &part, &mut inner, &place, depth + 1);
        }
        for (name, others) in schema["dependentRequired"].as_object().cloned().into_iter().flatten() {
            let mut alone = members.clone();
            alone.entry(name).or_insert_with(|| json!("x"));
            for other in others.as_array().into_iter().flatten().filter_map(Json::as_str) {
                alone.remove(other);
            }
            let value = whole(Json::Object(alone));
            self.add("dependentRequired", at, value, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECT: &str = crate::schema::DRAFT_2020_12;

    fn broken(schema: &Json) -> BTreeSet<String> {
        let (sample, cases) = instances(schema, DIALECT);
        assert!(sample.is_some(), "{schema}");
        cases.into_iter().filter(|case| !case.valid).map(|case| case.keyword).collect()
    }

    #[test]
    fn each_keyword_is_broken_once() {
        let schema = json!({ "type": "object", "required": ["a", "n"], "additionalProperties": false, "properties": {
            "a": { "type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$" },
            "n": { "$ref": "#/$defs/n" },
            "l": { "type": "array", "items": { "enum": ["x", "y"] }, "maxItems": 2, "uniqueItems": true } },
            "$defs": { "n": { "type": "integer", "minimum": 3, "exclusiveMaximum": 9, "multipleOf": 3 } } });
        let broken = broken(&schema);
        for keyword in [
            "type",
            "required",
            "additionalProperties",
            "minLength",
            "maxLength",
            "pattern",
            "minimum",
            "exclusiveMaximum",
            "multipleOf",
            "enum",
            "maxItems",
            "uniqueItems",
        ] {
            assert!(broken.contains(keyword), "{keyword}: {broken:?}");
        }
    }

    #[test]
    fn what_cannot_be_broken_is_left_alone() {
        assert_eq!(broken(&json!({ "type": "object" })), BTreeSet::from(["type".to_owned()]));
        assert_eq!(instances(&json!(false), DIALECT), (None, Vec::new()));
    }
}
