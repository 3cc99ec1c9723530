//! Providers of version 1: the read-only bridge (§8). The main type is [`Legacy`].
//!
//! There is nothing to negotiate, nothing to retry and nothing to confirm. What comes is as little trusted as in version 2.

use super::context::Context;
use super::distort;
use super::json;
use super::limits::{MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS, MAX_TOOLS};
use super::outcome::{Data, Ending};
use super::peer::Address;
use super::reply::{Answer, Echo, new_id, read};
use super::schema::bounded;
use super::switches::Leeway;
use super::text::shown;
use crate::envelope::{Code, key};
use cetp_vectors::bundle::{Bundle, Value};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// A provider of version 1.
#[derive(Debug)]
pub struct Legacy {
    /// Where it is. Its package is who it is.
    pub address: Address,
    /// Its tools, by name.
    pub tools: BTreeMap<String, LegacyTool>,
}

/// A tool of version 1. It is a read, or it is not version 1.
#[derive(Debug)]
pub struct LegacyTool {
    /// For people and the agent: bounded, and data.
    pub description: String,
    /// The JSON Schema of its arguments, for the agent. Nothing is validated with it: version 1 names no dialect.
    pub parameters: Json,
}

impl Legacy {
    /// Asks a provider for its tools.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn list(cx: Context<'_>, address: Address) -> Result<Legacy, Ending> {
        let empty = Bundle::new();
        let extras = cx.leeway(Leeway::EmptyLegacyExtras).then_some(&empty);
        let data = ask(cx, &address, "list_tools", extras)?;
        let listed = data["tools"].as_array().filter(|tools| tools.len() <= MAX_TOOLS);
        let listed = listed.ok_or_else(|| Ending::refused("The list of tools cannot be used"))?;
        let mut tools = BTreeMap::new();
        for descriptor in listed {
            let alone = listed.iter().filter(|other| other["name"] == descriptor["name"]).count() == 1;
            if let Some((name, tool)) = LegacyTool::read(cx, descriptor).filter(|_| alone) {
                tools.insert(name, tool);
            }
        }
        Ok(Legacy { address, tools })
    }

    /// Executes a tool.
    ///
    /// # Errors
    /// Why there is no value.
    pub fn execute(&self, cx: Context<'_>, tool: &str, args: &str) -> Result<Data, Ending> {
        if !self.tools.contains_key(tool) {
            return Err(Ending::refused("The provider has no such tool that can be used"));
        }
        json::read_args(args).map_err(|why| Ending::refused(format!("The arguments cannot be sent: {why}")))?;
        let extras = Bundle::new()
            .with(key::TOOL_NAME, Value::string(tool))
            .with(key::ARGS, Value::string(args))
            .with(key::REQUEST_ID, Value::string(new_id()?));
        ask(cx, &self.address, "execute_tool", Some(&extras)).map(Data)
    }
}

impl LegacyTool {
    fn read(cx: Context<'_>, descriptor: &Json) -> Option<(String, LegacyTool)> {
        let name = descriptor["name"].as_str()?;
        // A name is only unique; one that is not shown as it is could be taken for another one.
        if name.is_empty() || shown(name, MAX_NAME_CHARS) != name {
            return None;
        }
        let parameters = descriptor.get("parameters").filter(|schema| schema.is_object() && bounded(schema))?;
        let description = descriptor["description"].as_str()?;
        let description =
            distort::description(cx, description).unwrap_or_else(|| shown(description, MAX_DESCRIPTION_CHARS));
        Some((name.to_owned(), LegacyTool { description, parameters: parameters.clone() }))
    }
}

fn ask(cx: Context<'_>, address: &Address, method: &str, extras: Option<&Bundle>) -> Result<Json, Ending> {
    match read(cx, cx.platform.call(&address.authority, method, extras), Echo::None) {
        Answer::Success(data, _) => Ok(data),
        Answer::Error(problem) => Err(problem.ending()),
        Answer::Lost(why) => Err(Ending::error(Code::Unavailable, why)),
        Answer::Accepted(_) => Err(Ending::refused("The answer is no answer of version 1")),
        Answer::Malformed(why) => Err(Ending::refused(why)),
    }
}
