//! JSON Schema, as far as a verdict needs it. The main functions are [`instance_of`], [`valid_schema`],
//! [`self_contained`] and [`faults`].
//!
//! Schemas and values come from targets, so nothing here fetches anything, and nothing runs without a bound: before a
//! value is validated the work is counted on paper (each pair of subschema and value once, multiplied up), and what would
//! take more than [`STEP_BUDGET`] steps, or never end, is not attempted. The caller then learns why nothing was judged.

use crate::cache::Cache;
use crate::json::pointer_token;
use jsonschema::{Draft, PatternOptions};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// The most steps (subschema applied to value) that one validation may take. An honest result of 16 MiB against a plain
/// schema takes a few.
pub const STEP_BUDGET: u64 = 5_000_000;

/// The most steps of one pattern on one text before it is given up; an honest pattern takes a few for each character.
const BACKTRACK_LIMIT: usize = 50_000;

/// The dialect of CETP v2 where a provider names none (§3.2).
pub const DRAFT_2020_12: &str = "https://json-schema.org/draft/2020-12/schema";

fn draft(dialect: &str) -> Result<Draft, String> {
    match dialect.trim_end_matches('#') {
        DRAFT_2020_12 => Ok(Draft::Draft202012),
        "https://json-schema.org/draft/2019-09/schema" => Ok(Draft::Draft201909),
        "http://json-schema.org/draft-07/schema" => Ok(Draft::Draft7),
        "http://json-schema.org/draft-06/schema" => Ok(Draft::Draft6),
        "http://json-schema.org/draft-04/schema" => Ok(Draft::Draft4),
        other => Err(format!("the dialect {other:?} is not known to this suite")),
    }
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// It holds.
    Yes,
    /// It does not, with the first reason.
    No(String),
    /// It cannot be told, with the reason.
    Unknown(String),
}

/// Whether a value conforms to a schema of a dialect.
pub fn instance_of(schema: &Json, dialect: &str, instance: &Json) -> Checked {
    match cost(schema, instance) {
        Ok(steps) if steps <= STEP_BUDGET => {}
        Ok(_) => return Checked::Unknown(format!("validation would take more than {STEP_BUDGET} steps")),
        Err(why) => return Checked::Unknown(why),
    }
    let validator = match draft(dialect).and_then(|draft| validator(schema, draft)) {
        Ok(validator) => validator,
        Err(why) => return Checked::Unknown(why),
    };
    match validator.validate(instance) {
        Ok(()) => Checked::Yes,
        Err(error) => {
            if matches!(error.kind(), jsonschema::error::ValidationErrorKind::BacktrackLimitExceeded { .. }) {
                return Checked::Unknown("a pattern of the schema backtracks without end".into());
            }
            if disputed(schema, instance, dialect) {
                return Checked::Unknown(
                    "only some validators still have the keyword dependencies in this dialect".into(),
                );
            }
            Checked::No(told(&error))
        }
    }
}

/// Whether what an instance breaks may be only `dependencies`, which is no keyword of a dialect since 2019-09 any more: some
/// validators still know it, and others do not.
fn disputed(schema: &Json, instance: &Json, dialect: &str) -> bool {
    if dialect != DRAFT_2020_12 {
        return false;
    }
    let plain = without_dependencies(schema);
    plain != *schema && instance_of(&plain, dialect, instance) == Checked::Yes
}

fn without_dependencies(schema: &Json) -> Json {
    match schema {
        Json::Object(members) => members
            .iter()
            .filter(|(name, _)| *name != "dependencies")
            .map(|(name, value)| match value {
                // Its members are names that the schema chose.
                Json::Object(named) if MAPS.contains(&name.as_str()) => {
                    let each = named.iter().map(|(name, schema)| (name.clone(), without_dependencies(schema)));
                    (name.clone(), each.collect())
                }
                value => (name.clone(), without_dependencies(value)),
            })
            .collect(),
        Json::Array(items) => items.iter().map(without_dependencies).collect(),
        other => other.clone(),
    }
}

