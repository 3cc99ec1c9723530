"""execute_tool (sections 3.4, 4.1 to 4.3, 6, 7.2).

The order of the checks is the order of what may be known: first whether the caller may see the tool at all, then
whether it may use it, then whether this request has been answered before, and only then anything that could lead to an
effect.  A repeat of a finished execution is therefore answered whatever its deadline, but not to a caller that has lost
its scope.
"""

import hashlib
from typing import NamedTuple

import envelope
from confirmations import ACTION, AUTHORIZATION, user_cancelled
from deduplication import KeyedLocks, stored_error
from errors import ProtocolError, invalid_request
from identity import Identity
from sessions import LIMITS, Session
from tool_code import apply_effect, contained, parse_arguments, read_value


class ExecuteRequest(NamedTuple):
    identity: Identity
    session: Session
    request_id: str
    deadline_at_ms: int
    tool_name: str
    args: str
    args_sha256: str
    resume_token: str


def parse_request(identity, session, extras):
    request_id = envelope.request_id(extras)
    deadline_at_ms = envelope.deadline(extras)
    tool_name = extras.required("tool_name", "string")
    args = extras.required("args", "string")
    resume_token = extras.typed("resume_token", "string")
    encoded = args.encode("utf-8")
    if len(encoded) > LIMITS["max_request_bytes"]:  # bytes, not characters (section 4.1)
        raise invalid_request("args is longer than max_request_bytes.")
    digest = hashlib.sha256(encoded).hexdigest()
    return ExecuteRequest(identity, session, request_id, deadline_at_ms, tool_name, args, digest, resume_token)


# How the audit trail calls a refusal (section 7.2); whatever else ends in an error had been granted.
_DECISIONS = {
    "AUTH_REQUIRED": "authorization_required",
    "USER_ACTION_REQUIRED": "confirmation_required",
    "USER_CANCELLED": "user_denied",
    "PERMISSION_DENIED": "denied",
    **dict.fromkeys(("TOOL_NOT_FOUND", "INVALID_ARGS", "INVALID_REQUEST", "DEADLINE_EXCEEDED"), "refused"),
}


