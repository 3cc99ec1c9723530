//! Messages of `aw-provider/v1alpha1`: reading them by the rules of the protocol, making and binding requests. The main
//! functions are [`read`], [`digest`], [`request`], and [`exchange_view`] and [`host_view`], which say what placeholders see
//! of an answer.
//!
//! Everything here is pure; whoever starts processes hands in what they wrote.

use crate::expr::{json_text, sha256_hex};
use crate::json::{Fault, JsonError, Limits, parse};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value as Json, json};
use std::sync::LazyLock;

/// The value of `api_version`.
pub const VERSION: &str = "aw-provider/v1alpha1";

/// The suite that this module serves.
pub const SUITE: &str = "aw-provider-v1alpha1";

/// Bytes of a message at most, whitespace counted.
pub const MESSAGE_BYTES: usize = Limits::AW_MESSAGE.max_bytes;

/// The layers below the schema that can refuse a message, each with its name in vectors and tables.
pub const LAYERS: &[(&str, &str)] = &[
    ("size", "longer than 1,048,576 bytes"),
    ("encoding", "not UTF-8, or it begins with a byte order mark"),
    ("syntax", "not one JSON document"),
    ("depth", "a value at level 33 or deeper"),
    ("duplicate", "a member occurs twice in one object"),
    ("number", "an integer outside i64 and u64, or no finite double"),
    ("surrogate", "an escape names half of a surrogate pair"),
    ("object", "a JSON document that is no object"),
];

/// Reads one message: a JSON object within the limits of the protocol.
///
/// # Errors
/// The name of the layer that refuses it ([`LAYERS`]).
pub fn read(bytes: &[u8]) -> Result<Json, &'static str> {
    match parse(bytes, Limits::AW_MESSAGE) {
        Ok(message @ Json::Object(_)) => Ok(message),
        Ok(_) => Err("object"),
        Err(error) => Err(layer(&error)),
    }
}

fn layer(error: &JsonError) -> &'static str {
    match error.fault {
        // A message of the allowed size cannot hold too many values.
        Fault::TooLong | Fault::TooMany => "size",
        Fault::Encoding => "encoding",
        Fault::Syntax(_) => "syntax",
        Fault::TooDeep => "depth",
        Fault::DuplicateMember(_) => "duplicate",
        Fault::Number(_) => "number",
        Fault::LoneSurrogate => "surrogate",
    }
}

/// The `input_digest` of a request: SHA-256 over its compact JSON without that member, members sorted by UTF-8 bytes.
pub fn digest(request: &Json) -> String {
    let text = match request {
        Json::Object(members) if members.contains_key("input_digest") => {
            let mut members = members.clone();
            members.remove("input_digest");
            json_text(&Json::Object(members))
        }
        other => json_text(other),
    };
    format!("sha256:{}", sha256_hex(text.as_bytes()))
}

