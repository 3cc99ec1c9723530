//! From JSON to [`Vector`], with a JSON Pointer for every fault. The main function is [`vectors`].

pub mod aw;
mod check;
mod expect;
mod script;
mod steps;

use crate::always::Always;
use crate::json::pointer_token;
use crate::ledger::{Ledger, Requirement, Role, Strength};
use crate::model::{About, Expectation, FLAGS, Generated, Reply, Stack, Vector};
use crate::plan::PLAIN_LEVELS;
use expect::substitute;
use serde_json::{Map, Value as Json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

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
    /// Expectations on every call of a provider, or every request of a consumer, by the role of the target.
    pub always: BTreeMap<Role, Arc<Always>>,
    /// Values that vectors use by name, as `${values.NAME}`.
    pub values: Arc<Json>,
    /// What scripted providers answer where a vector says nothing else, by name.
    pub scripts: BTreeMap<String, Vec<Reply>>,
    /// What the rules come to with values that were put in before: most vectors use the same few.
    filled: Arc<Mutex<BTreeMap<FilledRule, Filled>>>,
}

/// A rule, the values of its parameters as JSON, and whether it stands where there is no answer yet.
type FilledRule = (String, String, bool);

/// The expectations of a rule, and what they need.
#[derive(Clone, Debug)]
struct Filled {
    expectations: Vec<Arc<Expectation>>,
    used: Used,
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
    /// How much of each vector is read.
    pub part: Part,
}

/// How much of each vector is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// What it is about and what it does, without the JSON that it was read from: enough to run it.
    Steps,
    /// What it is about, not what it does: enough to list and select vectors, far quicker, and nothing that could run.
    Head,
}

