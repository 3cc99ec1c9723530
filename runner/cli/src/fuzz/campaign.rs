//! A campaign: cases are made, run, kept where they show something new, and shrunk where they break a requirement. The main
//! type is [`Campaign`].

use super::bench::{Bench, broken};
use super::case::{Case, Made, Material};
use super::coverage::{Branches, Coverage};
use super::differ::Differ;
use super::shrink;
use cetp_runner::engine::{self, VectorResult};
use cetp_runner::limits::STACK_BYTES;
use cetp_vectors::judge::Outcome;
use cetp_vectors::machine::Answer;
use cetp_vectors::model::Vector;
use cetp_vectors::transcript::Transcript;
use serde_json::Value as Json;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Numbers that look random and are decided by a seed (xorshift64*).
pub struct Dice(u64);

impl Dice {
    /// From a seed.
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d | 1)
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    /// A number below a bound, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.roll() % bound.max(1) as u64).unwrap_or(0)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.roll().to_le_bytes()[2]).collect()
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for n in (1..items.len()).rev() {
            items.swap(n, self.below(n + 1));
        }
    }
}

/// A requirement that was found broken.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The requirement, or `crash`, `hang` or `memory`.
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

/// What came of a campaign so far.
#[derive(Debug, Default)]
pub struct Tally {
    /// Cases that were made, also those that are no vector.
    pub made: u64,
    /// Cases that were run.
    pub cases: u64,
    /// Messages that were sent, and for a consumer those that it sent.
    pub messages: u64,
    /// Cases that ended in an error: nobody's verdict.
    pub errors: u64,
    /// Cases that the target cannot take, as a control or capability is missing.
    pub not_run: u64,
    /// The first case that ended in an error, and why.
    pub first_error: Option<String>,
}

impl Tally {
    fn error(&mut self, why: String) {
        self.errors += 1;
        self.first_error.get_or_insert(why);
    }
}

/// A campaign against one target.
pub struct Campaign<'b> {
    /// Cases run on as many at the same time; what is found is made small on the first.
    benches: Vec<Bench<'b>>,
    /// So many cases are made at a time, see [`Campaign::in_batches`].
    batch: usize,
    /// Cases that were made and not run yet.
    made: VecDeque<Vec<u8>>,
    material: &'b Material,
    dice: Dice,
    /// What the suite has, still to be played.
    seeds: Vec<Vec<u8>>,
    /// Cases that showed something new, as bytes.
    pub corpus: Vec<Vec<u8>>,
    seen: BTreeSet<u64>,
    /// What was found, folded by its cause.
    pub findings: BTreeMap<String, Finding>,
    /// How much was done.
    pub tally: Tally,
    /// Another target, for its answers.
    differ: Option<Differ<'b>>,
    /// The branches that were reached, where that is known.
    coverage: Option<Coverage>,
}

/// A case that was run.
struct Ran<'m> {
    case: Case,
    vector: Cow<'m, Vector>,
    /// Without its transcript where nobody looks at it any more.
    result: VectorResult,
    /// The target could not take it.
    not_run: bool,
    /// How many messages there were.
    messages: u64,
    /// What was seen in them, see [`shown`].
    shown: Vec<u64>,
    /// The branches that the target reached, where that is known.
    reached: Vec<usize>,
    broken: Vec<String>,
}

/// Runs the case that some bytes are; nothing where they are none.
fn run<'m>(
    bytes: &[u8],
    material: &'m Material,
    bench: &mut Bench<'_>,
    compared: bool,
    branches: Option<Branches>,
) -> Result<Option<Ran<'m>>, String> {
    let Some(case) = material.read(bytes) else { return Ok(None) };
    let made = match (&case, material.vector(&case)) {
        (_, Some(made)) => made,
        (Case::Walk(_), None) => return Err("the model does not follow its own plan".into()),
        (_, None) => return Ok(None),
    };
    let vector = match (&case, bench.read(made)) {
        (_, Ok(vector)) => vector,
        // What changes at random may name what is not there.
        (Case::Changed(_), Err(_)) => return Ok(None),
        (_, Err(why)) => return Err(why),
    };
    let (mut result, reached) = match branches {
        Some(branches) => branches.run(bench, &vector),
        None => (bench.run_vector(&vector), Vec::new()),
    };
    let not_run = result.transcript.is_none();
    let messages = result.transcript.as_ref().map_or(0, |t| t.entries.len() + t.incoming.len()) as u64;
    let shown = result.transcript.as_ref().map_or_else(Vec::new, shown);
    let broken = broken(&vector, &result);
    // It is large, and here it goes while other cases run.
    if broken.is_empty() && !compared {
        result.transcript = None;
    }
    Ok(Some(Ran { case, vector, result, not_run, messages, shown, reached, broken }))
}

