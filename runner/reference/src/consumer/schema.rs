//! JSON Schemas of a provider, used without trusting them (§3.2, §7.3). The main type is [`Schema`].
//!
//! A schema is a program that somebody else wrote. Three things keep it from doing harm:
//!
//! - It is looked through before it is kept: its size, its depth, its patterns, and its references, each of which must
//!   lead to a place in the same document. Nothing is ever fetched; there is no resolver that could.
//! - Before a value is validated, the steps are counted on paper ([`super::budget`]): references that double the work at
//!   each level are cheap to write and endless to follow.
//! - Patterns run on an engine whose time is linear in the text. It has no look-around and no back-references; a schema
//!   that needs them is refused.

use super::budget::Plan;
use super::limits::{MAX_PATTERN_MEMORY, MAX_SCHEMA_BYTES, MAX_SCHEMA_LEVEL};
use crate::catalogue::DIALECT;
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value as Json;
use std::sync::OnceLock;

/// A schema that can be applied to values.
#[derive(Debug)]
pub struct Schema {
    document: Json,
    plan: Plan,
    /// Compiled at the first use: a list may hold hundreds of schemas that nobody will need.
    compiled: OnceLock<Option<Validator>>,
}

impl Schema {
    /// Looks a schema through.
    ///
    /// # Errors
    /// Why it cannot be used, in our own words.
    pub fn read(schema: &Json) -> Result<Schema, &'static str> {
        if !bounded(schema) {
            return Err("it is too large");
        }
        let mut document = schema.clone();
        if let Json::Object(members) = &mut document {
            // One dialect holds for the whole session (§3.2).
            match members.get("$schema").map(Json::as_str) {
                None => {}
                Some(Some(uri)) if uri.trim_end_matches('#') == DIALECT => {}
                Some(_) => return Err("it is of another dialect"),
            }
            // The name of the document; only fragments are referred to, so that it means nothing here.
            members.remove("$id");
        }
        let plan = Plan::make(&document)?;
        if !jsonschema::draft202012::meta::is_valid(&document) {
            return Err("it is no valid schema");
        }
        Ok(Schema { document, plan, compiled: OnceLock::new() })
    }

    /// Whether a value conforms.
    ///
    /// # Errors
    /// Why it does not count as conforming, in our own words.
    pub fn check(&self, value: &Json) -> Result<(), &'static str> {
        if !self.plan.fits(value) {
            return Err("checking it would take too long");
        }
        match self.compiled.get_or_init(|| compile(&self.document)) {
            None => Err("its schema cannot be used"),
            // Not `validate`: collecting the reasons may ask the same thing many times.
            Some(validator) if validator.is_valid(value) => Ok(()),
            Some(_) => Err("it does not conform to its schema"),
        }
    }
}

fn compile(document: &Json) -> Option<Validator> {
    let patterns = PatternOptions::regex().size_limit(MAX_PATTERN_MEMORY).dfa_size_limit(MAX_PATTERN_MEMORY);
    let options = jsonschema::options().with_draft(Draft::Draft202012).offline().should_validate_formats(false);
    options.with_pattern_options(patterns).build(document).ok()
}

/// Whether a schema has a size at all that is worth looking at.
pub fn bounded(schema: &Json) -> bool {
    level(schema) <= MAX_SCHEMA_LEVEL && schema.to_string().len() <= MAX_SCHEMA_BYTES
}

