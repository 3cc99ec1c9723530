//! What faults and leeways remember and compute, apart from the protocol's own code. A conforming provider has no use for any of it.

use crate::authorize;
use crate::caller::Caller;
use crate::catalogue::{Catalogue, Listing, Tool};
use crate::envelope::{self, Code, Refusal};
use crate::error::Result;
use crate::execute::Execution;
use crate::fixture::SECRET;
use crate::limits::{self, IDEMPOTENCY_WINDOW_SECONDS};
use crate::lock;
use crate::operations::Method;
use crate::provider::{Call, Provider};
use crate::record::{self, Outcome, Record, State};
use crate::session::{Capabilities, Capability, Session};
use crate::switches::{Fault, Leeway, Switches};
use cetp_vectors::bundle::{Bundle, Value};
use rusqlite::{Connection, params};
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

/// Lost with the process.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    notes: Mutex<HashSet<String>>,
    /// Who has called, the last one at the end.
    callers: Mutex<Vec<Caller>>,
    /// By tool: how many reads are under way, and what the last of them gave.
    reads: Mutex<HashMap<String, (usize, Option<String>)>>,
}

impl Provider {
    pub(crate) fn note(&self, fault: Fault, what: &str) {
        if self.broken(fault) {
            lock(&self.faults.notes).insert(format!("{fault:?} {what}"));
        }
    }

    pub(crate) fn noted(&self, fault: Fault, what: &str) -> bool {
        self.broken(fault) && lock(&self.faults.notes).contains(&format!("{fault:?} {what}"))
    }
}

impl Provider {
    /// How many notes of a fault begin so.
    fn noted_so_often(&self, fault: Fault, beginning: &str) -> usize {
        let beginning = format!("{fault:?} {beginning}");
        lock(&self.faults.notes).iter().filter(|note| note.starts_with(&beginning)).count()
    }
}

// Confirmations.

impl Call<'_> {
    /// Notes an approved call, as it is trusted from then on.
    pub(crate) fn note_approval(&self, x: &Execution<'_>) {
        let (uid, tool) = (x.uid, &x.tool.name);
        self.provider.note(Fault::TrustOfOthers, &format!("of {uid} for {tool}"));
        self.provider.note(Fault::TrustOfOthers, tool);
        self.provider.note(Fault::TrustAfterFive, &format!("{uid} {tool} {}", x.request_id));
    }

    /// Whether a call is trusted and therefore not confirmed.
    pub(crate) fn is_trusted(&self, x: &Execution<'_>) -> bool {
        let (uid, tool) = (x.uid, &x.tool.name);
        let by_others = self.provider.noted(Fault::TrustOfOthers, tool)
            && !self.provider.noted(Fault::TrustOfOthers, &format!("of {uid} for {tool}"));
        let by_habit = self.broken(Fault::TrustAfterFive)
            && self.provider.noted_so_often(Fault::TrustAfterFive, &format!("{uid} {tool} ")) >= 5;
        let full = self.broken(Fault::FullSessionsTrusted) && x.session.capabilities == Capabilities::ALL;
        by_others || by_habit || full
    }
}

// Callers.

impl Provider {
    /// Who is taken to call at the entry of a call.
    pub(crate) fn caller_at_entry<'c>(&self, caller: &'c Caller, extras: Option<&Bundle>) -> Cow<'c, Caller> {
        let mut callers = lock(&self.faults.callers);
        if self.broken(Fault::CallerFromExtras)
            && let Some(Value::Int(uid)) = extras.and_then(|extras| envelope::get(extras, "calling_uid"))
            && let Some(named) = callers.iter().rfind(|seen| seen.uid == i64::from(*uid))
        {
            return Cow::Owned(named.clone());
        }
        let remembers = [Fault::CallerFromExtras, Fault::CallerLookedAtLate, Fault::IdentityRemembered];
        if remembers.into_iter().chain([Fault::RotationBackwards]).any(|fault| self.broken(fault)) {
            callers.push(caller.clone());
        }
        Cow::Borrowed(caller)
    }
}

