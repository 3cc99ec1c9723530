//! Reading expectations and conditions, with shared rules put in.

use super::{Filled, FilledRule, Names, Object, Parser};
use crate::expr::Expr;
use crate::ledger::Strength;
use crate::model::{About, Assertion, Expectation};
use crate::pattern::Pattern;
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard, PoisonError};

/// More than all vectors of the suites need.
const MOST_FILLED: usize = 20_000;

impl Parser<'_, '_> {
    /// Expectations, with shared rules put in.
    pub(super) fn expectations(&self, json: Json, at: &str, names: &Names) -> Vec<Arc<Expectation>> {
        let items = self.list(json, at);
        let mut out = Vec::new();
        for (n, item) in items.into_iter().enumerate() {
            let at = format!("{at}/{n}");
            match item {
                Json::String(name) => out.extend(self.rule(&name, &Map::new(), &at, names)),
                Json::Object(members) if members.contains_key("use") => {
                    let mut o = Object { members, at: at.clone() };
                    let name = self.text(&mut o, "use").unwrap_or_default();
                    let with = o.take("with").and_then(|w| self.map(w, &o.at("with"))).unwrap_or_default();
                    let when_at = o.at("when");
                    let when = o.take("when").and_then(|w| self.assertion(w, &when_at, names));
                    o.finish(self);
                    let mut rule = self.rule(&name, &with, &at, names);
                    if let Some(when) = when {
                        for expectation in &mut rule {
                            Arc::make_mut(expectation).when.push(when.clone());
                        }
                    }
                    out.extend(rule);
                }
                _ => out.extend(self.expectation(item, &at, names).map(Arc::new)),
            }
        }
        out
    }

    fn filled(&self) -> MutexGuard<'_, BTreeMap<FilledRule, Filled>> {
        self.context.rules.filled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn rule(&self, name: &str, with: &Map<String, Json>, at: &str, names: &Names) -> Vec<Arc<Expectation>> {
        let Some(rule) = self.context.rules.named.get(name) else {
            let known: Vec<&String> = self.context.rules.named.keys().collect();
            self.fault(at, format!("there is no rule {name:?}; there are {known:?}"));
            return Vec::new();
        };
        if self.expanding.borrow().iter().any(|open| open == name) {
            self.fault(at, format!("the rule {name:?} uses itself"));
            return Vec::new();
        }
        let key = (name.to_owned(), Json::Object(with.clone()).to_string(), names.early);
        if let Some(filled) = self.filled().get(&key) {
            names.used.borrow_mut().add(filled.used.clone());
            return filled.expectations.clone();
        }
        let faults = self.faults.borrow().len();
        let mut taken = BTreeSet::new();
        let filled = substitute(rule, &|name| with.get(name).cloned(), &mut taken);
        for name in taken.iter().filter(|name| !with.contains_key(*name)) {
            self.fault(at, format!("the rule needs {name:?} in \"with\""));
        }
        for extra in with.keys().filter(|key| !taken.contains(*key)) {
            self.fault(at, format!("the rule does not take {extra:?}"));
        }
        if taken.iter().any(|name| !with.contains_key(name)) {
            return Vec::new();
        }
        self.expanding.borrow_mut().push(name.to_owned());
        let inner = Names { early: names.early, ..Names::rule() };
        let expectations = self.expectations(filled, at, &inner);
        self.expanding.borrow_mut().pop();
        let used = inner.used.take();
        names.used.borrow_mut().add(used.clone());
        // A rule with a fault is read again elsewhere, so that each place is told. A campaign makes ever new values.
        if self.faults.borrow().len() == faults && self.filled().len() < MOST_FILLED {
            let filled = Filled { expectations: expectations.clone(), used };
            self.filled().insert(key, filled);
        }
        expectations
    }

