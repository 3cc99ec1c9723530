//! Vectors that are made and not written: each [`Generator`] is a function from a seed to files.
//!
//! What a generator is made from lies in `catalogue/` as data, and its files are committed like any other; a test proves
//! them fresh. `cetp-conformance vectors generate` writes them.

pub mod arguments;
mod aw_messages;
mod combinations;
pub mod instances;
mod layout;
mod malicious;
mod matrix;
mod messages;
mod model;
mod samples;
mod tables;

use crate::load::{EMBEDDED, SUITES};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Files by their path in the vectors' folder.
pub type Files = BTreeMap<String, String>;

/// Makes files of vectors.
pub struct Generator {
    /// Its name, as `--only` and the member `generated` of its files have it.
    pub name: &'static str,
    /// What it makes.
    pub about: &'static str,
    /// The seed of the files that are committed.
    pub seed: u64,
    make: fn(u64) -> Result<Made, String>,
}

/// What a generator makes.
pub struct Made {
    /// The files.
    pub files: Files,
    /// How many cases there are, what was folded and what is covered, for people.
    pub report: String,
}

impl From<Files> for Made {
    fn from(files: Files) -> Made {
        let report = format!("{} files", files.len());
        Made { files, report }
    }
}

/// All of them.
pub const GENERATORS: &[Generator] = &[
    Generator {
        name: "matrix",
        about: "vectors of one shape for many cases",
        seed: 0,
        make: |seed| matrix::files(seed).map(Made::from),
    },
    Generator {
        name: "malicious",
        about: "providers that attack a consumer",
        seed: 0,
        make: |seed| malicious::files(seed).map(Made::from),
    },
    Generator {
        name: messages::NAME,
        about: "every message with every field once wrong",
        seed: 0,
        make: messages::files,
    },
    Generator {
        name: arguments::NAME,
        about: "arguments that break the schemas of the fixture",
        seed: 0,
        make: arguments::files,
    },
    Generator {
        name: combinations::NAME,
        about: "combinations of what a consumer brings and does",
        seed: 0,
        make: combinations::files,
    },
    Generator {
        name: aw_messages::NAME,
        about: "every message of aw-provider/v1alpha1 with every field once wrong",
        seed: 0,
        make: aw_messages::files,
    },
    Generator { name: model::NAME, about: "every transition of the model", seed: 0, make: model::files },
    Generator {
        name: "tables",
        about: "tables for unit tests in other languages",
        seed: 0,
        make: |seed| tables::files(seed).map(Made::from),
    },
];

impl Generator {
    /// The files for a seed.
    ///
    /// # Errors
    /// What is wrong with the catalogue that they are made from.
    pub fn files(&self, seed: u64) -> Result<Files, String> {
        self.made(seed).map(|made| made.files)
    }

    /// The files for a seed, with what is to be said of them.
    ///
    /// # Errors
    /// What is wrong with the catalogue that they are made from.
    pub fn made(&self, seed: u64) -> Result<Made, String> {
        (self.make)(seed).map_err(|error| format!("{}: {error}", self.name))
    }

    /// Files of a folder that this generator made once and makes no more, by their path in the folder.
    pub fn left_over(&self, files: &Files, folder: &Path) -> Vec<String> {
        let of_suite =
            |suite: &&str| walkdir::WalkDir::new(folder.join(suite)).sort_by_file_name().into_iter().flatten();
        let entries = SUITES.iter().flat_map(of_suite);
        let mut out = Vec::new();
        for entry in entries.filter(|entry| entry.file_type().is_file()) {
            let relative = entry.path().strip_prefix(folder).unwrap_or(entry.path());
            let name = relative.components().map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
            let text = std::fs::read(entry.path()).unwrap_or_default();
            let json: Json = serde_json::from_slice(&text).unwrap_or_default();
            if json["generated"]["generator"] == self.name && !files.contains_key(&name) {
                out.push(name);
            }
        }
        out
    }
}

/// Reads a catalogue that is part of this crate.
fn catalogue<T: DeserializeOwned>(path: &str) -> Result<T, String> {
    let (_, text) = EMBEDDED.iter().find(|(name, _)| *name == path).ok_or_else(|| format!("there is no {path}"))?;
    serde_json::from_str(text).map_err(|error| format!("{path}: {error}"))
}

/// A file of vectors.
fn file(generator: &str, seed: u64, source: &str, vectors: Vec<Json>) -> String {
    let generated = json!({ "generator": generator, "seed": seed, "source": source });
    layout::file("cetp-v2", &generated, &vectors)
}
