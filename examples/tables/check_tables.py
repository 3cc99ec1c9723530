#!/usr/bin/env python3
"""Works through the static tables of CETP v2, as a unit test of an implementation would.

    python3 check_tables.py [FOLDER]

FOLDER is vectors/cetp-v2/tables of this repository unless it is given. Each table has a function here that decides by itself,
from the specification, what the table says; where the two disagree, the case is printed and the exit code is 1. It needs the
standard library only. An implementation puts its own functions in their place and keeps the loop at the end.
"""

import hashlib
import json
import pathlib
import re
import struct
import sys
from base64 import b64decode
from datetime import datetime

# --- manifests (section 2.1) ------------------------------------------------------------------------------------------

AUTHORITY, VERSION, VERSIONS = (f"com.clawseed.tools.{name}" for name in ("authority", "version", "versions"))
MINE = {1, 2}


def text_of(value):
    """An Android build turns "2" into an Int, so both types stand for the same."""
    if value is None:
        return None
    ((kind, inner),) = value.items()
    return str(inner) if kind in ("int", "string") else ""


def manifest(case):
    provider, *_ = case["packages"]
    (service,) = [s for s in provider["services"] if "com.clawseed.action.TOOL_PROVIDER" in s["actions"]]
    declared = service["meta_data"]
    authority = text_of(declared.get(AUTHORITY))
    version, versions = text_of(declared.get(VERSION)), text_of(declared.get(VERSIONS))
    tokens = [token.strip() for token in (version if versions is None else versions).split(",")]
    valid = [token for token in tokens if re.fullmatch("[1-9][0-9]*", token)]
    read = sorted({int(token) for token in valid})

    served = authority in [p["authority"] for p in provider["providers"]]
    if not served:
        return {"versions": [], "consumer": "refuses", "breaks": "CETP2-2.1-08"}
    if not MINE.intersection(read):
        consumer = "refuses"
    else:
        consumer = "accepts" if len(valid) == len(tokens) else "free"
    breaks = None
    if MINE.issubset(read) and version != "1":
        breaks = "CETP2-2.1-01"
    if 2 in read and 1 not in read and consumer == "accepts" and (version != "2" or versions is None):
        breaks = "CETP2-2.1-05"
    return {"versions": read, "consumer": consumer, "breaks": breaks}


# --- descriptors (section 3) ------------------------------------------------------------------------------------------

ENUMS = {
    "effect": {"read", "create", "update", "delete", "transaction"},
    "risk": {"low", "moderate", "high"},
    "confirmation": {"never", "provider_policy", "always"},
    "execution": {"sync", "sync_or_async"},
}
FLAGS = ("destructive", "idempotent", "open_world")
TYPES = {"null", "boolean", "object", "array", "number", "integer", "string"}
# Keywords whose members are schemas by name: what they are called there is no keyword.
BY_NAME = {"properties", "patternProperties", "$defs", "dependentSchemas"}


def subschemas(schema):
    yield schema
    for keyword, value in schema.items() if isinstance(schema, dict) else ():
        inner = value.values() if keyword in BY_NAME else value if isinstance(value, list) else [value]
        for one in inner:
            if isinstance(one, dict):
                yield from subschemas(one)


def is_sound(schema):
    """As much of the meta-schema as the table needs; an implementation has a validator."""
    for one in subschemas(schema):
        kinds = one.get("type", [])
        if not set([kinds] if isinstance(kinds, str) else kinds) <= TYPES:
            return False
        if any(one.get(keyword, 0) < 0 for keyword in ("minLength", "maxLength", "minItems", "maxItems")):
            return False
    return True


def refers_outside(schema):
    references = (one.get(keyword, "#") for one in subschemas(schema) for keyword in ("$ref", "$dynamicRef"))
    return any(not reference.startswith("#") for reference in references)


def descriptor(case):
    tool = case["descriptor"]
    for name in ("name", "description", "input_schema", "output_schema", "scopes", "annotations"):
        if name not in tool:
            return {"breaks": "CETP2-3.3-01", "consumer": "refuses"}
    notes = tool["annotations"]
    for name in (*ENUMS, *FLAGS):
        if name not in notes:
            return {"breaks": "CETP2-3.4-01", "consumer": "refuses"}
    for name, allowed in ENUMS.items():
        if notes[name] not in allowed:
            return {"breaks": "CETP2-3.4-01", "consumer": "free" if name == "execution" else "refuses"}
    if not all(isinstance(notes[name], bool) for name in FLAGS):
        return {"breaks": "CETP2-3.4-01", "consumer": "free"}
    schemas = (tool["input_schema"], tool["output_schema"])
    if any(refers_outside(schema) for schema in schemas):
        return {"breaks": "CETP2-3.2-06", "consumer": "refuses"}
    if not all(is_sound(schema) for schema in schemas):
        return {"breaks": "CETP2-3.2-05", "consumer": "free"}
    dangerous = notes["effect"] in ("delete", "transaction") or notes["destructive"] or notes["risk"] == "high"
    if dangerous and notes["confirmation"] != "always":
        return {"breaks": "CETP2-3.4-03", "consumer": "should_refuse"}
    if not re.fullmatch("[a-z][a-z0-9_]{0,63}", tool["name"]):
        return {"breaks": "CETP2-3.1-02", "consumer": "free"}
    return {"breaks": None, "consumer": "accepts"}


