//! What a schema says of the values inside of a value. The main function is [`values`], the main type [`Value`].
//!
//! A value can be described in several places at once: where it is declared, behind a `$ref`, in an `allOf`. They are gathered,
//! so that a rule asks the value and not the place. Alternatives (`anyOf`, `oneOf`) are values of their own, each with what
//! holds for all of them.

use super::words::tokens;
use cetp_vectors::json::pointer_token;
use cetp_vectors::schema::Document;
use serde_json::{Map, Value as Json};

/// Values of one schema that are looked at; an honest schema has a few dozen. References can make millions of a few lines.
pub const MOST_VALUES: usize = 1_000;

/// Levels of values inside of values that are looked at.
const MOST_DEPTH: usize = 48;

/// A value that a schema describes.
#[derive(Clone, Debug)]
pub struct Value<'s> {
    /// JSON Pointer in the descriptor to where it is declared.
    pub pointer: String,
    /// The name of the member that it is; empty for elements and for the whole.
    pub name: String,
    /// How many members lie above: 0 is the whole, 1 a parameter. Elements and alternatives do not count.
    pub depth: usize,
    /// Every schema that it has to satisfy.
    pub all: Vec<&'s Map<String, Json>>,
    /// Those that no value above has: an alternative's own.
    fresh: Vec<&'s Map<String, Json>>,
    /// True where a schema is `false`: there is no such value.
    pub never: bool,
    /// Whether it is an alternative of another value.
    pub alternative: bool,
}

/// The values of a schema, from the outside in.
pub struct Values<'s> {
    /// The first is the whole.
    pub list: Vec<Value<'s>>,
    /// Whether some were left out, as there are too many or they are nested too deeply.
    pub cut: bool,
}

impl<'s> Value<'s> {
    /// Its name as words with `_` between them.
    pub fn snake_name(&self) -> String {
        tokens(&self.name).join("_")
    }

    /// The first value of a keyword.
    pub fn keyword(&self, name: &str) -> Option<&'s Json> {
        self.all.iter().find_map(|schema| schema.get(name))
    }

    /// Whether one of its schemas has a keyword.
    pub fn has(&self, name: &str) -> bool {
        self.keyword(name).is_some()
    }

    /// Whether one of its schemas has one of the keywords.
    pub fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.has(name))
    }

    /// Whether it may have a type, by the word `type`. A value without that word may have any.
    pub fn may_be(&self, name: &str) -> bool {
        let types = self.types();
        types.is_empty() || types.contains(&name)
    }

    /// The types of the word `type`.
    pub fn types(&self) -> Vec<&'s str> {
        match self.keyword("type") {
            Some(Json::String(one)) => vec![one],
            Some(Json::Array(list)) => list.iter().filter_map(Json::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether it is a text and nothing else but null.
    pub fn is_text(&self) -> bool {
        let types = self.types();
        types.contains(&"string") && types.iter().all(|name| ["string", "null"].contains(name))
    }

    /// Whether what it may be is told by alternatives.
    pub fn has_alternatives(&self) -> bool {
        self.fresh
            .iter()
            .any(|schema| ["anyOf", "oneOf"].iter().any(|name| schema.get(*name).is_some_and(Json::is_array)))
    }

    /// Whether it is one of listed values.
    pub fn is_listed(&self) -> bool {
        self.has_any(&["enum", "const"])
    }

    /// The names of its declared members.
    pub fn members(&self) -> Vec<&'s str> {
        let maps = self.all.iter().filter_map(|schema| schema.get("properties").and_then(Json::as_object));
        let mut names: Vec<&str> = maps.flat_map(|map| map.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What it requires.
    pub fn required(&self) -> Vec<&'s str> {
        let lists = self.all.iter().filter_map(|schema| schema.get("required").and_then(Json::as_array));
        lists.flatten().filter_map(Json::as_str).collect()
    }

    /// Whether no member may come that is not declared.
    pub fn is_closed(&self) -> bool {
        let shut = |name: &str| self.all.iter().any(|schema| schema.get(name) == Some(&Json::Bool(false)));
        shut("additionalProperties") || shut("unevaluatedProperties")
    }

    /// A text that says what it is: its title and description.
    pub fn words(&self) -> String {
        let said = ["title", "description"].iter().filter_map(|name| self.keyword(name).and_then(Json::as_str));
        said.collect::<Vec<_>>().join(" ")
    }
}

/// The values that a schema describes. `pointer` is where it lies in the descriptor.
pub fn values<'s>(pointer: &str, schema: &'s Json) -> Values<'s> {
    let document = Document::new(schema);
    let mut walk = Walk { document: &document, out: Values { list: Vec::new(), cut: false }, path: Vec::new() };
    let (all, never) = walk.gather(&[schema]);
    let whole = Value {
        pointer: pointer.to_owned(),
        name: String::new(),
        depth: 0,
        fresh: all.clone(),
        all,
        never,
        alternative: false,
    };
    walk.visit(whole);
    walk.out
}

struct Walk<'d, 's> {
    document: &'d Document<'s>,
    out: Values<'s>,
    /// The schemas of the values above.
    path: Vec<*const Map<String, Json>>,
}

