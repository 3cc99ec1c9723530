//! How the model changes: [`step`] gives the state after an action, and what a conforming provider answers to it.
//!
//! Where the specification allows several answers that lead to different states, the model does not follow them all: it
//! closes the execution ([`Phase::Closed`]), after which only its effect is judged. An action that would lead where nothing
//! is said is no action of the model, and gives nothing.

use super::action::{Action, Content, Decision, Lapse, Naming, Offer, Point, REQUESTS, To, Token, Tool};
use super::answer::Answer;
use super::state::{End, Phase, Record, Session, State};

/// What comes of an action.
#[derive(Clone, Debug)]
pub struct Step {
    /// The state after it.
    pub next: State,
    /// What is answered.
    pub answer: Answer,
    /// The requirement that the answer rests on.
    pub about: &'static str,
    /// What kind of transition it is, the same for all that differ in names only.
    pub label: String,
}

/// Codes with which a resume token that does not fit may be refused (§4.3).
pub const TOKEN_CODES: &[&str] =
    &["INVALID_REQUEST", "PERMISSION_DENIED", "CONFLICT", "USER_ACTION_REQUIRED", "AUTH_REQUIRED"];
const INVALID: &[&str] = &["INVALID_REQUEST"];
const LATE: &[&str] = &["DEADLINE_EXCEEDED"];

/// The state after an action and the answer to it; nothing for what the model does not follow.
pub fn step(state: &State, action: Action) -> Option<Step> {
    let mut next = state.clone();
    let (answer, about, word) = change(&mut next, action)?;
    let subject = subject(action).and_then(|request| state.phase(request));
    let phase = subject.map_or_else(|| "-".to_owned(), |phase| phase.name());
    Some(Step { next, answer, about, label: format!("{phase} | {word} | {} ({about})", answer.name()) })
}

/// The execution that an action is about.
fn subject(action: Action) -> Option<usize> {
    match action {
        Action::Execute { request, .. }
        | Action::Twins { request, .. }
        | Action::Decide { request, .. }
        | Action::Move { request, .. }
        | Action::Poll { request, .. }
        | Action::Cancel { request, .. }
        | Action::Race { request, .. } => Some(request),
        _ => None,
    }
}

