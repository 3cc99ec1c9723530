//! Android Bundles as the target protocol writes them. The main type is [`Bundle`].
//!
//! A Bundle is a JSON object from key to a value with one member that names the Android type, for example
//! `{"status":{"string":"success"},"protocol_version":{"int":2}}`. Decoding and encoding lose nothing: an Int stays an
//! Int, a `long` beyond ±2^53 is a decimal string, a lone surrogate is carried as UTF-16 in base64.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Number, Value as Json, json};
use std::collections::BTreeMap;
use std::fmt;

/// Integers beyond this are not exact in every JSON reader, so they travel as decimal strings.
const MAX_EXACT: u64 = 1 << 53;

/// A Java String: UTF-16, not necessarily valid Unicode.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Text {
    /// Valid Unicode.
    Unicode(String),
    /// UTF-16 code units with at least one lone surrogate.
    Utf16(Vec<u16>),
}

impl Text {
    /// From UTF-16 code units; valid Unicode becomes [`Text::Unicode`].
    pub fn from_units(units: Vec<u16>) -> Text {
        String::from_utf16(&units).map_or(Text::Utf16(units), Text::Unicode)
    }

    /// The text, where it is valid Unicode.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Text::Unicode(text) => Some(text),
            Text::Utf16(_) => None,
        }
    }

    /// Length in UTF-16 code units, which is what a Parcel counts.
    pub fn utf16_len(&self) -> usize {
        match self {
            Text::Unicode(text) if text.is_ascii() => text.len(),
            Text::Unicode(text) => text.encode_utf16().count(),
            Text::Utf16(units) => units.len(),
        }
    }

    /// The JSON of the target protocol: a string, or `{"utf16":"<base64, little endian>"}`.
    pub fn to_json(&self) -> Json {
        match self {
            Text::Unicode(text) => Json::String(text.clone()),
            Text::Utf16(units) => {
                let bytes: Vec<u8> = units.iter().flat_map(|u| u.to_le_bytes()).collect();
                json!({ "utf16": STANDARD.encode(bytes) })
            }
        }
    }

    fn from_json(json: &Json) -> Result<Text, String> {
        match json {
            Json::String(text) => Ok(Text::Unicode(text.clone())),
            Json::Object(o) if o.len() == 1 && o.contains_key("utf16") => {
                let bytes =
                    o["utf16"].as_str().and_then(|s| STANDARD.decode(s).ok()).ok_or("utf16 is not padded base64")?;
                if bytes.len() % 2 != 0 {
                    return Err("utf16 has an odd number of bytes".into());
                }
                let units = bytes.chunks_exact(2).map(|p| u16::from_le_bytes([p[0], p[1]])).collect();
                Ok(Text::from_units(units))
            }
            _ => Err("a string or {\"utf16\":…} was expected".into()),
        }
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Text::Unicode(text) => text.fmt(f),
            Text::Utf16(units) => write!(f, "utf16{units:04x?}"),
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::Unicode(text.to_owned())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::Unicode(text)
    }
}

/// What a target tells of a PendingIntent. A fact that the platform cannot tell is `None` and left out of the JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingIntent {
    /// Name under which controls and `ui.launch` refer to it.
    pub id: String,
    /// Package that created it.
    pub creator_package: Option<String>,
    /// UID that created it.
    pub creator_uid: Option<i64>,
    /// Whether it has `FLAG_IMMUTABLE`.
    pub immutable: Option<bool>,
    /// Whether its Intent names a component.
    pub explicit: Option<bool>,
    /// The component, as `package/class`.
    pub component: Option<String>,
}

/// How a file descriptor was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Read and write.
    ReadWrite,
    /// Write only.
    Write,
}

impl Access {
    fn name(self) -> &'static str {
        match self {
            Access::Read => "r",
            Access::ReadWrite => "rw",
            Access::Write => "w",
        }
    }
}

/// One value of a Bundle. The list is complete: it is what the target protocol can carry.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the variants are the Android types of the same name")]
pub enum Value {
    String(Text),
    Int(i32),
    Long(i64),
    Bool(bool),
    Double(f64),
    Float(f32),
    Short(i16),
    Byte(i8),
    /// One UTF-16 code unit.
    Char(u16),
    /// A key with a null value, which is not the same as no key.
    Null,
    IntArray(Vec<i32>),
    LongArray(Vec<i64>),
    BoolArray(Vec<bool>),
    DoubleArray(Vec<f64>),
    StringArray(Vec<Option<Text>>),
    StringList(Vec<Option<Text>>),
    IntList(Vec<Option<i32>>),
    Bytes(Vec<u8>),
    Bundle(Bundle),
    PendingIntent(PendingIntent),
    /// A ParcelFileDescriptor, by the id under which `fd.read` and `fd.close` know it.
    Fd {
        id: String,
        access: Option<Access>,
    },
    /// Anything else; only ever received.
    Parcelable {
        class: String,
    },
}

