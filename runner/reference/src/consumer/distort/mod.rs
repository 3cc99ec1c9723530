//! Where switches act inside of the protocol: one line there calls one function here. For a conforming consumer each
//! gives `false`, nothing, or what it was given.

mod platform;

pub use self::platform::{Distorted, Memory};

use super::context::Context;
use super::descriptor::Tool;
use super::execute::Request;
use super::limits::MAX_TOKEN_BYTES;
use super::manifest::{Package, key as manifest_key};
use super::outcome::{Data, Ending, Outcome};
use super::peer::{Address, Agreed, Peer};
use super::providers::{Found, Link};
use super::reply::{Answer, Echo, Problem, read, request};
use super::schema::Schema;
use super::session::Negotiated;
use super::switches::{Fault, Leeway, Switches};
use super::v1::Legacy;
use crate::envelope::Code;
use cetp_vectors::bundle::{Bundle, Value};
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

// Discovery.

pub(super) fn packages<'p>(cx: Context<'_>, packages: &'p [Package]) -> Cow<'p, [Package]> {
    if *cx.switches == Switches::default() {
        return Cow::Borrowed(packages);
    }
    let mut packages = packages.to_vec();
    for n in 0..packages.len() {
        for m in 0..packages[n].services.len() {
            meta_data(cx, &mut packages[n].services[m].meta_data);
            let authority = packages[n].services[m].meta_data.string(manifest_key::AUTHORITY).map(str::to_owned);
            if let Some(authority) = authority.filter(|_| cx.broken(Fault::ForeignAuthorityUsed)) {
                let mut owned = Vec::new();
                for package in &mut packages {
                    owned.extend(package.providers.iter().filter(|p| p.authority == authority).cloned());
                    package.providers.retain(|p| p.authority != authority);
                }
                packages[n].providers.extend(owned);
            }
        }
    }
    Cow::Owned(packages)
}

/// Text of `version` or `versions`.
fn declared(meta_data: &Bundle, key: &str) -> Option<String> {
    match meta_data.get(key)? {
        Value::Int(version) => Some(version.to_string()),
        Value::String(text) => text.as_str().map(str::to_owned),
        _ => None,
    }
}

fn meta_data(cx: Context<'_>, meta_data: &mut Bundle) {
    use manifest_key::{VERSION, VERSIONS};
    let (version, versions) = (declared(meta_data, VERSION), declared(meta_data, VERSIONS));
    let is_int = |meta_data: &Bundle, key: &str| matches!(meta_data.get(key), Some(Value::Int(_)));
    if cx.broken(Fault::VersionIntIgnored) && versions.is_none() && is_int(meta_data, VERSION)
        || cx.broken(Fault::VersionAloneIgnored) && versions.is_none()
    {
        meta_data.0.remove(VERSION);
    }
    if cx.broken(Fault::VersionsIntIgnored) && is_int(meta_data, VERSIONS) {
        meta_data.0.remove(VERSIONS);
    }
    let tokens: Vec<&str> = versions.iter().flat_map(|list| list.split(',')).collect();
    let has = |version: &str| tokens.iter().any(|token| token.trim() == version);
    let alone =
        |text: &Option<String>, number: &str| versions.is_none() && text.as_deref().map(str::trim) == Some(number);
    let common = has("1") || has("2") || alone(&version, "1") || alone(&version, "2");
    let new = match (&version, &versions) {
        (Some(version), Some(_)) if cx.broken(Fault::VersionWins) => Some(version.clone()),
        (Some(version), Some(versions)) if cx.broken(Fault::VersionsUnited) => Some(format!("{versions},{version}")),
        (_, Some(_)) if cx.broken(Fault::FirstVersionOnly) => Some(tokens[0].to_owned()),
        (_, Some(_)) if cx.broken(Fault::VersionsUntrimmed) => {
            Some(tokens.iter().filter(|token| !token.starts_with(' ')).copied().collect::<Vec<_>>().join(","))
        }
        (_, Some(list)) if cx.broken(Fault::VersionsSearched) && list.contains('2') => Some("2".to_owned()),
        (_, Some(_)) if cx.broken(Fault::V1BesideV2) && has("1") => Some("1".to_owned()),
        _ if cx.broken(Fault::UnsupportedUsed) && !common => Some("1".to_owned()),
        _ if cx.broken(Fault::LegacyIgnored) && !has("2") && !alone(&version, "2") => Some(String::new()),
        _ => None,
    };
    if let Some(new) = new {
        meta_data.0.insert(VERSIONS.to_owned(), Value::string(new));
    }
}

