//! Operations: background work, polling, cancelling, and going on after a restart (§4.4). The main functions are
//! `Call::get_operation`, `Call::cancel_operation` and [`Provider::move_operation`].
//!
//! Whoever changes an operation does so in one transaction that first looks where it is. Cancelling and committing
//! therefore cannot both win, and an end is never taken back.

use crate::application::Work;
use crate::audit;
use crate::envelope::{self, Code, Refusal, key, refuse};
use crate::error::{Error, Result};
use crate::faults;
use crate::limits::POLL_AFTER_MS;
use crate::provider::{Call, CrashPoint, Provider};
use crate::record::{self, Outcome, Record, State};
use crate::schedule::Schedule;
use crate::session::Session;
use crate::switches::{Fault, Leeway};
use cetp_vectors::bundle::Bundle;
use rusqlite::Connection;
use serde_json::json;
use std::borrow::Cow;
use std::sync::Arc;
use std::thread;

/// How an operation is moved on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It begins.
    Run,
    /// It has its effect and does not end yet.
    Commit,
    /// It ends with its effect.
    Succeed,
    /// It ends without an effect.
    Fail,
}

/// Which method asks for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// `get_operation`.
    Poll,
    /// `cancel_operation`.
    Cancel,
}

/// What became of moving an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It is where it was to go, or had ended before.
    Yes,
    /// It cannot go there: what is committed does not fail.
    No,
    /// There is none of that name.
    Unknown,
}

