//! A policy provider: blocks tools by their native name before they run, and redacts words of results afterwards. The main
//! function is [`serve`].
//!
//! Its private configuration is `{"blocked_tools": [NAME, …]}`, with optional `redact` (words that are struck out of results)
//! and `rules_file` (a file with more names, one a line). It is the example of the text and a little more: it tells a policy
//! that blocks from a policy that cannot be applied, which is an error and never a block.

use super::message::{API_VERSION, Layer, Refused, Request, Rules, parse_request};
use super::switches::{Fault, Leeway, Switches};
use cetp_vectors::aw;
use serde_json::{Map, Value as Json, json};

/// What a process leaves behind: its outputs and its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Exactly one JSON object, and blanks.
    pub stdout: Vec<u8>,
    /// Diagnostics.
    pub stderr: String,
    /// 0 for every structured reply: "策略阻断是成功结果，进程退出码必须为零".
    pub exit: i32,
    /// The process goes on after its reply.
    pub lives_on: bool,
    /// A process that it leaves behind holds its standard output.
    pub held: bool,
    /// It takes longer than any budget, and has not replied.
    pub hangs: bool,
    /// So many bytes of its input it did not read.
    pub unread: usize,
    /// Files that it wrote.
    pub wrote: Vec<String>,
}

/// How the provider is built.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// From before the level `text_replacement`.
    pub core_only: bool,
    /// How it is broken or bent.
    pub switches: Switches,
}

/// One process: reads a request to the end of its input, answers it, and ends.
pub fn serve(stdin: &[u8], options: Options) -> Served {
    let switches = options.switches;
    let mut served = Served {
        stdout: Vec::new(),
        stderr: String::new(),
        exit: 0,
        lives_on: false,
        held: false,
        hangs: false,
        unread: 0,
        wrote: Vec::new(),
    };
    let read = reading(stdin, switches);
    served.unread = stdin.len() - read.len();
    let rules = Rules { text_replacement: !options.core_only, digest: !switches.leeway(Leeway::DigestUnverified) };
    let request = match lenient(read, rules, switches) {
        Ok(request) => request,
        Err(refused) => {
            served.stderr = format!("policy: {refused}\n");
            if switches.leeway(Leeway::SilentOnGarbage) {
                served.exit = 2;
                return served;
            }
            // Whose request it was cannot be told from what is none.
            let id = read_id(read).unwrap_or_else(|| "unknown".to_owned());
            let code = if refused.layer == Layer::Digest { "digest_mismatch" } else { "invalid_request" };
            finish(&mut served, error(&id, code), None, switches);
            return served;
        }
    };
    if switches.broken(Fault::CrashesOnScalars)
        && request.as_value().pointer("/event/tool/input").is_some_and(|input| !input.is_object())
    {
        served.exit = 101;
        return served;
    }
    let reply = match answer(&request, options) {
        Ok(reply) => reply,
        Err(code) => {
            served.stderr = format!("policy: {code}\n");
            if switches.leeway(Leeway::ErrorsByExit) {
                served.exit = 1;
                return served;
            }
            error(request.id(), &code)
        }
    };
    if switches.broken(Fault::HangsOnInvoke) && request.method() == "invoke" {
        served.hangs = true;
        return served;
    }
    if switches.broken(Fault::DescribeWrites) && request.method() == "describe" {
        served.wrote.push("described.json".into());
    }
    finish(&mut served, reply, Some(&request), switches);
    served
}

/// The id of what is no request, where it has one that can be sent back.
fn read_id(bytes: &[u8]) -> Option<String> {
    let value = aw::read(bytes).ok()?;
    value["request_id"].as_str().filter(|id| super::vocabulary::is_name(id)).map(str::to_owned)
}

fn error(id: &str, code: &str) -> Json {
    json!({ "api_version": API_VERSION, "request_id": id, "status": "error", "error_code": code })
}

