"""What a test can do to the provider besides calling it: move its clock, be its user, crash it, look inside.

None of this is part of the protocol, and the protocol's modules know nothing of it.  The clock, grants, pending
confirmations and reconfigurations survive a restart, so what is set here is kept in the store; a crash that has been
ordered and has not happened is forgotten with the process.
"""

import json
import os
import signal
import time

import fixture_tools
import identity
from errors import ProtocolError
from jsonrpc import CANNOT_ACT_NOW, INVALID_PARAMS, RpcError

CONTROLS = (
    "clock",
    "restart",
    "user_decision",
    "caller_identity",
    "scopes",
    "operations",
    "faults",
    "reconfigure",
    "audit",
    "ui",
    "fds",
)


class VirtualClock:
    """A clock that stands still until it is moved."""

    LATEST = 2**63 - 1  # a Long

    def __init__(self, store):
        self._store = store
        self.set(int(store.setting("now_ms") or time.time() * 1000))

    def now_ms(self):
        return self._now_ms

    def set(self, now_ms):
        self._now_ms = min(now_ms, self.LATEST)
        self._store.set_setting("now_ms", self._now_ms)


class CrashPoints:
    """Ends the process as a crash would, at the next execution of a tool that gets to the point."""

    def __init__(self):
        self._armed = set()

    def arm(self, at, tool):
        self._armed.add((at, tool))

    def clear(self):
        self._armed.clear()

    def reached(self, at, tool):
        if (at, tool) in self._armed:
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()


def stored_changes(store):
    return tuple(json.loads(store.setting("changes") or "[]"))


class Controls:
    def __init__(self, store, clock, provider):
        self._store = store
        self._clock = clock
        self._provider = provider
        self._crash_points = CrashPoints()
        provider.when_reached(self._crash_points.reached)
        self.verbs = {
            "target.reset": self._reset,
            "control.clock": self._advance_clock,
            "control.user": self._decide,
            "control.scopes": self._change_scopes,
            "control.operation": self._move_operation,
            "control.fault": self._order_crash,
            "control.reconfigure": self._reconfigure,
            "observe.audit": self._audit,
            "observe.ui": self._texts,
            "observe.fds": self._open_descriptors,
        }

    def _reset(self, params):
        params.text("nonce", required=False)
        now_ms = params.integer("now_ms", 0)
        self._crash_points.clear()
        self._store.clear()
        self._provider.replace_catalogue(fixture_tools.catalogue())
        self._provider.forget_volatile_state()
        self._clock.set(now_ms)
        return {"now_ms": self._clock.now_ms()}

    def _advance_clock(self, params):
        self._clock.set(self._clock.now_ms() + params.integer("advance_ms", 0))
        return {}

    def _decide(self, params):
        decision = params.text("decision", choices=("approve", "deny", "dismiss"))
        # Whoever closes the screen without deciding has not agreed; section 5 counts that as USER_CANCELLED.
        if not self._provider.confirmations.decide(params.text("pending_intent"), decision == "approve"):
            raise RpcError(CANNOT_ACT_NOW, "there is no such pending_intent")
        return {"activity_finished": True}

    def _change_scopes(self, params):
        caller = identity.decode_caller(params.object("caller"))
        grant, revoke = params.texts("grant"), params.texts("revoke")
        expires_at_ms = params.integer("expires_at_ms", 0, required=False)
        known = {scope["name"] for scope in self._provider.catalogue.scopes}
        if not known.issuperset(grant + revoke):
            raise RpcError(INVALID_PARAMS, "there is no such scope")
        with self._store.transaction() as tx:
            self._provider.authorization.grant(tx, caller.uid, caller.key, grant, expires_at_ms)
            self._provider.authorization.withdraw(tx, caller.uid, caller.key, revoke)
        return {}

    def _move_operation(self, params):
        operation_id = params.text("operation_id")
        to = params.text("to", choices=("running", "commit", "succeed", "fail"))
        operations = self._provider.operations
        if not operations.exists(operation_id):
            raise RpcError(CANNOT_ACT_NOW, "there is no such operation")
        if to == "running":
            operations.mark_running(operation_id)
        elif to == "fail":
            operations.fail(operation_id, ProtocolError("CONFLICT", "The job could not be done."))
        else:
            operations.advance(operation_id, end=to == "succeed")
        return {}

    def _order_crash(self, params):
        at = params.text("at", choices=("after_reserve", "after_commit"))
        tool = self._provider.catalogue.visible_tool(params.text("tool"))
        if tool is None or tool.is_read:
            raise RpcError(CANNOT_ACT_NOW, "that tool never gets to this point")
        self._crash_points.arm(at, tool.name)
        return {}

    def _reconfigure(self, params):
        change = params.text("change", choices=fixture_tools.CHANGES)
        if change == "drop_capability" and not self._provider.catalogue.capabilities:
            raise RpcError(CANNOT_ACT_NOW, "there is no capability left")
        changes = (*stored_changes(self._store), change)
        self._store.set_setting("changes", json.dumps(changes))
        self._provider.replace_catalogue(fixture_tools.catalogue(changes))
        return {}

    def _audit(self, params):
        rows = self._store.rows("SELECT caller_uid, tool, request_id, decision, result FROM audit ORDER BY id")
        return {"events": [dict(row) for row in rows]}

    def _texts(self, params):
        texts = self._provider.confirmations.texts(params.text("pending_intent"))
        if texts is None:
            raise RpcError(CANNOT_ACT_NOW, "there is no such pending_intent")
        return {"texts": texts}

    def _open_descriptors(self, params):
        return {"open": self._provider.descriptors.count()}
