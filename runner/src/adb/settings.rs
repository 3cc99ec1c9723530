//! What a target file says of a device. The main types are [`AndroidTable`], as it is written, and [`Settings`], checked.

use super::server::Server;
use super::taps::Taps;
use super::{AdbError, Trouble};
use cetp_vectors::ledger::Role;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The table `[android]` of a target file.
///
/// ```toml
/// name = "my-app"
/// role = "provider"
/// adapter = "adb"
/// subjects = ["app-debug.apk"]
/// [android]
/// package = "com.example.app"                 # the package under test
/// apks = ["app-debug.apk", "driver-a.apk"]    # installed before the run, relative to this file
/// second = "driver-a-second.apk"              # the second package of driver a's UID, for the caller "shared"
/// serial = "emulator-5554"                    # needed where several devices are connected
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AndroidTable {
    /// The package under test.
    pub package: String,
    /// The device; where it is left out, `ANDROID_SERIAL`, else the only one.
    #[serde(default)]
    pub serial: Option<String>,
    /// The adb server as `HOST:PORT`; where it is left out, what adb's own variables say.
    #[serde(default)]
    pub server: Option<String>,
    /// Apps that are installed before the run. Those that were not there before are removed after it.
    #[serde(default)]
    pub apks: Vec<PathBuf>,
    /// The second package of the front driver's UID. It is only laid on the device; the driver installs and removes it.
    #[serde(default)]
    pub second: Option<PathBuf>,
    /// The instrumentation that listens; the front driver where it is left out.
    #[serde(default = "front_driver")]
    pub instrumentation: String,
    /// Leaves installed what was installed for the run.
    #[serde(default)]
    pub keep_installed: bool,
    /// How a user decides where the package under test has no control for it: by touching the screen. The driver then
    /// does without UiAutomation, of which a device has one only.
    #[serde(default)]
    pub decisions: Option<Taps>,
    /// For a consumer: the package of the scripted provider's app, which it then calls over the Binder.
    #[serde(default)]
    pub scripted: Option<String>,
    /// How long the device may take to boot, in milliseconds.
    #[serde(default = "usual_boot_ms")]
    pub boot_ms: u64,
    /// How long an installation may take, in milliseconds.
    #[serde(default = "usual_install_ms")]
    pub install_ms: u64,
}

fn front_driver() -> String {
    "org.cetp.driver.a/org.cetp.driver.device.DriverInstrumentation".into()
}

/// A cold emulator on a busy machine needs two minutes.
fn usual_boot_ms() -> u64 {
    300_000
}

/// The system compiles what it installs.
fn usual_install_ms() -> u64 {
    180_000
}

/// What to use, with every name checked: they are put into commands.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The adb server.
    pub server: Server,
    /// The device, where it was named.
    pub serial: Option<String>,
    /// The package under test.
    pub package: String,
    /// The side that the package plays.
    pub role: Role,
    /// The instrumentation that listens, as `PACKAGE/CLASS`.
    pub instrumentation: String,
    /// APKs to install.
    pub apks: Vec<PathBuf>,
    /// APK to lay on the device.
    pub second: Option<PathBuf>,
    /// Whether what was installed stays.
    pub keep_installed: bool,
    /// Decisions by touching the screen.
    pub decisions: Option<Taps>,
    /// The scripted provider's package.
    pub scripted: Option<String>,
    /// How long the device may take to boot.
    pub boot: Duration,
    /// How long an installation may take.
    pub install: Duration,
}

