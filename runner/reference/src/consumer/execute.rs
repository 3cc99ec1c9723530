//! One execution of a tool of version 2, from the agent's arguments to a checked value (§4, §6). The main type is
//! [`Execution`].
//!
//! An execution has one `request_id` from its first call to its last: every repetition, whatever made it necessary,
//! asks for the same execution, so that nothing can happen twice (§4.1, §6). Everything that is repeated is counted.

use super::confirm;
use super::context::Context;
use super::descriptor::Tool;
use super::distort;
use super::json;
use super::limits::{MAX_LOSSES, MAX_RENEWALS, MAX_RETRIES, MAX_USER_ACTIONS};
use super::outcome::{Data, Ending};
use super::peer::{Agreed, Peer};
use super::reply::{Answer, Echo, Problem, new_id, read, request};
use super::results;
use super::retry::{Next, after, pause_ms};
use super::switches::Leeway;
use crate::envelope::{Code, key};
use cetp_vectors::bundle::{Bundle, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the agent asks for.
#[derive(Clone, Copy)]
pub struct Request<'r> {
    /// The tool's name.
    pub tool: &'r str,
    /// The arguments, JSON text. These bytes are sent, every time: a resume token is bound to them (§4.3).
    pub args: &'r str,
    /// How long one call may take, in milliseconds.
    pub timeout_ms: i64,
    /// Set when the agent wants it to end.
    pub cancel: &'r AtomicBool,
}

/// An execution that is under way.
pub struct Execution<'e> {
    pub(super) cx: Context<'e>,
    pub(super) peer: &'e Peer,
    pub(super) request: Request<'e>,
    /// The logical execution, and its key for deduplication.
    pub(super) request_id: String,
    pub(super) agreed: Arc<Agreed>,
    pub(super) tool: Arc<Tool>,
    resume_token: Option<String>,
    /// Whether the user left the last screen that was shown.
    dismissed: bool,
    sent: bool,
    losses: u32,
    pub(super) retries: u32,
    renewals: u32,
    user_actions: u32,
    repeats: u32,
    /// It has become an operation: from then on the agent's wish to end it goes to the provider.
    pub(super) following: bool,
}

impl<'e> Execution<'e> {
    /// Prepares an execution: nothing is sent that the provider would refuse anyway.
    ///
    /// # Errors
    /// The provider or the tool cannot be used, or the arguments do not fit.
    pub fn new(cx: Context<'e>, peer: &'e Peer, request: Request<'e>) -> Result<Execution<'e>, Ending> {
        let agreed = peer.agreed(cx)?;
        let tool = agreed.catalogue.tools.get(request.tool);
        let tool = Arc::clone(tool.ok_or_else(|| Ending::refused("The provider has no such tool that can be used"))?);
        if tool.annotations.may_be_async
            && !agreed.session.can(crate::session::Capability::AsyncOperations)
            && cx.leeway(Leeway::AsyncToolsNeedCapability)
        {
            return Err(Ending::refused("The tool needs operations, which were not negotiated"));
        }
        if !cx.leeway(Leeway::ArgumentsUnchecked) {
            let args = json::read_args(request.args)
                .map_err(|why| Ending::refused(format!("The arguments cannot be sent: {why}")))?;
            tool.input.check(&args).map_err(|why| Ending::refused(format!("The arguments cannot be sent: {why}")))?;
        }
        Ok(Execution {
            cx,
            peer,
            request,
            request_id: new_id()?,
            agreed,
            tool,
            resume_token: None,
            dismissed: false,
            sent: false,
            losses: 0,
            retries: 0,
            renewals: 0,
            user_actions: 0,
            repeats: 0,
            following: false,
        })
    }

    /// Executes to the end.
    ///
    /// # Errors
    /// Why there is no value. Where the tool writes and the end leaves open whether it did, the message says so.
    pub fn run(mut self) -> Result<Data, Ending> {
        let ended = self.conclude();
        match ended {
            Err(Ending::Refused { message }) if self.sent && self.tool.writes() => {
                Err(Ending::refused(format!("{message}. Whether the tool had its effect is not known.")))
            }
            ended => ended,
        }
    }

    fn conclude(&mut self) -> Result<Data, Ending> {
        loop {
            match self.send()? {
                Answer::Success(data, received) => {
                    return results::take(self.cx, &self.agreed.session, &self.tool.output, &data, &received);
                }
                Answer::Accepted(data) => return self.follow(&data),
                Answer::Error(problem) => self.after_error(problem)?,
                Answer::Lost(why) => self.after_loss(why)?,
                Answer::Malformed(why) => return Err(Ending::refused(why)),
            }
        }
    }

    fn send(&mut self) -> Result<Answer<'e>, Ending> {
        let most = self.agreed.session.limits.max_request_bytes;
        if distort::size(self.cx, self.request.args) > most {
            return Err(Ending::refused(format!("The arguments cannot be sent: they are longer than {most} bytes")));
        }
        let mut extras = self
            .envelope()
            .with(key::TOOL_NAME, Value::string(&self.tool.name))
            .with(key::ARGS, Value::string(self.request.args));
        if let Some(token) = &self.resume_token {
            extras = extras.with(key::RESUME_TOKEN, Value::string(token));
        }
        self.sent = true;
        Ok(self.call("execute_tool", &extras, Echo::Must(&self.request_id)))
    }

