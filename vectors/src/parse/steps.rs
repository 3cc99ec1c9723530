//! Reading steps.

use super::{BUILT_IN, Names, Object, Parser, Place};
use crate::bundle;
use crate::json::pointer_token;
use crate::model::{Args, Assertion, Call, Kind, Parallel, Rounds, Step};
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;

impl Parser<'_, '_> {
    pub(super) fn steps(&self, json: Json, at: &str, names: &mut Names, place: Place) -> Vec<Step> {
        let items = self.list(json, at);
        let mut out = Vec::new();
        for (n, item) in items.into_iter().enumerate() {
            out.extend(self.step(item, &format!("{at}/{n}"), names, place));
        }
        out
    }

    pub(super) fn step(&self, json: Json, at: &str, names: &mut Names, place: Place) -> Option<Step> {
        const KINDS: [&str; 15] = [
            "call",
            "control",
            "observe",
            "read",
            "close",
            "repeat",
            "parallel",
            "barrier",
            "let",
            "discover",
            "execute",
            "advance_ms",
            "spawn",
            "host",
            "admit",
        ];
        const ANSWERED: [&str; 10] =
            ["call", "control", "observe", "read", "close", "discover", "execute", "spawn", "host", "admit"];
        let mut o = self.object(json, at)?;
        let when = self.early_condition(&mut o, "when", names);
        let save = self.optional_text(&mut o, "save");
        let breakdown = self.optional_text(&mut o, "breakdown");
        let expect = o.take("expect");
        let kinds: Vec<&str> = KINDS.into_iter().filter(|kind| o.members.contains_key(*kind)).collect();
        let kind = match kinds.as_slice() {
            [] if expect.is_some() => Some(Kind::Expect),
            [kind] => {
                let allowed = match *kind {
                    "parallel" => place == Place::Top,
                    "barrier" => place == Place::Branch,
                    _ => true,
                };
                if !allowed {
                    self.fault(at, format!("{kind} is not possible here"));
                }
                self.kind(kind, &mut o, names, place)
            }
            _ => {
                self.fault(at, format!("a step has exactly one of {KINDS:?}, or only \"expect\""));
                None
            }
        };
        if let Some(name) = &save {
            let answered = kinds.iter().any(|kind| ANSWERED.contains(kind));
            if !answered {
                self.fault(&o.at("save"), "only an answer can be saved");
            }
            self.check_name(name, &o.at("save"));
            names.saved.insert(name.clone());
        }
        let expect = expect.map(|json| self.expectations(json, &o.at("expect"), names)).unwrap_or_default();
        o.finish(self);
        Some(Step { kind: kind?, when, save, expect, breakdown })
    }

    /// A condition that is looked at before or between steps, when there is no answer.
    pub(super) fn early_condition(&self, o: &mut Object, name: &str, names: &Names) -> Option<Assertion> {
        let at = o.at(name);
        let json = o.take(name)?;
        let names = Names { early: true, ..names.clone() };
        self.assertion(json, &at, &names)
    }

    pub(super) fn check_name(&self, name: &str, at: &str) {
        let valid = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !valid || BUILT_IN.contains(&name) || name == "with" {
            self.fault(at, format!("{name:?} cannot be the name of a value"));
        }
    }

