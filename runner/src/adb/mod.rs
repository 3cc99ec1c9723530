//! Targets on Android devices, over the adb server of this machine. The main type is [`AdbAdapter`]; `docs/android.md` tells
//! how it is used.
//!
//! - [`server`]: the adb server's own protocol, with a limit for every wait
//! - [`devices`]: which device
//! - [`shell`]: commands on it, with their exit codes
//! - [`device`]: what a run needs of it: booted, apps installed, the harness started
//! - [`settings`]: the part of a target file that says what to use
//! - [`session`]: the target protocol over a stream to the harness
//! - [`taps`]: a user's decisions on the screen
//! - [`doctor`]: looks for what is wrong
//!
//! The protocol is spoken here, and not by a crate: see `docs/design.md`. A device, a server or a harness that is sick never
//! leads to a verdict: all of it is a [`FaultKind::Start`] or a [`FaultKind::Device`].

pub mod device;
pub mod devices;
pub mod doctor;
pub mod server;
pub mod session;
pub mod settings;
pub mod shell;
pub mod taps;

use crate::adapter::{Adapter, Fault, FaultKind, Session};
use crate::limits::Limits;
use crate::protocol::Checker;
use device::{Device, Prepared};
use session::AdbSession;
use settings::Settings;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Why something could not be done over adb. Always about the server or the device, never about what is under test.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AdbError {
    /// What kind of trouble.
    pub kind: Trouble,
    /// A sentence for people: what happened, and what to do.
    pub message: String,
}

/// Kinds of [`AdbError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nobody answers at the server's address.
    NoServer,
    /// Whoever answers does not speak as an adb server does.
    Protocol,
    /// The server or the device refuses.
    Refused,
    /// Nothing came in time.
    Silent,
    /// The connection was cut.
    Cut,
    /// There is no such device, or it cannot be used.
    Device,
    /// The user's input is wrong.
    Input,
}

impl AdbError {
    /// An error with its sentence, which is cut where the other side made it long.
    pub fn new(kind: Trouble, message: impl std::fmt::Display) -> AdbError {
        AdbError { kind, message: Fault::new(FaultKind::Device, message).message }
    }
}

/// Starts the harness on a device, for one session at a time.
pub struct AdbAdapter {
    /// What to use.
    pub settings: Settings,
    /// The limits of sessions.
    pub limits: Limits,
    /// Where given, every message is checked against the schemas of the target protocol, both ways.
    pub checker: Option<Arc<Checker>>,
    prepared: Mutex<Option<Prepared>>,
    /// Starts that failed one after the other.
    failed_starts: AtomicU32,
}

/// After so many starts that failed one after the other the device is given up: hundreds of vectors would each wait for it.
const MOST_FAILED_STARTS: u32 = 3;

impl AdbAdapter {
    /// An adapter that has not touched any device yet.
    pub fn new(settings: Settings, limits: Limits, checker: Option<Arc<Checker>>) -> AdbAdapter {
        AdbAdapter { settings, limits, checker, prepared: Mutex::new(None), failed_starts: AtomicU32::new(0) }
    }

    /// The device, made ready at the first time.
    fn device(&self) -> Result<Device, AdbError> {
        let mut prepared = self.prepared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(prepared) = &*prepared {
            return Ok(prepared.device.clone());
        }
        let device = Device::find(&self.settings)?;
        // Kept also where a later step fails: what was done so far is undone in the end.
        let made = prepared.insert(Prepared::new(device.clone()));
        match made.prepare(&self.settings) {
            Ok(()) => Ok(device),
            Err(error) => {
                *prepared = None;
                Err(error)
            }
        }
    }
}

impl Adapter for AdbAdapter {
    fn kind(&self) -> &'static str {
        "adb"
    }

    fn start(&self) -> Result<Box<dyn Session>, Fault> {
        let failed = self.failed_starts.load(Ordering::Relaxed);
        if failed >= MOST_FAILED_STARTS {
            let message = format!("the device was given up after {failed} starts that failed");
            return Err(Fault::new(FaultKind::Start, message));
        }
        let started = self
            .device()
            .and_then(|device| AdbSession::start(device, &self.settings, self.limits.clone(), self.checker.clone()));
        match started {
            Ok(session) => {
                self.failed_starts.store(0, Ordering::Relaxed);
                Ok(Box::new(session))
            }
            Err(error) => {
                self.failed_starts.fetch_add(1, Ordering::Relaxed);
                Err(Fault::new(FaultKind::Start, error))
            }
        }
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn most_sessions(&self) -> usize {
        // There is one provider with one state, and one screen.
        1
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let prepared = self.prepared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        prepared.as_ref().map(|prepared| prepared.facts.clone()).unwrap_or_default()
    }
}
