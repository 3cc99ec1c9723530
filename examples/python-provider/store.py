"""What is durable: one SQLite database, one connection, one transaction at a time.

Sections 4.4 and 6 demand that deduplication records and operation states survive the process, and section 10 that
"the reservation of a request, the business change and the stored result lie in one reliable boundary".  Here that
boundary is literally one transaction: a kill at any moment leaves all of it or nothing.

Only the death of the process has to be survived, not that of the machine, so nothing waits for the disk.
"""

import sqlite3
import threading
from contextlib import contextmanager

_TABLES = """
CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- Who has ever called, so that the fixture gives its default grants to the first identity of a UID only.
CREATE TABLE known_uids (uid INTEGER PRIMARY KEY);

-- Authorization (section 7.1): bound to UID, packages and certificates (`identity`), scope and validity.
CREATE TABLE grants (
    uid           INTEGER NOT NULL,
    identity      TEXT NOT NULL,
    scope         TEXT NOT NULL,
    granted       INTEGER NOT NULL,       -- 0: withdrawn
    expires_at_ms INTEGER,
    PRIMARY KEY (uid, identity, scope)
) WITHOUT ROWID;

-- Deduplication (section 6): the key, what the record is bound to, and the terminal result once there is one.
CREATE TABLE executions (
    uid               INTEGER NOT NULL,
    provider_id       TEXT NOT NULL,
    request_id        TEXT NOT NULL,
    tool              TEXT NOT NULL,
    args_sha256       TEXT NOT NULL,
    retained_until_ms INTEGER NOT NULL,
    operation_id      TEXT UNIQUE,
    value             TEXT,               -- JSON of a success
    error             TEXT,               -- JSON of a definite failure
    PRIMARY KEY (uid, provider_id, request_id)
);
CREATE INDEX executions_by_age ON executions (retained_until_ms);

-- Background executions (section 4.4).  A row outlives its result, so that RESULT_EXPIRED can be told from invention.
CREATE TABLE operations (
    operation_id    TEXT PRIMARY KEY,
    uid             INTEGER NOT NULL,
    request_id      TEXT NOT NULL,
    tool            TEXT NOT NULL,
    args            TEXT,                 -- until it has ended
    state           TEXT NOT NULL,
    held            INTEGER NOT NULL,     -- waits for an outside event
    committed_value TEXT,                 -- JSON of the result; present from the moment the effect is there
    created_ms      INTEGER NOT NULL
);

-- What the user was asked, and the resume_token that belongs to it (section 4.3).
CREATE TABLE confirmations (
    id            INTEGER PRIMARY KEY,
    resume_token  TEXT NOT NULL UNIQUE,
    kind          TEXT NOT NULL,          -- 'action' or 'authorization'
    uid           INTEGER NOT NULL,
    identity      TEXT NOT NULL,
    request_id    TEXT NOT NULL,
    tool          TEXT NOT NULL,
    args_sha256   TEXT NOT NULL,
    scopes        TEXT NOT NULL,
    texts         TEXT NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    decision      TEXT,                   -- NULL, 'approved' or 'denied'
    spent         INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX confirmations_by_request ON confirmations (uid, request_id);

-- Section 7.2: who, which tool, which request, what was decided, how it ended.  No arguments.
CREATE TABLE audit (
    id         INTEGER PRIMARY KEY,
    caller_uid INTEGER NOT NULL,
    tool       TEXT NOT NULL,
    request_id TEXT NOT NULL,
    decision   TEXT NOT NULL,
    result     TEXT NOT NULL
);

-- The business data of the fixture: every effect that was committed, in order.
CREATE TABLE ledger (
    entry      INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL,
    tool       TEXT NOT NULL,
    value      TEXT NOT NULL
);
"""
_NAMES = "settings known_uids grants executions operations confirmations audit ledger".split()

# An audit trail that grows without end would be a way to fill the device.
MAX_AUDIT_EVENTS = 20_000


class Store:
    def __init__(self, path):
        self._lock = threading.RLock()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
        self._db.row_factory = sqlite3.Row
        # Exclusive: there is one process at a time, and the system frees the lock of one that was killed.
        self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=OFF")
        if self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
            self._db.executescript("BEGIN;" + _TABLES + "COMMIT;")

    @contextmanager
    def transaction(self):
        """All or nothing, and alone: whatever was read inside is still true when it is written."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise

    def row(self, sql, *parameters):
        with self._lock:
            return self._db.execute(sql, parameters).fetchone()

    def rows(self, sql, *parameters):
        with self._lock:
            return self._db.execute(sql, parameters).fetchall()

    def setting(self, name):
        row = self.row("SELECT value FROM settings WHERE name = ?", name)
        return None if row is None else row["value"]

    def set_setting(self, name, value):
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, str(value)))

    def audit(self, uid, tool, request_id, decision, result, tx=None):
        """Inside the transaction of an effect the event is as certain as the effect itself."""
        with self._lock:
            cursor = (tx or self._db).execute(
                "INSERT INTO audit (caller_uid, tool, request_id, decision, result) VALUES (?, ?, ?, ?, ?)",
                (uid, tool, request_id, decision, result),
            )
            if cursor.lastrowid > MAX_AUDIT_EVENTS:
                self._db.execute("DELETE FROM audit WHERE id <= ?", (cursor.lastrowid - MAX_AUDIT_EVENTS,))

    def clear(self):
        with self.transaction() as tx:
            for name in _NAMES:
                tx.execute(f"DELETE FROM {name}")

    def close(self):
        """Waits for a transaction that is under way; whatever comes later fails."""
        with self._lock:
            self._db.close()
