//! Tries a target before it is tested: starts it, uses each verb that it claims, and says in plain words what is missing.
//! The main function is [`check`].

use crate::adapter::{Adapter, Fault, RpcError, Session};
use crate::engine::{Options, Run, describe};
use crate::execute::exchange;
use cetp_vectors::aw;
use cetp_vectors::fixture;
use cetp_vectors::judge::Outcome;
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::machine::{Answer, flatten_reply};
use cetp_vectors::parse::aw::SCENARIO_FEATURES;
use cetp_vectors::protocol::Describe;
use cetp_vectors::transcript::Transcript;
use serde_json::{Value as Json, json};
use std::sync::atomic::AtomicBool;

/// What was found, in the order in which it was tried.
#[derive(Clone, Debug)]
pub struct Report {
    /// Each finding with a sentence.
    pub lines: Vec<(Finding, String)>,
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It works.
    Good,
    /// It is not there; vectors that need it are not run.
    Missing,
    /// It is claimed and does not work.
    Wrong,
}

/// Every control, with the verb that tries it and what is not tested without it.
const CONTROLS: [(&str, &str, &str); 11] = [
    ("clock", "control.clock", "expiry, deadlines and retention"),
    ("restart", "control.restart", "durability"),
    ("user_decision", "control.user", "confirmation"),
    ("caller_identity", "", "the binding of tokens and operations to a caller"),
    ("scopes", "control.scopes", "the withdrawal of scopes"),
    ("operations", "control.operation", "the states of operations"),
    ("faults", "control.fault", "crashes in the middle of a write"),
    ("reconfigure", "control.reconfigure", "changes under a live session"),
    ("audit", "observe.audit", "audit events"),
    ("ui", "observe.ui", "the text of confirmations"),
    ("fds", "observe.fds", "open descriptors"),
];

/// Capabilities of CETP v2.
const CAPABILITIES: [&str; 3] = ["async_operations", "cancellation", "large_results"];

/// What the profile of a provider of `aw-provider` may hold for its vectors.
const PROVIDER_ENTRIES: [&str; 7] = ["good_config", "bad_configs", "blocks", "passes", "after", "replaces", "fails"];

/// Tries a target.
///
/// # Errors
/// It does not start, or does not say what it is.
pub fn check(adapter: &dyn Adapter) -> Result<Report, Fault> {
    let (session, target_json, target) = describe(adapter)?;
    let mut check = Check { session, adapter, lines: Vec::new() };
    let roles: Vec<&str> = target.roles.iter().map(|role| role.name()).collect();
    check.say(
        Finding::Good,
        format!("it starts and says what it is: {} {}, {}", target.name, target.version, roles.join(" and ")),
    );
    if target.suites.iter().any(|suite| suite == aw::SUITE) {
        check.aw(&target);
        check.session.end();
        return Ok(Report { lines: check.lines });
    }
    check.facts(&target);
    check.verb("target.reset", &json!({ "nonce": "check", "now_ms": 1_760_000_000_000_i64 }), "every vector");
    if target.roles.contains(&Role::Provider) {
        check.provider(&target);
    }
    let consumer = target.roles.contains(&Role::Consumer);
    if consumer && target.capabilities.iter().any(|capability| capability == "cancellation") {
        let params = json!({ "provider_id": PACKAGE, "tool": TOOL });
        check.verb("consumer.cancel", &params, "cancellation");
    }
    let Check { session, mut lines, .. } = check;
    if consumer {
        lines.extend(consume(adapter, session, &target_json, &target));
    } else {
        session.end();
    }
    Ok(Report { lines })
}

/// The vector that a consumer is tried with: an honest provider, one discovery and one call of a tool that reads.
const HONEST: &str = "cetp2/consumer/2.2/negotiates-first";
/// The package of its provider.
const PACKAGE: &str = "org.example.p";
/// The tool.
const TOOL: &str = "fixture_echo";

