//! Faults that only change how a reply looks. Kept apart so that the protocol's own code need not know of them.

use crate::envelope::key;
use crate::provider::Exception;
use crate::switches::{Fault, Switches};
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