pub(super) fn owner(cx: Context<'_>, place: usize, ids: &[(usize, String)]) -> Option<bool> {
    let id = &ids.iter().find(|(claimant, _)| *claimant == place)?.1;
    let mut claimants = ids.iter().filter(|(_, other)| other == id).map(|(claimant, _)| *claimant);
    if cx.broken(Fault::FirstClaimWins) {
        return Some(claimants.next() == Some(place));
    }
    if cx.broken(Fault::LastClaimWins) {
        return Some(claimants.next_back() == Some(place));
    }
    (cx.broken(Fault::NamespaceUnchecked) || cx.broken(Fault::NamespaceByPrefix)).then(|| claimants.count() == 1)
}

pub(super) fn route<'f>(
    cx: Context<'_>,
    by_id: &'f BTreeMap<String, Found>,
    provider_id: &str,
    tool: &str,
) -> Option<&'f Found> {
    let label = |found: &Found| match &found.link {
        Link::V2(peer) => peer.agreed(cx).map_or(String::new(), |agreed| agreed.provider_name.clone()),
        Link::V1(legacy) => legacy.address.package.clone(),
    };
    if cx.broken(Fault::RoutedByToolName) {
        let has = |found: &&Found| match &found.link {
            Link::V2(peer) => peer.known().tools.contains_key(tool),
            Link::V1(legacy) => legacy.tools.contains_key(tool),
        };
        return by_id.values().filter(has).min_by_key(|found| found.place);
    }
    if cx.broken(Fault::RoutedByLabel) {
        let asked = label(by_id.get(provider_id)?);
        return by_id.values().filter(|found| label(found) == asked).max_by_key(|found| found.place);
    }
    None
}

// Negotiation.

/// Whether a provider_id is believed; `honest` where it lies in the namespace of the package.
pub(super) fn is_in_namespace(cx: Context<'_>, provider_id: &str, package: &str, honest: bool) -> bool {
    if cx.broken(Fault::CustomIdRefused) {
        return provider_id == package;
    }
    honest
        || cx.broken(Fault::NamespaceUnchecked)
        || cx.broken(Fault::NamespaceByPrefix) && provider_id.starts_with(package)
}

pub(super) fn token_is_taken(cx: Context<'_>, token: &str) -> bool {
    cx.broken(Fault::TokenUnbounded) || cx.broken(Fault::TokenInCharacters) && token.chars().count() <= MAX_TOKEN_BYTES
}

pub(super) fn downgrades(cx: Context<'_>) -> bool {
    cx.broken(Fault::DowngradesOnFailure)
}

/// A provider that did not negotiate, as if it had.
pub(super) fn used_all_the_same(cx: Context<'_>, address: &Address) -> Option<Agreed> {
    if !cx.broken(Fault::FailedNegotiationIgnored) {
        return None;
    }
    let made_up = json!({
        "selected_version": 2, "provider_id": address.package, "provider_name": "", "session_token": "none",
        "capabilities": [], "limits": {},
    });
    let Negotiated { provider_id, provider_name, session } = Negotiated::read(cx, &address.package, &made_up).ok()?;
    let id = super::reply::new_id().ok()?;
    let extras = request(&session.token, &id, cx.platform.now_ms() + 10_000);
    let called = cx.platform.call(&address.authority, "list_tools", Some(&extras));
    let catalogue = match read(cx, called, Echo::May(&id)) {
        Answer::Success(list, _) => super::descriptor::Catalogue::read(cx, &list).ok()?,
        _ => super::descriptor::Catalogue { revision: "none".to_owned(), tools: BTreeMap::new() },
    };
    Some(Agreed { provider_id, provider_name, session, catalogue: Arc::new(catalogue) })
}