impl Call<'_> {
    /// `get_operation`.
    pub(crate) fn get_operation(&self, session: &Session, extras: &Bundle) -> Result<Bundle> {
        envelope::deadline(extras)?;
        let request_id = envelope::request_id(extras)?;
        self.point("poll.before")?;
        let record = self.query(|db| self.operation(db, request_id, extras, Method::Poll))?;
        self.check_session_of(session, &record)?;
        if self.provider.cancels_late(&record)? {
            let data = json!({ "operation_id": record.operation_id, "state": "cancellation_requested" });
            return Ok(envelope::success(envelope::echo(extras), data.to_string()));
        }
        let id = record.operation_id.unwrap_or_default();
        let state = |state: &str| json!({ "operation_id": id, "state": state });
        let waiting = |state: &str, progress| json!({ "operation_id": id, "state": state, "progress": progress, "poll_after_ms": POLL_AFTER_MS });
        let (data, result_fd) = match (record.state, record.outcome) {
            (State::Queued, _) => {
                (waiting("queued", json!({ "current": 0, "total": 1, "message": "Waiting" })).to_string(), None)
            }
            (State::Committed, _) if self.provider.noted(Fault::CommittedShownCancelled, &id) => {
                (state("cancelled").to_string(), None)
            }
            (State::Ended, Some(Outcome::Value(value))) => {
                let wrap = |result: &str| format!(r#"{{"operation_id":"{id}","state":"succeeded","result":{result}}}"#);
                self.carry_operation(session, &value, &wrap)?
            }
            (State::Ended, Some(Outcome::Error(refusal))) if self.broken(Fault::FailedPollIsError) => {
                return Err(refusal.into());
            }
            (State::Ended, Some(Outcome::Error(refusal))) => {
                let mut data = state("failed");
                data["error"] = refusal.to_json();
                (data.to_string(), None)
            }
            (State::Ended, _) => (state("cancelled").to_string(), None),
            // The effect of a committed operation is there, and yet it has not ended: it runs. Progress is for people and
            // does not tell (§4.4).
            (at, _) => {
                let current = i32::from(at == State::Committed);
                let progress = json!({ "current": current, "total": 1, "message": "Working" });
                (waiting("running", progress).to_string(), None)
            }
        };
        if record.state == State::Ended {
            self.provider.note(Fault::ResultReadOnce, &id);
        }
        let mut reply = envelope::success(envelope::echo(extras), data);
        if let Some(fd) = result_fd {
            reply = reply.with(key::RESULT_FD, fd);
        }
        Ok(reply)
    }

    /// `cancel_operation`. Here the work is asked to stop in the same transaction that finds it has had no effect yet, so
    /// the next poll says `cancelled`; the reply promises no more than that the request was taken.
    pub(crate) fn cancel_operation(&self, _session: &Session, extras: &Bundle) -> Result<Bundle> {
        envelope::deadline(extras)?;
        let request_id = envelope::request_id(extras)?;
        self.point("cancel.before")?;
        let look = |db: &Connection| self.operation(db, request_id, extras, Method::Cancel);
        let record = if self.broken(Fault::CancelChecksFirst) {
            let record = self.query(look)?;
            self.point("cancel.decided")?;
            self.transaction(|db| self.cancel_in(db, &record))?;
            record
        } else {
            self.transaction(|db| {
                let record = look(db)?;
                self.cancel_in(db, &record)?;
                Ok(record)
            })?
        };
        self.point("cancel.after")?;
        let state = match &record.outcome {
            Some(outcome) if record.state == State::Ended && self.leeway(Leeway::EndedCancelTellsState) => {
                outcome.name()
            }
            Some(_) if record.state == State::Ended && self.broken(Fault::EndedCancelSaysCancelled) => "cancelled",
            _ => "cancellation_requested",
        };
        let data = json!({ "operation_id": record.operation_id, "state": state });
        Ok(envelope::success(envelope::echo(extras), data.to_string()))
    }

    /// Cancels what has had no effect.
    fn cancel_in(&self, db: &Connection, record: &Record) -> Result<()> {
        let id = record.operation_id.as_deref().unwrap_or_default();
        let without_effect = matches!(record.state, State::Queued | State::Running)
            || (record.state == State::Committed && self.broken(Fault::CancelAfterCommit))
            || (record.state == State::Ended && self.broken(Fault::CancelAfterEnd))
            || (matches!((record.state, &record.outcome), (State::Ended, Some(Outcome::Value(_))))
                && self.broken(Fault::SucceededBecomesCancelled));
        // Cancelling again is answered as the first time: the reply may have been lost.
        let again = matches!(record.outcome, Some(Outcome::Cancelled));
        if again && self.broken(Fault::SecondCancelFails) {
            let refusal = Refusal::new(Code::Conflict, "The work could not be done.");
            return self.provider.end(db, record, &Outcome::Error(refusal));
        }
        if without_effect && !again {
            if record.state == State::Running {
                self.provider.note(Fault::RunningCancelledYetRuns, id);
            }
            self.provider.note(Fault::CancelInMemory, id);
            return match () {
                () if self.broken(Fault::CancelInMemory) || self.leeway(Leeway::CancelIgnored) => Ok(()),
                () if self.leeway(Leeway::CancelNoticedLate) => {
                    record::settle(db, record.uid, &record.request_id, record.state, &Outcome::Cancelled)
                }
                () => self.provider.end(db, record, &Outcome::Cancelled),
            };
        }
        self.provider.note(Fault::CommittedShownCancelled, id);
        let taken = match record.state {
            State::Ended => {
                self.leeway(Leeway::EndedCancelTellsState)
                    || self.leeway(Leeway::EndedCancelRequested)
                    || self.broken(Fault::EndedCancelSaysCancelled)
            }
            State::Committed => {
                self.leeway(Leeway::CommittedCancelTaken) || self.broken(Fault::CommittedShownCancelled)
            }
            _ => false,
        };
        if again || taken {
            return Ok(());
        }
        refuse(Code::Conflict, "The operation can no longer be cancelled.")
    }

    /// The operation that a request names. One of another UID, one of another execution and one that never existed are
    /// answered alike, so that the answer tells nothing (§4.1, §4.4).
    fn operation(&self, db: &Connection, request_id: &str, extras: &Bundle, method: Method) -> Result<Record> {
        let operation_id = &*match envelope::string(extras, key::OPERATION_ID) {
            Ok(id) if !id.is_empty() || !self.broken(Fault::OperationIdNotNeeded) => Cow::Borrowed(id),
            Err(error) if !self.broken(Fault::OperationIdNotNeeded) => return Err(error),
            _ => record::find(db, self.caller.uid, request_id)?
                .and_then(|record| record.operation_id)
                .unwrap_or_default()
                .into(),
        };
        let found = match self.broken(Fault::OperationIdAsPattern) {
            true => record::find_operation_like(db, operation_id)?,
            false => record::find_operation(db, operation_id)?,
        };
        let other_request = self.takes_other_request(db, method, request_id)?;
        let foreign = found.as_ref().is_some_and(|record| record.uid != self.caller.uid);
        let own = found.is_some() && !foreign;
        let owner = found.as_ref().filter(|_| foreign && self.broken(Fault::RefusalNamesOwner)).map(|found| found.uid);
        let of_caller = |record: &Record| {
            (record.request_id == request_id || other_request)
                && (record.uid == self.caller.uid || self.takes_other_uid(method, record))
        };
        let Some(mut record) = found.filter(of_caller).or_else(|| self.invented(method, operation_id)) else {
            let code = match () {
                () if foreign && self.broken(Fault::ForeignOperationDenied) => Code::PermissionDenied,
                () if self.leeway(Leeway::UnknownOperationExpired) => Code::ResultExpired,
                () if !own && self.leeway(Leeway::UnknownOperationDenied) => Code::PermissionDenied,
                () => Code::InvalidRequest,
            };
            if let Some(owner) = owner {
                return refuse(code, format!("This is an operation of {owner}."));
            }
            return refuse(code, "There is no such operation.");
        };
        let kept = record.state != State::Expired && self.leeway(Leeway::OperationsKept);
        if (record.is_expired(self.now_ms()) && !kept) || self.is_kept_too_short(db, &record)? {
            return refuse(Code::ResultExpired, "The operation and its result are no longer kept.");
        }
        if self.provider.noted(Fault::CancelInMemory, operation_id) {
            (record.state, record.outcome) = (State::Ended, Some(Outcome::Cancelled));
        }
        if record.state == State::Queued && self.leeway(Leeway::BareStates) {
            record.state = State::Running;
        }
        Ok(record)
    }
}

