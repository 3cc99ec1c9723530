//! What a provider tells of itself and its tools, checked (§3). The main types are [`Tool`] and [`Catalogue`].
//!
//! Unknown members are ignored. A member that must be there and is not, or is of another type, is never made up, and
//! neither is a value that the specification does not know: that would turn what nobody said into a promise (§3.2).
//! A broken tool is left out; a broken provider is not used.

use super::context::Context;
use super::distort;
use super::limits::{MAX_DESCRIPTION_CHARS, MAX_SCOPES, MAX_TOOLS};
use super::reply::fits;
use super::schema::Schema;
use super::switches::Leeway;
use super::text::shown;
use crate::catalogue::DIALECT;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The main effect of a tool (§3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the value of the same name in §3.4")]
pub enum Effect {
    Read,
    Create,
    Update,
    Delete,
    Transaction,
}

/// How grave a mistake with a tool is (§3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the value of the same name in §3.4")]
pub enum Risk {
    Low,
    Moderate,
    High,
}

/// When the provider asks its user (§3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the value of the same name in §3.4")]
pub enum Confirmation {
    Never,
    ProviderPolicy,
    Always,
}

/// The annotations of a tool. They serve to arrange a user interface and are no security boundary (§3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotations {
    /// `effect`.
    pub effect: Effect,
    /// `risk`.
    pub risk: Risk,
    /// `destructive`.
    pub destructive: bool,
    /// `idempotent`. It changes nothing here: every repetition has the same `request_id` (§6).
    pub idempotent: bool,
    /// `open_world`.
    pub open_world: bool,
    /// `confirmation`.
    pub confirmation: Confirmation,
    /// Whether `execution` is `sync_or_async`.
    pub may_be_async: bool,
}

/// A tool that can be used.
#[derive(Debug)]
pub struct Tool {
    /// Its name: what calls are routed by, together with `provider_id` (§3.1).
    pub name: String,
    /// For people and the agent: bounded, and data.
    pub description: String,
    /// Every scope that it takes.
    pub scopes: Vec<String>,
    /// Its annotations.
    pub annotations: Annotations,
    /// What arguments must conform to.
    pub input: Schema,
    /// What values must conform to.
    pub output: Schema,
    /// The descriptor as it came, to tell whether it is still the same tool.
    pub descriptor: Json,
}

impl Tool {
    /// Whether it has an effect.
    pub fn writes(&self) -> bool {
        self.annotations.effect != Effect::Read
    }

    fn read(cx: Context<'_>, descriptor: &Json) -> Option<Tool> {
        let name = descriptor["name"].as_str().filter(|name| is_tool_name(name) || distort::name_is_taken(cx))?;
        let scopes = descriptor["scopes"].as_array().filter(|scopes| scopes.len() <= MAX_SCOPES)?;
        let annotations = Annotations::read(cx, &descriptor["annotations"])?;
        // §3.4: what cannot be undone is confirmed every time. Who declares it otherwise is not to be trusted with it.
        if annotations.is_grave() && annotations.confirmation != Confirmation::Always {
            return None;
        }
        let most = if cx.leeway(Leeway::LongTexts) { 60_000 } else { MAX_DESCRIPTION_CHARS };
        let description = descriptor["description"].as_str()?;
        Some(Tool {
            name: name.to_owned(),
            description: distort::description(cx, description).unwrap_or_else(|| shown(description, most)),
            scopes: scopes
                .iter()
                .map(|scope| scope.as_str().filter(|name| is_scope_name(name)).map(str::to_owned))
                .collect::<Option<_>>()?,
            annotations,
            input: Schema::read(descriptor.get("input_schema")?).ok()?,
            output: Schema::read(descriptor.get("output_schema")?).ok()?,
            descriptor: descriptor.clone(),
        })
    }
}

impl Annotations {
    fn read(cx: Context<'_>, annotations: &Json) -> Option<Annotations> {
        let text = |name: &str| annotations[name].as_str();
        let flag = |name: &str| annotations[name].as_bool();
        Some(Annotations {
            effect: match text("effect")? {
                "read" => Effect::Read,
                "create" => Effect::Create,
                "update" => Effect::Update,
                "delete" => Effect::Delete,
                "transaction" => Effect::Transaction,
                _ => return None,
            },
            risk: match text("risk")? {
                "low" => Risk::Low,
                "moderate" => Risk::Moderate,
                "high" => Risk::High,
                _ => return None,
            },
            destructive: flag("destructive")?,
            idempotent: flag("idempotent")?,
            open_world: flag("open_world")?,
            confirmation: match text("confirmation")? {
                "never" => Confirmation::Never,
                "provider_policy" => Confirmation::ProviderPolicy,
                "always" => Confirmation::Always,
                _ => return None,
            },
            may_be_async: match text("execution")? {
                "sync" => false,
                "sync_or_async" => true,
                // Its strictest reading: it may be anything, and everything is checked.
                _ if cx.leeway(Leeway::UnknownValuesStrictest) => true,
                _ => return None,
            },
        })
    }