/// Whether a value is a valid schema of a dialect, named by its `$schema` URI.
pub fn valid_schema(schema: &Json, dialect: &str) -> Checked {
    match against_meta(schema, dialect) {
        Ok(Ok(())) => Checked::Yes,
        Ok(Err(error)) => Checked::No(told(&error)),
        Err(why) => Checked::Unknown(why),
    }
}

/// What the meta-schema of a dialect says of a schema.
fn against_meta<'s>(schema: &'s Json, dialect: &str) -> Result<Result<(), jsonschema::ValidationError<'s>>, String> {
    let draft = draft(dialect)?;
    // The meta-schemas are large and recursive, but finite: the bound is the size of the schema.
    if size(schema) > STEP_BUDGET / 100 {
        return Err("the schema is too large to be judged".into());
    }
    Ok(match draft {
        Draft::Draft202012 => jsonschema::draft202012::meta::validate(schema),
        Draft::Draft201909 => jsonschema::draft201909::meta::validate(schema),
        Draft::Draft7 => jsonschema::draft7::meta::validate(schema),
        Draft::Draft6 => jsonschema::draft6::meta::validate(schema),
        _ => jsonschema::draft4::meta::validate(schema),
    })
}

/// Something because of which nobody can validate by a schema.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaFault {
    /// JSON Pointer to it in the schema.
    pub pointer: String,
    /// What is wrong, in words.
    pub why: String,
}

/// Everything because of which nobody can validate by a schema, whatever the value: it is no schema of its dialect, it refers to
/// what is outside of it, it applies itself to the same value without end or too often, it does not compile.
///
/// # Errors
/// It cannot be told, with the reason.
pub fn faults(schema: &Json, dialect: &str) -> Result<Vec<SchemaFault>, String> {
    let mut faults = Vec::new();
    if let Err(error) = against_meta(schema, dialect)? {
        let pointer = error.instance_path().as_str().to_owned();
        faults.push(SchemaFault { pointer, why: shorten(&error.to_string()) });
    }
    let document = Document::new(schema);
    for (pointer, reference) in document.unresolved() {
        let why = format!("the reference {:?} does not resolve inside the schema", shorten(reference));
        faults.push(SchemaFault { pointer: pointer.to_owned(), why });
    }
    let mut expansion = Expansion { document: &document, known: HashMap::new() };
    let mut open = vec![(String::new(), schema)];
    while let Some((pointer, schema)) = open.pop() {
        match expansion.steps(schema) {
            Ok(steps) if steps <= STEP_BUDGET => {}
            Ok(_) => {
                let why = format!("one value takes more than {STEP_BUDGET} steps");
                faults.push(SchemaFault { pointer: pointer.clone(), why });
                break;
            }
            Err(why) => {
                faults.push(SchemaFault { pointer: pointer.clone(), why });
                break;
            }
        }
        let children = schema.as_object().map(children).unwrap_or_default();
        open.extend(children.into_iter().rev().map(|(path, child)| (format!("{pointer}/{path}"), child)));
    }
    if faults.is_empty()
        && let Err(why) = validator(schema, draft(dialect)?)
    {
        faults.push(SchemaFault { pointer: String::new(), why });
    }
    faults.sort();
    Ok(faults)
}

fn told(error: &jsonschema::ValidationError<'_>) -> String {
    format!("{} at {:?}", shorten(&error.to_string()), error.instance_path().as_str())
}

/// Whether every `$ref` and `$dynamicRef` resolves inside the document. `$schema`, `$id` and a property that is called
/// `$ref` are no references.
pub fn self_contained(schema: &Json) -> Checked {
    match Document::new(schema).unresolved().next() {
        Some((pointer, reference)) => {
            Checked::No(format!("{reference:?} at {pointer:?} does not resolve inside the schema"))
        }
        None => Checked::Yes,
    }
}

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(300).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn size(json: &Json) -> u64 {
    1 + match json {
        Json::Array(items) => items.iter().map(size).sum::<u64>(),
        Json::Object(members) => members.values().map(size).sum::<u64>(),
        _ => 0,
    }
}

