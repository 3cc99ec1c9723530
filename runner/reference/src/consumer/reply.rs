//! The Bundles of requests and replies, as a consumer writes and reads them (§4.1, §4.2, §5). The main types are
//! [`Answer`] and [`Problem`].
//!
//! Reading is strict about types. `getBoolean` and its like give a default for a value of another type, and with such a
//! default a missing `retryable` would be an answer.

use super::context::Context;
use super::distort;
use super::json;
use super::limits::{MAX_DATA_BYTES, MAX_MESSAGE_CHARS, MAX_OPAQUE_BYTES};
use super::outcome::{Ending, UNKNOWN_CODE};
use super::platform::{Called, Received};
use super::switches::Leeway;
use super::text::shown;
use crate::envelope::{Code, VERSION, get, key};
use cetp_vectors::bundle::{Bundle, PendingIntent, Text, Value};
use cetp_vectors::json::Limits;
use serde_json::Value as Json;

/// The fields that every request of version 2 carries, but for `negotiate` (§4.1).
pub fn request(session_token: &str, request_id: &str, deadline_at_ms: i64) -> Bundle {
    Bundle::new()
        .with(key::PROTOCOL_VERSION, Value::Int(VERSION))
        .with(key::SESSION_TOKEN, Value::string(session_token))
        .with(key::REQUEST_ID, Value::string(request_id))
        .with(key::DEADLINE_AT_MS, Value::Long(deadline_at_ms))
}

/// A new `request_id`: a random UUID.
///
/// # Errors
/// The system gives no random bytes.
pub fn new_id() -> Result<String, Ending> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|_| Ending::refused("There is no randomness for a request_id"))?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = crate::catalogue::hex(&bytes);
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

