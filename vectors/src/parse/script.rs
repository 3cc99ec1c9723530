//! Reading scripted providers.

use super::{Names, Object, Parser};
use crate::model::{Args, Content, Descriptor, Reply, ReplyForm, Scripted};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// The action by which providers are discovered (§2.1).
const ACTION: &str = "com.clawseed.action.TOOL_PROVIDER";

impl Parser<'_, '_> {
    pub(super) fn providers(&self, json: Json, at: &str) -> BTreeMap<String, Scripted> {
        let members = self.map(json, at).unwrap_or_default();
        let mut out = BTreeMap::new();
        for (name, provider) in members {
            let at = format!("{at}/{name}");
            self.check_name(&name, &at);
            out.extend(self.provider(&name, provider, &at).map(|provider| (name, provider)));
        }
        out
    }

    fn provider(&self, name: &str, json: Json, at: &str) -> Option<Scripted> {
        let names = Names::rule();
        let mut o = self.object(json, at)?;
        let package = self.optional_text(&mut o, "package").unwrap_or_else(|| format!("org.example.{name}"));
        let authority = self.optional_text(&mut o, "authority").unwrap_or_else(|| format!("{package}.tools"));
        let version = o.take("version").unwrap_or_else(|| json!({ "int": 2 }));
        let versions = o.take("versions").unwrap_or_else(|| json!({ "string": "2" }));
        let declares = declares(&version, &versions);
        let manifest = o.take("manifest").unwrap_or_else(|| manifest(&package, &authority, &version, &versions));
        self.check_expr(&manifest, &o.at("manifest"), &names);
        let base = match o.take("base") {
            None => vec!["honest".to_owned()],
            Some(Json::Null) => Vec::new(),
            Some(Json::Array(list)) => list.iter().filter_map(|name| self.as_text(name, &o.at("base"))).collect(),
            Some(value) => self.as_text(&value, &o.at("base")).into_iter().collect(),
        };
        let replies_at = o.at("replies");
        let mut rules = o.take("replies").map(|json| self.replies(json, &replies_at)).unwrap_or_default();
        for base in base {
            match self.context.rules.scripts.get(&base) {
                Some(script) => rules.extend(script.clone()),
                None => {
                    let known: Vec<&String> = self.context.rules.scripts.keys().collect();
                    self.fault(&o.at("base"), format!("there is no script {base:?}; there are {known:?}"));
                }
            }
        }
        let descriptors_at = o.at("descriptors");
        let list = o.take("descriptors").and_then(|json| self.map(json, &descriptors_at)).unwrap_or_default();
        let mut descriptors = BTreeMap::new();
        for (id, json) in list {
            let read = self.descriptor(json, &format!("{descriptors_at}/{id}"), &names);
            descriptors.extend(read.map(|descriptor| (id, descriptor)));
        }
        o.finish(self);
        Some(Scripted { package, authority, manifest, declares, rules, descriptors })
    }

    pub(super) fn replies(&self, json: Json, at: &str) -> Vec<Reply> {
        let items = self.list(json, at);
        items.into_iter().enumerate().filter_map(|(n, item)| self.reply(item, &format!("{at}/{n}"))).collect()
    }

    fn reply(&self, json: Json, at: &str) -> Option<Reply> {
        let names = Names::rule();
        let mut o = self.object(json, at)?;
        let to = self.text(&mut o, "to")?;
        drop(self.optional_text(&mut o, "note"));
        let nth = o.take("nth").and_then(|json| self.nth(&json, &o.at("nth")));
        let when_at = o.at("when");
        let when = o.take("when").and_then(|json| self.assertion(json, &when_at, &names));
        let cancel = self.boolean(&mut o, "cancel", false);
        let v1 = self.boolean(&mut o, "v1", false);
        let advance_ms = o.take("advance_ms");
        let hold_ms = o.take("hold_ms").and_then(|ms| {
            let read = ms.as_u64().filter(|ms| (1..=MOST_HELD_MS).contains(ms) && !cancel);
            if read.is_none() {
                self.fault(&o.at("hold_ms"), format!("1 to {MOST_HELD_MS}, and not with \"cancel\""));
            }
            read
        });
        let extras = o.take("extras").and_then(|json| self.map(json, &o.at("extras"))).unwrap_or_default();
        let answer = self.form(&mut o, v1);
        o.finish(self);
        for expr in extras.values().chain(advance_ms.iter()) {
            self.check_expr(expr, at, &names);
        }
        Some(Reply { to, nth, when, answer: answer?, extras, advance_ms, cancel, hold_ms })
    }

