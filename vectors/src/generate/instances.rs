//! Values that conform to a JSON Schema, and values that break one keyword of it. The main function is [`instances`].
//!
//! Candidates are made from the keywords, and the validator decides what they are: a candidate that does not do what it was
//! made for is dropped, so that every case is certain, and a keyword that cannot be broken alone has none.

use super::samples::{DEEPEST, LARGEST, TEXTS, as_number, followed, sample};
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

/// A conforming value, where one was found, and cases around it: each keyword broken, and its boundaries kept. A value that
/// breaks several keywords is there once, for the first.
pub fn instances(schema: &Json, dialect: &str) -> (Option<Json>, Vec<Instance>) {
    let (sample, mut cases) = certain(schema, dialect);
    let mut seen = BTreeSet::new();
    cases.retain(|case| seen.insert((case.value.to_string(), case.valid)));
    (sample, cases)
}

/// A conforming value, and cases that the validator confirms.
fn certain(schema: &Json, dialect: &str) -> (Option<Json>, Vec<Instance>) {
    let conforms = |value: &Json| matches!(instance_of(schema, dialect, value), Checked::Yes);
    let breaks = |value: &Json| matches!(instance_of(schema, dialect, value), Checked::No(_));
    let Some(sample) = sample(schema, schema, 0).filter(|value| conforms(value)) else {
        return (None, Vec::new());
    };
    let made = |deepest: usize| {
        let mut maker = Maker { root: schema, out: Vec::new(), deepest };
        maker.around(schema, &sample, &mut |changed| changed, "", 0);
        maker
    };
    // A schema that names itself more than once has more cases with each level than the level before.
    let maker = (1..=DEEPEST).rev().map(made).find(|maker| maker.out.len() < MOST_CASES).unwrap_or_else(|| made(0));
    let right = |case: &Instance| if case.valid { conforms(&case.value) } else { breaks(&case.value) };
    let cases = maker.out.into_iter().filter(right).collect();
    (Some(sample), cases)
}

/// A text beyond ASCII, where a schema's pattern does not say `\w` or the like: what these mean there is another thing for Python
/// and on Android than in ECMA-262, whose regular expressions a schema *should* have.
fn beyond_ascii(schema: &Json) -> Option<&'static str> {
    (!schema["pattern"].as_str().unwrap_or_default().contains('\\')).then_some("测")
}

/// For one schema no more cases are made.
const MOST_CASES: usize = 2_000;

struct Maker<'s> {
    root: &'s Json,
    out: Vec<Instance>,
    /// Parts are not followed deeper.
    deepest: usize,
}

