//! Matchers: how a vector says what a value must look like. The main function is [`matches()`].
//!
//! A pattern is JSON. A scalar matches an equal value (numbers as numbers). An array matches element by element. An
//! object matches an object that has every named member, matching; other members are free. An object whose members all
//! begin with `$` holds operators ([`OPERATORS`]), all of which must hold. Placeholders and functions ([`crate::expr`])
//! are computed first.
//!
//! Beside yes and no there are two answers: where a target cannot tell a fact, a value that the pattern needs is not there,
//! or judging would cost too much, it is [`Match::Unknown`]; where the pattern makes no sense with the values it got, it is
//! [`Match::Wrong`]. Nothing is passed or failed by either.

use crate::cache::Cache;
use crate::expr::{self, Expr, ExprError, Scope};
use crate::json::{Fault, Limits, parse, pointer_token};
use crate::model::Assertion;
use crate::schema::{self, Checked};
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// The operators, each with its argument and what it asks. This is the whole list.
pub const OPERATORS: &[(&str, &str)] = &[
    ("$any", "true: anything that is there"),
    ("$absent", "true: no such member, or null"),
    ("$only", "list of names: an object that has no other members"),
    ("$optional", "pattern: absent, or matches"),
    ("$fact", "pattern: matches; where the target does not tell, nothing is judged"),
    ("$equals", "value: equal as a whole, with no other members"),
    ("$one_of", "list of patterns: at least one matches"),
    ("$all", "list of patterns: every one matches"),
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
    ("$bag", "list of patterns: as many elements, each matched by one of them, in any order"),
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

/// Whether a value matches.
#[derive(Clone, Debug, PartialEq)]
pub enum Match {
    /// It does.
    Yes,
    /// It does not.
    No(Vec<Mismatch>),
    /// It cannot be told, with the reason.
    Unknown(String),
    /// The pattern makes no sense here, with the reason: a fault of the vector.
    Wrong(String),
}

/// One place at which a value is not what was expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// JSON Pointer into the value; behind the name of the value where a finding is about one that is named.
    pub pointer: String,
    /// What was expected there, as a pattern or in words.
    pub expected: Json,
    /// What was there; nothing where there was nothing.
    pub actual: Option<Json>,
}

impl Match {
    /// All must hold: any No is No (with every reason), else any Wrong or Unknown is that.
    pub fn all(matches: impl IntoIterator<Item = Match>) -> Match {
        let (mut no, mut open) = (None::<Vec<Mismatch>>, None);
        for one in matches {
            match one {
                Match::Yes => {}
                // Where nobody reads the reasons, nothing can be added to a No.
                Match::No(reasons) if reasons.is_empty() => return Match::No(no.unwrap_or_default()),
                Match::No(mut reasons) => match &mut no {
                    None => no = Some(reasons),
                    Some(no) => no.append(&mut reasons),
                },
                other => open = graver(open, other),
            }
        }
        no.map_or_else(|| open.unwrap_or(Match::Yes), Match::No)
    }

    /// One must hold: any Yes is Yes, else any Wrong or Unknown is that, else No with every reason.
    pub fn any(matches: impl IntoIterator<Item = Match>) -> Match {
        let (mut no, mut open) = (Vec::new(), None);
        for one in matches {
            match one {
                Match::Yes => return Match::Yes,
                Match::No(mut reasons) => no.append(&mut reasons),
                other => open = graver(open, other),
            }
        }
        open.unwrap_or(Match::No(no))
    }

    fn from_error(error: ExprError) -> Match {
        match error {
            ExprError::Unresolved(_) | ExprError::Unknown(_) => Match::Unknown(error.to_string()),
            ExprError::Wrong(what) => Match::Wrong(what),
        }
    }
}

/// Of two answers that are neither yes nor no, the first that is Wrong, else the first.
fn graver(known: Option<Match>, new: Match) -> Option<Match> {
    match (known, new) {
        (Some(Match::Unknown(_)), wrong @ Match::Wrong(_)) => Some(wrong),
        (Some(known), _) => Some(known),
        (None, new) => Some(new),
    }
}

/// Whether the value of an expression (or its absence) matches a pattern.
pub fn value_matches(that: &Json, is: &Json, scope: &dyn Scope) -> Match {
    let (that, is) = (Some(Expr::new(that.clone())), Pattern::new(is.clone()));
    Assertion::Is { that, is }.holds(None, scope)
}

