//! `mutants`: the vectors prove themselves against the reference with one fault, or some leeway, at a time.
//!
//! A fault is *killed* by a vector that fails over the requirement that the fault breaks, and that is about it. A fault that
//! no vector kills, or only over other requirements, falls short, and so does a leeway that a vector minds.

use crate::VectorsArg;
use crate::builtin;
use crate::exit::{Exit, Stop};
use cetp_reference::registry::{Info, Registry};
use cetp_reference::{aw, consumer, switches};
use cetp_reports::text;
use cetp_runner::engine::{self, Options, Run, VectorResult};
use cetp_runner::limits::{Limits, STACK_BYTES};
use cetp_vectors::judge::Outcome;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::{Catalogue, SUITES};
use cetp_vectors::model::{Stack, Vector};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

/// Arguments of `mutants`.
#[derive(clap::Args)]
pub struct MutantsArgs {
    /// Only faults and leeways whose name or requirement holds this text
    filter: Option<String>,
    /// The suite
    #[arg(long, default_value = "cetp-v2", value_parser = SUITES)]
    suite: String,
    /// Only this side
    #[arg(long, value_name = "ROLE", value_parser = ["provider", "consumer", "host", "admission"])]
    role: Option<String>,
    /// Run every vector against every fault, not only up to the first that kills it
    #[arg(long)]
    full: bool,
    /// Only the faults
    #[arg(long, conflicts_with = "leeways")]
    faults: bool,
    /// Only the leeways
    #[arg(long)]
    leeways: bool,
    /// So many random combinations of three leeways, beside each alone
    #[arg(long, default_value_t = 30, value_name = "N")]
    combinations: u64,
    /// Decides the combinations, UUIDs and schedules
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the matrix fault × requirement × killing vectors as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    #[command(flatten)]
    vectors: VectorsArg,
}

/// One fault, or leeways together, of the reference of a side.
struct Work {
    role: Role,
    infos: Vec<Info>,
    fault: bool,
}

impl Work {
    fn names(&self) -> Vec<&'static str> {
        self.infos.iter().map(|info| info.name).collect()
    }
}

/// What became of one fault or set of leeways.
struct Mutant {
    /// The side that it plays.
    role: Role,
    /// Whether it is a fault.
    fault: bool,
    /// Names of its switches.
    name: String,
    /// What the registry says of it.
    infos: Vec<Info>,
    /// Whether it is as wanted.
    good: bool,
    /// Vectors that killed it rightly; for leeways none.
    killers: Vec<String>,
    /// Vectors that fell short otherwise, with the reason.
    others: Vec<String>,
}

/// Carries out `mutants`.
pub fn mutants(args: &MutantsArgs) -> Result<Exit, Stop> {
    let catalogue = args.vectors.load()?;
    let chosen = |info: &Info| {
        args.filter
            .as_ref()
            .is_none_or(|text| info.name.contains(text.as_str()) || info.rests_on.contains(text.as_str()))
    };
    let is_aw = args.suite == cetp_vectors::aw::SUITE;
    let roles: &[Role] =
        if is_aw { &[Role::Provider, Role::Host, Role::Admission] } else { &[Role::Provider, Role::Consumer] };
    let mut work = Vec::new();
    for role in roles.iter().copied().filter(|role| args.role.as_ref().is_none_or(|name| name == role.name())) {
        let (faults, leeways) = match role {
            _ if is_aw => (of_side::<aw::switches::Fault>(role), of_side::<aw::switches::Leeway>(role)),
            Role::Consumer => (infos::<consumer::switches::Fault>(), infos::<consumer::switches::Leeway>()),
            _ => (infos::<switches::Fault>(), infos::<switches::Leeway>()),
        };
        let alone = |info: &Info, fault| Work { role, infos: vec![*info], fault };
        if !args.leeways {
            work.extend(faults.iter().filter(|info| chosen(info)).map(|info| alone(info, true)));
        }
        if !args.faults {
            work.extend(leeways.iter().filter(|info| chosen(info)).map(|info| alone(info, false)));
            if args.filter.is_none() {
                let three = |n| combination(&leeways, args.seed.wrapping_add(n));
                // A scenario of a host takes its time, and there is little that could get into each other's way.
                let combinations = if role == Role::Host { args.combinations.min(3) } else { args.combinations };
                work.extend((0..combinations).map(|n| Work { role, infos: three(n), fault: false }));
            }
        }
    }
    if work.is_empty() {
        return Err(Stop::usage("no fault or leeway is selected"));
    }
    let mut results = Vec::new();
    for_each(
        &work,
        |work| test(&catalogue, args, work),
        |mutant| {
            show(&mutant);
            results.push(mutant);
        },
    );
    results.sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
    let survivors = results.iter().filter(|mutant| !mutant.good).count();
    let faults = results.iter().filter(|mutant| mutant.fault).count();
    anstream::println!(
        "\n{faults} faults, {} leeways and combinations; {survivors} fell short.",
        results.len() - faults
    );
    if let Some(file) = &args.markdown {
        let text = markdown(&results, &catalogue, &args.suite);
        std::fs::write(file, text).map_err(|error| Stop::usage(format!("{}: {error}", file.display())))?;
    }
    Ok(if survivors == 0 { Exit::Good } else { Exit::FallsShort })
}

