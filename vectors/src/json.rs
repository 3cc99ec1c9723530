//! Strict reading of JSON that comes from somebody else. The main function is [`parse`].
//!
//! Targets, vectors and reports are untrusted text. This reader differs from `serde_json` where a verdict can depend
//! on it: a duplicate member is an error (after unescaping, so `"a"` and `"\u0061"` collide), nesting is bounded
//! exactly and costs no stack, numbers follow one of two stated rules, and every error has a JSON Pointer and a byte
//! offset. What it returns is a plain [`serde_json::Value`].

use serde_json::map::Entry;
use serde_json::{Map, Number, Value};
use std::fmt;

/// How number tokens are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Every number of the JSON grammar is accepted. An integer outside `i64`/`u64` becomes the nearest `f64`; what
    /// lies beyond `f64` becomes the largest finite `f64` of its sign.
    Saturating,
    /// The rule of `aw-provider/v1alpha1`: a negative integer token fits `i64`, any other integer token fits `u64`,
    /// a token with a fraction or an exponent is a finite `f64`. Everything else is an error.
    Exact,
}

/// What [`parse`] accepts at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Length of the text in bytes, whitespace counted.
    pub max_bytes: usize,
    /// The deepest level at which a value may lie; the root is level 0. `[[1]]` has a value at level 2.
    pub max_level: usize,
    /// How many values the document may hold, all levels together: small values take dozens of times their text in memory.
    pub max_values: usize,
    /// How numbers are read.
    pub numbers: Numbers,
    /// Whether a duplicate member (the last one counts) and half of a surrogate pair (read as U+FFFD) are let pass:
    /// the grammar of RFC 8259 allows both. A number with a fraction or exponent that is an integer is read as one.
    pub lenient: bool,
}

impl Limits {
    /// For text inside a Bundle, a vector or a report: 64 MiB (above the fixture's largest result), nesting as on the
    /// wire of the target protocol.
    pub const TEXT: Limits = Limits {
        max_bytes: 128 << 20,
        max_level: 10_000,
        max_values: usize::MAX,
        numbers: Numbers::Saturating,
        lenient: false,
    };

    /// For JSON text that an implementation put into a Bundle: what the grammar allows is read, as no sentence of the
    /// specification forbids it. The number of values is far above what any vector leads to.
    pub const DATA: Limits = Limits { max_values: 250_000, lenient: true, ..Limits::TEXT };

    /// For one message of `aw-provider/v1alpha1`: 1 MiB, level 32, exact numbers.
    pub const AW_MESSAGE: Limits =
        Limits { max_bytes: 1 << 20, max_level: 32, max_values: usize::MAX, numbers: Numbers::Exact, lenient: false };
}

/// Why a text was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Longer than [`Limits::max_bytes`].
    TooLong,
    /// Not UTF-8, or begins with a byte order mark.
    Encoding,
    /// Breaks the grammar of RFC 8259, or text follows the document.
    Syntax(&'static str),
    /// A value lies deeper than [`Limits::max_level`].
    TooDeep,
    /// More values than [`Limits::max_values`].
    TooMany,
    /// A member name occurs twice in one object.
    DuplicateMember(String),
    /// A number breaks [`Numbers::Exact`].
    Number(String),
    /// A `\u` escape names half of a surrogate pair.
    LoneSurrogate,
}

/// A refusal with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct JsonError {
    /// Why.
    pub fault: Fault,
    /// Byte offset in the text at which it was noticed.
    pub offset: usize,
    /// JSON Pointer (RFC 6901) to the value or member concerned.
    pub pointer: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            Fault::TooLong => write!(f, "the text is longer than allowed")?,
            Fault::Encoding => write!(f, "the text is not UTF-8 without a byte order mark")?,
            Fault::Syntax(what) => write!(f, "not JSON: {what}")?,
            Fault::TooDeep => write!(f, "nested too deeply")?,
            Fault::TooMany => write!(f, "more values than allowed")?,
            Fault::DuplicateMember(name) => write!(f, "the member {name:?} occurs twice")?,
            Fault::Number(token) => write!(f, "the number {token} is out of range")?,
            Fault::LoneSurrogate => write!(f, "an escape names half of a surrogate pair")?,
        }
        write!(f, " at byte {}", self.offset)?;
        if !self.pointer.is_empty() {
            write!(f, " (at {})", self.pointer)?;
        }
        Ok(())
    }
}