type Change = (Answer, &'static str, String);

fn change(state: &mut State, action: Action) -> Option<Change> {
    match action {
        Action::Negotiate { slot, caller, offer } => {
            // A provider may end the caller's earlier session (§2.2).
            state.forget_sessions(caller);
            state.sessions[slot] = Some(Session { caller, offer });
            Some((Answer::Session, "CETP2-2.2-04", format!("negotiate {:?}", offer.names())))
        }
        Action::Execute { slot, request, content, token, late } => execute(state, slot, request, content, token, late),
        Action::Twins { slot, request, content, token, .. } => twins(state, slot, request, content, token),
        Action::Pair { content, resumed, .. } => pair(state, content, resumed),
        Action::Steal { slot, content } => {
            state.sessions[slot]?;
            if content.tool.asks() || content.tool.is_job() {
                return None;
            }
            // The owner's session may end by it.
            state.sessions[slot] = None;
            let codes = &["NEGOTIATION_REQUIRED", "INVALID_REQUEST", "PERMISSION_DENIED"];
            Some((Answer::Refused(codes), "CETP2-2.2-08", "another caller's session".into()))
        }
        Action::Decide { request, decision } => {
            let Phase::Question { decided, over: false, .. } = &mut record(state, request)?.phase else { return None };
            if decided.is_some() {
                return None;
            }
            *decided = Some(decision);
            Some((Answer::Obeyed, "CETP2-4.3-09", decision.name().into()))
        }
        Action::Move { request, to } => go_on(state, request, to),
        Action::Poll { slot, request, naming } => poll(state, slot, request, naming),
        Action::Cancel { slot, request, naming } => cancel(state, slot, request, naming),
        Action::Race { slot, request, .. } => {
            let session = state.sessions[slot]?;
            let phase = &mut record(state, request)?.phase;
            let Phase::Held { committed: false, asked: false, old: false, .. } = phase else { return None };
            if session.caller != REQUESTS[request].0 || !session.offer.has(Offer::CANCEL) {
                return None;
            }
            *phase = Phase::Ended { end: End::Open, told: false };
            // Whichever comes first.
            let states = &["cancellation_requested", "succeeded"];
            Some((Answer::Cancelling(states), "CETP2-4.4-18", "cancel while it succeeds".into()))
        }
        Action::Arm { tool, point } => {
            if state.armed.is_some() || tool.is_job() {
                return None;
            }
            state.armed = Some((tool, point));
            Some((Answer::Obeyed, "CETP2-6-10", format!("arm {point:?}")))
        }
        Action::Restart { kill } => {
            if state.armed.is_some() {
                return None;
            }
            restarted(state);
            let word = if kill { "kill" } else { "stop" };
            let mut phases: Vec<String> = state.records.iter().flatten().map(|record| record.phase.name()).collect();
            phases.dedup();
            Some((Answer::Obeyed, "CETP2-4.4-10", format!("{word} with {}", phases.join(" and "))))
        }
        Action::Wait(lapse) => wait(state, lapse),
        Action::Scope { caller, grant } => {
            if state.may_write[caller] == grant {
                return None;
            }
            state.may_write[caller] = grant;
            let word = if grant { "grant" } else { "withdraw" };
            Some((Answer::Obeyed, "CETP2-7.2-02", word.into()))
        }
    }
}

fn record(state: &mut State, request: usize) -> Option<&mut Record> {
    state.records[request].as_mut()
}

/// What the end of a process does: sessions may be gone, and what was under way goes on or fails.
fn restarted(state: &mut State) {
    state.sessions = [None; 2];
    for record in state.records.iter_mut().flatten() {
        match &mut record.phase {
            Phase::Question { old, .. } | Phase::Held { old, .. } => *old = true,
            phase @ Phase::Free { fails: false } => *phase = Phase::Ended { end: End::Open, told: false },
            _ => {}
        }
    }
}

fn wait(state: &mut State, lapse: Lapse) -> Option<Change> {
    let place = usize::from(lapse == Lapse::Window);
    if state.lapsed[place] || state.lapsed[1] {
        return None;
    }
    let asks = |record: &&Record| matches!(record.phase, Phase::Question { .. } | Phase::Closed { .. });
    if lapse == Lapse::Tokens && state.has_open_question() && !state.records.iter().flatten().all(|one| asks(&one)) {
        // A token may live for longer than records are kept, of which nothing is said then (§6).
        return None;
    }
    state.lapsed[place] = true;
    // Sessions may have ended too.
    state.sessions = [None; 2];
    for record in state.records.iter_mut().flatten() {
        match &mut record.phase {
            Phase::Question { over, decided, .. } => match lapse {
                Lapse::Tokens => *over = true,
                // How long a token is valid is free.
                Lapse::Window => record.phase = Phase::Closed { maybe: *decided == Some(Decision::Approve) },
            },
            // The deadline of its execution has passed: it goes on, or fails as its effect may not begin any more (§4.1).
            Phase::Held { committed: false, old, .. } => *old = true,
            phase @ Phase::Free { fails: false } => *phase = Phase::Ended { end: End::Open, told: false },
            _ => {}
        }
    }
    let word = if lapse == Lapse::Tokens { "tokens end" } else { "the window nearly ends" };
    Some((Answer::Obeyed, "CETP2-6-05", word.into()))
}

fn close(state: &mut State, request: usize, content: Content, maybe: bool) {
    state.records[request] = Some(Record { content, phase: Phase::Closed { maybe } });
}

/// An execution has its effect now, or the process dies over it.
fn commit(state: &mut State, request: usize, content: Content, word: String, about: &'static str) -> Change {
    let armed = state.armed.filter(|(tool, _)| tool.name() == content.tool.name());
    let (phase, answer) = match armed {
        None => (Phase::Done, Answer::Success),
        Some((_, Point::Commit)) => (Phase::Unheard, Answer::Death),
        Some((_, Point::Reserve)) => (Phase::Torn { again: false }, Answer::Death),
    };
    state.records[request] = Some(Record { content, phase });
    if !matches!(phase, Phase::Torn { .. }) {
        state.effects.push(request);
    }
    match armed {
        None => (answer, about, word),
        Some((_, point)) => {
            state.armed = None;
            restarted(state);
            let about = if point == Point::Commit { "CETP2-6-10" } else { "CETP2-6-11" };
            (answer, about, format!("{word}, dies at {point:?}"))
        }
    }
}

fn execute(
    state: &mut State,
    slot: usize,
    request: usize,
    content: Content,
    token: Token,
    late: bool,
) -> Option<Change> {
    let session = state.sessions[slot]?;
    if session.caller != REQUESTS[request].0 {
        return None;
    }
    let armed = state.armed.is_some_and(|(tool, _)| tool.name() == content.tool.name());
    let Some(record) = state.records[request] else {
        return first(state, session, request, content, token, late, armed);
    };
    if !state.may_write[session.caller] || armed && !matches!(record.phase, Phase::Question { .. }) {
        return None;
    }
    let same = record.content == content;
    let kind = if same {
        "again"
    } else if record.content.tool.name() == content.tool.name() {
        "other args"
    } else {
        "other tool"
    };
    let word = |token: &str| format!("{kind}{token}{}", if late { ", late" } else { "" });
    match record.phase {
        Phase::Question { decided, over, old } => {
            let question = Question { decided, over, old, same, late, armed };
            resume(state, request, record, content, token, &question)
        }
        Phase::Done | Phase::Unheard => {
            let unheard = record.phase == Phase::Unheard;
            match (same, token, late) {
                (true, Token::None, false) if unheard => {
                    state.records[request] = Some(Record { phase: Phase::Done, ..record });
                    Some((Answer::Success, "CETP2-6-10", word("")))
                }
                (true, Token::None, false) => Some((
                    Answer::Stored(&[]),
                    if content.tool.asks() { "CETP2-4.3-08" } else { "CETP2-6-04" },
                    word(""),
                )),
                (true, Token::None, true) if !unheard => Some((Answer::Stored(LATE), "CETP2-4.1-12", word(""))),
                (true, Token::Own, false) if content.tool.asks() && !unheard => {
                    Some((Answer::Stored(INVALID), "CETP2-4.3-08", word(", used token")))
                }
                (false, Token::None, false) => Some((Answer::Refused(INVALID), "CETP2-6-03", word(""))),
                (false, Token::Own, false) if record.content.tool.asks() && content.tool.asks() => {
                    let about = if kind == "other args" { "CETP2-4.3-05" } else { "CETP2-4.3-04" };
                    Some((Answer::Refused(INVALID), about, word(", used token")))
                }
                _ => None,
            }
        }
        Phase::Denied => match (same, token, late) {
            (true, Token::None, false) => Some((Answer::Refused(&["USER_CANCELLED"]), "CETP2-4.3-13", word(""))),
            (true, Token::Own, false) => {
                Some((Answer::Refused(&["USER_CANCELLED", "INVALID_REQUEST"]), "CETP2-4.3-13", word(", used token")))
            }
            (false, Token::None, false) => Some((Answer::Refused(INVALID), "CETP2-6-03", word(""))),
            _ => None,
        },
        Phase::Held { .. } | Phase::Free { .. } | Phase::Ended { .. } => {
            if token != Token::None || late || !session.offer.has(Offer::ASYNC) {
                return None;
            }
            if !same {
                return Some((Answer::Refused(INVALID), "CETP2-6-03", word("")));
            }
            match record.phase {
                Phase::Held { asked, old: false, .. } => {
                    Some((Answer::SameOperation { asked }, "CETP2-4.4-14", word("")))
                }
                Phase::Ended { told: true, .. } => Some((Answer::SameEnd, "CETP2-4.4-14", word(""))),
                _ => None,
            }
        }
        Phase::Torn { .. } => {
            if !same || token != Token::None || late || content.tool.asks() {
                return None;
            }
            state.records[request] = Some(Record { phase: Phase::Torn { again: true }, ..record });
            Some((Answer::Anything, "CETP2-6-11", word("")))
        }
        Phase::Closed { .. } => None,
    }
}

/// An execution that was not sent before.
fn first(
    state: &mut State,
    session: Session,
    request: usize,
    content: Content,
    token: Token,
    late: bool,
    armed: bool,
) -> Option<Change> {
    let tool = content.tool;
    let word = format!("first {tool:?}{}", if late { ", late" } else { "" });
    if tool != Tool::Transfer && !state.may_write[session.caller] {
        if token != Token::None || late || armed || tool.is_job() {
            return None;
        }
        close(state, request, content, false);
        // A tool that is hidden for want of its scope does not exist for the caller.
        let codes = &["AUTH_REQUIRED", "PERMISSION_DENIED", "TOOL_NOT_FOUND"];
        return Some((Answer::Refused(codes), "CETP2-3.4-08", format!("{word}, without its scope")));
    }
    match token {
        Token::None => {}
        Token::Own => return None,
        // A token for a tool that needs none may be refused or ignored.
        _ if !tool.asks() || late || armed => return None,
        Token::Invented => {
            close(state, request, content, false);
            return Some((Answer::Refused(TOKEN_CODES), "CETP2-4.3-17", format!("{word}, invented token")));
        }
        Token::Of(other) => {
            let about = foreign_token(state, request, other)?;
            close(state, request, content, false);
            return Some((Answer::Refused(TOKEN_CODES), about, format!("{word}, token of another execution")));
        }
    }
    if armed && (tool.asks() || late) {
        return None;
    }
    if late {
        let codes: &[&str] = if tool.asks() { &["DEADLINE_EXCEEDED", "USER_ACTION_REQUIRED"] } else { LATE };
        if tool.is_job() && !session.offer.has(Offer::ASYNC) {
            return None;
        }
        close(state, request, content, false);
        return Some((Answer::Refused(codes), "CETP2-4.1-10", word));
    }
    if tool.asks() {
        let phase = Phase::Question { decided: None, over: false, old: false };
        state.records[request] = Some(Record { content, phase });
        return Some((Answer::Question, "CETP2-4.3-01", word));
    }
    if tool.is_job() {
        if !session.offer.has(Offer::ASYNC) {
            // Run at once, hidden or refused: all of it is allowed.
            close(state, request, content, true);
            return Some((Answer::NotAccepted, "CETP2-2.3-04", word));
        }
        let phase = match tool {
            Tool::HeldJob => Phase::Held { running: false, committed: false, asked: false, old: false },
            _ => Phase::Free { fails: tool == Tool::FailingJob },
        };
        state.records[request] = Some(Record { content, phase });
        return Some((Answer::Accepted, "CETP2-4.4-01", word));
    }
    Some(commit(state, request, content, word, "CETP2-6-01"))
}

/// What a token of another execution breaks; the execution that it belongs to is followed no further, as a provider may
/// take the token away.
fn foreign_token(state: &mut State, request: usize, other: usize) -> Option<&'static str> {
    let owner = state.records[other].filter(|_| other != request)?;
    let about = if REQUESTS[other].0 == REQUESTS[request].0 { "CETP2-4.3-06" } else { "CETP2-4.3-03" };
    match owner.phase {
        Phase::Question { decided: Some(Decision::Approve), over: false, old: false } => {
            close(state, other, owner.content, true);
            Some(about)
        }
        Phase::Done if owner.content.tool.asks() => Some("CETP2-4.3-08"),
        _ => None,
    }
}

