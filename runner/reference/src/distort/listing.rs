//! Switches of what is described: tools, scopes, revision (§3).

use super::{edit_data, remove};
use crate::catalogue::hex;
use crate::envelope::key;
use crate::lock;
use crate::provider::Call;
use crate::session::random_name;
use crate::switches::{Fault, Leeway, Switches};
use cetp_vectors::bundle::Bundle;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

/// What else a provider may list.
pub(crate) fn with_leeway(switches: &Switches, tools: &mut Vec<Json>) {
    if !switches.leeway(Leeway::MoreTools) {
        return;
    }
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://schemas.example.com/more.json",
        "type": "object",
        "properties": {
            "$ref": { "type": "string" },
            "price": { "$ref": "#/$defs/price" },
            "next": { "$ref": "#node" },
            "tree": { "$dynamicRef": "#node" },
            "pair": { "prefixItems": [{ "type": "number", "exclusiveMinimum": 0 }, true] },
        },
        "$defs": {
            "price": { "type": "number", "exclusiveMinimum": 0 },
            "node": { "$dynamicAnchor": "node", "type": ["object", "null"] },
        },
    });
    let more = |name: &str, effect: &str, risk: &str| {
        json!({
            "name": name, "title": "", "description": "", "input_schema": schema, "output_schema": true,
            "scopes": [], "since": 7, "icons": [{ "uri": "content://icons/1" }],
            "annotations": {
                "effect": effect, "risk": risk, "destructive": effect == "delete", "idempotent": false,
                "open_world": true, "confirmation": "always", "execution": "sync", "cost": "none",
            },
        })
    };
    tools.push(more("a", "delete", "low"));
    tools.push(more(&format!("z{}", "_9".repeat(31) + "x"), "transaction", "high"));
    tools.push(more("b1", "read", "moderate"));
}

/// Another revision, as it is put together with the list.
pub(crate) fn revision(switches: &Switches, tools: &[Json]) -> Option<String> {
    let parts: Vec<Json> = if switches.broken(Fault::RevisionConstant) {
        return Some("tools-1".to_owned());
    } else if switches.broken(Fault::RevisionOfNames) {
        tools.iter().map(|tool| tool["name"].clone()).collect()
    } else if switches.broken(Fault::RevisionWithoutAnnotations) {
        let parts = |tool: &Json| json!([tool["name"], tool["input_schema"], tool["output_schema"]]);
        tools.iter().map(parts).collect()
    } else {
        return None;
    };
    Some(format!("tools-{}", &hex(&Sha256::digest(json!(parts).to_string()))[..16]))
}