/// What a denied call comes to where it is then tried in version 1.
pub(super) fn downgraded(cx: Context<'_>, peer: &Peer, request: Request<'_>, outcome: &Outcome) -> Option<Outcome> {
    let denied = matches!(outcome, Outcome::Ending(Ending::Error { code, .. })
        if [Code::PermissionDenied, Code::AuthRequired, Code::UserCancelled].iter().any(|one| one.name() == *code));
    if !(cx.broken(Fault::DowngradesOnDenial) && denied) {
        return None;
    }
    let legacy = Legacy::list(cx, peer.address.clone()).ok()?;
    Some(legacy.execute(cx, request.tool, request.args).into())
}

pub(super) fn old_session_stays(cx: Context<'_>) -> bool {
    cx.broken(Fault::OldSessionStays)
}

pub(super) fn list_is_kept(cx: Context<'_>) -> bool {
    cx.broken(Fault::CacheIgnoresRevision)
}

// Descriptors and texts.

pub(super) fn description(cx: Context<'_>, description: &str) -> Option<String> {
    cx.broken(Fault::DescriptionUnbounded).then(|| description.to_owned())
}

pub(super) fn message(cx: Context<'_>, bundle: &Bundle) -> Option<String> {
    let text = bundle.string(crate::envelope::key::ERROR_MESSAGE)?;
    cx.broken(Fault::MessageUnbounded).then(|| text.to_owned())
}

pub(super) fn name_is_taken(cx: Context<'_>) -> bool {
    cx.broken(Fault::ToolNameUnchecked)
}

/// The bound of `data`.
pub(super) fn most_data(cx: Context<'_>, most: usize) -> usize {
    let unbounded = [Fault::DataUnbounded, Fault::DescriptionUnbounded, Fault::ToolNameUnchecked];
    if unbounded.into_iter().any(|fault| cx.broken(fault)) { usize::MAX } else { most }
}

// Executions.

pub(super) fn size(cx: Context<'_>, args: &str) -> u64 {
    if cx.broken(Fault::SizeUnchecked) {
        0
    } else if cx.broken(Fault::SizeInCharacters) {
        args.chars().count() as u64
    } else {
        args.len() as u64
    }
}

pub(super) fn unchanged_once(cx: Context<'_>, problem: &Problem) -> bool {
    cx.leeway(Leeway::ArgumentErrorOnce) && problem.retryable && problem.code == Some(Code::InvalidArgs)
}

pub(super) fn unchanged_without_user(cx: Context<'_>, problem: &Problem, repeats: u32) -> bool {
    problem.resolution.is_none()
        && (cx.broken(Fault::RepeatedWithoutUser) && repeats < 5
            || cx.leeway(Leeway::UserErrorRepeatedOnce) && repeats == 0 && problem.retryable)
}

pub(super) fn any_screen(cx: Context<'_>) -> bool {
    cx.broken(Fault::ForeignScreenShown)
}

pub(super) fn asks_again(cx: Context<'_>) -> bool {
    cx.broken(Fault::AsksAgain)
}

pub(super) fn most_user_actions(cx: Context<'_>, most: u32) -> u32 {
    if cx.broken(Fault::AsksAgain) { 15 } else { most }
}

pub(super) fn most_retries(cx: Context<'_>, most: u32) -> u32 {
    if cx.broken(Fault::RepeatedForEver) {
        100
    } else if cx.leeway(Leeway::ManyRetries) {
        12
    } else if cx.leeway(Leeway::NeverRepeats) {
        0
    } else {
        most
    }
}

pub(super) fn most_renewals(cx: Context<'_>, most: u32) -> u32 {
    if cx.broken(Fault::RenegotiatesForEver) { 100 } else { most }
}

pub(super) fn renews_in_name_only(cx: Context<'_>) -> bool {
    cx.broken(Fault::ResentWithoutNegotiating)
}

/// What an error comes to where its message is taken for a value.
pub(super) fn message_as_value(cx: Context<'_>, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Ending(Ending::Error { message, .. }) if cx.broken(Fault::MessageAsValue) => {
            Outcome::Success(Data(Json::String(message)))
        }
        outcome => outcome,
    }
}

// Operations.