/// The fixture's schemas come again and again.
static COMPILED: LazyLock<Cache<jsonschema::Validator>> = LazyLock::new(Cache::default);

fn validator(schema: &Json, draft: Draft) -> Result<Arc<jsonschema::Validator>, String> {
    COMPILED.get(&format!("{draft:?}{schema}"), || {
        let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT);
        let built = jsonschema::options().with_draft(draft).with_pattern_options(patterns).build(schema);
        built.map_err(|e| format!("the schema does not compile: {}", shorten(&e.to_string())))
    })
}

/// Keywords whose value is a schema for the same value.
const IN_PLACE: [&str; 5] = ["not", "if", "then", "else", "contentSchema"];
/// Keywords whose value is a list of schemas for the same value.
const IN_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords whose value is a schema for the elements or members.
const FOR_CHILDREN: [&str; 7] = [
    "additionalProperties",
    "unevaluatedProperties",
    "items",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "propertyNames",
];
/// Keywords whose value maps names to schemas.
const MAPS: [&str; 6] = ["properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"];
/// Keywords whose value is a reference.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Where a document is that does not say so itself.
const NOWHERE: &str = "cetp:schema";

/// A schema with its resources, anchors and references found.
#[derive(Debug)]
pub struct Document<'a> {
    /// Schemas by the URI (without a fragment) that they have.
    resources: HashMap<String, &'a Json>,
    /// Schemas by the URI of their resource and an anchor.
    anchors: HashMap<(String, String), &'a Json>,
    /// The URI of the resource that a schema lies in.
    bases: HashMap<*const Json, String>,
    /// Place, base and text of each reference.
    references: Vec<(String, String, String)>,
}

impl<'a> Document<'a> {
    /// Looks through a schema.
    pub fn new(root: &'a Json) -> Document<'a> {
        let mut document = Document {
            resources: HashMap::from([(NOWHERE.to_owned(), root)]),
            anchors: HashMap::new(),
            bases: HashMap::new(),
            references: Vec::new(),
        };
        document.walk(root, String::new(), NOWHERE.to_owned());
        // A reference may lead to a place that no keyword says is a schema; then it is one.
        let mut done = 0;
        while done < document.references.len() {
            let (pointer, base, reference) = document.references[done].clone();
            done += 1;
            if let Some(target) = document.resolve(&base, &reference)
                && !document.bases.contains_key(&std::ptr::from_ref(target))
            {
                document.walk(target, pointer, base);
            }
        }
        document.references.sort();
        document
    }

    fn walk(&mut self, from: &'a Json, pointer: String, base: String) {
        let mut open = vec![(pointer, base, from)];
        while let Some((pointer, mut base, schema)) = open.pop() {
            if self.bases.contains_key(&std::ptr::from_ref(schema)) {
                continue;
            }
            if let Some(id) = schema.get("$id").and_then(Json::as_str).and_then(|id| join(&base, id)) {
                base = id;
                self.resources.insert(base.clone(), schema);
            }
            self.bases.insert(schema, base.clone());
            let Json::Object(members) = schema else { continue };
            for name in ["$anchor", "$dynamicAnchor"] {
                if let Some(Json::String(anchor)) = members.get(name) {
                    self.anchors.insert((base.clone(), anchor.clone()), schema);
                }
            }
            for name in REFERENCES {
                if let Some(Json::String(reference)) = members.get(name) {
                    self.references.push((format!("{pointer}/{name}"), base.clone(), reference.clone()));
                }
            }
            for (path, child) in children(members) {
                open.push((format!("{pointer}/{path}"), base.clone(), child));
            }
        }
    }

    fn resolve(&self, base: &str, reference: &str) -> Option<&'a Json> {
        let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let uri = if document.is_empty() { base.to_owned() } else { join(base, document)? };
        let root = *self.resources.get(&uri)?;
        if fragment.is_empty() {
            return Some(root);
        }
        let decoded = percent_decode(fragment)?;
        if decoded.starts_with('/') { root.pointer(&decoded) } else { self.anchors.get(&(uri, decoded)).copied() }
    }