/// A Bundle: keys in sorted order, as a hash map's order means nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bundle(pub BTreeMap<String, Value>);

/// A Bundle that breaks the protocol's JSON form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {message}")]
pub struct BundleError {
    /// JSON Pointer from the Bundle to the fault.
    pub pointer: String,
    /// What was wrong.
    pub message: String,
}

impl BundleError {
    fn at(pointer: impl Into<String>, message: impl Into<String>) -> BundleError {
        BundleError { pointer: pointer.into(), message: message.into() }
    }
}

impl Bundle {
    /// An empty Bundle.
    pub fn new() -> Bundle {
        Bundle::default()
    }

    /// Adds or replaces a key and returns the Bundle, to build one in a row.
    #[must_use]
    pub fn with(mut self, key: &str, value: Value) -> Bundle {
        self.0.insert(key.to_owned(), value);
        self
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// The text of a key that is a String of valid Unicode; like `getString`, nothing for another type.
    pub fn string(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(Value::String(text)) => text.as_str(),
            _ => None,
        }
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// The first value that is not one of the protocol's types, with its JSON Pointer.
    pub fn from_json(json: &Json) -> Result<Bundle, BundleError> {
        let Json::Object(members) = json else {
            return Err(BundleError::at("", "a Bundle is a JSON object"));
        };
        let mut bundle = Bundle::new();
        for (key, value) in members {
            let here = |error: BundleError| {
                let pointer = format!("/{}{}", crate::json::pointer_token(key), error.pointer);
                BundleError::at(pointer, error.message)
            };
            bundle.0.insert(key.clone(), Value::from_json(value).map_err(here)?);
        }
        Ok(bundle)
    }

    /// Whether [`Bundle::from_json`] can read a value, without a copy of what most Bundles hold.
    ///
    /// # Errors
    /// As [`Bundle::from_json`].
    pub fn check(json: &Json) -> Result<(), BundleError> {
        match json {
            Json::Object(members) if members.values().all(|value| simple(value).is_some()) => Ok(()),
            other => Bundle::from_json(other).map(drop),
        }
    }

    /// Writes the JSON form.
    pub fn to_json(&self) -> Json {
        Json::Object(self.0.iter().map(|(key, value)| (key.clone(), value.to_json())).collect())
    }
}

/// What is inside a value `{"<type>":…}` that is certain to be one of its type in the only form that it has: texts, whole
/// numbers, and yes or no, which is nearly everything that a Bundle holds.
pub(crate) fn simple(json: &Json) -> Option<&Json> {
    let Json::Object(members) = json else { return None };
    let (name, value) = members.iter().next().filter(|_| members.len() == 1)?;
    let is = match (name.as_str(), value) {
        ("string", Json::String(_)) | ("bool", Json::Bool(_)) => true,
        ("int", Json::Number(n)) => n.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
        ("long", Json::Number(n)) => n.as_i64().is_some_and(|n| n.unsigned_abs() <= MAX_EXACT),
        _ => false,
    };
    is.then_some(value)
}

impl Value {
    /// A String value.
    pub fn string(text: impl Into<String>) -> Value {
        Value::String(Text::Unicode(text.into()))
    }