    pub(super) fn kind(&self, kind: &str, o: &mut Object, names: &mut Names, place: Place) -> Option<Kind> {
        let at = o.at(kind);
        match kind {
            "call" => self.call(o, names),
            "control" | "observe" => {
                let name = self.text(o, kind)?;
                let with_at = o.at("with");
                let mut with = o.take("with").unwrap_or_else(|| Json::Object(Map::new()));
                self.check_expr(&with, &with_at, names);
                let known: &[&str] = if kind == "control" { &CONTROLS } else { &OBSERVATIONS };
                if !known.contains(&name.as_str()) {
                    self.fault(&at, format!("must be one of {known:?}"));
                }
                let need = match name.as_str() {
                    "user" => Some("user_decision"),
                    "operation" => Some("operations"),
                    "fault" => Some("faults"),
                    "manifest" | "memory" => None,
                    name => Some(name),
                };
                names.used.borrow_mut().controls.extend(need.map(str::to_owned));
                if name == "scopes" {
                    // The caller is named, and its identity put in.
                    match with.get("caller").and_then(Json::as_str).map(str::to_owned) {
                        Some(caller) => {
                            self.caller(&caller, &format!("{with_at}/caller"), names);
                            with["caller"] = Json::String(format!("${{callers.{caller}}}"));
                        }
                        None => self.fault(&with_at, "names the caller"),
                    }
                }
                if kind == "control" { Some(Kind::Control { name, with }) } else { Some(Kind::Observe { name, with }) }
            }
            "read" => {
                let fd = o.take("read")?;
                let chunk_bytes = o.take("chunk_bytes").unwrap_or_else(|| Json::from(DEFAULT_CHUNK));
                let limit_bytes = o.take("limit_bytes").unwrap_or_else(|| Json::from(DEFAULT_READ_LIMIT));
                for expr in [&fd, &chunk_bytes, &limit_bytes] {
                    self.check_expr(expr, &at, names);
                }
                if chunk_bytes == 0 {
                    self.fault(&o.at("chunk_bytes"), "at least one byte at a time");
                }
                Some(Kind::Read { fd, chunk_bytes, limit_bytes })
            }
            "discover" => {
                let list = self.list(o.take("discover")?, &at);
                let mut order = Vec::new();
                for (n, item) in list.iter().enumerate() {
                    let at = format!("{at}/{n}");
                    let Some(name) = self.as_text(item, &at) else { continue };
                    if !names.providers.contains(&name) {
                        self.fault(&at, format!("the vector has no provider {name:?}"));
                    }
                    order.push(name);
                }
                Some(Kind::Discover(order))
            }
            "execute" => {
                let json = o.take("execute")?;
                let mut inner = self.object(json, &at)?;
                let mut expr = |name: &str| {
                    let value = inner.take(name)?;
                    self.check_expr(&value, &inner.at(name), names);
                    Some(value)
                };
                let (provider_id, tool) = (expr("provider_id"), expr("tool"));
                let timeout_ms = expr("timeout_ms").unwrap_or_else(|| Json::from(DEFAULT_TIMEOUT_MS));
                let args = match (expr("args"), expr("args_text")) {
                    (None, Some(text)) => Args::Text(text),
                    (value, None) => Args::Value(value.unwrap_or_else(|| Json::Object(Map::new()))),
                    (Some(_), Some(_)) => {
                        self.fault(&at, "either \"args\" or \"args_text\"");
                        return None;
                    }
                };
                inner.finish(self);
                let (Some(provider_id), Some(tool)) = (provider_id, tool) else {
                    self.fault(&at, "needs \"provider_id\" and \"tool\"");
                    return None;
                };
                Some(Kind::Execute { provider_id, tool, args, timeout_ms })
            }
            "spawn" | "host" | "admit" => self.aw_kind(kind, o, names),
            "advance_ms" => {
                let ms = o.take("advance_ms")?;
                self.check_expr(&ms, &at, names);
                Some(Kind::Advance(ms))
            }
            "close" => {
                let fd = o.take("close")?;
                self.check_expr(&fd, &at, names);
                Some(Kind::Close { fd })
            }
            "repeat" => {
                let over = o.take("over");
                if let Some(over) = &over {
                    self.check_expr(over, &o.at("over"), names);
                }
                let inside = if place == Place::Top { Place::Top } else { Place::InBranch };
                let steps = self.steps(o.take("repeat")?, &at, names, inside);
                let (times, until) = (o.take("times"), self.early_condition(o, "until", names));
                let rounds = match (times, over, until) {
                    (Some(times), None, None) => {
                        self.check_expr(&times, &o.at("times"), names);
                        Rounds::Times(times)
                    }
                    (None, Some(over), None) => Rounds::Over(over),
                    (None, None, Some(until)) => {
                        let pause = o.take("pause_ms").map_or(Some(DEFAULT_PAUSE_MS), |p| p.as_u64());
                        if pause.is_none() {
                            self.fault(&o.at("pause_ms"), "milliseconds were expected");
                        }
                        Rounds::Until { until, pause_ms: pause.unwrap_or(DEFAULT_PAUSE_MS) }
                    }
                    _ => {
                        self.fault(&o.at, "repeat goes with exactly one of \"times\", \"over\" and \"until\"");
                        return None;
                    }
                };
                Some(Kind::Repeat { steps, rounds })
            }
            "parallel" => self.parallel(o, names),
            "let" => {
                let values = self.map(o.take("let")?, &at)?;
                for (name, value) in &values {
                    let at = format!("{at}/{}", pointer_token(name));
                    self.check_name(name, &at);
                    self.check_expr(value, &at, names);
                }
                names.saved.extend(values.keys().cloned());
                Some(Kind::Let(values))
            }
            _ => {
                if o.take("barrier") != Some(Json::Bool(true)) {
                    self.fault(&at, "must be true");
                }
                Some(Kind::Barrier)
            }
        }
    }