# --- negotiate replies (section 2.2) ----------------------------------------------------------------------------------

LEAST = {
    "max_request_bytes": 65_536,
    "max_inline_result_bytes": 262_144,
    "max_concurrent_requests": 1,
    "idempotency_window_seconds": 86_400,
}


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def instant(text):
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None


def negotiate_reply(case):
    refused = {"breaks": "CETP2-2.2-04", "consumer": "refuses"}
    free = {"breaks": "CETP2-2.2-04", "consumer": "free"}
    try:
        data = json.loads(case["reply"]["data"]["string"])
    except (KeyError, ValueError):
        return refused
    if not isinstance(data, dict):
        return refused
    limits, capabilities = data.get("limits"), data.get("capabilities")
    typed = (
        is_int(data.get("selected_version"))
        and isinstance(data.get("session_token"), str)
        and isinstance(data.get("provider_id", ""), str)
        and isinstance(capabilities, list)
        and all(isinstance(name, str) for name in capabilities)
        and isinstance(limits, dict)
        and all(is_int(limits.get(name, 0)) for name in LEAST)
    )
    if not typed:
        return refused
    if data["selected_version"] not in case["offered"]["consumer_versions"]:
        return {"breaks": "CETP2-2.2-05", "consumer": "refuses"}
    if len(data["session_token"].encode()) > 256:
        return {"breaks": "CETP2-2.2-07", "consumer": "refuses"}
    if not all(name in data for name in ("provider_id", "provider_name")) or not all(name in limits for name in LEAST):
        return free
    if "expires_at" in data:
        ends = instant(data["expires_at"])
        if ends is None or ends <= instant(case["now"]):
            return free
    if data["provider_id"] != case["package"] and not data["provider_id"].startswith(case["package"] + "."):
        return {"breaks": "CETP2-3.1-01", "consumer": "should_refuse"}
    if not set(capabilities) <= set(case["offered"]["consumer_capabilities"]):
        return {"breaks": "CETP2-2.2-06", "consumer": "free"}
    if any(limits[name] < least for name, least in LEAST.items()):
        return {"breaks": "CETP2-2.2-14", "consumer": "free"}
    return {"breaks": None, "consumer": "accepts"}


# --- error Bundles (section 5) ----------------------------------------------------------------------------------------

RETRYABLE = {
    **dict.fromkeys(
        "UNSUPPORTED_VERSION UNSUPPORTED_CAPABILITY USER_CANCELLED PERMISSION_DENIED TOOL_NOT_FOUND METHOD_NOT_FOUND"
        " INVALID_ARGS INVALID_REQUEST CANCELLED RESULT_TOO_LARGE RESULT_EXPIRED".split(),
        False,
    ),
    **dict.fromkeys("NEGOTIATION_REQUIRED RATE_LIMITED UNAVAILABLE".split(), True),
    **dict.fromkeys("AUTH_REQUIRED USER_ACTION_REQUIRED CONFLICT DEADLINE_EXCEEDED INTERNAL_ERROR".split(), None),
}
# A repeat of these needs the user, or another input, whatever retryable says.
NOT_ALONE = {"AUTH_REQUIRED", "USER_ACTION_REQUIRED", "USER_CANCELLED", "PERMISSION_DENIED", "INVALID_ARGS"}


def error_bundle(case):
    reply = case["reply"]
    of = lambda key, kind: reply.get(key, {}).get(kind)
    code, again = of("error_code", "string"), of("retryable", "bool")
    if code is None or of("error_message", "string") is None or again is None:
        return {"breaks": "CETP2-5-01", "consumer": "final"}
    consumer = "may_retry" if again and code not in NOT_ALONE else "final"
    if of("protocol_version", "int") != 2 or of("request_id", "string") != case["request_id"]:
        return {"breaks": "CETP2-5-01", "consumer": "free"}
    wait = reply.get("retry_after_ms")
    if wait is not None and wait.get("long", -1) < 0:
        return {"breaks": "CETP2-5-02", "consumer": "free"}
    if "error_details" in reply:
        try:
            json.loads(of("error_details", "string"))
        except (TypeError, ValueError):
            return {"breaks": "CETP2-5-02", "consumer": consumer}
    if code not in RETRYABLE:
        return {"breaks": "CETP2-5-03", "consumer": consumer}
    if RETRYABLE[code] not in (None, again):
        return {"breaks": "CETP2-5-04", "consumer": consumer}
    return {"breaks": None, "consumer": consumer}


# --- parcel sizes -----------------------------------------------------------------------------------------------------
# This writes the bytes of a Parcel, where the table's figures were computed: so one checks the other.

