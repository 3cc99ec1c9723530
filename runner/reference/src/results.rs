//! How a result travels: inline, as a file, or not at all (§4.5). The main function is `Call::carry`.

use crate::catalogue::hex;
use crate::envelope::{self, Code, key, refuse};
use crate::error::Result;
use crate::limits::{MAX_FILE_RESULT_BYTES, MAX_READ_BYTES};
use crate::lock;
use crate::provider::{Call, Provider};
use crate::session::{Capability, Session, random_name};
use crate::switches::{Fault, Leeway};
use cetp_vectors::bundle::{Access, Bundle, Value};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// The result files that are open. They belong to the process and end with it.
#[derive(Debug, Default)]
pub(crate) struct Files(HashMap<String, File>);

#[derive(Debug)]
struct File {
    content: Vec<u8>,
    at: usize,
}

impl Call<'_> {
    /// The reply of a synchronous success (§4.2).
    pub(crate) fn present(&self, session: &Session, echo: Option<Value>, value: &str) -> Result<Bundle> {
        self.point("result.present")?;
        let (data, result_fd) = self.carry(session, value, &str::to_owned)?;
        let reply = envelope::success(echo, data);
        Ok(match result_fd {
            Some(fd) => reply.with(key::RESULT_FD, fd),
            None => reply,
        })
    }

    /// A value, JSON text, as `data` and, where it is a file, the descriptor beside it. `wrap` makes `data` of the result
    /// envelope: for an operation that is a state with the envelope in it.
    ///
    /// How a value travels follows the session that asks, not the one that executed (§6).
    pub(crate) fn carry(
        &self,
        session: &Session,
        value: &str,
        wrap: &dyn Fn(&str) -> String,
    ) -> Result<(String, Option<Value>)> {
        let may_be_file = self.can(session, Capability::LargeResults);
        let any_size = self.broken(Fault::InlineAboveLimit);
        let prefers_file = may_be_file && self.leeway(Leeway::SmallResultsAsFile);
        let most = self.limits().max_inline_result_bytes;
        if (value.len() <= most || any_size) && !prefers_file {
            let data = wrap(&format!(r#"{{"kind":"inline","value":{value}}}"#));
            // What counts is the JSON that goes into the Bundle.
            if data.len() <= most || any_size || self.leeway(Leeway::GreyZoneInline) {
                return Ok((data, None));
            }
        }
        if !may_be_file || value.len() > MAX_FILE_RESULT_BYTES {
            return refuse(Code::ResultTooLarge, "The result is too large.");
        }
        let envelope = json!({
            "kind": "file",
            "media_type": "application/json",
            "size_bytes": value.len(),
            "sha256": hex(&Sha256::digest(value)),
        });
        let id = random_name("fd-")?;
        let file = File { content: value.as_bytes().to_vec(), at: 0 };
        lock(&self.provider.files).0.insert(id.clone(), file);
        // Read only: what the caller does with it cannot reach us.
        Ok((wrap(&envelope.to_string()), Some(Value::Fd { id, access: Some(Access::Read) })))
    }
}

impl Provider {
    /// The next bytes of a result file and whether it ends with them; nothing if it is not open.
    pub fn read_file(&self, id: &str, max_bytes: usize) -> Option<(Vec<u8>, bool)> {
        let mut files = lock(&self.files);
        let file = files.0.get_mut(id)?;
        let end = file.content.len().min(file.at.saturating_add(max_bytes.min(MAX_READ_BYTES)));
        let bytes = file.content[file.at..end].to_vec();
        file.at = end;
        Some((bytes, end == file.content.len()))
    }

    /// Closes a result file; it may be closed already.
    pub fn close_file(&self, id: &str) {
        lock(&self.files).0.remove(id);
    }

    /// How many result files are open.
    pub fn open_files(&self) -> usize {
        lock(&self.files).0.len()
    }
}
