//! `execute_tool`: the order of checks, the one executor, the effect (§4.1, §4.2, §6). The main function is
//! `Call::execute_tool`.
//!
//! The order is ours (the text leaves it free) and goes from what costs and tells least to what costs and tells most:
//!
//! 1. the envelope: `request_id`, `deadline_at_ms`, `tool_name`, `args` and their size;
//! 2. the tool: existing and not hidden;
//! 3. scopes, so that nobody learns a stored result without them;
//! 4. for a write the record of its `request_id`: a repeat ends here, whatever its deadline;
//! 5. arguments against schema and business rules, the deadline;
//! 6. the user, where the tool or these arguments need one;
//! 7. for a write the reservation, and then the effect and its result in one transaction.

use crate::application::Work;
use crate::audit::Trail;
use crate::catalogue::{Catalogue, Tool};
use crate::confirm::{Consent, Ticket};
use crate::distort;
use crate::envelope::{self, Code, Refusal, key, refuse};
use crate::error::{Error, Result};
use crate::faults;
use crate::limits::{MAX_ARGS_LEVEL, POLL_AFTER_MS};
use crate::lock;
use crate::provider::{Call, CrashPoint, Key, Provider};
use crate::record::{self, Outcome, Record, State};
use crate::session::{Capability, Session, random_name};
use crate::switches::{Fault, Leeway};
use base64::{Engine, engine::general_purpose::STANDARD};
use cetp_vectors::bundle::{Bundle, Text, Value};
use cetp_vectors::json::{Limits, parse};
use rusqlite::Connection;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A checked request to execute a tool.
pub(crate) struct Execution<'r> {
    pub session: &'r Session,
    pub tool: &'r Tool,
    pub uid: i64,
    pub request_id: &'r str,
    pub deadline_ms: i64,
    pub args_text: &'r str,
    /// Of the bytes as they came: §4.3 and §6 bind to them, not to what they mean.
    pub args_sha256: [u8; 32],
    /// What the record is bound to (§6): the same, but for a leeway.
    record_sha256: [u8; 32],
    pub resume_token: Option<&'r str>,
    /// Whether the extras say that the user has confirmed, which means nothing; only a fault looks at it.
    pub says_confirmed: bool,
}

impl Execution<'_> {
    pub fn work<'w>(&'w self, args: &'w Json) -> Work<'w> {
        Work { tool: &self.tool.name, request_id: self.request_id, args }
    }

    fn echo(&self) -> Option<Value> {
        Some(Value::string(self.request_id))
    }
}

/// What is known of a `request_id`.
enum Seen {
    /// Nothing: this is a new execution.
    Nothing,
    /// Another thread is executing it now.
    Busy,
    /// It was reserved by a process that died before the effect. The reservation stands, the confirmation with it.
    Abandoned,
    /// It has ended, or goes on as an operation.
    Known(Box<Record>),
}

/// The right to execute; while it is held no other thread of this process does.
struct Claim<'p> {
    provider: &'p Provider,
    key: Key,
    operation: Option<Background>,
}

/// The operation that a new execution becomes.
struct Background {
    operation_id: String,
    /// Whether it waits for somebody outside.
    held: bool,
}

impl<'p> Claim<'p> {
    fn take(provider: &'p Provider, key: Key, operation: Option<Background>) -> Claim<'p> {
        lock(&provider.executing).insert(key.clone());
        Claim { provider, key, operation }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        lock(&self.provider.executing).remove(&self.key);
        self.provider.setup.bell.ring();
    }
}

impl Call<'_> {
    /// `execute_tool` (§4.1), with its line in the audit (§7.2).
    pub(crate) fn execute_tool(&self, session: &Session, extras: &Bundle) -> Result<Bundle> {
        let mut trail = Trail::default();
        let reply = self.execute(session, extras, &mut trail);
        self.record_audit(trail, extras, &reply)?;
        reply
    }

    fn execute(&self, session: &Session, extras: &Bundle, trail: &mut Trail) -> Result<Bundle> {
        let request_id = envelope::request_id(extras)?;
        let deadline_ms = envelope::deadline(extras)?;
        let mistyped = self.broken(Fault::MistypedTokenConfirms)
            && envelope::get(extras, key::RESUME_TOKEN).is_some_and(|token| !matches!(token, Value::String(_)));
        let resume_token = if mistyped { None } else { envelope::optional_string(extras, key::RESUME_TOKEN)? }
            .filter(|token| !(token.is_empty() && self.leeway(Leeway::ApprovalNeedsNoToken)));
        let catalogue = self.provider.catalogue();
        let name = envelope::string(extras, key::TOOL_NAME)?;
        self.check_args_of_hidden(&catalogue, name, extras)?;
        let tool = self.find_tool(&catalogue, name)?;
        trail.tool = Some(tool.name.clone());
        if self.hides(tool)? {
            return refuse(Code::ToolNotFound, "There is no such tool.");
        }
        let args_text = self.args_text(extras)?;
        let x = Execution {
            session,
            tool,
            uid: self.caller_now().uid,
            request_id,
            deadline_ms,
            args_text,
            args_sha256: Sha256::digest(&*self.bound_text(args_text)).into(),
            record_sha256: Sha256::digest(&*self.recorded_text(args_text)).into(),
            resume_token,
            says_confirmed: mistyped
                || ((self.broken(Fault::ConfirmedExtraBelieved)
                    || (self.broken(Fault::ConfirmedBelievedOnResume) && resume_token.is_some()))
                    && envelope::get(extras, "confirmed") == Some(&Value::Bool(true))),
        };
        faults::audit_entry(self, &x)?;
        if tool.writes { self.write(&x, trail) } else { self.read(&x, trail) }
    }

