//! How the host is broken on purpose, where that is more than one condition. Every function here gives what an honest host
//! does unless a switch is on.

use super::config::Step;
use super::message::{Refused, Reply, Request, Rules, check_response, parse_request};
use super::switches::{Fault, Leeway, Switches};
use cetp_vectors::aw;
use serde_json::{Value as Json, json};

/// The id of the n-th call.
pub(super) fn id(n: u64, switches: Switches) -> String {
    if switches.broken(Fault::SameId) {
        return "call".into();
    }
    if switches.broken(Fault::IdWithBlank) {
        return format!("call {n}");
    }
    format!("call-{n}")
}

/// `allowed_effects`: exactly those that were admitted for the step.
pub(super) fn allowed(step: &Step, operations: &[Json], switches: Switches) -> Json {
    let mut effects = json!(step.effects);
    if switches.broken(Fault::AllEffectsAllowed) {
        let operation = operations.iter().find(|operation| operation["name"] == *step.operation);
        effects = operation.map_or(effects, |operation| operation["effects"].clone());
    }
    if switches.leeway(Leeway::EffectsReversed)
        && let Json::Array(list) = &mut effects
    {
        list.reverse();
    }
    effects
}

/// A request of the preparation, checked as every request is before it is sent.
pub(super) fn checked(request: Json, rules: Rules, switches: Switches) -> Result<Request, Refused> {
    if switches.broken(Fault::IdWithBlank) {
        return Request::unchecked(request);
    }
    parse_request(request.to_string().as_bytes(), rules)
}

/// Faults whose requests would not pass the host's own checks.
const SENT_UNCHECKED: [Fault; 11] = [
    Fault::SendsUnchecked,
    Fault::AllEffectsAllowed,
    Fault::ResultBefore,
    Fault::IdsOmitted,
    Fault::IdsEmpty,
    Fault::SendsExtraMember,
    Fault::ConfigThroughFloats,
    Fault::BudgetZero,
    Fault::IdWithBlank,
    Fault::DigestInsertionOrder,
    Fault::DigestWithoutPrefix,
];

/// A request that is sent without a check, where a switch asks for one.
pub(super) fn unchecked(unbound: &Json, switches: Switches) -> Option<Request> {
    if !SENT_UNCHECKED.into_iter().any(|fault| switches.broken(fault)) {
        return None;
    }
    let mut request = unbound.clone();
    let event = &mut request["event"];
    if switches.broken(Fault::ResultBefore) && event["name"] == "tool.before" {
        event["tool"]["result"] = json!({});
    }
    for (place, name) in [("", "session_id"), ("/agent", "instance_id"), ("/tool", "call_id")] {
        let Some(Json::Object(members)) = event.pointer_mut(place) else { continue };
        if !members.get(name).is_some_and(Json::is_null) {
            continue;
        }
        if switches.broken(Fault::IdsOmitted) {
            members.remove(name);
        }
        if switches.broken(Fault::IdsEmpty) {
            members.insert(name.to_owned(), json!(""));
        }
    }
    if switches.broken(Fault::SendsExtraMember) {
        request["trace"] = json!("1");
    }
    if switches.broken(Fault::ConfigThroughFloats) {
        through_floats(&mut request["config"]);
    }
    let mut digest = aw::digest(&request);
    if switches.broken(Fault::DigestInsertionOrder) {
        digest = format!("sha256:{}", cetp_vectors::expr::sha256_hex(backwards(&request).as_bytes()));
    }
    if switches.broken(Fault::DigestWithoutPrefix) {
        digest = digest.trim_start_matches("sha256:").to_owned();
    }
    request["input_digest"] = json!(digest);
    Request::unchecked(request).ok()
}

fn through_floats(value: &mut Json) {
    match value {
        Json::Number(number) => {
            if let Some(float) = number.as_f64().and_then(serde_json::Number::from_f64) {
                *number = float;
            }
        }
        Json::Array(items) => items.iter_mut().for_each(through_floats),
        Json::Object(members) => members.values_mut().for_each(through_floats),
        _ => {}
    }
}

