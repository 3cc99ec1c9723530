//! `negotiate` from the consumer's side (§2.2, §2.3). The main type is [`Session`].

use super::context::Context;
use super::distort;
use super::limits::{
    LEAST_CONCURRENT_REQUESTS, LEAST_IDEMPOTENCY_WINDOW_SECONDS, LEAST_INLINE_RESULT_BYTES, LEAST_REQUEST_BYTES,
    MAX_IN_FLIGHT, MAX_NAME_CHARS, MAX_PROVIDER_ID_BYTES, MAX_TOKEN_BYTES, VERSIONS,
};
use super::outcome::Ending;
use super::switches::Leeway;
use super::text::shown;
use crate::envelope::key;
use crate::lock;
use crate::session::{Capabilities, Capability};
use cetp_vectors::bundle::{Bundle, Value};
use serde_json::{Value as Json, json};
use std::sync::{Condvar, Mutex, PoisonError};

/// What was agreed on with a provider.
#[derive(Debug)]
pub struct Session {
    /// Only ever sent back.
    pub token: String,
    /// What both sides can: an optional method is called, and an optional answer taken, only with its capability.
    pub capabilities: Capabilities,
    /// The provider's limits.
    pub limits: Limits,
    /// From then on the token is worth nothing.
    pub expires_ms: Option<i64>,
    /// Calls that are in flight.
    slots: Slots,
}

/// `limits` (§2.2). None of them makes the consumer hold as much: its own limits stand beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of `args`, in UTF-8 bytes.
    pub max_request_bytes: u64,
    /// Of `data`, in UTF-8 bytes.
    pub max_inline_result_bytes: u64,
    /// Calls at a time.
    pub max_concurrent_requests: u64,
}

/// A reply to `negotiate`, checked.
#[derive(Debug)]
pub struct Negotiated {
    /// Who the provider says it is.
    pub provider_id: String,
    /// For people.
    pub provider_name: String,
    /// The session.
    pub session: Session,
}

/// The extras of `negotiate`.
pub fn offer(cx: Context<'_>) -> Bundle {
    let versions = if cx.leeway(Leeway::OffersTwoOnly) { &VERSIONS[..1] } else { &VERSIONS };
    Bundle::new()
        .with(key::CONSUMER_VERSIONS, Value::IntArray(versions.to_vec()))
        .with(key::CONSUMER_CAPABILITIES, Value::string(json!(cx.capabilities.names()).to_string()))
}

impl Negotiated {
    /// Checks `data` of the reply of a provider of a package.
    ///
    /// # Errors
    /// What is missing or wrong. A provider that declares version 2 is then disabled (§8).
    pub fn read(cx: Context<'_>, package: &str, data: &Json) -> Result<Negotiated, Ending> {
        let wrong = |what: &str| Ending::refused(format!("The negotiation failed: {what}"));
        let text = |member: &str| data[member].as_str().ok_or_else(|| wrong(&format!("{member} is no text")));
        // Version 1 is never agreed on: who declares version 2 is not used in another one (§8).
        if data["selected_version"].as_i64() != Some(2) {
            return Err(wrong("version 2 was not selected"));
        }
        let provider_id = text("provider_id")?;
        if !distort::is_in_namespace(cx, provider_id, package, is_in_namespace(provider_id, package)) {
            return Err(wrong("provider_id is outside of the package"));
        }
        let provider_name = shown(text("provider_name")?, MAX_NAME_CHARS);
        let token = text("session_token")?;
        if token.is_empty() || token.len() > MAX_TOKEN_BYTES && !distort::token_is_taken(cx, token) {
            return Err(wrong("session_token is empty or too long"));
        }
        let names: Option<Vec<&str>> =
            data["capabilities"].as_array().and_then(|names| names.iter().map(Json::as_str).collect());
        let names = names.ok_or_else(|| wrong("capabilities is no list of texts"))?;
        // What was not offered is ignored, and so never used (§2.3).
        let granted: Capabilities = Capability::ALL.into_iter().filter(|one| names.contains(&one.name())).collect();
        let limits = Limits::read(cx, &data["limits"]).map_err(|what| wrong(&what))?;
        Ok(Negotiated {
            provider_id: provider_id.to_owned(),
            provider_name,
            session: Session {
                token: token.to_owned(),
                capabilities: granted.and(cx.capabilities),
                limits,
                expires_ms: expiry(cx, &data["expires_at"]).map_err(wrong)?,
                slots: Slots { most: limits.max_concurrent_requests.min(MAX_IN_FLIGHT), ..Slots::default() },
            },
        })
    }
}