impl Maker<'_> {
    fn add(&mut self, keyword: &str, at: &str, value: Json, valid: bool) {
        self.out.push(Instance { keyword: keyword.to_owned(), at: at.to_owned(), value, valid });
    }

    /// Cases around the part of a value at a place; `whole` puts a changed part in.
    fn around(&mut self, schema: &Json, part: &Json, whole: &mut dyn FnMut(Json) -> Json, at: &str, depth: usize) {
        if depth > self.deepest || self.out.len() >= MOST_CASES {
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
        for keyword in ["not", "anyOf", "oneOf", "allOf", "if", "then", "else", "dependentSchemas"] {
            let Some(inner) = schema.get(keyword) else { continue };
            for other in wrong() {
                let value = whole(other);
                self.add(keyword, at, value, false);
            }
            // What breaks or keeps a part of it may break the whole: the validator says so.
            let parts: Vec<Json> = match inner {
                Json::Array(parts) => parts.clone(),
                Json::Object(parts) if keyword == "dependentSchemas" => parts.values().cloned().collect(),
                other => vec![other.clone()],
            };
            for inner in &parts {
                if let Some(one) = sample(inner, self.root, depth + 1) {
                    let value = whole(one);
                    self.add(keyword, at, value, false);
                }
                self.around(inner, part, whole, at, depth + 1);
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
            // None with a line end: `$` matches before one for Python, for Java and on Android.
            for text in ["", " ", "\u{1}", "x y"].into_iter().chain(beyond_ascii(schema)) {
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
        self.places(schema, items, whole, at);
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

    /// Lists that differ at a place, at their end, or in how often something is in them.
    fn places(&mut self, schema: &Json, items: &[Json], whole: &mut dyn FnMut(Json) -> Json, at: &str) {
        let before = schema["prefixItems"].as_array().map_or(0, Vec::len);
        for place in 0..before.min(items.len()) {
            for other in wrong() {
                let mut items = items.to_vec();
                items[place] = other;
                let value = whole(Json::Array(items));
                self.add("prefixItems", at, value, false);
            }
        }
        for keyword in ["items", "unevaluatedItems"] {
            if schema.get(keyword).is_some() {
                for other in wrong() {
                    let mut items = items.to_vec();
                    items.push(other);
                    let value = whole(Json::Array(items));
                    self.add(keyword, at, value, false);
                }
            }
        }
        let Some(contains) = schema.get("contains") else { return };
        let none = whole(json!([]));
        self.add("contains", at, none, false);
        for other in wrong() {
            let value = whole(Json::Array(vec![other; items.len().max(1)]));
            self.add("contains", at, value, false);
        }
        let Some(one) = sample(contains, self.root, 0) else { return };
        for (keyword, offset) in [("minContains", -1_i64), ("maxContains", 1)] {
            let Some(bound) = schema[keyword].as_u64().filter(|bound| *bound < LARGEST) else { continue };
            let Ok(count) = usize::try_from(bound.cast_signed() + offset) else { continue };
            let value = whole(Json::Array(vec![one.clone(); count]));
            self.add(keyword, at, value, false);
        }
    }

    /// Objects with a member more, whose name or value is wrong, and with as many as there may not be.
    fn more_members(
        &mut self,
        schema: &Json,
        members: &Map<String, Json>,
        whole: &mut dyn FnMut(Json) -> Json,
        at: &str,
    ) {
        let mut with = |maker: &mut Self, keyword: &str, name: &str, value: Json| {
            let mut more = members.clone();
            more.insert(name.to_owned(), value);
            let value = whole(Json::Object(more));
            maker.add(keyword, at, value, false);
        };
        if let Some(names) = schema.get("propertyNames") {
            for name in ["", " ", "x y", "X", "9", &"x".repeat(300)].into_iter().chain(beyond_ascii(names)) {
                with(self, "propertyNames", name, json!(1));
            }
        }
        for (pattern, _) in schema["patternProperties"].as_object().cloned().into_iter().flatten() {
            let Ok(regex) = regex::Regex::new(&pattern) else { continue };
            if let Some(name) = TEXTS.iter().find(|text| regex.is_match(text)) {
                wrong().into_iter().for_each(|value| with(self, "patternProperties", name, value));
            }
        }
        for keyword in ["additionalProperties", "unevaluatedProperties"] {
            if schema.get(keyword).is_some() {
                wrong().into_iter().for_each(|value| with(self, keyword, "x_unknown", value));
            }
        }
        for keyword in ["dependentRequired", "dependentSchemas"] {
            for name in schema[keyword].as_object().cloned().into_iter().flatten().map(|(name, _)| name) {
                wrong().into_iter().for_each(|value| with(self, keyword, &name, value));
            }
        }
        if let Some(most) = schema["maxProperties"].as_u64().filter(|most| *most < LARGEST) {
            let most = usize::try_from(most).unwrap_or(0);
            let mut many = members.clone();
            for n in 0..=most.saturating_sub(members.len()) {
                many.insert(format!("x{n}"), json!("x"));
            }
            let value = whole(Json::Object(many));
            self.add("maxProperties", at, value, false);
        }
        if schema.get("minProperties").is_some() {
            let required: Vec<&str> =
                schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
            let few = members.iter().filter(|(name, _)| required.contains(&name.as_str()));
            let few: Map<String, Json> = few.map(|(name, value)| (name.clone(), value.clone())).collect();
            let value = whole(Json::Object(few));
            self.add("minProperties", at, value, false);
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
        self.more_members(schema, members, whole, at);
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

/// A value of each type, none of which says anything.
fn wrong() -> Vec<Json> {
    vec![json!(null), json!(true), json!(0), json!("x-none-of-these"), json!([]), json!({})]
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECT: &str = crate::schema::DRAFT_2020_12;

    fn broken(schema: &Json) -> BTreeSet<String> {
        let (sample, cases) = certain(schema, DIALECT);
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
    fn keywords_of_draft_2020_12_are_broken_where_they_can_be() {
        let of = |part: Json| json!({ "type": "object", "required": ["p"], "properties": { "p": part } });
        let cases = [
            ("const", of(json!({ "const": "a" }))),
            ("exclusiveMinimum", of(json!({ "type": "integer", "exclusiveMinimum": 3 }))),
            ("minItems", of(json!({ "type": "array", "items": { "type": "string" }, "minItems": 2 }))),
            ("prefixItems", of(json!({ "type": "array", "prefixItems": [{ "type": "string" }], "minItems": 1 }))),
            (
                "items",
                of(json!({ "type": "array", "prefixItems": [{ "type": "string" }], "items": false, "minItems": 1 })),
            ),
            ("contains", of(json!({ "type": "array", "contains": { "type": "integer" } }))),
            ("minContains", of(json!({ "type": "array", "contains": { "type": "integer" }, "minContains": 2 }))),
            ("maxContains", of(json!({ "type": "array", "contains": { "type": "integer" }, "maxContains": 2 }))),
            (
                "unevaluatedItems",
                of(
                    json!({ "type": "array", "prefixItems": [{ "type": "string" }], "minItems": 1, "unevaluatedItems": false }),
                ),
            ),
            ("minProperties", of(json!({ "type": "object", "minProperties": 1 }))),
            ("maxProperties", of(json!({ "type": "object", "maxProperties": 1 }))),
            ("propertyNames", of(json!({ "type": "object", "propertyNames": { "pattern": "^[a-z]+$" } }))),
            (
                "patternProperties",
                of(json!({ "type": "object", "patternProperties": { "^a": { "type": "integer" } } })),
            ),
            ("additionalProperties", of(json!({ "type": "object", "additionalProperties": { "type": "integer" } }))),
            (
                "unevaluatedProperties",
                of(json!({ "type": "object", "properties": {}, "unevaluatedProperties": false })),
            ),
            ("dependentRequired", of(json!({ "type": "object", "dependentRequired": { "a": ["b"] } }))),
            ("dependentSchemas", of(json!({ "type": "object", "dependentSchemas": { "a": { "required": ["b"] } } }))),
            ("not", of(json!({ "type": "string", "not": { "const": "no" } }))),
            ("anyOf", of(json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] }))),
            ("oneOf", of(json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }] }))),
            ("allOf", of(json!({ "allOf": [{ "type": "string" }, { "maxLength": 3 }] }))),
            ("then", of(json!({ "examples": ["a"], "if": { "type": "string" }, "then": { "enum": ["a", "b"] } }))),
        ];
        for (keyword, schema) in cases {
            let broken = broken(&schema);
            assert!(broken.contains(keyword), "{keyword}: {broken:?}");
        }
    }

    #[test]
    fn no_case_rests_on_what_engines_of_regular_expressions_see_differently() {
        let of = |pattern: &str| json!({ "type": "object", "required": ["p"], "properties": { "p": { "type": "string", "pattern": pattern } } });
        let texts = |pattern: &str| -> String {
            instances(&of(pattern), DIALECT).1.iter().map(|case| case.value.to_string()).collect()
        };
        assert!(texts("^[a-z]+$").contains('测') && !texts(r"^\w+$").contains('测'));
        assert!(texts(r"^\w+$").contains("x y") && !texts("^[a-z]*$").contains(r"\n"));
    }

    #[test]
    fn a_schema_that_names_itself_often_has_cases_all_the_same() {
        let filter = json!({ "$ref": "#/$defs/f" });
        let schema = json!({ "type": "object", "required": ["f", "last"], "properties": { "f": filter, "last": { "type": "integer" } }, "$defs": { "f": {
            "type": "object", "required": ["field"], "properties": { "field": { "type": "string" }, "and": filter, "or": filter, "not": filter } } } });
        let cases = instances(&schema, DIALECT).1;
        assert!(cases.len() > 20 && cases.len() <= MOST_CASES, "{}", cases.len());
        assert!(cases.iter().any(|case| case.at == "/last"), "what comes later is broken too");
        // Lists in lists in lists, each of thousands.
        let list = |items: Json| json!({ "type": "array", "items": items, "minItems": 4096 });
        assert_eq!(instances(&list(list(list(json!({ "type": "string" })))), DIALECT), (None, Vec::new()));
    }

    #[test]
    fn dependencies_are_no_keyword_for_every_validator() {
        let part = |name: &str| json!({ "type": "object", "properties": { "dependencies": { "type": "string" } }, name: { "a": ["b"] } });
        let breaks = |schema: Json, value: Json| matches!(instance_of(&schema, DIALECT, &value), Checked::No(_));
        assert!(
            !breaks(part("dependencies"), json!({ "a": 1 })) && breaks(part("dependentRequired"), json!({ "a": 1 }))
        );
        assert!(breaks(part("dependencies"), json!({ "a": 1, "dependencies": 1 })));
    }

    #[test]
    fn what_cannot_be_broken_is_left_alone() {
        assert_eq!(broken(&json!({ "type": "object" })), BTreeSet::from(["type".to_owned()]));
        assert_eq!(instances(&json!(false), DIALECT), (None, Vec::new()));
    }
}
