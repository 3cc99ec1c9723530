//! Switches that change how a request is read, as careless code would read it, and the codes of refusals.

use super::error;
use crate::envelope::{self, Code, key};
use crate::limits;
use crate::lock;
use crate::provider::Call;
use crate::session::Capability;
use crate::switches::{Fault, Leeway, Switches};
use cetp_vectors::bundle::{Bundle, Text, Value};
use cetp_vectors::json::parse_text;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;

const METHODS: [&str; 6] =
    ["negotiate", "get_provider_info", "list_tools", "execute_tool", "get_operation", "cancel_operation"];

/// A UUID that was made up.
const MADE_UP: &str = "00000000-0000-4000-8000-00000000000a";

/// The request as the provider reads it.
pub(crate) fn read<'r>(
    call: &'r Call<'_>,
    method: &'r str,
    extras: Option<&'r Bundle>,
) -> (Cow<'r, str>, Option<Cow<'r, Bundle>>) {
    let switches = call.provider.setup.switches;
    let mut read = Read { call, switches, method: Cow::Borrowed(method), extras: extras.map(Cow::Borrowed) };
    if switches != Switches::default() {
        read.method();
        if read.method == "negotiate" {
            read.offer();
        } else {
            read.version();
            read.token();
        }
        if read.method == "execute_tool" {
            read.execution();
        }
    }
    (read.method, read.extras)
}

struct Read<'r, 'c> {
    call: &'r Call<'c>,
    switches: Switches,
    method: Cow<'r, str>,
    extras: Option<Cow<'r, Bundle>>,
}

impl Read<'_, '_> {
    fn broken(&self, fault: Fault) -> bool {
        self.switches.broken(fault)
    }

    fn get(&self, key: &str) -> Option<&Value> {
        envelope::get(self.extras.as_deref()?, key)
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.extras.as_ref()?.string(key)
    }

    fn set(&mut self, key: &str, value: Value) {
        let extras = self.extras.get_or_insert_with(|| Cow::Owned(Bundle::new()));
        extras.to_mut().0.insert(key.to_owned(), value);
    }

    fn method(&mut self) {
        let named = |found: &dyn Fn(&str) -> bool| METHODS.into_iter().find(|name| found(name));
        let method = &self.method;
        let read = if self.broken(Fault::MethodsWithoutCase) {
            named(&|name| name.eq_ignore_ascii_case(method))
        } else if self.broken(Fault::MethodsTrimmed) {
            named(&|name| name == method.trim())
        } else if self.broken(Fault::MethodsByPrefix) {
            named(&|name| method.starts_with(name))
        } else {
            None
        };
        if let Some(read) = read {
            self.method = Cow::Borrowed(read);
        }
    }

    fn offer(&mut self) {
        let mut versions = match self.get(key::CONSUMER_VERSIONS) {
            Some(Value::IntArray(versions)) => Some(versions.clone()),
            Some(Value::IntList(list)) if self.broken(Fault::VersionsFromList) => {
                Some(list.iter().flatten().copied().collect())
            }
            None if self.broken(Fault::VersionsMissingAre2) => Some(vec![2]),
            _ => None,
        };
        if let Some(versions) = &mut versions {
            if self.broken(Fault::FirstVersionOnly) {
                versions.truncate(1);
            }
            if self.broken(Fault::VersionsAsBytes) {
                versions.iter_mut().for_each(|version| *version &= 0xff);
            }
            let has_digit = versions.iter().any(|version| version.to_string().contains('2'));
            let has_common = versions.iter().any(|version| (1..=2).contains(version));
            if (self.broken(Fault::VersionsByDigit) && has_digit)
                || (self.broken(Fault::NoCommonVersionFallsBack) && !has_common)
                || (self.broken(Fault::OfferOf1GetsVersion2) && *versions == [1])
            {
                versions.push(2);
            }
        }
        if let Some(versions) = versions {
            self.set(key::CONSUMER_VERSIONS, Value::IntArray(versions));
        }
        self.capabilities();
    }

