//! Targets of `aw-provider`: programs that are started once for each thing that they are asked. The main type is
//! [`SpawnAdapter`].
//!
//! A provider gets one message on its standard input, a host and an admission get their case as files or on standard input,
//! by a command template. Each runs under the same guard, one after the other, and nothing of one is left when the next
//! begins.

use crate::adapter::{Adapter, Fault, FaultKind, Incoming, RpcError, Session};
use crate::exchange::{Ended, Exchange, Terms};
use crate::guard::{Guard, Program};
use crate::hosting::{CANARY, Stage};
use crate::limits::Limits;
use crate::profile::Profile;
use cetp_vectors::aw;
use cetp_vectors::json::{Limits as JsonLimits, parse};
use cetp_vectors::ledger::Role;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Starts a program for each thing that a target is asked.
pub struct SpawnAdapter {
    /// Its name, for reports.
    pub name: String,
    /// Its version, for reports.
    pub version: String,
    /// The program: of a provider as it is started, else a template whose words may hold `{scenario}`, `{config}`,
    /// `{input}` and `{folder}`.
    pub program: Program,
    /// What can be asked.
    pub profile: Profile,
    /// Its limits; a process may take [`Limits::verb_ms`] less what the guard may take.
    pub limits: Limits,
    /// The executable that serves as guard, and as scripted provider.
    pub guard: PathBuf,
}

/// Above the time limit of a process, for ending it and reading what it left.
pub const AFTERMATH_MS: u64 = 15_000;

impl Adapter for SpawnAdapter {
    fn kind(&self) -> &'static str {
        "spawn"
    }

    fn start(&self) -> Result<Box<dyn Session>, Fault> {
        let guard = Guard::new(&self.guard).map_err(|error| start_fault(&self.program, &error))?;
        Ok(Box::new(SpawnSession {
            guard,
            name: self.name.clone(),
            version: self.version.clone(),
            program: self.program.clone(),
            profile: self.profile.clone(),
            limits: self.limits.clone(),
            executable: self.guard.clone(),
            waiting: VecDeque::new(),
            running: None,
            last_id: 0,
            said: Vec::new(),
        }))
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }
}

fn start_fault(program: &Program, error: &std::io::Error) -> Fault {
    let name = program.command.first().cloned().unwrap_or_default();
    Fault::new(FaultKind::Start, format!("the target {name:?} could not be started: {error}"))
}

struct SpawnSession {
    guard: Guard,
    name: String,
    version: String,
    program: Program,
    profile: Profile,
    limits: Limits,
    executable: PathBuf,
    waiting: VecDeque<(u64, String, Json)>,
    running: Option<Running>,
    last_id: u64,
    /// The end of what was written to standard error in the last exchanges.
    said: Vec<u8>,
}

struct Running {
    id: u64,
    exchange: Exchange,
    kind: Kind,
}

enum Kind {
    Provider { watched: Option<BTreeMap<PathBuf, (u64, SystemTime)>> },
    Host(Box<Stage>),
    Admission { _folder: tempfile::TempDir },
}

type Answer = Result<Json, RpcError>;

impl Session for SpawnSession {
    fn send(&mut self, verb: &str, params: &Json) -> Result<u64, Fault> {
        self.last_id += 1;
        self.waiting.push_back((self.last_id, verb.to_owned(), params.clone()));
        Ok(self.last_id)
    }

    fn receive(&mut self, limit: Duration) -> Result<Option<Incoming>, Fault> {
        let until = Instant::now() + limit;
        if self.running.is_none() {
            let Some((id, verb, params)) = self.waiting.pop_front() else {
                std::thread::sleep(limit);
                return Ok(None);
            };
            if let Some(result) = self.begin(id, &verb, &params)? {
                return Ok(Some(Incoming::Answer { id, result }));
            }
        }
        let Some(running) = &mut self.running else { return Ok(None) };
        let kind = &mut running.kind;
        let mut look = || {
            if let Kind::Host(stage) = kind {
                stage.look();
            }
        };
        let turned = running.exchange.turn(&mut self.guard, until, &mut look);
        let turned = turned.map_err(|error| Fault::new(FaultKind::Start, format!("the guard failed: {error}")))?;
        let Some(ended) = turned else { return Ok(None) };
        let Running { id, kind, .. } = self.running.take().expect("it ran");
        self.said.extend(&ended.stderr);
        let surplus = self.said.len().saturating_sub(self.limits.stderr_kept);
        self.said.drain(..surplus);
        Ok(Some(Incoming::Answer { id, result: self.result(&ended, kind) }))
    }

