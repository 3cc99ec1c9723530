//! `run`: vectors against a target.

use crate::VectorsArg;
use crate::builtin;
use crate::exit::{Exit, Stop};
use crate::select::Selection;
use cetp_reports::claims::conclude;
use cetp_reports::model::{FORMAT, Program, Report, Subject, Suite, VectorRow};
use cetp_reports::text;
use cetp_runner::engine::{self, Event, Options, VectorResult, findings};
use cetp_vectors::expr::sha256_hex;
use cetp_vectors::judge::{Judgement, Outcome};
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use cetp_vectors::protocol::Describe;
use libtest_mimic::{Arguments, ColorSetting, FormatSetting};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The version of the vectors; it is that of this program.
pub const SUITE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Arguments of `run`.
#[derive(clap::Args)]
pub struct RunArgs {
    /// What is tested: builtin:NAME, stdio:COMMAND, or a target file
    #[arg(long, default_value = "builtin:provider")]
    target: String,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    vectors: VectorsArg,
    /// Decides UUIDs and schedules
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Run each vector N times, with the seeds after the first; a changing outcome falls short
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// End after the first vector that falls short
    #[arg(long)]
    fail_fast: bool,
    /// Check every message against the schemas of the target protocol, both ways
    #[arg(long)]
    check_protocol: bool,
    /// Write report.json into this folder
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    #[command(flatten)]
    test: Arguments,
}

/// Runs what is selected.
pub fn run(args: &RunArgs) -> Result<Exit, Stop> {
    match args.test.color {
        Some(ColorSetting::Always) => anstream::ColorChoice::Always.write_global(),
        Some(ColorSetting::Never) => anstream::ColorChoice::Never.write_global(),
        _ => {}
    }
    let catalogue = args.vectors.load()?;
    let target =
        builtin::opener(args.check_protocol).open(&args.target).map_err(|error| Stop::usage(error.to_string()))?;
    let asked = args.selection.role()?.or(target.role);
    if args.test.list {
        let builtin = args.target.strip_prefix("builtin:").map_or(Role::Provider, builtin::role);
        let vectors = args.selection.pick(&catalogue, asked.unwrap_or(builtin), &args.test)?;
        vectors.iter().for_each(|vector| anstream::println!("{}: test", vector.id));
        return Ok(Exit::Good);
    }
    if let Some(folder) = &args.report {
        // Before the run, not after it.
        std::fs::create_dir_all(folder)
            .map_err(|error| Stop::usage(format!("--report {}: {error}", folder.display())))?;
    }
    let subjects = subjects(&target.subjects)?;
    let adapter = target.adapter;
    let (session, json, describe) =
        engine::describe(adapter.as_ref()).map_err(|fault| Stop::target(format!("{}: {fault}", args.target)))?;
    let role = role_of(asked, &describe)?;
    let vectors = args.selection.pick(&catalogue, role, &args.test)?;

    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // The second time it ends at once.
        signal_hook::flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&interrupted))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&interrupted)))
            .map_err(|error| Stop { message: error.to_string(), exit: Exit::OwnFault })?;
    }
    let options = Options {
        threads: args.test.test_threads.unwrap_or_else(threads),
        seed: args.seed,
        repeat: args.repeat,
        fail_fast: args.fail_fast,
    };
    let started_at = jiff::Timestamp::now();
    let mut printer = Printer::new(&catalogue, &describe, args, vectors.len());
    let run = engine::Run {
        vectors: &vectors,
        adapter: adapter.as_ref(),
        target_json: &json,
        target: &describe,
        options: &options,
        interrupted: &interrupted,
    };
    let results = run.run(session, &mut |event| printer.event(&event));
    let rows: Vec<VectorRow> = results.iter().map(|result| row(result, &catalogue)).collect();
    let conclusion = conclude(&catalogue, &args.selection.suite, SUITE_VERSION, role, &rows);
    let was_interrupted = interrupted.load(Ordering::Relaxed);
    let report = Report {
        format: FORMAT.into(),
        suite: Suite {
            name: args.selection.suite.clone(),
            version: SUITE_VERSION.into(),
            vectors_sha256: catalogue.sha256.clone(),
            vector_count: catalogue
                .vectors
                .iter()
                .filter(|v| v.suite == args.selection.suite && v.role == role)
                .count(),
        },
        runner: Program { name: "cetp-conformance".into(), version: SUITE_VERSION.into() },
        target: cetp_reports::model::Target {
            name: describe.name.clone(),
            version: describe.version.clone(),
            adapter: adapter.kind().into(),
            role,
            versions: describe.versions.clone(),
            capabilities: describe.capabilities.clone(),
            controls: describe.controls.clone(),
            subjects,
        },
        started_at: started_at.to_string(),
        finished_at: jiff::Timestamp::now().to_string(),
        environment: BTreeMap::from([
            ("os".to_owned(), std::env::consts::OS.to_owned()),
            ("arch".to_owned(), std::env::consts::ARCH.to_owned()),
            ("seed".to_owned(), args.seed.to_string()),
        ]),
        interrupted: was_interrupted,
        results: rows,
        levels: conclusion.levels,
        requirements: conclusion.requirements,
        claims: conclusion.claims,
    };
    printer.summary(&report, &results);
    if let Some(folder) = &args.report {
        let place = write_report(folder, &report)?;
        anstream::println!("Report: {}", place.display());
    }
    Ok(exit_of(&results, was_interrupted))
}

