//! The target protocol's messages, as far as both sides must agree on them. The main types are [`Describe`] and
//! [`ProtocolError`]; `docs/target-protocol.md` is the protocol.
//!
//! An answer is checked here before anything is judged: a target that breaks the protocol is broken as a target, which is
//! nobody's verdict on the specification.

use crate::bundle::Bundle;
use crate::ledger::Role;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

/// The version of the protocol.
pub const VERSION: u64 = 1;

/// What a target says of itself: its answer to `target.describe`.
#[derive(Clone, Debug, Deserialize)]
pub struct Describe {
    /// The version of the protocol; [`VERSION`].
    pub protocol: u64,
    /// Name of the implementation.
    pub name: String,
    /// Version of the implementation.
    pub version: String,
    /// Sides that it can play.
    pub roles: Vec<Role>,
    /// Versions of CETP that it speaks.
    pub versions: Vec<u64>,
    /// Optional capabilities that it claims.
    pub capabilities: Vec<String>,
    /// Controls that it offers.
    pub controls: Vec<String>,
    /// Callers that it can assume.
    #[serde(default)]
    pub callers: Callers,
    /// Package of a provider.
    pub package: Option<String>,
    /// Authority of a provider.
    pub authority: Option<String>,
    /// Version of the fixture that it carries.
    pub fixture: Option<u64>,
    /// How long a resume token is valid, in milliseconds.
    pub resume_ttl_ms: Option<i64>,
    /// How long an operation is kept, in milliseconds.
    pub retention_ms: Option<i64>,
    /// The suites that it can be tested with; CETP v2 where it says nothing.
    #[serde(default = "usual_suites")]
    pub suites: Vec<String>,
}

/// The callers that a target can assume.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Callers {
    /// These.
    Named(Vec<String>),
    /// The text `any`.
    Any(String),
}

impl Default for Callers {
    fn default() -> Callers {
        Callers::Named(Vec::new())
    }
}

impl Callers {
    /// Whether a caller is among them.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Callers::Named(list) => list.iter().any(|known| known == name),
            Callers::Any(text) => text == "any",
        }
    }
}

/// An answer that breaks the protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer to {verb} breaks the target protocol: {message}")]
pub struct ProtocolError {
    /// The verb.
    pub verb: String,
    /// What is wrong.
    pub message: String,
}

const USUAL_SUITE: &str = "cetp-v2";

fn usual_suites() -> Vec<String> {
    vec![USUAL_SUITE.to_owned()]
}

/// More versions, capabilities or controls than any target has.
const MOST_NAMES: usize = 100;

impl Describe {
    /// Reads an answer to `target.describe`.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub fn from_json(json: &Json) -> Result<Describe, ProtocolError> {
        let wrong = |message: String| ProtocolError { verb: "target.describe".into(), message };
        let describe: Describe = Describe::deserialize(json).map_err(|e| wrong(e.to_string()))?;
        if describe.protocol != VERSION {
            return Err(wrong(format!(
                "it speaks version {} of the protocol, this runner {VERSION}",
                describe.protocol
            )));
        }
        if matches!(&describe.callers, Callers::Any(text) if text != "any") {
            return Err(wrong("callers is a list of names or \"any\"".into()));
        }
        if describe.roles.is_empty() || describe.versions.is_empty() {
            return Err(wrong("roles and versions name at least one each".into()));
        }
        let lengthy = [&describe.capabilities, &describe.controls].into_iter().any(|list| list.len() > MOST_NAMES);
        if lengthy || describe.versions.len() > MOST_NAMES {
            return Err(wrong(format!("a list holds more than {MOST_NAMES} names")));
        }
        let app = describe.suites.iter().any(|suite| suite == USUAL_SUITE);
        if app
            && describe.roles.contains(&Role::Provider)
            && (describe.package.is_none() || describe.authority.is_none())
        {
            return Err(wrong("a provider names its package and authority".into()));
        }
        Ok(describe)
    }

    /// Whether the target has a control.
    pub fn has_control(&self, name: &str) -> bool {
        self.controls.iter().any(|known| known == name)
    }
}

/// Checks the shape of the result of a verb.
///
/// # Errors
/// What is missing or wrong.
pub fn check_result(verb: &str, result: &Json) -> Result<(), ProtocolError> {
    check(verb, result).map_err(|message| ProtocolError { verb: verb.to_owned(), message })
}

fn check(verb: &str, result: &Json) -> Result<(), String> {
    let o = result.as_object().ok_or("the result is no object")?;
    let has = |name: &str| o.get(name).ok_or_else(|| format!("{name} is missing"));
    match verb {
        "provider.call" => check_reply(o),
        "target.reset" => has("now_ms")?.as_i64().map(|_| ()).ok_or_else(|| "now_ms is no integer".into()),
        "fd.read" => match (has("base64")?.as_str(), has("eof")?.as_bool()) {
            (Some(_), Some(_)) => Ok(()),
            _ => Err("base64 is a text, eof a boolean".into()),
        },
        "provider.manifest" => {
            let list = |name: &str| has(name)?.as_array().cloned().ok_or_else(|| format!("{name} is no list"));
            has("package")?.as_str().ok_or("package is no text")?;
            list("providers")?;
            for (n, service) in list("services")?.iter().enumerate() {
                let meta = service.get("meta_data").ok_or_else(|| format!("service {n} has no meta_data"))?;
                Bundle::from_json(meta).map_err(|e| format!("the meta_data of service {n}: {e}"))?;
            }
            Ok(())
        }
        "control.user" => {
            has("activity_finished")?.as_bool().map(|_| ()).ok_or_else(|| "activity_finished is no boolean".into())
        }
        "aw.spawn" => match (&o.get("stdout"), &o.get("stderr")) {
            (Some(Json::Object(_)), Some(Json::Object(_))) => Ok(()),
            _ => Err("stdout and stderr are objects".into()),
        },
        "aw.host" => has("records")?.as_array().map(|_| ()).ok_or_else(|| "records is no list".into()),
        "observe.audit" => has("events")?.as_array().map(|_| ()).ok_or_else(|| "events is no list".into()),
        "observe.ui" => has("texts")?.as_array().map(|_| ()).ok_or_else(|| "texts is no list".into()),
        "observe.fds" => has("open")?.as_u64().map(|_| ()).ok_or_else(|| "open is no number".into()),
        _ => Ok(()),
    }
}

/// A reply of `provider.call`: a Bundle, null, or an exception.
fn check_reply(o: &Map<String, Json>) -> Result<(), String> {
    match (o.get("bundle"), o.get("exception"), o.len()) {
        (Some(Json::Null), None, 1) => Ok(()),
        (Some(bundle), None, 1) => Bundle::check(bundle).map_err(|e| format!("bundle{e}")),
        (None, Some(exception), 1) => match exception.get("class").and_then(Json::as_str) {
            Some(_) => Ok(()),
            None => Err("an exception names its class".into()),
        },
        _ => Err("exactly one of bundle and exception was expected".into()),
    }
}
