"""CETP v1, the read-only predecessor, for providers that declare v1 and not v2 (section 8).

There is no negotiate, no session, no envelope and no `retryable`, so nothing is repeated here. An
`authorize_intent` in a v1 error is an action string that anybody may answer to; it is not acted on.
"""

import bundles
import limits
import strictjson
from arguments import check_args
from descriptors import check_tools, check_v1_tool
from envelope import ERROR_CODES, UNKNOWN_ERROR, new_request_id
from host import Reply
from untrusted import OUTCOME_UNKNOWN, Refused, error, quoted, success


class _V1Error(Exception):
    def __init__(self, code, message):
        super().__init__()
        self.code = code
        self.message = message


class _NoReply(Exception):
    pass


def open_v1(provider):
    """The tool list; extras are null, by which a provider of both versions knows the old protocol."""
    try:
        listing = _call(provider, "list_tools", None)
    except _V1Error as failure:
        raise Refused(f"list_tools failed: {failure.code}") from None
    except _NoReply:
        raise Refused("list_tools had no reply") from None
    if not isinstance(listing, dict):
        raise Refused("the tool list is no object")
    provider.tools = check_tools(listing, check_v1_tool)


def execute_v1(provider, tool, job):
    check_args(job.args, tool.input_schema, limits.MAX_ARGS_BYTES)
    extras = {
        "tool_name": bundles.string(tool.name),
        "args": bundles.string(job.args),
        "request_id": bundles.string(new_request_id()),
    }
    try:
        return success(_call(provider, "execute_tool", extras))
    except _V1Error as failure:
        code = failure.code if failure.code in ERROR_CODES else UNKNOWN_ERROR
        return error(code, quoted(provider.provider_id, failure.message))
    except _NoReply:
        return error(OUTCOME_UNKNOWN, "no reply; what the provider did is unknown")


def _call(provider, method, extras):
    with provider.host.call(provider.authority, method, extras) as reply:
        if reply.kind == Reply.LOST:
            raise _NoReply()
        if reply.kind == Reply.EXCEPTION:
            raise Refused(reply.detail)
        bundle = reply.bundle
    status = bundle.string("status")
    if status == "error":
        raise _V1Error(bundle.string("error_code"), bundle.string("error_message") or "")
    if status != "success":
        raise Refused("unknown status")
    try:
        return strictjson.parse(bundle.string("data"), limits.MAX_INLINE_BYTES)
    except strictjson.JsonRefused as refusal:
        raise Refused(f"data: {refusal}") from None