impl Call<'_> {
    /// Who is taken to call where that matters.
    pub(crate) fn caller_now(&self) -> Cow<'_, Caller> {
        let callers = lock(&self.provider.faults.callers);
        let last = callers.last().filter(|_| self.broken(Fault::CallerLookedAtLate));
        last.map_or(Cow::Borrowed(self.caller), |caller| Cow::Owned(caller.clone()))
    }

    /// Whether a grant holds that should not.
    pub(crate) fn holds_wrongly(&self, db: &Connection, scope: &str, now_ms: i64) -> Result<bool> {
        let caller = self.caller;
        let mut identities = Vec::new();
        if self.broken(Fault::GrantNeverExpires) && authorize::is_granted(db, &caller.identity(), scope, i64::MIN)? {
            return Ok(true);
        }
        if self.broken(Fault::AdminHoldsAll) && authorize::is_granted(db, &caller.identity(), "fixture.admin", now_ms)?
        {
            return Ok(true);
        }
        if self.broken(Fault::AnyPackageSuffices) {
            let alone = |package| Caller { uid: caller.uid, packages: vec![package] }.identity();
            identities.extend(caller.packages.iter().cloned().map(alone));
        }
        let callers = lock(&self.provider.faults.callers);
        let mut of_uid = callers.iter().filter(|seen| seen.uid == caller.uid);
        if self.broken(Fault::IdentityRemembered) {
            identities.extend(of_uid.clone().next().map(Caller::identity));
        }
        if self.broken(Fault::RotationBackwards) {
            let replaced = |seen: &&Caller| seen.earlier_identities().contains(&caller.identity());
            identities.extend(of_uid.find(replaced).map(Caller::identity));
        }
        drop(callers);
        for identity in identities {
            if authorize::is_granted(db, &identity, scope, now_ms)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Notes what a caller holds when it negotiates.
    pub(crate) fn note_scopes(&self) -> Result<()> {
        if !self.broken(Fault::ScopesOfSession) {
            return Ok(());
        }
        let of_uid = format!("{:?} {} ", Fault::ScopesOfSession, self.caller.uid);
        lock(&self.provider.faults.notes).retain(|note| !note.starts_with(&of_uid));
        let scopes = self.provider.setup.application.about().scopes.as_array().cloned().unwrap_or_default();
        for scope in scopes.iter().filter_map(|scope| scope["name"].as_str()) {
            if self.query(|db| authorize::is_granted(db, &self.caller.identity(), scope, self.now_ms()))? {
                self.provider.note(Fault::ScopesOfSession, &format!("{} {scope}", self.caller.uid));
            }
        }
        Ok(())
    }
}

impl Call<'_> {
    /// Whether a tool is hidden from this caller, as it lacks a scope of it. The fixture promises that fixture_secret asks
    /// for its scope.
    pub(crate) fn hides(&self, tool: &Tool) -> Result<bool> {
        let hides = self.leeway(Leeway::ToolsWithoutScopeHidden) && tool.name != "fixture_secret";
        Ok(hides && !self.missing_scopes(tool)?.is_empty())
    }

    /// What is listed for this caller, where tools are hidden from it.
    pub(crate) fn without_hidden(&self, catalogue: &Catalogue, listing: &Listing) -> Result<Listing> {
        let data: Json = serde_json::from_str(&listing.data)?;
        let mut shown = Vec::new();
        for listed in data["tools"].as_array().into_iter().flatten() {
            match listed["name"].as_str().and_then(|name| catalogue.find(name)) {
                Some(tool) if self.hides(tool)? => {}
                _ => shown.push(listed.clone()),
            }
        }
        Ok(Listing::new(shown, &self.provider.setup.switches))
    }
}

/// What can be granted.
pub(crate) const ALL_SCOPES: [&str; 4] = ["fixture.read", "fixture.write", "fixture.admin", "fixture.secret"];

/// What a question to the user tells beside its text.
pub(crate) fn details_of_question(switches: &Switches, tool: &str) -> Option<Json> {
    (tool == "fixture_secret" && switches.broken(Fault::SecretInDetails)).then(|| json!({ "preview": SECRET }))
}

/// What a read gives to a caller that may not have its value.
pub(crate) fn reduced(tool: &Tool) -> String {
    let value = match tool.name.as_str() {
        "fixture_blob" => json!({ "blob": "" }),
        "fixture_ledger" => json!({ "entries": [] }),
        "fixture_secret" => json!({ "secret": "" }),
        "fixture_echo" | "fixture_added" => json!({ "value": null }),
        _ => json!({}),
    };
    value.to_string()
}

// Operations.