/// Reads exactly one JSON document, with nothing but JSON whitespace around it.
///
/// # Errors
/// The first fault with its place; see [`Fault`].
pub fn parse(text: &[u8], limits: Limits) -> Result<Value, JsonError> {
    parse_without(text, limits, usize::MAX, &[])
}

/// [`parse`], but members of these names whose values lie at this level are null: they are passed over, which takes a fraction
/// of the time and no memory. Of what is passed over only strings and the number of brackets have to be right.
///
/// # Errors
/// As [`parse`].
pub fn parse_without(text: &[u8], limits: Limits, level: usize, names: &[&str]) -> Result<Value, JsonError> {
    if text.len() > limits.max_bytes {
        return Err(JsonError { fault: Fault::TooLong, offset: limits.max_bytes, pointer: String::new() });
    }
    let text = std::str::from_utf8(text).map_err(|e| JsonError {
        fault: Fault::Encoding,
        offset: e.valid_up_to(),
        pointer: String::new(),
    })?;
    if text.starts_with('\u{feff}') {
        return Err(JsonError { fault: Fault::Encoding, offset: 0, pointer: String::new() });
    }
    Reader { text, at: 0, limits, passed: (level, names), values: 0, open: Vec::new() }.document()
}

/// [`parse`] with [`Limits::TEXT`].
///
/// # Errors
/// As [`parse`].
pub fn parse_text(text: &str) -> Result<Value, JsonError> {
    parse(text.as_bytes(), Limits::TEXT)
}

/// The text of each item of a list that is a member of the document, of which only so much is read: a document that [`parse`]
/// accepts is taken for granted.
pub fn items_of<'t>(text: &'t str, list: &str) -> Option<Vec<&'t str>> {
    let mut reader = Reader { text, at: 0, limits: Limits::TEXT, passed: (0, &[]), values: 0, open: Vec::new() };
    reader.blank();
    reader.take(b'{').then_some(())?;
    loop {
        reader.blank();
        let name = reader.string().ok()?;
        reader.blank();
        reader.take(b':').then_some(())?;
        reader.blank();
        if name == list {
            break;
        }
        reader.pass().ok()?;
        reader.blank();
        reader.take(b',').then_some(())?;
    }
    reader.take(b'[').then_some(())?;
    let mut items = Vec::new();
    reader.blank();
    while !reader.take(b']') {
        let start = reader.at;
        reader.pass().ok()?;
        items.push(text[start..reader.at].trim_end());
        reader.blank();
        let _ = reader.take(b',');
        reader.blank();
    }
    Some(items)
}

/// Escapes one reference token of a JSON Pointer.
pub fn pointer_token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// An object of these members. `json!` would write each out and read it again.
pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    // One after the other: to collect them would sort a list of them first.
    let mut object = Map::new();
    for (name, value) in members {
        object.insert(name.to_owned(), value);
    }
    Value::Object(object)
}

enum Open {
    Array(Vec<Value>),
    /// With the member whose value is read, and where its name begins.
    Object {
        members: Map<String, Value>,
        name: String,
        start: usize,
    },
}

/// Up to here every integer is an `f64` of its own.
const EXACT: f64 = 9_007_199_254_740_992.0;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    limits: Limits,
    /// Level and names of the members that are passed over.
    passed: (usize, &'a [&'a str]),
    values: usize,
    open: Vec<Open>,
}

