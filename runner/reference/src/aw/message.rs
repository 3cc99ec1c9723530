//! Messages both ways, from bytes to checked values. The main functions are [`parse_request`], [`bind_invocation`] and
//! [`check_response`].
//!
//! The order of checks is that of the protocol: size and JSON, then the shape, then what ties the message to another one
//! (the digest of a request; the id, digest and effects of a response). Every refusal names its [`Layer`].

use super::vocabulary::{ADAPTERS, EFFECTS, EVENTS, has_chars, is_code, is_name, is_sha256};
use cetp_vectors::aw;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use std::fmt;

/// The value of `api_version`.
pub const API_VERSION: &str = "aw-provider/v1alpha1";

/// What refused a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// "消息最多 1 MiB".
    Size,
    /// Not UTF-8, or a byte order mark.
    Encoding,
    /// Not one JSON document: "解析拒绝重复键和额外 JSON 文档".
    Syntax,
    /// "32 层嵌套".
    Depth,
    /// "重复键".
    Duplicate,
    /// "超出范围的整数字面量被拒绝"; decimals are finite doubles.
    Number,
    /// Half of a surrogate pair.
    Surrogate,
    /// A JSON document that is no object.
    Object,
    /// "公共信封拒绝未知字段", and every other rule about one message's shape.
    Schema,
    /// `input_digest` is not that of the request.
    Digest,
    /// The response belongs to another request: "身份不匹配".
    Correlation,
    /// The provider answered with an error: a failure, though no broken message.
    ProviderError,
    /// There is no response: the process failed.
    Process,
}

impl Layer {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Size => "size",
            Layer::Encoding => "encoding",
            Layer::Syntax => "syntax",
            Layer::Depth => "depth",
            Layer::Duplicate => "duplicate",
            Layer::Number => "number",
            Layer::Surrogate => "surrogate",
            Layer::Object => "object",
            Layer::Schema => "schema",
            Layer::Digest => "digest",
            Layer::Correlation => "correlation",
            Layer::ProviderError => "provider_error",
            Layer::Process => "process",
        }
    }

    fn of(name: &str) -> Layer {
        const READING: [Layer; 8] = [
            Layer::Size,
            Layer::Encoding,
            Layer::Syntax,
            Layer::Depth,
            Layer::Duplicate,
            Layer::Number,
            Layer::Surrogate,
            Layer::Object,
        ];
        READING.into_iter().find(|layer| layer.name() == name).unwrap_or(Layer::Syntax)
    }
}

/// A refusal. Shown, it repeats nothing of the message: "库的错误显示不回显不可信代码或载荷".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// What refused it.
    pub layer: Layer,
    /// What was looked at, in our own words.
    pub what: &'static str,
    /// The code of a provider error, kept apart from what is shown.
    pub error_code: Option<String>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.layer.name(), self.what)
    }
}

fn refused(layer: Layer, what: &'static str) -> Refused {
    Refused { layer, what, error_code: None }
}

type Result<T> = std::result::Result<T, Refused>;

/// A request that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    value: Json,
}

/// A response that was checked and belongs to its request.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// What the provider declares; this widens nothing that the adapter can do.
    Description(Vec<Json>),
    /// The configuration of the request was accepted.
    Configuration,
    /// Candidate effects; they grant nothing.
    Invocation(Vec<Json>),
}

impl Reply {
    /// Whether a block is among the candidate effects.
    pub fn requests_block(&self) -> bool {
        matches!(self, Reply::Invocation(effects) if effects.iter().any(|effect| effect["type"] == "block"))
    }
}

impl Request {
    /// What a faulty provider takes for a request.
    pub(super) fn unchecked(value: Json) -> Result<Request> {
        Ok(Request { value })
    }

    /// The checked value.
    pub fn as_value(&self) -> &Json {
        &self.value
    }

    /// Its method.
    pub fn method(&self) -> &str {
        self.value["method"].as_str().unwrap_or_default()
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.value["request_id"].as_str().unwrap_or_default()
    }

    /// The effects that an invoke allows.
    pub fn allowed(&self) -> impl Iterator<Item = &str> {
        self.value["allowed_effects"].as_array().into_iter().flatten().filter_map(Json::as_str)
    }

