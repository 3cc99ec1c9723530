//! Every limit of the provider, each with its reason. The ones that are negotiated are in [`Negotiated`].

use crate::switches::{Leeway, Switches};

/// What a session is told and held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// §2.2: at least 65,536. Counted in UTF-8 bytes of `args` (§4.1).
    pub max_request_bytes: usize,
    /// §2.2: at least 262,144. Counted in UTF-8 bytes of `data` as it is sent (§4.5).
    pub max_inline_result_bytes: usize,
    /// §2.2: at least 1. So many calls of a session are worked on at a time, more wait their turn.
    pub max_concurrent_requests: usize,
}

/// The limits of this provider.
const USUAL: Negotiated =
    Negotiated { max_request_bytes: 65_536, max_inline_result_bytes: 262_144, max_concurrent_requests: 4 };

/// The limits of a provider with these switches.
pub fn of(switches: &Switches) -> Negotiated {
    if switches.leeway(Leeway::OneCallAtATime) {
        return Negotiated { max_concurrent_requests: 1, ..USUAL };
    }
    if switches.leeway(Leeway::HugeInlineLimit) {
        return Negotiated { max_inline_result_bytes: 20_000_000, ..USUAL };
    }
    if switches.leeway(Leeway::OtherLimits) {
        return Negotiated { max_request_bytes: 100_000, max_inline_result_bytes: 300_001, max_concurrent_requests: 1 };
    }
    USUAL
}

/// §2.2, §6: at least 86,400 s.
pub const IDEMPOTENCY_WINDOW_SECONDS: i64 = 86_400;

/// How long records and operations are kept, from the first arrival: an hour longer than the window, so that a
/// consumer that reckons the window from its own clock and from the reply is never too late (§4.4, §6).
pub const RETENTION_MS: i64 = IDEMPOTENCY_WINDOW_SECONDS * 1000 + 3_600_000;

/// How long the identifier of an expired operation is remembered, so that it is answered RESULT_EXPIRED and not as one
/// that never existed (§5).
pub const TOMBSTONE_MS: i64 = 30 * 86_400_000;

/// Validity of a session token (§2.2).
pub const SESSION_TTL_MS: i64 = 3_600_000;

/// Validity of a resume token (§4.3): time for a person to read and decide.
const RESUME_TTL_MS: i64 = 600_000;

/// Validity of a resume token of a provider with these switches.
pub fn resume_ttl_ms(switches: &Switches) -> i64 {
    if switches.leeway(Leeway::LongResumeTokens) { 7 * 86_400_000 } else { RESUME_TTL_MS }
}

/// Sessions of one UID that are kept in memory. A consumer needs one; this bounds what a caller can make the provider
/// hold (§2.2), at the cost of nobody else.
pub const MAX_SESSIONS_OF_UID: usize = 256;

/// Nesting of `args`. A local limit (§7.3): nobody writes this by hand, and each level costs stack.
pub const MAX_ARGS_LEVEL: usize = 256;

/// The largest file result. A local cap (§4.5), above the fixture's largest value (16 Mi characters of three bytes).
pub const MAX_FILE_RESULT_BYTES: usize = 64 << 20;

/// The most that one `fd.read` gives: as base64 it stays below the longest line of the target protocol.
pub const MAX_READ_BYTES: usize = 4 << 20;

/// What a consumer is asked to wait between polls.
pub const POLL_AFTER_MS: i64 = 100;

/// How much the clock may have moved before old rows are removed again.
pub const PURGE_EVERY_MS: i64 = 3_600_000;

impl Negotiated {
    /// `limits` of a `negotiate` reply (§2.2).
    pub fn json(self) -> serde_json::Value {
        serde_json::json!({
            "max_request_bytes": self.max_request_bytes,
            "max_inline_result_bytes": self.max_inline_result_bytes,
            "max_concurrent_requests": self.max_concurrent_requests,
            "idempotency_window_seconds": IDEMPOTENCY_WINDOW_SECONDS,
        })
    }
}
