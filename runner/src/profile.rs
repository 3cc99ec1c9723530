//! What a target of `aw-provider` is, as its file says it: the calls that show what it does, and how to read what it tells.
//! The main type is [`Profile`].
//!
//! A provider of `aw-provider` speaks its own protocol and nothing else, so that a test has to be told what it can ask: a
//! private configuration that is good and some that are not, a call that is blocked and one that is not, and so on. What a
//! profile leaves out, the vectors that need it are *not run*.

use cetp_vectors::aw;
use cetp_vectors::expr::{json_text, sha256_hex};
use cetp_vectors::ledger::Role;
use cetp_vectors::parse::aw::SCENARIO_FEATURES;
use serde_json::{Map, Value as Json, json};

/// A profile that was read and completed.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The side that the target plays.
    pub role: Role,
    /// Levels beside core that it claims.
    pub levels: Vec<String>,
    /// What vectors see as `${target.profile…}`.
    pub entries: Map<String, Json>,
    /// Parts of a scenario that a host honours.
    pub features: Vec<String>,
    /// How to read what a host or an admission tells.
    pub account: Mapping,
}

/// Where the members of an account lie in what a target prints, and what its words mean.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapping {
    /// JSON Pointers by the name of a member; a member that is not named is looked for under its own name.
    pub pointers: Map<String, Json>,
    /// Words of the target by the word of the suite.
    pub words: Map<String, Json>,
}

/// Entries of a provider's profile that are calls, with the event that they are about.
const CALLS: [(&str, &str); 5] = [
    ("blocks", "tool.before"),
    ("passes", "tool.before"),
    ("after", "tool.after"),
    ("replaces", "tool.after"),
    ("fails", "tool.before"),
];

/// Every entry that a profile may have.
const ENTRIES: [&str; 11] = [
    "levels",
    "features",
    "account",
    "words",
    "good_config",
    "bad_configs",
    "blocks",
    "passes",
    "after",
    "replaces",
    "fails",
];

/// What may be named of an account, and the words that it may have, by role. The members of events and steps are looked for
/// in these.
const HOST_MEMBERS: [&str; 13] = [
    "prepared",
    "reason",
    "events",
    "config_file",
    "outcome",
    "blocks",
    "granted",
    "message",
    "steps",
    "step",
    "effects",
    "error_code",
    "action",
];
const HOST_WORDS: [&str; 6] = ["success", "failure", "skipped", "report", "block", "withhold_result"];
const ADMISSION_MEMBERS: [&str; 11] = [
    "accepted",
    "reason",
    "ready",
    "message",
    "steps",
    "event",
    "step",
    "provider",
    "operation",
    "effects",
    "on_error",
];
const ADMISSION_WORDS: [&str; 5] = ["tool.before", "tool.after", "report", "block", "withhold_result"];

/// Time that an invoke grants where a profile says nothing: far above what any policy needs.
const BUDGET_MS: u64 = 10_000;

impl Profile {
    /// Reads and completes a profile.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    pub fn from_json(role: Role, json: &Json) -> Result<Profile, String> {
        let mut given = json.as_object().cloned().ok_or("a profile is a table")?;
        texts_as_json(&mut given)?;
        if let Some(unknown) = given.keys().find(|name| !ENTRIES.contains(&name.as_str())) {
            return Err(format!("the profile has no entry {unknown:?}; there are {ENTRIES:?}"));
        }
        let mut names = |name: &str| -> Result<Vec<String>, String> {
            let Some(list) = given.remove(name) else { return Ok(Vec::new()) };
            let texts = |list: &Vec<Json>| list.iter().map(|text| text.as_str().map(str::to_owned)).collect();
            list.as_array().and_then(texts).ok_or_else(|| format!("{name} is a list of texts"))
        };
        let (levels, features) = (names("levels")?, names("features")?);
        if let Some(unknown) = levels.iter().find(|level| *level != "text_replacement" && *level != "core") {
            return Err(format!("there is no level {unknown:?}"));
        }
        if let Some(unknown) = features.iter().find(|feature| !SCENARIO_FEATURES.contains(&feature.as_str())) {
            return Err(format!("there is no feature {unknown:?}; there are {SCENARIO_FEATURES:?}"));
        }
        let mut table = |name: &str| match given.remove(name) {
            None => Ok(Map::new()),
            Some(Json::Object(members)) => Ok(members),
            Some(_) => Err(format!("{name} is a table")),
        };
        let account = Mapping { pointers: table("account")?, words: table("words")? };
        account.check(role)?;
        let good = given.get("good_config").cloned();
        for (name, event) in CALLS {
            if let Some(call) = given.get_mut(name) {
                *call =
                    complete(call, event, name == "replaces", good.as_ref()).map_err(|why| format!("{name}: {why}"))?;
            }
        }
        if given.get("bad_configs").is_some_and(|list| !list.is_array()) {
            return Err("bad_configs is a list of configurations".into());
        }
        let levels = levels.into_iter().filter(|level| level != "core").collect();
        Ok(Profile { role, levels, entries: given, features, account })
    }

    /// The answer to `target.describe`.
    pub fn describe(&self, name: &str, version: &str) -> Json {
        let controls: Vec<&String> = self.entries.keys().chain(&self.features).collect();
        json!({
            "protocol": cetp_vectors::protocol::VERSION,
            "name": name,
            "version": version,
            "roles": [self.role.name()],
            "versions": [1],
            "capabilities": self.levels,
            "controls": controls,
            "suites": [aw::SUITE],
            "profile": self.entries,
        })
    }
}

