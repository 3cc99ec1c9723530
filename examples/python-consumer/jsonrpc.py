"""JSON-RPC 2.0 over stdio in both directions, one message a line.

The thread that calls `serve` only reads and dispatches, so an answer or a `consumer.cancel` gets in
whatever the workers wait for. Workers call `request` and block until their answer is there. A reset
starts a new *epoch*: every request of an older one ends with `Abandoned`, at once and for good.
"""

import json
import queue
import sys
import threading

import limits
import strictjson

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CANNOT_ACT = -32000


class Abandoned(Exception):
    """The epoch of this request is over (reset, or the connection is gone)."""


class RemoteError(Exception):
    """The runner answered a request with a JSON-RPC error."""


class AnswerTooLong(Exception):
    """The answer does not fit in a line."""


class Peer:
    def __init__(self, reader, writer):
        self._reader = reader
        self._writer = writer
        self._write_lock = threading.Lock()
        self._lock = threading.Lock()      # guards the three fields below
        self._pending = {}                 # id of ours -> queue that gets the one answer
        self._last_id = 0
        self._epoch = 0

    # -- ours to the runner ---------------------------------------------------------------------
    def request(self, epoch, method, params):
        answer = queue.SimpleQueue()
        with self._lock:
            if epoch != self._epoch:
                raise Abandoned()
            self._last_id += 1
            request_id = self._last_id
            self._pending[request_id] = answer
        self._write(_encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}), epoch)
        message = answer.get()
        if message is None:
            raise Abandoned()
        if "error" in message:
            raise RemoteError(method)
        return message.get("result")

    def new_epoch(self):
        """Everything that waits for an answer stops waiting. Returns the epoch that begins."""
        with self._lock:
            self._epoch += 1
            waiting, self._pending = self._pending, {}
            epoch = self._epoch
        for answer in waiting.values():
            answer.put(None)
        return epoch

    # -- the runner's to us ---------------------------------------------------------------------
    def answer(self, request_id, result):
        line = _encode({"jsonrpc": "2.0", "id": request_id, "result": result})
        if len(line) > limits.MAX_LINE_BYTES:
            raise AnswerTooLong()
        self._write(line)

    def fail(self, request_id, code, message):
        error = {"code": code, "message": message}
        self._write(_encode({"jsonrpc": "2.0", "id": request_id, "error": error}))

    def serve(self, handle):
        """Read until the stream ends; `handle(id, method, params)` must not block."""
        while True:
            line = self._reader.readline(limits.MAX_RECEIVED_LINE_BYTES)
            if not line:
                break
            if not line.endswith(b"\n") and len(line) == limits.MAX_RECEIVED_LINE_BYTES:
                while line and not line.endswith(b"\n"):
                    line = self._reader.readline(limits.MIB)
                self.fail(None, PARSE_ERROR, "line too long")
                continue
            try:
                message = strictjson.parse_line(line)
            except strictjson.JsonRefused as refusal:
                self.fail(None, PARSE_ERROR, str(refusal))
                continue
            self._dispatch(message, handle)
        self.new_epoch()

    def _dispatch(self, message, handle):
        if not isinstance(message, dict):
            self.fail(None, INVALID_REQUEST, "not a message")
            return
        message_id = message.get("id")
        if "method" not in message:
            self._settle(message_id, message)
            return
        if not isinstance(message["method"], str) or not isinstance(message_id, (str, int, float, type(None))):
            self.fail(None, INVALID_REQUEST, "not a request")
            return
        if "id" in message:
            handle(message_id, message["method"], message.get("params"))

    def _settle(self, request_id, message):
        if not isinstance(request_id, int) or isinstance(request_id, bool):
            return
        with self._lock:
            answer = self._pending.pop(request_id, None)
        # None: the answer to a request of an epoch that is over.
        if answer is not None:
            answer.put(message)

    def _write(self, line, epoch=None):
        try:
            with self._write_lock:
                # Looked at again here: no request of an old epoch may follow the answer to the reset.
                if epoch is not None and epoch != self._epoch:
                    raise Abandoned()
                self._writer.write(line)
                self._writer.flush()
        except (OSError, ValueError):
            # Nobody listens any more; the reader will see the end of the stream as well.
            self.new_epoch()
            raise Abandoned() from None


def _encode(message):
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Texts were cleaned where they came in; "replace" only keeps a slip from breaking the line.
    return text.encode("utf-8", "replace") + b"\n"


def diagnose(text):
    """A line on stderr, for people."""
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass
