"""Strict, bounded reading of JSON text that nobody vouches for (sections 7.3 and 9).

`parse` refuses what a lenient parser lets through and what could hurt later: duplicate members (two
readers would see two values), NaN and Infinity, numbers beyond a double, lone surrogates, a byte
order mark, too deep a nesting, too many items. Nothing here recurses on the text, so the answer to
hostile nesting is an exception that the caller expects, not a dead interpreter.
"""

import json
import math
import re

import limits


class JsonRefused(ValueError):
    """The text is no JSON, or JSON of a kind that is not accepted here."""


# Possessive quantifiers: a string that never ends must not make the expression try again.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_BRACKETS = re.compile(r"[^\[\]{}]++")
_MAYBE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# Up to here the interpreter's own (fast, recursive) parser is safe.
_SAFE_RECURSION = 400


def parse(text, max_bytes, max_depth=limits.MAX_JSON_DEPTH):
    """The value of a JSON text from a provider or agent; JsonRefused if anything is wrong with it."""
    if not isinstance(text, str):
        raise JsonRefused("not a text")
    if len(text) > max_bytes:
        raise JsonRefused("too long")
    try:
        if len(text.encode("utf-8")) > max_bytes:
            raise JsonRefused("too long")
    except UnicodeEncodeError:
        raise JsonRefused("not valid Unicode") from None
    _check_shape(text, max_depth, limits.MAX_JSON_ITEMS)
    value = _load(text, _STRICT)
    if _MAYBE_SURROGATE.search(text):
        _check_surrogates(value)
    return value


def parse_bytes(content, max_bytes):
    """The same for the bytes of a file result."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise JsonRefused("not UTF-8") from None
    return parse(text, max_bytes)


def parse_line(line):
    """One JSON-RPC line. Deeper and more tolerant than `parse`: the envelope is the runner's, and what a
    provider put into it is judged where it is used."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        raise JsonRefused("not UTF-8") from None
    depth = _check_shape(text, limits.MAX_LINE_DEPTH, None)
    if depth <= _SAFE_RECURSION:
        return _load(text, _TOLERANT)
    return _parse_without_recursion(text)


def _check_shape(text, max_depth, max_items):
    """Count nesting and items before anything is built. Returns an upper bound of the depth."""
    opened = text.count("[") + text.count("{")
    items = opened + text.count(",")
    if opened <= min(max_depth, _SAFE_RECURSION) and (max_items is None or items <= max_items):
        return opened
    # Brackets inside strings were counted too; look closer.
    structure = _STRING.sub("", text)
    if max_items is not None:
        items = structure.count("[") + structure.count("{") + structure.count(",")
        if items > max_items:
            raise JsonRefused("too many items")
    depth = deepest = 0
    for character in _BRACKETS.sub("", structure):
        if character in "[{":
            depth += 1
            if depth > deepest:
                deepest = depth
                if deepest > max_depth:
                    raise JsonRefused("nested too deeply")
        else:
            depth -= 1
    return deepest


def _members(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise JsonRefused("duplicate member")
    return members


def _no_constant(name):
    raise JsonRefused(f"{name} is no JSON")


def _strict_float(digits):
    number = float(digits)
    if math.isinf(number):
        raise JsonRefused("number out of range")
    return number


def _strict_int(digits):
    # The length comes first: converting millions of digits is slow, and Python refuses it anyway.
    if len(digits) > 310:
        raise JsonRefused("number out of range")
    number = int(digits)
    try:
        float(number)
    except OverflowError:
        raise JsonRefused("number out of range") from None
    return number


def _tolerant_int(digits):
    return int(digits) if len(digits) <= 310 else float("-inf" if digits[0] == "-" else "inf")


_STRICT = json.JSONDecoder(
    object_pairs_hook=_members, parse_constant=_no_constant, parse_float=_strict_float, parse_int=_strict_int
)
_TOLERANT = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_no_constant, parse_int=_tolerant_int)


def _load(text, decoder):
    try:
        return decoder.decode(text)
    except JsonRefused:
        raise
    except (ValueError, RecursionError):
        raise JsonRefused("not JSON") from None


def _check_surrogates(value):
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if any("\ud800" <= character <= "\udfff" for character in item):
                raise JsonRefused("a lone surrogate")
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, dict):
            stack.extend(item.keys())
            stack.extend(item.values())


_SCALAR = re.compile(
    r"""(?P<string>"(?:[^"\\\x00-\x1f]++|\\.)*+")
      | (?P<number>-?(?:0|[1-9][0-9]*+)(?P<fraction>(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+))
      | (?P<word>true|false|null)""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = {"true": True, "false": False, "null": None}


def _parse_without_recursion(text):
    """A JSON parser with a stack of its own, for lines that are nested beyond what recursion can take."""
    containers = []          # the open lists and dicts, outermost first
    names = []               # for each of them: the member that waits for its value; None for a list
    expect = "value"         # value, value or ], name, name or }, colon, comma (or the end)
    root = None
    position = 0
    length = len(text)
    while position < length:
        c = text[position]
        if c in " \t\n\r":
            position += 1
            continue
        if c in "]}":
            wanted = ("value or ]", "comma") if c == "]" else ("name or }", "comma")
            if not containers or (names[-1] is None) != (c == "]") or expect not in wanted:
                raise JsonRefused("not JSON")
            containers.pop()
            names.pop()
            expect = "comma"
            position += 1
            continue
        if c == ",":
            if expect != "comma" or not containers:
                raise JsonRefused("not JSON")
            expect = "value" if names[-1] is None else "name"
            position += 1
            continue
        if c == ":":
            if expect != "colon":
                raise JsonRefused("not JSON")
            expect = "value"
            position += 1
            continue
        # What is left are values and member names.
        if c in "[{":
            value = [] if c == "[" else {}
            position += 1
        else:
            scalar = _SCALAR.match(text, position)
            if scalar is None:
                raise JsonRefused("not JSON")
            position = scalar.end()
            value = _scalar(scalar)
        if expect in ("name", "name or }"):
            if not isinstance(value, str) or value in containers[-1]:
                raise JsonRefused("not JSON, or a duplicate member")
            names[-1] = value
            containers[-1][value] = None
            expect = "colon"
            continue
        if expect not in ("value", "value or ]"):
            raise JsonRefused("not JSON")
        if not containers:
            root = value
        elif names[-1] is None:
            containers[-1].append(value)
        else:
            containers[-1][names[-1]] = value
        expect = "comma"
        if c in "[{":
            containers.append(value)
            names.append(None if c == "[" else "")
            expect = "value or ]" if c == "[" else "name or }"
    if containers or expect != "comma":
        raise JsonRefused("not JSON")
    return root


def _scalar(match):
    if match["string"] is not None:
        return _load(match["string"], _TOLERANT)
    if match["number"] is not None:
        return float(match["number"]) if match["fraction"] else _tolerant_int(match["number"])
    return _WORDS[match["word"]]
