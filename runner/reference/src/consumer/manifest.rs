//! Who offers tools, and in which version: discovery from manifests (§2.1, §8). The main function is [`candidates`].

use super::context::Context;
use super::limits::VERSIONS;
use super::switches::Leeway;
use cetp_vectors::bundle::{Bundle, Text, Value};
use std::collections::BTreeSet;

/// The action by which a Service says that its app offers tools.
pub const ACTION: &str = "com.clawseed.action.TOOL_PROVIDER";

/// Meta-data of that Service.
pub mod key {
    /// Authority of the ContentProvider, a String.
    pub const AUTHORITY: &str = "com.clawseed.tools.authority";
    /// The one version, for consumers of version 1. An Android build makes an Int of `"2"`.
    pub const VERSION: &str = "com.clawseed.tools.version";
    /// All versions, separated by commas. One alone becomes an Int too.
    pub const VERSIONS: &str = "com.clawseed.tools.versions";
}

/// An installed app, as the package manager tells.
#[derive(Clone, Debug, Default)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its Services.
    pub services: Vec<Service>,
    /// Its ContentProviders.
    pub providers: Vec<ContentProvider>,
}

/// A Service of an app.
#[derive(Clone, Debug, Default)]
pub struct Service {
    /// Whether others may see it.
    pub exported: bool,
    /// Actions of its intent filters.
    pub actions: Vec<String>,
    /// Its meta-data.
    pub meta_data: Bundle,
}

/// A ContentProvider of an app.
#[derive(Clone, Debug, Default)]
pub struct ContentProvider {
    /// Its authority; several are separated by semicolons.
    pub authority: String,
    /// Whether others may call it.
    pub exported: bool,
}

/// A Service that says that it offers tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its package.
    pub package: String,
    /// The authority that it names; empty where it names none.
    pub authority: String,
    /// What can be done with it.
    pub verdict: Verdict,
}

/// What a manifest leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Version 2, and never another one (§8).
    V2,
    /// Version 1: the manifest has it and does not declare 2.
    V1,
    /// No version in common.
    Ignored,
    /// Something is wrong, in our own words.
    Refused(&'static str),
}

/// Every Service with the action, in scan order.
pub fn candidates(cx: Context<'_>, packages: &[Package]) -> Vec<Candidate> {
    let services = packages.iter().flat_map(|package| package.services.iter().map(move |service| (package, service)));
    let offers = |service: &Service| service.exported && service.actions.iter().any(|action| action == ACTION);
    services
        .filter(|(_, service)| offers(service))
        .map(|(package, service)| {
            let authority = service.meta_data.string(key::AUTHORITY).unwrap_or_default().to_owned();
            let verdict = match belongs(packages, package, &authority) {
                Ok(()) => verdict(cx, &service.meta_data),
                Err(why) => Verdict::Refused(why),
            };
            Candidate { package: package.name.clone(), authority, verdict }
        })
        .collect()
}

/// §2.1: the ContentProvider behind the authority is of the package of the Service, else one app could speak for
/// another.
fn belongs(packages: &[Package], package: &Package, authority: &str) -> Result<(), &'static str> {
    if authority.is_empty() {
        return Err("it names no authority");
    }
    let has = |provider: &ContentProvider| provider.authority.split(';').any(|one| one == authority);
    let owners: Vec<&Package> = packages.iter().filter(|other| other.providers.iter().any(has)).collect();
    match owners.as_slice() {
        [] => Err("nobody provides its authority"),
        owners if owners.iter().any(|owner| owner.name != package.name) => Err("its authority is another package's"),
        owners if owners.iter().flat_map(|owner| &owner.providers).any(|p| has(p) && !p.exported) => {
            Err("its ContentProvider is not exported")
        }
        _ => Ok(()),
    }
}

/// §8: version 1 only where version 2 is not declared.
fn verdict(cx: Context<'_>, meta_data: &Bundle) -> Verdict {
    match versions(cx, meta_data) {
        Err(why) => Verdict::Refused(why),
        Ok(declared) => match VERSIONS.into_iter().find(|version| declared.contains(version)) {
            Some(2) => Verdict::V2,
            Some(_) => Verdict::V1,
            None => Verdict::Ignored,
        },
    }
}

/// The declared set. `versions` is authoritative where it is there at all; else `version` is the only one (§2.1).
fn versions(cx: Context<'_>, meta_data: &Bundle) -> Result<BTreeSet<i32>, &'static str> {
    match (meta_data.get(key::VERSIONS), meta_data.get(key::VERSION)) {
        (Some(Value::Int(version)), _) | (None, Some(Value::Int(version))) => Ok(BTreeSet::from([*version])),
        (Some(Value::String(Text::Unicode(list))), _) => {
            let tokens = list.split(',').map(str::trim).filter(|token| !token.is_empty());
            // A token that is no number could be anything, a declaration of version 2 with a slip of the pen too.
            let numbers = tokens.map(number).filter(|n| n.is_ok() || !cx.leeway(Leeway::OddVersionTokenDropped));
            numbers.collect()
        }
        (None, Some(Value::String(Text::Unicode(version)))) => Ok(BTreeSet::from([number(version.trim())?])),
        (None, None) => Ok(BTreeSet::new()),
        _ => Err("its versions are no Int and no String"),
    }
}

fn number(token: &str) -> Result<i32, &'static str> {
    let digits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    // A number too large for us is a version that we do not speak.
    if digits { Ok(token.parse().unwrap_or(i32::MAX)) } else { Err("a version is no number") }
}
