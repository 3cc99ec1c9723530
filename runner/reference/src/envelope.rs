//! The Bundles of v2: keys, types, error codes, replies (§4.1, §4.2, §5). The main type is [`Refusal`].
//!
//! Reading is strict about Bundle types, as `getInt` and its like are not: on Android an `Int` read from a `Long` gives
//! a default, and a default must never pass for a value that was sent.

use crate::error::{Error, Result};
use cetp_vectors::bundle::{Bundle, PendingIntent, Text, Value};
use serde_json::{Value as Json, json};

/// The protocol version that this module speaks.
pub const VERSION: i32 = 2;

/// Keys of requests and replies.
#[allow(missing_docs, reason = "each is the key of the same name")]
pub mod key {
    pub const PROTOCOL_VERSION: &str = "protocol_version";
    pub const SESSION_TOKEN: &str = "session_token";
    pub const REQUEST_ID: &str = "request_id";
    pub const DEADLINE_AT_MS: &str = "deadline_at_ms";
    pub const TOOL_NAME: &str = "tool_name";
    pub const ARGS: &str = "args";
    pub const RESUME_TOKEN: &str = "resume_token";
    pub const OPERATION_ID: &str = "operation_id";
    pub const CONSUMER_VERSIONS: &str = "consumer_versions";
    pub const CONSUMER_CAPABILITIES: &str = "consumer_capabilities";
    pub const STATUS: &str = "status";
    pub const DATA: &str = "data";
    pub const RESULT_FD: &str = "result_fd";
    pub const ERROR_CODE: &str = "error_code";
    pub const ERROR_MESSAGE: &str = "error_message";
    pub const RETRYABLE: &str = "retryable";
    pub const RETRY_AFTER_MS: &str = "retry_after_ms";
    pub const ERROR_DETAILS: &str = "error_details";
    pub const RESOLUTION: &str = "resolution";
}

macro_rules! codes {
    ($($variant:ident $name:literal $retryable:expr;)*) => {
        /// The error codes of §5; the list is complete.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each is the code of the same name in the table of §5")]
        pub enum Code { $($variant,)* }

        impl Code {
            /// The name on the wire.
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// The table's column `retryable`: fixed, or `None` where it depends on the case.
            pub fn retryable(self) -> Option<bool> {
                match self { $(Code::$variant => $retryable,)* }
            }

            /// The code of a name.
            pub fn from_name(name: &str) -> Option<Code> {
                match name { $($name => Some(Code::$variant),)* _ => None }
            }
        }
    };
}

codes! {
    UnsupportedVersion "UNSUPPORTED_VERSION" Some(false);
    UnsupportedCapability "UNSUPPORTED_CAPABILITY" Some(false);
    NegotiationRequired "NEGOTIATION_REQUIRED" Some(true);
    AuthRequired "AUTH_REQUIRED" None;
    UserActionRequired "USER_ACTION_REQUIRED" None;
    UserCancelled "USER_CANCELLED" Some(false);
    PermissionDenied "PERMISSION_DENIED" Some(false);
    ToolNotFound "TOOL_NOT_FOUND" Some(false);
    MethodNotFound "METHOD_NOT_FOUND" Some(false);
    InvalidArgs "INVALID_ARGS" Some(false);
    InvalidRequest "INVALID_REQUEST" Some(false);
    Conflict "CONFLICT" None;
    RateLimited "RATE_LIMITED" Some(true);
    DeadlineExceeded "DEADLINE_EXCEEDED" None;
    Cancelled "CANCELLED" Some(false);
    ResultTooLarge "RESULT_TOO_LARGE" Some(false);
    ResultExpired "RESULT_EXPIRED" Some(false);
    Unavailable "UNAVAILABLE" Some(true);
    InternalError "INTERNAL_ERROR" None;
}

/// A refusal or a failure, with everything that its Bundle carries (§5, §4.3).
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The code.
    pub code: Code,
    /// A text that is safe to show: it never holds what an exception said.
    pub message: String,
    /// Whether the consumer may repeat the call by itself.
    pub retryable: bool,
    /// When to repeat.
    pub retry_after_ms: Option<i64>,
    /// More, for programs.
    pub details: Option<Json>,
    /// Where the user decides, and the token to come back with (§4.3).
    pub resolution: Option<(PendingIntent, String)>,
}

impl Refusal {
    /// A refusal that is repeated only if the table of §5 says so. A conditional code counts as "no": what this provider
    /// refuses conditionally needs the user, another input or a query first.
    pub fn new(code: Code, message: impl Into<String>) -> Refusal {
        Refusal {
            code,
            message: message.into(),
            retryable: code.retryable().unwrap_or(false),
            retry_after_ms: None,
            details: None,
            resolution: None,
        }
    }

    /// The error object of a failed operation (§4.4), which is also what is stored.
    pub fn to_json(&self) -> Json {
        let mut error =
            json!({ "error_code": self.code.name(), "error_message": self.message, "retryable": self.retryable });
        if let Some(ms) = self.retry_after_ms {
            error[key::RETRY_AFTER_MS] = json!(ms);
        }
        if let Some(details) = &self.details {
            error[key::ERROR_DETAILS] = details.clone();
        }
        error
    }

