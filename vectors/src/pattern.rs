//! Patterns: how a vector says what a value must look like. The main type is [`Pattern`]; [`crate::matching`] asks whether a
//! value matches.
//!
//! A pattern is JSON. A scalar matches an equal value (numbers as numbers). An array matches element by element. An
//! object matches an object that has every named member, matching; other members are free. An object whose members all
//! begin with `$` holds operators ([`OPERATORS`]), all of which must hold. Placeholders and functions ([`crate::expr`])
//! are computed first, and stand for a value: what a target gave is never read as a pattern.
//!
//! A pattern is read once, before the first message: it is asked with every one.

use crate::cache::Cache;
use crate::expr::{self, Expr};
use serde_json::{Map, Value as Json};
use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

/// The operators, each with its argument and what it asks. This is the whole list.
pub const OPERATORS: &[(&str, &str)] = &[
    ("$any", "true: anything that is there"),
    ("$absent", "true: no such member, or null"),
    ("$only", "list of names: an object that has no other members"),
    ("$optional", "pattern: absent, or matches"),
    ("$fact", "pattern: matches; where the target does not tell, nothing is judged"),
    ("$equals", "value: equal as a whole, with no other members"),
    ("$one_of", "list of patterns, or a placeholder of a list of values: at least one matches"),
    ("$all", "list of patterns, or a placeholder of a list of values: every one matches"),
    ("$not", "pattern: there, and does not match"),
    ("$type", "null, boolean, integer, number, string, array or object"),
    ("$regex", "regular expression that matches the whole text"),
    ("$starts_with", "text that the text begins with"),
    ("$has_text", "text that occurs in the text"),
    ("$lacks", "list of texts, none of which occurs in the text, in whatever case"),
    ("$uuid_form", "true: a UUID of 36 characters"),
    ("$gt", "number: greater"),
    ("$gte", "number: greater or equal"),
    ("$lt", "number: less"),
    ("$lte", "number: less or equal"),
    ("$length", "pattern for the number of characters of a text, elements of a list or members of an object"),
    ("$utf8_bytes", "pattern for the length of a text in UTF-8 bytes"),
    ("$json", "pattern for the value that the text holds as JSON"),
    ("$each", "pattern: every element or member value matches (an empty list has none; ask for its $length too)"),
    ("$some", "pattern: at least one element matches"),
    ("$tally", "{\"of\": pattern, \"is\": pattern}: the number of elements that match"),
    (
        "$bag",
        "list of patterns, or a placeholder of a list of values: as many elements, each matched by one of them, in any order",
    ),
    ("$same", "path (or \"\"): all elements have an equal value there"),
    ("$unique", "path (or \"\"): no two elements have an equal value there"),
    ("$descending", "true: numbers, none of them greater than the one before"),
    (
        "$instance_of",
        "{\"schema\", \"dialect\"}: the value conforms to the JSON Schema (dialect: 2020-12 where none is given)",
    ),
    ("$valid_schema", "dialect URI: the value is a valid schema of it"),
    ("$self_contained", "true: no reference of the schema leaves the document"),
    ("$instant", "pattern for the milliseconds of an RFC 3339 text"),
];

/// Whether an object is a list of operators: not empty, and every member begins with `$`.
pub fn is_operators(members: &Map<String, Json>) -> bool {
    begins_with_dollar(members) && !expr::is_function(members)
}

/// Whether an object is a function or a list of operators.
fn begins_with_dollar(members: &Map<String, Json>) -> bool {
    !members.is_empty() && members.keys().all(|name| name.starts_with('$'))
}

/// A pattern, read once.
#[derive(Clone, Debug)]
pub struct Pattern(pub(crate) Shape);

/// What a pattern is.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// An equal value.
    Value(Json),
    /// A value that is known when the vector runs: a placeholder, or a function.
    Computed(Expr),
    /// An object with these members.
    Members(Vec<(String, Pattern)>),
    /// A list of these elements.
    Elements(Vec<Pattern>),
    /// All of these hold.
    Operators(Vec<Operator>),
}

/// One of [`OPERATORS`] with its argument.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    pub(crate) name: String,
    /// As it is written, for people.
    pub(crate) argument: Json,
    pub(crate) ask: Ask,
}

/// What an operator asks; see [`OPERATORS`] for each.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Any,
    Absent,
    Only(Expr),
    Optional(Pattern),
    Fact(Pattern),
    Equals(Expr),
    OneOf(Patterns),
    All(Patterns),
    Not(Pattern),
    Type(String),
    Regex(Arc<regex::Regex>),
    StartsWith(Expr),
    HasText(Expr),
    Lacks(Expr),
    UuidForm,
    /// How the value must be ordered to the bound.
    Bound(fn(Ordering) -> bool, Expr),
    Length(Pattern),
    Utf8Bytes(Pattern),
    Json(Pattern),
    Each(Pattern),
    Some(Pattern),
    Tally {
        of: Pattern,
        is: Pattern,
    },
    Bag(Patterns),
    Same(String),
    Unique(String),
    Descending,
    InstanceOf(Expr),
    ValidSchema(Expr),
    SelfContained,
    Instant(Pattern),
    /// Nothing that makes sense, with the reason.
    Senseless(String),
}