/// Whether an object is a list of operators: not empty, and every member begins with `$`.
pub fn is_operators(members: &Map<String, Json>) -> bool {
    begins_with_dollar(members) && !expr::is_function(members)
}

/// Whether an object is a function or a list of operators.
fn begins_with_dollar(members: &Map<String, Json>) -> bool {
    !members.is_empty() && members.keys().all(|name| name.starts_with('$'))
}

/// Whether a value (or its absence) matches a pattern.
pub fn matches(pattern: &Json, value: Option<&Json>, scope: &dyn Scope) -> Match {
    Matcher { scope, reasons: true }.value(pattern, value)
}

/// Whether two values are equal: numbers as numbers, object members in any order.
pub fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(x), Json::Number(y)) => match (expr::integer(a), expr::integer(b)) {
            (Some(x), Some(y)) => x == y,
            (None, None) => x.as_f64() == y.as_f64(),
            (Some(whole), None) => is_whole(y, whole),
            (None, Some(whole)) => is_whole(x, whole),
        },
        (Json::Array(x), Json::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(a, b)| equal(a, b)),
        (Json::Object(x), Json::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(name, a)| y.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// Whether a float is exactly this integer.
fn is_whole(float: &serde_json::Number, whole: i128) -> bool {
    #[allow(clippy::cast_possible_truncation, reason = "a float without a fraction below 2^100 is cast exactly")]
    float.as_f64().is_some_and(|f| f.fract() == 0.0 && f.abs() < 1e30 && f as i128 == whole)
}

/// JSON null counts as absent, and so does a Bundle key that holds null.
fn absent(value: Option<&Json>) -> bool {
    match value {
        None | Some(Json::Null) => true,
        Some(Json::Object(members)) => members.len() == 1 && members.get("null").is_some_and(Json::is_null),
        Some(_) => false,
    }
}

/// A pattern, read once.
#[derive(Clone, Debug)]
pub struct Pattern {
    written: Json,
    /// Whether it is a value and nothing else: without operators, placeholders and functions at any level.
    plain: bool,
}

impl Pattern {
    /// A pattern as it is written.
    pub fn new(written: Json) -> Pattern {
        Pattern { plain: is_plain(&written), written }
    }
}

fn is_plain(pattern: &Json) -> bool {
    match pattern {
        Json::Object(members) => !begins_with_dollar(members) && members.values().all(is_plain),
        Json::Array(items) => items.iter().all(is_plain),
        Json::String(text) => !expr::has_placeholder(text),
        _ => true,
    }
}

/// What [`Matcher::value`] finds where the pattern is plain, and nobody reads why not.
fn matches_plainly(pattern: &Json, value: Option<&Json>) -> bool {
    match (pattern, value) {
        (Json::Object(members), Some(Json::Object(actual))) => {
            members.iter().all(|(name, pattern)| matches_plainly(pattern, actual.get(name)))
        }
        (Json::Array(items), Some(Json::Array(actual))) => {
            items.len() == actual.len()
                && items.iter().zip(actual).all(|(pattern, value)| matches_plainly(pattern, Some(value)))
        }
        (_, Some(value)) => equal(pattern, value),
        (_, None) => false,
    }
}

/// Asks whether values match.
#[derive(Clone, Copy)]
pub(crate) struct Matcher<'s> {
    /// Where placeholders find their values.
    pub(crate) scope: &'s dyn Scope,
    /// Whether anybody reads why something does not match: that holds copies of what was expected and of what came, and
    /// most questions are whether a rule applies at all. Without, a No has no reasons.
    pub(crate) reasons: bool,
}

/// The place of a value, which becomes a JSON Pointer only where somebody reads it.
enum At<'a> {
    Top,
    Member(&'a At<'a>, &'a str),
    Element(&'a At<'a>, usize),
    /// What a text holds as JSON.
    Inside(&'a At<'a>),
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Top => Ok(()),
            At::Member(above, name) => write!(f, "{above}/{}", pointer_token(name)),
            At::Element(above, n) => write!(f, "{above}/{n}"),
            At::Inside(above) => write!(f, "{above}#"),
        }
    }
}

