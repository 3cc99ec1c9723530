//! Decisions of a user by touching the screen, for a provider without the fixture's control for them: what is on the screen
//! is asked of `uiautomator dump`, and a button is touched by `input tap`. The main types are [`Taps`], what a target file says
//! of it, and [`Node`], a piece of the screen.
//!
//! Only what belongs to the package under test is touched. A screen that does not come, or stays, is an error and never a
//! verdict: it may be the device that is slow, or a text that the target file does not name.

use super::AdbError;
use super::device::{COMMAND, Device};
use serde::Deserialize;
use std::time::{Duration, Instant};

/// Where the dump lies on the device for a moment.
const DUMP: &str = "/data/local/tmp/cetp-screen.xml";

/// Between two looks at the screen, and for a screen to follow a touch.
const PAUSE: Duration = Duration::from_millis(400);

/// The table `[android.decisions]` of a target file: the texts of the buttons, in any case.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Taps {
    /// What a user touches to agree.
    pub approve: Vec<String>,
    /// What a user touches to refuse.
    pub deny: Vec<String>,
    /// How long a screen may take to come, and to go after it was touched, in milliseconds.
    pub wait_ms: u64,
}

impl Default for Taps {
    fn default() -> Taps {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Taps {
            approve: texts(&["approve", "allow", "confirm", "continue", "accept", "yes", "ok"]),
            deny: texts(&["deny", "don't allow", "reject", "decline", "refuse", "no"]),
            wait_ms: 15_000,
        }
    }
}

/// A piece of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The app that it belongs to.
    pub package: String,
    /// What stands on it, or is said of it to who cannot see.
    pub texts: Vec<String>,
    /// Whether it can be used.
    pub enabled: bool,
    /// Left, top, right, bottom, in pixels.
    pub bounds: [i32; 4],
}

impl Node {
    /// Its middle; none where it has no extent.
    fn middle(&self) -> Option<(i32, i32)> {
        let [left, top, right, bottom] = self.bounds;
        (left < right && top < bottom).then(|| (left + (right - left) / 2, top + (bottom - top) / 2))
    }

    fn says(&self, wanted: &[String]) -> bool {
        let same =
            |text: &String| wanted.iter().any(|wanted| wanted.trim().to_lowercase() == text.trim().to_lowercase());
        self.texts.iter().any(same)
    }
}

/// What is on the screen, of the XML that `uiautomator dump` writes; none where it wrote no XML.
pub fn nodes(dump: &str) -> Option<Vec<Node>> {
    let dump = &dump[dump.find("<hierarchy")?..];
    let whole = dump.contains("</hierarchy>") || dump.split_once('>').is_some_and(|(head, _)| head.ends_with('/'));
    let mut found = Vec::new();
    for piece in dump.split("<node ").skip(1) {
        let mut node = Node { package: String::new(), texts: Vec::new(), enabled: true, bounds: [0; 4] };
        for (name, value) in Attributes(piece) {
            match name {
                "package" => node.package = value,
                "text" | "content-desc" if !value.is_empty() => node.texts.push(value),
                "enabled" => node.enabled = value != "false",
                "bounds" => node.bounds = bounds(&value)?,
                _ => {}
            }
        }
        found.push(node);
    }
    whole.then_some(found)
}

/// `[left,top][right,bottom]`
fn bounds(text: &str) -> Option<[i32; 4]> {
    let numbers: Vec<i32> = text
        .split(['[', ',', ']'])
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    numbers.try_into().ok()
}

/// The attributes of an element, up to its end. In a value a `<` is always escaped, a `>` need not be.
struct Attributes<'a>(&'a str);

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, String);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0.trim_start();
        let (name, rest) = rest.split_once('=')?;
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, rest) = rest[1..].split_once(quote)?;
        self.0 = rest;
        (!name.contains(['<', '>', '/'])).then(|| (name, unescaped(value)))
    }
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let named = |(name, _): &(&str, &str)| name.chars().all(|c| c == '#' || c.is_ascii_alphanumeric());
        let Some((name, after)) = after.split_once(';').filter(named) else {
            out.push('&');
            rest = after;
            continue;
        };
        let number = name.strip_prefix("#x").map(|hex| u32::from_str_radix(hex, 16).ok());
        let number = number.or_else(|| name.strip_prefix('#').map(|decimal| decimal.parse().ok()));
        let c = match name {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => number.flatten().and_then(char::from_u32),
        };
        out.extend(c);
        rest = after;
    }
    out + rest
}