    /// The name of the type in the protocol, such as `int` or `string_array`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::String(_) => "string",
            Value::Int(_) => "int",
            Value::Long(_) => "long",
            Value::Bool(_) => "bool",
            Value::Double(_) => "double",
            Value::Float(_) => "float",
            Value::Short(_) => "short",
            Value::Byte(_) => "byte",
            Value::Char(_) => "char",
            Value::Null => "null",
            Value::IntArray(_) => "int_array",
            Value::LongArray(_) => "long_array",
            Value::BoolArray(_) => "bool_array",
            Value::DoubleArray(_) => "double_array",
            Value::StringArray(_) => "string_array",
            Value::StringList(_) => "string_list",
            Value::IntList(_) => "int_list",
            Value::Bytes(_) => "bytes",
            Value::Bundle(_) => "bundle",
            Value::PendingIntent(_) => "pending_intent",
            Value::Fd { .. } => "fd",
            Value::Parcelable { .. } => "parcelable",
        }
    }

    /// Writes `{"<type>":<value>}`.
    pub fn to_json(&self) -> Json {
        let value = match self {
            Value::String(text) => text.to_json(),
            Value::Int(n) => json!(n),
            Value::Long(n) => long_to_json(*n),
            Value::Bool(b) => json!(b),
            Value::Double(n) => float_to_json(*n),
            // Through the shortest decimal form, so that 0.1f32 is written 0.1.
            Value::Float(n) if n.is_finite() => float_to_json(n.to_string().parse().expect("a float's own text")),
            Value::Float(n) => float_to_json(f64::from(*n)),
            Value::Short(n) => json!(n),
            Value::Byte(n) => json!(n),
            Value::Char(unit) => Text::from_units(vec![*unit]).to_json(),
            Value::Null => Json::Null,
            Value::IntArray(a) => json!(a),
            Value::LongArray(a) => a.iter().map(|n| long_to_json(*n)).collect(),
            Value::BoolArray(a) => json!(a),
            Value::DoubleArray(a) => a.iter().map(|n| float_to_json(*n)).collect(),
            Value::StringArray(a) | Value::StringList(a) => {
                a.iter().map(|t| t.as_ref().map_or(Json::Null, Text::to_json)).collect()
            }
            Value::IntList(a) => json!(a),
            Value::Bytes(bytes) => Json::String(STANDARD.encode(bytes)),
            Value::Bundle(bundle) => bundle.to_json(),
            Value::PendingIntent(p) => {
                let mut o = Map::new();
                o.insert("id".into(), json!(p.id));
                let facts = [
                    ("creator_package", p.creator_package.as_ref().map(|v| json!(v))),
                    ("creator_uid", p.creator_uid.map(|v| json!(v))),
                    ("immutable", p.immutable.map(|v| json!(v))),
                    ("explicit", p.explicit.map(|v| json!(v))),
                    ("component", p.component.as_ref().map(|v| json!(v))),
                ];
                o.extend(facts.into_iter().filter_map(|(name, fact)| Some((name.to_owned(), fact?))));
                Json::Object(o)
            }
            Value::Fd { id, access: Some(access) } => json!({ "id": id, "access": access.name() }),
            Value::Fd { id, access: None } => json!({ "id": id }),
            Value::Parcelable { class } => json!({ "class": class }),
        };
        let mut o = Map::new();
        o.insert(self.type_name().to_owned(), value);
        Json::Object(o)
    }

    /// Reads `{"<type>":<value>}`.
    ///
    /// # Errors
    /// An unknown type, more or less than one member, or a value outside the type's range.
    pub fn from_json(json: &Json) -> Result<Value, BundleError> {
        let (name, value) = match json {
            Json::Object(o) if o.len() == 1 => o.iter().next().expect("one member"),
            _ => return Err(BundleError::at("", "a value has exactly one member, which names its Android type")),
        };
        let here = |message: String| BundleError::at(format!("/{}", crate::json::pointer_token(name)), message);
        let read = match name.as_str() {
            "string" => Text::from_json(value).map(Value::String),
            "int" => whole(value).map(Value::Int),
            "long" => long_from_json(value).map(Value::Long),
            "bool" => value.as_bool().map(Value::Bool).ok_or_else(|| "true or false was expected".into()),
            "double" => float_from_json(value).map(Value::Double),
            #[allow(clippy::cast_possible_truncation, reason = "a Float is what its decimal text rounds to")]
            "float" => float_from_json(value).map(|n| Value::Float(n as f32)),
            "short" => whole(value).map(Value::Short),
            "byte" => whole(value).map(Value::Byte),
            "char" => Text::from_json(value).and_then(|text| {
                let units = match text {
                    Text::Unicode(text) => text.encode_utf16().collect(),
                    Text::Utf16(units) => units,
                };
                if units.len() == 1 { Ok(Value::Char(units[0])) } else { Err("one UTF-16 unit was expected".into()) }
            }),
            "null" => value.as_null().map(|()| Value::Null).ok_or_else(|| "null was expected".into()),
            "int_array" => list(value, whole).map(Value::IntArray),
            "long_array" => list(value, long_from_json).map(Value::LongArray),
            "bool_array" => {
                list(value, |v| v.as_bool().ok_or_else(|| "true or false was expected".into())).map(Value::BoolArray)
            }
            "double_array" => list(value, float_from_json).map(Value::DoubleArray),
            "string_array" => list(value, or_null(Text::from_json)).map(Value::StringArray),
            "string_list" => list(value, or_null(Text::from_json)).map(Value::StringList),
            "int_list" => list(value, or_null(whole)).map(Value::IntList),
            "bytes" => value
                .as_str()
                .and_then(|s| STANDARD.decode(s).ok())
                .map(Value::Bytes)
                .ok_or_else(|| "padded base64 was expected".into()),
            "bundle" => {
                return Bundle::from_json(value)
                    .map(Value::Bundle)
                    .map_err(|e| BundleError::at(format!("/bundle{}", e.pointer), e.message));
            }
            "pending_intent" => pending_intent(value).map(Value::PendingIntent),
            "fd" => fd(value),
            "parcelable" => members(value, &["class"]).and_then(|o| Ok(Value::Parcelable { class: need(o, "class")? })),
            other => {
                return Err(BundleError::at("", format!("{other:?} is no type of the target protocol")));
            }
        };
        read.map_err(here)
    }
}