/// `NAME_json = "TEXT"` is `NAME` with the JSON of the text, as TOML knows no null.
fn texts_as_json(members: &mut Map<String, Json>) -> Result<(), String> {
    let names: Vec<String> = members.keys().filter(|name| name.ends_with("_json")).cloned().collect();
    for name in names {
        let text = members.remove(&name).unwrap_or_default();
        let text = text.as_str().ok_or_else(|| format!("{name} is a text"))?;
        let value = cetp_vectors::json::parse_text(text).map_err(|error| format!("{name}: {error}"))?;
        members.insert(name.trim_end_matches("_json").to_owned(), value);
    }
    for value in members.values_mut() {
        if let Json::Object(inner) = value {
            texts_as_json(inner)?;
        }
    }
    Ok(())
}

/// A call with all that an invoke has, but for its envelope.
fn complete(call: &Json, event: &str, replaces: bool, good_config: Option<&Json>) -> Result<Json, String> {
    const MEMBERS: [&str; 5] = ["operation", "config", "budget_ms", "allowed_effects", "event"];
    let members = call.as_object().ok_or("a call is a table")?;
    if let Some(unknown) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        return Err(format!("a call has {MEMBERS:?}, not {unknown:?}"));
    }
    if !members.get("operation").is_some_and(Json::is_string) {
        return Err("it names its operation".into());
    }
    let before = event == "tool.before";
    let effects: &[&str] = match (before, replaces) {
        (true, _) => &["observe", "block"],
        (false, true) => &["observe", "replace_result"],
        (false, false) => &["observe"],
    };
    let mut full = json!({
        "config": good_config.cloned().unwrap_or_else(|| json!({})),
        "budget_ms": BUDGET_MS,
        "allowed_effects": effects,
        "event": {
            "name": event,
            "agent": { "adapter": "qoder", "binding_id": "binding-1", "instance_id": null },
            "session_id": null,
            "tool": {
                "name": "example", "native_name": "example", "call_id": null, "input": {},
                "result": if before { Json::Null } else { json!({ "ok": true }) },
            },
            "native": {},
        },
    });
    // The private configuration is the provider's own, and taken as it is.
    if let Some(config) = members.get("config") {
        full["config"] = json!({});
        full["config"] = config.clone();
    }
    // So is a result: it is not a part of another one.
    if call.pointer("/event/tool/result").is_some() {
        full["event"]["tool"]["result"] = Json::Null;
    }
    let mut rest = members.clone();
    rest.remove("config");
    aw::merge(&mut full, &Json::Object(rest));
    full["config_revision"] = json!(sha256_hex(json_text(&full["config"]).as_bytes()));
    Ok(full)
}

impl Mapping {
    /// Names that are none would be passed over in silence, and what was meant by them would never be judged.
    fn check(&self, role: Role) -> Result<(), String> {
        let (members, words): (&[&str], &[&str]) = match role {
            Role::Host => (&HOST_MEMBERS, &HOST_WORDS),
            Role::Admission => (&ADMISSION_MEMBERS, &ADMISSION_WORDS),
            _ => (&[], &[]),
        };
        for (table, given, known) in [("account", &self.pointers, members), ("words", &self.words, words)] {
            if let Some(unknown) = given.keys().find(|name| !known.contains(&name.as_str())) {
                return Err(format!("{table} of a {} has no {unknown:?}; there are {known:?}", role.name()));
            }
        }
        for (name, value) in &self.pointers {
            let text = value.as_str().ok_or_else(|| format!("account.{name} is a text"))?;
            if name == "config_file" {
                if text.is_empty() || text.starts_with('/') || text.split('/').any(|part| part == "..") {
                    return Err(format!("account.config_file is the name of a file in {{folder}}, not {text:?}"));
                }
            } else if !text.starts_with('/') {
                return Err(format!("account.{name} is a JSON Pointer, which begins with \"/\", not {text:?}"));
            }
        }
        Ok(())
    }

