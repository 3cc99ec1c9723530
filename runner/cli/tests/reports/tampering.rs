//! A report that was changed is refused, with a message that names what does not fit: by who has no key, and by who has one.

use crate::rig::SIGNED;
use cetp_reports::check::check;
use cetp_reports::dsse::Envelope;
use cetp_reports::error::ReportError;
use cetp_reports::key::{PrivateKey, PublicKey};
use cetp_reports::read;
use cetp_reports::statement::statement;
use cetp_reports::verify::{Demands, verify};
use cetp_vectors::load::Catalogue;
use serde_json::{Value as Json, json};
use std::sync::LazyLock;

const VERSION: &str = env!("CARGO_PKG_VERSION");

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::embedded);

fn public() -> Vec<PublicKey> {
    PublicKey::list_from_pem(&std::fs::read_to_string(SIGNED.path("key.pub.pem")).unwrap(), "key").unwrap()
}

fn verified(report: &[u8], envelope: &[u8], keys: &[PublicKey]) -> Result<(), ReportError> {
    let demands = Demands { keys: Some(keys), ..Demands::default() };
    verify(report, Some(envelope), &CATALOGUE, VERSION, &demands).map(drop)
}

#[test]
fn no_byte_of_the_envelope_can_be_changed() {
    let keys = public();
    let report = std::fs::read(SIGNED.path("report.json")).unwrap();
    let envelope = std::fs::read(SIGNED.path("report.dsse.json")).unwrap();
    verified(&report, &envelope, &keys).unwrap();
    for place in 0..envelope.len() {
        for mask in [0x01, 0x20, 0x80] {
            let mut changed = envelope.clone();
            changed[place] ^= mask;
            assert!(verified(&report, &changed, &keys).is_err(), "byte {place} with {mask:#x}");
        }
    }
    assert!(verified(&report, &envelope[..envelope.len() - 1], &keys).is_err());
    assert!(verified(&report, &[], &keys).is_err());
}

#[test]
fn no_byte_of_the_report_can_be_changed() {
    let keys = public();
    let report = std::fs::read(SIGNED.path("report.json")).unwrap();
    let envelope = std::fs::read(SIGNED.path("report.dsse.json")).unwrap();
    for place in (0..report.len()).step_by(997) {
        let mut changed = report.clone();
        changed[place] ^= 1;
        let error = verified(&changed, &envelope, &keys).unwrap_err().to_string();
        assert!(error.contains("report.json is not the file that was signed"), "{error}");
    }
}

/// Who signs a report that does not follow is refused all the same.
fn assert_refused(change: &dyn Fn(&mut Json), names: &[&str]) {
    let mut json = SIGNED.report();
    change(&mut json);
    let text = json.to_string();
    let report = match read::report(text.as_bytes()) {
        Ok(report) => report,
        Err(error) => return assert_names(&error, names),
    };
    assert_names(&check(&report, &CATALOGUE, VERSION).unwrap_err(), names);
    let key = PrivateKey::generate().unwrap();
    let envelope = Envelope::sign(statement(&report, text.as_bytes()).to_string().as_bytes(), &key);
    let envelope = serde_json::to_string(&envelope).unwrap();
    assert_names(&verified(text.as_bytes(), envelope.as_bytes(), &[key.public()]).unwrap_err(), names);
}

fn assert_names(error: &ReportError, names: &[&str]) {
    let error = error.to_string();
    for name in names {
        assert!(error.contains(name), "{name:?} is not named in: {error}");
    }
}

fn failed(json: &Json) -> usize {
    json["results"].as_array().unwrap().iter().position(|row| row["outcome"] == "fail").expect("one failed")
}

fn passed(json: &Json) -> usize {
    json["results"].as_array().unwrap().iter().position(|row| row["outcome"] == "pass").expect("one passed")
}

#[test]
fn a_result_cannot_be_made_better() {
    let id = SIGNED.report()["results"][failed(&SIGNED.report())]["vector"].as_str().unwrap().to_owned();
    for outcome in ["pass", "not_applicable", "warn", "not_run", "error"] {
        let change = |json: &mut Json| {
            let place = failed(json);
            json["results"][place]["outcome"] = json!(outcome);
        };
        assert_refused(&change, &[&id, &format!("says {outcome}, and its transcript leads to fail")]);
    }
}

