"""The v2 envelope: what goes into every request, and what a reply may look like (sections 4.1, 4.2, 5).

`read_reply` turns a reply into one of four classes. Code that uses them cannot mistake an unknown
outcome for a failure, nor a malformed Bundle for either: `Lost` may only be repeated with the same
request_id, `Failure.retryable` is true only for a well-formed error that says so and may say so.
"""

import uuid

import bundles
import limits
import strictjson
from host import Reply

# The table of section 5.
ERROR_CODES = frozenset((
    "UNSUPPORTED_VERSION", "UNSUPPORTED_CAPABILITY", "NEGOTIATION_REQUIRED", "AUTH_REQUIRED",
    "USER_ACTION_REQUIRED", "USER_CANCELLED", "PERMISSION_DENIED", "TOOL_NOT_FOUND", "METHOD_NOT_FOUND",
    "INVALID_ARGS", "INVALID_REQUEST", "CONFLICT", "RATE_LIMITED", "DEADLINE_EXCEEDED", "CANCELLED",
    "RESULT_TOO_LARGE", "RESULT_EXPIRED", "UNAVAILABLE", "INTERNAL_ERROR",
))
# Codes for which waiting can help. Authorization, confirmation and argument errors are not among them,
# whatever `retryable` claims: they need a user or other input (section 5, last paragraph).
WORTH_RETRYING = frozenset((
    "RATE_LIMITED", "UNAVAILABLE", "INTERNAL_ERROR", "CONFLICT", "DEADLINE_EXCEEDED",
))
NEGOTIATION_REQUIRED = "NEGOTIATION_REQUIRED"
UNKNOWN_ERROR = "UNKNOWN_ERROR"          # shown for a code that is not in the table


class Lost:
    """No answer: the provider may or may not have done its work (section 6)."""

    def __init__(self, detail):
        self.detail = detail


class Malformed:
    """An answer that breaks the envelope; final."""

    def __init__(self, detail):
        self.detail = detail


class Failure:
    """status=error. `retry_after_ms` is None when the provider gave none."""

    def __init__(self, code, message, retryable, retry_after_ms):
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retry_after_ms = retry_after_ms

    def session_is_gone(self):
        return self.code == NEGOTIATION_REQUIRED and self.retryable

    def is_worth_retrying(self):
        return self.code in WORTH_RETRYING and self.retryable

    def wait_ms(self, attempt):
        """How long to wait before repetition number `attempt`; None: longer than this consumer waits.
        Never less than retry_after_ms (section 5); a negative one is no wait at all."""
        asked = max(self.retry_after_ms or 0, 0)
        if asked > limits.MAX_RETRY_WAIT_MS:
            return None
        return max(asked, backoff_ms(attempt))


class Answer:
    """status=success or accepted, with the parsed `data` object."""

    def __init__(self, status, data):
        self.status = status
        self.data = data


def backoff_ms(attempt):
    return limits.BACKOFF_MS * 2**attempt


def new_request_id():
    return str(uuid.uuid4())


def deadline_at_ms(now, timeout_ms):
    return min(now + timeout_ms, bundles.LONG_MAX)


def usable_timeout_ms(timeout_ms):
    if not isinstance(timeout_ms, (int, float)) or isinstance(timeout_ms, bool) or not timeout_ms >= 1:
        return limits.DEFAULT_TIMEOUT_MS
    return int(min(timeout_ms, limits.MAX_TIMEOUT_MS))


def request_extras(session_token, request_id, deadline, more):
    """Section 4.1: the four fields of every v2 call except negotiate, in their Android types."""
    return {
        "protocol_version": bundles.int32(2),
        "session_token": bundles.string(session_token),
        "request_id": bundles.string(request_id),
        "deadline_at_ms": bundles.int64(deadline),
        **more,
    }


def utf8_length(text):
    """Bytes in UTF-8; None for a text that is not valid Unicode."""
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError:
        return None


def opaque_text(value, max_bytes):
    """A token or id that can be sent back: a non-empty, valid, bounded String; else None."""
    if not isinstance(value, str) or not value or len(value) > max_bytes:
        return None
    length = utf8_length(value)
    return value if length is not None and length <= max_bytes else None


def read_reply(reply, request_id=None, echo_required=False):
    """Classify a reply. execute_tool replies must echo version and request_id (4.2); elsewhere an echo
    may be missing but must not contradict. `request_id=None` (negotiate): no echo is looked at."""
    if reply.kind == Reply.LOST:
        return Lost(reply.detail)
    if reply.kind == Reply.EXCEPTION:
        return Malformed(reply.detail)
    bundle = reply.bundle
    echoes = request_id is None or _echoes(bundle, request_id, echo_required)
    status = bundle.string("status")
    if status == "error":
        return read_failure(bundle, echoes)
    if not echoes:
        return Malformed("the reply is not for this request")
    if status not in ("success", "accepted"):
        return Malformed("unknown status")
    try:
        data = strictjson.parse(bundle.string("data"), limits.MAX_INLINE_BYTES)
    except strictjson.JsonRefused as refusal:
        return Malformed(f"data: {refusal}")
    if not isinstance(data, dict):
        return Malformed("data is no object")
    return Answer(status, data)


def _echoes(bundle, request_id, required):
    if bundle.has("protocol_version") or required:
        if bundle.int32("protocol_version") != 2:
            return False
    if bundle.has("request_id") or required:
        return bundle.string("request_id") == request_id
    return True


def read_failure(bundle, echoes):
    """Section 5. Whatever is missing or mistyped makes the failure final; the text stays data."""
    code = bundle.string("error_code")
    message = bundle.string("error_message")
    retryable = bundle.boolean("retryable")
    retry_after_ms = None
    well_formed = echoes and code is not None and message is not None and retryable is not None
    if bundle.has("retry_after_ms"):
        retry_after_ms = bundle.int64("retry_after_ms")
        if retry_after_ms is None:
            # An Int is not what the text says, but what it asks for is clear.
            retry_after_ms = bundle.int32("retry_after_ms")
        well_formed = well_formed and retry_after_ms is not None
    return make_failure(code, message, retryable, retry_after_ms, well_formed)


def make_failure(code, message, retryable, retry_after_ms, well_formed):
    if not isinstance(message, str):
        message = ""
    if not isinstance(code, str):
        return MalformedFailure(UNKNOWN_ERROR, message)
    if not well_formed:
        return MalformedFailure(code if code in ERROR_CODES else UNKNOWN_ERROR, message)
    if code not in ERROR_CODES:
        return Failure(UNKNOWN_ERROR, f"{code[:64]}: {message}", False, None)
    return Failure(code, message, retryable, retry_after_ms)


class MalformedFailure(Failure):
    """status=error in a Bundle that breaks section 5: final, and no confirmation is started from it."""

    def __init__(self, code, message):
        super().__init__(code, message, False, None)
