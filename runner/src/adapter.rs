//! How the runner reaches a target. The main traits are [`Adapter`], which starts targets, and [`Session`], one that runs.
//!
//! A session carries the messages of the target protocol in both directions and decides nothing. It is used from one
//! thread; several requests can be on their way at the same time.

use crate::limits::Limits;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Starts targets of one kind.
pub trait Adapter: Send + Sync {
    /// What it is, for reports: `in-process`, `stdio`, `adb`.
    fn kind(&self) -> &'static str;

    /// Starts a fresh target.
    ///
    /// # Errors
    /// Why there is none: [`Fault`] of the kind [`FaultKind::Start`].
    fn start(&self) -> Result<Box<dyn Session>, Fault>;

    /// The limits that sessions of this adapter keep.
    fn limits(&self) -> &Limits;

    /// So many sessions at once make sense.
    fn most_sessions(&self) -> usize {
        usize::MAX
    }

    /// What a report tells of where the target runs, where that is not this machine.
    fn environment(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
}

/// A target that runs. Dropping it ends the target for certain.
pub trait Session: Send {
    /// Sends a request and gives its number, under which the answer comes by [`Session::receive`]. No number comes twice.
    ///
    /// # Errors
    /// The target is gone.
    fn send(&mut self, verb: &str, params: &Json) -> Result<u64, Fault>;

    /// The next message from the target, or nothing where none came within `limit`.
    ///
    /// # Errors
    /// The target is gone or broke the protocol. After that the session is over.
    fn receive(&mut self, limit: Duration) -> Result<Option<Incoming>, Fault>;

    /// Answers a request of the target.
    ///
    /// # Errors
    /// The target is gone.
    fn answer(&mut self, id: &Json, result: Result<Json, RpcError>) -> Result<(), Fault>;

    /// The next `calls` requests start together; a target in the same process interleaves them as the seed says. Others
    /// take them in the order of sending.
    fn schedule(&mut self, seed: u64, calls: usize) {
        let _ = (seed, calls);
    }

    /// Blocks until nothing goes on by itself in the target and no message of it is unread, but no longer than `limit`;
    /// whether it is so. A target whose clock is moved by the runner then stays as it is until it is asked for something or
    /// gets an answer. Nothing where that cannot be told.
    fn at_rest(&mut self, limit: Duration) -> Option<bool> {
        let _ = limit;
        None
    }

    /// The most memory that the target's process used since the last call, in bytes, where that can be told.
    fn peak_memory_bytes(&mut self) -> Option<u64> {
        None
    }

    /// Makes sure that nothing that belongs to the vector so far is still on its way from the target. Every request has
    /// been answered.
    ///
    /// # Errors
    /// As [`Session::receive`]; a message that nobody asked for, and silence, are such.
    fn settle(&mut self) -> Result<(), Fault>;

    /// What the target wrote for people since the last call, at most the limit's last bytes.
    fn diagnostics(&mut self) -> String;

    /// Nobody wants to know what the target wrote for people since the last call.
    fn no_diagnostics(&mut self) {
        drop(self.diagnostics());
    }

    /// The fault of a target that did not answer in time.
    fn silence(&mut self, limit: Duration) -> Fault {
        Fault::silent(limit)
    }

    /// Ends the target: politely first, then for certain.
    fn end(self: Box<Self>);
}

/// A message from a target.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// The answer to a request of the runner.
    Answer {
        /// The request's number.
        id: u64,
        /// Result or error.
        result: Result<Json, RpcError>,
    },
    /// The answer to an `fd.read` of a target that gives bytes as they are.
    Piece {
        /// The request's number.
        id: u64,
        /// What was read.
        piece: Piece,
    },
    /// A request to the runner (consumers).
    Request {
        /// To be repeated in the answer.
        id: Json,
        /// The verb.
        verb: String,
        /// Its parameters.
        params: Json,
    },
}

/// What one `fd.read` brings, where it is not written as base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether the descriptor ends with them.
    pub eof: bool,
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    /// The code; see the constants.
    pub code: i64,
    /// A sentence.
    pub message: String,
}

impl RpcError {
    /// The verb does not exist at the target.
    pub const NO_SUCH_VERB: i64 = -32601;
    /// The parameters make no sense.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The verb cannot act now.
    pub const CANNOT: i64 = -32000;
}

/// Why a target can no longer be used. Nobody's verdict, unless the step says that a requirement forbids it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// A sentence for people: what happened, with the figures.
    pub message: String,
}

/// Kinds of [`Fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// It could not be started.
    Start,
    /// Its process ended, or it closed its pipe.
    Died,
    /// It did not answer in time.
    Silent,
    /// It sent too much.
    Flood,
    /// It sent what is no message of the protocol, or one that nobody asked for.
    Garbage,
    /// What leads to it is out of order: a device, or the harness on it. Never a verdict.
    Device,
}

impl Fault {
    /// A fault with its sentence, which is cut where a target made it long.
    pub fn new(kind: FaultKind, message: impl fmt::Display) -> Fault {
        /// Characters that are kept.
        const MOST: usize = 2000;
        let mut message = message.to_string();
        if let Some((end, _)) = message.char_indices().nth(MOST) {
            message.truncate(end);
            message.push('…');
        }
        Fault { kind, message }
    }

    /// The target did not answer in time.
    pub fn silent(limit: Duration) -> Fault {
        Fault::new(FaultKind::Silent, format!("the target did not answer within {} s", limit.as_secs_f64()))
    }
}

/// Waits for a message for as long as `limit`.
///
/// # Errors
/// As [`Session::receive`]; nothing within the limit is [`FaultKind::Silent`].
pub fn await_message(session: &mut dyn Session, limit: Duration) -> Result<Incoming, Fault> {
    session.receive(limit)?.ok_or_else(|| Fault::silent(limit))
}