    /// A member of an account.
    pub fn get<'j>(&self, name: &str, from: &'j Json) -> Option<&'j Json> {
        match self.pointers.get(name) {
            Some(Json::String(pointer)) => from.pointer(pointer),
            Some(_) => None,
            None => from.get(name),
        }
    }

    /// The suite's word for a word of the target.
    pub fn word(&self, value: &Json) -> Json {
        let said = |list: &Json| list == value || list.as_array().is_some_and(|list| list.contains(value));
        match self.words.iter().find(|(_, list)| said(list)) {
            Some((word, _)) => json!(word),
            None => value.clone(),
        }
    }

    /// A host's account in the words of the suite. What it does not tell is left out.
    pub fn host_account(&self, told: &Json) -> Json {
        let mut account = self.members(told, &["prepared", "reason"]);
        if let Some(events) = self.get("events", told).and_then(Json::as_array) {
            account["events"] = events.iter().map(|event| self.event(event)).collect();
        }
        account
    }

    fn event(&self, told: &Json) -> Json {
        let mut event = self.members(told, &["outcome", "blocks", "granted", "message"]);
        if let Some(steps) = self.get("steps", told).and_then(Json::as_array) {
            let names = ["step", "outcome", "effects", "error_code", "action", "message"];
            event["steps"] = steps.iter().map(|step| self.members(step, &names)).collect();
        }
        event
    }

    /// What an admission tells, in the words of the suite.
    pub fn admission_account(&self, told: &Json) -> Json {
        let mut account = self.members(told, &["accepted", "reason", "ready", "message"]);
        if let Some(steps) = self.get("steps", told).and_then(Json::as_array) {
            let names = ["event", "step", "provider", "operation", "effects", "on_error"];
            account["steps"] = steps.iter().map(|step| self.members(step, &names)).collect();
        }
        account
    }

    fn members(&self, told: &Json, names: &[&str]) -> Json {
        let found = names.iter().filter_map(|name| Some(((*name).to_owned(), self.get(name, told)?)));
        Json::Object(found.map(|(name, value)| (name, self.word(value))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_completed() {
        let json = json!({"good_config": {"a": 1}, "blocks": {"operation": "check", "event": {"tool": {"native_name": "X"}}},
            "fails": {"operation": "check", "config_json": "{\"b\":null}"},
            "after": {"operation": "check", "event": {"tool": {"result": {"a": 1}}}}});
        let profile = Profile::from_json(Role::Provider, &json).unwrap();
        let blocks = &profile.entries["blocks"];
        assert_eq!(blocks["event"]["tool"]["native_name"], "X");
        assert_eq!(blocks["event"]["tool"]["result"], Json::Null);
        assert_eq!(blocks["config"], json!({"a": 1}));
        assert_eq!(profile.entries["fails"]["config"], json!({"b": null}));
        assert_eq!(profile.entries["after"]["event"]["tool"]["result"], json!({"a": 1}));
        let mut request = json!({});
        aw::merge(&mut request, blocks);
        let request = aw::request(&json!({"method": "invoke", "from": request}), "r").unwrap();
        assert_eq!(
            cetp_vectors::schema::instance_of(
                &aw::schemas()["aw_request"],
                cetp_vectors::schema::DRAFT_2020_12,
                &request
            ),
            cetp_vectors::schema::Checked::Yes
        );
    }

    #[test]
    fn what_a_profile_cannot_say_is_refused() {
        for json in [
            json!([]),
            json!({"blocs": {}}),
            json!({"blocks": {"operatoin": "x"}}),
            json!({"blocks": {}}),
            json!({"levels": ["async"]}),
            json!({"features": ["magic"]}),
        ] {
            assert!(Profile::from_json(Role::Provider, &json).is_err(), "{json}");
        }
    }

    #[test]
    fn names_that_an_account_has_not_are_refused() {
        let read = |role, json: Json| Profile::from_json(role, &json).map(|_| ());
        read(Role::Host, json!({"account": {"prepared": "/a", "config_file": "own.cfg"}, "words": {"skipped": "x"}}))
            .unwrap();
        read(Role::Admission, json!({"account": {"accepted": "/a"}, "words": {"report": ["x"]}})).unwrap();
        for (role, json) in [
            (Role::Host, json!({"account": {"prepard": "/a"}})),
            (Role::Host, json!({"account": {"accepted": "/a"}})),
            (Role::Host, json!({"account": {"prepared": "a"}})),
            (Role::Host, json!({"account": {"config_file": "/used"}})),
            (Role::Host, json!({"words": {"sucess": "x"}})),
            (Role::Admission, json!({"words": {"success": "x"}})),
            (Role::Provider, json!({"account": {"prepared": "/a"}})),
        ] {
            assert!(read(role, json.clone()).is_err(), "{json}");
        }
    }

    #[test]
    fn accounts_are_read_by_pointers_and_words() {
        let mapping = Mapping {
            pointers: json!({"prepared": "/ok", "events": "/calls", "steps": "/s/list", "outcome": "/state"})
                .as_object()
                .cloned()
                .unwrap(),
            words: json!({"success": ["fine", "good"]}).as_object().cloned().unwrap(),
        };
        let told = json!({"ok": true, "calls": [{"s": {"list": [{"step": "a", "state": "fine", "x": 1}]}}]});
        assert_eq!(
            mapping.host_account(&told),
            json!({"prepared": true, "events": [{"steps": [{"step": "a", "outcome": "success"}]}]})
        );
    }
}
