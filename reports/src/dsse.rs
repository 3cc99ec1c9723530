//! The signed envelope. The main type is [`Envelope`], which is `report.dsse.json`.
//!
//! DSSE: what is signed is not the payload but its PAE, `DSSEv1 SP LEN(type) SP type SP LEN(body) SP body`.

use crate::error::ReportError;
use crate::key::{PrivateKey, PublicKey};
use crate::read;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// The only payload type.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// A DSSE envelope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// What is signed, in padded standard base64.
    pub payload: String,
    /// [`PAYLOAD_TYPE`].
    #[serde(rename = "payloadType")]
    pub payload_type: String,
    /// The signatures.
    pub signatures: Vec<Signed>,
}

/// One signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// The OpenSSH fingerprint of the key.
    pub keyid: String,
    /// The signature in padded standard base64.
    pub sig: String,
}

/// The bytes that are signed.
pub fn pae(payload_type: &str, body: &[u8]) -> Vec<u8> {
    let mut out = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), body.len()).into_bytes();
    out.extend(body);
    out
}

impl Envelope {
    /// Signs a payload.
    pub fn sign(payload: &[u8], key: &PrivateKey) -> Envelope {
        let sig = STANDARD.encode(key.sign(&pae(PAYLOAD_TYPE, payload)));
        Envelope {
            payload: STANDARD.encode(payload),
            payload_type: PAYLOAD_TYPE.into(),
            signatures: vec![Signed { keyid: key.public().fingerprint(), sig }],
        }
    }

    /// Reads an envelope strictly.
    ///
    /// # Errors
    /// It is no JSON, or has other members than an envelope.
    pub fn read(text: &[u8]) -> Result<Envelope, ReportError> {
        read::strict(text, "report.dsse.json")
    }

    /// The payload and the key that signed it, which is one of `keys`.
    ///
    /// # Errors
    /// What does not fit: the type, the encoding, the key's name, or the signature.
    pub fn open<'k>(&self, keys: &'k [PublicKey]) -> Result<(Vec<u8>, &'k PublicKey), ReportError> {
        let wrong = |message: String| Err(ReportError::Signature(message));
        if self.payload_type != PAYLOAD_TYPE {
            return wrong(format!("the envelope's payloadType is {:?}, not {PAYLOAD_TYPE:?}", self.payload_type));
        }
        let Ok(payload) = STANDARD.decode(&self.payload) else {
            return wrong("the envelope's payload is no padded standard base64".into());
        };
        if self.signatures.is_empty() {
            return wrong("the envelope has no signature".into());
        }
        let message = pae(&self.payload_type, &payload);
        for signed in &self.signatures {
            let Some(key) = keys.iter().find(|key| key.fingerprint() == signed.keyid) else { continue };
            return if key.accepts(&message, &signed.sig) {
                Ok((payload, key))
            } else {
                wrong(format!(
                    "the signature of {} does not fit the envelope: one of the two was changed",
                    signed.keyid
                ))
            };
        }
        let names: Vec<&str> = self.signatures.iter().map(|signed| signed.keyid.as_str()).collect();
        wrong(format!("the envelope is signed by {}, which is none of the keys that were given", names.join(", ")))
    }

    /// Whether the payload is this, whoever signed it.
    pub fn is_about(&self, payload: &[u8]) -> bool {
        STANDARD.decode(&self.payload).is_ok_and(|signed| signed == payload)
    }

    /// A Sigstore bundle (v0.3) of this envelope, for verifiers that want one. The key is named by its fingerprint.
    pub fn to_bundle(&self) -> serde_json::Value {
        let hint = self.signatures.first().map(|signed| signed.keyid.as_str()).unwrap_or_default();
        serde_json::json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": { "publicKey": { "hint": hint }, "tlogEntries": [] },
            "dsseEnvelope": self,
        })
    }
}