impl Matcher<'_> {
    fn pattern(&self, pattern: &Pattern, value: Option<&Json>) -> Match {
        match pattern.plain.then(|| matches_plainly(&pattern.written, value)) {
            Some(true) => Match::Yes,
            Some(false) if !self.reasons => Match::No(Vec::new()),
            _ => self.value(&pattern.written, value),
        }
    }

    /// See [`matches()`].
    pub(crate) fn value(&self, pattern: &Json, value: Option<&Json>) -> Match {
        self.matches(pattern, value, &At::Top)
    }

    fn matches(&self, pattern: &Json, value: Option<&Json>, at: &At<'_>) -> Match {
        match pattern {
            Json::Object(members) if begins_with_dollar(members) => {
                if expr::is_function(members) {
                    return self.computed(pattern, value, at);
                }
                Match::all(members.iter().map(|(name, argument)| self.operator(name, argument, value, at)))
            }
            Json::Object(members) => {
                let Some(Json::Object(actual)) = value else { return self.no(|| self.filled(pattern), value, at) };
                let each = members.iter();
                Match::all(each.map(|(name, pattern)| self.matches(pattern, actual.get(name), &At::Member(at, name))))
            }
            Json::Array(items) => {
                let Some(Json::Array(actual)) = value else { return self.no(|| self.filled(pattern), value, at) };
                if items.len() != actual.len() {
                    return self.no(|| self.filled(pattern), value, at);
                }
                let pairs = items.iter().zip(actual).enumerate();
                Match::all(pairs.map(|(n, (pattern, value))| self.matches(pattern, Some(value), &At::Element(at, n))))
            }
            Json::String(text) if expr::has_placeholder(text) => self.computed(pattern, value, at),
            _ => {
                if value.is_some_and(|value| equal(pattern, value)) {
                    Match::Yes
                } else {
                    self.no(|| pattern.clone(), value, at)
                }
            }
        }
    }

    /// A placeholder or function stands for a literal value, which is not read as a pattern again.
    fn computed(&self, pattern: &Json, value: Option<&Json>, at: &At<'_>) -> Match {
        match expr::value_of(pattern, self.scope) {
            Ok(literal) if value.is_some_and(|value| equal(&literal, value)) => Match::Yes,
            Ok(literal) => self.no(|| literal.into_owned(), value, at),
            Err(error) => Match::from_error(error),
        }
    }

    /// Yes and No change places; the rest stays. `expected` is said of what should not have been.
    fn negated(&self, asked: Match, expected: impl FnOnce() -> Json, value: Option<&Json>, at: &At<'_>) -> Match {
        match asked {
            Match::Yes => self.no(expected, value, at),
            Match::No(_) => Match::Yes,
            other => other,
        }
    }

    /// Whether an assertion holds; see [`Assertion::holds`].
    pub(crate) fn assertion(&self, assertion: &Assertion, answer: Option<&Json>) -> Match {
        match assertion {
            Assertion::Is { that: None, is } => self.pattern(is, answer),
            Assertion::Is { that: Some(that), is } => match that.value(self.scope) {
                Ok(value) => self.pattern(is, Some(&value)),
                Err(ExprError::Unresolved(_)) => self.pattern(is, None),
                Err(error) => Match::from_error(error),
            },
            Assertion::AnyOf(list) => Match::any(list.iter().map(|one| self.assertion(one, answer))),
            Assertion::AllOf(list) => Match::all(list.iter().map(|one| self.assertion(one, answer))),
            Assertion::NoneOf(list) => {
                let any = Match::any(list.iter().map(|one| self.within().assertion(one, answer)));
                self.negated(any, || json!("none of the excluded cases"), answer, &At::Top)
            }
        }
    }

    /// A pattern as it is told to people: with the values that its placeholders and functions have here. One without a value
    /// stays as it is written.
    fn filled(&self, pattern: &Json) -> Json {
        let computed = || expr::value_of(pattern, self.scope).map_or_else(|_| pattern.clone(), Cow::into_owned);
        match pattern {
            Json::String(text) if expr::has_placeholder(text) => computed(),
            Json::Object(members) if expr::is_function(members) => computed(),
            Json::Object(members) => members.iter().map(|(name, inner)| (name.clone(), self.filled(inner))).collect(),
            Json::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            _ => pattern.clone(),
        }
    }

    /// No, and where anybody reads it why.
    fn no(&self, expected: impl FnOnce() -> Json, value: Option<&Json>, at: &At<'_>) -> Match {
        Match::No(if self.reasons { vec![mismatch(expected(), value, at)] } else { Vec::new() })
    }

    /// The same, for what is asked within, whose reasons nobody reads.
    fn within(&self) -> Matcher<'_> {
        Matcher { reasons: false, ..*self }
    }

    fn operator(&self, name: &str, argument: &Json, value: Option<&Json>, at: &At<'_>) -> Match {
        let holds =
            |yes: bool| if yes { Match::Yes } else { self.no(|| json!({ name: self.filled(argument) }), value, at) };
        match name {
            "$any" => return holds(value.is_some()),
            "$absent" => return holds(absent(value)),
            "$optional" => return if absent(value) { Match::Yes } else { self.matches(argument, value, at) },
            "$fact" if absent(value) => return Match::Unknown(format!("the target does not tell {at}")),
            "$fact" => return self.matches(argument, value, at),
            "$one_of" | "$all" => {
                let list = match self.list_of_patterns(argument) {
                    Ok(list) => list,
                    Err(error) => return Match::from_error(error),
                };
                if name == "$all" {
                    return Match::all(list.iter().map(|pattern| self.matches(pattern, value, at)));
                }
                return match Match::any(list.iter().map(|pattern| self.within().matches(pattern, value, at))) {
                    Match::No(_) => self.no(|| self.filled(&json!({ "$one_of": list })), value, at),
                    other => other,
                };
            }
            _ => {}
        }
        // Every other operator is about a value that is there.
        let Some(actual) = value else { return holds(false) };
        match self.on_value(name, argument, actual, at) {
            Ok(answer) => answer,
            Err(error) => Match::from_error(error),
        }
    }

    /// An operator on a value that is there.
    fn on_value(&self, name: &str, argument: &Json, actual: &Json, at: &At<'_>) -> Result<Match, ExprError> {
        let value = Some(actual);
        let holds =
            |yes: bool| if yes { Match::Yes } else { self.no(|| json!({ name: self.filled(argument) }), value, at) };
        let wrong = |what: &str| ExprError::Wrong(format!("{name}: {what}"));
        let resolved = || expr::value_of(argument, self.scope);
        let text_argument = || match resolved()?.into_owned() {
            Json::String(text) => Ok(text),
            _ => Err(wrong("a text was expected")),
        };
        Ok(match name {
            "$not" => {
                let asked = self.within().matches(argument, value, at);
                self.negated(asked, || json!({ "$not": self.filled(argument) }), value, at)
            }
            "$equals" => {
                let literal = resolved()?;
                if equal(&literal, actual) { Match::Yes } else { self.no(|| json!({ "$equals": literal }), value, at) }
            }
            "$only" => {
                let names = resolved()?;
                let names = names.as_array().ok_or_else(|| wrong("a list of names was expected"))?;
                let known = |name: &str| names.iter().any(|known| known == name);
                holds(actual.as_object().is_some_and(|members| members.keys().all(|name| known(name))))
            }
            "$type" => holds(argument.as_str().is_some_and(|name| type_is(name, actual))),
            "$regex" => {
                let regex =
                    regex(argument.as_str().ok_or_else(|| wrong("a text was expected"))?).map_err(ExprError::Wrong)?;
                holds(actual.as_str().is_some_and(|text| regex.is_match(text)))
            }
            "$starts_with" | "$has_text" => {
                let needle = text_argument()?;
                let found =
                    |text: &str| if name == "$has_text" { text.contains(&needle) } else { text.starts_with(&needle) };
                if actual.as_str().is_some_and(found) {
                    Match::Yes
                } else {
                    self.no(|| json!({ name: needle }), value, at)
                }
            }
            "$lacks" => {
                let list = resolved()?;
                let list = list.as_array().ok_or_else(|| wrong("a list of texts was expected"))?;
                let needles: Option<Vec<&str>> = list.iter().map(|n| n.as_str().filter(|n| !n.is_empty())).collect();
                let needles = needles.ok_or_else(|| wrong("texts that are not empty were expected"))?;
                let text = actual.as_str().map_or_else(|| actual.to_string(), str::to_owned).to_lowercase();
                match needles.iter().find(|needle| text.contains(&needle.to_lowercase())) {
                    None => Match::Yes,
                    Some(needle) => self.no(|| json!({ "$lacks": [needle] }), value, at),
                }
            }
            "$uuid_form" => holds(actual.as_str().is_some_and(is_uuid)),
            "$gt" | "$gte" | "$lt" | "$lte" => {
                let bound = resolved()?;
                let order = compare(actual, &bound);
                let yes = order.is_some_and(|order| match name {
                    "$gt" => order.is_gt(),
                    "$gte" => order.is_ge(),
                    "$lt" => order.is_lt(),
                    _ => order.is_le(),
                });
                if yes { Match::Yes } else { self.no(|| json!({ name: bound }), value, at) }
            }
            "$length" => {
                let length = match actual {
                    Json::String(text) => text.chars().count(),
                    Json::Array(items) => items.len(),
                    Json::Object(members) => members.len(),
                    _ => return Ok(holds(false)),
                };
                self.measured(name, argument, &json!(length), at)
            }
            "$utf8_bytes" => match actual.as_str() {
                Some(text) => self.measured(name, argument, &json!(text.len()), at),
                None => holds(false),
            },
            "$json" => match actual.as_str().map(|text| parse(text.as_bytes(), Limits::DATA)) {
                Some(Ok(inner)) => self.matches(argument, Some(&inner), &At::Inside(at)),
                Some(Err(error)) if matches!(error.fault, Fault::TooMany | Fault::TooDeep) => {
                    Match::Unknown(format!("{at}: {error}, beyond what is read here"))
                }
                Some(Err(error)) => self.no(|| json!(format!("JSON text ({error})")), value, at),
                None => holds(false),
            },
            "$each" => match actual {
                Json::Array(items) => Match::all(
                    items.iter().enumerate().map(|(n, item)| self.matches(argument, Some(item), &At::Element(at, n))),
                ),
                Json::Object(members) => Match::all(
                    members.iter().map(|(key, item)| self.matches(argument, Some(item), &At::Member(at, key))),
                ),
                _ => holds(false),
            },
            "$some" => match actual {
                Json::Array(items) => {
                    let within = self.within();
                    match Match::any(items.iter().map(|item| within.matches(argument, Some(item), at))) {
                        Match::No(_) => holds(false),
                        other => other,
                    }
                }
                _ => holds(false),
            },
            "$tally" => self.tally(argument, actual, at),
            "$bag" => match (actual, self.list_of_patterns(argument)?) {
                (Json::Array(items), patterns) => self.bag(&patterns, items, value, at),
                _ => holds(false),
            },
            "$same" | "$unique" => match (actual, argument.as_str()) {
                (Json::Array(items), Some(path)) => {
                    let at_path = |item| if path.is_empty() { Some(item) } else { expr::descend(item, path) };
                    let values: Vec<&Json> = items.iter().map(|item| at_path(item).unwrap_or(&Json::Null)).collect();
                    let equal_pair = |n: usize| values[n + 1..].iter().any(|other| equal(values[n], other));
                    let yes = if name == "$same" {
                        values.windows(2).all(|pair| equal(pair[0], pair[1]))
                    } else {
                        !(0..values.len()).any(equal_pair)
                    };
                    holds(yes)
                }
                _ => holds(false),
            },
            "$descending" => {
                let falls = |pair: &[Json]| compare(&pair[0], &pair[1]).is_some_and(std::cmp::Ordering::is_ge);
                let numbers = |items: &[Json]| items.iter().all(|item| expr::integer(item).is_some());
                holds(actual.as_array().is_some_and(|items| numbers(items) && items.windows(2).all(falls)))
            }
            "$instance_of" => {
                let argument = resolved()?;
                let schema = argument.get("schema").ok_or_else(|| wrong("needs schema"))?;
                let dialect = argument.get("dialect").and_then(Json::as_str).unwrap_or(schema::DRAFT_2020_12);
                self.checked(schema::instance_of(schema, dialect, actual), value, at)
            }
            "$valid_schema" => self.checked(schema::valid_schema(actual, &text_argument()?), value, at),
            "$self_contained" => self.checked(schema::self_contained(actual), value, at),
            "$instant" => match actual.as_str().and_then(expr::instant_ms) {
                Some(ms) => self.measured(name, argument, &json!(ms), at),
                None => self.no(|| json!("an RFC 3339 instant"), value, at),
            },
            _ => return Err(wrong("there is no such operator")),
        })
    }

    fn checked(&self, checked: Checked, value: Option<&Json>, at: &At<'_>) -> Match {
        match checked {
            Checked::Yes => Match::Yes,
            Checked::No(why) => self.no(|| json!(why), value, at),
            Checked::Unknown(why) => Match::Unknown(why),
        }
    }

    fn tally(&self, argument: &Json, actual: &Json, at: &At<'_>) -> Match {
        let (Json::Array(items), Some(of), Some(is)) = (actual, argument.get("of"), argument.get("is")) else {
            return self.no(|| json!({ "$tally": self.filled(argument) }), Some(actual), at);
        };
        let each: Vec<Match> = items.iter().map(|item| self.within().matches(of, Some(item), at)).collect();
        if let Some(open) = each.iter().find(|m| matches!(m, Match::Unknown(_) | Match::Wrong(_))) {
            return open.clone();
        }
        let count = each.iter().filter(|m| matches!(m, Match::Yes)).count();
        match self.within().matches(is, Some(&json!(count)), at) {
            Match::No(_) => self.no(|| json!({ "$tally": self.filled(argument), "counted": count }), Some(actual), at),
            other => other,
        }
    }

    /// A list of patterns may be given whole by a placeholder.
    fn list_of_patterns<'a>(&'a self, argument: &'a Json) -> Result<Cow<'a, [Json]>, ExprError> {
        let list = match argument {
            Json::String(_) => expr::value_of(argument, self.scope)?,
            list => Cow::Borrowed(list),
        };
        match list {
            Cow::Borrowed(Json::Array(list)) => Ok(Cow::Borrowed(list)),
            Cow::Owned(Json::Array(list)) => Ok(Cow::Owned(list)),
            _ => Err(ExprError::Wrong("a list of patterns was expected".into())),
        }
    }

    fn measured(&self, name: &str, pattern: &Json, measure: &Json, at: &At<'_>) -> Match {
        match self.matches(pattern, Some(measure), at) {
            Match::No(reasons) => Match::No(
                reasons.into_iter().map(|r| Mismatch { expected: json!({ name: r.expected }), ..r }).collect(),
            ),
            other => other,
        }
    }

    /// Whether every pattern can be given an element of its own (bipartite matching by augmenting paths).
    fn bag(&self, patterns: &[Json], items: &[Json], value: Option<&Json>, at: &At<'_>) -> Match {
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
        let mut fits = Vec::new();
        for pattern in patterns {
            let mut row = Vec::new();
            for item in items {
                match self.within().value(pattern, Some(item)) {
                    Match::Yes => row.push(true),
                    Match::No(_) => row.push(false),
                    other => return other,
                }
            }
            fits.push(row);
        }
        let mut owner = vec![None; items.len()];
        let assigned = items.len() == patterns.len()
            && (0..patterns.len()).all(|p| place(p, &fits, &mut owner, &mut vec![false; items.len()]));
        if assigned { Match::Yes } else { self.no(|| self.filled(&json!({ "$bag": patterns })), value, at) }
    }
}