    pub(super) fn parallel(&self, o: &mut Object, names: &mut Names) -> Option<Kind> {
        let at = o.at("parallel");
        let lists = self.list(o.take("parallel")?, &at);
        let mut saved = BTreeSet::new();
        let mut branches = Vec::new();
        for (n, list) in lists.into_iter().enumerate() {
            let mut inner = names.clone();
            branches.push(self.steps(list, &format!("{at}/{n}"), &mut inner, Place::Branch));
            saved.extend(inner.saved);
        }
        names.saved.extend(saved);
        let copies = o.take("copies");
        if let Some(copies) = &copies {
            self.check_expr(copies, &o.at("copies"), names);
            if branches.len() != 1 {
                self.fault(&at, "with \"copies\" there is one branch");
            }
        } else if branches.len() < 2 {
            self.fault(&at, "at least two branches, or \"copies\", were expected");
        }
        let barriers = |steps: &Vec<Step>| steps.iter().filter(|s| matches!(s.kind, Kind::Barrier)).count();
        let counts: BTreeSet<usize> = branches.iter().map(barriers).collect();
        if counts.len() > 1 {
            self.fault(&at, "every branch has the same number of barriers");
        }
        let as_written = match self.optional_text(o, "order").as_deref() {
            None => false,
            Some("written") => true,
            Some(_) => {
                self.fault(&o.at("order"), "must be \"written\"");
                false
            }
        };
        let schedule = o.take("schedule");
        if schedule.as_ref().is_some_and(|seed| seed.as_u64().is_none()) {
            self.fault(&o.at("schedule"), "a whole number was expected");
        }
        let schedule = schedule.and_then(|seed| seed.as_u64());
        Some(Kind::Parallel(Parallel { branches, copies, as_written, schedule }))
    }

    pub(super) fn caller(&self, name: &str, at: &str, names: &Names) {
        if !self.context.callers.iter().any(|known| known == name) {
            self.fault(at, format!("unknown caller; there are {:?}", self.context.callers));
        }
        let mut used = names.used.borrow_mut();
        used.callers.insert(name.to_owned());
        if name != "a" {
            used.controls.insert("caller_identity".into());
        }
    }

