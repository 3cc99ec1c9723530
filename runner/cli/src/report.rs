//! `report`: reports that were written before.

use crate::VectorsArg;
use crate::exit::{Exit, Stop};
use crate::forms::{Forms, write};
use crate::publish::{ENVELOPE, Key, REPORT, publish};
use crate::run::SUITE_VERSION;
use cetp_reports::badge::badge;
use cetp_reports::check::check;
use cetp_reports::diff;
use cetp_reports::dsse::Envelope;
use cetp_reports::error::ReportError;
use cetp_reports::journal;
use cetp_reports::key::PublicKey;
use cetp_reports::merge::merge;
use cetp_reports::model::Report;
use cetp_reports::text;
use cetp_reports::verify::{Demands, Verified, verify};
use cetp_reports::view::View;
use cetp_reports::{read, statement};
use cetp_vectors::expr::sha256_hex;
use cetp_vectors::load::Catalogue;
use std::path::{Path, PathBuf};

/// What to do with reports.
#[derive(clap::Subcommand)]
pub enum ReportCommand {
    /// Check signature and demands, and judge the report again from its transcripts
    Verify(VerifyArgs),
    /// Make other forms of a report
    Render(RenderArgs),
    /// Say what changed from one report to another, as Markdown
    Diff(DiffArgs),
    /// Make one report of several: shards, or devices of one target
    Merge(MergeArgs),
    /// Make report.json of the results of a run that was killed
    Recover(RecoverArgs),
    /// Print the JSON of a badge
    Badge(BadgeArgs),
    /// Print the JSON Schema of report.json
    Schema,
}

/// Arguments of `report verify`.
#[derive(clap::Args)]
pub struct VerifyArgs {
    /// The folder with report.json and report.dsse.json
    dir: PathBuf,
    /// A public key that may have signed it; may be given several times
    #[arg(long, value_name = "PUB.pem", required_unless_present_any = ["allowed", "unsigned"])]
    key: Vec<PathBuf>,
    /// A file of public keys of which one must have signed it; the line before a key says whose it is
    #[arg(long, value_name = "FILE")]
    allowed: Option<PathBuf>,
    /// Take a report that nobody signed: only that it follows from its transcripts is checked
    #[arg(long, conflicts_with_all = ["key", "allowed"])]
    unsigned: bool,
    /// A file that must be among what was tested; may be given several times
    #[arg(long, value_name = "FILE")]
    subject: Vec<PathBuf>,
    /// A claim that the report must lead to, such as cetp-v2-core; may be given several times
    #[arg(long, value_name = "CLAIM")]
    claim: Vec<String>,
    /// The version of the suite that it must rest on
    #[arg(long, value_name = "VERSION")]
    suite_version: Option<String>,
    /// How long ago the run may have ended at most, such as 30d or 12h
    #[arg(long, value_name = "TIME")]
    max_age: Option<jiff::Span>,
    #[command(flatten)]
    vectors: VectorsArg,
}

/// Arguments of `report render`.
#[derive(clap::Args)]
pub struct RenderArgs {
    /// The folder with report.json
    dir: PathBuf,
    #[command(flatten)]
    forms: Forms,
    /// Write the signed envelope as a Sigstore bundle
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    #[command(flatten)]
    vectors: VectorsArg,
}

/// Arguments of `report diff`.
#[derive(clap::Args)]
pub struct DiffArgs {
    /// The folder of the report before
    before: PathBuf,
    /// The folder of the report after
    after: PathBuf,
    /// Exit 1 where a vector fares worse or a claim is lost
    #[arg(long)]
    exit_code: bool,
}

/// Arguments of `report merge`.
#[derive(clap::Args)]
pub struct MergeArgs {
    /// The folders of the reports
    #[arg(required = true, num_args = 2..)]
    dirs: Vec<PathBuf>,
    /// The folder for the merged report
    #[arg(long, value_name = "DIR")]
    report: PathBuf,
    /// Sign it with this key, a file or env:CETP_NAME
    #[arg(long, value_name = "KEY.pem")]
    sign: Option<String>,
    #[command(flatten)]
    forms: Forms,
    #[command(flatten)]
    vectors: VectorsArg,
}

/// Arguments of `report recover`.
#[derive(clap::Args)]
pub struct RecoverArgs {
    /// The folder with results.jsonl
    dir: PathBuf,
    /// Sign the report with this key, a file or env:CETP_NAME
    #[arg(long, value_name = "KEY.pem")]
    sign: Option<String>,
    #[command(flatten)]
    forms: Forms,
    #[command(flatten)]
    vectors: VectorsArg,
}

