//! The reference as a program of its own: `cetp-reference provider [--v2-only] [--switch NAME]…` and
//! `cetp-reference consumer [--core] [--switch NAME]…` speak the target protocol on stdin and stdout.

use cetp_reference::consumer;
use cetp_reference::session::Capabilities;
use cetp_reference::stdio::{serve_supervisor, serve_worker};
use cetp_reference::switches::Switches;
use cetp_reference::target::Options;
use std::io::{BufReader, Write, stderr, stdin, stdout};
use std::path::Path;
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cetp-reference provider [--v2-only] [--switch NAME]...
       cetp-reference consumer [--core] [--switch NAME]...";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let served = match arguments.split_first() {
        Some((role, options)) if role == "provider" => provider(options),
        Some((role, options)) if role == "consumer" => consumer(options),
        // Not for people: the supervisor starts itself again as the worker.
        Some((role, rest)) if role == "provider-worker" && !rest.is_empty() => worker(Path::new(&rest[0]), &rest[1..]),
        _ => Err(USAGE.into()),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(stderr(), "{error}");
            ExitCode::from(2)
        }
    }
}

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn provider(arguments: &[String]) -> Result<()> {
    // A mistake is told here and not by each worker.
    read_options(arguments)?;
    let program = std::env::current_exe()?;
    let command = |database: &Path| {
        let mut command = Command::new(&program);
        command.arg("provider-worker").arg(database).args(arguments);
        command
    };
    Ok(serve_supervisor(command, BufReader::new(stdin()), stdout().lock())?)
}

fn worker(database: &Path, arguments: &[String]) -> Result<()> {
    Ok(serve_worker(database, read_options(arguments)?)?)
}

fn consumer(arguments: &[String]) -> Result<()> {
    let mut options = consumer::target::Options::default();
    let mut switches = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--core" => options.capabilities = Capabilities::default(),
            "--switch" => switches.push(arguments.next().ok_or(USAGE)?),
            _ => return Err(USAGE.into()),
        }
    }
    options.switches = consumer::switches::Switches::from_names(switches)?;
    let target = consumer::target::ConsumerTarget::new(options);
    Ok(consumer::stdio::serve(target, stdin().lock(), stdout())?)
}

fn read_options(arguments: &[String]) -> Result<Options> {
    let mut options = Options::default();
    let mut switches = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--v2-only" => options.v1 = false,
            "--switch" => switches.push(arguments.next().ok_or(USAGE)?),
            _ => return Err(USAGE.into()),
        }
    }
    options.switches = Switches::from_names(switches)?;
    Ok(options)
}
