//! `reference`: the built-in reference as a program, to be driven like any other target.

use crate::exit::{Exit, Stop};
use cetp_reference::consumer;
use cetp_reference::session::Capabilities;
use cetp_reference::stdio::{serve_supervisor, serve_worker};
use cetp_reference::switches::Switches;
use cetp_reference::target::Options;
use std::io::{BufReader, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the reference is asked to be.
#[derive(clap::Subcommand)]
pub enum ReferenceCommand {
    /// A provider with the fixture and every control
    Provider(ProviderArgs),
    /// A consumer
    Consumer(ConsumerArgs),
    /// The provider's process behind the connection; started by `reference provider`
    #[command(hide = true)]
    Worker {
        /// Its database
        database: PathBuf,
        #[command(flatten)]
        provider: ProviderArgs,
    },
}

/// How the provider is built.
#[derive(clap::Args, Clone)]
pub struct ProviderArgs {
    /// Speak version 2 only
    #[arg(long)]
    v2_only: bool,
    /// Break or bend it on purpose; may be given several times
    #[arg(long = "switch", value_name = "NAME")]
    switches: Vec<String>,
}

/// How the consumer is built.
#[derive(clap::Args, Clone)]
pub struct ConsumerArgs {
    /// Offer no optional capability
    #[arg(long)]
    core: bool,
    /// Break or bend it on purpose; may be given several times
    #[arg(long = "switch", value_name = "NAME")]
    switches: Vec<String>,
}

impl ConsumerArgs {
    fn options(&self) -> Result<consumer::target::Options, Stop> {
        let switches = consumer::switches::Switches::from_names(&self.switches);
        let switches = switches.map_err(|error| Stop::usage(error.to_string()))?;
        let capabilities = if self.core { Capabilities::default() } else { Capabilities::ALL };
        Ok(consumer::target::Options { capabilities, switches })
    }
}

impl ProviderArgs {
    fn options(&self) -> Result<Options, Stop> {
        let switches = Switches::from_names(&self.switches).map_err(|error| Stop::usage(error.to_string()))?;
        Ok(Options { v1: !self.v2_only, switches, ..Options::default() })
    }

    fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.v2_only {
            words.push("--v2-only".to_owned());
        }
        words.extend(self.switches.iter().flat_map(|name| ["--switch".to_owned(), name.clone()]));
        words
    }
}

/// Serves until the input ends.
pub fn reference(command: ReferenceCommand) -> Result<Exit, Stop> {
    let served = match command {
        ReferenceCommand::Provider(args) => {
            // A mistake is told here and not by each worker.
            args.options()?;
            let program = std::env::current_exe().map_err(|error| Stop::target(error.to_string()))?;
            let words = args.words();
            let worker = move |database: &Path| {
                let mut command = Command::new(&program);
                command.args(["reference", "worker"]).arg(database).args(&words);
                command
            };
            serve_supervisor(worker, BufReader::new(stdin()), stdout().lock())
        }
        ReferenceCommand::Consumer(args) => {
            let target = consumer::target::ConsumerTarget::new(args.options()?);
            consumer::stdio::serve(target, stdin().lock(), stdout())
        }
        ReferenceCommand::Worker { database, provider } => serve_worker(&database, provider.options()?),
    };
    served.map(|()| Exit::Good).map_err(|error| Stop::target(error.to_string()))
}
