//! File results: what was declared is what must come, and everything is closed.

use crate::rig::{Call, Rig, World};
use cetp_reference::session::Capabilities;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

const CONTENT: &str = r#"{"value":"from a file"}"#;

fn hex(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn declared(content: &str) -> Json {
    json!({ "kind": "file", "media_type": "application/json", "size_bytes": content.len(), "sha256": hex(content.as_bytes()) })
}

/// Echoes through a file with this envelope and content; nothing for one that never ends.
fn file(rig: &Rig, envelope: &Json, content: Option<&str>) -> (Json, usize) {
    let mut world = World::new(|call: &Call<'_>| {
        let mut reply = call.honest();
        if call.method == "execute_tool" {
            reply["bundle"]["data"] = json!({ "string": envelope.to_string() });
            reply["bundle"]["result_fd"] = json!({ "fd": { "id": "fd-1", "access": "r" } });
        }
        reply
    });
    if let Some(content) = content {
        world.files.insert("fd-1", content.as_bytes().to_vec());
    }
    let answer = rig.echo(&world);
    assert_eq!(world.closed(), ["fd-1"], "{envelope}");
    assert_eq!(rig.open(), 0);
    (answer, world.bytes_read("fd-1"))
}

#[test]
fn a_file_is_a_result_like_any_other() {
    let (answer, _) = file(&Rig::new(), &declared(CONTENT), Some(CONTENT));
    assert_eq!(answer, json!({ "outcome": "success", "trust": "data", "value": { "value": "from a file" } }));
}

#[test]
fn what_is_not_as_declared_is_refused() {
    let longer = format!("{CONTENT} ");
    let other = CONTENT.replace('f', "F");
    for content in [&longer, &CONTENT[1..], &other, ""] {
        assert_eq!(file(&Rig::new(), &declared(CONTENT), Some(content)).0["outcome"], "refused", "{content}");
    }
    for text in ["no JSON", r#"{"other":1}"#, r#"{"value":1}{"value":2}"#, ""] {
        assert_eq!(file(&Rig::new(), &declared(text), Some(text)).0["outcome"], "refused", "{text}");
    }
    let hash = hex(CONTENT.as_bytes());
    for (member, value) in [
        ("size_bytes", json!(-1)),
        ("size_bytes", json!("23")),
        ("size_bytes", json!(9_223_372_036_854_775_808_u64)),
        ("size_bytes", json!(null)),
        ("sha256", json!(&hash[..63])),
        ("sha256", json!(hash.to_uppercase())),
        ("sha256", json!(null)),
        ("media_type", json!("text/plain")),
        ("media_type", json!(null)),
        ("kind", json!("files")),
    ] {
        let mut envelope = declared(CONTENT);
        envelope[member] = value;
        assert_eq!(file(&Rig::new(), &envelope, Some(CONTENT)).0["outcome"], "refused", "{envelope}");
    }
}

#[test]
fn nothing_is_read_without_an_end() {
    let (answer, read) = file(&Rig::new(), &declared(CONTENT), None);
    assert_eq!(answer["outcome"], "refused");
    assert_eq!(read, CONTENT.len() + 1);
    let mut envelope = declared(CONTENT);
    for size in [10_u64 << 30, u64::MAX] {
        envelope["size_bytes"] = json!(size);
        let (answer, read) = file(&Rig::new(), &envelope, None);
        assert_eq!((answer["outcome"].as_str(), read), (Some("refused"), 0));
    }
}

#[test]
fn a_file_that_was_not_negotiated_is_only_closed() {
    let rig = Rig::with(Capabilities::default(), &[]);
    let (answer, read) = file(&rig, &declared(CONTENT), Some(CONTENT));
    assert_eq!((answer["outcome"].as_str(), read), (Some("refused"), 0));
}

#[test]
fn descriptors_that_nobody_asked_for_are_closed() {
    let world = World::new(|call: &Call<'_>| {
        let mut reply = call.honest();
        let id = format!("fd-{}", call.method);
        reply["bundle"]["more"] = json!({ "bundle": { "deep": { "fd": { "id": id, "access": "rw" } } } });
        reply
    });
    let rig = Rig::new();
    assert_eq!(rig.echo(&world)["outcome"], "success");
    assert_eq!(world.closed(), ["fd-negotiate", "fd-get_provider_info", "fd-list_tools", "fd-execute_tool"]);
}
