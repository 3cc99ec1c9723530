//! `fuzz`: a campaign against a provider. The main type is [`campaign::Campaign`].

pub mod campaign;
pub mod plan;
pub mod probes;
pub mod shrink;
pub mod table;
pub mod targets;

use crate::builtin;
use crate::exit::{Exit, Stop};
use campaign::{Bench, Campaign, Finding};
use cetp_reports::text;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::reader::Reader;
use probes::Probes;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Arguments of `fuzz`.
#[derive(clap::Args)]
pub struct FuzzArgs {
    /// What is attacked: builtin:NAME, stdio:COMMAND, or a target file
    #[arg(long, default_value = "builtin:provider")]
    target: String,
    /// End after this time, such as 60s or 5m
    #[arg(long, value_parser = duration, default_value = "60s", value_name = "TIME")]
    time: Duration,
    /// End after so many cases, however long they take
    #[arg(long, value_name = "N")]
    cases: Option<u64>,
    /// Decides the plans, UUIDs and schedules
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Keeps here what showed something new, and what was found
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Begin with what the corpus holds
    #[arg(long, requires = "corpus")]
    resume: bool,
    /// Drop from the corpus what shows nothing new, and end
    #[arg(long, requires = "resume")]
    minimize_corpus: bool,
    /// Attack the reference with each of its faults in turn, and write the table of what was found as Markdown
    #[arg(long, value_name = "FILE", conflicts_with = "corpus")]
    faults: Option<PathBuf>,
    /// With --faults: only those whose name or requirement holds this text
    #[arg(long, requires = "faults", value_name = "TEXT")]
    only: Option<String>,
}

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let number: u64 = number.parse().map_err(|_| format!("{text:?} is no time: 60s, 5m, 500ms"))?;
    match unit {
        "" | "s" => Ok(Duration::from_secs(number)),
        "ms" => Ok(Duration::from_millis(number)),
        "m" => Ok(Duration::from_secs(number * 60)),
        "h" => Ok(Duration::from_secs(number * 3600)),
        _ => Err(format!("{unit:?} is no unit: ms, s, m, h")),
    }
}

/// When a campaign is over.
#[derive(Clone, Copy)]
pub struct Until {
    /// At this time.
    pub time: Instant,
    /// After so many cases.
    pub cases: Option<u64>,
    /// At the first finding about this requirement.
    pub requirement: Option<&'static str>,
}

impl Until {
    fn over(&self, campaign: &Campaign<'_>) -> bool {
        let cases = campaign.tally.cases;
        match self.cases {
            Some(most) => cases >= most,
            None => Instant::now() >= self.time,
        }
    }
}

