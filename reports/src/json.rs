//! Writing JSON that is safe to look at. The main function is [`text`].

use crate::text::acts;
use serde::Serialize;
use std::fmt::Write;

/// The JSON text of a value. Beyond what JSON itself demands, everything is escaped that acts on a terminal or misleads a
/// reader: a report is looked at with whatever is at hand, and holds what targets said.
///
/// # Errors
/// As of [`serde_json::to_string`].
pub fn text(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(escaped)
}

/// The same over several lines.
///
/// # Errors
/// As of [`serde_json::to_string_pretty`].
pub fn pretty(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(escaped)
}

/// Such characters occur only inside of texts, so that each can be replaced where it stands.
fn escaped(json: String) -> String {
    if !json.contains(acts) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if acts(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn nothing_acts_and_nothing_is_lost() {
        let value = json!({ "a\u{202e}": ["\u{9b}31m", "\u{7f}", "\u{e0041}", "\u{1b}\r\n", "ä测\u{1f600}"] });
        for written in [text(&value).unwrap(), pretty(&value).unwrap()] {
            assert!(!written.contains(acts), "{written}");
            assert_eq!(serde_json::from_str::<Json>(&written).unwrap(), value);
        }
        assert!(text(&value).unwrap().contains("ä测\u{1f600}"));
        assert!(text(&value).unwrap().contains("\\udb40\\udc41"));
    }
}