impl Call<'_> {
    /// Whether an operation is found with a request_id that is not its own.
    pub(crate) fn takes_other_request(&self, db: &Connection, method: Method, request_id: &str) -> Result<bool> {
        Ok(match method {
            Method::Poll if self.broken(Fault::PollWithAnyRequestId) => true,
            Method::Cancel if self.broken(Fault::CancelWithAnyRequestId) => true,
            _ => self.broken(Fault::AnyOwnRequestId) && record::find(db, self.caller.uid, request_id)?.is_some(),
        })
    }

    /// Whether an operation is found by another UID.
    pub(crate) fn takes_other_uid(&self, method: Method, record: &Record) -> bool {
        self.broken(Fault::OperationOfAnyUid)
            || (self.broken(Fault::OperationUidLostInRestart) && self.provider.life() > 1)
            || match method {
                Method::Poll => {
                    self.broken(Fault::PollOfAnyUid)
                        || (record.state == State::Ended && self.broken(Fault::EndedOperationOfAnyUid))
                }
                Method::Cancel => self.broken(Fault::CancelOfAnyUid),
            }
    }

    /// Whether an operation is gone that should still be there.
    pub(crate) fn is_kept_too_short(&self, db: &Connection, record: &Record) -> Result<bool> {
        let age_ms = self.now_ms().saturating_sub(record.arrived_ms);
        let short = (age_ms >= IDEMPOTENCY_WINDOW_SECONDS && self.broken(Fault::WindowInMilliseconds))
            || (age_ms >= IDEMPOTENCY_WINDOW_SECONDS * 500 && self.broken(Fault::WindowHalved));
        let id = record.operation_id.as_deref().unwrap_or_default();
        if short && record.state == State::Ended || self.provider.noted(Fault::ResultReadOnce, id) {
            return Ok(true);
        }
        if !self.broken(Fault::FewOperationsKept) {
            return Ok(false);
        }
        let sql = "SELECT count(*) FROM executions WHERE operation_id IS NOT NULL
                   AND rowid > (SELECT rowid FROM executions WHERE operation_id = ?)";
        Ok(db.prepare_cached(sql)?.query_row([id], |row| row.get::<_, i64>(0))? >= 64)
    }

    /// What is answered for an operation that is not there, where it is no refusal.
    pub(crate) fn invented(&self, method: Method, operation_id: &str) -> Option<Record> {
        let outcome = match method {
            Method::Poll if self.broken(Fault::UnknownOperationQueued) => None,
            Method::Cancel if self.broken(Fault::UnknownOperationCancelled) => Some(Outcome::Cancelled),
            _ => return None,
        };
        Some(Record {
            uid: self.caller.uid,
            request_id: String::new(),
            tool: String::new(),
            args_sha256: [0; 32],
            arrived_ms: self.now_ms(),
            state: if outcome.is_some() { State::Ended } else { State::Queued },
            outcome,
            operation_id: Some(operation_id.to_owned()),
            args: None,
            held: true,
        })
    }

    /// Refuses an operation that another session started.
    pub(crate) fn check_session_of(&self, session: &Session, record: &Record) -> Result<()> {
        let id = record.operation_id.as_deref().unwrap_or_default();
        let started = self.provider.noted(Fault::OperationOfSession, &format!("{id} {}", session.number));
        if self.broken(Fault::OperationOfSession) && !started {
            return envelope::refuse(Code::InvalidRequest, "There is no such operation.");
        }
        Ok(())
    }

    /// Has the effect of a call that is about to be refused.
    pub(crate) fn acts_before_scopes(&self, x: &Execution<'_>) -> Result<()> {
        if !self.broken(Fault::ScopeCheckedLate) {
            return Ok(());
        }
        let args = self.arguments(x.tool, x.request_id, x.args_text)?;
        self.transaction(|db| self.provider.perform(db, x.tool, x.work(&args)))?;
        Ok(())
    }

    /// Whether the record of a finished operation does not keep a repeat from executing.
    pub(crate) fn runs_again(&self, record: &Record) -> bool {
        record.operation_id.is_some()
            && record.state == State::Ended
            && match record.outcome {
                Some(Outcome::Error(_)) => self.broken(Fault::RepeatRunsFailed),
                Some(Outcome::Cancelled) => self.broken(Fault::RepeatRunsCancelled),
                _ => false,
            }
    }

    /// Whether a read is answered as if it went on in the background.
    pub(crate) fn accepts_read(&self, x: &Execution<'_>, value: &str) -> bool {
        self.broken(Fault::LargeReadAccepted)
            && value.len() > self.limits().max_inline_result_bytes
            && self.can(x.session, Capability::AsyncOperations)
            && !self.can(x.session, Capability::LargeResults)
    }
}

