"""Negotiation and sessions (section 2.2).

Sessions live in memory: a token may become invalid when the process restarts, and then says NEGOTIATION_REQUIRED like
any other token that is not (or no longer) known.  Nothing else depends on them, least of all deduplication (section 6).
"""

import secrets
import threading
from collections import OrderedDict
from datetime import datetime, timezone
from typing import NamedTuple

import envelope
import strict_json
from errors import ProtocolError, invalid_request

TOKEN_BYTES = 32  # 256 random bits, 43 characters
VALID_MS = 3_600_000
# More sessions of one caller than this displace its oldest ones: a local limit (section 2.2), far above any real use.
MAX_SESSIONS_PER_UID = 1024

LIMITS = {
    "max_request_bytes": 65_536,
    "max_inline_result_bytes": 262_144,
    "max_concurrent_requests": 16,
    "idempotency_window_seconds": 86_400,
}


class Session(NamedTuple):
    uid: int
    version: int
    capabilities: frozenset
    expires_at_ms: int


class Sessions:
    def __init__(self, clock, versions):
        self._clock = clock
        self._versions = versions
        self._lock = threading.Lock()
        self._by_uid = {}

    def negotiate(self, uid, extras, catalogue):
        """The data of a successful `negotiate`."""
        offered = extras.required("consumer_versions", "int_array")
        wanted = envelope.parse_json(extras.required("consumer_capabilities", "string"), "consumer_capabilities")
        if not isinstance(wanted, list) or not all(isinstance(name, str) for name in wanted):
            raise invalid_request("consumer_capabilities is not an array of strings.")

        # The highest common version, whatever the order of the list: an order that is not descending must not lead to a
        # lower version.  Nothing in common is an error and never a guess.
        common = set(offered).intersection(self._versions)
        if not common:
            raise ProtocolError("UNSUPPORTED_VERSION", "There is no protocol version that both sides support.")
        version = max(common)

        # Unknown names are left out.  Version 1 knows no capabilities.
        capabilities = [name for name in catalogue.capabilities if name in wanted] if version >= 2 else []
        expires_at_ms = self._clock.now_ms() + VALID_MS
        token = self._open(Session(uid, version, frozenset(capabilities), expires_at_ms))
        reply = {
            "selected_version": version,
            "provider_id": catalogue.provider_id,
            "provider_name": catalogue.provider_name,
            "session_token": token,
            "expires_at": _instant(expires_at_ms),
            "capabilities": capabilities,
            "limits": LIMITS,
        }
        if reply["expires_at"] is None:
            del reply["expires_at"]
        return strict_json.dumps(reply)

    def _open(self, session):
        token = secrets.token_urlsafe(TOKEN_BYTES)
        with self._lock:
            sessions = self._by_uid.setdefault(session.uid, OrderedDict())
            sessions[token] = session
            if len(sessions) > MAX_SESSIONS_PER_UID:
                sessions.popitem(last=False)
        return token

    def find(self, uid, extras):
        """The session of a v2 call.

        Tokens are kept by UID, so one that belongs to another UID is simply unknown: the answer discloses nothing.  A
        token that was negotiated for version 1 is none for version 2.
        """
        token = extras.typed("session_token", "string")
        if token is not None:
            with self._lock:
                session = self._by_uid.get(uid, {}).get(token)
            if session is not None and session.version == 2 and self._clock.now_ms() < session.expires_at_ms:
                return session
        raise ProtocolError("NEGOTIATION_REQUIRED", "The session is missing or has ended; negotiate again.")

    def end_all(self):
        """Section 2.3: when the meaning of a capability changes, no old token goes on."""
        with self._lock:
            self._by_uid.clear()


def _instant(epoch_ms):
    """RFC 3339, or None where the calendar of that form ends (the year 9999); expires_at is optional."""
    try:
        moment = datetime.fromtimestamp(epoch_ms // 1000, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{epoch_ms % 1000:03d}Z"