/// The reply to a request, or the code of an error.
fn answer(request: &Request, options: Options) -> Result<Json, String> {
    let mut reply = json!({ "api_version": API_VERSION, "request_id": request.id(), "status": "ok" });
    match request.method() {
        "describe" => reply["operations"] = operations(options),
        "validate_config" => {
            Policy::new(&request.as_value()["config"], options)?;
            if options.switches.broken(Fault::ConfigEchoed) {
                reply["config"] = request.as_value()["config"].clone();
            }
        }
        _ => {
            reply["effects"] = Json::Array(invoke(request, options)?);
            // "Provider 在响应中原样返回，无需重新实现序列化".
            reply["input_digest"] = request.as_value()["input_digest"].clone();
        }
    }
    Ok(reply)
}

fn operations(options: Options) -> Json {
    let mut operations = vec![
        json!({ "name": "check", "events": ["tool.before"], "effects": ["observe", "block"] }),
        json!({ "name": "record", "events": ["tool.after"], "effects": ["observe"] }),
    ];
    if !options.core_only {
        operations
            .push(json!({ "name": "redact", "events": ["tool.after"], "effects": ["observe", "replace_result"] }));
    }
    let switches = options.switches;
    if switches.broken(Fault::NoOperations) {
        operations.clear();
    }
    if switches.broken(Fault::ManyOperations) {
        operations.extend(
            (0..65).map(|n| json!({ "name": format!("more-{n}"), "events": ["tool.before"], "effects": ["observe"] })),
        );
    }
    if switches.broken(Fault::OperationTwice) {
        operations.push(operations[0].clone());
    }
    let Some(first) = operations.first_mut() else { return Json::Array(operations) };
    for (fault, member, value) in [
        (Fault::OperationNameBlank, "name", json!("check tools")),
        (Fault::UnknownEvent, "events", json!(["tool.around"])),
        (Fault::EventTwice, "events", json!(["tool.before", "tool.before"])),
        (Fault::UnknownEffect, "effects", json!(["deny"])),
        (Fault::NoEffects, "effects", json!([])),
        (Fault::OperationDescribed, "description", json!("Blocks tools")),
    ] {
        if switches.broken(fault) {
            first[member] = value;
        }
    }
    Json::Array(operations)
}

/// A private configuration that was checked.
struct Policy {
    blocked: Vec<String>,
    redact: Vec<String>,
    rules_file: Option<String>,
}

impl Policy {
    /// "Provider 定义其 Schema，必须拒绝不支持或非法的设置".
    fn new(config: &Json, options: Options) -> Result<Policy, String> {
        let switches = options.switches;
        let texts = |value: &Json| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let mut policy = Policy { blocked: Vec::new(), redact: Vec::new(), rules_file: None };
        let empty = Map::new();
        let members = config.as_object().unwrap_or(&empty);
        let mut wrong = members.get("blocked_tools").is_none();
        for (name, value) in members {
            match (name.as_str(), value) {
                ("blocked_tools", value) => policy.blocked = texts(value).unwrap_or_else(|| bad(&mut wrong)),
                ("redact", value) if !options.core_only => {
                    policy.redact = texts(value).unwrap_or_else(|| bad(&mut wrong));
                }
                ("rules_file", Json::String(path)) => policy.rules_file = Some(path.clone()),
                _ => wrong = true,
            }
        }
        if wrong && !switches.broken(Fault::AnyConfigAccepted) {
            // The code says what is wrong, not what was set.
            if switches.broken(Fault::ConfigInErrorCode) {
                let said: String =
                    config.to_string().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
                return Err(format!("invalid_config.{}", &said[..said.len().min(100)]));
            }
            return Err("invalid_config".into());
        }
        Ok(policy)
    }
}

fn bad(wrong: &mut bool) -> Vec<String> {
    *wrong = true;
    Vec::new()
}

