//! A campaign: plans are made, run, kept where they show something new, and shrunk where they break a requirement. The main
//! type is [`Campaign`].

use super::plan::Plan;
use super::probes::Probes;
use super::shrink;
use cetp_runner::adapter::{Adapter, Fault, Session};
use cetp_runner::engine::{self, Options, Run, VectorResult};
use cetp_vectors::judge::Outcome;
use cetp_vectors::machine::Answer;
use cetp_vectors::protocol::Describe;
use cetp_vectors::reader::Reader;
use cetp_vectors::transcript::Transcript;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicBool;

/// Numbers that look random and are decided by a seed (xorshift64*).
pub struct Dice(u64);

impl Dice {
    /// From a seed.
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d | 1)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    /// A number below a bound, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or(0)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_le_bytes()[2]).collect()
    }
}

/// A requirement that was found broken.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The requirement.
    pub requirement: String,
    /// What was not as expected, in a sentence.
    pub message: String,
    /// The vector that shows it, as small as it became.
    pub vector: Json,
    /// How many steps that is.
    pub steps: usize,
    /// After so many cases.
    pub after: u64,
}

/// The target, ready to be used.
pub struct Bench<'b> {
    /// What starts it.
    pub adapter: &'b dyn Adapter,
    /// Its description.
    pub target_json: Json,
    /// The same, read.
    pub target: Describe,
    session: Option<Box<dyn Session>>,
    reader: &'b Reader,
    seed: u64,
    interrupted: &'b AtomicBool,
}

impl<'b> Bench<'b> {
    /// Starts a target.
    ///
    /// # Errors
    /// It does not start.
    pub fn new(
        adapter: &'b dyn Adapter,
        reader: &'b Reader,
        seed: u64,
        interrupted: &'b AtomicBool,
    ) -> Result<Bench<'b>, Fault> {
        let (session, target_json, target) = engine::describe(adapter)?;
        Ok(Bench { adapter, target_json, target, session: Some(session), reader, seed, interrupted })
    }

    /// Runs a vector.
    ///
    /// # Errors
    /// It is no vector.
    pub fn run(&mut self, vector: &Json) -> Result<VectorResult, String> {
        let vector = self.reader.vector(vector)?;
        let options = Options { seed: self.seed, ..Options::default() };
        let run = Run {
            vectors: &[],
            adapter: self.adapter,
            target_json: &self.target_json,
            target: &self.target,
            options: &options,
            interrupted: self.interrupted,
        };
        Ok(run.one(&vector, &mut self.session))
    }
}

/// What came of a campaign so far.
#[derive(Debug, Default)]
pub struct Tally {
    /// Plans that were run.
    pub cases: u64,
    /// Messages that were sent.
    pub messages: u64,
    /// Plans that ended in an error: nobody's verdict.
    pub errors: u64,
}

/// A campaign against one target.
pub struct Campaign<'b> {
    bench: Bench<'b>,
    probes: &'b Probes,
    dice: Dice,
    /// Plans that showed something new, as bytes.
    pub corpus: Vec<Vec<u8>>,
    seen: BTreeSet<u64>,
    /// What was found, folded by its cause.
    pub findings: BTreeMap<String, Finding>,
    /// How much was done.
    pub tally: Tally,
}

/// The longest plan in bytes.
const MOST_BYTES: usize = 64;