    fn answer(&mut self, _id: &Json, _result: Answer) -> Result<(), Fault> {
        Ok(())
    }

    fn settle(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn diagnostics(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.said)).into_owned()
    }

    fn end(mut self: Box<Self>) {
        self.guard.clear();
    }
}

impl SpawnSession {
    /// Begins with a request; its answer where that needs no process.
    fn begin(&mut self, id: u64, verb: &str, params: &Json) -> Result<Option<Answer>, Fault> {
        let role = self.profile.role;
        match (verb, role) {
            ("target.describe", _) => Ok(Some(Ok(self.profile.describe(&self.name, &self.version)))),
            ("target.reset", _) => Ok(Some(Ok(json!({ "now_ms": params["now_ms"] })))),
            ("target.shutdown", _) => Ok(Some(Ok(json!({})))),
            ("aw.spawn", Role::Provider) => self.provider(id, params).map(|()| None),
            ("aw.host", Role::Host) => self.host(id, params).map(|()| None),
            ("aw.admit", Role::Admission) => self.admission(id, params).map(|()| None),
            _ => Ok(Some(Err(RpcError {
                code: RpcError::NO_SUCH_VERB,
                message: format!("a {} has no verb {verb:?}", role.name()),
            }))),
        }
    }

    fn terms(&self, stdin: Vec<u8>, stdout_bytes: usize) -> Terms {
        Terms {
            stdin,
            pause: None,
            limit: Duration::from_millis(self.limits.verb_ms.saturating_sub(AFTERMATH_MS).max(1)),
            stdout_bytes,
            stderr_bytes: usize::try_from(self.limits.stderr_bytes).unwrap_or(usize::MAX),
            stderr_kept: self.limits.stderr_kept,
        }
    }

    fn run(&mut self, id: u64, program: &Program, terms: Terms, kind: Kind) -> Result<(), Fault> {
        let started = Exchange::start(&mut self.guard, program, terms);
        let exchange = started.map_err(|error| start_fault(program, &error))?;
        self.running = Some(Running { id, exchange, kind });
        Ok(())
    }

    fn provider(&mut self, id: u64, params: &Json) -> Result<(), Fault> {
        let stdin = aw::json_to_bytes(&params["stdin"]).map_err(|why| Fault::new(FaultKind::Garbage, why))?;
        let mut terms = self.terms(stdin, aw::MESSAGE_BYTES);
        if let Some(ms) = params["limit_ms"].as_u64() {
            terms.limit = terms.limit.min(Duration::from_millis(ms));
        }
        if let Some(after) = params["pause_after"].as_u64() {
            let pause = Duration::from_millis(params["pause_ms"].as_u64().unwrap_or(0));
            terms.pause = Some((usize::try_from(after).unwrap_or(usize::MAX), pause));
        }
        let watched = (params["watch"] == true).then(|| files(&self.program.directory));
        let program = self.program.clone();
        self.run(id, &program, terms, Kind::Provider { watched })
    }

    fn host(&mut self, id: u64, params: &Json) -> Result<(), Fault> {
        let failed =
            |error: std::io::Error| Fault::new(FaultKind::Start, format!("the scenario cannot be set: {error}"));
        let stage = Stage::set(params, &self.executable).map_err(failed)?;
        let words = [
            ("{scenario}", stage.scenario_file()),
            ("{config}", stage.config_file()),
            ("{folder}", stage.folder().to_owned()),
        ];
        let mut program = filled(&self.program, &words);
        program.environment.push((CANARY.0.to_owned(), CANARY.1.to_owned()));
        let terms = self.terms(Vec::new(), ACCOUNT_BYTES);
        self.run(id, &program, terms, Kind::Host(Box::new(stage)))
    }

