//! Switches of what a session token is bound to (§2.2).

use crate::envelope::key;
use crate::limits::SESSION_TTL_MS;
use crate::lock;
use crate::provider::{Call, Provider};
use crate::session::{Capability, Session};
use crate::switches::{Fault, Leeway};
use cetp_vectors::bundle::Bundle;
use std::sync::atomic::Ordering;

impl Call<'_> {
    /// Whether a token of another UID passes.
    pub(crate) fn overlooks_uid(&self, session: &Session, extras: &Bundle) -> bool {
        self.broken(Fault::SessionOfAnyUid)
            || (self.broken(Fault::SessionUidNotForOperations) && extras.get(key::OPERATION_ID).is_some())
            || (self.broken(Fault::SessionUidForWritesOnly) && !self.names_a_write(extras))
            || (self.broken(Fault::SessionUidLostInRestart) && session.carried.load(Ordering::Relaxed))
            || (self.broken(Fault::SessionOfAnyKnownUid)
                && lock(&self.provider.sessions).latest_of(self.caller.uid).is_some())
    }

    /// Whether a token passes after its end.
    pub(crate) fn overlooks_end(&self, session: &Session, extras: &Bundle) -> bool {
        self.broken(Fault::SessionNeverExpires)
            || (self.broken(Fault::SessionEndNotForOperations) && extras.get(key::OPERATION_ID).is_some())
            || (self.broken(Fault::SessionEndForWritesOnly) && !self.names_a_write(extras))
            || (self.broken(Fault::SessionEndLostInRestart) && session.carried.load(Ordering::Relaxed))
            || self.prolongs(session)
    }

    fn prolongs(&self, session: &Session) -> bool {
        if !self.broken(Fault::SessionProlonged) {
            return false;
        }
        let now_ms = self.now_ms();
        let prefix = format!("used {} ", session.number);
        let mut memory = lock(&self.provider.fault_memory);
        let until = |entry: &String| entry.strip_prefix(&prefix).and_then(|ms| ms.parse::<i64>().ok());
        let lives = now_ms < session.expires_ms || memory.iter().filter_map(until).any(|ms| now_ms < ms);
        if lives {
            memory.insert(format!("{prefix}{}", now_ms + SESSION_TTL_MS));
        }
        lives
    }

    /// Whether a session has a capability that it did not negotiate, or lacks one that it did.
    pub(crate) fn other_capability(&self, session: &Session, capability: Capability) -> Option<bool> {
        if self.broken(Fault::SessionOutlivesCapability) && !self.provider.catalogue().capabilities.has(capability) {
            return Some(false);
        }
        if self.broken(Fault::SessionCapabilitiesLostInRestart) && session.carried.load(Ordering::Relaxed) {
            return Some(true);
        }
        if !self.broken(Fault::CapabilitiesOfUid) && !self.broken(Fault::CapabilitiesOfLatest) {
            return None;
        }
        let sessions = lock(&self.provider.sessions);
        if self.broken(Fault::CapabilitiesOfUid) {
            return Some(sessions.of(session.uid).any(|(_, other)| other.capabilities.has(capability)));
        }
        sessions.latest_of(session.uid).map(|(_, latest)| latest.capabilities.has(capability))
    }

    pub(crate) fn writes(&self, tool: &str) -> bool {
        self.provider.catalogue().find(tool).is_some_and(|tool| tool.writes)
    }

    fn names_a_write(&self, extras: &Bundle) -> bool {
        extras.string(key::TOOL_NAME).is_some_and(|name| self.writes(name))
    }

    /// Whether the session of a request is from before a restart.
    pub(crate) fn is_carried(&self, extras: &Bundle) -> bool {
        let token = extras.string(key::SESSION_TOKEN).unwrap_or_default();
        lock(&self.provider.sessions).get(token).is_some_and(|session| session.carried.load(Ordering::Relaxed))
    }
}

impl Provider {
    /// Whether sessions are kept over a restart, which §2.2 leaves open.
    pub(crate) fn keeps_sessions(&self) -> bool {
        let switches = &self.setup.switches;
        switches.leeway(Leeway::SessionsSurviveRestart)
            || [
                Fault::SessionUidLostInRestart,
                Fault::SessionCapabilitiesLostInRestart,
                Fault::SessionEndLostInRestart,
                Fault::RestartTokenRunsUnanswered,
            ]
            .into_iter()
            .any(|fault| switches.broken(fault))
    }
}
