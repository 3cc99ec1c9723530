//! `android`: devices, the apps of the harness on them, and what may be wrong.

use crate::exit::{Exit, Stop};
use cetp_reports::text;
use cetp_runner::adb::AdbError;
use cetp_runner::adb::device::{self, Device};
use cetp_runner::adb::server::Server;
use cetp_runner::adb::settings::Settings;
use cetp_runner::adb::{devices, doctor};
use cetp_runner::check::Finding;
use cetp_runner::limits::Limits;
use cetp_runner::target::TargetFile;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What to do with devices.
#[derive(clap::Subcommand)]
pub enum AndroidCommand {
    /// List the devices that adb knows, and what is wrong with those that cannot be used
    Devices {
        /// The adb server as HOST:PORT
        #[arg(long, value_name = "HOST:PORT")]
        server: Option<String>,
    },
    /// Install the apps of a target file, and leave them on the device
    Install {
        /// The target file
        target: PathBuf,
    },
    /// Look for what is wrong between this machine and a device
    Doctor {
        /// The target file; without one the device alone is looked at
        target: Option<PathBuf>,
        /// The adb server as HOST:PORT
        #[arg(long, value_name = "HOST:PORT", conflicts_with = "target")]
        server: Option<String>,
        /// The device
        #[arg(long, value_name = "SERIAL", conflicts_with = "target")]
        serial: Option<String>,
    },
}

/// Carries out `android`.
pub fn android(command: &AndroidCommand) -> Result<Exit, Stop> {
    match command {
        AndroidCommand::Devices { server } => list(&at(server.as_deref())?),
        AndroidCommand::Install { target } => install(target),
        AndroidCommand::Doctor { target: Some(target), .. } => {
            let (file, settings) = open(target)?;
            look(&settings.server, settings.serial.as_deref(), Some(&settings), &file.limits)
        }
        AndroidCommand::Doctor { target: None, server, serial } => {
            let serial = serial.clone().or_else(|| variable("ANDROID_SERIAL"));
            look(&at(server.as_deref())?, serial.as_deref(), None, &Limits::default())
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn at(server: Option<&str>) -> Result<Server, Stop> {
    Server::at(server, &variable).map_err(|error| Stop::usage(error.message))
}

fn open(path: &Path) -> Result<(TargetFile, Settings), Stop> {
    let (file, folder) = TargetFile::read(path).map_err(|error| Stop::usage(error.to_string()))?;
    let settings = file.settings(&folder).map_err(|why| Stop::usage(format!("{}: {why}", path.display())))?;
    Ok((file, settings))
}

fn trouble(error: AdbError) -> Stop {
    Stop::target(error.message)
}

fn list(server: &Server) -> Result<Exit, Stop> {
    server.version().map_err(trouble)?;
    let rows = devices::list(server).map_err(trouble)?;
    if rows.is_empty() {
        return Err(Stop::target("no device is connected: plug one in, start an emulator, or use \"adb connect\""));
    }
    for row in &rows {
        anstream::println!("{}", text::safe(&row.to_string()));
        if let Some(advice) = row.state.advice() {
            anstream::println!("    {}", text::wrap(&text::safe(&advice), "    ").trim_start());
        }
    }
    let ready = rows.iter().any(|row| row.state == devices::State::Ready);
    if ready { Ok(Exit::Good) } else { Err(Stop::target("none of these devices can be used")) }
}

fn install(target: &Path) -> Result<Exit, Stop> {
    let (_, settings) = open(target)?;
    if settings.apks.is_empty() {
        return Err(Stop::usage(format!("{}: there is nothing under \"apks\" to install", target.display())));
    }
    let device = Device::find(&settings).map_err(trouble)?;
    device.await_boot(settings.boot).map_err(trouble)?;
    device::sdk(&device).map_err(trouble)?;
    let mut new = BTreeSet::new();
    device::install(&device, &settings, &mut new).map_err(trouble)?;
    for apk in &settings.apks {
        anstream::println!("installed {}", apk.file_name().unwrap_or_default().to_string_lossy());
    }
    if !new.is_empty() {
        let names: Vec<String> = new.into_iter().collect();
        anstream::println!("New on {}: {}", text::safe(&device.serial), text::safe(&names.join(", ")));
    }
    Ok(Exit::Good)
}

fn look(server: &Server, serial: Option<&str>, settings: Option<&Settings>, limits: &Limits) -> Result<Exit, Stop> {
    let lines = doctor::doctor(server, serial, settings, limits);
    for (finding, words) in &lines {
        let mark = match finding {
            Finding::Good => "ok      ",
            Finding::Missing => "note    ",
            Finding::Wrong => "WRONG   ",
        };
        anstream::println!("{mark}{}", text::wrap(&text::safe(words), "        ").trim_start());
    }
    if lines.iter().any(|(finding, _)| *finding == Finding::Wrong) {
        return Err(Stop::target("the suite cannot drive this device until that is mended"));
    }
    anstream::println!("\nNothing is wrong.");
    Ok(Exit::Good)
}
