//! From JSON to [`Vector`], with a JSON Pointer for every fault. The main function is [`vectors`].

use crate::bundle;
use crate::expr::{self, FUNCTIONS, Part};
use crate::json::pointer_token;
use crate::ledger::{Ledger, Requirement, Role, Strength};
use crate::model::*;
use crate::pattern::{self, OPERATORS};
use serde_json::{Map, Value as Json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One fault of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// JSON Pointer into the file.
    pub pointer: String,
    /// What is wrong and what to do.
    pub message: String,
}

/// Expectations that several vectors share, by name, and those of every call.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The JSON of each rule: a list of expectations, which may use `${with.NAME}`.
    pub named: BTreeMap<String, Json>,
    /// Expectations on every call, by the role of the target.
    pub always: BTreeMap<Role, Arc<Vec<Expectation>>>,
}

/// What the reader of a file must know.
pub struct Context<'a> {
    /// The requirements.
    pub ledger: &'a Ledger,
    /// The suite's rules.
    pub rules: &'a Rules,
    /// Names of the callers that vectors may use.
    pub callers: &'a [String],
    /// The file, relative to the vectors' folder.
    pub file: &'a str,
}

/// Reads a file of vectors.
///
/// # Errors
/// Every fault that was found, sorted.
pub fn vectors(json: &Json, context: &Context<'_>) -> Result<Vec<Vector>, Vec<Fault>> {
    let faults = RefCell::new(Vec::new());
    let parser = Parser::new(context, &faults);
    let out = parser.file(json);
    let mut faults = faults.into_inner();
    if faults.is_empty() {
        return Ok(out.expect("a file without faults has vectors"));
    }
    faults.sort();
    faults.dedup();
    Err(faults)
}

/// Reads a file of rules.
///
/// # Errors
/// Every fault that was found, sorted.
pub fn rules(json: &Json, ledger: &Ledger, suite: &str) -> Result<Rules, Vec<Fault>> {
    let faults = RefCell::new(Vec::new());
    let none = Rules::default();
    let mut rules = Rules::default();
    let bare = Context { ledger, rules: &none, callers: &[], file: "" };
    let parser = Parser::new(&bare, &faults);
    if let Some(mut o) = parser.object(json, "") {
        parser.constant(&mut o, "format", "cetp-rules/1");
        parser.constant(&mut o, "suite", suite);
        let named = o.take("rules").and_then(|v| parser.map(v, "/rules"));
        rules.named = named.unwrap_or_default().into_iter().collect();
        let always = o.take("always").and_then(|v| parser.map(v, "/always")).unwrap_or_default();
        o.finish(&parser);
        let context = Context { ledger, rules: &rules, callers: &[], file: "" };
        let parser = Parser::new(&context, &faults);
        for (name, rule) in &rules.named {
            let at = format!("/rules/{}", pointer_token(name));
            if rule.as_array().is_none_or(Vec::is_empty) {
                parser.fault(&at, "a rule is a list of expectations that is not empty");
            }
            // Read with some requirement for every parameter: the shape is checked also where nobody uses the rule.
            let any = ledger.iter().find(|row| row.suite == suite).map(|row| Json::String(row.id.clone()));
            let filled = substitute(rule, &|_| any.clone(), &mut BTreeSet::new());
            parser.expanding.borrow_mut().push(name.clone());
            parser.expectations(filled, &at, &Names::rule());
            parser.expanding.borrow_mut().pop();
        }
        let mut by_role = BTreeMap::new();
        for (name, list) in always {
            let at = format!("/always/{}", pointer_token(&name));
            match Role::from_name(&name) {
                Some(role) => drop(by_role.insert(role, Arc::new(parser.expectations(list, &at, &Names::rule())))),
                None => parser.fault(&at, "unknown role"),
            }
        }
        rules.always = by_role;
    }
    let mut faults = faults.into_inner();
    faults.sort();
    if faults.is_empty() { Ok(rules) } else { Err(faults) }
}

struct Parser<'c, 'a> {
    context: &'c Context<'a>,
    faults: &'c RefCell<Vec<Fault>>,
    /// Names of the rules that are being put in.
    expanding: RefCell<Vec<String>>,
}

