//! What the consumer needs of Android. The main trait is [`Platform`].
//!
//! On a device this is `acquireUnstableContentProviderClient` with a watchdog around `call` (which has neither a time
//! limit nor an end when the provider dies under a stable reference), an Activity that launches a PendingIntent for its
//! result, a clock, and descriptors.

use cetp_vectors::bundle::{Bundle, PendingIntent, Value};

/// The system around the consumer.
pub trait Platform: Send + Sync {
    /// `ContentResolver.call`, with a null `arg`.
    fn call(&self, authority: &str, method: &str, extras: Option<&Bundle>) -> Called;

    /// Reads at most so many bytes of a descriptor; nothing where reading failed.
    fn read(&self, fd: &str, max_bytes: usize) -> Option<Chunk>;

    /// Closes a descriptor.
    fn close(&self, fd: &str);

    /// Shows the provider's own screen and waits until it is gone.
    fn launch(&self, intent: &PendingIntent) -> Launched;

    /// The time, in milliseconds since 1970.
    fn now_ms(&self) -> i64;

    /// Waits.
    fn sleep(&self, ms: u64);
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Called {
    /// A Bundle, which may be anything.
    Bundle(Bundle),
    /// A null Bundle. What the provider did is not known.
    Null,
    /// The provider's process died in the call, or a reply was too large for the Binder: both look the same.
    Died,
    /// The call had not returned in time. The provider may still be at work.
    TimedOut,
    /// The provider threw an exception that crossed the Binder.
    Thrown,
}

/// Bytes of a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// At most what was asked for.
    pub bytes: Vec<u8>,
    /// Whether nothing follows.
    pub eof: bool,
}

/// What came of launching a PendingIntent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launched {
    /// The Activity ended with a result.
    Ok,
    /// The user left it.
    Cancelled,
    /// It could not be shown.
    Failed,
}

/// A Bundle that was received, with the descriptors in it: they are ours now, and closed when this is dropped, so that
/// no path can forget one (§4.5), be it wanted or not.
pub struct Received<'p> {
    /// What came.
    pub bundle: Bundle,
    platform: &'p dyn Platform,
}

impl<'p> Received<'p> {
    /// Takes over a Bundle.
    pub fn new(platform: &'p dyn Platform, bundle: Bundle) -> Received<'p> {
        Received { bundle, platform }
    }
}

impl Drop for Received<'_> {
    fn drop(&mut self) {
        close_all(self.platform, &self.bundle);
    }
}

fn close_all(platform: &dyn Platform, bundle: &Bundle) {
    for value in bundle.0.values() {
        match value {
            Value::Fd { id, .. } => platform.close(id),
            Value::Bundle(inner) => close_all(platform, inner),
            _ => {}
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A system in which nothing is there.
    pub(in crate::consumer) struct Nobody;

    impl Platform for Nobody {
        fn call(&self, _authority: &str, _method: &str, _extras: Option<&Bundle>) -> Called {
            Called::Null
        }

        fn read(&self, _fd: &str, _max_bytes: usize) -> Option<Chunk> {
            None
        }

        fn close(&self, _fd: &str) {}

        fn launch(&self, _intent: &PendingIntent) -> Launched {
            Launched::Failed
        }

        fn now_ms(&self) -> i64 {
            0
        }

        fn sleep(&self, _ms: u64) {}
    }
}
