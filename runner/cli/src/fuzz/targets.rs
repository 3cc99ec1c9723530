//! What the fuzzers call with arbitrary bytes: each function is a target of `fuzz/`, and panics where something is wrong.
//! [`TARGETS`] names them all, so that inputs can be played without a fuzzer.

use super::bench::{Bench, broken};
use super::campaign::Campaign;
use super::case::Material;
pub use super::targets_aw::{aw_admission, aw_request, aw_response};
use crate::builtin;
use crate::run::SUITE_VERSION;
use cetp_runner::limits::Limits;
use cetp_vectors::bundle::Bundle;
use cetp_vectors::json::{self, parse};
use cetp_vectors::judge::{Outcome, judge};
use cetp_vectors::ledger::Role;
use cetp_vectors::load::Catalogue;
use cetp_vectors::machine::Answer;
use cetp_vectors::parcel::{Api, bundle_size};
use cetp_vectors::protocol::{Describe, check_result};
use cetp_vectors::reader::Reader;
use cetp_vectors::transcript::Transcript;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{LazyLock, OnceLock};

/// A target: its name, and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("vector_file", vector_file),
    ("protocol", protocol),
    ("bundle", bundle),
    ("transcript", transcript),
    ("report", report),
    ("provider", provider),
    ("consumer", consumer),
    ("consumer_case", consumer_case),
    ("aw_request", aw_request),
    ("aw_response", aw_response),
    ("aw_admission", aw_admission),
];

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::embedded);
static READER: LazyLock<Reader> = LazyLock::new(|| Reader::new("cetp-v2").expect("the embedded files are well"));