    /// The fields of every call that belongs to this execution.
    pub(super) fn envelope(&self) -> Bundle {
        let time = if self.cx.leeway(Leeway::LongDeadline) { 3_600_000 } else { self.request.timeout_ms.max(1) };
        let deadline = self.cx.platform.now_ms().saturating_add(time);
        request(&self.agreed.session.token, &self.request_id, deadline)
    }

    pub(super) fn call(&self, method: &str, extras: &Bundle, echo: Echo<'_>) -> Answer<'e> {
        let _in_flight = self.agreed.session.enter();
        read(self.cx, self.cx.platform.call(&self.peer.address.authority, method, Some(extras)), echo)
    }

    /// Prepares the repetition that an error allows, or ends with it.
    fn after_error(&mut self, problem: Problem) -> Result<(), Ending> {
        match after(self.cx, &problem, self.retries) {
            Next::Again(ms) => self.again(problem, ms),
            Next::Negotiate => self.renew(problem),
            Next::AskUser => self.ask_user(problem),
            Next::Stop if self.repeats == 0 && distort::unchanged_once(self.cx, &problem) => {
                self.repeats = 1;
                Ok(())
            }
            Next::Stop => Err(problem.ending()),
        }
    }

    /// Waits for a repetition, within what is left of them.
    pub(super) fn again(&mut self, problem: Problem, ms: u64) -> Result<(), Ending> {
        if self.retries >= distort::most_retries(self.cx, MAX_RETRIES) || self.gives_up() {
            return Err(problem.ending());
        }
        self.retries += 1;
        self.cx.platform.sleep(ms);
        Ok(())
    }

    /// A new session in the place of one that the provider no longer knows (§2.2). The tool must still be what the agent
    /// was shown: what it has become since was not asked for.
    pub(super) fn renew(&mut self, problem: Problem) -> Result<(), Ending> {
        let most = distort::most_renewals(self.cx, MAX_RENEWALS);
        if self.renewals >= most || self.gives_up() || self.cx.leeway(Leeway::NeverRenegotiates) {
            return Err(problem.ending());
        }
        self.renewals += 1;
        if distort::renews_in_name_only(self.cx) {
            return Ok(());
        }
        self.agreed = self.peer.renew(self.cx, Some(&self.agreed))?;
        match self.agreed.catalogue.tools.get(self.request.tool) {
            Some(tool) if tool.descriptor == self.tool.descriptor => Ok(()),
            _ => Err(Ending::refused("The tool has changed since it was shown")),
        }
    }

    /// §4.3: the user decides on the provider's own screen; then the same call is made again, with the resume token. It is
    /// also made where the user only left the screen: whether that is a refusal is the provider's to say. But nobody is
    /// asked again who has just left.
    fn ask_user(&mut self, problem: Problem) -> Result<(), Ending> {
        if distort::unchanged_without_user(self.cx, &problem, self.repeats) {
            self.repeats += 1;
            return Ok(());
        }
        let most = distort::most_user_actions(self.cx, MAX_USER_ACTIONS);
        if self.dismissed && !distort::asks_again(self.cx) || self.user_actions >= most || self.gives_up() {
            return Err(problem.ending());
        }
        self.user_actions += 1;
        let (token, left) = confirm::ask(self.cx, &self.peer.address.package, &problem)?;
        if left && self.cx.leeway(Leeway::LeavingIsCancelling) {
            return Err(Ending::error(Code::UserCancelled, "The user left the screen"));
        }
        self.dismissed = left;
        self.resume_token = Some(token);
        Ok(())
    }

    /// §6: a call without an answer may have had its effect. The same call with the same `request_id` finds out.
    pub(super) fn after_loss(&mut self, why: &'static str) -> Result<(), Ending> {
        if self.losses >= MAX_LOSSES || self.gives_up() || self.cx.leeway(Leeway::GivesUpAfterDeath) {
            return Err(match self.tool.writes() {
                true => Ending::unknown(why),
                false => Ending::error(Code::Unavailable, why),
            });
        }
        self.losses += 1;
        self.cx.platform.sleep(pause_ms(self.losses));
        Ok(())
    }

    /// Whether the agent wants it to end.
    pub(super) fn is_cancelled(&self) -> bool {
        self.request.cancel.load(Ordering::SeqCst)
    }

    /// Nothing is repeated for an agent that does not want it any more.
    fn gives_up(&self) -> bool {
        self.is_cancelled() && !self.following
    }

    /// A call was answered: what went wrong before has passed.
    pub(super) fn goes_well(&mut self) {
        (self.losses, self.retries) = (0, 0);
    }
}
