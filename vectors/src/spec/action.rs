//! What can be done to a provider in the model. The main type is [`Action`].

use serde_json::{Value as Json, json};

/// The callers of the model, by the names that vectors have for them.
pub const CALLERS: [&str; 2] = ["a", "b"];

/// The executions that a run of the model can be about: whose they are, and the name of their request. The first of `b`
/// has the request_id of the first of `a`, as the key of deduplication holds the caller (§6).
pub const REQUESTS: [(usize, &str); 3] = [(0, "r0"), (0, "r1"), (1, "r0")];

/// How many sessions there are at a time.
pub const SESSIONS: usize = 2;

/// What a tool of the fixture is in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tool {
    /// Writes at once.
    Append,
    /// Writes at once, and is idempotent.
    Set,
    /// Writes at once, as its risk is small.
    Escalate,
    /// Needs the user, as its risk is seen to be large.
    EscalateLarge,
    /// Always needs the user.
    Transfer,
    /// Becomes an operation that waits for its control.
    HeldJob,
    /// Becomes an operation that runs by itself.
    FreeJob,
    /// Becomes an operation that fails by itself.
    FailingJob,
}

impl Tool {
    /// All of them.
    pub const ALL: [Tool; 8] = [
        Tool::Append,
        Tool::Set,
        Tool::Escalate,
        Tool::EscalateLarge,
        Tool::Transfer,
        Tool::HeldJob,
        Tool::FreeJob,
        Tool::FailingJob,
    ];

    /// The name in the fixture.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Append => "fixture_append",
            Tool::Set => "fixture_set",
            Tool::Escalate | Tool::EscalateLarge => "fixture_escalate",
            Tool::Transfer => "fixture_transfer",
            Tool::HeldJob | Tool::FreeJob | Tool::FailingJob => "fixture_job",
        }
    }

    /// Whether it works beside the calls to an end that nobody has to bring about.
    pub fn ends_by_itself(self) -> bool {
        matches!(self, Tool::FreeJob | Tool::FailingJob)
    }

    /// Arguments: `variant` tells apart those of one tool.
    pub fn args(self, variant: u8) -> Json {
        let text = text_of(variant);
        match self {
            Tool::Append => json!({ "value": text }),
            Tool::Set => json!({ "key": "k", "value": text }),
            Tool::Escalate => json!({ "amount": 5 + u64::from(variant) }),
            Tool::EscalateLarge => json!({ "amount": 5000 + u64::from(variant) }),
            Tool::Transfer => json!({ "amount": 250 + u64::from(variant), "to": "bob" }),
            Tool::HeldJob => json!({ "hold": true, "value": text }),
            Tool::FreeJob => json!({ "hold": false, "value": text }),
            Tool::FailingJob => json!({ "fail": true, "hold": false, "value": text }),
        }
    }

    /// What the ledger shows of an effect with these arguments.
    pub fn entry(self, variant: u8) -> String {
        let text = text_of(variant);
        match self {
            Tool::Append | Tool::HeldJob | Tool::FreeJob | Tool::FailingJob => text,
            Tool::Set => format!("k={text}"),
            Tool::Escalate => (5 + u64::from(variant)).to_string(),
            Tool::EscalateLarge => (5000 + u64::from(variant)).to_string(),
            Tool::Transfer => format!("bob:{}", 250 + u64::from(variant)),
        }
    }

    /// Whether the user is asked first.
    pub fn asks(self) -> bool {
        matches!(self, Tool::Transfer | Tool::EscalateLarge)
    }

    /// Whether it becomes an operation where that was negotiated.
    pub fn is_job(self) -> bool {
        matches!(self, Tool::HeldJob | Tool::FreeJob | Tool::FailingJob)
    }
}

fn text_of(variant: u8) -> String {
    format!("v{variant}")
}

/// What a session has negotiated, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Offer(pub u8);

impl Offer {
    /// The bit of `async_operations`.
    pub const ASYNC: u8 = 1;
    /// The bit of `cancellation`.
    pub const CANCEL: u8 = 2;
    /// The bit of `large_results`.
    pub const LARGE: u8 = 4;
    const NAMES: [(u8, &'static str); 3] =
        [(Offer::ASYNC, "async_operations"), (Offer::CANCEL, "cancellation"), (Offer::LARGE, "large_results")];

    /// Whether it holds a bit.
    pub fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    /// The names of its capabilities.
    pub fn names(self) -> Vec<&'static str> {
        Offer::NAMES.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, name)| *name).collect()
    }
}

