//! `fuzz`: a campaign against a provider or a consumer. The main type is [`campaign::Campaign`].

pub mod bench;
pub mod blind;
pub mod bytes;
pub mod campaign;
pub mod case;
pub mod coverage;
pub mod differ;
pub mod plan;
pub mod probes;
pub mod scenes;
pub mod shrink;
pub mod store;
pub mod table;
pub mod targets;
mod targets_aw;

use crate::builtin;
use crate::exit::{Exit, Stop, interruptible};
use crate::run::threads;
use bench::Bench;
use campaign::{Campaign, Finding};
use case::Material;
use cetp_reports::text;
use cetp_runner::adapter::{Adapter, Fault};
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::protocol::Describe;
use cetp_vectors::reader::Reader;
use coverage::Branches;
use differ::Differ;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::Store;

/// Arguments of `fuzz`.
#[derive(clap::Args)]
pub struct FuzzArgs {
    /// What is attacked: builtin:NAME, stdio:COMMAND, or a target file
    #[arg(long, default_value = "builtin:provider")]
    target: String,
    /// The side that is attacked; needed only for a target that can be both
    #[arg(long, value_name = "ROLE", value_parser = ["provider", "consumer"])]
    role: Option<String>,
    /// End after this time, such as 60s or 5m; with --faults the time for each fault
    #[arg(long, value_parser = duration, default_value = "60s", value_name = "TIME")]
    time: Duration,
    /// End after so many cases, however long they take
    #[arg(long, value_name = "N")]
    cases: Option<u64>,
    /// Decides the cases
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Run so many cases at the same time, each on a target of its own; all processors where nothing is given. What is found
    /// does not depend on it
    #[arg(long, value_name = "N", conflicts_with = "faults")]
    test_threads: Option<NonZero<usize>>,
    /// Keeps here what showed something new, and what was found
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Begin with what the corpus holds
    #[arg(long, requires = "corpus")]
    resume: bool,
    /// Drop from the corpus what shows nothing new, and end
    #[arg(long, requires = "resume")]
    minimize_corpus: bool,
    /// Also tell where this target answers otherwise: another program of the same kind
    #[arg(long, value_name = "TARGET")]
    against: Option<String>,
    /// Leave out the vectors that a person wrote: only what is generated
    #[arg(long)]
    generated_only: bool,
    /// Leave out the suite's vectors as they are, which `run` plays: only what is made of them
    #[arg(long)]
    made_only: bool,
    /// For a target without the fixture: also call tools that have side effects. Those that always ask the user are never called
    #[arg(long)]
    allow_effects: bool,
    /// Attack the reference with each of its faults in turn, and tell which are found
    #[arg(long, conflicts_with_all = ["corpus", "against", "generated_only", "made_only"])]
    faults: bool,
    /// With --faults: only those whose name or requirement holds this text
    #[arg(long, requires = "faults", value_name = "TEXT")]
    only: Option<String>,
    /// With --faults: write the table as Markdown
    #[arg(long, requires = "faults", value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// A campaign takes no longer.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = number.parse().map_err(|_| format!("{text:?} is no time: 60s, 5m, 500ms"))?;
    let time = match unit {
        "" | "s" => Duration::from_secs(number),
        "ms" => Duration::from_millis(number),
        "m" => Duration::from_secs(number.saturating_mul(60)),
        "h" => Duration::from_secs(number.saturating_mul(3600)),
        _ => return Err(format!("{unit:?} is no unit: ms, s, m, h")),
    };
    if time > LONGEST { Err(format!("{text:?} is longer than a year")) } else { Ok(time) }
}

/// When a campaign is over.
#[derive(Clone, Copy)]
pub struct Until {
    /// At this time.
    pub time: Instant,
    /// After so many cases; then the time does not count.
    pub cases: Option<u64>,
    /// At the first finding about this requirement; at any, once the suite's vectors have been played as they are.
    pub requirement: Option<&'static str>,
}

impl Until {
    /// So many cases are still to be run.
    fn left(&self, campaign: &Campaign<'_>) -> u64 {
        let tally = &campaign.tally;
        match self.cases {
            // Bytes that are no vector do not count, and must not keep a campaign for ever.
            Some(most) if tally.made >= most.saturating_mul(10) => 0,
            Some(most) => most.saturating_sub(tally.cases),
            None => u64::MAX,
        }
    }

    fn in_time(&self) -> bool {
        self.cases.is_some() || Instant::now() < self.time
    }
}

