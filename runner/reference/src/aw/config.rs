//! The configuration as far as admission and host need it. The main type is [`Configuration`].
//!
//! The text fixes what a configuration says (providers with `transport.argv` and a private `config`, events with ordered
//! steps, selectors, `on_error`, guarantees) and not how it is written. This is one way to write it, in JSON.

use super::selector::{Bends, Selectors};
use super::vocabulary::{EFFECTS, EVENTS};
use serde_json::{Map, Value as Json};

/// A configuration that was read. Whether it may be run, the admission says.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// Agents to which events belong, by id.
    pub targets: Vec<(String, Target)>,
    /// Providers by id.
    pub providers: Vec<(String, Provider)>,
    /// Events in the order of the vocabulary.
    pub events: Vec<Event>,
    /// Names of the guards that are enabled.
    pub guards: Vec<String>,
}

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its adapter.
    pub adapter: String,
    /// The configured binding.
    pub binding_id: String,
}

/// A provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// Its protocol.
    pub protocol: String,
    /// Where it runs.
    pub location: String,
    /// How it is reached.
    pub transport: String,
    /// Program and arguments, literally.
    pub argv: Vec<String>,
    /// Its private configuration: data that nobody else interprets.
    pub config: Json,
    /// Time limit of one call, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Cap of its standard output.
    pub max_output_bytes: Option<u64>,
}

/// An event with its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// One of the 16.
    pub name: String,
    /// Whether it is used.
    pub enabled: bool,
    /// How sure its delivery has to be.
    pub guarantee: String,
    /// Time for all its steps, in milliseconds.
    pub budget_ms: Option<u64>,
    /// Tools that it is for.
    pub selectors: Selectors,
    /// In order.
    pub steps: Vec<Step>,
}

/// A step of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name.
    pub id: String,
    /// `structured` is carried out by a provider; `boolean_hook` and `native_hook` are not ours.
    pub kind: String,
    /// The provider.
    pub provider: String,
    /// The operation of the provider.
    pub operation: String,
    /// Effects that it may have.
    pub effects: Vec<String>,
    /// What is done when it fails.
    pub on_error: String,
    /// Whether it is used.
    pub enabled: bool,
    /// Whether the configuration can do without it; decides nothing here.
    pub required: bool,
    /// Tools that it is for.
    pub selectors: Selectors,
}

/// A configuration that is none, with our own words for why.
pub type ConfigError = &'static str;

impl Configuration {
    /// Reads a configuration.
    ///
    /// # Errors
    /// What is wrong with it; nothing of its content is repeated.
    pub fn from_json(json: &Json, bends: Bends) -> Result<Configuration, ConfigError> {
        let root = object(json, "the configuration is no object")?;
        let list = |name: &str| root.get(name).and_then(Json::as_object).cloned().unwrap_or_default();
        let targets = list("targets").into_iter().map(|(id, json)| Ok((id, Target::read(&json)?)));
        let targets: Result<Vec<_>, ConfigError> = targets.collect();
        let providers = list("providers").into_iter().map(|(id, json)| Ok((id, Provider::read(&json)?)));
        let providers: Result<Vec<_>, ConfigError> = providers.collect();
        let mut events = Vec::new();
        let given = list("events");
        if given.keys().any(|name| !EVENTS.contains(&name.as_str())) {
            return Err("an event is unknown");
        }
        for name in EVENTS {
            if let Some(json) = given.get(name) {
                events.push(Event::read(name, json, bends)?);
            }
        }
        let guards = list("guards");
        let enabled = |(_, guard): &(&String, &Json)| guard["enabled"] != Json::Bool(false);
        let guards = guards.iter().filter(enabled).map(|(name, _)| name.clone()).collect();
        Ok(Configuration { targets: targets?, providers: providers?, events, guards })
    }

    /// The target of an id.
    pub fn target(&self, id: &str) -> Option<&Target> {
        self.targets.iter().find(|(known, _)| known == id).map(|(_, target)| target)
    }

    /// The provider of an id.
    pub fn provider(&self, id: &str) -> Option<&Provider> {
        self.providers.iter().find(|(known, _)| known == id).map(|(_, provider)| provider)
    }
}

