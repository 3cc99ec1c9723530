//! The reference as targets in this process: `builtin:provider` (dual-stack), `builtin:provider-v2-only`,
//! `builtin:provider-core` (no optional capability), `builtin:consumer`, `builtin:consumer-core`, and with switches
//! `builtin:provider+SWITCH+SWITCH`. Those of `aw-provider` are in [`crate::builtin_aw`].

use crate::builtin_aw;
use cetp_reference::consumer;
use cetp_reference::consumer::target::{ConsumerTarget, HostError};
use cetp_reference::session::Capabilities;
use cetp_reference::switches::Switches;
use cetp_reference::target::{Options, ProviderTarget, VerbError};
use cetp_runner::adapter::{Adapter, Piece, RpcError};
use cetp_runner::inprocess::{Host, InProcessAdapter, LocalError, LocalTarget};
use cetp_runner::limits::Limits;
use cetp_runner::target::Opener;
use cetp_vectors::ledger::Role;
use serde_json::Value as Json;
use std::path::Path;
use std::time::Duration;

/// The names after `builtin:`.
pub const NAMES: &[&str] = &["provider", "provider-v2-only", "provider-core", "consumer", "consumer-core"];

struct Provider(ProviderTarget);

impl LocalTarget for Provider {
    fn handle(&self, number: u64, verb: &str, params: &Json, _host: &dyn Host) -> Result<Json, LocalError> {
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        self.0.handle_at(place, verb, params).map_err(local)
    }

    fn read(&self, number: u64, params: &Json) -> Option<Result<Piece, LocalError>> {
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        let read = self.0.read_at(place, params).map_err(local);
        Some(read.map(|(bytes, eof)| Piece { bytes, eof }))
    }

    fn schedule(&self, seed: u64, calls: usize) {
        self.0.schedule(seed, calls);
    }

    fn at_rest(&self, limit: Duration) -> Option<bool> {
        Some(self.0.at_rest(limit))
    }
}

struct Consumer(ConsumerTarget);

impl LocalTarget for Consumer {
    fn handle(&self, _number: u64, verb: &str, params: &Json, host: &dyn Host) -> Result<Json, LocalError> {
        self.0.handle(verb, params, &Runner(host)).map_err(local)
    }

    fn at_rest(&self, limit: Duration) -> Option<bool> {
        Some(self.0.at_rest(limit))
    }
}

/// This runner, as a consumer sees it.
struct Runner<'h>(&'h dyn Host);

impl cetp_reference::consumer::target::Host for Runner<'_> {
    fn request(&self, verb: &str, params: Json) -> Result<Json, HostError> {
        self.0.request(verb, params).map_err(|error| HostError(error.message))
    }
}

fn local(error: VerbError) -> LocalError {
    match error {
        VerbError::Died => LocalError::Died("the target ended while it handled a verb".into()),
        other => LocalError::Rpc(RpcError { code: other.code(), message: other.to_string() }),
    }
}

/// Makes an adapter for a built-in target.
///
/// # Errors
/// There is no such target or switch.
pub fn open(name: &str, executable: &Path) -> Result<Box<dyn Adapter>, String> {
    let mut words = name.split('+');
    let base = words.next().unwrap_or_default();
    let switches: Vec<&str> = words.collect();
    reference(base, &switches, Limits::default(), executable)
}

/// The side that a built-in target plays.
pub fn role(name: &str) -> Role {
    if name.starts_with("consumer") { Role::Consumer } else { builtin_aw::role(name).unwrap_or(Role::Provider) }
}

/// The reference of a name of [`NAMES`] or [`builtin_aw::NAMES`], with switches. `executable` is this program.
///
/// # Errors
/// There is no such target or switch.
pub fn reference(name: &str, switches: &[&str], limits: Limits, executable: &Path) -> Result<Box<dyn Adapter>, String> {
    if builtin_aw::NAMES.contains(&name) {
        return builtin_aw::open(name, switches, limits, executable);
    }
    if !NAMES.contains(&name) {
        return Err(format!("there is no built-in target {name:?}; there are {NAMES:?} and {:?}", builtin_aw::NAMES));
    }
    let core = name.ends_with("-core");
    let capabilities = if core { Capabilities::default() } else { Capabilities::ALL };
    if role(name) == Role::Consumer {
        let switches = consumer::switches::Switches::from_names(switches).map_err(|error| error.to_string())?;
        let options = consumer::target::Options { capabilities, switches };
        let make = move || Ok(Box::new(Consumer(ConsumerTarget::new(options))) as Box<dyn LocalTarget>);
        return Ok(Box::new(InProcessAdapter::new(limits, make)));
    }
    let switches = Switches::from_names(switches).map_err(|error| error.to_string())?;
    let options = Options { v1: name != "provider-v2-only", capabilities, switches };
    Ok(Box::new(InProcessAdapter::new(limits, move || {
        let target = ProviderTarget::in_memory(options).map_err(|error| error.to_string())?;
        Ok(Box::new(Provider(target)))
    })))
}

/// How targets are opened by this program.
pub fn opener(check_protocol: bool) -> Opener<'static> {
    Opener { guard: std::env::current_exe().unwrap_or_default(), check_protocol, builtin: &open }
}