struct Question {
    decided: Option<Decision>,
    over: bool,
    old: bool,
    same: bool,
    late: bool,
    armed: bool,
}

/// A call comes back while its question is open or decided.
fn resume(
    state: &mut State,
    request: usize,
    record: Record,
    content: Content,
    token: Token,
    question: &Question,
) -> Option<Change> {
    let Question { decided, over, old, same, late, armed } = *question;
    let approved = decided == Some(Decision::Approve);
    // After a denial USER_CANCELLED is right whatever token comes; after an approval the user's word may suffice, and a
    // token that is no good be left aside.
    let open = decided.is_none();
    // What is approved may be executed before the call comes back.
    let shut = |state: &mut State| close(state, request, record.content, approved);
    let executes = same && token == Token::Own && approved && !(over || old || late);
    if armed && !executes {
        return None;
    }
    match (same, token) {
        (true, Token::None) if decided.is_none() && !late && !over && !old => {
            shut(state);
            Some((Answer::AnyError, "CETP2-4.3-09", "asked again".into()))
        }
        (true, Token::Own) if late => {
            if !approved || over || old {
                return None;
            }
            shut(state);
            Some((Answer::RefusedUnlessDone(LATE), "CETP2-4.1-10", "resumed, late".into()))
        }
        (true, Token::Own) if old => {
            if !approved || over {
                return None;
            }
            // Whether a token outlives the process is left open.
            shut(state);
            Some((Answer::SuccessOr(TOKEN_CODES), "CETP2-4.4-10", "resumed after a restart".into()))
        }
        (true, Token::Own) if over => {
            if !approved {
                return None;
            }
            shut(state);
            Some((Answer::RefusedUnlessDone(TOKEN_CODES), "CETP2-4.3-07", "resumed too late".into()))
        }
        (true, Token::Own) => match decided {
            None => {
                shut(state);
                let codes = &["USER_ACTION_REQUIRED", "CONFLICT", "UNAVAILABLE"];
                Some((Answer::Refused(codes), "CETP2-4.3-09", "resumed early".into()))
            }
            Some(Decision::Approve) => Some(commit(state, request, record.content, "resumed".into(), "CETP2-4.3-09")),
            Some(Decision::Deny) => {
                state.records[request] = Some(Record { phase: Phase::Denied, ..record });
                Some((Answer::Refused(&["USER_CANCELLED"]), "CETP2-4.3-13", "resumed".into()))
            }
            Some(Decision::Dismiss) => {
                shut(state);
                Some((Answer::Refused(&["USER_CANCELLED", "USER_ACTION_REQUIRED"]), "CETP2-4.3-13", "resumed".into()))
            }
        },
        (true, Token::Invented) if open && !late && !over && !old => {
            shut(state);
            Some((Answer::Refused(TOKEN_CODES), "CETP2-4.3-17", "invented token".into()))
        }
        (true, Token::Of(other)) if open && !late && !over && !old => {
            let about = foreign_token(state, request, other)?;
            shut(state);
            Some((Answer::Refused(TOKEN_CODES), about, "token of another execution".into()))
        }
        (false, Token::Own) if approved && !late && !over && !old && content.tool.asks() => {
            let args = record.content.tool == content.tool;
            shut(state);
            let (about, word) = if args { ("CETP2-4.3-05", "other args") } else { ("CETP2-4.3-04", "other tool") };
            Some((Answer::Refused(TOKEN_CODES), about, format!("resumed with {word}")))
        }
        _ => None,
    }
}

