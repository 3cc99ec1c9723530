//! JSON of a provider, read strictly and within bounds (§7.3). The main function is [`read`].

use super::limits::{MAX_LEVEL, MAX_VALUES};
use cetp_vectors::json::{Limits, Numbers, parse};
use serde_json::Value as Json;

/// Reads a text that must be one JSON document of at most so many bytes.
///
/// Strict where two readers could see two things: of two members of one name, of a number that does not fit, of half a
/// character nobody can say what was meant. What cannot be handed on unchanged is refused.
///
/// # Errors
/// What is wrong, in words that are ours: nothing of the text is in them.
pub fn read(text: &[u8], max_bytes: usize) -> Result<Json, &'static str> {
    read_with(text, Limits { max_bytes, max_level: MAX_LEVEL, numbers: Numbers::Exact, ..Limits::TEXT })
}

/// Reads arguments that the agent wrote. They are sent as they are and read for checking only, so a number may be one
/// that only the provider can hold.
///
/// # Errors
/// As [`read`].
pub fn read_args(text: &str) -> Result<Json, &'static str> {
    let limits = Limits { max_level: MAX_LEVEL, max_bytes: usize::MAX, ..Limits::TEXT };
    read_with(text.as_bytes(), limits)
}

/// [`read`] with limits of one's own; the number of values is bounded all the same.
pub(super) fn read_with(text: &[u8], limits: Limits) -> Result<Json, &'static str> {
    use cetp_vectors::json::Fault;

    if text.len() > limits.max_bytes {
        return Err("it is too long");
    }
    if values(text) > MAX_VALUES {
        return Err("it holds too many values");
    }
    parse(text, limits).map_err(|error| match error.fault {
        Fault::TooLong => "it is too long",
        Fault::TooDeep => "it is nested too deeply",
        Fault::TooMany => "it holds too many values",
        Fault::DuplicateMember(_) => "a member occurs twice",
        Fault::Number(_) => "a number is out of range",
        Fault::Encoding | Fault::LoneSurrogate => "it is not valid Unicode",
        Fault::Syntax(_) => "it is not JSON",
    })
}

/// How many values a text can hold at most: each has a comma, a colon or a bracket before it. Punctuation inside of
/// strings does not count.
fn values(text: &[u8]) -> usize {
    let (mut count, mut in_string, mut escaped) = (1, false, false);
    for byte in text {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b',' | b':' | b'[' | b'{') => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_readers_could_see_differently_is_refused() {
        for (text, why) in [
            (r#"{"a":1,"\u0061":2}"#, "a member occurs twice"),
            ("1e999", "a number is out of range"),
            ("123456789012345678901234567890", "a number is out of range"),
            ("\u{feff}1", "it is not valid Unicode"),
            (r#""\ud800""#, "it is not valid Unicode"),
            ("{} {}", "it is not JSON"),
            ("NaN", "it is not JSON"),
            ("", "it is not JSON"),
            ("\0", "it is not JSON"),
        ] {
            assert_eq!(read(text.as_bytes(), 100), Err(why), "{text:?}");
        }
        assert_eq!(read(&[b'"', 0xff, b'"'], 100), Err("it is not valid Unicode"));
        assert_eq!(read(b"[1]", 2), Err("it is too long"));
        assert!(read("[".repeat(MAX_LEVEL).as_bytes(), 1000).is_err_and(|why| why == "it is not JSON"));
        assert_eq!(read("[".repeat(MAX_LEVEL + 2).as_bytes(), 1000), Err("it is nested too deeply"));
    }

    #[test]
    fn values_are_counted_before_they_are_made() {
        let many = format!("[{}0]", "0,".repeat(MAX_VALUES));
        assert_eq!(read(many.as_bytes(), usize::MAX), Err("it holds too many values"));
        let text = serde_json::Value::from(",\\\":[{".repeat(MAX_VALUES)).to_string();
        assert!(read(text.as_bytes(), usize::MAX).is_ok());
        assert_eq!(values(br#"{"a":[1,2],"b":"\",,"}"#), 7);
    }

    #[test]
    fn an_agents_own_numbers_may_be_large() {
        assert!(read_args("123456789012345678901234567890").is_ok());
        assert!(read_args(r#"{"a":1,"a":2}"#).is_err());
    }
}