    pub(super) fn call(&self, o: &mut Object, names: &Names) -> Option<Kind> {
        let mut expr = |name: &str| {
            let value = o.take(name)?;
            self.check_expr(&value, &o.at(name), names);
            Some(value)
        };
        let method = expr("call")?;
        let authority = expr("authority");
        let arg = expr("arg").unwrap_or(Json::Null);
        let request = expr("request");
        let deadline_in_ms = expr("deadline_in_ms").unwrap_or_else(|| Json::from(DEFAULT_DEADLINE_MS));
        let tool = expr("tool");
        let offer = expr("offer");
        let caller = expr("as").unwrap_or_else(|| Json::from("a"));
        let args = match (expr("args"), expr("args_text")) {
            (None, None) => None,
            (Some(value), None) => Some(Args::Value(value)),
            (None, Some(text)) => Some(Args::Text(text)),
            (Some(_), Some(_)) => {
                self.fault(&o.at, "either \"args\" or \"args_text\"");
                None
            }
        };
        match caller.as_str() {
            // Which callers a placeholder stands for the vector says itself.
            Some(name) if !name.contains("${") => self.caller(name, &o.at("as"), names),
            _ => {}
        }
        let session = self.optional_text(o, "session");
        let resume = self.optional_text(o, "resume");
        for (name, value) in [("session", &session), ("resume", &resume)] {
            if let Some(value) = value.as_ref().filter(|value| !names.saved.contains(*value)) {
                self.fault(&o.at(name), format!("no earlier step saves {value:?}"));
            }
        }
        let extras_at = o.at("extras");
        let extras = match o.take("extras") {
            None => Some(Map::new()),
            Some(Json::Null) => None,
            Some(Json::Object(members)) => {
                self.check_extras(&members, &extras_at, names);
                Some(members)
            }
            Some(_) => {
                self.fault(&extras_at, "an object from key to typed value, or null, was expected");
                None
            }
        };
        if let Some(tool) = tool.as_ref().and_then(Json::as_str) {
            self.tool(tool, names);
        }
        let may_die = self.boolean(o, "may_die", false);
        let call = Call {
            method,
            caller,
            authority,
            arg,
            session,
            request,
            deadline_in_ms,
            tool,
            args,
            resume,
            offer,
            extras,
            may_die,
        };
        Some(Kind::Call(Box::new(call)))
    }

    /// A tool of the fixture is a need; any other name is meant to be unknown.
    pub(super) fn tool(&self, name: &str, names: &Names) {
        if crate::fixture::tool(name).is_some() {
            names.used.borrow_mut().tools.insert(name.to_owned());
        }
    }

    pub(super) fn check_extras(&self, members: &Map<String, Json>, at: &str, names: &Names) {
        for (key, value) in members {
            let at = format!("{at}/{}", pointer_token(key));
            self.check_expr(value, &at, names);
            // A value without placeholders can be checked to the end here.
            if !value.is_null()
                && !value.to_string().contains('$')
                && let Err(error) = bundle::Value::from_json(value)
            {
                self.fault(&(at + &error.pointer), error.message);
            }
            if key == "tool_name"
                && let Some(tool) = value.get("string").and_then(Json::as_str)
            {
                self.tool(tool, names);
            }
        }
    }
}

/// Controls that a step may name.
const CONTROLS: [&str; 7] = ["clock", "restart", "user", "scopes", "operation", "fault", "reconfigure"];
/// Observations that a step may name.
const OBSERVATIONS: [&str; 5] = ["manifest", "audit", "ui", "fds", "memory"];
/// Far enough that no call of a vector comes near it by accident.
const DEFAULT_DEADLINE_MS: u64 = 60_000;
/// Time limit of one call of a consumer, on the runner's clock.
const DEFAULT_TIMEOUT_MS: u64 = 10_000;
/// A common buffer size of readers.
const DEFAULT_CHUNK: u64 = 65_536;
/// Above the largest result of the fixture: 16 Mi characters of three bytes, escaped.
const DEFAULT_READ_LIMIT: u64 = 128 << 20;
/// Long enough not to spin, short enough not to be felt.
const DEFAULT_PAUSE_MS: u64 = 5;