impl Provider {
    /// What is lost when the tools change.
    pub(crate) fn forget_at_change(&self) -> Result<()> {
        for (fault, sql) in [
            (Fault::RecordsLostAtChange, "DELETE FROM executions WHERE operation_id IS NULL"),
            (Fault::OperationsLostAtChange, "DELETE FROM executions WHERE operation_id IS NOT NULL"),
            (Fault::RunningLostAtChange, "DELETE FROM executions WHERE operation_id IS NOT NULL AND state <> 'ended'"),
        ] {
            if self.broken(fault) {
                self.query(|db| Ok(db.execute(sql, [])?))?;
            }
        }
        Ok(())
    }

    /// What a restart does to operations that it should leave alone.
    pub(crate) fn break_operations(&self) -> Result<()> {
        let lost = match () {
            () if self.broken(Fault::ReservationsInMemory) => "DELETE FROM executions",
            () if self.broken(Fault::OperationsForgotten) => {
                "DELETE FROM executions WHERE operation_id IS NOT NULL AND state <> 'ended'"
            }
            () if self.broken(Fault::EndedForgotten) => {
                "UPDATE executions SET state = 'expired' WHERE operation_id IS NOT NULL AND state = 'ended'"
            }
            () if self.broken(Fault::FailedRunsAgain) => {
                "UPDATE executions SET state = 'queued', outcome = NULL, value = NULL, held = 0
                 WHERE operation_id IS NOT NULL AND state = 'ended' AND outcome = 'error'"
            }
            () => return Ok(()),
        };
        self.query(|db| Ok(db.prepare_cached(lost)?.execute([])?))?;
        Ok(())
    }

    /// What becomes of a committed operation at a restart.
    pub(crate) fn recover_committed(&self, db: &Connection, record: &Record) -> Result<bool> {
        if self.broken(Fault::CommittedRunsAgain) {
            let value = self.effect_of(db, record)?;
            self.end(db, record, &Outcome::Value(value))?;
        } else if self.broken(Fault::CommittedFails) {
            self.end(db, record, &Outcome::Error(interrupted()))?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

/// How an operation ends that does not go on after a restart.
pub(crate) fn interrupted() -> Refusal {
    Refusal::new(Code::InternalError, "The work was interrupted.")
}

// Results.

/// How long a text is taken to be where it is compared with the inline limit.
pub(crate) fn inline_length(switches: &Switches, text: &str) -> usize {
    match () {
        () if switches.broken(Fault::InlineLimitInCharacters) => text.chars().count(),
        () if switches.broken(Fault::InlineLimitInUtf16) => 2 * text.encode_utf16().count(),
        () if switches.broken(Fault::InlineLimitBeforeEscaping) => text.len() - text.matches("\\\"").count(),
        () => text.len(),
    }
}

/// The inline limit that is kept to.
pub(crate) fn inline_limit(switches: &Switches) -> usize {
    let limit = limits::of(switches).max_inline_result_bytes;
    match () {
        () if switches.broken(Fault::InlineAboveLimit) => usize::MAX,
        () if switches.broken(Fault::InlineLimitOffByOne) => limit + 1,
        () if switches.broken(Fault::InlineOnly64K) => 65_536,
        () => limit,
    }
}

/// A value whose texts are cut short, so that it fits.
pub(crate) fn truncated(value: &str) -> String {
    let mut value: Json = serde_json::from_str(value).unwrap_or_default();
    for member in value.as_object_mut().into_iter().flat_map(|members| members.values_mut()) {
        if let Json::Array(items) = member {
            items.truncate(1);
        }
        if let Json::String(text) = member {
            *text = text.chars().take(1000).collect();
        }
    }
    value.to_string()
}

/// How a result is written that is put into a Bundle.
pub(crate) fn written<'j>(switches: &Switches, json: Cow<'j, str>) -> Cow<'j, str> {
    let mut json = json;
    if switches.leeway(Leeway::IndentsData) {
        let value: Option<Json> = serde_json::from_str(&json).ok();
        json = value.and_then(|value| serde_json::to_string_pretty(&value).ok()).map_or(json, Cow::Owned);
    }
    if switches.leeway(Leeway::EscapesNonAscii) && !json.is_ascii() {
        let escape = |unit: u16| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
            _ => format!("\\u{unit:04x}"),
        };
        json = json.encode_utf16().map(escape).collect();
    }
    json
}

/// What lies in a result file, instead of the value.
pub(crate) fn file_content<'v>(switches: &Switches, value: &'v str) -> Cow<'v, [u8]> {
    match () {
        () if switches.broken(Fault::FileCutAt1MiB) => Cow::Borrowed(&value.as_bytes()[..value.len().min(1 << 20)]),
        () if switches.broken(Fault::FileEndsInNewline) => Cow::Owned(format!("{value}\n").into_bytes()),
        () => Cow::Borrowed(value.as_bytes()),
    }
}

