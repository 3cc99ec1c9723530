//! The audit (§7.2): who used what, what was decided and how it ended. No argument and no result is in it.

use crate::envelope::{self, key};
use crate::error::{Error, Result};
use crate::faults;
use crate::provider::{Call, Provider};
use crate::record::{Outcome, Record};
use crate::switches::Fault;
use cetp_vectors::bundle::Bundle;
use rusqlite::{Connection, params};
use serde_json::{Value as Json, json};

/// What an execution leaves on its way for its line in the audit.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    /// The tool, once it is known to exist: what a caller makes up is not written down.
    pub tool: Option<String>,
    /// `allowed`, `confirmed` or `repeated`, once that is decided.
    pub decision: Option<&'static str>,
}

impl Call<'_> {
    /// Writes the line of a call that is about to be answered.
    pub(crate) fn record_audit(&self, trail: Trail, extras: &Bundle, reply: &Result<Bundle>) -> Result<()> {
        let (decision, result) = match reply {
            Ok(bundle) => (trail.decision.unwrap_or("allowed"), bundle.string(key::STATUS).unwrap_or_default()),
            Err(Error::Refused(refusal)) => {
                let decision = match refusal.code.name() {
                    "AUTH_REQUIRED" => "authorization_required",
                    "USER_ACTION_REQUIRED" => "confirmation_required",
                    "USER_CANCELLED" | "PERMISSION_DENIED" => "denied",
                    _ => trail.decision.unwrap_or("refused"),
                };
                (decision, refusal.code.name())
            }
            Err(_) => return Ok(()),
        };
        if reply.is_err() && self.broken(Fault::AuditForgetsRefusals) {
            return Ok(());
        }
        let result = &faults::audit_result(self, extras, result);
        let request_id = envelope::request_id(extras).ok();
        self.query(|db| write(db, self.caller.uid, trail.tool.as_deref(), request_id, decision, result))
    }
}

/// Writes the line of an operation's end.
pub(crate) fn operation_ended(db: &Connection, record: &Record, outcome: &Outcome) -> Result<()> {
    let result = match outcome {
        Outcome::Value(_) => "succeeded",
        Outcome::Error(refusal) => refusal.code.name(),
        Outcome::Cancelled => "cancelled",
    };
    write(db, record.uid, Some(&record.tool), Some(&record.request_id), "operation", result)
}

fn write(
    db: &Connection,
    uid: i64,
    tool: Option<&str>,
    request_id: Option<&str>,
    decision: &str,
    result: &str,
) -> Result<()> {
    let sql = "INSERT INTO audit (caller_uid, tool, request_id, decision, result) VALUES (?, ?, ?, ?, ?)";
    db.prepare_cached(sql)?.execute(params![uid, tool, request_id, decision, result])?;
    Ok(())
}

impl Provider {
    /// All events, in order.
    ///
    /// # Errors
    /// The store fails.
    pub fn audit(&self) -> Result<Vec<Json>> {
        let sql = "SELECT caller_uid, tool, request_id, decision, result FROM audit ORDER BY id";
        self.query(|db| {
            let mut statement = db.prepare_cached(sql)?;
            let events = statement.query_map([], |row| {
                Ok(json!({
                    "caller_uid": row.get::<_, i64>(0)?,
                    "tool": row.get::<_, Option<String>>(1)?,
                    "request_id": row.get::<_, Option<String>>(2)?,
                    "decision": row.get::<_, String>(3)?,
                    "result": row.get::<_, String>(4)?,
                }))
            })?;
            let mut events = events.collect::<rusqlite::Result<Vec<Json>>>()?;
            let own_uid = self.setup.application.about().uid;
            events.iter_mut().for_each(|event| faults::audit_event(&self.setup.switches, own_uid, event));
            Ok(events)
        })
    }
}
