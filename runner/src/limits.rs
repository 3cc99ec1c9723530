//! Every limit that a target meets, in one place. The main type is [`Limits`].

use serde::Deserialize;
use std::time::Duration;

/// What a target may take at most. A `[limits]` table of a target file sets single members.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Time to the answer to the first verb, in milliseconds: a large program on a busy machine needs seconds.
    pub start_ms: u64,
    /// Time to the answer of any verb, in milliseconds. A verdict never depends on it: a target that takes longer is an
    /// error, or breaks a requirement that forbids to hang. So it is generous.
    pub verb_ms: u64,
    /// How long a vector waits for a state that comes by itself (a background operation), in milliseconds.
    pub patience_ms: u64,
    /// Time between the polite and the certain end of a target, in milliseconds.
    pub end_ms: u64,
    /// The longest line, in bytes; fixed by the target protocol.
    pub line_bytes: usize,
    /// The deepest nesting of a message; fixed by the target protocol.
    pub nesting: usize,
    /// The most values in a message, all levels together: far above what a vector leads to. A line of small values takes
    /// dozens of times its length in memory.
    pub values: usize,
    /// All lines of one vector together, in bytes: above what the largest vector needs (16 MiB read in small pieces).
    pub output_bytes: u64,
    /// All messages of one vector together, but for what is read of descriptors, in bytes: a transcript keeps them, and the
    /// judge looks at them in several forms. Twice what the largest vector needs.
    pub kept_bytes: u64,
    /// All that is written to stderr in one vector, in bytes. Only the last [`Limits::stderr_kept`] are kept.
    pub stderr_bytes: u64,
    /// How much of stderr is kept, in bytes.
    pub stderr_kept: usize,
    /// Bytes that are sent to the target and that it has not read, at most: above the parallel calls with the largest
    /// arguments that a vector makes. A consumer that asks on and on and never reads an answer meets it.
    pub unread_bytes: usize,
    /// Requests of the target to the runner in one vector: far above what any vector allows a consumer.
    pub requests: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            start_ms: 20_000,
            verb_ms: 20_000,
            patience_ms: 60_000,
            end_ms: 500,
            line_bytes: 8 << 20,
            nesting: 10_000,
            values: 1_000_000,
            output_bytes: 512 << 20,
            kept_bytes: 16 << 20,
            stderr_bytes: 64 << 20,
            stderr_kept: 16 << 10,
            unread_bytes: 32 << 20,
            requests: 100_000,
        }
    }
}

impl Limits {
    /// [`Limits::start_ms`].
    pub fn start(&self) -> Duration {
        Duration::from_millis(self.start_ms)
    }

    /// [`Limits::verb_ms`].
    pub fn verb(&self) -> Duration {
        Duration::from_millis(self.verb_ms)
    }
}

/// Stack of a thread that reads or judges what a target sent, in bytes. Nesting up to the limit is let through, and
/// serialising and dropping such values takes stack; only what is touched is used.
pub const STACK_BYTES: usize = 512 << 20;