/// A list of patterns.
#[derive(Clone, Debug)]
pub(crate) enum Patterns {
    Listed(Vec<Pattern>),
    /// Given whole by a placeholder: values, each of which matches an equal one.
    Given(Expr),
}

impl Pattern {
    /// A pattern as it is written.
    pub fn new(written: Json) -> Pattern {
        Pattern(match written {
            Json::Object(members) if begins_with_dollar(&members) => {
                if expr::is_function(&members) {
                    Shape::Computed(Expr::new(Json::Object(members)))
                } else {
                    let read = |(name, argument): (String, Json)| {
                        let ask =
                            Ask::new(&name, &argument).unwrap_or_else(|why| Ask::Senseless(format!("{name}: {why}")));
                        Operator { name, argument, ask }
                    };
                    Shape::Operators(members.into_iter().map(read).collect())
                }
            }
            Json::Object(members) => {
                Shape::Members(members.into_iter().map(|(name, inner)| (name, Pattern::new(inner))).collect())
            }
            Json::Array(items) => Shape::Elements(items.into_iter().map(Pattern::new).collect()),
            Json::String(text) if expr::has_placeholder(&text) => Shape::Computed(Expr::new(Json::String(text))),
            value => Shape::Value(value),
        })
    }

    /// Matches what is equal to a value, whatever that holds.
    pub(crate) fn of_value(value: Json) -> Pattern {
        Pattern(Shape::Value(value))
    }
}

impl Ask {
    fn new(name: &str, argument: &Json) -> Result<Ask, String> {
        let pattern = || Pattern::new(argument.clone());
        let expr = || Expr::new(argument.clone());
        let text = || argument.as_str().map(str::to_owned).ok_or("a text was expected");
        let patterns = || match argument {
            Json::Array(items) => Ok(Patterns::Listed(items.iter().cloned().map(Pattern::new).collect())),
            Json::String(_) => Ok(Patterns::Given(expr())),
            _ => Err("a list of patterns was expected"),
        };
        let part = |name: &str| argument.get(name).cloned().map(Pattern::new).ok_or_else(|| format!("needs {name}"));
        Ok(match name {
            "$any" => Ask::Any,
            "$absent" => Ask::Absent,
            "$only" => Ask::Only(expr()),
            "$optional" => Ask::Optional(pattern()),
            "$fact" => Ask::Fact(pattern()),
            "$equals" => Ask::Equals(expr()),
            "$one_of" => Ask::OneOf(patterns()?),
            "$all" => Ask::All(patterns()?),
            "$not" => Ask::Not(pattern()),
            "$type" => Ask::Type(text()?),
            "$regex" => Ask::Regex(regex(&text()?)?),
            "$starts_with" => Ask::StartsWith(expr()),
            "$has_text" => Ask::HasText(expr()),
            "$lacks" => Ask::Lacks(expr()),
            "$uuid_form" => Ask::UuidForm,
            "$gt" => Ask::Bound(Ordering::is_gt, expr()),
            "$gte" => Ask::Bound(Ordering::is_ge, expr()),
            "$lt" => Ask::Bound(Ordering::is_lt, expr()),
            "$lte" => Ask::Bound(Ordering::is_le, expr()),
            "$length" => Ask::Length(pattern()),
            "$utf8_bytes" => Ask::Utf8Bytes(pattern()),
            "$json" => Ask::Json(pattern()),
            "$each" => Ask::Each(pattern()),
            "$some" => Ask::Some(pattern()),
            "$tally" => Ask::Tally { of: part("of")?, is: part("is")? },
            "$bag" => Ask::Bag(patterns()?),
            "$same" => Ask::Same(text()?),
            "$unique" => Ask::Unique(text()?),
            "$descending" => Ask::Descending,
            "$instance_of" => Ask::InstanceOf(expr()),
            "$valid_schema" => Ask::ValidSchema(expr()),
            "$self_contained" => Ask::SelfContained,
            "$instant" => Ask::Instant(pattern()),
            _ => return Err("there is no such operator".into()),
        })
    }
}

static REGEXES: LazyLock<Cache<regex::Regex>> = LazyLock::new(Cache::default);

/// Compiles a `$regex`, which matches a text as a whole.
///
/// # Errors
/// It is no regular expression.
pub(crate) fn regex(text: &str) -> Result<Arc<regex::Regex>, String> {
    REGEXES.get(text, || {
        regex::Regex::new(&format!("\\A(?s:{text})\\z")).map_err(|e| format!("not a regular expression: {e}"))
    })
}
