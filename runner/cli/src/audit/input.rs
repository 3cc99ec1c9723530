//! Where tools come from: a file or a target. The main functions are [`from_file`] and [`from_target`].

use super::tool::{Access, Form, MOST_LEVELS, Provider, Tool, too_deep};
use crate::builtin;
use crate::exit::Stop;
use crate::listing::{Asked, Listing};
use cetp_runner::engine;
use cetp_vectors::json::{Limits, parse};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::path::Path;

/// The most tools of a provider that are looked at: no model and no person reads more.
const MOST_TOOLS: usize = 5_000;

/// What is read of a file: a listing of the largest kind is far below.
const LIMITS: Limits = Limits { max_bytes: 16 << 20, ..Limits::DATA };

/// JSON Pointer to what is wrong, and why.
pub type Wrong = (String, String);

/// The tools of a file: the data of a `list_tools`, an array of descriptors, or a list of MCP.
///
/// # Errors
/// It is none of them, with the place of what is wrong.
pub fn from_file(path: &Path) -> Result<Provider, Stop> {
    let name = path.display().to_string();
    let text = std::fs::read(path).map_err(|error| Stop::usage(format!("{name}: {error}")))?;
    let json = parse(&text, LIMITS).map_err(|error| Stop::usage(format!("{name}: {error}")))?;
    from_json(&name, json).map_err(|(pointer, why)| Stop::usage(format!("{name}{}: {why}", at(&pointer))))
}

fn at(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" at {pointer}") }
}

/// The tools of a document.
///
/// # Errors
/// JSON Pointer to what is wrong, and why.
pub fn from_json(label: &str, json: Json) -> Result<Provider, Wrong> {
    const SHAPES: &str = "it holds no tools: an array of descriptors, or an object whose member tools is one";
    let (base, info, tools) = match json {
        Json::Array(tools) => (String::new(), Map::new(), tools),
        Json::Object(mut members) => {
            let inner = members.get_mut("result").filter(|result| result.get("tools").is_some()).map(Json::take);
            let (base, mut members) = match inner {
                Some(Json::Object(inner)) => ("/result", inner),
                _ => ("", members),
            };
            match members.remove("tools") {
                Some(Json::Array(tools)) => (format!("{base}/tools"), members, tools),
                Some(_) => return Err((format!("{base}/tools"), "tools are an array of descriptors".into())),
                None => return Err((String::new(), SHAPES.into())),
            }
        }
        _ => return Err((String::new(), SHAPES.into())),
    };
    let mut provider = Provider {
        label: label.to_owned(),
        scopes: catalogue(info.get("scopes"))?,
        dialect: info.get("schema_dialect").and_then(Json::as_str).map(str::to_owned),
        notes: Vec::new(),
        tools: tools_of(tools, &base)?,
        info: Json::Null,
    };
    if info.get("nextCursor").is_some_and(|cursor| !cursor.is_null()) {
        provider.notes.push("The listing goes on (nextCursor): what is not in it is not judged.".into());
    }
    provider.info = Json::Object(info);
    if too_deep(&provider.info) {
        return Err((String::new(), deep()));
    }
    Ok(provider)
}

fn deep() -> String {
    format!("nested deeper than {MOST_LEVELS} levels")
}

fn tools_of(list: Vec<Json>, base: &str) -> Result<Vec<Tool>, Wrong> {
    if list.is_empty() {
        return Err((base.to_owned(), "it lists no tool: there is nothing to audit".into()));
    }
    if list.len() > MOST_TOOLS {
        return Err((base.to_owned(), format!("it lists more than {MOST_TOOLS} tools")));
    }
    let read = |(n, descriptor): (usize, Json)| {
        if too_deep(&descriptor) {
            return Err((format!("{base}/{n}"), deep()));
        }
        Tool::read(descriptor).map_err(|(pointer, why)| (format!("{base}/{n}{pointer}"), why))
    };
    list.into_iter().enumerate().map(read).collect()
}

