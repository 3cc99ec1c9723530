//! What of a configuration may be run. The main functions are [`preflight`], which asks nothing of any provider, and
//! [`admit`], which also looks at what the providers said.
//!
//! Both decide on data alone and start nothing. What they give back are candidates: no binding is installed, and nothing is
//! ready.

use super::config::{Configuration, Event, Step};
use super::selector::Bends;
use super::switches::{Fault, Leeway, Switches};
use cetp_vectors::expr::json_text;
use serde_json::{Map, Value as Json, json};

/// What the caller trusts the adapter to do; it comes from what was seen of the real runtime.
#[derive(Clone, Debug, PartialEq)]
pub struct Capabilities {
    /// The adapter.
    pub adapter: String,
    /// Its version.
    pub version: String,
    /// Where it is hooked in.
    pub entrypoint: String,
    /// The effects that it supports, by event.
    pub events: Map<String, Json>,
    /// What it can do when a step fails, by event, beside reporting and blocking.
    pub failure_actions: Map<String, Json>,
}

impl Capabilities {
    /// Reads them.
    pub fn from_json(json: &Json) -> Capabilities {
        let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
        let map = |name: &str| json[name].as_object().cloned().unwrap_or_default();
        Capabilities {
            adapter: text("adapter"),
            version: text("version"),
            entrypoint: text("entrypoint"),
            events: map("events"),
            failure_actions: map("failure_actions"),
        }
    }

    fn supports(&self, event: &str, effect: &str) -> bool {
        has(self.events.get(event), effect)
    }
}

fn has(list: Option<&Json>, word: &str) -> bool {
    list.and_then(Json::as_array).is_some_and(|list| list.iter().any(|known| known == word))
}

/// What is known of a provider: its description, and the configuration that it accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// The operations of its description.
    pub operations: Vec<Json>,
    /// The configuration that it validated, exactly.
    pub validated_config: Json,
}

/// A step that may be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The event.
    pub event: String,
    /// The step.
    pub step: Step,
}

/// A rejection: a code and our own words; nothing of the configuration is repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Which rule.
    pub reason: &'static str,
    /// The rule in words.
    pub message: String,
}

fn no<T>(reason: &'static str, message: &str) -> Result<T, Rejection> {
    Err(Rejection { reason, message: message.to_owned() })
}

/// How the admission is built.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// From before the level `text_replacement`.
    pub core_only: bool,
    /// How it is broken or bent.
    pub switches: Switches,
}

/// The pairs that this model can run: "`tool.before`：`observe`、`block`"; "`tool.after`：`observe`"; and with the level
/// `text_replacement` "`tool.after`：`replace_result`".
fn implemented(event: &str, effect: &str, options: Options) -> bool {
    match (event, effect) {
        ("tool.before", "observe" | "block") | ("tool.after", "observe") => true,
        ("tool.after", "replace_result") => !options.core_only,
        ("tool.before", "ask") => options.switches.broken(Fault::AskAdmitted),
        ("tool.after", "block") => options.switches.broken(Fault::BlockAfterAdmitted),
        _ => false,
    }
}

/// Checks what is enabled against the model and the adapter, before any provider is started.
///
/// # Errors
/// The first thing that cannot be run.
pub fn preflight(
    config: &Configuration,
    target: &str,
    capabilities: &Capabilities,
    options: Options,
) -> Result<Vec<Candidate>, Rejection> {
    let switches = options.switches;
    let broken = |fault| switches.broken(fault);
    let Some(known) = config
        .target(target)
        .or_else(|| broken(Fault::AnyTarget).then(|| config.targets.first().map(|(_, target)| target)).flatten())
    else {
        return no("unknown_target", "the configuration has no such target");
    };
    if known.adapter != capabilities.adapter && !broken(Fault::AdapterUncompared) {
        return no("other_adapter", "the evidence is of another adapter than the target's");
    }
    let blank = capabilities.version.trim().is_empty() || capabilities.entrypoint.trim().is_empty();
    if blank && !broken(Fault::BlankEvidence) {
        return no("blank_evidence", "the evidence names no version or no entrypoint");
    }
    for (event, effects) in &capabilities.events {
        let claims = effects.as_array().into_iter().flatten().filter_map(Json::as_str);
        let beyond = claims.into_iter().any(|effect| !implemented(event, effect, options));
        if (beyond || !["tool.before", "tool.after"].contains(&event.as_str())) && !broken(Fault::EvidenceUnchecked) {
            return no("evidence_beyond_model", "the evidence claims more than this model knows");
        }
    }
    if !config.guards.is_empty() && !broken(Fault::GuardsIgnored) {
        return no("guard", "guards are not implemented: the order of the last check cannot be kept");
    }
    let mut candidates = Vec::new();
    for event in config.events.iter().filter(|event| event.enabled) {
        candidates.extend(check_event(event, config, capabilities, options)?);
    }
    if broken(Fault::StepsSorted) {
        candidates.sort_by(|a, b| a.step.id.cmp(&b.step.id));
    }
    if switches.leeway(Leeway::EventsReversed) {
        candidates.sort_by(|a, b| b.event.cmp(&a.event));
    }
    Ok(candidates)
}