impl Reader<'_> {
    fn document(mut self) -> Result<Value, JsonError> {
        // Containers live on `open`, not on the call stack: nesting is limited by the setting, not by the thread.
        self.blank();
        'value: loop {
            if self.open.len() > self.limits.max_level {
                return Err(self.error(Fault::TooDeep));
            }
            if self.values == self.limits.max_values {
                return Err(self.error(Fault::TooMany));
            }
            self.values += 1;
            let mut value = match self.peek() {
                Some(_) if self.is_passed() => self.pass()?,
                Some(b'[') => {
                    self.at += 1;
                    self.blank();
                    if self.take(b']') {
                        Value::Array(Vec::new())
                    } else {
                        self.open.push(Open::Array(Vec::new()));
                        continue 'value;
                    }
                }
                Some(b'{') => {
                    self.at += 1;
                    self.blank();
                    if self.take(b'}') {
                        Value::Object(Map::new())
                    } else {
                        self.open.push(Open::Object { members: Map::new(), name: String::new(), start: 0 });
                        self.member_name()?;
                        continue 'value;
                    }
                }
                Some(b'"') => Value::String(self.string()?),
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.word("true", Value::Bool(true))?,
                Some(b'f') => self.word("false", Value::Bool(false))?,
                Some(b'n') => self.word("null", Value::Null)?,
                Some(_) => return Err(self.error(Fault::Syntax("a value was expected"))),
                None => return Err(self.error(Fault::Syntax("the text ends too early"))),
            };
            // Close as many containers as end here.
            loop {
                self.blank();
                match self.open.last_mut() {
                    None => {
                        if self.at < self.text.len() {
                            return Err(self.error(Fault::Syntax("something follows the document")));
                        }
                        return Ok(value);
                    }
                    Some(Open::Array(items)) => {
                        items.push(value);
                        if self.take(b',') {
                            self.blank();
                            continue 'value;
                        }
                        if !self.take(b']') {
                            return Err(self.error(Fault::Syntax("expected ',' or ']'")));
                        }
                    }
                    Some(Open::Object { members, name, start }) => {
                        let start = *start;
                        match members.entry(std::mem::take(name)) {
                            Entry::Vacant(free) => drop(free.insert(value)),
                            Entry::Occupied(mut held) if self.limits.lenient => drop(held.insert(value)),
                            Entry::Occupied(held) => {
                                let twice = held.key().clone();
                                return Err(self.twice(twice, start));
                            }
                        }
                        if self.take(b',') {
                            self.blank();
                            self.member_name()?;
                            continue 'value;
                        }
                        if !self.take(b'}') {
                            return Err(self.error(Fault::Syntax("expected ',' or '}'")));
                        }
                    }
                }
                value = match self.open.pop() {
                    Some(Open::Array(items)) => Value::Array(items),
                    Some(Open::Object { members, .. }) => Value::Object(members),
                    None => unreachable!("a container was open"),
                };
            }
        }
    }

    fn is_passed(&self) -> bool {
        let (level, names) = self.passed;
        self.open.len() == level
            && matches!(self.open.last(), Some(Open::Object { name, .. }) if names.contains(&name.as_str()))
    }

    /// Goes behind a value without reading it.
    fn pass(&mut self) -> Result<Value, JsonError> {
        let mut inside = 0_usize;
        loop {
            match self.peek() {
                Some(b'"') => self.pass_string()?,
                Some(b'[' | b'{') => {
                    inside += 1;
                    self.at += 1;
                    continue;
                }
                Some(b']' | b'}') if inside > 0 => {
                    inside -= 1;
                    self.at += 1;
                }
                Some(b',' | b']' | b'}') if inside == 0 => return Ok(Value::Null),
                Some(_) => {
                    self.at += 1;
                    continue;
                }
                None => return Err(self.error(Fault::Syntax("the text ends too early"))),
            }
            if inside == 0 {
                return Ok(Value::Null);
            }
        }
    }

    fn pass_string(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => return Err(self.error(Fault::Syntax("a string does not end"))),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn member_name(&mut self) -> Result<(), JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.error(Fault::Syntax("a member name was expected")));
        }
        let start = self.at;
        let read = self.string()?;
        self.blank();
        if !self.take(b':') {
            return Err(self.error(Fault::Syntax("expected ':'")));
        }
        self.blank();
        let Some(Open::Object { name, start: begun, .. }) = self.open.last_mut() else {
            unreachable!("names are read in objects only")
        };
        (*name, *begun) = (read, start);
        Ok(())
    }

    /// The innermost object has had a member of this name, which begins there.
    fn twice(&mut self, twice: String, start: usize) -> JsonError {
        if let Some(Open::Object { name, .. }) = self.open.last_mut() {
            name.clone_from(&twice);
        }
        self.at = start;
        self.error(Fault::DuplicateMember(twice))
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let bytes = self.text.as_bytes();
        self.at += 1;
        let mut out = String::new();
        let mut run = self.at;
        loop {
            match bytes.get(self.at) {
                None => return Err(self.error(Fault::Syntax("a string does not end"))),
                Some(b'"') => {
                    let rest = &self.text[run..self.at];
                    self.at += 1;
                    if out.is_empty() {
                        return Ok(rest.to_owned());
                    }
                    out.push_str(rest);
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(&self.text[run..self.at]);
                    self.at += 1;
                    let escape = bytes.get(self.at).copied();
                    self.at += 1;
                    out.push(match escape {
                        Some(b'"') => '"',
                        Some(b'\\') => '\\',
                        Some(b'/') => '/',
                        Some(b'b') => '\u{8}',
                        Some(b'f') => '\u{c}',
                        Some(b'n') => '\n',
                        Some(b'r') => '\r',
                        Some(b't') => '\t',
                        Some(b'u') => self.unicode_escape()?,
                        _ => {
                            self.at -= 1;
                            return Err(self.error(Fault::Syntax("an unknown escape")));
                        }
                    });
                    run = self.at;
                }
                Some(0..=0x1f) => return Err(self.error(Fault::Syntax("a control character in a string"))),
                Some(_) => self.at += 1,
            }
        }
    }

    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let start = self.at - 2;
        let first = self.hex4()?;
        let code = match first {
            0xd800..=0xdbff => {
                let after = self.at;
                let second = if self.text[self.at..].starts_with("\\u") {
                    self.at += 2;
                    self.hex4()?
                } else {
                    0
                };
                if !(0xdc00..=0xdfff).contains(&second) {
                    self.at = after;
                    return self.lone_surrogate(start);
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            0xdc00..=0xdfff => return self.lone_surrogate(start),
            other => other,
        };
        Ok(char::from_u32(code).expect("surrogates were dealt with"))
    }

    fn lone_surrogate(&mut self, start: usize) -> Result<char, JsonError> {
        if self.limits.lenient {
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        self.at = start;
        Err(self.error(Fault::LoneSurrogate))
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let valid = digits.filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = valid else {
            return Err(self.error(Fault::Syntax("four hexadecimal digits were expected")));
        };
        self.at += 4;
        Ok(digits.iter().fold(0, |n, d| n * 16 + char::from(*d).to_digit(16).expect("checked")))
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        let negative = self.take(b'-');
        if !self.take(b'0') && self.digits() == 0 {
            return Err(self.error(Fault::Syntax("a digit was expected")));
        }
        if matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.error(Fault::Syntax("a number begins with 0")));
        }
        let mut integer = true;
        if self.take(b'.') {
            integer = false;
            if self.digits() == 0 {
                return Err(self.error(Fault::Syntax("a digit was expected")));
            }
        }
        if self.take(b'e') || self.take(b'E') {
            integer = false;
            let _ = self.take(b'+') || self.take(b'-');
            if self.digits() == 0 {
                return Err(self.error(Fault::Syntax("a digit was expected")));
            }
        }
        let token = &self.text[start..self.at];
        if integer {
            // "-0" has no integer form that keeps its sign; it is read as a float, as serde_json does.
            if negative && token != "-0" {
                if let Ok(n) = token.parse::<i64>() {
                    return Ok(Value::Number(n.into()));
                }
            } else if let Ok(n) = token.parse::<u64>() {
                return Ok(Value::Number(n.into()));
            }
            if self.limits.numbers == Numbers::Exact && token != "-0" {
                let fault = Fault::Number(shorten(token));
                self.at = start;
                return Err(self.error(fault));
            }
        }
        let float: f64 = token.parse().expect("the grammar of JSON numbers is a part of Rust's");
        if float.is_infinite() && self.limits.numbers == Numbers::Exact {
            let fault = Fault::Number(shorten(token));
            self.at = start;
            return Err(self.error(fault));
        }
        let finite = float.clamp(f64::MIN, f64::MAX);
        // `7E4` and `70000.0` are the number 70000: no sentence says how an implementation has to write it.
        if self.limits.lenient && finite.fract() == 0.0 && finite.abs() <= EXACT && !(finite == 0.0 && negative) {
            return Ok(Value::Number((finite as i64).into()));
        }
        Ok(Value::Number(Number::from_f64(finite).expect("finite")))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        if self.text[self.at..].starts_with(word) {
            self.at += word.len();
            return Ok(value);
        }
        Err(self.error(Fault::Syntax("a value was expected")))
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn error(&self, fault: Fault) -> JsonError {
        let mut pointer = String::new();
        for open in &self.open {
            match open {
                Open::Array(items) => pointer.push_str(&format!("/{}", items.len())),
                Open::Object { name, .. } => pointer.push_str(&format!("/{}", pointer_token(name))),
            }
        }
        JsonError { fault, offset: self.at, pointer }
    }
}

