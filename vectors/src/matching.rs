//! Whether a value matches a pattern. The main function is [`matches()`].
//!
//! Beside yes and no there are two answers: where a target cannot tell a fact, a value that the pattern needs is not there,
//! or judging would cost too much, it is [`Match::Unknown`]; where the pattern makes no sense with the values it got, it is
//! [`Match::Wrong`]. Nothing is passed or failed by either.

use crate::expr::{self, Expr, ExprError, Scope};
use crate::json::{Fault, Limits, parse, pointer_token};
use crate::model::Assertion;
use crate::pattern::{Ask, Operator, Pattern, Patterns, Shape};
use crate::schema::{self, Checked};
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

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
        let mut matches = matches.into_iter();
        // Nearly always every one is Yes.
        let Some(first) = matches.find(|one| !matches!(one, Match::Yes)) else { return Match::Yes };
        let (mut no, mut open) = (None::<Vec<Mismatch>>, None);
        for one in std::iter::once(first).chain(matches) {
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

/// Whether a value (or its absence) matches a pattern.
pub fn matches(pattern: &Json, value: Option<&Json>, scope: &dyn Scope) -> Match {
    Matcher { scope, reasons: true }.value(&Pattern::new(pattern.clone()), value)
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
    /// See [`matches()`].
    pub(crate) fn value(&self, pattern: &Pattern, value: Option<&Json>) -> Match {
        self.matches(pattern, value, &At::Top)
    }

    fn matches(&self, pattern: &Pattern, value: Option<&Json>, at: &At<'_>) -> Match {
        match (&pattern.0, value) {
            (Shape::Value(literal), Some(value)) if equal(literal, value) => Match::Yes,
            (Shape::Computed(expr), _) => self.computed(expr, value, at),
            (Shape::Members(members), Some(Json::Object(actual))) => Match::all(
                members.iter().map(|(name, pattern)| self.matches(pattern, actual.get(name), &At::Member(at, name))),
            ),
            (Shape::Elements(items), Some(Json::Array(actual))) if items.len() == actual.len() => {
                let pairs = items.iter().zip(actual).enumerate();
                Match::all(pairs.map(|(n, (pattern, value))| self.matches(pattern, Some(value), &At::Element(at, n))))
            }
            (Shape::Operators(operators), _) => {
                Match::all(operators.iter().map(|operator| self.operator(operator, value, at)))
            }
            (Shape::Value(_) | Shape::Members(_) | Shape::Elements(_), _) => {
                self.no(|| self.filled(pattern), value, at)
            }
        }
    }

    /// A placeholder or function stands for a literal value, which is not read as a pattern again.
    fn computed(&self, expr: &Expr, value: Option<&Json>, at: &At<'_>) -> Match {
        match expr.value(self.scope) {
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
            Assertion::Is { that: None, is } => self.value(is, answer),
            Assertion::Is { that: Some(that), is } => match that.value(self.scope) {
                Ok(value) => self.value(is, Some(&value)),
                Err(ExprError::Unresolved(_)) => self.value(is, None),
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
    fn filled(&self, pattern: &Pattern) -> Json {
        match &pattern.0 {
            Shape::Value(literal) => literal.clone(),
            Shape::Computed(expr) => expr.value(self.scope).map_or_else(|_| expr.written().clone(), Cow::into_owned),
            Shape::Members(members) => members.iter().map(|(name, inner)| (name.clone(), self.filled(inner))).collect(),
            Shape::Elements(items) => items.iter().map(|item| self.filled(item)).collect(),
            Shape::Operators(operators) => {
                let told = |operator: &Operator| (operator.name.clone(), self.filled_argument(operator));
                operators.iter().map(told).collect()
            }
        }
    }

    fn filled_argument(&self, operator: &Operator) -> Json {
        self.filled(&Pattern::new(operator.argument.clone()))
    }

    /// No, and where anybody reads it why.
    fn no(&self, expected: impl FnOnce() -> Json, value: Option<&Json>, at: &At<'_>) -> Match {
        Match::No(if self.reasons { vec![mismatch(expected(), value, at)] } else { Vec::new() })
    }

    /// The same, for what is asked within, whose reasons nobody reads.
    fn within(&self) -> Matcher<'_> {
        Matcher { reasons: false, ..*self }
    }

    fn operator(&self, operator: &Operator, value: Option<&Json>, at: &At<'_>) -> Match {
        let holds = |yes: bool| self.yes_or(yes, operator, value, at);
        let answer = match (&operator.ask, value) {
            (Ask::Any, _) => Ok(holds(value.is_some())),
            (Ask::Absent, _) => Ok(holds(absent(value))),
            (Ask::Optional(_), _) if absent(value) => Ok(Match::Yes),
            (Ask::Fact(_), _) if absent(value) => Ok(Match::Unknown(format!("the target does not tell {at}"))),
            (Ask::Optional(pattern) | Ask::Fact(pattern), _) => Ok(self.matches(pattern, value, at)),
            (Ask::All(patterns), _) => self
                .listed(patterns)
                .map(|list| Match::all(list.iter().map(|pattern| self.matches(pattern, value, at)))),
            (Ask::OneOf(patterns), _) => self.listed(patterns).map(|list| {
                match Match::any(list.iter().map(|pattern| self.within().matches(pattern, value, at))) {
                    Match::No(_) => self.no(|| json!({ "$one_of": self.all_filled(&list) }), value, at),
                    other => other,
                }
            }),
            // Every other operator is about a value that is there.
            (_, None) => Ok(holds(false)),
            (_, Some(actual)) => self.on_value(operator, actual, at),
        };
        answer.unwrap_or_else(Match::from_error)
    }

    /// Yes, or No with the operator as the reason.
    fn yes_or(&self, yes: bool, operator: &Operator, value: Option<&Json>, at: &At<'_>) -> Match {
        if yes { Match::Yes } else { self.no(|| json!({ &operator.name: self.filled_argument(operator) }), value, at) }
    }

    /// An operator on a value that is there.
    fn on_value(&self, operator: &Operator, actual: &Json, at: &At<'_>) -> Result<Match, ExprError> {
        let (name, value) = (&operator.name, Some(actual));
        let holds = |yes: bool| self.yes_or(yes, operator, value, at);
        let wrong = |what: &str| ExprError::Wrong(format!("{name}: {what}"));
        let text_of = |expr: &Expr| match expr.value(self.scope)?.into_owned() {
            Json::String(text) => Ok(text),
            _ => Err(wrong("a text was expected")),
        };
        let bounded = |yes: bool, bound: &Json| {
            if yes { Match::Yes } else { self.no(|| json!({ name: bound }), value, at) }
        };
        Ok(match &operator.ask {
            Ask::Any | Ask::Absent | Ask::Optional(_) | Ask::Fact(_) | Ask::OneOf(_) | Ask::All(_) => {
                unreachable!("they are asked of what is absent as well")
            }
            Ask::Not(pattern) => {
                let asked = self.within().matches(pattern, value, at);
                self.negated(asked, || json!({ "$not": self.filled(pattern) }), value, at)
            }
            Ask::Equals(literal) => {
                let literal = literal.value(self.scope)?;
                bounded(equal(&literal, actual), &literal)
            }
            Ask::Only(names) => {
                let names = names.value(self.scope)?;
                let names = names.as_array().ok_or_else(|| wrong("a list of names was expected"))?;
                let known = |name: &str| names.iter().any(|known| known == name);
                holds(actual.as_object().is_some_and(|members| members.keys().all(|name| known(name))))
            }
            Ask::Type(name) => holds(type_is(name, actual)),
            Ask::Regex(regex) => holds(actual.as_str().is_some_and(|text| regex.is_match(text))),
            Ask::StartsWith(needle) => {
                let needle = text_of(needle)?;
                bounded(actual.as_str().is_some_and(|text| text.starts_with(&needle)), &json!(needle))
            }
            Ask::HasText(needle) => {
                let needle = text_of(needle)?;
                bounded(actual.as_str().is_some_and(|text| text.contains(&needle)), &json!(needle))
            }
            Ask::Lacks(list) => {
                let list = list.value(self.scope)?;
                let list = list.as_array().ok_or_else(|| wrong("a list of texts was expected"))?;
                let needles: Option<Vec<&str>> = list.iter().map(|n| n.as_str().filter(|n| !n.is_empty())).collect();
                let needles = needles.ok_or_else(|| wrong("texts that are not empty were expected"))?;
                let text = actual.as_str().map_or_else(|| actual.to_string(), str::to_owned).to_lowercase();
                match needles.iter().find(|needle| text.contains(&needle.to_lowercase())) {
                    None => Match::Yes,
                    Some(needle) => self.no(|| json!({ "$lacks": [needle] }), value, at),
                }
            }
            Ask::UuidForm => holds(actual.as_str().is_some_and(is_uuid)),
            Ask::Bound(is_so, bound) => {
                let bound = bound.value(self.scope)?;
                bounded(compare(actual, &bound).is_some_and(is_so), &bound)
            }
            Ask::Length(pattern) => {
                let length = match actual {
                    Json::String(text) => text.chars().count(),
                    Json::Array(items) => items.len(),
                    Json::Object(members) => members.len(),
                    _ => return Ok(holds(false)),
                };
                self.measured(name, pattern, &json!(length), at)
            }
            Ask::Utf8Bytes(pattern) => match actual.as_str() {
                Some(text) => self.measured(name, pattern, &json!(text.len()), at),
                None => holds(false),
            },
            Ask::Json(pattern) => match actual.as_str().map(|text| parse(text.as_bytes(), Limits::DATA)) {
                Some(Ok(inner)) => self.matches(pattern, Some(&inner), &At::Inside(at)),
                Some(Err(error)) if matches!(error.fault, Fault::TooMany | Fault::TooDeep) => {
                    Match::Unknown(format!("{at}: {error}, beyond what is read here"))
                }
                Some(Err(error)) => self.no(|| json!(format!("JSON text ({error})")), value, at),
                None => holds(false),
            },
            Ask::Each(pattern) => match actual {
                Json::Array(items) => Match::all(
                    items.iter().enumerate().map(|(n, item)| self.matches(pattern, Some(item), &At::Element(at, n))),
                ),
                Json::Object(members) => Match::all(
                    members.iter().map(|(key, item)| self.matches(pattern, Some(item), &At::Member(at, key))),
                ),
                _ => holds(false),
            },
            Ask::Some(pattern) => match actual {
                Json::Array(items) => {
                    let within = self.within();
                    match Match::any(items.iter().map(|item| within.matches(pattern, Some(item), at))) {
                        Match::No(_) => holds(false),
                        other => other,
                    }
                }
                _ => holds(false),
            },
            Ask::Tally { of, is } => match actual {
                Json::Array(items) => self.tally(of, is, operator, items, value, at),
                _ => holds(false),
            },
            Ask::Bag(patterns) => match (actual, self.listed(patterns)?) {
                (Json::Array(items), patterns) => self.bag(&patterns, items, value, at),
                _ => holds(false),
            },
            Ask::Same(path) | Ask::Unique(path) => match actual {
                Json::Array(items) => {
                    let at_path = |item| if path.is_empty() { Some(item) } else { expr::descend(item, path) };
                    let values: Vec<&Json> = items.iter().map(|item| at_path(item).unwrap_or(&Json::Null)).collect();
                    let equal_pair = |n: usize| values[n + 1..].iter().any(|other| equal(values[n], other));
                    holds(match operator.ask {
                        Ask::Same(_) => values.windows(2).all(|pair| equal(pair[0], pair[1])),
                        _ => !(0..values.len()).any(equal_pair),
                    })
                }
                _ => holds(false),
            },
            Ask::Descending => {
                let falls = |pair: &[Json]| compare(&pair[0], &pair[1]).is_some_and(Ordering::is_ge);
                let numbers = |items: &[Json]| items.iter().all(|item| expr::integer(item).is_some());
                holds(actual.as_array().is_some_and(|items| numbers(items) && items.windows(2).all(falls)))
            }
            Ask::InstanceOf(argument) => {
                let argument = argument.value(self.scope)?;
                let schema = argument.get("schema").ok_or_else(|| wrong("needs schema"))?;
                let dialect = argument.get("dialect").and_then(Json::as_str).unwrap_or(schema::DRAFT_2020_12);
                self.checked(schema::instance_of(schema, dialect, actual), value, at)
            }
            Ask::ValidSchema(dialect) => self.checked(schema::valid_schema(actual, &text_of(dialect)?), value, at),
            Ask::SelfContained => self.checked(schema::self_contained(actual), value, at),
            Ask::Instant(pattern) => match actual.as_str().and_then(expr::instant_ms) {
                Some(ms) => self.measured(name, pattern, &json!(ms), at),
                None => self.no(|| json!("an RFC 3339 instant"), value, at),
            },
            Ask::Senseless(why) => return Err(ExprError::Wrong(why.clone())),
        })
    }

    fn checked(&self, checked: Checked, value: Option<&Json>, at: &At<'_>) -> Match {
        match checked {
            Checked::Yes => Match::Yes,
            Checked::No(why) => self.no(|| json!(why), value, at),
            Checked::Unknown(why) => Match::Unknown(why),
        }
    }

    fn tally(
        &self,
        of: &Pattern,
        is: &Pattern,
        operator: &Operator,
        items: &[Json],
        value: Option<&Json>,
        at: &At<'_>,
    ) -> Match {
        let within = self.within();
        let each: Vec<Match> = items.iter().map(|item| within.matches(of, Some(item), at)).collect();
        if let Some(open) = each.iter().find(|m| matches!(m, Match::Unknown(_) | Match::Wrong(_))) {
            return open.clone();
        }
        let count = each.iter().filter(|m| matches!(m, Match::Yes)).count();
        match within.matches(is, Some(&json!(count)), at) {
            Match::No(_) => {
                self.no(|| json!({ "$tally": self.filled_argument(operator), "counted": count }), value, at)
            }
            other => other,
        }
    }

    fn listed<'p>(&self, patterns: &'p Patterns) -> Result<Cow<'p, [Pattern]>, ExprError> {
        match patterns {
            Patterns::Listed(list) => Ok(Cow::Borrowed(list)),
            Patterns::Given(expr) => match expr.value(self.scope)?.into_owned() {
                Json::Array(values) => Ok(Cow::Owned(values.into_iter().map(Pattern::of_value).collect())),
                _ => Err(ExprError::Wrong("a list of values was expected".into())),
            },
        }
    }

    fn all_filled(&self, patterns: &[Pattern]) -> Vec<Json> {
        patterns.iter().map(|pattern| self.filled(pattern)).collect()
    }

    fn measured(&self, name: &str, pattern: &Pattern, measure: &Json, at: &At<'_>) -> Match {
        match self.matches(pattern, Some(measure), at) {
            Match::No(reasons) => Match::No(
                reasons.into_iter().map(|r| Mismatch { expected: json!({ name: r.expected }), ..r }).collect(),
            ),
            other => other,
        }
    }

    /// Whether every pattern can be given an element of its own (bipartite matching by augmenting paths).
    fn bag(&self, patterns: &[Pattern], items: &[Json], value: Option<&Json>, at: &At<'_>) -> Match {
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
        if assigned { Match::Yes } else { self.no(|| json!({ "$bag": self.all_filled(patterns) }), value, at) }
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

fn compare(a: &Json, b: &Json) -> Option<Ordering> {
    match (expr::integer(a), expr::integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
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
    fn what_a_target_gave_is_no_pattern() {
        let odd = json!([{"$any": true}, "${n}", {"a": 1}]);
        let scope = Names(json!({"odd": odd, "n": 5}));
        let says = |pattern: Json, value: Json| matches(&pattern, Some(&value), &scope);
        assert!(matches!(says(json!({"$one_of": "${odd}"}), json!(5)), Match::No(_)));
        assert!(matches!(says(json!({"$one_of": "${odd}"}), json!({"a": 1, "b": 2})), Match::No(_)));
        assert_eq!(says(json!({"$one_of": "${odd}"}), json!("${n}")), Match::Yes);
        assert!(matches!(says(json!({"$bag": "${odd}"}), json!([1, 5, {"a": 1}])), Match::No(_)));
        assert_eq!(says(json!({"$bag": "${odd}"}), odd.clone()), Match::Yes);
        assert!(matches!(says(json!({"$all": "${odd}"}), json!(5)), Match::No(_)));
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