/// The effects of a call.
fn invoke(request: &Request, options: Options) -> Result<Vec<Json>, String> {
    let switches = options.switches;
    let value = request.as_value();
    let (event, tool) = (&value["event"], &value["event"]["tool"]);
    let operation = value["operation"].as_str().unwrap_or_default();
    let on = match operation {
        "check" => "tool.before",
        "record" => "tool.after",
        "redact" if !options.core_only => "tool.after",
        _ if switches.broken(Fault::UnknownOperationNeutral) => return Ok(Vec::new()),
        _ => return Err("unknown_operation".into()),
    };
    if event["name"] != on {
        return if switches.broken(Fault::UnknownOperationNeutral) {
            Ok(Vec::new())
        } else {
            Err("unsupported_event".into())
        };
    }
    for (fault, refused) in [
        (Fault::IdsInUtf16, event["session_id"].as_str().is_some_and(|id| id.encode_utf16().count() > 512)),
        (Fault::NullIdsRefused, event["session_id"].is_null()),
        (Fault::AsciiOnly, !value.to_string().is_ascii()),
        (Fault::NarrowIntegers, has_wide_integer(event)),
        (Fault::NativeBreaks, event["native"].get("effects").is_some()),
    ] {
        if switches.broken(fault) && refused {
            return Err("unsupported_event".into());
        }
    }
    let mut policy = match Policy::new(&value["config"], options) {
        Ok(policy) => policy,
        Err(_) if switches.broken(Fault::BadConfigNeutral) => return Ok(Vec::new()),
        Err(code) => return Err(code),
    };
    let allowed = |effect: &str| request.allowed().any(|allowed| allowed == effect);
    if let Some(path) = &policy.rules_file {
        match std::fs::read_to_string(path) {
            Ok(text) => policy.blocked.extend(text.lines().map(str::to_owned)),
            Err(_) if switches.broken(Fault::FailureBlocks) && allowed("block") => return Ok(vec![block(switches)]),
            Err(_) if switches.broken(Fault::FailureIsNeutral) => return Ok(Vec::new()),
            // A policy that cannot be applied has decided nothing: "区分扫描失败与成功的策略阻断".
            Err(_) => return Err("rules_unavailable".into()),
        }
    }
    if switches.broken(Fault::NativeDecides)
        && let Some(effects) = event["native"]["effects"].as_array()
    {
        return Ok(effects.clone());
    }
    let approved = switches.broken(Fault::NativeApproves) && event["native"]["approved"] == true;
    let mut effects = Vec::new();
    if switches.leeway(Leeway::ObservesAlways) && allowed("observe") {
        effects.push(json!({ "type": "observe" }));
    }
    match operation {
        "check" => {
            let named = policy.blocked.iter().any(|name| tool["native_name"] == **name);
            let shell = switches.broken(Fault::InfersShell) && tool["input"].get("command").is_some();
            if (named || shell) && !approved {
                if allowed("block") || switches.broken(Fault::BlockUnasked) {
                    effects.push(block(switches));
                } else if !switches.broken(Fault::NeutralInsteadOfBlock) {
                    return Err("block_not_allowed".into());
                }
            }
        }
        "redact" => effects.extend(redaction(request, &policy, switches)),
        _ => {}
    }
    if switches.broken(Fault::ObserveWithText) && allowed("observe") {
        effects.push(json!({ "type": "observe", "text": "seen" }));
    }
    if switches.broken(Fault::ManyEffects) && allowed("observe") {
        effects.extend((0..65).map(|_| json!({ "type": "observe" })));
    }
    if switches.broken(Fault::AskUnasked) {
        effects.push(json!({ "type": "ask" }));
    }
    Ok(effects)
}

fn has_wide_integer(value: &Json) -> bool {
    match value {
        Json::Number(number) => number.as_u64().is_some_and(|n| n > i64::MAX as u64),
        Json::Array(items) => items.iter().any(has_wide_integer),
        Json::Object(members) => members.values().any(has_wide_integer),
        _ => false,
    }
}

