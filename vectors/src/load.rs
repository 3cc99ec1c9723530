//! Finding and reading the vectors. The main type is [`Catalogue`].
//!
//! The vectors, ledgers and shared rules are embedded in the program; a folder can take their place. Every file of a
//! folder is either read by a rule of [`kind_of`] or refused: a misspelt name must not make a vector disappear.

use crate::contract::Contract;
use crate::expr::sha256_hex;
use crate::fixture;
use crate::json::{JsonError, Limits, items_of, parse, parse_without};
use crate::ledger::{Ledger, Role};
use crate::model::Vector;
use crate::parse::{self, Context, Fault, Part, Rules};
use crate::reader::{Reader, Unread};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// Every embedded file: its path in the vectors' folder, and its text.
pub static EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Everything that can be run, and what it refers to.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// The requirements.
    pub ledger: Ledger,
    /// The vectors, sorted by id.
    pub vectors: Vec<Vector>,
    /// SHA-256 over the names and contents of all files, in lowercase hex: what a report names as the suite's content.
    pub sha256: String,
    /// Pure tables, by file: cases that a unit test in any language can loop over.
    pub tables: BTreeMap<String, Json>,
}

/// Faults of files, each with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct LoadError(pub Vec<(String, Fault)>);

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// More would scroll the first away, which is the one to begin with.
        const MOST: usize = 20;
        for (n, (file, fault)) in self.0.iter().take(MOST).enumerate() {
            let line_end = if n == 0 { "" } else { "\n" };
            let place = if fault.pointer.is_empty() { String::new() } else { format!(" at {}", fault.pointer) };
            write!(f, "{line_end}{file}{place}: {}", fault.message)?;
        }
        if self.0.len() > MOST {
            write!(f, "\n… and {} more", self.0.len() - MOST)?;
        }
        Ok(())
    }
}

/// What a file in a vectors' folder is, by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A requirement ledger.
    Ledger,
    /// The rules by which tool contracts are audited.
    Contract,
    /// The fixture's tools or callers.
    Fixture,
    /// A JSON Schema of one of the formats.
    Schema,
    /// What vectors are generated from.
    Catalogue,
    /// Shared expectations of a suite.
    Rules(String),
    /// Vectors of a suite for a role.
    Vectors(String, Role),
    /// A table of a suite.
    Table(String),
    /// The source of this crate, which lies in the same folder.
    Source,
}

/// How much is read of the files.
#[derive(Clone, Copy, Debug)]
enum Extent<'e> {
    /// Everything.
    Whole,
    /// What vectors are about.
    Heads,
    /// What vectors are about, no tables, and what it takes to read those of a suite for a role whole when they are to run.
    Side(&'e str, Role),
}

impl Extent<'_> {
    /// How much of vectors is read now.
    fn part(self) -> Part {
        match self {
            Extent::Whole => Part::Whole,
            Extent::Heads | Extent::Side(..) => Part::Head,
        }
    }

    /// The JSON of a file of vectors, as far as it is read.
    fn parse(self, text: &[u8]) -> Result<Json, JsonError> {
        match self {
            Extent::Whole => parse(text, Limits::TEXT),
            // The members of a vector lie at this level: /vectors/0/steps.
            Extent::Heads | Extent::Side(..) => parse_without(text, Limits::TEXT, 3, &["steps", "providers"]),
        }
    }

    /// Whether a file is read at all. What nobody needs to run vectors takes many times its text while it is read.
    fn reads(self, kind: Option<&FileKind>) -> bool {
        match (self, kind) {
            (Extent::Side(suite, _), Some(FileKind::Rules(of))) => suite == of,
            (Extent::Side(..), kind) => matches!(kind, Some(FileKind::Vectors(..))),
            _ => true,
        }
    }
}

const NOTHING: &str = "belongs to nothing: see docs/vector-format.md for the folders";

/// The suites that there are.
pub const SUITES: [&str; 2] = ["cetp-v2", "aw-provider-v1alpha1"];

