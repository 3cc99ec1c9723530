//! What the user decides: authorization of scopes and confirmation of single calls (§4.3). The main function is
//! `Call::consent`.
//!
//! A question is bound to the caller's identity, the tool, the request_id and the args bytes. While it lives, asking again
//! gives the same resolution and the same token. Its token works once, after the user has approved; the reservation of
//! the execution spends it.

use crate::application::Work;
use crate::authorize;
use crate::distort;
use crate::envelope::{Code, Refusal, refuse};
use crate::error::Result;
use crate::execute::Execution;
use crate::faults;
use crate::limits::{RETENTION_MS, resume_ttl_ms};
use crate::lock;
use crate::provider::{Call, Provider};
use crate::record::{self, Outcome, Record, State};
use crate::session::random_name;
use crate::switches::{Fault, Leeway};
use cetp_vectors::bundle::PendingIntent;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value as Json, json};

/// What the user is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Need {
    /// Scopes that the caller lacks (AUTH_REQUIRED); what is approved lasts.
    Authorization(Vec<String>),
    /// This one call (USER_ACTION_REQUIRED).
    Confirmation,
}

impl Need {
    fn name(&self) -> &'static str {
        match self {
            Need::Authorization(_) => "authorization",
            Need::Confirmation => "confirmation",
        }
    }

    fn scopes(&self) -> String {
        match self {
            Need::Authorization(scopes) => json!(scopes).to_string(),
            Need::Confirmation => "[]".to_owned(),
        }
    }
}

/// What the user can do in the provider's own UI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes.
    Approve,
    /// No.
    Deny,
    /// Leaves without a word, which counts as no (§5: "refused or cancelled the confirmation").
    Dismiss,
}

/// An approved question, still to be spent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket(i64);

/// A stored question.
struct Question {
    id: i64,
    identity: String,
    request_id: String,
    tool: String,
    args_sha256: [u8; 32],
    need: String,
    scopes: String,
    token: String,
    state: String,
    expires_ms: i64,
}

/// How a request stands with the user.
pub(crate) enum Consent {
    /// It may go on; a ticket is to be spent with the execution.
    Given(Option<Ticket>),
    /// It has to be answered so.
    Withheld(Refusal),
    /// An identical request has come first: what is recorded of it is the answer.
    Overtaken,
}

const COLUMNS: &str = "id, identity, request_id, tool, args_sha256, need, scopes, token, state, expires_ms";

fn find_where(db: &Connection, condition: &str, values: impl rusqlite::Params) -> Result<Option<Question>> {
    let sql = format!("SELECT {COLUMNS} FROM confirmations WHERE {condition}");
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Question {
            id: row.get(0)?,
            identity: row.get(1)?,
            request_id: row.get(2)?,
            tool: row.get(3)?,
            args_sha256: row.get(4)?,
            need: row.get(5)?,
            scopes: row.get(6)?,
            token: row.get(7)?,
            state: row.get(8)?,
            expires_ms: row.get(9)?,
        })
    };
    Ok(db.prepare_cached(&sql)?.query_row(values, read).optional()?)
}