/// Runs cases, each on a bench that is free, as long as there is to be more. What came of them is in their order; those that
/// were not run any more are the last.
fn run_all<'b, T: Send>(
    benches: &mut [Bench<'b>],
    cases: &[Vec<u8>],
    run: &(impl Fn(&Vec<u8>, &mut Bench<'b>) -> T + Sync),
    more: &(dyn Fn() -> bool + Sync),
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let work = |bench: &mut Bench<'b>| {
        let mut ran = Vec::new();
        while more()
            && let place = next.fetch_add(1, Ordering::Relaxed)
            && let Some(bytes) = cases.get(place)
        {
            ran.push((place, run(bytes, bench)));
        }
        ran
    };
    let Some((first, others)) = benches.split_first_mut() else { return Vec::new() };
    let mut ran = std::thread::scope(|scope| {
        let others: Vec<_> = others
            .iter_mut()
            .take(cases.len().saturating_sub(1))
            .map(|bench| {
                let thread = std::thread::Builder::new().name("bench".into()).stack_size(STACK_BYTES);
                thread.spawn_scoped(scope, || work(bench)).expect("the system has threads")
            })
            .collect();
        let mut ran = work(first);
        for other in others {
            ran.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        ran
    });
    ran.sort_by_key(|(place, _)| *place);
    ran.into_iter().map(|(_, ran)| ran).collect()
}

/// So many cases are made of what is known. With more of them what is learnt comes later, with fewer the processors wait
/// longer for the last of them.
const BATCH: usize = 32;
/// The longest case in bytes.
const MOST_BYTES: usize = 64;
/// So often is the target's memory looked at, in cases.
const MEMORY_EVERY: u64 = 256;
/// A target whose memory has grown by so much between two cases of the same campaign keeps what it should let go, in bytes.
const MOST_GROWTH: u64 = 1 << 30;

impl<'b> Campaign<'b> {
    /// A campaign that has not begun.
    pub fn new(bench: Bench<'b>, material: &'b Material, seed: u64) -> Campaign<'b> {
        let mut dice = Dice::new(seed);
        let (mut small, mut seeds) = material.seeds();
        dice.shuffle(&mut small);
        dice.shuffle(&mut seeds);
        // The last is played first: large ones take the time of many.
        seeds.extend(small);
        Campaign {
            benches: vec![bench],
            batch: 1,
            made: VecDeque::new(),
            material,
            dice,
            seeds,
            corpus: Vec::new(),
            seen: BTreeSet::new(),
            findings: BTreeMap::new(),
            tally: Tally::default(),
            differ: None,
            coverage: None,
        }
    }

    /// From now on a case is also kept where it reaches a branch that none before reached. Cases run one at a time, on the first
    /// bench.
    pub fn led_by(&mut self, branches: Branches) {
        self.coverage = Some(Coverage::new(branches));
    }

    /// How many branches were reached, and how many there are; nothing where that is not known.
    pub fn branches(&self) -> Option<(usize, usize)> {
        self.coverage.as_ref().map(Coverage::count)
    }

    fn known_branches(&self) -> Option<Branches> {
        self.coverage.as_ref().map(|coverage| coverage.branches)
    }

    /// Compares every answer with that of another target.
    pub fn against(&mut self, differ: Differ<'b>) {
        self.differ = Some(differ);
    }

    /// Where the other target answered otherwise, a line for each.
    pub fn differences(&self) -> Vec<String> {
        self.differ.iter().flat_map(Differ::lines).collect()
    }

    /// From now on cases are made in batches of a fixed size, and those of a batch run on several benches at the same time.
    ///
    /// What is learnt from a batch counts from the next one on, and what came of its cases is looked at in their order: so
    /// a campaign does not depend on how many benches it has or on which of them is faster.
    pub fn in_batches(&mut self, others: impl IntoIterator<Item = Bench<'b>>) {
        self.batch = BATCH;
        self.benches.extend(others);
    }

    /// Runs cases: as many as are left of a batch, but at most so many, and only as long as `more` says so. New findings
    /// are given back.
    ///
    /// # Errors
    /// A case became no vector, which is a fault of this program.
    pub fn turn(&mut self, most: u64, more: &(dyn Fn() -> bool + Sync)) -> Result<Vec<Finding>, String> {
        if self.made.is_empty() {
            self.made = (0..self.batch).map(|_| self.make()).collect();
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(self.made.len());
        let cases: Vec<Vec<u8>> = self.made.drain(..most).collect();
        let (material, compared, branches) = (self.material, self.differ.is_some(), self.known_branches());
        let run = |bytes: &Vec<u8>, bench: &mut Bench<'_>| run(bytes, material, bench, compared, branches);
        let at_once = if branches.is_some() { 1 } else { self.benches.len() };
        let ran = run_all(&mut self.benches[..at_once], &cases, &run, more);
        let mut found = Vec::new();
        for (bytes, ran) in cases.iter().zip(ran) {
            self.tally.made += 1;
            let Some(ran) = ran? else { continue };
            found.extend(self.look_at(bytes, ran));
            if self.tally.cases % MEMORY_EVERY == 1 {
                found.extend(self.look_at_memory());
            }
        }
        Ok(found)
    }

    /// Runs the case that some bytes are.
    ///
    /// # Errors
    /// As [`Campaign::turn`].
    pub fn play(&mut self, bytes: &[u8]) -> Result<Vec<Finding>, String> {
        let (compared, branches) = (self.differ.is_some(), self.known_branches());
        let ran = run(bytes, self.material, &mut self.benches[0], compared, branches)?;
        Ok(ran.map_or_else(Vec::new, |ran| self.look_at(bytes, ran)))
    }

    /// Takes in what came of a case. New findings are given back.
    fn look_at(&mut self, bytes: &[u8], ran: Ran<'_>) -> Vec<Finding> {
        let Ran { case, vector, result, not_run, messages, shown, reached, broken } = ran;
        self.tally.cases += 1;
        self.tally.messages += messages;
        let before = self.seen.len();
        self.seen.extend(shown);
        let further = self.coverage.as_mut().is_some_and(|coverage| coverage.add(&reached));
        if self.seen.len() > before || further {
            self.corpus.push(bytes.to_vec());
        }
        if let Some(differ) = &mut self.differ {
            differ.compare(&mut self.benches[0], &vector, &result);
        }
        match result.outcome {
            _ if !broken.is_empty() => return self.found(&case, &result, &broken),
            Outcome::Error if !matches!(case, Case::Changed(_)) => {
                self.tally.error(format!("{}: {}", vector.id, result.reason.as_deref().unwrap_or_default()));
            }
            Outcome::NotRun | Outcome::NotApplicable if not_run => self.tally.not_run += 1,
            _ => {}
        }
        Vec::new()
    }

    /// Leaves out the suite's vectors as they are.
    pub fn without_seeds(&mut self) {
        self.seeds.clear();
    }

    /// Of the suite's vectors as they are only those that a person wrote are played.
    pub fn only_written_seeds(&mut self) {
        let material = self.material;
        let written = |bytes: &Vec<u8>| match material.read(bytes).and_then(|case| material.vector(&case)) {
            Some(Made::There(vector)) => vector.generated.is_none(),
            _ => false,
        };
        self.seeds.retain(written);
    }

    /// Whether each of the suite's vectors has been played as it is.
    pub fn is_past_seeds(&self) -> bool {
        self.seeds.is_empty()
    }

    /// Bytes of a vector of the suite as it is, as long as there are some: they say most in the least time, and show what
    /// there is to be changed. Then of a new case, or of a kept one that is changed.
    fn make(&mut self) -> Vec<u8> {
        if let Some(seed) = self.seeds.pop() {
            return seed;
        }
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

    fn found(&mut self, case: &Case, result: &VectorResult, broken: &[String]) -> Vec<Finding> {
        let mut out = Vec::new();
        for requirement in broken {
            let cause = cause(requirement, result);
            if self.findings.contains_key(&cause) {
                continue;
            }
            let Some((vector, message)) = shrink::shrink(case, requirement, self.material, &mut self.benches[0]) else {
                // It does not come again: what rests on chance is no finding that anybody could repeat.
                self.tally.error(format!("{requirement} was broken once and not again"));
                continue;
            };
            let finding = Finding {
                steps: shrink::steps_of(&vector),
                requirement: requirement.clone(),
                message,
                vector,
                after: self.tally.cases,
            };
            self.findings.insert(cause, finding.clone());
            out.push(finding);
        }
        out
    }

    /// Whether a target has grown.
    fn look_at_memory(&mut self) -> Option<Finding> {
        let peaks = self.benches.iter_mut().filter_map(Bench::peak_memory);
        let (first, peak) = peaks.max_by_key(|(first, peak)| peak.saturating_sub(*first))?;
        if peak.saturating_sub(first) < MOST_GROWTH || self.findings.contains_key("memory") {
            return None;
        }
        let finding = Finding {
            requirement: "memory".into(),
            message: format!("the target's memory has grown from {first} to {peak} bytes"),
            vector: Json::Null,
            steps: 0,
            after: self.tally.cases,
        };
        self.findings.insert("memory".into(), finding.clone());
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
        self.coverage.iter_mut().for_each(Coverage::clear);
        for bytes in corpus {
            self.play(&bytes)?;
        }
        Ok(before - self.corpus.len())
    }
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

/// Shapes and codes of the answers, and which follows which; of a consumer also what it asks.
fn shown(transcript: &Transcript) -> Vec<u64> {
    let mut before = 0;
    let mut out = Vec::new();
    let mut note = |hasher: DefaultHasher| {
        let one = hasher.finish();
        out.push(one);
        out.push(one ^ u64::rotate_left(before, 17));
        before = one;
    };
    for request in &transcript.incoming {
        let mut hasher = DefaultHasher::new();
        request.verb.hash(&mut hasher);
        request.params["method"].as_str().hash(&mut hasher);
        request.params["extras"]["tool_name"]["string"].as_str().hash(&mut hasher);
        note(hasher);
    }
    for entry in &transcript.entries {
        let mut hasher = DefaultHasher::new();
        entry.params["method"].as_str().unwrap_or(&entry.verb).hash(&mut hasher);
        entry.params["extras"]["tool_name"]["string"].as_str().hash(&mut hasher);
        match &entry.answer {
            Answer::Result(result) => {
                for key in ["outcome", "error_code", "reason"] {
                    result[key].as_str().hash(&mut hasher);
                }
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
        note(hasher);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use crate::characters::CHARACTERS;
    use cetp_vectors::ledger::Role;
    use cetp_vectors::load::Catalogue;
    use cetp_vectors::reader::Reader;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn nothing_is_found_with_what_conforms_in_another_way() {
        let (reader, quiet) = (Reader::new("cetp-v2").unwrap(), AtomicBool::new(false));
        for (name, leeways) in CHARACTERS {
            let target = format!("builtin:provider+{}", leeways.join("+"));
            let opened = builtin::opener(false).open(&target).unwrap();
            let bench = Bench::new(opened.adapter.as_ref(), &reader, &quiet).unwrap();
            let material = Material::new(&Catalogue::embedded(), Role::Provider, &bench.target, true).unwrap();
            let mut campaign = Campaign::new(bench, &material, 0);
            campaign.without_seeds();
            while campaign.tally.cases < 200 {
                campaign.turn(1, &|| true).unwrap();
            }
            let found: Vec<_> = campaign.findings.values().map(|finding| finding.vector.to_string()).collect();
            assert!(found.is_empty(), "{name}: {found:?}");
        }
    }
}