/// Decides by its path what a file is; nothing for a file that belongs to nothing.
pub fn kind_of(path: &str) -> Option<FileKind> {
    let parts: Vec<&str> = path.split('/').collect();
    let json = path.ends_with(".json");
    match parts.as_slice() {
        ["Cargo.toml" | "build.rs" | "README.md"] | ["src" | "tests" | "benches", ..] => Some(FileKind::Source),
        ["requirements", "tool-contract.json"] => Some(FileKind::Contract),
        ["requirements", _] if json => Some(FileKind::Ledger),
        ["fixture", "fixture-tools.json" | "callers.json"] => Some(FileKind::Fixture),
        ["schemas", ..] if json => Some(FileKind::Schema),
        ["catalogue", _] if json => Some(FileKind::Catalogue),
        [suite, "rules.json"] if SUITES.contains(suite) => Some(FileKind::Rules((*suite).to_owned())),
        [suite, "tables", _] if SUITES.contains(suite) && json => Some(FileKind::Table((*suite).to_owned())),
        [suite, role, _, ..] if SUITES.contains(suite) && json => {
            Some(FileKind::Vectors((*suite).to_owned(), Role::from_name(role)?))
        }
        _ => None,
    }
}

impl Catalogue {
    /// The vectors that are part of the program.
    ///
    /// # Panics
    /// When they are broken, which a test excludes.
    pub fn embedded() -> Catalogue {
        Catalogue::unbroken(Extent::Whole)
    }

    /// The vectors that are part of the program, for a run of a suite against a target of a role: these are read whole when
    /// they run ([`Vector::whole`]), the vectors of others have no steps, none has its source, and there are no tables. All of
    /// it as values would take many times the text.
    ///
    /// # Panics
    /// When they are broken, which a test excludes.
    pub fn embedded_for(suite: &str, role: Role) -> Catalogue {
        Catalogue::unbroken(Extent::Side(suite, role))
    }

    fn unbroken(extent: Extent<'_>) -> Catalogue {
        match Catalogue::parts(embedded_files(), BTreeMap::new(), extent) {
            Ok(catalogue) => catalogue,
            Err(error) => panic!("the embedded vectors are broken:\n{error}"),
        }
    }

    /// What each vector is about, without what it does: for lists and selections, which need no more. The vectors have no
    /// steps; faults in steps are not found. Those of a folder or file, or the embedded ones.
    ///
    /// # Errors
    /// Every fault of every file, except in steps.
    pub fn heads(path: Option<&Path>) -> Result<Catalogue, LoadError> {
        match path {
            None => Catalogue::parts(embedded_files(), BTreeMap::new(), Extent::Heads),
            Some(path) => Catalogue::path_parts(path, Extent::Heads),
        }
    }

    /// The vectors of a folder, or of one file of vectors. Ledgers, fixture and shared rules that it does not have are
    /// the embedded ones.
    ///
    /// # Errors
    /// Every fault of every file.
    pub fn from_path(path: &Path) -> Result<Catalogue, LoadError> {
        Catalogue::path_parts(path, Extent::Whole)
    }

