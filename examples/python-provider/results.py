"""How a result reaches the caller: inline, or as a file behind a descriptor (sections 4.2 and 4.5).

What is stored is the JSON text of the value.  Which form it takes is decided anew for each session that asks, because
both the limit and large_results belong to the session.
"""

import hashlib
import os
import secrets
import tempfile
import threading

import strict_json
import values
from errors import ProtocolError
from sessions import LIMITS

# Local limits (section 2.2).  Above the first a result is RESULT_TOO_LARGE even as a file; the second bounds what
# callers that never close their descriptors can hold open.
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_OPEN_FILES = 256
READ_CHUNK = 1024 * 1024


class Descriptors:
    """The results that are open.  A file is unlinked before anyone hears of it: it belongs to one response only."""

    def __init__(self, directory):
        self._directory = directory
        self._lock = threading.Lock()
        self._open = {}

    def open_result(self, content):
        with self._lock:
            if len(self._open) >= MAX_OPEN_FILES:
                raise ProtocolError("UNAVAILABLE", "Too many results are open; close some.", retry_after_ms=1000)
        writer, path = tempfile.mkstemp(dir=self._directory)
        try:
            with open(writer, "wb") as file:
                file.write(content)
            reader = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        finally:
            os.unlink(path)
        # Not a number that counts: after a restart the id of a dead descriptor must not lead to another result.
        name = f"fd-{secrets.token_hex(8)}"
        with self._lock:
            self._open[name] = reader
        return values.Value("fd", {"id": name, "access": "r"})

    def read(self, name, max_bytes):
        """(bytes, whether that was the end), or None for a descriptor that is not open."""
        with self._lock:
            if name not in self._open:
                return None
            reader = self._open[name]
            chunk = os.read(reader, min(max_bytes, READ_CHUNK))
            at_end = os.lseek(reader, 0, os.SEEK_CUR) >= os.fstat(reader).st_size
        return chunk, at_end

    def close(self, name):
        with self._lock:
            reader = self._open.pop(name, None)
            if reader is not None:
                os.close(reader)

    def close_all(self):
        with self._lock:
            for reader in self._open.values():
                os.close(reader)
            self._open.clear()

    def count(self):
        with self._lock:
            return len(self._open)


class Results:
    def __init__(self, descriptors):
        self._descriptors = descriptors

    def deliver(self, value, session, wrap=None):
        """(data, further entries of the Bundle) for a value that is JSON text.

        `wrap` puts the result envelope into the data of get_operation.  What counts against the limit is the whole of
        `data` in UTF-8 bytes, as it would be sent.
        """
        wrap = wrap or (lambda envelope: envelope)
        limit = LIMITS["max_inline_result_bytes"]
        if len(value) <= limit:  # it never has fewer bytes than characters
            data = wrap('{"kind":"inline","value":' + value + "}")
            if len(data.encode("utf-8")) <= limit:
                return data, {}
        if "large_results" not in session.capabilities:
            raise ProtocolError("RESULT_TOO_LARGE", "The result is too large to be sent inline.")
        content = value.encode("utf-8")
        if len(content) > MAX_FILE_BYTES:
            raise ProtocolError("RESULT_TOO_LARGE", "The result is too large.")
        envelope = {
            "kind": "file",
            "media_type": "application/json",
            "size_bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        descriptor = self._descriptors.open_result(content)
        return wrap(strict_json.dumps(envelope)), {"result_fd": descriptor}
