//! Switches that only change how a request is read, how a reply looks or what is listed. Kept apart so that the
//! protocol's own code need not know of them.

mod executed;
mod listing;
mod manifest;
mod negotiated;
mod request;
mod session;
mod v1;

pub(crate) use listing::{revision, tools, with_leeway};
pub(crate) use manifest::manifest;
pub(crate) use negotiated::{offer, token};
pub(crate) use request::{has_unknown_key, offers_more, read, size};

use crate::envelope::{self, Code, Refusal, is_uuid, key};
use crate::provider::{Call, Exception};
use crate::switches::{Fault, Leeway, Switches};
use cetp_vectors::bundle::{Access, Bundle, Value};
use serde_json::{Value as Json, json};

/// What leaves the provider instead of a reply. `extras` is the request as it came.
pub(crate) fn reply(
    call: &Call<'_>,
    method: &str,
    extras: Option<&Bundle>,
    reply: Result<Option<Bundle>, Exception>,
) -> Result<Option<Bundle>, Exception> {
    let switches = &call.provider.setup.switches;
    if *switches == Switches::default() {
        return reply;
    }
    let Ok(Some(mut bundle)) = reply else { return reply };
    if switches.broken(Fault::RetryableMissing) {
        bundle.0.remove(key::RETRYABLE);
    }
    if switches.broken(Fault::RetryAfterIsInt)
        && let Some(Value::Long(ms)) = bundle.get(key::RETRY_AFTER_MS)
    {
        let ms = i32::try_from(*ms).unwrap_or(i32::MAX);
        bundle.0.insert(key::RETRY_AFTER_MS.to_owned(), Value::Int(ms));
    }
    if bundle.string(key::STATUS) == Some("error") && bundle.get(key::PROTOCOL_VERSION).is_some() {
        errors(switches, &mut bundle);
    }
    if switches.leeway(Leeway::MoreKeysInReplies) {
        bundle.0.insert("served_by".to_owned(), Value::string("reference"));
    }
    if switches.broken(Fault::FileWritable)
        && let Some(Value::Fd { access, .. }) = bundle.0.get_mut(key::RESULT_FD)
    {
        *access = Some(Access::ReadWrite);
    }
    if switches.broken(Fault::DigestInUppercase) && bundle.get(key::RESULT_FD).is_some() {
        edit_data(&mut bundle, &|data| {
            let at = if data["result"].is_object() { "/result/sha256" } else { "/sha256" };
            if let Some(digest) = data.pointer_mut(at) {
                *digest = json!(digest.as_str().unwrap_or_default().to_ascii_uppercase());
            }
        });
    }
    operations(switches, method, &mut bundle);
    files(switches, &mut bundle);
    let unknown = bundle.string(key::ERROR_CODE) == Some(Code::MethodNotFound.name());
    if unknown && switches.broken(Fault::UnknownMethodNull) {
        return Ok(None);
    }
    let none = Bundle::new();
    let sent = extras.unwrap_or(&none);
    match method {
        "negotiate" => negotiated::reply(call, sent, &mut bundle),
        _ if bundle.get(key::PROTOCOL_VERSION).is_none() => {
            return v1::reply(switches, method, extras, bundle).map(Some);
        }
        "list_tools" | "get_provider_info" => listing::reply(call, method, sent, &mut bundle),
        "execute_tool" => executed::reply(call, sent, &mut bundle),
        _ => {}
    }
    request::codes(call, method, sent, &mut bundle);
    Ok(Some(bundle))
}

