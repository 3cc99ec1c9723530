//! Placeholders and functions: how a vector names values that are known only when it runs. The main function is
//! [`resolve`].
//!
//! In a string, `${path}` stands for a value of the [`Scope`]; a string that is one placeholder takes the value with its
//! type, otherwise the value's text is put in. `$${` is a literal `${`. An object with exactly one member whose name is
//! one of [`FUNCTIONS`] is computed. Everything else stands for itself.

use crate::compact::expand_text;
use crate::matching::{self, Match};
use crate::pattern::{self, Pattern};
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt;

/// Where placeholders find their values.
pub trait Scope {
    /// The value of the first name of a path, or nothing.
    fn get(&self, name: &str) -> Option<Cow<'_, Json>>;

    /// A UUID (version 4 by shape) that belongs to `name` in this run of this vector; the same name gives the same one.
    fn uuid(&self, name: &str) -> String;

    /// A member of the value of a first name, or that there is none, where a scope can tell without the value being put
    /// together.
    fn member(&self, _first: &str, _second: &str) -> Option<Option<&Json>> {
        None
    }

    /// Looks up a dotted path; a number selects an element of an array.
    fn path(&self, path: &str) -> Option<Cow<'_, Json>> {
        let (first, rest) = first_name(path);
        if first == "uuid" {
            return rest.map(|name| Cow::Owned(Json::String(self.uuid(name))));
        }
        if let Some((second, after)) = rest.map(first_name)
            && let Some(member) = self.member(first, second)
        {
            return after.map_or(member, |after| descend(member?, after)).map(Cow::Borrowed);
        }
        match (self.get(first)?, rest) {
            (value, None) => Some(value),
            (Cow::Borrowed(value), Some(rest)) => descend(value, rest).map(Cow::Borrowed),
            (Cow::Owned(value), Some(rest)) => descend(&value, rest).cloned().map(Cow::Owned),
        }
    }
}

/// The first name of a dotted path, and what follows. Names are short: a search made for long texts would cost more.
fn first_name(path: &str) -> (&str, Option<&str>) {
    match path.bytes().position(|byte| byte == b'.') {
        Some(dot) => (&path[..dot], Some(&path[dot + 1..])),
        None => (path, None),
    }
}

/// Follows a dotted path into a value.
pub fn descend<'a>(value: &'a Json, path: &str) -> Option<&'a Json> {
    let (mut value, mut rest) = (value, Some(path));
    while let Some(path) = rest {
        let (name, after) = first_name(path);
        rest = after;
        value = select(value, name, || name.parse().ok())?;
    }
    Some(value)
}

/// What a name stands for in a value; `index` is the name as the place of an element.
fn select<'a>(value: &'a Json, name: &str, index: impl FnOnce() -> Option<usize>) -> Option<&'a Json> {
    match value {
        Json::Object(members) => members.get(name),
        Json::Array(items) => items.get(index()?),
        _ => None,
    }
}

/// An expression, read once: most name one value by its path, and are asked for with every message.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    written: Json,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// It stands for itself.
    Literal,
    /// One placeholder, and no UUID: the first name of its path, and the others.
    Path(Name, Vec<Name>),
    /// It is put together.
    Other,
}

/// A name of a path, which may be the place of an element.
#[derive(Clone, Debug, PartialEq)]
struct Name {
    text: String,
    index: Option<usize>,
}

impl Expr {
    /// An expression as it is written.
    pub fn new(written: Json) -> Expr {
        let name = |text: &str| Name { text: text.to_owned(), index: text.parse().ok() };
        let kind = match written.as_str().and_then(placeholder).map(first_name) {
            Some((first, rest)) if first != "uuid" => {
                Kind::Path(name(first), rest.into_iter().flat_map(|rest| rest.split('.')).map(name).collect())
            }
            None if is_literal(&written) => Kind::Literal,
            _ => Kind::Other,
        };
        Expr { written, kind }
    }

    /// As it is written.
    pub fn written(&self) -> &Json {
        &self.written
    }