/// The resume token of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Token {
    /// None is sent.
    None,
    /// The one that this execution was given.
    Own,
    /// The one that another execution was given, by its place in [`REQUESTS`].
    Of(usize),
    /// One that nobody gave.
    Invented,
}

/// What is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Content {
    /// The tool.
    pub tool: Tool,
    /// Its arguments, see [`Tool::args`].
    pub variant: u8,
}

/// What the user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Decision {
    /// Allows it.
    Approve,
    /// Forbids it.
    Deny,
    /// Looks away.
    Dismiss,
}

impl Decision {
    /// The name in `control.user`.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Approve => "approve",
            Decision::Deny => "deny",
            Decision::Dismiss => "dismiss",
        }
    }
}

/// How a poll or a cancellation names the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Naming {
    /// As it should.
    Right,
    /// With a request_id that is not that of the execution.
    OtherRequest,
    /// With an operation_id that does not exist.
    Unknown,
}

/// Where a held operation is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum To {
    /// It runs.
    Running,
    /// Its effect is there.
    Commit,
    /// It ends well.
    Succeed,
    /// It fails.
    Fail,
}

impl To {
    /// The name in `control.operation`.
    pub fn name(self) -> &'static str {
        match self {
            To::Running => "running",
            To::Commit => "commit",
            To::Succeed => "succeed",
            To::Fail => "fail",
        }
    }
}

/// Where an execution dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Point {
    /// Between the reservation and the effect.
    Reserve,
    /// Between the effect and the reply.
    Commit,
}

/// How time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lapse {
    /// Beyond the validity of every resume token, if the target tells it.
    Tokens,
    /// To a second before the end of the deduplication window of what was first.
    Window,
}

/// One thing that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Action {
    /// A caller negotiates; the session takes the place of the one before.
    Negotiate {
        /// The place of the session.
        slot: usize,
        /// The caller, by its place in [`CALLERS`].
        caller: usize,
        /// What is offered.
        offer: Offer,
    },
    /// A tool is executed.
    Execute {
        /// The session.
        slot: usize,
        /// The execution, by its place in [`REQUESTS`].
        request: usize,
        /// What is executed.
        content: Content,
        /// The resume token.
        token: Token,
        /// Whether its deadline has passed.
        late: bool,
    },
    /// A tool is executed twice at the same time.
    Twins {
        /// The session.
        slot: usize,
        /// The execution.
        request: usize,
        /// What is executed.
        content: Content,
        /// The resume token.
        token: Token,
        /// Decides the interleaving.
        schedule: u8,
    },
    /// Both callers execute the same at the same time, each under its own first request, which have the same request_id.
    /// With the token of the first, the second caller presents it too.
    Pair {
        /// What is executed.
        content: Content,
        /// Whether the first comes back from the user, and the second with its token.
        resumed: bool,
        /// Decides the interleaving.
        schedule: u8,
    },
    /// Another caller presents a session's token.
    Steal {
        /// The session.
        slot: usize,
        /// What it tries to execute.
        content: Content,
    },
    /// The user decides.
    Decide {
        /// The execution that asked.
        request: usize,
        /// What the user does.
        decision: Decision,
    },
    /// The worker of a held operation goes on.
    Move {
        /// The execution.
        request: usize,
        /// Where to.
        to: To,
    },
    /// An operation is looked at once, or, where it runs by itself or has ended, until it has ended.
    Poll {
        /// The session.
        slot: usize,
        /// The execution.
        request: usize,
        /// How it is named.
        naming: Naming,
    },
    /// An operation is asked to end.
    Cancel {
        /// The session.
        slot: usize,
        /// The execution.
        request: usize,
        /// How it is named.
        naming: Naming,
    },
    /// An operation is asked to end while its worker ends well.
    Race {
        /// The session.
        slot: usize,
        /// The execution.
        request: usize,
        /// Decides the interleaving.
        schedule: u8,
    },
    /// The next execution of a tool dies at a point.
    Arm {
        /// The tool.
        tool: Tool,
        /// The point.
        point: Point,
    },
    /// The provider's process ends and comes again.
    Restart {
        /// Without warning.
        kill: bool,
    },
    /// Time passes.
    Wait(Lapse),
    /// The write scope of a caller is granted or withdrawn.
    Scope {
        /// The caller.
        caller: usize,
        /// Granted, else withdrawn.
        grant: bool,
    },
}
