//! Matchers: how a vector says what a value must look like. The main function is [`matches`].
//!
//! A pattern is JSON. A scalar matches an equal value (numbers as numbers). An array matches element by element. An
//! object matches an object that has every named member, matching; other members are free. An object whose members all
//! begin with `$` holds operators ([`OPERATORS`]), all of which must hold. Placeholders and functions ([`crate::expr`])
//! are computed first.
//!
//! The answer has three values: where a target cannot tell a fact, or judging would cost too much, it is
//! [`Match::Unknown`], and nothing is passed or failed by it.

use crate::expr::{self, Scope};
use crate::json::{Limits, parse, pointer_token};
use crate::schema::{self, Checked};
use serde_json::{Map, Value as Json, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The operators, each with its argument and what it asks. This is the whole list.
pub const OPERATORS: &[(&str, &str)] = &[
    ("$any", "true: anything that is there"),
    ("$absent", "true: no such member, or null"),
    ("$optional", "pattern: absent, or matches"),
    ("$fact", "pattern: matches; where the target does not tell, nothing is judged"),
    ("$equals", "value: equal as a whole, with no other members"),
    ("$one_of", "list of patterns: at least one matches"),
    ("$all", "list of patterns: every one matches"),
    ("$not", "pattern: there, and does not match"),
    ("$type", "null, boolean, integer, number, string, array or object"),
    ("$regex", "regular expression that matches the whole text"),
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
    ("$each", "pattern: every element or member value matches"),
    ("$some", "pattern: at least one element matches"),
    ("$tally", "{\"of\": pattern, \"is\": pattern}: the number of elements that match"),
    ("$bag", "list of patterns: as many elements, each matched by one of them, in any order"),
    ("$unique", "path (or \"\"): no two elements have an equal value there"),
    ("$instance_of", "JSON Schema: the value conforms to it"),
    ("$valid_schema", "dialect URI: the value is a valid schema of it"),
    ("$self_contained", "true: no reference of the schema leaves the document"),
    ("$instant", "pattern for the milliseconds of an RFC 3339 text"),
];

/// Whether a value matches.
#[derive(Clone, Debug, PartialEq)]
pub enum Match {
    /// It does.
    Yes,
    /// It does not.
    No(Vec<Mismatch>),
    /// It cannot be told, with the reason.
    Unknown(String),
}

/// One place at which a value is not what was expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// JSON Pointer into the value.
    pub pointer: String,
    /// What was expected there, as a pattern or in words.
    pub expected: Json,
    /// What was there; nothing where there was nothing.
    pub actual: Option<Json>,
}

impl Match {
    /// All must hold: any No is No (with every reason), else any Unknown is Unknown.
    pub fn all(matches: impl IntoIterator<Item = Match>) -> Match {
        let (mut no, mut unknown) = (Vec::new(), None);
        for one in matches {
            match one {
                Match::Yes => {}
                Match::No(mut reasons) => no.append(&mut reasons),
                Match::Unknown(why) => unknown = unknown.or(Some(why)),
            }
        }
        match (no.is_empty(), unknown) {
            (false, _) => Match::No(no),
            (true, Some(why)) => Match::Unknown(why),
            (true, None) => Match::Yes,
        }
    }

    /// One must hold: any Yes is Yes, else any Unknown is Unknown, else No with every reason.
    pub fn any(matches: impl IntoIterator<Item = Match>) -> Match {
        let (mut no, mut unknown) = (Vec::new(), None);
        for one in matches {
            match one {
                Match::Yes => return Match::Yes,
                Match::No(mut reasons) => no.append(&mut reasons),
                Match::Unknown(why) => unknown = unknown.or(Some(why)),
            }
        }
        unknown.map_or(Match::No(no), Match::Unknown)
    }
}

/// Whether an object is a list of operators: not empty, and every member begins with `$`.
pub fn is_operators(members: &Map<String, Json>) -> bool {
    !members.is_empty() && members.keys().all(|name| name.starts_with('$')) && !expr::is_function(members)
}

/// Whether a value (or its absence) matches a pattern.
pub fn matches(pattern: &Json, value: Option<&Json>, scope: &dyn Scope) -> Match {
    Matcher { scope }.matches(pattern, value, "")
}