/// Reads a file of vectors.
///
/// # Errors
/// Every fault that was found, sorted.
pub fn vectors(json: Json, context: &Context<'_>) -> Result<Vec<Vector>, Vec<Fault>> {
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

/// Reads one vector whatever it states that it needs and is about: what its steps use and judge takes the place.
///
/// # Errors
/// Every fault that was found, sorted.
pub fn fitted(vector: &Json, suite: &str, context: &Context<'_>) -> Result<Vector, Vec<Fault>> {
    let faults = RefCell::new(Vec::new());
    let parser = Parser { fitting: true, ..Parser::new(context, &faults) };
    let out = parser.vector(vector.clone(), "", suite, None);
    let mut faults = faults.into_inner();
    match out {
        Some(vector) if faults.is_empty() => Ok(vector),
        _ => {
            faults.sort();
            faults.dedup();
            Err(faults)
        }
    }
}

/// Reads a file of rules.
///
/// # Errors
/// Every fault that was found, sorted.
pub fn rules(json: Json, ledger: &Ledger, suite: &str) -> Result<Rules, Vec<Fault>> {
    let faults = RefCell::new(Vec::new());
    let none = Rules::default();
    let mut rules = Rules::default();
    let bare = Context { ledger, rules: &none, callers: &[], file: "", part: Part::Whole };
    let parser = Parser::new(&bare, &faults);
    if let Some(mut o) = parser.object(json, "") {
        parser.constant(&mut o, "format", "cetp-rules/1");
        parser.constant(&mut o, "suite", suite);
        let named = o.take("rules").and_then(|v| parser.map(v, "/rules"));
        rules.named = named.unwrap_or_default().into_iter().collect();
        let always = o.take("always").and_then(|v| parser.map(v, "/always")).unwrap_or_default();
        rules.values = Arc::new(o.take("values").unwrap_or_default());
        let scripts = o.take("scripts").and_then(|v| parser.map(v, "/scripts")).unwrap_or_default();
        o.finish(&parser);
        for (name, script) in scripts {
            let at = format!("/scripts/{}", pointer_token(&name));
            rules.scripts.insert(name, parser.replies(script, &at));
        }
        let context = Context { ledger, rules: &rules, callers: &[], file: "", part: Part::Whole };
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
                Some(role) => {
                    let always = Always::new(parser.expectations(list, &at, &Names::rule()));
                    by_role.insert(role, Arc::new(always));
                }
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
    /// What a vector needs and is about is taken from its steps, see [`fitted`].
    fitting: bool,
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
struct Object {
    members: Map<String, Json>,
    at: String,
}

impl Object {
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
    /// Scripted providers of the vector.
    providers: BTreeSet<String>,
}

/// What a vector needs, as seen in its steps.
#[derive(Clone, Debug, Default)]
struct Used {
    controls: BTreeSet<String>,
    tools: BTreeSet<String>,
    callers: BTreeSet<String>,
    facts: BTreeSet<String>,
}

impl Used {
    fn add(&mut self, more: Used) {
        self.controls.extend(more.controls);
        self.tools.extend(more.tools);
        self.callers.extend(more.callers);
        self.facts.extend(more.facts);
    }
}

impl Names {
    fn rule() -> Names {
        Names { anything: true, ..Names::default() }
    }
}

/// Names that are always there; `uuid` is followed by a name of the vector's choice.
const BUILT_IN: [&str; 19] = [
    "now", "target", "reset", "callers", "uuid", "request", "session", "answer", "reply", "i", "item", "branch",
    "seed", "fixture", "calls", "fds", "schemas", "values", "index",
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
        Parser { context, faults, expanding: RefCell::default(), fitting: false }
    }
}

impl Parser<'_, '_> {
    fn fault(&self, at: &str, message: impl Into<String>) {
        self.faults.borrow_mut().push(Fault { pointer: at.to_owned(), message: message.into() });
    }

    fn object(&self, json: Json, at: &str) -> Option<Object> {
        match json {
            Json::Object(members) => Some(Object { members, at: at.to_owned() }),
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

    fn constant(&self, o: &mut Object, name: &str, value: &str) {
        let at = o.at(name);
        if self.text(o, name).is_some_and(|found| found != value) {
            self.fault(&at, format!("must be {value:?} here"));
        }
    }

    /// A required text.
    fn text(&self, o: &mut Object, name: &str) -> Option<String> {
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

    fn optional_text(&self, o: &mut Object, name: &str) -> Option<String> {
        let at = o.at(name);
        o.take(name).and_then(|value| self.as_text(&value, &at))
    }

    fn texts(&self, o: &mut Object, name: &str) -> Vec<String> {
        let at = o.at(name);
        let Some(value) = o.take(name) else { return Vec::new() };
        let items = self.list(value, &at);
        items.iter().enumerate().filter_map(|(n, item)| self.as_text(item, &format!("{at}/{n}"))).collect()
    }

    fn boolean(&self, o: &mut Object, name: &str, default: bool) -> bool {
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

    fn file(&self, json: Json) -> Option<Vec<Vector>> {
        let mut o = self.object(json, "")?;
        self.constant(&mut o, "format", "cetp-vectors/1");
        let suite = self.text(&mut o, "suite");
        let generated = o.take("generated").and_then(|g| self.generated(g));
        let Some(list) = o.take("vectors") else {
            self.fault("", "the member \"vectors\" is missing");
            return None;
        };
        let list = self.list(list, "/vectors");
        o.finish(self);
        let suite = suite?;
        let mut out = Vec::new();
        for (n, json) in list.into_iter().enumerate() {
            out.extend(self.vector(json, &format!("/vectors/{n}"), &suite, generated.clone()));
        }
        Some(out)
    }

    fn generated(&self, json: Json) -> Option<Generated> {
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

    fn vector(&self, json: Json, at: &str, suite: &str, generated: Option<Generated>) -> Option<Vector> {
        let head = self.context.part == Part::Head;
        let source = Arc::new(if self.context.part == Part::Whole { json.clone() } else { Json::Null });
        let mut o = self.object(json, at)?;
        if head {
            o.take("providers");
        }
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
        let providers_at = o.at("providers");
        let providers = o.take("providers").map(|json| self.providers(json, &providers_at)).unwrap_or_default();
        let mut names = Names { providers: providers.keys().cloned().collect(), ..Names::default() };
        let steps_at = o.at("steps");
        let steps = match o.take("steps") {
            Some(_) if head => Vec::new(),
            Some(steps) => self.steps(steps, &steps_at, &mut names, Place::Top),
            None => {
                self.fault(at, "the member \"steps\" is missing");
                Vec::new()
            }
        };
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
            if self.fitting {
                *stated = seen.iter().cloned().collect();
            } else if !head && stated_set != *seen {
                let seen: Vec<&String> = seen.iter().collect();
                self.fault(&format!("{at}/{name}"), format!("must name exactly what the steps use: {seen:?}"));
            }
            stated.sort();
        }
        let mut vector = Vector {
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
            providers,
            steps,
            values: Arc::clone(&self.context.rules.values),
            always: role.and_then(|role| self.context.rules.always.get(&role)).cloned().unwrap_or_default(),
            source,
            file: self.context.file.to_owned(),
            unread: None,
        };
        if self.fitting {
            let judged = self.judged(&vector, &format!("{at}/steps"));
            let of_level = |id: &String| self.context.ledger.get(id).is_some_and(|row| row.level == vector.level);
            // Those that it named come first, in their order.
            let mut own = vector.requirements.clone();
            own.extend(judged.iter().filter(|id| !vector.requirements.contains(id)).cloned());
            own.retain(|id| judged.contains(id) && of_level(id));
            vector.requirements = own;
        }
        self.check_vector(&vector, at);
        Some(vector)
    }

    /// A requirement, which must be one of the vector's suite and side.
    fn binding(&self, vector: &Vector, id: &str, at: &str) -> Option<&Requirement> {
        let row = self.requirement(id, at)?;
        if row.suite != vector.suite {
            self.fault(at, format!("{id} belongs to {}, not to {}", row.suite, vector.suite));
        }
        if !row.role.binds(vector.role) {
            self.fault(at, format!("{id} does not bind a {}", vector.role.name()));
        }
        Some(row)
    }

    /// The requirements that the steps of a vector judge.
    fn judged(&self, vector: &Vector, at: &str) -> BTreeSet<String> {
        let mut judged = BTreeSet::new();
        for step in vector.all_steps() {
            if let Some(id) = &step.breakdown {
                judged.insert(id.clone());
                if self.binding(vector, id, at).is_some_and(|row| row.strength > Strength::MustNot) {
                    self.fault(at, format!("{id} is no must: a breakdown cannot break it"));
                }
            }
        }
        for expectation in vector.expectations() {
            if let About::Requirement { id, .. } = &expectation.about {
                judged.insert(id.clone());
                self.binding(vector, id, at);
            }
        }
        judged
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
        let optional = |name: &str| levels.contains(&name) && !PLAIN_LEVELS.contains(&name);
        for name in vector.capabilities.iter().filter(|name| !optional(name.as_str())) {
            self.fault(&format!("{at}/capabilities"), format!("{name:?} is no capability"));
        }
        let judged = self.judged(vector, &format!("{at}/steps"));
        for (n, id) in vector.requirements.iter().enumerate() {
            let at = format!("{at}/requirements/{n}");
            let Some(row) = self.binding(vector, id, &at) else { continue };
            if row.level != vector.level {
                self.fault(&at, format!("{id} is of the level {}, the vector of {}", row.level, vector.level));
            }
            if self.context.part != Part::Head && !judged.contains(id) {
                self.fault(&at, format!("no expectation of the vector judges {id}"));
            }
        }
    }
}

/// 2025-10-09T08:53:20Z: any vector may set another.
const DEFAULT_NOW_MS: i64 = 1_760_000_000_000;
