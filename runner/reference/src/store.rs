//! What survives the provider's process. The main type is [`Store`].
//!
//! One SQLite database holds everything that §4.4, §6 and §7 want durable. Its transactions are the "same reliable
//! boundary" of §10: a reservation with the spent confirmation, an effect with the stored result.
//!
//! The settings are chosen for the end of a *process*, not of the power supply: what a transaction has committed is in
//! the system's page cache and survives SIGKILL, and a write-ahead log that was cut off is recovered or ignored when the
//! file is opened again. An app whose device can lose power sets `synchronous` to `FULL`.

use crate::error::Result;
use crate::lock;
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

/// The clock before the first reset.
const START_MS: i64 = 1_760_000_000_000;

/// The protocol's tables. An application adds its own.
const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS clock (id INTEGER PRIMARY KEY CHECK (id = 1), now_ms INTEGER NOT NULL);

-- §6: what was asked for under a request_id, what became of it; §4.4: its operation, if it has one.
-- The database belongs to one provider_id, which is therefore part of the key without a column.
CREATE TABLE IF NOT EXISTS executions (
    uid INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    args_sha256 BLOB NOT NULL,
    arrived_ms INTEGER NOT NULL,
    state TEXT NOT NULL,
    outcome TEXT,
    value TEXT,
    operation_id TEXT,
    args TEXT,
    held INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (uid, request_id)
);
CREATE UNIQUE INDEX IF NOT EXISTS operations ON executions (operation_id) WHERE operation_id IS NOT NULL;

-- §4.3: what the user was asked, and what was answered.
CREATE TABLE IF NOT EXISTS confirmations (
    id INTEGER PRIMARY KEY,
    uid INTEGER NOT NULL,
    identity TEXT NOT NULL,
    request_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    args_sha256 BLOB NOT NULL,
    need TEXT NOT NULL,
    scopes TEXT NOT NULL,
    texts TEXT NOT NULL,
    is_write INTEGER NOT NULL,
    token TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    expires_ms INTEGER NOT NULL,
    args TEXT NOT NULL,
    deadline_ms INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS confirmations_of ON confirmations (uid, request_id);

-- §7.1: an identity is a UID with its packages and their signing certificates. granted = 0 is a withdrawal.
CREATE TABLE IF NOT EXISTS grants (
    identity TEXT NOT NULL,
    scope TEXT NOT NULL,
    granted INTEGER NOT NULL,
    expires_ms INTEGER,
    PRIMARY KEY (identity, scope)
) WITHOUT ROWID;

-- §7.2.
CREATE TABLE IF NOT EXISTS audit (
    id INTEGER PRIMARY KEY,
    caller_uid INTEGER NOT NULL,
    tool TEXT,
    request_id TEXT,
    decision TEXT NOT NULL,
    result TEXT NOT NULL
);
";

/// The database and the clock.
#[derive(Debug)]
pub struct Store {
    db: Mutex<Connection>,
    /// The clock of the database, so that reading the time costs no statement.
    now_ms: AtomicI64,
}

impl Store {
    /// A database in memory, with the application's tables.
    ///
    /// # Errors
    /// SQLite fails, or the application's SQL is wrong.
    pub fn in_memory(tables: &str) -> Result<Store> {
        Store::prepare(Connection::open_in_memory()?, tables)
    }

    /// The database of a file, as it was left.
    ///
    /// # Errors
    /// As [`Store::in_memory`], or the file is no database.
    pub fn open(path: &Path, tables: &str) -> Result<Store> {
        let db = Connection::open(path)?;
        // One process at a time: without a shared index beside the file a log is cheaper and leaves one file less.
        db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        db.pragma_update(None, "journal_mode", "WAL")?;
        Store::prepare(db, tables)
    }

    fn prepare(db: Connection, tables: &str) -> Result<Store> {
        db.pragma_update(None, "synchronous", "OFF")?;
        db.set_prepared_statement_cache_capacity(128);
        db.execute_batch(SCHEMA)?;
        db.execute_batch(tables)?;
        db.execute("INSERT OR IGNORE INTO clock VALUES (1, ?)", [START_MS])?;
        let now_ms = db.query_row("SELECT now_ms FROM clock", [], |row| row.get(0))?;
        Ok(Store { db: Mutex::new(db), now_ms: AtomicI64::new(now_ms) })
    }

    /// The time, in Unix milliseconds.
    pub fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::SeqCst)
    }

    /// Sets the time.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn set_now_ms(&self, now_ms: i64) -> Result<()> {
        let db = lock(&self.db);
        db.prepare_cached("UPDATE clock SET now_ms = ?")?.execute([now_ms])?;
        self.now_ms.store(now_ms, Ordering::SeqCst);
        Ok(())
    }

    /// Reads, or writes what is one statement.
    ///
    /// # Errors
    /// What the work returns.
    pub fn query<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        work(&lock(&self.db))
    }

    /// All of the work, or nothing of it.
    ///
    /// # Errors
    /// What the work returns; then nothing has been written.
    pub fn transaction<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let db = lock(&self.db);
        db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let unfinished = RollBack(&db);
        let done = work(&db)?;
        db.prepare_cached("COMMIT")?.execute([])?;
        std::mem::forget(unfinished);
        Ok(done)
    }

    /// Empties every table and sets the clock.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn clear(&self, now_ms: i64) -> Result<()> {
        self.transaction(|db| {
            let tables = db
                .prepare_cached("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'clock'")?
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<Vec<String>>>()?;
            for table in tables {
                db.prepare_cached(&format!("DELETE FROM {table}"))?.execute([])?;
            }
            db.prepare_cached("UPDATE clock SET now_ms = ?")?.execute([now_ms])?;
            Ok(())
        })?;
        self.now_ms.store(now_ms, Ordering::SeqCst);
        Ok(())
    }
}

