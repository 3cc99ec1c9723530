//! The reference as targets in this process: `builtin:provider` (dual-stack), `builtin:provider-v2-only`,
//! `builtin:provider-core` (no optional capability), and with switches `builtin:provider+SWITCH+SWITCH`.

use cetp_reference::session::Capabilities;
use cetp_reference::switches::Switches;
use cetp_reference::target::{Options, ProviderTarget, VerbError};
use cetp_runner::adapter::{Adapter, RpcError};
use cetp_runner::inprocess::{Host, InProcessAdapter, LocalError, LocalTarget};
use cetp_runner::limits::Limits;
use cetp_runner::target::Opener;
use serde_json::Value as Json;

/// The names after `builtin:`.
pub const NAMES: &[&str] = &["provider", "provider-v2-only", "provider-core"];

struct Provider(ProviderTarget);

impl LocalTarget for Provider {
    fn handle(&self, number: u64, verb: &str, params: &Json, _host: &dyn Host) -> Result<Json, LocalError> {
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        self.0.handle_at(place, verb, params).map_err(|error| match error {
            VerbError::Died => LocalError::Died("the provider ended while it handled a verb".into()),
            other => LocalError::Rpc(RpcError { code: other.code(), message: other.to_string() }),
        })
    }

    fn schedule(&self, seed: u64, calls: usize) {
        self.0.schedule(seed, calls);
    }
}

/// Makes an adapter for a built-in target.
///
/// # Errors
/// There is no such target or switch.
pub fn open(name: &str) -> Result<Box<dyn Adapter>, String> {
    let mut words = name.split('+');
    let base = words.next().unwrap_or_default();
    let switches = Switches::from_names(words).map_err(|error| error.to_string())?;
    Ok(Box::new(provider(base, switches, Limits::default())?))
}

/// The reference provider of a name of [`NAMES`], with switches.
///
/// # Errors
/// There is no such target.
pub fn provider(name: &str, switches: Switches, limits: Limits) -> Result<InProcessAdapter, String> {
    let all = Options { switches, ..Options::default() };
    let options = match name {
        "provider" => all,
        "provider-v2-only" => Options { v1: false, ..all },
        "provider-core" => Options { capabilities: Capabilities::default(), ..all },
        _ => return Err(format!("there is no built-in target {name:?}; there are {NAMES:?}")),
    };
    Ok(InProcessAdapter::new(limits, move || {
        let target = ProviderTarget::in_memory(options).map_err(|error| error.to_string())?;
        Ok(Box::new(Provider(target)))
    }))
}

/// How targets are opened by this program.
pub fn opener(check_protocol: bool) -> Opener<'static> {
    Opener { guard: std::env::current_exe().unwrap_or_default(), check_protocol, builtin: &open }
}
