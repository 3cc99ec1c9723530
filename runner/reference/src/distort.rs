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
pub(crate) use request::{has_unknown_key, read, size};

use crate::envelope::{Code, Refusal, key};
use crate::provider::{Call, Exception};
use crate::switches::{Fault, Switches};
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

fn edit_data(bundle: &mut Bundle, edit: &dyn Fn(&mut Json)) {
    let data = bundle.string(key::DATA).and_then(|data| serde_json::from_str::<Json>(data).ok());
    if let Some(mut data) = data {
        edit(&mut data);
        bundle.0.insert(key::DATA.to_owned(), Value::string(data.to_string()));
    }
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