impl Settings {
    /// Checks what a target file says. Paths are relative to `folder`; `variable` reads an environment variable.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn new(
        table: &AndroidTable,
        role: Role,
        folder: &Path,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Settings, AdbError> {
        let input = |message: String| AdbError::new(Trouble::Input, message);
        if !is_name(&table.package) {
            return Err(input(format!("package {:?} is no package name", table.package)));
        }
        for (member, there, side) in [
            ("decisions", table.decisions.is_some(), Role::Provider),
            ("scripted", table.scripted.is_some(), Role::Consumer),
        ] {
            if there && role != side {
                return Err(input(format!("{member} is for the role {} only", side.name())));
            }
        }
        if table.scripted.as_ref().is_some_and(|package| !is_name(package)) {
            return Err(input(format!("scripted {:?} is no package name", table.scripted)));
        }
        if table.decisions.is_some() && table.second.is_some() {
            return Err(input("decisions by the screen and a second package do not go together: leave one out".into()));
        }
        let component = table.instrumentation.split_once('/');
        if !component.is_some_and(|(package, class)| is_name(package) && is_name(class.trim_start_matches('.'))) {
            return Err(input(format!("instrumentation {:?} is not PACKAGE/CLASS", table.instrumentation)));
        }
        let file = |path: &PathBuf| {
            let path = folder.join(path);
            if path.is_file() { Ok(path) } else { Err(input(format!("the APK {} is no file", path.display()))) }
        };
        Ok(Settings {
            server: Server::at(table.server.as_deref(), variable)?,
            serial: table.serial.clone().or_else(|| variable("ANDROID_SERIAL")),
            package: table.package.clone(),
            role,
            instrumentation: table.instrumentation.clone(),
            apks: table.apks.iter().map(file).collect::<Result<_, _>>()?,
            second: table.second.as_ref().map(file).transpose()?,
            keep_installed: table.keep_installed,
            decisions: table.decisions.clone(),
            scripted: table.scripted.clone(),
            boot: Duration::from_millis(table.boot_ms),
            install: Duration::from_millis(table.install_ms),
        })
    }

    /// The package that carries the instrumentation.
    pub fn harness(&self) -> &str {
        self.instrumentation.split_once('/').map_or(self.instrumentation.as_str(), |(package, _)| package)
    }
}

/// A name of Java: letters, digits, underscores and dots, and for classes inside others the dollar sign.
fn is_name(text: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
    };
    text.len() <= 255 && text.split('.').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(toml: &str, variables: &[(&str, &str)]) -> Result<Settings, AdbError> {
        let table: AndroidTable = toml::from_str(toml).unwrap();
        let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
        Settings::new(&table, Role::Provider, Path::new("/"), &variable)
    }

    #[test]
    fn what_goes_into_a_command_is_checked() {
        assert!(settings("package = 'com.example.app'", &[]).is_ok());
        for bad in ["com.example; reboot", "", "a..b", "$(id)", "com.example/.Main"] {
            assert!(settings(&format!("package = '{bad}'"), &[]).is_err(), "{bad}");
        }
        assert!(settings("package = 'a.b'\ninstrumentation = 'a.b'", &[]).is_err());
        assert!(settings("package = 'a.b'\nscripted = 'a.b'", &[]).is_err(), "a provider meets no provider");
        let taps = settings("package = 'a.b'\n[decisions]\ndeny = ['Nein']", &[]).unwrap().decisions.unwrap();
        assert_eq!((taps.deny, taps.approve), (vec!["Nein".to_owned()], Taps::default().approve));
        assert!(toml::from_str::<AndroidTable>("package = 'a.b'\n[decisions]\nother = 1").is_err());
        assert!(settings("package = 'a.b'\napks = ['no-such-file.apk']", &[]).is_err());
        let ok = settings("package = 'a.b'\ninstrumentation = 'a.b/.C$D'", &[]).unwrap();
        assert_eq!(ok.harness(), "a.b");
    }

    #[test]
    fn the_file_comes_before_the_variables() {
        let variables =
            [("ANDROID_SERIAL", "from-variable"), ("ADB_SERVER_SOCKET", "tcp:5038"), ("ANDROID_ADB_SERVER_PORT", "1")];
        let given = settings("package = 'a.b'\nserial = 's'\nserver = '127.0.0.1:4000'", &variables).unwrap();
        assert_eq!((given.serial.as_deref(), given.server.address().port()), (Some("s"), 4000));
        let found = settings("package = 'a.b'", &variables).unwrap();
        assert_eq!((found.serial.as_deref(), found.server.address().port()), (Some("from-variable"), 5038));
        let port = settings("package = 'a.b'", &variables[2..]).unwrap();
        assert_eq!(port.server.address().port(), 1);
        assert_eq!(settings("package = 'a.b'", &[]).unwrap().server.address().port(), 5037);
        assert!(settings("package = 'a.b'", &[("ADB_SERVER_SOCKET", "localfilesystem:/x")]).is_err());
    }
}