fn twins(state: &mut State, slot: usize, request: usize, content: Content, token: Token) -> Option<Change> {
    let session = state.sessions[slot]?;
    let open = session.caller == REQUESTS[request].0 && state.armed.is_none() && state.may_write[session.caller];
    let resumed = match (state.records[request], token) {
        _ if !open => return None,
        (None, Token::None) if !content.tool.asks() => false,
        (Some(Record { content: asked, phase }), Token::Own)
            if asked == content
                && phase == (Phase::Question { decided: Some(Decision::Approve), over: false, old: false }) =>
        {
            true
        }
        _ => return None,
    };
    let word = if resumed { "resumed twice at a time" } else { "twice at a time" };
    if content.tool.is_job() {
        if content.tool != Tool::HeldJob || !session.offer.has(Offer::ASYNC) {
            return None;
        }
        let phase = Phase::Held { running: false, committed: false, asked: false, old: false };
        state.records[request] = Some(Record { content, phase });
        return Some((Answer::TwoAccepted, "CETP2-4.4-14", word.into()));
    }
    state.records[request] = Some(Record { content, phase: Phase::Done });
    state.effects.push(request);
    Some((Answer::TwoSuccesses { resumed }, "CETP2-6-06", word.into()))
}

/// The executions of two callers under one request_id.
const PAIR: [usize; 2] = [0, 2];

