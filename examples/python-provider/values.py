"""Android values as they travel on the wire: Bundles, callers, and the types that a Bundle can hold.

A Bundle is an object from key to a value with one member that names the Android type, for example `{"int": 2}`.  Here
it is a dict from key to `Value`.  The type stays with the value, because the specification names the type of every
key: an Int where a Long belongs is a mistake of the caller, not a number to be converted.
"""

import base64
import binascii
import re
from typing import NamedTuple


class WireError(ValueError):
    """What arrived is not a value of the wire format: the driver's mistake, not one of the protocol under test."""


class Value(NamedTuple):
    type: str
    value: object


def string(value):
    return Value("string", value)


def int32(value):
    return Value("int", value)


def int64(value):
    return Value("long", value)


def boolean(value):
    return Value("bool", value)


# --- decoding -------------------------------------------------------------------------------------------------------

_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,18})", re.ASCII)
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")


def _decode_base64(raw):
    try:
        return base64.b64decode(raw, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise WireError("bad base64") from None


def _decode_string(raw):
    if isinstance(raw, str):
        return raw
    if isinstance(raw, dict) and list(raw) == ["utf16"]:
        try:
            # "surrogatepass" keeps a lone surrogate, which is the reason for this form, as a code point of its own.
            return _decode_base64(raw["utf16"]).decode("utf-16-le", "surrogatepass")
        except UnicodeDecodeError:
            raise WireError("utf16 holds half a code unit") from None
    raise WireError("not a string")


def _integer(low, high):
    def decode(raw):
        if type(raw) is not int or not low <= raw <= high:
            raise WireError("not an integer of this type")
        return raw

    return decode


def _decode_long(raw):
    if isinstance(raw, str) and _DECIMAL.fullmatch(raw):
        raw = int(raw)
    return _integer(-(2**63), 2**63 - 1)(raw)


def _decode_bool(raw):
    if type(raw) is not bool:
        raise WireError("not a bool")
    return raw


def _decode_double(raw):
    if type(raw) in (int, float) or raw in _NOT_FINITE:
        return float(raw)
    raise WireError("not a double")


def _decode_null(raw):
    if raw is not None:
        raise WireError("null holds nothing")
    return None


def _list_of(decode_item):
    def decode(raw):
        if not isinstance(raw, list):
            raise WireError("not a list")
        return [decode_item(item) for item in raw]

    return decode


def _decode_object(raw):
    if not isinstance(raw, dict):
        raise WireError("not an object")
    return raw


def decode_bundle(raw):
    if not isinstance(raw, dict):
        raise WireError("a Bundle is an object")
    return {key: _decode_value(value) for key, value in raw.items()}


def _decode_value(raw):
    if not isinstance(raw, dict) or len(raw) != 1:
        raise WireError("a value has one member, which names its type")
    ((type_name, value),) = raw.items()
    decode = _DECODERS.get(type_name)
    if decode is None:
        raise WireError("unknown type of value")
    return Value(type_name, decode(value))


_int = _integer(-(2**31), 2**31 - 1)
_DECODERS = {
    "string": _decode_string,
    "int": _int,
    "long": _decode_long,
    "bool": _decode_bool,
    "double": _decode_double,
    "float": _decode_double,
    "short": _integer(-(2**15), 2**15 - 1),
    "byte": _integer(-128, 255),
    "char": _decode_string,
    "null": _decode_null,
    "int_array": _list_of(_int),
    "long_array": _list_of(_decode_long),
    "bool_array": _list_of(_decode_bool),
    "double_array": _list_of(_decode_double),
    "string_array": _list_of(lambda raw: None if raw is None else _decode_string(raw)),
    "string_list": _list_of(lambda raw: None if raw is None else _decode_string(raw)),
    "int_list": _list_of(lambda raw: None if raw is None else _int(raw)),
    "bytes": _decode_base64,
    "bundle": decode_bundle,
    "pending_intent": _decode_object,
    "fd": _decode_object,
    "parcelable": _decode_object,
}


# --- encoding: only the types that a provider sends -------------------------------------------------------------------


def _encode_string(text):
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate, say in a request_id that has to be echoed
        return {"utf16": base64.b64encode(text.encode("utf-16-le", "surrogatepass")).decode("ascii")}
    return text


def _encode_value(value):
    if value.type == "string":
        return {"string": _encode_string(value.value)}
    if value.type == "long" and abs(value.value) > 2**53:
        return {"long": str(value.value)}
    return {value.type: value.value}


def encode_bundle(bundle):
    return {key: _encode_value(value) for key, value in bundle.items()}
