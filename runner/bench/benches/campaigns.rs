//! Messages of a campaign in a second, with all that belongs to them: making cases, running and judging them. In process, and
//! over stdio, each with as many targets as there are processors.
//!
//! No ratio says what these are good for: a campaign finds by the number of messages. So figures are printed, each with its
//! aim, and what they are worth rests on what else the machine does.

use cetp_bench::adapter;
use cetp_conformance::fuzz::bench::Bench;
use cetp_conformance::fuzz::campaign::Campaign;
use cetp_conformance::fuzz::case::Material;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::reader::Reader;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// For so long each campaign is measured.
const TIME: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    cetp_bench::bench(|| {
        measure("in process", "builtin:provider", Role::Provider, 20_000);
        measure("in process", "builtin:consumer", Role::Consumer, 20_000);
        let program = cetp_bench::program();
        measure("stdio", &format!("stdio:{program} reference provider"), Role::Provider, 2_000);
        measure("stdio", &format!("stdio:{program} reference consumer"), Role::Consumer, 2_000);
    })
}

fn measure(transport: &str, target: &str, role: Role, aim: u64) {
    let adapter = adapter(target);
    let reader = Reader::new("cetp-v2").unwrap();
    let interrupted = AtomicBool::new(false);
    let bench = || Bench::new(adapter.as_ref(), &reader, &interrupted).unwrap();
    let first = bench();
    let material = Material::new(&Catalogue::embedded(), role, &first.target, true).unwrap();
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut campaign = Campaign::new(first, &material, 0);
    campaign.in_batches((1..processors).map(|_| bench()));
    let begun = Instant::now();
    let more = || begun.elapsed() < TIME;
    while more() {
        let found = campaign.turn(u64::MAX, &more).unwrap();
        assert!(found.is_empty(), "the reference conforms: {found:?}");
    }
    let seconds = begun.elapsed().as_secs_f64();
    let tally = &campaign.tally;
    println!(
        "CAMPAIGN {transport}, {}: {:.0} messages and {:.0} cases a second (at least {aim} messages was the aim)",
        role.name(),
        tally.messages as f64 / seconds,
        tally.cases as f64 / seconds
    );
}