/// What a call came to.
pub enum Answer<'p> {
    /// `status=success`, with `data` and the Bundle that it came in.
    Success(Json, Received<'p>),
    /// `status=accepted`, with `data`.
    Accepted(Json),
    /// `status=error`.
    Error(Problem),
    /// No answer came, in words. The provider may have done it, or be doing it (§4.1, §6).
    Lost(&'static str),
    /// What came is no reply of the protocol, in words.
    Malformed(String),
}

/// Which answers a call can have.
#[derive(Clone, Copy)]
pub enum Echo<'r> {
    /// `execute_tool`: the reply names our request and version, or is not its reply (§4.2).
    Must(&'r str),
    /// Another method of version 2: what is echoed must be ours.
    May(&'r str),
    /// `negotiate`, and version 1.
    None,
}

/// Reads what came of a call.
pub fn read<'p>(cx: Context<'p>, called: Called, echo: Echo<'_>) -> Answer<'p> {
    let received = match called {
        // All of these leave open what the provider did. An empty Bundle is what an exception that the Binder cannot
        // carry looks like.
        Called::Died => return Answer::Lost("The provider died in the call"),
        Called::TimedOut => return Answer::Lost("The provider did not answer in time"),
        Called::Null => return Answer::Lost("The provider gave no answer"),
        Called::Bundle(bundle) if bundle.0.is_empty() => return Answer::Lost("The provider gave an empty answer"),
        Called::Thrown => return malformed("The provider threw an exception"),
        Called::Bundle(bundle) => Received::new(cx.platform, bundle),
    };
    let bundle = &received.bundle;
    if !echoes(cx, bundle, echo) {
        return malformed("The answer is not to this request");
    }
    match bundle.string(key::STATUS) {
        Some("error") => {
            let mut problem = Problem::from_bundle(bundle, matches!(echo, Echo::None));
            if let Some(message) = distort::message(cx, bundle) {
                problem.message = message;
            }
            Answer::Error(problem)
        }
        Some(status @ ("success" | "accepted")) => match data(cx, bundle) {
            Ok(data) if status == "success" => Answer::Success(data, received),
            Ok(data) => Answer::Accepted(data),
            Err(why) => malformed(&format!("The answer's data cannot be used: {why}")),
        },
        Some(_) => malformed("The answer has an unknown status"),
        None => malformed("The answer has no status"),
    }
}

fn malformed<'p>(why: &str) -> Answer<'p> {
    Answer::Malformed(why.to_owned())
}

fn echoes(cx: Context<'_>, bundle: &Bundle, echo: Echo<'_>) -> bool {
    let (id, must) = match echo {
        Echo::None => return true,
        Echo::Must(id) => (id, true),
        Echo::May(id) => (id, cx.leeway(Leeway::EchoWantedEverywhere)),
    };
    let same_id = get(bundle, key::REQUEST_ID).map_or(!must, |_| bundle.string(key::REQUEST_ID) == Some(id));
    let same_version = get(bundle, key::PROTOCOL_VERSION).map_or(!must, |version| *version == Value::Int(VERSION));
    same_id && same_version
}

fn data(cx: Context<'_>, bundle: &Bundle) -> Result<Json, &'static str> {
    let text = match get(bundle, key::DATA) {
        Some(Value::String(Text::Unicode(text))) => text,
        Some(Value::String(Text::Utf16(_))) => return Err("it is not valid Unicode"),
        Some(_) => return Err("it is no String"),
        None => return Err("it is missing"),
    };
    let max_bytes = distort::most_data(cx, MAX_DATA_BYTES);
    if cx.leeway(Leeway::DuplicateMembersHandled) {
        return json::read_with(text.as_bytes(), Limits { max_bytes, max_level: 1_000, ..Limits::DATA });
    }
    json::read(text.as_bytes(), max_bytes)
}

/// An error that a provider reports (§5), read without believing it.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The code; nothing for one that the specification does not have.
    pub code: Option<Code>,
    /// For people: the provider's own text, bounded. Data.
    pub message: String,
    /// Whether it may be repeated by itself: true only for a Boolean `true` in an error that is whole. Everything else
    /// is final.
    pub retryable: bool,
    /// When to repeat at the earliest.
    pub retry_after_ms: Option<u64>,
    /// Where the user decides, and the token to come back with (§4.3).
    pub resolution: Option<(PendingIntent, String)>,
}

impl Problem {
    /// From an error Bundle. Version 1 knows no `retryable`.
    fn from_bundle(bundle: &Bundle, version_1: bool) -> Problem {
        let text = |key| match get(bundle, key) {
            Some(Value::String(text)) => Some(lossy(text)),
            _ => None,
        };
        let retryable = match get(bundle, key::RETRYABLE) {
            Some(Value::Bool(retryable)) => Some(*retryable),
            None if version_1 => Some(false),
            _ => None,
        };
        let retry_after_ms = match get(bundle, key::RETRY_AFTER_MS) {
            None => Some(None),
            Some(Value::Long(ms)) => u64::try_from(*ms).ok().map(Some),
            Some(_) => None,
        };
        let resolution = match (get(bundle, key::RESOLUTION), bundle.string(key::RESUME_TOKEN)) {
            (Some(Value::PendingIntent(intent)), Some(token)) if fits(token) => {
                Some((intent.clone(), token.to_owned()))
            }
            _ => None,
        };
        Problem::new(text(key::ERROR_CODE), text(key::ERROR_MESSAGE), retryable, retry_after_ms, resolution)
    }

    /// From the `error` of a failed operation (§4.4).
    pub fn from_json(error: &Json) -> Problem {
        let text = |key: &str| error[key].as_str().map(str::to_owned);
        let retry_after_ms = match &error[key::RETRY_AFTER_MS] {
            Json::Null => Some(None),
            ms => ms.as_u64().map(Some),
        };
        let retryable = error[key::RETRYABLE].as_bool();
        Problem::new(text(key::ERROR_CODE), text(key::ERROR_MESSAGE), retryable, retry_after_ms, None)
    }

    fn new(
        code: Option<String>,
        message: Option<String>,
        retryable: Option<bool>,
        retry_after_ms: Option<Option<u64>>,
        resolution: Option<(PendingIntent, String)>,
    ) -> Problem {
        // §5: an error that lacks a part, or has one of another type, is a failure and nothing more. When to repeat it
        // could only be guessed.
        let whole = code.is_some() && message.is_some() && retryable.is_some() && retry_after_ms.is_some();
        Problem {
            code: code.as_deref().and_then(Code::from_name),
            message: shown(&message.unwrap_or_default(), MAX_MESSAGE_CHARS),
            retryable: whole && retryable == Some(true),
            retry_after_ms: retry_after_ms.flatten(),
            resolution,
        }
    }

    /// The end of an execution with this error.
    pub fn ending(self) -> Ending {
        Ending::Error { code: self.code.map_or(UNKNOWN_CODE, Code::name), message: self.message }
    }
}

/// Whether a text that is only kept and sent back has a sane size.
pub fn fits(opaque: &str) -> bool {
    !opaque.is_empty() && opaque.len() <= MAX_OPAQUE_BYTES
}

fn lossy(text: &Text) -> String {
    match text {
        Text::Unicode(text) => text.clone(),
        Text::Utf16(units) => String::from_utf16_lossy(units),
    }
}
