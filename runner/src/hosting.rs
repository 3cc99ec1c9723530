//! A scenario for a host of `aw-provider`: its files before the run, and what the scripted providers recorded after it. The
//! main type is [`Stage`].
//!
//! A stage is a folder of its own: `config.json` (the configuration), `scenario.json` (what the host is to do with it),
//! `scripts/`, `records/` and `work/` (the folder in which the host is to start its providers).

use crate::scripted::{self, ARGUMENT};
use cetp_vectors::expr::sha256_hex;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The value of `format` in a scenario.
pub const FORMAT: &str = "aw-host-scenario/1";

/// A variable in the environment of every host under test: a provider that sees it has inherited it.
pub const CANARY: (&str, &str) = ("AW_HOST_ONLY", "canary-5d1e");

/// How long a process that was killed may take to go, on a busy machine.
const GOING: Duration = Duration::from_secs(1);

/// A scenario on disk. Dropping it removes the folder.
pub struct Stage {
    folder: tempfile::TempDir,
    /// What is in `scenario.json`.
    pub scenario: Json,
    begun_ms: u64,
    /// The processes of scripted providers that were still there when the host had ended.
    alive: BTreeSet<i64>,
}

impl Stage {
    /// Writes the files of a scenario, from the parameters of `aw.host`. `program` is an executable that calls
    /// [`scripted::run_if_asked`].
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn set(params: &Json, program: &Path) -> io::Result<Stage> {
        let folder = tempfile::Builder::new().prefix("aw-host-").tempdir()?;
        let place = folder.path().canonicalize()?;
        for name in ["scripts", "records", "work"] {
            std::fs::create_dir(place.join(name))?;
        }
        // What a pattern in an argument would find.
        std::fs::write(place.join("work/present"), "")?;
        let mut scenario = params["scenario"].clone();
        let scripts = params["scripts"].as_object().cloned().unwrap_or_default();
        for (name, script) in &scripts {
            let file = place.join("scripts").join(format!("{name}.json"));
            std::fs::write(&file, script.to_string())?;
            let mut argv = vec![json!(program), json!(ARGUMENT), json!(file)];
            argv.extend(script["arguments"].as_array().into_iter().flatten().cloned());
            if let Some(provider) = scenario.pointer_mut(&format!("/config/providers/{name}")) {
                provider["transport"]["argv"] = Json::Array(argv);
            }
        }
        // Not the compact form: a revision is of these bytes and of no other form of the same value.
        let config = serde_json::to_string_pretty(&scenario["config"])? + "\n";
        let config_file = place.join("config.json");
        std::fs::write(&config_file, &config)?;
        let mut environment = Map::new();
        environment.extend(scenario["environment"].as_object().cloned().unwrap_or_default());
        scenario["format"] = json!(FORMAT);
        scenario["config_file"] = json!(config_file);
        scenario["directory"] = json!(place.join("work"));
        scenario["environment"] = Json::Object(environment);
        std::fs::write(place.join("scenario.json"), serde_json::to_string_pretty(&scenario)?)?;
        Ok(Stage { folder, scenario, begun_ms: scripted::now_ms(), alive: BTreeSet::new() })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file `scenario.json`.
    pub fn scenario_file(&self) -> PathBuf {
        self.folder().join("scenario.json")
    }

    /// The file `config.json`.
    pub fn config_file(&self) -> PathBuf {
        self.folder().join("config.json")
    }

    /// Notes which scripted providers and descendants are still there. To be called when the host has ended and nothing of
    /// it has been killed yet. Who was sent SIGKILL by a host that did not wait for it, as for a descendant it cannot, has a
    /// moment to go.
    pub fn look(&mut self) {
        let files = std::fs::read_dir(self.folder().join("records")).into_iter().flatten().flatten();
        let pids = files.filter_map(|entry| read_json(&entry.path())?["pid"].as_i64());
        self.alive = pids.filter(|pid| alive(*pid)).collect();
        let until = Instant::now() + GOING;
        while !self.alive.is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
            self.alive.retain(|pid| alive(*pid));
        }
    }

    /// What the result of `aw.host` says beside the host's own account. `config` is the file whose bytes are the
    /// configuration.
    pub fn result(&self, config: &Path) -> Json {
        let mut records: Vec<(PathBuf, Json)> = Vec::new();
        let mut descendants = Vec::new();
        for entry in std::fs::read_dir(self.folder().join("records")).into_iter().flatten().flatten() {
            let path = entry.path();
            let read = || read_json(&path);
            match path.extension().and_then(|e| e.to_str()) {
                Some("json") => records.extend(read().map(|json| (path.clone(), heard(json, &path)))),
                Some("child") => descendants.extend(read().map(|json| heard(json, &path))),
                _ => {}
            }
        }
        records.sort_by(|a, b| a.0.cmp(&b.0));
        let mut records: Vec<Json> = records.into_iter().map(|(_, json)| json).collect();
        for record in records.iter_mut().chain(&mut descendants) {
            record["alive"] = json!(record["pid"].as_i64().is_some_and(|pid| self.alive.contains(&pid)));
            for name in ["at_ms", "read_ms"] {
                if let Some(ms) = record[name].as_u64() {
                    record[name] = json!(ms.saturating_sub(self.begun_ms));
                }
            }
        }
        let program = self.scenario.pointer("/config/providers").and_then(Json::as_object);
        let commands: Map<String, Json> = program
            .into_iter()
            .flatten()
            .map(|(name, provider)| (name.clone(), provider["transport"]["argv"].clone()))
            .collect();
        let mut result = json!({
            "records": records,
            "descendants": descendants,
            "commands": commands,
            "directory": self.scenario["directory"],
        });
        if let Ok(bytes) = std::fs::read(config) {
            result["config_sha256"] = json!(sha256_hex(&bytes));
        }
        result
    }
}

/// A record with the signals that its process noted.
fn heard(mut record: Json, path: &Path) -> Json {
    let noted = std::fs::metadata(path.with_extension("term")).is_ok_and(|file| file.len() > 0);
    record["signals"] = if noted { json!([{ "name": "TERM" }]) } else { json!([]) };
    record
}

fn read_json(path: &Path) -> Option<Json> {
    serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
}

/// Whether a process is there and no zombie.
fn alive(pid: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}
