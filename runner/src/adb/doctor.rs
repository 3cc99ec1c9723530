//! Looks for what is wrong between this machine and a device. The main function is [`doctor`].

use super::device::{self, Device};
use super::server::Server;
use super::session::AdbSession;
use super::settings::Settings;
use super::{AdbError, Trouble, devices};
use crate::adapter::{Fault, Incoming, Session, await_message};
use crate::check::Finding;
use crate::limits::Limits;
use cetp_vectors::ledger::Role;
use serde_json::json;

/// What was found, in the order in which it was looked for. It ends with the first thing that keeps the rest from being
/// looked at.
pub fn doctor(
    server: &Server,
    serial: Option<&str>,
    settings: Option<&Settings>,
    limits: &Limits,
) -> Vec<(Finding, String)> {
    let mut lines = Vec::new();
    if let Err(error) = examine(server, serial, settings, limits, &mut lines) {
        lines.push((Finding::Wrong, error.message));
    }
    lines
}

fn examine(
    server: &Server,
    serial: Option<&str>,
    settings: Option<&Settings>,
    limits: &Limits,
    lines: &mut Vec<(Finding, String)>,
) -> Result<(), AdbError> {
    let version = server.version()?;
    lines.push((Finding::Good, format!("the adb server at {} speaks version {version}", server.address())));
    let rows = devices::list(server)?;
    for row in &rows {
        match row.state.advice() {
            None => lines.push((Finding::Good, format!("connected: {row}"))),
            Some(advice) => lines.push((Finding::Missing, format!("connected: {row}; {advice}"))),
        }
    }
    let serial = devices::choose(&rows, serial)?.serial.clone();
    let device = Device { server: server.clone(), serial };
    let features = device.features()?;
    for (feature, what_for) in [("shell_v2", "exit codes of commands"), ("cmd", "installing apps")] {
        if !features.iter().any(|known| known == feature) {
            let message =
                format!("the device's adbd has no {feature:?}, which is needed for {what_for}: its Android is too old");
            return Err(AdbError::new(Trouble::Device, message));
        }
    }
    let boot = settings.map_or(std::time::Duration::from_secs(30), |settings| settings.boot);
    device.await_boot(boot)?;
    let sdk = device::sdk(&device)?;
    let model = device.property("ro.product.model")?;
    lines.push((Finding::Good, format!("{model} is up, with API level {sdk}")));
    for (since, what) in [(device::EXPLICIT_SDK, "explicit"), (device::IMMUTABLE_SDK, "immutable")] {
        if sdk < since {
            let message = format!("below API level {since} whether a PendingIntent is {what} cannot be told");
            lines.push((Finding::Missing, message));
        }
    }
    let Some(settings) = settings else { return Ok(()) };
    let there = device.packages()?;
    let mut missing = false;
    for (name, what) in [(settings.harness(), "the harness"), (settings.package.as_str(), "the package under test")] {
        if there.contains(name) {
            lines.push((Finding::Good, format!("{what} {name} is installed")));
        } else {
            missing = true;
            let how = if settings.apks.is_empty() { "name its APK under \"apks\"" } else { "use \"android install\"" };
            lines.push((Finding::Wrong, format!("{what} {name} is not installed: {how}")));
        }
    }
    if missing {
        return Ok(());
    }
    if let Some(second) = &settings.second {
        device.push(second, device::SECOND, settings.install)?;
    }
    let described = AdbSession::start(device.clone(), settings, limits.clone(), None).and_then(|mut session| {
        let described = describe(&mut session, limits).map_err(|fault| AdbError::new(Trouble::Device, fault));
        Box::new(session).end();
        described
    });
    if settings.second.is_some() {
        device.shell(&format!("rm -f {}", device::SECOND), device::COMMAND)?;
    }
    let described = described?;
    lines.push((Finding::Good, "the harness listens, and answers".into()));
    let list = |name: &str| {
        let words = described[name].as_array().map(Vec::as_slice).unwrap_or_default();
        words.iter().filter_map(|word| word.as_str()).collect::<Vec<_>>().join(", ")
    };
    if settings.role == Role::Provider {
        match described["authority"].as_str() {
            Some(authority) => lines.push((Finding::Good, format!("the provider's authority is {authority}"))),
            None => lines.push((Finding::Missing, format!("{} has no provider that can be seen", settings.package))),
        }
        if described["fixture"].is_null() {
            let message = "the package does not carry the fixture, or does not trust this driver: only what needs no \
                           fixture is run";
            lines.push((Finding::Missing, message.into()));
        }
        lines.push((Finding::Good, format!("callers: {}", list("callers"))));
    }
    lines.push((Finding::Good, format!("controls: {}", list("controls"))));
    if settings.decisions.is_some() {
        let of_app =
            described["controls"].as_array().is_some_and(|controls| controls.contains(&"user_decision".into()));
        let how = if of_app { "by the package's own control" } else { "by touching the screen" };
        lines.push((Finding::Good, format!("decisions of the user: {how}")));
    }
    Ok(())
}

fn describe(session: &mut AdbSession, limits: &Limits) -> Result<serde_json::Value, Fault> {
    let id = session.send("target.describe", &json!({ "protocol": cetp_vectors::protocol::VERSION }))?;
    match await_message(session, limits.start())? {
        Incoming::Answer { id: answered, result: Ok(result) } if answered == id => Ok(result),
        other => Err(Fault::new(crate::adapter::FaultKind::Device, format!("the harness says {other:?}"))),
    }
}