/// Lets a consumer discover an honest provider and call a tool of it, and says in words what did not come.
fn consume(
    adapter: &dyn Adapter,
    session: Box<dyn Session>,
    target_json: &Json,
    target: &Describe,
) -> Vec<(Finding, String)> {
    let catalogue = Catalogue::embedded_for("cetp-v2", Role::Consumer);
    let Some(vector) = catalogue.get(HONEST) else { return Vec::new() };
    let (options, interrupted) = (Options::default(), AtomicBool::new(false));
    let run = Run { vectors: &[vector], adapter, target_json, target, options: &options, interrupted: &interrupted };
    let mut slot = Some(session);
    let result = run.one(vector, &mut slot);
    if let Some(session) = slot {
        session.end();
    }
    let why = result.reason.unwrap_or_default();
    let said = result.diagnostics.trim();
    let said = if said.is_empty() { String::new() } else { format!("; it wrote: {said}") };
    let Some(transcript) = &result.transcript else { return vec![(Finding::Wrong, format!("{why}{said}"))] };
    let mut lines = consumed(transcript);
    if result.outcome != Outcome::Pass {
        lines.push((Finding::Missing, format!("with an honest provider it falls short already: {why}{said}")));
    }
    lines
}

/// What a consumer did with an honest provider, read from the record of it.
fn consumed(transcript: &Transcript) -> Vec<(Finding, String)> {
    let mut lines = Vec::new();
    for (verb, tests) in [("consumer.discover", "every vector"), ("consumer.execute", "every vector with a call")] {
        let answer = transcript.entries.iter().find(|entry| entry.verb == verb).map(|entry| &entry.answer);
        match answer {
            Some(Answer::Result(result)) if verb == "consumer.discover" => lines.push(discovered(result)),
            Some(Answer::Result(result)) => lines.push(executed(result)),
            Some(Answer::Refused { code: RpcError::NO_SUCH_VERB, .. }) => lines.push((
                Finding::Wrong,
                format!("{verb} is unknown to the target, which says that it is a consumer: {tests} is an error"),
            )),
            Some(Answer::Refused { message, .. }) => {
                lines.push((Finding::Wrong, format!("{verb} is refused: {message}")));
            }
            Some(Answer::Broken { why, .. }) => lines.push((Finding::Wrong, format!("{verb}: {why}"))),
            Some(Answer::Unread) | None => lines.push((Finding::Missing, format!("it did not come to {verb}"))),
        }
    }
    let asked = |verb: &str, method: Option<&str>| {
        let fits = |params: &Json| method.is_none_or(|method| params["method"] == method);
        transcript.incoming.iter().any(|request| request.verb == verb && fits(&request.params))
    };
    for (method, without) in [
        ("negotiate", "a provider of version 2 may not be used without it (§2.2)"),
        ("get_provider_info", "vectors about the provider's description are not applicable then"),
        ("list_tools", "vectors about tools prove nothing without it"),
        ("execute_tool", "vectors that need a call are not run, or an error"),
    ] {
        match asked("provider.call", Some(method)) {
            true => lines.push((Finding::Good, format!("it calls {method}"))),
            false => lines.push((Finding::Missing, format!("it did not call {method}: {without}"))),
        }
    }
    if !asked("clock.now", None) {
        let words = "it did not ask for clock.now: the clock of vectors is not that of the machine, and deadlines will be judged by it";
        lines.push((Finding::Missing, words.into()));
    }
    lines
}

/// What the answer to `consumer.discover` says of the honest provider.
fn discovered(result: &Json) -> (Finding, String) {
    let Some(rows) = result["providers"].as_array() else {
        return (Finding::Wrong, "consumer.discover: the answer has no list providers".into());
    };
    let Some(row) = rows.iter().find(|row| row["package"] == PACKAGE) else {
        let words = "it does not use an honest provider of version 2: no row of its answer is about the package";
        return (Finding::Missing, format!("{words} {PACKAGE}"));
    };
    if row["decision"] != "v2" {
        let row = shorten(row);
        return (Finding::Missing, format!("it does not use an honest provider of version 2: it says {row}"));
    }
    if row["provider_id"] != PACKAGE {
        let words = "consumer.discover: provider_id is not what negotiate gave, and the runner executes by that";
        return (Finding::Missing, format!("{words}; it says {}", shorten(row)));
    }
    match row["tools"].as_array().is_some_and(|tools| tools.iter().any(|tool| tool["name"] == TOOL)) {
        true => (Finding::Good, "consumer.discover works: an honest provider is used".into()),
        false => (Finding::Missing, format!("it uses an honest provider, but its row does not name the tool {TOOL}")),
    }
}

