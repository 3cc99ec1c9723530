//! The target of a campaign, ready to be used. The main type is [`Bench`].

use super::case::Made;
use crate::own_tools::OwnTools;
use cetp_runner::adapter::{Adapter, Fault, Session};
use cetp_runner::engine::{self, Options, Run, VectorResult};
use cetp_runner::execute::exchange;
use cetp_vectors::machine::{Answer, Breakdown};
use cetp_vectors::model::Vector;
use cetp_vectors::protocol::Describe;
use cetp_vectors::reader::Reader;
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The target, ready to be used.
pub struct Bench<'b> {
    /// What starts it.
    adapter: &'b dyn Adapter,
    /// Its description.
    target_json: Json,
    /// The same, read.
    pub target: Describe,
    session: Option<Box<dyn Session>>,
    reader: &'b Reader,
    interrupted: &'b AtomicBool,
    /// The target's memory when it was first looked at.
    first_peak: Option<u64>,
}

/// A target that says when it will be less busy is left alone until then, but not for longer than this.
const MOST_WAITING: Duration = Duration::from_secs(10);

/// What a target does by itself after a vector has ended is waited for, but not for longer than this.
const MOST_WORK: Duration = Duration::from_millis(200);

impl<'b> Bench<'b> {
    /// Starts a target.
    ///
    /// # Errors
    /// It does not start.
    pub fn new(adapter: &'b dyn Adapter, reader: &'b Reader, interrupted: &'b AtomicBool) -> Result<Bench<'b>, Fault> {
        let (session, target_json, target) = engine::describe(adapter)?;
        Ok(Bench { adapter, target_json, target, session: Some(session), reader, interrupted, first_peak: None })
    }

    /// The vector that was made, fitted with what its steps need.
    ///
    /// # Errors
    /// It is no vector.
    pub fn read<'m>(&self, made: Made<'m>) -> Result<Cow<'m, Vector>, String> {
        match made {
            Made::There(vector) => Ok(Cow::Borrowed(vector)),
            Made::New(json) => Ok(Cow::Owned(self.reader.fitted(&json)?)),
        }
    }

    /// Runs a vector, which is first fitted with what its steps need.
    ///
    /// # Errors
    /// It is no vector.
    pub fn run(&mut self, json: &Json) -> Result<(Vector, VectorResult), String> {
        let vector = self.reader.fitted(json)?;
        let result = self.run_vector(&vector);
        Ok((vector, result))
    }

    /// Runs a vector that was read.
    pub fn run_vector(&mut self, vector: &Vector) -> VectorResult {
        // The seed of `run`, which repeats what is found.
        let options = Options::default();
        let run = Run {
            vectors: &[],
            adapter: self.adapter,
            target_json: &self.target_json,
            target: &self.target,
            options: &options,
            interrupted: self.interrupted,
        };
        let result = run.one(vector, &mut self.session);
        self.wait_if_asked(&result);
        result
    }

    /// Brings the target to where a vector begins: what goes on comes to its end, and what it holds is put away. What is wrong
    /// with it shows when a vector is run.
    pub fn clear(&mut self) {
        if self.session.is_none() {
            self.session = engine::describe(self.adapter).ok().map(|(session, ..)| session);
        }
        self.rest();
        let params = json!({ "nonce": "between", "now_ms": 1_760_000_000_000_i64 });
        if let Some(mut session) = self.session.take() {
            let limit = self.adapter.limits().verb();
            // One that does not even do that is not used again.
            self.session = exchange(session.as_mut(), "target.reset", &params, limit).is_ok().then_some(session);
        }
    }

    /// Waits until nothing goes on in the target, where it can tell, but not for ever.
    pub fn rest(&mut self) {
        if let Some(session) = &mut self.session {
            session.at_rest(MOST_WORK);
        }
    }

    /// A target whose clock is real and that says that it is busy is not asked again before the time that it names.
    fn wait_if_asked(&self, result: &VectorResult) {
        if self.target.has_control("clock") {
            return;
        }
        let waits = result.transcript.iter().flat_map(|transcript| &transcript.entries).filter_map(|entry| {
            let Answer::Result(result) = &entry.answer else { return None };
            let bundle = &result["bundle"];
            let wait = &bundle["retry_after_ms"]["long"];
            let wait = wait.as_u64().or_else(|| wait.as_str().and_then(|text| text.parse().ok())).unwrap_or(1_000);
            (bundle["error_code"]["string"] == "RATE_LIMITED").then_some(wait)
        });
        if let Some(wait) = waits.max() {
            std::thread::sleep(Duration::from_millis(wait).min(MOST_WAITING));
        }
    }

    /// Vectors for the tools that the target has.
    ///
    /// # Errors
    /// It does not tell its tools.
    pub fn own_tools(&mut self, allow_effects: bool) -> Result<OwnTools, String> {
        let session = self.session.as_mut().ok_or("the target is gone")?;
        OwnTools::ask(session.as_mut(), &self.target, self.adapter.limits().start(), allow_effects)
    }

    /// The most memory that the target has used since the last question, after that of the first question.
    pub fn peak_memory(&mut self) -> Option<(u64, u64)> {
        let peak = self.session.as_mut().and_then(|session| session.peak_memory_bytes())?;
        Some((*self.first_peak.get_or_insert(peak), peak))
    }

    /// What makes a vector one that is read back from its file.
    pub fn reader(&self) -> &Reader {
        self.reader
    }
}

/// What is wrong in a result: the requirements that are broken, or `crash` or `hang` where the target is gone and no
/// requirement says so.
pub fn broken(vector: &Vector, result: &VectorResult) -> Vec<String> {
    use cetp_vectors::judge::Outcome;
    use cetp_vectors::ledger::Role;
    let Some(judgement) = &result.judgement else { return Vec::new() };
    match result.outcome {
        Outcome::Fail => judgement.failed_requirements(),
        Outcome::Warn => judgement.warned_requirements(),
        Outcome::Error => {
            let ends = result.transcript.iter().flat_map(|transcript| &transcript.entries).find_map(|entry| {
                match &entry.answer {
                    // What takes its time in a control is no call, and a pause is none either.
                    Answer::Broken { kind: Breakdown::Died, .. } => Some("crash"),
                    // A consumer may work for as long as its provider has something for it.
                    Answer::Broken { kind: Breakdown::Hung, .. }
                        if entry.verb == "provider.call" && vector.role == Role::Provider =>
                    {
                        Some("hang")
                    }
                    _ => None,
                }
            });
            ends.map(str::to_owned).into_iter().collect()
        }
        _ => Vec::new(),
    }
}
