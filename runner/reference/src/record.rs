//! The durable record of an execution with side effects (§6), which is its operation as well (§4.4). The main type is
//! [`Record`].
//!
//! One row serves both, so that "one execution" and "one operation" cannot come apart. It is written before anything is
//! done (`reserved`, or `queued` for an operation) and gets its outcome in the transaction that has the effect.

use crate::envelope::Refusal;
use crate::error::{Error, Result};
use crate::limits::{RETENTION_MS, TOMBSTONE_MS};
use rusqlite::{Connection, OptionalExtension, Row, params};

/// How far an execution is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Reserved for one executor; no effect yet.
    Reserved,
    /// An operation that has not begun.
    Queued,
    /// An operation that has begun and has no effect yet.
    Running,
    /// An operation whose effect is committed and that has not ended.
    Committed,
    /// Ended, with an outcome.
    Ended,
    /// Ended and past its retention: only its name is left.
    Expired,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Reserved => "reserved",
            State::Queued => "queued",
            State::Running => "running",
            State::Committed => "committed",
            State::Ended => "ended",
            State::Expired => "expired",
        }
    }

    fn from_name(name: &str) -> Result<State> {
        let all = [State::Reserved, State::Queued, State::Running, State::Committed, State::Ended, State::Expired];
        all.into_iter().find(|state| state.name() == name).ok_or_else(|| Error::lost("a known state"))
    }
}

/// How an execution ended; this never changes again (§4.4, §6).
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// With a value, as JSON text. How it is delivered follows the session that asks.
    Value(String),
    /// With a definite failure.
    Error(Refusal),
    /// Cancelled before it had an effect.
    Cancelled,
}

impl Outcome {
    /// The state of an operation that ended so.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Value(_) => "succeeded",
            Outcome::Error(_) => "failed",
            Outcome::Cancelled => "cancelled",
        }
    }
}

/// One execution with side effects.
#[derive(Clone, Debug)]
pub struct Record {
    /// Caller's UID, the first part of the key.
    pub uid: i64,
    /// The other part of the key.
    pub request_id: String,
    /// What the key is bound to: the tool …
    pub tool: String,
    /// … and the digest of the original args bytes.
    pub args_sha256: [u8; 32],
    /// First arrival, from which the window is reckoned.
    pub arrived_ms: i64,
    /// How far it is.
    pub state: State,
    /// How it ended. A committed operation has its outcome already and does not show it.
    pub outcome: Option<Outcome>,
    /// Its operation, if it is one.
    pub operation_id: Option<String>,
    /// Arguments of an operation: a later process goes on with them.
    pub args: Option<String>,
    /// Whether the operation waits for somebody outside.
    pub held: bool,
}

const COLUMNS: &str = "uid, request_id, tool, args_sha256, arrived_ms, state, outcome, value, operation_id, args, held";

impl Record {
    fn read(row: &Row<'_>) -> Result<Record> {
        let kind: Option<String> = row.get(6)?;
        let value: Option<String> = row.get(7)?;
        let outcome = match kind.as_deref() {
            None => None,
            Some("value") => Some(Outcome::Value(value.ok_or_else(|| Error::lost("value"))?)),
            Some("error") => {
                let error = serde_json::from_str(value.as_deref().unwrap_or_default())?;
                Some(Outcome::Error(Refusal::from_json(&error)?))
            }
            Some(_) => Some(Outcome::Cancelled),
        };
        Ok(Record {
            uid: row.get(0)?,
            request_id: row.get(1)?,
            tool: row.get(2)?,
            args_sha256: row.get(3)?,
            arrived_ms: row.get(4)?,
            state: State::from_name(row.get_ref(5)?.as_str().map_err(|_| Error::lost("state"))?)?,
            outcome,
            operation_id: row.get(8)?,
            args: row.get(9)?,
            held: row.get(10)?,
        })
    }

    /// Whether the retention is over (§4.4, §5). What is still under way is kept until it ends.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        match self.state {
            State::Expired => true,
            State::Ended | State::Reserved => now_ms >= self.arrived_ms.saturating_add(RETENTION_MS),
            State::Queued | State::Running | State::Committed => false,
        }
    }
}

fn find_where(db: &Connection, condition: &str, values: impl rusqlite::Params) -> Result<Option<Record>> {
    let sql = format!("SELECT {COLUMNS} FROM executions WHERE {condition}");
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(values)?;
    rows.next()?.map(Record::read).transpose()
}

/// The record of a key.
///
/// # Errors
/// SQLite fails.
pub fn find(db: &Connection, uid: i64, request_id: &str) -> Result<Option<Record>> {
    find_where(db, "uid = ? AND request_id = ?", params![uid, request_id])
}

/// The record of an operation.
///
/// # Errors
/// SQLite fails.
pub fn find_operation(db: &Connection, operation_id: &str) -> Result<Option<Record>> {
    find_where(db, "operation_id = ?", [operation_id])
}

/// The record of an operation whose name matches an SQL pattern. Only a fault looks so.
pub(crate) fn find_operation_like(db: &Connection, pattern: &str) -> Result<Option<Record>> {
    find_where(db, "operation_id LIKE ?", [pattern])
}

