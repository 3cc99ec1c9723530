//! What a vector is. The main type is [`Vector`]; `docs/vector-format.md` is its manual.
//!
//! The types are what [`crate::load`] makes of the JSON: names are checked, shared rules are put in, expressions and
//! patterns are kept as JSON and computed when the vector runs.

use crate::always::Always;
use crate::expr::Expr;
use crate::ledger::{Role, Strength};
use crate::pattern::Pattern;
use crate::reader::Unread;
use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One test: what to do to a target, and what must come back.
#[derive(Clone, Debug)]
pub struct Vector {
    /// Stable for ever, for example `cetp2/provider/2.2/selects-highest-version`.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// The suite, for example `cetp-v2`.
    pub suite: String,
    /// Which side is under test.
    pub role: Role,
    /// `core`, `v1_compat` or an optional capability.
    pub level: String,
    /// What it is about; each is named by at least one of its expectations.
    pub requirements: Vec<String>,
    /// Capabilities that the target must claim, else the vector is not applicable. The level's own is implied.
    pub capabilities: Vec<String>,
    /// Versions that the target must speak, else the vector is not applicable.
    pub stack: Stack,
    /// Controls without which it cannot run.
    pub needs: Vec<String>,
    /// Fixture tools without which it cannot run.
    pub tools: Vec<String>,
    /// Named callers without which it cannot run.
    pub callers: Vec<String>,
    /// Members of `target.describe`, optional by the protocol, without which it cannot run (such as `resume_ttl_ms`).
    pub facts: Vec<String>,
    /// The clock at its beginning, in milliseconds since 1970.
    pub now_ms: i64,
    /// Properties with a fixed meaning; see [`FLAGS`].
    pub flags: Vec<String>,
    /// Why the case that the vector is about may not arise with a conforming target, where that is so. The vector is then
    /// not applicable; without this a vector that judged nothing is not run.
    pub may_not_arise: Option<String>,
    /// More for people: why, and what is accepted.
    pub notes: Option<String>,
    /// How it was made, where it was not written by hand.
    pub generated: Option<Generated>,
    /// The providers that the runner plays for a consumer, by the name that the vector gives them.
    pub providers: BTreeMap<String, Scripted>,
    /// Values of the suite that placeholders name, as `${values.NAME}`.
    pub values: Arc<Json>,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// Expectations on every call of a provider, or on every request of a consumer, from the suite's rules.
    pub always: Arc<Always>,
    /// The JSON that it was read from, for readers and for campaigns; null where it was read for a run alone.
    pub source: Arc<Json>,
    /// The file that it was read from, relative to the vectors' folder.
    pub file: String,
    /// Where it has no steps yet and can be read whole: see [`Vector::whole`].
    pub unread: Option<Unread>,
}

/// The flags that a vector may have, each with its meaning.
pub const FLAGS: &[(&str, &str)] = &[
    (
        "race",
        "what comes depends on the moment, or on what the target draws by chance: transcripts are compared by outcome",
    ),
    ("grey-zone", "the specification leaves room here; the expectations accept every reading of it"),
    ("large", "moves more than 200 KiB"),
    ("restart", "restarts the target"),
    ("hostile", "what no honest peer would send"),
    ("over-binder", "moves more than a Binder transaction can carry: only a transport other than Binder can show it"),
];

/// Which versions a provider must speak for a vector to be applicable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// Version 2, whatever else.
    Any,
    /// Versions 1 and 2.
    Dual,
    /// Version 2 and not version 1.
    V2Only,
}

impl Stack {
    /// Whether a provider of version 2 is meant that speaks version 1 as well, or does not.
    pub fn fits(self, dual: bool) -> bool {
        match self {
            Stack::Any => true,
            Stack::Dual => dual,
            Stack::V2Only => !dual,
        }
    }
}

/// Where a generated vector comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Name and version of the generator.
    pub generator: String,
    /// Its seed.
    pub seed: u64,
    /// What it was made from.
    pub source: String,
}

