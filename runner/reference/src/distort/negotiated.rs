//! Switches of `negotiate` (§2.2).

use super::{as_bundle, edit_data, error, is_success, remove};
use crate::catalogue::hex;
use crate::envelope::{self, Code, key, refuse};
use crate::error::Result;
use crate::provider::Call;
use crate::session::{Capabilities, Capability, random_name};
use crate::switches::{Fault, Leeway};
use cetp_vectors::bundle::{Bundle, Value};
use cetp_vectors::json::parse_text;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

/// What more a provider may ask of an offer.
pub(crate) fn offer(call: &Call<'_>, versions: &[i32], extras: &Bundle) -> Result<()> {
    let descends = versions.windows(2).all(|pair| pair[0] > pair[1]) && versions.iter().all(|version| *version > 0);
    if call.leeway(Leeway::StrictVersionList) && !descends {
        return refuse(Code::InvalidRequest, "consumer_versions does not descend.");
    }
    if call.leeway(Leeway::LongOffersRefused) && (versions.len() > 1000 || names(extras).len() > 1000) {
        return refuse(Code::InvalidRequest, "The offer is too long.");
    }
    if call.broken(Fault::UnknownCapabilityRefused) && !unknown_names(extras).is_empty() {
        return refuse(Code::UnsupportedCapability, "There is no such capability.");
    }
    Ok(())
}

/// Another token for a new session.
pub(crate) fn token(call: &Call<'_>, capabilities: Capabilities, opened: u64) -> Result<Option<String>> {
    let digest = |text: String| hex(&Sha256::digest(text));
    Ok(if call.broken(Fault::PredictableToken) {
        Some(format!("session-{opened}"))
    } else if call.broken(Fault::TokenTooLong) {
        Some(random_name(&"x".repeat(236))?)
    } else if call.broken(Fault::TokenOf32Bits) {
        Some(format!("session-of-the-reference-provider-{}", &random_name("")?[..8]))
    } else if call.broken(Fault::TokenIsTime) {
        Some(format!("{}-{}-{opened:08}", call.caller.uid, call.now_ms()))
    } else if call.broken(Fault::TokenSeeded) {
        Some(digest(format!("seed {opened}")))
    } else if call.broken(Fault::SessionTokenWithoutCase) {
        Some(super::letters(&random_name("")?))
    } else if call.broken(Fault::TokenOfOffer) {
        Some(digest(capabilities.names().join(" ")))
    } else {
        None
    })
}

pub(super) fn reply(call: &Call<'_>, sent: &Bundle, bundle: &mut Bundle) {
    if is_success(bundle) {
        success(call, sent, bundle);
        return;
    }
    let mistyped = !matches!(envelope::get(sent, key::CONSUMER_VERSIONS), None | Some(Value::IntArray(_)));
    if mistyped && call.broken(Fault::VersionsMistypedThrow) {
        *bundle = error(bundle, Code::InternalError);
    }
    let none = match envelope::get(sent, key::CONSUMER_VERSIONS) {
        None => true,
        Some(Value::IntArray(versions)) => versions.is_empty(),
        Some(_) => false,
    };
    if none && call.leeway(Leeway::NoVersionsUnsupported) {
        *bundle = error(bundle, Code::UnsupportedVersion);
    }
    if call.broken(Fault::UnsupportedVersionWithSession)
        && bundle.string(key::ERROR_CODE) == Some(Code::UnsupportedVersion.name())
    {
        let data = json!({ "session_token": random_name("").unwrap_or_default() });
        bundle.0.insert(key::DATA.to_owned(), Value::string(data.to_string()));
    }
}

fn success(call: &Call<'_>, sent: &Bundle, bundle: &mut Bundle) {
    edit_data(bundle, &|data| {
        if call.broken(Fault::NegotiateWithoutName) {
            remove(data, "provider_name");
        }
        if call.broken(Fault::NegotiateWithoutLimits) {
            remove(data, "limits");
        }
        if call.broken(Fault::LimitsAsText) {
            for limit in data["limits"].as_object_mut().into_iter().flat_map(|limits| limits.values_mut()) {
                *limit = json!(limit.to_string());
            }
        }
        if call.broken(Fault::ExpiresAtWithoutZone) {
            data["expires_at"] = json!(data["expires_at"].as_str().unwrap_or_default().replace('Z', ""));
        }
        if call.broken(Fault::ExpiresAtIsNumber) {
            data["expires_at"] = json!(call.now_ms() + 3_600_000);
        }
        if call.broken(Fault::ExpiresAtIsNow) {
            let now = jiff::Timestamp::from_millisecond(call.now_ms()).unwrap_or_default();
            data["expires_at"] = json!(now.to_string());
        }
        for (fault, limit, value) in [
            (Fault::LimitRequestTooLow, "max_request_bytes", 64_000),
            (Fault::LimitInlineTooLow, "max_inline_result_bytes", 262_143),
            (Fault::LimitConcurrentZero, "max_concurrent_requests", 0),
            (Fault::LimitWindowTooShort, "idempotency_window_seconds", 86_399),
        ] {
            if call.broken(fault) {
                data["limits"][limit] = json!(value);
            }
        }
        if call.broken(Fault::UnknownCapabilityGranted) {
            let granted = data["capabilities"].as_array().cloned().unwrap_or_default();
            let unknown = unknown_names(sent).into_iter().map(Json::from);
            data["capabilities"] = granted.into_iter().chain(unknown).collect();
        }
        provider_id(call, data);
    });
    if call.broken(Fault::NegotiateDataIsBundle) {
        let data: Json = serde_json::from_str(bundle.string(key::DATA).unwrap_or_default()).unwrap_or_default();
        bundle.0.insert(key::DATA.to_owned(), Value::Bundle(as_bundle(&data)));
    }
    if call.leeway(Leeway::NegotiateInV2Envelope) {
        bundle.0.insert(key::PROTOCOL_VERSION.to_owned(), Value::Int(envelope::VERSION));
        if let Some(echo) = envelope::echo(sent) {
            bundle.0.insert(key::REQUEST_ID.to_owned(), echo);
        }
    }
}

/// Another identity of the provider.
pub(super) fn provider_id(call: &Call<'_>, data: &mut Json) {
    let about = call.provider.setup.application.about();
    let other = if call.broken(Fault::ProviderIdOfCaller) {
        format!("{}.u{}", about.package, call.caller.uid)
    } else if call.broken(Fault::ProviderIdElsewhere) {
        "com.example.tools".to_owned()
    } else if call.broken(Fault::ProviderIdWithoutDot) {
        format!("{}tools", about.package)
    } else if call.broken(Fault::ProviderIdOfProcess) {
        format!("{}.p{}", about.package, call.provider.life())
    } else if call.leeway(Leeway::ProviderIdBelowPackage) {
        format!("{}.tools", about.package)
    } else {
        return;
    };
    data["provider_id"] = json!(other);
}

fn names(sent: &Bundle) -> Vec<String> {
    let text = sent.string(key::CONSUMER_CAPABILITIES).unwrap_or_default();
    let names = parse_text(text).ok();
    let names = names.as_ref().and_then(Json::as_array).into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

fn unknown_names(sent: &Bundle) -> Vec<String> {
    let known = |name: &String| Capability::ALL.iter().any(|known| known.name() == name);
    names(sent).into_iter().filter(|name| !known(name)).collect()
}
