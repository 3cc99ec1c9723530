//! Who is who (§3.1). The main type is [`Providers`].
//!
//! A provider is found by its `provider_id` and by nothing else: two apps may have the same label, the same tool names,
//! and be scanned in any order. An id that two apps claim is nobody's, unless it is one app's own package name.

use super::context::Context;
use super::distort;
use super::limits::{MAX_PROVIDERS, MAX_TOOLS};
use super::manifest::{Candidate, Package, Verdict, candidates};
use super::outcome::Ending;
use super::peer::{Address, Agreed, Peer, agree};
use super::switches::Leeway;
use super::v1::Legacy;
use std::collections::BTreeMap;

/// The providers that are used.
#[derive(Debug, Default)]
pub struct Providers {
    by_id: BTreeMap<String, Found>,
}

/// A provider and its place in the scan, which means nothing.
#[derive(Debug)]
pub(super) struct Found {
    pub link: Link,
    pub place: usize,
}

/// A provider, by the version in which it is used.
#[derive(Debug)]
pub enum Link {
    /// Version 1.
    V1(Legacy),
    /// Version 2.
    V2(Peer),
}

/// What became of a Service with the action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its package.
    pub package: String,
    /// Its authority; empty where it names none.
    pub authority: String,
    /// How it is used.
    pub decision: Decision,
}

/// How a Service is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// In version 1 or 2, under this id, with these tools.
    Used(i32, String, Vec<Shown>),
    /// No version in common.
    Ignored,
    /// Not at all, with the reason in our own words.
    Refused(String),
}

/// A tool as the agent is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The tool's name.
    pub name: String,
    /// A name that no other tool of any provider has.
    pub exposed_name: String,
    /// The provider's text, bounded: data.
    pub description: String,
}

impl Providers {
    /// Looks at every app. `before` are the providers so far, whose tools are kept where their revision is the same.
    pub(super) fn find(cx: Context<'_>, packages: &[Package], before: &Providers) -> (Providers, Vec<Row>) {
        let packages = distort::packages(cx, packages);
        let candidates = candidates(cx, &packages);
        let mut claims: Vec<Result<Claim, Decision>> = Vec::new();
        for candidate in &candidates {
            let used = claims.iter().filter(|claim| claim.is_ok()).count();
            claims.push(claim(cx, candidate, before, used));
        }
        let names: Vec<&str> = candidates.iter().map(|candidate| candidate.package.as_str()).collect();
        let ids: Vec<(usize, String)> = claims
            .iter()
            .enumerate()
            .filter_map(|(n, claim)| Some((n, claim.as_ref().ok()?.id().to_owned())))
            .collect();
        let mut providers = Providers::default();
        let mut rows = Vec::new();
        for (place, (candidate, claim)) in candidates.iter().zip(claims).enumerate() {
            let decision = match claim {
                Err(decision) => decision,
                Ok(claim) => match owns(cx, place, &names, &ids) {
                    true => providers.add(claim, place),
                    false => Decision::Refused("Its provider_id is claimed by another app as well".to_owned()),
                },
            };
            rows.push(Row { package: candidate.package.clone(), authority: candidate.authority.clone(), decision });
        }
        (providers, rows)
    }

    fn add(&mut self, claim: Claim, place: usize) -> Decision {
        let id = claim.id().to_owned();
        let link = match claim {
            Claim::V1(legacy) => Link::V1(legacy),
            Claim::V2(address, agreed) => Link::V2(Peer::new(address, *agreed)),
        };
        let (version, shown) = match &link {
            Link::V1(legacy) => {
                let tools = legacy.tools.iter().map(|(name, tool)| (name.clone(), tool.description.clone()));
                (1, tools.collect::<Vec<_>>())
            }
            Link::V2(peer) => {
                let known = peer.known();
                let tools = known.tools.values().map(|tool| (tool.name.clone(), tool.description.clone()));
                (2, tools.collect())
            }
        };
        let shown = shown.into_iter().take(MAX_TOOLS).map(|(name, description)| Shown {
            exposed_name: exposed_name(&id, &name),
            name,
            description,
        });
        let decision = Decision::Used(version, id.clone(), shown.collect());
        self.by_id.insert(id, Found { link, place });
        decision
    }

    /// The provider of an id.
    pub(super) fn route(&self, cx: Context<'_>, provider_id: &str, tool: &str) -> Option<&Link> {
        distort::route(cx, &self.by_id, provider_id, tool)
            .or_else(|| self.by_id.get(provider_id))
            .map(|found| &found.link)
    }
}

/// An app that can be used, if its id is its own.
enum Claim {
    V1(Legacy),
    V2(Address, Box<Agreed>),
}

impl Claim {
    fn id(&self) -> &str {
        match self {
            // Version 1 has no ids: its package is who it is.
            Claim::V1(legacy) => &legacy.address.package,
            Claim::V2(_, agreed) => &agreed.provider_id,
        }
    }
}

