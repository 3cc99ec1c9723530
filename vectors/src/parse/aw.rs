//! Reading the steps of `aw-provider`: `spawn`, `host`, `admit`.

use super::{Names, Object, Parser};
use crate::model::{Kind, Spawn};
use serde_json::{Map, Value as Json};

impl Parser<'_, '_> {
    pub(super) fn aw_kind(&self, kind: &str, o: &mut Object, names: &Names) -> Option<Kind> {
        let at = o.at(kind);
        let value = o.take(kind)?;
        match kind {
            "spawn" => {
                self.check_expr(&value, &at, names);
                self.spawn(value, o, names)
            }
            "host" => {
                self.check_expr(&value, &at, names);
                let scripts_at = o.at("scripts");
                let scripts = o.take("scripts").unwrap_or_else(|| Json::Object(Map::new()));
                for (name, script) in self.map(scripts.clone(), &scripts_at)? {
                    self.script(script, &format!("{scripts_at}/{name}"));
                }
                for feature in SCENARIO_FEATURES.iter().filter(|feature| has_member(&value, feature)) {
                    names.used.borrow_mut().controls.insert((*feature).to_owned());
                }
                Some(Kind::Host { scenario: value, scripts })
            }
            _ => {
                self.check_expr(&value, &at, names);
                Some(Kind::Admit(value))
            }
        }
    }

    fn spawn(&self, stdin: Json, o: &mut Object, names: &Names) -> Option<Kind> {
        let mut expr = |name: &str| {
            let value = o.take(name)?;
            self.check_expr(&value, &o.at(name), names);
            Some(value)
        };
        let (limit_ms, pause_after) = (expr("limit_ms"), expr("pause_after"));
        let pause_ms = o.take("pause_ms").map_or(Some(DEFAULT_PAUSE_MS), |ms| ms.as_u64());
        if pause_ms.is_none() {
            self.fault(&o.at("pause_ms"), "milliseconds were expected");
        }
        let valid = self.boolean(o, "valid", true);
        let watch = self.boolean(o, "watch", false);
        Some(Kind::Spawn(Box::new(Spawn { stdin, valid, limit_ms, pause_after, pause_ms: pause_ms?, watch })))
    }

    /// A script of a provider that a host starts.
    fn script(&self, json: Json, at: &str) {
        let Some(mut o) = self.object(json, at) else { return };
        for name in ["arguments", "operations", "effects"] {
            if let Some(value) = o.take(name) {
                self.list(value, &o.at(name));
            }
        }
        for group in ["on", "starts"] {
            let group_at = o.at(group);
            let Some(members) = o.take(group).and_then(|value| self.map(value, &group_at)) else { continue };
            for (key, actions) in members {
                let at = format!("{group_at}/{key}");
                let known = if group == "on" { METHODS.contains(&key.as_str()) } else { key.parse::<u64>().is_ok() };
                if !known {
                    self.fault(&at, "\"on\" names a method, \"starts\" a number from 1");
                }
                self.actions(actions, &at);
            }
        }
        o.finish(self);
    }

    fn actions(&self, json: Json, at: &str) {
        for (n, action) in self.list(json, at).into_iter().enumerate() {
            let at = format!("{at}/{n}");
            let Some(members) = self.map(action, &at) else { continue };
            let verb = members.keys().find(|name| ACTIONS.iter().any(|(known, _)| known == name));
            let Some(verb) = verb.cloned() else {
                let known: Vec<&str> = ACTIONS.iter().map(|(name, _)| *name).collect();
                self.fault(&at, format!("an action is one of {known:?}"));
                continue;
            };
            if let Some(other) = members.keys().find(|name| **name != verb && !(verb == "flood" && *name == "bytes")) {
                self.fault(&at, format!("{verb} does not go with {other:?}"));
            }
            if verb == "child" {
                self.actions(members["child"].clone(), &format!("{at}/child"));
            }
        }
    }
}

/// Whether an object at any depth has a member of this name.
fn has_member(json: &Json, name: &str) -> bool {
    match json {
        Json::Object(members) => members.contains_key(name) || members.values().any(|value| has_member(value, name)),
        Json::Array(items) => items.iter().any(|item| has_member(item, name)),
        _ => false,
    }
}

/// What a provider that follows a script can do, each with its meaning.
pub const ACTIONS: &[(&str, &str)] = &[
    ("read", "\"all\": reads standard input to its end (at most 10 s)"),
    (
        "read_bytes",
        "number: reads so many bytes of standard input, and knows request_id and input_digest where these hold them",
    ),
    (
        "out",
        "value: writes it to standard output; a text exactly, {\"base64\"} as bytes, anything else as compact JSON",
    ),
    ("err", "value: the same to standard error"),
    ("flood", "\"stdout\" or \"stderr\", with bytes: writes so many bytes of x, or until it is ended"),
    ("sleep_ms", "number: waits"),
    ("close", "\"stdin\", \"stdout\" or \"stderr\": closes it"),
    ("ignore_term", "true: SIGTERM is noted in the record and does not end it"),
    (
        "child",
        "actions: a descendant in the same process group does them, with the same three descriptors; nobody waits for it",
    ),
    ("exit", "number: ends with this status"),
    ("kill", "number: ends by this signal"),
];

/// Methods that a script may answer.
const METHODS: [&str; 3] = ["describe", "validate_config", "invoke"];

/// Members of a scenario that not every host can honour; a profile names those that it does under `features`.
pub const SCENARIO_FEATURES: [&str; 4] = ["deadline_ms", "cancel_after_ms", "environment", "directory"];

/// Long enough for a reader that does not wait to have read what is there.
const DEFAULT_PAUSE_MS: u64 = 100;
