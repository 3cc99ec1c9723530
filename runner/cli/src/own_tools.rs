//! `vectors generate --from-target`: vectors for the tools that a real provider has. The main function is [`generate`], the
//! main type [`OwnTools`].

use crate::builtin;
use crate::exit::{Exit, Stop};
use cetp_runner::adapter::Session;
use cetp_runner::engine;
use cetp_runner::execute::exchange;
use cetp_vectors::fixture;
use cetp_vectors::generate::arguments;
use cetp_vectors::machine::Answer;
use cetp_vectors::protocol::Describe;
use cetp_vectors::schema::DRAFT_2020_12;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
        let (tools, dialect) = Asked { session, describe, limit }.tools()?;
        let (vectors, left_out) = arguments::of_tools(&tools, &dialect, allow_effects);
        Ok(OwnTools { vectors, left_out, tools: tools.len() })
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

struct Asked<'s> {
    session: &'s mut dyn Session,
    describe: &'s Describe,
    limit: Duration,
}

impl Asked<'_> {
    /// The tools of the target, and the dialect of their schemas.
    fn tools(mut self) -> Result<(Vec<Json>, String), String> {
        let real = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let reset =
            self.verb("target.reset", &json!({ "nonce": "own-tools", "now_ms": u64::try_from(real).unwrap_or(0) }))?;
        let deadline = reset["now_ms"].as_i64().unwrap_or_default() + 60_000;
        let versions =
            json!({ "consumer_versions": { "int_array": [2] }, "consumer_capabilities": { "string": "[]" } });
        let token = self.data("negotiate", &versions)?["session_token"].clone();
        let extras = json!({ "protocol_version": { "int": 2 }, "session_token": { "string": token },
            "request_id": { "string": "6ba7b810-9dad-41d1-80b4-00c04fd430c8" }, "deadline_at_ms": { "long": deadline } });
        let info = self.data("get_provider_info", &extras)?;
        let dialect = info["schema_dialect"].as_str().unwrap_or(DRAFT_2020_12).to_owned();
        let list = self.data("list_tools", &extras)?;
        let tools = list["tools"].as_array().cloned().ok_or("list_tools brought no tools")?;
        Ok((tools, dialect))
    }

    /// The data of a success.
    fn data(&mut self, method: &str, extras: &Json) -> Result<Json, String> {
        let authority = self.describe.authority.as_deref().unwrap_or_default();
        let params = json!({ "caller": fixture::callers()["a"], "authority": authority, "method": method, "arg": null, "extras": extras });
        let bundle = self.verb("provider.call", &params)?["bundle"].clone();
        let text = bundle["data"]["string"].as_str().filter(|_| bundle["status"]["string"] == "success");
        let text = text.ok_or_else(|| format!("{method} did not succeed: {bundle}"))?;
        cetp_vectors::json::parse(text.as_bytes(), cetp_vectors::json::Limits::DATA)
            .map_err(|error| format!("data of {method}: {error}"))
    }

    fn verb(&mut self, verb: &str, params: &Json) -> Result<Json, String> {
        match exchange(self.session, verb, params, self.limit).map_err(|fault| fault.to_string())? {
            Answer::Result(result) => Ok(result),
            Answer::Refused { message, .. } => Err(format!("{verb} was refused: {message}")),
            Answer::Broken { why, .. } => Err(why),
            Answer::Unread => Err(format!("{verb} was not answered")),
        }
    }
}