    /// Whether the event brings a text that can be replaced.
    pub fn has_projection(&self) -> bool {
        self.value.pointer("/event/tool/result_projection").is_some()
    }
}

/// Which rules are kept; the tests of a provider bend them.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether `replace_result`, `result_projection` and `text` are known.
    pub text_replacement: bool,
    /// Whether the digest is verified.
    pub digest: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { text_replacement: true, digest: true }
    }
}

/// Reads and checks a request.
///
/// # Errors
/// The first layer that refuses it.
pub fn parse_request(bytes: &[u8], rules: Rules) -> Result<Request> {
    let value = read(bytes)?;
    check_request(&value, rules)?;
    Ok(Request { value })
}

/// Adds `input_digest` to an invoke that is complete but for it, and checks the whole.
///
/// # Errors
/// As [`parse_request`]; what would be longer than a message may be is refused as well.
pub fn bind_invocation(mut unbound: Json, rules: Rules) -> Result<Request> {
    let digest = aw::digest(&unbound);
    if let Json::Object(members) = &mut unbound {
        members.insert("input_digest".into(), json!(digest));
    }
    // What the host itself makes goes through the same checks as what it reads.
    parse_request(unbound.to_string().as_bytes(), rules)
}

/// Reads a message: size, encoding, JSON, depth, duplicates, numbers.
///
/// # Errors
/// The layer that refuses it.
pub fn read(bytes: &[u8]) -> Result<Json> {
    aw::read(bytes).map_err(|layer| refused(Layer::of(layer), "the message cannot be read"))
}

/// The shape of a request, and its digest.
fn check_request(value: &Json, rules: Rules) -> Result<()> {
    let envelope = members(value, "request")?;
    constant(envelope, "api_version", API_VERSION)?;
    name(envelope, "request_id")?;
    match envelope.get("method").and_then(Json::as_str) {
        Some("describe") => only(envelope, &["api_version", "method", "request_id"], &[]),
        Some("validate_config") => {
            only(envelope, &["api_version", "method", "request_id", "config"], &[])?;
            members(&envelope["config"], "config").map(|_| ())
        }
        Some("invoke") => check_invoke(envelope, value, rules),
        _ => Err(schema("method")),
    }
}

const INVOKE: [&str; 10] = [
    "api_version",
    "method",
    "request_id",
    "operation",
    "config",
    "config_revision",
    "budget_ms",
    "allowed_effects",
    "input_digest",
    "event",
];

fn check_invoke(envelope: &Map<String, Json>, value: &Json, rules: Rules) -> Result<()> {
    only(envelope, &INVOKE, &[])?;
    name(envelope, "operation")?;
    members(&envelope["config"], "config")?;
    text(envelope, "config_revision", is_sha256)?;
    // 2^53 - 1, as a JSON integer: 1.0 and 1e3 are integers as well.
    let whole = envelope["budget_ms"].as_f64().is_some_and(|ms| ms.fract() == 0.0 && (1.0..=MOST_MS).contains(&ms));
    if !whole {
        return Err(schema("budget_ms"));
    }
    let allowed = words(envelope, "allowed_effects", &EFFECTS, 1, 5)?;
    text(envelope, "input_digest", |text| text.strip_prefix("sha256:").is_some_and(is_sha256))?;
    let event = check_event(&envelope["event"], rules)?;
    for effect in allowed {
        let admitted = match effect {
            "observe" => true,
            "block" => event == "tool.before",
            "replace_result" => event == "tool.after" && rules.text_replacement,
            _ => false,
        };
        if !admitted {
            return Err(schema("allowed_effects"));
        }
    }
    if rules.digest && envelope["input_digest"] != aw::digest(value) {
        return Err(refused(Layer::Digest, "input_digest is not that of the request"));
    }
    Ok(())
}

/// 2^53 - 1.
const MOST_MS: f64 = 9_007_199_254_740_991.0;

