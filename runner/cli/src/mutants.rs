//! `mutants`: the vectors prove themselves against the reference with one fault, or some leeway, at a time.
//!
//! A fault is *killed* by a vector that fails over the requirement that the fault breaks, and that is about it. A fault that
//! no vector kills, or only over other requirements, falls short, and so does a leeway that a vector minds.

use crate::VectorsArg;
use crate::builtin;
use crate::exit::{Exit, Stop};
use cetp_reference::switches::{Fault, Info, Leeway, Switches};
use cetp_reports::text;
use cetp_runner::engine::{self, Options, Run, VectorResult};
use cetp_runner::limits::{Limits, STACK_BYTES};
use cetp_vectors::judge::Outcome;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
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

/// What became of one fault or set of leeways.
struct Mutant {
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
    let mut work: Vec<(Switches, Vec<Info>, bool)> = Vec::new();
    if !args.leeways {
        let faults = Fault::ALL.iter().filter(|(info, _)| chosen(info));
        work.extend(faults.map(|(info, fault)| (Switches::default().with_fault(*fault), vec![*info], true)));
    }
    if !args.faults {
        let leeways = Leeway::ALL.iter().filter(|(info, _)| chosen(info));
        work.extend(leeways.map(|(info, leeway)| (Switches::default().with_leeway(*leeway), vec![*info], false)));
        if args.filter.is_none() {
            work.extend((0..args.combinations).map(|n| combination(args.seed.wrapping_add(n))));
        }
    }
    if work.is_empty() {
        return Err(Stop::usage("no fault or leeway is selected"));
    }
    let mut results = Vec::new();
    for_each(
        &work,
        |(switches, infos, fault)| test(&catalogue, args, *switches, infos, *fault),
        |mutant| {
            show(&mutant);
            results.push(mutant);
        },
    );
    results.sort_by(|a, b| a.name.cmp(&b.name));
    let survivors = results.iter().filter(|mutant| !mutant.good).count();
    let faults =
        results.iter().filter(|m| m.infos.len() == 1 && work.iter().any(|(_, i, f)| *f && i == &m.infos)).count();
    anstream::println!(
        "\n{faults} faults, {} leeways and combinations; {survivors} fell short.",
        results.len() - faults
    );
    if let Some(file) = &args.markdown {
        let text = markdown(&results, &catalogue);
        std::fs::write(file, text).map_err(|error| Stop::usage(format!("{}: {error}", file.display())))?;
    }
    Ok(if survivors == 0 { Exit::Good } else { Exit::FallsShort })
}

/// Three leeways, by a seed.
fn combination(seed: u64) -> (Switches, Vec<Info>, bool) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut left: Vec<usize> = (0..Leeway::ALL.len()).collect();
    let (mut switches, mut infos) = (Switches::default(), Vec::new());
    while infos.len() < 3 && !left.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let n = usize::try_from(state % left.len() as u64).expect("below the length");
        let (info, leeway) = Leeway::ALL[left.swap_remove(n)];
        switches = switches.with_leeway(leeway);
        infos.push(info);
    }
    (switches, infos, false)
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

fn test(catalogue: &Catalogue, args: &MutantsArgs, switches: Switches, infos: &[Info], fault: bool) -> Mutant {
    let requirement = infos[0].rests_on;
    let mut vectors: Vec<&Vector> =
        catalogue.vectors.iter().filter(|v| v.suite == "cetp-v2" && v.role == Role::Provider).collect();
    // Those that are about the broken requirement first: one of them should kill.
    vectors.sort_by_key(|v| (!v.requirements.iter().any(|id| id == requirement), v.id.clone()));
    let names: Vec<&str> = infos.iter().map(|info| info.name).collect();
    let mut mutant =
        Mutant { name: names.join("+"), infos: infos.to_vec(), good: !fault, killers: Vec::new(), others: Vec::new() };
    // A vector about providers of version 2 alone is run on such a one, all others on a dual-stack one.
    for (name, stack) in [("provider", false), ("provider-v2-only", true)] {
        let mine: Vec<&Vector> = vectors.iter().copied().filter(|v| (v.stack == Stack::V2Only) == stack).collect();
        let stop = |result: &VectorResult| fault && !args.full && kills(catalogue, result, requirement);
        if mine.is_empty() || !mutant.killers.is_empty() && !args.full {
            continue;
        }
        match run(name, switches, &mine, args.seed, &stop) {
            Ok(results) => results.iter().for_each(|result| mutant.note(catalogue, result, fault, requirement)),
            Err(why) => {
                mutant.good = false;
                mutant.others.push(format!("it does not start: {why}"));
            }
        }
    }
    if fault {
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
    switches: Switches,
    vectors: &[&Vector],
    seed: u64,
    stop: &dyn Fn(&VectorResult) -> bool,
) -> Result<Vec<VectorResult>, String> {
    let adapter = builtin::provider(name, switches, limits())?;
    let (session, target_json, target) = engine::describe(&adapter).map_err(|fault| fault.to_string())?;
    let options = Options { seed, ..Options::default() };
    let interrupted = AtomicBool::new(false);
    let run = Run {
        vectors,
        adapter: &adapter,
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
    let rests: BTreeSet<&str> = mutant.infos.iter().map(|info| info.rests_on).collect();
    let rests: Vec<&str> = rests.into_iter().collect();
    anstream::println!("{style}{word}{style:#} {} ({})", mutant.name, rests.join(", "));
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
fn markdown(results: &[Mutant], catalogue: &Catalogue) -> String {
    let mut out = String::from("| fault | what it does | breaks | killed by |\n|---|---|---|---|\n");
    for mutant in results.iter().filter(|m| !m.killers.is_empty() || !m.good) {
        let info = mutant.infos[0];
        let killers = match mutant.killers.as_slice() {
            [] => "**survives**".to_owned(),
            [only] => format!("`{only}`"),
            [first, rest @ ..] => format!("`{first}` and {} more", rest.len()),
        };
        let _ = writeln!(out, "| `{}` | {} | {} | {killers} |", info.name, info.what, info.rests_on);
    }
    let killers: BTreeSet<&String> = results.iter().flat_map(|m| &m.killers).collect();
    let idle: Vec<&Vector> = catalogue
        .vectors
        .iter()
        .filter(|v| v.role == Role::Provider && v.suite == "cetp-v2" && !killers.contains(&v.id))
        .collect();
    let _ = writeln!(out, "\n{} vectors kill no fault:\n", idle.len());
    for vector in idle {
        let _ = writeln!(out, "- `{}` ({})", vector.id, vector.requirements.join(", "));
    }
    out
}
