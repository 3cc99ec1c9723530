//! Faults that only change how a reply looks. Kept apart so that the protocol's own code need not know of them.

use crate::envelope::{self, key};
use crate::provider::Exception;
use crate::switches::{Fault, Leeway, Switches};
use cetp_vectors::bundle::{Access, Bundle, Value};
use serde_json::{Value as Json, json};

/// What leaves the provider instead of a reply.
pub(crate) fn reply(
    switches: &Switches,
    method: &str,
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
    Ok(Some(bundle))
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

fn remove(data: &mut Json, name: &str) {
    if let Some(members) = data.as_object_mut() {
        members.remove(name);
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
        let before = data.clone();
        edit(&mut data);
        if data == before {
            return;
        }
        bundle.0.insert(key::DATA.to_owned(), Value::string(data.to_string()));
    }
}