/// Where a step stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    Branch,
    /// Inside a repeat of a branch.
    InBranch,
}

/// The members of an object that have not been read yet.
struct Object<'j> {
    members: Map<String, Json>,
    at: String,
    source: &'j Json,
}

impl Object<'_> {
    fn take(&mut self, name: &str) -> Option<Json> {
        self.members.remove(name)
    }

    fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.at)
    }

    fn finish(self, parser: &Parser<'_, '_>) {
        for name in self.members.keys() {
            parser.fault(&format!("{}/{}", self.at, pointer_token(name)), "unknown member");
        }
    }
}

/// Names that placeholders may begin with at some place of a vector.
#[derive(Clone, Default)]
struct Names {
    saved: BTreeSet<String>,
    used: std::rc::Rc<RefCell<Used>>,
    /// In a rule every name may be one of the vector that uses it.
    anything: bool,
    /// There is no answer yet.
    early: bool,
}

/// What a vector needs, as seen in its steps.
#[derive(Clone, Default)]
struct Used {
    controls: BTreeSet<String>,
    tools: BTreeSet<String>,
    callers: BTreeSet<String>,
    facts: BTreeSet<String>,
}

impl Names {
    fn rule() -> Names {
        Names { anything: true, ..Names::default() }
    }
}

/// Names that are always there; `uuid` is followed by a name of the vector's choice.
const BUILT_IN: [&str; 13] = [
    "now", "target", "reset", "callers", "uuid", "request", "session", "answer", "reply", "i", "item", "branch", "seed",
];

/// Of these, what there is only in the expectations of a step.
const OF_A_STEP: [&str; 4] = ["request", "session", "answer", "reply"];

/// The levels of each suite.
const LEVELS: [(&str, &[&str]); 2] = [
    ("cetp-v2", &["core", "v1_compat", "async_operations", "cancellation", "large_results"]),
    ("aw-provider-v1alpha1", &["core", "text_replacement"]),
];

/// Members of `target.describe` that the protocol makes optional.
const OPTIONAL_FACTS: [&str; 2] = ["resume_ttl_ms", "retention_ms"];

impl<'c, 'a> Parser<'c, 'a> {
    fn new(context: &'c Context<'a>, faults: &'c RefCell<Vec<Fault>>) -> Parser<'c, 'a> {
        Parser { context, faults, expanding: RefCell::default() }
    }
}

impl Parser<'_, '_> {
    fn fault(&self, at: &str, message: impl Into<String>) {
        self.faults.borrow_mut().push(Fault { pointer: at.to_owned(), message: message.into() });
    }