    /// The same as [`value_of`] what is written.
    ///
    /// # Errors
    /// See [`ExprError`].
    pub fn value<'a>(&'a self, scope: &'a dyn Scope) -> Result<Cow<'a, Json>, ExprError> {
        let (first, rest) = match &self.kind {
            Kind::Path(first, rest) => (first, rest.as_slice()),
            Kind::Literal => return Ok(Cow::Borrowed(&self.written)),
            Kind::Other => return value_of(&self.written, scope),
        };
        let member =
            rest.split_first().and_then(|(second, after)| Some((scope.member(&first.text, &second.text)?, after)));
        let value = match member {
            Some((member, after)) => member.and_then(|member| follow(member, after)).map(Cow::Borrowed),
            None => scope.get(&first.text).and_then(|value| match value {
                Cow::Borrowed(value) => follow(value, rest).map(Cow::Borrowed),
                Cow::Owned(value) => follow(&value, rest).cloned().map(Cow::Owned),
            }),
        };
        value.ok_or_else(|| {
            ExprError::Unresolved(self.written.as_str().and_then(placeholder).unwrap_or_default().to_owned())
        })
    }
}

/// Whether nothing in a value is computed.
fn is_literal(value: &Json) -> bool {
    match value {
        Json::String(text) => !has_placeholder(text),
        Json::Array(items) => items.iter().all(is_literal),
        Json::Object(members) => !is_function(members) && members.values().all(is_literal),
        _ => true,
    }
}

/// As [`descend`].
fn follow<'a>(value: &'a Json, path: &[Name]) -> Option<&'a Json> {
    path.iter().try_fold(value, |value, name| select(value, &name.text, || name.index))
}

/// The functions, each with its argument and meaning. This is the whole list.
pub const FUNCTIONS: &[(&str, &str)] = &[
    ("$text", "list of strings and {\"repeat\",\"times\"}: one text"),
    ("$add", "list of integers: their sum"),
    ("$sub", "list of integers: the first less the others"),
    ("$mul", "list of integers: their product"),
    ("$div", "list of two integers: the quotient, rounded down"),
    ("$from_json", "a text: the JSON value that it holds"),
    ("$intersect", "list of two lists: the elements of the first that are in the second"),
    ("$json_text", "any value: its compact JSON text, members sorted"),
    ("$uuid", "a name: the UUID of that name in this run"),
    ("$utf8_length", "a text: its length in UTF-8 bytes"),
    ("$size", "a list or object: how many elements or members"),
    ("$min", "list of integers: the smallest"),
    ("$max", "list of integers: the largest"),
    (
        "$list",
        "{\"repeat\": value, \"times\": number}: a list of equal elements; with \"each\" instead of \"repeat\" the value is computed for each `${index}` from 0",
    ),
    ("$concat", "list of lists: one list"),
    ("$at", "{\"from\": list, \"index\": number}: an element; a negative index counts from the end"),
    ("$pluck", "{\"from\": list, \"path\": text}: the value at that path of every element that has it"),
    ("$where", "{\"from\": list, \"is\": pattern}: the elements that match"),
    ("$distinct", "a list: its elements without those that are equal to an earlier one"),
    ("$slice", "{\"text\", \"from\", \"to\"}: characters of a text; a negative number counts from the end"),
    ("$swap_case", "a text: its ASCII letters in the other case"),
    ("$sha256", "a text: SHA-256 of its UTF-8 bytes in lowercase hex"),
    ("$instant_ms", "an RFC 3339 text: milliseconds since 1970"),
    (
        "$variability",
        "a list of texts: how many bits vary over them; it cannot be told from fewer than 32 different ones",
    ),
    (
        "$merge",
        "list of objects: one object, merged at every level; of two values that are not both objects the later stays",
    ),
    ("$without", "{\"from\": object, \"paths\": list of texts}: without the members at these paths"),
    (
        "$request",
        "{\"method\", \"from\", \"set\", \"without\"}: a request of aw-provider with api_version, a request_id of its own, the members of from and then of set merged in, less the paths in without; an invoke is bound by its input_digest unless set gives one",
    ),
    ("$aw_digest", "a request of aw-provider: its input_digest"),
    ("$parcel_size", "{\"bundle\": wire Bundle, \"api\": 26…}: bytes in a Parcel"),
    ("$literal", "any value: itself, with nothing computed in it"),
];

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExprError {
    /// A placeholder whose value is not there. Usual when a target did not answer as hoped.
    Unresolved(String),
    /// It cannot be told, with the reason.
    Unknown(String),
    /// The expression itself makes no sense with the values it got.
    Wrong(String),
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExprError::Unresolved(path) => write!(f, "no earlier answer brought ${{{path}}}"),
            ExprError::Unknown(what) | ExprError::Wrong(what) => f.write_str(what),
        }
    }
}

