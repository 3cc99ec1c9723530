"""The process that keeps the connection, so that the provider's process can die.

It reads JSON-RPC from stdin and passes requests on to a worker process.  `control.restart` and the crash points end the
worker; whatever it had not answered is answered here, with what a consumer would see on Android: the Binder of a dead
process.  Then another worker takes over with what is durable.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

import frames
import jsonrpc
from jsonrpc import CANNOT_ACT_NOW, PARSE_ERROR, Params, RpcError

STOP_SECONDS = 5.0
LAST_ANSWERS_SECONDS = 2.0
_DEAD = jsonrpc.encode({"exception": {"class": "android.os.DeadObjectException", "message": ""}})


class _WorkerProcess:
    """One life of the provider, and what it has been asked and has not answered."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pending = {}
        self.is_ready = False
        self.is_ended_by_order = False
        self.reader = None
        self._input = threading.Lock()

    def has_open_calls_only(self):
        return all(method == "provider.call" for _, method, _ in self.pending.values())

    def send(self, frame):
        with self._input:
            if not self.process.stdin.closed:
                try:
                    frames.write_all(self.process.stdin.fileno(), frame)
                except OSError:
                    pass  # it has died; whoever notices that answers what is pending

    def end(self, politely):
        self.is_ended_by_order = True
        if politely:
            self.send(frames.request(frames.STOP, b""))
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
        else:
            self.process.kill()
        self.process.wait()

    def close(self):
        self.process.wait()
        with self._input:  # nobody may be left writing to a descriptor whose number the next process gets
            self.process.stdin.close()
        self.process.stdout.close()


class Supervisor:
    def __init__(self, worker_command):
        self._directory = tempfile.mkdtemp(prefix="cetp-python-provider-")
        self._command = [*worker_command, self._directory]
        self._output = threading.Lock()
        self._lock = threading.Condition()  # guards what follows and the tables of what is pending; told of answers
        self._worker = None
        self._next_number = 1
        self._is_ending = False

    def run(self):
        """Until the end of stdin, target.shutdown or a signal.  Nothing stays behind."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        sys.setrecursionlimit(jsonrpc.RECURSION_LIMIT)
        try:
            with self._lock:
                self._start_worker()
            self._serve()
        except KeyboardInterrupt:
            pass
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self._shut_down()

    def _serve(self):
        while True:
            line = jsonrpc.read_line(sys.stdin.buffer)
            if line == b"":
                self._await_answers()
                return
            request_id = None
            try:
                if line is None:
                    raise RpcError(PARSE_ERROR, "the line is too long")
                message = jsonrpc.parse_request(line)
                request_id, method = message["id"], message["method"]
                if method == "target.shutdown":
                    self._await_answers()
                    self._shut_down()
                    self._reply(request_id, True, b"{}")
                    return
                if method == "control.restart":
                    mode = Params(message["params"]).text("mode", choices=("stop", "kill"))
                    self._restart(politely=mode == "stop")
                    self._reply(request_id, True, b"{}")
                else:
                    self._forward(request_id, method, line.strip())
            except RpcError as error:
                self._reply(request_id, False, error.to_json())

    def _await_answers(self):
        """What has been asked is answered before the end, within reason."""
        with self._lock:
            self._lock.wait_for(lambda: not self._worker.pending, LAST_ANSWERS_SECONDS)

    def _reply(self, request_id, succeeded, body):
        member = b"result" if succeeded else b"error"
        line = b'{"jsonrpc":"2.0","id":%s,"%s":%s}\n' % (jsonrpc.encode(request_id), member, body)
        with self._output:
            try:
                frames.write_all(sys.stdout.fileno(), line)
            except OSError:
                pass  # nobody listens any more; the end of stdin follows

    # --- the life of workers --------------------------------------------------------------------------------------

    def _start_worker(self):
        """With the lock held."""
        worker = _WorkerProcess(self._command)
        worker.reader = threading.Thread(target=self._read_answers, args=(worker,), daemon=True)
        self._worker = worker
        worker.reader.start()

    def _forward(self, request_id, method, line):
        with self._lock:
            worker = self._worker
            number = self._next_number
            self._next_number += 1
            worker.pending[number] = (request_id, method, line)
        worker.send(frames.request(number, line))

    def _read_answers(self, worker):
        for number, body in frames.read_all(worker.process.stdout):
            if number == frames.READY:
                worker.is_ready = True
                continue
            with self._lock:
                asked = worker.pending.pop(number, None)
                self._lock.notify_all()
            if asked is not None:
                self._reply(asked[0], body[:1] == b"+", body[1:])
        self._replace(worker)

    def _replace(self, worker):
        """The worker has ended, by order or by itself: start the next one, then answer what is open."""
        worker.close()
        with self._lock:
            if self._is_ending:
                return
            if not worker.is_ready and not worker.is_ended_by_order:
                # Another one would fare no better.
                print("the provider's process does not start", file=sys.stderr)
                shutil.rmtree(self._directory, ignore_errors=True)
                os._exit(1)
            self._start_worker()
        for request_id, method, line in list(worker.pending.values()):
            self._answer_for_the_dead(request_id, method, line)

    def _answer_for_the_dead(self, request_id, method, line):
        if method == "provider.call":
            self._reply(request_id, True, _DEAD)
        elif method == "fd.close":
            self._reply(request_id, True, b"{}")  # a descriptor does not outlive its process
        elif method == "control.operation":
            # The step itself may have led to a crash that was ordered.  Repeating it changes nothing that was reached.
            self._forward(request_id, method, line)
        else:
            error = RpcError(CANNOT_ACT_NOW, "the provider's process ended meanwhile")
            self._reply(request_id, False, error.to_json())

    def _restart(self, politely):
        with self._lock:
            worker = self._worker
            # Verbs take effect in order of arrival: the restart is for the calls that are open, not for the controls.
            self._lock.wait_for(worker.has_open_calls_only, STOP_SECONDS)
        worker.end(politely)
        worker.reader.join()  # which has put the next one in its place, and has answered what was open

    def _shut_down(self):
        with self._lock:
            if self._is_ending:
                return
            self._is_ending = True
            worker = self._worker
        if worker is not None:
            worker.end(politely=True)
            worker.reader.join()
        shutil.rmtree(self._directory, ignore_errors=True)
