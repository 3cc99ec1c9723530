//! What a run needs of a device. The main types are [`Device`], and [`Prepared`], which undoes in the end what it did.

use super::devices;
use super::server::{Server, USUAL};
use super::settings::Settings;
use super::shell::{self, Output};
use super::{AdbError, Trouble};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a short command may take. A device that is busy with starting apps needs seconds.
pub const COMMAND: Duration = Duration::from_secs(30);

/// For what is done on the way out: then nobody wants to wait any longer.
const FAREWELL: Duration = Duration::from_secs(5);

/// The first Android that the harness is built for (8.0).
pub const OLDEST_SDK: u32 = 26;

/// From here on `am instrument` knows how to switch the checks of hidden API off.
const HIDDEN_API_SDK: u32 = 28;

/// From here on an instrumentation may borrow the shell's permission to see whether a PendingIntent is explicit.
pub const EXPLICIT_SDK: u32 = 29;

/// From here on a PendingIntent tells whether it is immutable.
pub const IMMUTABLE_SDK: u32 = 31;

/// Where the second package lies on the device.
pub const SECOND: &str = "/data/local/tmp/cetp-driver-a-second.apk";

/// The second package's name. The driver installs it, and may be ended before it has removed it.
const SECOND_PACKAGE: &str = "org.cetp.driver.a.second";

/// With this each driver's name begins.
const DRIVERS: &str = "org.cetp.driver.";

/// Who has it may open Activities while no screen of its own is to be seen, from Android 10 on. An instrumentation may anyway; the
/// driver of another caller, which opens what was given to that caller, is none.
const OPENS_SCREENS: &str = "SYSTEM_ALERT_WINDOW";

/// What the system's settings are while vectors run: nothing makes screens appear late, and the screen does not go dark, on which
/// nothing comes up (7: on any charger, of which USB is one).
const SETTINGS: [(&str, &str); 4] = [
    ("window_animation_scale", "0"),
    ("transition_animation_scale", "0"),
    ("animator_duration_scale", "0"),
    ("stay_on_while_plugged_in", "7"),
];

/// A device that could be used when it was looked for.
#[derive(Clone, Debug)]
pub struct Device {
    /// The server that reaches it.
    pub server: Server,
    /// Its serial.
    pub serial: String,
}

impl Device {
    /// The device that the settings mean.
    ///
    /// # Errors
    /// There is none, there are several, or it is sick.
    pub fn find(settings: &Settings) -> Result<Device, AdbError> {
        settings.server.version()?;
        let rows = devices::list(&settings.server)?;
        let serial = devices::choose(&rows, settings.serial.as_deref())?.serial.clone();
        Ok(Device { server: settings.server.clone(), serial })
    }

    /// Runs a command of the device's shell to its end.
    ///
    /// # Errors
    /// The device is gone, or the command does not end in time.
    pub fn shell(&self, command: &str, limit: Duration) -> Result<Output, AdbError> {
        shell::run(&self.server, &self.serial, command, limit)
    }

    /// Runs a command that has to succeed; what it wrote.
    ///
    /// # Errors
    /// As [`Device::shell`]; it failed.
    pub fn must(&self, command: &str, limit: Duration) -> Result<String, AdbError> {
        let output = self.shell(command, limit)?;
        if output.code == 0 {
            return Ok(output.stdout);
        }
        let message = format!(
            "on the device {} the command {command:?} failed with code {}: {}",
            self.serial,
            output.code,
            output.said()
        );
        Err(AdbError::new(Trouble::Refused, message))
    }

    /// A property of the system; empty where there is none.
    ///
    /// # Errors
    /// As [`Device::must`].
    pub fn property(&self, name: &str) -> Result<String, AdbError> {
        Ok(self.must(&format!("getprop {name}"), COMMAND)?.trim().to_owned())
    }

    /// What this device's adbd can do.
    ///
    /// # Errors
    /// As [`Server::ask`].
    pub fn features(&self) -> Result<Vec<String>, AdbError> {
        let text = self.server.ask(&format!("host-serial:{}:features", self.serial), USUAL)?;
        Ok(text.split(',').map(|feature| feature.trim().to_owned()).collect())
    }