fn object(json: &Json, what: ConfigError) -> Result<&Map<String, Json>, ConfigError> {
    json.as_object().ok_or(what)
}

fn text(json: &Json, name: &str, what: ConfigError) -> Result<String, ConfigError> {
    json.get(name).and_then(Json::as_str).map(str::to_owned).ok_or(what)
}

fn flag(json: &Json, name: &str) -> bool {
    json.get(name).and_then(Json::as_bool).unwrap_or(true)
}

impl Target {
    fn read(json: &Json) -> Result<Target, ConfigError> {
        const WHAT: ConfigError = "a target names its adapter and binding_id";
        Ok(Target { adapter: text(json, "adapter", WHAT)?, binding_id: text(json, "binding_id", WHAT)? })
    }
}

impl Provider {
    fn read(json: &Json) -> Result<Provider, ConfigError> {
        const WHAT: ConfigError = "a provider has a protocol, a location, a transport with argv, and a config";
        let transport = json.get("transport").ok_or(WHAT)?;
        let argv = transport["argv"].as_array().ok_or(WHAT)?;
        let argv: Option<Vec<String>> = argv.iter().map(|word| word.as_str().map(str::to_owned)).collect();
        let config = json.get("config").filter(|config| config.is_object()).cloned().ok_or(WHAT)?;
        Ok(Provider {
            protocol: text(json, "protocol", WHAT)?,
            location: text(json, "location", WHAT)?,
            transport: text(transport, "kind", WHAT)?,
            argv: argv.ok_or(WHAT)?,
            config,
            timeout_ms: json.get("timeout_ms").and_then(Json::as_u64),
            max_output_bytes: json.get("max_output_bytes").and_then(Json::as_u64),
        })
    }
}

impl Event {
    fn read(name: &str, json: &Json, bends: Bends) -> Result<Event, ConfigError> {
        object(json, "an event is no object")?;
        let steps = json.get("steps").and_then(Json::as_array).into_iter().flatten();
        let steps: Result<Vec<Step>, ConfigError> = steps.map(|step| Step::read(step, bends)).collect();
        Ok(Event {
            name: name.to_owned(),
            enabled: flag(json, "enabled"),
            guarantee: json.get("guarantee").and_then(Json::as_str).unwrap_or("native_hook").to_owned(),
            budget_ms: json.get("budget_ms").and_then(Json::as_u64),
            selectors: selectors(json, bends)?,
            steps: steps?,
        })
    }
}

impl Step {
    fn read(json: &Json, bends: Bends) -> Result<Step, ConfigError> {
        const WHAT: ConfigError = "a step has an id, effects, and what its kind needs";
        let kind = json.get("kind").and_then(Json::as_str).unwrap_or("structured").to_owned();
        let effects = json.get("effects").and_then(Json::as_array).ok_or(WHAT)?;
        let effects: Option<Vec<String>> =
            effects.iter().map(|word| word.as_str().filter(|word| EFFECTS.contains(word)).map(str::to_owned)).collect();
        let structured = kind == "structured";
        let of_provider = |name: &str| if structured { text(json, name, WHAT) } else { Ok(String::new()) };
        Ok(Step {
            id: text(json, "id", WHAT)?,
            provider: of_provider("provider")?,
            operation: of_provider("operation")?,
            kind,
            effects: effects.ok_or(WHAT)?,
            on_error: json.get("on_error").and_then(Json::as_str).unwrap_or("report").to_owned(),
            enabled: flag(json, "enabled"),
            required: flag(json, "required"),
            selectors: selectors(json, bends)?,
        })
    }
}

fn selectors(json: &Json, bends: Bends) -> Result<Selectors, ConfigError> {
    let list = match json.get("match").and_then(|m| m.get("tools")) {
        None => None,
        Some(list) => {
            let texts = |list: &Vec<Json>| list.iter().map(|text| text.as_str().map(str::to_owned)).collect();
            Some(list.as_array().and_then(texts).ok_or("match.tools is a list of texts")?)
        }
    };
    Selectors::new(list, bends)
}