fn exit_of(results: &[VectorResult], interrupted: bool) -> Exit {
    let any = |outcome| results.iter().any(|result| result.outcome == outcome);
    if results.iter().any(|result| result.own_fault) {
        Exit::OwnFault
    } else if interrupted {
        Exit::Interrupted
    } else if any(Outcome::Fail) || any(Outcome::NotRun) {
        Exit::FallsShort
    } else if any(Outcome::Error) {
        Exit::Target
    } else if !any(Outcome::Pass) && !any(Outcome::Warn) {
        // Where nothing was applicable, nothing was tested.
        Exit::FallsShort
    } else {
        Exit::Good
    }
}

/// The side that is tested: what was asked for, else the only one that the target can be.
pub fn role_of(asked: Option<Role>, describe: &Describe) -> Result<Role, Stop> {
    let names: Vec<&str> = describe.roles.iter().map(|role| role.name()).collect();
    match (asked, describe.roles.as_slice()) {
        (Some(role), roles) if roles.contains(&role) => Ok(role),
        (Some(role), _) => Err(Stop::usage(format!("the target is no {}; it says {names:?}", role.name()))),
        (None, [role]) => Ok(*role),
        (None, _) => Err(Stop::usage(format!("the target can be {names:?}: say which with --role"))),
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn subjects(files: &[PathBuf]) -> Result<Vec<Subject>, Stop> {
    let mut subjects = Vec::new();
    for file in files {
        let bytes = std::fs::read(file).map_err(|error| Stop::usage(format!("subject {}: {error}", file.display())))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        subjects.push(Subject { name, sha256: sha256_hex(&bytes) });
    }
    subjects.sort();
    subjects.dedup();
    Ok(subjects)
}

fn row(result: &VectorResult, catalogue: &Catalogue) -> VectorRow {
    let vector = catalogue.get(&result.vector).expect("results are about vectors of the catalogue");
    let judgement = result.judgement.as_ref();
    VectorRow {
        vector: vector.id.clone(),
        requirements: vector.requirements.clone(),
        judged_requirements: judgement.map(|j| j.judged.clone()).unwrap_or_default(),
        failed_requirements: judgement.map(Judgement::failed_requirements).unwrap_or_default(),
        warned_requirements: judgement.map(Judgement::warned_requirements).unwrap_or_default(),
        level: vector.level.clone(),
        role: vector.role,
        outcome: result.outcome,
        reason: result.reason.clone(),
        duration_ms: u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX),
        repeats: if result.repeats.values().sum::<u32>() > 1 { result.repeats.clone() } else { BTreeMap::new() },
        diagnostics: Some(result.diagnostics.clone()).filter(|text| result.falls_short() && !text.is_empty()),
        transcript: result.transcript.as_ref().map(|transcript| transcript.to_json()),
    }
}

/// Writes `report.json`; a half-written one never lies there.
fn write_report(folder: &Path, report: &Report) -> Result<PathBuf, Stop> {
    let failed = |error: &dyn std::fmt::Display| Stop::usage(format!("the report cannot be written: {error}"));
    let place = folder.join("report.json");
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    let file = tempfile::Builder::new().permissions(permissions).tempfile_in(folder).map_err(|error| failed(&error))?;
    serde_json::to_writer(std::io::BufWriter::new(&file), report).map_err(|error| failed(&error))?;
    file.persist(&place).map_err(|error| failed(&error))?;
    Ok(place)
}

/// Tells on the terminal what happens.
struct Printer<'p> {
    catalogue: &'p Catalogue,
    args: &'p RunArgs,
    format: Option<FormatSetting>,
    column: usize,
}