pub(super) fn follows_anything(cx: Context<'_>, tool: &Tool) -> bool {
    cx.broken(Fault::UnnegotiatedFollowed)
        || cx.broken(Fault::AnnotationTakenForAgreed) && tool.annotations.may_be_async
}

pub(super) fn cancels_anyway(cx: Context<'_>) -> bool {
    cx.broken(Fault::CancelsUnnegotiated)
}

pub(super) fn cancelled_at_once(cx: Context<'_>, answer: &Answer<'_>) -> Option<Result<Data, Ending>> {
    let ending = |code| Some(Err(Ending::error(code, "The operation was cancelled")));
    match answer {
        Answer::Success(..) if cx.broken(Fault::CancelTakenForCancelled) => ending(Code::Cancelled),
        _ if cx.broken(Fault::CancelEndsPolling) => ending(Code::Conflict),
        _ => None,
    }
}

pub(super) fn progress_is_success(cx: Context<'_>, data: &Json) -> Option<Result<Data, Ending>> {
    let progress = &data["progress"];
    let full = progress["total"].is_number() && progress["current"] == progress["total"];
    (cx.broken(Fault::ProgressIsSuccess) && full).then(|| Ok(Data(progress.clone())))
}

pub(super) fn operation_schema<'s>(cx: Context<'_>, schema: &'s Schema) -> &'s Schema {
    if cx.broken(Fault::OperationResultUnchecked) { anything(schema) } else { schema }
}

/// A schema that accepts everything.
fn anything(_instead: &Schema) -> &'static Schema {
    static ANYTHING: LazyLock<Schema> = LazyLock::new(|| Schema::read(&json!(true)).expect("it is a schema"));
    &ANYTHING
}

// Results.

/// A value where there is none that could be checked.
pub(super) fn made_up(cx: Context<'_>, envelope: &Json) -> Option<Data> {
    (cx.broken(Fault::SucceededWithoutResult) && envelope.is_null()).then_some(Data(Json::Null))
}

pub(super) fn file_schema<'s>(cx: Context<'_>, schema: &'s Schema, envelope: &Json) -> &'s Schema {
    let unchecked = cx.broken(Fault::FileSchemaUnchecked) || cx.broken(Fault::FileTextHandedOn);
    if unchecked && envelope["kind"] == "file" { anything(schema) } else { schema }
}

pub(super) fn file_value(cx: Context<'_>, content: &[u8]) -> Option<Json> {
    let text = || serde_json::from_slice(content).unwrap_or_else(|_| json!(String::from_utf8_lossy(content)));
    cx.broken(Fault::FileTextHandedOn).then(text)
}

pub(super) fn any_digest(cx: Context<'_>) -> bool {
    [Fault::DigestUnchecked, Fault::DigestPrefixOnly, Fault::DigestBeginningOnly]
        .into_iter()
        .any(|fault| cx.broken(fault))
}

pub(super) fn digest_is_believed(cx: Context<'_>, actual: &str, declared: &str) -> bool {
    cx.broken(Fault::DigestUnchecked)
        || cx.broken(Fault::DigestPrefixOnly) && actual.starts_with(declared)
        || cx.broken(Fault::DigestBeginningOnly)
            && declared.len() == actual.len()
            && declared.get(..8) == actual.get(..8)
}

// What the agent wants.

/// Whether an open execution is the one that the agent wants to end: `meant` where provider and tool are the ones named. It
/// is the n-th of so many that are open, in the order in which they began.
pub(super) fn is_meant(switches: &Switches, meant: bool, same_tool: bool, (n, open): (usize, usize)) -> bool {
    if switches.broken(Fault::CancelsLatest) {
        n + 1 == open
    } else if switches.broken(Fault::CancelsOldest) {
        n == 0
    } else {
        meant || same_tool && switches.broken(Fault::CancelsByTool)
    }
}

// What the agent is told.

/// The label of a value.
pub(super) fn trust(switches: &Switches, value: &Json) -> Option<&'static str> {
    let text = value.to_string().to_lowercase();
    if switches.broken(Fault::TrustMissing) {
        None
    } else if switches.broken(Fault::TrustFromValue) && ["system", "instruction"].iter().any(|word| text.contains(word))
    {
        Some("instruction")
    } else {
        Some("data")
    }
}
