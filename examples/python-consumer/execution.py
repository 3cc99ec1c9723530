"""One execution of a tool, from args to outcome (sections 4 to 6).

All sends of one execution carry the same request_id and the same args text, whatever made a repetition
necessary; a new id is only ever made for a new consumer.execute. Each reason to repeat has its own small
bound, and `MAX_SENDS` holds over all of them.
"""

import threading

import bundles
import confirmation
import limits
from arguments import check_args
from envelope import Answer, Failure, Lost, Malformed, backoff_ms, new_request_id, opaque_text, read_reply, usable_timeout_ms
from operations import Operation, poll_wait_ms
from results import read_result
from untrusted import OUTCOME_UNKNOWN, Refused, error, quoted, refused, success
from v1 import execute_v1


class Job:
    """What consumer.execute asked for, and whether consumer.cancel came since."""

    def __init__(self, provider_id, tool, args, timeout_ms):
        self.provider_id = provider_id
        self.tool = tool
        self.args = args
        self.timeout_ms = usable_timeout_ms(timeout_ms)
        self.cancel_wanted = threading.Event()


def execute(host, registry, job):
    """The outcome of the job. Routed by (provider_id, tool) and by nothing else (3.1)."""
    provider = registry.get(job.provider_id) if isinstance(job.provider_id, str) else None
    if provider is None or not provider.usable:
        return refused("no such provider in use")
    tool = provider.tools.get(job.tool) if isinstance(job.tool, str) else None
    if tool is None:
        return refused("no such tool")
    try:
        if provider.version == 1:
            return execute_v1(provider, tool, job)
        return _Execution(host, provider, tool, job).run()
    except Refused as refusal:
        return refused(str(refusal))


class _Execution:
    def __init__(self, host, provider, tool, job):
        self.host = host
        self.provider = provider
        self.tool = tool
        self.job = job
        self._session = provider.session
        self._checked_for = None       # the (session, tool) that args were checked against
        self._request_id = new_request_id()
        self._resume_token = None
        self._asked_user = set()       # codes for which a resolution was launched
        self._retries = 0
        self._lost = 0                 # replies that did not come: from then on a failure settles nothing
        self._renewals = 0

    def run(self):
        try:
            for _ in range(limits.MAX_SENDS):
                self._check_before_send()
                outcome = self._send()
                if outcome is not None:
                    return outcome
        except Refused as refusal:
            return refused(self._remark(str(refusal)))
        return self._give_up(OUTCOME_UNKNOWN, "too many repetitions")

    def _check_before_send(self):
        """Also after a renegotiation: limits, schema or the tool itself may be others now."""
        if not self.provider.usable:
            raise Refused("the provider is disabled: it failed to negotiate")
        tool = self.provider.tools.get(self.tool.name)
        if tool is None:
            raise Refused("the tool is gone after a new negotiation")
        if self._checked_for != (self._session, tool):
            self.tool = tool
            check_args(self.job.args, tool.input_schema, self._session.max_request_bytes)
            self._checked_for = (self._session, tool)

    def _send(self):
        """One execute_tool. Returns the outcome, or None when the call is to be repeated."""
        more = {"tool_name": bundles.string(self.tool.name), "args": bundles.string(self.job.args)}
        if self._resume_token is not None:
            more["resume_token"] = bundles.string(self._resume_token)
        with self._session.call("execute_tool", self._request_id, self.job.timeout_ms, more) as reply:
            answer = read_reply(reply, self._request_id, echo_required=True)
            if isinstance(answer, Answer) and answer.status == "success":
                return self._read_success(answer, reply.bundle)
        # From here on no descriptor is open: what follows may take as long as a user takes.
        if isinstance(answer, Lost):
            return self._after_loss(answer)
        if isinstance(answer, Failure):
            return self._after_failure(answer, reply.bundle)
        if isinstance(answer, Malformed):
            raise Refused(f"execute_tool: {answer.detail}; whether the call took effect is unknown")
        return self._follow(answer.data)

    def _read_success(self, answer, bundle):
        try:
            return success(read_result(self.host, self._session, self.tool, answer.data, bundle))
        except Refused as refusal:
            # The value is not handed on; that the effect did not happen would be a guess.
            raise Refused(f"{refusal}; the provider reported success, so the call may have taken effect") from None

    def _follow(self, data):
        """status=accepted (4.4). Whether it may come is decided by the session, not by an annotation."""
        if "async_operations" not in self._session.capabilities:
            raise Refused("accepted, but async_operations was not negotiated; the outcome is unknown")
        operation_id = opaque_text(data.get("operation_id"), limits.MAX_OPERATION_ID_BYTES)
        if operation_id is None:
            raise Refused("accepted without a usable operation_id; the outcome is unknown")
        return Operation(self, self._session, self._request_id, operation_id, poll_wait_ms(data)).follow()

    # -- reasons to repeat ----------------------------------------------------------------------
    def _after_loss(self, lost):
        """Section 6: the same id again, or an honest "unknown"."""
        self._lost += 1
        if self._lost > limits.MAX_LOST_REPLIES:
            return self._give_up(OUTCOME_UNKNOWN, f"no reply ({lost.detail})")
        self.host.sleep(backoff_ms(self._lost))
        return None

    def _after_failure(self, failure, bundle):
        if confirmation.can_be_resolved(failure) and failure.code not in self._asked_user:
            # Once for each of the two codes: signing in and confirming are different steps, and a provider that
            # asks for the same step again does not get the user a second time.
            self._asked_user.add(failure.code)
            self._resume_token = confirmation.confirm(self.host, self.provider.package, bundle)
            return None
        if failure.session_is_gone():
            session = self.renew_session(self._session, failure)
            if session is not None:
                self._session = session
                return None
        elif failure.is_worth_retrying() and self._retries < limits.MAX_RETRIES:
            wait = failure.wait_ms(self._retries)
            if wait is not None:
                self._retries += 1
                self.host.sleep(wait)
                return None
        return self._give_up(failure.code, quoted(self.provider.provider_id, failure.message))

    def renew_session(self, session, failure):
        """A new session after NEGOTIATION_REQUIRED, or None when this execution had its share."""
        wait = failure.wait_ms(self._renewals)
        if wait is None or self._renewals >= limits.MAX_RENEGOTIATIONS:
            return None
        self._renewals += 1
        if failure.retry_after_ms:
            self.host.sleep(wait)
        return self.provider.renew(session)

    # -- the end without success ----------------------------------------------------------------
    def _give_up(self, code, message):
        if code == "DEADLINE_EXCEEDED":
            # 4.1: that we or the provider stopped waiting does not say that the effect did not happen.
            message += " (whether the call took effect is unknown)"
        return error(code, self._remark(message))

    def _remark(self, message):
        if self._lost:
            message += " (an earlier attempt had no reply: whether the call took effect is unknown)"
        return message