    /// What the text of a reference means in a schema of this document: the very value, no copy of it.
    pub fn target(&self, schema: &Json, reference: &str) -> Option<&'a Json> {
        self.resolve(self.bases.get(&std::ptr::from_ref(schema))?, reference)
    }

    /// The references that lead out of it or to nothing, each with its place.
    fn unresolved(&self) -> impl Iterator<Item = (&str, &str)> {
        let open = |(_, base, reference): &&(String, String, String)| self.resolve(base, reference).is_none();
        self.references.iter().filter(open).map(|(pointer, _, reference)| (pointer.as_str(), reference.as_str()))
    }

    /// Calls `each` for every schema that a schema applies to the same value.
    fn in_place(
        &self,
        schema: &Json,
        members: &Map<String, Json>,
        each: &mut dyn FnMut(&Json) -> Result<(), String>,
    ) -> Result<(), String> {
        for name in REFERENCES {
            if let Some(target) = members.get(name).and_then(Json::as_str).and_then(|r| self.target(schema, r)) {
                each(target)?;
            }
        }
        for name in IN_PLACE {
            if let Some(child) = members.get(name) {
                each(child)?;
            }
        }
        for name in IN_PLACE_LISTS {
            for child in members.get(name).and_then(Json::as_array).into_iter().flatten() {
                each(child)?;
            }
        }
        for child in members.get("dependentSchemas").and_then(Json::as_object).into_iter().flat_map(Map::values) {
            each(child)?;
        }
        Ok(())
    }
}

/// The URI that a reference without a fragment means at a place.
fn join(base: &str, reference: &str) -> Option<String> {
    let reference = reference.trim_end_matches('#');
    if reference.is_empty() {
        return Some(base.to_owned());
    }
    let reference = fluent_uri::UriRef::parse(reference).ok()?;
    if let Ok(absolute) = fluent_uri::Uri::try_from(reference) {
        return Some(absolute.normalize().as_str().to_owned());
    }
    let base = fluent_uri::Uri::parse(base).ok()?;
    match reference.resolve_against(&base) {
        Ok(uri) => Some(uri.normalize().as_str().to_owned()),
        // Against an opaque base nothing relative means anything; kept as it is, so that equal texts meet.
        Err(_) => Some(reference.as_str().to_owned()),
    }
}

fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digit = |b: Option<u8>| char::from(b?).to_digit(16);
            let value = digit(bytes.next())? * 16 + digit(bytes.next())?;
            out.push(u8::try_from(value).ok()?);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

fn children(members: &Map<String, Json>) -> Vec<(String, &Json)> {
    let mut out = Vec::new();
    for name in IN_PLACE.iter().chain(&FOR_CHILDREN) {
        if let Some(child) = members.get(*name) {
            match child {
                Json::Array(items) => {
                    out.extend(items.iter().enumerate().map(|(n, item)| (format!("{name}/{n}"), item)));
                }
                _ => out.push(((*name).to_owned(), child)),
            }
        }
    }
    for name in IN_PLACE_LISTS.iter().chain(&["prefixItems"]) {
        if let Some(Json::Array(items)) = members.get(*name) {
            out.extend(items.iter().enumerate().map(|(n, item)| (format!("{name}/{n}"), item)));
        }
    }
    for name in MAPS {
        if let Some(Json::Object(map)) = members.get(name) {
            out.extend(map.iter().map(|(key, child)| (format!("{name}/{}", pointer_token(key)), child)));
        }
    }
    out
}