    /// §5: a tool that does not exist and one that is hidden are answered alike.
    pub(crate) fn find_tool<'c>(&self, catalogue: &'c Catalogue, name: &str) -> Result<&'c Tool> {
        if self.broken(Fault::HiddenDenied) && catalogue.find_hidden(name).is_some_and(|tool| tool.hidden) {
            return refuse(Code::InvalidArgs, "This tool cannot be used.");
        }
        let name = self.loosely(name);
        if self.broken(Fault::HiddenRuns)
            && let Some(tool) = catalogue.find_hidden(&name)
        {
            return Ok(tool);
        }
        let code = if self.broken(Fault::UnknownToolInternal) { Code::InternalError } else { Code::ToolNotFound };
        let told = match self.broken(Fault::UnknownToolNamesHidden) {
            true => "There is no such tool; there are fixture_echo and fixture_hidden.",
            false => "There is no such tool.",
        };
        catalogue.find(&name).ok_or_else(|| Refusal::new(code, told).into())
    }

    /// `args` within its size, which is counted in UTF-8 bytes (§4.1).
    pub(crate) fn args_text<'b>(&self, extras: &'b Bundle) -> Result<&'b str> {
        let text = match envelope::get(extras, key::ARGS) {
            Some(Value::String(Text::Unicode(text))) => text,
            Some(Value::String(Text::Utf16(_))) => return refuse(Code::InvalidArgs, "args is not valid Unicode."),
            Some(_) => return refuse(Code::InvalidRequest, "args is no String."),
            None => return refuse(Code::InvalidRequest, "args is missing."),
        };
        let most = self.limits().max_request_bytes;
        if distort::size(&self.provider.setup.switches, text) > most {
            return refuse(Code::InvalidRequest, format!("args is longer than {most} bytes."));
        }
        Ok(text)
    }

    /// §5: a JSON object that conforms to `input_schema`; §7.3: and to the business rules, which no schema says.
    pub(crate) fn arguments(&self, tool: &Tool, request_id: &str, text: &str) -> Result<Json> {
        // Strict: of two members of one name nobody can say which the caller meant (§7.3).
        let limits = Limits { max_level: MAX_ARGS_LEVEL, ..Limits::TEXT };
        let args = parse(self.leniently(text).as_bytes(), limits).map_err(|_| self.malformed())?;
        let args = self.made_to_fit(tool, args);
        if !args.is_object() || !(tool.input.is_valid(&args) || self.broken(Fault::InputUnchecked)) {
            self.effect_before_refusal(Fault::InputCheckedAfterEffect, tool, request_id, &args)?;
            return refuse(Code::InvalidArgs, "The arguments do not fit the tool's input schema.");
        }
        let work = Work { tool: &tool.name, request_id, args: &args };
        let checked = self.provider.setup.application.check(work);
        if self.broken(Fault::RuleOnRawText) && !text.contains(r#""value":"forbidden"#) {
            return Ok(args);
        }
        if checked.is_err() {
            self.effect_before_refusal(Fault::RuleAfterEffect, tool, request_id, &args)?;
        }
        checked.map(|()| args)
    }

    fn read(&self, x: &Execution<'_>, trail: &mut Trail) -> Result<Bundle> {
        let claimed = self.broken(Fault::CallerOfArgsBelieved)
            && [r#""caller""#, r#""scopes""#].into_iter().any(|name| x.args_text.contains(name));
        if claimed {
            let value = self.query(|db| self.provider.perform(db, x.tool, x.work(&json!({}))))?;
            return self.present(x.session, x.echo(), &value);
        }
        let missing = self.missing_scopes(x.tool)?;
        if !missing.is_empty() && self.broken(Fault::MissingScopeReduces) {
            return self.present(x.session, x.echo(), &faults::reduced(x.tool));
        }
        self.check_id_of_read(x)?;
        let args = self.arguments(x.tool, x.request_id, x.args_text)?;
        if !self.leeway(Leeway::ReadsIgnoreDeadline) {
            self.check_deadline(x)?;
        }
        trail.decision = Some("allowed");
        match self.consent(x, &args, &missing)? {
            Consent::Given(None) | Consent::Overtaken => {}
            Consent::Given(Some(ticket)) => {
                trail.decision = Some("confirmed");
                self.spend(ticket)?;
            }
            Consent::Withheld(refusal) => return Err(refusal.into()),
        }
        self.point("read.before")?;
        if self.leeway(Leeway::ReadsBindTheirId) {
            let bound = (x.tool.name.clone(), x.args_sha256);
            lock(&self.provider.reads).insert((x.uid, x.request_id.to_owned()), bound);
        }
        // Not deduplicated (§6): computed again each time, but for a leeway.
        let asked = ((x.uid, x.request_id.to_owned()), x.tool.name.clone(), x.args_sha256);
        let remembered = lock(&self.provider.read_memory).get(&asked).cloned();
        let value = match remembered {
            Some(value) => value,
            None => {
                let compute = || self.query(|db| self.provider.perform(db, x.tool, x.work(&args)));
                self.coalesced(x.tool, compute)?
            }
        };
        if self.leeway(Leeway::ReadsRepeated) {
            lock(&self.provider.read_memory).insert(asked, value.clone());
        }
        if self.accepts_read(x, &value) {
            return Ok(accepted(x, &random_name("op_")?));
        }
        self.present(x.session, x.echo(), &value)
    }

    fn write(&self, x: &Execution<'_>, trail: &mut Trail) -> Result<Bundle> {
        if let Some(reply) = self.pretended(x)? {
            return Ok(reply);
        }
        let missing = match x.resume_token {
            Some(_) if self.broken(Fault::ConfirmedSkipsScopes) => Vec::new(),
            _ if self.broken(Fault::JobScopesUnchecked)
                && x.tool.may_run_in_background
                && self.can(x.session, Capability::AsyncOperations) =>
            {
                Vec::new()
            }
            _ => self.missing_scopes(x.tool)?,
        };
        if !missing.is_empty() {
            self.acts_before_scopes(x)?;
        }
        if missing.is_empty() {
            self.check_id_of_read(x)?;
        }
        let (args, claim, abandoned) = loop {
            if self.leeway(Leeway::DeadlineFirst) {
                self.check_deadline(x)?;
            }
            self.point("record.before")?;
            let seen = if missing.is_empty() { self.query(|db| self.look(db, x))? } else { Seen::Nothing };
            self.point("record.after")?;
            let abandoned = match seen {
                Seen::Known(record) => {
                    trail.decision = Some("repeated");
                    self.late_repeat(x)?;
                    if self.leeway(Leeway::SpentTokenRefused) {
                        self.check_token_unspent(x)?;
                    }
                    return self.repeat(x, *record);
                }
                Seen::Busy if self.broken(Fault::DuplicateIsConflict) => {
                    return refuse(Code::Conflict, "This execution is under way.");
                }
                Seen::Busy => {
                    let key = self.key_of(x);
                    self.wait(&mut || !lock(&self.provider.executing).contains(&key))?;
                    continue;
                }
                Seen::Abandoned if self.leeway(Leeway::AbandonedFails) => return self.fail_abandoned(x),
                Seen::Abandoned if self.broken(Fault::AbandonedCountsAsDone) => {
                    return self.present(x.session, x.echo(), r#"{"entry":1}"#);
                }
                Seen::Abandoned => true,
                Seen::Nothing => false,
            };
            let args = self.arguments(x.tool, x.request_id, x.args_text)?;
            if !self.leeway(Leeway::DeadlineAfterConsent) {
                self.check_deadline_of_write(x)?;
            }
            let ticket = if abandoned {
                self.check_token_of_abandoned(x)?;
                None
            } else {
                self.check_background(x)?;
                match self.consent(x, &args, &missing)? {
                    Consent::Given(ticket) => ticket,
                    Consent::Withheld(refusal) => return Err(refusal.into()),
                    Consent::Overtaken => continue,
                }
            };
            if self.leeway(Leeway::DeadlineAfterConsent) {
                self.check_deadline_of_write(x)?;
            }
            trail.decision = Some(if ticket.is_some() { "confirmed" } else { "allowed" });
            self.point("reserve.before")?;
            // Another thread may have come first since we looked: then look again.
            if let Some(claim) = self.claim(x, &args, ticket, abandoned)? {
                break (args, claim, abandoned);
            }
        };
        self.provider.crash_point(CrashPoint::AfterReserve, &x.tool.name)?;
        self.point("reserve.after")?;
        if let Some(Background { operation_id, held }) = &claim.operation {
            if !held {
                self.provider.run_in_background(self.schedule, operation_id)?;
                self.await_crash(x, operation_id)?;
            }
            self.provider.note(Fault::OperationOfSession, &format!("{operation_id} {}", x.session.number));
            return Ok(accepted(x, operation_id));
        }
        let value = self.effect(x, &args, abandoned)?;
        if self.broken(Fault::DeadlineAfterEffect) {
            self.check_deadline(x)?;
        }
        self.provider.crash_point(CrashPoint::AfterCommit, &x.tool.name)?;
        self.point("effect.after")?;
        drop(claim);
        self.doubled(x)?;
        self.present(x.session, x.echo(), &value)
    }

    /// Where a control has ordered the work to crash, whether this reply gets out before it is not left to chance.
    fn await_crash(&self, x: &Execution<'_>, operation_id: &str) -> Result<()> {
        let due = || self.provider.crash_is_due(CrashPoint::AfterCommit, &x.tool.name);
        if !due() {
            return Ok(());
        }
        // Work that fails has no effect to crash after.
        let failed = || {
            self.query(|db| record::find_operation(db, operation_id))
                .is_ok_and(|record| record.is_none_or(|record| matches!(record.outcome, Some(Outcome::Error(_)))))
        };
        self.wait(&mut || !due() || failed())
    }

    /// §4.1: before the side effect begins. A repeat is answered before: it begins nothing.
    fn check_deadline_of_write(&self, x: &Execution<'_>) -> Result<()> {
        let skipped = self.broken(Fault::DeadlineIgnored)
            || self.broken(Fault::DeadlineAfterEffect)
            || (self.broken(Fault::DeadlineNotOnResume) && x.resume_token.is_some());
        let checked = if skipped { Ok(()) } else { self.check_deadline(x) };
        if checked.is_err() && x.resume_token.is_none() && self.leeway(Leeway::LateRefusalsKept) {
            self.keep_late_refusal(x)?;
        }
        checked
    }

    fn keep_late_refusal(&self, x: &Execution<'_>) -> Result<()> {
        let outcome = Outcome::Error(Refusal::new(Code::DeadlineExceeded, "The deadline had passed."));
        self.transaction(|db| {
            if self.is_new(db, x)? {
                record::insert(db, &x.record(self.now_ms(), None))?;
                record::settle(db, x.uid, x.request_id, State::Ended, &outcome)?;
            }
            Ok(())
        })
    }

    fn check_deadline(&self, x: &Execution<'_>) -> Result<()> {
        if self.is_in_time(x) {
            return Ok(());
        }
        refuse(Code::DeadlineExceeded, "The deadline has passed; query the same request_id before trying again.")
    }

    /// What the record says of this `request_id` (§6).
    fn look(&self, db: &Connection, x: &Execution<'_>) -> Result<Seen> {
        if self.broken(Fault::NotDeduplicated) || (x.tool.idempotent && self.broken(Fault::IdempotentNotDeduplicated)) {
            return Ok(Seen::Nothing);
        }
        if self.overlooks_record(x) {
            return Ok(Seen::Nothing);
        }
        let updates_run = !x.tool.creates && self.broken(Fault::OnlyCreatesDeduplicated);
        if updates_run || (x.resume_token.is_some() && self.broken(Fault::ResumedRunsAgain)) {
            return Ok(Seen::Nothing);
        }
        if self.broken(Fault::OperationsNotDeduplicated)
            && x.tool.may_run_in_background
            && self.can(x.session, Capability::AsyncOperations)
        {
            return Ok(Seen::Nothing);
        }
        if self.broken(Fault::ForeignIdRefused) && record::is_used_by_another(db, x.uid, x.request_id)? {
            return refuse(Code::InvalidRequest, "This request_id belongs to another execution.");
        }
        let mut uid = x.uid;
        if self.broken(Fault::UidNotInKey) {
            uid = record::any_uid_of(db, x.request_id)?.unwrap_or(uid);
        }
        let found = match self.part_of_key() {
            Some((from, length)) => record::find_by_part(db, uid, x.request_id, from, length)?,
            None => record::find(db, uid, x.request_id)?,
        };
        let Some(record) = found else { return Ok(Seen::Nothing) };
        if record.is_expired(self.now_ms()) || self.is_forgotten(&record) || self.runs_again(&record) {
            return Ok(Seen::Nothing);
        }
        // The record is bound to the tool and to the args bytes.
        let (same_tool, same_args) = (record.tool == x.tool.name, record.args_sha256 == x.record_sha256);
        if (!same_tool && self.broken(Fault::KeyHoldsTool)) || (!same_args && self.broken(Fault::KeyHoldsArgs)) {
            return Ok(Seen::Nothing);
        }
        let same = (same_tool && same_args) || (record.tool.is_empty() && self.broken(Fault::BindingInMemory));
        if !same && !self.broken(Fault::OtherArgsRepeat) {
            return refuse(Code::InvalidRequest, "This request_id belongs to another execution.");
        }
        if record.state != State::Reserved {
            return Ok(Seen::Known(Box::new(record)));
        }
        if lock(&self.provider.executing).contains(&self.key_of(x)) {
            return Ok(Seen::Busy);
        }
        if self.broken(Fault::ReservationStuck) {
            return refuse(Code::Unavailable, "This execution is under way.");
        }
        Ok(Seen::Abandoned)
    }

    /// Whether nothing is recorded of this execution.
    pub(crate) fn is_new(&self, db: &Connection, x: &Execution<'_>) -> Result<bool> {
        Ok(matches!(self.look(db, x)?, Seen::Nothing))
    }

    /// Reserves the execution for this thread, and spends the confirmation in the same transaction: nothing that was
    /// confirmed once can be executed twice, and nothing that is reserved needs to be confirmed again.
    ///
    /// `None` means that the record is not what it was when we looked.
    fn claim(
        &self,
        x: &Execution<'_>,
        args: &Json,
        ticket: Option<Ticket>,
        abandoned: bool,
    ) -> Result<Option<Claim<'_>>> {
        let mut operation = None;
        let held = self.provider.setup.application.waits(x.work(args));
        if !abandoned && self.runs_in_background(x, held) {
            operation = Some(Background { operation_id: random_name("op_")?, held });
        }
        if self.broken(Fault::ReservesLate) {
            return Ok(Some(Claim::take(self.provider, self.key_of(x), operation)));
        }
        let now_ms = self.now_ms();
        let purge = self.provider.purge_is_due(now_ms);
        self.transaction(|db| {
            if purge && !self.leeway(Leeway::OperationsKept) {
                record::purge(db, now_ms)?;
            }
            match self.look(db, x)? {
                Seen::Abandoned if abandoned => {}
                Seen::Known(_) if operation.is_some() && self.broken(Fault::LoserNamesItsOwn) => {}
                Seen::Nothing if !abandoned && self.spend_in(db, ticket)? => {
                    record::insert(db, &x.record(now_ms, operation.as_ref()))?;
                }
                _ => return Ok(None),
            }
            if self.broken(Fault::FewRecordsKept) {
                record::forget_all_but(db, x.uid, 100)?;
            }
            Ok(Some(Claim::take(self.provider, self.key_of(x), operation)))
        })
    }

    /// The effect and its result, both or neither: after this the execution is finished whether or not anybody hears of
    /// it (§6, §10).
    fn effect(&self, x: &Execution<'_>, args: &Json, abandoned: bool) -> Result<String> {
        self.point("effect.before")?;
        if abandoned && self.broken(Fault::AbandonedRunsEachTime) {
            return self.transaction(|db| self.provider.perform(db, x.tool, x.work(args)));
        }
        if abandoned && self.broken(Fault::AbandonedRunsTwice) {
            self.transaction(|db| self.provider.perform(db, x.tool, x.work(args)))?;
        }
        if self.broken(Fault::ReservesLate) {
            self.query(|db| record::insert(db, &x.record(self.now_ms(), None)))?;
        }
        let settle = |db: &Connection, outcome| record::settle(db, x.uid, x.request_id, State::Ended, &outcome);
        if self.broken(Fault::ResultStoredLater) {
            let value = self.transaction(|db| self.provider.perform(db, x.tool, x.work(args)))?;
            self.provider.crash_point(CrashPoint::AfterCommit, &x.tool.name)?;
            self.point("result.before")?;
            self.query(|db| settle(db, Outcome::Value(value.clone())))?;
            return Ok(value);
        }
        let done = self.transaction(|db| {
            let value = self.provider.perform(db, x.tool, x.work(args))?;
            settle(db, Outcome::Value(value.clone()))?;
            Ok(value)
        });
        if let Err(Error::Refused(refusal)) = &done {
            // A failure that may be tried again leaves no record; a definite one is the terminal result.
            self.query(|db| match refusal.retryable {
                true => record::forget(db, x.uid, x.request_id),
                false => settle(db, Outcome::Error((**refusal).clone())),
            })?;
        }
        done
    }

    /// The answer to a repeat (§6): the same operation, or the same terminal result.
    fn repeat(&self, x: &Execution<'_>, record: Record) -> Result<Bundle> {
        if self.broken(Fault::RepeatIsConflict) {
            return refuse(Code::Conflict, "This execution has ended.");
        }
        if self.broken(Fault::RepeatComputesAnew) && matches!(record.outcome, Some(Outcome::Value(_))) {
            return self.present(x.session, x.echo(), &self.without_effect(x)?);
        }
        // A committed operation has an outcome, but has not ended.
        let ended = if record.state == State::Ended { record.outcome } else { None };
        if let Some(operation_id) = &record.operation_id
            && self.can(x.session, Capability::AsyncOperations)
            && !(ended.is_some() && self.leeway(Leeway::RepeatGivesResult))
        {
            if ended.is_some() && self.broken(Fault::RepeatResetsOperation) {
                let sql = "UPDATE executions SET state = 'running' WHERE operation_id = ?";
                self.query(|db| Ok(db.execute(sql, [operation_id])?))?;
            }
            return match () {
                () if ended.is_none() && self.broken(Fault::OperationRepeatIsConflict) => {
                    refuse(Code::Conflict, "This execution is under way.")
                }
                () if self.broken(Fault::RepeatGetsNewName) => Ok(accepted(x, &random_name("op_")?)),
                () => Ok(accepted(x, operation_id)),
            };
        }
        match ended {
            Some(Outcome::Value(value)) => self.present(x.session, x.echo(), &value),
            Some(Outcome::Error(_)) if self.broken(Fault::RepeatedFailureIsInternal) => {
                refuse(Code::InternalError, "The execution had failed.")
            }
            Some(Outcome::Error(refusal)) => Err(refusal.into()),
            Some(Outcome::Cancelled) => refuse(Code::Cancelled, "The operation was cancelled."),
            None if self.leeway(Leeway::RepeatIsConflictWithoutAsync) => {
                refuse(Code::Conflict, "This execution is under way.")
            }
            None if self.leeway(Leeway::RepeatIsUnavailableWithoutAsync) => {
                refuse(Code::Unavailable, "This execution is under way.")
            }
            // §2.3: a session that did not negotiate operations gets none.
            None => refuse(Code::UnsupportedCapability, "This execution goes on as an operation."),
        }
    }

    /// §3.4: an operation is had only where async_operations was negotiated; elsewhere such a tool is synchronous.
    fn runs_in_background(&self, x: &Execution<'_>, held: bool) -> bool {
        let may = x.tool.may_run_in_background || self.broken(Fault::SyncToolAccepted);
        let unasked =
            self.broken(Fault::JobAcceptedWithoutAsync) || (held && self.broken(Fault::HeldJobAcceptedUnasked));
        let may = may && !self.leeway(Leeway::JobsRunAtOnce);
        may && (self.can(x.session, Capability::AsyncOperations) || (x.tool.may_run_in_background && unasked))
    }

    fn check_background(&self, x: &Execution<'_>) -> Result<()> {
        if !x.tool.may_run_in_background || self.can(x.session, Capability::AsyncOperations) {
            return Ok(());
        }
        if self.broken(Fault::JobFailsWithoutAsync) {
            return refuse(Code::InternalError, "The tool failed.");
        }
        if self.leeway(Leeway::JobHiddenWithoutAsync) {
            return refuse(Code::ToolNotFound, "There is no such tool.");
        }
        if self.leeway(Leeway::JobUnsupportedWithoutAsync) {
            return refuse(Code::UnsupportedCapability, "This tool needs async_operations.");
        }
        Ok(())
    }
}