class Executor:
    """Executes tools.  `milestone(name, tool)` is told when a mutation is reserved and when it has been committed."""

    def __init__(self, store, clock, authorization, confirmations, executions, operations, results):
        self._store = store
        self._clock = clock
        self._authorization = authorization
        self._confirmations = confirmations
        self._executions = executions
        self._operations = operations
        self._results = results
        self._locks = KeyedLocks()
        self.milestone = lambda name, tool: None

    def execute(self, request, catalogue):
        """The reply Bundle; raises ProtocolError for every refusal."""
        tool = catalogue.visible_tool(request.tool_name)
        try:
            if tool is None:  # the same for a tool that is hidden and one that never was (section 5)
                raise ProtocolError("TOOL_NOT_FOUND", "There is no such tool.")
            return self._execute(request, tool, catalogue)
        except ProtocolError as error:
            # An unknown name is text of the caller's choice, which has no place in an audit trail.
            self._audit(request, tool, _DECISIONS.get(error.code, "granted"), error.code)
            raise

    def _execute(self, request, tool, catalogue):
        confirmation = None
        if request.resume_token is not None:
            confirmation = self._confirmations.presented(request)
            if confirmation["decision"] == "denied":
                raise user_cancelled()
        self._authorize(request, tool, catalogue)
        if tool.is_read:
            return self._read(request, tool, confirmation)
        with self._locks.hold((request.identity.uid, request.request_id)):
            return self._write(request, tool, confirmation)

    def _authorize(self, request, tool, catalogue):
        """Every scope, at every call (7.2); with one missing there is no reduced result but a refusal (3.4)."""
        missing = self._authorization.missing(request.identity, tool.scopes)
        if missing:
            if not request.identity.packages:
                raise ProtocolError("PERMISSION_DENIED", "This caller cannot be identified.")
            texts = [
                f"Allow access for: {self._requester(request)}",
                *(catalogue.scope_titles[scope] for scope in missing),
            ]
            self._confirmations.require(request, AUTHORIZATION, missing, texts)

    @staticmethod
    def _requester(request):
        """All packages of the UID (7.1): a shared UID shows every app that the decision is about."""
        return ", ".join(package.name for package in request.identity.packages)

    def _read(self, request, tool, confirmation):
        envelope.check_deadline(request.deadline_at_ms, self._clock.now_ms())
        value = read_value(tool, parse_arguments(tool, request.args), self._store)
        data, extra = self._results.deliver(value, request.session)
        if confirmation is not None and not confirmation["spent"]:
            with self._store.transaction() as tx:
                self._confirmations.spend(tx, confirmation)
        self._audit(request, tool, "granted", "success")
        return envelope.success(request.request_id, data, extra=extra)

    def _write(self, request, tool, confirmation):
        record = self._executions.find(request)
        if record is not None:
            repeated = self._repeat(request, tool, record)
            if repeated is not None:
                return repeated

        envelope.check_deadline(request.deadline_at_ms, self._clock.now_ms())
        args = parse_arguments(tool, request.args)
        contained(tool, lambda: tool.behaviour.check(args), retryable=False)
        # The stricter of the declaration and what this very call would do (section 3.4).
        if tool.always_confirm or tool.behaviour.needs_user(args):
            self._confirmations.require(request, ACTION, [], self._question(request, tool, args))

        if tool.is_async and "async_operations" in request.session.capabilities:
            return self._start(request, tool, args, confirmation)
        return self._run(request, tool, args, confirmation)

    def _question(self, request, tool, args):
        """What, for whom, on what, and what cannot be undone (section 7.2)."""
        consequence = "This cannot be undone." if tool.irreversible else "This changes data in this app."
        return [tool.title, f"Asked for by: {self._requester(request)}", *tool.behaviour.describe(args), consequence]

    def _repeat(self, request, tool, record):
        """The answer to a request that has a record, or None where it still waits for the user."""
        if record["value"] is not None:
            data, extra = self._results.deliver(record["value"], request.session)
            self._audit(request, tool, "repeat", "success")
            return envelope.success(request.request_id, data, extra=extra)
        if record["error"] is not None:
            error = stored_error(record)
            self._audit(request, tool, "repeat", error.code)
            return envelope.failure(request.request_id, error)
        if record["operation_id"] is not None:
            if "async_operations" not in request.session.capabilities:
                # This session may neither be told "accepted" (2.3) nor start a second execution (6).
                raise ProtocolError(
                    "UNAVAILABLE", "The result is not there yet.", retry_after_ms=self._operations.POLL_AFTER_MS
                )
            self._audit(request, tool, "repeat", "accepted")
            return self._operations.accepted(request.request_id, record["operation_id"])
        return None

    def _run(self, request, tool, args, confirmation):
        """Reservation, effect, result, spent token and audit event: one transaction (section 10)."""
        decision = "granted" if confirmation is None else "user_approved"
        with self._store.transaction() as tx:
            self._executions.reserve(tx, request)
            if confirmation is not None:
                self._confirmations.spend(tx, confirmation)
            self.milestone("after_reserve", tool.name)
            # Once more at the last moment: whoever waited for a lock or for the user may have waited too long (4.1).
            envelope.check_deadline(request.deadline_at_ms, self._clock.now_ms())
            value, error = apply_effect(tx, tool, args, request.request_id)
            self._executions.finish(
                tx, request.identity.uid, request.request_id, tool.name, decision, value=value, error=error
            )
        self.milestone("after_commit", tool.name)
        if error is not None:
            return envelope.failure(request.request_id, error)
        data, extra = self._results.deliver(value, request.session)
        return envelope.success(request.request_id, data, extra=extra)

    def _start(self, request, tool, args, confirmation):
        """The operation is durable before anyone hears of it; from there it goes on by itself, over restarts too."""
        with self._store.transaction() as tx:
            operation_id = self._operations.create(tx, request, held=tool.behaviour.held(args))
            self._executions.reserve(tx, request, operation_id)
            if confirmation is not None:
                self._confirmations.spend(tx, confirmation)
            self._store.audit(request.identity.uid, tool.name, request.request_id, "granted", "accepted", tx)
        self.milestone("after_reserve", tool.name)
        self._operations.start(operation_id)
        self._operations.wait(operation_id)
        return self._operations.accepted(request.request_id, operation_id)

    def _audit(self, request, tool, decision, result):
        name = "unknown" if tool is None else tool.name
        self._store.audit(request.identity.uid, name, request.request_id, decision, result)