impl Session {
    /// Whether a capability was negotiated.
    pub fn can(&self, capability: Capability) -> bool {
        self.capabilities.has(capability)
    }

    /// Waits until one more call may be in flight (§2.2); it is until the answer is dropped.
    pub fn enter(&self) -> Entered<'_> {
        let mut taken = lock(&self.slots.taken);
        while *taken >= self.slots.most {
            taken = self.slots.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += 1;
        Entered(&self.slots)
    }
}

#[derive(Debug, Default)]
struct Slots {
    most: u64,
    taken: Mutex<u64>,
    freed: Condvar,
}

/// A call in flight.
pub struct Entered<'s>(&'s Slots);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        *lock(&self.0.taken) -= 1;
        self.0.freed.notify_one();
    }
}

impl Limits {
    /// A limit that is not there is at its minimum, as the provider must not have a lower one.
    fn read(cx: Context<'_>, limits: &Json) -> Result<Limits, String> {
        let limits = limits.as_object().ok_or("limits is no object")?;
        let limit = |name: &str, least: u64| match limits.get(name) {
            None => Ok(least),
            Some(value) => match value.as_u64() {
                None => Err(format!("{name} is no positive integer")),
                Some(value) if value < least && (value == 0 || !cx.leeway(Leeway::LowLimitObeyed)) => {
                    Err(format!("{name} is lower than allowed"))
                }
                Some(value) => Ok(value),
            },
        };
        limit("idempotency_window_seconds", LEAST_IDEMPOTENCY_WINDOW_SECONDS)?;
        Ok(Limits {
            max_request_bytes: limit("max_request_bytes", LEAST_REQUEST_BYTES)?,
            max_inline_result_bytes: limit("max_inline_result_bytes", LEAST_INLINE_RESULT_BYTES)?,
            max_concurrent_requests: limit("max_concurrent_requests", LEAST_CONCURRENT_REQUESTS)?,
        })
    }
}

/// `expires_at` is optional. One in the past cannot be meant, as the session was just made: the two clocks differ. Then
/// the provider's NEGOTIATION_REQUIRED will tell.
fn expiry(cx: Context<'_>, expires_at: &Json) -> Result<Option<i64>, &'static str> {
    match expires_at {
        Json::Null => Ok(None),
        Json::String(text) => {
            let instant: jiff::Timestamp = text.parse().map_err(|_| "expires_at is no instant")?;
            Ok(Some(instant.as_millisecond()).filter(|ms| *ms > cx.platform.now_ms()))
        }
        _ => Err("expires_at is no text"),
    }
}

/// §3.1: a `provider_id` is the package's name or lies in its namespace. Every part of it is a plain word, so that none
/// can look like another one.
pub fn is_in_namespace(provider_id: &str, package: &str) -> bool {
    let word = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let of_package = provider_id.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    of_package && provider_id.len() <= MAX_PROVIDER_ID_BYTES && provider_id.split('.').all(word)
}

#[cfg(test)]
mod tests {
    use super::is_in_namespace;

    #[test]
    fn a_namespace_ends_at_a_dot() {
        assert!(is_in_namespace("com.a", "com.a"));
        assert!(is_in_namespace("com.a.B_1", "com.a"));
        for id in
            ["com.ab", "com", "com.a.", "com.a..b", "com.A", "com.a.\u{202e}b", "com.a.1", "com.a b", "", "com.a.-"]
        {
            assert!(!is_in_namespace(id, "com.a"), "{id}");
        }
        assert!(!is_in_namespace(&format!("com.a.{}", "b".repeat(300)), "com.a"));
    }
}
