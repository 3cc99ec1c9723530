"""The envelope of a call: what every request carries (section 4.1) and what every reply looks like (4.2, 5)."""

import re

import strict_json
import values
from errors import ProtocolError, invalid_request

PROTOCOL_VERSION = 2
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Extras:
    """The extras of a call, read by exact Bundle type.  A key that holds null is a key that is missing."""

    def __init__(self, bundle):
        self._bundle = bundle or {}

    def get(self, key):
        value = self._bundle.get(key)
        return None if value is None or value.type == "null" else value

    def typed(self, key, type_name):
        """None when it is missing; INVALID_REQUEST when it has another type (Int is not Long)."""
        value = self.get(key)
        if value is None:
            return None
        if value.type != type_name:
            raise invalid_request(f"{key} has the wrong type.")
        if type_name == "string" and _LONE_SURROGATE.search(value.value):
            raise invalid_request(f"{key} is not valid Unicode.")  # so it has no UTF-8 form to measure, digest or store
        return value.value

    def required(self, key, type_name):
        value = self.typed(key, type_name)
        if value is None:
            raise invalid_request(f"{key} is missing.")
        return value

    def echo(self):
        """The request_id to echo: whatever String was sent, well-formed or not (section 5)."""
        value = self.get("request_id")
        return value.value if value is not None and value.type == "string" else None


def is_uuid(text):
    return _UUID.fullmatch(text) is not None


def request_id(extras, required=True):
    value = extras.required("request_id", "string") if required else extras.typed("request_id", "string")
    if value is not None and not is_uuid(value):
        raise invalid_request("request_id is not a UUID.")
    return value


def deadline(extras, required=True):
    return extras.required("deadline_at_ms", "long") if required else extras.typed("deadline_at_ms", "long")


def check_deadline(deadline_at_ms, now_ms):
    if deadline_at_ms is not None and now_ms > deadline_at_ms:
        raise ProtocolError("DEADLINE_EXCEEDED", "The deadline of this request has passed.")


def parse_json(text, what):
    try:
        return strict_json.loads(text)
    except strict_json.JsonError:
        raise invalid_request(f"{what} is not valid JSON.") from None


# --- replies ----------------------------------------------------------------------------------------------------------


def _head(status, echo):
    bundle = {"status": values.string(status), "protocol_version": values.int32(PROTOCOL_VERSION)}
    if echo is not None:
        bundle["request_id"] = values.string(echo)
    return bundle


def success(echo, data, *, status="success", extra=None):
    """`data` is JSON text already: a result is serialised once, measured, and sent as it was measured (section 4.5)."""
    bundle = _head(status, echo)
    bundle["data"] = values.string(data)
    bundle.update(extra or {})
    return bundle


def failure(echo, error):
    bundle = _head("error", echo)
    bundle["error_code"] = values.string(error.code)
    bundle["error_message"] = values.string(error.message)
    bundle["retryable"] = values.boolean(error.retryable)
    if error.details is not None:
        bundle["error_details"] = values.string(strict_json.dumps(error.details))
    if error.retry_after_ms is not None:
        bundle["retry_after_ms"] = values.int64(error.retry_after_ms)
    bundle.update(error.bundle)
    return bundle