/// Does on the screen what a user does who decides: `approve`, `deny`, or `dismiss`. Repeated until the screen has changed,
/// as a touch can be lost.
///
/// # Errors
/// The device is gone. The inner one says that there was nothing to decide on, or that it did not go away.
pub fn decide(device: &Device, package: &str, taps: &Taps, decision: &str) -> Result<Result<(), String>, AdbError> {
    let wait = Duration::from_millis(taps.wait_ms);
    let mut until = Instant::now() + wait;
    let wanted = match decision {
        "approve" => &taps.approve,
        "deny" => &taps.deny,
        _ => &Vec::new(),
    };
    let mut touched = false;
    loop {
        let left = until.saturating_duration_since(Instant::now()).clamp(Duration::from_secs(1), COMMAND);
        let said = device.shell(&format!("rm -f {DUMP}; uiautomator dump {DUMP} && cat {DUMP}; rm -f {DUMP}"), left)?;
        let screen = nodes(&said.stdout);
        let ours: Vec<&Node> =
            screen.iter().flatten().filter(|node| node.package == package && node.middle().is_some()).collect();
        let command = match decision {
            "dismiss" => ours.first().map(|_| "input keyevent KEYCODE_BACK".to_owned()),
            _ => {
                let button = ours.iter().find(|node| node.enabled && node.says(wanted));
                button.and_then(|node| node.middle()).map(|(x, y)| format!("input tap {x} {y}"))
            }
        };
        match command {
            Some(command) if Instant::now() < until => {
                device.must(&command, COMMAND)?;
                if !std::mem::replace(&mut touched, true) {
                    until = Instant::now() + wait;
                }
            }
            None if touched && screen.is_some() => return Ok(Ok(())),
            _ if Instant::now() < until => {}
            _ => return Ok(Err(in_vain(package, decision, wanted, touched, screen.as_deref(), &ours, &said.said()))),
        }
        std::thread::sleep(PAUSE);
    }
}

fn in_vain(
    package: &str,
    decision: &str,
    wanted: &[String],
    touched: bool,
    screen: Option<&[Node]>,
    ours: &[&Node],
    said: &str,
) -> String {
    if touched {
        return format!("the screen of {package} did not change after {decision:?} on it");
    }
    let texts: Vec<&str> = ours.iter().flat_map(|node| &node.texts).map(String::as_str).collect();
    match (screen, ours.is_empty()) {
        (None, _) => format!("the screen could not be read: {said}"),
        (Some(_), true) => format!("no screen of {package} came up"),
        (Some(_), false) => format!("on the screen of {package} no button says one of {wanted:?}; it says {texts:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: &str = "UI hierchary dumped to: /data/local/tmp/cetp-screen.xml\n<?xml version='1.0' encoding='UTF-8' \
        standalone='yes' ?><hierarchy rotation=\"0\"><node index=\"0\" text=\"\" class=\"android.widget.FrameLayout\" \
        package=\"org.example.app\" content-desc=\"\" enabled=\"true\" bounds=\"[0,0][1080,2280]\"><node text=\"Send 7 &lt;coins&gt; \
        to &quot;x&quot; &amp; y&#10;now\" package=\"org.example.app\" bounds=\"[40,200][1040,300]\" /><node text='ALLOW' \
        package=\"org.example.app\" content-desc=\"\" enabled=\"true\" bounds=\"[600,2000][1000,2100]\" /></node></hierarchy>";

    #[test]
    fn a_dump_is_read() {
        let nodes = nodes(SCREEN).unwrap();
        assert_eq!(nodes.len(), 3);
        assert_eq!(nodes[1].texts, ["Send 7 <coins> to \"x\" & y\nnow"]);
        assert_eq!(nodes[2].middle(), Some((800, 2050)));
        assert!(nodes[2].says(&Taps::default().approve) && !nodes[2].says(&Taps::default().deny));
        assert_eq!(nodes[0].middle(), Some((540, 1140)));
    }

    #[test]
    fn what_is_no_whole_dump_is_none() {
        assert_eq!(nodes("ERROR: could not get idle state."), None);
        assert_eq!(nodes(&SCREEN[..SCREEN.len() - 20]), None);
        assert_eq!(nodes("<hierarchy rotation=\"0\"/>"), Some(Vec::new()));
        assert_eq!(nodes("<hierarchy><node bounds=\"[0,0][1\"/></hierarchy>"), None);
        assert_eq!(unescaped("a & b &unknown; &#x41;&#66;"), "a & b  AB");
    }
}
