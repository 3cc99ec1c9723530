"""Verifies report.dsse.json with securesystemslib and in-toto: `envelope.py DIR PUB.pem KEYID`.

A changed envelope must be refused. The statement is checked against the rules of in-toto that verifiers insist on.
"""

import base64
import hashlib
import json
import pathlib
import sys

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from in_toto.models.metadata import Envelope as InTotoEnvelope
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

folder, pem, keyid = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
key = SSlibKey.from_crypto(load_pem_public_key(pem.read_bytes()), keyid=keyid)
written = (folder / "report.dsse.json").read_text()

# Reading takes its argument apart, so each reader gets one of its own.
envelope = Envelope.from_dict(json.loads(written))
assert list(envelope.verify([key], 1)) == [keyid]
InTotoEnvelope.load(folder / "report.dsse.json").verify_signature({"keyid": keyid, **key.to_dict()})


def accepted(changed):
    try:
        Envelope.from_dict(changed).verify([key], 1)
    except Exception:  # whatever it says: it is not accepted
        return False
    return True


for place in ("payload", "sig"):
    changed = json.loads(written)
    holder = changed if place == "payload" else changed["signatures"][0]
    content = bytearray(base64.b64decode(holder[place]))
    content[len(content) // 2] ^= 1
    holder[place] = base64.b64encode(bytes(content)).decode()
    assert not accepted(changed), f"a changed {place} was accepted"

statement = json.loads(envelope.payload)
assert envelope.payload_type == "application/vnd.in-toto+json"
assert set(statement) == {"_type", "subject", "predicateType", "predicate"}
assert statement["_type"] == "https://in-toto.io/Statement/v1"
assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
assert statement["subject"]
for subject in statement["subject"]:
    assert set(subject) == {"name", "digest"} and subject["name"] and len(subject["digest"]["sha256"]) == 64
predicate = statement["predicate"]
assert predicate["result"] in ("PASSED", "WARNED", "FAILED")
for resource in predicate["configuration"]:
    assert resource["name"] and len(resource["digest"]["sha256"]) == 64
for tests in ("passedTests", "warnedTests", "failedTests"):
    assert all(isinstance(name, str) for name in predicate[tests])
digest = hashlib.sha256((folder / "report.json").read_bytes()).hexdigest()
assert {"name": "report.json", "digest": {"sha256": digest}} in predicate["configuration"]
print("securesystemslib and in-toto accept the envelope, and refuse a changed one")
