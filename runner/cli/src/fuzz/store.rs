//! Where campaigns keep what they have: `DIR/cases`, the bytes of cases that showed something new, and `DIR/findings`, a file
//! of one vector for each finding, which `run --vectors` takes. The main type is [`Store`].
//!
//! All of it is written as it comes: however a campaign ends, what it had is there.

use super::campaign::{Campaign, Finding};
use crate::exit::Stop;
use cetp_vectors::expr::sha256_hex;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A file of one vector, as `run --vectors` reads it.
pub fn file(vector: &Json) -> String {
    let file = json!({ "format": "cetp-vectors/1", "suite": "cetp-v2", "vectors": [vector] });
    serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
}

/// The folder of a campaign.
pub struct Store {
    cases: PathBuf,
    findings: PathBuf,
    /// So many cases of the campaign are written.
    written: usize,
}

impl Store {
    /// Opens the folder of a campaign that begins; it is made where it is not there.
    ///
    /// # Errors
    /// Nothing can be written there.
    pub fn open(folder: &Path) -> Result<Store, Stop> {
        let store = Store { cases: folder.join("cases"), findings: folder.join("findings"), written: 0 };
        for part in [&store.cases, &store.findings] {
            std::fs::create_dir_all(part).map_err(failed(part))?;
            // That it cannot be written to must not show when there is something to keep.
            tempfile::tempfile_in(part).map_err(failed(part))?;
        }
        Ok(store)
    }

    /// The cases that are there, in the order of their names.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn kept(&self) -> Result<Vec<Vec<u8>>, Stop> {
        let read = |path: PathBuf| std::fs::read(&path).map_err(failed(&path));
        self.files()?.into_iter().map(read).collect()
    }

    /// What lies there otherwise is somebody else's.
    fn files(&self) -> Result<Vec<PathBuf>, Stop> {
        let entries = std::fs::read_dir(&self.cases).map_err(failed(&self.cases))?;
        let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
        let mut paths = paths.map_err(failed(&self.cases))?;
        let digits = |name: &str| name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        paths.retain(|path| path.is_file() && path.file_name().and_then(|name| name.to_str()).is_some_and(digits));
        paths.sort();
        Ok(paths)
    }

    fn place(&self, case: &[u8]) -> PathBuf {
        self.cases.join(&sha256_hex(case)[..16])
    }

    /// Writes the cases that the campaign has kept since this was last asked for.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn keep_cases(&mut self, campaign: &Campaign<'_>) -> Result<(), Stop> {
        for case in campaign.corpus.iter().skip(self.written) {
            let place = self.place(case);
            std::fs::write(&place, case).map_err(failed(&place))?;
        }
        self.written = campaign.corpus.len();
        Ok(())
    }

    /// Writes a finding where it is a vector; where it is now.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep_finding(&self, finding: &Finding) -> Result<Option<PathBuf>, Stop> {
        if finding.vector.is_null() {
            return Ok(None);
        }
        let digest = sha256_hex(finding.vector.to_string().as_bytes());
        let place = self.findings.join(format!("{}-{}.json", finding.requirement, &digest[..10]));
        std::fs::write(&place, file(&finding.vector)).map_err(failed(&place))?;
        Ok(Some(place))
    }

    /// Takes away the cases that the campaign does not have; how many these were.
    ///
    /// # Errors
    /// What it has cannot be written, or the rest not be taken away.
    pub fn keep_only_cases(&mut self, campaign: &Campaign<'_>) -> Result<usize, Stop> {
        self.written = 0;
        self.keep_cases(campaign)?;
        let own: BTreeSet<PathBuf> = campaign.corpus.iter().map(|case| self.place(case)).collect();
        let others: Vec<PathBuf> = self.files()?.into_iter().filter(|path| !own.contains(path)).collect();
        others.iter().try_for_each(|path| std::fs::remove_file(path).map_err(failed(path)))?;
        Ok(others.len())
    }
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> Stop {
    move |error| Stop::usage(format!("{}: {error}", path.display()))
}