impl<'b> Campaign<'b> {
    /// A campaign that has not begun.
    pub fn new(bench: Bench<'b>, probes: &'b Probes, seed: u64) -> Campaign<'b> {
        Campaign {
            bench,
            probes,
            dice: Dice::new(seed),
            corpus: Vec::new(),
            seen: BTreeSet::new(),
            findings: BTreeMap::new(),
            tally: Tally::default(),
        }
    }

    /// Makes a plan and runs it. A new finding is given back.
    ///
    /// # Errors
    /// A plan became no vector, which is a fault of this program.
    pub fn turn(&mut self) -> Result<Option<Finding>, String> {
        let bytes = self.made();
        self.play(&bytes)
    }

    /// Runs the plan that some bytes are.
    ///
    /// # Errors
    /// As [`Campaign::turn`].
    pub fn play(&mut self, bytes: &[u8]) -> Result<Option<Finding>, String> {
        let plan = Plan::read(bytes, self.probes);
        if plan.items.is_empty() {
            return Ok(None);
        }
        let vector = plan.vector(self.probes).ok_or("the model does not follow its own plan")?;
        let result = self.bench.run(&vector)?;
        self.tally.cases += 1;
        if let Some(transcript) = &result.transcript {
            self.tally.messages += transcript.entries.len() as u64;
            let before = self.seen.len();
            self.seen.extend(shown(transcript));
            if self.seen.len() > before {
                self.corpus.push(bytes.to_vec());
            }
        }
        match result.outcome {
            Outcome::Fail | Outcome::Warn => Ok(self.found(&plan, &result)),
            Outcome::Error => {
                self.tally.errors += 1;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Bytes of a new plan, or of a kept one that is changed.
    fn made(&mut self) -> Vec<u8> {
        if self.corpus.is_empty() || self.dice.below(3) == 0 {
            let count = 6 + self.dice.below(MOST_BYTES - 6);
            return self.dice.bytes(count);
        }
        let place = self.dice.below(self.corpus.len());
        let mut bytes = self.corpus[place].clone();
        for _ in 0..=self.dice.below(3) {
            let at = self.dice.below(bytes.len().max(1));
            match self.dice.below(4) {
                0 if !bytes.is_empty() => bytes[at] = self.dice.bytes(1)[0],
                1 => bytes.splice(at..at, self.dice.bytes(3)).for_each(drop),
                2 if bytes.len() > 4 => drop(bytes.remove(at)),
                _ => {
                    let other = self.dice.below(self.corpus.len());
                    let other = &self.corpus[other];
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[at.min(other.len())..]);
                }
            }
        }
        bytes.truncate(MOST_BYTES);
        bytes
    }

    fn found(&mut self, plan: &Plan, result: &VectorResult) -> Option<Finding> {
        let requirement = broken(result)?;
        let cause = cause(&requirement, result);
        if self.findings.contains_key(&cause) {
            return None;
        }
        // One that was found in another place may be the same: what is smallest tells.
        let shrunk = shrink::shrink(plan, &requirement, self.probes, &mut self.bench)?;
        let last = self.bench.run(&shrunk).ok()?;
        let message = engine::findings(&last).first().map(|finding| finding.message.clone()).unwrap_or_default();
        let finding = Finding {
            steps: shrunk["steps"].as_array().map_or(0, Vec::len),
            requirement,
            message,
            vector: shrunk,
            after: self.tally.cases,
        };
        self.findings.insert(cause, finding.clone());
        Some(finding)
    }

    /// Keeps of the corpus only what shows something that none before shows.
    ///
    /// # Errors
    /// As [`Campaign::turn`].
    pub fn minimize(&mut self) -> Result<usize, String> {
        let mut corpus = std::mem::take(&mut self.corpus);
        let before = corpus.len();
        corpus.sort_by_key(Vec::len);
        self.seen.clear();
        for bytes in corpus {
            self.play(&bytes)?;
        }
        Ok(before - self.corpus.len())
    }
}

/// The requirement that a result breaks.
pub fn broken(result: &VectorResult) -> Option<String> {
    let judgement = result.judgement.as_ref()?;
    let list = match result.outcome {
        Outcome::Fail => judgement.failed_requirements(),
        Outcome::Warn => judgement.warned_requirements(),
        _ => Vec::new(),
    };
    list.into_iter().next()
}

/// What makes two findings one: the requirement, the method of the call and the place in its answer.
fn cause(requirement: &str, result: &VectorResult) -> String {
    let first = engine::findings(result).into_iter().find(|f| f.requirement.as_deref() == Some(requirement));
    let (at, pointer) = first.map_or((String::new(), String::new()), |finding| {
        let pointer = finding.mismatches.first().map(|m| m.pointer.clone()).unwrap_or_default();
        (finding.at.clone(), pointer)
    });
    let entry = result.transcript.as_ref().and_then(|t| t.entries.iter().find(|entry| entry.at == at));
    let method = entry.map_or("-", |entry| entry.params["method"].as_str().unwrap_or(&entry.verb));
    let pointer: String = pointer.chars().filter(|c| !c.is_ascii_digit()).collect();
    format!("{requirement} {method} {pointer}")
}

/// Shapes and codes of the answers, and which follows which.
fn shown(transcript: &Transcript) -> Vec<u64> {
    let mut before = 0;
    let mut out = Vec::new();
    for entry in &transcript.entries {
        let mut hasher = DefaultHasher::new();
        entry.params["method"].as_str().unwrap_or(&entry.verb).hash(&mut hasher);
        entry.params["extras"]["tool_name"]["string"].as_str().hash(&mut hasher);
        match &entry.answer {
            Answer::Result(result) => {
                let bundle = &result["bundle"];
                for key in ["status", "error_code"] {
                    bundle[key]["string"].as_str().hash(&mut hasher);
                }
                bundle.as_object().map(|keys| keys.keys().cloned().collect::<Vec<_>>()).hash(&mut hasher);
                let data: Json = bundle["data"]["string"]
                    .as_str()
                    .filter(|text| text.len() < 4096)
                    .and_then(|text| serde_json::from_str(text).ok())
                    .unwrap_or_default();
                for key in ["kind", "state"] {
                    data[key].as_str().hash(&mut hasher);
                }
            }
            Answer::Refused { code, .. } => code.hash(&mut hasher),
            Answer::Broken { .. } => "broken".hash(&mut hasher),
            Answer::Unread => {}
        }
        let one = hasher.finish();
        out.push(one);
        out.push(one ^ u64::rotate_left(before, 17));
        before = one;
    }
    out
}
