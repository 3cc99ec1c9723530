//! `run`: vectors against a target.

use crate::VectorsArg;
use crate::builtin;
use crate::exit::{Exit, Stop, interruptible};
use crate::forms::Forms;
use crate::journal::Journal;
use crate::outcome::Gate;
use crate::printer::Printer;
use crate::publish::{Key, publish};
use crate::select::Selection;
use cetp_reports::baseline::Baseline;
use cetp_reports::claims::conclude;
use cetp_reports::model::{FORMAT, Packed, Program, Report, Subject, Suite, VectorRow, declared_facts};
use cetp_reports::redact::Redactor;
use cetp_runner::adapter::Adapter;
use cetp_runner::engine::{self, Options, VectorResult};
use cetp_vectors::expr::hex;
use cetp_vectors::judge::{Judgement, Outcome};
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::protocol::Describe;
use libtest_mimic::{Arguments, ColorSetting};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The version of the vectors; it is that of this program.
pub const SUITE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Arguments of `run`.
#[derive(clap::Args)]
pub struct RunArgs {
    /// What is tested: builtin:NAME, stdio:COMMAND, or a target file; the built-in reference of the suite and role where
    /// none is given
    #[arg(long, default_value = "", hide_default_value = true)]
    pub target: String,
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub vectors: VectorsArg,
    /// Decides UUIDs and schedules
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Run each vector N times, with the seeds after the first; a changing outcome falls short
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// End after the first vector that falls short
    #[arg(long)]
    fail_fast: bool,
    /// Check every message against the schemas of the target protocol, both ways
    #[arg(long)]
    pub check_protocol: bool,
    /// Write report.json into this folder
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Sign the report with this key, a file or env:CETP_NAME: report.dsse.json lies beside it
    #[arg(long, value_name = "KEY.pem", requires = "report")]
    sign: Option<String>,
    #[command(flatten)]
    forms: Forms,
    /// Results that are known to fall short: they do not make the run exit 1
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write the results of this run into the baseline
    #[arg(long, requires = "baseline")]
    update_baseline: bool,
    /// Let a SHOULD that is not met make the run exit 1 too
    #[arg(long, value_name = "WHAT", value_parser = ["warn"])]
    deny: Option<String>,
    #[command(flatten)]
    pub test: Arguments,
}

impl RunArgs {
    /// Names the target where none was named.
    pub fn complete(&mut self) {
        if self.target.is_empty() {
            let role = self.selection.role.as_deref().unwrap_or("provider");
            let family = if self.selection.suite == cetp_vectors::aw::SUITE { "aw-" } else { "" };
            self.target = format!("builtin:{family}{role}");
        }
    }
}

