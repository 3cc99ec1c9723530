//! Switches of v1 replies (§4, §8).

use super::{edit_data, is_success, remove};
use crate::envelope::{Code, key};
use crate::provider::Exception;
use crate::switches::{Fault, Leeway, Switches};
use cetp_vectors::bundle::{Bundle, Value};
use serde_json::json;

pub(super) fn reply(
    switches: &Switches,
    method: &str,
    extras: Option<&Bundle>,
    mut bundle: Bundle,
) -> Result<Bundle, Exception> {
    let Some(extras) = extras else {
        if switches.broken(Fault::V1NeedsExtras) {
            return Err(Exception { class: "java.lang.NullPointerException", message: String::new() });
        }
        return Ok(edit(switches, method, &Bundle::new(), &mut bundle));
    };
    Ok(edit(switches, method, extras, &mut bundle))
}

fn edit(switches: &Switches, method: &str, extras: &Bundle, bundle: &mut Bundle) -> Bundle {
    let known = ["list_tools", "get_provider_info", "execute_tool"];
    if switches.leeway(Leeway::V1WithoutInfo) && method == "get_provider_info" {
        return error(Code::ToolNotFound);
    }
    if switches.leeway(Leeway::V1WithoutInfo) && !known.contains(&method) {
        return error(Code::MethodNotFound);
    }
    if switches.broken(Fault::V1NeedsRequestId) && method == "execute_tool" && extras.get(key::REQUEST_ID).is_none() {
        return error(Code::InvalidArgs);
    }
    if !is_success(bundle) {
        if switches.broken(Fault::V1ErrorsWithoutMessage) {
            bundle.0.remove(key::ERROR_MESSAGE);
        }
        return bundle.clone();
    }
    if switches.broken(Fault::V1InV2Envelope) && method == "execute_tool" {
        edit_data(bundle, &|data| *data = json!({ "kind": "inline", "value": data.take() }));
    }
    if switches.broken(Fault::V1ListsInputSchema) && method == "list_tools" {
        edit_data(bundle, &|data| {
            for tool in data["tools"].as_array_mut().into_iter().flatten() {
                tool["input_schema"] = tool["parameters"].take();
                remove(tool, "parameters");
            }
        });
    }
    if switches.leeway(Leeway::V1WithMore) {
        bundle.0.insert("served_by".to_owned(), Value::string("the reference"));
        if method != "execute_tool" {
            edit_data(bundle, &|data| {
                data["revision"] = json!("tools-v1");
                data["provider_id"] = json!("org.cetp.reference");
                for tool in data["tools"].as_array_mut().into_iter().flatten() {
                    tool["input_schema"] = tool["parameters"].clone();
                    tool["annotations"] = json!({ "effect": "read" });
                }
            });
        }
    }
    bundle.clone()
}

fn error(code: Code) -> Bundle {
    Bundle::new()
        .with(key::STATUS, Value::string("error"))
        .with(key::ERROR_CODE, Value::string(code.name()))
        .with(key::ERROR_MESSAGE, Value::string("The call was refused."))
}
