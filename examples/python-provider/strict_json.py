"""JSON text as the protocol needs it: strict on the way in, compact on the way out.

Arguments come from an agent and are untrusted (section 7.3), so whatever a lenient parser would let through silently is
refused: a member name that occurs twice, NaN and Infinity, text that follows the value.  Numbers keep their exact
value: what a double cannot hold becomes a Decimal, so that a tool never sees another number than the one that was sent.
"""

import json
import re
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring

# int() refuses longer literals by default, because its cost is quadratic; Decimal reads them in linear time.
LONGEST_INT_LITERAL = 4000


class JsonError(ValueError):
    """The text is not JSON in the strict sense of this module."""


def _unique_members(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise JsonError("a member name occurs twice")
    return members


def _no_constant(literal):
    raise JsonError(f"{literal} is not JSON")


def _exact(literal):
    try:
        return Decimal(literal)
    except InvalidOperation:
        raise JsonError("a number is out of range") from None


def _integer(literal):
    return int(literal) if len(literal) <= LONGEST_INT_LITERAL else _exact(literal)


def _real(literal):
    exact = _exact(literal)
    double = float(literal)
    # repr() is the shortest text of a double; where that is the number that was sent, the double may stand for it.
    return double if exact == Decimal(repr(double)) else exact


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_members, parse_constant=_no_constant, parse_int=_integer, parse_float=_real
)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))


def loads(text):
    """The value of a JSON text; JsonError for anything else, nesting beyond Python's recursion limit included."""
    try:
        return _DECODER.decode(text)
    except JsonError:
        raise
    except ValueError:
        raise JsonError("the text is not JSON") from None
    except RecursionError:
        raise JsonError("the nesting is too deep") from None


_SURROGATE = re.compile("[\ud800-\udfff]")


def dumps(value):
    """Compact JSON text.  It is valid Unicode: a lone surrogate, which UTF-8 cannot carry, is written as an escape."""
    try:
        text = _ENCODER.encode(value)
    except TypeError:  # somewhere in it is a Decimal, which the encoder of the library can only write as a string
        parts = []
        _write(value, parts.append)
        text = "".join(parts)
    if not text.isascii():
        text = _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text


def _write(value, emit):
    if isinstance(value, Decimal):
        emit(str(value))
    elif isinstance(value, dict):
        emit("{")
        for index, (name, member) in enumerate(value.items()):
            emit("," if index else "")
            emit(encode_basestring(name) + ":")
            _write(member, emit)
        emit("}")
    elif isinstance(value, (list, tuple)):
        emit("[")
        for index, item in enumerate(value):
            emit("," if index else "")
            _write(item, emit)
        emit("]")
    else:
        emit(_ENCODER.encode(value))