/// Compact JSON with the members of every object in the order opposite to the right one.
fn backwards(value: &Json) -> String {
    match value {
        Json::Object(members) => {
            let rows: Vec<String> =
                members.iter().rev().map(|(name, value)| format!("{}:{}", json!(name), backwards(value))).collect();
            format!("{{{}}}", rows.join(","))
        }
        Json::Array(items) => format!("[{}]", items.iter().map(backwards).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

/// The bytes of a request.
pub(super) fn written(request: &Request, switches: Switches) -> Vec<u8> {
    let value = request.as_value();
    // The id first, for people who look at requests; the order of members is free.
    let mut rest = value.clone();
    aw::remove(&mut rest, "request_id");
    let rest = rest.to_string();
    let mut text = format!("{{\"request_id\":{},{}", value["request_id"], rest.strip_prefix('{').unwrap_or_default());
    if switches.leeway(Leeway::RequestPretty) {
        text = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    }
    if switches.broken(Fault::WritesTwice) {
        text = format!("{text}\n{text}");
    }
    if switches.broken(Fault::OneProcess) && request.method() == "describe" {
        let mut second = value.clone();
        second["method"] = json!("validate_config");
        second["config"] = json!({});
        text = format!("{text}\n{second}\n");
    }
    text.into_bytes()
}

/// What a faulty host makes of an output; nothing where it is read as it should be.
pub(super) fn read(
    request: &Request,
    output: &[u8],
    rules: Rules,
    sent: &[Json],
    switches: Switches,
) -> Option<Result<Reply, Refused>> {
    let honest = |bytes: &[u8]| check_response(request, bytes, rules);
    let plain = honest(output);
    let blocked = || Some(Ok(Reply::Invocation(vec![json!({ "type": "block" })])));
    let invoke = request.method() == "invoke";
    let refused_as = |what| Some(Err(Refused { layer: super::message::Layer::Schema, what, error_code: None }));
    match &plain {
        Ok(Reply::Invocation(effects)) => {
            let text = effects.iter().any(|effect| effect.get("text").is_some());
            let long = |effect: &Json| effect["reason_code"].as_str().is_some_and(|code| code.len() > 64);
            if text && switches.broken(Fault::TextsRefused) {
                return refused_as("a text");
            }
            if effects.iter().any(long) && switches.broken(Fault::LongCodesRefused) {
                return refused_as("a long code");
            }
        }
        Ok(Reply::Description(operations))
            if operations.len() > 63 && switches.broken(Fault::ManyOperationsRefused) =>
        {
            return refused_as("many operations");
        }
        _ => {}
    }
    let Err(refused) = &plain else { return None };
    if refused.error_code.is_some() {
        return (switches.broken(Fault::ErrorIsSuccess) && invoke).then(|| Ok(Reply::Invocation(Vec::new())));
    }
    if switches.broken(Fault::InvalidIsBlock) && invoke {
        return blocked();
    }
    if switches.broken(Fault::NullIsNeutral) && invoke && output.trim_ascii() == b"null" {
        return Some(Ok(Reply::Invocation(Vec::new())));
    }
    if switches.broken(Fault::TrailingCommaRead) {
        let text = String::from_utf8_lossy(output).replace(",}", "}");
        return honest(text.as_bytes()).ok().map(Ok);
    }
    let loose: Option<Json> =
        serde_json::Deserializer::from_slice(output).into_iter::<Json>().filter_map(Result::ok).last();
    let mut loose = loose?;
    let mut bent = switches.broken(Fault::LastDocumentCounts) || switches.broken(Fault::DuplicatesRead);
    for (fault, member) in [(Fault::IdUnchecked, "request_id"), (Fault::DigestUnchecked, "input_digest")] {
        if switches.broken(fault) && loose.get(member).is_some() {
            loose[member] = request.as_value()[member].clone();
            bent = true;
        }
    }
    for (fault, member) in [
        (Fault::VersionTrimmed, "api_version"),
        (Fault::IdTrimmed, "request_id"),
        (Fault::DigestTrimmed, "input_digest"),
    ] {
        if let (true, Some(text)) = (switches.broken(fault), loose[member].as_str().map(|text| text.trim().to_owned()))
        {
            loose[member] = json!(text);
            bent = true;
        }
    }
    for (fault, earlier, member) in [
        (Fault::IdCaseIgnored, Fault::EarlierIdsAccepted, "request_id"),
        (Fault::DigestCaseIgnored, Fault::EarlierDigestsAccepted, "input_digest"),
    ] {
        let right = request.as_value()[member].as_str();
        let alike = loose[member]
            .as_str()
            .zip(right)
            .is_some_and(|(came, right)| came != right && came.eq_ignore_ascii_case(right));
        let known = sent.iter().any(|request| request[member].is_string() && request[member] == loose[member]);
        if switches.broken(fault) && alike || switches.broken(earlier) && known {
            loose[member] = json!(right);
            bent = true;
        }
    }
    if switches.broken(Fault::DigestBareRead)
        && let Some(text) = loose["input_digest"].as_str().filter(|text| !text.starts_with("sha256:"))
    {
        loose["input_digest"] = json!(format!("sha256:{text}"));
        bent = true;
    }
    if switches.broken(Fault::DigestNeededForEffects) && loose["effects"] == json!([]) {
        loose["input_digest"] = request.as_value()["input_digest"].clone();
        bent = true;
    }
    if switches.broken(Fault::NullMembersDropped)
        && let Json::Object(members) = &mut loose
    {
        members.retain(|_, value| !value.is_null());
        bent = true;
    }
    if switches.broken(Fault::ReplacementsUncounted)
        && let Some(Json::Array(effects)) = loose.get_mut("effects")
    {
        let mut seen = false;
        effects.retain(|effect| effect["type"] != "replace_result" || !std::mem::replace(&mut seen, true));
        bent = true;
    }
    if switches.broken(Fault::ProjectionNotNeeded)
        && request.as_value().pointer("/event/tool/result_projection").is_none()
        && let Some(Json::Array(effects)) = loose.get_mut("effects")
    {
        effects.retain(|effect| effect["type"] != "replace_result");
        bent = true;
    }
    for effect in loose.get_mut("effects").and_then(Json::as_array_mut).into_iter().flatten() {
        if let Some(code) = effect["reason_code"].as_str().filter(|_| switches.broken(Fault::CodesTrimmed)) {
            effect["reason_code"] = json!(code.trim());
            bent = true;
        }
        if switches.broken(Fault::TextsUnchecked) {
            if effect["type"] == "replace_result" && !effect["text"].is_string() {
                effect["text"] = json!("");
            } else {
                aw::remove(effect, "text");
            }
            bent = true;
        }
    }
    if switches.broken(Fault::UnadmittedDropped)
        && let Some(Json::Array(effects)) = loose.get_mut("effects")
    {
        effects.retain(|effect| request.allowed().any(|allowed| effect["type"] == allowed));
        bent = true;
    }
    bent.then(|| honest(loose.to_string().as_bytes()))
}

/// Bends what is told of a step.
pub(super) fn tell(row: &mut Json, switches: Switches) {
    let code = row["error_code"].as_str().map(str::to_owned);
    if let (true, Some(code)) = (switches.broken(Fault::CodeShown), &code) {
        row["message"] = json!(format!("the provider reports {code}"));
    }
    let Json::Object(members) = row else { return };
    for (fault, member, value) in
        [(Fault::CodeReplaced, "error_code", "provider_error"), (Fault::ActionAlwaysReport, "action", "report")]
    {
        if let Some(told) = members.get_mut(member).filter(|_| switches.broken(fault)) {
            *told = json!(value);
        }
    }
    if switches.leeway(Leeway::TellsLittle) {
        members.remove("message");
    }
}

/// Whether what became of a step is a block by the policy: an effect of a success, never what is done about a failure.
pub(super) fn blocks(row: &Json, switches: Switches) -> bool {
    let effects = row["effects"].as_array();
    let requested = effects.is_some_and(|effects| effects.iter().any(|effect| effect["type"] == "block"));
    let any = switches.broken(Fault::AnyEffectBlocks) && effects.is_some_and(|effects| !effects.is_empty());
    requested || any || (switches.broken(Fault::OnErrorIsBlock) && row["action"] == "block")
}

/// Whether what became of a step gives a permission: never.
pub(super) fn grants(row: &Json, switches: Switches) -> bool {
    let observed = row["effects"].as_array().is_some_and(|effects| effects.iter().any(|e| e["type"] == "observe"));
    (observed && switches.broken(Fault::ObserveGrants))
        || (row["outcome"] == "failure" && switches.broken(Fault::FailureGrants))
}

/// Whether a step is tried once more: never.
pub(super) fn retried(outcome: &super::host::Outcome, switches: Switches) -> bool {
    let super::host::Outcome::Failure { message, .. } = outcome else { return false };
    let late = message.contains(super::process::Failure::Late.words());
    switches.broken(Fault::Retries) || (late && switches.broken(Fault::RetriesLate))
}

/// The effects of a success as they are told: all, in their order.
pub(super) fn told(mut effects: Vec<Json>, switches: Switches) -> Json {
    if switches.broken(Fault::EffectsDeduped) {
        let mut seen: Vec<Json> = Vec::new();
        effects.retain(|effect| {
            let new = !seen.contains(&effect["type"]);
            seen.push(effect["type"].clone());
            new
        });
    }
    Json::Array(effects)
}

/// The event as a provider is given it: what happened.
pub(super) fn seen(mut event: Json, switches: Switches) -> Json {
    let tool = &mut event["tool"];
    if switches.broken(Fault::ResultParsed)
        && let Some(parsed) = tool["result"].as_str().and_then(|text| serde_json::from_str::<Json>(text).ok())
    {
        tool["result"] = parsed;
    }
    if switches.broken(Fault::InputAsText) {
        tool["input"] = json!(tool["input"].to_string());
    }
    if switches.broken(Fault::NamesLowered) {
        tool["native_name"] = json!(tool["native_name"].as_str().unwrap_or_default().to_lowercase());
    }
    if switches.broken(Fault::AfterInputDropped) && event["name"] == "tool.after" {
        event["tool"]["input"] = Json::Null;
    }
    event
}

/// Whether a request is not sent for its length.
pub(super) fn too_long(request: &Request, switches: Switches) -> bool {
    switches.broken(Fault::LongRequestsUnsent) && request.as_value().to_string().len() > 1_000_000
}

/// What a provider that did not describe itself is taken to have said.
pub(super) fn usual_operations() -> Vec<Json> {
    vec![json!({ "name": "check", "events": ["tool.before", "tool.after"], "effects": ["observe", "block"] })]
}
