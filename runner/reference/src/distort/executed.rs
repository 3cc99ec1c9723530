//! Switches of the reply to `execute_tool` (§4.2).

use super::{as_bundle, edit_data, error, is_success, remove};
use crate::envelope::{Code, key};
use crate::limits;
use crate::lock;
use crate::provider::Call;
use crate::switches::Fault;
use cetp_vectors::bundle::{Bundle, Value};
use serde_json::{Value as Json, json};

pub(super) fn reply(call: &Call<'_>, sent: &Bundle, bundle: &mut Bundle) {
    if !is_success(bundle) {
        return;
    }
    let args_len = sent.string(key::ARGS).map_or(0, str::len);
    if call.broken(Fault::SizeAfterEffect) && args_len > limits::of(&call.provider.setup.switches).max_request_bytes {
        *bundle = error(bundle, Code::InvalidRequest);
        return;
    }
    let writes = sent.string(key::TOOL_NAME).is_some_and(|name| call.writes(name));
    if call.broken(Fault::RestartTokenRunsUnanswered) && writes && call.is_carried(sent) {
        *bundle = error(bundle, Code::NegotiationRequired);
        return;
    }
    if call.broken(Fault::SuccessWithoutVersion) {
        bundle.0.remove(key::PROTOCOL_VERSION);
    }
    if call.broken(Fault::SuccessVersionIsLong) {
        bundle.0.insert(key::PROTOCOL_VERSION.to_owned(), Value::Long(2));
    }
    echo(call, sent, bundle);
    if call.broken(Fault::KindMissing) {
        edit_data(bundle, &|data| remove(data, "kind"));
    }
    if call.broken(Fault::ValueIsText) {
        edit_data(bundle, &|data| data["value"] = json!(data["value"].to_string()));
    }
    if call.broken(Fault::DataIsBareValue) {
        edit_data(bundle, &|data| *data = data["value"].take());
    }
    if call.broken(Fault::DataIsBundle) {
        let data: Json = serde_json::from_str(bundle.string(key::DATA).unwrap_or_default()).unwrap_or_default();
        bundle.0.insert(key::DATA.to_owned(), Value::Bundle(as_bundle(&data)));
    }
}

fn echo(call: &Call<'_>, sent: &Bundle, bundle: &mut Bundle) {
    let Some(id) = bundle.string(key::REQUEST_ID).map(str::to_owned) else { return };
    let remembered = |prefix: &str| {
        let memory = lock(&call.provider.fault_memory);
        memory.iter().find_map(|entry| entry.strip_prefix(prefix).map(str::to_owned))
    };
    let other = if call.broken(Fault::EchoInLowerCase) {
        id.to_lowercase()
    } else if call.broken(Fault::EchoMissing) {
        bundle.0.remove(key::REQUEST_ID);
        return;
    } else if call.broken(Fault::EchoOfFirst) {
        let prefix = format!("first {} ", sent.string(key::SESSION_TOKEN).unwrap_or_default());
        remembered(&prefix).unwrap_or_else(|| {
            lock(&call.provider.fault_memory).insert(format!("{prefix}{id}"));
            id
        })
    } else if call.broken(Fault::EchoOfLatest) {
        remembered("latest ").unwrap_or(id)
    } else {
        return;
    };
    bundle.0.insert(key::REQUEST_ID.to_owned(), Value::string(other));
}
