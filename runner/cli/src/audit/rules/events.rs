//! Errors and events, as far as a listing shows them (§1.3, §3.4, §9.5, §14.8).

use crate::audit::finding::{Desk, quoted};
use crate::audit::shape::{Value, values};
use crate::audit::tool::{Provider, Tool};
use crate::audit::words::{Words, tokens};
use serde_json::Value as Json;

/// Codes that say nothing but that it failed.
const GENERAL: Words = Words("error failed failure fail unknown unknown_error internal_error err exception");

/// TC-21.
pub fn errors(tool: &Tool, _: &Provider, desk: &mut Desk<'_>) {
    const DO: &str = "Tell apart: argument, permission, legitimately empty, temporary, unknown outcome.";
    if let Some(Json::Array(list)) = tool.descriptor.get("errors") {
        let code = |error: &Json| error.as_str().or_else(|| error["code"].as_str()).map(str::to_owned);
        let codes: Vec<String> = list.iter().filter_map(code).collect();
        let telling = codes.iter().filter(|code| !GENERAL.has(&tokens(code).join("_"))).count();
        if telling == 0 && !codes.is_empty() {
            let seen = format!("Every failure is {}: nobody can tell what to do next.", quoted(&codes.join(", ")));
            desk.finding("/errors", seen, DO);
        }
    }
    let Some((pointer, schema)) = tool.output() else { return };
    let results = values(pointer, schema).list;
    let members: Vec<&Value<'_>> = results.iter().filter(|value| value.depth == 1 && !value.alternative).collect();
    let named = |names: Words| members.iter().find(|value| names.has(&tokens(&value.name).join("_")));
    let coded = named(Words("code error_code error_type status status_code reason_code"));
    if let Some(error) = named(Words("error error_message error_text err failure"))
        && error.is_text()
        && !error.is_listed()
        && coded.is_none()
    {
        let seen = format!("A failure comes as the free text {} in a result.", quoted(&error.name));
        desk.hint(&error.pointer, seen, DO);
    }
}

/// Parameters that say where events go.
const CALLBACKS: Words =
    Words("webhook webhook_url webhook_uri callback callback_url callback_uri notify_url notification_url hook_url");

/// What an event has, each with words in the names of what carries it.
const PARTS: &[(&str, Words)] = &[
    ("a proof of its source", Words("signature secret hmac signing certificate jwks public verification auth")),
    ("the id of the run", Words("run correlation operation request task session execution")),
    ("the version of its object", Words("version revision etag hash digest sequence")),
    ("an end of its validity", Words("expires expiry expiration ttl deadline valid timeout")),
    ("a guard against replay", Words("nonce event delivery replay sequence timestamp idempotency")),
];

/// TC-29.
pub fn webhook(tool: &Tool, _: &Provider, desk: &mut Desk<'_>) {
    let Some((pointer, schema)) = tool.input() else { return };
    let parameters = values(pointer, schema).list;
    let named = |value: &&Value<'_>| CALLBACKS.has(&tokens(&value.name).join("_"));
    let Some(callback) = parameters.iter().find(named) else { return };
    let results = tool.output().map(|(pointer, schema)| values(pointer, schema).list).unwrap_or_default();
    let all: Vec<String> = parameters
        .iter()
        .chain(&results)
        .filter(|value| !named(value))
        .flat_map(|value| tokens(&value.name).into_iter().chain(tokens(&value.words().to_lowercase())))
        .chain(tokens(tool.text("description")))
        .collect();
    let missing = PARTS.iter().filter(|(_, words)| !all.iter().any(|word| words.has(word)));
    let missing: Vec<&str> = missing.map(|(what, _)| *what).collect();
    if !missing.is_empty() {
        let seen = format!(
            "Events go to {}, and the contract says nothing of {}.",
            quoted(&callback.name),
            missing.join(", ")
        );
        let advice = "Say how an event proves its source, which run and version it is about, when it expires, and how a replay is noticed.";
        desk.hint(&callback.pointer, seen, advice);
    }
}