/// Counts the steps of validating `instance`, without doing them.
///
/// # Errors
/// A schema that refers to itself for the same value, so that validation has no end, or whose table of pairs is too large.
fn cost(schema: &Json, instance: &Json) -> Result<u64, String> {
    let document = Document::new(schema);
    let mut counter = Counter { document: &document, known: HashMap::new() };
    counter.steps(schema, instance)
}

/// What a pattern is reckoned as: a hundred of them that backtrack to their limit take a second.
const PATTERN_STEPS: u64 = 500;

const ENDLESS: &str = "the schema refers to itself for the same value, without end";

/// The steps that a schema takes for one value, without those for its members and elements.
struct Expansion<'d, 'a> {
    document: &'d Document<'a>,
    /// Steps of each schema; `None` while it is being counted, so that a cycle is noticed.
    known: HashMap<*const Json, Option<u64>>,
}

impl Expansion<'_, '_> {
    fn steps(&mut self, schema: &Json) -> Result<u64, String> {
        let Json::Object(members) = schema else { return Ok(1) };
        match self.known.get(&std::ptr::from_ref(schema)) {
            Some(Some(steps)) => return Ok(*steps),
            Some(None) => return Err(ENDLESS.into()),
            None => {}
        }
        self.known.insert(schema, None);
        let mut total: u64 = 1;
        let document = self.document;
        document.in_place(schema, members, &mut |child| {
            total = total.saturating_add(self.steps(child)?);
            Ok(())
        })?;
        self.known.insert(schema, Some(total));
        Ok(total)
    }
}

type Pair = (*const Json, *const Json);

struct Counter<'d, 'a> {
    document: &'d Document<'a>,
    /// Steps of each pair; `None` while it is being counted, so that a cycle is noticed.
    known: HashMap<Pair, Option<u64>>,
}

