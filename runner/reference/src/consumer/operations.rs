//! Work in the background: polling, cancelling, the result (§4.4). The entry is `Execution::follow`.
//!
//! A terminal state counts only as it is written. Progress is for display; an accepted cancellation is a wish; and a
//! state that nobody defined is neither success nor cancellation.

use super::distort;
use super::execute::Execution;
use super::limits::{MAX_CANCELS, MAX_POLL_MS, MAX_POLLS, MIN_POLL_MS, POLL_MS};
use super::outcome::{CANCELLED, Data, Ending};
use super::platform::Received;
use super::reply::{Answer, Echo, Problem, fits};
use super::results;
use super::retry::{Next, after};
use super::switches::Leeway;
use crate::envelope::{Code, key};
use crate::session::Capability;
use cetp_vectors::bundle::{Bundle, Value};
use serde_json::Value as Json;

/// What a poll came to.
enum State {
    /// Not yet: poll again after so many milliseconds.
    Goes(u64),
    /// The operation has ended.
    Ended(Result<Data, Ending>),
}

/// How far a cancellation has come.
#[derive(Clone, Copy)]
struct Cancellation {
    calls: u32,
    /// The provider has it, or cannot do it. What became of it only a state tells.
    answered: bool,
}

impl Execution<'_> {
    /// Follows the operation that an execution has become, to its end.
    pub(super) fn follow(&mut self, accepted: &Json) -> Result<Data, Ending> {
        if !self.agreed.session.can(Capability::AsyncOperations) && !distort::follows_anything(self.cx, &self.tool) {
            return Err(Ending::refused("The provider answered with an operation, which was not negotiated"));
        }
        if !self.tool.annotations.may_be_async && self.cx.leeway(Leeway::SyncToolsStaySync) {
            return Err(Ending::refused("The provider answered with an operation, which its tool did not declare"));
        }
        let operation = accepted["operation_id"].as_str().filter(|id| fits(id));
        let operation = operation.ok_or_else(|| Ending::refused("The operation has no identifier"))?;
        let mut wait = pause(accepted)?;
        let mut cancellation = Cancellation { calls: 0, answered: false };
        self.goes_well();
        self.following = true;
        for _ in 0..MAX_POLLS {
            if self.is_cancelled()
                && let Some(ended) = self.cancel(operation, &mut cancellation)
            {
                return ended;
            }
            if wait > 0 {
                self.cx.platform.sleep(wait);
            }
            match self.poll(operation)? {
                State::Goes(next) => wait = next,
                State::Ended(ended) => return ended,
            }
        }
        Err(Ending::unknown("The operation does not come to an end"))
    }

    fn poll(&mut self, operation: &str) -> Result<State, Ending> {
        self.still_has_operations()?;
        let answer = self.call("get_operation", &self.about(operation), Echo::May(&self.request_id));
        match answer {
            Answer::Success(data, received) => {
                self.goes_well();
                self.state(operation, &data, &received)
            }
            Answer::Error(problem) => {
                match after(self.cx, &problem, self.retries) {
                    Next::Again(ms) => self.again(problem, ms)?,
                    Next::Negotiate => self.renew(problem)?,
                    // The user cannot help with a question about a state.
                    Next::AskUser | Next::Stop => return Err(problem.ending()),
                }
                Ok(State::Goes(0))
            }
            Answer::Lost(why) => {
                self.after_loss(why)?;
                Ok(State::Goes(0))
            }
            Answer::Accepted(_) => Err(Ending::refused("The answer is no answer to this method")),
            Answer::Malformed(why) => Err(Ending::refused(why)),
        }
    }

    /// Reads a state. `data` must be about this operation, and a terminal state must carry what belongs to it.
    fn state(&self, operation: &str, data: &Json, received: &Received<'_>) -> Result<State, Ending> {
        if data["operation_id"].as_str() != Some(operation) {
            return Err(Ending::refused("The answer is about another operation"));
        }
        if let Some(ended) = distort::progress_is_success(self.cx, data) {
            return Ok(State::Ended(ended));
        }
        Ok(match data["state"].as_str() {
            // The last is not one of the states of §4.4; after `cancel_operation` some providers say it here as well.
            Some("queued" | "running" | "cancellation_requested") => State::Goes(pause(data)?),
            Some("succeeded") => {
                let output = distort::operation_schema(self.cx, &self.tool.output);
                let taken = results::take(self.cx, &self.agreed.session, output, &data["result"], received);
                State::Ended(taken)
            }
            Some("failed") if data["error"].is_object() => {
                State::Ended(Err(Problem::from_json(&data["error"]).ending()))
            }
            Some("failed") => return Err(Ending::refused("The operation failed without an error")),
            Some("cancelled") => {
                let message = "The operation was cancelled before it had an effect".to_owned();
                State::Ended(Err(Ending::Error { code: CANCELLED, message }))
            }
            _ => return Err(Ending::refused("The operation is in an unknown state")),
        })
    }

    /// Asks to cancel, once that is certain to have arrived. Polling goes on: only the state `cancelled` means that
    /// nothing will happen any more (§4.4).
    fn cancel(&mut self, operation: &str, cancellation: &mut Cancellation) -> Option<Result<Data, Ending>> {
        let may = self.agreed.session.can(Capability::Cancellation) || distort::cancels_anyway(self.cx);
        if cancellation.answered || cancellation.calls >= MAX_CANCELS || !may {
            return None;
        }
        cancellation.calls += 1;
        let answer = self.call("cancel_operation", &self.about(operation), Echo::May(&self.request_id));
        cancellation.answered = match &answer {
            Answer::Lost(_) => false,
            Answer::Error(problem) => !(problem.retryable || problem.code == Some(Code::NegotiationRequired)),
            Answer::Success(..) | Answer::Accepted(_) | Answer::Malformed(_) => true,
        };
        distort::cancelled_at_once(self.cx, &answer)
    }

    /// §2.3: a session that was negotiated anew may be able to do less.
    fn still_has_operations(&self) -> Result<(), Ending> {
        match self.agreed.session.can(Capability::AsyncOperations) || distort::follows_anything(self.cx, &self.tool) {
            true => Ok(()),
            false => Err(Ending::unknown("The provider no longer tells about operations")),
        }
    }

    fn about(&self, operation: &str) -> Bundle {
        self.envelope().with(key::OPERATION_ID, Value::string(operation))
    }
}

/// `poll_after_ms`, within our own bounds (§4.4).
fn pause(data: &Json) -> Result<u64, Ending> {
    let ms = match &data["poll_after_ms"] {
        Json::Null => POLL_MS,
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float saturates, and is positive"
        )]
        Json::Number(number) => match number.as_f64() {
            Some(ms) if ms >= 0.0 => ms.ceil() as u64,
            _ => return Err(Ending::refused("poll_after_ms is negative")),
        },
        _ => return Err(Ending::refused("poll_after_ms is no number")),
    };
    Ok(ms.clamp(MIN_POLL_MS, MAX_POLL_MS))
}