/// One step with what all kinds have in common.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is done.
    pub kind: Kind,
    /// Only where this holds.
    pub when: Option<Assertion>,
    /// Name under which the answer is kept.
    pub save: Option<String>,
    /// What must hold after it. Steps that use one shared rule share its expectations.
    pub expect: Vec<Arc<Expectation>>,
    /// The requirement that is broken by a target that dies or hangs here, or, in a repeat that waits, by one that never
    /// comes to what is waited for.
    pub breakdown: Option<String>,
}

/// The kinds of steps.
#[derive(Clone, Debug)]
pub enum Kind {
    /// `provider.call`.
    Call(Box<Call>),
    /// A control of the target.
    Control {
        /// Name of the control, for example `clock`.
        name: String,
        /// Its parameters, an expression.
        with: Json,
    },
    /// `consumer.discover`: the manifests of these scripted providers, in this order.
    Discover(Vec<String>),
    /// `consumer.execute`.
    Execute {
        /// The provider, an expression.
        provider_id: Json,
        /// The tool, an expression.
        tool: Json,
        /// Its arguments.
        args: Args,
        /// Time limit of each call in milliseconds, an expression.
        timeout_ms: Json,
    },
    /// The runner's clock, which is a consumer's, moves on by so many milliseconds, an expression.
    Advance(Json),
    /// A question to the target that changes nothing.
    Observe {
        /// `manifest`, `audit`, `ui`, `fds`, or `memory`, which the runner answers itself.
        name: String,
        /// Its parameters, an expression.
        with: Json,
    },
    /// Reads a descriptor.
    Read {
        /// The descriptor's id, an expression.
        fd: Json,
        /// At most so many bytes at a time, an expression.
        chunk_bytes: Json,
        /// Stops after so many bytes, an expression.
        limit_bytes: Json,
    },
    /// Closes a descriptor.
    Close {
        /// The descriptor's id, an expression.
        fd: Json,
    },
    /// One start of a provider of `aw-provider`.
    Spawn(Box<Spawn>),
    /// A host of `aw-provider` runs a scenario with providers that follow a script.
    Host {
        /// The scenario, an expression.
        scenario: Json,
        /// The scripts by the name of the provider; their placeholders are those of the script, not of the vector.
        scripts: Json,
    },
    /// The admission of `aw-provider` decides about a configuration and evidence, an expression.
    Admit(Json),
    /// Steps that are done several times.
    Repeat {
        /// The steps.
        steps: Vec<Step>,
        /// How often.
        rounds: Rounds,
    },
    /// Steps that are done at the same time.
    Parallel(Parallel),
    /// Values that are computed and kept.
    Let(Map<String, Json>),
    /// Inside a branch: goes on when every branch has come to it.
    Barrier,
    /// Nothing is done, only expected.
    Expect,
}

/// One start of a provider of `aw-provider`.
#[derive(Clone, Debug)]
pub struct Spawn {
    /// What is written to its standard input, an expression: a text is written exactly, `{"base64"}` as these bytes, `{"bytes"}` part
    /// after part, any other value as compact JSON.
    pub stdin: Json,
    /// Whether that is a request which the protocol allows; rules about replies rest on it.
    pub valid: bool,
    /// Time limit of the process in milliseconds, an expression; the target's own where none is given.
    pub limit_ms: Option<Json>,
    /// Writing stops after so many bytes (an expression) for [`Spawn::pause_ms`].
    pub pause_after: Option<Json>,
    /// How long writing stops, in milliseconds.
    pub pause_ms: u64,
    /// Whether files that change in the provider's folder are told.
    pub watch: bool,
}

/// Steps that are done at the same time.
#[derive(Clone, Debug)]
pub struct Parallel {
    /// Each branch's steps.
    pub branches: Vec<Vec<Step>>,
    /// How often the one branch is taken, where there is one; its saved values become lists.
    pub copies: Option<Json>,
    /// Whether messages that start together are sent in the order in which the branches are written; otherwise the seed
    /// decides.
    pub as_written: bool,
    /// The seed of the interleaving in a target of this process, where it is fixed.
    pub schedule: Option<u64>,
}

