"""One execution per request_id (section 6).

The key is (calling UID, provider_id, request_id); the record is bound to the tool and to a digest of the exact bytes of
the arguments.  Sessions do not come into it: a repeat is recognised after a new negotiation, and after a restart.
"""

import json
import threading
from contextlib import contextmanager

import strict_json
from errors import ProtocolError, invalid_request
from sessions import LIMITS

# A record is kept for the negotiated window, which starts when the request first arrives, and an hour more: a consumer
# whose clock differs a little shall not lose the last moments of it.
RETENTION_MS = LIMITS["idempotency_window_seconds"] * 1000 + 3_600_000


class Executions:
    def __init__(self, store, clock, provider_id):
        self._store = store
        self._clock = clock
        self._provider_id = provider_id

    def find(self, request):
        """The record of this request_id, or None; INVALID_REQUEST where it stands for other content."""
        key = (request.identity.uid, self._provider_id, request.request_id)
        row = self._store.row(
            "SELECT * FROM executions WHERE uid = ? AND provider_id = ? AND request_id = ?", *key
        )
        if row is None or self.is_expired(row):
            return None
        if (row["tool"], row["args_sha256"]) != (request.tool_name, request.args_sha256):
            raise invalid_request("This request_id has been used for another call.")
        return row

    def of_operation(self, operation_id):
        row = self._store.row("SELECT * FROM executions WHERE operation_id = ?", operation_id)
        return None if row is None or self.is_expired(row) else row

    def is_expired(self, row):
        """Never while an operation goes on: what has not ended yet cannot be forgotten."""
        unfinished = row["operation_id"] is not None and row["value"] is None and row["error"] is None
        return not unfinished and row["retained_until_ms"] <= self._clock.now_ms()

    def reserve(self, tx, request, operation_id=None):
        """From here on the request_id stands for this tool and these arguments."""
        key = (request.identity.uid, self._provider_id, request.request_id)
        now = self._clock.now_ms()
        tx.execute(
            "DELETE FROM executions WHERE uid = ? AND provider_id = ? AND request_id = ? AND retained_until_ms <= ?",
            (*key, now),
        )
        # There is a record already where the user was asked first; the window goes on from its arrival.
        tx.execute(
            "INSERT INTO executions (uid, provider_id, request_id, tool, args_sha256, retained_until_ms, operation_id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET operation_id = excluded.operation_id",
            (*key, request.tool_name, request.args_sha256, now + RETENTION_MS, operation_id),
        )

    def finish(self, tx, uid, request_id, tool, decision, *, value=None, error=None):
        """Store the terminal result, once and for all, and the audit event with it."""
        tx.execute(
            "UPDATE executions SET value = ?, error = ?, retained_until_ms = max(retained_until_ms, ?)"
            " WHERE uid = ? AND provider_id = ? AND request_id = ? AND value IS NULL AND error IS NULL",
            (
                value,
                None if error is None else strict_json.dumps(error.to_json()),
                self._clock.now_ms() + RETENTION_MS,
                uid,
                self._provider_id,
                request_id,
            ),
        )
        self._store.audit(uid, tool, request_id, decision, "success" if error is None else error.code, tx)

    @staticmethod
    def forget_expired(tx, now_ms):
        tx.execute(
            "DELETE FROM executions WHERE retained_until_ms <= ?"
            " AND (operation_id IS NULL OR value IS NOT NULL OR error IS NOT NULL)",
            (now_ms,),
        )


def stored_error(row):
    return ProtocolError.from_json(json.loads(row["error"]))


class KeyedLocks:
    """A lock for each key in use: of identical requests at the same time one executes, and the others wait for it."""

    def __init__(self):
        self._guard = threading.Lock()
        self._locks = {}

    @contextmanager
    def hold(self, key):
        with self._guard:
            entry = self._locks.setdefault(key, [threading.Lock(), 0])
            entry[1] += 1
        try:
            with entry[0]:
                yield
        finally:
            with self._guard:
                entry[1] -= 1
                if entry[1] == 0:
                    del self._locks[key]