/// Undoes a transaction whose work returned early, or panicked.
struct RollBack<'db>(&'db Connection);

impl Drop for RollBack<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // Nothing is left to do if this fails: SQLite has then rolled back itself.
            let _ = self.0.prepare_cached("ROLLBACK").and_then(|mut statement| statement.execute([]));
        }
    }
}

/// Whether a statement finds a row.
///
/// # Errors
/// SQLite fails.
pub fn exists(db: &Connection, sql: &str, value: impl rusqlite::ToSql) -> Result<bool> {
    Ok(db.prepare_cached(sql)?.query_row(params![value], |_| Ok(())).optional()?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_failed_transaction_leaves_nothing() {
        let store = Store::in_memory("CREATE TABLE t (n INTEGER)").unwrap();
        let failed: Result<()> = store.transaction(|db| {
            db.execute("INSERT INTO t VALUES (1)", [])?;
            Err(Error::Died)
        });
        assert!(failed.is_err());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _: Result<()> = store.transaction(|db| {
                db.execute("INSERT INTO t VALUES (2)", [])?;
                std::panic::resume_unwind(Box::new("thrown"))
            });
        }));
        assert!(panicked.is_err());
        let count: i64 = store.query(|db| Ok(db.query_row("SELECT count(*) FROM t", [], |row| row.get(0))?)).unwrap();
        assert_eq!(count, 0);
    }

    #[test]
    fn a_file_keeps_what_was_committed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("provider.db");
        let tables = "CREATE TABLE IF NOT EXISTS t (n INTEGER)";
        let store = Store::open(&path, tables).unwrap();
        store.transaction(|db| Ok(db.execute("INSERT INTO t VALUES (1)", [])?)).unwrap();
        store.set_now_ms(5).unwrap();
        drop(store);
        let store = Store::open(&path, tables).unwrap();
        assert_eq!(store.now_ms(), 5);
        assert!(store.query(|db| exists(db, "SELECT 1 FROM t WHERE n = ?", 1)).unwrap());
        store.clear(9).unwrap();
        assert_eq!(store.now_ms(), 9);
        assert!(!store.query(|db| exists(db, "SELECT 1 FROM t WHERE n = ?", 1)).unwrap());
    }
}
