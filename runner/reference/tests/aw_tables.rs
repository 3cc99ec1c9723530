//! The tables of `aw-provider/v1alpha1` against the reference's checker. They are pure data; a test in any language can loop
//! over them as this one does.

use base64::Engine;
use cetp_reference::aw::admission::{self, decide};
use cetp_reference::aw::message::{Reply, Rules, bind_invocation, check_response, parse_request};
use cetp_reference::aw::selector::{Bends, Selectors};
use cetp_vectors::load::Catalogue;
use cetp_vectors::schema::{Checked, DRAFT_2020_12, instance_of};
use serde_json::{Value as Json, json};

fn table(name: &str) -> Json {
    let path = format!("aw-provider-v1alpha1/tables/{name}.json");
    Catalogue::embedded().tables.remove(&path).unwrap_or_else(|| panic!("there is no table {path}"))
}

fn cases(table: &Json) -> &Vec<Json> {
    let cases = table["cases"].as_array().unwrap();
    assert!(cases.len() > 4, "the table is nearly empty");
    cases
}

/// The bytes of a case: `text`, `parts` put together, or `base64`.
fn bytes(case: &Json) -> Vec<u8> {
    if let Some(text) = case["text"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(base64) = case["base64"].as_str() {
        return base64::engine::general_purpose::STANDARD.decode(base64).unwrap();
    }
    let part = |part: &Json| match part {
        Json::String(text) => text.clone(),
        _ => part["repeat"].as_str().unwrap().repeat(usize::try_from(part["times"].as_u64().unwrap()).unwrap()),
    };
    case["parts"].as_array().unwrap().iter().map(part).collect::<String>().into_bytes()
}

fn is_core(case: &Json) -> bool {
    case.get("level").is_none()
}

#[test]
fn requests_are_refused_by_their_layers() {
    let table = table("requests");
    for case in cases(&table) {
        let bytes = bytes(case);
        let refused = parse_request(&bytes, Rules::default()).err().map(|refused| refused.layer.name());
        assert_eq!(json!(refused), case["refused_by"], "{}", case["name"]);
        if is_core(case) {
            let old = Rules { text_replacement: false, ..Rules::default() };
            let refused = parse_request(&bytes, old).err().map(|refused| refused.layer.name());
            assert_eq!(json!(refused), case["refused_by"], "{} before text_replacement", case["name"]);
        }
    }
}

/// The schema says the same as the checker of what is readable; only the digest it cannot know.
#[test]
fn the_request_schema_agrees() {
    let table = table("requests");
    let schema = &cetp_vectors::aw::schemas()["aw_request"];
    for case in cases(&table) {
        let Ok(message) = cetp_vectors::aw::read(&bytes(case)) else { continue };
        let wanted = case["refused_by"] != "schema";
        let checked = instance_of(schema, DRAFT_2020_12, &message);
        let admitted_only = case["name"].as_str().unwrap().starts_with("allowed_effects ");
        // Which effects an event admits is checked after the schema.
        assert!(admitted_only || (checked == Checked::Yes) == wanted, "{}: {checked:?}", case["name"]);
    }
}

#[test]
fn responses_bring_what_they_bring_or_are_refused_by_their_layers() {
    let table = table("responses");
    for case in cases(&table) {
        let request = table["requests"][case["to"].as_str().unwrap()].as_str().unwrap();
        let request = parse_request(request.as_bytes(), Rules::default()).unwrap();
        let (result, refused) = match check_response(&request, &bytes(case), Rules::default()) {
            Ok(Reply::Description(_)) => (Some("description"), None),
            Ok(Reply::Configuration) => (Some("configuration"), None),
            Ok(Reply::Invocation(_)) => (Some("invocation"), None),
            Err(refused) if refused.error_code.is_some() => (Some("provider_error"), None),
            Err(refused) => (None, Some(refused.layer.name())),
        };
        assert_eq!(
            (json!(result), json!(refused)),
            (case["result"].clone(), case["refused_by"].clone()),
            "{}",
            case["name"]
        );
    }
}

/// Every response that the schema refuses is refused by the layer schema, but for what two members say together.
#[test]
fn the_response_schema_agrees() {
    let table = table("responses");
    let schema = &cetp_vectors::aw::schemas()["aw_response"];
    for case in cases(&table) {
        let Ok(message) = cetp_vectors::aw::read(&bytes(case)) else { continue };
        // That names differ no JSON Schema can say.
        if case["name"] == "an operation twice" {
            continue;
        }
        let checked = instance_of(schema, DRAFT_2020_12, &message);
        assert_eq!(checked == Checked::Yes, case["refused_by"] != "schema", "{}: {checked:?}", case["name"]);
    }
}

#[test]
fn digests_agree() {
    let table = table("digests");
    for case in cases(&table) {
        let unbound = cetp_vectors::aw::read(case["unbound_text"].as_str().unwrap().as_bytes()).unwrap();
        let bound = bind_invocation(unbound, Rules::default()).unwrap();
        let digest = &bound.as_value()["input_digest"];
        assert!(case["input_digest"].as_array().unwrap().contains(digest), "{}: {digest}", case["name"]);
    }
}

#[test]
fn selectors_are_checked_and_match() {
    let table = table("selectors");
    let texts = |json: &Json| -> Option<Vec<String>> {
        json.as_array().map(|list| list.iter().map(|text| text.as_str().unwrap().to_owned()).collect())
    };
    for case in cases(&table) {
        let valid = Selectors::new(texts(&case["tools"]), Bends::default()).is_ok();
        assert_eq!(json!(valid), case["valid"], "{}", case["name"]);
    }
    for case in table["matches"].as_array().unwrap() {
        let word = |name: &str| case[name].as_str().unwrap();
        let matches = |level: &str| {
            let selectors = Selectors::new(texts(&case[level]), Bends::default()).unwrap();
            selectors.match_tool(word("adapter"), word("tool"), word("native_name"))
        };
        assert_eq!(json!(matches("event") && matches("step")), case["called"], "{}", case["name"]);
    }
}

#[test]
fn the_admission_decides_as_the_table_says() {
    let table = table("admission");
    for case in cases(&table) {
        let account = decide(&case["case"], admission::Options::default());
        assert_eq!(account["accepted"], case["accepted"], "{}: {account}", case["name"]);
        if is_core(case) {
            let old = admission::Options { core_only: true, ..admission::Options::default() };
            assert_eq!(
                decide(&case["case"], old)["accepted"],
                case["accepted"],
                "{} before text_replacement",
                case["name"]
            );
        }
    }
}
