"""JSON-RPC 2.0 over lines, as the target protocol frames it: one message a line, UTF-8, no batches.

The supervisor reads requests and writes answers; the worker only ever sees the method and params of a request and only
ever hands back a result or an error, so all knowledge of JSON-RPC itself is in this module.
"""

import json

import strict_json

MAX_LINE = 8 * 1024 * 1024
# Messages, and arguments of 64 KiB, can be nested deeper than Python's default of 1,000 calls.  Beyond this they are
# refused; each level of the JSON scanner takes some of the C stack, so the limit goes with the size of that.
RECURSION_LIMIT = 3000
STACK_BYTES = 8 * 1024 * 1024

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CANNOT_ACT_NOW = -32000


class RpcError(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
        self.message = message

    def to_json(self):
        return encode({"code": self.code, "message": self.message})


def encode(value):
    """JSON in UTF-8 on one line.  A lone surrogate, which only a driver's own garbage can hold, is escaped."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("utf-8")


def parse_request(line):
    """One request as an object with id, method and params; RpcError for anything else."""
    try:
        message = strict_json.loads(line.decode("utf-8"))
    except ValueError:  # JsonError and UnicodeDecodeError are both
        raise RpcError(PARSE_ERROR, "the line is not JSON") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, "the line is not a JSON-RPC 2.0 message")
    message.setdefault("params", {})
    if isinstance(message.get("id"), bool) or not isinstance(message.get("id"), (str, int, float)):
        raise RpcError(INVALID_REQUEST, "a request has an id, which is a string or a number")
    if not isinstance(message.get("method"), str) or not isinstance(message["params"], dict):
        raise RpcError(INVALID_REQUEST, "a request has a method, and params are an object")
    return message


def read_line(stream):
    """The next line, b"" at the end of the stream, or None for a line above the limit, which is skipped."""
    line = stream.readline(MAX_LINE + 1)
    if line.endswith(b"\n") or len(line) <= MAX_LINE:
        return line
    while line and not line.endswith(b"\n"):
        line = stream.readline(MAX_LINE)
    return None


class Params:
    """The params of a verb, read strictly; what is missing or mistyped becomes an answer that says so."""

    def __init__(self, members):
        self._members = members

    def get(self, name):
        return self._members.get(name)

    def object(self, name, required=True):
        return self._typed(name, dict, "an object", required)

    def text(self, name, required=True, choices=None):
        value = self._typed(name, str, "a string", required)
        if choices is not None and value is not None and value not in choices:
            raise RpcError(INVALID_PARAMS, f"{name}: one of {', '.join(choices)}")
        return value

    def texts(self, name):
        values = self._members.get(name, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise RpcError(INVALID_PARAMS, f"{name}: an array of strings")
        return values

    def integer(self, name, low, high=2**63 - 1, required=True):
        value = self._members.get(name)
        if value is None and not required:
            return None
        if type(value) is not int or not low <= value <= high:
            raise RpcError(INVALID_PARAMS, f"{name}: an integer from {low} to {high}")
        return value

    def _typed(self, name, kind, description, required):
        value = self._members.get(name)
        if value is None and not required:
            return None
        if not isinstance(value, kind):
            raise RpcError(INVALID_PARAMS, f"{name}: {description}")
        return value
