//! `negotiate` and the sessions that it makes (§2.2, §2.3). The main type is [`Session`].
//!
//! Sessions live in memory: a restart ends them, which §2.2 allows, and a consumer negotiates again. Nothing else hangs
//! on them; deduplication in particular does not (§6).

use crate::catalogue::hex;
use crate::distort;
use crate::envelope::{self, Code, Refusal, key, refuse};
use crate::error::Result;
use crate::limits::{MAX_SESSIONS_OF_UID, SESSION_TTL_MS};
use crate::lock;
use crate::provider::{Call, Provider};
use crate::record;
use crate::switches::{Fault, Leeway};
use cetp_vectors::bundle::{Bundle, Value};
use serde_json::json;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

/// An optional capability (§2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// `execute_tool` may answer with an operation.
    AsyncOperations,
    /// `cancel_operation` works.
    Cancellation,
    /// Results may come as files.
    LargeResults,
}

impl Capability {
    /// All of them, in the order in which they are told.
    pub const ALL: [Capability; 3] = [Capability::AsyncOperations, Capability::Cancellation, Capability::LargeResults];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Capability::AsyncOperations => "async_operations",
            Capability::Cancellation => "cancellation",
            Capability::LargeResults => "large_results",
        }
    }
}

/// A set of capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(u8);

impl Capabilities {
    /// All capabilities.
    pub const ALL: Capabilities = Capabilities(0b111);

    /// Whether the set has it.
    pub fn has(self, capability: Capability) -> bool {
        self.0 & (1 << capability as u8) != 0
    }

    /// What is in both sets.
    #[must_use]
    pub fn and(self, other: Capabilities) -> Capabilities {
        Capabilities(self.0 & other.0)
    }

    /// The set without one.
    #[must_use]
    pub fn without(self, capability: Capability) -> Capabilities {
        Capabilities(self.0 & !(1 << capability as u8))
    }

    /// In the order in which they are told.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Capability> {
        Capability::ALL.into_iter().filter(move |capability| self.has(*capability))
    }

    /// The names on the wire.
    pub fn names(self) -> Vec<&'static str> {
        self.iter().map(Capability::name).collect()
    }
}

impl FromIterator<Capability> for Capabilities {
    fn from_iter<I: IntoIterator<Item = Capability>>(capabilities: I) -> Capabilities {
        Capabilities(capabilities.into_iter().fold(0, |set, capability| set | 1 << capability as u8))
    }
}

/// What a session token stands for (§2.2: UID, version and capability set; and a validity).
#[derive(Debug)]
pub struct Session {
    /// In the order in which they were opened.
    pub(crate) number: u64,
    /// The UID that negotiated.
    pub uid: i64,
    /// The selected version.
    pub version: i32,
    /// What both sides can.
    pub capabilities: Capabilities,
    /// From then on the token is refused.
    pub expires_ms: i64,
    /// Whether it was opened by an earlier process.
    pub(crate) carried: AtomicBool,
    /// Whether a later negotiation has spoilt it.
    spoilt: AtomicBool,
    /// Calls of this session that are being worked on.
    running: AtomicUsize,
}

/// The open sessions.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    by_token: HashMap<String, Arc<Session>>,
    opened: u64,
}

impl Sessions {
    pub(crate) fn get(&self, token: &str) -> Option<&Arc<Session>> {
        self.by_token.get(token)
    }

    pub(crate) fn tokens(&self) -> impl Iterator<Item = &String> {
        self.by_token.keys()
    }

    pub(crate) fn of(&self, uid: i64) -> impl Iterator<Item = (&String, &Arc<Session>)> {
        self.by_token.iter().filter(move |(_, session)| session.uid == uid)
    }

    /// The session that a UID opened last.
    pub(crate) fn latest_of(&self, uid: i64) -> Option<(&String, &Arc<Session>)> {
        self.of(uid).max_by_key(|(_, session)| session.number)
    }

    /// As the next process finds them, where they are kept.
    pub(crate) fn carried_over(self) -> Sessions {
        self.by_token.values().for_each(|session| session.carried.store(true, Ordering::Relaxed));
        self
    }

