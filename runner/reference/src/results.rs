//! How a result travels: inline, as a file, or not at all (§4.5). The main function is `Call::carry`.

use crate::catalogue::hex;
use crate::envelope::{self, Code, Refusal, key, refuse};
use crate::error::Result;
use crate::faults;
use crate::limits::{MAX_FILE_RESULT_BYTES, MAX_READ_BYTES};
use crate::lock;
use crate::provider::{Call, Provider};
use crate::session::{Capability, Session, random_name};
use crate::switches::{Fault, Leeway};
use cetp_vectors::bundle::{Access, Bundle, Value};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;
use std::os::unix::fs::FileExt;

/// The result files that are open. They belong to the process and end with it.
#[derive(Debug, Default)]
pub(crate) struct Files(HashMap<String, File>);

#[derive(Debug)]
struct File {
    /// Without a name, so that it is gone with its last descriptor. In memory a large result would be held once more.
    content: std::fs::File,
    /// Digest of the value that it was made for; only a fault looks at it.
    sha256: String,
    size: u64,
    at: u64,
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
        let switches = &self.provider.setup.switches;
        let may_be_file = self.can(session, Capability::LargeResults) || self.broken(Fault::FileUnasked);
        let limit = faults::inline_limit(switches);
        let prefers_file = may_be_file && self.leeway(Leeway::SmallResultsAsFile);
        let length = |json: &str| faults::inline_length(switches, json);
        let length_as_sent = length(&faults::written(switches, Cow::Borrowed(value)));
        if self.broken(Fault::ExactLimitIsInternalError) && (limit - 36..=limit).contains(&length_as_sent) {
            return refuse(Code::InternalError, "The reply could not be written.");
        }
        if self.broken(Fault::FileByCharacters) && value.len() > limit && value.chars().count() <= limit {
            return refuse(Code::ResultTooLarge, "The result is too large.");
        }
        if self.broken(Fault::LargestIsInternalError) && may_be_file && value.len() > 12 << 20 {
            return refuse(Code::InternalError, "The file could not be written.");
        }
        if length_as_sent <= limit && !prefers_file {
            let data = wrap(&format!(r#"{{"kind":"inline","value":{value}}}"#));
            let data = faults::written(switches, Cow::Owned(data)).into_owned();
            // What counts is the JSON that goes into the Bundle.
            let fits = length(&data) <= limit || self.broken(Fault::InlineLimitOffByOne);
            if fits || self.leeway(Leeway::GreyZoneInline) {
                return Ok((data, None));
            }
        }
        let cap = match () {
            () if self.broken(Fault::FileCapAt1MiB) => 1 << 20,
            () if self.leeway(Leeway::FileCapAt8MiB) => 8 << 20,
            () => MAX_FILE_RESULT_BYTES,
        };
        if !may_be_file || value.len() > cap {
            if self.broken(Fault::TooLargeTruncated) {
                return Ok((wrap(&format!(r#"{{"kind":"inline","value":{}}}"#, faults::truncated(value))), None));
            }
            let code =
                if self.broken(Fault::TooLargeIsInternalError) { Code::InternalError } else { Code::ResultTooLarge };
            let tells = self.broken(Fault::TooLargeInDetails) && value.len() < 1 << 20;
            let details = tells.then(|| serde_json::from_str(value)).transpose()?;
            return Err(Refusal { details, ..Refusal::new(code, "The result is too large.") }.into());
        }
        let inline = || Cow::Owned(format!(r#"{{"kind":"inline","value":{value}}}"#));
        let digested = if self.broken(Fault::DigestOfEnvelope) { inline() } else { Cow::Borrowed(value) };
        let value = if self.broken(Fault::FileHoldsEnvelope) { inline() } else { Cow::Borrowed(value) };
        let sha256 = hex(&Sha256::digest(digested.as_bytes()));
        let mut envelope = json!({
            "kind": "file",
            "media_type": "application/json",
            "size_bytes": if self.broken(Fault::FileSizeInCharacters) { value.chars().count() } else { value.len() },
            "sha256": sha256,
        });
        if self.broken(Fault::FileWithItsValue) && value.len() < 1 << 20 {
            envelope["value"] = serde_json::from_str(&value)?;
        }
        let mut id = random_name("fd-")?;
        let content = faults::file_content(switches, &value);
        let mut file = File { content: tempfile::tempfile()?, sha256, size: content.len() as u64, at: 0 };
        file.content.write_all(&content)?;
        let mut files = lock(&self.provider.files);
        match files.0.iter().find(|(_, open)| open.sha256 == file.sha256) {
            Some((open, _)) if self.broken(Fault::FileShared) => id.clone_from(open),
            _ => drop(files.0.insert(id.clone(), file)),
        }
        // Read only: what the caller does with it cannot reach us.
        Ok((wrap(&envelope.to_string()), Some(Value::Fd { id, access: Some(Access::Read) })))
    }
}

impl Call<'_> {
    /// [`Call::carry`] for the result of an operation: the same rules (§4.5).
    pub(crate) fn carry_operation(
        &self,
        session: &Session,
        value: &str,
        wrap: &dyn Fn(&str) -> String,
    ) -> Result<(String, Option<Value>)> {
        if self.broken(Fault::OperationResultAnySize) {
            return Ok((wrap(&format!(r#"{{"kind":"inline","value":{value}}}"#)), None));
        }
        if value.len() > self.limits().max_inline_result_bytes && self.broken(Fault::OperationResultNeverFile) {
            return refuse(Code::ResultTooLarge, "The result is too large.");
        }
        if value.len() > 1 << 16
            && !self.can(session, Capability::LargeResults)
            && self.broken(Fault::OperationResultsStaySmall)
        {
            return refuse(Code::ResultTooLarge, "The result is too large.");
        }
        self.carry(session, value, wrap)
    }
}

impl Provider {
    /// The next bytes of a result file and whether it ends with them; nothing if it is not open.
    ///
    /// # Errors
    /// The system does not let it be read.
    pub fn read_file(&self, id: &str, max_bytes: usize) -> Result<Option<(Vec<u8>, bool)>> {
        let mut files = lock(&self.files);
        let Some(file) = files.0.get_mut(id) else { return Ok(None) };
        let left = usize::try_from(file.size - file.at).unwrap_or(usize::MAX);
        let mut bytes = vec![0; left.min(max_bytes).min(MAX_READ_BYTES)];
        file.content.read_exact_at(&mut bytes, file.at)?;
        file.at += bytes.len() as u64;
        Ok(Some((bytes, file.at == file.size)))
    }

    /// Closes a result file; it may be closed already.
    pub fn close_file(&self, id: &str) {
        let closed = lock(&self.files).0.remove(id);
        if closed.is_some() && self.broken(Fault::FilesCloseTogether) {
            lock(&self.files).0.clear();
        }
    }

    /// How many result files are open.
    pub fn open_files(&self) -> usize {
        lock(&self.files).0.len()
    }
}