impl<'p> Printer<'p> {
    fn new(catalogue: &'p Catalogue, describe: &Describe, args: &'p RunArgs, count: usize) -> Printer<'p> {
        let format = if args.test.quiet { Some(FormatSetting::Terse) } else { args.test.format };
        if !matches!(format, Some(FormatSetting::Json)) {
            let name = text::safe(&format!("{} {}", describe.name, describe.version));
            anstream::println!("Running {count} vectors against {name} ({})\n", text::safe(&args.target));
        }
        Printer { catalogue, args, format, column: 0 }
    }

    fn event(&mut self, event: &Event<'_>) {
        let Event::Finished { result } = event else { return };
        let style = text::style(result.outcome);
        let word = word(result.outcome);
        match self.format {
            Some(FormatSetting::Json) => {
                let line = serde_json::json!({
                    "vector": result.vector, "outcome": result.outcome, "reason": result.reason,
                    "failed_requirements": result.judgement.as_ref().map(|j| j.failed_requirements()),
                    "duration_ms": u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX),
                });
                anstream::println!("{line}");
            }
            Some(FormatSetting::Terse) => {
                let letter = match result.outcome {
                    Outcome::Pass => '.',
                    Outcome::Fail => 'F',
                    Outcome::Error => 'E',
                    Outcome::Warn => 'w',
                    Outcome::NotRun => 'n',
                    Outcome::NotApplicable => '-',
                };
                anstream::print!("{style}{letter}{style:#}");
                self.column += 1;
                if self.column == text::WIDTH {
                    anstream::println!();
                    self.column = 0;
                }
            }
            Some(FormatSetting::Pretty) => anstream::println!("{style}{word:>7}{style:#} {}", result.vector),
            None if result.outcome == Outcome::Pass || result.outcome == Outcome::NotApplicable => {}
            None => anstream::println!("{style}{word:>7}{style:#} {}", result.vector),
        }
    }

    fn summary(&self, report: &Report, results: &[VectorResult]) {
        if matches!(self.format, Some(FormatSetting::Json)) {
            return;
        }
        if self.column > 0 {
            anstream::println!();
        }
        for result in results.iter().filter(|r| !matches!(r.outcome, Outcome::Pass | Outcome::NotApplicable)) {
            self.explain(result);
        }
        if report.interrupted {
            anstream::println!("The run was interrupted: what follows is about the vectors that were run.\n");
        }
        anstream::println!("{}", text::summary(report).trim_end());
    }

    fn explain(&self, result: &VectorResult) {
        let vector = self.catalogue.get(&result.vector).expect("results are about vectors of the catalogue");
        let style = text::style(result.outcome);
        anstream::println!("{style}{}{style:#} {}", word(result.outcome), vector.id);
        anstream::println!("{}", text::wrap(&vector.title, "  "));
        if result.judgement.is_none() || result.repeats.len() > 1 {
            anstream::println!("{}", text::wrap(result.reason.as_deref().unwrap_or_default(), "  "));
        }
        for finding in findings(result) {
            anstream::print!("{}", text::finding(finding, &self.catalogue.ledger));
        }
        if result.falls_short() && !result.diagnostics.trim().is_empty() {
            anstream::println!("  the target wrote:");
            anstream::println!("{}", text::wrap(result.diagnostics.trim(), "    "));
        }
        if result.transcript.is_some() {
            anstream::println!("  again: {}", text::safe(&self.again(vector, result)));
        }
        anstream::println!();
    }

    /// The command that repeats a vector.
    fn again(&self, vector: &Vector, result: &VectorResult) -> String {
        let seed = result.transcript.as_ref().map_or(self.args.seed, |t| t.start.seed);
        let mut command = format!("cetp-conformance run --target {}", quoted(&self.args.target));
        if self.args.selection.suite != "cetp-v2" {
            command += &format!(" --suite {}", self.args.selection.suite);
        }
        if self.args.check_protocol {
            command += " --check-protocol";
        }
        if let Some(role) = &self.args.selection.role {
            command += &format!(" --role {role}");
        }
        if let Some(folder) = &self.args.vectors.vectors {
            command += &format!(" --vectors {}", quoted(&folder.display().to_string()));
        }
        if seed != 0 {
            command += &format!(" --seed {seed}");
        }
        command + &format!(" --exact {}", vector.id)
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:+=,@%".contains(c);
    if word.chars().all(plain) && !word.is_empty() {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "FAIL",
        Outcome::Error => "ERROR",
        Outcome::Warn => "warn",
        Outcome::NotRun => "not run",
        Outcome::NotApplicable => "n/a",
    }
}