impl Call<'_> {
    /// Whether the user has consented to what this execution needs: scopes that are missing, or a confirmation of its
    /// own.
    pub(crate) fn consent(&self, x: &Execution<'_>, args: &Json, missing: &[String]) -> Result<Consent> {
        if let Some(consent) = self.consent_amiss(x, missing)? {
            return Ok(consent);
        }
        let need = if missing.is_empty() {
            self.needs_confirmation(x, args).then_some(Need::Confirmation)
        } else {
            Some(Need::Authorization(missing.to_vec()))
        };
        let ignored = |token: &str| token.is_empty() && self.broken(Fault::EmptyTokenConfirms);
        let no_token = x.resume_token.is_none_or(ignored) || self.broken(Fault::TokenSkipsDeduplication);
        if need.is_none() && no_token {
            return Ok(Consent::Given(None));
        }
        if need == Some(Need::Confirmation) && !x.tool.always_asks && self.leeway(Leeway::EscalationRefused) {
            return refuse(Code::PermissionDenied, "This amount is too large.");
        }
        if !missing.iter().all(|scope| self.provider.setup.application.may_be_asked_for(scope)) {
            return refuse(Code::PermissionDenied, "The caller lacks a scope of this tool.");
        }
        self.point("consent.before")?;
        self.transaction(|db| {
            // Its token is spent then, and no fault of this request.
            let overtaken = x.tool.writes && missing.is_empty() && !self.is_new(db, x)?;
            if overtaken { Ok(Consent::Overtaken) } else { self.consent_in(db, x, args, need) }
        })
    }

    /// What only faults take for consent.
    fn consent_amiss(&self, x: &Execution<'_>, missing: &[String]) -> Result<Option<Consent>> {
        let Some(token) = x.resume_token else { return Ok(None) };
        let given = || Ok(Some(Consent::Given(None)));
        let says_so = x.says_confirmed && self.broken(Fault::ConfirmedBelievedOnResume);
        if says_so || (!missing.is_empty() && self.broken(Fault::TokenPassesForScope)) {
            return given();
        }
        let by_bearer = !missing.is_empty() && self.broken(Fault::AuthorizationOfBearer);
        let again = !missing.is_empty() && self.broken(Fault::UsedTokenGrantsAgain);
        if !by_bearer && !again {
            return Ok(None);
        }
        let question = self.query(|db| find_where(db, "token = ? AND need = 'authorization'", [token]))?;
        match question.map(|question| question.state) {
            Some(state) if (by_bearer && state == "approved") || (again && state == "spent") => given(),
            _ => Ok(None),
        }
    }

    /// §3.4: what is declared `always` is confirmed each time, and so is what turns out riskier than it was declared.
    /// §4.3: whatever the consumer says about it in arguments or extras is not looked at.
    fn needs_confirmation(&self, x: &Execution<'_>, args: &Json) -> bool {
        if self.broken(Fault::ConfirmedFlagBelieved) && args["confirmed"] == json!(true) || x.says_confirmed {
            return false;
        }
        let asked = self.broken(Fault::AskedOnce) && lock(&self.provider.fault_memory).contains(&trusted(x));
        if asked || self.is_trusted(x) || (self.broken(Fault::EmptyTokenConfirms) && x.resume_token == Some("")) {
            return false;
        }
        (x.tool.writes && self.leeway(Leeway::EveryWriteAsks))
            || (if self.broken(Fault::OnlyDestructiveAsks) { x.tool.destructive } else { x.tool.always_asks })
            || (self.provider.setup.application.needs_user(x.work(args)) && !self.broken(Fault::EscalationIgnored))
    }

    fn consent_in(&self, db: &Connection, x: &Execution<'_>, args: &Json, need: Option<Need>) -> Result<Consent> {
        if let Some(token) = x.resume_token
            && let Some(consent) = self.consent_by_token(db, x, token, need.as_ref())?
        {
            return Ok(consent);
        }
        match need {
            None => Ok(Consent::Given(None)),
            Some(need) => self.consent_by_asking(db, x, args, &need),
        }
    }

    /// What the token that came with the request stands for. Nothing if it is a good token and what was approved does not
    /// cover what is needed now: a scope was authorized and the call is still to be confirmed, or the scope was withdrawn
    /// again. It is spent then.
    fn consent_by_token(
        &self,
        db: &Connection,
        x: &Execution<'_>,
        token: &str,
        need: Option<&Need>,
    ) -> Result<Option<Consent>> {
        let good = |question: &Question| {
            let reusable = self.broken(Fault::TokenReusable) || self.broken(Fault::ResumedRunsAgain);
            let spent = question.state == "spent" && !reusable;
            self.belongs(question, x) && !spent && self.is_valid(question)
        };
        let issued = self.issued(db, x, token)?;
        if let Some(question) = &issued
            && !self.belongs(question, x)
            && self.leeway(Leeway::TokenBurnedByMisuse)
        {
            set_state(db, question.id, "spent", question.expires_ms)?;
        }
        let Some(question) = issued.filter(good) else {
            if self.leeway(Leeway::BadTokenAsksAnew) && need.is_some() {
                return Ok(None);
            }
            return Ok(Some(Consent::Withheld(self.bad_token())));
        };
        let ticket = Ticket(question.id);
        Ok(match (question.state.as_str(), need) {
            ("denied", _) if self.broken(Fault::DenialAskedAnew) => {
                set_state(db, question.id, "spent", question.expires_ms)?;
                Some(Consent::Withheld(cancelled()))
            }
            ("denied", _) => {
                if self.leeway(Leeway::UnheardDenialAsksAnew) && x.tool.writes {
                    record_denial(db, x.uid, self.now_ms(), &question)?;
                }
                Some(Consent::Withheld(cancelled()))
            }
            ("pending", Some(_)) if self.broken(Fault::EarlyResumeRuns) => Some(Consent::Given(Some(ticket))),
            ("pending", _) if self.leeway(Leeway::EarlyResumeUnavailable) => {
                Some(Consent::Withheld(Refusal::new(Code::Unavailable, "The user has not decided yet.")))
            }
            ("pending", _) if self.leeway(Leeway::EarlyResumeConflict) => {
                Some(Consent::Withheld(Refusal::new(Code::Conflict, "The user has not decided yet.")))
            }
            ("pending", Some(_)) if self.leeway(Leeway::FreshQuestionEachTime) => {
                set_state(db, question.id, "spent", question.expires_ms)?;
                None
            }
            ("pending", _) => Some(Consent::Withheld(self.ask(&question))),
            (_, None) => Some(Consent::Given(Some(ticket))),
            (_, Some(Need::Confirmation))
                if question.need == Need::Confirmation.name()
                    || self.broken(Fault::TokenOfCallerOnly)
                    || self.broken(Fault::AuthorizationConfirms) =>
            {
                self.note_approval(x);
                if self.broken(Fault::AskedOnce) {
                    lock(&self.provider.fault_memory).insert(trusted(x));
                }
                Some(Consent::Given(Some(ticket)))
            }
            (_, Some(_)) => {
                self.spend_in(db, Some(ticket))?;
                None
            }
        })
    }

    /// Asks the user, or finds that the user has been asked about this already.
    fn consent_by_asking(&self, db: &Connection, x: &Execution<'_>, args: &Json, need: &Need) -> Result<Consent> {
        if let Some(ticket) = self.approved_for_equal_call(db, x)? {
            return Ok(Consent::Given(Some(ticket)));
        }
        let condition = "uid = ? AND request_id = ? AND identity = ? AND tool = ? AND args_sha256 = ?
                         AND need = ? AND scopes = ? AND state <> 'spent' AND expires_ms > ?
                         ORDER BY id DESC LIMIT 1";
        let identity = self.caller.identity();
        let (scopes, now_ms) = (need.scopes(), self.now_ms());
        let values = params![x.uid, x.request_id, identity, x.tool.name, x.args_sha256, need.name(), scopes, now_ms];
        let question = match find_where(db, condition, values)? {
            Some(question) if question.state == "denied" && self.leeway(Leeway::UnheardDenialAsksAnew) => {
                self.put(db, x, args, need)?
            }
            Some(question) if question.state == "denied" => return Ok(Consent::Withheld(cancelled())),
            Some(question) if question.state == "pending" && self.leeway(Leeway::FreshQuestionEachTime) => {
                set_state(db, question.id, "spent", question.expires_ms)?;
                self.put(db, x, args, need)?
            }
            Some(question) if question.state == "approved" && self.executes_untold(x, need) => {
                return Ok(Consent::Given(Some(Ticket(question.id))));
            }
            Some(_) if x.resume_token.is_none() && self.leeway(Leeway::WaitingCallConflict) => {
                return Ok(Consent::Withheld(Refusal::new(Code::Conflict, "This call waits for its resume_token.")));
            }
            // Approved, and the scope is missing all the same: it has been withdrawn since.
            Some(question) if question.state == "approved" && *need != Need::Confirmation => {
                self.spend_in(db, Some(Ticket(question.id)))?;
                self.put(db, x, args, need)?
            }
            Some(question) => question,
            None => self.put(db, x, args, need)?,
        };
        Ok(Consent::Withheld(self.ask(&question)))
    }

    /// §4.3: bound to caller, tool, original args bytes and request_id. The validity is looked at apart.
    fn belongs(&self, question: &Question, x: &Execution<'_>) -> bool {
        if self.broken(Fault::TokenOfCallerOnly) {
            return question.identity == self.caller.identity();
        }
        let any_request = self.broken(Fault::TokenReusable) || self.broken(Fault::TokenForAnyRequest);
        let same_args = question.args_sha256 == x.args_sha256 || self.broken(Fault::TokenForAnyArgs);
        (question.identity == self.caller.identity() || self.broken(Fault::TokenOfAnyCaller))
            && (if question.tool == x.tool.name { same_args } else { self.broken(Fault::TokenForAnyTool) })
            && (question.request_id == x.request_id || any_request)
    }

    fn is_valid(&self, question: &Question) -> bool {
        let late_ms = if self.broken(Fault::TokenExpiresLate) { 60_000 } else { 0 };
        self.now_ms() < question.expires_ms + late_ms || self.broken(Fault::TokenNeverExpires)
    }

    /// The question whose token this is.
    fn issued(&self, db: &Connection, x: &Execution<'_>, token: &str) -> Result<Option<Question>> {
        if self.broken(Fault::ResumeTokenByPrefix) {
            return find_where(db, "substr(token, 1, length(?1)) = ?1 AND ?1 <> '' ORDER BY id DESC LIMIT 1", [token]);
        }
        if self.broken(Fault::TokenByItsBeginning) {
            return find_where(db, "substr(?1, 1, length(token)) = token", [token]);
        }
        if self.broken(Fault::ResumeTokenWithoutCase) {
            return find_where(db, "lower(token) = lower(?)", [token]);
        }
        if self.broken(Fault::ResumeTokenTrimmed) {
            return find_where(db, "token = ?", [token.trim()]);
        }
        if self.broken(Fault::AnyTokenOfApprovedCall) {
            let approved = "uid = ? AND request_id = ? AND state = 'approved' ORDER BY id DESC LIMIT 1";
            return find_where(db, approved, params![x.uid, x.request_id]);
        }
        find_where(db, "token = ?", [token])
    }

    fn bad_token(&self) -> Refusal {
        let code = if self.leeway(Leeway::BadTokenConflict) {
            Code::Conflict
        } else if self.leeway(Leeway::BadTokenDenied) {
            Code::PermissionDenied
        } else {
            Code::InvalidRequest
        };
        Refusal::new(code, "resume_token belongs to another call, was used, or has expired.")
    }

    /// Whether the user's word suffices, and the token need not come with it.
    fn executes_untold(&self, x: &Execution<'_>, need: &Need) -> bool {
        *need == Need::Confirmation && x.resume_token.is_none() && self.leeway(Leeway::ApprovalNeedsNoToken)
    }

    /// What only a fault looks for.
    fn approved_for_equal_call(&self, db: &Connection, x: &Execution<'_>) -> Result<Option<Ticket>> {
        if !self.broken(Fault::ApprovalServesEqualCalls) {
            return Ok(None);
        }
        let condition = "identity = ? AND tool = ? AND args_sha256 = ? AND state = 'approved' LIMIT 1";
        let values = params![self.caller.identity(), x.tool.name, x.args_sha256];
        Ok(find_where(db, condition, values)?.map(|question| Ticket(question.id)))
    }

    /// §4.3: the token that comes with a repeat may be known to be used.
    pub(crate) fn check_token_unspent(&self, x: &Execution<'_>) -> Result<()> {
        let Some(token) = x.resume_token else { return Ok(()) };
        match self.query(|db| find_where(db, "token = ?", [token]))? {
            Some(question) if question.state == "spent" => refuse(Code::InvalidRequest, "resume_token was used."),
            _ => Ok(()),
        }
    }

    fn put(&self, db: &Connection, x: &Execution<'_>, args: &Json, need: &Need) -> Result<Question> {
        let question = Question {
            id: 0,
            identity: self.caller.identity(),
            request_id: x.request_id.to_owned(),
            tool: x.tool.name.clone(),
            args_sha256: x.args_sha256,
            need: need.name().to_owned(),
            scopes: need.scopes(),
            token: match self.broken(Fault::ResumeTokenWithoutCase) {
                true => distort::letters(&random_name("")?),
                false => random_name("rt_")?,
            },
            state: "pending".to_owned(),
            expires_ms: self.now_ms().saturating_add(resume_ttl_ms(&self.provider.setup.switches)),
        };
        if self.broken(Fault::EffectBeforeApproval) && *need == Need::Confirmation {
            self.provider.perform(db, x.tool, x.work(args))?;
        }
        let mut texts = json!(self.texts(x, args, need)).to_string();
        if self.broken(Fault::QuestionOfTheFirst) {
            let first = "SELECT texts FROM confirmations WHERE uid = ? ORDER BY id LIMIT 1";
            let first: Option<String> = db.query_row(first, [x.uid], |row| row.get(0)).optional()?;
            texts = first.unwrap_or(texts);
        }
        let sql = "INSERT INTO confirmations (uid, identity, request_id, tool, args_sha256, need, scopes, texts,
                   is_write, token, state, expires_ms, args, deadline_ms)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        db.prepare_cached(sql)?.execute(params![
            x.uid,
            question.identity,
            question.request_id,
            question.tool,
            question.args_sha256,
            question.need,
            question.scopes,
            texts,
            x.tool.writes,
            question.token,
            question.state,
            question.expires_ms,
            x.args_text,
            x.deadline_ms,
        ])?;
        Ok(Question { id: db.last_insert_rowid(), ..question })
    }

    /// §7.2: the concrete object, the action, the key parameters and what cannot be undone.
    fn texts(&self, x: &Execution<'_>, args: &Json, need: &Need) -> Vec<String> {
        if self.broken(Fault::QuestionWithoutObject) {
            return vec![x.tool.title.clone()];
        }
        match need {
            Need::Confirmation => {
                let work = Work { tool: &x.tool.name, request_id: x.request_id, args };
                self.provider.setup.application.question(work)
            }
            Need::Authorization(scopes) => {
                let packages: Vec<&str> = self.caller.packages.iter().map(|package| package.name.as_str()).collect();
                vec![
                    "Allow an app to use this one?".to_owned(),
                    format!("App: {}", packages.join(", ")),
                    format!("It asks for: {}", scopes.join(", ")),
                    format!("To use: {}", x.tool.title),
                ]
            }
        }
    }

    /// §4.3, §7.2: an explicit, immutable PendingIntent for a component of our own.
    fn ask(&self, question: &Question) -> Refusal {
        let about = self.provider.setup.application.about();
        let intent = PendingIntent {
            id: format!("pi-{}", question.id),
            creator_package: Some(about.package.to_owned()),
            creator_uid: Some(about.uid),
            immutable: Some(true),
            explicit: Some(true),
            component: Some(format!("{}/{}.ConfirmationActivity", about.package, about.package)),
        };
        let (code, text) = match question.need.as_str() {
            "authorization" => (Code::AuthRequired, "The user has to authorize this app."),
            _ => (Code::UserActionRequired, "The user has to confirm this call."),
        };
        let details = faults::details_of_question(&self.provider.setup.switches, &question.tool);
        Refusal { resolution: Some((intent, question.token.clone())), details, ..Refusal::new(code, text) }
    }

    /// Spends a ticket as part of a transaction. False if somebody else did so first.
    pub(crate) fn spend_in(&self, db: &Connection, ticket: Option<Ticket>) -> Result<bool> {
        let Some(Ticket(id)) = ticket else { return Ok(true) };
        let sql = "UPDATE confirmations SET state = 'spent' WHERE id = ? AND state = 'approved'";
        let spent = db.prepare_cached(sql)?.execute([id])? == 1;
        let lenient = [Fault::TokenReusable, Fault::ResumedRunsAgain, Fault::EarlyResumeRuns];
        Ok(spent || lenient.into_iter().any(|fault| self.broken(fault)))
    }

    /// Spends the ticket of a read, which has no reservation to do so.
    pub(crate) fn spend(&self, ticket: Ticket) -> Result<()> {
        if self.query(|db| self.spend_in(db, Some(ticket)))? {
            return Ok(());
        }
        refuse(Code::InvalidRequest, "resume_token was used.")
    }

    /// An execution that a dead process had reserved was confirmed then, and its token is spent. A token that comes with
    /// the repeat still has to be the right one.
    pub(crate) fn check_token_of_abandoned(&self, x: &Execution<'_>) -> Result<()> {
        let Some(token) = x.resume_token else { return Ok(()) };
        let question = self.query(|db| find_where(db, "token = ?", [token]))?;
        if question.is_some_and(|question| self.belongs(&question, x)) {
            return Ok(());
        }
        refuse(Code::InvalidRequest, "resume_token belongs to another call.")
    }
}

