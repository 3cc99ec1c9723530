//! Combinations of what a consumer brings and does: versions, capabilities, caller, tool and the way of executing. The main
//! function is [`files`].
//!
//! Every pair of values of two factors that can come together is in some vector, and every three of capabilities, tool and
//! way. The model says what is answered, and which combinations there are.

use super::{Files, Made, file};
use crate::spec::action::{Content, Decision, Lapse, Offer, Point, REQUESTS, To, Token, Tool};
use crate::spec::render::Script;
use crate::spec::state::Phase;
use crate::spec::{Action, Step};
use serde_json::Value as Json;
use std::collections::BTreeSet;

pub(super) const NAME: &str = "combinations";
const SOURCE: &str = "src/spec";

const VERSIONS: [&[i32]; 3] = [&[2], &[2, 1], &[3, 2]];
const OFFERS: u8 = 8;
/// Executions of the two callers.
const OWN: [usize; 2] = [0, 2];

/// A way of executing, with its name.
type Way = (&'static str, fn(&mut Script, Case) -> Option<()>);

const WAYS: [Way; 9] = [
    ("once", |script, case| executed(script, case, false)),
    ("repeated", |script, case| {
        executed(script, case, false)?;
        again(script, case, 0)
    }),
    ("repeated-in-another-session", |script, case| {
        executed(script, case, false)?;
        act(script, Action::Negotiate { slot: 1, caller: case.caller, offer: case.other_offer() })?;
        again(script, case, 1)
    }),
    ("repeated-after-a-restart", |script, case| {
        executed(script, case, false)?;
        act(script, Action::Restart { kill: true })?;
        act(script, case.negotiate())?;
        again(script, case, 0)
    }),
    ("repeated-at-the-end-of-the-window", |script, case| {
        executed(script, case, false)?;
        act(script, Action::Wait(Lapse::Window))?;
        act(script, case.negotiate())?;
        again(script, case, 0)
    }),
    ("twice-at-a-time", |script, case| executed(script, case, true)),
    ("with-a-lost-reply", |script, case| {
        if case.tool.asks() {
            asked(script, case, Decision::Approve)?;
        }
        act(script, Action::Arm { tool: case.tool, point: Point::Commit })?;
        act(script, case.execute(0, case.token(), false))?;
        act(script, case.negotiate())?;
        again(script, case, 0)
    }),
    ("too-late", |script, case| act(script, case.execute(0, Token::None, true)).map(drop)),
    ("denied", |script, case| {
        asked(script, case, Decision::Deny)?;
        act(script, case.execute(0, Token::Own, false))?;
        again(script, case, 0)
    }),
];

/// Values that come together, each as the number of its factor and its own.
type Set = Vec<(usize, usize)>;

/// One combination.
#[derive(Clone, Copy)]
struct Case {
    versions: usize,
    offer: Offer,
    caller: usize,
    tool: Tool,
    way: usize,
}

impl Case {
    fn request(self) -> usize {
        OWN[self.caller]
    }

    /// What another session offers: all, but for what makes results that cannot be compared.
    fn other_offer(self) -> Offer {
        if self.tool.is_job() { Offer(Offer::ASYNC | Offer::CANCEL) } else { Offer(OFFERS - 1) }
    }

    fn token(self) -> Token {
        if self.tool.asks() { Token::Own } else { Token::None }
    }

    fn negotiate(self) -> Action {
        Action::Negotiate { slot: 0, caller: self.caller, offer: self.offer }
    }

    fn execute(self, slot: usize, token: Token, late: bool) -> Action {
        let content = Content { tool: self.tool, variant: 0 };
        Action::Execute { slot, request: self.request(), content, token, late }
    }

    /// The values of the factors.
    fn values(self) -> [(usize, usize); 5] {
        let tool = Tool::ALL.iter().position(|tool| *tool == self.tool).unwrap_or(0);
        [(0, self.versions), (1, self.offer.0.into()), (2, self.caller), (3, tool), (4, self.way)]
    }

    /// The pairs of values, and the three that are looked at together.
    fn sets(self) -> Vec<Set> {
        let values = self.values();
        let mut out = vec![vec![values[1], values[3], values[4]]];
        for (n, one) in values.iter().enumerate() {
            out.extend(values[n + 1..].iter().map(|other| vec![*one, *other]));
        }
        out
    }

    /// Whether it says something that holds for every provider.
    fn is_certain(self) -> bool {
        // Cancelling may be granted together with operations only.
        let cancels_alone = self.offer.has(Offer::CANCEL) && !self.offer.has(Offer::ASYNC);
        // With large_results a result may be a file, each time another, whose value is not compared here.
        let compares = self.tool.is_job() || WAYS[self.way].0 == "twice-at-a-time";
        // A risk that is seen at run time may be refused instead of asked about (§3.4).
        self.tool != Tool::EscalateLarge && !cancels_alone && !(self.offer.has(Offer::LARGE) && compares)
    }

    fn vector(self) -> Option<Json> {
        if !self.is_certain() {
            return None;
        }
        let mut script = Script::default().offering(VERSIONS[self.versions]);
        act(&mut script, self.negotiate())?;
        let (name, way) = WAYS[self.way];
        way(&mut script, self)?;
        let capabilities = match self.offer.names().as_slice() {
            [] => "nothing".to_owned(),
            names => names.join(", "),
        };
        let caller = crate::spec::action::CALLERS[self.caller];
        let title = format!(
            "{:?} {}, by caller {caller} with {capabilities} and versions {:?}",
            self.tool,
            name.replace('-', " "),
            VERSIONS[self.versions]
        );
        let tool = format!("{:?}", self.tool).to_lowercase();
        let id = format!("cetp2/provider/6/combined-{tool}-{name}-{}{}{caller}", self.offer.0, self.versions);
        Some(script.finish(&id, &title))
    }
}

fn act(script: &mut Script, action: Action) -> Option<Step> {
    script.act(action)
}

fn asked(script: &mut Script, case: Case, decision: Decision) -> Option<()> {
    if !case.tool.asks() {
        return None;
    }
    act(script, case.execute(0, Token::None, false))?;
    act(script, Action::Decide { request: case.request(), decision }).map(drop)
}

/// To the end of the execution, whatever it needs.
fn executed(script: &mut Script, case: Case, twice: bool) -> Option<()> {
    if case.tool.asks() {
        asked(script, case, Decision::Approve)?;
    }
    let (request, content) = (case.request(), Content { tool: case.tool, variant: 0 });
    let action = match twice {
        true => Action::Twins { slot: 0, request, content, token: case.token(), schedule: 0 },
        false => case.execute(0, case.token(), false),
    };
    act(script, action)?;
    if let Some(Phase::Held { .. }) = script.state().phase(request) {
        act(script, Action::Move { request, to: To::Succeed })?;
    }
    if script.state().phase(request).is_some_and(|phase| phase.is_operation()) {
        act(script, Action::Poll { slot: 0, request, naming: crate::spec::action::Naming::Right })?;
    }
    Some(())
}

fn again(script: &mut Script, case: Case, slot: usize) -> Option<()> {
    act(script, case.execute(slot, Token::None, false)).map(drop)
}

pub(super) fn files(seed: u64) -> Result<Made, String> {
    let mut rows: Vec<(Case, Json, Vec<Set>)> = Vec::new();
    for way in 0..WAYS.len() {
        for tool in Tool::ALL {
            for caller in 0..OWN.len() {
                debug_assert_eq!(REQUESTS[OWN[caller]].0, caller);
                for offer in (0..OFFERS).map(Offer) {
                    for versions in 0..VERSIONS.len() {
                        let case = Case { versions, offer, caller, tool, way };
                        rows.extend(case.vector().map(|vector| (case, vector, case.sets())));
                    }
                }
            }
        }
    }
    // What can come together at all. Three together count where they differ in whether operations were negotiated, as the
    // other capabilities mean nothing to an execution.
    let coarse = |set: &[(usize, usize)]| -> Set {
        let three = set.len() == 3;
        set.iter()
            .map(|(factor, value)| if three && *factor == 1 { (1, value & 1) } else { (*factor, *value) })
            .collect()
    };
    let mut open: BTreeSet<Set> = rows.iter().flat_map(|(_, _, sets)| sets).map(|set| coarse(set)).collect();
    let all = open.len();
    let mut vectors = Vec::new();
    // Greedy: the row that brings most of what is missing; of equal ones the first.
    while !open.is_empty() {
        let gain = |row: &(Case, Json, Vec<Set>)| row.2.iter().filter(|set| open.contains(&coarse(set))).count();
        let mut best = (0, 0);
        for (n, row) in rows.iter().enumerate() {
            let gain = gain(row);
            if gain > best.1 {
                best = (n, gain);
            }
        }
        if best.1 == 0 {
            return Err("a combination is in no row".into());
        }
        let (_, vector, sets) = rows.swap_remove(best.0);
        for set in &sets {
            open.remove(&coarse(set));
        }
        vectors.push(vector);
    }
    vectors.sort_by_key(|vector| vector["id"].as_str().unwrap_or_default().to_owned());
    let report = format!(
        "{} combinations that there are; {all} pairs of versions × capabilities × caller × tool × way, and threes of operations × tool × way; all covered by {} vectors",
        rows.len() + vectors.len(),
        vectors.len()
    );
    let files =
        Files::from([("cetp-v2/provider/generated/combinations.json".to_owned(), file(NAME, seed, SOURCE, vectors))]);
    Ok(Made { files, report })
}
