//! `reference`: the built-in reference as a program, to be driven like any other target.

use crate::exit::{Exit, Stop};
use cetp_reference::aw;
use cetp_reference::consumer;
use cetp_reference::session::Capabilities;
use cetp_reference::stdio::{serve_supervisor, serve_worker};
use cetp_reference::switches::Switches;
use cetp_reference::target::Options;
use serde_json::Value as Json;
use std::io::{BufReader, Read, Write, stderr, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the reference is asked to be.
#[derive(clap::Subcommand)]
pub enum ReferenceCommand {
    /// A provider with the fixture and every control
    Provider(ProviderArgs),
    /// A consumer
    Consumer(ConsumerArgs),
    /// A provider of aw-provider: one request on standard input, one reply on standard output
    AwProvider(AwArgs),
    /// A host of aw-provider: runs a scenario and prints its account
    AwHost {
        /// The file scenario.json
        scenario: PathBuf,
        #[command(flatten)]
        args: AwArgs,
    },
    /// An admission of aw-provider: reads a case on standard input and prints what it decides
    AwAdmission(AwArgs),
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

/// How a reference of aw-provider is built.
#[derive(clap::Args, Clone)]
pub struct AwArgs {
    /// Be one from before the level text_replacement
    #[arg(long)]
    core: bool,
    /// Break or bend it on purpose; may be given several times
    #[arg(long = "switch", value_name = "NAME")]
    switches: Vec<String>,
}

impl AwArgs {
    fn switches(&self) -> Result<aw::switches::Switches, Stop> {
        aw::switches::Switches::from_names(&self.switches).map_err(|error| Stop::usage(error.to_string()))
    }
}

/// One process of the policy provider.
fn aw_provider(args: &AwArgs) -> Result<Exit, Stop> {
    let options = aw::policy::Options { core_only: args.core, switches: args.switches()? };
    let told = |error: std::io::Error| Stop::target(error.to_string());
    let mut input = Vec::new();
    stdin().lock().read_to_end(&mut input).map_err(told)?;
    let served = aw::policy::serve(&input, options);
    served.wrote.iter().try_for_each(|name| std::fs::write(name, "{}")).map_err(told)?;
    stderr().write_all(served.stderr.as_bytes()).map_err(told)?;
    let mut out = stdout().lock();
    out.write_all(&served.stdout).and_then(|()| out.flush()).map_err(told)?;
    if served.held {
        // It outlives this process with the same standard output.
        std::process::Command::new("sleep").arg("60").stdin(std::process::Stdio::null()).spawn().map_err(told)?;
    }
    if served.lives_on || served.hangs {
        // It never ends of itself.
        loop {
            std::thread::park();
        }
    }
    std::process::exit(served.exit)
}

/// Reads JSON, and prints what is made of it.
fn aw_account(input: &mut dyn Read, make: impl FnOnce(&Json) -> Json) -> Result<Exit, Stop> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(|error| Stop::usage(error.to_string()))?;
    let json = cetp_vectors::json::parse(&bytes, cetp_vectors::json::Limits::TEXT);
    let json = json.map_err(|error| Stop::usage(error.to_string()))?;
    let mut out = stdout().lock();
    writeln!(out, "{}", make(&json)).map_err(|error| Stop::target(error.to_string()))?;
    Ok(Exit::Good)
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
        ReferenceCommand::AwProvider(args) => return aw_provider(&args),
        ReferenceCommand::AwHost { scenario, args } => {
            let options = aw::host::Options { core_only: args.core, switches: args.switches()? };
            let file = std::fs::File::open(&scenario);
            let mut file = file.map_err(|error| Stop::usage(format!("{}: {error}", scenario.display())))?;
            return aw_account(&mut file, |scenario| aw::host::run(scenario, options));
        }
        ReferenceCommand::AwAdmission(args) => {
            let options = aw::admission::Options { core_only: args.core, switches: args.switches()? };
            return aw_account(&mut stdin(), |case| aw::admission::decide(case, options));
        }
        ReferenceCommand::Worker { database, provider } => serve_worker(&database, provider.options()?),
    };
    served.map(|()| Exit::Good).map_err(|error| Stop::target(error.to_string()))
}
