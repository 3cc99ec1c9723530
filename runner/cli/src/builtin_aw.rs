//! The references of `aw-provider` as targets of this program: `builtin:aw-provider` and `builtin:aw-admission` in this
//! process, `builtin:aw-host` as a program that starts others; each with `-core` from before the level `text_replacement`.

use cetp_reference::aw::switches::Switches;
use cetp_reference::aw::{admission, policy};
use cetp_runner::adapter::{Adapter, RpcError};
use cetp_runner::exchange::Ended;
use cetp_runner::guard::{Exit, Program};
use cetp_runner::inprocess::{Host, InProcessAdapter, LocalError, LocalTarget};
use cetp_runner::limits::Limits;
use cetp_runner::profile::Profile;
use cetp_runner::spawn::SpawnAdapter;
use cetp_vectors::aw;
use cetp_vectors::ledger::Role;
use cetp_vectors::parse::aw::SCENARIO_FEATURES;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

/// The names after `builtin:`.
pub const NAMES: &[&str] =
    &["aw-provider", "aw-provider-core", "aw-host", "aw-host-core", "aw-admission", "aw-admission-core"];

/// The side that a target of a name plays.
pub fn role(name: &str) -> Option<Role> {
    let base = name.split('+').next().unwrap_or_default();
    let base = base.trim_end_matches("-core");
    [("aw-provider", Role::Provider), ("aw-host", Role::Host), ("aw-admission", Role::Admission)]
        .into_iter()
        .find(|(known, _)| *known == base)
        .map(|(_, role)| role)
}

/// The target of a name, with switches. `executable` is this program.
///
/// # Errors
/// There is no such switch.
pub fn open(name: &str, switches: &[&str], limits: Limits, executable: &Path) -> Result<Box<dyn Adapter>, String> {
    let role = role(name).ok_or_else(|| format!("there is no built-in target {name:?}; there are {NAMES:?}"))?;
    let core_only = name.ends_with("-core");
    let set = Switches::from_names(switches).map_err(|error| error.to_string())?;
    let profile = profile(role, core_only)?;
    let description = profile.describe(name, env!("CARGO_PKG_VERSION"));
    Ok(match role {
        Role::Host => Box::new(host(name, switches, limits, executable, profile)),
        Role::Admission => {
            let options = admission::Options { core_only, switches: set };
            local(limits, description, move |verb, params| {
                (verb == "aw.admit").then(|| admission::decide(params, options))
            })
        }
        _ => {
            let options = policy::Options { core_only, switches: set };
            local(limits, description, move |verb, params| (verb == "aw.spawn").then(|| spawn(params, options)))
        }
    })
}

type Handle = dyn Fn(&str, &Json) -> Option<Json> + Send + Sync;

struct Local {
    description: Json,
    handle: std::sync::Arc<Handle>,
}

impl LocalTarget for Local {
    fn handle(&self, _number: u64, verb: &str, params: &Json, _host: &dyn Host) -> Result<Json, LocalError> {
        match verb {
            "target.describe" => Ok(self.description.clone()),
            "target.reset" => Ok(json!({ "now_ms": params["now_ms"] })),
            "target.shutdown" => Ok(json!({})),
            _ => (self.handle)(verb, params).ok_or_else(|| {
                let message = format!("there is no verb {verb:?}");
                LocalError::Rpc(RpcError { code: RpcError::NO_SUCH_VERB, message })
            }),
        }
    }
}

fn local(
    limits: Limits,
    description: Json,
    handle: impl Fn(&str, &Json) -> Option<Json> + Send + Sync + 'static,
) -> Box<dyn Adapter> {
    let handle: std::sync::Arc<Handle> = std::sync::Arc::new(handle);
    Box::new(InProcessAdapter::new(limits, move || {
        Ok(Box::new(Local { description: description.clone(), handle: std::sync::Arc::clone(&handle) }))
    }))
}