#[test]
fn a_result_without_its_transcript_is_not_believed() {
    for outcome in ["pass", "fail", "not_applicable", "not_run"] {
        let change = |json: &mut Json| {
            let place = passed(json);
            let row = json["results"][place].as_object_mut().unwrap();
            row.remove("transcript");
            row.remove("judged_requirements");
            row.insert("outcome".into(), json!(outcome));
        };
        assert_refused(&change, &["without a transcript, and with this target, it can only be error"]);
    }
}

#[test]
fn transcripts_cannot_be_swapped() {
    let change = |json: &mut Json| {
        let (a, b) = (failed(json), passed(json));
        let mut rows = json["results"].as_array().unwrap().clone();
        let kept = rows[a]["transcript"].clone();
        rows[a]["transcript"] = rows[b]["transcript"].clone();
        rows[b]["transcript"] = kept;
        json["results"] = json!(rows);
    };
    assert_refused(&change, &["the transcript is not one of this vector"]);
}

#[test]
fn a_transcript_cannot_be_edited() {
    type Edit<'a> = (&'a str, &'a dyn Fn(&mut Json));
    let edits: [Edit<'_>; 6] = [
        ("is missing", &|t| drop(t["entries"].as_array_mut().unwrap().remove(0))),
        ("another message at", &|t| t["entries"][0]["params"]["caller"]["uid"] = json!(1)),
        ("cannot be read", &|t| t["entries"][0]["more"] = json!(1)),
        ("names another target", &|t| t["target"]["package"] = json!("org.other")),
        ("two messages at", &|t| {
            let first = t["entries"][0].clone();
            t["entries"].as_array_mut().unwrap().push(first);
        }),
        ("leads to", &|t| {
            let last = t["entries"].as_array().unwrap().len() - 1;
            t["entries"][last]["result"] = json!({"exception": {"class": "java.lang.RuntimeException", "message": ""}});
        }),
    ];
    for (name, edit) in edits {
        let change = |json: &mut Json| {
            let place = passed(json);
            edit(&mut json["results"][place]["transcript"]);
        };
        assert_refused(&change, &[name]);
    }
}

#[test]
fn results_cannot_be_dropped_doubled_or_put_elsewhere() {
    let drop_one = |json: &mut Json| drop(json["results"].as_array_mut().unwrap().remove(0));
    assert_refused(&drop_one, &["levels.core"]);
    let double = |json: &mut Json| {
        let first = json["results"][0].clone();
        json["results"].as_array_mut().unwrap().insert(0, first);
    };
    assert_refused(&double, &["occurs twice in results"]);
    let reverse = |json: &mut Json| json["results"].as_array_mut().unwrap().reverse();
    assert_refused(&reverse, &["results are sorted by vector"]);
    let other = |json: &mut Json| json["results"][0]["vector"] = json!("cetp2/provider/6/no-such");
    assert_refused(&other, &["the suite has no such vector"]);
}

#[test]
fn counts_verdicts_and_claims_cannot_be_edited() {
    assert_refused(&|json| json["levels"]["core"]["failed"] = json!(0), &["levels.core"]);
    assert_refused(
        &|json| json["levels"]["core"]["verdict"] = json!("pass"),
        &["levels.core: says pass, and the results lead to fail"],
    );
    assert_refused(&|json| drop(json["levels"].as_object_mut().unwrap().remove("core")), &["levels.core: is missing"]);
    assert_refused(&|json| json["levels"]["more"] = json["levels"]["core"].clone(), &["levels.more"]);
    let claim = json!([{"claim": "cetp-v2-core", "role": "provider", "suite_version": VERSION}]);
    assert_refused(&|json| json["claims"] = claim.clone(), &["cetp-v2-core does not follow"]);
    assert_refused(&|json| json["requirements"][0]["outcome"] = json!("pass"), &["requirements CETP2-"]);
    assert_refused(&|json| drop(json["requirements"].as_array_mut().unwrap().pop()), &["requirements"]);
    assert_refused(&|json| json["suite"]["vector_count"] = json!(1), &["suite.vector_count"]);
    assert_refused(&|json| json["suite"]["version"] = json!("0.0.1"), &["suite.version"]);
    assert_refused(&|json| json["suite"]["vectors_sha256"] = json!("00"), &["rests on other vectors"]);
}

