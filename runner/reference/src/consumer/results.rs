//! A result from its envelope to a checked value (§4.2, §4.5). The main function is [`take`].

use super::context::Context;
use super::distort;
use super::json;
use super::limits::{MAX_FILE_BYTES, MAX_READ_MS, READ_CHUNK_BYTES, READS_BETWEEN_LOOKS};
use super::outcome::{Data, Ending};
use super::platform::Received;
use super::schema::Schema;
use super::session::Session;
use super::switches::{Fault, Leeway};
use crate::catalogue::hex;
use crate::envelope::{get, key};
use crate::session::Capability;
use cetp_vectors::bundle::Value;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

/// The only media type of §4.5.
const MEDIA_TYPE: &str = "application/json";

/// Takes the value out of a result envelope: of `data` after a synchronous call, of `result` in the state of an
/// operation. A file lies beside it in the Bundle that was received, which closes it whatever happens here.
///
/// # Errors
/// Why it is not taken.
pub fn take(
    cx: Context<'_>,
    session: &Session,
    output: &Schema,
    envelope: &Json,
    received: &Received<'_>,
) -> Result<Data, Ending> {
    let refused = |why: &str| Ending::refused(format!("The result cannot be used: {why}"));
    if let Some(data) = distort::made_up(cx, envelope) {
        return Ok(data);
    }
    let value = match envelope["kind"].as_str() {
        Some("inline") => {
            let length = received.bundle.string(key::DATA).map_or(0, str::len) as u64;
            if length > session.limits.max_inline_result_bytes && cx.leeway(Leeway::InlineLimitChecked) {
                return Err(refused("it is longer than was agreed on"));
            }
            envelope.get("value").cloned().ok_or_else(|| refused("there is no value"))?
        }
        Some("file") if session.can(Capability::LargeResults) || cx.broken(Fault::FileUnnegotiated) => {
            file(cx, envelope, received).map_err(refused)?
        }
        Some("file") => return Err(refused("files were not negotiated")),
        _ => return Err(refused("it is of no known kind")),
    };
    distort::file_schema(cx, output, envelope).check(&value).map_err(refused)?;
    Ok(Data(value))
}

/// Reads a file and holds it to what was declared: size, then digest, then JSON. Never more than the declared size and
/// one byte is read, and nothing at all of what is declared larger than we take.
fn file(cx: Context<'_>, envelope: &Json, received: &Received<'_>) -> Result<Json, &'static str> {
    let Some(Value::Fd { id, .. }) = get(&received.bundle, key::RESULT_FD) else {
        return Err("there is no descriptor with it");
    };
    if envelope["media_type"].as_str() != Some(MEDIA_TYPE) {
        return Err("its media type is not known");
    }
    let declared = envelope["size_bytes"].as_u64().ok_or("its size is not declared")?;
    if declared > MAX_FILE_BYTES && !cx.broken(Fault::ReadLimitDeclared) {
        return Err("it is too large");
    }
    let digest = digest(cx, envelope["sha256"].as_str().unwrap_or_default()).ok_or("its digest is not declared")?;
    let content = read_all(cx, id, declared)?;
    let actual = hex(&Sha256::digest(&content));
    if actual != digest && !distort::digest_is_believed(cx, &actual, &digest) {
        return Err("its content is not what was declared");
    }
    let max_bytes = usize::try_from(MAX_FILE_BYTES).unwrap_or(usize::MAX);
    distort::file_value(cx, &content).map_or_else(|| json::read(&content, max_bytes), Ok)
}

/// 64 lowercase digits.
fn digest(cx: Context<'_>, text: &str) -> Option<String> {
    let text = if cx.leeway(Leeway::UppercaseDigest) { text.to_ascii_lowercase() } else { text.to_owned() };
    let whole = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (whole || distort::any_digest(cx)).then_some(text)
}

fn read_all(cx: Context<'_>, fd: &str, declared: u64) -> Result<Vec<u8>, &'static str> {
    let until_ms = cx.platform.now_ms().saturating_add(MAX_READ_MS);
    let (mut content, mut length) = (Vec::new(), 0);
    for reads in 1_u64.. {
        // One byte more than declared shows that it does not end there.
        let left = declared.saturating_add(1) - length;
        let chunk = usize::try_from(left).unwrap_or(usize::MAX).min(READ_CHUNK_BYTES);
        let chunk = cx.platform.read(fd, chunk).ok_or("it cannot be read")?;
        length += chunk.bytes.len() as u64;
        if length <= MAX_FILE_BYTES + 1 {
            content.extend_from_slice(&chunk.bytes);
        }
        match length {
            _ if length > declared => {
                content.pop();
                return if cx.broken(Fault::LongerFileAccepted) {
                    Ok(content)
                } else {
                    Err("it is longer than declared")
                };
            }
            _ if chunk.eof && length < declared && !cx.broken(Fault::ShorterFileAccepted) => {
                return Err("it is shorter than declared");
            }
            _ if chunk.eof => return Ok(content),
            // A descriptor that gives nothing and does not end would keep us for ever.
            _ if chunk.bytes.is_empty() => return Err("it does not go on"),
            _ if reads % READS_BETWEEN_LOOKS == 0 && cx.platform.now_ms() > until_ms => {
                return Err("it takes too long");
            }
            _ => {}
        }
    }
    Err("it does not end")
}
