//! How a target is named on the command line. The main type is [`TargetFile`]; [`Opener`] makes an adapter of a name.
//!
//! `builtin:NAME` is a target that the program brings with it, `stdio:COMMAND` a command whose words are split as a shell
//! would split them, without a shell; anything else is the path of a TOML file.

use crate::adapter::Adapter;
use crate::adb::AdbAdapter;
use crate::adb::settings::{AndroidTable, Settings};
use crate::guard::Program;
use crate::limits::Limits;
use crate::profile::Profile;
use crate::protocol::Checker;
use crate::spawn::{AFTERMATH_MS, SpawnAdapter};
use crate::stdio::StdioAdapter;
use cetp_reports::redact::Redactor;
use cetp_vectors::ledger::Role;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A target file.
///
/// ```toml
/// name = "my-provider"
/// role = "provider"
/// adapter = "stdio"
/// command = ["python3", "provider.py"]
/// working_directory = "."        # relative to this file
/// subjects = ["provider.py"]     # what is under test: hashed into the report
/// secrets = ["API_TOKEN"]        # variables whose values are taken out of reports and messages
/// secret_files = ["token.txt"]   # files whose content is
/// [environment]
/// PYTHONDONTWRITEBYTECODE = "1"
/// [limits]
/// verb_ms = 20000
/// ```
///
/// A target of `aw-provider` has `adapter = "spawn"`, names its role, and has a `[profile]`; see `docs/aw-provider.md`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetFile {
    /// Name of the target, for people.
    pub name: String,
    /// The side that it plays where it can play both.
    pub role: Option<Role>,
    /// Which adapter reaches it.
    pub adapter: AdapterKind,
    /// Program and arguments; nothing with the adapter `adb`.
    #[serde(default)]
    pub command: Vec<String>,
    /// Where the program runs; the file's own folder where none is given.
    #[serde(default)]
    pub working_directory: PathBuf,
    /// Variables that are set for the program, beside those of the runner (its own, `CETP_…`, are never passed on).
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Limits that differ from the usual.
    #[serde(default)]
    pub limits: Limits,
    /// Its version, for people; used by the adapter `spawn`, whose targets cannot be asked.
    #[serde(default)]
    pub version: Option<String>,
    /// What a target of the adapter `spawn` can be asked; see [`Profile`].
    #[serde(default)]
    pub profile: Option<serde_json::Value>,
    /// The device and what to use on it, with the adapter `adb`.
    #[serde(default)]
    pub android: Option<AndroidTable>,
    /// Files that are under test, relative to this file; hashed into the report.
    #[serde(default)]
    pub subjects: Vec<PathBuf>,
    /// Names of environment variables, of this file or of the runner, whose values are secret.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// Files, relative to this file, whose content is secret; white space around it does not count.
    #[serde(default)]
    pub secret_files: Vec<PathBuf>,
}

impl TargetFile {
    /// Reads a target file; the folder that its paths are relative to comes with it.
    ///
    /// # Errors
    /// It cannot be read, or is no target file.
    pub fn read(path: &Path) -> Result<(TargetFile, PathBuf), OpenError> {
        let name = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| OpenError(format!("{name}: {error}")))?;
        let file = toml::from_str(&text).map_err(|error| OpenError(format!("{name}: {error}")))?;
        let folder = path.canonicalize().ok().and_then(|p| p.parent().map(Path::to_owned)).unwrap_or_default();
        Ok((file, folder))
    }

    /// What the adapter `adb` uses.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn settings(&self, folder: &Path) -> Result<Settings, String> {
        let table = self.android.as_ref().ok_or("there is no table [android]")?;
        if !self.command.is_empty() {
            return Err("adapter = \"adb\" starts no command".into());
        }
        let role = self.role.filter(|role| matches!(role, Role::Provider | Role::Consumer));
        let role = role.ok_or("role is provider or consumer with adapter = \"adb\"")?;
        Settings::new(table, role, folder, &|name| std::env::var(name).ok()).map_err(|error| error.message)
    }
}

/// Adapters that a target file can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdapterKind {
    /// A program that speaks the target protocol over standard input and output.
    Stdio,
    /// A program that is started once for each thing that it is asked (`aw-provider`).
    Spawn,
    /// The harness on an Android device.
    Adb,
}

