//! Tables for unit tests in any language, from `catalogue/tables.json`: what is read or received, and what follows from it.
//! The main function is [`files`].
//!
//! A table has a `base`, which is what its cases have in common, and `cases`: each sets or removes members of the base by JSON
//! Pointer. A file has every case written out, so that a test needs nothing but a reader of JSON. What can be computed is:
//! `{"$json": value}` becomes a text of JSON, `{"$repeat": [text, times]}` a long text, `${bytes}` and `${sha256}` stand for
//! those of the case's `content`, and a `bundle` gets its size.

use super::{Files, catalogue, layout};
use crate::bundle::Bundle;
use crate::expr::sha256_hex;
use crate::parcel::{Api, bundle_size};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

const SOURCE: &str = "catalogue/tables.json";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    #[serde(rename = "format")]
    _format: Format,
    tables: Vec<Table>,
}

#[derive(Deserialize)]
enum Format {
    #[serde(rename = "cetp-tables/1")]
    One,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The name of its file.
    name: String,
    /// What a case is, for people.
    about: String,
    /// What a consumer does where a case says nothing else; without it the table is about neither side.
    consumer: Option<Consumer>,
    base: Map<String, Json>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    #[serde(default)]
    set: Map<String, Json>,
    #[serde(default)]
    remove: Vec<String>,
    /// The requirement that a provider breaks who sends this.
    breaks: Option<String>,
    consumer: Option<Consumer>,
    /// The requirement that decides what a consumer does.
    requirement: Option<String>,
    /// Further results.
    #[serde(default)]
    gives: Map<String, Json>,
}

/// What a consumer does with what it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Consumer {
    Accepts,
    Refuses,
    ShouldRefuse,
    Free,
    MayRetry,
    Final,
}

pub(super) fn files(seed: u64) -> Result<Files, String> {
    let tables: Tables = catalogue(SOURCE)?;
    let ledger = Ledger::read()?;
    let mut files = Files::new();
    for table in &tables.tables {
        let mut seen = BTreeSet::new();
        let mut cases = Vec::new();
        for case in &table.cases {
            let place = format!("{}, {}", table.name, case.name);
            if !seen.insert(&case.name) {
                return Err(format!("{place}: the name occurs twice"));
            }
            ledger.check(case).map_err(|error| format!("{place}: {error}"))?;
            cases.push(written_out(table, case).map_err(|error| format!("{place}: {error}"))?);
        }
        let generated = json!({ "generator": "tables", "seed": seed, "source": SOURCE });
        files.insert(
            format!("cetp-v2/tables/{}.json", table.name),
            layout::table("cetp-v2", &table.about, &generated, &cases),
        );
    }
    Ok(files)
}

