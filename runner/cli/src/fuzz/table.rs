//! What campaigns find of the reference's faults: a row for each. The main function is [`faults`].
//!
//! Each fault is attacked up to three times: with what is generated alone, which is the model, the generators' vectors and
//! what chance makes of them; where that found nothing also with the vectors that a person wrote; and where that found
//! nothing either once more, for longer.

use super::bench::Bench;
use super::campaign::Campaign;
use super::case::Material;
use super::{Until, pursue};
use crate::builtin;
use crate::exit::{Exit, Stop};
use crate::mutants::{for_each, infos};
use cetp_reference::registry::Info;
use cetp_reference::{consumer, switches};
use cetp_runner::limits::Limits;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::reader::Reader;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How the table is made.
pub struct Plan<'p> {
    /// Only faults whose name or requirement has this text.
    pub only: Option<&'p str>,
    /// Only this side.
    pub role: Option<Role>,
    /// The time of an attack.
    pub time: Duration,
    /// The cases of an attack; then the time does not count.
    pub cases: Option<u64>,
    /// Decides the cases.
    pub seed: u64,
    /// Where the table goes.
    pub markdown: Option<PathBuf>,
}

/// The attacks on a fault, in turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attack {
    /// With generated material alone.
    Generated,
    /// With written vectors as well.
    Written,
    /// The same for longer.
    Longer,
}

impl Attack {
    const ALL: [Attack; 3] = [Attack::Generated, Attack::Written, Attack::Longer];

    fn name(self) -> &'static str {
        match self {
            Attack::Generated => "generated",
            Attack::Written => "written",
            Attack::Longer => "longer",
        }
    }

    /// So many times the time, or the cases, of the plan.
    fn share(self) -> u32 {
        if self == Attack::Longer { 6 } else { 1 }
    }
}

/// How a fault was found.
#[derive(Clone, Copy)]
struct Found {
    /// After so many cases.
    after: u64,
    /// In so many steps.
    steps: usize,
    /// By which attack.
    by: Attack,
}

/// What became of one fault.
struct Row {
    role: Role,
    info: Info,
    /// The finding about its requirement.
    found: Option<Found>,
    /// The first finding of another requirement, and which.
    other: Option<(Found, String)>,
    cases: u64,
    failed: Option<String>,
}

impl Row {
    fn any(&self) -> Option<Found> {
        self.found.or(self.other.as_ref().map(|(found, _)| *found))
    }
}

/// A faulty target may hang: it is not waited for as long as another's program, but longer than a busy machine takes for a
/// large vector, as that would be a finding.
fn limits() -> Limits {
    Limits { verb_ms: 10_000, patience_ms: 1_000, ..Limits::default() }
}

/// Attacks the reference with each of its faults and writes the table.
pub fn faults(plan: &Plan<'_>) -> Result<Exit, Stop> {
    let own = |error: String| Stop { message: error, exit: Exit::OwnFault };
    let catalogue = Catalogue::embedded();
    let of_side = |role: Role| match role {
        Role::Consumer => infos::<consumer::switches::Fault>(),
        _ => infos::<switches::Fault>(),
    };
    let chosen = |info: &Info| plan.only.is_none_or(|text| info.name.contains(text) || info.rests_on.contains(text));
    let work: Vec<(Role, Info)> = [Role::Provider, Role::Consumer]
        .into_iter()
        .filter(|role| plan.role.is_none_or(|only| only == *role))
        .flat_map(|role| of_side(role).into_iter().map(move |info| (role, info)))
        .filter(|(_, info)| chosen(info))
        .collect();
    if work.is_empty() {
        return Err(Stop::usage("no fault is selected"));
    }
    let prepared = Prepared::new(&catalogue).map_err(own)?;
    let mut rows = Vec::new();
    for_each(
        &work,
        |(role, info)| prepared.row(*role, *info, plan),
        |row: Row| {
            tell(&row);
            rows.push(row);
        },
    );
    if let Some(row) = rows.iter().find(|row| row.failed.is_some()) {
        return Err(own(format!("{}: {}", row.info.name, row.failed.as_deref().unwrap_or_default())));
    }
    rows.sort_by_key(|row| (row.role, row.info.rests_on, row.info.name));
    if let Some(file) = &plan.markdown {
        let text = markdown(&rows, plan);
        std::fs::write(file, text).map_err(|error| Stop::usage(format!("{}: {error}", file.display())))?;
    }
    for line in summary(&rows) {
        anstream::println!("{line}");
    }
    Ok(Exit::Good)
}

fn tell(row: &Row) {
    let by = |found: &Found| format!("{} after {} cases, {} steps", found.by.name(), found.after, found.steps);
    let word = match (&row.found, &row.other) {
        (Some(found), _) => format!("found {}", by(found)),
        (None, Some((found, id))) => format!("found as {id} {}", by(found)),
        (None, None) => format!("NOT FOUND in {} cases", row.cases),
    };
    anstream::println!("{} {} ({}): {word}", row.role.name(), row.info.name, row.info.rests_on);
}

/// What is the same for every fault.
struct Prepared {
    reader: Reader,
    /// By the name of the target, and whether written vectors are in it.
    material: BTreeMap<(&'static str, bool), Material>,
}

/// The targets of a side. A fault of providers of version 2 alone shows there only.
fn targets(role: Role) -> &'static [&'static str] {
    match role {
        Role::Consumer => &["consumer"],
        _ => &["provider", "provider-v2-only"],
    }
}

