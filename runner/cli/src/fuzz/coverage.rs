//! What a campaign knows of the code that its target reaches. The main types are [`Branches`], which an instrumented program
//! has, and [`Coverage`], what of them a campaign has seen reached.
//!
//! That a branch was reached is known for the whole process. So what a case reaches is known only of a target in this process,
//! and only while no other case runs.

use super::FuzzArgs;
use super::bench::Bench;
use crate::exit::Stop;
use cetp_runner::adapter::Adapter;
use cetp_runner::engine::VectorResult;
use cetp_vectors::model::Vector;
use std::num::NonZero;

/// The branches of the built-in targets, in a program in which these are instrumented.
#[derive(Clone, Copy)]
pub struct Branches {
    /// How many there are; they have the numbers below that.
    pub all: fn() -> usize,
    /// Tells the number of each that was reached since the last question, and forgets that it was.
    pub take: fn(&mut dyn FnMut(usize)),
}

impl Branches {
    /// Whether they can lead a campaign.
    ///
    /// # Errors
    /// Why not, for the user.
    pub(super) fn can_lead(self, args: &FuzzArgs) -> Result<(), Stop> {
        if (self.all)() == 0 {
            return Err(Stop::usage(
                "this program is not instrumented and knows of no branches: fuzz/campaign builds it anew",
            ));
        }
        if args.faults {
            return Err(Stop::usage("--faults: of campaigns at the same time it is not known which reached what"));
        }
        if args.test_threads.is_some_and(|threads| threads > NonZero::<usize>::MIN) {
            return Err(Stop::usage("--test-threads: of cases at the same time it is not known which reached what"));
        }
        Ok(())
    }

    /// Whether they can be those of a target.
    ///
    /// # Errors
    /// Why not, for the user.
    pub fn can_be_of(self, target: &str, adapter: &dyn Adapter) -> Result<(), Stop> {
        if adapter.kind() == "in-process" {
            return Ok(());
        }
        Err(Stop::usage(format!("{target}: what is reached is known only of a target in this process, builtin:NAME")))
    }

    /// Runs a vector; with it comes what the target reached meanwhile.
    pub fn run(self, bench: &mut Bench<'_>, vector: &Vector) -> (VectorResult, Vec<usize>) {
        // How the target puts away what it was left with by another case is not this one's.
        bench.clear();
        (self.take)(&mut drop);
        let result = bench.run_vector(vector);
        // What it does on other threads is.
        bench.rest();
        let mut reached = Vec::new();
        (self.take)(&mut |branch| reached.push(branch));
        (result, reached)
    }
}

/// What a campaign has seen reached.
pub struct Coverage {
    /// All branches.
    pub branches: Branches,
    reached: Vec<bool>,
}

impl Coverage {
    /// Nothing yet.
    pub fn new(branches: Branches) -> Coverage {
        Coverage { branches, reached: vec![false; (branches.all)()] }
    }

    /// Takes in what a case reached; whether any of it is new.
    pub fn add(&mut self, reached: &[usize]) -> bool {
        let mut new = false;
        for branch in reached {
            let known = self.reached.get_mut(*branch).map(|known| std::mem::replace(known, true));
            new |= known == Some(false);
        }
        new
    }

    /// Forgets what was reached.
    pub fn clear(&mut self) {
        self.reached.fill(false);
    }

    /// How many were reached, and how many there are.
    pub fn count(&self) -> (usize, usize) {
        (self.reached.iter().filter(|reached| **reached).count(), self.reached.len())
    }
}

#[cfg(test)]
mod tests {
    use super::super::campaign::Campaign;
    use super::super::case::Material;
    use super::*;
    use crate::builtin;
    use crate::exit::Exit;
    use cetp_reference::session::Capabilities;
    use cetp_reference::switches::Switches;
    use cetp_reference::target::{Options, ProviderTarget};
    use cetp_runner::adapter::RpcError;
    use cetp_runner::inprocess::{Host, InProcessAdapter, LocalError, LocalTarget};
    use cetp_runner::limits::Limits;
    use cetp_vectors::ledger::Role;
    use cetp_vectors::load::Catalogue;
    use cetp_vectors::reader::Reader;
    use clap::{Args, FromArgMatches};
    use serde_json::Value as Json;
    use std::collections::BTreeSet;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// What the target reached.
    static REACHED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
    /// What it reaches with each call.
    static NEXT: AtomicUsize = AtomicUsize::new(0);

