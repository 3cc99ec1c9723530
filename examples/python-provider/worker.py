"""The provider's process: the one that a crash really ends.

It reads frames from the supervisor (`frames`), works on calls in threads and answers each when it is done.  Everything
else takes effect in order of arrival, on the thread that reads.  What this process must not lose is in the store.
"""

import base64
import json
import os
import shutil
import signal
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

import catalogue
import controls
import fixture_tools
import frames
import identity
import values
from content_provider import RESUME_TTL_MS, RETENTION_MS, ContentProvider
from jsonrpc import (
    CANNOT_ACT_NOW,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RECURSION_LIMIT,
    STACK_BYTES,
    Params,
    RpcError,
    encode,
)
from sessions import LIMITS
from store import Store

NAME = "python-provider"
VERSION = "1.0.0"

DRAIN_SECONDS = 2.0


class Worker:
    def __init__(self, directory, versions):
        self._directory = directory
        self._versions = versions
        self._store = Store(os.path.join(directory, "provider.db"))
        clock = controls.VirtualClock(self._store)
        self._provider = ContentProvider(
            store=self._store,
            clock=clock,
            catalogue=fixture_tools.catalogue(controls.stored_changes(self._store)),
            versions=versions,
            package=fixture_tools.PACKAGE,
            uid=fixture_tools.UID,
            authority=fixture_tools.AUTHORITY,
            default_scopes=fixture_tools.DEFAULT_SCOPES,
            directory=directory,
        )
        self._verbs = {
            "target.describe": self._describe,
            "provider.manifest": self._manifest,
            "fd.read": self._read_descriptor,
            "fd.close": self._close_descriptor,
            **controls.Controls(self._store, clock, self._provider).verbs,
        }
        # As many threads as requests that may be under way; what is above that waits its turn (section 6).
        self._pool = ThreadPoolExecutor(LIMITS["max_concurrent_requests"], thread_name_prefix="call")
        self._calls = 0
        self._idle = threading.Condition()
        self._output = threading.Lock()
        self._provider.start()

    def serve(self, source):
        self._send(frames.READY, True, b"{}")
        for number, body in frames.read_all(source):
            if number == frames.STOP:
                self._end(remove_directory=False)
            try:
                message = json.loads(body)
            except (ValueError, RecursionError):  # a number of thousands of digits, say
                self._send(number, False, RpcError(INVALID_PARAMS, "the params cannot be read").to_json())
                continue
            method, params = message["method"], message.get("params", {})
            if method == "provider.call":
                with self._idle:
                    self._calls += 1
                self._pool.submit(self._work_on_call, number, params)
            else:
                if method == "target.reset":
                    self._drain()
                self._answer(number, self._handle, method, params)
        # The supervisor is gone.  If it could not clean up any more, this is the last chance.
        self._end(remove_directory=True)

    # --- answering ------------------------------------------------------------------------------------------------

    def _answer(self, number, handle, *arguments):
        try:
            succeeded, body = True, encode(handle(*arguments))
        except RpcError as error:
            succeeded, body = False, error.to_json()
        except values.WireError as error:
            succeeded, body = False, RpcError(INVALID_PARAMS, str(error)).to_json()
        except Exception:
            traceback.print_exc()
            succeeded, body = False, RpcError(INTERNAL_ERROR, "the target failed").to_json()
        self._send(number, succeeded, body)

    def _send(self, number, succeeded, body):
        with self._output:
            try:
                frames.write(sys.stdout.fileno(), number, succeeded, body)
            except OSError:
                pass  # the supervisor is gone; the end of its stream is noticed by the thread that reads

    def _end(self, remove_directory):
        """A polite end: a transaction that is under way is finished, an answer that is not sent yet is not sent."""
        self._output.acquire()
        self._store.close()
        if remove_directory:
            shutil.rmtree(self._directory, ignore_errors=True)
        os._exit(0)

    def _work_on_call(self, number, params):
        try:
            self._answer(number, self._call, params)
        finally:
            with self._idle:
                self._calls -= 1
                self._idle.notify_all()

    def _drain(self):
        """Nothing that was asked before a reset shall happen after it."""
        with self._idle:
            self._idle.wait_for(lambda: self._calls == 0, DRAIN_SECONDS)

    # --- verbs ----------------------------------------------------------------------------------------------------

    def _handle(self, method, params):
        handle = self._verbs.get(method)
        if handle is None:
            raise RpcError(METHOD_NOT_FOUND, "no such verb")
        return handle(Params(params))

    def _call(self, params):
        params = Params(params)
        # Who calls is settled here, where the call comes in, and handed on; nothing looks it up later (section 7.1).
        caller = identity.decode_caller(params.get("caller"))
        method = params.text("method")
        raw_extras = params.object("extras", required=False)
        extras = None if raw_extras is None else values.decode_bundle(raw_extras)
        if not self._provider.serves(params.text("authority")):
            return {"exception": {"class": "java.lang.IllegalArgumentException", "message": "Unknown authority"}}
        return {"bundle": values.encode_bundle(self._provider.call(caller, method, extras))}

    def _describe(self, params):
        if params.get("protocol") != 1:
            raise RpcError(INVALID_PARAMS, "this target speaks version 1 of the protocol")
        return {
            "protocol": 1,
            "name": NAME,
            "version": VERSION,
            "roles": ["provider"],
            "versions": list(self._versions),
            "capabilities": list(catalogue.ALL_CAPABILITIES),
            "controls": list(controls.CONTROLS),
            "callers": "any",
            "package": fixture_tools.PACKAGE,
            "authority": fixture_tools.AUTHORITY,
            "fixture": 1,
            "resume_ttl_ms": RESUME_TTL_MS,
            "retention_ms": RETENTION_MS,
        }

    def _manifest(self, params):
        return catalogue.manifest(fixture_tools.PACKAGE, fixture_tools.AUTHORITY, self._versions)

    def _read_descriptor(self, params):
        read = self._provider.descriptors.read(params.text("fd"), params.integer("max_bytes", 1))
        if read is None:
            raise RpcError(CANNOT_ACT_NOW, "the descriptor is not open")
        chunk, at_end = read
        return {"base64": base64.b64encode(chunk).decode("ascii"), "eof": at_end}

    def _close_descriptor(self, params):
        self._provider.descriptors.close(params.text("fd"))
        return {}


def main(directory, versions):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the supervisor, which then ends this process
    sys.setrecursionlimit(RECURSION_LIMIT)
    threading.stack_size(STACK_BYTES)
    Worker(directory, versions).serve(sys.stdin.buffer)
