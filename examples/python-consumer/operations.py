"""Following a background operation to its end, and cancelling it (section 4.4).

Only a terminal state ends an operation, and only the state `cancelled` means that nothing will follow.
Progress is display data and is not even read. Polls are bounded in number and in time.
"""

import math

import bundles
import limits
from envelope import Answer, ERROR_CODES, Failure, Lost, Malformed, UNKNOWN_ERROR, backoff_ms, make_failure, read_reply
from results import read_result
from schemas import is_number
from untrusted import OUTCOME_UNKNOWN, Refused, error, quoted, refused, success

_UNFINISHED = ("queued", "running", "cancellation_requested")


def poll_wait_ms(data):
    """poll_after_ms within local bounds. It is optional in get_operation."""
    value = data.get("poll_after_ms")
    if value is None:
        return limits.DEFAULT_POLL_MS
    if not is_number(value):
        raise Refused("poll_after_ms is no number")
    return math.ceil(min(max(value, limits.MIN_POLL_MS), limits.MAX_POLL_MS))


class Operation:
    def __init__(self, execution, session, request_id, operation_id, wait_ms):
        self._execution = execution
        self._host = execution.host
        self._provider = execution.provider
        self._tool = execution.tool
        self._job = execution.job
        self._session = session
        self._request_id = request_id      # 4.1: of the execution that created the operation
        self._operation_id = operation_id
        self._wait_ms = wait_ms
        self._troubles = 0                 # consecutive polls without a usable answer
        self._cancel_sent = False

    def follow(self):
        """Poll until the outcome is there. Returns it."""
        started = self._host.now()
        slept = 0
        for _ in range(limits.MAX_POLLS):
            self._cancel_if_wanted()
            now = self._host.sleep(self._wait_ms)
            slept += self._wait_ms
            self._cancel_if_wanted()
            outcome = self._poll()
            if outcome is not None:
                return outcome
            # Time also passes elsewhere, and a clock that has come to its end stands still: look at both.
            if max(slept, now - started) > limits.MAX_OPERATION_MS:
                break
        return error(OUTCOME_UNKNOWN, "the operation did not end in time; whether it took effect is unknown")

    # -- polling --------------------------------------------------------------------------------
    def _poll(self):
        if "async_operations" not in self._session.capabilities:
            # 2.3: after a renegotiation that lost it, the operation can no longer be asked about.
            return error(OUTCOME_UNKNOWN, "the new session has no async_operations; the outcome is unknown")
        with self._call("get_operation") as reply:
            answer = read_reply(reply, self._request_id)
            if isinstance(answer, Answer):
                self._troubles = 0
                return self._read_state(answer, reply.bundle)
        return self._after_trouble(answer)

    def _call(self, method):
        more = {"operation_id": bundles.string(self._operation_id)}
        return self._session.call(method, self._request_id, self._job.timeout_ms, more)

    def _read_state(self, answer, bundle):
        """None while the operation goes on; a state that is not understood ends in `refused`: it is neither a
        success nor a cancellation."""
        data = answer.data
        if answer.status != "success" or data.get("operation_id") != self._operation_id:
            return refused("get_operation answered for something else; the outcome is unknown")
        state = data.get("state")
        if state in _UNFINISHED:
            self._wait_ms = poll_wait_ms(data)
            return None
        result, failed = data.get("result"), data.get("error")
        if state == "succeeded":
            if result is None or failed is not None:
                return refused("succeeded, but not with a result alone")
            return success(read_result(self._host, self._session, self._tool, result, bundle))
        if state == "failed":
            return self._read_failed(failed)
        if state == "cancelled":
            if result is not None:
                return refused("cancelled, but with a result")
            return error("CANCELLED", "the operation was cancelled; it has no later effect")
        return refused("unknown state of the operation; the outcome is unknown")

    def _read_failed(self, failed):
        if not isinstance(failed, dict):
            return refused("failed, but without an error")
        retry_after_ms = failed.get("retry_after_ms")
        well_formed = isinstance(failed.get("error_message"), str) and isinstance(failed.get("retryable"), bool)
        well_formed = well_formed and (retry_after_ms is None or is_number(retry_after_ms))
        failure = make_failure(
            failed.get("error_code"), failed.get("error_message"), failed.get("retryable"), None, well_formed
        )
        # The operation is over; the same request_id would give the same end, so nothing is retried.
        return self._report(failure)

    def _report(self, failure):
        code = failure.code
        if code == "CANCELLED":
            # 4.4: only the state says so.
            return refused(f"CANCELLED without the state cancelled: {quoted(self._provider.provider_id, failure.message)}")
        return error(code if code in ERROR_CODES else UNKNOWN_ERROR, quoted(self._provider.provider_id, failure.message))

    # -- when a call goes wrong -----------------------------------------------------------------
    def _after_trouble(self, answer):
        """None: ask again, after the wait that is due now."""
        self._troubles += 1
        if self._troubles <= limits.MAX_LOST_REPLIES:
            if isinstance(answer, Failure) and answer.session_is_gone():
                return None if self._renew(answer) else self._unknown("no new session")
            wait = self._wait_after(answer)
            if wait is not None:
                self._wait_ms = max(self._wait_ms, wait)
                return None
        if isinstance(answer, Failure):
            return self._report(answer)
        if isinstance(answer, Malformed):
            return refused(f"get_operation: {answer.detail}; the outcome is unknown")
        return self._unknown(answer.detail)

    def _wait_after(self, answer):
        if isinstance(answer, Lost):
            return backoff_ms(self._troubles)
        if isinstance(answer, Failure) and answer.is_worth_retrying():
            return answer.wait_ms(self._troubles)
        return None

    def _unknown(self, detail):
        return error(OUTCOME_UNKNOWN, f"get_operation: {detail}; whether the call took effect is unknown")

    def _renew(self, failure):
        try:
            session = self._execution.renew_session(self._session, failure)
        except Refused:
            session = None
        if session is None:
            return False
        self._session = session
        return True

    # -- cancelling -----------------------------------------------------------------------------
    def _cancel_if_wanted(self):
        """cancel_operation, once. Whatever it answers, polling goes on: acceptance is no cancellation."""
        if self._cancel_sent or not self._job.cancel_wanted.is_set():
            return
        for attempt in range(limits.MAX_RETRIES):
            if "cancellation" not in self._session.capabilities:
                return
            self._cancel_sent = True
            with self._call("cancel_operation") as reply:
                answer = read_reply(reply, self._request_id)
            if isinstance(answer, Failure) and answer.session_is_gone():
                if not self._renew(answer):
                    return
                continue
            wait = backoff_ms(attempt) if isinstance(answer, Lost) else None
            if isinstance(answer, Failure) and answer.is_worth_retrying() and answer.code != "CONFLICT":
                wait = answer.wait_ms(attempt)
            if wait is None:
                return
            self._host.sleep(wait)
