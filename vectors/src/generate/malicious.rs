//! Providers that attack a consumer: from `catalogue/malicious.json`, which says of each what it tries, what a naive
//! consumer suffers and which requirement stops it. The main function is [`files`].

use super::{Files, catalogue, file};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

const SOURCE: &str = "catalogue/malicious.json";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attacks {
    #[serde(rename = "format")]
    _format: Format,
    /// What each family is about. Each has a file.
    families: BTreeMap<String, String>,
    entries: Vec<Attack>,
}

#[derive(Deserialize)]
enum Format {
    #[serde(rename = "cetp-malicious/1")]
    One,
}

/// One entry. What is not given is as an honest test would have it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    id: String,
    /// The file that its vector goes to.
    family: String,
    /// What must hold.
    title: String,
    /// What the provider tries.
    tries: String,
    /// What a naive consumer suffers.
    suffers: String,
    /// The requirements that stop it; the first gives the vector its place.
    stopped_by: Vec<String>,
    #[serde(default = "core")]
    level: String,
    #[serde(default)]
    capabilities: Vec<String>,
    may_not_arise: Option<String>,
    /// The provider `p`, or several.
    p: Option<Json>,
    providers: Option<Map<String, Json>>,
    /// The order of discovery, where it is not that of the names.
    discover: Option<Vec<String>>,
    provider_id: Option<String>,
    tool: Option<String>,
    args: Option<Json>,
    /// Expectations after discovery and after execution.
    #[serde(default)]
    found: Vec<Json>,
    #[serde(default)]
    expect: Vec<Json>,
    /// Steps after that.
    #[serde(default)]
    then: Vec<Json>,
    /// Whether the peak of the target's memory is looked at.
    #[serde(default)]
    memory: bool,
    /// The requirement that a target breaks by dying or hanging. Null where no sentence forbids to go on for ever.
    #[serde(default = "lives")]
    breakdown: Option<String>,
}

fn core() -> String {
    "core".into()
}

/// The option is serde's: it calls this where the member is left out, and reads null as nothing.
#[allow(clippy::unnecessary_wraps)]
fn lives() -> Option<String> {
    Some("CETP2-7.3-02".into())
}

pub(super) fn files(seed: u64) -> Result<Files, String> {
    let attacks: Attacks = catalogue(SOURCE)?;
    let mut by_family: BTreeMap<String, Vec<Json>> =
        attacks.families.into_keys().map(|name| (name, Vec::new())).collect();
    for attack in attacks.entries {
        let family =
            by_family.get_mut(&attack.family).ok_or_else(|| format!("there is no family {}", attack.family))?;
        family.push(attack.vector()?);
    }
    let path = |family: String| format!("cetp-v2/consumer/malicious/{family}.json");
    Ok(by_family.into_iter().map(|(name, vectors)| (path(name), file("malicious", seed, SOURCE, vectors))).collect())
}

impl Attack {
    fn vector(self) -> Result<Json, String> {
        let section =
            self.stopped_by.first().and_then(|id| id.split('-').nth(1)).ok_or("an entry is stopped by nothing")?;
        let id = format!("cetp2/consumer/{section}/malicious-{}", self.id);
        let providers = match (self.p, self.providers) {
            (Some(p), None) => Map::from_iter([("p".to_owned(), p)]),
            (None, Some(providers)) => providers,
            _ => return Err(format!("{}: either \"p\" or \"providers\"", self.id)),
        };
        let order = self.discover.unwrap_or_else(|| providers.keys().cloned().collect());
        let mut flags = vec!["hostile"];
        match moved(&Json::Object(providers.clone())) {
            ..LARGE => {}
            LARGE..OVER_BINDER => flags.push("large"),
            _ => flags.extend(["large", "over-binder"]),
        }
        let mut found = vec![json!("rows_are_data")];
        found.extend(self.found);
        let mut expect = vec![json!("data_only")];
        expect.extend(self.expect);
        let mut steps = Vec::new();
        if self.memory {
            steps.push(json!({ "observe": "memory", "save": "before" }));
        }
        let discover = json!({ "discover": order, "save": "found", "expect": found });
        steps.push(surviving(discover, self.breakdown.as_deref()));
        let provider_id = self.provider_id.unwrap_or_else(|| "org.example.p".into());
        let tool = self.tool.unwrap_or_else(|| "fixture_echo".into());
        let args = self.args.unwrap_or_else(|| json!({ "value": "hello" }));
        let mut execute = json!({ "provider_id": provider_id, "tool": tool });
        let form = if args.is_string() || args.get("$text").is_some() { "args_text" } else { "args" };
        execute[form] = args;
        let execute = json!({ "execute": execute, "save": "r", "expect": expect });
        steps.push(surviving(execute, self.breakdown.as_deref()));
        steps.extend(self.then);
        if self.memory {
            steps.push(json!({ "observe": "memory", "save": "after", "expect": ["memory_is_bounded"] }));
        }
        let mut vector = json!({
            "id": id, "title": self.title, "notes": format!("It tries: {} A naive consumer: {}", self.tries, self.suffers),
            "role": "consumer", "level": self.level, "requirements": self.stopped_by, "flags": flags,
            "providers": providers, "steps": steps,
        });
        if !self.capabilities.is_empty() {
            vector["capabilities"] = json!(self.capabilities);
        }
        if let Some(why) = self.may_not_arise {
            vector["may_not_arise"] = json!(why);
        }
        Ok(vector)
    }
}

/// A step that a target must survive, where a requirement says so.
fn surviving(mut step: Json, breakdown: Option<&str>) -> Json {
    if let Some(id) = breakdown {
        step["breakdown"] = json!(id);
    }
    step
}

/// From here on a vector is flagged `large`.
const LARGE: u64 = 200 << 10;

/// A Binder buffer holds 1,040,384 bytes, and a String takes two for each UTF-16 unit; some are for the rest of the Bundle.
const OVER_BINDER: u64 = 515_000;

/// How long the longest text of some replies becomes, in UTF-16 units: texts and lists that are repeated, multiplied out.
/// A descriptor is no part of a transaction.
fn moved(json: &Json) -> u64 {
    match json {
        Json::Object(members) if members.contains_key("repeat") || members.contains_key("each") => {
            let times = members.get("times").and_then(Json::as_u64).unwrap_or(1);
            let unit = members.get("repeat").or_else(|| members.get("each"));
            times.saturating_mul(unit.map_or(0, moved))
        }
        Json::Object(members) => {
            let parts = members.iter().filter(|(name, _)| *name != "descriptors");
            parts.map(|(name, value)| name.len() as u64 + moved(value)).sum()
        }
        Json::Array(items) => items.iter().map(moved).sum(),
        Json::String(text) => text.encode_utf16().count() as u64,
        _ => 4,
    }
}