    fn capabilities(&mut self) {
        let all = || json!(Capability::ALL.map(Capability::name)).to_string();
        let text = match self.get(key::CONSUMER_CAPABILITIES) {
            None if self.broken(Fault::CapabilitiesMissingAreAll) => all(),
            Some(Value::StringArray(names) | Value::StringList(names)) if self.broken(Fault::CapabilitiesFromArray) => {
                json!(names.iter().flatten().filter_map(Text::as_str).collect::<Vec<_>>()).to_string()
            }
            Some(Value::String(Text::Unicode(text))) => text.clone(),
            _ => return,
        };
        let known = |found: &dyn Fn(&str) -> bool| -> String {
            json!(Capability::ALL.map(Capability::name).into_iter().filter(|name| found(name)).collect::<Vec<_>>())
                .to_string()
        };
        let names: Option<Vec<String>> = parse_text(&text)
            .ok()
            .and_then(|json| json.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect());
        let read = match names {
            _ if self.broken(Fault::CapabilitiesBySubstring) => known(&|name| text.contains(name)),
            None if self.broken(Fault::CapabilitiesUnparsableAreNone) => "[]".to_owned(),
            None => text,
            Some(names) => {
                if self.broken(Fault::CapabilitiesWithoutCase) {
                    known(&|name| names.iter().any(|offered| offered.eq_ignore_ascii_case(name)))
                } else if self.broken(Fault::CapabilitiesTrimmed) {
                    known(&|name| names.iter().any(|offered| offered.trim() == name))
                } else if self.broken(Fault::UnknownCapabilityEndsOffer) {
                    let is_known = |name: &&String| Capability::ALL.iter().any(|known| known.name() == name.as_str());
                    json!(names.iter().take_while(is_known).collect::<Vec<_>>()).to_string()
                } else if self.broken(Fault::CancellationWithAsync)
                    && names.iter().any(|name| name == "async_operations")
                {
                    json!([names, vec!["cancellation".to_owned()]].concat()).to_string()
                } else {
                    text
                }
            }
        };
        self.set(key::CONSUMER_CAPABILITIES, Value::string(read));
    }

    fn version(&mut self) {
        let read = match self.get(key::PROTOCOL_VERSION) {
            None if self.broken(Fault::VersionMissingIs2) => Some(2),
            None if self.broken(Fault::V1ReadByToken) && self.get(key::SESSION_TOKEN).is_some() => Some(2),
            Some(Value::Int(version)) if self.broken(Fault::VersionAsByte) => Some(version & 0xff),
            Some(Value::Int(3..)) if self.broken(Fault::VersionAtLeast2) => Some(2),
            Some(Value::Long(2) | Value::Short(2) | Value::Byte(2) | Value::Double(2.0) | Value::Float(2.0))
                if self.broken(Fault::VersionOfAnyType) =>
            {
                Some(2)
            }
            Some(Value::String(text)) if text.as_str() == Some("2") && self.broken(Fault::VersionOfAnyType) => Some(2),
            _ => None,
        };
        if let Some(version) = read {
            self.set(key::PROTOCOL_VERSION, Value::Int(version));
        }
        let mistyped = !matches!(self.get(key::PROTOCOL_VERSION), None | Some(Value::Int(_)));
        if mistyped && self.call.provider.setup.v1 && self.switches.leeway(Leeway::MistypedVersionIsV1) {
            self.set(key::PROTOCOL_VERSION, Value::Null);
        }
    }

    fn token(&mut self) {
        let sessions = lock(&self.call.provider.sessions);
        let uid = self.call.caller.uid;
        let token = match self.get(key::SESSION_TOKEN) {
            None if self.broken(Fault::TokenMissingTakesOwn) => sessions.latest_of(uid).map(|(token, _)| token.clone()),
            Some(value) if self.broken(Fault::TokenFromList) => first_text(value),
            Some(Value::String(Text::Unicode(text))) => {
                let find = |found: &dyn Fn(&str) -> bool| sessions.tokens().find(|token| found(token)).cloned();
                if self.broken(Fault::SessionTokenWithoutCase) {
                    find(&|token| token.eq_ignore_ascii_case(text))
                } else if self.broken(Fault::TokenByPrefix) {
                    find(&|token| token.starts_with(text))
                } else if self.broken(Fault::TokenTailIgnored) {
                    find(&|token| text.starts_with(token))
                } else if self.broken(Fault::TokenByLike) && text.contains('%') {
                    sessions.latest_of(uid).map(|(token, _)| token.clone())
                } else if self.broken(Fault::TokenTrimmed) {
                    Some(text.trim().to_owned())
                } else {
                    None
                }
            }
            _ => None,
        };
        drop(sessions);
        if let Some(token) = token {
            self.set(key::SESSION_TOKEN, Value::string(token));
        }
    }