/// The members of a case, in the order in which they are written.
fn written_out(table: &Table, case: &Case) -> Result<Vec<(String, Json)>, String> {
    let mut input = Json::Object(table.base.clone());
    for (pointer, value) in &case.set {
        set(&mut input, pointer, value.clone()).ok_or_else(|| format!("{pointer} has no place"))?;
    }
    for pointer in &case.remove {
        remove(&mut input, pointer).ok_or_else(|| format!("there is no {pointer}"))?;
    }
    let content = input.get("content").and_then(Json::as_str).map(str::to_owned);
    fill(&mut input, content.as_deref());
    let mut gives = case.gives.clone();
    if let Some(reply) = input.get("reply") {
        Bundle::from_json(reply).map_err(|error| format!("reply: {error}"))?;
    }
    if let Some(bundle) = input.get("bundle") {
        gives.extend(size(bundle)?);
    }
    let mut members = vec![("name".to_owned(), json!(case.name))];
    members.extend(input.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
    members.extend(gives);
    if let Some(consumer) = case.consumer.or(table.consumer) {
        members.push(("breaks".to_owned(), json!(case.breaks)));
        members.push(("consumer".to_owned(), json!(consumer)));
        members.extend(case.requirement.iter().map(|id| ("requirement".to_owned(), json!(id))));
    }
    Ok(members)
}

fn split(pointer: &str) -> Option<(&str, String)> {
    let (parent, name) = pointer.rsplit_once('/')?;
    Some((parent, name.replace("~1", "/").replace("~0", "~")))
}

fn set(input: &mut Json, pointer: &str, value: Json) -> Option<()> {
    let (parent, name) = split(pointer)?;
    match input.pointer_mut(parent)? {
        Json::Object(members) => drop(members.insert(name, value)),
        Json::Array(items) if name.parse() == Ok(items.len()) => items.push(value),
        Json::Array(items) => *items.get_mut(name.parse::<usize>().ok()?)? = value,
        _ => return None,
    }
    Some(())
}

fn remove(input: &mut Json, pointer: &str) -> Option<()> {
    let (parent, name) = split(pointer)?;
    input.pointer_mut(parent)?.as_object_mut()?.remove(&name).map(drop)
}

/// Computes what is to be computed, from the inside out.
fn fill(value: &mut Json, content: Option<&str>) {
    match value {
        Json::Array(items) => items.iter_mut().for_each(|item| fill(item, content)),
        Json::Object(members) => {
            members.values_mut().for_each(|member| fill(member, content));
            let sole = members.iter().next().filter(|_| members.len() == 1);
            let computed = match sole.map(|(name, inner)| (name.as_str(), inner)) {
                Some(("$json", inner)) => Some(inner.to_string()),
                Some(("$repeat", Json::Array(parts))) => {
                    let times = parts.get(1).and_then(Json::as_u64).unwrap_or_default();
                    let text = parts.first().and_then(Json::as_str).unwrap_or_default();
                    Some(text.repeat(usize::try_from(times).unwrap_or_default()))
                }
                _ => None,
            };
            if let Some(text) = computed {
                *value = Json::String(text);
            }
        }
        Json::String(text) => {
            let computed = match (text.as_str(), content) {
                ("${bytes}", Some(content)) => json!(content.len()),
                ("${sha256}", Some(content)) => json!(sha256_hex(content.as_bytes())),
                ("${SHA256}", Some(content)) => json!(sha256_hex(content.as_bytes()).to_uppercase()),
                _ => return,
            };
            *value = computed;
        }
        _ => {}
    }
}

/// The size of a Bundle at each level that differs.
fn size(bundle: &Json) -> Result<Map<String, Json>, String> {
    let bundle = match bundle {
        Json::Null => None,
        bundle => Some(Bundle::from_json(bundle).map_err(|error| format!("bundle: {error}"))?),
    };
    let mut bytes = Map::new();
    for (name, api) in [("up_to_32", Api::UpTo32), ("from_33", Api::From33), ("from_36", Api::From36)] {
        let size = bundle_size(bundle.as_ref(), api);
        if !size.exact {
            return Err("only the platform knows the size of this Bundle".into());
        }
        bytes.insert(name.to_owned(), json!(size.bytes));
    }
    Ok(Map::from_iter([("bytes".to_owned(), Json::Object(bytes))]))
}

/// Whom each requirement binds.
struct Ledger(BTreeMap<String, String>);

impl Ledger {
    fn read() -> Result<Ledger, String> {
        let json: Json = catalogue("requirements/cetp-v2.json")?;
        let text = |row: &Json, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let rows = json["requirements"].as_array().into_iter().flatten();
        Ok(Ledger(rows.map(|row| (text(row, "id"), text(row, "role"))).collect()))
    }

    fn check(&self, case: &Case) -> Result<(), String> {
        for (id, role) in [(&case.breaks, "provider"), (&case.requirement, "consumer")] {
            let Some(id) = id else { continue };
            match self.0.get(id).map(String::as_str) {
                Some(binds) if binds == role || binds == "both" => {}
                Some(binds) => return Err(format!("{id} binds the {binds}, not the {role}")),
                None => return Err(format!("{id} is in no ledger")),
            }
        }
        Ok(())
    }
}