    fn is_grave(&self) -> bool {
        matches!(self.effect, Effect::Delete | Effect::Transaction) || self.destructive || self.risk == Risk::High
    }
}

/// `list_tools`, checked (§3.3).
#[derive(Debug)]
pub struct Catalogue {
    /// Equal revisions, equal tools: a catalogue is kept for as long as a new session shows its revision.
    pub revision: String,
    /// The tools that can be used, by name.
    pub tools: BTreeMap<String, Arc<Tool>>,
}

impl Catalogue {
    /// The revision of a reply, by which a kept catalogue can be used again.
    ///
    /// # Errors
    /// There is none.
    pub fn revision(data: &Json) -> Result<&str, &'static str> {
        data["revision"].as_str().filter(|revision| fits(revision)).ok_or("its list of tools has no revision")
    }

    /// Checks `data`.
    ///
    /// # Errors
    /// Why the provider cannot be used.
    pub fn read(cx: Context<'_>, data: &Json) -> Result<Catalogue, &'static str> {
        let revision = Catalogue::revision(data)?.to_owned();
        let listed = data["tools"].as_array().ok_or("its list of tools is no list")?;
        if listed.len() > MAX_TOOLS {
            return Err("it has too many tools");
        }
        let mut tools = BTreeMap::new();
        for descriptor in listed {
            // §3.1: names are unique. Of two tools of one name nobody can say which one is meant.
            let name = &descriptor["name"];
            let alone = listed.iter().filter(|other| other["name"] == *name).count() == 1;
            match Tool::read(cx, descriptor).filter(|_| alone) {
                Some(tool) => drop(tools.insert(tool.name.clone(), Arc::new(tool))),
                None if cx.leeway(Leeway::OneBadToolRefusesAll) => return Err("one of its tools cannot be used"),
                None => {}
            }
        }
        Ok(Catalogue { revision, tools })
    }
}

/// Checks `data` of `get_provider_info` against the id that was negotiated (§3.2).
///
/// # Errors
/// Why the provider cannot be used.
pub fn check_info(cx: Context<'_>, provider_id: &str, info: &Json) -> Result<(), &'static str> {
    if info["provider_id"].as_str() != Some(provider_id) {
        return Err("it tells another provider_id than it negotiated with");
    }
    if !info["provider_name"].is_string() || !info["description"].is_string() {
        return Err("its name or description is missing");
    }
    match &info["schema_dialect"] {
        // The default.
        Json::Null => {}
        Json::String(dialect) if dialect.trim_end_matches('#') == DIALECT => {}
        _ => return Err("its schemas are of another dialect"),
    }
    let scopes = info["scopes"].as_array().ok_or("its scopes are no list")?;
    if scopes.len() > MAX_SCOPES {
        return Err("it has too many scopes");
    }
    let strictest = cx.leeway(Leeway::UnknownValuesStrictest);
    let one_of = |value: &Json, known: &[&str]| value.as_str().is_some_and(|text| known.contains(&text) || strictest);
    let good = |scope: &Json| {
        scope["name"].as_str().is_some_and(is_scope_name)
            && one_of(&scope["access"], &["read", "write"])
            && one_of(&scope["sensitivity"], &["public", "personal", "financial", "health", "device", "other"])
    };
    if scopes.iter().all(good) { Ok(()) } else { Err("one of its scopes is not whole") }
}

/// §3.1: `[a-z][a-z0-9_]{0,63}`.
pub fn is_tool_name(name: &str) -> bool {
    is_word(name, 64, |byte| byte == b'_')
}

/// §3.2: `[a-z][a-z0-9_.-]{0,127}`.
fn is_scope_name(name: &str) -> bool {
    is_word(name, 128, |byte| matches!(byte, b'_' | b'.' | b'-'))
}

fn is_word(text: &str, most: usize, also: fn(u8) -> bool) -> bool {
    text.len() <= most
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || also(byte))
}