    fn execution(&mut self) {
        self.request_id();
        let deadline = match self.get(key::DEADLINE_AT_MS) {
            None if self.broken(Fault::DeadlineMissingIsNever) => Some(i64::MAX),
            #[allow(clippy::cast_possible_truncation, reason = "saturates")]
            Some(Value::Double(ms)) if self.broken(Fault::DeadlineOfAnyNumber) => Some(*ms as i64),
            Some(Value::Int(ms)) if self.broken(Fault::DeadlineOfAnyNumber) => Some(i64::from(*ms) * 1000),
            Some(Value::String(text)) if self.broken(Fault::DeadlineAsText) => {
                text.as_str().and_then(|text| text.parse().ok())
            }
            _ => None,
        };
        if let Some(ms) = deadline {
            self.set(key::DEADLINE_AT_MS, Value::Long(ms));
        }
        if self.broken(Fault::ToolNameFromList)
            && let Some(name) = self.get(key::TOOL_NAME).and_then(first_text)
        {
            self.set(key::TOOL_NAME, Value::string(name));
        }
        let args = match self.get(key::ARGS) {
            None if self.switches.leeway(Leeway::BadArgsInvalidArgs) => Some("{}".to_owned()),
            Some(Value::Bundle(bundle)) if self.broken(Fault::ArgsFromBundle) => Some(as_json(bundle).to_string()),
            Some(Value::Bytes(bytes)) if self.broken(Fault::ArgsFromBytes) => String::from_utf8(bytes.clone()).ok(),
            Some(Value::String(text)) if self.broken(Fault::EmptyArgsAreNone) => {
                text.as_str().filter(|text| text.trim().is_empty()).map(|_| "{}".to_owned())
            }
            Some(Value::String(_)) => None,
            Some(_) if self.broken(Fault::MistypedArgsAreNone) => Some("{}".to_owned()),
            _ => None,
        };
        if let Some(args) = args {
            self.set(key::ARGS, Value::string(args));
        }
    }

    fn request_id(&mut self) {
        let Some(text) = self.text(key::REQUEST_ID).map(str::to_owned) else {
            let missing = self.get(key::REQUEST_ID).is_none();
            let fault = if missing { Fault::RequestIdMadeUp } else { Fault::RequestIdMistypedMadeUp };
            if self.broken(fault) {
                self.set(key::REQUEST_ID, Value::string(MADE_UP));
            }
            return;
        };
        if self.broken(Fault::EchoOfLatest) {
            let mut memory = lock(&self.call.provider.fault_memory);
            memory.retain(|entry| !entry.starts_with("latest "));
            memory.insert(format!("latest {text}"));
        }
        let of_text = || {
            let hex = crate::catalogue::hex(&Sha256::digest(&text));
            [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..32]].join("-")
        };
        let is_uuid = envelope::is_uuid(&text);
        let read = if !is_uuid
            && (self.broken(Fault::RequestIdUnchecked)
                || (self.broken(Fault::RequestIdByLength) && text.chars().count() == 36))
        {
            of_text()
        } else if is_uuid
            && ((self.broken(Fault::RequestIdVersion4Only) && text.as_bytes()[14] != b'4')
                || (self.broken(Fault::RequestIdLowerCaseOnly) && text != text.to_lowercase()))
        {
            "not a UUID to us".to_owned()
        } else {
            return;
        };
        self.set(key::REQUEST_ID, Value::string(read));
    }
}

fn first_text(value: &Value) -> Option<String> {
    match value {
        Value::StringArray(list) | Value::StringList(list) => Some(list.first()?.as_ref()?.as_str()?.to_owned()),
        _ => None,
    }
}

fn as_json(bundle: &Bundle) -> Json {
    let member = |value: &Value| match value.to_json() {
        Json::Object(typed) => typed.into_iter().next().map_or(Json::Null, |(_, value)| value),
        other => other,
    };
    Json::Object(bundle.0.iter().map(|(key, value)| (key.clone(), member(value))).collect())
}