    fn object<'j>(&self, json: &'j Json, at: &str) -> Option<Object<'j>> {
        match json {
            Json::Object(members) => Some(Object { members: members.clone(), at: at.to_owned(), source: json }),
            _ => {
                self.fault(at, "an object was expected");
                None
            }
        }
    }

    fn map(&self, json: Json, at: &str) -> Option<Map<String, Json>> {
        match json {
            Json::Object(members) => Some(members),
            _ => {
                self.fault(at, "an object was expected");
                None
            }
        }
    }

    fn list(&self, json: Json, at: &str) -> Vec<Json> {
        match json {
            Json::Array(items) => items,
            _ => {
                self.fault(at, "a list was expected");
                Vec::new()
            }
        }
    }

    fn constant(&self, o: &mut Object<'_>, name: &str, value: &str) {
        let at = o.at(name);
        if self.text(o, name).is_some_and(|found| found != value) {
            self.fault(&at, format!("must be {value:?} here"));
        }
    }

    /// A required text.
    fn text(&self, o: &mut Object<'_>, name: &str) -> Option<String> {
        let at = o.at(name);
        let Some(value) = o.take(name) else {
            self.fault(&o.at, format!("the member {name:?} is missing"));
            return None;
        };
        self.as_text(&value, &at)
    }

    fn as_text(&self, value: &Json, at: &str) -> Option<String> {
        match value {
            Json::String(text) if !text.is_empty() => Some(text.clone()),
            _ => {
                self.fault(at, "a text that is not empty was expected");
                None
            }
        }
    }

    fn optional_text(&self, o: &mut Object<'_>, name: &str) -> Option<String> {
        let at = o.at(name);
        o.take(name).and_then(|value| self.as_text(&value, &at))
    }

    fn texts(&self, o: &mut Object<'_>, name: &str) -> Vec<String> {
        let at = o.at(name);
        let Some(value) = o.take(name) else { return Vec::new() };
        let items = self.list(value, &at);
        items.iter().enumerate().filter_map(|(n, item)| self.as_text(item, &format!("{at}/{n}"))).collect()
    }

    fn boolean(&self, o: &mut Object<'_>, name: &str, default: bool) -> bool {
        let at = o.at(name);
        match o.take(name) {
            None => default,
            Some(Json::Bool(value)) => value,
            Some(_) => {
                self.fault(&at, "true or false was expected");
                default
            }
        }
    }

    fn requirement(&self, id: &str, at: &str) -> Option<&Requirement> {
        let row = self.context.ledger.get(id);
        if row.is_none() {
            self.fault(at, format!("the requirement {id:?} is in no ledger"));
        }
        row
    }

    fn file(&self, json: &Json) -> Option<Vec<Vector>> {
        let mut o = self.object(json, "")?;
        self.constant(&mut o, "format", "cetp-vectors/1");
        let suite = self.text(&mut o, "suite");
        let generated = o.take("generated").and_then(|g| self.generated(&g));
        let Some(list) = o.take("vectors") else {
            self.fault("", "the member \"vectors\" is missing");
            return None;
        };
        let list = self.list(list, "/vectors");
        o.finish(self);
        let suite = suite?;
        let mut out = Vec::new();
        for (n, json) in list.iter().enumerate() {
            out.extend(self.vector(json, &format!("/vectors/{n}"), &suite, generated.clone()));
        }
        Some(out)
    }

    fn generated(&self, json: &Json) -> Option<Generated> {
        let mut o = self.object(json, "/generated")?;
        let generator = self.text(&mut o, "generator");
        let source = self.text(&mut o, "source");
        let seed = o.take("seed").and_then(|s| s.as_u64());
        if seed.is_none() {
            self.fault("/generated/seed", "a whole number was expected");
        }
        o.finish(self);
        Some(Generated { generator: generator?, seed: seed?, source: source? })
    }

    fn vector(&self, json: &Json, at: &str, suite: &str, generated: Option<Generated>) -> Option<Vector> {
        let mut o = self.object(json, at)?;
        let id = self.text(&mut o, "id");
        let title = self.text(&mut o, "title");
        let role_text = self.text(&mut o, "role");
        let level = self.text(&mut o, "level");
        let requirements = self.texts(&mut o, "requirements");
        let capabilities = self.texts(&mut o, "capabilities");
        let mut needs = self.texts(&mut o, "needs");
        let mut tools = self.texts(&mut o, "tools");
        let flags = self.texts(&mut o, "flags");
        let notes = self.optional_text(&mut o, "notes");
        let may_not_arise = self.optional_text(&mut o, "may_not_arise");
        let stated_callers = self.texts(&mut o, "callers");
        let stack_text = self.optional_text(&mut o, "stack");
        let now_ms = match o.take("now_ms") {
            None => Some(DEFAULT_NOW_MS),
            Some(value) => value.as_i64(),
        };
        if now_ms.is_none() {
            self.fault(&o.at("now_ms"), "milliseconds since 1970 were expected");
        }
        let mut names = Names::default();
        let steps_at = o.at("steps");
        let steps = match o.take("steps") {
            Some(steps) => self.steps(steps, &steps_at, &mut names, Place::Top),
            None => {
                self.fault(at, "the member \"steps\" is missing");
                Vec::new()
            }
        };
        let source = Arc::new(o.source.clone());
        o.finish(self);

        let role = role_text.as_deref().and_then(Role::from_name);
        if role_text.is_some() && role.is_none() {
            self.fault(&format!("{at}/role"), "unknown role");
        }
        for caller in &stated_callers {
            self.caller(caller, &format!("{at}/callers"), &names);
        }
        let stack = match stack_text.as_deref() {
            // What version 1 is asked for binds those only that speak it.
            None if level.as_deref() == Some("v1_compat") => Stack::Dual,
            None => Stack::Any,
            Some("dual") => Stack::Dual,
            Some("v2_only") => Stack::V2Only,
            Some(_) => {
                self.fault(&format!("{at}/stack"), "must be \"dual\" or \"v2_only\"");
                Stack::Any
            }
        };
        for flag in &flags {
            if !FLAGS.iter().any(|(known, _)| known == flag) {
                self.fault(&format!("{at}/flags"), format!("unknown flag {flag:?}"));
            }
        }
        let used = names.used.borrow().clone();
        // Stated needs are a promise to other interpreters of the format: exactly what the steps use.
        for (name, stated, seen) in [("needs", &mut needs, &used.controls), ("tools", &mut tools, &used.tools)] {
            let stated_set: BTreeSet<String> = stated.iter().cloned().collect();
            if stated_set != *seen {
                let seen: Vec<&String> = seen.iter().collect();
                self.fault(&format!("{at}/{name}"), format!("must name exactly what the steps use: {seen:?}"));
            }
            stated.sort();
        }
        let vector = Vector {
            id: id?,
            title: title?,
            suite: suite.to_owned(),
            role: role?,
            level: level?,
            requirements,
            capabilities,
            stack,
            needs,
            tools,
            callers: used.callers.into_iter().collect(),
            facts: used.facts.into_iter().collect(),
            now_ms: now_ms?,
            flags,
            may_not_arise,
            notes,
            generated,
            steps,
            always: role.and_then(|role| self.context.rules.always.get(&role)).cloned().unwrap_or_default(),
            source,
            file: self.context.file.to_owned(),
        };
        self.check_vector(&vector, at);
        Some(vector)
    }

    fn check_vector(&self, vector: &Vector, at: &str) {
        let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "./_-".contains(c);
        if !vector.id.chars().all(valid) || vector.id.split('/').count() < 3 {
            self.fault(&format!("{at}/id"), "an id has lower-case parts divided by '/', at least three");
        }
        if vector.requirements.is_empty() {
            self.fault(&format!("{at}/requirements"), "a vector is about at least one requirement");
        }
        let levels =
            LEVELS.iter().find(|(suite, _)| *suite == vector.suite).map_or([].as_slice(), |(_, levels)| levels);
        if !levels.contains(&vector.level.as_str()) {
            self.fault(
                &format!("{at}/level"),
                format!("{:?} is no level of the suite; there are {levels:?}", vector.level),
            );
        }
        for name in vector.capabilities.iter().filter(|name| !levels[2.min(levels.len())..].contains(&name.as_str())) {
            self.fault(&format!("{at}/capabilities"), format!("{name:?} is no capability"));
        }
        let binding = |id: &str, at: &str| {
            let row = self.requirement(id, at)?;
            if row.suite != vector.suite {
                self.fault(at, format!("{id} belongs to {}, not to {}", row.suite, vector.suite));
            }
            if !row.role.binds(vector.role) {
                self.fault(at, format!("{id} does not bind a {}", vector.role.name()));
            }
            Some(row)
        };
        let steps_at = format!("{at}/steps");
        let mut judged = BTreeSet::new();
        for step in vector.all_steps() {
            if let Some(id) = &step.breakdown {
                judged.insert(id.clone());
                if binding(id, &steps_at).is_some_and(|row| row.strength > Strength::MustNot) {
                    self.fault(&steps_at, format!("{id} is no must: a breakdown cannot break it"));
                }
            }
        }
        for expectation in vector.expectations() {
            if let About::Requirement { id, .. } = &expectation.about {
                judged.insert(id.clone());
                binding(id, &steps_at);
            }
        }
        for (n, id) in vector.requirements.iter().enumerate() {
            let at = format!("{at}/requirements/{n}");
            let Some(row) = binding(id, &at) else { continue };
            if row.level != vector.level {
                self.fault(&at, format!("{id} is of the level {}, the vector of {}", row.level, vector.level));
            }
            if !judged.contains(id) {
                self.fault(&at, format!("no expectation of the vector judges {id}"));
            }
        }
    }

    fn steps(&self, json: Json, at: &str, names: &mut Names, place: Place) -> Vec<Step> {
        let items = self.list(json, at);
        let mut out = Vec::new();
        for (n, item) in items.iter().enumerate() {
            out.extend(self.step(item, &format!("{at}/{n}"), names, place));
        }
        out
    }

    fn step(&self, json: &Json, at: &str, names: &mut Names, place: Place) -> Option<Step> {
        const KINDS: [&str; 9] =
            ["call", "control", "observe", "read", "close", "repeat", "parallel", "barrier", "let"];
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
            let answered = kinds.iter().any(|kind| ["call", "control", "observe", "read", "close"].contains(kind));
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
    fn early_condition(&self, o: &mut Object<'_>, name: &str, names: &Names) -> Option<Assertion> {
        let at = o.at(name);
        let json = o.take(name)?;
        let names = Names { early: true, ..names.clone() };
        self.assertion(&json, &at, &names)
    }

    fn check_name(&self, name: &str, at: &str) {
        let valid = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !valid || BUILT_IN.contains(&name) || name == "with" {
            self.fault(at, format!("{name:?} cannot be the name of a value"));
        }
    }

    fn kind(&self, kind: &str, o: &mut Object<'_>, names: &mut Names, place: Place) -> Option<Kind> {
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
                    "manifest" => None,
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

    fn parallel(&self, o: &mut Object<'_>, names: &mut Names) -> Option<Kind> {
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

    fn caller(&self, name: &str, at: &str, names: &Names) {
        if !self.context.callers.iter().any(|known| known == name) {
            self.fault(at, format!("unknown caller; there are {:?}", self.context.callers));
        }
        let mut used = names.used.borrow_mut();
        used.callers.insert(name.to_owned());
        if name != "a" {
            used.controls.insert("caller_identity".into());
        }
    }

    fn call(&self, o: &mut Object<'_>, names: &Names) -> Option<Kind> {
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
    fn tool(&self, name: &str, names: &Names) {
        if crate::fixture::tool(name).is_some() {
            names.used.borrow_mut().tools.insert(name.to_owned());
        }
    }

    fn check_extras(&self, members: &Map<String, Json>, at: &str, names: &Names) {
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

    /// Expectations, with shared rules put in.
    fn expectations(&self, json: Json, at: &str, names: &Names) -> Vec<Expectation> {
        let items = self.list(json, at);
        let mut out = Vec::new();
        for (n, item) in items.iter().enumerate() {
            let at = format!("{at}/{n}");
            match item {
                Json::String(name) => out.extend(self.rule(name, &Map::new(), &at, names)),
                Json::Object(members) if members.contains_key("use") => {
                    let Some(mut o) = self.object(item, &at) else { continue };
                    let name = self.text(&mut o, "use").unwrap_or_default();
                    let with = o.take("with").and_then(|w| self.map(w, &o.at("with"))).unwrap_or_default();
                    let when_at = o.at("when");
                    let when = o.take("when").and_then(|w| self.assertion(&w, &when_at, names));
                    o.finish(self);
                    let mut rule = self.rule(&name, &with, &at, names);
                    for expectation in &mut rule {
                        expectation.when.extend(when.clone());
                    }
                    out.extend(rule);
                }
                _ => out.extend(self.expectation(item, &at, names)),
            }
        }
        out
    }

    fn rule(&self, name: &str, with: &Map<String, Json>, at: &str, names: &Names) -> Vec<Expectation> {
        let Some(rule) = self.context.rules.named.get(name) else {
            let known: Vec<&String> = self.context.rules.named.keys().collect();
            self.fault(at, format!("there is no rule {name:?}; there are {known:?}"));
            return Vec::new();
        };
        if self.expanding.borrow().iter().any(|open| open == name) {
            self.fault(at, format!("the rule {name:?} uses itself"));
            return Vec::new();
        }
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
        let inner = Names { anything: true, ..names.clone() };
        let expectations = self.expectations(filled, at, &inner);
        self.expanding.borrow_mut().pop();
        expectations
    }

    fn expectation(&self, json: &Json, at: &str, names: &Names) -> Option<Expectation> {
        let mut o = self.object(json, at)?;
        let requirement = self.optional_text(&mut o, "requirement");
        let precondition = self.optional_text(&mut o, "precondition");
        let strength = self.optional_text(&mut o, "strength");
        let note = self.optional_text(&mut o, "note");
        drop(note);
        let when_at = o.at("when");
        let when = o.take("when").and_then(|w| self.assertion(&w, &when_at, names)).into_iter().collect();
        let about = match (requirement, precondition) {
            (Some(id), None) => {
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
            (None, Some(why)) => Some(About::Precondition(why)),
            _ => {
                self.fault(at, "exactly one of \"requirement\" and \"precondition\" was expected");
                None
            }
        };
        let claim = self.assertion_of(&mut o, names);
        o.finish(self);
        Some(Expectation { about: about?, claim: claim?, when })
    }

    fn assertion(&self, json: &Json, at: &str, names: &Names) -> Option<Assertion> {
        let mut o = self.object(json, at)?;
        let assertion = self.assertion_of(&mut o, names);
        o.finish(self);
        assertion
    }

    fn assertion_of(&self, o: &mut Object<'_>, names: &Names) -> Option<Assertion> {
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
            return Some(Assertion::Is { that, is: value });
        }
        let items = self.list(value, &at);
        let inner: Vec<Assertion> = items
            .iter()
            .enumerate()
            .filter_map(|(n, item)| self.assertion(item, &format!("{at}/{n}"), names))
            .collect();
        if items.is_empty() {
            self.fault(&at, "an empty list decides nothing");
        }
        Some(match *group {
            "any_of" => Assertion::AnyOf(inner),
            "all_of" => Assertion::AllOf(inner),
            _ => Assertion::NoneOf(inner),
        })
    }

    fn check_text(&self, text: &str, at: &str, names: &Names) {
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
            if let Some(fact) = (first == "target").then(|| path.next()).flatten()
                && OPTIONAL_FACTS.contains(&fact)
            {
                names.used.borrow_mut().facts.insert(fact.to_owned());
            }
        }
    }

    fn check_expr(&self, json: &Json, at: &str, names: &Names) {
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

    fn check_pattern(&self, json: &Json, at: &str, names: &Names) {
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

    fn check_operator(&self, name: &str, argument: &Json, at: &str, names: &Names) {
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
            "$any" | "$absent" | "$uuid_form" | "$self_contained" if argument != &Json::Bool(true) => {
                self.fault(at, "must be true");
            }
            "$one_of" | "$all" | "$bag" if !argument.is_array() && !argument.is_string() => {
                self.fault(at, "a list of patterns was expected");
            }
            "$equals" | "$valid_schema" | "$lacks" | "$has_text" | "$starts_with" | "$gt" | "$gte" | "$lt" | "$lte"
            | "$instance_of" => self.check_expr(argument, at, names),
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
    ("$list", &["repeat", "times"]),
    ("$parcel_size", &["bundle", "api"]),
    ("$tally", &["of", "is"]),
    ("$instance_of", &["schema", "dialect"]),
];

fn names_of(list: &[(&'static str, &'static str)]) -> Vec<&'static str> {
    list.iter().map(|(name, _)| *name).collect()
}

/// Puts the values of a rule's `with` in, and notes which were asked for. `${with.x}` alone takes the value; inside a text
/// its text.
fn substitute(json: &Json, with: &dyn Fn(&str) -> Option<Json>, taken: &mut BTreeSet<String>) -> Json {
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

/// Controls that a step may name.
const CONTROLS: [&str; 7] = ["clock", "restart", "user", "scopes", "operation", "fault", "reconfigure"];
/// Observations that a step may name.
const OBSERVATIONS: [&str; 4] = ["manifest", "audit", "ui", "fds"];
/// 2025-10-09T08:53:20Z: any vector may set another.
const DEFAULT_NOW_MS: i64 = 1_760_000_000_000;
/// Far enough that no call of a vector comes near it by accident.
const DEFAULT_DEADLINE_MS: u64 = 60_000;
/// A common buffer size of readers.
const DEFAULT_CHUNK: u64 = 65_536;
/// Above the largest result of the fixture: 16 Mi characters of three bytes, escaped.
const DEFAULT_READ_LIMIT: u64 = 128 << 20;
/// Long enough not to spin, short enough not to be felt.
const DEFAULT_PAUSE_MS: u64 = 5;
