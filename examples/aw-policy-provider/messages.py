"""Messages of aw-provider/v1alpha1: strict reading, and the shape of requests.

The json module of Python is lenient where the protocol is not: it takes the last of two equal members, NaN, integers of any
size, lone surrogates and a byte order mark. `read` closes each of these doors.
"""

import json
import math
import re

API_VERSION = "aw-provider/v1alpha1"
MESSAGE_BYTES = 1 << 20
DEEPEST_LEVEL = 32

NAME = re.compile(r"[!-~]{1,128}")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
REVISION = re.compile(r"[0-9a-f]{64}")
EFFECTS = {"observe", "block", "ask", "replace_input", "replace_result"}
ADAPTERS = {"qoder", "openclaw", "hermes", "qwenpaw"}
# What may be allowed on an event, once the shape is right.
ADMITTED = {"tool.before": {"observe", "block"}, "tool.after": {"observe", "replace_result"}}
MOST_MS = 2**53 - 1


class Invalid(Exception):
    """What was read is no request. The text is for people, and repeats nothing of the input."""


def read(data):
    """The JSON object in `data`, or Invalid."""
    if len(data) > MESSAGE_BYTES:
        raise Invalid("longer than 1 MiB")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Invalid("not UTF-8") from None
    # json.loads refuses a byte order mark in bytes but not everywhere in the same way; here it is plain.
    if text.startswith("\ufeff"):
        raise Invalid("a byte order mark")
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
        )
    except (ValueError, RecursionError):
        raise Invalid("not one JSON document") from None
    if not isinstance(value, dict):
        raise Invalid("no object")
    _check(value, 0)
    return value


def _object(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Invalid("a member occurs twice")
    return members


def _integer(text):
    # Python limits the digits that it converts; no number near that limit is within the range.
    if len(text) > 20:
        raise Invalid("an integer out of range")
    value = int(text)
    if not -(2**63) <= value < 2**64:
        raise Invalid("an integer out of range")
    return value


def _float(text):
    value = float(text)
    if not math.isfinite(value):
        raise Invalid("a number that is not finite")
    return value


def _constant(text):
    raise Invalid("NaN or Infinity")


def _check(value, level):
    if level > DEEPEST_LEVEL:
        raise Invalid("a value below level 32")
    if isinstance(value, str):
        if any("\ud800" <= c <= "\udfff" for c in value):
            raise Invalid("half of a surrogate pair")
    elif isinstance(value, dict):
        for name, member in value.items():
            _check(name, level)
            _check(member, level + 1)
    elif isinstance(value, list):
        for item in value:
            _check(item, level + 1)


def check_request(request):
    """Checks the shape of a request, at every level that the protocol defines."""
    envelope = ["api_version", "method", "request_id"]
    _need(request.get("api_version") == API_VERSION, "api_version")
    _need(_matches(NAME, request.get("request_id")), "request_id")
    method = request.get("method")
    if method == "describe":
        _members(request, envelope)
    elif method == "validate_config":
        _members(request, [*envelope, "config"])
        _need(isinstance(request["config"], dict), "config")
    elif method == "invoke":
        rest = ["operation", "config", "config_revision", "budget_ms", "allowed_effects", "input_digest", "event"]
        _members(request, envelope + rest)
        _check_invoke(request)
    else:
        raise Invalid("method")


def _check_invoke(request):
    _need(_matches(NAME, request["operation"]), "operation")
    _need(isinstance(request["config"], dict), "config")
    _need(_matches(REVISION, request["config_revision"]), "config_revision")
    budget = request["budget_ms"]
    # 1.0 and 1e3 are integers of JSON Schema; true is not.
    number = isinstance(budget, (int, float)) and not isinstance(budget, bool)
    _need(number and budget == int(budget) and 1 <= budget <= MOST_MS, "budget_ms")
    allowed = request["allowed_effects"]
    _need(isinstance(allowed, list) and 1 <= len(allowed) <= 5, "allowed_effects")
    _need(all(isinstance(effect, str) and effect in EFFECTS for effect in allowed), "allowed_effects")
    _need(len(set(allowed)) == len(allowed), "allowed_effects")
    _need(_matches(DIGEST, request["input_digest"]), "input_digest")
    event = request["event"]
    _members(event, ["name", "agent", "session_id", "tool", "native"])
    _need(isinstance(event["name"], str) and event["name"] in ADMITTED, "event.name")
    _need(set(allowed) <= ADMITTED[event["name"]], "allowed_effects")
    _need(isinstance(event["native"], dict), "event.native")
    _need(_id_or_null(event["session_id"]), "event.session_id")
    agent = event["agent"]
    _members(agent, ["adapter", "binding_id", "instance_id"])
    _need(isinstance(agent["adapter"], str) and agent["adapter"] in ADAPTERS, "event.agent.adapter")
    _need(_text(agent["binding_id"], 128), "event.agent.binding_id")
    _need(_id_or_null(agent["instance_id"]), "event.agent.instance_id")
    tool = event["tool"]
    _members(tool, ["name", "native_name", "call_id", "input", "result"], ["result_projection"])
    _need(_text(tool["name"], 1024) and _text(tool["native_name"], 1024), "event.tool.name")
    _need(_id_or_null(tool["call_id"]), "event.tool.call_id")
    before = event["name"] == "tool.before"
    _need(not before or tool["result"] is None, "event.tool.result")
    if "result_projection" in tool:
        projection = tool["result_projection"]
        _need(not before and isinstance(projection, dict), "event.tool.result_projection")
        _need(isinstance(projection.get("text"), str), "event.tool.result_projection.text")


def _need(holds, what):
    if not holds:
        raise Invalid(what)


def _members(value, required, optional=()):
    _need(isinstance(value, dict), "an object is missing")
    _need(all(name in value for name in required), "a member is missing")
    _need(all(name in required or name in optional for name in value), "a member is unknown")


def _matches(pattern, value):
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _text(value, most):
    return isinstance(value, str) and 1 <= len(value) <= most


def _id_or_null(value):
    return value is None or _text(value, 512)