    /// Waits until the system is up and apps can be installed.
    ///
    /// # Errors
    /// It is not up in time; the sentence says how far it came.
    pub fn await_boot(&self, limit: Duration) -> Result<(), AdbError> {
        let until = Instant::now() + limit;
        loop {
            let how_far = match self.booted(until.saturating_duration_since(Instant::now()).min(COMMAND)) {
                Ok(None) => return Ok(()),
                Ok(Some(how_far)) => how_far,
                // While it boots it may be gone for a moment.
                Err(error) => error.message,
            };
            if Instant::now() >= until {
                let message =
                    format!("the device {} was not up within {} s: {how_far}", self.serial, limit.as_secs_f64());
                return Err(AdbError::new(Trouble::Silent, message));
            }
            std::thread::sleep(Duration::from_millis(500).min(until.saturating_duration_since(Instant::now())));
        }
    }

    /// Nothing where it is up, else how far it is.
    fn booted(&self, limit: Duration) -> Result<Option<String>, AdbError> {
        let limit = limit.max(Duration::from_millis(100));
        let completed = self.must("getprop sys.boot_completed", limit)?;
        if completed.trim() != "1" {
            return Ok(Some("it is still booting (sys.boot_completed is not 1)".into()));
        }
        let packages = self.shell("pm list packages", limit)?;
        let up = packages.code == 0 && packages.stdout.contains("package:");
        Ok((!up).then(|| format!("its package manager is not up ({})", packages.said())))
    }

    /// The packages that are installed.
    ///
    /// # Errors
    /// As [`Device::must`].
    pub fn packages(&self) -> Result<BTreeSet<String>, AdbError> {
        let text = self.must("pm list packages", COMMAND)?;
        Ok(text.lines().filter_map(|line| line.trim().strip_prefix("package:").map(str::to_owned)).collect())
    }

    /// Installs an app, over an older one of the same key if it is there.
    ///
    /// # Errors
    /// The device is gone, or its package manager refuses.
    pub fn install(&self, apk: &Path, limit: Duration) -> Result<(), AdbError> {
        let bytes = std::fs::read(apk)
            .map_err(|error| AdbError::new(Trouble::Input, format!("the APK {}: {error}", apk.display())))?;
        let service = format!("exec:cmd package install -r -t -S {}", bytes.len());
        let mut stream = self.server.open(&self.serial, &service, limit)?;
        stream.limit(limit);
        stream.write_all(&bytes)?;
        let said = self.rest(&mut stream)?;
        if said.lines().any(|line| line.trim() == "Success") {
            return Ok(());
        }
        let advice = if said.contains("UPDATE_INCOMPATIBLE") {
            "; it is installed with another key: uninstall it first"
        } else if said.contains("OLDER_SDK") {
            "; the Android of this device is too old for it"
        } else {
            ""
        };
        let name = apk.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let message = format!("the device {} does not install {name}: {}{advice}", self.serial, said.trim());
        Err(AdbError::new(Trouble::Refused, message))
    }