/// A provider that the runner plays: what its manifest says, and what it answers.
#[derive(Clone, Debug)]
pub struct Scripted {
    /// Its package.
    pub package: String,
    /// Its authority.
    pub authority: String,
    /// What `consumer.discover` shows of it, an expression.
    pub manifest: Json,
    /// The versions that `version` and `versions` of the vector declare, as §2.1 reads them.
    pub declares: Vec<u64>,
    /// What it answers: the first rule that fits does.
    pub rules: Vec<Reply>,
    /// What its descriptors hold, by the id that a reply gives them.
    pub descriptors: BTreeMap<String, Descriptor>,
}

/// A rule of a scripted provider.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The method, or `ui.launch`; `*` is any method.
    pub to: String,
    /// Only the n-th request of the method to this provider, from 1: the first and the last number.
    pub nth: Option<(u64, u64)>,
    /// Only where this holds; `request` and `call` are there.
    pub when: Option<Assertion>,
    /// What is answered.
    pub answer: ReplyForm,
    /// Typed extras that are added to a Bundle or replaced in it; JSON null takes a key away.
    pub extras: Map<String, Json>,
    /// So much time passes before the answer, an expression in milliseconds.
    pub advance_ms: Option<Json>,
    /// The runner first sends `consumer.cancel` for the open execution, and answers when that is answered.
    pub cancel: bool,
    /// The answer is withheld for so much real time, in milliseconds, so that other requests can come in between.
    pub hold_ms: Option<u64>,
}

/// How a scripted answer is given.
#[derive(Clone, Debug)]
pub enum ReplyForm {
    /// The result of the verb as it is on the wire, an expression.
    Wire(Json),
    /// A Bundle with `status=success` and this `data`: a value that is written as JSON, or an exact text.
    Success {
        /// The data.
        data: Args,
        /// Whether it has the form of version 1.
        v1: bool,
    },
    /// A Bundle with `status=error`.
    Error {
        /// The code, an expression.
        code: Json,
        /// The message, an expression.
        message: Json,
        /// Whether it may be repeated, an expression.
        retryable: Json,
        /// Whether it has the form of version 1.
        v1: bool,
    },
    /// A Bundle with `status=accepted` and this `data`, an expression.
    Accepted(Json),
    /// What the next rule that fits answers, with another `data`.
    Change {
        /// JSON Pointers into `data`, each with the value that is put there, an expression.
        set: Map<String, Json>,
        /// JSON Pointers to what is taken away.
        remove: Vec<String>,
    },
}

/// What a descriptor of a scripted provider holds and how it behaves.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// Its content.
    pub content: Content,
    /// At most so many bytes at a reading.
    pub chunk_bytes: Option<u64>,
    /// Reading fails after so many bytes.
    pub error_after: Option<u64>,
    /// So much time passes at each reading, in milliseconds.
    pub slow_ms: u64,
}

/// The content of a descriptor.
#[derive(Clone, Debug)]
pub enum Content {
    /// A text, an expression.
    Text(Json),
    /// One character again and again, so many bytes; without end where none are given.
    Fill {
        /// An ASCII character.
        unit: u8,
        /// How many bytes.
        bytes: Option<u64>,
    },
}

/// How often a [`Kind::Repeat`] is done.
#[derive(Clone, Debug)]
pub enum Rounds {
    /// So many times (an expression); saved values become lists.
    Times(Json),
    /// Once for each element of a list (an expression), which is `item`; saved values become lists.
    Over(Json),
    /// Until this holds after a round; saved values are those of the last round.
    Until {
        /// What is waited for.
        until: Assertion,
        /// Real time between two rounds, in milliseconds.
        pause_ms: u64,
    },
}

