//! Vectors from sequences of actions. The main type is [`Script`].
//!
//! Every action becomes a step with the expectations that the model's answer means, and the ledger is looked at in the end.

use super::action::{Action, CALLERS, Content, Lapse, Naming, Point, REQUESTS, Token};
use super::answer::Answer;
use super::state::{Effects, End, Session, State};
use super::step::{Step, TOKEN_CODES, step};
use crate::load::EMBEDDED;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// A vector that grows.
#[derive(Clone, Debug, Default)]
pub struct Script {
    state: State,
    steps: Vec<Json>,
    about: Option<&'static str>,
    capabilities: BTreeSet<&'static str>,
    flags: BTreeSet<&'static str>,
    /// Repeats of executions that a crash cut, by execution: the names of their replies.
    retried: BTreeMap<usize, Vec<String>>,
    /// Executions whose operation works on by itself, so that what is told of them next is a matter of the moment.
    at_work: BTreeSet<usize>,
    count: usize,
    /// The versions that sessions offer, where it is not 2 alone.
    versions: Option<&'static [i32]>,
    /// The name of the reply in which the process should have died, where the call may have been executed before it, when the
    /// user approved it: then there is nothing to follow.
    cut: Option<String>,
}

/// The level of a requirement of CETP v2.
pub fn level(id: &str) -> Option<&'static str> {
    static LEVELS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
        let text = EMBEDDED.iter().find(|(name, _)| *name == "requirements/cetp-v2.json").map_or("", |(_, text)| text);
        let ledger: Json = serde_json::from_str(text).unwrap_or_default();
        let rows = ledger["requirements"].as_array().cloned().unwrap_or_default();
        rows.iter()
            .filter_map(|row| Some((row["id"].as_str()?.to_owned(), row["level"].as_str()?.to_owned())))
            .collect()
    });
    LEVELS.get(id).map(String::as_str)
}

/// A vector of a sequence of actions; nothing where the model does not follow one of them.
pub fn vector(id: &str, title: &str, actions: &[Action]) -> Option<Json> {
    let mut script = Script::default();
    for action in actions {
        script.act(*action)?;
    }
    Some(script.finish(id, title))
}

impl Script {
    /// With other versions in every negotiation.
    #[must_use]
    pub fn offering(mut self, versions: &'static [i32]) -> Script {
        self.versions = Some(versions);
        self
    }

    /// The state of the model.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Does an action; nothing where the model does not follow it.
    pub fn act(&mut self, action: Action) -> Option<Step> {
        let taken = step(&self.state, action)?;
        self.count += 1;
        self.about = Some(taken.about);
        let cut = self.cut.clone();
        let steps = self.render(action, &taken);
        self.extend(steps, cut.as_deref());
        self.follow_work(action, &taken);
        self.state = taken.next.clone();
        Some(taken)
    }

    fn extend(&mut self, steps: Vec<Json>, cut: Option<&str>) {
        for mut step in steps {
            if let Some(cut) = cut {
                let died = json!({ "that": format!("${{{cut}.exception}}"), "is": { "$any": true } });
                let also = step.get("when").cloned();
                step["when"] = also.map_or(died.clone(), |also| json!({ "all_of": [died, also] }));
            }
            self.steps.push(step);
        }
    }

    /// Which operations work on by themselves after an action; what is asked meanwhile may be answered so or so.
    fn follow_work(&mut self, action: Action, taken: &Step) {
        match (action, taken.answer) {
            (Action::Negotiate { .. }, _) => {}
            (Action::Poll { request, .. }, Answer::Until(_)) => {
                self.at_work.remove(&request);
            }
            (Action::Execute { request, content, .. }, Answer::Accepted) if content.tool.ends_by_itself() => {
                self.at_work.insert(request);
            }
            _ if self.at_work.is_empty() => {}
            _ => {
                self.flags.insert("race");
            }
        }
    }

    /// The callers negotiate anew, outside of the model: a provider may end the sessions that they had.
    pub fn forget_sessions(&mut self) {
        (0..CALLERS.len()).for_each(|caller| self.state.forget_sessions(caller));
    }

