//! The command line of the conformance suite. The main function is [`main`]; it lies in a library so that tests can use
//! [`builtin`] as it does.

mod allocator;
mod android;
pub mod audit;
pub mod builtin;
pub mod builtin_aw;
mod characters;
mod exit;
mod explain;
mod forms;
pub mod fuzz;
mod journal;
mod keygen;
mod list;
mod listing;
mod matrix;
pub mod mutants;
mod outcome;
mod own_tools;
mod printer;
mod progress;
mod publish;
mod reference;
mod report;
mod run;
mod select;
mod target_check;

use clap::{Parser, Subcommand};
use exit::{Exit, Stop};
use fuzz::coverage::Branches;
use std::path::PathBuf;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

/// What is freed in large pieces goes back to the system at once and not some time later: a target that answers with megabytes
/// must not make this program several times as large. Nor must a hundred threads, whose first few bytes would have a huge page
/// each; where the system knows no such pages there is nothing to switch off.
fn keep_memory_small() {
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    /// `mi_option_purge_delay` of mimalloc.h, in milliseconds; the crate names those beside it only.
    const PURGE_DELAY: std::ffi::c_int = 15;
    // SAFETY: it sets a number of the allocator, which may be set at any time.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) };
}

/// The conformance suite for CETP v2 and aw-provider/v1alpha1
#[derive(Parser)]
#[command(name = "cetp-conformance", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run vectors against a target and judge what comes back
    Run(Box<run::RunArgs>),
    /// Look at the vectors
    #[command(subcommand)]
    Vectors(list::VectorsCommand),
    /// List the requirements, each with the vectors that judge it
    Requirements(list::RequirementsArgs),
    /// Say in words what a requirement or vector is about
    Explain(explain::ExplainArgs),
    /// Prove the vectors: run them against the reference with each of its faults, and with each leeway
    Mutants(mutants::MutantsArgs),
    /// Attack a provider with sequences of calls that nobody wrote
    Fuzz(fuzz::FuzzArgs),
    /// Verify, show and compare reports
    #[command(subcommand)]
    Report(Box<report::ReportCommand>),
    /// Audit tool contracts: advice on the descriptors that a provider lists
    Audit(audit::AuditArgs),
    /// Make a key to sign reports with
    Keygen(keygen::KeygenArgs),
    /// Look at a target
    #[command(subcommand)]
    Target(target_check::TargetCommand),
    /// Look at Android devices, and install the apps of the harness
    #[command(subcommand)]
    Android(android::AndroidCommand),
    /// Be the built-in reference as a program: the target protocol on standard input and output
    #[command(subcommand)]
    Reference(reference::ReferenceCommand),
}

/// Where the vectors come from; the same for every command that reads them.
#[derive(clap::Args, Clone, Debug)]
struct VectorsArg {
    /// Folder or file of vectors that takes the place of the built-in ones
    #[arg(long, value_name = "DIR")]
    vectors: Option<PathBuf>,
}

/// The program.
pub fn main() -> ExitCode {
    main_with(None)
}

/// The program, in which the built-in targets are instrumented: their branches lead campaigns.
pub fn main_with(branches: Option<Branches>) -> ExitCode {
    keep_memory_small();
    // Before anything else: this executable also serves as the guard of target processes.
    cetp_runner::guard::run_if_asked();
    // And as the provider that a host under test starts.
    cetp_runner::scripted::run_if_asked();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Clap prints help and version to stdout and everything else to stderr.
            let code = if error.use_stderr() { Exit::Usage } else { Exit::Good };
            let _ = error.print();
            return code.into();
        }
    };
    // Values from targets may be nested deeply, and serialising them takes stack.
    let run =
        std::thread::Builder::new().stack_size(cetp_runner::limits::STACK_BYTES).spawn(move || dispatch(cli, branches));
    match run.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(exit))) => exit.into(),
        Ok(Ok(Err(Stop { message, exit }))) => {
            anstream::eprintln!("error: {}", cetp_reports::text::safe(&message));
            exit.into()
        }
        _ => Exit::OwnFault.into(),
    }
}

fn dispatch(cli: Cli, branches: Option<Branches>) -> Result<Exit, Stop> {
    match cli.command {
        Command::Run(mut args) => {
            args.complete();
            run::run(&args)
        }
        Command::Vectors(command) => list::vectors(&command),
        Command::Requirements(args) => list::requirements(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Mutants(args) => mutants::mutants(&args),
        Command::Fuzz(args) => fuzz::fuzz(&args, branches),
        Command::Report(command) => report::report(&command),
        Command::Audit(args) => audit::audit(&args),
        Command::Keygen(args) => keygen::keygen(&args),
        Command::Target(command) => target_check::target(&command),
        Command::Android(command) => android::android(&command),
        Command::Reference(command) => reference::reference(command),
    }
}

impl VectorsArg {
    /// What the vectors are about, for lists.
    fn heads(&self) -> Result<cetp_vectors::load::Catalogue, Stop> {
        cetp_vectors::load::Catalogue::heads(self.vectors.as_deref()).map_err(|error| Stop::usage(error.to_string()))
    }

    fn load(&self) -> Result<cetp_vectors::load::Catalogue, Stop> {
        Ok(self.given()?.unwrap_or_else(cetp_vectors::load::Catalogue::embedded))
    }

    /// Those that take the place of the built-in ones.
    fn given(&self) -> Result<Option<cetp_vectors::load::Catalogue>, Stop> {
        let read = |path: &PathBuf| cetp_vectors::load::Catalogue::from_path(path);
        self.vectors.as_ref().map(read).transpose().map_err(|error| Stop::usage(error.to_string()))
    }
}