    fn path_parts(path: &Path, extent: Extent<'_>) -> Result<Catalogue, LoadError> {
        let mut files = Files::new();
        let mut known = BTreeMap::new();
        let mut faults = Vec::new();
        let whole = |file: String, message: String| (file, Fault { pointer: String::new(), message });
        if path.is_file() {
            match std::fs::read(path) {
                Ok(text) => {
                    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    placed(&name, text, extent, &mut files, &mut known);
                }
                Err(error) => faults.push(whole(path.display().to_string(), error.to_string())),
            }
        } else {
            for entry in walkdir::WalkDir::new(path).sort_by_file_name() {
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) => {
                        faults.push(whole(path.display().to_string(), error.to_string()));
                        continue;
                    }
                };
                if entry.file_type().is_dir() {
                    continue;
                }
                let relative = entry.path().strip_prefix(path).unwrap_or(entry.path());
                let name = relative.components().map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
                if name.starts_with('.') {
                    continue;
                }
                match kind_of(&name) {
                    None => faults.push(whole(name, NOTHING.into())),
                    // In the folder of this crate; elsewhere such a folder is a mistake.
                    Some(FileKind::Source) if path.join("build.rs").is_file() => {}
                    Some(FileKind::Source) => faults.push(whole(name, NOTHING.into())),
                    Some(_) => match std::fs::read(entry.path()) {
                        Ok(text) => {
                            files.insert(name, Cow::Owned(text));
                        }
                        Err(error) => faults.push(whole(name, error.to_string())),
                    },
                }
            }
        }
        if !files.keys().any(|name| matches!(kind_of(name), Some(FileKind::Vectors(..)))) && faults.is_empty() {
            faults.push(whole(path.display().to_string(), "holds no vectors".into()));
        }
        for (name, text) in EMBEDDED {
            let shared = matches!(kind_of(name), Some(FileKind::Ledger | FileKind::Fixture | FileKind::Rules(_)));
            if shared && !files.contains_key(*name) {
                files.insert((*name).to_owned(), Cow::Borrowed(text.as_bytes()));
            }
        }
        match Catalogue::parts(files, known, extent) {
            Ok(catalogue) if faults.is_empty() => Ok(catalogue),
            Ok(_) => Err(LoadError(faults)),
            Err(LoadError(more)) => {
                faults.extend(more);
                faults.sort();
                Err(LoadError(faults))
            }
        }
    }

    /// Reads files, given by path and content.
    ///
    /// # Errors
    /// Every fault of every file.
    pub fn from_files(files: BTreeMap<String, Vec<u8>>) -> Result<Catalogue, LoadError> {
        let files = files.into_iter().map(|(name, text)| (name, Cow::Owned(text))).collect();
        Catalogue::parts(files, BTreeMap::new(), Extent::Whole)
    }

    /// `known` is what of the files has been read already.
    fn parts(files: Files, mut known: BTreeMap<String, Json>, extent: Extent<'_>) -> Result<Catalogue, LoadError> {
        let mut faults: Vec<(String, Fault)> = Vec::new();
        let mut ledger = Ledger::default();
        for (name, text) in files.iter().filter(|(name, _)| kind_of(name) == Some(FileKind::Ledger)) {
            if let Err(message) = ledger.add(&String::from_utf8_lossy(text)) {
                faults.push((name.clone(), Fault { pointer: String::new(), message }));
            }
        }
        let mut rules: BTreeMap<String, Arc<Rules>> = BTreeMap::new();
        let mut read = |name: &String, text: &[u8], faults: &mut Vec<(String, Fault)>| {
            let value = known.remove(name).map_or_else(
                || match kind_of(name) {
                    Some(FileKind::Vectors(..)) => extent.parse(text),
                    _ => parse(text, Limits::TEXT),
                },
                Ok,
            );
            let told = |error: JsonError| {
                faults.push((name.clone(), Fault { pointer: error.pointer.clone(), message: error.to_string() }));
            };
            value.map_err(told).ok()
        };
        for (name, text) in &files {
            let kind = kind_of(name);
            if let (Some(FileKind::Rules(suite)), true) = (&kind, extent.reads(kind.as_ref())) {
                let Some(value) = read(name, text, &mut faults) else { continue };
                match parse::rules(value, &ledger, suite) {
                    Ok(read) => {
                        rules.insert(suite.clone(), Arc::new(read));
                    }
                    Err(list) => faults.extend(list.into_iter().map(|fault| (name.clone(), fault))),
                }
            }
        }
        let callers = fixture::caller_names();
        let no_rules = Arc::default();
        let reader = match extent {
            Extent::Side(suite, _) => {
                let rules = rules.get(suite).unwrap_or(&no_rules);
                Some(Arc::new(Reader::with(suite, ledger.clone(), Arc::clone(rules))))
            }
            _ => None,
        };
        let mut vectors: Vec<Vector> = Vec::new();
        let mut tables = BTreeMap::new();
        // One after the other: as values, all files together take many times their text.
        for (name, text) in &files {
            let kind = kind_of(name);
            if matches!(kind, Some(FileKind::Rules(_))) || !extent.reads(kind.as_ref()) {
                continue;
            }
            let Some(value) = read(name, text, &mut faults) else { continue };
            match kind {
                Some(FileKind::Vectors(suite, role)) => {
                    let rules = rules.get(&suite).unwrap_or(&no_rules);
                    let part = extent.part();
                    let context = Context { ledger: &ledger, rules, callers: &callers, file: name, part };
                    let side = matches!(extent, Extent::Side(s, r) if s == suite && r == role);
                    match parse::vectors(value, &context) {
                        Ok(mut list) => {
                            if let (true, Some(reader), Cow::Borrowed(text)) = (side, &reader, text) {
                                let texts = str::from_utf8(text).ok().and_then(|text| items_of(text, "vectors"));
                                for (vector, text) in list.iter_mut().zip(texts.expect("it has been read")) {
                                    vector.unread = Some(Unread::new(text, Arc::clone(reader)));
                                }
                            }
                            for (n, vector) in list.iter().enumerate() {
                                if vector.suite != suite || vector.role != role {
                                    let message = format!("lies in the folder of {suite}, {}", role.name());
                                    faults.push((name.clone(), Fault { pointer: format!("/vectors/{n}"), message }));
                                }
                            }
                            vectors.extend(list);
                        }
                        Err(list) => faults.extend(list.into_iter().map(|fault| (name.clone(), fault))),
                    }
                }
                Some(FileKind::Table(_)) => {
                    tables.insert(name.clone(), value);
                }
                Some(FileKind::Contract) => {
                    if let Err(message) = Contract::from_json(value) {
                        faults.push((name.clone(), Fault { pointer: String::new(), message }));
                    }
                }
                Some(_) => {}
                None => {
                    faults.push((name.clone(), Fault { pointer: String::new(), message: NOTHING.into() }));
                }
            }
        }
        vectors.sort_by(|a, b| a.id.cmp(&b.id));
        for pair in vectors.windows(2).filter(|pair| pair[0].id == pair[1].id) {
            let message = format!("the id {} also occurs in {}", pair[1].id, pair[0].file);
            faults.push((pair[1].file.clone(), Fault { pointer: String::new(), message }));
        }
        if !faults.is_empty() {
            faults.sort();
            return Err(LoadError(faults));
        }
        let sha256 = digest(files.iter().map(|(name, text)| (name.as_str(), text.as_ref())));
        Ok(Catalogue { ledger, vectors, sha256, tables })
    }

    /// Whether these are exactly the vectors that the program brings: only they carry a claim.
    pub fn is_official(&self) -> bool {
        static OFFICIAL: LazyLock<String> =
            LazyLock::new(|| digest(EMBEDDED.iter().map(|(name, text)| (*name, text.as_bytes()))));
        self.sha256 == *OFFICIAL
    }

    /// The vector of an id.
    pub fn get(&self, id: &str) -> Option<&Vector> {
        let place = self.vectors.binary_search_by(|v| v.id.as_str().cmp(id)).ok()?;
        Some(&self.vectors[place])
    }
}