/// The lengths of the names of [`FUNCTIONS`] by their first letter, a bit for each.
const LENGTHS: [u32; 128] = {
    let mut lengths = [0; 128];
    let mut n = 0;
    while n < FUNCTIONS.len() {
        let name = FUNCTIONS[n].0.as_bytes();
        lengths[name[1] as usize] |= 1 << name.len();
        n += 1;
    }
    lengths
};

/// Whether an object is a call of one of [`FUNCTIONS`].
pub fn is_function(members: &Map<String, Json>) -> bool {
    // Asked of every object of every pattern: most are told apart by their length and their first letter.
    let is = |name: &String| {
        let [b'$', letter, ..] = name.as_bytes() else { return false };
        let lengths = LENGTHS.get(usize::from(*letter)).copied().unwrap_or_default();
        let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
        lengths.checked_shr(length).is_some_and(|rest| rest & 1 == 1)
            && FUNCTIONS.iter().any(|(known, _)| known == name)
    };
    members.len() == 1 && members.keys().all(is)
}

/// The value of an expression, without a copy of what is there as it is: a literal, or what one placeholder names.
///
/// # Errors
/// See [`ExprError`].
pub fn value_of<'a>(expr: &'a Json, scope: &'a dyn Scope) -> Result<Cow<'a, Json>, ExprError> {
    match expr {
        Json::String(text) => match placeholder(text) {
            Some(path) => scope.path(path).ok_or_else(|| ExprError::Unresolved(path.to_owned())),
            None if has_placeholder(text) => resolve_string(text, scope).map(Cow::Owned),
            None => Ok(Cow::Borrowed(expr)),
        },
        Json::Array(_) | Json::Object(_) => resolve(expr, scope).map(Cow::Owned),
        _ => Ok(Cow::Borrowed(expr)),
    }
}

/// Whether a `${` is in a text. Texts of patterns are short: a search made for long ones would cost more.
pub(crate) fn has_placeholder(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.contains(&b'$') && bytes.windows(2).any(|pair| pair == b"${")
}

/// The path of a text that is one placeholder and nothing else.
fn placeholder(text: &str) -> Option<&str> {
    let path = text.strip_prefix("${")?.strip_suffix('}')?;
    // One look at each byte: this is asked of every text of every pattern.
    let mut before = b'.';
    for byte in path.bytes() {
        if matches!(byte, b'}' | b'$') || (byte == b'.' && before == b'.') {
            return None;
        }
        before = byte;
    }
    (before != b'.').then_some(path)
}

/// The value of an expression.
///
/// # Errors
/// See [`ExprError`].
pub fn resolve(expr: &Json, scope: &dyn Scope) -> Result<Json, ExprError> {
    match expr {
        Json::String(text) => resolve_string(text, scope),
        Json::Array(items) => items.iter().map(|item| resolve(item, scope)).collect(),
        Json::Object(members) if is_function(members) => {
            let (name, argument) = members.iter().next().expect("one member");
            call(name, argument, scope)
        }
        Json::Object(members) => {
            let members: Result<Map<_, _>, ExprError> =
                members.iter().map(|(name, value)| Ok((name.clone(), resolve(value, scope)?))).collect();
            members.map(Json::Object)
        }
        other => Ok(other.clone()),
    }
}