fn pair(state: &mut State, content: Content, resumed: bool) -> Option<Change> {
    let has_session = |caller: usize| state.sessions.iter().flatten().any(|session| session.caller == caller);
    let open = PAIR.iter().all(|request| has_session(REQUESTS[*request].0) && state.may_write[REQUESTS[*request].0]);
    let [first, second] = PAIR;
    if !open || state.armed.is_some() || content.tool.is_job() || state.records[second].is_some() {
        return None;
    }
    let tool = content.tool;
    if !resumed {
        if tool.asks() || state.records[first].is_some() {
            return None;
        }
        for request in PAIR {
            state.records[request] = Some(Record { content, phase: Phase::Done });
            state.effects.push(request);
        }
        let word = format!("both callers {tool:?} at a time");
        return Some((Answer::EachForItself { resumed }, "CETP2-6-02", word));
    }
    let approved = Phase::Question { decided: Some(Decision::Approve), over: false, old: false };
    if state.records[first] != Some(Record { content, phase: approved }) {
        return None;
    }
    close(state, first, content, true);
    close(state, second, content, false);
    let word = "resumed while another caller presents the token".to_owned();
    Some((Answer::EachForItself { resumed }, "CETP2-4.3-03", word))
}

fn go_on(state: &mut State, request: usize, to: To) -> Option<Change> {
    let Phase::Held { running, committed, asked, old } = &mut record(state, request)?.phase else { return None };
    let (was_committed, was_open) = (*committed, *asked || *old);
    match to {
        To::Running if !*running && !*committed && !was_open => {
            *running = true;
            return Some((Answer::Obeyed, "CETP2-4.4-02", "runs".into()));
        }
        To::Commit if !*committed && !was_open => {
            *committed = true;
            state.effects.push(request);
            return Some((Answer::Obeyed, "CETP2-4.4-02", "commits".into()));
        }
        To::Running | To::Commit => return None,
        To::Fail if *committed || *old => return None,
        To::Succeed | To::Fail => {}
    }
    let end = match (to, was_committed, was_open) {
        (To::Succeed, true, _) => End::Succeeded,
        (_, _, true) => End::Open,
        (To::Succeed, false, false) => {
            state.effects.push(request);
            End::Succeeded
        }
        _ => End::Failed,
    };
    record(state, request)?.phase = Phase::Ended { end, told: false };
    Some((Answer::Obeyed, "CETP2-4.4-02", format!("{to:?}")))
}