/// Runs what is selected.
pub fn run(args: &RunArgs) -> Result<Exit, Stop> {
    match args.test.color {
        Some(ColorSetting::Always) => anstream::ColorChoice::Always.write_global(),
        Some(ColorSetting::Never) => anstream::ColorChoice::Never.write_global(),
        _ => {}
    }
    let target =
        builtin::opener(args.check_protocol).open(&args.target).map_err(|error| Stop::usage(error.to_string()))?;
    let asked = args.selection.role()?.or(target.role);
    if args.test.list {
        let catalogue = args.vectors.heads()?;
        let builtin = args.target.strip_prefix("builtin:").map_or(Role::Provider, builtin::role);
        let vectors = args.selection.pick(&catalogue, asked.unwrap_or(builtin), &args.test)?;
        let lines: String = vectors.iter().map(|vector| format!("{}: test\n", vector.id)).collect();
        anstream::print!("{lines}");
        return Ok(Exit::Good);
    }
    // Files that somebody wrote may be wrong; those of this program are read when it is known for which side.
    let given = args.vectors.given()?;
    // What can be wrong with the arguments is found before the run, not after it.
    if let Some(folder) = &args.report {
        std::fs::create_dir_all(folder)
            .map_err(|error| Stop::usage(format!("--report {}: {error}", folder.display())))?;
    }
    args.forms.prepare()?;
    let key = args.sign.as_deref().map(Key::open).transpose()?;
    let baseline = match &args.baseline {
        Some(path) if args.update_baseline && !path.exists() => Some(Baseline::default()),
        Some(path) => Some(Baseline::read(path)?),
        None => None,
    };
    let subjects = subjects(&target.subjects)?;
    let (adapter, redactor) = (target.adapter, target.redactor);
    let (session, json, describe) = engine::describe(adapter.as_ref())
        .map_err(|fault| Stop::target(redactor.cut_text(&format!("{}: {fault}", args.target))))?;
    let role = role_of(asked, &describe)?;
    let catalogue = given.unwrap_or_else(|| Catalogue::embedded_for(&args.selection.suite, role));
    let vectors = args.selection.pick(&catalogue, role, &args.test)?;

    let interrupted = interruptible()?;
    let options = Options {
        threads: args.test.test_threads.unwrap_or_else(threads),
        seed: args.seed,
        repeat: args.repeat,
        fail_fast: args.fail_fast,
        redactor: redactor.clone(),
    };
    let started_at = jiff::Timestamp::now();
    let mut printer = Printer::new(&catalogue, &describe, args, &redactor, vectors.len());
    let run = engine::Run {
        vectors: &vectors,
        adapter: adapter.as_ref(),
        target_json: &json,
        target: &describe,
        options: &options,
        interrupted: &interrupted,
    };
    // What a reader can check is what is published: the description as it is told, too.
    let description = redactor.json(&json);
    let told = Describe::from_json(&description).map_err(|error| Stop::target(error.to_string()))?;
    let mut report = Report {
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
            name: told.name,
            version: told.version,
            adapter: adapter.kind().into(),
            role,
            versions: told.versions,
            capabilities: told.capabilities,
            controls: told.controls,
            subjects,
            declared: declared_facts(adapter.kind()),
            description,
        },
        started_at: started_at.to_string(),
        finished_at: started_at.to_string(),
        environment: environment(args.seed, adapter.as_ref(), &redactor),
        redacted: redactor.count(""),
        interrupted: true,
        results: Vec::new(),
        levels: BTreeMap::new(),
        requirements: Vec::new(),
        claims: Vec::new(),
    };
    let mut journal = args.report.as_deref().map(|folder| Journal::begin(folder, &report)).transpose()?;
    let published = args.report.is_some() || !args.forms.is_empty();
    let mut rows: Vec<VectorRow> = Vec::new();
    let results = run.run(session, &mut |event| {
        printer.event(&event);
        if let engine::Event::Finished { result } = event {
            let explained = !matches!(result.outcome, Outcome::Pass | Outcome::NotApplicable);
            let row = row(result, &catalogue, published);
            if let Some(journal) = &mut journal {
                journal.add(&row);
            }
            // Transcripts are most of what a run holds.
            if !explained {
                (result.transcript, result.judgement) = (None, None);
            }
            rows.push(row);
        }
    });
    rows.sort_by(|a, b| a.vector.cmp(&b.vector));
    let conclusion = conclude(&catalogue, &args.selection.suite, SUITE_VERSION, role, &rows);
    let was_interrupted = interrupted.load(Ordering::Relaxed);
    report.finished_at = jiff::Timestamp::now().to_string();
    report.interrupted = was_interrupted;
    report.results = rows;
    report.levels = conclusion.levels;
    report.requirements = conclusion.requirements;
    report.claims = conclusion.claims;
    if !redactor.is_empty() {
        report.redacted = redactor.count(&serde_json::to_string(&report).unwrap_or_default());
    }
    printer.summary(&report, &results);
    let fault = results.iter().any(|result| result.own_fault);
    let whole = !was_interrupted && !args.fail_fast;
    let gate = Gate { rows: &report.results, deny_warn: args.deny.is_some(), interrupted: was_interrupted, fault };
    let exit = gate.exit(baseline.as_ref(), &catalogue, args.update_baseline, whole, &|words| printer.remark(words));
    publish(&report, &catalogue, args.report.as_deref(), key.as_ref(), &args.forms, &|words| printer.remark(words))?;
    if let Some(journal) = journal {
        journal.end()?;
    }
    if let (true, Some(path), Some(baseline)) = (args.update_baseline, &args.baseline, &baseline) {
        if !whole {
            return Err(Stop::usage("the baseline was not updated: the run did not come to its end"));
        }
        crate::forms::write(path, &baseline.updated(&report.results, &catalogue).to_toml()?)?;
        printer.remark(&format!("Baseline: {}", path.display()));
    }
    Ok(exit)
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

/// Where it ran: this machine, and what the adapter tells of another one.
fn environment(seed: u64, adapter: &dyn Adapter, redactor: &Redactor) -> BTreeMap<String, String> {
    let mut environment = adapter.environment();
    environment.values_mut().for_each(|value| *value = redactor.cut_text(value));
    environment.extend([
        ("os".to_owned(), std::env::consts::OS.to_owned()),
        ("arch".to_owned(), std::env::consts::ARCH.to_owned()),
        ("seed".to_owned(), seed.to_string()),
    ]);
    environment
}

/// So many processors there are.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn subjects(files: &[PathBuf]) -> Result<Vec<Subject>, Stop> {
    let mut subjects = Vec::new();
    for file in files {
        let sha256 = digest(file).map_err(|error| Stop::usage(format!("subject {}: {error}", file.display())))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        subjects.push(Subject { name, sha256 });
    }
    subjects.sort();
    subjects.dedup();
    Ok(subjects)
}

/// SHA-256 of a file in lowercase hex. It may be larger than what should be held at once.
fn digest(file: &Path) -> std::io::Result<String> {
    let mut reader = std::fs::File::open(file)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(hex(&digest.finalize())),
            n => digest.update(&buffer[..n]),
        }
    }
}

/// A transcript is made for those only who get it: it holds all that came once more.
fn row(result: &VectorResult, catalogue: &Catalogue, published: bool) -> VectorRow {
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
        transcript: result
            .transcript
            .as_ref()
            .filter(|_| published)
            .map(|transcript| Packed::new(&transcript.to_json())),
    }
}
