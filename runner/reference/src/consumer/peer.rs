//! A provider of version 2 as the consumer knows it, and how it comes to know it. The main type is [`Peer`].
//!
//! A session, what was told in it and the tools that were listed in it belong together: [`Agreed`]. A new negotiation
//! makes a new one, and either all of it is good or nothing of it is used (§8).

use super::context::Context;
use super::descriptor::{Catalogue, check_info};
use super::distort;
use super::limits::{MAX_LOSSES, MAX_RETRIES, READ_TIMEOUT_MS};
use super::outcome::Ending;
use super::reply::{Answer, Echo, new_id, read, request};
use super::retry::{Next, after, pause_ms};
use super::session::{Negotiated, Session, offer};
use super::switches::{Fault, Leeway};
use crate::envelope::Code;
use crate::lock;
use cetp_vectors::bundle::Bundle;
use serde_json::Value as Json;
use std::sync::{Arc, Mutex};

/// Where a provider is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Its package, which PendingIntents must come from as well.
    pub package: String,
    /// The authority that was found to be the package's own.
    pub authority: String,
}

/// What holds since a negotiation.
#[derive(Debug)]
pub struct Agreed {
    /// The id; it is the same in every negotiation with a peer.
    pub provider_id: String,
    /// The provider's name for people: bounded, and data. Nothing is found by it (§3.1).
    pub provider_name: String,
    /// The session.
    pub session: Session,
    /// The tools.
    pub catalogue: Arc<Catalogue>,
}

/// A provider of version 2.
#[derive(Debug)]
pub struct Peer {
    /// Where it is.
    pub address: Address,
    /// Who it is.
    pub provider_id: String,
    /// What holds now. Nothing: the last negotiation failed, and the provider is disabled until one succeeds (§8).
    agreed: Mutex<Option<Arc<Agreed>>>,
    /// Held while somebody negotiates, so that executions that find a session gone at the same time negotiate once.
    renewing: Mutex<()>,
    /// The tools as they were last known, for their revision.
    known: Mutex<Arc<Catalogue>>,
}

impl Peer {
    /// A peer after its first negotiation.
    pub fn new(address: Address, agreed: Agreed) -> Peer {
        Peer {
            address,
            provider_id: agreed.provider_id.clone(),
            known: Mutex::new(Arc::clone(&agreed.catalogue)),
            agreed: Mutex::new(Some(Arc::new(agreed))),
            renewing: Mutex::default(),
        }
    }

    /// The tools as they were last known.
    pub fn known(&self) -> Arc<Catalogue> {
        Arc::clone(&lock(&self.known))
    }

    /// What holds now; negotiated anew where nothing does or the session is past its time.
    ///
    /// # Errors
    /// The negotiation failed.
    pub fn agreed(&self, cx: Context<'_>) -> Result<Arc<Agreed>, Ending> {
        let agreed = lock(&self.agreed).clone();
        match agreed {
            Some(agreed) if agreed.session.expires_ms.is_none_or(|ms| cx.platform.now_ms() < ms) => Ok(agreed),
            old => self.renew(cx, old.as_ref()),
        }
    }

    /// Negotiates in the place of what no longer holds, unless somebody else has done so meanwhile.
    ///
    /// # Errors
    /// The negotiation failed: the provider is disabled.
    pub fn renew(&self, cx: Context<'_>, old: Option<&Arc<Agreed>>) -> Result<Arc<Agreed>, Ending> {
        let _only_one = lock(&self.renewing);
        let present = lock(&self.agreed).clone();
        if let Some(present) = present
            && old.is_none_or(|old| !Arc::ptr_eq(old, &present))
        {
            return Ok(present);
        }
        let known = self.known();
        // §3.1: who it is does not change.
        let agreed = agree(cx, &self.address, Some(&known)).and_then(|agreed| match agreed {
            agreed if agreed.provider_id == self.provider_id => Ok(Arc::new(agreed)),
            _ => Err(Ending::refused("The provider has another provider_id than before")),
        });
        if let (Err(_), Some(old)) = (&agreed, old)
            && distort::old_session_stays(cx)
        {
            return Ok(Arc::clone(old));
        }
        lock(&self.agreed).clone_from(&agreed.as_ref().ok().cloned());
        if let Ok(agreed) = &agreed {
            *lock(&self.known) = Arc::clone(&agreed.catalogue);
        }
        agreed
    }
}

