//! Checking expressions and patterns, which are kept as JSON.

use super::{BUILT_IN, Names, OF_A_STEP, OPTIONAL_FACTS, Parser};
use crate::expr::{self, FUNCTIONS, Part};
use crate::json::pointer_token;
use crate::pattern::{self, OPERATORS};
use serde_json::Value as Json;

impl Parser<'_, '_> {
    pub(super) fn check_text(&self, text: &str, at: &str, names: &Names) {
        let parts = match expr::parts(text) {
            Ok(parts) => parts,
            Err(error) => return self.fault(at, error),
        };
        for part in parts {
            let Part::Placeholder(path) = part else { continue };
            let mut path = path.split('.');
            let first = path.next().unwrap_or_default();
            if !names.anything && !BUILT_IN.contains(&first) && !names.saved.contains(first) {
                self.fault(at, format!("${{{first}}}: no earlier step saves {first:?}"));
            }
            if names.early && OF_A_STEP.contains(&first) {
                self.fault(at, format!("${{{first}}} is only there in the expectations of a step"));
            }
            if let Some(entry) =
                (first == "target" && path.clone().next() == Some("profile")).then(|| path.clone().nth(1)).flatten()
            {
                names.used.borrow_mut().controls.insert(entry.to_owned());
            }
            if let Some(fact) = (first == "target").then(|| path.next()).flatten()
                && OPTIONAL_FACTS.contains(&fact)
            {
                names.used.borrow_mut().facts.insert(fact.to_owned());
            }
        }
    }

    pub(super) fn check_expr(&self, json: &Json, at: &str, names: &Names) {
        match json {
            Json::String(text) => self.check_text(text, at, names),
            Json::Array(items) => {
                items.iter().enumerate().for_each(|(n, item)| self.check_expr(item, &format!("{at}/{n}"), names));
            }
            Json::Object(members) => {
                if members.contains_key("$literal") {
                    return;
                }
                if let Some(unknown) =
                    members.keys().find(|k| k.starts_with('$') && !expr::is_function(members) && *k != "$ref")
                {
                    self.fault(at, format!("{unknown:?} is no function; there are {:?}", names_of(FUNCTIONS)));
                }
                for (name, known) in ARGUMENTS {
                    if let Some(Json::Object(argument)) = members.get(*name) {
                        for extra in argument.keys().filter(|key| !known.contains(&key.as_str())) {
                            self.fault(at, format!("{name} takes {known:?}, not {extra:?}"));
                        }
                    }
                }
                if let Some(inner) = members.get("$where") {
                    self.check_expr(inner.get("from").unwrap_or(&Json::Null), at, names);
                    self.check_pattern(inner.get("is").unwrap_or(&Json::Null), at, names);
                    return;
                }
                for (name, value) in members {
                    self.check_expr(value, &format!("{at}/{}", pointer_token(name)), names);
                }
            }
            _ => {}
        }
    }

    pub(super) fn check_pattern(&self, json: &Json, at: &str, names: &Names) {
        match json {
            Json::Object(members) if expr::is_function(members) => self.check_expr(json, at, names),
            Json::Object(members) => {
                let dollars = members.keys().filter(|name| name.starts_with('$')).count();
                if dollars > 0 && dollars < members.len() {
                    self.fault(at, "operators and members do not mix in one object; use {\"$all\":[…]}");
                }
                for (name, argument) in members {
                    let at = format!("{at}/{}", pointer_token(name));
                    if name.starts_with('$') {
                        self.check_operator(name, argument, &at, names);
                    } else {
                        self.check_pattern(argument, &at, names);
                    }
                }
            }
            Json::Array(items) => {
                items.iter().enumerate().for_each(|(n, item)| self.check_pattern(item, &format!("{at}/{n}"), names));
            }
            Json::String(text) => self.check_text(text, at, names),
            _ => {}
        }
    }

    pub(super) fn check_operator(&self, name: &str, argument: &Json, at: &str, names: &Names) {
        if let (Some((_, known)), Json::Object(argument)) = (ARGUMENTS.iter().find(|(n, _)| *n == name), argument) {
            for extra in argument.keys().filter(|key| !known.contains(&key.as_str())) {
                self.fault(at, format!("{name} takes {known:?}, not {extra:?}"));
            }
        }
        if !OPERATORS.iter().any(|(known, _)| *known == name) {
            return self.fault(at, format!("there is no operator {name:?}; there are {:?}", names_of(OPERATORS)));
        }
        match name {
            "$regex" => match argument.as_str().map(pattern::regex) {
                Some(Ok(_)) => {}
                Some(Err(error)) => self.fault(at, error),
                None => self.fault(at, "a text was expected"),
            },
            "$any" | "$absent" | "$uuid_form" | "$self_contained" | "$descending" if argument != &Json::Bool(true) => {
                self.fault(at, "must be true");
            }
            "$one_of" | "$all" | "$bag" | "$only" if !argument.is_array() && !argument.is_string() => {
                self.fault(at, "a list of patterns was expected");
            }
            "$equals" | "$only" | "$valid_schema" | "$lacks" | "$has_text" | "$starts_with" | "$gt" | "$gte"
            | "$lt" | "$lte" | "$instance_of" => self.check_expr(argument, at, names),
            "$unique" | "$same" if !argument.is_string() => self.fault(at, "a path was expected"),
            "$tally" => {
                for part in ["of", "is"] {
                    match argument.get(part) {
                        Some(inner) => self.check_pattern(inner, &format!("{at}/{part}"), names),
                        None => self.fault(at, format!("needs {part:?}")),
                    }
                }
            }
            "$type" => {
                let known = ["null", "boolean", "integer", "number", "string", "array", "object"];
                if !argument.as_str().is_some_and(|t| known.contains(&t)) {
                    self.fault(at, format!("must be one of {known:?}"));
                }
            }
            _ => self.check_pattern(argument, at, names),
        }
    }
}

/// Functions and operators whose argument is an object: its members.
const ARGUMENTS: &[(&str, &[&str])] = &[
    ("$slice", &["text", "from", "to"]),
    ("$pluck", &["from", "path"]),
    ("$where", &["from", "is"]),
    ("$at", &["from", "index"]),
    ("$list", &["repeat", "each", "times"]),
    ("$without", &["from", "paths"]),
    ("$request", &["method", "from", "set", "without"]),
    ("$parcel_size", &["bundle", "api"]),
    ("$tally", &["of", "is"]),
    ("$instance_of", &["schema", "dialect"]),
];

fn names_of(list: &[(&'static str, &'static str)]) -> Vec<&'static str> {
    list.iter().map(|(name, _)| *name).collect()
}