/// The shape of an event; its name.
fn check_event(value: &Json, rules: Rules) -> Result<&str> {
    let event = members(value, "event")?;
    only(event, &["name", "agent", "session_id", "tool", "native"], &[])?;
    let event_name = event["name"].as_str().filter(|name| ["tool.before", "tool.after"].contains(name));
    let event_name = event_name.ok_or_else(|| schema("event.name"))?;
    nullable_id(event, "session_id")?;
    members(&event["native"], "event.native")?;
    let agent = members(&event["agent"], "event.agent")?;
    only(agent, &["adapter", "binding_id", "instance_id"], &[])?;
    text(agent, "adapter", |text| ADAPTERS.contains(&text))?;
    text(agent, "binding_id", |text| has_chars(text, 1, 128))?;
    nullable_id(agent, "instance_id")?;
    let tool = members(&event["tool"], "event.tool")?;
    let optional: &[&str] = if rules.text_replacement { &["result_projection"] } else { &[] };
    only(tool, &["name", "native_name", "call_id", "input", "result"], optional)?;
    text(tool, "name", |text| has_chars(text, 1, 1024))?;
    text(tool, "native_name", |text| has_chars(text, 1, 1024))?;
    nullable_id(tool, "call_id")?;
    // "工具执行前的 result 必须为 null".
    if event_name == "tool.before" && (!tool["result"].is_null() || tool.contains_key("result_projection")) {
        return Err(schema("event.tool.result"));
    }
    if let Some(projection) = tool.get("result_projection") {
        let projection = members(projection, "event.tool.result_projection")?;
        text(projection, "text", |_| true)?;
    }
    Ok(event_name)
}

/// Reads a response and checks that it belongs to its request.
///
/// # Errors
/// The first layer that refuses it; an error of the provider is [`Layer::ProviderError`].
pub fn check_response(request: &Request, bytes: &[u8], rules: Rules) -> Result<Reply> {
    let value = read(bytes)?;
    check_shape(&value, rules)?;
    let correlation = |what| Err(refused(Layer::Correlation, what));
    // The id comes before the status: an error for somebody else is no error of this call.
    if value["request_id"] != request.value["request_id"] {
        return correlation("request_id");
    }
    if value["status"] == "error" {
        let error_code = value["error_code"].as_str().map(str::to_owned);
        return Err(Refused { layer: Layer::ProviderError, what: "the provider reports an error", error_code });
    }
    let (operations, effects) = (value.get("operations"), value.get("effects"));
    match (request.method(), operations, effects) {
        ("describe", Some(operations), None) => {
            Ok(Reply::Description(operations.as_array().cloned().unwrap_or_default()))
        }
        ("validate_config", None, None) => Ok(Reply::Configuration),
        ("invoke", None, Some(effects)) => {
            if value["input_digest"] != request.value["input_digest"] {
                return correlation("input_digest");
            }
            let effects = effects.as_array().cloned().unwrap_or_default();
            check_effects(request, &effects)?;
            Ok(Reply::Invocation(effects))
        }
        _ => correlation("the payload is not that of the method"),
    }
}

/// The effects of a response against what its request allows.
fn check_effects(request: &Request, effects: &[Json]) -> Result<()> {
    let mut replacements = 0;
    for effect in effects {
        let kind = effect["type"].as_str().unwrap_or_default();
        if !request.allowed().any(|allowed| allowed == kind) {
            return Err(refused(Layer::Correlation, "an effect that was not allowed"));
        }
        replacements += usize::from(kind == "replace_result");
    }
    // "响应最多包含一个替换，且要求输入中存在投影".
    if replacements > 1 || (replacements == 1 && !request.has_projection()) {
        return Err(refused(Layer::Correlation, "a replacement without a projection, or more than one"));
    }
    Ok(())
}

/// The shape of a response: one of four.
fn check_shape(value: &Json, rules: Rules) -> Result<()> {
    let response = members(value, "response")?;
    constant(response, "api_version", API_VERSION)?;
    name(response, "request_id")?;
    match response.get("status").and_then(Json::as_str) {
        Some("error") => {
            only(response, &["api_version", "request_id", "status", "error_code"], &[])?;
            text(response, "error_code", is_code)
        }
        Some("ok") if response.contains_key("operations") => {
            only(response, &["api_version", "request_id", "status", "operations"], &[])?;
            check_operations(&response["operations"])
        }
        Some("ok") if response.contains_key("effects") || response.contains_key("input_digest") => {
            only(response, &["api_version", "request_id", "status", "input_digest", "effects"], &[])?;
            text(response, "input_digest", |text| text.strip_prefix("sha256:").is_some_and(is_sha256))?;
            let effects = response["effects"].as_array().filter(|list| list.len() <= 64);
            let effects = effects.ok_or_else(|| schema("effects"))?;
            effects.iter().try_for_each(|effect| check_effect(effect, rules))
        }
        Some("ok") => only(response, &["api_version", "request_id", "status"], &[]),
        _ => Err(schema("status")),
    }
}

