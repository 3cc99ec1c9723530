//! Keys by which reports are signed. The main types are [`PrivateKey`] and [`PublicKey`].
//!
//! They are Ed25519 keys in the PEM forms of `openssl genpkey -algorithm ed25519`: PKCS#8 and SPKI. A key is known by its
//! OpenSSH fingerprint. A private key is shown nowhere; not even its debug form tells it.

use crate::error::ReportError;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, KeypairBytes};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};
use std::fmt;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// A key that signs.
pub struct PrivateKey(SigningKey);

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.public().fingerprint())
    }
}

/// Names of environment variables that may hold a key begin with this: no target ever sees such a variable.
pub const VARIABLE_PREFIX: &str = "CETP_";

impl PrivateKey {
    /// A new key.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn generate() -> Result<PrivateKey, ReportError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)
            .map_err(|error| ReportError::Key { what: "a new key".into(), message: error.to_string() })?;
        Ok(PrivateKey(SigningKey::from_bytes(&seed)))
    }

    /// Reads a PKCS#8 PEM. `what` says where it came from.
    ///
    /// # Errors
    /// It is none of Ed25519. The message never holds any of the text.
    pub fn from_pem(text: &str, what: &str) -> Result<PrivateKey, ReportError> {
        // What the decoder says may quote the input.
        SigningKey::from_pkcs8_pem(text.trim()).map(PrivateKey).map_err(|_| ReportError::Key {
            what: what.to_owned(),
            message: "is no private key as `openssl genpkey -algorithm ed25519` writes it (PKCS#8 PEM)".into(),
        })
    }

    /// Reads the key that an argument names: `env:CETP_NAME` is a variable that holds the PEM, anything else a file that
    /// nobody else may read.
    ///
    /// # Errors
    /// There is none, it is none of Ed25519, or others can read it.
    pub fn from_argument(argument: &str) -> Result<PrivateKey, ReportError> {
        let wrong = |message: &str| ReportError::Key { what: argument.to_owned(), message: message.to_owned() };
        if let Some(name) = argument.strip_prefix("env:") {
            if !name.starts_with(VARIABLE_PREFIX) {
                return Err(wrong("the name of the variable must begin with CETP_, so that no target can see it"));
            }
            let text = std::env::var(name).map_err(|_| wrong("there is no such environment variable"))?;
            return PrivateKey::from_pem(&text, argument);
        }
        let path = Path::new(argument);
        let metadata = std::fs::metadata(path).map_err(ReportError::file(path))?;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(wrong("others can read this private key; `chmod 600` makes it yours alone"));
        }
        PrivateKey::from_pem(&std::fs::read_to_string(path).map_err(ReportError::file(path))?, argument)
    }

    /// Writes the PKCS#8 PEM into a new file that only its owner can read.
    ///
    /// # Errors
    /// There is such a file already, or it cannot be written.
    pub fn write_new(&self, path: &Path) -> Result<(), ReportError> {
        let failed = |message: String| ReportError::Key { what: path.display().to_string(), message };
        // Version 1, without the public key: older readers know no other.
        let bytes = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        let pem = bytes.to_pkcs8_pem(LineEnding::LF).map_err(|error| failed(error.to_string()))?;
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(ReportError::file(path))?;
        file.write_all(pem.as_bytes()).and_then(|()| file.sync_all()).map_err(ReportError::file(path))
    }

    /// The key by which others check.
    pub fn public(&self) -> PublicKey {
        PublicKey { key: self.0.verifying_key(), label: None }
    }

    /// Signs with pure Ed25519.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

/// A key that checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    key: VerifyingKey,
    /// Whose it is, where the file said it before the key.
    pub label: Option<String>,
}

const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const END: &str = "-----END PUBLIC KEY-----";

impl PublicKey {
    /// Reads the only key of an SPKI PEM.
    ///
    /// # Errors
    /// There is none, or more than one, or it is none of Ed25519.
    pub fn from_pem(text: &str, what: &str) -> Result<PublicKey, ReportError> {
        match PublicKey::list_from_pem(text, what)?.as_slice() {
            [key] => Ok(key.clone()),
            list => {
                let message = format!("holds {} keys, and one was expected", list.len());
                Err(ReportError::Key { what: what.to_owned(), message })
            }
        }
    }

    /// Reads every key of a file: SPKI PEMs one after another. The line before a key says whose it is.
    ///
    /// # Errors
    /// There is none, or one that is none of Ed25519.
    pub fn list_from_pem(text: &str, what: &str) -> Result<Vec<PublicKey>, ReportError> {
        let wrong = |message: &str| ReportError::Key { what: what.to_owned(), message: message.to_owned() };
        if text.contains("PRIVATE KEY") {
            return Err(wrong("is a private key; the public one is wanted here"));
        }
        let mut keys = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(BEGIN) {
            let (body, tail) = after.split_once(END).ok_or_else(|| wrong("a key has no end"))?;
            let pem = format!("{BEGIN}{body}{END}\n");
            let key = VerifyingKey::from_public_key_pem(&pem)
                .map_err(|_| wrong("holds what is no public Ed25519 key in PEM (SPKI)"))?;
            if key.is_weak() {
                return Err(wrong("holds a key of small order, which proves nothing"));
            }
            let label = before.lines().rev().map(|line| line.trim_start_matches('#').trim()).find(|l| !l.is_empty());
            keys.push(PublicKey { key, label: label.map(str::to_owned) });
            rest = tail;
        }
        if keys.is_empty() {
            return Err(wrong("holds no public key in PEM"));
        }
        Ok(keys)
    }

    /// The SPKI PEM.
    ///
    /// # Errors
    /// Never with a key of the right length; the encoder's own word is passed on.
    pub fn to_pem(&self) -> Result<String, ReportError> {
        self.key
            .to_public_key_pem(LineEnding::LF)
            .map_err(|error| ReportError::Key { what: self.fingerprint(), message: error.to_string() })
    }

    /// The OpenSSH fingerprint: `SHA256:…`.
    pub fn fingerprint(&self) -> String {
        let mut wire = Vec::new();
        for part in [b"ssh-ed25519".as_slice(), self.key.as_bytes()] {
            wire.extend(u32::try_from(part.len()).unwrap_or_default().to_be_bytes());
            wire.extend(part);
        }
        format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(wire)))
    }

    /// Whether a signature in padded standard base64 is this key's. The strict check: no malleable form passes.
    pub fn accepts(&self, message: &[u8], signature: &str) -> bool {
        let bytes = STANDARD.decode(signature).ok().and_then(|bytes| <[u8; 64]>::try_from(bytes).ok());
        bytes.is_some_and(|bytes| self.key.verify_strict(message, &Signature::from_bytes(&bytes)).is_ok())
    }
}