/// The length of `args` as it is counted instead of in UTF-8 bytes (§4.1).
pub(crate) fn size(switches: &Switches, text: &str) -> usize {
    if switches.broken(Fault::SizeInCharacters) {
        text.chars().count()
    } else if switches.broken(Fault::SizeInUnits) {
        text.encode_utf16().count()
    } else if switches.broken(Fault::SizeOfParcel) {
        text.encode_utf16().count() * 2
    } else if switches.broken(Fault::SizeLimitExcluded) {
        text.len() + 1
    } else if switches.broken(Fault::SizeOfMeaning) {
        serde_json::from_str::<Json>(text).map_or(text.len(), |json| json.to_string().len())
    } else if switches.broken(Fault::SizeUnchecked) || switches.broken(Fault::SizeAfterEffect) {
        0
    } else {
        text.len()
    }
}

/// Whether the request has a key that v2 does not name.
pub(crate) fn has_unknown_key(extras: &Bundle) -> bool {
    const KNOWN: [&str; 8] = [
        key::PROTOCOL_VERSION,
        key::SESSION_TOKEN,
        key::REQUEST_ID,
        key::DEADLINE_AT_MS,
        key::TOOL_NAME,
        key::ARGS,
        key::RESUME_TOKEN,
        key::OPERATION_ID,
    ];
    extras.0.keys().any(|key| !KNOWN.contains(&key.as_str()))
}

/// Another code for the same refusal.
pub(super) fn codes(call: &Call<'_>, method: &str, sent: &Bundle, bundle: &mut Bundle) {
    let switches = &call.provider.setup.switches;
    let Some(code) = bundle.string(key::ERROR_CODE).and_then(Code::from_name) else { return };
    let (broken, leeway) = (|fault| switches.broken(fault), |leeway| switches.leeway(leeway));
    let lacks = |key: &str| envelope::get(sent, key).is_none();
    let mistyped = |key: &str| !matches!(envelope::get(sent, key), None | Some(Value::String(_)));
    let execute = method == "execute_tool";
    let token = sent.string(key::SESSION_TOKEN);
    let could_be_a_token = token.is_some_and(|token| {
        token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    });
    let deadline_bad = !matches!(envelope::get(sent, key::DEADLINE_AT_MS), Some(Value::Long(_)));
    let too_long = sent.string(key::ARGS).is_some_and(|args| args.len() > limits::of(switches).max_request_bytes);
    let other = match code {
        Code::MethodNotFound if broken(Fault::UnknownMethodInvalid) => Code::InvalidRequest,
        Code::UnsupportedCapability if broken(Fault::CapabilityErrorIsInvalid) => Code::InvalidRequest,
        Code::UnsupportedVersion if method == "negotiate" && broken(Fault::UnsupportedVersionIsInvalid) => {
            Code::InvalidRequest
        }
        Code::UnsupportedVersion if method != "negotiate" && leeway(Leeway::OtherVersionInvalid) => {
            Code::InvalidRequest
        }
        Code::NegotiationRequired if token.is_none() && broken(Fault::TokenMissingIsInvalid) => Code::InvalidRequest,
        Code::NegotiationRequired if token.is_some() && broken(Fault::UnknownTokenFails) => Code::InternalError,
        Code::NegotiationRequired
            if could_be_a_token && broken(Fault::RestartTokenInvalid) && call.provider.life() > 1 =>
        {
            Code::InvalidRequest
        }
        Code::NegotiationRequired if token.is_some() && !could_be_a_token && leeway(Leeway::BadTokenInvalid) => {
            Code::InvalidRequest
        }
        Code::InvalidRequest if execute && lacks(key::TOOL_NAME) && broken(Fault::ToolNameMissingThrows) => {
            Code::InternalError
        }
        Code::InvalidRequest if execute && lacks(key::ARGS) && broken(Fault::ArgsMissingThrows) => Code::InternalError,
        Code::InvalidRequest if execute && deadline_bad && leeway(Leeway::BadDeadlineExceeded) => {
            Code::DeadlineExceeded
        }
        Code::InvalidRequest
            if execute
                && (lacks(key::TOOL_NAME) || mistyped(key::TOOL_NAME))
                && leeway(Leeway::BadToolNameNotFound) =>
        {
            Code::ToolNotFound
        }
        Code::InvalidRequest if execute && (mistyped(key::ARGS) || too_long) && leeway(Leeway::BadArgsInvalidArgs) => {
            Code::InvalidArgs
        }
        _ => return,
    };
    *bundle = error(bundle, other);
}

/// Whether an offer has a key that `negotiate` does not know.
pub(crate) fn offers_more(extras: &Bundle) -> bool {
    extras.0.keys().any(|name| ![key::CONSUMER_VERSIONS, key::CONSUMER_CAPABILITIES].contains(&name.as_str()))
}