fn check_event(
    event: &Event,
    config: &Configuration,
    capabilities: &Capabilities,
    options: Options,
) -> Result<Vec<Candidate>, Rejection> {
    let broken = |fault| options.switches.broken(fault);
    if !["tool.before", "tool.after"].contains(&event.name.as_str()) {
        let optional = !event.steps.is_empty() && event.steps.iter().all(|step| !step.required);
        if optional && broken(Fault::OptionalEventDropped) || event.steps.is_empty() && broken(Fault::EmptyEventDropped)
        {
            return Ok(Vec::new());
        }
        return no("unsupported_event", "only tool.before and tool.after can be enabled");
    }
    if event.guarantee != "native_hook" && !broken(Fault::AnyGuarantee) {
        return no("guarantee", "no guarantee above native_hook is given");
    }
    let seen = capabilities.events.contains_key(&event.name);
    let passes = event.steps.iter().all(|step| !step.enabled) && broken(Fault::StepsDecideEvent);
    if !seen && !passes {
        return no("event_without_evidence", "the adapter's evidence does not have the event");
    }
    if broken(Fault::SelectorsRefused) && event.selectors != super::selector::Selectors::default() {
        return no("selectors", "selectors are refused");
    }
    let enabled: Vec<&Step> = event.steps.iter().filter(|step| step.enabled).collect();
    check_replacements(&enabled, options)?;
    let mut candidates = Vec::new();
    for step in enabled {
        check_step(step, event, config, capabilities, options)?;
        if step.kind == "structured" {
            candidates.push(Candidate { event: event.name.clone(), step: step.clone() });
        }
    }
    Ok(candidates)
}

/// "必须是事件最后一个启用步骤 … 第二个替换步骤或替换之后还有启用步骤时，准入会拒绝。布尔 Hook 不能请求该效果".
fn check_replacements(enabled: &[&Step], options: Options) -> Result<(), Rejection> {
    let broken = |fault| options.switches.broken(fault);
    let replaces = |step: &&&Step| step.effects.iter().any(|effect| effect == "replace_result");
    let count = enabled.iter().filter(replaces).count();
    if count > 1 && !broken(Fault::ReplaceTwice) {
        return no("second_replacement", "an event replaces its result once");
    }
    let last = enabled.last().is_some_and(|step| replaces(&step));
    if count > 0 && !last && !broken(Fault::ReplaceAnywhere) {
        return no("replacement_not_last", "replace_result belongs to the last enabled step");
    }
    if enabled.iter().filter(replaces).any(|step| step.kind != "structured") && !broken(Fault::ReplaceByHook) {
        return no("replacement_by_hook", "only a structured step may replace a result");
    }
    Ok(())
}