/// A part of a string: literal text or the path of a placeholder.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Text that stands for itself.
    Text(&'a str),
    /// What is between `${` and `}`.
    Placeholder(&'a str),
}

/// Splits a string into text and placeholders.
///
/// # Errors
/// A `${` without an end, or an empty path.
pub fn parts(text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            parts.push(Part::Text(&rest[..at - 1]));
            parts.push(Part::Text("${"));
            rest = &rest[at + 2..];
            continue;
        }
        if at > 0 {
            parts.push(Part::Text(&rest[..at]));
        }
        let end = rest[at..].find('}').ok_or_else(|| format!("a placeholder does not end in {text:?}"))?;
        let path = &rest[at + 2..at + end];
        if path.is_empty() || path.split('.').any(str::is_empty) {
            return Err(format!("a placeholder without a path in {text:?}"));
        }
        parts.push(Part::Placeholder(path));
        rest = &rest[at + end + 1..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    Ok(parts)
}

fn resolve_string(text: &str, scope: &dyn Scope) -> Result<Json, ExprError> {
    if !has_placeholder(text) {
        return Ok(Json::String(text.to_owned()));
    }
    let parts = parts(text).map_err(ExprError::Wrong)?;
    let value = |path: &str| scope.path(path).ok_or_else(|| ExprError::Unresolved(path.to_owned()));
    if let [Part::Placeholder(path)] = parts.as_slice() {
        return value(path).map(Cow::into_owned);
    }
    let mut out = String::new();
    for part in &parts {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Placeholder(path) => match &*value(path)? {
                Json::String(text) => out.push_str(text),
                other => out.push_str(&other.to_string()),
            },
        }
    }
    Ok(Json::String(out))
}