/// Where an operation is named wrongly or by a session that may not: the refusal.
fn misnamed(session: Session, request: usize, naming: Naming, bit: u8, verb: &str) -> Option<Option<Change>> {
    let own = session.caller == REQUESTS[request].0;
    if !session.offer.has(bit) {
        // Who never grants cancellation may not have the method at all.
        let codes: &[&str] = if bit == Offer::CANCEL {
            &["UNSUPPORTED_CAPABILITY", "METHOD_NOT_FOUND"]
        } else {
            &["UNSUPPORTED_CAPABILITY"]
        };
        let refused = Answer::Refused(codes);
        return Some(
            (own && naming == Naming::Right)
                .then(|| (refused, "CETP2-2.3-02", format!("{verb} that was not negotiated"))),
        );
    }
    match (own, naming) {
        (true, Naming::Right) => None,
        (true, Naming::OtherRequest) => Some(Some((
            Answer::Refused(&["INVALID_REQUEST", "RESULT_EXPIRED"]),
            "CETP2-4.1-08",
            format!("{verb} with another request_id"),
        ))),
        (true, Naming::Unknown) => Some(Some((
            Answer::Refused(&["INVALID_REQUEST", "RESULT_EXPIRED", "PERMISSION_DENIED"]),
            "CETP2-4.4-16",
            format!("{verb} of no operation"),
        ))),
        (false, Naming::Right) => Some(Some((
            Answer::Refused(&["INVALID_REQUEST", "PERMISSION_DENIED", "RESULT_EXPIRED"]),
            "CETP2-4.4-08",
            format!("{verb} of another caller"),
        ))),
        (false, _) => Some(None),
    }
}