fn whole<T: TryFrom<i64>>(json: &Json) -> Result<T, String> {
    let n = json.as_i64().ok_or("an integer was expected")?;
    T::try_from(n).map_err(|_| format!("{n} does not fit the type"))
}

fn long_to_json(n: i64) -> Json {
    if n.unsigned_abs() > MAX_EXACT { Json::String(n.to_string()) } else { json!(n) }
}

fn long_from_json(json: &Json) -> Result<i64, String> {
    match json {
        Json::Number(_) => json.as_i64().ok_or_else(|| format!("{json} does not fit a long")),
        Json::String(text) => {
            let n: i64 = text.parse().map_err(|_| format!("{text:?} is no decimal long"))?;
            if n.to_string() == *text { Ok(n) } else { Err(format!("{text:?} is not the plain decimal form")) }
        }
        _ => Err("an integer, or a decimal string, was expected".into()),
    }
}

fn float_to_json(n: f64) -> Json {
    match Number::from_f64(n) {
        Some(number) => Json::Number(number),
        None if n.is_nan() => json!("NaN"),
        None if n > 0.0 => json!("Infinity"),
        None => json!("-Infinity"),
    }
}

fn float_from_json(json: &Json) -> Result<f64, String> {
    match json {
        Json::Number(n) => n.as_f64().ok_or_else(|| "a number was expected".into()),
        Json::String(s) if s == "NaN" => Ok(f64::NAN),
        Json::String(s) if s == "Infinity" => Ok(f64::INFINITY),
        Json::String(s) if s == "-Infinity" => Ok(f64::NEG_INFINITY),
        _ => Err("a number, \"NaN\", \"Infinity\" or \"-Infinity\" was expected".into()),
    }
}

fn list<T>(json: &Json, read: impl Fn(&Json) -> Result<T, String>) -> Result<Vec<T>, String> {
    json.as_array().ok_or("an array was expected")?.iter().map(read).collect()
}

fn or_null<T>(read: impl Fn(&Json) -> Result<T, String>) -> impl Fn(&Json) -> Result<Option<T>, String> {
    move |json| if json.is_null() { Ok(None) } else { read(json).map(Some) }
}

fn members<'a>(json: &'a Json, known: &[&str]) -> Result<&'a Map<String, Json>, String> {
    let o = json.as_object().ok_or("an object was expected")?;
    match o.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("unknown member {key:?}")),
        None => Ok(o),
    }
}

fn need(o: &Map<String, Json>, name: &str) -> Result<String, String> {
    o.get(name).and_then(Json::as_str).map(str::to_owned).ok_or_else(|| format!("{name} is missing or no string"))
}

fn fact<T>(o: &Map<String, Json>, name: &str, read: impl Fn(&Json) -> Option<T>) -> Result<Option<T>, String> {
    match o.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => read(value).map(Some).ok_or_else(|| format!("{name} has the wrong type")),
    }
}

fn pending_intent(json: &Json) -> Result<PendingIntent, String> {
    let known = ["id", "creator_package", "creator_uid", "immutable", "explicit", "component"];
    let o = members(json, &known)?;
    let text = |name| fact(o, name, |v| v.as_str().map(str::to_owned));
    Ok(PendingIntent {
        id: need(o, "id")?,
        creator_package: text("creator_package")?,
        creator_uid: fact(o, "creator_uid", Json::as_i64)?,
        immutable: fact(o, "immutable", Json::as_bool)?,
        explicit: fact(o, "explicit", Json::as_bool)?,
        component: text("component")?,
    })
}