/// What becomes of an error Bundle of v2.
fn errors(switches: &Switches, bundle: &mut Bundle) {
    let code = bundle.string(key::ERROR_CODE).unwrap_or_default().to_owned();
    let broken = |fault: Fault, of: &str| switches.broken(fault) && (of.is_empty() || of == code);
    let mut put = |key: &str, value: Value| drop(bundle.0.insert(key.to_owned(), value));
    for (fault, of, key, value) in [
        (Fault::ResolutionIsText, "AUTH_REQUIRED", key::RESOLUTION, Value::string("org.cetp.reference.AUTHORIZE")),
        (Fault::DenialIsPermissionDenied, "USER_CANCELLED", key::ERROR_CODE, Value::string("PERMISSION_DENIED")),
        (
            Fault::AuthorizeIntentSent,
            "AUTH_REQUIRED",
            "authorize_intent",
            Value::string("org.cetp.reference.AUTHORIZE"),
        ),
        (Fault::RetryableIsText, "", key::RETRYABLE, Value::string("false")),
        (Fault::RetryAfterNegative, "RATE_LIMITED", key::RETRY_AFTER_MS, Value::Long(-1)),
        (Fault::DetailsAreNoJson, "INVALID_ARGS", key::ERROR_DETAILS, Value::string("See the log.")),
        (Fault::DetailsAreBundle, "INVALID_ARGS", key::ERROR_DETAILS, Value::Bundle(Bundle::new())),
        (Fault::UnknownCode, "RATE_LIMITED", key::ERROR_CODE, Value::string("TOO_MANY_REQUESTS")),
        (Fault::CodesInLowerCase, "", key::ERROR_CODE, Value::string(code.to_lowercase())),
        (Fault::BusyNotRetryable, "RATE_LIMITED", key::RETRYABLE, Value::Bool(false)),
        (Fault::NegotiationNotRetryable, "NEGOTIATION_REQUIRED", key::RETRYABLE, Value::Bool(false)),
        (Fault::ArgsRetryable, "INVALID_ARGS", key::RETRYABLE, Value::Bool(true)),
        (Fault::CancelledRetryable, "USER_CANCELLED", key::RETRYABLE, Value::Bool(true)),
        (Fault::ExceptionInOtherKey, "INTERNAL_ERROR", "debug", Value::string("com.example.Fixture(Fixture.kt:7)")),
    ] {
        if broken(fault, of) {
            put(key, value);
        }
    }
    let of_condition = ["AUTH_REQUIRED", "USER_ACTION_REQUIRED", "CONFLICT", "DEADLINE_EXCEEDED"].contains(&&*code);
    if of_condition && switches.leeway(Leeway::ConditionalRetryable) {
        put(key::RETRYABLE, Value::Bool(true));
    }
    if switches.leeway(Leeway::ErrorsWithDetails) {
        put(key::ERROR_DETAILS, Value::string(r#"{"more":["for programs"]}"#));
        put(key::RETRY_AFTER_MS, Value::Long(0));
    }
    for (fault, of, key) in [
        (Fault::ErrorEchoMissing, "", key::REQUEST_ID),
        (Fault::VersionMissing, "", key::PROTOCOL_VERSION),
        (Fault::MessageMissing, "", key::ERROR_MESSAGE),
        (Fault::AuthorizationUnresolved, "AUTH_REQUIRED", key::RESOLUTION),
        (Fault::AuthorizationUnresolved, "AUTH_REQUIRED", key::RESUME_TOKEN),
        (Fault::ConfirmationWithoutToken, "USER_ACTION_REQUIRED", key::RESUME_TOKEN),
    ] {
        if broken(fault, of) {
            bundle.0.remove(key);
        }
    }
    let echo = bundle.string(key::REQUEST_ID).unwrap_or_default().to_owned();
    if switches.broken(Fault::EchoOfUuidsOnly) && !is_uuid(&echo) {
        bundle.0.remove(key::REQUEST_ID);
    }
    if switches.broken(Fault::ErrorEchoInLowerCase) {
        bundle.0.insert(key::REQUEST_ID.to_owned(), Value::string(echo.to_lowercase()));
    }
    if switches.leeway(Leeway::NullsInErrors) {
        for key in [key::ERROR_DETAILS, key::RETRY_AFTER_MS, key::DATA, key::RESOLUTION, key::RESUME_TOKEN] {
            bundle.0.entry(key.to_owned()).or_insert(Value::Null);
        }
    }
    if let Some(Value::PendingIntent(intent)) = bundle.0.get_mut(key::RESOLUTION) {
        if switches.broken(Fault::IntentMutable) {
            intent.immutable = Some(false);
        }
        if switches.broken(Fault::IntentImplicit) {
            (intent.explicit, intent.component) = (Some(false), None);
        }
        if switches.broken(Fault::IntentElsewhere) {
            intent.component = Some("com.example.browser/com.example.browser.Main".to_owned());
        }
        if switches.broken(Fault::IntentOfOther) {
            intent.creator_package = Some("com.example.browser".to_owned());
        }
    }
}

fn operations(switches: &Switches, method: &str, bundle: &mut Bundle) {
    let has = |key: &str, text: &str| bundle.string(key) == Some(text);
    let (accepted, success) = (has(key::STATUS, "accepted"), has(key::STATUS, "success"));
    let expired = has(key::ERROR_CODE, "RESULT_EXPIRED");
    if accepted && switches.broken(Fault::AcceptedCalledSuccess) {
        bundle.0.insert(key::STATUS.to_owned(), Value::string("success"));
    }
    if accepted && switches.broken(Fault::AcceptedWithoutEcho) {
        bundle.0.remove(key::REQUEST_ID);
    }
    if accepted && switches.broken(Fault::AcceptedVersionIsLong) {
        bundle.0.insert(key::PROTOCOL_VERSION.to_owned(), Value::Long(2));
    }
    if expired && switches.broken(Fault::ExpiredIsInternalError) {
        bundle.0.insert(key::ERROR_CODE.to_owned(), Value::string("INTERNAL_ERROR"));
    }
    if expired && switches.broken(Fault::ExpiredIsEmptySuccess) {
        *bundle = envelope::success(bundle.get(key::REQUEST_ID).cloned(), "{}".to_owned());
    }
    if accepted {
        edit_data(bundle, &|data| {
            if switches.broken(Fault::AcceptedWithoutPollAfter) {
                remove(data, "poll_after_ms");
            }
            if switches.broken(Fault::AcceptedIdIsNumber) {
                data["operation_id"] = json!(7);
            }
        });
    }
    if success && method == "get_operation" {
        edit_data(bundle, &|data| polled(switches, data));
    }
    if success && method == "cancel_operation" {
        edit_data(bundle, &|data| {
            if switches.broken(Fault::CancelSaysCancelled) {
                data["state"] = json!("cancelled");
            }
            if switches.broken(Fault::CancelReplyIsBare) {
                remove(data, "state");
            }
        });
    }
}

fn polled(switches: &Switches, data: &mut Json) {
    let state = data["state"].as_str().unwrap_or_default().to_owned();
    if switches.broken(Fault::ProgressIsText) && data["progress"].is_object() {
        data["progress"] = json!("half done");
    }
    if switches.leeway(Leeway::BareStates) {
        remove(data, "progress");
        remove(data, "poll_after_ms");
    }
    if switches.broken(Fault::PollWithoutOperationId) {
        remove(data, "operation_id");
    }
    if switches.broken(Fault::ResultIsBareValue) && data["result"]["kind"] == "inline" {
        data["result"] = data["result"]["value"].take();
    }
    if switches.broken(Fault::ResultBesideState) && data["result"].is_object() {
        let result = data["result"].take();
        for (name, value) in result.as_object().into_iter().flatten() {
            data[name] = value.clone();
        }
        remove(data, "result");
    }
    if state == "failed" && switches.broken(Fault::FailedErrorIsText) {
        data["error"] = data["error"]["error_message"].take();
    }
    if state == "failed" && switches.broken(Fault::FailedWithoutRetryable) {
        remove(&mut data["error"], "retryable");
    }
    if state == "failed" && switches.broken(Fault::FailedCarriesResult) {
        data["result"] = json!({ "kind": "inline", "value": {} });
    }
    if switches.leeway(Leeway::NullMembers) {
        for name in ["result", "error", "progress", "poll_after_ms"] {
            if data[name].is_null() {
                data[name] = Json::Null;
            }
        }
    }
    if switches.broken(Fault::QueuedIsPending) && state == "queued" {
        data["state"] = json!("pending");
    }
    if switches.broken(Fault::StateInUppercase) {
        data["state"] = json!(state.to_ascii_uppercase());
    }
}

fn files(switches: &Switches, bundle: &mut Bundle) {
    if bundle.get(key::RESULT_FD).is_none() {
        return;
    }
    edit_data(bundle, &|data| {
        let envelope = if data["result"].is_object() { &mut data["result"] } else { data };
        if switches.broken(Fault::MediaTypeOctets) {
            envelope["media_type"] = json!("application/octet-stream");
        }
        if switches.broken(Fault::SizeIsText) {
            envelope["size_bytes"] = json!(envelope["size_bytes"].to_string());
        }
    });
    if switches.broken(Fault::FileWithoutDescriptor) {
        bundle.0.remove(key::RESULT_FD);
    }
}

fn edit_data(bundle: &mut Bundle, edit: &dyn Fn(&mut Json)) {
    let data = bundle.string(key::DATA).and_then(|data| serde_json::from_str::<Json>(data).ok());
    if let Some(mut data) = data {
        let before = data.clone();
        edit(&mut data);
        if data == before {
            return;
        }
        bundle.0.insert(key::DATA.to_owned(), Value::string(data.to_string()));
    }
}

/// Hexadecimal digits as letters of both cases, so that they are no number any more.
pub(crate) fn letters(digits: &str) -> String {
    let letter = |digit: char| digit.to_digit(10).and_then(|n| char::from_digit(n + 16, 36));
    digits.chars().map(|digit| letter(digit).map_or(digit, |letter| letter.to_ascii_uppercase())).collect()
}

fn is_success(bundle: &Bundle) -> bool {
    bundle.string(key::STATUS) == Some("success")
}

fn error(bundle: &Bundle, code: Code) -> Bundle {
    Refusal::new(code, "The call was refused.").to_bundle(bundle.get(key::REQUEST_ID).cloned())
}

fn remove(json: &mut Json, member: &str) {
    if let Some(members) = json.as_object_mut() {
        members.remove(member);
    }
}

/// JSON as a Bundle, as a provider would send it that does not write JSON.
fn as_bundle(json: &Json) -> Bundle {
    let members = json.as_object().into_iter().flatten();
    members.fold(Bundle::new(), |bundle, (name, value)| {
        let value = match value {
            Json::Object(_) => Value::Bundle(as_bundle(value)),
            Json::String(text) => Value::string(text),
            other => Value::string(other.to_string()),
        };
        bundle.with(name, value)
    })
}