/// How deep a value is nested. What was read here is nested at most to the reader's limit.
fn level(json: &Json) -> usize {
    match json {
        Json::Array(items) => 1 + items.iter().map(level).max().unwrap_or(0),
        Json::Object(members) => 1 + members.values().map(level).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::{Duration, Instant};

    fn refused(schema: Json) -> &'static str {
        Schema::read(&schema).expect_err("it should be refused")
    }

    /// Definitions `a0` to `a(n-1)`, each made of the reference to the next.
    fn chain(n: usize, link: impl Fn(Json) -> Json) -> Json {
        let mut definitions = serde_json::Map::new();
        for i in 0..n {
            definitions.insert(format!("a{i}"), link(json!({ "$ref": format!("#/$defs/a{}", i + 1) })));
        }
        definitions.insert(format!("a{n}"), json!({ "type": "object" }));
        json!({ "$ref": "#/$defs/a0", "$defs": definitions })
    }

    #[test]
    fn the_fixtures_schemas_are_taken() {
        let fixture: Json = serde_json::from_str(cetp_vectors::fixture::TOOLS_JSON).unwrap();
        for tool in fixture["tools"].as_array().unwrap() {
            Schema::read(&tool["input_schema"]).unwrap();
            Schema::read(&tool["output_schema"]).unwrap();
        }
    }

    #[test]
    fn references_stay_in_the_document() {
        let schema = Schema::read(&json!({
            "$id": "https://example.com/tool", "properties": { "a": { "$ref": "#/$defs/x%20~1y" }, "b": { "$ref": "#n" } },
            "$defs": { "x /y": { "type": "string" }, "n": { "$anchor": "n", "type": "integer" } }
        }))
        .unwrap();
        assert!(schema.check(&json!({ "a": "x", "b": 1 })).is_ok());
        assert!(schema.check(&json!({ "a": 1 })).is_err());
        assert!(schema.check(&json!({ "b": "x" })).is_err());
        for reference in [
            "https://example.com/s",
            "other.json",
            "//h/s",
            "file:///etc/passwd",
            "#/none",
            "#none",
            "urn:x",
            "",
            "x#/y",
        ] {
            assert_eq!(
                refused(json!({ "items": { "$ref": reference } })),
                "a reference leads out of it",
                "{reference}"
            );
        }
        assert_eq!(refused(json!({ "items": { "$dynamicRef": "x.json" } })), "a reference leads out of it");
        assert_eq!(refused(json!({ "items": { "$ref": 5 } })), "a reference leads out of it");
        assert_eq!(refused(json!({ "items": { "$id": "https://example.com/inner" } })), "it holds another document");
        // Not references.
        let plain =
            json!({ "const": { "$ref": "https://example.com/" }, "properties": { "$ref": { "type": "string" } } });
        assert!(Schema::read(&plain).is_ok());
    }

    #[test]
    fn a_list_may_contain_itself() {
        let list = json!({
            "type": "object", "properties": { "next": { "$ref": "#" }, "value": { "type": "integer" } },
            "additionalProperties": false
        });
        let schema = Schema::read(&list).unwrap();
        let mut value = json!({ "value": 1 });
        for _ in 0..40 {
            value = json!({ "next": value });
        }
        assert_eq!(schema.check(&value), Ok(()));
        assert!(schema.check(&json!({ "next": { "next": 1 } })).is_err());
    }

    #[test]
    fn what_does_not_end_is_refused_before_it_begins() {
        let endless = "it refers to itself for the same value";
        assert_eq!(refused(json!({ "$ref": "#" })), endless);
        assert_eq!(
            refused(json!({ "anyOf": [{ "$ref": "#/$defs/a" }], "$defs": { "a": { "not": { "$ref": "#" } } } })),
            endless
        );
        let doubled = chain(60, |next| json!({ "allOf": [next.clone(), next] }));
        assert_eq!(refused(doubled), "it multiplies itself");
        let nested = chain(12, |next| json!({ "allOf": [next], "unevaluatedProperties": false }));
        assert_eq!(refused(nested), "it multiplies itself");
    }

    #[test]
    fn doubling_at_each_level_of_the_value_is_noticed() {
        let schema = json!({ "allOf": [
            { "properties": { "a": { "$ref": "#" } } }, { "additionalProperties": { "$ref": "#" } }
        ] });
        let schema = Schema::read(&schema).unwrap();
        let value = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({ "a": inner }));
        assert_eq!(schema.check(&value(8)), Ok(()));
        let begun = Instant::now();
        assert_eq!(schema.check(&value(60)), Err("checking it would take too long"));
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn patterns_take_no_more_time_than_their_text() {
        let schema = Schema::read(&json!({ "pattern": "^(a+)+$", "maxLength": 100_000 })).unwrap();
        let begun = Instant::now();
        assert!(schema.check(&json!(format!("{}b", "a".repeat(90_000)))).is_err());
        assert!(begun.elapsed() < Duration::from_secs(5));
        for pattern in ["(?=a)b", r"(a)\1", "((a{100}){100}){100}", "["] {
            let schema = Schema::read(&json!({ "pattern": pattern })).unwrap();
            assert_eq!(schema.check(&json!("x")), Err("its schema cannot be used"), "{pattern}");
        }
        assert_eq!(refused(json!({ "pattern": "a".repeat(600) })), "its patterns are too many or too long");
        let many: Vec<Json> = (0..40).map(|n| json!({ "pattern": n.to_string() })).collect();
        assert_eq!(refused(json!({ "anyOf": many })), "its patterns are too many or too long");
    }

    #[test]
    fn size_depth_and_dialect_are_bounded() {
        assert_eq!(refused(json!({ "title": "x".repeat(65_000 + 600) })), "it is too large");
        assert_eq!(refused((0..60).fold(json!(true), |inner, _| json!({ "items": inner }))), "it is too large");
        assert_eq!(refused(chain(250, |next| json!({ "properties": { "x": next } }))), "it has too many references");
        assert_eq!(
            refused(json!({ "$schema": "http://json-schema.org/draft-07/schema#" })),
            "it is of another dialect"
        );
        assert_eq!(refused(json!({ "items": { "$schema": "https://e.x/s" } })), "it holds another document");
        assert_eq!(refused(json!({ "type": 5 })), "it is no valid schema");
        assert_eq!(refused(json!([])), "it is no valid schema");
        assert!(Schema::read(&json!({ "$schema": DIALECT })).is_ok());
    }

    #[test]
    fn the_deepest_that_is_let_through_needs_little_stack() {
        let schema = chain(30, |next| json!({ "properties": { "a": { "$ref": "#" } }, "allOf": [next] }));
        let work = move || {
            // It is refused for its growth or its steps, or validated: whichever way, the thread lives.
            if let Ok(schema) = Schema::read(&schema) {
                let _ = schema.check(&(0..50).fold(json!({}), |inner, _| json!({ "a": inner })));
            }
            let chain = chain(190, |next| json!({ "properties": { "x": next } }));
            let schema = Schema::read(&chain).unwrap();
            assert_eq!(schema.check(&json!({ "x": {} })), Ok(()));
        };
        std::thread::Builder::new().stack_size(4 << 20).spawn(work).unwrap().join().unwrap();
    }

    #[test]
    fn a_large_honest_result_is_cheap() {
        let schema = Schema::read(&json!({
            "type": "array", "items": { "type": "object", "properties": { "id": { "type": "integer" }, "name": { "type": "string" } },
            "required": ["id", "name"], "additionalProperties": false }
        }))
        .unwrap();
        let row = json!({ "id": 1, "name": "a name" });
        assert_eq!(schema.check(&Json::Array(vec![row; 100_000])), Ok(()));
    }
}
