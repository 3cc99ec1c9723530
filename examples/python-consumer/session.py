"""Providers and their sessions: negotiate first, check the revision, renegotiate when told to (section 2).

A `Provider` is one usable entry of the registry. Its session is replaced, never changed: a call keeps the
session that it was made in, and what a reply may contain is judged by that session's capabilities.
"""

import json
import threading

import bundles
import limits
from descriptors import check_provider_id, check_provider_info, check_revision, check_tools, check_v2_tool, text_member
from envelope import (
    Answer, Failure, Lost, backoff_ms, deadline_at_ms, new_request_id, opaque_text, read_reply, request_extras,
)
from untrusted import Refused, clean, quoted

# 2.2: what this consumer supports, in descending order. A provider that declares v2 and selects 1 is refused all
# the same: the list says what we can speak, not what we fall back to (section 8).
CONSUMER_VERSIONS = (2, 1)
CAPABILITIES = ("async_operations", "cancellation", "large_results")

_LEAST = {
    "max_request_bytes": 65_536,
    "max_inline_result_bytes": 262_144,
    "max_concurrent_requests": 1,
    "idempotency_window_seconds": 86_400,
}
_MOST_CONCURRENT = 64


class SessionGone(Exception):
    """NEGOTIATION_REQUIRED: negotiate again, then repeat under the same request_id."""

    def __init__(self, failure):
        super().__init__()
        self.failure = failure


class Session:
    def __init__(self, host, authority, data):
        self.host = host
        self.authority = authority
        self.token = data["session_token"]
        self.provider_id = data["provider_id"]
        self.provider_name = data["provider_name"]
        # A surplus capability in the reply was not offered, so it is not negotiated, so it is not used.
        self.capabilities = frozenset(data["capabilities"]) & frozenset(CAPABILITIES)
        self.max_request_bytes = min(data["limits"]["max_request_bytes"], limits.MAX_ARGS_BYTES)
        # 2.2: not more calls in flight than the provider said.
        self._slots = threading.Semaphore(min(data["limits"]["max_concurrent_requests"], _MOST_CONCURRENT))

    def call(self, method, request_id, timeout_ms, more=None):
        """One v2 call; the reply is to be used in a `with` block. Waits for a free slot."""
        with self._slots:
            deadline = deadline_at_ms(self.host.now(), timeout_ms)
            extras = request_extras(self.token, request_id, deadline, more or {})
            return self.host.call(self.authority, method, extras)

    def read(self, method, request_id):
        """A read without effect (get_provider_info, list_tools): its data, after bounded retries that keep
        the request_id (4.1)."""
        for attempt in range(limits.MAX_RETRIES + 1):
            with self.call(method, request_id, limits.READ_TIMEOUT_MS) as reply:
                answer = read_reply(reply, request_id)
            if isinstance(answer, Answer) and answer.status == "success":
                return answer.data
            if isinstance(answer, Failure) and answer.session_is_gone():
                raise SessionGone(answer)
            if attempt == limits.MAX_RETRIES or not wait_before_retry(self.host, answer, attempt):
                break
        raise Refused(f"{method} failed: {describe(self.provider_id, answer)}")


def wait_before_retry(host, answer, attempt):
    """Whether the call may be repeated; if so, the waiting is done."""
    if isinstance(answer, Lost):
        wait = backoff_ms(attempt)
    elif isinstance(answer, Failure) and answer.is_worth_retrying():
        wait = answer.wait_ms(attempt)
    else:
        return False
    if wait is None:
        return False
    host.sleep(wait)
    return True


def describe(origin, answer):
    """What an answer that was no success says, for a message."""
    if isinstance(answer, Failure):
        return f"{answer.code} {quoted(origin, answer.message)}"
    return answer.detail if hasattr(answer, "detail") else "an unexpected status"