// Overload.

impl Call<'_> {
    /// Whether a call above the limit is let in all the same; what becomes of it is decided at its end.
    pub(crate) fn enters_overloaded(&self, extras: &Bundle) -> bool {
        let id = extras.string(envelope::key::REQUEST_ID).unwrap_or_default();
        for fault in [Fault::OverloadPretends, Fault::OverloadDoubles] {
            self.provider.note(fault, &format!("{} {id}", self.caller.uid));
        }
        self.broken(Fault::OverloadPretends) || self.broken(Fault::OverloadDoubles)
    }

    /// Whether an execution was let in above the limit; it is asked once.
    pub(crate) fn was_overloaded(&self, fault: Fault, x: &Execution<'_>) -> bool {
        let note = format!("{fault:?} {} {}", x.uid, x.request_id);
        self.broken(fault) && lock(&self.provider.faults.notes).remove(&note)
    }

    /// A write that is answered and lost.
    pub(crate) fn pretended(&self, x: &Execution<'_>) -> Result<Option<Bundle>> {
        if !self.was_overloaded(Fault::OverloadPretends, x) {
            return Ok(None);
        }
        let sql = "SELECT count(*) + 1 FROM ledger";
        let entry: i64 = self.query(|db| Ok(db.prepare_cached(sql)?.query_row([], |row| row.get(0))?))?;
        self.present(x.session, Some(Value::string(x.request_id)), &json!({ "entry": entry }).to_string()).map(Some)
    }

    /// A write that had its effect, is not recorded, and is answered as if it had been refused.
    pub(crate) fn doubled(&self, x: &Execution<'_>) -> Result<()> {
        if !self.was_overloaded(Fault::OverloadDoubles, x) {
            return Ok(());
        }
        self.query(|db| record::forget(db, x.uid, x.request_id))?;
        envelope::refuse(Code::RateLimited, "Too many calls at a time.")
    }

    /// The value of another read of the tool that is under way, if there is one; else that of `work`, for others to use.
    pub(crate) fn coalesced(&self, tool: &Tool, work: impl FnOnce() -> Result<String>) -> Result<String> {
        if !self.broken(Fault::ReadsCoalesced) {
            return work();
        }
        lock(&self.provider.faults.reads).entry(tool.name.clone()).or_default().0 += 1;
        let value = self.point("read.coalesced").and_then(|()| work());
        let mut reads = lock(&self.provider.faults.reads);
        let (running, last) = reads.entry(tool.name.clone()).or_default();
        *running -= 1;
        let value = value?;
        let value = last.clone().unwrap_or(value);
        *last = Some(value.clone()).filter(|_| *running > 0);
        Ok(value)
    }
}

// The audit.

/// What is told of an event instead of what happened.
pub(crate) fn audit_event(switches: &Switches, provider_uid: i64, event: &mut Json) {
    if switches.broken(Fault::AuditWithoutCaller) {
        event["caller_uid"] = json!(provider_uid);
    }
    if switches.broken(Fault::AuditWithoutRequest) {
        event["request_id"] = Json::Null;
    }
    if switches.broken(Fault::AuditWithoutEnd) {
        event["result"] = json!("called");
    }
}

/// What is written beside the result of an event.
pub(crate) fn audit_result<'r>(call: &Call<'_>, extras: &Bundle, result: &'r str) -> Cow<'r, str> {
    let holds_args =
        call.broken(Fault::AuditHoldsArgs) || (call.broken(Fault::AuditHoldsBadArgs) && result == "INVALID_ARGS");
    match extras.string(envelope::key::ARGS).filter(|_| holds_args) {
        Some(args) => Cow::Owned(format!("{result} for {args}")),
        None => Cow::Borrowed(result),
    }
}

/// Writes that a call was let in, beside how it ended.
pub(crate) fn audit_entry(call: &Call<'_>, x: &Execution<'_>) -> Result<()> {
    if !call.leeway(Leeway::AuditTellsMore) {
        return Ok(());
    }
    let sql =
        "INSERT INTO audit (caller_uid, tool, request_id, decision, result) VALUES (?, ?, ?, 'received', 'pending')";
    call.query(|db| Ok(db.prepare_cached(sql)?.execute(params![x.uid, x.tool.name, x.request_id])?))?;
    Ok(())
}