/// Talks to a candidate. What declares version 2 is used in version 2 or not at all (§8).
fn claim(cx: Context<'_>, candidate: &Candidate, before: &Providers, used: usize) -> Result<Claim, Decision> {
    let address = Address { package: candidate.package.clone(), authority: candidate.authority.clone() };
    let refused = |ending: Ending| Decision::Refused(ending.message().to_owned());
    match candidate.verdict {
        Verdict::Refused(why) => Err(Decision::Refused(why.to_owned())),
        Verdict::Ignored => Err(Decision::Ignored),
        _ if used >= MAX_PROVIDERS => Err(Decision::Refused("There are too many providers".to_owned())),
        Verdict::V1 => Legacy::list(cx, address).map(Claim::V1).map_err(refused),
        Verdict::V2 => {
            let known = before.by_id.values().find_map(|found| match &found.link {
                Link::V2(peer) if peer.address == address => Some(peer),
                _ => None,
            });
            let catalogue = known.map(Peer::known);
            match agree(cx, &address, catalogue.as_ref()) {
                Ok(agreed) => Ok(Claim::V2(address, Box::new(agreed))),
                Err(_) if distort::downgrades(cx) => Legacy::list(cx, address).map(Claim::V1).map_err(refused),
                Err(ending) => distort::used_all_the_same(cx, &address)
                    .ok_or_else(|| refused(ending))
                    .map(|agreed| Claim::V2(address, Box::new(agreed))),
            }
        }
    }
}

/// §3.1: whether the claim at a place stands. An id belongs to the app whose package name it is or, where there is none,
/// to the one whose package is the nearest around it; a second claim of the same app leaves it to nobody. What was
/// scanned first, and whether the other app could be used, makes no difference.
fn owns(cx: Context<'_>, place: usize, packages: &[&str], ids: &[(usize, String)]) -> bool {
    let Some((_, id)) = ids.iter().find(|(claimant, _)| *claimant == place) else { return false };
    if let Some(owner) = distort::owner(cx, place, ids) {
        return owner;
    }
    let around = |package: &&&str| super::session::is_in_namespace(id, package);
    let nearest = packages.iter().filter(around).max_by_key(|package| package.len());
    let claimants = ids.iter().filter(|(_, other)| other == id).count();
    if cx.leeway(Leeway::DoubleClaimRefusesAll) && claimants > 1 {
        return false;
    }
    let of_package =
        ids.iter().filter(|(other, other_id)| other_id == id && packages[*other] == packages[place]).count();
    nearest == Some(&packages[place]) && of_package == 1
}

/// A name for the agent that leads to one tool of one provider only. Neither ids nor names of version 2 hold a `-`; in a
/// name of version 1 everything but plain characters is written as its code.
fn exposed_name(provider_id: &str, tool: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let tool: String =
        tool.chars().map(|c| if plain(c) { c.to_string() } else { format!("-{:x}-", u32::from(c)) }).collect();
    format!("{}--{tool}", provider_id.replace('.', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consumer::platform::tests::Nobody;
    use crate::consumer::switches::Switches;
    use crate::session::Capabilities;

    fn standing(packages: &[&str], claims: &[(usize, &str)]) -> Vec<usize> {
        let switches = Switches::default();
        let cx = Context { platform: &Nobody, capabilities: Capabilities::ALL, switches: &switches };
        let ids: Vec<_> = claims.iter().map(|(place, id)| (*place, (*id).to_owned())).collect();
        (0..packages.len()).filter(|place| owns(cx, *place, packages, &ids)).collect()
    }

    #[test]
    fn an_id_has_one_owner_in_any_scan_order() {
        assert_eq!(standing(&["com.a", "com.a.b"], &[(0, "com.a.b"), (1, "com.a.b")]), [1]);
        assert_eq!(standing(&["com.a.b", "com.a"], &[(0, "com.a.b"), (1, "com.a.b")]), [0]);
        // The owner is there, if not usable.
        assert_eq!(standing(&["com.a", "com.a.b"], &[(0, "com.a.b")]), [0_usize; 0]);
        // Two Services of one app.
        assert_eq!(standing(&["com.a", "com.a"], &[(0, "com.a"), (1, "com.a")]), [0_usize; 0]);
        assert_eq!(standing(&["com.a", "com.a"], &[(0, "com.a"), (1, "com.a.x")]), [0, 1]);
        assert_eq!(standing(&["com.a", "com.ab"], &[(0, "com.a"), (1, "com.ab")]), [0, 1]);
    }

    #[test]
    fn exposed_names_do_not_meet() {
        let names = [
            exposed_name("com.a", "b_c"),
            exposed_name("com.a_b", "c"),
            exposed_name("com.a.b", "c"),
            exposed_name("com.a", "b-c"),
            exposed_name("com.a", "b--c"),
            exposed_name("com.a", "b c"),
            exposed_name("com.a", "b2dc"),
        ];
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len(), "{names:?}");
        assert_eq!(names[0], "com-a--b_c");
    }
}
