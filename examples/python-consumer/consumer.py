"""A CETP v2 consumer over stdio: the program. Run it with `python3 consumer.py`.

The main thread reads the connection and answers at once what can be answered at once (describe, reset,
cancel, fds). Each consumer.discover and consumer.execute works in a thread of its own and talks to the
provider, the UI and the clock through the runner, over the same connection.

Where to read on: discovery.py (who is used at all), session.py (negotiation), execution.py (one call),
operations.py (background work), confirmation.py (the user), results.py (what counts as a success).
"""

import os
import sys
import threading

import jsonrpc
import limits
from discovery import discover
from execution import Job, execute
from host import Host
from session import CAPABILITIES
from untrusted import refused

DESCRIPTION = {
    "protocol": 1,
    "name": "python-consumer",
    "version": "1.0.0",
    "roles": ["consumer"],
    "versions": [1, 2],
    "capabilities": list(CAPABILITIES),
    "controls": ["fds"],
    "callers": "any",
}


class State:
    """All that a reset forgets."""

    def __init__(self, host):
        self.host = host
        self.registry = {}                 # provider_id -> Provider, of the last scan
        self.jobs = []                     # the open executions
        self.scanned = threading.Event()   # the scan that the next request has to wait for
        self.scanned.set()


class Consumer:
    def __init__(self, peer):
        self._peer = peer
        self._lock = threading.Lock()
        self._working = 0
        self._state = State(Host(peer, peer.new_epoch()))
        self._verbs = {
            "target.describe": self._describe,
            "target.reset": self._reset,
            "target.shutdown": self._shutdown,
            "consumer.discover": self._discover,
            "consumer.execute": self._execute,
            "consumer.cancel": self._cancel,
            "observe.fds": self._fds,
        }

    def run(self):
        try:
            self._peer.serve(self._handle)
        except (_Shutdown, jsonrpc.Abandoned):
            pass

    def _handle(self, request_id, method, params):
        verb = self._verbs.get(method)
        if verb is None:
            self._peer.fail(request_id, jsonrpc.METHOD_NOT_FOUND, "this target has no such verb")
        elif not isinstance(params, (dict, type(None))):
            self._peer.fail(request_id, jsonrpc.INVALID_PARAMS, "params is no object")
        else:
            verb(request_id, params or {})

    # -- answered at once -----------------------------------------------------------------------
    def _describe(self, request_id, params):
        self._peer.answer(request_id, DESCRIPTION)

    def _reset(self, request_id, params):
        # What still works for the old state ends at its next step: its epoch is over.
        self._state = State(Host(self._peer, self._peer.new_epoch()))
        self._peer.answer(request_id, {"now_ms": params.get("now_ms", 0)})

    def _shutdown(self, request_id, params):
        self._peer.answer(request_id, {})
        raise _Shutdown()

    def _fds(self, request_id, params):
        self._peer.answer(request_id, {"open": self._state.host.open_descriptors()})

    def _cancel(self, request_id, params):
        """Only a wish: the execution that is open learns of it before its next poll (4.4)."""
        state = self._state
        with self._lock:
            jobs = list(state.jobs)
        for job in jobs:
            if job.provider_id == params.get("provider_id") and job.tool == params.get("tool"):
                job.cancel_wanted.set()
        self._peer.answer(request_id, {})

    # -- worked on in a thread ------------------------------------------------------------------
    def _discover(self, request_id, params):
        state = self._state
        before, state.scanned = state.scanned, threading.Event()
        done = state.scanned

        def work():
            before.wait()
            rows, state.registry = discover(state.host, params.get("packages"))
            self._peer.answer(request_id, {"providers": rows})

        self._start(request_id, work, done.set)

    def _execute(self, request_id, params):
        state = self._state
        job = Job(params.get("provider_id"), params.get("tool"), params.get("args"), params.get("timeout_ms"))
        scanned = state.scanned            # verbs take effect in order of arrival
        with self._lock:
            state.jobs.append(job)

        def work():
            scanned.wait()
            try:
                outcome = execute(state.host, state.registry, job)
            except jsonrpc.Abandoned:
                raise
            except Exception as error:
                # A provider must not be able to end this process; a success it cannot get either.
                jsonrpc.diagnose(f"execute: {type(error).__name__}: {error!a}"[:1000])
                outcome = refused("this consumer could not handle the reply")
            finally:
                with self._lock:
                    state.jobs.remove(job)
            self._answer_outcome(request_id, outcome)

        def drop():
            with self._lock:
                if job in state.jobs:
                    state.jobs.remove(job)

        self._start(request_id, work, drop)

    def _answer_outcome(self, request_id, outcome):
        try:
            self._peer.answer(request_id, outcome)
        except (jsonrpc.AnswerTooLong, ValueError, RecursionError, MemoryError):
            self._peer.answer(request_id, refused("the result is too large to hand on"))

    def _start(self, request_id, work, finish):
        """Run `work` in a thread; every request gets an answer, and `finish` runs whatever happens."""
        def guarded():
            try:
                work()
            except jsonrpc.Abandoned:
                self._fail_quietly(request_id, "reset")
            except Exception as error:
                jsonrpc.diagnose(f"{type(error).__name__}: {error!a}"[:1000])
                self._fail_quietly(request_id, "internal error")
            finally:
                with self._lock:
                    self._working -= 1
                finish()

        with self._lock:
            full = self._working >= limits.MAX_OPEN_REQUESTS
            self._working += 0 if full else 1
        if not full:
            try:
                threading.Thread(target=guarded, daemon=True).start()
                return
            except RuntimeError:           # the system has no thread left
                with self._lock:
                    self._working -= 1
        finish()
        self._peer.fail(request_id, jsonrpc.CANNOT_ACT, "too many open requests")

    def _fail_quietly(self, request_id, message):
        try:
            self._peer.fail(request_id, jsonrpc.CANNOT_ACT, message)
        except jsonrpc.Abandoned:
            pass


class _Shutdown(Exception):
    pass


def main():
    # Recursion is bounded by limits.py (JSON depth, schema depth), at a few frames a level; the figures here
    # only have to be larger than what those bounds add up to.
    sys.setrecursionlimit(10_000)
    threading.stack_size(8 * limits.MIB)
    # The reading thread shall not wait long for a worker that computes.
    sys.setswitchinterval(0.0005)
    Consumer(jsonrpc.Peer(sys.stdin.buffer, sys.stdout.buffer)).run()
    # Workers that still wait for an answer are not waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