    /// What comes until the other side is done.
    fn rest(&self, stream: &mut super::server::Stream) -> Result<String, AdbError> {
        /// Above any answer of a package manager.
        const MOST: usize = 64 << 10;
        let mut said = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            match stream.read(&mut buffer)? {
                0 => return Ok(String::from_utf8_lossy(&said).into_owned()),
                n if said.len() < MOST => said.extend_from_slice(&buffer[..n]),
                _ => {
                    let message = format!("the device {} answers an installation without end", self.serial);
                    return Err(AdbError::new(Trouble::Protocol, message));
                }
            }
        }
    }

    /// Lays a file on the device, by adb's file service.
    ///
    /// # Errors
    /// The device is gone or refuses.
    pub fn push(&self, file: &Path, path: &str, limit: Duration) -> Result<(), AdbError> {
        /// The most that the service takes at once.
        const PIECE: usize = 64 << 10;
        let bytes = std::fs::read(file)
            .map_err(|error| AdbError::new(Trouble::Input, format!("the file {}: {error}", file.display())))?;
        let mut stream = self.server.open(&self.serial, "sync:", limit)?;
        stream.limit(limit);
        let word = |id: &[u8; 4], n: usize| [&id[..], &u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes()].concat();
        // 0644: whoever may read the folder may read the file.
        let name = format!("{path},33188");
        stream.write_all(&[word(b"SEND", name.len()), name.into_bytes()].concat())?;
        for piece in bytes.chunks(PIECE) {
            stream.write_all(&word(b"DATA", piece.len()))?;
            stream.write_all(piece)?;
        }
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs());
        stream.write_all(&word(b"DONE", usize::try_from(now).unwrap_or(0)))?;
        let mut answer = [0; 8];
        stream.read_exact(&mut answer)?;
        let [a, b, c, d, length @ ..] = answer;
        match &[a, b, c, d] {
            b"OKAY" => Ok(()),
            b"FAIL" => {
                let mut why = vec![0; usize::try_from(u32::from_le_bytes(length)).unwrap_or(0).min(PIECE)];
                stream.read_exact(&mut why)?;
                let why = String::from_utf8_lossy(&why).into_owned();
                Err(AdbError::new(Trouble::Refused, format!("the device {} does not take {path}: {why}", self.serial)))
            }
            _ => {
                let message = format!("the device {} does not speak the protocol of adb's file service", self.serial);
                Err(AdbError::new(Trouble::Protocol, message))
            }
        }
    }
}

/// A device that is ready for a run. What was changed on it is changed back when this is dropped.
pub struct Prepared {
    /// The device.
    pub device: Device,
    /// What a report tells of it.
    pub facts: BTreeMap<String, String>,
    sdk: u32,
    new_packages: BTreeSet<String>,
    keep_installed: bool,
    /// Settings as they were before.
    settings: Vec<(&'static str, String)>,
    /// Packages that may open screens.
    openers: Vec<String>,
    pushed: bool,
}

impl Prepared {
    /// Nothing is done yet.
    pub fn new(device: Device) -> Prepared {
        Prepared {
            device,
            facts: BTreeMap::new(),
            sdk: 0,
            new_packages: BTreeSet::new(),
            keep_installed: false,
            settings: Vec::new(),
            openers: Vec::new(),
            pushed: false,
        }
    }

    /// Waits for the system, installs apps, and lights the screen.
    ///
    /// # Errors
    /// Any of that could not be done, or something is missing that has to be there.
    pub fn prepare(&mut self, settings: &Settings) -> Result<(), AdbError> {
        let device = self.device.clone();
        device.await_boot(settings.boot)?;
        self.sdk = sdk(&device)?;
        self.facts = facts(&device)?;
        self.keep_installed = settings.keep_installed;
        install(&device, settings, &mut self.new_packages)?;
        let there = device.packages()?;
        let scripted = settings.scripted.as_deref();
        for name in [settings.harness(), &settings.package].into_iter().chain(scripted) {
            if !there.contains(name) {
                let message = format!(
                    "the package {name} is not installed on the device {}: name its APK under \"apks\" in the target file",
                    device.serial
                );
                return Err(AdbError::new(Trouble::Input, message));
            }
        }
        if let Some(second) = &settings.second {
            device.push(second, SECOND, settings.install)?;
            self.pushed = true;
        }
        self.change_settings()?;
        for driver in there.into_iter().filter(|name| name.starts_with(DRIVERS)) {
            // Where a device does not know it, the screens do not come up, which is an error of the vector.
            device.shell(&format!("appops set {} {OPENS_SCREENS} allow", shell::quoted(&driver)), COMMAND)?;
            self.openers.push(driver);
        }
        // Nothing that is tested hangs on these; without them a confirmation may stay behind the lock.
        for command in ["input keyevent KEYCODE_WAKEUP", "wm dismiss-keyguard"] {
            device.shell(command, COMMAND)?;
        }
        Ok(())
    }

    fn change_settings(&mut self) -> Result<(), AdbError> {
        for (name, value) in SETTINGS {
            let before = self.device.must(&format!("settings get global {name}"), COMMAND)?.trim().to_owned();
            self.device.must(&format!("settings put global {name} {value}"), COMMAND)?;
            self.settings.push((name, before));
        }
        Ok(())
    }

