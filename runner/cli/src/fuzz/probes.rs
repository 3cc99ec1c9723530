//! Requests that stand alone and leave no trace: what a campaign puts between the actions of the model. The main type is
//! [`Probes`].
//!
//! They are the vectors of the generators of messages and arguments, taken apart into one request each, and those short vectors of
//! the suite that only read: what a provider tells of itself, and what reading tools give.

use super::scenes::is_large;
use cetp_vectors::generate::GENERATORS;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::{Kind, Vector};
use cetp_vectors::spec::render::{Script, level};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// One probe.
struct Probe {
    steps: Vec<Json>,
    about: &'static str,
    capabilities: Vec<&'static str>,
    /// The repeat that is taken apart, and how many values it has.
    rounds: Option<(usize, usize)>,
}

/// All probes that a target can take.
#[derive(Default)]
pub struct Probes(Vec<Probe>);

/// Generators whose vectors are taken apart.
const SOURCES: [&str; 2] = ["messages", "arguments"];
/// Methods that only tell.
const TELLING: [&str; 3] = ["negotiate", "list_tools", "get_provider_info"];
/// Tools that read.
const READING: [&str; 5] = ["fixture_echo", "fixture_blob", "fixture_bad_output", "fixture_crash", "fixture_busy"];
/// A look that goes on longer is no look.
const MOST_STEPS: usize = 5;

impl Probes {
    /// The probes for a target that is, or is not, one of both versions, and has these capabilities; with those that a
    /// person wrote only if asked for.
    ///
    /// # Errors
    /// A generator fails.
    pub fn new(catalogue: &Catalogue, dual: bool, capabilities: &[String], written: bool) -> Result<Probes, String> {
        let mut out = Vec::new();
        for generator in GENERATORS.iter().filter(|generator| SOURCES.contains(&generator.name)) {
            for text in generator.files(generator.seed)?.values() {
                let file: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
                out.extend(file["vectors"].as_array().into_iter().flatten().filter_map(|v| probe(v, dual)));
            }
        }
        let telling = catalogue.vectors.iter().filter(|vector| written && tells(vector, dual));
        out.extend(telling.filter_map(|vector| probe(&vector.source, dual)));
        out.retain(|probe| probe.capabilities.iter().all(|name| capabilities.iter().any(|has| has == name)));
        Ok(Probes(out))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts one into a script; of its values the one of this number is taken.
    pub fn put(&self, probe: usize, value: usize, script: &mut Script) {
        let Some(probe) = self.0.get(probe % self.0.len().max(1)) else { return };
        let mut steps = probe.steps.clone();
        if let Some((place, count)) = probe.rounds {
            let one = steps[place]["over"][value % count].clone();
            steps[place]["over"] = json!([one]);
        }
        let number = script.number();
        let steps = renamed(&json!(steps), number);
        let steps = steps.as_array().cloned().unwrap_or_default();
        script.insert(steps, &probe.capabilities, &[], probe.about);
    }
}

/// Whether a vector only looks: at what a provider tells of itself, or at what reading tools give.
fn tells(vector: &Vector, dual: bool) -> bool {
    let looks = |kind: &Kind| match kind {
        Kind::Call(call) => match (call.method.as_str(), call.tool.as_ref().and_then(Json::as_str)) {
            (Some("execute_tool"), Some(tool)) => READING.contains(&tool),
            (Some(method), _) => TELLING.contains(&method),
            _ => false,
        },
        Kind::Read { .. } | Kind::Close { .. } => true,
        Kind::Observe { name, .. } => name == "manifest",
        Kind::Let(_) | Kind::Expect | Kind::Repeat { .. } => true,
        _ => false,
    };
    let steps = vector.all_steps();
    vector.suite == "cetp-v2"
        && vector.role == Role::Provider
        && vector.stack.fits(dual)
        && vector.generated.is_none()
        && !is_large(vector)
        && steps.len() <= MOST_STEPS
        && steps.iter().all(|step| looks(&step.kind))
}

fn probe(vector: &Json, dual: bool) -> Option<Probe> {
    let fits = match vector["stack"].as_str() {
        None => vector["level"] != "v1_compat" || dual,
        Some("dual") => dual,
        Some(_) => !dual,
    };
    let about = known(vector["requirements"][0].as_str()?)?;
    let mut steps = vector["steps"].as_array().filter(|_| fits)?.clone();
    // The model looks at the ledger of all in the end, and knows of no other effect. A probe whose own effect was right
    // would not fit into it.
    let own_look = |step: &Json| step["tool"] == "fixture_ledger" && step["call"] == "execute_tool";
    if writes(vector) {
        return None;
    }
    steps.retain(|step| !own_look(step) && step["save"] != "later_on");
    let rounds = steps.iter().position(|step| step["over"].as_array().is_some_and(|list| list.len() > 1));
    let rounds = rounds.map(|place| (place, steps[place]["over"].as_array().map_or(1, Vec::len)));
    let mut capabilities: Vec<&'static str> = ["async_operations", "cancellation", "large_results"]
        .into_iter()
        .filter(|name| vector["capabilities"].to_string().contains(name) || vector["level"] == *name)
        .collect();
    capabilities.dedup();
    Some(Probe { steps, about, capabilities, rounds })
}

/// Whether some call of a vector is meant to have an effect, which the model would not know of.
fn writes(vector: &Json) -> bool {
    let id = vector["id"].as_str().unwrap_or_default();
    let starts_operation = vector["steps"].as_array().into_iter().flatten().any(|step| step["request"] == "job");
    let conforming = id.contains("that-conform") && !id.contains("echo") && !id.contains("blob");
    starts_operation || conforming
}

/// A requirement as the ledger has it, for ever.
fn known(id: &str) -> Option<&'static str> {
    level(id)?;
    static IDS: std::sync::LazyLock<Vec<String>> = std::sync::LazyLock::new(|| {
        let reader = cetp_vectors::reader::Reader::new("cetp-v2");
        reader.map(|reader| reader.ledger().iter().map(|row| row.id.clone()).collect()).unwrap_or_default()
    });
    IDS.iter().find(|known| *known == id).map(String::as_str)
}

