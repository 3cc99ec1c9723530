//! What may be repeated by itself, when, and how often (§5, §6). The main function is [`after`].
//!
//! A provider that claims `retryable=true` for everything gets nothing out of it: what is final by its meaning stays
//! final, the number of repetitions is ours, and so is the shortest wait.

use super::context::Context;
use super::limits::{BACKOFF_MS, MAX_WAIT_MS};
use super::reply::Problem;
use super::switches::{Fault, Leeway};
use crate::envelope::Code;

/// What follows from an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is final.
    Stop,
    /// The same call again, after so many milliseconds.
    Again(u64),
    /// A new session first (§2.2).
    Negotiate,
    /// The user first (§4.3).
    AskUser,
}

/// What follows from an error after which there were already so many repetitions.
pub fn after(cx: Context<'_>, problem: &Problem, repetitions: u32) -> Next {
    match problem.code {
        // §4.3: only the user can change the answer, whatever `retryable` says.
        Some(Code::AuthRequired | Code::UserActionRequired) => Next::AskUser,
        _ if !may_be_repeated(cx, problem) => Next::Stop,
        Some(Code::NegotiationRequired) => Next::Negotiate,
        _ => wait(problem, repetitions),
    }
}

/// §5: only with `retryable=true`; and where the table says "no" the provider contradicts itself. An unknown code may
/// mean anything.
fn may_be_repeated(cx: Context<'_>, problem: &Problem) -> bool {
    if cx.broken(Fault::UnretryableRepeated) {
        return true;
    }
    problem.retryable
        && match problem.code {
            Some(Code::InvalidArgs) if cx.broken(Fault::ArgumentErrorRepeated) => true,
            Some(Code::PermissionDenied) if cx.broken(Fault::DenialRepeated) => true,
            Some(Code::InvalidArgs | Code::InvalidRequest | Code::PermissionDenied | Code::UserCancelled) => false,
            Some(code) => code.retryable() != Some(false) || cx.leeway(Leeway::RetryableBelieved),
            None => cx.leeway(Leeway::UnknownCodeRepeated),
        }
}

/// At least `retry_after_ms` (§5), and at least our own pause, which doubles. Nothing is repeated sooner than the provider
/// asks: who asks for too long is not repeated.
fn wait(problem: &Problem, repetitions: u32) -> Next {
    let ms = problem.retry_after_ms.unwrap_or(0).max(pause_ms(repetitions));
    if ms <= MAX_WAIT_MS { Next::Again(ms) } else { Next::Stop }
}

/// The pause before a repetition of which there were already so many.
pub fn pause_ms(repetitions: u32) -> u64 {
    BACKOFF_MS << repetitions.min(8)
}