fn infos<S: Registry>() -> Vec<Info> {
    S::ALL.iter().map(|(info, _)| *info).collect()
}

/// The switches of `aw-provider` that are about requirements of a side.
fn of_side<S: Registry>(role: Role) -> Vec<Info> {
    let prefix = match role {
        Role::Host => "AW1-H-",
        Role::Admission => "AW1-A-",
        _ => "AW1-P-",
    };
    infos::<S>().into_iter().filter(|info| info.rests_on.starts_with(prefix)).collect()
}

/// Three leeways, by a seed.
fn combination(leeways: &[Info], seed: u64) -> Vec<Info> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut left = leeways.to_vec();
    let mut infos = Vec::new();
    while infos.len() < 3 && !left.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let n = usize::try_from(state % left.len() as u64).expect("below the length");
        infos.push(left.swap_remove(n));
    }
    infos
}

/// Works on every item on all processors, and hands each result on as it comes.
fn for_each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync, mut done: impl FnMut(R)) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            std::thread::Builder::new()
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, move || {
                    while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let _ = sender.send(work(item));
                    }
                })
                .expect("the system has threads");
        }
        drop(sender);
        receiver.into_iter().for_each(&mut done);
    });
}

/// A faulty provider may hang or never come to an end: it is not waited for as long as another's program.
fn limits() -> Limits {
    Limits { verb_ms: 10_000, patience_ms: 5_000, ..Limits::default() }
}

fn test(catalogue: &Catalogue, args: &MutantsArgs, work: &Work) -> Mutant {
    let Work { role, infos, fault } = work;
    let requirement = infos[0].rests_on;
    let mut vectors: Vec<&Vector> =
        catalogue.vectors.iter().filter(|v| v.suite == args.suite && v.role == *role).collect();
    // Those that are about the broken requirement first: one of them should kill.
    vectors.sort_by_key(|v| (!v.requirements.iter().any(|id| id == requirement), v.id.clone()));
    let names = work.names();
    let mut mutant = Mutant {
        role: *role,
        fault: *fault,
        name: names.join("+"),
        infos: infos.clone(),
        good: !fault,
        killers: Vec::new(),
        others: Vec::new(),
    };
    // A vector about providers of version 2 alone is run on such a one, all others on a dual-stack one.
    let targets = match role {
        _ if args.suite == cetp_vectors::aw::SUITE => match role {
            Role::Host => &[("aw-host", false)][..],
            Role::Admission => &[("aw-admission", false)],
            _ => &[("aw-provider", false)],
        },
        Role::Consumer => &[("consumer", false)][..],
        _ => &[("provider", false), ("provider-v2-only", true)],
    };
    for (name, stack) in targets {
        let mine: Vec<&Vector> = vectors.iter().copied().filter(|v| (v.stack == Stack::V2Only) == *stack).collect();
        let stop = |result: &VectorResult| *fault && !args.full && kills(catalogue, result, requirement);
        if mine.is_empty() || !mutant.killers.is_empty() && !args.full {
            continue;
        }
        match run(name, &names, &mine, args.seed, &stop) {
            Ok(results) => results.iter().for_each(|result| mutant.note(catalogue, result, *fault, requirement)),
            Err(why) => {
                mutant.good = false;
                mutant.others.push(format!("it does not start: {why}"));
            }
        }
    }
    if *fault {
        mutant.good = !mutant.killers.is_empty();
    }
    mutant
}

