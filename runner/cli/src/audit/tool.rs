//! Tools as an audit sees them. The main types are [`Provider`] and [`Tool`].
//!
//! A descriptor is never copied into fields: a rule looks at the descriptor as it was listed, so that every place that it names
//! is a place of the listing.

use super::grade::{Graded, grade};
use super::words::{self, Action};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The deepest nesting of a listing that is looked at: far more than an honest schema has.
pub const MOST_LEVELS: usize = 128;

/// Somebody who lists tools.
#[derive(Debug)]
pub struct Provider {
    /// How it was named on the command line.
    pub label: String,
    /// What it says of itself: `provider_id`, `provider_name`, `description`, `scopes`; null where nothing is known.
    pub info: Json,
    /// What its scopes allow; nothing where there is no catalogue of scopes.
    pub scopes: Option<BTreeMap<String, Access>>,
    /// The dialect of its schemas, where it says one.
    pub dialect: Option<String>,
    /// What a reader has to know about the listing.
    pub notes: Vec<String>,
    /// The tools, in the order of the listing, those of v1 that v2 does not show as they are behind.
    pub tools: Vec<Tool>,
}

/// What a scope allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading.
    Read,
    /// Writing.
    Write,
}

/// The form of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// CETP v2 (§3.3).
    V2,
    /// CETP v1: name, description and `parameters`; read-only by protocol (§8).
    V1,
    /// As in a listing of MCP: no scopes, no confirmation, annotations are hints.
    Mcp,
}

impl Form {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Form::V2 => "cetp-v2",
            Form::V1 => "cetp-v1",
            Form::Mcp => "mcp",
        }
    }
}

/// What a tool does, as it is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It changes nothing.
    Read,
    /// It makes something.
    Create,
    /// It changes something.
    Update,
    /// It takes something away.
    Delete,
    /// It moves something of value.
    Transaction,
    /// It changes something, nobody says how (`readOnlyHint` is false).
    Some,
}

impl Effect {
    fn from_name(name: &str) -> Option<Effect> {
        Some(match name {
            "read" => Effect::Read,
            "create" => Effect::Create,
            "update" => Effect::Update,
            "delete" => Effect::Delete,
            "transaction" => Effect::Transaction,
            _ => return None,
        })
    }
}

/// What the annotations declare; nothing where they do not, or with a value that has no meaning.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    /// `effect`, or `readOnlyHint`.
    pub effect: Option<Effect>,
    /// The words of the effect, as they stand in the annotations.
    pub effect_words: String,
    /// `destructive`, or `destructiveHint`.
    pub destructive: Option<bool>,
    /// `risk`.
    pub risk: Option<String>,
    /// `confirmation`.
    pub confirmation: Option<String>,
    /// `open_world`, or `openWorldHint`.
    pub open_world: Option<bool>,
}

/// A tool.
#[derive(Debug)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// The form of the descriptor.
    pub form: Form,
    /// The descriptor as it was listed.
    pub descriptor: Json,
    /// What its annotations declare.
    pub declared: Declared,
    /// What its name says.
    pub action: Action,
    /// Its grade.
    pub graded: Graded,
}

impl Tool {
    /// Reads a descriptor.
    ///
    /// # Errors
    /// JSON Pointer in the descriptor to what is no part of one, and why.
    pub fn read(descriptor: Json) -> Result<Tool, (String, String)> {
        let wrong = |pointer: &str, why: &str| Err((pointer.to_owned(), why.to_owned()));
        let Some(members) = descriptor.as_object() else { return wrong("", "a tool is an object") };
        let name = match members.get("name") {
            Some(Json::String(name)) if !name.trim().is_empty() => name.clone(),
            Some(_) => return wrong("/name", "the name of a tool is a text that is not empty"),
            None => return wrong("", "the tool has no name"),
        };
        for member in ["title", "description"] {
            if !matches!(members.get(member), None | Some(Json::Null | Json::String(_))) {
                return wrong(&format!("/{member}"), "it is a text");
            }
        }
        if !matches!(members.get("annotations"), None | Some(Json::Null | Json::Object(_))) {
            return wrong("/annotations", "annotations are an object");
        }
        match members.get("scopes") {
            None | Some(Json::Null) => {}
            Some(Json::Array(scopes)) => {
                if let Some(n) = scopes.iter().position(|scope| !scope.is_string()) {
                    return wrong(&format!("/scopes/{n}"), "a scope is a text");
                }
            }
            Some(_) => return wrong("/scopes", "scopes are an array of texts"),
        }
        let has = |member: &str| members.contains_key(member);
        let v2 = has("scopes") || descriptor["annotations"].get("effect").is_some();
        let form = match () {
            () if has("parameters") && !has("input_schema") && !has("inputSchema") => Form::V1,
            () if v2 => Form::V2,
            () => Form::Mcp,
        };
        let action = words::action(&name);
        let mut tool =
            Tool { name, form, descriptor, declared: Declared::default(), action, graded: Graded::default() };
        tool.be(form);
        Ok(tool)
    }