    pub(super) fn expectation(&self, json: Json, at: &str, names: &Names) -> Option<Expectation> {
        let mut o = self.object(json, at)?;
        let requirement = self.optional_text(&mut o, "requirement");
        let precondition = self.optional_text(&mut o, "precondition");
        let not_run = self.optional_text(&mut o, "not_run");
        let strength = self.optional_text(&mut o, "strength");
        let note = self.optional_text(&mut o, "note");
        let when_at = o.at("when");
        let when = o.take("when").and_then(|w| self.assertion(w, &when_at, names)).into_iter().collect();
        let about = match (requirement, precondition, not_run) {
            (Some(id), None, None) => {
                let row = self.requirement(&id, &o.at("requirement"))?;
                let own = match row.strength {
                    Strength::Must | Strength::MustNot => Strength::Must,
                    other => other,
                };
                let stated = match strength.as_deref() {
                    None => own,
                    Some("should") => Strength::Should,
                    Some("advice") => Strength::May,
                    Some(_) => {
                        self.fault(&o.at("strength"), "must be \"should\" or \"advice\"");
                        own
                    }
                };
                // An expectation may judge more mildly than the ledger, never more harshly.
                Some(About::Requirement { id, strength: own.max(stated) })
            }
            (None, Some(why), None) => Some(About::Precondition(why)),
            (None, None, Some(why)) => Some(About::NotRun(why)),
            _ => {
                self.fault(at, "exactly one of \"requirement\", \"precondition\" and \"not_run\" was expected");
                None
            }
        };
        let claim = self.assertion_of(&mut o, names);
        o.finish(self);
        Some(Expectation { about: about?, claim: claim?, when, note })
    }

    pub(super) fn assertion(&self, json: Json, at: &str, names: &Names) -> Option<Assertion> {
        let mut o = self.object(json, at)?;
        let assertion = self.assertion_of(&mut o, names);
        o.finish(self);
        assertion
    }

    pub(super) fn assertion_of(&self, o: &mut Object, names: &Names) -> Option<Assertion> {
        let groups: Vec<&str> =
            ["any_of", "all_of", "none_of", "is"].into_iter().filter(|name| o.members.contains_key(*name)).collect();
        let [group] = groups.as_slice() else {
            self.fault(&o.at, "exactly one of \"is\", \"any_of\", \"all_of\" and \"none_of\" was expected");
            return None;
        };
        let at = o.at(group);
        let value = o.take(group)?;
        if *group == "is" {
            let that = o.take("that");
            match &that {
                Some(that) => self.check_expr(that, &o.at("that"), names),
                None if names.early => self.fault(&o.at, "there is no answer yet: a condition here needs \"that\""),
                None => {}
            }
            self.check_pattern(&value, &at, names);
            return Some(Assertion::Is { that: that.map(Expr::new), is: Pattern::new(value) });
        }
        let items = self.list(value, &at);
        if items.is_empty() {
            self.fault(&at, "an empty list decides nothing");
        }
        let inner: Vec<Assertion> = items
            .into_iter()
            .enumerate()
            .filter_map(|(n, item)| self.assertion(item, &format!("{at}/{n}"), names))
            .collect();
        Some(match *group {
            "any_of" => Assertion::AnyOf(inner),
            "all_of" => Assertion::AllOf(inner),
            _ => Assertion::NoneOf(inner),
        })
    }
}

/// Puts the values of a rule's `with` in, and notes which were asked for. `${with.x}` alone takes the value; inside a text
/// its text.
pub(super) fn substitute(json: &Json, with: &dyn Fn(&str) -> Option<Json>, taken: &mut BTreeSet<String>) -> Json {
    match json {
        Json::String(text) if text.contains("${with.") => {
            let mut out = String::new();
            let mut rest = text.as_str();
            while let Some(start) = rest.find("${with.") {
                let end = rest[start..].find('}').map_or(rest.len(), |e| start + e);
                let name = &rest[start + 7..end];
                taken.insert(name.to_owned());
                let value = with(name).unwrap_or_default();
                if rest.len() == text.len() && start == 0 && end + 1 == text.len() {
                    return value;
                }
                out.push_str(&rest[..start]);
                out.push_str(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                rest = &rest[(end + 1).min(rest.len())..];
            }
            Json::String(out + rest)
        }
        Json::Array(items) => items.iter().map(|item| substitute(item, with, taken)).collect(),
        Json::Object(members) => {
            Json::Object(members.iter().map(|(k, v)| (k.clone(), substitute(v, with, taken))).collect())
        }
        other => other.clone(),
    }
}
