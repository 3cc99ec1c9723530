//! What the sessions over a stream of bytes have in common: JSON-RPC 2.0, one message a line, with the limits of the target
//! protocol. The main type is [`Conversation`]; it knows nothing of where the bytes come from.

use crate::adapter::{Fault, FaultKind, Incoming, RpcError};
use crate::limits::Limits;
use crate::protocol::{Checker, To};
use cetp_vectors::json::{self, Numbers};
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One side of a conversation with a target: what was asked on both sides, and the bytes that are no whole line yet.
pub struct Conversation {
    limits: Limits,
    checker: Option<Arc<Checker>>,
    /// Bytes of a line that has not ended yet, and of lines after it.
    unread: Vec<u8>,
    /// So many bytes of `unread` are known to hold no line end.
    scanned: usize,
    /// What one reading goes into.
    buffer: Box<[u8]>,
    output_bytes: u64,
    /// Bytes of messages that a transcript keeps whole.
    kept_bytes: u64,
    requests: u64,
    /// Requests without an answer: their number and verb.
    waiting: BTreeMap<u64, String>,
    /// Requests of the target without an answer: their id and verb.
    asked: Vec<(Json, String)>,
    last_id: u64,
}

/// A request, its members in the order of their names.
#[derive(Serialize)]
struct Request<'m> {
    id: u64,
    jsonrpc: &'static str,
    method: &'m str,
    params: &'m Json,
}

/// So much is read at a time.
const CHUNK: usize = 64 << 10;

/// Verbs of the suite's own harness, which the target protocol does not know. No vector sends one.
const OF_HARNESS: &str = "driver.";

impl Conversation {
    /// A conversation in which nothing was said. With a checker every message is checked against the schemas.
    pub fn new(limits: Limits, checker: Option<Arc<Checker>>) -> Conversation {
        Conversation {
            limits,
            checker,
            unread: Vec::new(),
            scanned: 0,
            buffer: vec![0; CHUNK].into(),
            output_bytes: 0,
            kept_bytes: 0,
            requests: 0,
            waiting: BTreeMap::new(),
            asked: Vec::new(),
            last_id: 0,
        }
    }

    /// The line of a request, and its number.
    ///
    /// # Errors
    /// The request is not as the target protocol says: the runner's own fault.
    pub fn request(&mut self, verb: &str, params: &Json) -> Result<(u64, Vec<u8>), Fault> {
        self.last_id += 1;
        let id = self.last_id;
        self.waiting.insert(id, verb.to_owned());
        let request = Request { id, jsonrpc: "2.0", method: verb, params };
        if let (Some(checker), false) = (&self.checker, verb.starts_with(OF_HARNESS)) {
            checker.message(&json!(request), To::Target).map_err(own_fault)?;
        }
        Ok((id, line(&request)))
    }