    /// Where a UID has as many sessions as it may, those past their time go, then the oldest: its owner negotiates again.
    fn make_room(&mut self, uid: i64, now_ms: i64) {
        if self.by_token.len() < MAX_SESSIONS_OF_UID {
            return;
        }
        self.by_token.retain(|_, session| session.expires_ms > now_ms);
        let of_uid = || self.by_token.iter().filter(|(_, session)| session.uid == uid);
        if of_uid().count() >= MAX_SESSIONS_OF_UID
            && let Some(oldest) = of_uid().min_by_key(|(_, session)| session.number).map(|(token, _)| token.clone())
        {
            self.by_token.remove(&oldest);
        }
    }
}

/// A call inside its session: it takes one of the session's places (§2.2) until it is dropped.
pub struct Entered<'p> {
    session: Arc<Session>,
    provider: &'p Provider,
}

impl Deref for Entered<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.session.running.fetch_sub(1, Ordering::SeqCst);
        self.provider.setup.bell.ring();
    }
}

impl Session {
    fn take_place(&self, places: usize) -> bool {
        let more = |running| (running < places).then_some(running + 1);
        self.running.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_ok()
    }
}

impl Call<'_> {
    /// `negotiate` (§2.2).
    pub(crate) fn negotiate(&self, extras: &Bundle) -> Result<Bundle> {
        if self.broken(Fault::OfferWithMoreRefused) && distort::offers_more(extras) {
            return refuse(Code::InvalidRequest, "The request has a key that is not known.");
        }
        let theirs = consumer_versions(extras)?;
        let offer = consumer_capabilities(extras)?;
        distort::offer(self, theirs, extras)?;
        let refused = self.leeway(Leeway::V1OfferRefused);
        let ours = |version: &&i32| **version == 2 || (**version == 1 && self.provider.setup.v1 && !refused);
        let mut common = theirs.iter().filter(ours);
        // The highest of both, whatever the order of the list.
        let version = if self.broken(Fault::FirstVersionWins) {
            common.next_back()
        } else if self.broken(Fault::FirstSupportedWins) {
            common.next()
        } else {
            common.max()
        };
        let Some(&version) = version else {
            if self.broken(Fault::FailedNegotiationSpoils) {
                self.spoil_earlier();
            }
            return refuse(Code::UnsupportedVersion, "There is no common protocol version.");
        };
        let available = self.provider.catalogue().capabilities;
        let capabilities = match version {
            1 => Capabilities::default(),
            _ if self.broken(Fault::CapabilitiesUnasked) => available,
            _ if self.leeway(Leeway::CancellationNeedsAsync) && !offer.has(Capability::AsyncOperations) => {
                available.and(offer).without(Capability::Cancellation)
            }
            _ => available.and(offer),
        };
        if self.broken(Fault::NegotiationForgets) {
            self.query(|db| record::forget_all_of(db, self.caller.uid))?;
        }
        self.note_scopes()?;
        let (token, session) = self.open_session(version, capabilities)?;
        let about = self.provider.setup.application.about();
        let mut data = json!({
            "selected_version": version,
            "provider_id": about.provider_id,
            "provider_name": about.provider_name,
            "session_token": token,
            "capabilities": capabilities.names(),
            "limits": self.limits().json(),
        });
        // A clock that no calendar can express has no expires_at, which is optional.
        // Nor does a session without an end.
        if session.expires_ms < i64::MAX
            && let Ok(expires) = jiff::Timestamp::from_millisecond(session.expires_ms)
        {
            data["expires_at"] = json!(expires.to_string());
        }
        Ok(Bundle::new().with(key::STATUS, Value::string("success")).with(key::DATA, Value::string(data.to_string())))
    }

    fn spoil_earlier(&self) {
        lock(&self.provider.sessions)
            .of(self.caller.uid)
            .for_each(|(_, session)| session.spoilt.store(true, Ordering::Relaxed));
    }

    /// Whether a call of another session of the caller is under way. Only a fault asks.
    fn is_busy_elsewhere(&self, session: &Session) -> bool {
        let busy = |other: &Session| other.number != session.number && other.running.load(Ordering::SeqCst) > 0;
        self.broken(Fault::OtherSessionConflict)
            && lock(&self.provider.sessions).of(self.caller.uid).any(|(_, other)| busy(other))
    }

    /// Whether a call of any caller is under way. Only a leeway asks.
    fn is_any_under_way(&self) -> bool {
        lock(&self.provider.sessions).by_token.values().any(|session| session.running.load(Ordering::SeqCst) > 0)
    }

    fn open_session(&self, version: i32, capabilities: Capabilities) -> Result<(String, Arc<Session>)> {
        let now_ms = self.now_ms();
        let mut sessions = lock(&self.provider.sessions);
        let uid = self.caller.uid;
        if self.leeway(Leeway::SameTokenForSameOffer) {
            let same = |session: &Session| {
                (session.uid, session.version, session.capabilities) == (uid, version, capabilities)
                    && session.expires_ms > now_ms
            };
            if let Some((token, session)) = sessions.by_token.iter().find(|(_, session)| same(session)) {
                return Ok((token.clone(), Arc::clone(session)));
            }
        }
        if self.leeway(Leeway::NegotiationEndsEarlier) {
            sessions.by_token.retain(|_, session| session.uid != uid);
        }
        if self.broken(Fault::EarlierSessionInvalid) {
            sessions.of(uid).for_each(|(_, session)| session.spoilt.store(true, Ordering::Relaxed));
        }
        sessions.make_room(uid, now_ms);
        sessions.opened += 1;
        let token = distort::token(self, capabilities, sessions.opened)?.map_or_else(|| random_name(""), Ok)?;
        let endless = self.leeway(Leeway::SessionsWithoutEnd);
        let ttl_ms = if self.leeway(Leeway::ShortSessions) { 30_000 } else { SESSION_TTL_MS };
        let session = Arc::new(Session {
            number: sessions.opened,
            uid,
            version,
            capabilities,
            expires_ms: if endless { i64::MAX } else { now_ms.saturating_add(ttl_ms) },
            carried: AtomicBool::new(false),
            spoilt: AtomicBool::new(false),
            running: AtomicUsize::new(0),
        });
        sessions.by_token.insert(token.clone(), Arc::clone(&session));
        Ok((token, session))
    }

    /// The session of a v2 call (§4.1), with a place in it.
    ///
    /// A token of another UID, of another version, past its time or from before a restart is answered alike, so that
    /// the answer tells nothing about tokens.
    pub(crate) fn enter_session(&self, extras: &Bundle) -> Result<Entered<'_>> {
        let again = || Refusal::new(Code::NegotiationRequired, "Negotiate a session first.");
        let token = envelope::optional_string(extras, key::SESSION_TOKEN)?.ok_or_else(again)?;
        let session = lock(&self.provider.sessions).by_token.get(token).cloned().ok_or_else(again)?;
        if session.uid != self.caller.uid && self.leeway(Leeway::ForeignUseEndsSession) {
            lock(&self.provider.sessions).by_token.remove(token);
        }
        if session.uid != self.caller.uid && self.leeway(Leeway::ForeignTokenDenied) {
            return refuse(Code::PermissionDenied, "This is no session of the caller.");
        }
        if session.spoilt.load(Ordering::Relaxed) {
            return refuse(Code::InvalidRequest, "There is another session.");
        }
        let of_caller = session.uid == self.caller.uid || self.overlooks_uid(&session, extras);
        let in_time = self.overlooks_end(&session, extras) || self.now_ms() < session.expires_ms;
        let version_fits = session.version == envelope::VERSION || self.broken(Fault::SessionVersionUnchecked);
        if !(of_caller && in_time && version_fits) {
            return Err(again().into());
        }
        if self.leeway(Leeway::OneCallAtATime) && self.is_any_under_way() {
            return refuse(Code::RateLimited, "Another call is under way.");
        }
        let places = if self.leeway(Leeway::CallsTakeTurns) { 1 } else { self.limits().max_concurrent_requests };
        if self.is_busy_elsewhere(&session) {
            return refuse(Code::Conflict, "There is a call of another session.");
        }
        let places = places - usize::from(self.broken(Fault::LastPlaceConflict));
        if !session.take_place(places) {
            match () {
                () if self.broken(Fault::OverloadIsInternalError) => {
                    return refuse(Code::InternalError, "The call failed.");
                }
                () if self.leeway(Leeway::RateLimited) => {
                    return refuse(Code::RateLimited, "Too many calls at a time.");
                }
                () if self.broken(Fault::SurplusConflict) || self.broken(Fault::LastPlaceConflict) => {
                    return refuse(Code::Conflict, "Too many calls at a time.");
                }
                () if self.leeway(Leeway::OverloadUnavailable) => {
                    return refuse(Code::Unavailable, "Too many calls at a time.");
                }
                () if self.enters_overloaded(extras) => drop(session.running.fetch_add(1, Ordering::SeqCst)),
                () => self.wait(&mut || session.take_place(places))?,
            }
        }
        let entered = Entered { session, provider: self.provider };
        self.point("session.entered")?;
        Ok(entered)
    }

    /// Whether the session negotiated a capability. §2.3: what a session can do never changes while it lives; where the
    /// provider changes, [`Provider::reload`] ends the session.
    pub(crate) fn can(&self, session: &Session, capability: Capability) -> bool {
        self.other_capability(session, capability).unwrap_or_else(|| session.capabilities.has(capability))
    }

    /// §2.3: a method or an answer that was not negotiated.
    pub(crate) fn need(&self, session: &Session, capability: Capability) -> Result<()> {
        let unchecked = self.broken(Fault::CapabilityUnchecked)
            || (self.broken(Fault::CancelUnchecked) && capability == Capability::Cancellation);
        if self.can(session, capability) || unchecked {
            return Ok(());
        }
        if self.leeway(Leeway::MethodNotFoundWithoutCapability)
            && !self.provider.catalogue().capabilities.has(capability)
        {
            return refuse(Code::MethodNotFound, "There is no such method.");
        }
        refuse(Code::UnsupportedCapability, format!("{} was not negotiated.", capability.name()))
    }
}

