//! Fuzz targets for messages of `aw-provider/v1alpha1`: arbitrary bytes as a request, as a response, as the case of an
//! admission. The reference reads them; it never panics, and agrees with the published schemas.

use cetp_reference::aw::admission::{self, decide};
use cetp_reference::aw::message::{Layer, Refused, Rules, check_response, parse_request};
use cetp_reference::aw::policy::{self, serve};
use cetp_vectors::aw;
use cetp_vectors::json::{Limits, parse};
use cetp_vectors::schema::{Checked, DRAFT_2020_12, instance_of};
use serde_json::Value as Json;

/// Whether a message that can be read conforms to its schema, nothing where that is not told; the layer where it cannot be
/// read.
fn by_schema(name: &str, bytes: &[u8]) -> Result<Option<bool>, &'static str> {
    let json = aw::read(bytes)?;
    Ok(match instance_of(&aw::schemas()[name], DRAFT_2020_12, &json) {
        Checked::Yes => Some(true),
        Checked::No(_) => Some(false),
        Checked::Unknown(_) => None,
    })
}

/// What the reader refuses and the schema does not say: which effects an event admits, and names that must differ.
const BEYOND: [&str; 2] = ["allowed_effects", "operation.name"];

/// The reader and the schema say the same up to what the schema does not say.
fn agree<T>(schema: Result<Option<bool>, &'static str>, read: Result<T, &Refused>) {
    match (schema, read) {
        (Err(layer), Err(refused)) => assert_eq!(refused.layer.name(), layer),
        (Err(layer), Ok(_)) => panic!("taken although {layer}"),
        (Ok(Some(false)), Err(refused)) => assert_eq!(refused.layer, Layer::Schema, "{refused}"),
        (Ok(Some(false)), Ok(_)) => panic!("taken against the schema"),
        (Ok(Some(true)), Err(refused)) => {
            assert!(refused.layer != Layer::Schema || BEYOND.contains(&refused.what), "{refused}");
        }
        (Ok(Some(true)), Ok(_)) | (Ok(None), _) => {}
    }
}

/// A request: read, and answered by the provider of the reference.
pub fn aw_request(data: &[u8]) {
    let read = parse_request(data, Rules::default());
    agree(by_schema("aw_request", data), read.as_ref());
    let served = serve(data, policy::Options::default());
    assert!(!served.lives_on && !served.hangs && served.wrote.is_empty());
    assert_eq!(by_schema("aw_response", &served.stdout), Ok(Some(true)), "an answer of another shape");
    let answer = aw::read(&served.stdout).expect("it was just read");
    match &read {
        Ok(request) => match check_response(request, &served.stdout, Rules::default()) {
            Ok(_) => {}
            Err(refused) => assert_eq!(refused.layer, Layer::ProviderError, "{refused}"),
        },
        Err(_) => assert_eq!(answer["status"], "error"),
    }
}

/// A response: the first line is its request, the rest the response.
pub fn aw_response(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == b'\n');
    let (Some(request), Some(response)) = (parts.next(), parts.next()) else { return };
    let Ok(request) = parse_request(request, Rules::default()) else { return };
    let read = check_response(&request, response, Rules::default());
    agree(by_schema("aw_response", response), read.as_ref());
    if read.is_ok() {
        let answer = aw::read(response).expect("it was just read");
        assert_eq!(answer["request_id"].as_str(), Some(request.id()));
        assert_eq!(answer["status"], "ok");
    }
}

/// The case of an admission: decided, twice the same, and a refusal has its reason.
pub fn aw_admission(data: &[u8]) {
    let Ok(case) = parse(data, Limits::TEXT) else { return };
    let decided = decide(&case, admission::Options::default());
    assert_eq!(decided, decide(&case, admission::Options::default()), "the same case is decided the same");
    match decided["accepted"].as_bool() {
        Some(true) => assert!(decided["steps"].is_array()),
        Some(false) => assert!(decided["reason"].as_str().is_some_and(|reason| !reason.is_empty())),
        None => panic!("no decision: {}", Json::to_string(&decided)),
    }
}
