//! What a conforming provider answers. The main type is [`Answer`].

use super::state::End;

/// What comes back for an action, as far as the specification says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// A session.
    Session,
    /// A control was obeyed.
    Obeyed,
    /// A success with a result of its own.
    Success,
    /// The result that was given before, or one of these errors.
    Stored(&'static [&'static str]),
    /// `USER_ACTION_REQUIRED` with its resolution.
    Question,
    /// An error with one of these codes; nothing happens.
    Refused(&'static [&'static str]),
    /// The same, or a success where the call was executed when the user approved it.
    RefusedUnlessDone(&'static [&'static str]),
    /// Some error; nothing happens.
    AnyError,
    /// A success, or an error with one of these codes.
    SuccessOr(&'static [&'static str]),
    /// Anything but `accepted`.
    NotAccepted,
    /// An operation.
    Accepted,
    /// The same operation; `CANCELLED` too where it was asked to end.
    SameOperation {
        /// It was asked to end.
        asked: bool,
    },
    /// The same operation or its end.
    SameEnd,
    /// The process dies.
    Death,
    /// Anything of a reply: it is judged by the ledger.
    Anything,
    /// Two successes with the same result; of a call that came back from the user one may be refused.
    TwoSuccesses {
        /// With a resume token.
        resumed: bool,
    },
    /// The same operation twice.
    TwoAccepted,
    /// Each caller's execution by itself: both succeed; or the one that comes with the other's token is refused, and by
    /// that the token may be spent.
    EachForItself {
        /// With the resume token of the first.
        resumed: bool,
    },
    /// One of these states.
    State(&'static [&'static str]),
    /// Looked at until it has ended so.
    Until(End),
    /// Looked at again: it ended as was told.
    UntilSame,
    /// The request to end was taken, or cannot be; or the operation has ended meanwhile, in one of these states.
    Cancelling(&'static [&'static str]),
    /// The same for an operation that has ended.
    CancelOfEnded,
}

impl Answer {
    /// Its name, for labels of transitions.
    pub fn name(self) -> String {
        match self {
            Answer::Refused(codes) => format!("refused ({})", codes.join(", ")),
            Answer::RefusedUnlessDone(codes) => format!("refused if not executed already ({})", codes.join(", ")),
            Answer::SuccessOr(codes) => format!("success or {}", codes.join(", ")),
            Answer::Stored([]) => "stored result".into(),
            Answer::Stored(codes) => format!("stored result or {}", codes.join(", ")),
            Answer::Cancelling(states) => format!("conflict or {}", states.join(", ")),
            Answer::State(states) => format!("state {}", states.join(", ")),
            other => format!("{other:?}"),
        }
    }
}