#[test]
fn what_was_tested_cannot_be_edited() {
    assert_refused(&|json| json["target"]["name"] = json!("other"), &["target.name"]);
    assert_refused(&|json| json["target"]["capabilities"] = json!([]), &["target.capabilities"]);
    assert_refused(&|json| json["target"]["controls"] = json!([]), &["target.controls"]);
    assert_refused(&|json| json["target"]["declared"] = json!([]), &["target.declared"]);
    assert_refused(&|json| json["target"]["role"] = json!("consumer"), &["target.role"]);
    assert_refused(&|json| json["target"]["subjects"] = json!([]), &["target.subjects"]);
    assert_refused(
        &|json| json["target"]["description"]["fixture"] = json!(2),
        &["its transcript names another target"],
    );
    assert_refused(&|json| json["finished_at"] = json!("yesterday"), &["finished_at"]);
    assert_refused(&|json| json["more"] = json!(1), &["unknown field `more`"]);
}

#[test]
fn subjects_cannot_be_swapped_under_a_signature() {
    let keys = public();
    let envelope = std::fs::read(SIGNED.path("report.dsse.json")).unwrap();
    let mut json = SIGNED.report();
    json["target"]["subjects"][0]["sha256"] = json!("0".repeat(64));
    let error = verified(json.to_string().as_bytes(), &envelope, &keys).unwrap_err().to_string();
    assert!(error.contains("report.json is not the file that was signed"), "{error}");
}

#[test]
fn a_statement_about_something_else_is_refused_by_its_place() {
    let text = std::fs::read(SIGNED.path("report.json")).unwrap();
    let report = read::report(&text).unwrap();
    let key = PrivateKey::generate().unwrap();
    let signed = |change: &dyn Fn(&mut Json)| {
        let mut json = statement(&report, &text);
        change(&mut json);
        let envelope = serde_json::to_vec(&Envelope::sign(json.to_string().as_bytes(), &key)).unwrap();
        verified(&text, &envelope, &[key.public()])
    };
    signed(&|_| ()).unwrap();
    for (change, place) in [
        (
            &(|s: &mut Json| s["subject"][0]["digest"]["sha256"] = json!("00")) as &dyn Fn(&mut Json),
            "/subject/0/digest",
        ),
        (&|s: &mut Json| s["subject"] = json!([]), "/subject"),
        (&|s: &mut Json| s["predicate"]["result"] = json!("PASSED"), "/predicate/result"),
        (&|s: &mut Json| s["predicate"]["failedTests"] = json!([]), "/predicate/failedTests"),
        (&|s: &mut Json| s["predicateType"] = json!("other"), "/predicateType"),
        (&|s: &mut Json| s["more"] = json!(1), "/more"),
    ] {
        let error = signed(change).unwrap_err().to_string();
        assert!(error.contains(place), "{place}: {error}");
    }
}

#[test]
fn other_keys_types_and_encodings_are_refused() {
    let text = std::fs::read(SIGNED.path("report.json")).unwrap();
    let envelope = || Envelope::read(&std::fs::read(SIGNED.path("report.dsse.json")).unwrap()).unwrap();
    let keys = public();
    let error =
        |envelope: &Envelope| verified(&text, &serde_json::to_vec(envelope).unwrap(), &keys).unwrap_err().to_string();
    let mut changed = envelope();
    changed.payload_type = "application/json".into();
    assert!(error(&changed).contains("payloadType"));
    let mut changed = envelope();
    changed.signatures.clear();
    assert!(error(&changed).contains("no signature"));
    let mut changed = envelope();
    changed.payload = changed.payload.trim_end_matches('=').to_owned() + "A";
    assert!(!error(&changed).is_empty());
    let mut changed = envelope();
    changed.signatures[0].sig = changed.signatures[0].sig.replace(['+', '/'], "-").replace('=', "");
    assert!(error(&changed).contains("does not fit the envelope"));
}
