//! What campaigns find of the reference's faults: a row for each. The main function is [`faults`].

use super::campaign::{Bench, Campaign};
use super::probes::Probes;
use super::{Until, pursue};
use crate::builtin;
use crate::exit::{Exit, Stop};
use cetp_reference::registry::{Info, Registry};
use cetp_reference::switches::Fault;
use cetp_runner::limits::Limits;
use cetp_vectors::load::Catalogue;
use cetp_vectors::reader::Reader;
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What became of one fault.
struct Row {
    info: Info,
    /// Cases and steps of the smallest finding about its requirement.
    found: Option<(u64, usize)>,
    /// Other requirements that were found broken.
    others: Vec<String>,
    cases: u64,
}

/// A faulty provider may hang: it is not waited for as long as another's program.
fn limits() -> Limits {
    Limits { verb_ms: 2_000, patience_ms: 1_000, ..Limits::default() }
}

/// Attacks the reference with each of its faults and writes the table.
pub fn faults(file: &Path, only: Option<&str>, time: Duration, cases: Option<u64>, seed: u64) -> Result<Exit, Stop> {
    let own = |error: String| Stop { message: error, exit: Exit::OwnFault };
    let reader = Reader::new("cetp-v2").map_err(own)?;
    let catalogue = Catalogue::embedded();
    let chosen = |info: &Info| only.is_none_or(|text| info.name.contains(text) || info.rests_on.contains(text));
    let mut rows = Vec::new();
    for (info, _) in <Fault as Registry>::ALL.iter().filter(|(info, _)| chosen(info)) {
        let row = one(*info, &reader, &catalogue, time, cases, seed).map_err(own)?;
        let word = match row.found {
            Some((after, steps)) => format!("found after {after} cases, {steps} steps"),
            None if row.others.is_empty() => format!("not found in {} cases", row.cases),
            None => format!("found as {} in {} cases", row.others.join(", "), row.cases),
        };
        anstream::println!("{} ({}): {word}", row.info.name, row.info.rests_on);
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(Stop::usage("no fault is selected"));
    }
    let text = markdown(&rows, time, cases, seed);
    std::fs::write(file, text).map_err(|error| Stop::usage(format!("{}: {error}", file.display())))?;
    anstream::println!("{}", summary(&rows));
    Ok(Exit::Good)
}

fn one(
    info: Info,
    reader: &Reader,
    catalogue: &Catalogue,
    time: Duration,
    cases: Option<u64>,
    seed: u64,
) -> Result<Row, String> {
    let interrupted = AtomicBool::new(false);
    let mut row = Row { info, found: None, others: Vec::new(), cases: 0 };
    // A fault of providers of version 2 alone shows there only.
    for (name, dual) in [("provider", true), ("provider-v2-only", false)] {
        let adapter = builtin::reference(name, &[info.name], limits(), Path::new(""))?;
        let bench = Bench::new(adapter.as_ref(), reader, seed, &interrupted).map_err(|fault| fault.to_string())?;
        let probes = Probes::new(catalogue, dual, &bench.target.capabilities, true)?;
        let mut campaign = Campaign::new(bench, &probes, seed);
        let until =
            Until { time: Instant::now() + time / 2, cases: cases.map(|n| n / 2), requirement: Some(info.rests_on) };
        pursue(&mut campaign, until, &interrupted, &mut |_, _| ())?;
        let before = row.cases;
        row.cases += campaign.tally.cases;
        for finding in campaign.findings.values() {
            if finding.requirement == info.rests_on {
                let steps = row.found.map_or(finding.steps, |(_, steps)| steps.min(finding.steps));
                row.found = Some((before + finding.after, steps));
            } else if !row.others.contains(&finding.requirement) {
                row.others.push(finding.requirement.clone());
            }
        }
        if row.found.is_some() {
            break;
        }
    }
    Ok(row)
}

fn summary(rows: &[Row]) -> String {
    let rightly = rows.iter().filter(|row| row.found.is_some()).count();
    let at_all = rows.iter().filter(|row| row.found.is_some() || !row.others.is_empty()).count();
    let mut steps: Vec<usize> = rows.iter().filter_map(|row| row.found.map(|(_, steps)| steps)).collect();
    steps.sort_unstable();
    let median = steps.get(steps.len() / 2).copied().unwrap_or(0);
    let of = |n: usize| 100.0 * n as f64 / rows.len() as f64;
    format!(
        "{} faults; {rightly} found by their requirement ({:.1} %), {at_all} by any ({:.1} %); the median of the minimal vectors has {median} steps.",
        rows.len(),
        of(rightly),
        of(at_all)
    )
}

fn markdown(rows: &[Row], time: Duration, cases: Option<u64>, seed: u64) -> String {
    let effort = match cases {
        Some(cases) => format!("{cases} cases"),
        None => format!("{} s", time.as_secs_f64()),
    };
    let mut out = format!(
        "# What campaigns find\n\nMade by `cetp-conformance fuzz --faults FILE`, with {effort} for each fault and the seed {seed}.\n\n{}\n\n| fault | requirement | found after cases | steps | others broken |\n|---|---|---|---|---|\n",
        summary(rows)
    );
    for row in rows {
        let (after, steps) = row
            .found
            .map_or(("–".to_owned(), "–".to_owned()), |(after, steps)| (after.to_string(), steps.to_string()));
        let others = row.others.join(", ");
        let _ = writeln!(out, "| {} | {} | {after} | {steps} | {others} |", row.info.name, row.info.rests_on);
    }
    out
}
