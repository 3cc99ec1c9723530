//! What a conforming provider is like between two actions. The main type is [`State`]; [`crate::spec::step()`] is how it
//! changes.

use super::action::{CALLERS, Content, Decision, Offer, Point, REQUESTS, SESSIONS, Tool};

/// A session that a caller has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Session {
    /// Whose it is, by the place in [`CALLERS`].
    pub caller: usize,
    /// What was negotiated.
    pub offer: Offer,
}

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// With its effect.
    Succeeded,
    /// Without.
    Failed,
    /// In one of the ways that are allowed: the specification leaves open which.
    Open,
}

/// Where an execution stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// The user was asked.
    Question {
        /// What the user did.
        decided: Option<Decision>,
        /// Whether the validity of its token is over.
        over: bool,
        /// Whether the process has ended since.
        old: bool,
    },
    /// It has succeeded, and the reply is known.
    Done,
    /// It has had its effect, and its reply was lost.
    Unheard,
    /// The user has forbidden it.
    Denied,
    /// An operation waits for its control.
    Held {
        /// It was told to run.
        running: bool,
        /// Its effect is there.
        committed: bool,
        /// It was asked to end.
        asked: bool,
        /// The process has ended since, or the deadline has passed: it goes on or fails.
        old: bool,
    },
    /// An operation runs by itself.
    Free {
        /// It will fail.
        fails: bool,
    },
    /// An operation is over.
    Ended {
        /// How.
        end: End,
        /// Whether its end has been looked at.
        told: bool,
    },
    /// The process died between reservation and effect.
    Torn {
        /// Whether it was sent again since.
        again: bool,
    },
    /// The specification allows several answers from here on, and nothing more is done with it.
    Closed {
        /// Whether it may have had its effect.
        maybe: bool,
    },
}

impl Phase {
    /// Its name, for labels of transitions.
    pub fn name(&self) -> String {
        match self {
            Phase::Question { decided, over, old } => {
                let decided = decided.map_or("waiting", Decision::name);
                let over = if *over { ", over" } else { "" };
                let old = if *old { ", restarted" } else { "" };
                format!("question ({decided}{over}{old})")
            }
            Phase::Done => "done".into(),
            Phase::Unheard => "unheard".into(),
            Phase::Denied => "denied".into(),
            Phase::Held { running, committed, asked, old } => {
                let mut words = vec![if *committed {
                    "committed"
                } else if *running {
                    "running"
                } else {
                    "queued"
                }];
                words.extend(asked.then_some("asked to end"));
                words.extend(old.then_some("left alone"));
                format!("operation ({})", words.join(", "))
            }
            Phase::Free { fails } => format!("operation ({})", if *fails { "failing" } else { "free" }),
            Phase::Ended { end, told } => {
                let end = match end {
                    End::Succeeded => "succeeded",
                    End::Failed => "failed",
                    End::Open => "ended somehow",
                };
                format!("operation ({end}{})", if *told { ", told" } else { "" })
            }
            Phase::Torn { again } => if *again { "torn, sent again" } else { "torn" }.into(),
            Phase::Closed { maybe } => if *maybe { "left open" } else { "left open without effect" }.into(),
        }
    }

    /// Whether it is an operation that a poll can look at.
    pub fn is_operation(&self) -> bool {
        matches!(self, Phase::Held { .. } | Phase::Free { .. } | Phase::Ended { .. })
    }

    /// How many effects it has had.
    pub fn effects(&self) -> Effects {
        match self {
            // A provider may execute a call when the user approves it, before the call comes back (§4.3).
            Phase::Question { decided: Some(Decision::Approve), .. } => Effects::AtMostOne,
            Phase::Question { .. } | Phase::Denied | Phase::Closed { maybe: false } => Effects::Exactly(0),
            Phase::Done | Phase::Unheard | Phase::Ended { end: End::Succeeded, .. } => Effects::Exactly(1),
            Phase::Held { committed: true, .. } => Effects::Exactly(1),
            Phase::Ended { end: End::Failed, .. } | Phase::Free { fails: true } => Effects::Exactly(0),
            // It is held until its worker goes on; after a restart it goes on from there or fails.
            Phase::Held { committed: false, old: false, .. } => Effects::Exactly(0),
            Phase::Held { committed: false, old: true, .. } => Effects::AtMostOne,
            Phase::Ended { end: End::Open, told: true } => Effects::AsTold,
            Phase::Torn { again: true } => Effects::AsAnswered,
            // Who finds the reservation after the restart may go on with it.
            Phase::Torn { again: false }
            | Phase::Closed { maybe: true }
            | Phase::Free { fails: false }
            | Phase::Ended { end: End::Open, told: false } => Effects::AtMostOne,
        }
    }
}

/// How many effects of an execution the ledger shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effects {
    /// So many.
    Exactly(usize),
    /// None or one.
    AtMostOne,
    /// One if its operation was seen to succeed, else none.
    AsTold,
    /// One if a repeat was answered with success, else none or one.
    AsAnswered,
}

/// An execution that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Record {
    /// What was executed.
    pub content: Content,
    /// Where it stands.
    pub phase: Phase,
}

/// A provider and its callers between two actions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct State {
    /// The sessions that the callers still use.
    pub sessions: [Option<Session>; SESSIONS],
    /// The executions, see [`REQUESTS`].
    pub records: [Option<Record>; REQUESTS.len()],
    /// Effects in their order, by execution, as far as that is certain.
    pub effects: Vec<usize>,
    /// Where the next execution of a tool dies.
    pub armed: Option<(Tool, Point)>,
    /// Whether the callers hold the write scope.
    pub may_write: [bool; CALLERS.len()],
    /// Whether time has passed beyond every token, or to the end of the window.
    pub lapsed: [bool; 2],
}

impl Default for State {
    fn default() -> State {
        State {
            sessions: [None; SESSIONS],
            records: [None; REQUESTS.len()],
            effects: Vec::new(),
            armed: None,
            may_write: [true; CALLERS.len()],
            lapsed: [false; 2],
        }
    }
}

impl State {
    /// Where an execution stands.
    pub fn phase(&self, request: usize) -> Option<Phase> {
        self.records[request].map(|record| record.phase)
    }

    /// Whether the token of a question may still be valid.
    pub fn has_open_question(&self) -> bool {
        self.records.iter().flatten().any(|record| matches!(record.phase, Phase::Question { over: false, .. }))
    }

    /// A caller uses its sessions no more.
    pub fn forget_sessions(&mut self, caller: usize) {
        for session in &mut self.sessions {
            session.take_if(|session| session.caller == caller);
        }
    }

    /// One of the states that differ only in the order of sessions and of a caller's requests: the same for all of them.
    pub fn folded(&self) -> State {
        let mut best: Option<State> = None;
        for swap in [false, true] {
            let mut state = self.clone();
            state.sessions.sort();
            if swap {
                // The second caller's request has the id of the first one's first: they are no longer interchangeable.
                if self.records[2].is_some() {
                    continue;
                }
                state.records.swap(0, 1);
                for effect in &mut state.effects {
                    *effect = [1, 0, 2][*effect];
                }
            }
            if best.as_ref().is_none_or(|best| state < *best) {
                best = Some(state);
            }
        }
        best.unwrap_or_else(|| self.clone())
    }
}