/// The record of a UID whose request_id agrees with this one in a part. Only a fault looks so.
pub(crate) fn find_by_part(
    db: &Connection,
    uid: i64,
    request_id: &str,
    from: i64,
    length: i64,
) -> Result<Option<Record>> {
    let condition = "uid = ?1 AND substr(request_id, ?3, ?4) = substr(?2, ?3, ?4)";
    find_where(db, condition, params![uid, request_id, from, length])
}

/// The UID under which a request_id is recorded, whoever asks. Only a fault wants to know.
pub(crate) fn any_uid_of(db: &Connection, request_id: &str) -> Result<Option<i64>> {
    let sql = "SELECT uid FROM executions WHERE request_id = ?";
    Ok(db.prepare_cached(sql)?.query_row([request_id], |row| row.get(0)).optional()?)
}

/// Every operation that has not ended.
///
/// # Errors
/// SQLite fails.
pub fn unfinished_operations(db: &Connection) -> Result<Vec<Record>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM executions
         WHERE operation_id IS NOT NULL AND state IN ('queued', 'running', 'committed') ORDER BY rowid"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query([])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(Record::read(row)?);
    }
    Ok(records)
}

/// Writes a new record.
///
/// # Errors
/// SQLite fails.
pub fn insert(db: &Connection, record: &Record) -> Result<()> {
    // Replaces what is past its retention; nothing else can be there.
    let sql = "INSERT OR REPLACE INTO executions
               (uid, request_id, tool, args_sha256, arrived_ms, state, operation_id, args, held)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let Record { uid, request_id, tool, args_sha256, arrived_ms, state, operation_id, args, held, outcome: _ } = record;
    let values = params![uid, request_id, tool, args_sha256, arrived_ms, state.name(), operation_id, args, held];
    db.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// Moves a record that has not ended.
///
/// # Errors
/// SQLite fails.
pub fn advance(db: &Connection, uid: i64, request_id: &str, state: State) -> Result<()> {
    let sql = "UPDATE executions SET state = ? WHERE uid = ? AND request_id = ? AND state <> 'ended'";
    db.prepare_cached(sql)?.execute(params![state.name(), uid, request_id])?;
    Ok(())
}

/// Stores the outcome and the state that goes with it: ended, or committed where the end is still to come.
///
/// # Errors
/// SQLite fails.
pub fn settle(db: &Connection, uid: i64, request_id: &str, state: State, outcome: &Outcome) -> Result<()> {
    let sql = "UPDATE executions SET state = ?, outcome = ?, value = ? WHERE uid = ? AND request_id = ?";
    let error;
    let (kind, value) = match outcome {
        Outcome::Value(value) => ("value", Some(value.as_str())),
        Outcome::Error(refusal) => {
            error = refusal.to_json().to_string();
            ("error", Some(error.as_str()))
        }
        Outcome::Cancelled => ("cancelled", None),
    };
    db.prepare_cached(sql)?.execute(params![state.name(), kind, value, uid, request_id])?;
    Ok(())
}

/// Removes a record whose execution had no effect and may be tried again.
///
/// # Errors
/// SQLite fails.
pub fn forget(db: &Connection, uid: i64, request_id: &str) -> Result<()> {
    let sql = "DELETE FROM executions WHERE uid = ? AND request_id = ?";
    db.prepare_cached(sql)?.execute(params![uid, request_id])?;
    Ok(())
}

/// Removes every record of a UID. Only a fault does so.
pub(crate) fn forget_all_of(db: &Connection, uid: i64) -> Result<()> {
    db.prepare_cached("DELETE FROM executions WHERE uid = ?")?.execute([uid])?;
    Ok(())
}

/// Removes all but the newest records of a UID. Only a fault does so.
pub(crate) fn forget_all_but(db: &Connection, uid: i64, kept: i64) -> Result<()> {
    let sql = "DELETE FROM executions WHERE uid = ?1 AND rowid NOT IN
               (SELECT rowid FROM executions WHERE uid = ?1 ORDER BY rowid DESC LIMIT ?2)";
    db.prepare_cached(sql)?.execute([uid, kept])?;
    Ok(())
}

/// Whether another UID has used a request_id. Only a fault wants to know.
pub(crate) fn is_used_by_another(db: &Connection, uid: i64, request_id: &str) -> Result<bool> {
    let sql = "SELECT 1 FROM executions WHERE uid <> ? AND request_id = ?";
    Ok(db.prepare_cached(sql)?.query_row(params![uid, request_id], |_| Ok(())).optional()?.is_some())
}

/// Removes what is past its retention. Of an operation the name is kept for a while (§5: RESULT_EXPIRED).
///
/// # Errors
/// SQLite fails.
pub fn purge(db: &Connection, now_ms: i64) -> Result<()> {
    let kept_from = now_ms.saturating_sub(RETENTION_MS);
    db.prepare_cached(
        "UPDATE executions SET state = 'expired', outcome = NULL, value = NULL, args = NULL
         WHERE operation_id IS NOT NULL AND state = 'ended' AND arrived_ms <= ?",
    )?
    .execute([kept_from])?;
    db.prepare_cached(
        "DELETE FROM executions WHERE arrived_ms <= ?1 AND operation_id IS NULL
         OR arrived_ms <= ?2 AND state = 'expired'",
    )?
    .execute([kept_from, now_ms.saturating_sub(TOMBSTONE_MS)])?;
    db.prepare_cached("DELETE FROM confirmations WHERE expires_ms <= ?")?.execute([kept_from])?;
    Ok(())
}
