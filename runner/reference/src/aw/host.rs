//! A host: prepares the providers of a configuration, then carries out events with them. The main function is [`run`], which
//! takes a scenario and gives the host's account of it; [`Host`] is the host itself.
//!
//! | step | text |
//! |---|---|
//! | preflight | "Host 在启动任何 Provider 前运行预检" |
//! | each enabled provider: `describe`, `validate_config` | "所有启用的结构化 Provider 仍须 … 提供发现证据和精确的配置校验证据" |
//! | admission | "准入逐项确认 …" |
//! | each event, each step in order | selectors, request, process, response, candidate effects or failure |

use super::admission::{Candidate, Capabilities, Evidence, Rejection, admit, preflight};
use super::config::{Configuration, Provider};
use super::host_faults as faults;
use super::message::{API_VERSION, Layer, Refused, Reply, Request, Rules, bind_invocation, check_response};
use super::process::{self, Failure, Terms};
use super::switches::{Fault, Leeway, Switches};
use cetp_vectors::aw::MESSAGE_BYTES;
use cetp_vectors::expr::sha256_hex;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time for an event whose configuration says nothing.
const EVENT_BUDGET: Duration = Duration::from_secs(10);

/// Time for `describe` and for `validate_config` where the provider has no limit of its own.
const PREPARATION: Duration = Duration::from_secs(10);

/// Standard error is for people: so much of it is read, and more is a failure.
const STDERR_BYTES: usize = 256 << 10;

/// How the host is built.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// From before the level `text_replacement`.
    pub core_only: bool,
    /// How it is broken or bent.
    pub switches: Switches,
}

/// A host whose providers are prepared.
pub struct Host {
    adapter: String,
    binding_id: String,
    events: Vec<(String, Option<u64>)>,
    selectors: Vec<(String, super::selector::Selectors)>,
    steps: Vec<(Candidate, Provider, Vec<Json>)>,
    place: Place,
    revision: String,
    options: Options,
    calls: u64,
    /// Earlier requests, which only a faulty host remembers.
    sent: Vec<Json>,
}

/// Where and with what providers run: "Environment and cwd are explicit; nothing inherited".
#[derive(Clone, Debug)]
pub struct Place {
    /// The folder.
    pub directory: PathBuf,
    /// The whole environment.
    pub environment: Vec<(String, String)>,
}

/// What became of one step.
pub(super) enum Outcome {
    Success(Vec<Json>),
    Failure { message: String, error_code: Option<String> },
    Skipped,
}

/// Runs a scenario; the account is what `docs/aw-provider.md` describes.
pub fn run(scenario: &Json, options: Options) -> Json {
    let unprepared = |reason: &str| json!({ "prepared": false, "reason": reason, "events": [] });
    let path = scenario["config_file"].as_str().unwrap_or_default();
    let Ok(bytes) = std::fs::read(path) else { return unprepared("the configuration cannot be read") };
    let Ok(json) = cetp_vectors::json::parse(&bytes, cetp_vectors::json::Limits::TEXT) else {
        return unprepared("the configuration is no JSON");
    };
    let config = match Configuration::from_json(&json, super::admission::bends(options.core_only, options.switches)) {
        Ok(config) => config,
        Err(why) => return unprepared(why),
    };
    let environment = scenario["environment"].as_object().into_iter().flatten();
    let place = Place {
        directory: scenario["directory"].as_str().unwrap_or_default().into(),
        environment: environment.map(|(k, v)| (k.clone(), v.as_str().unwrap_or_default().to_owned())).collect(),
    };
    let target = scenario["target"].as_str().unwrap_or_default();
    let capabilities = Capabilities::from_json(&scenario["capabilities"]);
    // "config_revision 调用方精确配置文档的 SHA-256": of the bytes, not of the value.
    let revision = if options.switches.broken(Fault::RevisionOfValue) {
        sha256_hex(json.to_string().as_bytes())
    } else {
        sha256_hex(&bytes)
    };
    let mut host = match Host::prepare(&config, target, &capabilities, place, revision, options) {
        Ok(host) => host,
        Err(Unprepared(reason)) => return unprepared(&reason),
    };
    let events = scenario["events"].as_array().into_iter().flatten();
    json!({ "prepared": true, "events": events.map(|event| host.handle(event)).collect::<Vec<_>>() })
}