fn shorten(token: &str) -> String {
    if token.len() <= 40 { token.to_owned() } else { format!("{}… ({} digits)", &token[..40], token.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Result<Value, JsonError> {
        parse_text(text)
    }

    fn aw(text: &str) -> Result<Value, Fault> {
        parse(text.as_bytes(), Limits::AW_MESSAGE).map_err(|e| e.fault)
    }

    #[test]
    fn reads_what_serde_json_reads() {
        for text in [
            "null",
            " true ",
            "false",
            "0",
            "-1",
            "1.5e3",
            "\"\\u0061\\n\\ud83d\\ude00\"",
            "[]",
            "{}",
            "[1,[2,{}],\"x\"]",
            "{\"a\":{\"b\":[1,2]},\"c\":null}",
            "18446744073709551615",
            "-9223372036854775808",
            "1e-400",
            "\t\r\n[ 1 , 2 ]",
        ] {
            assert_eq!(read(text).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_json() {
        for text in [
            "",
            " ",
            "01",
            ".5",
            "5.",
            "+1",
            "NaN",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "\"\u{1}\"",
            "\"\\x\"",
            "\"abc",
            "[1 2]",
            "{} {}",
            "tru",
            "1e",
            "-",
            "\"\\u12\"",
            "[1",
            "{\"a\"",
            "{\"a\":",
            "nul",
            "\u{feff}1",
            "1\u{0}",
        ] {
            assert!(read(text).is_err(), "{text:?}");
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn names_the_place_of_a_duplicate() {
        let error = read("{\"x\":[0,{\"a\":1,\"\\u0061\":2}]}").unwrap_err();
        assert_eq!(error.fault, Fault::DuplicateMember("a".into()));
        assert_eq!(error.pointer, "/x/1/a");
        assert_eq!(error.offset, 15);
    }

    #[test]
    fn counts_levels_from_the_root() {
        let nested = |n: usize, inner: &str| format!("{}{inner}{}", "[".repeat(n), "]".repeat(n));
        assert!(aw(&nested(32, "1")).is_ok());
        assert!(aw(&nested(33, "")).is_ok());
        assert_eq!(aw(&nested(33, "1")), Err(Fault::TooDeep));
        assert_eq!(aw(&nested(34, "")), Err(Fault::TooDeep));
    }

    #[test]
    fn numbers_follow_the_rule_that_was_asked_for() {
        assert_eq!(aw("18446744073709551615"), Ok(json!(u64::MAX)));
        assert!(matches!(aw("18446744073709551616"), Err(Fault::Number(_))));
        assert!(matches!(aw("-9223372036854775809"), Err(Fault::Number(_))));
        assert_eq!(aw("18446744073709551616.0"), Ok(json!(18446744073709551616.0)));
        assert!(matches!(aw("1e309"), Err(Fault::Number(_))));
        assert_eq!(aw("1e-400"), Ok(json!(0.0)));
        assert_eq!(aw("-0").unwrap().to_string(), "-0.0");
        assert_eq!(read("-1e309").unwrap(), json!(f64::MIN));
        assert_eq!(read("18446744073709551616").unwrap(), json!(18446744073709551616.0));
    }

    #[test]
    fn deep_nesting_costs_no_stack() {
        let text = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let read = std::thread::Builder::new().stack_size(16 << 20).spawn(move || parse_text(&text).is_ok()).unwrap();
        assert!(read.join().unwrap());
        let text = "[".repeat(20_000);
        assert_eq!(parse_text(&text).map(|_| ()).unwrap_err().fault, Fault::TooDeep);
    }

    #[test]
    fn members_at_a_level_are_passed_over() {
        let heads = |text: &str| parse_without(text.as_bytes(), Limits::TEXT, 1, &["x", "y"]);
        let text = r#"{"x":[1,{"a":"]\\\"}"},[]],"a":{"x":[2]},"y": "\\" ,"b":3}"#;
        assert_eq!(heads(text), Ok(json!({"x": null, "a": {"x": [2]}, "y": null, "b": 3})));
        assert_eq!(heads("{\"x\":12,\"y\":tr}"), Ok(json!({"x": null, "y": null})));
        for text in ["{\"x\":[1", "{\"x\":\"1", "{\"x\":\"\\", "{\"x\":[1]]}", "{\"x\":1,\"x\":2}", "{\"x\":[1] 2}"] {
            assert!(heads(text).is_err(), "{text}");
        }
    }

    #[test]
    fn items_of_a_list_are_told_apart() {
        let text = r#" {"a": [1], "b" :[ {"x":[2,"]"]} , 3 ,"\"," ,[]], "c": 1}"#;
        assert_eq!(items_of(text, "b"), Some(vec![r#"{"x":[2,"]"]}"#, "3", r#""\",""#, "[]"]));
        assert_eq!(items_of(text, "a"), Some(vec!["1"]));
        assert_eq!(items_of(text, "c"), None);
        assert_eq!(items_of(text, "d"), None);
        assert_eq!(items_of("{\"b\":[]}", "b"), Some(Vec::new()));
    }

    #[test]
    fn lone_surrogates_are_named() {
        for text in ["\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\ud800x\""] {
            assert_eq!(read(text).unwrap_err().fault, Fault::LoneSurrogate, "{text}");
        }
        let lenient = |text: &str| parse(text.as_bytes(), Limits::DATA).unwrap();
        assert_eq!(lenient("[70000.0,7E4,-1e0,0.5,1e300]"), json!([70000, 70000, -1, 0.5, 1e300]));
        assert_eq!(lenient("\"\\ud800\\u0041\""), json!("\u{fffd}A"));
        assert_eq!(lenient("{\"a\":1,\"a\":2}"), json!({"a":2}));
    }
}