/// Is told what was found each time that some cases have run; where it fails the campaign ends.
pub type Told<'t> = dyn FnMut(&Campaign<'_>, &[Finding]) -> Result<(), Stop> + 't;

/// Carries a campaign on until it is over.
///
/// # Errors
/// A case became no vector, which is a fault of this program; or what `told` says.
pub fn pursue(
    campaign: &mut Campaign<'_>,
    until: Until,
    interrupted: &AtomicBool,
    told: &mut Told<'_>,
) -> Result<(), Stop> {
    let more = || until.in_time() && !interrupted.load(Ordering::Relaxed);
    while more() && until.left(campaign) > 0 {
        let findings = campaign.turn(until.left(campaign), &more).map_err(own_fault)?;
        told(campaign, &findings)?;
        let about = |requirement: &str| findings.iter().any(|finding| finding.requirement == requirement);
        let enough = campaign.is_past_seeds() && !campaign.findings.is_empty();
        if until.requirement.is_some_and(|requirement| enough || about(requirement)) {
            break;
        }
    }
    Ok(())
}

/// Carries out `fuzz`; in an instrumented program campaigns are led by the target's branches.
pub fn fuzz(args: &FuzzArgs, branches: Option<Branches>) -> Result<Exit, Stop> {
    branches.map_or(Ok(()), |branches| branches.can_lead(args))?;
    let asked = args.role.as_deref().and_then(Role::from_name);
    if args.faults {
        return table::faults(&table::Plan {
            only: args.only.as_deref(),
            role: asked,
            time: args.time,
            cases: args.cases,
            seed: args.seed,
            markdown: args.markdown.clone(),
        });
    }
    let mut store = args.corpus.as_deref().map(Store::open).transpose()?;
    let open = |name: &str| builtin::opener(false).open(name).map_err(|error| Stop::usage(error.to_string()));
    let target = open(&args.target)?;
    branches.map_or(Ok(()), |branches| branches.can_be_of(&args.target, target.adapter.as_ref()))?;
    let reader = Reader::new("cetp-v2").map_err(own_fault)?;
    let interrupted = interruptible()?;
    let gone = |fault: Fault| Stop::target(format!("{}: {fault}", args.target));
    let mut bench = Bench::new(target.adapter.as_ref(), &reader, &interrupted).map_err(gone)?;
    let role = role_of(&bench.target, asked)?;
    let material = material(args, role, &mut bench)?;
    // What a target without the fixture does with its tools may meet elsewhere what another one of it does; and of two in an
    // instrumented process it is not known which reached what.
    let alone = branches.is_some() || role == Role::Provider && bench.target.fixture != Some(1);
    let others = more_benches(args, alone, target.adapter.as_ref(), || {
        Bench::new(target.adapter.as_ref(), &reader, &interrupted).map_err(gone)
    })?;
    let mut campaign = Campaign::new(bench, &material, args.seed);
    campaign.in_batches(others);
    if let Some(branches) = branches {
        campaign.led_by(branches);
    }
    if args.made_only {
        campaign.without_seeds();
    }
    let other = args.against.as_deref().map(open).transpose()?;
    if let Some(other) = &other {
        let bench = Bench::new(other.adapter.as_ref(), &reader, &interrupted).map_err(gone)?;
        role_of(&bench.target, Some(role))?;
        campaign.against(Differ::new(bench));
    }
    if let Some(store) = store.as_ref().filter(|_| args.resume) {
        for bytes in store.kept()? {
            campaign.play(&bytes).map_err(own_fault)?.iter().try_for_each(|finding| tell(finding, Some(store)))?;
        }
    }
    if args.minimize_corpus {
        campaign.minimize().map_err(own_fault)?;
        // What was interrupted has not shown what it could.
        if let Some(store) = store.as_mut().filter(|_| !interrupted.load(Ordering::Relaxed)) {
            let dropped = store.keep_only_cases(&campaign)?;
            anstream::println!("{dropped} cases dropped, {} kept", campaign.corpus.len());
        }
    } else {
        run(args, &mut campaign, store.as_mut(), &interrupted)?;
    }
    if interrupted.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    Ok(if campaign.findings.is_empty() { Exit::Good } else { Exit::FallsShort })
}

/// What a campaign has beside its first bench: as many in all as the target and the processors can take.
fn more_benches<'b>(
    args: &FuzzArgs,
    alone: bool,
    adapter: &dyn Adapter,
    bench: impl FnMut() -> Result<Bench<'b>, Stop>,
) -> Result<Vec<Bench<'b>>, Stop> {
    let all = if alone { 1 } else { args.test_threads.map_or_else(threads, NonZero::get).min(adapter.most_sessions()) };
    std::iter::repeat_with(bench).take(all.saturating_sub(1)).collect()
}