/// Names that a probe gives to answers and requests must not meet those of the model or of another probe.
fn renamed(json: &Json, number: usize) -> Json {
    let mut names = BTreeSet::new();
    given(json, &mut names);
    with_names(json, &names, &|name| format!("p{number}_{name}"))
}

/// Names that steps give to answers, values and requests.
fn given(json: &Json, names: &mut BTreeSet<String>) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| given(item, names)),
        Json::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("save", Json::String(text)) => drop(names.insert(text.clone())),
                    ("request", Json::String(text)) if !text.contains('$') => drop(names.insert(text.clone())),
                    ("let", Json::Object(values)) => names.extend(values.keys().cloned()),
                    _ => given(value, names),
                }
            }
        }
        _ => {}
    }
}

fn with_names(json: &Json, names: &BTreeSet<String>, new: &dyn Fn(&str) -> String) -> Json {
    match json {
        Json::String(text) => {
            let mut text = text.clone();
            for name in names {
                for (before, after) in [("${", "."), ("${", "}"), ("${uuid.", "}")] {
                    text = text.replace(&format!("{before}{name}{after}"), &format!("{before}{}{after}", new(name)));
                }
            }
            Json::String(text)
        }
        Json::Array(items) => items.iter().map(|item| with_names(item, names, new)).collect(),
        Json::Object(members) => members
            .iter()
            .map(|(name, value)| {
                let is_name = ["save", "session", "resume", "request", "$uuid", "reply", "list", "first", "job", "end"];
                let value = match (name.as_str(), value) {
                    (key, Json::String(text)) if is_name.contains(&key) && names.contains(text) => json!(new(text)),
                    ("let", Json::Object(values)) => {
                        values.iter().map(|(name, value)| (new(name), with_names(value, names, new))).collect()
                    }
                    _ => with_names(value, names, new),
                };
                (name.clone(), value)
            })
            .collect(),
        other => other.clone(),
    }
}