/// Why there is no host.
struct Unprepared(String);

impl From<Rejection> for Unprepared {
    fn from(rejection: Rejection) -> Unprepared {
        Unprepared(rejection.reason.to_owned())
    }
}

impl Host {
    /// Checks the configuration, asks every enabled provider, and admits what may be run. Any failure means no host.
    fn prepare(
        config: &Configuration,
        target: &str,
        capabilities: &Capabilities,
        place: Place,
        revision: String,
        options: Options,
    ) -> Result<Host, Unprepared> {
        let switches = options.switches;
        let admission = super::admission::Options { core_only: options.core_only, switches };
        let candidates = preflight(config, target, capabilities, admission);
        let candidates = match candidates {
            Err(rejection) if !switches.broken(Fault::PreflightLast) => return Err(rejection.into()),
            other => other.unwrap_or_default(),
        };
        let mut wanted: Vec<String> = Vec::new();
        for candidate in &candidates {
            if !wanted.contains(&candidate.step.provider) || switches.broken(Fault::PreparedPerStep) {
                wanted.push(candidate.step.provider.clone());
            }
        }
        if switches.broken(Fault::DisabledPrepared) || switches.broken(Fault::PreflightLast) {
            let all = config.providers.iter().map(|(id, _)| id.clone());
            wanted.extend(all.filter(|id| !wanted.contains(id)).collect::<Vec<_>>());
        }
        let known = config.target(target);
        let mut host = Host {
            adapter: known.map(|target| target.adapter.clone()).unwrap_or_default(),
            binding_id: known.map(|target| target.binding_id.clone()).unwrap_or_default(),
            events: config.events.iter().map(|event| (event.name.clone(), event.budget_ms)).collect(),
            selectors: config.events.iter().map(|event| (event.name.clone(), event.selectors.clone())).collect(),
            steps: Vec::new(),
            place,
            revision,
            options,
            calls: 0,
            sent: Vec::new(),
        };
        let mut evidence: Vec<(String, Evidence)> = Vec::new();
        for id in &wanted {
            let Some(provider) = config.provider(id) else { continue };
            match host.discover(provider) {
                Ok(found) => evidence.push((id.clone(), found)),
                Err(_) if switches.broken(Fault::PreparationOptional) => {}
                Err(_) if switches.broken(Fault::FirstPreparedAnyway) && wanted.first() == Some(id) => {
                    let validated_config = provider.config.clone();
                    evidence.push((id.clone(), Evidence { operations: faults::usual_operations(), validated_config }));
                }
                Err(why) => return Err(Unprepared(why)),
            }
        }
        let find = |id: &str| evidence.iter().find(|(known, _)| known == id).map(|(_, evidence)| evidence.clone());
        let admitted = match admit(config, target, capabilities, &find, admission) {
            Ok(admitted) => admitted,
            Err(_) if switches.broken(Fault::PreparationOptional) => {
                candidates.into_iter().filter(|candidate| find(&candidate.step.provider).is_some()).collect()
            }
            Err(rejection) => return Err(rejection.into()),
        };
        for candidate in admitted {
            if let Some(provider) = config.provider(&candidate.step.provider) {
                let operations = find(&candidate.step.provider).map(|e| e.operations).unwrap_or_default();
                host.steps.push((candidate, provider.clone(), operations));
            }
        }
        Ok(host)
    }