fn poll(state: &mut State, slot: usize, request: usize, naming: Naming) -> Option<Change> {
    let session = state.sessions[slot]?;
    let phase = state.phase(request).filter(Phase::is_operation)?;
    if let Some(refusal) = misnamed(session, request, naming, Offer::ASYNC, "poll") {
        return refusal;
    }
    let told = |state: &mut State, end: End| {
        let record = state.records[request].as_mut().expect("it is there");
        record.phase = Phase::Ended { end, told: true };
    };
    let word = "poll".to_owned();
    Some(match phase {
        Phase::Held { committed: true, old: false, asked, .. } => {
            let states: &[&str] = if asked {
                &["queued", "running", "cancellation_requested", "succeeded"]
            } else {
                &["queued", "running", "succeeded"]
            };
            (Answer::State(states), if asked { "CETP2-4.4-12" } else { "CETP2-4.4-02" }, word)
        }
        Phase::Held { committed: true, old: true, .. } => {
            (Answer::State(&["queued", "running", "cancellation_requested", "succeeded"]), "CETP2-4.4-10", word)
        }
        Phase::Held { old: true, .. } => (
            Answer::State(&["queued", "running", "cancellation_requested", "failed", "cancelled"]),
            "CETP2-4.4-10",
            word,
        ),
        Phase::Held { asked: true, .. } => {
            (Answer::State(&["queued", "running", "cancellation_requested", "cancelled"]), "CETP2-4.4-06", word)
        }
        Phase::Held { .. } => (Answer::State(&["queued", "running"]), "CETP2-4.4-02", word),
        Phase::Free { fails } => {
            let end = if fails { End::Failed } else { End::Succeeded };
            told(state, end);
            if end == End::Succeeded {
                state.effects.push(request);
            }
            (Answer::Until(end), "CETP2-4.4-03", word)
        }
        Phase::Ended { told: true, .. } => (Answer::UntilSame, "CETP2-4.4-13", word),
        Phase::Ended { end, told: false } => {
            told(state, end);
            (Answer::Until(end), "CETP2-4.4-03", word)
        }
        _ => return None,
    })
}

fn cancel(state: &mut State, slot: usize, request: usize, naming: Naming) -> Option<Change> {
    let session = state.sessions[slot]?;
    state.phase(request).filter(Phase::is_operation)?;
    if let Some(refusal) = misnamed(session, request, naming, Offer::CANCEL, "cancel") {
        return refusal;
    }
    match &mut record(state, request)?.phase {
        Phase::Held { old: false, asked, committed, .. } => {
            // What was asked to end may have ended by it, and what has had its effect may have succeeded by that.
            let states: &[&str] = match (*asked, *committed) {
                (_, true) => &["cancellation_requested", "succeeded"],
                (true, false) => &["cancellation_requested", "cancelled"],
                (false, false) => &["cancellation_requested"],
            };
            *asked = true;
            let about = if *committed { "CETP2-4.4-12" } else { "CETP2-4.4-06" };
            Some((Answer::Cancelling(states), about, "cancel".into()))
        }
        Phase::Ended { told: true, .. } => Some((Answer::CancelOfEnded, "CETP2-4.4-06", "cancel".into())),
        _ => None,
    }
}