fn mismatch(expected: Json, actual: Option<&Json>, at: &At<'_>) -> Mismatch {
    Mismatch { pointer: at.to_string(), expected, actual: actual.cloned() }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(n, byte)| match n {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// A value of which only so much is kept as a person can read: what came may be megabytes.
pub fn cut(value: &Json) -> Json {
    /// Characters of a text, members of a list, and levels that are kept.
    const CHARS: usize = 1000;
    const MEMBERS: usize = 40;
    const LEVELS: usize = 12;
    fn text(text: &str) -> String {
        match text.char_indices().nth(CHARS) {
            None => text.to_owned(),
            Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        }
    }
    fn level(value: &Json, left: usize) -> Json {
        match value {
            Json::String(long) => Json::String(text(long)),
            Json::Array(_) | Json::Object(_) if left == 0 => json!("…"),
            Json::Array(items) => {
                let mut kept: Vec<Json> = items.iter().take(MEMBERS).map(|item| level(item, left - 1)).collect();
                if items.len() > MEMBERS {
                    kept.push(json!(format!("… ({} elements)", items.len())));
                }
                Json::Array(kept)
            }
            Json::Object(members) => {
                let kept = members.iter().take(MEMBERS).map(|(name, value)| (text(name), level(value, left - 1)));
                let mut kept: Map<String, Json> = kept.collect();
                if members.len() > MEMBERS {
                    kept.insert("…".into(), json!(format!("{} members", members.len())));
                }
                Json::Object(kept)
            }
            other => other.clone(),
        }
    }
    level(value, LEVELS)
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

static REGEXES: LazyLock<Cache<regex::Regex>> = LazyLock::new(Cache::default);

/// Compiles a `$regex`, which matches a text as a whole.
pub(crate) fn regex(text: &str) -> Result<Arc<regex::Regex>, String> {
    REGEXES.get(text, || {
        regex::Regex::new(&format!("\\A(?s:{text})\\z")).map_err(|e| format!("not a regular expression: {e}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        yes(json!({}), json!({"x": 1}));
        not(json!({}), json!(1));
    }

    #[test]
    fn what_was_expected_is_told_with_the_values_of_placeholders() {
        let told = |pattern: Json, value: Option<Json>| match check(pattern, value) {
            Match::No(found) => found[0].expected.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(told(json!({"a": "${n}", "b": "${gone}"}), None), json!({"a": 5, "b": "${gone}"}));
        assert_eq!(told(json!({"$not": "${n}"}), Some(json!(5))), json!({"$not": 5}));
        assert_eq!(
            told(json!({"$tally": {"of": {"id": "${n}"}, "is": {"$lte": 1}}}), Some(json!([{"id": 5}, {"id": 5}]))),
            json!({"$tally": {"of": {"id": 5}, "is": {"$lte": 1}}, "counted": 2})
        );
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
        not(json!({"$gte": 5}), json!("65536"));
        not(json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0));
        yes(json!({"$starts_with": "ab"}), json!("abc"));
        yes(json!({"$same": "a"}), json!([{"a": 1}, {"a": 1.0}]));
        not(json!({"$same": "a"}), json!([{"a": 1}, {}]));
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
        yes(json!({"$descending": true}), json!([3, 2, 2, 1]));
        yes(json!({"$descending": true}), json!([]));
        not(json!({"$descending": true}), json!([1, 2]));
        not(json!({"$descending": true}), json!(["b", "a"]));
        yes(json!({"$uuid_form": true}), json!("6ba7b810-9dad-11d1-80b4-00C04FD430C8"));
        not(json!({"$uuid_form": true}), json!("6ba7b8109dad11d180b400c04fd430c8"));
        yes(json!({"$lacks": ["Canary"]}), json!("all well"));
        not(json!({"$lacks": ["canary"]}), json!("a CANARY sings"));
        yes(json!({"$instant": {"$gt": 0}}), json!("2026-01-01T00:00:00Z"));
        not(json!({"$instant": {"$gt": 0}}), json!("tomorrow"));
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
        // A value that never came decides nothing, whichever way it is asked.
        for pattern in [
            json!("${none}"),
            json!({"$not": "${none}"}),
            json!({"$one_of": ["${none}", 2]}),
            json!({"$lacks": ["${none}"]}),
            json!({"$not": {"$has_text": "${none}"}}),
            json!({"$bag": ["${none}"]}),
        ] {
            let value = if pattern.get("$bag").is_some() { json!([1]) } else { json!("1") };
            assert!(matches!(check(pattern.clone(), Some(value)), Match::Unknown(_)), "{pattern}");
        }
        // Deeper than is read here: no sentence limits it.
        let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
        assert!(matches!(check(json!({"$json": {"a": 1}}), Some(json!(deep))), Match::Unknown(_)));
        for pattern in [json!({"$nonsense": 1}), json!({"$not": {"$lacks": [""]}}), json!({"$add": ["x"]})] {
            assert!(matches!(check(pattern.clone(), Some(json!(1))), Match::Wrong(_)), "{pattern}");
        }
    }

    #[test]
    fn what_is_kept_of_a_value_is_bounded() {
        let mut deep = json!(1);
        for _ in 0..50 {
            deep = json!([deep]);
        }
        let huge = json!({"text": "x".repeat(5_000_000), "list": vec![1; 100_000], "deep": deep});
        assert!(cut(&huge).to_string().len() < 3_000);
        assert_eq!(cut(&json!({"a": [1, "b"]})), json!({"a": [1, "b"]}));
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
