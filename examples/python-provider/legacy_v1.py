"""CETP v1 for the old consumers of a dual-stack provider: a read-only bridge (sections 2.1 and 8).

It shows and reaches the reading tools only, and it is no way around anything: visibility, scopes, argument checks and
output checks are those of v2.  What needs the user cannot be had here, for v1 has nothing to resume a call with.
"""

import sys

import envelope
import values
from errors import ProtocolError
from sessions import LIMITS
from tool_code import parse_arguments, read_value

_CODES = ("AUTH_REQUIRED", "PERMISSION_DENIED", "TOOL_NOT_FOUND", "INVALID_ARGS", "RATE_LIMITED", "INTERNAL_ERROR")


class LegacyV1:
    def __init__(self, store, authorization):
        self._store = store
        self._authorization = authorization

    def call(self, identity, method, extras, catalogue):
        """The reply Bundle in the shape of v1: no protocol_version, no request_id, no retryable."""
        try:
            data = self._answer(identity, method, extras, catalogue)
        except ProtocolError as error:
            return _failure(error)
        except Exception as error:
            print(f"v1 {type(error).__name__}", file=sys.stderr)
            return _failure(ProtocolError("INTERNAL_ERROR", "The call failed."))
        return {"status": values.string("success"), "data": values.string(data)}

    def _answer(self, identity, method, extras, catalogue):
        if method == "list_tools":
            return catalogue.listing_v1
        if method == "get_provider_info":
            return catalogue.info_v1
        if method != "execute_tool":
            raise ProtocolError("TOOL_NOT_FOUND", "There is no such method.")
        return self._execute(identity, extras, catalogue)

    def _execute(self, identity, extras, catalogue):
        tool = catalogue.visible_tool(extras.required("tool_name", "string"))
        if tool is None or not tool.is_read:
            raise ProtocolError("TOOL_NOT_FOUND", "There is no such tool.")
        args = extras.required("args", "string")
        if len(args.encode("utf-8")) > LIMITS["max_request_bytes"]:
            raise ProtocolError("INVALID_ARGS", "The arguments are too long.")
        decision = "granted"
        try:
            if self._authorization.missing(identity, tool.scopes):
                decision = "denied"
                raise ProtocolError("PERMISSION_DENIED", "This caller may not use the tool.")
            data = read_value(tool, parse_arguments(tool, args), self._store)
            if len(data.encode("utf-8")) > LIMITS["max_inline_result_bytes"]:
                raise ProtocolError("INTERNAL_ERROR", "The result is too large for this version of the protocol.")
        except ProtocolError as error:
            self._audit(identity, tool, extras, decision, error.code)
            raise
        self._audit(identity, tool, extras, decision, "success")
        return data

    def _audit(self, identity, tool, extras, decision, result):
        # v1 has the request_id for logs only, and in any form; what is no UUID stays out of the log.
        echo = extras.echo()
        request_id = echo if echo is not None and envelope.is_uuid(echo) else ""
        self._store.audit(identity.uid, tool.name, request_id, decision, result)


def _failure(error):
    # A code that v1 does not know is one about the envelope, or an inner matter.
    code = {"INVALID_REQUEST": "INVALID_ARGS"}.get(error.code, error.code)
    return {
        "status": values.string("error"),
        "error_code": values.string(code if code in _CODES else "INTERNAL_ERROR"),
        "error_message": values.string(error.message),
    }