    /// The line of an answer to a request of the target.
    ///
    /// # Errors
    /// As [`Conversation::request`].
    pub fn answer(&mut self, id: &Json, result: Result<Json, RpcError>) -> Result<Vec<u8>, Fault> {
        let message = match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": error.code, "message": error.message } })
            }
        };
        let verb = self.asked.iter().position(|(asked, _)| asked == id).map(|n| self.asked.swap_remove(n).1);
        if let (Some(checker), Some(verb), Some(result)) = (&self.checker, verb, message.get("result")) {
            checker.result(&verb, To::Runner, result).map_err(own_fault)?;
        }
        Ok(line(&message))
    }

    /// Lets `read` put bytes from the target behind those that are there.
    ///
    /// # Errors
    /// The target wrote too much.
    pub fn fill<E>(&mut self, read: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Result<Result<usize, E>, Fault> {
        let read = read(&mut self.buffer);
        let n = *read.as_ref().unwrap_or(&0);
        self.unread.extend_from_slice(&self.buffer[..n]);
        self.output_bytes += n as u64;
        if self.output_bytes > self.limits.output_bytes {
            let most = self.limits.output_bytes;
            return Err(Fault::new(FaultKind::Flood, format!("the target wrote more than {most} bytes in one vector")));
        }
        Ok(read)
    }

    /// The next message, where a whole line is there.
    ///
    /// # Errors
    /// The line is too long, no message, or one that nobody asked for.
    #[expect(clippy::should_implement_trait, reason = "that nothing is there yet is no end")]
    pub fn next(&mut self) -> Result<Option<Incoming>, Fault> {
        match self.take_line()? {
            Some(line) => self.message(&line).map(Some),
            None => Ok(None),
        }
    }

    /// How many bytes are there that were not taken yet.
    pub fn unread(&self) -> usize {
        self.unread.len()
    }

    /// For a sentence about the end of a target: the line in whose middle it came.
    pub fn rest(&self) -> String {
        if self.unread.is_empty() {
            String::new()
        } else {
            format!(" in the middle of a line: {}", excerpt(&self.unread))
        }
    }

    /// What comes from now on does not matter.
    pub fn forget_unread(&mut self) {
        self.unread.clear();
        self.scanned = 0;
    }

    /// The limits for one vector begin anew.
    pub fn begin_anew(&mut self) {
        self.output_bytes = 0;
        self.kept_bytes = 0;
        self.requests = 0;
    }

    /// Whether this is the one answer that is awaited between vectors.
    ///
    /// # Errors
    /// It is something else, which belongs to the vector before.
    pub fn settled(id: u64, incoming: &Incoming) -> Result<(), Fault> {
        match incoming {
            Incoming::Answer { id: answered, .. } if *answered == id => Ok(()),
            Incoming::Answer { id, .. } | Incoming::Piece { id, .. } => {
                Err(Fault::new(FaultKind::Garbage, format!("the target answered request {id} late, after its vector")))
            }
            Incoming::Request { verb, .. } => {
                let message = format!("the target sent {verb:?} when no request to it was open");
                Err(Fault::new(FaultKind::Garbage, message))
            }
        }
    }

    fn keep(&mut self, line: &[u8]) -> Result<(), Fault> {
        self.kept_bytes += line.len() as u64;
        let most = self.limits.kept_bytes;
        if self.kept_bytes > most {
            let message = format!("the messages of the target in one vector are longer than {most} bytes");
            return Err(Fault::new(FaultKind::Flood, message));
        }
        Ok(())
    }

    fn take_line(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let most = self.limits.line_bytes;
        let too_long = || Fault::new(FaultKind::Flood, format!("the target wrote a line of more than {most} bytes"));
        match self.unread[self.scanned..].iter().position(|byte| *byte == b'\n') {
            Some(end) => {
                let end = self.scanned + end;
                if end > most {
                    return Err(too_long());
                }
                let rest = self.unread.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.unread, rest);
                line.pop();
                self.scanned = 0;
                Ok(Some(line))
            }
            None if self.unread.len() > most => Err(too_long()),
            None => {
                self.scanned = self.unread.len();
                Ok(None)
            }
        }
    }

    fn message(&mut self, line: &[u8]) -> Result<Incoming, Fault> {
        let limits = json::Limits {
            max_bytes: self.limits.line_bytes,
            max_level: self.limits.nesting,
            max_values: self.limits.values,
            numbers: Numbers::Saturating,
            lenient: false,
        };
        let garbage = |what: String| {
            Fault::new(FaultKind::Garbage, format!("the target wrote a line that is {what}: {}", excerpt(line)))
        };
        let message = json::parse(line, limits).map_err(|error| garbage(format!("no message ({error})")))?;
        let Json::Object(mut o) = message else { return Err(garbage("no JSON-RPC message".into())) };
        if o.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
            return Err(garbage("no JSON-RPC 2.0 message".into()));
        }
        if let Some(checker) = &self.checker {
            let checked = checker.message(&Json::Object(o.clone()), To::Runner);
            checked.map_err(|why| garbage(format!("not as the target protocol says ({why})")))?;
        }
        if let Some(verb) = o.get("method").and_then(Json::as_str).map(str::to_owned) {
            self.requests += 1;
            if self.requests > self.limits.requests {
                let most = self.limits.requests;
                return Err(Fault::new(
                    FaultKind::Flood,
                    format!("the target sent more than {most} requests in one vector"),
                ));
            }
            let id = o.remove("id").filter(|id| id.is_string() || id.is_number());
            let Some(id) = id else { return Err(garbage("a request without an id".into())) };
            self.keep(line)?;
            if self.asked.iter().any(|(asked, _)| *asked == id) {
                return Err(garbage(format!("a second request with the id {id}")));
            }
            self.asked.push((id.clone(), verb.clone()));
            return Ok(Incoming::Request { id, verb, params: o.remove("params").unwrap_or_else(|| json!({})) });
        }
        let Some(id) = o.get("id").and_then(Json::as_u64) else {
            return Err(garbage("an answer without the id of a request".into()));
        };
        let Some(verb) = self.waiting.remove(&id) else {
            return Err(garbage(format!("an answer to {id}, which is no open request")));
        };
        // What is read of a descriptor is put together by whoever reads, and has its own limit.
        if verb != "fd.read" {
            self.keep(line)?;
        }
        let result = match (o.remove("result"), o.remove("error")) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => {
                let code = error["code"].as_i64();
                let Some(code) = code else { return Err(garbage("an error without a code".into())) };
                Err(RpcError { code, message: error["message"].as_str().unwrap_or_default().to_owned() })
            }
            _ => return Err(garbage("an answer with not exactly one of result and error".into())),
        };
        if let (Some(checker), Ok(result), false) = (&self.checker, &result, verb.starts_with(OF_HARNESS)) {
            checker
                .result(&verb, To::Target, result)
                .map_err(|why| garbage(format!("not as the target protocol says ({why})")))?;
        }
        Ok(Incoming::Answer { id, result })
    }
}

fn line(message: &impl Serialize) -> Vec<u8> {
    // Most messages are as short.
    let mut line = Vec::with_capacity(1 << 10);
    serde_json::to_writer(&mut line, message).expect("JSON can be written");
    line.push(b'\n');
    line
}

fn own_fault(why: String) -> Fault {
    Fault::new(FaultKind::Garbage, format!("the runner's own message is not as the target protocol says: {why}"))
}

/// The beginning of a line, safe to be shown: control characters, escapes and directional marks are spelled out.
pub fn excerpt(line: &[u8]) -> String {
    const MOST: usize = 200;
    let text = String::from_utf8_lossy(&line[..line.len().min(MOST)]);
    let shown: String = text.chars().flat_map(char::escape_debug).collect();
    if line.len() > MOST { format!("\"{shown}…\" ({} bytes)", line.len()) } else { format!("\"{shown}\"") }
}