/// One exchange with the policy provider, told as the adapter for programs tells it.
fn spawn(params: &Json, options: policy::Options) -> Json {
    let stdin = aw::json_to_bytes(&params["stdin"]).unwrap_or_default();
    let served = policy::serve(&stdin, options);
    let flooded = (served.stdout.len() > aw::MESSAGE_BYTES).then_some("stdout");
    let ended = !served.lives_on && !served.hangs && flooded.is_none();
    // What is written while nobody reads fits into a pipe; what is written after the end does not.
    let paused_at = params["pause_after"].as_u64().and_then(|n| usize::try_from(n).ok());
    let read = stdin.len() - served.unread;
    let refused = served.unread > 0 && paused_at.is_some_and(|at| at >= read);
    let mut result = Ended {
        exit: ended.then_some(Exit::Code(served.exit)),
        stdout_bytes: served.stdout.len() as u64,
        stdout: served.stdout,
        stderr_bytes: served.stderr.len() as u64,
        stderr: served.stderr.into_bytes(),
        held: if served.held { vec!["stdout"] } else { Vec::new() },
        timed_out: !ended && flooded.is_none(),
        flooded,
        stdin: (stdin.len(), if refused { paused_at.unwrap_or(0) } else { stdin.len() }),
        refused,
        ms: 0,
        exit_ms: ended.then_some(0),
    }
    .to_json();
    if params["watch"] == true {
        result["changed"] = json!(served.wrote);
    }
    result
}

fn host(name: &str, switches: &[&str], limits: Limits, executable: &Path, profile: Profile) -> SpawnAdapter {
    let mut command = vec![executable.display().to_string(), "reference".to_owned(), "aw-host".to_owned()];
    command.push("{scenario}".into());
    if name.ends_with("-core") {
        command.push("--core".into());
    }
    command.extend(switches.iter().flat_map(|name| ["--switch".to_owned(), (*name).to_owned()]));
    // A scenario waits for deadlines more than once.
    let limits = Limits { verb_ms: limits.verb_ms.max(60_000) + cetp_runner::spawn::AFTERMATH_MS, ..limits };
    SpawnAdapter {
        name: name.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program: Program { command, directory: std::env::temp_dir(), environment: Vec::new() },
        profile,
        limits,
        guard: PathBuf::from(executable),
    }
}

/// What the references can be asked.
///
/// # Errors
/// The profile is none, which a test excludes.
pub fn profile(role: Role, core_only: bool) -> Result<Profile, String> {
    let mut json = match role {
        Role::Provider => provider_profile(),
        Role::Host => json!({ "features": SCENARIO_FEATURES }),
        _ => json!({}),
    };
    if core_only {
        if let Json::Object(members) = &mut json {
            members.remove("replaces");
        }
        if let Some(Json::Object(config)) = json.get_mut("good_config") {
            config.remove("redact");
        }
    } else {
        json["levels"] = json!(["text_replacement"]);
    }
    Profile::from_json(role, &json)
}

fn provider_profile() -> Json {
    let tool = |name: &str, native: &str| json!({ "name": name, "native_name": native, "input": { "path": "/tmp/x" } });
    let read_file = |result: Json| {
        let mut tool = tool("file_read", "ReadFile");
        tool["result"] = result;
        tool
    };
    let mut replaced = read_file(json!("the password is hunter2"));
    replaced["result_projection"] =
        json!({ "text": "the password is hunter2", "status": "ok", "content_origin": "tool" });
    json!({
        "good_config": { "blocked_tools": ["DeleteFile"], "redact": ["hunter2"] },
        "bad_configs": [
            {},
            { "blocked_tools": "DeleteFile" },
            { "blocked_tools": [1] },
            { "blocked_tools": [], "unknown": true },
        ],
        "blocks": { "operation": "check", "event": { "tool": tool("delete", "DeleteFile") } },
        "passes": { "operation": "check", "event": { "tool": tool("file_read", "ReadFile") } },
        "after": { "operation": "record", "event": { "tool": read_file(json!({ "text": "hello" })) } },
        "replaces": { "operation": "redact", "event": { "tool": replaced } },
        "fails": { "operation": "check", "config": { "blocked_tools": [], "rules_file": "/nonexistent/rules" } },
    })
}