/// What the answer to `consumer.execute` says of an honest call.
fn executed(result: &Json) -> (Finding, String) {
    match result["outcome"].as_str() {
        Some("success") if result["trust"] == "data" => {
            (Finding::Good, "consumer.execute works: an honest call succeeds".into())
        }
        Some("success") => {
            (Finding::Missing, "a success is not labelled \"trust\": \"data\": CETP2-7.3-03 will not be met".into())
        }
        Some("error" | "refused") => {
            (Finding::Missing, format!("an honest call does not succeed: it says {}", shorten(result)))
        }
        _ => (
            Finding::Wrong,
            format!("consumer.execute: outcome is none of success, error and refused; it says {}", shorten(result)),
        ),
    }
}

struct Check<'a> {
    session: Box<dyn Session>,
    adapter: &'a dyn Adapter,
    lines: Vec<(Finding, String)>,
}

impl Check<'_> {
    fn say(&mut self, finding: Finding, words: String) {
        self.lines.push((finding, words));
    }

    /// Tries a verb. A target that breaks on it is started afresh for the next.
    fn verb(&mut self, verb: &str, params: &Json, tests: &str) -> Option<Json> {
        match exchange(self.session.as_mut(), verb, params, self.adapter.limits().verb()) {
            Ok(Answer::Result(result)) => {
                self.say(Finding::Good, format!("{verb} works"));
                Some(result)
            }
            Ok(Answer::Refused { code: RpcError::NO_SUCH_VERB, .. }) => {
                self.say(
                    Finding::Wrong,
                    format!("{verb} is claimed and unknown to the target: without it {tests} cannot be judged"),
                );
                None
            }
            // A control that has nothing to act on says so: that it answers is what was asked.
            Ok(Answer::Refused { .. }) => {
                self.say(Finding::Good, format!("{verb} is there"));
                None
            }
            Ok(Answer::Broken { why, .. }) => self.broke(verb, &why),
            Ok(Answer::Unread) => unreachable!("an exchange is answered"),
            Err(fault) => self.broke(verb, &fault.message),
        }
    }

    fn broke(&mut self, verb: &str, why: &str) -> Option<Json> {
        let said = self.session.diagnostics();
        let said = if said.trim().is_empty() { String::new() } else { format!("; it wrote: {}", said.trim()) };
        self.say(Finding::Wrong, format!("{verb}: {why}{said}"));
        if let Ok((session, _, _)) = describe(self.adapter) {
            self.session = session;
        }
        None
    }

    /// A target of `aw-provider`: what its profile lacks, and whether it answers at all.
    fn aw(&mut self, target: &Describe) {
        if !target.capabilities.iter().any(|level| level == "text_replacement") {
            self.say(Finding::Missing, "it does not claim text_replacement: its vectors are not applicable".into());
        }
        let provider = target.roles.contains(&Role::Provider);
        let wanted: &[&str] = if provider {
            &PROVIDER_ENTRIES
        } else if target.roles.contains(&Role::Host) {
            &SCENARIO_FEATURES
        } else {
            &[]
        };
        for name in wanted.iter().filter(|name| !target.has_control(name)) {
            let needless = *name == "replaces" && !target.capabilities.iter().any(|level| level == "text_replacement");
            if !needless {
                self.say(Finding::Missing, format!("its profile has no {name}: the vectors that need it are not run"));
            }
        }
        if provider {
            let stdin =
                json!({ "api_version": aw::VERSION, "method": "describe", "request_id": "check-1" }).to_string();
            let Some(result) = self.verb("aw.spawn", &json!({ "stdin": stdin }), "every vector") else { return };
            match aw::exchange_view(&result).pointer("/message/operations").and_then(Json::as_array) {
                Some(operations) => self.say(Finding::Good, format!("it declares {} operations", operations.len())),
                None => self.say(Finding::Wrong, "describe brings no operations".into()),
            }
        }
    }

    fn facts(&mut self, target: &Describe) {
        for capability in CAPABILITIES {
            if !target.capabilities.iter().any(|claimed| claimed == capability) {
                self.say(Finding::Missing, format!("it does not claim {capability}: its vectors are not applicable"));
            }
        }
        if !target.roles.contains(&Role::Provider) {
            return;
        }
        let claims = |name: &str| target.capabilities.iter().any(|claimed| claimed == name);
        if claims("cancellation") && !claims("async_operations") {
            self.say(
                Finding::Missing,
                "it claims cancellation without async_operations: there is nothing to cancel, and no vector of cancellation is applicable"
                    .into(),
            );
        }
        if target.fixture != Some(1) {
            self.say(
                Finding::Missing,
                "it does not carry the fixture (version 1): most vectors are not run, and core cannot be claimed"
                    .into(),
            );
        }
        for (name, told) in [("resume_ttl_ms", target.resume_ttl_ms), ("retention_ms", target.retention_ms)] {
            if told.is_none() {
                self.say(Finding::Missing, format!("it does not tell {name}: vectors that need it are not run"));
            }
        }
        for caller in fixture::callers().as_object().into_iter().flat_map(serde_json::Map::keys) {
            if !target.callers.has(caller) {
                self.say(
                    Finding::Missing,
                    format!("it cannot assume the caller {caller:?}: vectors that need it are not run"),
                );
            }
        }
    }

    fn provider(&mut self, target: &Describe) {
        self.verb("provider.manifest", &json!({}), "discovery");
        let extras = json!({ "consumer_versions": { "int_array": [2] }, "consumer_capabilities": { "string": "[]" } });
        let params = json!({
            "caller": fixture::callers()["a"], "authority": target.authority, "method": "negotiate", "arg": null, "extras": extras,
        });
        if let Some(reply) = self.verb("provider.call", &params, "every vector") {
            let reply = flatten_reply(&reply);
            match reply["data"]["session_token"].as_str() {
                Some(_) => self.say(Finding::Good, "negotiate gives a session".into()),
                None => self.say(
                    Finding::Missing,
                    format!("negotiate gave no session, so most vectors will fail; it said {}", shorten(&reply)),
                ),
            }
        }
        for (control, verb, tests) in CONTROLS {
            if !target.has_control(control) {
                self.say(Finding::Missing, format!("it has no control {control}: {tests} cannot be tested"));
                continue;
            }
            let params = match control {
                "clock" => json!({ "advance_ms": 0 }),
                "restart" => json!({ "mode": "stop" }),
                "scopes" => json!({ "caller": fixture::callers()["a"], "grant": [], "revoke": [] }),
                "reconfigure" => json!({ "change": "add_tool" }),
                "faults" => json!({ "at": "after_commit", "tool": "fixture_append" }),
                "user_decision" => json!({ "pending_intent": "pi-none", "decision": "approve" }),
                "ui" => json!({ "pending_intent": "pi-none" }),
                "operations" => json!({ "operation_id": "none", "to": "running" }),
                "caller_identity" => continue,
                _ => json!({}),
            };
            self.verb(verb, &params, tests);
        }
        for control in target.controls.iter().filter(|c| !CONTROLS.iter().any(|(known, _, _)| known == c)) {
            self.say(
                Finding::Wrong,
                format!("it claims a control {control:?}, which the target protocol does not have"),
            );
        }
    }
}

