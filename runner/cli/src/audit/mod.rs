//! `audit`: advice on the contracts of tools. The rules are in [`rules`]; what they come to is [`report::Audit`].
//!
//! A descriptor is all that an audit sees: no tool is called. What it has to say is a list of places to look at, each with the
//! row of the ledger (`vectors/requirements/tool-contract.json`) that it is about. No verdict and no claim depends on it.

pub mod accept;
mod executor;
pub mod finding;
pub mod grade;
pub mod input;
mod print;
pub mod report;
pub mod rules;
mod shape;
pub mod tool;
mod words;

use crate::exit::{Exit, Stop};
use crate::forms::write;
use crate::run::SUITE_VERSION;
use accept::Accepted;
use clap::ValueEnum;
use report::{Audit, Count};
use std::collections::BTreeSet;
use std::path::PathBuf;
use tool::Provider;

/// Arguments of `audit`.
#[derive(clap::Args)]
pub struct AuditArgs {
    /// Files of tools: the data of a list_tools, an array of descriptors, or a list of MCP
    #[arg(value_name = "FILE.json", required_unless_present = "targets")]
    files: Vec<PathBuf>,
    /// Ask this provider for its tools: builtin:NAME, stdio:COMMAND, or a target file. May be given several times
    #[arg(long = "target", value_name = "TARGET")]
    targets: Vec<String>,
    /// Write the audit as JSON; - is standard output, and nothing else is printed then
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Exit 1 over a finding that is not accepted; with hint also over a hint
    #[arg(long, value_name = "WHAT")]
    deny: Option<Deny>,
    /// Findings that were looked at and are accepted, a TOML file; an entry that matches nothing exits 1
    #[arg(long, value_name = "FILE.toml")]
    accept: Option<PathBuf>,
}

/// What makes the command exit 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Deny {
    /// Plain findings.
    Finding,
    /// Hints too.
    Hint,
}

/// Carries out `audit`.
pub(crate) fn audit(args: &AuditArgs) -> Result<Exit, Stop> {
    let accepted = args.accept.as_deref().map(Accepted::read).transpose()?;
    let mut labels = BTreeSet::new();
    let named = args.targets.iter().cloned().chain(args.files.iter().map(|file| file.display().to_string()));
    if let Some(twice) = named.into_iter().find(|label| !labels.insert(label.clone())) {
        return Err(Stop::usage(format!("{twice} is given twice")));
    }
    // What can be wrong with a file is found before a target is started.
    let files: Vec<Provider> = args.files.iter().map(|file| input::from_file(file)).collect::<Result<_, _>>()?;
    let mut providers: Vec<Provider> =
        args.targets.iter().map(|target| input::from_target(target)).collect::<Result<_, _>>()?;
    providers.extend(files);
    let mut audit = Audit::new(&providers, rules::judge(&providers), SUITE_VERSION);
    if let Some(accepted) = &accepted {
        audit.stale = accepted.apply(&mut audit.findings);
    }
    audit.count();
    if let Some(path) = &args.json {
        let text = cetp_reports::json::pretty(&audit)
            .map_err(|error| Stop { message: error.to_string(), exit: Exit::OwnFault })?;
        write(path, &(text + "\n"))?;
    }
    if args.json.as_deref() != Some(std::path::Path::new("-")) {
        print::print(&audit);
    }
    let Count { findings, hints, .. } = Count::of(audit.findings.iter());
    let denied = match args.deny {
        None => 0,
        Some(Deny::Finding) => findings,
        Some(Deny::Hint) => findings + hints,
    };
    Ok(if denied > 0 || !audit.stale.is_empty() { Exit::FallsShort } else { Exit::Good })
}