fn block(switches: Switches) -> Json {
    let mut effect = json!({ "type": "block", "reason_code": "blocked_tool" });
    if switches.leeway(Leeway::ReasonOmitted) {
        effect = json!({ "type": "block" });
    }
    for (on, member, value) in [
        (switches.broken(Fault::EffectWithMessage), "message", json!("not here")),
        (switches.broken(Fault::ReasonIsSentence), "reason_code", json!("this tool is blocked")),
        (switches.broken(Fault::BlockWithEmptyText), "text", json!("")),
        (switches.leeway(Leeway::BlockWithText), "text", json!("This tool is blocked here.")),
    ] {
        if on {
            effect[member] = value;
        }
    }
    effect
}

/// The result with its words struck out, where there is a projection of it and something to strike: "缺少投影时只允许不替换的结果".
fn redaction(request: &Request, policy: &Policy, switches: Switches) -> Vec<Json> {
    let allowed = request.allowed().any(|effect| effect == "replace_result");
    let text = request.as_value().pointer("/event/tool/result_projection/text").and_then(Json::as_str);
    let text = match text {
        None if switches.broken(Fault::ReplacesBlindly) && allowed => "nothing is known",
        None => return Vec::new(),
        Some(text) => text,
    };
    let struck = policy.redact.iter().fold(text.to_owned(), |text, word| text.replace(word.as_str(), "[redacted]"));
    if !allowed || (struck == text && request.has_projection()) {
        return Vec::new();
    }
    let mut effect = json!({ "type": "replace_result", "reason_code": "redacted", "text": struck });
    if switches.leeway(Leeway::ReasonOmitted) {
        effect = json!({ "type": "replace_result", "text": struck });
    }
    if switches.broken(Fault::ReplaceWithoutText) {
        effect = json!({ "type": "replace_result" });
    }
    if switches.broken(Fault::TextIsObject) {
        effect["text"] = json!({ "text": struck });
    }
    if switches.broken(Fault::ReplacesTwice) { vec![effect.clone(), effect] } else { vec![effect] }
}

// Below: how the provider is broken on purpose. An honest one needs none of it.

/// As much of the input as it reads.
fn reading(stdin: &[u8], switches: Switches) -> &[u8] {
    if switches.broken(Fault::ReadsOneLine)
        && let Some(end) = stdin.iter().position(|byte| *byte == b'\n')
    {
        return &stdin[..end];
    }
    if switches.broken(Fault::ReadsOnce) {
        return &stdin[..stdin.len().min(4096)];
    }
    stdin
}