/// Carries a campaign on until it is over.
///
/// # Errors
/// A plan became no vector, which is a fault of this program.
pub fn pursue(
    campaign: &mut Campaign<'_>,
    until: Until,
    interrupted: &AtomicBool,
    told: &mut dyn FnMut(&Campaign<'_>, Option<&Finding>),
) -> Result<(), String> {
    while !until.over(campaign) && !interrupted.load(Ordering::Relaxed) {
        let finding = campaign.turn()?;
        told(campaign, finding.as_ref());
        if let (Some(finding), Some(requirement)) = (&finding, until.requirement)
            && finding.requirement == requirement
        {
            break;
        }
    }
    Ok(())
}

/// Carries out `fuzz`.
pub fn fuzz(args: &FuzzArgs) -> Result<Exit, Stop> {
    let own = |error: String| Stop { message: error, exit: Exit::OwnFault };
    if let Some(file) = &args.faults {
        return table::faults(file, args.only.as_deref(), args.time, args.cases, args.seed);
    }
    let target = builtin::opener(false).open(&args.target).map_err(|error| Stop::usage(error.to_string()))?;
    let reader = Reader::new("cetp-v2").map_err(own)?;
    let catalogue = Catalogue::embedded();
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&interrupted))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&interrupted)))
            .map_err(|error| own(error.to_string()))?;
    }
    let bench = Bench::new(target.adapter.as_ref(), &reader, args.seed, &interrupted)
        .map_err(|fault| Stop::target(format!("{}: {fault}", args.target)))?;
    if !bench.target.roles.contains(&Role::Provider) {
        return Err(Stop::usage("a campaign attacks a provider, and the target is none"));
    }
    if bench.target.fixture != Some(1) {
        return Err(Stop::usage(
            "the target does not carry the fixture, whose tools a campaign calls; `vectors generate --from-target` makes vectors of its own tools",
        ));
    }
    let dual = bench.target.versions.contains(&1);
    let probes = Probes::new(&catalogue, dual, &bench.target.capabilities, true).map_err(own)?;
    let mut campaign = Campaign::new(bench, &probes, args.seed);
    if let Some(folder) = args.corpus.as_ref().filter(|_| args.resume) {
        for bytes in kept(&folder.join("plans"))? {
            campaign.play(&bytes).map_err(own)?;
        }
    }
    if args.minimize_corpus {
        let dropped = campaign.minimize().map_err(own)?;
        anstream::println!("{dropped} plans dropped, {} kept", campaign.corpus.len());
    } else {
        let begun = Instant::now();
        let mut shown = begun;
        let until = Until { time: begun + args.time, cases: args.cases, requirement: None };
        pursue(&mut campaign, until, &interrupted, &mut |campaign, finding| {
            if let Some(finding) = finding {
                let words = format!("{}: {} ({} steps)", finding.requirement, finding.message, finding.steps);
                anstream::println!("found {}", text::safe(&words));
            }
            if shown.elapsed() >= Duration::from_secs(5) {
                shown = Instant::now();
                progress(campaign, begun);
            }
        })
        .map_err(own)?;
        progress(&campaign, begun);
    }
    if let Some(folder) = &args.corpus {
        keep(folder, &campaign, args.minimize_corpus)?;
    }
    if interrupted.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    Ok(if campaign.findings.is_empty() { Exit::Good } else { Exit::FallsShort })
}

fn progress(campaign: &Campaign<'_>, begun: Instant) {
    let seconds = begun.elapsed().as_secs_f64().max(0.001);
    let tally = &campaign.tally;
    anstream::println!(
        "{:.0} s: {} cases ({:.0}/s), {} messages ({:.0}/s), corpus {}, findings {}, without a verdict {}",
        seconds,
        tally.cases,
        tally.cases as f64 / seconds,
        tally.messages,
        tally.messages as f64 / seconds,
        campaign.corpus.len(),
        campaign.findings.len(),
        tally.errors
    );
}

/// A file of one vector, as `run --vectors` reads it.
pub fn file(vector: &Json) -> String {
    let file = json!({ "format": "cetp-vectors/1", "suite": "cetp-v2", "vectors": [vector] });
    serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
}

fn kept(folder: &Path) -> Result<Vec<Vec<u8>>, Stop> {
    let failed = |error: std::io::Error| Stop::usage(format!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).map_err(failed)).collect()
}

fn keep(folder: &Path, campaign: &Campaign<'_>, alone: bool) -> Result<(), Stop> {
    let plans = folder.join("plans");
    let failed = |error: std::io::Error| Stop::usage(format!("{}: {error}", folder.display()));
    if alone && plans.exists() {
        std::fs::remove_dir_all(&plans).map_err(failed)?;
    }
    std::fs::create_dir_all(&plans).map_err(failed)?;
    for bytes in &campaign.corpus {
        let name = &cetp_vectors::expr::sha256_hex(bytes)[..16];
        std::fs::write(plans.join(name), bytes).map_err(failed)?;
    }
    let found = folder.join("findings");
    std::fs::create_dir_all(&found).map_err(failed)?;
    for finding in campaign.findings.values() {
        let digest = cetp_vectors::expr::sha256_hex(finding.vector["steps"].to_string().as_bytes());
        let name = format!("{}-{}.json", finding.requirement, &digest[..10]);
        std::fs::write(found.join(name), file(&finding.vector)).map_err(failed)?;
    }
    Ok(())
}