/// What the scopes of a catalogue allow. An access that is neither leaves the scope out: its name is looked at then.
fn catalogue(scopes: Option<&Json>) -> Result<Option<BTreeMap<String, Access>>, Wrong> {
    let Some(scopes) = scopes.filter(|scopes| !scopes.is_null()) else { return Ok(None) };
    let list = scopes.as_array().ok_or(("/scopes".to_owned(), "the catalogue of scopes is an array".to_owned()))?;
    let mut out = BTreeMap::new();
    for (n, scope) in list.iter().enumerate() {
        let Some(name) = scope["name"].as_str() else {
            return Err((format!("/scopes/{n}"), "a scope has a name".into()));
        };
        let access = match scope["access"].as_str() {
            Some("read") => Access::Read,
            Some("write") => Access::Write,
            _ => continue,
        };
        out.insert(name.to_owned(), access);
    }
    Ok(Some(out))
}

/// The tools that a target lists, by v2 and, where it has one, by v1.
///
/// # Errors
/// There is no such target, it cannot be driven, or what it lists are no tools.
pub fn from_target(name: &str) -> Result<Provider, Stop> {
    let target = builtin::opener(false).open(name).map_err(|error| Stop::usage(error.to_string()))?;
    let gone = |error: String| Stop::target(target.redactor.cut_text(&format!("{name}: {error}")));
    let adapter = target.adapter.as_ref();
    let (mut session, _, describe) = engine::describe(adapter).map_err(|fault| gone(fault.to_string()))?;
    let asked = (|| {
        let mut asked = Asked::begin(session.as_mut(), &describe, adapter.limits().start())?;
        let v2 = if describe.versions.contains(&2) { Some(asked.v2(&describe.capabilities)?) } else { None };
        let v1 = if describe.versions.contains(&1) { Some(asked.v1()?) } else { None };
        Ok((v2, v1))
    })();
    session.end();
    let (v2, v1): (Option<Listing>, Option<Vec<Json>>) = asked.map_err(gone)?;
    let hide = |json: &Json| target.redactor.json(json);
    let wrong = |(pointer, why): Wrong| gone(format!("what it lists{}: {why}", at(&pointer)));
    let mut provider = match &v2 {
        Some(listing) => {
            let mut info = hide(&listing.info);
            info["schema_dialect"] = json!(listing.dialect);
            info["tools"] = listing.tools.iter().map(hide).collect();
            from_json(name, info).map_err(wrong)?
        }
        None => Provider {
            label: name.to_owned(),
            info: Json::Null,
            scopes: None,
            dialect: None,
            notes: Vec::new(),
            tools: Vec::new(),
        },
    };
    if let Some(v1) = v1 {
        beside(&mut provider, v1.iter().map(hide).collect(), v2.is_some()).map_err(wrong)?;
    }
    if provider.tools.is_empty() {
        return Err(gone("it lists no tool: there is nothing to audit".into()));
    }
    Ok(provider)
}

/// Puts the tools of v1 beside those of v2: only what v2 does not say in the same words.
fn beside(provider: &mut Provider, v1: Vec<Json>, has_v2: bool) -> Result<(), Wrong> {
    if v1.is_empty() {
        provider.notes.push("v1 lists no tool.".into());
        return Ok(());
    }
    let mut tools = tools_of(v1, "/tools (v1)")?;
    let count = tools.len();
    // It is v1 whatever its members are called.
    tools.iter_mut().for_each(|tool| tool.be(Form::V1));
    tools.retain(|tool| {
        let same = |other: &Tool| {
            other.name == tool.name
                && !other.writes()
                && other.text("description") == tool.text("description")
                && other.input().map(|(_, schema)| schema) == tool.input().map(|(_, schema)| schema)
        };
        !provider.tools.iter().any(same)
    });
    if has_v2 {
        let same = count - tools.len();
        provider.notes.push(format!("v1 lists {count} tools, {same} of them in the words of v2."));
    }
    provider.tools.extend(tools);
    Ok(())
}