/// What is listed instead of the tools.
pub(crate) fn tools(switches: &Switches, tools: &mut Vec<Json>) {
    for tool in tools.iter_mut() {
        if switches.broken(Fault::SchemaRefersToNetwork) {
            tool["output_schema"] = json!({ "$ref": "https://schemas.example.com/result.json" });
        }
        if switches.broken(Fault::AnnotationMissing) {
            remove(&mut tool["annotations"], "open_world");
        }
        shape(switches, tool);
    }
    for (fault, name, pointer, value) in [
        (
            Fault::SchemaOfDraft4,
            "fixture_transfer",
            "/input_schema/properties/amount",
            json!({ "type": "integer", "minimum": 0, "exclusiveMinimum": true }),
        ),
        (
            Fault::DialectOfDraft4,
            "fixture_transfer",
            "/input_schema/properties/amount",
            json!({ "type": "integer", "exclusiveMinimum": 0 }),
        ),
        (
            Fault::SchemaOfTuples,
            "fixture_echo",
            "/output_schema/properties/value",
            json!({ "type": "array", "items": [{ "type": "integer" }] }),
        ),
        (
            Fault::SchemaRefersToFile,
            "fixture_echo",
            "/input_schema/properties/value",
            json!({ "anyOf": [{ "type": "array", "items": { "$ref": "common.json#/value" } }, true] }),
        ),
        (
            Fault::SchemaRefersToNothing,
            "fixture_append",
            "/output_schema/properties/entry",
            json!({ "$ref": "#/$defs/entry" }),
        ),
        (
            Fault::SchemaDynamicRefOutside,
            "fixture_echo",
            "/input_schema/properties/value",
            json!({ "not": { "$dynamicRef": "https://schemas.example.com/value.json#value" } }),
        ),
        (Fault::EffectWrite, "fixture_append", "/annotations/effect", json!("write")),
        (Fault::RiskMedium, "fixture_append", "/annotations/risk", json!("medium")),
        (Fault::ConfirmationUser, "fixture_transfer", "/annotations/confirmation", json!("user")),
        (Fault::ExecutionAsync, "fixture_echo", "/annotations/execution", json!("async")),
        (Fault::DestructiveByPolicy, "fixture_set", "/annotations/destructive", json!(true)),
        (Fault::DeleteByPolicy, "fixture_set", "/annotations/effect", json!("delete")),
        (Fault::TransactionByPolicy, "fixture_escalate", "/annotations/effect", json!("transaction")),
        (Fault::HighRiskByPolicy, "fixture_append", "/annotations/risk", json!("high")),
        (Fault::ToolScopesShort, "fixture_transfer", "/scopes", json!([])),
        (Fault::ListedAsRead, "fixture_append", "/annotations/effect", json!("read")),
        (Fault::ListedAsSync, "fixture_job", "/annotations/execution", json!("sync")),
        (Fault::ScopeNotInCatalogue, "fixture_echo", "/scopes", json!(["fixture.read", "fixture.other"])),
    ] {
        if switches.broken(fault) {
            set(tools, name, pointer, value);
        }
    }
    let raised = |tool: &Json| tool["name"] == "fixture_append" && tool["annotations"]["risk"] == "high";
    if switches.broken(Fault::RaisedRiskByPolicy) && tools.iter().any(raised) {
        set(tools, "fixture_append", "/annotations/confirmation", json!("provider_policy"));
    }
    names(switches, tools);
    if let Some(last) = tools.last_mut() {
        if switches.broken(Fault::SchemaTypeUnknown) {
            last["output_schema"]["type"] = json!("int");
        }
        if switches.broken(Fault::ToolWithoutOutputSchema) {
            remove(last, "output_schema");
        }
        if switches.broken(Fault::FlagsAsText) {
            for flag in ["destructive", "idempotent", "open_world"] {
                last["annotations"][flag] = json!(last["annotations"][flag].to_string());
            }
        }
    }
}

fn set(tools: &mut [Json], name: &str, pointer: &str, value: Json) {
    let tool = tools.iter_mut().find(|tool| tool["name"] == name);
    if let Some(place) = tool.and_then(|tool| tool.pointer_mut(pointer)) {
        *place = value;
    }
}