    /// Reads it as a descriptor of a form.
    pub fn be(&mut self, form: Form) {
        self.form = form;
        self.declared = declared(&self.descriptor["annotations"], form);
        self.graded = grade(self);
    }

    /// How it is called in a report: v1 may list what v2 lists otherwise.
    pub fn shown(&self) -> String {
        if self.form == Form::V1 { format!("{} (v1)", self.name) } else { self.name.clone() }
    }

    /// A text member, empty where there is none.
    pub fn text(&self, member: &str) -> &str {
        self.descriptor[member].as_str().unwrap_or_default()
    }

    /// The schema of its arguments, with its JSON Pointer.
    pub fn input(&self) -> Option<(&'static str, &Json)> {
        self.first(&[("/input_schema", "input_schema"), ("/inputSchema", "inputSchema"), ("/parameters", "parameters")])
    }

    /// The schema of its result, with its JSON Pointer.
    pub fn output(&self) -> Option<(&'static str, &Json)> {
        self.first(&[("/output_schema", "output_schema"), ("/outputSchema", "outputSchema")])
    }

    fn first(&self, members: &[(&'static str, &str)]) -> Option<(&'static str, &Json)> {
        members.iter().find_map(|(pointer, member)| {
            self.descriptor.get(member).filter(|value| !value.is_null()).map(|value| (*pointer, value))
        })
    }

    /// The scopes that it takes.
    pub fn scopes(&self) -> Vec<&str> {
        self.descriptor["scopes"].as_array().into_iter().flatten().filter_map(Json::as_str).collect()
    }

    /// Whether it is declared to change nothing.
    pub fn is_read(&self) -> bool {
        self.declared.effect == Some(Effect::Read)
    }

    /// Whether it changes something: as declared, else as its name says.
    pub fn writes(&self) -> bool {
        match self.declared.effect {
            Some(effect) => effect != Effect::Read,
            None => self.action.kind == words::Kind::Write,
        }
    }

    /// Whether the provider asks the user each time.
    pub fn always_confirmed(&self) -> bool {
        self.declared.confirmation.as_deref() == Some("always")
    }
}

fn declared(annotations: &Json, form: Form) -> Declared {
    let text = |member: &str| annotations[member].as_str().map(str::to_owned);
    let flag = |ours: &str, theirs: &str| annotations[ours].as_bool().or_else(|| annotations[theirs].as_bool());
    let (effect, effect_words) = match (text("effect"), annotations["readOnlyHint"].as_bool()) {
        (Some(name), _) => (Effect::from_name(&name), format!("effect={name}")),
        (None, Some(true)) => (Some(Effect::Read), "readOnlyHint=true".into()),
        (None, Some(false)) => (Some(Effect::Some), "readOnlyHint=false".into()),
        (None, None) if form == Form::V1 => (Some(Effect::Read), "listed by v1, which is read-only".into()),
        (None, None) => (None, String::new()),
    };
    Declared {
        effect,
        effect_words,
        destructive: flag("destructive", "destructiveHint"),
        risk: text("risk"),
        confirmation: text("confirmation"),
        open_world: flag("open_world", "openWorldHint"),
    }
}

/// The place of what is nested too deeply to be looked at.
pub fn too_deep(json: &Json) -> bool {
    // By hand: what is asked is whether recursion is safe.
    let mut open = vec![(json, 0)];
    while let Some((value, level)) = open.pop() {
        if level > MOST_LEVELS {
            return true;
        }
        match value {
            Json::Array(items) => open.extend(items.iter().map(|item| (item, level + 1))),
            Json::Object(members) => open.extend(members.values().map(|member| (member, level + 1))),
            _ => {}
        }
    }
    false
}