impl Call<'_> {
    /// The execution, as threads of this process tell each other of it.
    fn key_of(&self, x: &Execution<'_>) -> Key {
        let session = if self.broken(Fault::InFlightPerSession) { x.session.number.to_string() } else { String::new() };
        (x.uid, format!("{}{session}", x.request_id))
    }

    /// A leeway binds the request_ids of reads as well (§6 speaks of tools with side effects only).
    fn check_id_of_read(&self, x: &Execution<'_>) -> Result<()> {
        if !self.leeway(Leeway::ReadsBindTheirId) {
            return Ok(());
        }
        let key = (x.uid, x.request_id.to_owned());
        let other = lock(&self.provider.reads)
            .get(&key)
            .is_some_and(|(tool, args)| (tool.as_str(), *args) != (x.tool.name.as_str(), x.args_sha256));
        let of_write = !x.tool.writes && self.query(|db| record::find(db, x.uid, x.request_id))?.is_some();
        if other || of_write {
            return refuse(Code::InvalidRequest, "This request_id belongs to another execution.");
        }
        Ok(())
    }

    fn is_in_time(&self, x: &Execution<'_>) -> bool {
        let now_ms = self.now_ms();
        if self.broken(Fault::DeadlineInSeconds) {
            return now_ms / 1000 <= x.deadline_ms / 1000;
        }
        if self.broken(Fault::DeadlineOverflows) {
            return x.deadline_ms.wrapping_sub(now_ms) > 0;
        }
        if self.broken(Fault::DeadlineIn32Bits) && x.deadline_ms.saturating_sub(now_ms) > i64::from(i32::MAX) {
            return false;
        }
        if self.broken(Fault::DeadlineInNanoseconds) {
            return now_ms.wrapping_mul(1_000_000) < x.deadline_ms.wrapping_mul(1_000_000);
        }
        now_ms < x.deadline_ms
    }

    /// What the caller is told of args that are no JSON.
    fn malformed(&self) -> Refusal {
        let code =
            if self.leeway(Leeway::MalformedIsInvalidRequest) { Code::InvalidRequest } else { Code::InvalidArgs };
        if self.broken(Fault::ParserTraceTold) {
            return Refusal::new(code, "No JSON\n\tat org.json.JSONTokener.syntaxError(JSONTokener.java:460)");
        }
        Refusal::new(code, "The arguments are not JSON, or nested too deeply.")
    }

    /// Ends an execution that a dead process had reserved, with a definite error.
    fn fail_abandoned(&self, x: &Execution<'_>) -> Result<Bundle> {
        let refusal = Refusal::new(Code::InternalError, "The execution was cut off.");
        let outcome = Outcome::Error(refusal.clone());
        self.query(|db| record::settle(db, x.uid, x.request_id, State::Ended, &outcome))?;
        Err(refusal.into())
    }

    /// The text of args of which the record holds the digest: the args as they came, or for a leeway what they mean.
    fn recorded_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.broken(Fault::ArgsBoundWithoutSpace) {
            return text.split_whitespace().collect::<String>().into();
        }
        if self.leeway(Leeway::EqualJsonRepeats) { sorted(text) } else { self.bound_text(text) }
    }
}