/// A target that is ready to be started.
pub struct Target {
    /// Its name, for people.
    pub name: String,
    /// The side that it is to play, where that was said.
    pub role: Option<Role>,
    /// What reaches it.
    pub adapter: Box<dyn Adapter>,
    /// Files that are under test.
    pub subjects: Vec<PathBuf>,
    /// Takes the target's secrets out of what is told.
    pub redactor: Redactor,
}

/// A target that cannot be opened: the user's input is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OpenError(pub String);

/// Makes a built-in target of a name and of the executable that serves as guard, or says in a sentence why it cannot.
pub type Builtin = dyn Fn(&str, &Path) -> Result<Box<dyn Adapter>, String>;

/// How targets are opened.
pub struct Opener<'a> {
    /// The executable that serves as guard.
    pub guard: PathBuf,
    /// Whether every message is checked against the schemas.
    pub check_protocol: bool,
    /// Makes the targets that the program brings with it.
    pub builtin: &'a Builtin,
}

impl Opener<'_> {
    /// Opens a target by its name on the command line.
    ///
    /// # Errors
    /// A sentence that says what is wrong and what to do.
    pub fn open(&self, name: &str) -> Result<Target, OpenError> {
        if let Some(builtin) = name.strip_prefix("builtin:") {
            let adapter = (self.builtin)(builtin, &self.guard).map_err(OpenError)?;
            // It is part of this program.
            let subjects = std::env::current_exe().into_iter().collect();
            return Ok(Target { name: name.to_owned(), role: None, adapter, subjects, redactor: Redactor::default() });
        }
        if let Some(command) = name.strip_prefix("stdio:") {
            let words = shell_words::split(command)
                .map_err(|error| OpenError(format!("the command {command:?} cannot be split into words: {error}")))?;
            let directory = std::env::current_dir().map_err(|error| OpenError(error.to_string()))?;
            let subjects = subject_words(&words, &directory);
            let adapter = self.stdio(words, directory, &BTreeMap::new(), Limits::default())?;
            return Ok(Target { name: name.to_owned(), role: None, adapter, subjects, redactor: Redactor::default() });
        }
        let path = Path::new(name);
        let text = std::fs::read_to_string(path).map_err(|error| {
            OpenError(format!(
                "the target {name:?} is neither builtin:NAME nor stdio:COMMAND, and as a file it cannot be read: {error}"
            ))
        })?;
        let file: TargetFile = toml::from_str(&text).map_err(|error| OpenError(format!("{name}: {error}")))?;
        let folder = path.canonicalize().ok().and_then(|p| p.parent().map(Path::to_owned)).unwrap_or_default();
        let directory = folder.join(&file.working_directory);
        if !directory.is_dir() {
            return Err(OpenError(format!("{name}: working_directory {} is no folder", directory.display())));
        }
        let mut subjects: Vec<PathBuf> = file.subjects.iter().map(|subject| folder.join(subject)).collect();
        if let Some(missing) = subjects.iter().find(|subject| !subject.is_file()) {
            return Err(OpenError(format!("{name}: the subject {} is no file", missing.display())));
        }
        if subjects.is_empty() {
            subjects = subject_words(&file.command, &directory);
            // What is installed is what is tested.
            subjects.extend(file.android.iter().flat_map(|android| &android.apks).map(|apk| folder.join(apk)));
        }
        if subjects.is_empty() && file.android.is_some() {
            return Err(OpenError(format!(
                "{name}: nothing says what is tested: name its APK under apks, or as a subject"
            )));
        }
        let redactor = redactor(&file, &folder).map_err(|message| OpenError(format!("{name}: {message}")))?;
        if file.android.is_some() != (file.adapter == AdapterKind::Adb) {
            return Err(OpenError(format!("{name}: a table [android] and adapter = \"adb\" go together")));
        }
        let adapter = match file.adapter {
            AdapterKind::Stdio if file.profile.is_some() => {
                return Err(OpenError(format!("{name}: a profile goes with adapter = \"spawn\"")));
            }
            AdapterKind::Stdio => self.stdio(file.command, directory, &file.environment, file.limits)?,
            AdapterKind::Spawn => self.spawn(name, &file, directory)?,
            AdapterKind::Adb => {
                let settings = file.settings(&folder).map_err(|why| OpenError(format!("{name}: {why}")))?;
                let checker = self.check_protocol.then(|| Arc::new(Checker::new()));
                Box::new(AdbAdapter::new(settings, file.limits.clone(), checker))
            }
        };
        Ok(Target { name: file.name, role: file.role, adapter, subjects, redactor })
    }

    fn spawn(&self, name: &str, file: &TargetFile, directory: PathBuf) -> Result<Box<dyn Adapter>, OpenError> {
        let wrong = |why: String| OpenError(format!("{name}: {why}"));
        if file.command.is_empty() {
            return Err(wrong("the command of the target is empty".into()));
        }
        let role = file.role.filter(|role| matches!(role, Role::Provider | Role::Host | Role::Admission));
        let role = role.ok_or_else(|| wrong("role is provider, host or admission with adapter = \"spawn\"".into()))?;
        let json = file.profile.clone().unwrap_or_else(|| serde_json::json!({}));
        let profile = Profile::from_json(role, &json).map_err(|why| wrong(format!("profile: {why}")))?;
        // Its environment is what this file says, and what hardly any program can do without.
        let usual = USUAL_VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
        let mut environment: BTreeMap<String, String> = usual.collect();
        environment.extend(file.environment.clone());
        let mut limits = file.limits.clone();
        limits.verb_ms = limits.verb_ms.saturating_add(AFTERMATH_MS);
        Ok(Box::new(SpawnAdapter {
            name: file.name.clone(),
            version: file.version.clone().unwrap_or_else(|| "unknown".into()),
            program: Program {
                command: file.command.clone(),
                directory,
                environment: environment.into_iter().collect(),
            },
            profile,
            limits,
            guard: self.guard.clone(),
        }))
    }

    fn stdio(
        &self,
        command: Vec<String>,
        directory: PathBuf,
        set: &BTreeMap<String, String>,
        limits: Limits,
    ) -> Result<Box<dyn Adapter>, OpenError> {
        if command.is_empty() {
            return Err(OpenError("the command of the target is empty".into()));
        }
        // The suite's own variables hold its secrets.
        let mut environment: BTreeMap<String, String> =
            std::env::vars().filter(|(name, _)| !name.starts_with("CETP_")).collect();
        environment.extend(set.clone());
        Ok(Box::new(StdioAdapter {
            program: Program { command, directory, environment: environment.into_iter().collect() },
            limits,
            guard: self.guard.clone(),
            checker: self.check_protocol.then(|| Arc::new(Checker::new())),
        }))
    }
}

