"""The ContentProvider: `call()` and everything behind it, put together.

This is the whole of the protocol on the provider's side.  It knows nothing of test controls: what it takes from outside
are a store, a clock, and the catalogue of the moment.
"""

import sys

import envelope
from confirmations import VALID_MS as RESUME_TTL_MS
from confirmations import Confirmations
from deduplication import RETENTION_MS, Executions
from envelope import Extras
from errors import ProtocolError, invalid_request
from execution import Executor, parse_request
from identity import Authorization
from legacy_v1 import LegacyV1
from operations import Operations
from results import Descriptors, Results
from sessions import Sessions

__all__ = ["ContentProvider", "RESUME_TTL_MS", "RETENTION_MS"]

_HOUSEKEEPING_EVERY_MS = 3_600_000
_CAPABILITY_OF = {"get_operation": "async_operations", "cancel_operation": "cancellation"}


class ContentProvider:
    def __init__(self, *, store, clock, catalogue, versions, package, uid, authority, default_scopes, directory):
        self._store = store
        self._clock = clock
        self._versions = versions
        self._authority = authority
        self._last_housekeeping_ms = 0
        self.catalogue = catalogue
        self.authorization = Authorization(store, clock, default_scopes)
        self.sessions = Sessions(clock, versions)
        self.descriptors = Descriptors(directory)
        self._results = Results(self.descriptors)
        self._executions = Executions(store, clock, catalogue.provider_id)
        self.confirmations = Confirmations(store, clock, self.authorization, self._executions, package, uid)
        self.operations = Operations(
            store, clock, self.authorization, self._executions, self._results, lambda: self.catalogue
        )
        self.executor = Executor(
            store, clock, self.authorization, self.confirmations, self._executions, self.operations, self._results
        )
        self._v1 = LegacyV1(store, self.authorization)
        self._methods = {
            "get_provider_info": self._get_provider_info,
            "list_tools": self._list_tools,
            "execute_tool": self._execute_tool,
            "get_operation": self._get_operation,
            "cancel_operation": self._cancel_operation,
        }

    def serves(self, authority):
        return authority == self._authority

    def call(self, identity, method, extras):
        """One `ContentResolver.call`: always a Bundle.  An exception that crossed the Binder would be a defect (5).

        `identity` is what the platform said about the calling UID when the call came in (section 7.1).
        """
        extras = Extras(extras)
        echo = extras.echo()
        try:
            self.authorization.admit(identity)
            if method != "negotiate" and self._is_v1(extras):
                return self._v1.call(identity, method, extras, self.catalogue)
            return self._call_v2(identity, method, extras, echo)
        except ProtocolError as error:
            return envelope.failure(echo, error)
        except Exception as error:
            # The type of what went wrong helps whoever reads the log; its text could hold anything (section 5).
            print(f"call: {type(error).__name__}", file=sys.stderr)
            return envelope.failure(echo, ProtocolError("INTERNAL_ERROR", "The call failed."))

    def _is_v1(self, extras):
        """Whether the request is v1 (section 4: without protocol_version, at a provider of both versions).

        Any other value or type is an error; no request is silently read as another version (2.2).
        """
        value = extras.get("protocol_version")
        if value is None:
            if 1 in self._versions:
                return True
            raise invalid_request("protocol_version is missing.")
        if value.type != "int":
            raise invalid_request("protocol_version has the wrong type.")
        if value.value not in self._versions:
            raise ProtocolError("UNSUPPORTED_VERSION", "This protocol version is not supported.")
        return value.value == 1

    def _call_v2(self, identity, method, extras, echo):
        if method == "negotiate":
            self._housekeeping()
            return envelope.success(echo, self.sessions.negotiate(identity.uid, extras, self.catalogue))
        handle = self._methods.get(method)
        if handle is None:
            raise ProtocolError("METHOD_NOT_FOUND", "There is no such method.")
        session = self.sessions.find(identity.uid, extras)
        capability = _CAPABILITY_OF.get(method)
        if capability is not None and capability not in session.capabilities:
            raise ProtocolError("UNSUPPORTED_CAPABILITY", "This session has not negotiated the capability.")
        return handle(identity, session, extras)

    def _get_provider_info(self, identity, session, extras):
        return self._described(extras, self.catalogue.info)

    def _list_tools(self, identity, session, extras):
        return self._described(extras, self.catalogue.listing(session))

    def _described(self, extras, data):
        # Section 4.1 has every request carry these two, while the table of list_tools (3.3) names neither.  What is
        # sent has to be well-formed; what is left out does no harm here, for nothing is executed.
        request_id = envelope.request_id(extras, required=False)
        envelope.check_deadline(envelope.deadline(extras, required=False), self._clock.now_ms())
        return envelope.success(request_id, data)

    def _execute_tool(self, identity, session, extras):
        return self.executor.execute(parse_request(identity, session, extras), self.catalogue)

    def _get_operation(self, identity, session, extras):
        return self.operations.status(identity, session, extras)

    def _cancel_operation(self, identity, session, extras):
        return self.operations.cancel(identity, extras)

    def _housekeeping(self):
        """Forget what no promise covers any longer."""
        now = self._clock.now_ms()
        if now - self._last_housekeeping_ms < _HOUSEKEEPING_EVERY_MS:
            return
        self._last_housekeeping_ms = now
        with self._store.transaction() as tx:
            Executions.forget_expired(tx, now)
            Operations.forget_expired(tx, now)
            Confirmations.forget_expired(tx, now - RETENTION_MS)

    # --- the rest of an Android provider, for whoever hosts this one ------------------------------------------------

    def start(self):
        """Take up what an earlier process left unfinished (section 4.4)."""
        self.operations.resume()

    def replace_catalogue(self, catalogue):
        """Another version of the tools.  A session keeps its capabilities for its whole life, or ends (section 2.3)."""
        changed = catalogue.capabilities != self.catalogue.capabilities
        self.catalogue = catalogue
        if changed:
            self.sessions.end_all()

    def forget_volatile_state(self):
        self.sessions.end_all()
        self.descriptors.close_all()
        self.authorization.forget()
        self._last_housekeeping_ms = 0

    def when_reached(self, milestone):
        """Have `milestone(name, tool)` called when a mutation is reserved and when its effect is committed."""
        self.executor.milestone = self.operations.milestone = milestone