    const BRANCHES: Branches =
        Branches { all: || 10, take: |each| std::mem::take(&mut *REACHED.lock().unwrap()).into_iter().for_each(each) };

    /// A provider whose calls all reach the same branch.
    struct Counted(ProviderTarget);

    impl LocalTarget for Counted {
        fn handle(&self, _number: u64, verb: &str, params: &Json, _host: &dyn Host) -> Result<Json, LocalError> {
            let place = if verb == "provider.call" { NEXT.load(Ordering::SeqCst) } else { 0 };
            REACHED.lock().unwrap().insert(place);
            let refused = |error: &dyn ToString| RpcError { code: -32000, message: error.to_string() };
            self.0.handle(verb, params).map_err(|error| LocalError::Rpc(refused(&error)))
        }
    }

    fn counted() -> InProcessAdapter {
        let options = Options { v1: false, capabilities: Capabilities::default(), switches: Switches::default() };
        InProcessAdapter::new(Limits::default(), move || {
            let target = ProviderTarget::in_memory(options).map_err(|error| error.to_string())?;
            Ok(Box::new(Counted(target)))
        })
    }

    #[test]
    fn a_case_that_reaches_what_none_before_reached_is_kept() {
        let (adapter, reader, quiet) = (counted(), Reader::new("cetp-v2").unwrap(), AtomicBool::new(false));
        let bench = || Bench::new(&adapter, &reader, &quiet).unwrap();
        let first = bench();
        let material = Material::new(&Catalogue::embedded(), Role::Provider, &first.target, false).unwrap();
        let case = material.seeds().0.remove(0);
        let mut blind = Campaign::new(first, &material, 0);
        let mut led = Campaign::new(bench(), &material, 0);
        led.led_by(BRANCHES);
        let kept = |campaign: &mut Campaign<'_>, place: usize| {
            NEXT.store(place, Ordering::SeqCst);
            let before = campaign.corpus.len();
            assert!(campaign.play(&case).unwrap().is_empty());
            campaign.corpus.len() - before
        };

        assert_eq!([1, 1, 2].map(|place| kept(&mut blind, place)), [1, 0, 0], "what it answers is not new");
        assert_eq!(blind.branches(), None);
        assert_eq!([1, 1, 2, 2, 3].map(|place| kept(&mut led, place)), [1, 0, 1, 0, 1]);
        assert_eq!(led.branches(), Some((4, 10)));

        // What was reached outside of a case is nobody's.
        REACHED.lock().unwrap().insert(7);
        assert_eq!(kept(&mut led, 1), 0);
        assert_eq!(led.branches(), Some((4, 10)));

        // The same case three times, of which none shows more than the last.
        assert_eq!(led.minimize().unwrap(), 2);
        assert_eq!(led.branches(), Some((2, 10)));
    }

    #[test]
    fn where_nothing_is_known_no_campaign_is_led() {
        let args = |words: &[&str]| {
            let matches =
                FuzzArgs::augment_args(clap::Command::new("fuzz").no_binary_name(true)).get_matches_from(words);
            FuzzArgs::from_arg_matches(&matches).unwrap()
        };
        let refused = |branches: Branches, words: &[&str]| {
            branches.can_lead(&args(words)).is_err_and(|stop| stop.exit == Exit::Usage)
        };
        assert!(refused(Branches { all: || 0, ..BRANCHES }, &[]));
        assert!(refused(BRANCHES, &["--test-threads", "2"]));
        assert!(refused(BRANCHES, &["--faults"]));
        assert!(!refused(BRANCHES, &["--test-threads", "1", "--target", "builtin:consumer"]));

        let is_of = |target: &str| {
            let opened = builtin::opener(false).open(target).unwrap();
            BRANCHES.can_be_of(target, opened.adapter.as_ref()).is_ok()
        };
        assert!(is_of("builtin:consumer+version_wins"));
        assert!(!is_of("stdio:true"));
    }
}