    /// Reads [`Refusal::to_json`] back.
    ///
    /// # Errors
    /// The value was not written by us.
    pub fn from_json(json: &Json) -> Result<Refusal> {
        let code = json["error_code"].as_str().and_then(Code::from_name).ok_or_else(|| Error::lost("error_code"))?;
        Ok(Refusal {
            code,
            message: json["error_message"].as_str().unwrap_or_default().to_owned(),
            retryable: json["retryable"].as_bool().unwrap_or(false),
            retry_after_ms: json[key::RETRY_AFTER_MS].as_i64(),
            details: json.get(key::ERROR_DETAILS).cloned(),
            resolution: None,
        })
    }

    /// The error Bundle (§5). `echo` is the request's own `request_id`.
    pub fn to_bundle(&self, echo: Option<Value>) -> Bundle {
        let mut bundle = reply("error", echo)
            .with(key::ERROR_CODE, Value::string(self.code.name()))
            .with(key::ERROR_MESSAGE, Value::string(&self.message))
            .with(key::RETRYABLE, Value::Bool(self.retryable));
        if let Some(ms) = self.retry_after_ms {
            bundle = bundle.with(key::RETRY_AFTER_MS, Value::Long(ms));
        }
        if let Some(details) = &self.details {
            bundle = bundle.with(key::ERROR_DETAILS, Value::string(details.to_string()));
        }
        if let Some((intent, token)) = &self.resolution {
            bundle = bundle
                .with(key::RESOLUTION, Value::PendingIntent(intent.clone()))
                .with(key::RESUME_TOKEN, Value::string(token));
        }
        bundle
    }
}

/// `Err` with a refusal, for the end of a function.
///
/// # Errors
/// Always.
pub fn refuse<T>(code: Code, message: impl Into<String>) -> Result<T> {
    Err(Refusal::new(code, message).into())
}

fn reply(status: &str, echo: Option<Value>) -> Bundle {
    let bundle =
        Bundle::new().with(key::STATUS, Value::string(status)).with(key::PROTOCOL_VERSION, Value::Int(VERSION));
    match echo {
        Some(id) => bundle.with(key::REQUEST_ID, id),
        None => bundle,
    }
}

/// A success with its `data` (§4.2).
pub fn success(echo: Option<Value>, data: String) -> Bundle {
    reply("success", echo).with(key::DATA, Value::string(data))
}

/// An accepted operation (§4.4).
pub fn accepted(echo: Option<Value>, data: String) -> Bundle {
    reply("accepted", echo).with(key::DATA, Value::string(data))
}

/// The value of a key. On Android a null value and no key are the same to a reader.
pub fn get<'b>(extras: &'b Bundle, key: &str) -> Option<&'b Value> {
    extras.get(key).filter(|value| !matches!(value, Value::Null))
}

/// What a reply echoes (§5): the request's own `request_id`, if it is a String at all.
pub fn echo(extras: &Bundle) -> Option<Value> {
    get(extras, key::REQUEST_ID).filter(|value| matches!(value, Value::String(_))).cloned()
}

/// A String that must be there, as valid Unicode.
///
/// # Errors
/// INVALID_REQUEST.
pub fn string<'b>(extras: &'b Bundle, key: &str) -> Result<&'b str> {
    optional_string(extras, key)?.ok_or_else(|| Refusal::new(Code::InvalidRequest, format!("{key} is missing.")).into())
}

/// A String that may be missing.
///
/// # Errors
/// INVALID_REQUEST for another type, or for text that is not valid Unicode.
pub fn optional_string<'b>(extras: &'b Bundle, key: &str) -> Result<Option<&'b str>> {
    match get(extras, key) {
        None => Ok(None),
        Some(Value::String(Text::Unicode(text))) => Ok(Some(text)),
        Some(_) => refuse(Code::InvalidRequest, format!("{key} is no String.")),
    }
}

/// `request_id` (§4.1): a UUID in its canonical form, of any version and case.
///
/// # Errors
/// INVALID_REQUEST.
pub fn request_id(extras: &Bundle) -> Result<&str> {
    let id = string(extras, key::REQUEST_ID)?;
    if is_uuid(id) { Ok(id) } else { refuse(Code::InvalidRequest, "request_id is no UUID.") }
}

/// Whether a text is a UUID as it is usually written: 8-4-4-4-12 hexadecimal digits.
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// `deadline_at_ms` (§4.1): a Long.
///
/// # Errors
/// INVALID_REQUEST.
pub fn deadline(extras: &Bundle) -> Result<i64> {
    match get(extras, key::DEADLINE_AT_MS) {
        Some(Value::Long(ms)) => Ok(*ms),
        Some(_) => refuse(Code::InvalidRequest, "deadline_at_ms is no Long."),
        None => refuse(Code::InvalidRequest, "deadline_at_ms is missing."),
    }
}