    /// Puts in steps of any caller, which negotiate anew and leave nothing else behind, and what they need beside the fixture.
    pub fn insert(
        &mut self,
        steps: Vec<Json>,
        capabilities: &[&'static str],
        flags: &[&'static str],
        about: &'static str,
    ) {
        self.forget_sessions();
        let cut = self.cut.clone();
        self.extend(steps, cut.as_deref());
        self.capabilities.extend(capabilities);
        self.flags.extend(flags);
        self.about = Some(about);
    }

    /// A number that no other call of this has given.
    pub fn number(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    /// The vector: the steps so far and a look at the ledger.
    pub fn finish(mut self, id: &str, title: &str) -> Json {
        let main = self.about.unwrap_or("CETP2-6-01");
        if !self.at_work.is_empty() {
            self.flags.insert("race");
        }
        let (ledger, cut) = (self.ledger(main), self.cut.clone());
        self.extend(ledger, cut.as_deref());
        let mut vector = assembled(id, title, main, &self.steps, &self.capabilities, &self.flags);
        if cut.is_some() {
            vector["may_not_arise"] = json!(
                "a provider may execute a call when the user approves it, before the process can die in the call that comes back"
            );
        }
        vector
    }

    fn render(&mut self, action: Action, taken: &Step) -> Vec<Json> {
        let about = taken.about;
        match action {
            Action::Negotiate { slot, caller, offer } => {
                self.capabilities.extend(offer.names());
                let granted = |name: &&str| json!({ "use": "granted", "with": { "capability": name } });
                let mut expect = vec![json!("negotiated")];
                expect.extend(offer.names().iter().map(granted));
                let mut call =
                    json!({ "call": "negotiate", "offer": offer.names(), "save": session(slot), "expect": expect });
                if let Some(versions) = self.versions {
                    call["extras"] = json!({ "consumer_versions": { "int_array": versions } });
                }
                by(&mut call, caller);
                vec![call]
            }
            Action::Execute { slot, request, content, token, late } => {
                let mut call = self.execution(slot, request, content, token);
                if late {
                    call["deadline_in_ms"] = json!(-1000);
                }
                self.execute(call, request, taken)
            }
            Action::Twins { slot, request, content, token, schedule } => {
                self.flags.insert("race");
                let mut call = self.execution(slot, request, content, token);
                let all = format!("all{}", self.count);
                call["save"] = json!(all);
                let each = match taken.answer {
                    Answer::TwoAccepted => json!({ "$each": { "status": "accepted" }, "$same": "data.operation_id" }),
                    Answer::TwoSuccesses { resumed: true } => json!({ "$some": { "status": "success" }, "$each": {
                        "$one_of": [{ "status": "success" }, { "error_code": { "$one_of": TOKEN_CODES } }] } }),
                    _ => json!({ "$each": { "status": "success" }, "$same": "data.value" }),
                };
                let one = json!({ "$at": { "from": { "$where": { "from": format!("${{{all}}}"),
                    "is": { "status": { "$one_of": ["success", "accepted"] } } } }, "index": 0 } });
                let name = if content.tool.is_job() { job(request) } else { done(request) };
                let rule = if content.tool.is_job() { "duplicates_held" } else { "duplicates_unasked" };
                let mut expect = vec![json!({ "requirement": about, "that": format!("${{{all}}}"), "is": each })];
                if !content.tool.asks() {
                    expect.insert(0, json!({ "use": rule, "with": { "replies": format!("${{{all}}}") } }));
                }
                vec![
                    json!({ "let": { "copies": { "$min": [format!("${{{}.data.limits.max_concurrent_requests}}", session(slot)), 2] } } }),
                    json!({ "parallel": [[call]], "copies": "${copies}", "schedule": schedule, "expect": expect }),
                    json!({ "let": { name: one } }),
                ]
            }
            Action::Pair { content, resumed, schedule } => self.pair(content, resumed, schedule, taken),
            Action::Steal { slot, content } => {
                let owner = self.state.sessions[slot].map_or(0, |session| session.caller);
                let mut call = self.execution(slot, 0, content, Token::None);
                call["request"] = json!(format!("taken{}", self.count));
                let thief = 1 - owner;
                call.as_object_mut().expect("an object").remove("as");
                by(&mut call, thief);
                call["expect"] = expectations(taken, 0, "");
                vec![call]
            }
            Action::Decide { request, decision } => vec![json!({ "control": "user", "with": {
                "pending_intent": format!("${{{}.resolution.id}}", question(request)), "decision": decision.name() } })],
            Action::Move { request, to } => vec![moved(request, to.name())],
            Action::Poll { slot, request, naming } => self.poll(slot, request, naming, taken),
            Action::Cancel { slot, request, naming } => {
                let mut call = self.of_operation("cancel_operation", slot, request, naming);
                call["expect"] = expectations(taken, request, "");
                vec![call]
            }
            Action::Race { slot, request, schedule } => {
                self.flags.insert("race");
                let mut call = self.of_operation("cancel_operation", slot, request, Naming::Right);
                call["expect"] = expectations(taken, request, "");
                vec![json!({ "parallel": [[call], [moved(request, "succeed")]], "schedule": schedule })]
            }
            Action::Arm { tool, point } => {
                let at = if point == Point::Reserve { "after_reserve" } else { "after_commit" };
                vec![json!({ "control": "fault", "with": { "at": at, "tool": tool.name() } })]
            }
            Action::Restart { kill } => {
                self.flags.insert("restart");
                vec![json!({ "control": "restart", "with": { "mode": if kill { "kill" } else { "stop" } } })]
            }
            Action::Wait(Lapse::Tokens) => {
                let over = json!({ "$add": ["${target.resume_ttl_ms}", 60_000] });
                // Where no question is open it is the window that counts, and that does not end.
                let open = self.state.has_open_question();
                vec![advanced(if open { over } else { json!({ "$max": [0, { "$min": [over, window_left()] }] }) })]
            }
            Action::Wait(Lapse::Window) => vec![advanced(json!({ "$max": [0, window_left()] }))],
            Action::Scope { caller, grant } => {
                let what = if grant { "grant" } else { "revoke" };
                vec![json!({ "control": "scopes", "with": { "caller": CALLERS[caller], what: ["fixture.write"] } })]
            }
        }
    }

    fn pair(&mut self, content: Content, resumed: bool, schedule: u8, taken: &Step) -> Vec<Json> {
        self.flags.insert("race");
        let slot = |caller: usize| {
            let mine = |session: &Option<Session>| session.is_some_and(|session| session.caller == caller);
            self.state.sessions.iter().position(mine).unwrap_or(0)
        };
        let tokens = if resumed { [Token::Own, Token::Of(0)] } else { [Token::None; 2] };
        let mut first = self.execution(slot(0), 0, content, tokens[0]);
        let mut second = self.execution(slot(1), 2, content, tokens[1]);
        (first["save"], second["save"]) = (json!(done(0)), json!(done(2)));
        // Who serves one call at a time may say so to the other (§6), which then comes again.
        let busy = ["RATE_LIMITED", "UNAVAILABLE"];
        let served = json!({ "that": "${reply.error_code}", "is": { "$optional": { "$not": { "$one_of": busy } } } });
        let about = taken.about;
        if resumed {
            // By the other's attempt the token may be spent.
            first["expect"] = json!([{ "requirement": about, "when": served, "is": { "bundle": { "$one_of": [
                { "status": { "string": "success" } },
                { "status": { "string": "error" }, "error_code": { "string": { "$one_of": TOKEN_CODES } } }] } } }]);
            second["expect"] = json!([
                { "use": "refused", "when": served, "with": { "requirement": about, "codes": TOKEN_CODES } },
                { "use": "discloses_nothing", "with": { "requirement": about } }]);
        } else {
            for call in [&mut first, &mut second] {
                call["expect"] = json!(["unasked",
                    { "requirement": about, "when": served, "that": "${reply.status}", "is": "success" }]);
            }
        }
        let again = |call: &Json, request: usize| {
            let code = format!("${{{}.error_code}}", done(request));
            json!({ "repeat": [call], "until": { "that": code, "is": { "$optional": { "$not": { "$one_of": busy } } } },
                    "when": { "that": code, "is": { "$one_of": busy } } })
        };
        let retries = [again(&first, 0), again(&second, 2)];
        let mut steps = vec![json!({ "parallel": [[first], [second]], "schedule": schedule })];
        steps.extend(retries);
        steps
    }

    fn execution(&self, slot: usize, request: usize, content: Content, token: Token) -> Json {
        let mut call = json!({
            "call": "execute_tool", "session": session(slot), "request": REQUESTS[request].1,
            "tool": content.tool.name(), "args": content.tool.args(content.variant),
        });
        by(&mut call, REQUESTS[request].0);
        match token {
            Token::None => {}
            Token::Own => call["resume"] = json!(question(request)),
            Token::Of(other) => call["resume"] = json!(question(other)),
            Token::Invented => call["extras"] = json!({ "resume_token": { "string": "a-token-that-nobody-gave" } }),
        }
        call
    }

    fn execute(&mut self, mut call: Json, request: usize, taken: &Step) -> Vec<Json> {
        let name = match taken.answer {
            Answer::Success => Some(done(request)),
            Answer::Question => Some(question(request)),
            Answer::Accepted => Some(job(request)),
            Answer::Anything => {
                let name = format!("retried{}", self.count);
                self.retried.entry(request).or_default().push(name.clone());
                Some(name)
            }
            Answer::Death => {
                self.flags.insert("restart");
                call["may_die"] = json!(true);
                call.get("resume").is_some().then(|| format!("cut{}", self.count))
            }
            _ => None,
        };
        if let Some(name) = &name {
            call["save"] = json!(name);
        }
        let mut expect = expectations(taken, request, &done(request));
        if taken.answer == Answer::Death && name.is_some() {
            let executed = json!({ "that": "${reply.data}", "is": { "kind": { "$any": true } } });
            expect = json!([{ "precondition": "the process should have died in this call, if the approval had not executed it already",
                "any_of": [{ "is": { "exception": { "class": "android.os.DeadObjectException" } } }, executed] }]);
            self.cut = name;
        }
        if expect.as_array().is_some_and(|list| !list.is_empty()) {
            call["expect"] = expect;
        }
        vec![call]
    }

    fn of_operation(&self, method: &str, slot: usize, request: usize, naming: Naming) -> Json {
        let name = format!("${{{}.data.operation_id}}", job(request));
        let operation = if naming == Naming::Unknown { "op-of-nobody".to_owned() } else { name };
        let request = if naming == Naming::OtherRequest { "another" } else { REQUESTS[request].1 };
        let mut call = json!({ "call": method, "session": session(slot), "request": request,
                               "extras": { "operation_id": { "string": operation } } });
        by(&mut call, self.state.sessions[slot].map_or(0, |session| session.caller));
        call
    }

    fn poll(&mut self, slot: usize, request: usize, naming: Naming, taken: &Step) -> Vec<Json> {
        let mut call = self.of_operation("get_operation", slot, request, naming);
        let (name, expect) = match taken.answer {
            Answer::Until(end) => (
                ended(request),
                match end {
                    End::Open => {
                        vec![json!({ "requirement": taken.about, "that": format!("${{{}.data.state}}", ended(request)),
                                          "is": { "$one_of": ["succeeded", "failed", "cancelled"] } })]
                    }
                    End::Succeeded => vec![
                        json!({ "requirement": "CETP2-4.4-12", "that": format!("${{{}.data.state}}", ended(request)), "is": { "$not": "cancelled" } }),
                        json!({ "precondition": "the job of the fixture should have ended so", "that": format!("${{{}.data.state}}", ended(request)), "is": "succeeded" }),
                        json!({ "requirement": taken.about, "that": format!("${{{}.data.result.kind}}", ended(request)), "is": { "$one_of": ["inline", "file"] } }),
                    ],
                    End::Failed => vec![
                        json!({ "precondition": "the job of the fixture should have ended so", "that": format!("${{{}.data.state}}", ended(request)), "is": "failed" }),
                        json!({ "requirement": taken.about, "that": format!("${{{}.data.error.error_code}}", ended(request)), "is": { "$type": "string" } }),
                    ],
                },
            ),
            Answer::UntilSame => {
                let name = format!("end{}", self.count);
                let first = ended(request);
                let path = |name: &str, rest: &str| format!("${{{name}.data.{rest}}}");
                let expect = vec![
                    json!({ "requirement": taken.about, "that": path(&name, "state"), "is": path(&first, "state") }),
                    json!({ "requirement": taken.about, "when": { "that": path(&first, "result.kind"), "is": "inline" },
                            "that": path(&name, "result.value"), "is": path(&first, "result.value") }),
                    json!({ "requirement": taken.about, "when": { "that": path(&first, "state"), "is": "failed" },
                            "that": path(&name, "error.error_code"), "is": path(&first, "error.error_code") }),
                ];
                (name, expect)
            }
            _ => {
                call["expect"] = expectations(taken, request, "");
                return vec![call];
            }
        };
        call["save"] = json!(name);
        call["expect"] = json!(["polled"]);
        vec![
            json!({ "repeat": [call], "until": { "that": format!("${{{name}.data.state}}"), "is": { "$one_of": ["succeeded", "failed", "cancelled"] } } }),
            json!({ "expect": expect }),
        ]
    }

    /// A look at the ledger of all callers.
    fn ledger(&self, about: &str) -> Vec<Json> {
        let uuid = |request: usize| format!("${{uuid.{}}}", REQUESTS[request].1);
        let of = |request: usize| {
            let content = self.state.records[request].map(|record| record.content);
            content.map_or(Json::Null, |content| {
                json!({ "request_id": uuid(request), "tool": content.tool.name(), "value": content.tool.entry(content.variant) })
            })
        };
        let mut exact = Vec::new();
        let mut expect = Vec::new();
        let mut open = false;
        // Executions of two callers have the same id: they are counted by id, tool and value, which may be the same.
        let mut kinds: BTreeMap<String, (Json, Vec<usize>)> = BTreeMap::new();
        for request in (0..REQUESTS.len()).filter(|n| self.state.records[*n].is_some()) {
            kinds.entry(of(request).to_string()).or_insert_with(|| (of(request), Vec::new())).1.push(request);
        }
        for (entry, requests) in kinds.values() {
            let (mut least, mut most) = (0, 0);
            for request in requests {
                let effects = self.state.records[*request].map(|record| record.phase.effects());
                match effects.unwrap_or(Effects::Exactly(0)) {
                    Effects::Exactly(n) => {
                        (least, most) = (least + n, most + n);
                        exact.extend(std::iter::repeat_n(entry.clone(), n));
                        continue;
                    }
                    Effects::AtMostOne => {}
                    Effects::AsTold => expect.extend(as_told(about, entry, *request, requests.len())),
                    Effects::AsAnswered => {
                        let answered = self.retried.get(request).map_or(&[][..], Vec::as_slice);
                        let any: Vec<Json> = answered
                            .iter()
                            .map(|name| json!({ "that": format!("${{{name}.status}}"), "is": "success" }))
                            .collect();
                        expect.push(json!({ "requirement": about, "when": { "any_of": any }, "that": "${reply.data.value.entries}",
                            "is": { "$tally": { "of": entry, "is": { "$gte": 1 } } } }));
                    }
                }
                most += 1;
                open = true;
            }
            expect.push(json!({ "requirement": about, "that": "${reply.data.value.entries}",
                "is": { "$tally": { "of": entry, "is": { "$gte": least, "$lte": most } } } }));
        }
        if open {
            let entries: Vec<&Json> = kinds.values().map(|(entry, _)| entry).collect();
            expect.push(json!({ "requirement": about, "that": "${reply.data.value.entries}", "is": { "$each": { "$one_of": entries } } }));
        } else {
            // Who works in the background decides when; the order among the others is known, but nothing asks for it.
            let list = if exact.is_empty() { json!([]) } else { json!({ "$bag": exact }) };
            expect = vec![json!({ "requirement": about, "that": "${reply.data.value.entries}", "is": list })];
        }
        let mut all = vec![json!("ledger_listed")];
        all.extend(expect);
        vec![
            json!({ "call": "negotiate", "offer": [], "save": "last", "expect": ["negotiated"] }),
            json!({ "call": "execute_tool", "session": "last", "tool": "fixture_ledger", "args": {}, "expect": all }),
        ]
    }
}

fn as_told(about: &str, entry: &Json, request: usize, sharing: usize) -> Vec<Json> {
    let when = |states: Json| json!({ "that": format!("${{{}.data.state}}", ended(request)), "is": states });
    let tally = |is: Json| json!({ "$tally": { "of": entry, "is": is } });
    let entries = "${reply.data.value.entries}";
    let mut out = vec![
        json!({ "requirement": about, "when": when(json!("succeeded")), "that": entries, "is": tally(json!({ "$gte": 1 })) }),
    ];
    if sharing == 1 {
        let none = when(json!({ "$one_of": ["failed", "cancelled"] }));
        out.push(json!({ "requirement": about, "when": none, "that": entries, "is": tally(json!(0)) }));
    }
    out
}

/// What an answer means for a single call.
fn expectations(taken: &Step, request: usize, stored: &str) -> Json {
    let about = taken.about;
    let state = || "${reply.data.state}";
    let inline = json!({ "that": "${reply.data.kind}", "is": "inline" });
    match taken.answer {
        Answer::Success if about == "CETP2-6-10" => json!(["not_busy",
            { "requirement": about, "that": "${reply.status}", "is": "success" },
            { "requirement": about, "when": inline, "that": "${reply.data.value.entry}", "is": { "$type": "integer" } }]),
        // With large_results any result may be a file; without, the rules for every call forbid it.
        Answer::Success => json!(["done",
            { "requirement": "CETP2-4.2-01", "when": inline, "that": "${reply.data.value}", "is": { "entry": { "$type": "integer", "$gte": 1 } } }]),
        Answer::Stored([]) => json!(["not_busy", { "requirement": about, "that": "${reply.status}", "is": "success" },
            { "requirement": about, "when": { "all_of": [inline, { "that": format!("${{{stored}.data.kind}}"), "is": "inline" }] },
              "that": "${reply.data.value}", "is": format!("${{{stored}.data.value}}") }]),
        Answer::Stored(codes) => json!(["not_busy", { "requirement": about, "any_of": [
            { "that": "${reply.data.value}", "is": format!("${{{stored}.data.value}}") },
            { "that": "${reply.data.kind}", "is": "file" },
            { "that": "${reply.error_code}", "is": { "$one_of": codes } }] }]),
        Answer::Question => json!(["awaits_user",
            { "requirement": about, "is": { "bundle": { "resolution": { "pending_intent": { "$any": true } }, "resume_token": { "string": { "$type": "string" } } } } }]),
        Answer::Refused(codes) => {
            let busy = codes.contains(&"UNAVAILABLE");
            let mut out = vec![
                json!({ "use": if busy { "refused" } else { "turned_down" }, "with": { "requirement": about, "codes": codes } }),
            ];
            out.push(json!({ "use": "discloses_nothing", "with": { "requirement": about } }));
            json!(out)
        }
        Answer::RefusedUnlessDone(codes) => json!(["not_busy", { "requirement": about, "any_of": [
            { "that": "${reply.error_code}", "is": { "$one_of": codes } },
            { "that": "${reply.data}", "is": { "kind": { "$any": true } } }] }]),
        Answer::AnyError => json!(["not_busy", { "use": "an_error", "with": { "requirement": about } }]),
        Answer::SuccessOr(codes) => json!(["not_busy", { "requirement": about, "is": { "bundle": { "$one_of": [
            { "status": { "string": "success" } },
            { "status": { "string": "error" }, "error_code": { "string": { "$one_of": codes } } }] } } }]),
        Answer::NotAccepted => {
            json!([{ "requirement": about, "that": "${reply.status}", "is": { "$not": "accepted" } }])
        }
        Answer::Accepted => json!(["accepted", { "requirement": about, "that": "${reply.status}", "is": "accepted" }]),
        Answer::SameOperation { asked } => {
            let mut ways = vec![json!({ "all_of": [{ "that": "${reply.status}", "is": "accepted" },
                { "that": "${reply.data.operation_id}", "is": format!("${{{}.data.operation_id}}", job(request)) }] })];
            if asked {
                ways.push(json!({ "that": "${reply.error_code}", "is": "CANCELLED" }));
            }
            json!(["not_busy", { "requirement": about, "any_of": ways }])
        }
        Answer::SameEnd => {
            json!(["not_busy", { "use": "same_operation", "with": { "job": job(request), "end": ended(request) } }])
        }
        Answer::Death => {
            json!([{ "precondition": "the process should have died in this call", "is": { "exception": { "class": "android.os.DeadObjectException" } } }])
        }
        Answer::State(states) => {
            json!(["not_busy", "polled", { "requirement": about, "that": state(), "is": { "$one_of": states } }])
        }
        Answer::Cancelling(states) => json!(["not_busy", { "requirement": about, "any_of": [
            { "that": "${reply.error_code}", "is": "CONFLICT" },
            { "all_of": [{ "that": "${reply.status}", "is": "success" }, { "that": state(), "is": { "$one_of": states } }] }] }]),
        Answer::CancelOfEnded => json!(["not_busy", { "requirement": about, "any_of": [
            { "that": "${reply.error_code}", "is": "CONFLICT" },
            { "all_of": [{ "that": "${reply.status}", "is": "success" },
                { "that": state(), "is": { "$one_of": ["cancellation_requested", format!("${{{}.data.state}}", ended(request))] } }] }] }]),
        Answer::Session
        | Answer::Obeyed
        | Answer::Anything
        | Answer::TwoSuccesses { .. }
        | Answer::TwoAccepted
        | Answer::EachForItself { .. }
        | Answer::Until(_)
        | Answer::UntilSame => json!([]),
    }
}

fn advanced(ms: Json) -> Json {
    json!({ "control": "clock", "with": { "advance_ms": ms } })
}

/// The time until a second before the window of what came first ends.
fn window_left() -> Json {
    json!({ "$sub": [{ "$add": ["${reset.now_ms}", 86_399_000] }, "${now}"] })
}

fn moved(request: usize, to: &str) -> Json {
    let operation = format!("${{{}.data.operation_id}}", job(request));
    json!({ "control": "operation", "with": { "operation_id": operation, "to": to } })
}

fn by(call: &mut Json, caller: usize) {
    if caller != 0 {
        call["as"] = json!(CALLERS[caller]);
    }
}

fn session(slot: usize) -> String {
    format!("s{slot}")
}

fn question(request: usize) -> String {
    format!("question{request}")
}

fn done(request: usize) -> String {
    format!("done{request}")
}

fn job(request: usize) -> String {
    format!("job{request}")
}

fn ended(request: usize) -> String {
    format!("ended{request}")
}

/// A vector with what its steps need, as the loader wants it stated.
pub fn assembled(
    id: &str,
    title: &str,
    main: &str,
    steps: &[Json],
    capabilities: &BTreeSet<&'static str>,
    flags: &BTreeSet<&'static str>,
) -> Json {
    let level = level(main).unwrap_or("core");
    let mut seen = Needs::default();
    steps.iter().for_each(|step| seen.look(step));
    let same_level = |id: &String| self::level(id) == Some(level);
    let mut requirements: Vec<String> = seen.requirements.into_iter().filter(same_level).collect();
    // What it is about first; the others are judged on the way.
    requirements.sort_by_key(|id| (id != main, id.clone()));
    let mut vector = json!({ "id": id, "title": title, "role": "provider", "level": level, "requirements": requirements, "steps": steps });
    let capabilities: Vec<&&str> = capabilities.iter().filter(|name| **name != level).collect();
    let lists = [
        ("capabilities", json!(capabilities)),
        ("needs", json!(seen.controls)),
        ("tools", json!(seen.tools)),
        ("flags", json!(flags)),
    ];
    for (name, list) in lists {
        if list.as_array().is_some_and(|list| !list.is_empty()) {
            vector[name] = list;
        }
    }
    vector
}

/// Controls and tools that steps use, and requirements that their expectations name.
#[derive(Default)]
struct Needs {
    controls: BTreeSet<String>,
    tools: BTreeSet<String>,
    requirements: BTreeSet<String>,
}

impl Needs {
    fn look(&mut self, json: &Json) {
        match json {
            Json::Array(items) => items.iter().for_each(|item| self.look(item)),
            Json::Object(members) => {
                for (name, value) in members {
                    let text = value.as_str().unwrap_or_default();
                    match name.as_str() {
                        "control" | "observe" => self.control(text),
                        "as" | "caller" if !matches!(text, "" | "a") => self.control("caller_identity"),
                        "tool"
                            if crate::fixture::tool(text).is_some()
                                && !members.contains_key("at")
                                && !members.contains_key("request_id") =>
                        {
                            self.tools.insert(text.to_owned());
                        }
                        "tool_name" => {
                            let tool = value["string"].as_str().filter(|name| crate::fixture::tool(name).is_some());
                            self.tools.extend(tool.map(str::to_owned));
                        }
                        "requirement" if text.starts_with("CETP2-") => self.require(text),
                        "breakdown" => self.require(text),
                        _ => {}
                    }
                    self.look(value);
                }
            }
            _ => {}
        }
    }

    fn require(&mut self, id: &str) {
        self.requirements.insert(id.to_owned());
    }

    fn control(&mut self, name: &str) {
        let control = match name {
            "user" => "user_decision",
            "operation" => "operations",
            "fault" => "faults",
            "manifest" | "memory" => return,
            name => name,
        };
        self.controls.insert(control.to_owned());
    }
}