/// Variables that a program of the adapter `spawn` gets from the runner's environment.
const USUAL_VARIABLES: [&str; 6] = ["PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ"];

/// The secrets that a target file names. One that is not there is an error: a misspelt name would hide nothing.
fn redactor(file: &TargetFile, folder: &Path) -> Result<Redactor, String> {
    let mut secrets = Vec::new();
    for name in &file.secrets {
        let value = file.environment.get(name).cloned().or_else(|| std::env::var(name).ok());
        let value = value.ok_or_else(|| format!("secrets: there is no environment variable {name}"))?;
        secrets.push((name.clone(), value));
    }
    for path in &file.secret_files {
        let text = std::fs::read_to_string(folder.join(path))
            .map_err(|error| format!("secret_files: {}: {error}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        secrets.push((name, text.trim().to_owned()));
    }
    Redactor::new(secrets).map_err(|error| error.to_string())
}

/// The program and every word of a command that is a file.
fn subject_words(words: &[String], directory: &Path) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let find = |word: &String| {
        let here = directory.join(word);
        if here.is_file() {
            return Some(here);
        }
        if word.contains('/') {
            return None;
        }
        std::env::split_paths(&path).map(|folder| folder.join(word)).find(|file| file.is_file())
    };
    let program = words.first().and_then(find);
    program
        .into_iter()
        .chain(words.iter().skip(1).map(|word| directory.join(word)).filter(|file| file.is_file()))
        .collect()
}