impl Provider {
    /// Takes over what the app has changed while it runs. §2.3: a session that negotiated what is now gone becomes
    /// invalid, so that no call gets other semantics than it negotiated.
    ///
    /// # Errors
    /// The app's new tools are not valid.
    pub fn reload(&self) -> Result<()> {
        let catalogue = self.setup.present_catalogue()?;
        let available = catalogue.capabilities;
        let mut sessions = lock(&self.sessions);
        if !self.setup.switches.broken(Fault::SessionOutlivesCapability) {
            sessions.by_token.retain(|_, session| session.capabilities.and(available) == session.capabilities);
        }
        if self.setup.switches.broken(Fault::RevisionCountsFromStart) {
            let mut memory = lock(&self.fault_memory);
            let number = memory.len();
            memory.insert(format!("change {number}"));
        }
        *self.catalogue.write().unwrap_or_else(PoisonError::into_inner) = catalogue;
        self.forget_at_change()?;
        Ok(())
    }
}

fn consumer_versions(extras: &Bundle) -> Result<&[i32]> {
    match envelope::get(extras, key::CONSUMER_VERSIONS) {
        Some(Value::IntArray(versions)) => Ok(versions),
        Some(_) => refuse(Code::InvalidRequest, "consumer_versions is no int[]."),
        None => refuse(Code::InvalidRequest, "consumer_versions is missing."),
    }
}

/// §2.2: names that we do not know are left out, they do not fail the negotiation.
fn consumer_capabilities(extras: &Bundle) -> Result<Capabilities> {
    let text = envelope::string(extras, key::CONSUMER_CAPABILITIES)?;
    let names: Vec<String> = cetp_vectors::json::parse_text(text)
        .ok()
        .and_then(|json| json.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect())
        .ok_or_else(|| Refusal::new(Code::InvalidRequest, "consumer_capabilities is no JSON array of strings."))?;
    Ok(Capability::ALL.into_iter().filter(|known| names.iter().any(|name| name == known.name())).collect())
}

/// A name that nobody can guess: 32 bytes of the system's randomness in hex after a prefix (§2.2: at most 256 bytes).
pub(crate) fn random_name(prefix: &str) -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{prefix}{}", hex(&bytes)))
}