impl Prepared {
    fn new(catalogue: &Catalogue) -> Result<Prepared, String> {
        let reader = Reader::new("cetp-v2")?;
        let interrupted = AtomicBool::new(false);
        let mut material = BTreeMap::new();
        for role in [Role::Provider, Role::Consumer] {
            for name in targets(role) {
                let adapter = builtin::reference(name, &[], limits(), Path::new(""))?;
                let bench = Bench::new(adapter.as_ref(), &reader, &interrupted).map_err(|e| e.to_string())?;
                for written in [false, true] {
                    material.insert((*name, written), Material::new(catalogue, role, &bench.target, written)?);
                }
            }
        }
        Ok(Prepared { reader, material })
    }

    fn row(&self, role: Role, info: Info, plan: &Plan<'_>) -> Row {
        let mut row = Row { role, info, found: None, other: None, cases: 0, failed: None };
        for by in Attack::ALL {
            for name in targets(role) {
                if row.any().is_none()
                    && row.failed.is_none()
                    && let Err(why) = self.attack(&mut row, name, by, plan)
                {
                    row.failed = Some(why);
                }
            }
        }
        row
    }

    fn attack(&self, row: &mut Row, name: &'static str, by: Attack, plan: &Plan<'_>) -> Result<(), String> {
        let interrupted = AtomicBool::new(false);
        let adapter = builtin::reference(name, &[row.info.name], limits(), Path::new(""))?;
        let bench = Bench::new(adapter.as_ref(), &self.reader, &interrupted).map_err(|fault| fault.to_string())?;
        let material = self.material.get(&(name, by != Attack::Generated)).ok_or("no material")?;
        let mut campaign = Campaign::new(bench, material, plan.seed);
        if by == Attack::Written {
            // The others have been played, and in vain.
            campaign.only_written_seeds();
        }
        // The second target of a side is there for a few faults only, and takes half of the effort.
        let part = if name == targets(row.role)[0] { 1 } else { 2 };
        let until = Until {
            time: Instant::now() + plan.time * by.share() / part,
            cases: plan.cases.map(|n| n * u64::from(by.share()) / u64::from(part)),
            requirement: Some(row.info.rests_on),
        };
        pursue(&mut campaign, until, &interrupted, &mut |_, _| Ok(())).map_err(|stop| stop.message)?;
        let before = row.cases;
        row.cases += campaign.tally.cases;
        let mut findings: Vec<_> = campaign.findings.values().collect();
        findings.sort_by_key(|finding| finding.after);
        for finding in findings {
            let found = Found { after: before + finding.after, steps: finding.steps, by };
            if finding.requirement == row.info.rests_on {
                row.found.get_or_insert(found);
            } else if row.other.is_none() {
                row.other = Some((found, finding.requirement.clone()));
            }
        }
        Ok(())
    }
}

fn summary(rows: &[Row]) -> Vec<String> {
    let mut out = Vec::new();
    for role in [Role::Provider, Role::Consumer] {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.role == role).collect();
        if rows.is_empty() {
            continue;
        }
        let of = |n: usize| format!("{n} ({:.1} %)", 100.0 * n as f64 / rows.len() as f64);
        let by = |by: Attack| rows.iter().filter(|row| row.any().is_some_and(|found| found.by == by)).count();
        let mut steps: Vec<usize> = rows.iter().filter_map(|row| row.any()).map(|found| found.steps).collect();
        steps.sort_unstable();
        let median = steps.get(steps.len() / 2).copied().unwrap_or(0);
        out.push(format!(
            "{}: {} faults; found {}, by generated material alone {}, only after longer {}, by the requirement that the fault is about {}; the median of the minimal vectors has {median} steps.",
            role.name(),
            rows.len(),
            of(rows.iter().filter(|row| row.any().is_some()).count()),
            of(by(Attack::Generated)),
            of(by(Attack::Longer)),
            of(rows.iter().filter(|row| row.found.is_some()).count()),
        ));
    }
    out
}

fn markdown(rows: &[Row], plan: &Plan<'_>) -> String {
    let effort = match plan.cases {
        Some(cases) => format!("--cases {cases}"),
        None => format!("--time {}s", plan.time.as_secs()),
    };
    let mut out = format!(
        "# What campaigns find\n\nThe reference with each of its faults, attacked by `cetp-conformance fuzz --faults {effort} --seed {} --markdown FILE`,\nwhich made this file. Each fault is attacked with generated material first; where that does not find it also with the\nvectors that a person wrote; and where that does not find it either with the same for six times as long (column *by*). A\nfinding is named by the requirement that it breaks; where that is another than the one that the fault is about, the column\n*as* says which. [What campaigns are](fuzzing.md)\n\n",
        plan.seed
    );
    for line in summary(rows) {
        let _ = writeln!(out, "- {line}");
    }
    out.push_str(
        "\n| side | fault | requirement | found | as | by | cases | steps |\n|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let info = &row.info;
        let (word, found_as) = match (&row.found, &row.other) {
            (Some(_), _) => ("yes", String::new()),
            (None, Some((_, id))) => ("yes", id.clone()),
            (None, None) => ("**no**", String::new()),
        };
        let (by, cases, steps) = row.any().map_or((String::new(), row.cases.to_string(), String::new()), |found| {
            (found.by.name().to_owned(), found.after.to_string(), found.steps.to_string())
        });
        let _ = writeln!(
            out,
            "| {} | {} | {} | {word} | {found_as} | {by} | {cases} | {steps} |",
            row.role.name(),
            info.name,
            info.rests_on
        );
    }
    out
}