    fn form(&self, o: &mut Object, v1: bool) -> Option<ReplyForm> {
        const FORMS: [&str; 7] = ["reply", "data", "data_text", "value", "error", "accepted", "change"];
        let given: Vec<&str> = FORMS.into_iter().filter(|form| o.members.contains_key(*form)).collect();
        let [form] = given.as_slice() else {
            self.fault(&o.at, format!("exactly one of {FORMS:?} was expected"));
            return None;
        };
        let at = o.at(form);
        let value = o.take(form)?;
        self.check_expr(&value, &at, &Names::rule());
        Some(match *form {
            "reply" => ReplyForm::Wire(value),
            "data" => ReplyForm::Success { data: Args::Value(value), v1 },
            "data_text" => ReplyForm::Success { data: Args::Text(value), v1 },
            "value" => ReplyForm::Success { data: Args::Value(json!({ "kind": "inline", "value": value })), v1 },
            "accepted" => ReplyForm::Accepted(value),
            "change" => {
                let mut inner = self.object(value, &at)?;
                let set = inner.take("set").and_then(|json| self.map(json, &inner.at("set"))).unwrap_or_default();
                let remove = self.texts(&mut inner, "remove");
                inner.finish(self);
                for pointer in set.keys().chain(&remove).filter(|pointer| !pointer.starts_with('/')) {
                    self.fault(&at, format!("{pointer:?} is no JSON Pointer to a member"));
                }
                ReplyForm::Change { set, remove }
            }
            _ => {
                let message = o.take("message").unwrap_or_else(|| json!("refused"));
                let retryable = o.take("retryable").unwrap_or_else(|| json!(usually_retryable(&value)));
                ReplyForm::Error { code: value, message, retryable, v1 }
            }
        })
    }

    fn nth(&self, json: &Json, at: &str) -> Option<(u64, u64)> {
        let number = |json: &Json| json.as_u64().filter(|n| *n > 0);
        let range = match json {
            Json::Number(_) => number(json).map(|n| (n, n)),
            Json::Object(o) if o.keys().all(|key| key == "from" || key == "to") => {
                let from = o.get("from").map_or(Some(1), number);
                from.zip(o.get("to").map_or(Some(u64::MAX), number))
            }
            _ => None,
        };
        if range.is_none() {
            self.fault(at, "a number from 1, or {\"from\",\"to\"}, was expected");
        }
        range
    }

    fn descriptor(&self, json: Json, at: &str, names: &Names) -> Option<Descriptor> {
        let mut o = self.object(json, at)?;
        let mut number = |name: &str| {
            let value = o.take(name)?;
            if value.as_u64().is_none() {
                self.fault(&o.at(name), "a whole number was expected");
            }
            value.as_u64()
        };
        let (chunk_bytes, error_after, slow_ms) = (number("chunk_bytes"), number("error_after"), number("slow_ms"));
        let bytes = number("bytes");
        let (text, fill) = (o.take("text"), o.take("fill"));
        let content = match (text, fill) {
            (Some(text), None) => {
                self.check_expr(&text, &o.at("text"), names);
                Some(Content::Text(text))
            }
            (None, Some(Json::String(unit))) if unit.len() == 1 => {
                Some(Content::Fill { unit: unit.as_bytes()[0], bytes })
            }
            _ => {
                self.fault(at, "either \"text\", or \"fill\" with one ASCII character, was expected");
                None
            }
        };
        o.finish(self);
        Some(Descriptor { content: content?, chunk_bytes, error_after, slow_ms: slow_ms.unwrap_or(0) })
    }
}

/// Long enough for a busy machine, short beside the time limit of a verb.
const MOST_HELD_MS: u64 = 5_000;

/// The versions that a manifest declares (§2.1): `versions` where it is there, else `version`, each as Int or String. A
/// token that is no positive decimal integer adds none.
fn declares(version: &Json, versions: &Json) -> Vec<u64> {
    let from = if versions.is_null() { version } else { versions };
    let number = |token: &str| {
        let digits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
        token.parse::<u64>().ok().filter(|n| digits && *n > 0)
    };
    match (from["int"].as_u64(), from["string"].as_str()) {
        (Some(n), _) => Vec::from_iter(Some(n).filter(|n| *n > 0)),
        (None, Some(text)) => text.split(',').filter_map(|token| number(token.trim())).collect(),
        (None, None) => Vec::new(),
    }
}

/// What the table of §5 says of a code; the conditional ones are not repeated.
fn usually_retryable(code: &Json) -> bool {
    matches!(code.as_str(), Some("NEGOTIATION_REQUIRED" | "RATE_LIMITED" | "UNAVAILABLE"))
}

fn manifest(package: &str, authority: &str, version: &Json, versions: &Json) -> Json {
    let mut meta = Map::new();
    meta.insert("com.clawseed.tools.authority".into(), json!({ "string": authority }));
    for (key, value) in [("com.clawseed.tools.version", version), ("com.clawseed.tools.versions", versions)] {
        if !value.is_null() {
            meta.insert(key.into(), value.clone());
        }
    }
    json!({
        "package": package,
        "services": [{ "name": format!("{package}.ToolProviderService"), "exported": true, "actions": [ACTION], "meta_data": meta }],
        "providers": [{ "name": format!("{package}.ToolProvider"), "authority": authority, "exported": true,
                        "permission": "com.clawseed.permission.ACCESS_TOOLS" }],
    })
}
