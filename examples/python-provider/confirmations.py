"""What only the user can decide: confirmations and authorizations in the provider's own UI (section 4.3).

A confirmation and its resume_token are bound to the caller, the tool, the exact bytes of the arguments, the request_id
and a validity.  While the user has not decided, the same request gets the same pair of PendingIntent and token again:
asking early spends nothing.  Once decided, the decision stands.
"""

import secrets

import strict_json
import values
from errors import ProtocolError, invalid_request

VALID_MS = 300_000
# How long an authorization holds that the user gave here (section 7.1 binds a grant to a validity).
CONSENT_MS = 30 * 86_400_000
TOKEN_BYTES = 32

ACTION = "action"
AUTHORIZATION = "authorization"
_ASKING = {
    ACTION: ("USER_ACTION_REQUIRED", "Confirm this action in the app."),
    AUTHORIZATION: ("AUTH_REQUIRED", "Allow this access in the app."),
}


def user_cancelled():
    return ProtocolError("USER_CANCELLED", "The user declined.")


class Confirmations:
    def __init__(self, store, clock, authorization, executions, package, uid):
        self._store = store
        self._clock = clock
        self._authorization = authorization
        self._executions = executions
        self._package = package
        self._uid = uid

    # the protocol's side

    def presented(self, request):
        """The confirmation whose token the request carries; INVALID_REQUEST for a token that is not this request's.

        A spent token is accepted here for the identical request only, which then gets its stored result; the caller
        of this method never lets it confirm anything again (see `spend`).
        """
        row = self._store.row("SELECT * FROM confirmations WHERE resume_token = ?", request.resume_token)
        if row is None or not self._belongs(row, request) or not (row["spent"] or self._valid(row)):
            raise invalid_request("resume_token does not belong to this request, or has expired.")
        return row

    def latest(self, request, kind):
        """The newest confirmation of exactly this request, in whatever state."""
        for row in self._store.rows(
            "SELECT * FROM confirmations WHERE uid = ? AND request_id = ? AND kind = ? ORDER BY id DESC",
            request.identity.uid,
            request.request_id,
            kind,
        ):
            if self._belongs(row, request):
                return row
        return None

    def require(self, request, kind, scopes, texts):
        """Ends in an error unless the request presents a token whose confirmation the user has approved.

        Without the token an approval is of no use (4.3: the original call is repeated *with* resume_token).  A denial
        stays one for this request_id, with or without it.
        """
        previous = self.latest(request, kind)
        if previous is not None:
            if previous["decision"] == "denied":
                raise user_cancelled()
            approved = previous["decision"] == "approved"
            if self._valid(previous) and not previous["spent"]:
                if kind == ACTION and approved and previous["resume_token"] == request.resume_token:
                    return previous
                # An authorization that was approved and is missing all the same was withdrawn since: ask anew.
                if kind == ACTION or not approved:
                    raise self._ask(previous)
        raise self._ask(self._create(request, kind, scopes, texts))

    @staticmethod
    def spend(tx, confirmation):
        """In the transaction of the effect: a token confirms once, and it is spent exactly if the effect is there."""
        changed = tx.execute("UPDATE confirmations SET spent = 1 WHERE id = ? AND spent = 0", (confirmation["id"],))
        if changed.rowcount != 1:
            raise invalid_request("resume_token has been used.")

    def _belongs(self, row, request):
        return (
            row["uid"] == request.identity.uid
            and row["identity"] == request.identity.key
            and row["request_id"] == request.request_id
            and row["tool"] == request.tool_name
            and row["args_sha256"] == request.args_sha256
        )

    def _valid(self, row):
        return self._clock.now_ms() < row["expires_at_ms"]

    def _create(self, request, kind, scopes, texts):
        with self._store.transaction() as tx:
            if kind == ACTION:
                # From here on the request_id stands for this tool and these arguments (section 6).
                self._executions.reserve(tx, request)
            row_id = tx.execute(
                "INSERT INTO confirmations (resume_token, kind, uid, identity, request_id, tool, args_sha256, scopes,"
                " texts, expires_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    secrets.token_urlsafe(TOKEN_BYTES),
                    kind,
                    request.identity.uid,
                    request.identity.key,
                    request.request_id,
                    request.tool_name,
                    request.args_sha256,
                    strict_json.dumps(scopes),
                    strict_json.dumps(texts),
                    self._clock.now_ms() + VALID_MS,
                ),
            ).lastrowid
        return self._store.row("SELECT * FROM confirmations WHERE id = ?", row_id)

    def _ask(self, row):
        code, message = _ASKING[row["kind"]]
        # Explicit (it names a component of this very package) and immutable (sections 4.3 and 7.2).  The id stands for
        # a request code of its own: PendingIntents that differ in extras only would be one and the same.
        pending_intent = {
            "id": f"pi-{row['id']}",
            "creator_package": self._package,
            "creator_uid": self._uid,
            "immutable": True,
            "explicit": True,
            "component": f"{self._package}/{self._package}.ConfirmationActivity",
        }
        bundle = {
            "resolution": values.Value("pending_intent", pending_intent),
            "resume_token": values.string(row["resume_token"]),
        }
        return ProtocolError(code, message, bundle=bundle)

    # the side of the provider's Activity

    def texts(self, pending_intent):
        """What the Activity shows, or None for a PendingIntent that never was."""
        row = self._find(pending_intent)
        return None if row is None else strict_json.loads(row["texts"])

    def decide(self, pending_intent, approved):
        """The user's decision; returns whether there was anything to decide on.  The Activity finishes either way.

        The first decision stands, and after the validity nothing happens.  A refusal to act is the terminal result of
        that execution; it is stored at once, so no later repeat can turn it into a success.
        """
        row = self._find(pending_intent)
        if row is None:
            return False
        with self._store.transaction() as tx:
            decided = tx.execute(
                "UPDATE confirmations SET decision = ?, spent = ? WHERE id = ? AND decision IS NULL"
                " AND expires_at_ms > ?",
                ("approved" if approved else "denied", not approved, row["id"], self._clock.now_ms()),
            )
            if decided.rowcount == 1:
                scopes = strict_json.loads(row["scopes"])
                if approved and row["kind"] == AUTHORIZATION:
                    expires = self._clock.now_ms() + CONSENT_MS
                    self._authorization.grant(tx, row["uid"], row["identity"], scopes, expires)
                if not approved and row["kind"] == ACTION:
                    self._executions.finish(
                        tx, row["uid"], row["request_id"], row["tool"], "user_denied", error=user_cancelled()
                    )
                else:
                    decision = "user_approved" if approved else "user_denied"
                    self._store.audit(row["uid"], row["tool"], row["request_id"], decision, row["kind"], tx)
        return True

    def _find(self, pending_intent):
        number = pending_intent.removeprefix("pi-")
        if not pending_intent.startswith("pi-") or not number.isdecimal() or len(number) > 15:
            return None
        return self._store.row("SELECT * FROM confirmations WHERE id = ?", int(number))

    @staticmethod
    def forget_expired(tx, before_ms):
        tx.execute("DELETE FROM confirmations WHERE expires_at_ms < ?", (before_ms,))