/// A `provider.call`.
#[derive(Clone, Debug)]
pub struct Call {
    /// The method, an expression.
    pub method: Json,
    /// The name of the caller, an expression.
    pub caller: Json,
    /// The authority, an expression; the target's own where none is given.
    pub authority: Option<Json>,
    /// The `arg` of the call, an expression.
    pub arg: Json,
    /// The saved reply of `negotiate` whose session this call belongs to; it brings the fields of §4.1.
    pub session: Option<String>,
    /// Name of the logical request, an expression; a name of its own where none is given.
    pub request: Option<Json>,
    /// The deadline, in milliseconds from now, an expression.
    pub deadline_in_ms: Json,
    /// `tool_name`, an expression.
    pub tool: Option<Json>,
    /// `args`.
    pub args: Option<Args>,
    /// The saved reply whose `resume_token` is sent.
    pub resume: Option<String>,
    /// Capabilities offered in `negotiate`, an expression.
    pub offer: Option<Json>,
    /// Typed extras that are added or replaced; JSON null takes a key away. `None` is a null Bundle.
    pub extras: Option<Map<String, Json>>,
    /// Whether the target may end while it handles the call, as a restart or crash was asked for: the suite's rules for
    /// every call are then not judged on a DeadObjectException.
    pub may_die: bool,
}

/// The `args` of an execution.
#[derive(Clone, Debug)]
pub enum Args {
    /// A value that is written as compact JSON, members sorted.
    Value(Json),
    /// The exact text, an expression.
    Text(Json),
}

/// Something that must hold, tied to what it judges.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// What is judged by it.
    pub about: About,
    /// What must hold.
    pub claim: Assertion,
    /// Only where all of these hold.
    pub when: Vec<Assertion>,
    /// For people: what of the requirement is looked at.
    pub note: Option<String>,
}

/// What an expectation that does not hold means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// The requirement is broken, as strongly as given.
    Requirement {
        /// Its id.
        id: String,
        /// [`Strength::Must`] fails, [`Strength::Should`] warns, [`Strength::May`] is told as advice.
        strength: Strength,
    },
    /// The vector cannot be judged, with the reason: no sentence is broken, and nothing is passed.
    Precondition(String),
    /// The target did not come to what the vector is about, as it was free to, with the reason: not run.
    NotRun(String),
}

/// A condition with three values: it holds, it does not, it cannot be told.
#[derive(Clone, Debug)]
pub enum Assertion {
    /// A value matches a pattern. Without `that` it is the answer of the step.
    Is {
        /// The value.
        that: Option<Expr>,
        /// The pattern.
        is: Pattern,
    },
    /// At least one holds.
    AnyOf(Vec<Assertion>),
    /// All hold.
    AllOf(Vec<Assertion>),
    /// None holds.
    NoneOf(Vec<Assertion>),
}

impl Vector {
    /// Whether it has one of [`FLAGS`].
    pub fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known == flag)
    }

    /// The vector with its steps, which are read now where they were not yet: as values, the steps of a suite take many times
    /// their text, and one vector after another runs.
    pub fn whole(&self) -> Cow<'_, Vector> {
        match &self.unread {
            None => Cow::Borrowed(self),
            Some(unread) => Cow::Owned(Vector { generated: self.generated.clone(), ..unread.read(&self.file) }),
        }
    }

    /// Every step, at any depth.
    pub fn all_steps(&self) -> Vec<&Step> {
        let mut out: Vec<&Step> = Vec::new();
        let mut open: Vec<&Step> = self.steps.iter().collect();
        while let Some(step) = open.pop() {
            open.extend(step.inner());
            out.push(step);
        }
        out
    }

    /// Every expectation of the vector's own steps, at any depth.
    pub fn expectations(&self) -> Vec<&Expectation> {
        self.all_steps().into_iter().flat_map(|step| &step.expect).map(AsRef::as_ref).collect()
    }
}

impl Step {
    /// The steps inside this one.
    pub fn inner(&self) -> Vec<&Step> {
        match &self.kind {
            Kind::Repeat { steps, .. } => steps.iter().collect(),
            Kind::Parallel(parallel) => parallel.branches.iter().flatten().collect(),
            _ => Vec::new(),
        }
    }
}