fn cancelled() -> Refusal {
    Refusal::new(Code::UserCancelled, "The user did not agree.")
}

impl Provider {
    /// What the user decides in our own UI. The first decision stands; after the validity nothing happens. False if
    /// there is no such question.
    ///
    /// # Errors
    /// The store fails.
    pub fn decide(&self, question: i64, decision: Decision) -> Result<bool> {
        let switches = &self.setup.switches;
        let now_ms = self.setup.store.now_ms();
        self.transaction(|db| {
            let Some(asked) = find_where(db, "id = ?", [question])? else { return Ok(false) };
            let expired = now_ms >= asked.expires_ms && !switches.broken(Fault::TokenNeverExpires);
            if asked.state != "pending" || expired {
                return Ok(true);
            }
            let agreed = decision == Decision::Approve
                || switches.broken(Fault::DenialForgotten)
                || (decision == Decision::Dismiss && switches.broken(Fault::DismissApproves));
            if decision == Decision::Dismiss && switches.leeway(Leeway::DismissLeavesPending) {
                return Ok(true);
            }
            if agreed {
                set_state(db, question, "approved", asked.expires_ms)?;
                if switches.broken(Fault::ApprovalOfAll) {
                    let sql = "UPDATE confirmations SET state = 'approved' WHERE identity = ? AND state = 'pending'";
                    db.execute(sql, [&asked.identity])?;
                }
                let scopes = serde_json::from_str::<Vec<String>>(&asked.scopes)?;
                if !scopes.is_empty() && switches.broken(Fault::ApprovalGrantsAll) {
                    faults::ALL_SCOPES
                        .into_iter()
                        .try_for_each(|scope| authorize::grant(db, &asked.identity, scope, None))?;
                }
                for scope in scopes {
                    authorize::grant(db, &asked.identity, &scope, None)?;
                }
                if decision == Decision::Approve && switches.leeway(Leeway::ApprovalExecutes) {
                    self.execute_approved(db, question, &asked, now_ms)?;
                }
                return Ok(true);
            }
            // A "no" is remembered as long as a result would be: asking again does not turn it into a "yes".
            let kept_ms = if switches.broken(Fault::DenialsKeptAnHour) { 3_600_000 } else { RETENTION_MS };
            set_state(db, question, "denied", now_ms.saturating_add(kept_ms))?;
            let (uid, is_write): (i64, bool) = db
                .prepare_cached("SELECT uid, is_write FROM confirmations WHERE id = ?")?
                .query_row([question], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let later = switches.leeway(Leeway::UnheardDenialAsksAnew) || switches.broken(Fault::DenialAskedAnew);
            if is_write && !later {
                record_denial(db, uid, now_ms, &asked)?;
            }
            Ok(true)
        })
    }

    /// For a leeway: the call that was approved is executed at once, if its deadline has not passed and its caller still
    /// holds the scopes. Its token stays good, for the result.
    fn execute_approved(&self, db: &Connection, question: i64, asked: &Question, now_ms: i64) -> Result<()> {
        let sql = "SELECT uid, args, deadline_ms FROM confirmations WHERE id = ? AND is_write";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let found: Option<(i64, String, i64)> = db.query_row(sql, [question], read).optional()?;
        let Some((uid, args_text, deadline_ms)) = found.filter(|_| asked.need == Need::Confirmation.name()) else {
            return Ok(());
        };
        let catalogue = self.catalogue();
        let Some(tool) = catalogue.find(&asked.tool).filter(|_| now_ms < deadline_ms) else { return Ok(()) };
        for scope in &tool.scopes {
            if !authorize::is_granted(db, &asked.identity, scope, now_ms)? {
                return Ok(());
            }
        }
        if record::find(db, uid, &asked.request_id)?.is_some() {
            return Ok(());
        }
        let args: Json = serde_json::from_str(&args_text)?;
        let value = self.perform(db, tool, Work { tool: &tool.name, request_id: &asked.request_id, args: &args })?;
        record::insert(db, &reserved(uid, now_ms, asked))?;
        record::settle(db, uid, &asked.request_id, State::Ended, &Outcome::Value(value))
    }

    /// What the confirmation shows; nothing if there is no such question.
    ///
    /// # Errors
    /// The store fails.
    pub fn shown(&self, question: i64) -> Result<Option<Vec<String>>> {
        let sql = "SELECT texts FROM confirmations WHERE id = ?";
        let texts: Option<String> =
            self.query(|db| Ok(db.prepare_cached(sql)?.query_row([question], |row| row.get(0)).optional()?))?;
        Ok(texts.as_deref().map(serde_json::from_str).transpose()?)
    }
}

/// For a write a denial is the terminal result of the execution (§6).
fn record_denial(db: &Connection, uid: i64, now_ms: i64, asked: &Question) -> Result<()> {
    if record::find(db, uid, &asked.request_id)?.is_some() {
        return Ok(());
    }
    record::insert(db, &reserved(uid, now_ms, asked))?;
    record::settle(db, uid, &asked.request_id, State::Ended, &Outcome::Error(cancelled()))
}

/// The record of a call that the user has decided about.
fn reserved(uid: i64, now_ms: i64, asked: &Question) -> Record {
    Record {
        uid,
        request_id: asked.request_id.clone(),
        tool: asked.tool.clone(),
        args_sha256: asked.args_sha256,
        arrived_ms: now_ms,
        state: State::Reserved,
        outcome: None,
        operation_id: None,
        args: None,
        held: false,
    }
}

/// How a fault remembers whom it asks no more.
fn trusted(x: &Execution<'_>) -> String {
    format!("{} needs no confirmation for {}", x.uid, x.tool.name)
}

/// Ends every question that is still open.
pub(crate) fn end_questions(db: &Connection) -> Result<()> {
    db.execute("UPDATE confirmations SET state = 'spent' WHERE state <> 'denied'", [])?;
    Ok(())
}

fn set_state(db: &Connection, id: i64, state: &str, expires_ms: i64) -> Result<()> {
    let sql = "UPDATE confirmations SET state = ?, expires_ms = ? WHERE id = ?";
    db.prepare_cached(sql)?.execute(params![state, expires_ms, id])?;
    Ok(())
}
