//! Where campaigns keep what they have: `DIR/cases`, the bytes of cases that showed something new, and `DIR/findings`, a file
//! of one vector for each finding, which `run --vectors` takes. The main functions are [`kept`] and [`keep`].

use super::campaign::Campaign;
use crate::exit::Stop;
use cetp_vectors::expr::sha256_hex;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};

/// A file of one vector, as `run --vectors` reads it.
pub fn file(vector: &Json) -> String {
    let file = json!({ "format": "cetp-vectors/1", "suite": "cetp-v2", "vectors": [vector] });
    serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
}

/// The cases of a folder, in the order of their names.
pub fn kept(folder: &Path) -> Result<Vec<Vec<u8>>, Stop> {
    let folder = folder.join("cases");
    let failed = |error: std::io::Error| Stop::usage(format!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).map_err(failed)).collect()
}

/// Writes what a campaign has; `alone` takes away the cases that it does not have.
pub fn keep(folder: &Path, campaign: &Campaign<'_>, alone: bool) -> Result<(), Stop> {
    let cases = folder.join("cases");
    let failed = |error: std::io::Error| Stop::usage(format!("{}: {error}", folder.display()));
    if alone && cases.exists() {
        std::fs::remove_dir_all(&cases).map_err(failed)?;
    }
    std::fs::create_dir_all(&cases).map_err(failed)?;
    for bytes in &campaign.corpus {
        let name = &sha256_hex(bytes)[..16];
        std::fs::write(cases.join(name), bytes).map_err(failed)?;
    }
    let found = folder.join("findings");
    std::fs::create_dir_all(&found).map_err(failed)?;
    for finding in campaign.findings.values().filter(|finding| !finding.vector.is_null()) {
        let digest = sha256_hex(finding.vector.to_string().as_bytes());
        let name = format!("{}-{}.json", finding.requirement, &digest[..10]);
        std::fs::write(found.join(&name), file(&finding.vector)).map_err(failed)?;
        anstream::println!("{}", found.join(name).display());
    }
    Ok(())
}