def negotiate(host, package, authority):
    """Section 2.2. Raises Refused when there is no session; there is no fallback (section 8)."""
    extras = {
        "consumer_versions": bundles.int_array(CONSUMER_VERSIONS),
        "consumer_capabilities": bundles.string(json.dumps(CAPABILITIES)),
    }
    for attempt in range(limits.MAX_RETRIES + 1):
        with host.call(authority, "negotiate", extras) as reply:
            answer = read_reply(reply)
        if isinstance(answer, Answer) and answer.status == "success":
            return Session(host, authority, _check_negotiated(answer.data, package))
        if attempt == limits.MAX_RETRIES or not wait_before_retry(host, answer, attempt):
            break
    raise Refused(f"negotiate failed: {describe(package, answer)}")


def _check_negotiated(data, package):
    selected = data.get("selected_version")
    if isinstance(selected, bool) or not isinstance(selected, int) or selected != 2:
        raise Refused("selected_version is not 2")
    if opaque_text(data.get("session_token"), limits.MAX_SESSION_TOKEN_BYTES) is None:
        raise Refused("session_token is missing, no text, or too long")
    capabilities = data.get("capabilities")
    if (
        not isinstance(capabilities, list)
        or len(capabilities) > limits.MAX_CAPABILITIES
        or not all(isinstance(name, str) for name in capabilities)
    ):
        raise Refused("capabilities are missing or no list of texts")
    offered = data.get("limits")
    if not isinstance(offered, dict):
        raise Refused("limits are missing")
    # When a session is over the provider says so (NEGOTIATION_REQUIRED); its clock may not be ours.
    if data.get("expires_at") is not None and not isinstance(data["expires_at"], str):
        raise Refused("expires_at is no text")
    return {
        "session_token": data["session_token"],
        "provider_id": check_provider_id(data.get("provider_id"), package),
        "provider_name": clean(text_member(data, "provider_name"), limits.MAX_NAME_CHARS),
        "capabilities": capabilities,
        "limits": {name: _limit(offered.get(name), least) for name, least in _LEAST.items()},
    }


def _limit(value, least):
    if value is None:
        return least
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise Refused("a limit is mistyped or below its minimum")
    return value


class Provider:
    """A provider in use. v1 providers have no session and no revision."""

    def __init__(self, host, package, authority, version):
        self.host = host
        self.package = package
        self.authority = authority
        self.version = version
        self.provider_id = package         # 3.1: the default; v1 has no other
        self.tools = {}
        self.session = None
        self.revision = None
        self.usable = True
        self._lock = threading.Lock()      # one negotiation at a time

    def open(self):
        """The first session: identity, dialect, revision and tools are all checked."""
        self._open(None)

    def renew(self, lost):
        """After NEGOTIATION_REQUIRED. Whoever comes second finds the session that the first has opened."""
        with self._lock:
            if not self.usable:
                raise Refused("the provider is disabled: it failed to negotiate")
            if self.session is not lost:
                return self.session
            try:
                self._open(self.provider_id)
            except Refused:
                # Section 8: a provider that declares v2 and does not negotiate is disabled, not downgraded.
                self.usable = False
                raise
            return self.session

    def _open(self, expected_id):
        info_id, list_id = new_request_id(), new_request_id()
        for attempt in range(limits.MAX_NEGOTIATIONS):
            session = negotiate(self.host, self.package, self.authority)
            if expected_id is not None and session.provider_id != expected_id:
                raise Refused("the provider changed its provider_id")
            try:
                self._load(session, info_id, list_id, cached=expected_id is not None)
            except SessionGone as gone:
                wait = gone.failure.wait_ms(attempt)
                if wait is None:
                    break
                self.host.sleep(wait)
                continue
            self.provider_id = session.provider_id
            self.session = session
            return
        raise Refused("the provider does not keep its sessions")

    def _load(self, session, info_id, list_id, cached):
        """3.3: the revision is checked in each new session; only an equal one lets the cached list stand."""
        if cached:
            listing = session.read("list_tools", list_id)
            revision = check_revision(listing)
            if revision == self.revision:
                return
            info = session.read("get_provider_info", info_id)
        else:
            info = session.read("get_provider_info", info_id)
            listing = session.read("list_tools", list_id)
            revision = check_revision(listing)
        check_provider_info(info, self.package, session.provider_id)
        self.tools = check_tools(listing, check_v2_tool)
        self.revision = revision