/// Checks the request, or lets pass what its faults let pass.
fn lenient(bytes: &[u8], rules: Rules, switches: Switches) -> Result<Request, Refused> {
    let refused = |what| Refused { layer: Layer::Schema, what, error_code: None };
    if switches.broken(Fault::NeedsNewline) && bytes.last() != Some(&b'\n') {
        return Err(refused("there is no line end"));
    }
    if switches.broken(Fault::SmallLimit) && bytes.len() > 64 << 10 {
        return Err(refused("longer than 64 KiB"));
    }
    if switches.broken(Fault::EmptyIsDescribe) && bytes.trim_ascii().is_empty() {
        return parse_request(
            br#"{"api_version":"aw-provider/v1alpha1","method":"describe","request_id":"none"}"#,
            rules,
        );
    }
    let mut value: Option<Json> = None;
    let refused_by = aw::read(bytes).err();
    let text = String::from_utf8_lossy(bytes);
    match refused_by {
        Some("duplicate") if switches.broken(Fault::DuplicatesAccepted) => value = serde_json::from_slice(bytes).ok(),
        Some("syntax") if switches.broken(Fault::SecondDocumentIgnored) => {
            value = serde_json::Deserializer::from_slice(bytes).into_iter::<Json>().next().and_then(Result::ok);
        }
        Some("syntax") if switches.broken(Fault::ControlsAccepted) => {
            value = aw::read(controls_escaped(&text).as_bytes()).ok();
        }
        Some("encoding") if switches.broken(Fault::BadUtf8Replaced) => value = aw::read(text.as_bytes()).ok(),
        Some("size") if switches.broken(Fault::SizeInCharacters) && text.chars().count() <= aw::MESSAGE_BYTES => {
            value = serde_json::from_slice(bytes).ok();
        }
        Some("encoding") if switches.broken(Fault::BomAccepted) => {
            value = text.strip_prefix('\u{feff}').and_then(|text| aw::read(text.as_bytes()).ok());
        }
        Some("size") if switches.broken(Fault::SizeUnchecked) => value = serde_json::from_slice(bytes).ok(),
        Some("depth") if switches.broken(Fault::DepthUnchecked) => value = serde_json::from_slice(bytes).ok(),
        Some(_) => {}
        None => value = aw::read(bytes).ok(),
    }
    let Some(mut value) = value else { return parse_request(bytes, rules) };
    // A request that only the fault lets pass is made one that the checker takes.
    let bend = refused_by.is_some();
    if let Json::Object(members) = &mut value {
        let known = ["api_version", "method", "request_id", "config"];
        if switches.broken(Fault::UnknownFieldsAccepted)
            && members.get("method").is_some_and(|method| method != "invoke")
        {
            members.retain(|name, _| known.contains(&name.as_str()));
        }
        if switches.broken(Fault::VersionUnchecked) {
            members.insert("api_version".into(), json!(API_VERSION));
        }
        if switches.broken(Fault::UnknownMethodDescribes) {
            let method = members.get("method").and_then(Json::as_str).unwrap_or_default();
            if !["describe", "validate_config", "invoke"].contains(&method) {
                members.insert("method".into(), json!("describe"));
                members.retain(|name, _| ["api_version", "method", "request_id"].contains(&name.as_str()));
            }
        }
        if switches.broken(Fault::ConfigOfAnyType)
            && members.get("method").is_some_and(|method| method == "validate_config")
            && members.get("config").is_some_and(|config| !config.is_object())
        {
            members.insert("config".into(), json!({ "blocked_tools": [] }));
        }
        if switches.broken(Fault::IdInvented) && !members.contains_key("request_id") {
            members.insert("request_id".into(), json!("invented"));
        }
        if bend && members.get("method").is_some_and(|method| method == "invoke") {
            members.remove("input_digest");
        }
    }
    if bend && value["method"] == "invoke" {
        value["input_digest"] = json!(aw::digest(&value));
    }
    if bend { Request::unchecked(value) } else { parse_request(value.to_string().as_bytes(), rules) }
}

/// JSON whose texts hold control characters, with these escaped.
fn controls_escaped(text: &str) -> String {
    let (mut out, mut inside, mut escaped) = (String::new(), false, false);
    for c in text.chars() {
        if inside && u32::from(c) < 0x20 {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
            continue;
        }
        inside = if c == '"' && !escaped { !inside } else { inside };
        escaped = inside && c == '\\' && !escaped;
        out.push(c);
    }
    out
}