fn call(name: &str, argument: &Json, scope: &dyn Scope) -> Result<Json, ExprError> {
    let wrong = |what: &str| ExprError::Wrong(format!("{name}: {what}"));
    if name == "$literal" {
        return Ok(argument.clone());
    }
    if name == "$where" {
        // The pattern is resolved element by element, not beforehand.
        let from = argument.get("from").ok_or_else(|| wrong("needs from"))?;
        let is = Pattern::new(argument.get("is").cloned().ok_or_else(|| wrong("needs is"))?);
        let list = value_of(from, scope)?;
        let items = list.as_array().ok_or_else(|| wrong("from is no list"))?;
        let mut kept = Vec::new();
        let asks = matching::Matcher { scope, reasons: false };
        for item in items {
            match asks.value(&is, Some(item)) {
                Match::Yes => kept.push(item.clone()),
                Match::No(_) => {}
                Match::Unknown(why) => return Err(ExprError::Unknown(why)),
                Match::Wrong(why) => return Err(wrong(&why)),
            }
        }
        return Ok(Json::Array(kept));
    }
    if let ("$list", Some(each)) = (name, argument.get("each")) {
        let times = resolve(argument.get("times").unwrap_or(&Json::Null), scope)?;
        let times =
            times.as_u64().filter(|n| *n <= MOST_ELEMENTS).ok_or_else(|| wrong("times is no number of elements"))?;
        return (0..times).map(|index| resolve(each, &Indexed { below: scope, index })).collect();
    }
    let value = value_of(argument, scope)?;
    let value = &*value;
    let text = |value: &Json| value.as_str().map(str::to_owned).ok_or_else(|| wrong("a text was expected"));
    let list = |value: &Json| value.as_array().cloned().ok_or_else(|| wrong("a list was expected"));
    match name {
        "$text" => expand_text(value).map(Json::String).map_err(|e| wrong(&e)),
        "$add" | "$sub" | "$mul" | "$div" | "$min" | "$max" => {
            let items = value.as_array().ok_or_else(|| wrong("a list was expected"))?;
            let numbers: Option<Vec<i128>> = items.iter().map(integer).collect();
            let numbers = numbers.ok_or_else(|| wrong("integers were expected"))?;
            let (first, others) = numbers.split_first().ok_or_else(|| wrong("an empty list"))?;
            let fold = |f: fn(i128, i128) -> Option<i128>| others.iter().try_fold(*first, |n, m| f(n, *m));
            let n = match name {
                "$add" => fold(i128::checked_add),
                "$sub" => fold(i128::checked_sub),
                "$mul" => fold(i128::checked_mul),
                "$min" => fold(|n, m| Some(n.min(m))),
                "$max" => fold(|n, m| Some(n.max(m))),
                _ => fold(i128::checked_div_euclid),
            };
            n.map(saturated).ok_or_else(|| wrong("no such number"))
        }
        "$json_text" => Ok(Json::String(json_text(value))),
        "$from_json" => crate::json::parse(text(value)?.as_bytes(), crate::json::Limits::DATA)
            .map_err(|error| ExprError::Unresolved(format!("JSON in a text ({error})"))),
        "$intersect" => {
            let lists = list(value)?;
            let [first, second] = lists.as_slice() else { return Err(wrong("two lists were expected")) };
            let second = list(second)?;
            Ok(list(first)?
                .into_iter()
                .filter(|item| second.iter().any(|other| matching::equal(item, other)))
                .collect())
        }
        "$merge" => {
            let mut out = Json::Object(Map::new());
            list(value)?.iter().for_each(|part| crate::aw::merge(&mut out, part));
            Ok(out)
        }
        "$without" => {
            let mut from = value.get("from").cloned().ok_or_else(|| wrong("needs from"))?;
            for path in list(value.get("paths").unwrap_or(&Json::Null))? {
                crate::aw::remove(&mut from, &text(&path)?);
            }
            Ok(from)
        }
        "$request" => crate::aw::request(value, &format!("r-{}", scope.uuid("request"))).map_err(|why| wrong(&why)),
        "$aw_digest" => Ok(json!(crate::aw::digest(value))),
        "$uuid" => Ok(Json::String(scope.uuid(&text(value)?))),
        "$utf8_length" => Ok(json!(text(value)?.len())),
        "$size" => match value {
            Json::Array(items) => Ok(json!(items.len())),
            Json::Object(members) => Ok(json!(members.len())),
            _ => Err(wrong("a list or object was expected")),
        },
        "$pluck" => {
            let path = text(value.get("path").unwrap_or(&Json::Null))?;
            let from = list(value.get("from").unwrap_or(&Json::Null))?;
            Ok(from.iter().filter_map(|item| descend(item, &path)).cloned().collect())
        }
        "$list" => {
            let times = value.get("times").and_then(Json::as_u64).filter(|n| *n <= MOST_ELEMENTS);
            let times = times.ok_or_else(|| wrong("times is no number of elements"))?;
            let element = value.get("repeat").ok_or_else(|| wrong("needs repeat"))?;
            Ok((0..times).map(|_| element.clone()).collect())
        }
        "$concat" => {
            let lists: Result<Vec<Vec<Json>>, ExprError> = list(value)?.iter().map(list).collect();
            Ok(Json::Array(lists?.concat()))
        }
        "$distinct" => {
            let mut kept: Vec<Json> = Vec::new();
            for item in list(value)? {
                if !kept.iter().any(|other| matching::equal(other, &item)) {
                    kept.push(item);
                }
            }
            Ok(Json::Array(kept))
        }
        "$at" => {
            let from = list(value.get("from").unwrap_or(&Json::Null))?;
            let index = value.get("index").and_then(Json::as_i64).ok_or_else(|| wrong("index is no integer"))?;
            let end = i64::try_from(from.len()).unwrap_or(i64::MAX);
            let place = usize::try_from(if index < 0 { end.saturating_add(index) } else { index }).ok();
            let element = place.and_then(|n| from.get(n)).cloned();
            element.ok_or_else(|| ExprError::Unresolved(format!("element {index} of a list")))
        }
        "$slice" => {
            let chars: Vec<char> = text(value.get("text").unwrap_or(&Json::Null))?.chars().collect();
            let end = i64::try_from(chars.len()).unwrap_or(i64::MAX);
            let index = |name: &str, default: i64| {
                let n = value
                    .get(name)
                    .map_or(Some(default), Json::as_i64)
                    .ok_or_else(|| wrong("an index is no integer"))?;
                Ok::<usize, ExprError>(if n < 0 { end + n } else { n }.clamp(0, end) as usize)
            };
            let (from, to) = (index("from", 0)?, index("to", end)?);
            Ok(Json::String(chars[from.min(to)..to].iter().collect()))
        }
        "$swap_case" => {
            let swap = |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
            Ok(Json::String(text(value)?.chars().map(swap).collect()))
        }
        "$sha256" => Ok(Json::String(sha256_hex(text(value)?.as_bytes()))),
        "$instant_ms" => match instant_ms(&text(value)?) {
            Some(ms) => Ok(json!(ms)),
            None => Err(ExprError::Unresolved(format!("instant in {value}"))),
        },
        "$variability" => {
            let texts: Result<Vec<String>, ExprError> = list(value)?.iter().map(text).collect();
            match variability(&texts?) {
                Some(bits) => Ok(json!(bits)),
                None => Err(ExprError::Unknown(format!(
                    "fewer than {ENOUGH_TOKENS} different texts tell nothing of their bits"
                ))),
            }
        }
        "$parcel_size" => {
            let api = match value.get("api").and_then(Json::as_u64) {
                Some(..=32) => crate::parcel::Api::UpTo32,
                Some(33..=35) => crate::parcel::Api::From33,
                Some(36..) => crate::parcel::Api::From36,
                None => return Err(wrong("needs api")),
            };
            let bundle = match value.get("bundle") {
                None | Some(Json::Null) => None,
                Some(json) => Some(crate::bundle::Bundle::from_json(json).map_err(|e| wrong(&e.to_string()))?),
            };
            Ok(json!(crate::parcel::bundle_size(bundle.as_ref(), api).bytes))
        }
        other => Err(ExprError::Wrong(format!("there is no function {other}"))),
    }
}