/// Whether two values are equal: numbers as numbers, object members in any order.
pub fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(x), Json::Number(y)) => match (expr::integer(a), expr::integer(b)) {
            (Some(x), Some(y)) => x == y,
            _ => x.as_f64() == y.as_f64(),
        },
        (Json::Array(x), Json::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(a, b)| equal(a, b)),
        (Json::Object(x), Json::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(name, a)| y.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// JSON null counts as absent, and so does a Bundle key that holds null.
fn absent(value: Option<&Json>) -> bool {
    match value {
        None | Some(Json::Null) => true,
        Some(Json::Object(members)) => members.len() == 1 && members.get("null").is_some_and(Json::is_null),
        Some(_) => false,
    }
}

struct Matcher<'s> {
    scope: &'s dyn Scope,
}

impl Matcher<'_> {
    fn matches(&self, pattern: &Json, value: Option<&Json>, at: &str) -> Match {
        match pattern {
            Json::Object(members) if expr::is_function(members) => self.computed(pattern, value, at),
            Json::Object(members) if is_operators(members) => {
                Match::all(members.iter().map(|(name, argument)| self.operator(name, argument, value, at)))
            }
            Json::Object(members) => {
                let Some(Json::Object(actual)) = value else { return no(pattern, value, at) };
                Match::all(members.iter().map(|(name, pattern)| {
                    self.matches(pattern, actual.get(name), &format!("{at}/{}", pointer_token(name)))
                }))
            }
            Json::Array(items) => {
                let Some(Json::Array(actual)) = value else { return no(pattern, value, at) };
                if items.len() != actual.len() {
                    return no(pattern, value, at);
                }
                let pairs = items.iter().zip(actual).enumerate();
                Match::all(pairs.map(|(n, (pattern, value))| self.matches(pattern, Some(value), &format!("{at}/{n}"))))
            }
            Json::String(text) if text.contains("${") => self.computed(pattern, value, at),
            _ => {
                if value.is_some_and(|value| equal(pattern, value)) {
                    Match::Yes
                } else {
                    no(pattern, value, at)
                }
            }
        }
    }

    /// A placeholder or function stands for a literal value, which is not read as a pattern again.
    fn computed(&self, pattern: &Json, value: Option<&Json>, at: &str) -> Match {
        match expr::resolve(pattern, self.scope) {
            Ok(literal) if value.is_some_and(|value| equal(&literal, value)) => Match::Yes,
            Ok(literal) => no(&literal, value, at),
            Err(error) => no(&json!(format!("{pattern} ({error})")), value, at),
        }
    }

    fn argument(&self, argument: &Json) -> Result<Json, Match> {
        expr::resolve(argument, self.scope).map_err(|error| {
            Match::No(vec![Mismatch { pointer: String::new(), expected: json!(error.to_string()), actual: None }])
        })
    }

    fn operator(&self, name: &str, argument: &Json, value: Option<&Json>, at: &str) -> Match {
        let this = || json!({ name: argument });
        let holds = |yes: bool| if yes { Match::Yes } else { no(&this(), value, at) };
        match name {
            "$any" => return holds(value.is_some()),
            "$absent" => return holds(absent(value)),
            "$optional" => return if absent(value) { Match::Yes } else { self.matches(argument, value, at) },
            "$fact" if absent(value) => return Match::Unknown(format!("the target does not tell {at}")),
            "$fact" => return self.matches(argument, value, at),
            "$one_of" | "$all" => {
                let Ok(Json::Array(list)) = self.list_of_patterns(argument) else { return holds(false) };
                let each = list.iter().map(|pattern| self.matches(pattern, value, at));
                if name == "$all" {
                    return Match::all(each);
                }
                return match Match::any(each) {
                    Match::No(_) => no(&json!({ "$one_of": list }), value, at),
                    other => other,
                };
            }
            _ => {}
        }
        // Every other operator is about a value that is there.
        let Some(actual) = value else { return holds(false) };
        match name {
            "$not" => match self.matches(argument, value, at) {
                Match::Yes => holds(false),
                Match::No(_) => Match::Yes,
                unknown => unknown,
            },
            "$equals" => match self.argument(argument) {
                Ok(literal) if equal(&literal, actual) => Match::Yes,
                Ok(literal) => no(&json!({ "$equals": literal }), value, at),
                Err(error) => error,
            },
            "$type" => holds(argument.as_str().is_some_and(|name| type_is(name, actual))),
            "$regex" => match (argument.as_str().map(regex), actual.as_str()) {
                (Some(Ok(regex)), Some(text)) => holds(regex.is_match(text)),
                (Some(Err(error)), _) => no(&json!(error), value, at),
                _ => holds(false),
            },
            "$has_text" => match (self.argument(argument), actual.as_str()) {
                (Ok(Json::String(needle)), Some(text)) => holds(text.contains(&needle)),
                _ => holds(false),
            },
            "$lacks" => match self.argument(argument) {
                Ok(Json::Array(list)) => {
                    let text = actual.as_str().map_or_else(|| actual.to_string(), str::to_owned).to_lowercase();
                    let found =
                        list.iter().filter_map(Json::as_str).find(|needle| text.contains(&needle.to_lowercase()));
                    match found {
                        None => Match::Yes,
                        Some(needle) => no(&json!({ "$lacks": [needle] }), value, at),
                    }
                }
                _ => holds(false),
            },
            "$uuid_form" => holds(actual.as_str().is_some_and(|text| {
                text.len() == 36
                    && text.bytes().enumerate().all(|(n, byte)| match n {
                        8 | 13 | 18 | 23 => byte == b'-',
                        _ => byte.is_ascii_hexdigit(),
                    })
            })),
            "$gt" | "$gte" | "$lt" | "$lte" => match self.argument(argument).map(|bound| compare(actual, &bound)) {
                Ok(Some(order)) => holds(match name {
                    "$gt" => order.is_gt(),
                    "$gte" => order.is_ge(),
                    "$lt" => order.is_lt(),
                    _ => order.is_le(),
                }),
                Ok(None) => holds(false),
                Err(error) => error,
            },
            "$length" => {
                let length = match actual {
                    Json::String(text) => text.chars().count(),
                    Json::Array(items) => items.len(),
                    Json::Object(members) => members.len(),
                    _ => return holds(false),
                };
                self.measured(name, argument, &json!(length), at)
            }
            "$utf8_bytes" => match actual.as_str() {
                Some(text) => self.measured(name, argument, &json!(text.len()), at),
                None => holds(false),
            },
            "$json" => match actual.as_str().map(|text| parse(text.as_bytes(), Limits::DATA)) {
                Some(Ok(inner)) => self.matches(argument, Some(&inner), &format!("{at}#")),
                Some(Err(error)) => no(&json!(format!("JSON text ({error})")), value, at),
                None => holds(false),
            },
            "$each" => match actual {
                Json::Array(items) => Match::all(
                    items.iter().enumerate().map(|(n, item)| self.matches(argument, Some(item), &format!("{at}/{n}"))),
                ),
                Json::Object(members) => Match::all(
                    members
                        .iter()
                        .map(|(key, item)| self.matches(argument, Some(item), &format!("{at}/{}", pointer_token(key)))),
                ),
                _ => holds(false),
            },
            "$some" => match actual {
                Json::Array(items) => match Match::any(items.iter().map(|item| self.matches(argument, Some(item), at)))
                {
                    Match::No(_) => holds(false),
                    other => other,
                },
                _ => holds(false),
            },
            "$tally" => match (actual, argument.get("of"), argument.get("is")) {
                (Json::Array(items), Some(of), Some(is)) => {
                    let each: Vec<Match> = items.iter().map(|item| self.matches(of, Some(item), at)).collect();
                    if let Some(unknown) = each.iter().find(|m| matches!(m, Match::Unknown(_))) {
                        return unknown.clone();
                    }
                    let count = each.iter().filter(|m| matches!(m, Match::Yes)).count();
                    match self.matches(is, Some(&json!(count)), at) {
                        Match::No(_) => no(&json!({ "$tally": argument, "counted": count }), value, at),
                        other => other,
                    }
                }
                _ => holds(false),
            },
            "$bag" => match (actual, self.list_of_patterns(argument)) {
                (Json::Array(items), Ok(Json::Array(patterns))) => {
                    if items.len() == patterns.len() && self.assign(&patterns, items) {
                        Match::Yes
                    } else {
                        no(&json!({ "$bag": patterns }), value, at)
                    }
                }
                _ => holds(false),
            },
            "$unique" => match (actual, argument.as_str()) {
                (Json::Array(items), Some(path)) => {
                    let values = items.iter().map(|i| if path.is_empty() { Some(i) } else { expr::descend(i, path) });
                    let texts: Vec<String> = values.map(|v| v.unwrap_or(&Json::Null).to_string()).collect();
                    let distinct: std::collections::BTreeSet<&String> = texts.iter().collect();
                    holds(distinct.len() == texts.len())
                }
                _ => holds(false),
            },
            "$instance_of" => match self.argument(argument) {
                Ok(schema) => checked(schema::instance_of(&schema, actual), value, at),
                Err(error) => error,
            },
            "$valid_schema" => match self.argument(argument) {
                Ok(Json::String(dialect)) => checked(schema::valid_schema(actual, &dialect), value, at),
                _ => holds(false),
            },
            "$self_contained" => checked(schema::self_contained(actual), value, at),
            "$instant" => match actual.as_str().and_then(expr::instant_ms) {
                Some(ms) => self.measured(name, argument, &json!(ms), at),
                None => no(&json!("an RFC 3339 instant"), value, at),
            },
            other => no(&json!(format!("there is no operator {other}")), value, at),
        }
    }

    /// A list of patterns may be given whole by a placeholder.
    fn list_of_patterns(&self, argument: &Json) -> Result<Json, ()> {
        match argument {
            Json::String(_) => expr::resolve(argument, self.scope).map_err(|_| ()),
            list => Ok(list.clone()),
        }
    }

    fn measured(&self, name: &str, pattern: &Json, measure: &Json, at: &str) -> Match {
        match self.matches(pattern, Some(measure), at) {
            Match::No(reasons) => Match::No(
                reasons.into_iter().map(|r| Mismatch { expected: json!({ name: r.expected }), ..r }).collect(),
            ),
            other => other,
        }
    }

    /// Whether every pattern can be given an element of its own (bipartite matching by augmenting paths).
    fn assign(&self, patterns: &[Json], items: &[Json]) -> bool {
        let fits: Vec<Vec<bool>> = patterns
            .iter()
            .map(|pattern| {
                items.iter().map(|item| matches!(self.matches(pattern, Some(item), ""), Match::Yes)).collect()
            })
            .collect();
        fn place(p: usize, fits: &[Vec<bool>], owner: &mut [Option<usize>], seen: &mut [bool]) -> bool {
            for item in 0..owner.len() {
                if fits[p][item] && !seen[item] {
                    seen[item] = true;
                    if owner[item].is_none_or(|other| place(other, fits, owner, seen)) {
                        owner[item] = Some(p);
                        return true;
                    }
                }
            }
            false
        }
        let mut owner = vec![None; items.len()];
        (0..patterns.len()).all(|p| place(p, &fits, &mut owner, &mut vec![false; items.len()]))
    }
}