// What follows serves faults only.

impl Call<'_> {
    fn bound_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.broken(Fault::ArgsBoundByLength) {
            return text.len().to_string().into();
        }
        if self.broken(Fault::TokenForTrimmedArgs) {
            return text.trim().into();
        }
        if self.broken(Fault::TokenForEqualJson) { sorted(text) } else { text.into() }
    }

    fn loosely<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.broken(Fault::NamesWithoutCase) {
            return name.to_lowercase().into();
        }
        if self.broken(Fault::NamesTrimmed) { name.trim().into() } else { name.into() }
    }

    fn check_args_of_hidden(&self, catalogue: &Catalogue, name: &str, extras: &Bundle) -> Result<()> {
        match catalogue.find_hidden(name).filter(|tool| tool.hidden && self.broken(Fault::HiddenArgsChecked)) {
            Some(tool) => self.arguments(tool, "", self.args_text(extras)?).map(drop),
            None => Ok(()),
        }
    }

    fn leniently<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.broken(Fault::SingleQuotesRead) {
            return text.replace('\'', "\"").into();
        }
        if self.broken(Fault::LeadingZerosRead) {
            return text.replace(":01", ":1").into();
        }
        let first = || serde_json::Deserializer::from_str(text).into_iter::<Json>().next()?.ok();
        match self.broken(Fault::TrailingTextIgnored).then(first).flatten() {
            Some(value) => value.to_string().into(),
            None => text.into(),
        }
    }

    fn made_to_fit(&self, tool: &Tool, mut args: Json) -> Json {
        let fits = tool.input.is_valid(&args);
        let members = args.as_object_mut().into_iter().flatten();
        if self.broken(Fault::BooleansFromText) && !fits {
            for (_, value) in members {
                if let Some(word) = value.as_str().and_then(|text| text.parse::<bool>().ok()) {
                    *value = json!(word);
                }
            }
        } else if self.broken(Fault::NumbersFromText) {
            for (_, value) in members {
                if let Some(number) = value.as_str().and_then(|text| text.parse::<i64>().ok()) {
                    *value = json!(number);
                }
            }
        } else if self.broken(Fault::OtherMembersDropped) && !tool.input.is_valid(&args) {
            let names: Vec<String> = args.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
            for name in names {
                let mut without = args.clone();
                without.as_object_mut().and_then(|members| members.remove(&name));
                if tool.input.is_valid(&without) {
                    return without;
                }
            }
        }
        args
    }

    fn effect_before_refusal(&self, fault: Fault, tool: &Tool, request_id: &str, args: &Json) -> Result<()> {
        if self.broken(fault) && tool.writes {
            let work = Work { tool: &tool.name, request_id, args };
            self.query(|db| self.provider.perform(db, tool, work))?;
        }
        Ok(())
    }

    fn late_repeat(&self, x: &Execution<'_>) -> Result<()> {
        if self.is_in_time(x) {
            return Ok(());
        }
        if self.broken(Fault::LateRepeatRuns) {
            let args = self.arguments(x.tool, x.request_id, x.args_text)?;
            self.query(|db| self.provider.perform(db, x.tool, x.work(&args)))?;
        }
        if self.broken(Fault::LateRepeatForgets) {
            self.query(|db| record::forget(db, x.uid, x.request_id))?;
        }
        Ok(())
    }

    /// Whether the record of an execution is not looked for.
    fn overlooks_record(&self, x: &Execution<'_>) -> bool {
        let with_token = x.resume_token.is_some() && !x.tool.always_asks;
        (with_token && self.broken(Fault::TokenSkipsDeduplication))
            || (x.tool.creates && x.tool.always_asks && self.broken(Fault::RaisedRiskForgets))
    }

    /// The part of a request_id that the key holds instead of the whole, as SQL counts: from where, and how long.
    fn part_of_key(&self) -> Option<(i64, i64)> {
        match () {
            () if self.broken(Fault::KeyOfFirstDigits) => Some((1, 8)),
            () if self.broken(Fault::KeyOfLastDigits) => Some((-12, 12)),
            () if self.broken(Fault::KeyWithoutLastDigit) => Some((1, 35)),
            () => None,
        }
    }

    fn is_forgotten(&self, record: &Record) -> bool {
        const DAY_MS: i64 = 86_400_000;
        let (then, now) = (record.arrived_ms, self.now_ms());
        (self.broken(Fault::WindowShort) && now >= then + DAY_MS - 60_000)
            || (self.broken(Fault::WindowEndsAtMidnight) && now / DAY_MS > then / DAY_MS)
            || (self.broken(Fault::DenialsKeptAnHour)
                && now >= then + 3_600_000
                && matches!(record.outcome, Some(Outcome::Error(_))))
    }

    /// The value of an execution, whose effect is undone.
    fn without_effect(&self, x: &Execution<'_>) -> Result<String> {
        let args = self.arguments(x.tool, x.request_id, x.args_text)?;
        let mut value = None;
        let undone: Result<()> = self.transaction(|db| {
            value = Some(self.provider.perform(db, x.tool, x.work(&args))?);
            Err(Error::lost("the effect, on purpose"))
        });
        value.map_or_else(|| Err(undone.err().unwrap_or(Error::Died)), Ok)
    }
}