    fn undo(&mut self) {
        let mut commands = Vec::new();
        for (name, before) in self.settings.drain(..) {
            // A setting that never was is told as "null".
            let plain =
                !before.is_empty() && before != "null" && before.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
            commands.push(if plain {
                format!("settings put global {name} {before}")
            } else {
                format!("settings delete global {name}")
            });
        }
        for driver in self.openers.drain(..) {
            commands.push(format!("appops set {} {OPENS_SCREENS} default", shell::quoted(&driver)));
        }
        if std::mem::take(&mut self.pushed) {
            commands.push(format!("rm -f {SECOND}"));
            // With it driver a is another caller. Where it is gone already, nothing is to be done.
            commands.push(format!("pm uninstall {SECOND_PACKAGE}"));
        }
        if !self.keep_installed {
            let new = std::mem::take(&mut self.new_packages);
            commands.extend(new.iter().map(|name| format!("pm uninstall {}", shell::quoted(name))));
        }
        for command in commands {
            let limit = if command.starts_with("pm ") { COMMAND } else { FAREWELL };
            // One that is gone by now has nothing to be undone.
            if self.device.shell(&command, limit).is_err() {
                break;
            }
        }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        self.undo();
    }
}

/// Installs every APK of the settings; packages that are new are noted as soon as they are there.
///
/// # Errors
/// The device is gone, or refuses one.
pub fn install(device: &Device, settings: &Settings, new: &mut BTreeSet<String>) -> Result<(), AdbError> {
    if settings.apks.is_empty() {
        return Ok(());
    }
    let before = device.packages()?;
    for apk in &settings.apks {
        device.install(apk, settings.install)?;
        new.extend(device.packages()?.difference(&before).cloned());
    }
    Ok(())
}

/// The API level, if it is one that the harness is built for.
///
/// # Errors
/// As [`Device::must`]; it is too old, or cannot be read.
pub fn sdk(device: &Device) -> Result<u32, AdbError> {
    let text = device.property("ro.build.version.sdk")?;
    let serial = &device.serial;
    match text.parse() {
        Ok(sdk) if sdk >= OLDEST_SDK => Ok(sdk),
        Ok(old) => {
            let message =
                format!("the device {serial} has API level {old}; the harness needs {OLDEST_SDK} (Android 8.0)");
            Err(AdbError::new(Trouble::Device, message))
        }
        Err::<u32, _>(_) => {
            let message = format!("the device {serial} tells no API level (ro.build.version.sdk is {text:?})");
            Err(AdbError::new(Trouble::Protocol, message))
        }
    }
}

/// What a report tells of a device. Its serial is nobody's business.
fn facts(device: &Device) -> Result<BTreeMap<String, String>, AdbError> {
    let mut facts = BTreeMap::new();
    for (fact, property) in [
        ("android_release", "ro.build.version.release"),
        ("android_sdk", "ro.build.version.sdk"),
        ("android_security_patch", "ro.build.version.security_patch"),
        ("device_manufacturer", "ro.product.manufacturer"),
        ("device_model", "ro.product.model"),
    ] {
        let value = device.property(property)?;
        if !value.is_empty() {
            facts.insert(fact.to_owned(), value);
        }
    }
    Ok(facts)
}

/// The command that starts the harness. Every name in it was checked when the settings were read.
pub fn instrument(settings: &Settings, sdk: u32, socket: &str) -> String {
    let mut words = vec!["am instrument -w -r".to_owned()];
    if sdk >= HIDDEN_API_SDK {
        // The explicitness of a PendingIntent is behind them.
        words.push("--no-hidden-api-checks".into());
    }
    words.push(format!("-e target {} -e socket {socket}", settings.package));
    if settings.second.is_some() {
        words.push(format!("-e second {SECOND}"));
    }
    if settings.decisions.is_some() {
        words.push("-e automation none".into());
    }
    if let Some(scripted) = &settings.scripted {
        words.push(format!("-e scripted {scripted}"));
    }
    // Quoted: the name of a class may hold a dollar sign.
    words.push(shell::quoted(&settings.instrumentation));
    words.join(" ")
}