fn fd(json: &Json) -> Result<Value, String> {
    let o = members(json, &["id", "access"])?;
    let access = match o.get("access").and_then(Json::as_str) {
        Some("r") => Some(Access::Read),
        Some("rw") => Some(Access::ReadWrite),
        Some("w") => Some(Access::Write),
        Some(other) => return Err(format!("{other:?} is no access mode")),
        None if o.contains_key("access") => return Err("access has the wrong type".into()),
        None => None,
    };
    Ok(Value::Fd { id: need(o, "id")?, access })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_of_each() -> Bundle {
        let lone = Text::Utf16(vec![0x41, 0xd800]);
        Bundle::new()
            .with("string", Value::string("x"))
            .with("lone", Value::String(lone.clone()))
            .with("int", Value::Int(i32::MIN))
            .with("long", Value::Long(1_760_000_000_000))
            .with("huge", Value::Long(i64::MIN))
            .with("bool", Value::Bool(true))
            .with("double", Value::Double(0.1))
            .with("inf", Value::Double(f64::NEG_INFINITY))
            .with("float", Value::Float(0.1))
            .with("short", Value::Short(-7))
            .with("byte", Value::Byte(-128))
            .with("char", Value::Char(0x6d4b))
            .with("half", Value::Char(0xdc00))
            .with("null", Value::Null)
            .with("ints", Value::IntArray(vec![2, 1]))
            .with("longs", Value::LongArray(vec![0, i64::MAX]))
            .with("bools", Value::BoolArray(vec![true, false]))
            .with("doubles", Value::DoubleArray(vec![1.0, f64::INFINITY]))
            .with("strings", Value::StringArray(vec![Some("a".into()), None, Some(lone)]))
            .with("list", Value::StringList(vec![Some("b".into())]))
            .with("int_list", Value::IntList(vec![Some(1), None]))
            .with("bytes", Value::Bytes(vec![0, 255]))
            .with("bundle", Value::Bundle(Bundle::new().with("inner", Value::Null)))
            .with(
                "pi",
                Value::PendingIntent(PendingIntent {
                    id: "pi-1".into(),
                    creator_package: Some("org.example".into()),
                    creator_uid: Some(10_001),
                    immutable: Some(true),
                    explicit: None,
                    component: None,
                }),
            )
            .with("fd", Value::Fd { id: "fd-1".into(), access: Some(Access::Read) })
            .with("other", Value::Parcelable { class: "android.net.Uri".into() })
    }

    #[test]
    fn every_type_survives_the_journey() {
        let bundle = one_of_each();
        let text = bundle.to_json().to_string();
        let read = Bundle::from_json(&crate::json::parse_text(&text).unwrap()).unwrap();
        assert_eq!(read, bundle);
        assert_eq!(read.to_json().to_string(), text);
    }

    #[test]
    fn nan_survives() {
        let json = Value::Double(f64::NAN).to_json();
        assert_eq!(json, json!({"double":"NaN"}));
        assert!(matches!(Value::from_json(&json), Ok(Value::Double(n)) if n.is_nan()));
    }

    #[test]
    fn the_protocols_examples_read() {
        for text in [
            r#"{"string":"x"}"#,
            r#"{"int":2}"#,
            r#"{"long":1760000000000}"#,
            r#"{"bool":true}"#,
            r#"{"int_array":[2,1]}"#,
            r#"{"null":null}"#,
            r#"{"long":"9007199254740993"}"#,
            r#"{"double":"-Infinity"}"#,
            r#"{"string":{"utf16":"ANg="}}"#,
        ] {
            let json = crate::json::parse_text(text).unwrap();
            assert_eq!(Value::from_json(&json).unwrap().to_json(), json, "{text}");
        }
    }

    #[test]
    fn faults_are_named_with_their_place() {
        for (text, pointer) in [
            (r#"{"a":{"int":2147483648}}"#, "/a/int"),
            (r#"{"a":{"int":1.0}}"#, "/a/int"),
            (r#"{"a":{"integer":1}}"#, "/a"),
            (r#"{"a":{"int":1,"long":1}}"#, "/a"),
            (r#"{"a":1}"#, "/a"),
            (r#"{"a":{"bundle":{"b":{"bytes":"?"}}}}"#, "/a/bundle/b/bytes"),
            (r#"{"a":{"long":"007"}}"#, "/a/long"),
            (r#"{"a":{"char":"xy"}}"#, "/a/char"),
            (r#"{"a":{"fd":{"id":"f","access":"x"}}}"#, "/a/fd"),
            (r#"{"a":{"pending_intent":{}}}"#, "/a/pending_intent"),
            (r#"{"a":{"null":0}}"#, "/a/null"),
            (r#"[]"#, ""),
        ] {
            let error = Bundle::from_json(&crate::json::parse_text(text).unwrap()).unwrap_err();
            assert_eq!(error.pointer, pointer, "{text}: {error}");
        }
    }
}