/// Arguments of `report badge`.
#[derive(clap::Args)]
pub struct BadgeArgs {
    /// The folder with report.json
    dir: PathBuf,
    #[command(flatten)]
    vectors: VectorsArg,
}

/// Carries out `report`.
pub fn report(command: &ReportCommand) -> Result<Exit, Stop> {
    match command {
        ReportCommand::Verify(args) => verified(args),
        ReportCommand::Render(args) => render(args),
        ReportCommand::Diff(args) => compare(args),
        ReportCommand::Merge(args) => merged(args),
        ReportCommand::Recover(args) => recovered(args),
        ReportCommand::Badge(args) => {
            let (report, _) = load(&args.dir)?;
            check(&report, &args.vectors.load()?, SUITE_VERSION)?;
            anstream::println!("{}", badge(&report));
            Ok(Exit::Good)
        }
        ReportCommand::Schema => {
            let schema = serde_json::to_string_pretty(&cetp_reports::model::schema()).unwrap_or_default();
            anstream::println!("{schema}");
            Ok(Exit::Good)
        }
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, Stop> {
    Ok(std::fs::read(path).map_err(ReportError::file(path))?)
}

fn load(folder: &Path) -> Result<(Report, Vec<u8>), Stop> {
    let text = bytes(&folder.join(REPORT))?;
    Ok((read::report(&text)?, text))
}

/// The envelope beside a report, where there is one.
fn envelope(folder: &Path) -> Result<Option<Vec<u8>>, Stop> {
    let path = folder.join(ENVELOPE);
    if path.exists() { bytes(&path).map(Some) } else { Ok(None) }
}

fn keys(args: &VerifyArgs) -> Result<Vec<PublicKey>, Stop> {
    let mut keys = Vec::new();
    let read = |path: &Path| String::from_utf8(bytes(path)?).map_err(|_| Stop::usage("a key file is no text"));
    for path in &args.key {
        keys.push(PublicKey::from_pem(&read(path)?, &path.display().to_string())?);
    }
    if let Some(path) = &args.allowed {
        keys.extend(PublicKey::list_from_pem(&read(path)?, &path.display().to_string())?);
    }
    Ok(keys)
}

fn verified(args: &VerifyArgs) -> Result<Exit, Stop> {
    let catalogue = args.vectors.load()?;
    let keys = keys(args)?;
    let mut subjects = Vec::new();
    for path in &args.subject {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        subjects.push((name, bytes(path)?));
    }
    let not_before = match args.max_age {
        None => None,
        Some(age) => {
            let now = jiff::Timestamp::now().to_zoned_datetime(jiff::tz::TimeZone::UTC);
            let limit = now.checked_sub(age.abs()).map_err(|error| Stop::usage(format!("--max-age: {error}")))?;
            Some(limit.timestamp())
        }
    };
    let demands = Demands {
        keys: (!args.unsigned).then_some(&keys),
        suite_version: args.suite_version.as_deref(),
        not_before,
        claims: &args.claim,
        subjects: &subjects,
    };
    let text = bytes(&args.dir.join(REPORT))?;
    let envelope = envelope(&args.dir)?;
    let verified = verify(&text, envelope.as_deref(), &catalogue, SUITE_VERSION, &demands)?;
    tell(&verified);
    Ok(Exit::Good)
}

/// Who signed, what was tested, what follows.
fn tell(verified: &Verified) {
    let Verified { report, signer, compared, .. } = verified;
    let line = |name: &str, value: &str| {
        let text = text::wrap(value, "           ");
        anstream::println!("{name:<10} {}", text.trim_start());
    };
    match signer {
        Some(key) => {
            let label = key.label.as_ref().map(|label| format!(" ({label})")).unwrap_or_default();
            line("signed by", &format!("{}{label}", key.fingerprint()));
        }
        None => line("signed by", "nobody who was asked for: only what follows from the transcripts is checked"),
    }
    let target = &report.target;
    let reached = format!("{} {}, {}, reached by {}", target.name, target.version, target.role.name(), target.adapter);
    line("tested", &reached);
    for (n, subject) in target.subjects.iter().enumerate() {
        let word = if compared.contains(&n) { "the file that was given" } else { "not compared with a file" };
        line("", &format!("{} {} ({word})", subject.sha256, subject.name));
    }
    line("with", &format!("{} {}, vectors {}", report.suite.name, report.suite.version, report.suite.vectors_sha256));
    line("ended", &report.finished_at);
    let (judged, rows) = (verified.judged.iter().filter(|j| j.judgement.is_some()).count(), report.results.len());
    line("judged", &format!("{judged} of {rows} results again from their transcripts, and they agree"));
    let whole = report.suite.vector_count;
    line("of", &format!("{rows} of {whole} vectors of the suite were run"));
    if !target.declared.is_empty() {
        line("declared", &format!("by the target, and seen by no one else: {}", target.declared.join(", ")));
    }
    anstream::println!("\n{}", text::summary(report).trim_end());
    anstream::println!("\n{}", text::wrap(VOUCHES, ""));
}

const VOUCHES: &str = "A signature shows who vouches for the transcripts, not that they took place.";

fn render(args: &RenderArgs) -> Result<Exit, Stop> {
    if args.forms.is_empty() && args.bundle.is_none() {
        return Err(Stop::usage("say which forms: --html, --markdown, --junit, --ctrf, --badge or --bundle FILE"));
    }
    args.forms.prepare()?;
    let (report, text) = load(&args.dir)?;
    let catalogue = args.vectors.load()?;
    let judged = check(&report, &catalogue, SUITE_VERSION)?;
    let envelope = envelope(&args.dir)?.map(|text| Envelope::read(&text)).transpose()?;
    if let Some(path) = &args.bundle {
        let envelope =
            envelope.as_ref().ok_or_else(|| Stop::usage("the report is not signed: there is no envelope"))?;
        write(path, &envelope.to_bundle().to_string())?;
    }
    // Whether the signature holds is for `report verify` to say; a page names only one that is about this report.
    let expected = statement::statement(&report, &text).to_string();
    let signer =
        envelope.filter(|e| e.is_about(expected.as_bytes())).and_then(|e| Some(e.signatures.first()?.keyid.clone()));
    let sha256 = sha256_hex(&text);
    let view =
        View { report: &report, judged: &judged, catalogue: &catalogue, signer: signer.as_deref(), sha256: &sha256 };
    args.forms.write(&view)?;
    Ok(Exit::Good)
}

fn compare(args: &DiffArgs) -> Result<Exit, Stop> {
    let ((before, _), (after, _)) = (load(&args.before)?, load(&args.after)?);
    if before.suite.name != after.suite.name || before.target.role != after.target.role {
        return Err(Stop::usage("the reports are about different suites or roles"));
    }
    let difference = diff::compare(&before, &after);
    anstream::print!("{}", diff::markdown(&difference, &before, &after));
    let worse = !difference.worse.is_empty() || !difference.claims_lost.is_empty();
    Ok(if args.exit_code && worse { Exit::FallsShort } else { Exit::Good })
}

fn merged(args: &MergeArgs) -> Result<Exit, Stop> {
    let catalogue: Catalogue = args.vectors.load()?;
    let key = args.sign.as_deref().map(Key::open).transpose()?;
    let mut reports = Vec::new();
    for folder in &args.dirs {
        let (report, _) = load(folder)?;
        check(&report, &catalogue, SUITE_VERSION)?;
        reports.push(report);
    }
    let merged = merge(&reports, &catalogue)?;
    std::fs::create_dir_all(&args.report).map_err(ReportError::file(&args.report))?;
    args.forms.prepare()?;
    let say = |words: &str| anstream::println!("{}", text::safe(words));
    publish(&merged, &catalogue, Some(&args.report), key.as_ref(), &args.forms, &say)?;
    anstream::println!("{}", text::summary(&merged).trim_end());
    Ok(Exit::Good)
}

fn recovered(args: &RecoverArgs) -> Result<Exit, Stop> {
    let catalogue: Catalogue = args.vectors.load()?;
    let key = args.sign.as_deref().map(Key::open).transpose()?;
    let path = args.dir.join(journal::FILE);
    let results = bytes(&path)?;
    let written =
        std::fs::metadata(&path).and_then(|metadata| metadata.modified()).map_err(ReportError::file(&path))?;
    let finished_at = jiff::Timestamp::try_from(written).map_err(|error| Stop::usage(error.to_string()))?;
    let report = journal::recover(&results, finished_at.to_string(), &catalogue)?;
    args.forms.prepare()?;
    let say = |words: &str| anstream::println!("{}", text::safe(words));
    publish(&report, &catalogue, Some(&args.dir), key.as_ref(), &args.forms, &say)?;
    std::fs::remove_file(&path).map_err(ReportError::file(&path))?;
    anstream::println!("{}", text::summary(&report).trim_end());
    Ok(Exit::Good)
}
