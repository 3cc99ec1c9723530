//! `vectors generate --from-target`: vectors for the tools that a real provider has. The main function is [`generate`], the
//! main type [`OwnTools`].

use crate::builtin;
use crate::exit::{Exit, Stop};
use crate::listing::Asked;
use cetp_runner::adapter::Session;
use cetp_runner::engine;
use cetp_vectors::generate::arguments;
use cetp_vectors::protocol::Describe;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::time::Duration;

/// Where the vectors of a target's own tools lie in a folder.
const FILE: &str = "cetp-v2/provider/own-tools.json";

/// What came of the tools that a target has.
pub struct OwnTools {
    /// Vectors for them.
    pub vectors: Vec<Json>,
    /// Why there is none for a tool, a line for each.
    pub left_out: Vec<String>,
    /// How many tools there are.
    tools: usize,
}

impl OwnTools {
    /// Asks a target for its tools; `limit` is for each question.
    ///
    /// # Errors
    /// It does not tell them.
    pub fn ask(
        session: &mut dyn Session,
        describe: &Describe,
        limit: Duration,
        allow_effects: bool,
    ) -> Result<OwnTools, String> {
        let listing = Asked::begin(session, describe, limit)?.v2(&[])?;
        let (vectors, left_out) = arguments::of_tools(&listing.tools, &listing.dialect, allow_effects);
        Ok(OwnTools { vectors, left_out, tools: listing.tools.len() })
    }
}

/// Reads the tools of a target and writes their vectors into a folder.
pub fn generate(target: &str, folder: &Path, allow_effects: bool) -> Result<Exit, Stop> {
    let opened = builtin::opener(false).open(target).map_err(|error| Stop::usage(error.to_string()))?;
    let gone = |error: String| Stop::target(format!("{target}: {error}"));
    let adapter = opened.adapter.as_ref();
    let (mut session, _, describe) = engine::describe(adapter).map_err(|fault| gone(fault.to_string()))?;
    let asked = OwnTools::ask(session.as_mut(), &describe, adapter.limits().start(), allow_effects);
    session.end();
    let OwnTools { vectors, left_out, tools } = asked.map_err(gone)?;
    let file = json!({ "format": "cetp-vectors/1", "suite": "cetp-v2",
        "generated": { "generator": "from-target", "seed": 0, "source": "list_tools of the target" }, "vectors": vectors });
    let place = folder.join(FILE);
    let failed = |error: std::io::Error| Stop::usage(format!("{}: {error}", place.display()));
    std::fs::create_dir_all(place.parent().unwrap_or(folder)).map_err(failed)?;
    let text = serde_json::to_string_pretty(&file).unwrap_or_default() + "\n";
    std::fs::write(&place, text).map_err(failed)?;
    for why in &left_out {
        anstream::println!("left out: {}", cetp_reports::text::safe(why));
    }
    anstream::println!("{}: {} vectors for {} tools", place.display(), vectors.len(), tools - left_out.len());
    Ok(Exit::Good)
}