impl<'s> Walk<'_, 's> {
    /// Every schema that a value has to satisfy which satisfies these. What holds on a condition is counted in: it says more
    /// about the value, and a rule asks whether anything does.
    fn gather(&self, schemas: &[&'s Json]) -> (Vec<&'s Map<String, Json>>, bool) {
        let mut all: Vec<&'s Map<String, Json>> = Vec::new();
        let mut never = false;
        let mut open: Vec<&'s Json> = schemas.iter().rev().copied().collect();
        while let Some(schema) = open.pop() {
            never |= *schema == Json::Bool(false);
            let Some(members) = schema.as_object() else { continue };
            if all.iter().any(|known| std::ptr::eq(*known, members)) || all.len() > MOST_VALUES {
                continue;
            }
            all.push(members);
            let mut more: Vec<&'s Json> = Vec::new();
            for name in ["$ref", "$dynamicRef"] {
                let target = members.get(name).and_then(Json::as_str).and_then(|r| self.document.target(schema, r));
                more.extend(target);
            }
            more.extend(members.get("allOf").and_then(Json::as_array).into_iter().flatten());
            more.extend(["then", "else"].iter().filter_map(|name| members.get(*name)).filter(|part| part.is_object()));
            open.extend(more.into_iter().rev());
        }
        (all, never)
    }

    fn visit(&mut self, value: Value<'s>) {
        if self.out.list.len() == MOST_VALUES || self.path.len() > MOST_DEPTH * 4 || value.depth > MOST_DEPTH {
            self.out.cut = true;
            return;
        }
        // A schema that contains itself says nothing new the second time.
        let again = |schema: &Map<String, Json>| self.path.contains(&std::ptr::from_ref(schema));
        let known = !value.fresh.is_empty() && value.fresh.iter().all(|schema| again(schema));
        self.out.list.push(value.clone());
        if known {
            return;
        }
        let above = self.path.len();
        self.path.extend(value.fresh.iter().map(|schema| std::ptr::from_ref(*schema)));
        self.alternatives(&value);
        self.members(&value);
        self.elements(&value);
        self.path.truncate(above);
    }

    fn alternatives(&mut self, value: &Value<'s>) {
        for schema in &value.fresh {
            for name in ["anyOf", "oneOf"] {
                for (n, branch) in schema.get(name).and_then(Json::as_array).into_iter().flatten().enumerate() {
                    let (fresh, never) = self.gather(&[branch]);
                    let all = value.all.iter().chain(&fresh).copied().collect();
                    self.visit(Value {
                        pointer: format!("{}/{name}/{n}", value.pointer),
                        name: value.name.clone(),
                        depth: value.depth,
                        all,
                        fresh,
                        never,
                        alternative: true,
                    });
                }
            }
        }
    }

    fn members(&mut self, value: &Value<'s>) {
        let declared = |schema: &&'s Map<String, Json>| schema.get("properties").and_then(Json::as_object);
        let mut names: Vec<&'s String> = value.fresh.iter().filter_map(declared).flat_map(Map::keys).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let schemas: Vec<&'s Json> =
                value.all.iter().filter_map(declared).filter_map(|map| map.get(name)).collect();
            let pointer = format!("{}/properties/{}", value.pointer, pointer_token(name));
            self.child(value, pointer, name, 1, &schemas);
        }
        for keyword in ["additionalProperties", "unevaluatedProperties"] {
            let schemas: Vec<&'s Json> = value.fresh.iter().filter_map(|schema| schema.get(keyword)).collect();
            if schemas.iter().any(|schema| schema.is_object()) {
                self.child(value, format!("{}/{keyword}", value.pointer), "", 1, &schemas);
            }
        }
        let patterns =
            value.fresh.iter().filter_map(|schema| schema.get("patternProperties").and_then(Json::as_object));
        let patterns: Vec<(&'s String, &'s Json)> = patterns.flatten().collect();
        for (pattern, schema) in patterns {
            let pointer = format!("{}/patternProperties/{}", value.pointer, pointer_token(pattern));
            self.child(value, pointer, "", 1, &[schema]);
        }
    }

    fn elements(&mut self, value: &Value<'s>) {
        for keyword in ["items", "prefixItems", "additionalItems", "unevaluatedItems"] {
            let found: Vec<&'s Json> = value.fresh.iter().filter_map(|schema| schema.get(keyword)).collect();
            for schema in found {
                match schema {
                    Json::Array(list) => {
                        for (n, item) in list.iter().enumerate() {
                            self.child(value, format!("{}/{keyword}/{n}", value.pointer), "", 0, &[item]);
                        }
                    }
                    Json::Bool(_) => {}
                    schema => self.child(value, format!("{}/{keyword}", value.pointer), "", 0, &[schema]),
                }
            }
        }
    }

    fn child(&mut self, value: &Value<'s>, pointer: String, name: &str, deeper: usize, schemas: &[&'s Json]) {
        let (all, never) = self.gather(schemas);
        self.visit(Value {
            // Where a pointer leads through a reference it names the place of the reference.
            pointer,
            name: name.to_owned(),
            depth: value.depth + deeper,
            fresh: all.clone(),
            all,
            never,
            alternative: false,
        });
    }
}