impl Provider {
    /// Leaves an operation to a thread of its own.
    pub(crate) fn run_in_background(self: &Arc<Provider>, schedule: &dyn Schedule, operation_id: &str) -> Result<()> {
        let (provider, schedule, id) = (Arc::clone(self), schedule.fork(), operation_id.to_owned());
        let working = self.setup.busy.begin();
        let work = move || {
            let _working = working;
            // Nobody listens to the end of it: what went wrong shows in the operation, or, if the process died, in its
            // going on after the restart.
            let _ = provider
                .point(&*schedule, "operation.before")
                .and_then(|()| provider.move_operation(&*schedule, &id, Step::Run))
                .and_then(|_| provider.move_operation(&*schedule, &id, Step::Succeed));
        };
        thread::Builder::new().name("operation".to_owned()).spawn(work)?;
        Ok(())
    }

    /// Moves an operation on.
    ///
    /// # Errors
    /// The process died, or the store fails.
    pub fn move_operation(&self, schedule: &dyn Schedule, operation_id: &str, step: Step) -> Result<Moved> {
        self.point(schedule, "operation.move")?;
        let mut early = None;
        if self.broken(Fault::CommitChecksFirst) {
            early = self.query(|db| record::find_operation(db, operation_id))?;
            self.point(schedule, "operation.decided")?;
        }
        let look = |db: &Connection| match &early {
            Some(record) => Ok(Some(record.clone())),
            None => record::find_operation(db, operation_id),
        };
        let moved = match self.transaction(|db| self.move_in(db, look(db)?, step)) {
            // The tool failed and the transaction was rolled back: there is no effect, and that is how it ends.
            Err(Error::Refused(refusal)) => self.transaction(|db| {
                match record::find_operation(db, operation_id)? {
                    Some(record) if matches!(record.state, State::Queued | State::Running) => {
                        self.end(db, &record, &Outcome::Error(*refusal))?;
                    }
                    _ => {}
                }
                Ok(Moves::WithoutEffect)
            }),
            moved => moved,
        }?;
        if let Moves::WithEffect(tool) = &moved {
            self.crash_point(CrashPoint::AfterCommit, tool)?;
        }
        self.setup.bell.ring();
        self.point(schedule, "operation.moved")?;
        Ok(match moved {
            Moves::WithEffect(_) | Moves::WithoutEffect => Moved::Yes,
            Moves::Not => Moved::No,
            Moves::Unknown => Moved::Unknown,
        })
    }