    /// What a provider says of itself, and that it accepts its configuration.
    fn discover(&mut self, provider: &Provider) -> Result<Evidence, String> {
        let validate = |host: &mut Host| match host
            .ask(provider, json!({ "method": "validate_config", "config": provider.config }))
        {
            Ok(Reply::Configuration) => Ok(()),
            Ok(_) => Err("validate_config brought something else".to_owned()),
            Err(refused) => Err(format!("validate_config: {refused}")),
        };
        if self.options.switches.broken(Fault::ValidatedFirst) {
            validate(self)?;
        }
        let operations = match self.ask(provider, json!({ "method": "describe" })) {
            Ok(Reply::Description(operations)) => operations,
            Ok(_) => return Err("describe brought something else".into()),
            Err(refused) => return Err(format!("describe: {refused}")),
        };
        if !self.options.switches.broken(Fault::ValidatedFirst) {
            validate(self)?;
        }
        Ok(Evidence { operations, validated_config: provider.config.clone() })
    }

    /// A call of the preparation.
    fn ask(&mut self, provider: &Provider, mut request: Json) -> Result<Reply, Refused> {
        request["api_version"] = json!(API_VERSION);
        request["request_id"] = json!(self.next_id());
        let request = faults::checked(request, self.rules(), self.options.switches)?;
        let limit = provider.timeout_ms.map_or(PREPARATION, Duration::from_millis).min(PREPARATION);
        self.exchange(provider, &request, Instant::now() + limit, None)
    }

    fn rules(&self) -> Rules {
        Rules { text_replacement: !self.options.core_only, digest: true }
    }

    /// "调用方分配 ID": one for each call.
    fn next_id(&mut self) -> String {
        self.calls += 1;
        faults::id(self.calls, self.options.switches)
    }

    /// Carries out one event; "handled" with its steps, or "refused" as it is not this host's.
    fn handle(&mut self, event: &Json) -> Json {
        let switches = self.options.switches;
        let begun = Instant::now();
        let agent = &event["agent"];
        let others_adapter = agent["adapter"] != *self.adapter && !switches.broken(Fault::AdapterUnchecked);
        let others_binding = agent["binding_id"] != *self.binding_id && !switches.broken(Fault::BindingUnchecked);
        if others_adapter || others_binding {
            return json!({ "outcome": "refused", "blocks": false, "message": "the event is of another binding", "steps": [] });
        }
        let name = event["name"].as_str().unwrap_or_default();
        let budget = self.events.iter().find(|(known, _)| known == name).and_then(|(_, budget)| *budget);
        let mut limit = budget.map_or(EVENT_BUDGET, Duration::from_millis);
        if switches.broken(Fault::EventBudgetIgnored) {
            limit = EVENT_BUDGET;
        }
        if let Some(ms) = event["deadline_ms"].as_u64().filter(|_| !switches.broken(Fault::CallerDeadlineIgnored)) {
            limit = limit.min(Duration::from_millis(ms));
        }
        let cancel = event["cancel_after_ms"].as_u64().map(|ms| begun + Duration::from_millis(ms));
        let mine: Vec<_> = self.steps.iter().filter(|(candidate, ..)| candidate.event == name).cloned().collect();
        let mut account = Vec::new();
        let (mut blocks, mut granted) = (false, false);
        for (candidate, provider, operations) in &mine {
            let step = &candidate.step;
            let until = if switches.broken(Fault::StepsStartAnew) { Instant::now() } else { begun } + limit;
            let mut outcome = self.step(event, candidate, (provider, operations.as_slice()), until, cancel);
            if faults::retried(&outcome, switches) {
                outcome = self.step(event, candidate, (provider, operations.as_slice()), begun + limit, cancel);
            }
            let mut row = json!({ "step": step.id });
            match outcome {
                Outcome::Success(effects) => {
                    row["outcome"] = json!("success");
                    row["effects"] = faults::told(effects, switches);
                }
                Outcome::Failure { .. } if switches.broken(Fault::OptionalNeverFails) && !step.required => {
                    row["outcome"] = json!("success");
                    row["effects"] = json!([]);
                }
                Outcome::Skipped => row["outcome"] = json!("skipped"),
                Outcome::Failure { message, error_code } => {
                    row["outcome"] = json!("failure");
                    // What is done about it is told apart, and is nobody's policy.
                    row["action"] = json!(step.on_error);
                    row["message"] = json!(message);
                    if switches.broken(Fault::InputShown) {
                        row["message"] = json!(format!("{message}, with {}", event["tool"]["input"]));
                    }
                    if let Some(code) = error_code {
                        row["error_code"] = json!(code);
                    }
                }
            }
            faults::tell(&mut row, switches);
            let requested = faults::blocks(&row, switches);
            blocks = if switches.broken(Fault::LastStepBlocks) { requested } else { blocks | requested };
            granted |= faults::grants(&row, switches);
            account.push(row);
            if blocks && switches.leeway(Leeway::StopsAfterBlock) {
                break;
            }
        }
        let mut event = json!({ "outcome": "handled", "blocks": blocks, "granted": granted, "steps": account });
        if switches.broken(Fault::EmptyGrants) && !blocks {
            event["granted"] = json!(true);
        }
        event
    }