fn shorten(json: &Json) -> String {
    json.to_string().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(changed: &str, value: Json) -> Json {
        let mut row =
            json!({ "package": PACKAGE, "decision": "v2", "provider_id": PACKAGE, "tools": [{ "name": TOOL }] });
        row[changed] = value;
        json!({ "providers": [row] })
    }

    #[test]
    fn what_a_consumer_says_of_an_honest_provider_is_told_in_words() {
        assert_eq!(discovered(&row("reason", Json::Null)).0, Finding::Good);
        assert_eq!(discovered(&json!({ "providers": 1 })).0, Finding::Wrong);
        for (changed, value, words) in [
            ("package", json!("other"), "no row"),
            ("decision", json!("refused"), "does not use"),
            ("provider_id", json!("x"), "provider_id is not what negotiate gave"),
            ("tools", json!([]), "does not name the tool"),
        ] {
            let (finding, said) = discovered(&row(changed, value));
            assert!(finding == Finding::Missing && said.contains(words), "{said}");
        }
        assert_eq!(executed(&json!({ "outcome": "success", "value": 1, "trust": "data" })).0, Finding::Good);
        assert_eq!(executed(&json!({ "outcome": "success", "value": 1 })).0, Finding::Missing);
        assert_eq!(executed(&json!({ "outcome": "refused", "message": "no" })).0, Finding::Missing);
        assert_eq!(executed(&json!({ "outcome": "done" })).0, Finding::Wrong);
    }
}