fn check_step(
    step: &Step,
    event: &Event,
    config: &Configuration,
    capabilities: &Capabilities,
    options: Options,
) -> Result<(), Rejection> {
    let broken = |fault| options.switches.broken(fault);
    // "所选操作和 Adapter 均支持全部请求效果时通过".
    for effect in &step.effects {
        if !implemented(&event.name, effect, options) {
            return no("unsupported_effect", "the model cannot run an effect on this event");
        }
        let unchecked =
            broken(Fault::AdapterEffectsUnchecked) || (effect == "replace_result" && broken(Fault::ReplaceUnsupported));
        if !capabilities.supports(&event.name, effect) && !unchecked {
            return no("effect_without_adapter", "the adapter does not support an effect on this event");
        }
    }
    check_on_error(step, event, capabilities, options)?;
    if step.kind != "structured" {
        return Ok(());
    }
    let Some(provider) = config.provider(&step.provider) else {
        return no("unknown_provider", "a step names a provider that is not configured");
    };
    // "当前传输模型要求 stdio 和 location: agent".
    if provider.transport != "stdio" && !broken(Fault::AnyTransport) {
        return no("transport", "only stdio is supported");
    }
    if provider.location != "agent" && !broken(Fault::AnyLocation) {
        return no("location", "only the location agent is supported");
    }
    if provider.protocol != super::message::API_VERSION && !broken(Fault::AnyProtocol) {
        return no("protocol", "the provider's protocol is unknown");
    }
    Ok(())
}

/// "工具执行前的 on_error 支持 report；Adapter 支持阻断时，也可以使用 block。工具执行后的失败支持 report；已准备的 Adapter
/// 显式声明该事件失败动作时，还支持 withhold_result。其他动作拒绝".
fn check_on_error(step: &Step, event: &Event, capabilities: &Capabilities, options: Options) -> Result<(), Rejection> {
    let broken = |fault| options.switches.broken(fault);
    let fits = match step.on_error.as_str() {
        "report" => true,
        "block" => {
            let before = event.name == "tool.before" && capabilities.supports("tool.before", "block");
            let wanted = !broken(Fault::BlockOnErrorNeedsEffect) || step.effects.iter().any(|effect| effect == "block");
            before && wanted || broken(Fault::BlockOnErrorAnywhere)
        }
        "withhold_result" => {
            let declared = has(capabilities.failure_actions.get(&event.name), "withhold_result");
            let after = event.name == "tool.after";
            after && (declared && !options.core_only || broken(Fault::WithholdUndeclared))
        }
        _ => broken(Fault::UnknownActionAdmitted),
    };
    if fits { Ok(()) } else { no("on_error", "this on_error is not supported on this event") }
}

/// Checks everything: [`preflight`], and for each step what its provider said. `evidence` gives it by provider id.
///
/// # Errors
/// The first thing that cannot be run.
pub fn admit(
    config: &Configuration,
    target: &str,
    capabilities: &Capabilities,
    evidence: &dyn Fn(&str) -> Option<Evidence>,
    options: Options,
) -> Result<Vec<Candidate>, Rejection> {
    let broken = |fault| options.switches.broken(fault);
    if broken(Fault::DisabledNeedEvidence) {
        let steps = config.events.iter().flat_map(|event| &event.steps);
        let unknown = |step: &&Step| step.kind == "structured" && evidence(&step.provider).is_none();
        if steps.filter(|step| !step.enabled).any(|step| unknown(&step)) {
            return no("no_evidence", "there is no evidence of a provider");
        }
    }
    let mut admitted = Vec::new();
    for mut candidate in preflight(config, target, capabilities, options)? {
        let Some(evidence) = evidence(&candidate.step.provider) else {
            if broken(Fault::EvidenceOptional) {
                continue;
            }
            return no("no_evidence", "there is no evidence of a provider");
        };
        let config = config.provider(&candidate.step.provider).map(|p| p.config.clone()).unwrap_or_default();
        // "与该 Provider 的精确私有配置一致": as texts, so that 1 and 1.0 differ.
        let same = json_text(&config) == json_text(&evidence.validated_config);
        let near = cetp_vectors::matching::equal(&config, &evidence.validated_config);
        let passes = broken(Fault::ConfigUncompared) || (near && broken(Fault::NumbersEqual));
        if !same && !passes {
            let message = "the provider validated another configuration";
            if broken(Fault::ReasonLeaks) {
                return no("other_config", &format!("{message} than {config}"));
            }
            return no("other_config", message);
        }
        let first_only = broken(Fault::FirstStepAdmitted) && !admitted.is_empty();
        if first_only || (broken(Fault::OptionalStepsAdmitted) && !candidate.step.required) {
            admitted.push(candidate);
            continue;
        }
        let step = &mut candidate.step;
        let named = |operation: &&Json| {
            let name = operation["name"].as_str().unwrap_or_default();
            let loose = broken(Fault::OperationCaseIgnored) && name.eq_ignore_ascii_case(&step.operation);
            name == step.operation || loose
        };
        let operation = evidence.operations.iter().find(named);
        let Some(operation) = operation else {
            if broken(Fault::OperationUnchecked) {
                admitted.push(candidate);
                continue;
            }
            return no("unknown_operation", "the provider does not declare the operation");
        };
        let any_event = broken(Fault::OperationEventUnchecked) || broken(Fault::EvidenceEventIgnored);
        if !has(operation.get("events"), &candidate.event) && !any_event {
            return no("operation_without_event", "the operation does not declare the event");
        }
        let lacks = |effect: &String| !has(operation.get("effects"), effect);
        if step.effects.iter().any(lacks) {
            if !broken(Fault::EffectsIntersected) {
                return no("operation_without_effect", "the operation does not declare an effect");
            }
            step.effects.retain(|effect| !lacks(effect));
        }
        admitted.push(candidate);
    }
    Ok(admitted)
}