    fn step(
        &mut self,
        event: &Json,
        candidate: &Candidate,
        (provider, operations): (&Provider, &[Json]),
        mut deadline: Instant,
        cancel: Option<Instant>,
    ) -> Outcome {
        let switches = self.options.switches;
        let step = &candidate.step;
        let tool = &event["tool"];
        let names = (tool["name"].as_str().unwrap_or_default(), tool["native_name"].as_str().unwrap_or_default());
        let of_event = self.selectors.iter().find(|(known, _)| *known == candidate.event);
        let meant = step.selectors.match_tool(&self.adapter, names.0, names.1)
            && of_event.is_none_or(|(_, selectors)| selectors.match_tool(&self.adapter, names.0, names.1));
        if !meant && !switches.broken(Fault::SelectorsIgnored) && !switches.broken(Fault::SkippedIsCalled) {
            return Outcome::Skipped;
        }
        if let Some(ms) = provider.timeout_ms.filter(|_| !switches.broken(Fault::ProviderTimeoutIgnored)) {
            deadline = deadline.min(Instant::now() + Duration::from_millis(ms));
        }
        if switches.leeway(Leeway::EarlyDeadline) {
            deadline = deadline.checked_sub(Duration::from_millis(50)).unwrap_or(deadline);
        }
        let enforced = if switches.broken(Fault::EventTimeOnlyTold) {
            Instant::now() + provider.timeout_ms.map_or(EVENT_BUDGET, Duration::from_millis)
        } else {
            deadline
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return failure("the time is over");
        }
        // "剩余预算", rounded up to whole milliseconds; the deadline stays where it is.
        let mut budget_ms = u64::try_from(left.as_micros().div_ceil(1000)).unwrap_or(u64::MAX).max(1);
        if switches.broken(Fault::BudgetNotReduced) {
            let whole = self.events.iter().find(|(known, _)| *known == candidate.event).and_then(|(_, budget)| *budget);
            budget_ms = whole.unwrap_or(EVENT_BUDGET.as_millis() as u64);
        }
        if switches.broken(Fault::BudgetZero) {
            budget_ms = budget_ms / 1000 * 1000;
        }
        let unbound = json!({
            "api_version": API_VERSION,
            "method": "invoke",
            "request_id": self.next_id(),
            "operation": if switches.broken(Fault::StepIsOperation) { &step.id } else { &step.operation },
            "config": self.private(provider),
            "config_revision": self.revision,
            "budget_ms": budget_ms,
            "allowed_effects": faults::allowed(self.meant(step), operations, switches),
            "event": faults::seen(native_event(event, self.projects(step)), switches),
        });
        let request = match faults::unchecked(&unbound, switches) {
            Some(request) => Ok(request),
            None => bind_invocation(unbound, self.rules()),
        };
        let request = request.ok().filter(|request| !faults::too_long(request, switches));
        let Some(request) = request else { return failure("the event makes no request that may be sent") };
        let result = self.exchange(provider, &request, enforced, cancel);
        if !meant && switches.broken(Fault::SkippedIsCalled) {
            return Outcome::Skipped;
        }
        match result {
            Ok(Reply::Invocation(effects)) => Outcome::Success(effects),
            Ok(_) => failure("invoke brought something else"),
            // Shown without the provider's code and words, which are kept apart.
            Err(refused) => Outcome::Failure { message: refused.to_string(), error_code: refused.error_code },
        }
    }