fn role_of(target: &Describe, asked: Option<Role>) -> Result<Role, Stop> {
    let has = |role: Role| target.roles.iter().any(|own| *own == role || *own == Role::Both);
    match asked {
        Some(role) if has(role) => Ok(role),
        Some(role) => Err(Stop::usage(format!("the target is no {}", role.name()))),
        None if has(Role::Provider) && has(Role::Consumer) => {
            Err(Stop::usage("the target is a provider and a consumer: --role says which is attacked"))
        }
        None if has(Role::Provider) => Ok(Role::Provider),
        None if has(Role::Consumer) => Ok(Role::Consumer),
        None => Err(Stop::usage("the target is neither a provider nor a consumer of CETP v2")),
    }
}

/// What cases are made of for a target: the suite's own vectors, or where it does not carry the fixture those of its tools.
/// Tools that always ask the user are in none of them.
fn material(args: &FuzzArgs, role: Role, bench: &mut Bench<'_>) -> Result<Material, Stop> {
    if role == Role::Provider && bench.target.fixture != Some(1) {
        let gone = |error: String| Stop::target(format!("{}: {error}", args.target));
        let tools = bench.own_tools(args.allow_effects).map_err(gone)?;
        for why in &tools.left_out {
            anstream::println!("left out: {}", text::safe(why));
        }
        let read = tools.vectors.iter().map(|vector| bench.reader().fitted(vector)).collect::<Result<_, String>>();
        return Ok(Material::of_own_tools(read.map_err(own_fault)?));
    }
    Material::new(&Catalogue::embedded(), role, &bench.target, !args.generated_only).map_err(own_fault)
}

fn own_fault(message: String) -> Stop {
    Stop { message, exit: Exit::OwnFault }
}

/// Tells a finding, and keeps it where there is a folder.
fn tell(finding: &Finding, store: Option<&Store>) -> Result<(), Stop> {
    let words = format!("{}: {} ({} steps)", finding.requirement, finding.message, finding.steps);
    anstream::println!("found {}", text::safe(&words));
    if let Some(place) = store.map(|store| store.keep_finding(finding)).transpose()?.flatten() {
        anstream::println!("{}", place.display());
    }
    Ok(())
}

fn run(
    args: &FuzzArgs,
    campaign: &mut Campaign<'_>,
    mut store: Option<&mut Store>,
    interrupted: &AtomicBool,
) -> Result<(), Stop> {
    let begun = Instant::now();
    let mut shown = begun;
    // Beside those that were resumed.
    let cases = args.cases.map(|cases| cases.saturating_add(campaign.tally.cases));
    let until = Until { time: begun + args.time, cases, requirement: None };
    pursue(campaign, until, interrupted, &mut |campaign, findings| {
        findings.iter().try_for_each(|finding| tell(finding, store.as_deref()))?;
        store.as_mut().map_or(Ok(()), |store| store.keep_cases(campaign))?;
        if shown.elapsed() >= Duration::from_secs(5) {
            shown = Instant::now();
            progress(campaign, begun);
        }
        Ok(())
    })?;
    progress(campaign, begun);
    if campaign.tally.cases > campaign.tally.not_run && campaign.branches().is_some_and(|(reached, _)| reached == 0) {
        return Err(own_fault("no branch was reached: what is instrumented is not the target".into()));
    }
    if let Some(why) = &campaign.tally.first_error {
        anstream::println!("without a verdict, for example: {}", text::safe(why));
    }
    for line in campaign.differences() {
        anstream::println!("differs {}", text::safe(&line));
    }
    Ok(())
}

fn progress(campaign: &Campaign<'_>, begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64().max(0.001);
    let tally = &campaign.tally;
    let branches = campaign.branches().map_or_else(String::new, |(n, all)| format!(", branches {n} of {all}"));
    anstream::println!(
        "{seconds:.0} s: {} cases ({:.0}/s), {} messages ({:.0}/s), corpus {}{branches}, findings {}, without a verdict {}, not for this target {}",
        tally.cases,
        tally.cases as f64 / seconds,
        tally.messages,
        tally.messages as f64 / seconds,
        campaign.corpus.len(),
        campaign.findings.len(),
        tally.errors,
        tally.not_run
    );
}