/// Files by path; those of this program are not copied.
type Files = BTreeMap<String, Cow<'static, [u8]>>;

fn embedded_files() -> Files {
    EMBEDDED.iter().map(|(path, text)| ((*path).to_owned(), Cow::Borrowed(text.as_bytes()))).collect()
}

fn digest<'f>(files: impl Iterator<Item = (&'f str, &'f [u8])>) -> String {
    let listing: String = files.map(|(name, text)| format!("{} {name}\n", sha256_hex(text))).collect();
    sha256_hex(listing.as_bytes())
}

/// A single file says itself where it belongs, its vectors by role; one that does not is refused by the reader, wherever
/// it is put.
fn placed(name: &str, text: Vec<u8>, extent: Extent<'_>, files: &mut Files, known: &mut BTreeMap<String, Json>) {
    let json = extent.parse(&text).ok();
    let member = |name: &str| json.as_ref().and_then(|json| json.get(name));
    let suite = member("suite").and_then(Json::as_str).filter(|s| SUITES.contains(s)).unwrap_or(SUITES[0]).to_owned();
    let role_of = |vector: &Json| vector["role"].as_str().and_then(Role::from_name).unwrap_or(Role::Provider);
    let mut roles: Vec<Role> = member("vectors").and_then(Json::as_array).into_iter().flatten().map(role_of).collect();
    roles.sort();
    roles.dedup();
    let place = |role: &Role| format!("{suite}/{}/{name}", role.name());
    if roles.len() < 2 {
        let place = roles.first().map_or_else(|| place(&Role::Provider), place);
        known.extend(json.map(|json| (place.clone(), json)));
        files.insert(place, Cow::Owned(text));
        return;
    }
    // What is left out of heads belongs to the text.
    let json = if matches!(extent, Extent::Whole) { json } else { parse(&text, Limits::TEXT).ok() };
    for role in &roles {
        let mut json = json.clone().unwrap_or_default();
        if let Some(Json::Array(vectors)) = json.get_mut("vectors") {
            vectors.retain(|vector| role_of(vector) == *role);
        }
        files.insert(place(role), Cow::Owned(json.to_string().into_bytes()));
        known.insert(place(role), json);
    }
}