    fn move_in(&self, db: &Connection, record: Option<Record>, step: Step) -> Result<Moves> {
        let Some(record) = record else { return Ok(Moves::Unknown) };
        let id = record.operation_id.as_deref().unwrap_or_default();
        if self.noted(Fault::CancelInMemory, id) {
            return Ok(Moves::WithoutEffect);
        }
        match (record.state, step) {
            (State::Ended, Step::Commit | Step::Succeed)
                if record.outcome == Some(Outcome::Cancelled)
                    && (self.broken(Fault::CancelledYetRuns) || self.noted(Fault::RunningCancelledYetRuns, id)) =>
            {
                self.effect_of(db, &record)?;
            }
            (State::Ended, Step::Fail)
                if matches!(record.outcome, Some(Outcome::Value(_))) && self.broken(Fault::LateFailureWins) =>
            {
                let refusal = Refusal::new(Code::Conflict, "The work could not be done.");
                self.end(db, &record, &Outcome::Error(refusal))?;
            }
            // It comes to its next step and notices that it was asked to cancel.
            (State::Queued | State::Running, _) if record.outcome == Some(Outcome::Cancelled) => {
                self.end(db, &record, &Outcome::Cancelled)?;
            }
            (State::Reserved | State::Ended | State::Expired, _) => {}
            (State::Queued | State::Running, Step::Run) => {
                record::advance(db, record.uid, &record.request_id, State::Running)?;
            }
            (State::Queued | State::Running, Step::Commit) => {
                let value = self.effect_of(db, &record)?;
                let outcome = Outcome::Value(value);
                record::settle(db, record.uid, &record.request_id, State::Committed, &outcome)?;
                return Ok(Moves::WithEffect(record.tool));
            }
            (State::Queued | State::Running, Step::Succeed) => {
                // The effect and the end in one transaction: a process that dies here leaves both or neither.
                let value = self.effect_of(db, &record)?;
                self.end(db, &record, &Outcome::Value(value))?;
                return Ok(Moves::WithEffect(record.tool));
            }
            (State::Queued | State::Running, Step::Fail) => {
                let refusal = Refusal::new(Code::Conflict, "The work could not be done.");
                self.end(db, &record, &Outcome::Error(refusal))?;
            }
            (State::Committed, Step::Run | Step::Commit) => {}
            (State::Committed, Step::Succeed) => self.end_committed(db, &record)?,
            (State::Committed, Step::Fail) => return Ok(Moves::Not),
        }
        Ok(Moves::WithoutEffect)
    }

    pub(crate) fn effect_of(&self, db: &Connection, record: &Record) -> Result<String> {
        let catalogue = self.catalogue();
        let tool = catalogue.find_hidden(&record.tool).ok_or_else(|| Error::lost("the operation's tool"))?;
        let args = record.args.as_deref().ok_or_else(|| Error::lost("the operation's args"))?;
        let args = cetp_vectors::json::parse_text(args).map_err(|_| Error::lost("the operation's args"))?;
        self.perform(db, tool, Work { tool: &tool.name, request_id: &record.request_id, args: &args })
    }