    fn admission(&mut self, id: u64, params: &Json) -> Result<(), Fault> {
        let failed = |error: std::io::Error| Fault::new(FaultKind::Start, format!("the case cannot be set: {error}"));
        let folder = tempfile::Builder::new().prefix("aw-admission-").tempdir().map_err(failed)?;
        let input = folder.path().join("input.json");
        let text = params.to_string();
        std::fs::write(&input, &text).map_err(failed)?;
        let words = [("{input}", input), ("{folder}", folder.path().to_owned())];
        let program = filled(&self.program, &words);
        // Who does not read a file reads standard input.
        let terms = self.terms(text.into_bytes(), ACCOUNT_BYTES);
        self.run(id, &program, terms, Kind::Admission { _folder: folder })
    }

    fn result(&self, ended: &Ended, kind: Kind) -> Answer {
        match kind {
            Kind::Provider { watched } => {
                let mut result = ended.to_json();
                if let Some(before) = watched {
                    result["changed"] = json!(changes(&before, &files(&self.program.directory)));
                }
                Ok(result)
            }
            Kind::Host(stage) => {
                let config = match self.profile.account.pointers.get("config_file") {
                    Some(Json::String(name)) => stage.folder().join(name),
                    _ => stage.config_file(),
                };
                let mut result = stage.result(&config);
                let told = account(ended)?;
                let account = self.profile.account.host_account(&told);
                let cannot = |message: String| Err(RpcError { code: RpcError::CANNOT, message });
                // Without it nothing can be told of the host: that it is missing breaks no sentence.
                if !account["prepared"].is_boolean() {
                    let place = self.profile.account.pointers.get("prepared").unwrap_or(&json!("/prepared")).clone();
                    return cannot(format!(
                        "the account does not say whether there is a host: at {place} it has neither true nor false"
                    ));
                }
                if account["prepared"] == true && result.get("config_sha256").is_none() {
                    return cannot(format!("there is no file {}, which is the configuration", config.display()));
                }
                result["account"] = account;
                result["stderr"] = json!(String::from_utf8_lossy(&ended.stderr));
                Ok(result)
            }
            Kind::Admission { .. } => Ok(self.profile.account.admission_account(&account(ended)?)),
        }
    }
}

/// The largest account of a host or admission.
const ACCOUNT_BYTES: usize = 16 << 20;

/// What a host or admission printed. One that tells nothing that can be read is no verdict on anything.
fn account(ended: &Ended) -> Answer {
    let cannot = |message: String| Err(RpcError { code: RpcError::CANNOT, message });
    if ended.timed_out || ended.flooded.is_some() {
        return cannot("the command did not come to an end, or wrote without end".into());
    }
    match parse(&ended.stdout, JsonLimits::TEXT) {
        Ok(told @ Json::Object(_)) => Ok(told),
        Ok(_) => cannot("the command printed JSON that is no object".into()),
        Err(error) => cannot(format!("the command printed no account ({error})")),
    }
}

fn filled(program: &Program, words: &[(&str, PathBuf)]) -> Program {
    let fill =
        |word: &String| words.iter().fold(word.clone(), |w, (name, path)| w.replace(name, &path.to_string_lossy()));
    Program { command: program.command.iter().map(fill).collect(), ..program.clone() }
}

/// Files below a folder that are watched at most, and levels.
const MOST_FILES: usize = 5_000;
const MOST_LEVELS: usize = 4;

/// Size and time of every file below a folder, without what interpreters keep for themselves.
fn files(folder: &Path) -> BTreeMap<PathBuf, (u64, SystemTime)> {
    let mut out = BTreeMap::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, level)) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            let name = entry.file_name();
            let own = name == "__pycache__" || name == ".git" || name == "target" || name == "node_modules";
            if meta.is_dir() {
                if level < MOST_LEVELS && !own {
                    open.push((entry.path(), level + 1));
                }
            } else if out.len() < MOST_FILES {
                out.insert(entry.path(), (meta.len(), meta.modified().unwrap_or(SystemTime::UNIX_EPOCH)));
            }
        }
    }
    out
}

fn changes(before: &BTreeMap<PathBuf, (u64, SystemTime)>, after: &BTreeMap<PathBuf, (u64, SystemTime)>) -> Vec<String> {
    let mut changed: Vec<&PathBuf> =
        after.iter().filter(|(path, now)| before.get(*path) != Some(now)).map(|(p, _)| p).collect();
    changed.extend(before.keys().filter(|path| !after.contains_key(*path)));
    changed.into_iter().map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned()).collect()
}