fn kills(catalogue: &Catalogue, result: &VectorResult, requirement: &str) -> bool {
    let broken = result.judgement.as_ref().map(|j| match result.outcome {
        Outcome::Fail => j.failed_requirements(),
        Outcome::Warn => j.warned_requirements(),
        _ => Vec::new(),
    });
    let about = catalogue.get(&result.vector).is_some_and(|v| v.requirements.iter().any(|id| id == requirement));
    about && broken.is_some_and(|ids| ids.iter().any(|id| id == requirement))
}

impl Mutant {
    fn note(&mut self, catalogue: &Catalogue, result: &VectorResult, fault: bool, requirement: &str) {
        let well = matches!(result.outcome, Outcome::Pass | Outcome::NotApplicable);
        if fault && kills(catalogue, result, requirement) {
            self.killers.push(result.vector.clone());
        } else if !well {
            self.good &= fault;
            let reason = result.reason.as_deref().unwrap_or_default();
            self.others.push(format!("{} {}: {reason}", result.outcome.name(), result.vector));
        }
    }
}

fn run(
    name: &str,
    switches: &[&str],
    vectors: &[&Vector],
    seed: u64,
    stop: &dyn Fn(&VectorResult) -> bool,
) -> Result<Vec<VectorResult>, String> {
    let executable = std::env::current_exe().unwrap_or_default();
    let adapter = builtin::reference(name, switches, limits(), &executable)?;
    let (session, target_json, target) = engine::describe(adapter.as_ref()).map_err(|fault| fault.to_string())?;
    let options = Options { seed, ..Options::default() };
    let interrupted = AtomicBool::new(false);
    let run = Run {
        vectors,
        adapter: adapter.as_ref(),
        target_json: &target_json,
        target: &target,
        options: &options,
        interrupted: &interrupted,
    };
    let mut slot = Some(session);
    let mut results = Vec::new();
    for vector in vectors {
        let result = run.one(vector, &mut slot);
        let enough = stop(&result);
        results.push(result);
        if enough {
            break;
        }
    }
    Ok(results)
}

fn show(mutant: &Mutant) {
    let style = text::style(if mutant.good { Outcome::Pass } else { Outcome::Fail });
    let word = if mutant.good { "good" } else { "BAD " };
    let role = mutant.role.name();
    let rests: BTreeSet<&str> = mutant.infos.iter().map(|info| info.rests_on).collect();
    let rests: Vec<&str> = rests.into_iter().collect();
    anstream::println!("{style}{word}{style:#} {role}: {} ({})", mutant.name, rests.join(", "));
    let shown = if mutant.good { &mutant.killers } else { &mutant.others };
    for line in shown.iter().take(5) {
        anstream::println!("{}", text::wrap(line, "       "));
    }
    if shown.len() > 5 {
        anstream::println!("       … and {} more", shown.len() - 5);
    }
    if !mutant.good && shown.is_empty() {
        anstream::println!("       every vector passed");
    }
}

/// The matrix for docs/suite-quality.md.
fn markdown(results: &[Mutant], catalogue: &Catalogue, suite: &str) -> String {
    let mut out = String::from("| side | fault | what it does | breaks | killed by |\n|---|---|---|---|---|\n");
    for mutant in results.iter().filter(|m| !m.killers.is_empty() || !m.good) {
        let role = mutant.role.name();
        let info = mutant.infos[0];
        let killers = match mutant.killers.as_slice() {
            [] => "**survives**".to_owned(),
            [only] => format!("`{only}`"),
            [first, rest @ ..] => format!("`{first}` and {} more", rest.len()),
        };
        let _ = writeln!(out, "| {role} | `{}` | {} | {} | {killers} |", info.name, info.what, info.rests_on);
    }
    let roles: BTreeSet<Role> = results.iter().map(|m| m.role).collect();
    let killers: BTreeSet<&String> = results.iter().flat_map(|m| &m.killers).collect();
    let idle: Vec<&Vector> = catalogue
        .vectors
        .iter()
        .filter(|v| roles.contains(&v.role) && v.suite == suite && !killers.contains(&v.id))
        .collect();
    let _ = writeln!(out, "\n{} vectors kill no fault:\n", idle.len());
    for vector in idle {
        let _ = writeln!(out, "- `{}` ({})", vector.id, vector.requirements.join(", "));
    }
    out
}