    /// Whether an operation was asked to cancel and had not noticed; then it has ended now.
    fn cancels_late(&self, record: &Record) -> Result<bool> {
        let asked = |record: &Record| record.outcome == Some(Outcome::Cancelled) && record.state != State::Ended;
        let Some(id) = record.operation_id.as_deref().filter(|_| asked(record)) else { return Ok(false) };
        self.transaction(|db| match record::find_operation(db, id)?.filter(asked) {
            Some(record) => self.end(db, &record, &Outcome::Cancelled),
            None => Ok(()),
        })?;
        Ok(true)
    }

    pub(crate) fn end(&self, db: &Connection, record: &Record, outcome: &Outcome) -> Result<()> {
        record::settle(db, record.uid, &record.request_id, State::Ended, outcome)?;
        audit::operation_ended(db, record, outcome)
    }

    fn end_committed(&self, db: &Connection, record: &Record) -> Result<()> {
        match &record.outcome {
            Some(outcome) => self.end(db, record, outcome),
            None => Err(Error::lost("the outcome of a committed operation")),
        }
    }

    /// Goes on where an earlier process stopped (§4.4): what was committed has succeeded, what works by itself works on,
    /// what waits for somebody still waits. Synchronous executions that were left are taken up by their repetition.
    pub(crate) fn recover_operations(self: &Arc<Provider>, schedule: &dyn Schedule) -> Result<()> {
        self.query(|db| self.forget_with_the_process(db))?;
        self.break_operations()?;
        for record in self.query(record::unfinished_operations)? {
            match &record.operation_id {
                _ if record.outcome == Some(Outcome::Cancelled) => {
                    self.transaction(|db| self.end(db, &record, &Outcome::Cancelled))?;
                }
                _ if record.state == State::Committed => {
                    self.transaction(|db| match self.recover_committed(db, &record)? {
                        true => Ok(()),
                        false => self.end_committed(db, &record),
                    })?;
                }
                _ if self.setup.switches.leeway(Leeway::RestartFailsUnfinished)
                    || self.broken(Fault::CommittedFails) =>
                {
                    self.transaction(|db| self.end(db, &record, &Outcome::Error(faults::interrupted())))?;
                }
                Some(operation_id) if !record.held => {
                    if self.broken(Fault::RecoveredRunsTwice) {
                        self.transaction(|db| self.effect_of(db, &record))?;
                    }
                    self.run_in_background(schedule, operation_id)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Provider {
    /// What faults have not made durable.
    fn forget_with_the_process(&self, db: &Connection) -> Result<()> {
        let lost = Refusal::new(Code::InternalError, "The result is lost.").to_json();
        let ended = "state = 'ended' AND outcome = 'value' AND operation_id IS NULL";
        for (fault, sql) in [
            (Fault::ReservationsInMemory, "DELETE FROM executions".to_owned()),
            (
                Fault::ResultsInMemory,
                format!("UPDATE executions SET state = 'reserved', outcome = NULL, value = NULL WHERE {ended}"),
            ),
            (
                Fault::ResultLostInCrash,
                format!("UPDATE executions SET outcome = 'error', value = '{lost}' WHERE {ended}"),
            ),
            (
                Fault::OperationLostInCrash,
                format!(
                    "UPDATE executions SET state = 'ended', outcome = 'error', value = '{lost}'
                     WHERE operation_id IS NOT NULL AND outcome = 'value'"
                ),
            ),
            (Fault::DenialsInMemory, "DELETE FROM executions WHERE outcome = 'error'".to_owned()),
            (Fault::DenialsInMemory, "DELETE FROM confirmations WHERE state = 'denied'".to_owned()),
            (Fault::BindingInMemory, "UPDATE executions SET tool = ''".to_owned()),
        ] {
            if self.broken(fault) {
                db.execute(&sql, [])?;
            }
        }
        Ok(())
    }
}

/// [`Moved`], with the tool whose effect was committed.
enum Moves {
    WithEffect(String),
    WithoutEffect,
    Not,
    Unknown,
}