/// How selectors are read under these options.
pub(super) fn bends(core_only: bool, switches: Switches) -> Bends {
    Bends {
        globs: switches.broken(Fault::GlobsAccepted),
        star_with_others: switches.broken(Fault::StarWithOthers),
        no_exact: core_only || switches.broken(Fault::ExactRefused),
    }
}

/// Answers one case of the suite: `config`, `target`, `capabilities`, and `evidence` by provider id, each with `operations`
/// and `validated_config`. Gives the [`account`].
pub fn decide(case: &Json, options: Options) -> Json {
    let mut case = case.clone();
    unchecked(&mut case, options.switches);
    let config = match Configuration::from_json(&case["config"], bends(options.core_only, options.switches)) {
        Ok(config) => config,
        Err(why) => return account(&no("configuration", why), options.switches),
    };
    let target = case["target"].as_str().unwrap_or_default();
    let evidence = |id: &str| {
        let found = case["evidence"].get(id)?;
        Some(Evidence {
            operations: found["operations"].as_array().cloned().unwrap_or_default(),
            validated_config: found["validated_config"].clone(),
        })
    };
    let capabilities = Capabilities::from_json(&case["capabilities"]);
    account(&admit(&config, target, &capabilities, &evidence, options), options.switches)
}

/// Takes away what an admission does not look at that is broken so.
fn unchecked(case: &mut Json, switches: Switches) {
    if switches.broken(Fault::EventSelectorsUnchecked)
        && let Some(Json::Object(events)) = case.pointer_mut("/config/events")
    {
        for event in events.values_mut().filter_map(Json::as_object_mut) {
            event.remove("match");
        }
    }
    if switches.broken(Fault::OptionalGuardsIgnored)
        && let Some(Json::Object(guards)) = case.pointer_mut("/config/guards")
    {
        guards.retain(|_, guard| guard["required"] != false);
    }
    if switches.broken(Fault::ValidationOptional) {
        let configured = case["config"]["providers"].clone();
        let Some(Json::Object(evidence)) = case.pointer_mut("/evidence") else { return };
        for (id, evidence) in evidence.iter_mut().filter(|(_, evidence)| evidence["validated_config"].is_null()) {
            evidence["validated_config"] = configured[id]["config"].clone();
        }
    }
}

/// The account of an admission.
pub fn account(result: &Result<Vec<Candidate>, Rejection>, switches: Switches) -> Json {
    match result {
        Ok(candidates) => {
            let row = |candidate: &Candidate| {
                let step = &candidate.step;
                json!({
                    "event": candidate.event, "step": step.id, "provider": step.provider,
                    "operation": step.operation, "effects": step.effects, "on_error": step.on_error,
                })
            };
            let mut account = json!({ "accepted": true, "steps": candidates.iter().map(row).collect::<Vec<_>>() });
            if switches.broken(Fault::TellsReady) {
                account["ready"] = json!(true);
            }
            account
        }
        Err(rejection) => {
            let reason = if switches.leeway(Leeway::OneReason) { "rejected" } else { rejection.reason };
            let mut account = json!({ "accepted": false, "reason": reason, "message": rejection.message });
            if switches.broken(Fault::NoReason) {
                account = json!({ "accepted": false, "reason": "", "message": "" });
            }
            account
        }
    }
}
