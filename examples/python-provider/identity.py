"""Who calls, and what that caller may do (section 7.1).

An identity is the calling UID together with *all* packages of that UID and their signing certificates.  On Android the
UID comes from `Binder.getCallingUid()`, taken synchronously at the entry of `ContentProvider.call()`, and the rest from
the package manager; a name or a "caller" field in extras or arguments is never looked at.
"""

import json
import re
from typing import NamedTuple

from values import WireError

_DIGEST = re.compile(r"[0-9a-fA-F]+")


class Package(NamedTuple):
    name: str
    signers: tuple  # digests of the current signing certificates
    history: frozenset  # digests that an earlier certificate of a rotated key had


class Identity(NamedTuple):
    uid: int
    packages: tuple

    @property
    def key(self):
        """Canonical text that a grant is bound to: every package with every current signer, in a fixed order."""
        return json.dumps([[package.name, package.signers] for package in self.packages])

    def succeeds(self, key):
        """Whether this identity is that of `key` after a rotation of keys, which section 7.1 lets a provider accept.

        Every package must be there under the same name, signed by the same certificates or by one whose history holds
        the single certificate of then.  A package that joined the UID makes it another identity.
        """
        granted = json.loads(key)
        return len(granted) == len(self.packages) and all(
            package.name == name
            and (list(package.signers) == signers or (len(signers) == 1 and signers[0] in package.history))
            for package, (name, signers) in zip(self.packages, granted)
        )


def decode_caller(raw):
    """A caller of the wire format, as the platform would report it."""
    if not isinstance(raw, dict) or type(raw.get("uid")) is not int or not isinstance(raw.get("packages"), list):
        raise WireError("a caller has a uid and packages")
    if not 0 <= raw["uid"] < 2**31:
        raise WireError("a uid is a positive Int")
    packages = []
    for package in raw["packages"]:
        if not isinstance(package, dict) or not isinstance(package.get("name"), str):
            raise WireError("a package has a name")
        signers = _digests(package.get("signing_sha256", []))
        packages.append(Package(package["name"], tuple(sorted(signers)), _digests(package.get("history_sha256", []))))
    return Identity(raw["uid"], tuple(sorted(packages, key=lambda package: package.name)))


def _digests(raw):
    if not isinstance(raw, list) or not all(isinstance(digest, str) and _DIGEST.fullmatch(digest) for digest in raw):
        raise WireError("certificates are hex digests")
    return frozenset(digest.lower() for digest in raw)


class Authorization:
    """Grants of scopes.  They are looked up at every call (section 7.2); nothing about them lives in a session."""

    def __init__(self, store, clock, default_scopes):
        self._store = store
        self._clock = clock
        self._default_scopes = default_scopes
        self._known_uids = set()

    def forget(self):
        self._known_uids.clear()

    def admit(self, identity):
        """A rule of the fixture: the first identity of each UID holds the default scopes, any later one nothing.

        What has been granted or withdrawn explicitly before that stays as it is.
        """
        if identity.uid in self._known_uids or not identity.packages:
            return
        with self._store.transaction() as tx:
            first = tx.execute("INSERT OR IGNORE INTO known_uids VALUES (?)", (identity.uid,)).rowcount == 1
            if first:
                tx.executemany(
                    "INSERT OR IGNORE INTO grants VALUES (?, ?, ?, 1, NULL)",
                    [(identity.uid, identity.key, scope) for scope in self._default_scopes],
                )
        self._known_uids.add(identity.uid)

    def missing(self, identity, scopes):
        """Those of `scopes` that the caller does not hold now.  A caller without any package holds nothing."""
        key = identity.key
        now = self._clock.now_ms()
        own, inherited = {}, {}
        for row in self._store.rows("SELECT * FROM grants WHERE uid = ?", identity.uid) if identity.packages else ():
            valid = bool(row["granted"]) and (row["expires_at_ms"] is None or now < row["expires_at_ms"])
            if row["identity"] == key:
                own[row["scope"]] = valid
            elif identity.succeeds(row["identity"]):
                inherited[row["scope"]] = inherited.get(row["scope"], False) or valid
        # What is said about this very identity, a withdrawal included, outweighs what a rotation lets it inherit.
        holds = {**inherited, **own}
        return [scope for scope in scopes if not holds.get(scope, False)]

    def grant(self, tx, uid, identity_key, scopes, expires_at_ms):
        self._put(tx, uid, identity_key, scopes, 1, expires_at_ms)

    def withdraw(self, tx, uid, identity_key, scopes):
        self._put(tx, uid, identity_key, scopes, 0, None)

    @staticmethod
    def _put(tx, uid, identity_key, scopes, granted, expires_at_ms):
        tx.executemany(
            "INSERT OR REPLACE INTO grants VALUES (?, ?, ?, ?, ?)",
            [(uid, identity_key, scope, granted, expires_at_ms) for scope in scopes],
        )
