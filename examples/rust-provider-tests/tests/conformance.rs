//! The conformance suite as trials of `cargo test`, each vector one; it runs under nextest as well.
//!
//! ```sh
//! cargo test -p rust-provider-tests              # all
//! cargo test -p rust-provider-tests -- 2.2/      # one section
//! cargo nextest run -p rust-provider-tests
//! FAIL_FAST=1 cargo test -p rust-provider-tests  # the first failure ends it, as mutation testing wants it
//! ```
//!
//! Put your own target in the place of the reference: it answers the verbs of docs/target-protocol.md.

use cetp_reference::target::{Options, ProviderTarget, VerbError};
use cetp_runner::adapter::RpcError;
use cetp_runner::harness::{Setup, main as run};
use cetp_runner::inprocess::{Host, InProcessAdapter, LocalError, LocalTarget};
use cetp_runner::limits::Limits;
use serde_json::Value;
use std::process::ExitCode;

struct MyProvider(ProviderTarget);

impl LocalTarget for MyProvider {
    fn handle(&self, number: u64, verb: &str, params: &Value, _host: &dyn Host) -> Result<Value, LocalError> {
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        self.0.handle_at(place, verb, params).map_err(|error| match error {
            VerbError::Died => LocalError::Died("the provider ended".into()),
            other => LocalError::Rpc(RpcError { code: other.code(), message: other.to_string() }),
        })
    }

    fn schedule(&self, seed: u64, calls: usize) {
        self.0.schedule(seed, calls);
    }
}

fn main() -> ExitCode {
    let adapter = InProcessAdapter::new(Limits::default(), || {
        let target = ProviderTarget::in_memory(Options::default()).map_err(|error| error.to_string())?;
        Ok(Box::new(MyProvider(target)))
    });
    run(Setup::new(adapter).fail_fast(std::env::var_os("FAIL_FAST").is_some()))
}