/// Writes the reply, distorted where that is wanted.
fn finish(served: &mut Served, mut reply: Json, request: Option<&Request>, switches: Switches) {
    let status = reply["status"].as_str().unwrap_or_default().to_owned();
    let blocks = reply["effects"].as_array().is_some_and(|list| list.iter().any(|effect| effect["type"] == "block"));
    let method = request.map_or("", Request::method);
    let digest = reply["input_digest"].as_str().map(str::to_owned);
    let native_id = request.and_then(|r| r.as_value().pointer("/event/native/request_id").cloned());
    for (on, member, value) in [
        (switches.broken(Fault::ReplyHasExtra), "elapsed_ms", json!(3)),
        (switches.broken(Fault::ReplyTooDeep), "trace", nested(40)),
        (switches.broken(Fault::OtherVersion), "api_version", json!("aw-provider/v1")),
        (switches.broken(Fault::ConstantId), "request_id", json!("reply")),
        (switches.broken(Fault::StatusSuccess) && status == "ok", "status", json!("success")),
        (switches.broken(Fault::ErrorWithEffects) && status == "error", "effects", json!([])),
        (switches.broken(Fault::ErrorCodeIsSentence) && status == "error", "error_code", json!("this did not work")),
        (
            switches.broken(Fault::NativeBelieved) && native_id.is_some(),
            "request_id",
            native_id.clone().unwrap_or_default(),
        ),
        (
            switches.broken(Fault::DigestInUppercase) && digest.is_some(),
            "input_digest",
            json!(digest.as_deref().unwrap_or_default().to_uppercase()),
        ),
        (
            switches.broken(Fault::DigestOfOther) && digest.is_some(),
            "input_digest",
            json!(request.map(|r| aw::digest(&r.as_value()["config"]))),
        ),
    ] {
        if on {
            reply[member] = value;
        }
    }
    if let Json::Object(members) = &mut reply {
        if switches.broken(Fault::ErrorWithoutCode) {
            members.remove("error_code");
        }
        if switches.broken(Fault::EffectsLeftOut) && members.get("effects").is_some_and(|list| list == &json!([])) {
            members.remove("effects");
        }
    }
    served.stdout = text_of(&reply, switches);
    if switches.broken(Fault::LogsToStdout) {
        served.stdout.splice(0..0, *b"policy: ready\n");
    }
    if switches.broken(Fault::RepliesTwice) {
        served.stdout.extend(served.stdout.clone());
    }
    if switches.broken(Fault::ReplyTooLong) {
        served.stdout.resize(aw::MESSAGE_BYTES + 1, b' ');
    }
    if switches.leeway(Leeway::Chatty) {
        served.stderr = "policy: working\n".repeat(500);
    }
    served.lives_on = switches.broken(Fault::LivesOn);
    served.held = switches.broken(Fault::OutputsHeld);
    served.exit = match status.as_str() {
        "ok" if switches.broken(Fault::NonzeroOnOk) && method == "describe" => 1,
        "ok" if switches.broken(Fault::BlockExitsTwo) && blocks => 2,
        "error" if switches.broken(Fault::ErrorExitsOne) => 1,
        _ => 0,
    };
}

fn nested(levels: usize) -> Json {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

fn text_of(reply: &Json, switches: Switches) -> Vec<u8> {
    let mut text = if switches.leeway(Leeway::ReplyPretty) {
        format!("\r\n{}\n\n", serde_json::to_string_pretty(reply).unwrap_or_default())
    } else {
        format!("{reply}\n")
    };
    if switches.leeway(Leeway::ReplyEscaped) {
        let escaped: Vec<String> = text
            .encode_utf16()
            .map(|unit| match u8::try_from(unit) {
                Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
                _ => format!("\\u{unit:04x}"),
            })
            .collect();
        text = escaped.concat();
    }
    if switches.broken(Fault::ReplyHasDuplicate) {
        text = text.replacen('{', "{\"status\":\"ok\",", 1);
    }
    if switches.broken(Fault::ReplyHasHugeNumber) {
        text = text.replacen('{', "{\"cost\":1e999,", 1);
    }
    let mut bytes = text.into_bytes();
    if switches.broken(Fault::ReplyHasBom) {
        bytes.splice(0..0, *b"\xef\xbb\xbf");
    }
    if switches.broken(Fault::ReplyHasBadUtf8) {
        let place = bytes.iter().position(|byte| *byte == b'{').map_or(0, |place| place + 1);
        bytes.splice(place..place, *b"\"note\":\"\xff\",");
    }
    bytes
}