TAGS = {
    "null": -1, "string": 0, "int": 1, "bundle": 3, "short": 5, "long": 6, "float": 7, "double": 8, "bool": 9,
    "string_list": 11, "int_list": 11, "bytes": 13, "string_array": 14, "int_array": 18, "long_array": 19, "byte": 20,
    "bool_array": 23, "double_array": 28,
}  # fmt: skip
WITH_LENGTH = {"string_list", "int_list"}  # since API 33


def int32(number):
    return struct.pack("<i", number)


def string16(text):
    if text is None:
        return int32(-1)
    units = text.encode("utf-16-le")
    out = int32(len(units) // 2) + units + b"\0\0"
    return out + b"\0" * (-len(out) % 4)


def list_of(items, write):
    return int32(len(items)) + b"".join(write(item) for item in items)


def value(kind, inner, api):
    scalars = {"int": "<i", "short": "<i", "byte": "<i", "bool": "<i", "long": "<q", "float": "<f", "double": "<d"}
    if kind in scalars:
        number = int(inner) if kind == "long" else inner
        return struct.pack(scalars[kind], number)
    if kind == "bytes":
        raw = b64decode(inner)
        return int32(len(raw)) + raw + b"\0" * (-len(raw) % 4)
    lists = {"int_array": "<i", "bool_array": "<i", "long_array": "<q", "double_array": "<d"}
    if kind in lists:
        return list_of(inner, lambda item: struct.pack(lists[kind], item))
    return {
        "null": lambda: b"",
        "string": lambda: string16(inner),
        "bundle": lambda: bundle(inner, api),
        "string_array": lambda: list_of(inner, string16),
        "string_list": lambda: list_of(inner, lambda item: tagged("string", item, api)),
        "int_list": lambda: list_of(inner, lambda item: tagged("int", item, api)),
    }[kind]()


def tagged(kind, inner, api):
    body = value(kind, inner, api)
    length = int32(len(body)) if kind in WITH_LENGTH and api != "up_to_32" else b""
    return int32(TAGS[kind]) + length + body


def bundle(content, api):
    if content is None:
        return int32(-1)
    if not content:
        return int32(0)
    entries = b"".join(
        string16(key) + tagged(kind, inner, api) for key, entry in content.items() for kind, inner in entry.items()
    )
    more = int32(0) if api == "from_36" else b""
    body = int32(len(content)) + entries
    return int32(len(body)) + struct.pack("<I", 0x4C444E42) + body + more


def parcel_size(case):
    return {"bytes": {api: len(bundle(case["bundle"], api)) for api in ("up_to_32", "from_33", "from_36")}}


# --- file envelopes (section 4.5) -------------------------------------------------------------------------------------


def conforms(value, schema):
    """The one schema of the table; an implementation has a validator."""
    assert schema == {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    return isinstance(value, dict) and isinstance(value.get("title"), str)


def file_envelope(case):
    data, content = case["data"], case["content"].encode()
    malformed = {"breaks": "CETP2-4.5-04", "consumer": "refuses"}
    mismatch = {"breaks": "CETP2-4.5-06", "consumer": "refuses"}
    if "large_results" not in case["capabilities"]:
        return {"breaks": "CETP2-4.2-01", "consumer": "refuses"}
    if case["result_fd"] is None or data.get("media_type") != "application/json":
        return malformed
    digest = data.get("sha256", "")
    if not re.fullmatch("[0-9a-fA-F]{64}", digest):
        return malformed
    if not is_int(data.get("size_bytes")):
        return {"breaks": "CETP2-4.5-04", "consumer": "free"}
    if data["size_bytes"] != len(content) or hashlib.sha256(content).hexdigest() != digest.lower():
        return mismatch
    try:
        if not conforms(json.loads(content), case["output_schema"]):
            return mismatch
    except ValueError:
        return mismatch
    if digest != digest.lower():
        return {"breaks": "CETP2-4.5-04", "consumer": "free"}
    if case["result_fd"] != "r":
        return {"breaks": "CETP2-4.5-05", "consumer": "free"}
    return {"breaks": None, "consumer": "accepts"}


# --- the loop ---------------------------------------------------------------------------------------------------------

CHECKS = {
    "manifests": manifest,
    "descriptors": descriptor,
    "negotiate-replies": negotiate_reply,
    "error-bundles": error_bundle,
    "parcel-sizes": parcel_size,
    "file-envelopes": file_envelope,
}


def main():
    home = pathlib.Path(__file__).resolve().parents[2] / "vectors" / "cetp-v2" / "tables"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else home
    names = {path.stem for path in folder.glob("*.json")}
    if names != CHECKS.keys():
        sys.exit(f"the tables of {folder} are {sorted(names)}, and not {sorted(CHECKS)}")
    wrong = 0
    for name, check in CHECKS.items():
        table = json.loads((folder / f"{name}.json").read_text("utf-8"))
        if table["format"] != "cetp-table/1":
            sys.exit(f"{name}: the format {table['format']} is not known here")
        for case in table["cases"]:
            for member, decided in check(case).items():
                if case[member] != decided:
                    wrong += 1
                    print(f"{name}, {case['name']}: {member} is {case[member]!r} in the table, and {decided!r} here")
        print(f"{name}: {len(table['cases'])} cases")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
