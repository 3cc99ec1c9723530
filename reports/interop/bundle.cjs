// Verifies a Sigstore bundle with @sigstore/verify and a public key: `node bundle.cjs BUNDLE PUB.pem KEYID`.
// A bundle with a byte of its payload or signature changed must be refused.
"use strict";
const fs = require("node:fs");
const crypto = require("node:crypto");
const { bundleFromJSON } = require("@sigstore/bundle");
const { Verifier, toSignedEntity, toTrustMaterial } = require("@sigstore/verify");

const [file, pem, keyid] = process.argv.slice(2);
const json = JSON.parse(fs.readFileSync(file, "utf8"));
const rawBytes = crypto.createPublicKey(fs.readFileSync(pem)).export({ type: "spki", format: "der" });
const root = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
const trust = toTrustMaterial(root, { [keyid]: { rawBytes, keyDetails: 7, validFor: { start: new Date(0) } } });
const options = { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0, tsaThreshold: 0 };

function verify(bundle) {
  new Verifier(trust, options).verify(toSignedEntity(bundleFromJSON(bundle)));
}

verify(json);
const changed = (change) => {
  const copy = structuredClone(json);
  change(copy.dsseEnvelope);
  try {
    verify(copy);
  } catch {
    return;
  }
  throw new Error("a changed bundle was accepted");
};
const flip = (text) => {
  const bytes = Buffer.from(text, "base64");
  bytes[bytes.length >> 1] ^= 1;
  return bytes.toString("base64");
};
changed((envelope) => { envelope.payload = flip(envelope.payload); });
changed((envelope) => { envelope.signatures[0].sig = flip(envelope.signatures[0].sig); });
console.log("@sigstore/verify accepts the bundle, and refuses a changed one");