/// "描述最多声明 64 个操作及其支持的事件和效果，操作名不得为空或重复".
fn check_operations(value: &Json) -> Result<()> {
    let list = value.as_array().filter(|list| (1..=64).contains(&list.len())).ok_or_else(|| schema("operations"))?;
    let mut names = BTreeSet::new();
    for operation in list {
        let operation = members(operation, "operation")?;
        only(operation, &["name", "events", "effects"], &[])?;
        name(operation, "name")?;
        words(operation, "events", &EVENTS, 1, 16)?;
        words(operation, "effects", &EFFECTS, 1, 5)?;
        if !names.insert(operation["name"].as_str()) {
            return Err(schema("operation.name"));
        }
    }
    Ok(())
}

fn check_effect(value: &Json, rules: Rules) -> Result<()> {
    let effect = members(value, "effect")?;
    let optional: &[&str] = if rules.text_replacement { &["reason_code", "text"] } else { &["reason_code"] };
    only(effect, &["type"], optional)?;
    text(effect, "type", |text| EFFECTS.contains(&text))?;
    if effect.contains_key("reason_code") {
        text(effect, "reason_code", is_code)?;
    }
    if !rules.text_replacement {
        return Ok(());
    }
    // "replace_result 效果要求字符串 text；block 可携带非空、有界的 text 原因，其他效果拒绝该字段".
    match (effect["type"].as_str(), effect.get("text")) {
        (Some("replace_result"), Some(Json::String(_))) => Ok(()),
        (Some("block"), Some(Json::String(text))) if !text.is_empty() => Ok(()),
        (Some("replace_result"), _) | (_, Some(_)) => Err(schema("effect.text")),
        (_, None) => Ok(()),
    }
}

fn schema(what: &'static str) -> Refused {
    refused(Layer::Schema, what)
}

fn members<'j>(value: &'j Json, what: &'static str) -> Result<&'j Map<String, Json>> {
    value.as_object().ok_or_else(|| schema(what))
}

/// Every required member is there, and no other but the optional ones.
fn only(members: &Map<String, Json>, required: &[&str], optional: &[&str]) -> Result<()> {
    let all_there = required.iter().all(|name| members.contains_key(*name));
    let none_other = members.keys().all(|name| required.contains(&name.as_str()) || optional.contains(&name.as_str()));
    if all_there && none_other { Ok(()) } else { Err(schema("a member is missing or unknown")) }
}

fn constant(members: &Map<String, Json>, name: &'static str, value: &str) -> Result<()> {
    text(members, name, |text| text == value)
}

fn name(members: &Map<String, Json>, member: &'static str) -> Result<()> {
    text(members, member, is_name)
}

fn text(members: &Map<String, Json>, name: &'static str, fits: impl Fn(&str) -> bool) -> Result<()> {
    match members.get(name).and_then(Json::as_str) {
        Some(text) if fits(text) => Ok(()),
        _ => Err(schema(name)),
    }
}

/// "缺失的标识为 null": null, or 1 to 512 characters.
fn nullable_id(members: &Map<String, Json>, name: &'static str) -> Result<()> {
    match members.get(name) {
        Some(Json::Null) => Ok(()),
        Some(Json::String(text)) if has_chars(text, 1, 512) => Ok(()),
        _ => Err(schema(name)),
    }
}

fn words<'j>(
    members: &'j Map<String, Json>,
    name: &'static str,
    known: &[&str],
    least: usize,
    most: usize,
) -> Result<Vec<&'j str>> {
    let list = members.get(name).and_then(Json::as_array).ok_or_else(|| schema(name))?;
    let words: Option<Vec<&str>> = list.iter().map(|word| word.as_str().filter(|word| known.contains(word))).collect();
    let words = words.ok_or_else(|| schema(name))?;
    let unique: BTreeSet<&str> = words.iter().copied().collect();
    let fits = (least..=most).contains(&words.len()) && unique.len() == words.len();
    if fits { Ok(words) } else { Err(schema(name)) }
}