/// Merges objects at every level: of two values that are not both objects the later one stays.
pub fn merge(into: &mut Json, from: &Json) {
    match (into, from) {
        (Json::Object(into), Json::Object(from)) => {
            for (name, value) in from {
                match into.get_mut(name) {
                    Some(known) => merge(known, value),
                    None => drop(into.insert(name.clone(), value.clone())),
                }
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// Takes the member at a dotted path away.
pub fn remove(from: &mut Json, path: &str) {
    let (parent, name) = match path.rsplit_once('.') {
        Some((parent, name)) => (Some(parent), name),
        None => (None, path),
    };
    let parent = match parent {
        None => Some(from),
        Some(parent) => {
            let pointer: String =
                parent.split('.').map(|name| format!("/{}", crate::json::pointer_token(name))).collect();
            from.pointer_mut(&pointer)
        }
    };
    if let Some(Json::Object(members)) = parent {
        members.remove(name);
    }
}

/// Makes a request from the argument of `$request`, which is computed already; `id` is its `request_id` where nothing else
/// is said.
///
/// # Errors
/// What is wrong with the argument, in a sentence.
pub fn request(argument: &Json, id: &str) -> Result<Json, String> {
    let mut out = json!({ "api_version": VERSION, "request_id": id });
    if let Some(method) = argument.get("method") {
        out["method"] = method.clone();
    }
    for part in ["from", "set"] {
        match argument.get(part) {
            None => {}
            Some(value @ Json::Object(_)) => merge(&mut out, value),
            Some(_) => return Err(format!("{part} is no object")),
        }
    }
    for path in argument.get("without").and_then(Json::as_array).into_iter().flatten() {
        remove(&mut out, path.as_str().ok_or("a path is no text")?);
    }
    let given = argument.pointer("/set/input_digest").is_some();
    let without = argument.get("without").and_then(Json::as_array);
    let left_out = without.is_some_and(|paths| paths.iter().any(|path| path == "input_digest"));
    if out["method"] == "invoke" && !given && !left_out {
        out["input_digest"] = json!(digest(&out));
    }
    Ok(out)
}

/// Bytes as JSON: a text where they are UTF-8, else `{"base64"}`.
pub fn bytes_to_json(bytes: &[u8]) -> Json {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({ "base64": STANDARD.encode(bytes) }),
    }
}

/// The bytes that a value of a vector stands for: a text exactly, `{"base64"}` decoded, `{"bytes"}` its parts one after the
/// other, any other value as compact JSON.
///
/// # Errors
/// What is no base64.
pub fn json_to_bytes(json: &Json) -> Result<Vec<u8>, String> {
    match json {
        Json::String(text) => Ok(text.clone().into_bytes()),
        Json::Object(members) if members.len() == 1 && members.contains_key("base64") => {
            let text = members["base64"].as_str().ok_or("base64 is no text")?;
            STANDARD.decode(text).map_err(|error| format!("no base64: {error}"))
        }
        Json::Object(members) if members.len() == 1 && members.contains_key("bytes") => {
            let parts = members["bytes"].as_array().ok_or("bytes is no list of parts")?;
            Ok(parts.iter().map(json_to_bytes).collect::<Result<Vec<_>, _>>()?.concat())
        }
        other => Ok(json_text(other).into_bytes()),
    }
}

/// What placeholders see of what was written to a provider: `text`, and `message` or the `fault` that a checker would name.
pub fn request_view(stdin: &Json, valid: bool) -> Json {
    let bytes = json_to_bytes(stdin).unwrap_or_default();
    let mut view = json!({ "valid": valid, "bytes": bytes.len() });
    match read(&bytes) {
        Ok(message) => view["message"] = message,
        Err(fault) => view["fault"] = json!(fault),
    }
    view
}

/// What placeholders see of an exchange with a provider: the result of `aw.spawn`, and of its stdout `message`, or the
/// `fault` by which it is no message. Where a message lies between other text, `found` says so: `message`, `before`, `after`,
/// and `second` where what follows is another document.
pub fn exchange_view(result: &Json) -> Json {
    let mut view = result.clone();
    let stdout = &result["stdout"];
    let bytes = output_bytes(stdout);
    let size = stdout["bytes"].as_u64().unwrap_or(0);
    if size > MESSAGE_BYTES as u64 {
        view["fault"] = json!("size");
        return view;
    }
    if size == 0 {
        return view;
    }
    match read(&bytes) {
        Ok(message) => view["message"] = message,
        Err(fault) => {
            view["fault"] = json!(fault);
            if fault == "syntax"
                && let Some(found) = find(&String::from_utf8_lossy(&bytes))
            {
                view["found"] = found;
            }
            // What an ordinary reader makes of it, to tell what it was meant to be.
            if let Ok(loose) = serde_json::from_slice::<Json>(&bytes) {
                view["loose"] = loose;
            }
        }
    }
    view
}

fn output_bytes(output: &Json) -> Vec<u8> {
    output.get("content").and_then(|content| json_to_bytes(content).ok()).unwrap_or_default()
}

/// A message in the middle of other text.
fn find(text: &str) -> Option<Json> {
    /// More places than any honest mistake has.
    const MOST: usize = 64;
    for (start, _) in text.match_indices('{').take(MOST) {
        let rest = &text[start..];
        let end = match parse(rest.as_bytes(), Limits::AW_MESSAGE) {
            Ok(_) => rest.len(),
            Err(JsonError { fault: Fault::Syntax("something follows the document"), offset, .. }) => offset,
            Err(_) => continue,
        };
        let Ok(message) = read(&rest.as_bytes()[..end]) else { continue };
        let after = rest[end..].trim();
        let mut found = json!({ "message": message, "before": text[..start].trim(), "after": after });
        if parse(after.as_bytes(), Limits::AW_MESSAGE).is_ok() {
            found["second"] = json!(true);
        }
        return Some(found);
    }
    None
}

/// What placeholders see of the result of `aw.host`: each record of a scripted provider with the request that it was given
/// (`request`, or `fault`), whether that is `bound` to its content, its `config_text` as compact JSON, and the records by
/// method: `describes`, `validations`, `invokes`, `others`.
pub fn host_view(result: &Json) -> Json {
    let mut view = result.clone();
    let mut groups: [(&str, Vec<Json>); 4] =
        [("describes", Vec::new()), ("validations", Vec::new()), ("invokes", Vec::new()), ("others", Vec::new())];
    for record in view["records"].as_array_mut().into_iter().flatten() {
        let group = match record.get("stdin").map(output_bytes) {
            None => 3,
            Some(bytes) => match read(&bytes) {
                Ok(request) => {
                    let group = match request["method"].as_str() {
                        Some("describe") => 0,
                        Some("validate_config") => 1,
                        Some("invoke") => 2,
                        _ => 3,
                    };
                    if group == 2 {
                        record["bound"] = json!(request["input_digest"].as_str() == Some(&digest(&request)));
                    }
                    if let Some(config) = request.get("config") {
                        record["config_text"] = json!(json_text(config));
                    }
                    record["request"] = request;
                    group
                }
                Err(fault) => {
                    record["fault"] = json!(fault);
                    3
                }
            },
        };
        groups[group].1.push(record.clone());
    }
    for (name, list) in groups {
        view[name] = Json::Array(list);
    }
    view
}

/// JSON Schemas that vectors can name: `${schemas.aw_request}` and `${schemas.aw_response}`.
pub fn schemas() -> &'static Json {
    static SCHEMAS: LazyLock<Json> = LazyLock::new(|| {
        let read = |text: &str| crate::json::parse_text(text).expect("the schemas are JSON");
        json!({
            "aw_request": read(include_str!("../schemas/aw-request.schema.json")),
            "aw_response": read(include_str!("../schemas/aw-response.schema.json")),
        })
    });
    &SCHEMAS
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLES: &str = include_str!("../aw-provider-v1alpha1/tables/digests.json");

    #[test]
    fn every_digest_example_agrees() {
        let table = crate::json::parse_text(EXAMPLES).unwrap();
        let cases = table["cases"].as_array().unwrap();
        assert!(cases.len() >= 4);
        for case in cases {
            let unbound = crate::json::parse(case["unbound_text"].as_str().unwrap().as_bytes(), Limits::AW_MESSAGE);
            let digest = digest(&unbound.unwrap());
            assert!(case["input_digest"].as_array().unwrap().iter().any(|d| *d == json!(digest)), "{case}: {digest}");
            if let Some(bound) = case.get("bound_text").and_then(Json::as_str) {
                let bound = read(bound.as_bytes()).unwrap();
                assert_eq!(self::digest(&bound), digest);
                assert_eq!(json_text(&bound), case["bound_text"].as_str().unwrap());
            }
        }
    }

    #[test]
    fn requests_are_made_and_bound() {
        let made = request(
            &json!({"method": "invoke", "from": {"event": {"a": {"b": 1, "c": 2}}}, "set": {"event": {"a": {"b": null}}}, "without": ["event.a.c"]}),
            "r",
        )
        .unwrap();
        assert_eq!(made["event"], json!({"a": {"b": null}}));
        assert_eq!(made["input_digest"], json!(digest(&made)));
        let tampered = request(&json!({"method": "invoke", "set": {"input_digest": "x"}}), "r").unwrap();
        assert_eq!(tampered["input_digest"], "x");
        let bare = request(&json!({"method": "invoke", "without": ["input_digest"]}), "r").unwrap();
        assert_eq!(bare.get("input_digest"), None);
    }

    #[test]
    fn what_surrounds_a_message_is_told() {
        let view = |text: &str| exchange_view(&json!({"stdout": {"bytes": text.len(), "content": text}}));
        assert_eq!(view(" {\"a\":1}\n")["message"], json!({"a": 1}));
        assert_eq!(view("log {x}\n{\"a\":1}")["found"]["before"], "log {x}");
        assert_eq!(view("{\"a\":1}\n{\"b\":2}")["found"]["second"], true);
        assert_eq!(view("{\"a\":1} bye")["found"]["after"], "bye");
        assert_eq!(view("[1]")["fault"], "object");
        assert_eq!(view("").get("fault"), None);
        assert_eq!(view("{\"a\":1,\"a\":2}")["loose"], json!({"a": 2}));
    }
}
