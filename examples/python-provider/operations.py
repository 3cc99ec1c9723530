"""Background executions: get_operation and cancel_operation (section 4.4).

    queued -> running -> succeeded | failed | cancelled

Every step is one transaction that looks at the state first, so that completion, cancellation and a crash cannot cross:
whichever comes first decides, and a terminal state never changes.  The effect and its result are stored together
(`committed_value`); what is committed can only succeed, and what is cancelled has no effect and never will have.
"""

import secrets
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import envelope
import strict_json
from deduplication import stored_error
from errors import ProtocolError, invalid_request
from tool_code import apply_effect

TERMINAL = ("succeeded", "failed", "cancelled")
# A row is kept this long after its result has gone, so that the answer is RESULT_EXPIRED and not "no such operation".
TOMBSTONE_MS = 366 * 86_400_000


class Operations:
    POLL_AFTER_MS = 200
    # How long an answer waits, in real time, for an operation that may end at once: it saves a poll or two.
    PATIENCE_SECONDS = 0.1

    def __init__(self, store, clock, authorization, executions, results, catalogue):
        self._store = store
        self._clock = clock
        self._authorization = authorization
        self._executions = executions
        self._results = results
        self._catalogue = catalogue
        self._ended = threading.Condition()
        self._pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="operation")
        self.milestone = lambda name, tool: None

    # --- the life of an operation ---------------------------------------------------------------------------------

    def create(self, tx, request, held):
        operation_id = f"op_{secrets.token_hex(16)}"
        tx.execute(
            "INSERT INTO operations (operation_id, uid, request_id, tool, args, state, held, created_ms)"
            " VALUES (?, ?, ?, ?, ?, 'queued', ?, ?)",
            (
                operation_id,
                request.identity.uid,
                request.request_id,
                request.tool_name,
                request.args,
                held,
                self._clock.now_ms(),
            ),
        )
        return operation_id

    def start(self, operation_id):
        row = self._row(operation_id)
        if row is not None and not row["held"]:
            self._pool.submit(self._run, operation_id)

    def wait(self, operation_id):
        """Give an operation the chance to end before the answer goes out; one that is held waits for others."""
        row = self._row(operation_id)
        if row is not None and not row["held"]:
            with self._ended:
                self._ended.wait_for(lambda: self._has_ended(operation_id), self.PATIENCE_SECONDS)

    def _has_ended(self, operation_id):
        row = self._row(operation_id)
        return row is None or row["state"] in TERMINAL

    def resume(self):
        """After a restart: what was committed has succeeded, and what was under way goes on from its reservation."""
        for row in self._store.rows("SELECT * FROM operations WHERE state IN ('queued', 'running')"):
            if row["committed_value"] is not None:
                self.advance(row["operation_id"], end=True)
            else:
                self.start(row["operation_id"])

    def _run(self, operation_id):
        self.mark_running(operation_id)
        self.advance(operation_id, end=True)

    def mark_running(self, operation_id):
        with self._store.transaction() as tx:
            tx.execute(
                "UPDATE operations SET state = 'running' WHERE operation_id = ? AND state = 'queued'", (operation_id,)
            )

    def advance(self, operation_id, end):
        """Apply the effect if that has not happened, and with `end` succeed.  Nothing happens to an ended operation."""
        try:
            tool = self._advance(operation_id, end)
        except Exception as error:
            # The transaction is undone.  There is nobody left to retry it, so it is a definite failure.
            print(f"operation: {type(error).__name__}", file=sys.stderr)
            self.fail(operation_id, ProtocolError("INTERNAL_ERROR", "The tool failed."))
            return
        if tool is not None:
            self.milestone("after_commit", tool)

    def _advance(self, operation_id, end):
        """The name of the tool whose effect has been committed by this step, if any."""
        with self._store.transaction() as tx:
            row = self._row(operation_id)
            if row is None or row["state"] in TERMINAL:
                return None
            value, error = row["committed_value"], None
            if value is None:
                tool = self._catalogue().tool(row["tool"])
                value, error = apply_effect(tx, tool, strict_json.loads(row["args"]), row["request_id"])
            if end or error is not None:
                self._end(tx, row, value=value, error=error)
            else:
                tx.execute(
                    "UPDATE operations SET state = 'running', committed_value = ? WHERE operation_id = ?",
                    (value, operation_id),
                )
        self._announce()
        return row["tool"] if error is None and row["committed_value"] is None else None

    def fail(self, operation_id, error):
        """Without effect; False where there is one already, or the operation has ended, and nothing happens."""
        with self._store.transaction() as tx:
            row = self._row(operation_id)
            if row is None or row["state"] in TERMINAL or row["committed_value"] is not None:
                return False
            self._end(tx, row, error=error)
        self._announce()
        return True

    def _end(self, tx, row, *, value=None, error=None):
        if error is None:
            state = "succeeded"
        else:
            state = "cancelled" if error.code == "CANCELLED" else "failed"
        tx.execute(
            "UPDATE operations SET state = ?, args = NULL, committed_value = NULL WHERE operation_id = ?",
            (state, row["operation_id"]),
        )
        self._executions.finish(
            tx, row["uid"], row["request_id"], row["tool"], "granted", value=value, error=error
        )

    def _row(self, operation_id):
        return self._store.row("SELECT * FROM operations WHERE operation_id = ?", operation_id)

    def exists(self, operation_id):
        return self._row(operation_id) is not None

    @staticmethod
    def forget_expired(tx, now_ms):
        tx.execute(
            "DELETE FROM operations WHERE created_ms < ? AND state IN ('succeeded', 'failed', 'cancelled')",
            (now_ms - TOMBSTONE_MS,),
        )

    # --- the protocol ---------------------------------------------------------------------------------------------

    def accepted(self, request_id, operation_id):
        data = {"operation_id": operation_id, "poll_after_ms": self.POLL_AFTER_MS}
        return envelope.success(request_id, strict_json.dumps(data), status="accepted")

    def status(self, identity, session, extras):
        """get_operation."""
        operation_id = self._own(identity, extras)["operation_id"]
        self.wait(operation_id)
        row = self._row(operation_id)
        state = {"operation_id": operation_id, "state": row["state"]}
        extra = {}
        if row["state"] not in TERMINAL:
            # For display only (4.4): a consumer may conclude nothing from it.
            steps = 0 if row["committed_value"] is None else 1
            state["progress"] = {"current": steps, "total": 2, "message": "Working"}
            state["poll_after_ms"] = self.POLL_AFTER_MS
            data = strict_json.dumps(state)
        else:
            record = self._executions.of_operation(operation_id)
            if record is None:
                raise ProtocolError("RESULT_EXPIRED", "The result of this operation is no longer kept.")
            if row["state"] == "succeeded":
                head = strict_json.dumps(state)[:-1]
                data, extra = self._results.deliver(
                    record["value"], session, wrap=lambda result: f'{head},"result":{result}}}'
                )
            else:
                if row["state"] == "failed":
                    state["error"] = stored_error(record).to_json()
                data = strict_json.dumps(state)
        return envelope.success(row["request_id"], data, extra=extra)

    def cancel(self, identity, extras):
        """cancel_operation: accepting the request promises nothing; only the state `cancelled` does.

        Before the commit this tool can be stopped at any moment, so the request takes effect at once, in the very
        transaction that makes sure that nothing has been committed.
        """
        row = self._own(identity, extras)
        if not self.fail(row["operation_id"], ProtocolError("CANCELLED", "The operation was cancelled.")):
            raise ProtocolError("CONFLICT", "The operation can no longer be cancelled.")
        data = {"operation_id": row["operation_id"], "state": "cancellation_requested"}
        return envelope.success(row["request_id"], strict_json.dumps(data))

    def _own(self, identity, extras):
        """The caller's operation.

        One that belongs to another UID, one that was created by another request_id and one that never was are all
        answered alike: nobody learns of what is not theirs (4.1, 4.4).
        """
        request_id = envelope.request_id(extras)
        operation_id = extras.required("operation_id", "string")
        row = self._row(operation_id)
        if row is None or (row["uid"], row["request_id"]) != (identity.uid, request_id):
            raise invalid_request("There is no such operation.")
        # The UID alone is not who was authorized (7.1): the result is only for a caller that could ask for it again.
        if self._authorization.missing(identity, self._catalogue().tool(row["tool"]).scopes):
            raise ProtocolError("PERMISSION_DENIED", "This caller may not use the tool of this operation.")
        envelope.check_deadline(envelope.deadline(extras), self._clock.now_ms())
        return row

    def _announce(self):
        with self._ended:
            self._ended.notify_all()