impl Counter<'_, '_> {
    fn steps(&mut self, schema: &Json, instance: &Json) -> Result<u64, String> {
        let Json::Object(members) = schema else { return Ok(1) };
        if members.is_empty() {
            return Ok(1);
        }
        let pair: Pair = (schema, instance);
        match self.known.get(&pair) {
            Some(Some(steps)) => return Ok(*steps),
            Some(None) => return Err(ENDLESS.into()),
            None => {}
        }
        if self.known.len() as u64 > STEP_BUDGET / 10 {
            return Err("the schema and value are too large to be judged".into());
        }
        self.known.insert(pair, None);
        // Comparing with a list of values, and matching a pattern, costs more than a step.
        let listed = members.get("enum").map_or(0, size) + members.get("const").map_or(0, size);
        let patterns = members.get("pattern").map_or(0, |_| 1)
            + members.get("patternProperties").and_then(Json::as_object).map_or(0, |p| p.len() as u64);
        let mut total = members.len() as u64 + listed + patterns.saturating_mul(PATTERN_STEPS);
        let document = self.document;
        document.in_place(schema, members, &mut |child| {
            total = total.saturating_add(self.steps(child, instance)?);
            Ok(())
        })?;
        let mut add = |steps: u64| total = total.saturating_add(steps);
        match instance {
            Json::Array(items) => {
                let own = items.len() as u64;
                let unique = members.get("uniqueItems") == Some(&Json::Bool(true));
                add(if unique { size(instance).saturating_mul(20) } else { own });
                let by_index = members.get("prefixItems").or_else(|| members.get("items")).and_then(Json::as_array);
                for (n, item) in items.iter().enumerate() {
                    if let Some(child) = by_index.and_then(|list| list.get(n)) {
                        add(self.steps(child, item)?);
                    }
                    for name in ["items", "additionalItems", "unevaluatedItems", "contains"] {
                        if let Some(child @ Json::Object(_)) = members.get(name) {
                            add(self.steps(child, item)?);
                        }
                    }
                }
            }
            Json::Object(object) => {
                add(object.len() as u64);
                for (key, value) in object {
                    if let Some(child) = members.get("properties").and_then(|p| p.get(key)) {
                        add(self.steps(child, value)?);
                    }
                    // A pattern may match any name; assume that it does.
                    let patterns = members.get("patternProperties").and_then(Json::as_object);
                    for child in patterns.into_iter().flat_map(Map::values) {
                        add(self.steps(child, value)?);
                    }
                    for name in ["additionalProperties", "unevaluatedProperties", "propertyNames"] {
                        if let Some(child @ Json::Object(_)) = members.get(name) {
                            add(self.steps(child, value)?);
                        }
                    }
                }
            }
            _ => {}
        }
        self.known.insert(pair, Some(total));
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn validates() {
        let schema = json!({"type": "object", "properties": {"entry": {"type": "integer", "minimum": 1}}, "required": ["entry"], "additionalProperties": false});
        assert_eq!(instance_of(&schema, DRAFT_2020_12, &json!({"entry": 1})), Checked::Yes);
        assert!(matches!(instance_of(&schema, DRAFT_2020_12, &json!({"entry": 0})), Checked::No(_)));
        assert!(matches!(instance_of(&schema, DRAFT_2020_12, &json!({"entry": 1, "x": 1})), Checked::No(_)));
    }

    #[test]
    fn explosive_schemas_are_not_run() {
        let mut defs = Map::new();
        for n in 0..40 {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            defs.insert(format!("d{n}"), json!({"allOf": [next, next]}));
        }
        defs.insert("d40".into(), json!({"type": "integer"}));
        let schema = json!({"$ref": "#/$defs/d0", "$defs": defs});
        assert!(matches!(instance_of(&schema, DRAFT_2020_12, &json!(1)), Checked::Unknown(_)));
        assert_eq!(self_contained(&schema), Checked::Yes);
    }

    #[test]
    fn endless_schemas_are_not_run() {
        for schema in
            [json!({"$ref": "#"}), json!({"anyOf": [{"$ref": "#/anyOf/0"}]}), json!({"allOf": [{"$ref": "#"}]})]
        {
            assert!(matches!(instance_of(&schema, DRAFT_2020_12, &json!({"a": 1})), Checked::Unknown(_)), "{schema}");
        }
        let tree = json!({"type": "object", "additionalProperties": {"$ref": "#"}});
        assert_eq!(instance_of(&tree, DRAFT_2020_12, &json!({"a": {"b": {}}})), Checked::Yes);
    }

    #[test]
    fn backtracking_patterns_end() {
        let schema = json!({"pattern": "^(?=(a+)+$)(a+)+\\1$"});
        let text = "a".repeat(40) + "!";
        assert!(!matches!(instance_of(&schema, DRAFT_2020_12, &json!(text)), Checked::Yes));
    }

    #[test]
    fn expensive_lists_and_patterns_are_not_run() {
        let items: Vec<String> = (0..20_000).map(|n| format!("{n}")).collect();
        let schema = json!({"items": {"enum": items}});
        assert!(matches!(instance_of(&schema, DRAFT_2020_12, &json!(items)), Checked::Unknown(_)));
        let schema = json!({"items": {"pattern": "^(a+)+\\1$"}});
        assert!(matches!(
            instance_of(&schema, DRAFT_2020_12, &json!(vec!["a".repeat(30) + "!"; 20_000])),
            Checked::Unknown(_)
        ));
    }

    #[test]
    fn the_dialect_decides() {
        let tuple = json!({"items": [{"type": "integer"}]});
        assert!(matches!(instance_of(&tuple, DRAFT_2020_12, &json!([1])), Checked::Unknown(_)));
        let draft_7 = "http://json-schema.org/draft-07/schema#";
        assert_eq!(instance_of(&tuple, draft_7, &json!([1])), Checked::Yes);
        assert!(matches!(instance_of(&tuple, draft_7, &json!(["x"])), Checked::No(_)));
    }

    #[test]
    fn valid_schemas_are_told_from_others() {
        assert_eq!(valid_schema(&json!({"type": "object"}), DRAFT_2020_12), Checked::Yes);
        assert_eq!(valid_schema(&json!(true), DRAFT_2020_12), Checked::Yes);
        assert!(matches!(valid_schema(&json!({"type": "objekt"}), DRAFT_2020_12), Checked::No(_)));
        assert!(matches!(valid_schema(&json!({"items": [{}]}), DRAFT_2020_12), Checked::No(_)));
        assert_eq!(valid_schema(&json!({"items": [{}]}), "http://json-schema.org/draft-07/schema#"), Checked::Yes);
        assert!(matches!(valid_schema(&json!({}), "https://example.org/own"), Checked::Unknown(_)));
    }

    #[test]
    fn what_makes_a_schema_useless_has_its_place() {
        let places = |schema: &Json| {
            faults(schema, DRAFT_2020_12).unwrap().into_iter().map(|fault| fault.pointer).collect::<Vec<_>>()
        };
        let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}});
        assert_eq!(places(&tree), Vec::<String>::new());
        assert_eq!(places(&json!({"properties": {"a": {"type": "objekt"}}})), ["/properties/a/type"]);
        assert_eq!(places(&json!({"items": {"$ref": "https://example.org/x"}})), ["/items/$ref"]);
        assert_eq!(places(&json!({"properties": {"a": {"allOf": [{"$ref": "#/properties/a"}]}}})), ["/properties/a"]);
        assert_eq!(places(&json!({"pattern": "("})), [""]);
        let mut defs = Map::new();
        for n in 0..40 {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            defs.insert(format!("d{n}"), json!({"allOf": [next, next]}));
        }
        defs.insert("d40".into(), json!({"type": "integer"}));
        let schema = json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs});
        assert_eq!(places(&schema), ["/properties/a"]);
        assert!(faults(&json!({}), "https://example.org/own").is_err());
    }

    #[test]
    fn references_stay_inside() {
        for schema in [
            json!({"$ref": "#/$defs/a", "$defs": {"a": {}}}),
            json!({"$ref": "#a", "$defs": {"x": {"$anchor": "a"}}}),
            json!({"$dynamicRef": "#n", "$defs": {"x": {"$dynamicAnchor": "n"}}}),
            json!({"properties": {"$ref": {"type": "string"}}}),
            json!({"$schema": DRAFT_2020_12, "$id": "https://example.org/a", "$ref": "https://example.org/a#/$defs/x", "$defs": {"x": {}}}),
            json!({"$ref": "#/$defs/a%20b", "$defs": {"a b": {}}}),
            json!({"const": {"$ref": "http://example.org"}}),
            json!({"$ref": "#/x-parts/a", "x-parts": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {}}}),
            json!({"$defs": {"r": {"$id": "https://example.org/r", "$ref": "#/$defs/x", "$defs": {"x": {}}}}, "$ref": "https://example.org/r"}),
            json!({"$id": "https://example.org/dir/root.json", "$ref": "other.json", "$defs": {"o": {"$id": "other.json"}}}),
        ] {
            assert_eq!(self_contained(&schema), Checked::Yes, "{schema}");
        }
        for schema in [
            json!({"$ref": "https://example.org/x.json"}),
            json!({"properties": {"a": {"$ref": "other.json"}}}),
            json!({"items": {"$ref": "file:///etc/passwd"}}),
            json!({"$ref": "#/$defs/none"}),
            json!({"$ref": DRAFT_2020_12}),
            json!({"allOf": [{"$dynamicRef": "http://x/#n"}]}),
            json!({"dependencies": {"a": {"$ref": "https://example.org/x"}}}),
            json!({"$ref": "#/x-parts/a", "x-parts": {"a": {"$ref": "https://example.org/x"}}}),
            json!({"$ref": "https://evil.example/other.json", "$defs": {"o": {"$id": "other.json"}}}),
        ] {
            assert!(matches!(self_contained(&schema), Checked::No(_)), "{schema}");
        }
    }
}