impl Provider {
    /// How the exception of a tool ends: as INTERNAL_ERROR (§5), but for faults.
    fn failed(&self, said: String) -> Result<String> {
        let internal = Refusal::new(Code::InternalError, "The tool failed.");
        if self.broken(Fault::ExceptionCrosses) || self.broken(Fault::ExceptionGivesNull) {
            return Err(Error::Thrown(said));
        }
        if self.broken(Fault::ExceptionKills) {
            return Err(self.die());
        }
        if self.broken(Fault::ExceptionGivesSuccess) {
            return Ok("{}".to_owned());
        }
        Err(if self.broken(Fault::ExceptionTold) {
            Refusal { message: said, ..internal }.into()
        } else if self.broken(Fault::ExceptionInBase64) {
            Refusal { message: STANDARD.encode(said), ..internal }.into()
        } else if self.broken(Fault::ExceptionInDetails) {
            Refusal { details: Some(json!({ "cause": said })), ..internal }.into()
        } else {
            internal.into()
        })
    }
}

/// JSON text with sorted members and without white space; what is no JSON as it is.
fn sorted(text: &str) -> Cow<'_, str> {
    let value = serde_json::from_str::<std::collections::BTreeMap<String, Json>>(text);
    value.and_then(|value| serde_json::to_string(&value)).map_or(text.into(), Cow::Owned)
}

