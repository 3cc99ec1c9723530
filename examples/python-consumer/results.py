"""Result envelopes, inline and file (sections 4.2 and 4.5): nothing is a success before it was checked.

Descriptors are not closed here: the reply that brought them does that, on every path.
"""

import hashlib
import re

import limits
import strictjson
from schemas import Undecided
from untrusted import Refused

_DIGEST = re.compile(r"[0-9a-f]{64}")


def read_result(host, session, tool, envelope, bundle):
    """The checked value of a success, synchronous or of an operation; Refused otherwise."""
    if not isinstance(envelope, dict):
        raise Refused("the result is no object")
    kind = envelope.get("kind")
    if kind == "inline":
        if "value" not in envelope:
            raise Refused("an inline result without a value")
        value = envelope["value"]
    elif kind == "file":
        value = _read_file(host, session, envelope, bundle)
    else:
        raise Refused("unknown kind of result")
    check_conforms(value, tool.output_schema, "the result")
    return value


def check_conforms(value, schema, what):
    try:
        if schema.accepts(value):
            return
    except Undecided:
        # Work without end is the provider's doing; what was not checked is not passed on.
        raise Refused(f"{what} could not be checked against its schema within the local limit") from None
    raise Refused(f"{what} does not conform to its schema")


def _read_file(host, session, envelope, bundle):
    # Every check that needs no content comes before the first read.
    if "large_results" not in session.capabilities:
        raise Refused("a file result, but large_results was not negotiated")
    if envelope.get("media_type") != "application/json":
        raise Refused("unknown media_type")
    size = envelope.get("size_bytes")
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise Refused("size_bytes is missing or mistyped")
    if size > limits.MAX_FILE_BYTES:
        raise Refused("the file is larger than the local limit")
    digest = envelope.get("sha256")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise Refused("sha256 is missing or malformed")
    descriptor = bundle.descriptor("result_fd")
    if descriptor is None:
        raise Refused("a file result without result_fd")
    if descriptor.get("access") not in ("r", None):
        raise Refused("result_fd is not read-only")
    content = _read_exactly(host, descriptor["id"], size)
    if hashlib.sha256(content).hexdigest() != digest:
        raise Refused("the digest of the file is another one")
    try:
        return strictjson.parse_bytes(content, limits.MAX_FILE_BYTES)
    except strictjson.JsonRefused as refusal:
        raise Refused(f"the file: {refusal}") from None


def _read_exactly(host, descriptor, size):
    """The content, if it has exactly the declared size. Asks for one byte more than declared, so that
    longer and endless content shows itself, and never for more."""
    content = bytearray()
    empty = 0
    for _ in range(limits.MAX_FD_READS):
        asked = min(limits.FD_CHUNK_BYTES, size + 1 - len(content))
        chunk = host.read_chunk(descriptor, asked)
        if chunk is None:
            raise Refused("the file could not be read")
        data, at_end = chunk
        if len(data) > asked:
            raise Refused("a read gave more than was asked for")
        content += data
        if len(content) > size:
            raise Refused("the file is longer than declared")
        if at_end:
            if len(content) < size:
                raise Refused("the file is shorter than declared")
            return bytes(content)
        empty = 0 if data else empty + 1
        if empty > limits.MAX_EMPTY_READS:
            break
    raise Refused("the file does not come to an end")