/// Loads a file of vectors: it is read or refused with its places.
pub fn vector_file(data: &[u8]) {
    let files = [("cetp-v2/provider/made.json", data), ("cetp-v2/consumer/made.json", data)];
    for (name, text) in files {
        match Catalogue::from_files([(name.to_owned(), text.to_vec())].into()) {
            Ok(catalogue) => assert!(catalogue.vectors.iter().all(|vector| !vector.id.is_empty())),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    if let Ok(vector) = parse(data, json::Limits::TEXT)
        && let Ok(vector) = READER.vector(&vector)
    {
        assert!(!vector.requirements.is_empty());
    }
}

/// Reads results of every verb.
pub fn protocol(data: &[u8]) {
    const VERBS: [&str; 9] = [
        "target.describe",
        "target.reset",
        "provider.manifest",
        "provider.call",
        "fd.read",
        "observe.audit",
        "consumer.discover",
        "consumer.execute",
        "control.user",
    ];
    let Ok(json) = parse(data, json::Limits::DATA) else { return };
    for verb in VERBS {
        if let Err(error) = check_result(verb, &json) {
            assert!(!error.to_string().is_empty());
        }
    }
    if let Err(error) = Describe::from_json(&json) {
        assert!(!error.to_string().is_empty());
    }
}

/// Decodes and encodes a Bundle: what was decoded is what is decoded again.
pub fn bundle(data: &[u8]) {
    let Ok(json) = parse(data, json::Limits::DATA) else { return };
    let Ok(bundle) = Bundle::from_json(&json) else { return };
    let written = bundle.to_json();
    let again = Bundle::from_json(&written).expect("what was written can be read");
    // A double that is no number is not equal to itself, and its JSON is.
    assert_eq!(again.to_json(), written);
    for api in [Api::UpTo32, Api::From33, Api::From36] {
        assert!(bundle_size(Some(&bundle), api).bytes >= 4);
    }
}

/// Judges a transcript, of the vector whose id is the first line: never a pass with something broken, and twice the same.
pub fn transcript(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == b'\n');
    let (Some(id), Some(rest)) = (parts.next(), parts.next()) else { return };
    let Ok(json) = parse(rest, json::Limits::TEXT) else { return };
    let Ok(transcript) = Transcript::from_json(&json) else { return };
    let Some(vector) = std::str::from_utf8(id).ok().and_then(|id| CATALOGUE.get(id)) else { return };
    let first = judge(vector, &transcript);
    assert_eq!(first, judge(vector, &transcript), "the same transcript is judged the same");
    if let Ok(judgement) = first {
        let clean = judgement.findings.is_empty();
        assert!(clean || !matches!(judgement.outcome, Outcome::Pass | Outcome::Warn | Outcome::NotApplicable));
        assert!(
            judgement.outcome != Outcome::Pass || vector.requirements.iter().any(|id| judgement.judged.contains(id))
        );
    }
}

/// Reads and verifies a report.
pub fn report(data: &[u8]) {
    if let Err(error) = cetp_reports::read::report(data) {
        assert!(!error.to_string().is_empty());
    }
    let demands = cetp_reports::verify::Demands::default();
    match cetp_reports::verify::verify(data, Some(data), &CATALOGUE, SUITE_VERSION, &demands) {
        Ok(verified) => assert_eq!(verified.judged.len(), verified.report.results.len()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Plays a case against the reference: it keeps every rule, and agrees with the model.
pub fn provider(data: &[u8]) {
    conforms("provider", Role::Provider, data);
}

/// The same for a consumer, with providers that answer anything.
pub fn consumer_case(data: &[u8]) {
    conforms("consumer", Role::Consumer, data);
}

fn conforms(name: &'static str, role: Role, data: &[u8]) {
    static QUIET: AtomicBool = AtomicBool::new(false);
    static PROVIDER: OnceLock<Material> = OnceLock::new();
    static CONSUMER: OnceLock<Material> = OnceLock::new();
    let adapter = builtin::reference(name, &[], Limits::default(), Path::new("")).expect("there is one");
    let bench = Bench::new(adapter.as_ref(), &READER, &QUIET).expect("it starts");
    let made = || Material::new(&CATALOGUE, role, &bench.target, true).expect("the catalogue is well");
    let material = if role == Role::Consumer { &CONSUMER } else { &PROVIDER }.get_or_init(made);
    let mut campaign = Campaign::new(bench, material, 0);
    campaign.play(data).expect("a case is a vector");
    let told: Vec<String> =
        campaign.findings.values().map(|finding| format!("{}\n{}", finding.message, finding.vector)).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
    assert_eq!(campaign.tally.first_error, None, "a case ended without a verdict");
}

/// Answers the reference's consumer with what the bytes are: it neither dies nor hangs nor breaks a rule of every request.
pub fn consumer(data: &[u8]) {
    static QUIET: AtomicBool = AtomicBool::new(false);
    let adapter = builtin::reference("consumer", &[], Limits::default(), Path::new("")).expect("there is one");
    let mut bench = Bench::new(adapter.as_ref(), &READER, &QUIET).expect("it starts");
    let json = answers(data);
    let (vector, result) = bench.run(&json).expect("it is a vector");
    let told = (broken(&vector, &result), &result.reason);
    let mut answers = result.transcript.iter().flat_map(|transcript| &transcript.entries).map(|entry| &entry.answer);
    // An error without a breakdown is one of the bytes: what they change twice may not be there any more.
    let gone = result.own_fault || answers.any(|answer| matches!(answer, Answer::Broken { .. }));
    assert!(result.outcome != Outcome::Fail && !gone, "{told:?}\n{json}");
}

/// A vector in which a provider answers with pieces of the bytes: one for each line, `METHOD POINTER JSON`, which changes the
/// honest answer, or `METHOD JSON`, which takes its place.
fn answers(data: &[u8]) -> Json {
    const METHODS: [&str; 5] = ["negotiate", "get_provider_info", "list_tools", "execute_tool", "get_operation"];
    const TOOLS: [&str; 5] = ["fixture_echo", "fixture_append", "fixture_job", "fixture_transfer", "fixture_blob"];
    let text = String::from_utf8_lossy(data);
    let mut replies = Vec::new();
    let mut tool = "fixture_echo";
    for line in text.lines().take(16) {
        let mut words = line.splitn(3, ' ');
        let (Some(method), Some(second)) = (words.next(), words.next()) else { continue };
        // In a pointer this would be a placeholder of the vector, and not a name that the provider chose.
        if second.starts_with('/') && second.contains("${") {
            continue;
        }
        tool = TOOLS.into_iter().find(|name| *name == method).unwrap_or(tool);
        let Some(method) = METHODS.into_iter().find(|name| *name == method) else { continue };
        let value =
            |text: &str| parse(text.as_bytes(), json::Limits::DATA).ok().map(|value| json!({ "$literal": value }));
        match words.next() {
            Some(third) if second.starts_with('/') => {
                replies
                    .extend(value(third).map(|value| json!({ "to": method, "change": { "set": { second: value } } })));
            }
            Some(_) => {}
            None if second.starts_with('/') => {
                replies.push(json!({ "to": method, "change": { "remove": [second] } }));
            }
            None => replies.extend(value(second).map(|value| json!({ "to": method, "data": value }))),
        }
    }
    json!({
        "id": "cetp2/consumer/fuzz/answers", "title": "A provider answers whatever it likes", "role": "consumer", "level": "core",
        "requirements": ["CETP2-4.2-03", "CETP2-7.3-02"], "flags": ["hostile"], "providers": { "p": { "replies": replies } },
        "steps": [
            { "discover": ["p"], "breakdown": "CETP2-7.3-02", "expect": ["rows_are_data"] },
            { "execute": { "provider_id": "org.example.p", "tool": tool, "args": { "value": "hello" } },
              "breakdown": "CETP2-7.3-02", "expect": ["data_only"] }
        ]
    })
}