/// The number, or the nearest that JSON carries as an integer: it saturates, as clocks do.
pub(crate) fn saturated(n: i128) -> Json {
    let n = n.clamp(i64::MIN.into(), u64::MAX.into());
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above i64 and clamped to u64")]
    i64::try_from(n).map_or_else(|_| Json::from(n as u64), Json::from)
}

/// Inside `each` of `$list`.
struct Indexed<'s> {
    below: &'s dyn Scope,
    index: u64,
}

impl Scope for Indexed<'_> {
    fn get(&self, name: &str) -> Option<Cow<'_, Json>> {
        if name == "index" { Some(Cow::Owned(json!(self.index))) } else { self.below.get(name) }
    }

    fn uuid(&self, name: &str) -> String {
        self.below.uuid(name)
    }

    fn member(&self, first: &str, second: &str) -> Option<Option<&Json>> {
        if first == "index" { None } else { self.below.member(first, second) }
    }
}

/// An integer, also where it travels as a decimal string, as a `long` beyond ±2^53 does. A smaller number in a string is
/// a text.
pub fn integer(json: &Json) -> Option<i128> {
    match json {
        Json::Number(n) => n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from)),
        Json::String(text) => {
            let n: i64 = text.parse().ok()?;
            (n.unsigned_abs() > 1 << 53 && n.to_string() == *text).then_some(n.into())
        }
        _ => None,
    }
}

