//! `mutants`: the vectors prove themselves against the reference with one fault, or some leeway, at a time.
//!
//! A fault is *killed* by a vector that fails over the requirement that the fault breaks, and that is about it. A fault that
//! no vector kills, or only over other requirements, falls short, and so does a leeway that a vector minds.

use crate::VectorsArg;
use crate::builtin;
use crate::characters::CHARACTERS;
use crate::exit::{Exit, Stop};
use crate::matrix;
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
    /// Run every vector that is about a fault's requirement against it, not only up to the first that kills it
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
    /// Try a leeway that a character has alone only with vectors that people wrote: the character meets all
    #[arg(long, conflicts_with = "full")]
    sparing: bool,
    /// Decides the combinations, UUIDs and schedules
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the matrix fault × requirement × killing vectors as Markdown, between the marks of a file that has them
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
    /// What the leeways make together, where they are a character.
    character: Option<&'static str>,
}

impl Work {
    fn names(&self) -> Vec<&'static str> {
        self.infos.iter().map(|info| info.name).collect()
    }
}

/// What became of one fault or set of leeways.
pub(crate) struct Mutant {
    /// The side that it plays.
    pub(crate) role: Role,
    /// Whether it is a fault.
    pub(crate) fault: bool,
    /// Names of its switches, or its character.
    pub(crate) name: String,
    /// What the registry says of it.
    pub(crate) infos: Vec<Info>,
    /// Whether it is as wanted.
    pub(crate) good: bool,
    /// Vectors that killed it rightly; for leeways none.
    pub(crate) killers: Vec<String>,
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
        let alone = |info: &Info, fault| Work { role, infos: vec![*info], fault, character: None };
        if !args.leeways {
            work.extend(faults.iter().filter(|info| chosen(info)).map(|info| alone(info, true)));
        }
        if !args.faults {
            work.extend(leeways.iter().filter(|info| chosen(info)).map(|info| alone(info, false)));
            if args.filter.is_none() {
                let on_page: Vec<Info> = leeways.iter().filter(|info| !off_page(info.name)).copied().collect();
                let three = |n| combination(&on_page, args.seed.wrapping_add(n));
                // A scenario of a host takes its time, and there is little that could get into each other's way.
                let combinations = if role == Role::Host { args.combinations.min(3) } else { args.combinations };
                let together = |n| Work { role, infos: three(n), fault: false, character: None };
                work.extend((0..combinations).map(together));
            }
            if role == Role::Provider && !is_aw {
                work.extend(characters(&leeways, args.filter.as_deref()));
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
        let matrix = matrix::markdown(&results, &catalogue, &args.suite);
        let text = matrix::placed(std::fs::read_to_string(file).ok(), &matrix);
        std::fs::write(file, text).map_err(|error| Stop::usage(format!("{}: {error}", file.display())))?;
    }
    Ok(if survivors == 0 { Exit::Good } else { Exit::FallsShort })
}

/// What a registry says of its switches.
pub(crate) fn infos<S: Registry>() -> Vec<Info> {
    S::ALL.iter().map(|(info, _)| *info).collect()
}

fn off_page(name: &str) -> bool {
    switches::OFF_PAGE.contains(&name)
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

/// The characters that a filter selects, by their own name or that of a leeway of theirs.
fn characters(leeways: &[Info], filter: Option<&str>) -> Vec<Work> {
    let chosen = |(character, names): &&(&str, &[&str])| {
        filter.is_none_or(|text| character.contains(text) || names.iter().any(|name| name.contains(text)))
    };
    let find = |name: &&str| *leeways.iter().find(|info| info.name == *name).expect("a leeway of the registry");
    let work = |(character, names): &(&'static str, &[&str])| Work {
        role: Role::Provider,
        infos: names.iter().map(find).collect(),
        fault: false,
        character: Some(character),
    };
    CHARACTERS.iter().filter(chosen).map(work).collect()
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
pub(crate) fn for_each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync, mut done: impl FnMut(R)) {
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
    let Work { role, infos, fault, character } = work;
    let requirement = infos[0].rests_on;
    let names = work.names();
    let mut mutant = Mutant {
        role: *role,
        fault: *fault,
        name: character.map_or_else(|| names.join("+"), str::to_owned),
        infos: infos.clone(),
        good: !fault,
        killers: Vec::new(),
        others: Vec::new(),
    };
    let in_character = |name: &str| CHARACTERS.iter().any(|(_, leeways)| leeways.contains(&name));
    let alone = *role == Role::Provider && character.is_none() && infos.len() == 1;
    let spared = args.sparing && !fault && alone && in_character(infos[0].name);
    let mine: Vec<&Vector> = catalogue
        .vectors
        .iter()
        .filter(|v| v.suite == args.suite && v.role == *role && !(spared && v.generated.is_some()))
        .collect();
    if *fault {
        // Only a vector that is about the broken requirement kills; the others tell what else a survivor does.
        let (mut about, rest): (Vec<&Vector>, Vec<&Vector>) =
            mine.into_iter().partition(|v| v.requirements.iter().any(|id| id == requirement));
        about.sort_by_cached_key(|v| cost(v));
        mutant.try_vectors(catalogue, args, &names, &about);
        if mutant.killers.is_empty() {
            mutant.try_vectors(catalogue, args, &names, &rest);
        }
        mutant.good = !mutant.killers.is_empty();
    } else {
        mutant.try_vectors(catalogue, args, &names, &mine);
    }
    mutant
}

/// About how long a vector takes: cheap ones are tried first.
fn cost(vector: &Vector) -> (bool, usize) {
    (vector.has_flag("large") || vector.has_flag("race"), vector.source.to_string().len())
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
    /// Runs vectors against it and notes what came of them.
    fn try_vectors(&mut self, catalogue: &Catalogue, args: &MutantsArgs, names: &[&str], vectors: &[&Vector]) {
        let (fault, requirement) = (self.fault, self.infos[0].rests_on);
        // A vector about providers of version 2 alone is run on such a one, all others on a dual-stack one.
        let targets = match self.role {
            Role::Host => &[("aw-host", false)][..],
            Role::Admission => &[("aw-admission", false)],
            Role::Consumer => &[("consumer", false)],
            _ if args.suite == cetp_vectors::aw::SUITE => &[("aw-provider", false)],
            _ => &[("provider", false), ("provider-v2-only", true)],
        };
        for (name, stack) in targets {
            let mine: Vec<&Vector> = vectors.iter().copied().filter(|v| (v.stack == Stack::V2Only) == *stack).collect();
            let stop = |result: &VectorResult| fault && !args.full && kills(catalogue, result, requirement);
            if mine.is_empty() || !self.killers.is_empty() && !args.full {
                continue;
            }
            match run(name, names, &mine, args.seed, &stop) {
                Ok(results) => results.iter().for_each(|result| self.note(catalogue, result, fault, requirement)),
                Err(why) => {
                    self.good = false;
                    self.others.push(format!("it does not start: {why}"));
                }
            }
        }
    }

    fn note(&mut self, catalogue: &Catalogue, result: &VectorResult, fault: bool, requirement: &str) {
        // Where the fixture is not as agreed a vector cannot go on, and blames nobody.
        let unmet = result.outcome == Outcome::Error && self.infos.iter().any(|info| off_page(info.name));
        let well = unmet || matches!(result.outcome, Outcome::Pass | Outcome::NotApplicable);
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
        let mut result = run.one(vector, &mut slot);
        let enough = stop(&result);
        // Only the judgement is looked at, and what every mutant was told and said is much.
        result.transcript = None;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_made_of_leeways_that_exist() {
        let leeways = infos::<switches::Leeway>();
        let all = characters(&leeways, None);
        assert_eq!(all.len(), CHARACTERS.len());
        assert!(all.iter().all(|work| work.infos.len() > 10 && !work.fault));
        assert_eq!(characters(&leeways, Some("short_sessions")).len(), 1);
        assert!(characters(&leeways, Some("no such text")).is_empty());
    }
}