fn shape(switches: &Switches, tool: &mut Json) {
    if switches.broken(Fault::SchemaIsText) {
        for schema in ["input_schema", "output_schema"] {
            tool[schema] = json!(tool[schema].to_string());
        }
    }
    if switches.broken(Fault::ToolInCamelCase) {
        for (snake, camel) in [("input_schema", "inputSchema"), ("output_schema", "outputSchema")] {
            tool[camel] = tool[snake].take();
            remove(tool, snake);
        }
    }
    if switches.broken(Fault::ToolScopesAsText) {
        let scopes: Vec<&str> = tool["scopes"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        tool["scopes"] = json!(scopes.join(","));
    }
}

fn names(switches: &Switches, tools: &mut Vec<Json>) {
    let long = format!("fixture_{}", "x".repeat(57));
    for (fault, name) in [
        (Fault::ToolNameInUppercase, "fixtureEcho2"),
        (Fault::ToolNameOf65, long.as_str()),
        (Fault::ToolNameEndsInNewline, "fixture_echo2\n"),
        (Fault::ToolNameTwice, "fixture_blob"),
    ] {
        if switches.broken(fault) {
            let mut another = tools[0].clone();
            another["name"] = json!(name);
            tools.push(another);
        }
    }
}

/// A short text that is another for each session.
fn of_session(sent: &Bundle) -> String {
    hex(&Sha256::digest(sent.string(key::SESSION_TOKEN).unwrap_or_default()))[..6].to_owned()
}

pub(super) fn reply(call: &Call<'_>, method: &str, sent: &Bundle, bundle: &mut Bundle) {
    let of_process = format!("p{}", call.provider.life());
    let turn = |list: &mut Json| {
        if let Some(list) = list.as_array_mut().filter(|list| call.leeway(Leeway::ToolsInAnyOrder) && !list.is_empty())
        {
            let by = usize::from_str_radix(&of_session(sent), 16).unwrap_or_default() % list.len();
            list.rotate_left(by);
        }
    };
    if method == "get_provider_info" {
        edit_data(bundle, &|data| {
            turn(&mut data["scopes"]);
            info(call, sent, &of_process, data);
        });
        return;
    }
    edit_data(bundle, &|data| {
        turn(&mut data["tools"]);
        let rename = |tools: &mut Json, suffix: &str| {
            for tool in tools.as_array_mut().into_iter().flatten().filter(|tool| tool["name"] == "fixture_blob") {
                tool["name"] = json!(format!("fixture_blob_{suffix}"));
            }
        };
        if call.broken(Fault::ToolNameOfSession) {
            rename(&mut data["tools"], &of_session(sent));
        }
        if call.broken(Fault::ToolNameOfProcess) {
            rename(&mut data["tools"], &of_process);
        }
        if call.broken(Fault::RevisionOfMoment) {
            data["revision"] = json!(random_name("tools-").unwrap_or_default());
        }
        if call.broken(Fault::RevisionOfProcess) {
            data["revision"] = json!(format!("tools-{of_process}"));
        }
        if call.broken(Fault::RevisionCountsFromStart) {
            data["revision"] = json!(format!("tools-{}", lock(&call.provider.fault_memory).len()));
        }
        if call.leeway(Leeway::RevisionIsNumber) {
            let text = data["revision"].as_str().unwrap_or_default().to_owned();
            let digits: String = text.chars().filter(char::is_ascii_hexdigit).take(8).collect();
            data["revision"] = json!(u32::from_str_radix(&digits, 16).unwrap_or_default());
        }
        if call.broken(Fault::ListWithoutRevision) {
            remove(data, "revision");
        }
        if call.broken(Fault::ToolsByName) {
            let tools = data["tools"].as_array().cloned().unwrap_or_default();
            let named = tools.into_iter().map(|tool| (tool["name"].as_str().unwrap_or_default().to_owned(), tool));
            data["tools"] = Json::Object(named.collect());
        }
    });
}

fn info(call: &Call<'_>, sent: &Bundle, of_process: &str, data: &mut Json) {
    super::negotiated::provider_id(call, data);
    if call.broken(Fault::InfoWithoutDescription) {
        remove(data, "description");
    }
    if call.broken(Fault::InfoIdIsAuthority) {
        data["provider_id"] = json!(call.provider.setup.application.about().authority);
    }
    if call.broken(Fault::DialectOfDraft4) {
        data["schema_dialect"] = json!("http://json-schema.org/draft-04/schema#");
    }
    if call.leeway(Leeway::DialectOfDraft7) {
        data["schema_dialect"] = json!("http://json-schema.org/draft-07/schema#");
    }
    if call.leeway(Leeway::InfoWithoutDialect) {
        remove(data, "schema_dialect");
    }
    let mut set = |fault: Fault, member: &str, value: Json| {
        let scope = data["scopes"].as_array_mut().and_then(|scopes| scopes.last_mut());
        if let Some(scope) = scope.filter(|_| call.broken(fault)) {
            scope[member] = value;
        }
    };
    set(Fault::ScopeNameInUppercase, "name", json!("fixture.Secret"));
    set(Fault::ScopeNameOf129, "name", json!("s".repeat(129)));
    set(Fault::ScopeNameOfProcess, "name", json!(format!("fixture.secret.{of_process}")));
    set(Fault::ScopeNameOfSession, "name", json!(format!("fixture.secret.{}", of_session(sent))));
    set(Fault::ScopeAccessAdmin, "access", json!("admin"));
    set(Fault::ScopeSensitivityLow, "sensitivity", json!("low"));
    set(Fault::ScopeWithoutSensitivity, "sensitivity", Json::Null);
    if call.broken(Fault::ScopesAreNames) {
        data["scopes"] = data["scopes"].as_array().into_iter().flatten().map(|scope| scope["name"].clone()).collect();
    }
}