    /// The private configuration that a provider is given.
    fn private<'p>(&'p self, provider: &'p Provider) -> &'p Json {
        let first = self.steps.first().filter(|_| self.options.switches.broken(Fault::FirstConfigForAll));
        first.map_or(&provider.config, |(_, provider, _)| &provider.config)
    }

    /// The step whose effects are allowed.
    fn meant<'s>(&'s self, step: &'s super::config::Step) -> &'s super::config::Step {
        let first = self.steps.first().filter(|_| self.options.switches.broken(Fault::FirstEffectsForAll));
        first.map_or(step, |(candidate, ..)| &candidate.step)
    }

    /// Whether a step is given the projection.
    fn projects(&self, step: &super::config::Step) -> bool {
        let replaces = step.effects.iter().any(|effect| effect == "replace_result");
        replaces || self.options.switches.broken(Fault::ProjectionForAll)
    }

    /// One process: a request in, a response out.
    fn exchange(
        &mut self,
        provider: &Provider,
        request: &Request,
        deadline: Instant,
        cancel: Option<Instant>,
    ) -> Result<Reply, Refused> {
        let switches = self.options.switches;
        let cap = provider.max_output_bytes.and_then(|n| usize::try_from(n).ok());
        let stdin = faults::written(request, switches);
        let terms = Terms {
            argv: &provider.argv,
            directory: &self.place.directory,
            environment: &self.place.environment,
            stdin: &stdin,
            deadline,
            cancel,
            stdout_bytes: cap.map_or(MESSAGE_BYTES, |cap| cap.min(MESSAGE_BYTES)),
            stderr_bytes: STDERR_BYTES,
        };
        let output = process::run(&terms, switches).map_err(not_run)?;
        let read = faults::read(request, &output, self.rules(), &self.sent, switches);
        if switches.broken(Fault::EarlierIdsAccepted) || switches.broken(Fault::EarlierDigestsAccepted) {
            self.sent.push(request.as_value().clone());
        }
        read.unwrap_or_else(|| check_response(request, &output, self.rules()))
    }
}

fn not_run(failure: Failure) -> Refused {
    Refused { layer: Layer::Process, what: failure.words(), error_code: None }
}

fn failure(message: &str) -> Outcome {
    Outcome::Failure { message: message.to_owned(), error_code: None }
}

/// The event as a request has it: every member there, "缺失的标识为 null", and before a tool runs no result.
fn native_event(event: &Json, replaces: bool) -> Json {
    let tool = &event["tool"];
    let mut out = json!({
        "name": event["name"],
        "agent": {
            "adapter": event["agent"]["adapter"],
            "binding_id": event["agent"]["binding_id"],
            "instance_id": event["agent"]["instance_id"],
        },
        "session_id": event["session_id"],
        "tool": {
            "name": tool["name"],
            "native_name": tool["native_name"],
            "call_id": tool["call_id"],
            "input": tool["input"],
            "result": if event["name"] == "tool.before" { &Json::Null } else { &tool["result"] },
        },
        "native": event["native"],
    });
    // "只有已准入的替换步骤获得可选投影，既有观察步骤保持原事件形态".
    if let Some(projection) = tool.get("result_projection").filter(|_| replaces) {
        out["tool"]["result_projection"] = projection.clone();
    }
    out
}
