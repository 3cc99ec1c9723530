//! A conforming CETP v2 provider and consumer, to read and to run. The main types are [`target::ProviderTarget`] and
//! [`consumer::target::ConsumerTarget`].
//!
//! The crate is the worked example of the specification and the suite's own target. What follows is about the provider; the
//! consumer, with a table of its own, is in [`consumer`].
//!
//! **The protocol**, which knows nothing of tests. Read it in this order:
//!
//! | module | what it shows | section |
//! |---|---|---|
//! | [`provider`] | one call from its entry to its reply; v1 or v2 | §4, §8 |
//! | [`envelope`] | keys, types, replies, the 19 error codes | §4.1, §4.2, §5 |
//! | [`session`] | `negotiate`, tokens and what they are bound to | §2.2, §2.3 |
//! | [`catalogue`], [`describe`] | descriptors, revision, `get_provider_info`, `list_tools` | §3 |
//! | [`execute`] | the order of checks, the one executor, effect and result in one boundary | §4.1, §6 |
//! | [`record`] | the durable record of an execution, which is also its operation | §4.4, §6 |
//! | [`authorize`], [`confirm`] | identities, scopes, resume tokens, the user's decision | §4.3, §7 |
//! | [`operations`] | background work, polling, cancelling | §4.4 |
//! | [`results`] | inline, file, too large | §4.5 |
//! | [`v1`] | the read-only subset | §8 |
//! | [`application`] | what an app brings to all this | §10 |
//!
//! `aw-provider/v1alpha1`, the second protocol of the suite, has a checker, a provider, a host and an admission in [`aw`].
//!
//! **The test side**: [`fixture`] (the tools every vector knows), [`target`] (the verbs and controls of the target
//! protocol, in process), [`stdio`] (the same over a pipe, with a process that can really be killed), [`schedule`]
//! (deterministic interleavings), [`switches`] (ways to break or bend the provider, to prove the vectors).
//!
//! ```
//! use cetp_reference::target::{Options, ProviderTarget};
//! use serde_json::json;
//!
//! let target = ProviderTarget::in_memory(Options::default())?;
//! target.handle("target.reset", &json!({ "nonce": "1", "now_ms": 1_780_000_000_000_i64 }))?;
//! let reply = target.handle("provider.call", &json!({
//!     "caller": { "uid": 10101, "packages": [{ "name": "org.example.a", "signing_sha256": ["aa"] }] },
//!     "authority": "org.cetp.reference.tools", "method": "negotiate", "arg": null,
//!     "extras": { "consumer_versions": { "int_array": [2] }, "consumer_capabilities": { "string": "[]" } },
//! }))?;
//! assert_eq!(reply["bundle"]["status"], json!({ "string": "success" }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A place at which a switch acts reads `self.broken(Fault::…)` or `self.leeway(Leeway::…)`. Reading for the
//! specification, take every one of them for `false`.

pub mod application;
pub mod audit;
pub mod authorize;
pub mod aw;
pub mod caller;
pub mod catalogue;
pub mod confirm;
pub mod consumer;
pub mod describe;
mod distort;
pub mod envelope;
pub mod error;
pub mod execute;
mod faults;
pub mod fixture;
pub mod limits;
pub mod operations;
pub mod provider;
pub mod record;
pub mod registry;
pub mod results;
pub mod schedule;
pub mod session;
pub mod stdio;
pub mod store;
pub mod switches;
pub mod target;
pub mod v1;

pub use error::{Error, Result};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose holder may have panicked: everything behind our mutexes is whole between statements.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
