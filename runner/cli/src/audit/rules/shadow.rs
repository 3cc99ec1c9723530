//! Tools that pass for others (§8.2, §10.1).

use crate::audit::finding::{Desk, Out, Unjudged, quoted};
use crate::audit::tool::{Form, Provider, Tool};
use std::collections::{BTreeMap, BTreeSet};
use unicode_security::RestrictionLevel;
use unicode_security::confusable_detection::skeleton;
use unicode_security::restriction_level::RestrictionLevelDetection;

/// What a name looks like: without case and separators, each letter as the one that it is taken for. There are two, as a
/// capital and its small letter can be taken for different ones.
fn looks(name: &str) -> [String; 2] {
    let plain = |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).collect() };
    let folded: String = skeleton(&name.to_lowercase()).collect::<String>().to_lowercase();
    let seen: String = skeleton(name).collect::<String>().to_lowercase();
    [plain(&folded), plain(&seen)]
}

/// TC-19.
pub fn names(providers: &[Provider], out: &mut Out) {
    const ID: &str = "TC-19";
    // v1 lists again what v2 lists.
    let all: Vec<(usize, &Tool)> = providers
        .iter()
        .enumerate()
        .flat_map(|(n, provider)| provider.tools.iter().map(move |tool| (n, tool)))
        .filter(|(n, tool)| {
            let again = |other: &Tool| other.form != Form::V1 && other.name == tool.name;
            tool.form != Form::V1 || !providers[*n].tools.iter().any(again)
        })
        .collect();
    let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, (_, tool)) in all.iter().enumerate() {
        for look in BTreeSet::from(looks(&tool.name)) {
            alike.entry(look).or_default().push(place);
        }
    }
    for (place, (n, tool)) in all.iter().enumerate() {
        let mut others: BTreeSet<usize> = BTreeSet::new();
        others.extend(looks(&tool.name).iter().filter_map(|look| alike.get(look)).flatten());
        others.remove(&place);
        let Some(other) = others.first() else { continue };
        let (m, other_tool) = &all[*other];
        let same = other_tool.name == tool.name;
        let whose = match (m == n, &providers[*m].label) {
            (true, _) => "the same provider".to_owned(),
            (false, label) => format!("the provider {}", quoted(label)),
        };
        let how = if same { "the same name" } else { "a name that looks like it" };
        let more = if others.len() > 1 { format!(", and {} more", others.len() - 1) } else { String::new() };
        let seen = format!("{} of {whose} has {how}{more}.", quoted(&other_tool.name));
        let advice = "Give it a name of its own; route by (provider_id, name), never by name alone.";
        Desk::new(ID, &providers[*n], Some(tool), out).finding("/name", seen, advice);
    }
    for (n, tool) in &all {
        if tool.name.detect_restriction_level() > RestrictionLevel::HighlyRestrictive {
            let seen = format!("The name {} mixes scripts: letters of it pass for others.", quoted(&tool.name));
            Desk::new(ID, &providers[*n], Some(tool), out).hint("/name", seen, "Write the name in one script.");
        }
    }
    if let [only] = providers {
        let reason = "only one provider was given: names of other providers were not looked at".to_owned();
        let provider = Some(only.label.clone());
        out.unjudged.push(Unjudged { requirement: ID.to_owned(), reason, provider, tool: None });
    }
}