/// Negotiates, and asks what has to be known before a tool is called. `known` are the tools of an earlier negotiation.
///
/// # Errors
/// Why the provider cannot be used.
pub fn agree(cx: Context<'_>, address: &Address, known: Option<&Arc<Catalogue>>) -> Result<Agreed, Ending> {
    let again =
        |ending: &Ending| matches!(ending, Ending::Error { code, .. } if *code == Code::NegotiationRequired.name());
    match agree_once(cx, address, known) {
        // The provider started anew in between, say.
        Err(ending) if again(&ending) => agree_once(cx, address, known),
        result => result,
    }
}

fn agree_once(cx: Context<'_>, address: &Address, known: Option<&Arc<Catalogue>>) -> Result<Agreed, Ending> {
    let refused = |why: &str| Ending::refused(format!("The provider cannot be used: {why}"));
    let data = ask(cx, address, "negotiate", None)?;
    let Negotiated { provider_id, provider_name, session } = Negotiated::read(cx, &address.package, &data)?;
    let info = ask(cx, address, "get_provider_info", Some(&session))?;
    check_info(cx, &provider_id, &info).map_err(refused)?;
    // §3.3: the revision is asked for after every negotiation. The list comes with it; it is only looked through where
    // the revision is not the known one.
    let catalogue = match known {
        Some(known) if cx.broken(Fault::RevisionUnchecked) => Arc::clone(known),
        _ => {
            let list = ask(cx, address, "list_tools", Some(&session))?;
            let revision = Catalogue::revision(&list).map_err(refused)?;
            match known {
                Some(known) if known.revision == revision || distort::list_is_kept(cx) => Arc::clone(known),
                _ => Arc::new(Catalogue::read(cx, &list).map_err(refused)?),
            }
        }
    };
    Ok(Agreed { provider_id, provider_name, session, catalogue })
}

/// One of the calls that have no effect: it may be repeated, under its own `request_id` (§4.1).
fn ask(cx: Context<'_>, address: &Address, method: &str, session: Option<&Session>) -> Result<Json, Ending> {
    let id = new_id()?;
    let extras = || -> Bundle {
        let deadline = cx.platform.now_ms().saturating_add(READ_TIMEOUT_MS);
        session.map_or_else(|| offer(cx), |session| request(&session.token, &id, deadline))
    };
    let echo = if session.is_some() { Echo::May(&id) } else { Echo::None };
    let (mut losses, mut retries) = (0, 0);
    loop {
        let answer = {
            let _in_flight = session.map(Session::enter);
            read(cx, cx.platform.call(&address.authority, method, Some(&extras())), echo)
        };
        match answer {
            Answer::Success(data, _) => return Ok(data),
            Answer::Accepted(_) => return Err(Ending::refused("The answer is no answer to this method")),
            Answer::Malformed(why) => return Err(Ending::refused(why)),
            Answer::Lost(_) if losses < MAX_LOSSES && !cx.leeway(Leeway::GivesUpAfterDeath) => {
                losses += 1;
                cx.platform.sleep(pause_ms(losses));
            }
            Answer::Lost(why) => return Err(Ending::error(Code::Unavailable, why)),
            Answer::Error(problem) => match after(cx, &problem, retries) {
                Next::Again(ms) if retries < MAX_RETRIES && !cx.leeway(Leeway::NeverRepeats) => {
                    retries += 1;
                    cx.platform.sleep(ms);
                }
                _ => return Err(problem.ending()),
            },
        }
    }
}
