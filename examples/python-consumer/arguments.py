"""Checking args before anything is sent (sections 4.1 and 7.3).

The args text itself is sent byte for byte: on retries and on resuming, the provider compares bytes (4.3, 6).
The parsed value is only looked at, and the agent that wrote it is trusted no more than a provider.
"""

import strictjson
from envelope import utf8_length
from results import check_conforms
from untrusted import Refused


def check_args(args, schema, max_bytes):
    length = utf8_length(args) if isinstance(args, str) else None
    if length is None:
        raise Refused("args is no valid text")
    if length > max_bytes:
        # Counted in UTF-8 bytes, as the provider does; characters may be three times fewer.
        raise Refused("args is longer than the provider or this consumer allows")
    try:
        value = strictjson.parse(args, max_bytes)
    except strictjson.JsonRefused as refusal:
        raise Refused(f"args: {refusal}") from None
    if not isinstance(value, dict):
        raise Refused("args is no JSON object")
    check_conforms(value, schema, "args")
