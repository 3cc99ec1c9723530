//! Faults that only change how a reply looks. Kept apart so that the protocol's own code need not know of them.

use crate::envelope::{is_uuid, key};
use crate::provider::Exception;
use crate::switches::{Fault, Leeway, Switches};
use cetp_vectors::bundle::{Access, Bundle, Value};
use serde_json::{Value as Json, json};

/// What leaves the provider instead of a reply.
pub(crate) fn reply(
    switches: &Switches,
    _method: &str,
    reply: Result<Option<Bundle>, Exception>,
) -> Result<Option<Bundle>, Exception> {
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
        (Fault::EchoMissing, "", key::REQUEST_ID),
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
    if switches.broken(Fault::EchoInLowerCase) {
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

/// What is listed instead of the tools.
pub(crate) fn tools(switches: &Switches, tools: &mut [Json]) {
    for tool in tools {
        if switches.broken(Fault::SchemaRefersToNetwork) {
            tool["output_schema"] = json!({ "$ref": "https://schemas.example.com/result.json" });
        }
        if switches.broken(Fault::AnnotationMissing)
            && let Some(annotations) = tool["annotations"].as_object_mut()
        {
            annotations.remove("open_world");
        }
    }
}

fn edit_data(bundle: &mut Bundle, edit: &dyn Fn(&mut Json)) {
    let data = bundle.string(key::DATA).and_then(|data| serde_json::from_str::<Json>(data).ok());
    if let Some(mut data) = data {
        edit(&mut data);
        bundle.0.insert(key::DATA.to_owned(), Value::string(data.to_string()));
    }
}
