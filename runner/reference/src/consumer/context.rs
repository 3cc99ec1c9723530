//! What every part of the consumer needs at hand. The main type is [`Context`].

use super::platform::Platform;
use super::switches::{Fault, Leeway, Switches};
use crate::session::Capabilities;

/// The system around the consumer, and how the consumer is built.
#[derive(Clone, Copy)]
pub struct Context<'c> {
    /// The system.
    pub platform: &'c dyn Platform,
    /// The optional capabilities that the consumer has (§2.3).
    pub capabilities: Capabilities,
    /// How it is broken or bent.
    pub switches: &'c Switches,
}

impl Context<'_> {
    pub(super) fn broken(&self, fault: Fault) -> bool {
        self.switches.broken(fault)
    }

    pub(super) fn leeway(&self, leeway: Leeway) -> bool {
        self.switches.leeway(leeway)
    }
}
