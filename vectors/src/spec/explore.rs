//! The states of the model, breadth first. The main function is [`explore`].
//!
//! The whole product of sessions, executions, crashes and time is too large to be looked at to any depth. A [`Focus`] is a
//! part of the actions in which something happens; each is explored to its own depth, and together they hold every action.

use super::action::{Action, Content, Decision, Lapse, Naming, Offer, Point, REQUESTS, SESSIONS, To, Token, Tool};
use super::state::State;
use super::step::step;
use std::collections::{BTreeMap, BTreeSet};

/// A part of the actions.
#[derive(Clone, Copy, Debug)]
pub struct Focus {
    /// Its name, for ids of vectors.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// The tools.
    pub tools: &'static [Tool],
    /// What sessions offer.
    pub offers: &'static [u8],
    /// The executions, by their place in [`REQUESTS`].
    pub requests: &'static [usize],
    /// How many sessions there are at a time.
    pub sessions: usize,
    /// Whether processes die.
    pub deaths: bool,
    /// Whether time passes.
    pub time: bool,
    /// Whether scopes change.
    pub scopes: bool,
    /// So many actions at most.
    pub depth: usize,
}

/// The parts that vectors are made from.
pub const FOCUSES: &[Focus] = &[
    Focus {
        name: "dedup",
        about: "executions, repeats and other content under a used request_id",
        tools: &[Tool::Append, Tool::Set],
        offers: &[0],
        requests: &[0, 1],
        sessions: 1,
        deaths: true,
        time: true,
        scopes: true,
        depth: 5,
    },
    Focus {
        name: "callers",
        about: "two callers, each with a session, and the same request_id",
        tools: &[Tool::Append, Tool::Escalate],
        offers: &[0],
        requests: &[0, 2],
        sessions: 2,
        deaths: false,
        time: false,
        scopes: false,
        depth: 6,
    },
    Focus {
        name: "confirm",
        about: "questions to the user, their tokens and decisions",
        // Not EscalateLarge: a provider may refuse it instead of asking (§3.4).
        tools: &[Tool::Transfer],
        offers: &[0],
        requests: &[0, 1],
        sessions: 1,
        deaths: true,
        time: true,
        scopes: false,
        depth: 6,
    },
    Focus {
        name: "confirm-callers",
        about: "tokens of another caller",
        tools: &[Tool::Transfer],
        offers: &[0],
        requests: &[0, 2],
        sessions: 2,
        deaths: false,
        time: false,
        scopes: false,
        depth: 7,
    },
    Focus {
        name: "operation",
        about: "operations, their worker and cancellation",
        tools: &[Tool::HeldJob, Tool::FreeJob, Tool::FailingJob],
        offers: &[Offer::ASYNC | Offer::CANCEL],
        requests: &[0],
        sessions: 1,
        deaths: true,
        time: true,
        scopes: false,
        depth: 7,
    },
    Focus {
        name: "operation-sessions",
        about: "operations from sessions of other callers and other capabilities",
        tools: &[Tool::HeldJob],
        offers: &[0, Offer::ASYNC, Offer::ASYNC | Offer::CANCEL],
        requests: &[0],
        sessions: 2,
        deaths: false,
        time: false,
        scopes: false,
        depth: 5,
    },
];

impl Focus {
    /// Everything that could be done in a state; the model says what of it it follows.
    pub fn actions(&self, state: &State) -> Vec<Action> {
        let mut out = Vec::new();
        let callers: BTreeSet<usize> = self.requests.iter().map(|n| REQUESTS[*n].0).collect();
        // Another caller has a session even where it executes nothing.
        let visitors: BTreeSet<usize> = if self.sessions > 1 { [0, 1].into() } else { callers.clone() };
        for slot in 0..self.sessions.min(SESSIONS) {
            for offer in self.offers {
                out.extend(visitors.iter().map(|caller| Action::Negotiate {
                    slot,
                    caller: *caller,
                    offer: Offer(*offer),
                }));
            }
            if state.sessions[slot].is_some() {
                self.calls(state, slot, &mut out);
            }
        }
        if self.sessions > 1 && [0, 2].iter().all(|request| self.requests.contains(request)) {
            let contents = self.tools.iter().map(|tool| Content { tool: *tool, variant: 0 });
            out.extend(
                contents
                    .flat_map(|content| [false, true].map(|resumed| Action::Pair { content, resumed, schedule: 0 })),
            );
        }
        for request in self.requests.iter().copied() {
            let decisions = [Decision::Approve, Decision::Deny, Decision::Dismiss];
            out.extend(decisions.map(|decision| Action::Decide { request, decision }));
            out.extend([To::Running, To::Commit, To::Succeed, To::Fail].map(|to| Action::Move { request, to }));
        }
        if self.deaths {
            out.extend([true, false].map(|kill| Action::Restart { kill }));
            for tool in self.tools {
                out.extend([Point::Reserve, Point::Commit].map(|point| Action::Arm { tool: *tool, point }));
            }
        }
        if self.time {
            out.extend([Lapse::Tokens, Lapse::Window].map(Action::Wait));
        }
        if self.scopes {
            out.extend(callers.iter().flat_map(|n| [true, false].map(|grant| Action::Scope { caller: *n, grant })));
        }
        out
    }

    fn calls(&self, state: &State, slot: usize, out: &mut Vec<Action>) {
        for request in self.requests.iter().copied() {
            for tool in self.tools.iter().copied() {
                // Other arguments matter only under a request_id that was used.
                let variants: &[u8] = if state.records[request].is_some() { &[0, 1] } else { &[0] };
                for content in variants.iter().map(|variant| Content { tool, variant: *variant }) {
                    let tokens = [Token::None, Token::Own, Token::Invented];
                    let others = self.requests.iter().filter(|n| **n != request).map(|n| Token::Of(*n));
                    for token in tokens.into_iter().chain(others) {
                        out.extend([false, true].map(|late| Action::Execute { slot, request, content, token, late }));
                        let schedule = 0;
                        out.push(Action::Twins { slot, request, content, token, schedule });
                    }
                }
            }
            for naming in [Naming::Right, Naming::OtherRequest, Naming::Unknown] {
                out.push(Action::Poll { slot, request, naming });
                out.push(Action::Cancel { slot, request, naming });
            }
            out.push(Action::Race { slot, request, schedule: 0 });
        }
        if let Some(tool) = self.tools.first() {
            out.push(Action::Steal { slot, content: Content { tool: *tool, variant: 0 } });
        }
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// States, those that differ only in order counted once.
    pub states: usize,
    /// Actions that the model follows, over all states.
    pub edges: usize,
    /// The shortest way to each kind of transition, which is its last action.
    pub transitions: BTreeMap<String, Vec<Action>>,
}

/// Explores a focus from the beginning.
pub fn explore(focus: &Focus) -> Explored {
    let mut found = Explored::default();
    let mut seen: BTreeSet<State> = BTreeSet::from([State::default()]);
    let mut layer: Vec<(State, Vec<Action>)> = vec![(State::default(), Vec::new())];
    for _ in 0..focus.depth {
        let mut next_layer = Vec::new();
        for (state, path) in &layer {
            for action in focus.actions(state) {
                let Some(taken) = step(state, action) else { continue };
                found.edges += 1;
                let way = || path.iter().copied().chain([action]).collect::<Vec<Action>>();
                found.transitions.entry(taken.label).or_insert_with(way);
                if seen.insert(taken.next.folded()) {
                    next_layer.push((taken.next, way()));
                }
            }
        }
        layer = next_layer;
    }
    found.states = seen.len();
    found
}
