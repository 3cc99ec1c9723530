//! Which device. The main type is [`Row`], one line of the server's list; [`choose`] picks one.

use super::server::{Server, USUAL};
use super::{AdbError, Trouble};
use std::collections::BTreeMap;

/// A device as the server lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its serial; question marks where it could not be read.
    pub serial: String,
    /// How it stands with it.
    pub state: State,
    /// What else the server knows: `model`, `product`, `device`, `usb`, `transport_id`.
    pub facts: BTreeMap<String, String>,
}

/// How it stands with a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It can be used.
    Ready,
    /// It does not answer the server.
    Offline,
    /// It does not trust this computer yet.
    Unauthorized,
    /// It is asking its user, or connecting.
    Beginning(String),
    /// The server may not open it.
    NoPermissions(String),
    /// Something else than Android runs on it, or a state that is not known here.
    Other(String),
}

impl State {
    /// Its name, as adb spells it.
    pub fn name(&self) -> &str {
        match self {
            State::Ready => "device",
            State::Offline => "offline",
            State::Unauthorized => "unauthorized",
            State::NoPermissions(_) => "no permissions",
            State::Beginning(name) | State::Other(name) => name,
        }
    }

    /// What to do about it; nothing where nothing is to be done.
    pub fn advice(&self) -> Option<String> {
        Some(match self {
            State::Ready => return None,
            State::Offline => "it does not answer: unplug it or restart it, or run \"adb reconnect offline\"".into(),
            State::Unauthorized => {
                "it does not trust this computer: unlock it and accept the question about debugging".into()
            }
            State::Beginning(_) => "it is not ready yet: wait a moment, and look at its screen".into(),
            State::NoPermissions(why) => format!("the adb server may not open it ({why}): add a udev rule for it"),
            State::Other(name) => format!("it is in the state {name:?}, in which no apps run: boot Android on it"),
        })
    }
}

/// The devices that the server knows.
///
/// # Errors
/// The server cannot be reached or does not speak the protocol.
pub fn list(server: &Server) -> Result<Vec<Row>, AdbError> {
    let text = server.ask("host:devices-l", USUAL)?;
    text.lines().filter(|line| !line.trim().is_empty()).map(row).collect()
}

/// One line: the serial, the state, and facts of the form `name:value`. The state "no permissions" has spaces, and a text
/// for people after it.
fn row(line: &str) -> Result<Row, AdbError> {
    let wrong = || AdbError::new(Trouble::Protocol, format!("the adb server lists {line:?}, which is no device"));
    let (serial, rest) = line.split_once(char::is_whitespace).ok_or_else(wrong)?;
    let rest = rest.trim();
    let (state, facts) = if let Some(after) = rest.strip_prefix("no permissions") {
        // The facts are the words with a colon at the end of the line.
        let words: Vec<&str> = after.split_whitespace().collect();
        let known = ["usb", "product", "model", "device", "transport_id"];
        let is_fact = |word: &&&str| word.split_once(':').is_some_and(|(name, _)| known.contains(&name));
        let facts = words.iter().rev().take_while(is_fact).count();
        let why = words[..words.len() - facts].join(" ");
        let why = why.trim_matches(|c: char| "();".contains(c)).to_owned();
        (State::NoPermissions(why), words[words.len() - facts..].to_vec())
    } else {
        let mut words = rest.split_whitespace();
        let state = match words.next().ok_or_else(wrong)? {
            "device" => State::Ready,
            "offline" => State::Offline,
            "unauthorized" => State::Unauthorized,
            name @ ("authorizing" | "connecting") => State::Beginning(name.to_owned()),
            name => State::Other(name.to_owned()),
        };
        (state, words.collect())
    };
    let facts = facts.iter().filter_map(|word| word.split_once(':'));
    let facts = facts.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Ok(Row { serial: serial.to_owned(), state, facts })
}

/// The device that is to be used: the one that is named, else the only one.
///
/// # Errors
/// There is none, it cannot be used, or there are several and none was named; then all are listed.
pub fn choose<'r>(rows: &'r [Row], serial: Option<&str>) -> Result<&'r Row, AdbError> {
    let trouble = |message: String| Err(AdbError::new(Trouble::Device, message));
    let chosen = match (serial, rows) {
        (_, []) => {
            return trouble("no device is connected: plug one in, start an emulator, or use \"adb connect\"".into());
        }
        (Some(serial), rows) => match rows.iter().find(|row| row.serial == serial) {
            Some(row) => row,
            None => return trouble(format!("there is no device {serial:?}; connected are:{}", listed(rows))),
        },
        (None, [row]) => row,
        (None, rows) => {
            return trouble(format!(
                "{} devices are connected; say which one with its serial (\"serial\" in the target file, or \
                 ANDROID_SERIAL):{}",
                rows.len(),
                listed(rows)
            ));
        }
    };
    match chosen.state.advice() {
        None => Ok(chosen),
        Some(advice) => trouble(format!("the device {} is {}: {advice}", chosen.serial, chosen.state.name())),
    }
}

fn listed(rows: &[Row]) -> String {
    rows.iter().map(|row| format!("\n  {row}")).collect()
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:<22} {}", self.serial, self.state.name())?;
        self.facts.get("model").map_or(Ok(()), |model| write!(f, "  {}", model.replace('_', " ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_adb_writes_them() {
        let ready =
            row("emulator-5554          device product:sdk_gphone64 model:sdk_gphone64 transport_id:1").unwrap();
        assert_eq!((ready.serial.as_str(), &ready.state), ("emulator-5554", &State::Ready));
        assert_eq!(ready.facts["transport_id"], "1");
        let shut =
            row("????????????           no permissions (missing udev rules? user is in the plugdev group); see \
             [http://developer.android.com/tools/device.html] usb:1-4 transport_id:3")
            .unwrap();
        assert!(matches!(&shut.state, State::NoPermissions(why) if why.contains("udev")), "{shut:?}");
        assert_eq!(shut.facts["usb"], "1-4");
        assert_eq!(shut.facts.len(), 2, "{:?}", shut.facts);
        assert_eq!(row("x offline").unwrap().state, State::Offline);
        assert_eq!(row("x\tunauthorized usb:1").unwrap().state, State::Unauthorized);
        assert!(row("nonsense").is_err());
    }

    #[test]
    fn several_devices_need_a_serial() {
        let rows = [row("a device model:Pixel_8").unwrap(), row("b offline").unwrap()];
        let why = choose(&rows, None).unwrap_err().message;
        assert!(
            why.contains("serial") && why.contains("a ") && why.contains("Pixel 8") && why.contains("offline"),
            "{why}"
        );
        assert_eq!(choose(&rows, Some("a")).unwrap().serial, "a");
        assert!(choose(&rows, Some("b")).unwrap_err().message.contains("reconnect"));
        assert!(choose(&rows, Some("c")).unwrap_err().message.contains("connected are"));
        assert!(choose(&[], None).unwrap_err().message.contains("no device"));
    }
}