fn no(expected: &Json, actual: Option<&Json>, at: &str) -> Match {
    Match::No(vec![Mismatch { pointer: at.to_owned(), expected: expected.clone(), actual: actual.cloned() }])
}

fn checked(checked: Checked, value: Option<&Json>, at: &str) -> Match {
    match checked {
        Checked::Yes => Match::Yes,
        Checked::No(why) => no(&json!(why), value, at),
        Checked::Unknown(why) => Match::Unknown(why),
    }
}

fn type_is(name: &str, value: &Json) -> bool {
    match (name, value) {
        ("null", Json::Null)
        | ("boolean", Json::Bool(_))
        | ("number", Json::Number(_))
        | ("string", Json::String(_))
        | ("array", Json::Array(_))
        | ("object", Json::Object(_)) => true,
        // As in JSON Schema, 1.0 is an integer.
        ("integer", Json::Number(n)) => n.as_f64().is_some_and(|f| f.fract() == 0.0),
        _ => false,
    }
}

fn compare(a: &Json, b: &Json) -> Option<std::cmp::Ordering> {
    match (expr::integer(a), expr::integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

thread_local! {
    static REGEXES: RefCell<HashMap<String, Rc<regex::Regex>>> = RefCell::new(HashMap::new());
}

/// Compiles a `$regex`, which matches a text as a whole.
pub(crate) fn regex(text: &str) -> Result<Rc<regex::Regex>, String> {
    REGEXES.with_borrow_mut(|cache| {
        if let Some(regex) = cache.get(text) {
            return Ok(Rc::clone(regex));
        }
        let regex =
            regex::Regex::new(&format!("\\A(?s:{text})\\z")).map_err(|e| format!("not a regular expression: {e}"))?;
        let regex = Rc::new(regex);
        cache.insert(text.to_owned(), Rc::clone(&regex));
        Ok(regex)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    struct Names(Json);

    impl Scope for Names {
        fn get(&self, name: &str) -> Option<Cow<'_, Json>> {
            self.0.get(name).map(Cow::Borrowed)
        }
        fn uuid(&self, name: &str) -> String {
            name.to_owned()
        }
    }

    fn check(pattern: Json, value: Option<Json>) -> Match {
        matches(&pattern, value.as_ref(), &Names(json!({"n": 5, "text": "${n}", "codes": ["A", "B"]})))
    }

    fn yes(pattern: Json, value: Json) {
        assert_eq!(check(pattern.clone(), Some(value.clone())), Match::Yes, "{pattern} ~ {value}");
    }

    fn not(pattern: Json, value: Json) {
        assert!(matches!(check(pattern.clone(), Some(value.clone())), Match::No(_)), "{pattern} ~ {value}");
    }

    #[test]
    fn plain_values() {
        yes(json!(1), json!(1.0));
        not(json!(1), json!(true));
        not(json!("1"), json!(1));
        yes(json!({"a": 1}), json!({"a": 1, "b": 2}));
        not(json!({"a": 1}), json!({"b": 1}));
        yes(json!([1, {"$any": true}]), json!([1, 2]));
        not(json!([1]), json!([1, 2]));
        yes(json!("${n}"), json!(5));
        yes(json!("${text}"), json!("${n}"));
        not(json!("${none}"), json!(null));
        yes(json!({}), json!({"x": 1}));
        not(json!({}), json!(1));
    }

    #[test]
    fn operators() {
        yes(json!({"$one_of": "${codes}"}), json!("B"));
        not(json!({"$one_of": "${codes}"}), json!("C"));
        yes(json!({"a": {"$absent": true}}), json!({"a": null}));
        yes(json!({"a": {"$absent": true}}), json!({"a": {"null": null}}));
        not(json!({"a": {"$absent": true}}), json!({"a": 0}));
        yes(json!({"a": {"$optional": {"$type": "string"}}}), json!({}));
        not(json!({"a": {"$optional": {"$type": "string"}}}), json!({"a": 1}));
        yes(json!({"$equals": {"a": 1}}), json!({"a": 1.0}));
        not(json!({"$equals": {"a": 1}}), json!({"a": 1, "b": 1}));
        yes(json!({"$gte": 5, "$lt": 6}), json!(5));
        yes(json!({"$gte": "${n}"}), json!("9007199254740993"));
        not(json!({"$gt": 5}), json!("x"));
        yes(json!({"$regex": "[a-z]+"}), json!("abc"));
        not(json!({"$regex": "[a-z]+"}), json!("abc\n"));
        yes(json!({"$utf8_bytes": 3, "$length": 1}), json!("测"));
        yes(json!({"$json": {"a": [1]}}), json!("{\"a\":[1]}"));
        not(json!({"$json": {}}), json!("{"));
        yes(json!({"$each": {"$type": "integer"}, "$some": 2}), json!([1, 2.0]));
        yes(json!({"$tally": {"of": 1, "is": {"$gte": 2}}}), json!([1, 2, 1]));
        yes(json!({"$bag": [{"$type": "integer"}, 1]}), json!([1, 2]));
        not(json!({"$bag": [1, 1]}), json!([1, 2]));
        yes(json!({"$unique": "a"}), json!([{"a": 1}, {"a": 2}]));
        not(json!({"$unique": ""}), json!([1, 1]));
        yes(json!({"$uuid_form": true}), json!("6ba7b810-9dad-11d1-80b4-00C04FD430C8"));
        not(json!({"$uuid_form": true}), json!("6ba7b8109dad11d180b400c04fd430c8"));
        yes(json!({"$lacks": ["Canary"]}), json!("all well"));
        not(json!({"$lacks": ["canary"]}), json!("a CANARY sings"));
        yes(json!({"$instant": {"$gt": 0}}), json!("2026-01-01T00:00:00Z"));
        not(json!({"$instant": {"$gt": 0}}), json!("tomorrow"));
        not(json!({"$nonsense": 1}), json!(1));
        not(json!({"$not": 1}), json!(1));
        assert!(matches!(check(json!({"$not": 1}), None), Match::No(_)));
    }

    #[test]
    fn what_is_not_told_is_unknown() {
        let pattern = json!({"explicit": {"$fact": true}, "id": "a"});
        assert!(matches!(check(pattern.clone(), Some(json!({"id": "a"}))), Match::Unknown(_)));
        assert!(matches!(check(pattern.clone(), Some(json!({"id": "b"}))), Match::No(_)));
        assert!(matches!(check(pattern, Some(json!({"id": "a", "explicit": false}))), Match::No(_)));
        assert!(matches!(check(json!({"$not": {"$fact": 1}}), Some(json!(null))), Match::Unknown(_)));
    }

    #[test]
    fn mismatches_name_their_place() {
        let Match::No(reasons) = check(json!({"a": [{"b/c": 1}], "d": "x"}), Some(json!({"a": [{"b/c": 2}]}))) else {
            panic!("no match was expected")
        };
        let places: Vec<&str> = reasons.iter().map(|r| r.pointer.as_str()).collect();
        assert_eq!(places, ["/a/0/b~1c", "/d"]);
        assert_eq!(reasons[1].actual, None);
    }
}