impl Execution<'_> {
    fn record(&self, arrived_ms: i64, operation: Option<&Background>) -> Record {
        Record {
            uid: self.uid,
            request_id: self.request_id.to_owned(),
            tool: self.tool.name.clone(),
            args_sha256: self.record_sha256,
            arrived_ms,
            state: if operation.is_some() { State::Queued } else { State::Reserved },
            outcome: None,
            operation_id: operation.map(|operation| operation.operation_id.clone()),
            args: operation.map(|_| self.args_text.to_owned()),
            held: operation.is_some_and(|operation| operation.held),
        }
    }
}

fn accepted(x: &Execution<'_>, operation_id: &str) -> Bundle {
    let data = json!({ "operation_id": operation_id, "poll_after_ms": POLL_AFTER_MS });
    envelope::accepted(x.echo(), data.to_string())
}

impl Provider {
    /// Runs the tool and validates what it returns (§4.2). §5: an exception, and a value that breaks `output_schema`,
    /// are INTERNAL_ERROR; what they say stays here.
    pub(crate) fn perform(&self, db: &Connection, tool: &Tool, work: Work<'_>) -> Result<String> {
        let application = &self.setup.application;
        let value = match catch_unwind(AssertUnwindSafe(|| application.perform(db, work))) {
            Ok(value) => value?,
            Err(panic) => {
                let said = panic.downcast_ref::<&str>().copied().unwrap_or_default().to_owned();
                return self.failed(said);
            }
        };
        if !tool.output.is_valid(&value) && !self.broken(Fault::OutputUnchecked) {
            if self.broken(Fault::BadOutputNulled) {
                return Ok("null".to_owned());
            }
            return refuse(Code::InternalError, "The tool failed.");
        }
        if self.broken(Fault::ResultGainsMember) {
            let mut value = value;
            value["at"] = json!(0);
            return Ok(value.to_string());
        }
        Ok(text_of(&value))
    }
}

/// JSON text. A large value is mostly texts: with room for them nothing is copied while it is written.
fn text_of(value: &Json) -> String {
    /// More than names and numbers of the fixture's results take.
    const REST: usize = 64;
    let texts = value.as_object().into_iter().flat_map(|members| members.values()).filter_map(Json::as_str);
    let mut out = Vec::with_capacity(texts.map(str::len).sum::<usize>() + REST);
    serde_json::to_writer(&mut out, value).expect("JSON can be written");
    String::from_utf8(out).expect("JSON is UTF-8")
}