/// Compact JSON with sorted members, whatever order the map of this build keeps.
pub fn json_text(value: &Json) -> String {
    fn write(value: &Json, out: &mut String) {
        match value {
            Json::Array(items) => {
                out.push('[');
                for (n, item) in items.iter().enumerate() {
                    out.push_str(if n > 0 { "," } else { "" });
                    write(item, out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                let mut names: Vec<&String> = members.keys().collect();
                names.sort();
                out.push('{');
                for (n, name) in names.into_iter().enumerate() {
                    out.push_str(if n > 0 { "," } else { "" });
                    out.push_str(&Json::String(name.clone()).to_string());
                    out.push(':');
                    write(&members[name], out);
                }
                out.push('}');
            }
            other => out.push_str(&other.to_string()),
        }
    }
    let mut out = String::new();
    write(value, &mut out);
    out
}

/// Lowercase hex of the SHA-256 of some bytes.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes as lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

/// Milliseconds since 1970 of an RFC 3339 instant.
pub fn instant_ms(text: &str) -> Option<i64> {
    const RFC_3339: &str =
        "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})";
    // The parser knows more forms than the RFC.
    if !pattern::regex(RFC_3339).is_ok_and(|regex| regex.is_match(text)) {
        return None;
    }
    text.parse::<jiff::Timestamp>().ok().map(|t| t.as_millisecond())
}

/// How many bits vary over a list of tokens: an estimate of what a guesser who saw the others would face.
///
/// Tokens are compared position by position. A position is worth the Shannon entropy of the characters seen there, with
/// the Miller-Madow correction for the size of the sample: a fixed part is worth nothing, the slow digits of a counter or
/// clock are worth little. Rounded to the nearest bit. Nothing where there are fewer than [`ENOUGH_TOKENS`] different ones.
fn variability(texts: &[String]) -> Option<u64> {
    use std::collections::{BTreeMap, BTreeSet};
    let distinct: BTreeSet<&String> = texts.iter().collect();
    if distinct.len() < ENOUGH_TOKENS {
        return None;
    }
    let rows: Vec<Vec<char>> = distinct.iter().map(|t| t.chars().collect()).collect();
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let total = count(rows.len());
    let mut bits = 0.0;
    for column in 0..width {
        let mut seen: BTreeMap<Option<char>, usize> = BTreeMap::new();
        for row in &rows {
            *seen.entry(row.get(column).copied()).or_default() += 1;
        }
        let entropy: f64 = seen.values().map(|n| count(*n) / total).map(|p| -p * p.log2()).sum();
        let correction = (count(seen.len()) - 1.0) / (2.0 * total * std::f64::consts::LN_2);
        bits += entropy + correction;
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and far below 2^53")]
    let bits = bits.round() as u64;
    Some(bits)
}

/// Below this the estimate depends on the sample more than on the tokens.
const ENOUGH_TOKENS: usize = 32;

/// The longest `$list`.
const MOST_ELEMENTS: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Json);

    impl Scope for Fixed {
        fn get(&self, name: &str) -> Option<Cow<'_, Json>> {
            self.0.get(name).map(Cow::Borrowed)
        }
        fn uuid(&self, name: &str) -> String {
            format!("uuid-of-{name}")
        }
    }

    fn eval(expr: Json) -> Result<Json, ExprError> {
        resolve(
            &expr,
            &Fixed(json!({"n": 7, "s": {"data": {"list": [1, {"x": "y"}]}}, "t": "abc", "big": "9007199254740993"})),
        )
    }

    #[test]
    fn placeholders() {
        assert_eq!(eval(json!("${n}")), Ok(json!(7)));
        assert_eq!(eval(json!("n=${n}, ${s.data.list.1.x}")), Ok(json!("n=7, y")));
        assert_eq!(eval(json!("$${n} ${t}")), Ok(json!("${n} abc")));
        assert_eq!(eval(json!("${uuid.r1}")), Ok(json!("uuid-of-r1")));
        assert_eq!(eval(json!("${s.data.none}")), Err(ExprError::Unresolved("s.data.none".into())));
        assert!(matches!(eval(json!("${n")), Err(ExprError::Wrong(_))));
        assert!(matches!(eval(json!("${}")), Err(ExprError::Wrong(_))));
    }

    #[test]
    fn functions() {
        assert_eq!(eval(json!({"$add": ["${n}", 1, -3]})), Ok(json!(5)));
        assert_eq!(eval(json!({"$add": ["${big}", 1]})), Ok(json!(9_007_199_254_740_994_i64)));
        assert_eq!(eval(json!({"$sub": [{"$mul": [86400, 1000]}, 1000]})), Ok(json!(86_399_000)));
        assert_eq!(eval(json!({"$mul": [i64::MAX, i64::MAX]})), Ok(json!(u64::MAX)));
        assert_eq!(eval(json!({"$text": ["a", {"repeat": "x", "times": "${n}"}]})), Ok(json!("axxxxxxx")));
        assert_eq!(eval(json!({"$json_text": {"b": 1, "a": "${t}"}})), Ok(json!("{\"a\":\"abc\",\"b\":1}")));
        assert_eq!(eval(json!({"$slice": {"text": "${t}", "to": -1}})), Ok(json!("ab")));
        assert_eq!(eval(json!({"$slice": {"text": "${t}", "from": 5}})), Ok(json!("")));
        assert_eq!(eval(json!({"$swap_case": "aB-9é"})), Ok(json!("Ab-9é")));
        assert_eq!(eval(json!({"$pluck": {"from": "${s.data.list}", "path": "x"}})), Ok(json!(["y"])));
        assert_eq!(eval(json!({"$where": {"from": "${s.data.list}", "is": {"x": "y"}}})), Ok(json!([{"x": "y"}])));
        assert_eq!(eval(json!({"$literal": "${n}"})), Ok(json!("${n}")));
        assert_eq!(eval(json!({"$instant_ms": "2026-09-02T12:00:00Z"})), Ok(json!(1_788_350_400_000_i64)));
        assert_eq!(eval(json!({"$parcel_size": {"bundle": {"code": {"int": 42}}, "api": 33}})), Ok(json!(36)));
        assert_eq!(eval(json!({"$parcel_size": {"bundle": null, "api": 36}})), Ok(json!(4)));
        assert_eq!(eval(json!({"$min": ["${n}", 4]})), Ok(json!(4)));
        assert_eq!(eval(json!({"$concat": ["${s.data.list}", [2]]})), Ok(json!([1, {"x": "y"}, 2])));
        assert_eq!(eval(json!({"$distinct": [1, "1", 1.0, {"a": 1}, {"a": 1}]})), Ok(json!([1, "1", {"a": 1}])));
        assert_eq!(eval(json!({"$at": {"from": "${s.data.list}", "index": -2}})), Ok(json!(1)));
        assert!(matches!(eval(json!({"$at": {"from": [], "index": 0}})), Err(ExprError::Unresolved(_))));
        assert_eq!(eval(json!({"$list": {"repeat": "${n}", "times": 2}})), Ok(json!([7, 7])));
        assert_eq!(eval(json!({"$list": {"each": "${t}-${index}", "times": 2}})), Ok(json!(["abc-0", "abc-1"])));
        assert!(eval(json!({"$list": {"each": 1, "times": -1}})).is_err());
        for text in ["2026-09-02 12:00:00Z", "20260902T120000Z", "2026-09-02T12:00:00[UTC]", "2026-09-02T12Z"] {
            assert!(eval(json!({"$instant_ms": text})).is_err(), "{text}");
        }
        assert!(eval(json!({"$add": ["5"]})).is_err());
        assert!(eval(json!({"$add": ["x"]})).is_err());
        assert!(eval(json!({"$div": [1, 0]})).is_err());
        assert_eq!(eval(json!({"$other": 1})), Ok(json!({"$other": 1})));
    }

    #[test]
    fn variability_tells_counters_from_random_tokens() {
        let bits = |texts: &[String]| variability(texts).unwrap();
        let counters: Vec<String> = (0..256).map(|n| format!("session-{n:016x}")).collect();
        assert!(bits(&counters) <= 9);
        let times: Vec<String> = (0..256).map(|n| format!("{}", 1_760_000_000_000_u64 + n * 37)).collect();
        assert!(bits(&times) < 30);
        let random: Vec<String> = (0..256).map(|n| sha256_hex(format!("{n}").as_bytes())[..32].to_owned()).collect();
        assert!((126..=130).contains(&bits(&random)), "{}", bits(&random));
        let short: Vec<String> = random.iter().map(|t| t[..16].to_owned()).collect();
        assert!((63..=65).contains(&bits(&short)), "{}", bits(&short));
        assert_eq!(variability(&vec!["same".to_owned(); 256]), None);
        assert_eq!(variability(&random[..31]), None);
    }
}
