//! Targets that are programs: the target protocol over standard input and output. The main types are [`StdioAdapter`] and
//! the session that it starts.
//!
//! One message a line, JSON-RPC 2.0. One thread does all of it: it waits for whichever pipe is ready, writes what is
//! waiting to be written, reads lines, drains stderr, and keeps the limits. A program that does not read cannot block the
//! runner, and one that writes without end meets a limit.

use crate::adapter::{Adapter, Fault, FaultKind, Incoming, RpcError, Session, await_message};
use crate::guard::{Guard, Program};
use crate::limits::Limits;
use crate::protocol::{Checker, To};
use cetp_vectors::json::{self, Numbers};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Starts a program for each session.
pub struct StdioAdapter {
    /// The program.
    pub program: Program,
    /// Its limits.
    pub limits: Limits,
    /// The executable that serves as guard; see [`crate::guard`].
    pub guard: PathBuf,
    /// Where given, every message is checked against the schemas of the target protocol, both ways.
    pub checker: Option<Arc<Checker>>,
}

impl Adapter for StdioAdapter {
    fn kind(&self) -> &'static str {
        "stdio"
    }

    fn start(&self) -> Result<Box<dyn Session>, Fault> {
        let name = self.program.command.first().cloned().unwrap_or_default();
        let failed = |error: std::io::Error| {
            Fault::new(FaultKind::Start, format!("the target {name:?} could not be started: {error}"))
        };
        let mut guard = Guard::new(&self.guard).map_err(failed)?;
        let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(|e| failed(e.into()));
        let (their_stdin, stdin) = pipe()?;
        let (stdout, their_stdout) = pipe()?;
        let (stderr, their_stderr) = pipe()?;
        for ours in [&stdin, &stdout, &stderr] {
            let flags = rustix::fs::fcntl_getfl(ours).map_err(|e| failed(e.into()))?;
            rustix::fs::fcntl_setfl(ours, flags | rustix::fs::OFlags::NONBLOCK).map_err(|e| failed(e.into()))?;
        }
        guard.start(&self.program, [their_stdin, their_stdout, their_stderr]).map_err(failed)?;
        Ok(Box::new(StdioSession {
            guard,
            stdin: Some(stdin),
            stdout: Some(stdout),
            stderr: Some(stderr),
            limits: self.limits.clone(),
            checker: self.checker.clone(),
            unwritten: Vec::new(),
            written: 0,
            deaf_since: None,
            unread: Vec::new(),
            scanned: 0,
            stderr_tail: VecDeque::new(),
            output_bytes: 0,
            stderr_bytes: 0,
            requests: 0,
            waiting: BTreeMap::new(),
            asked: Vec::new(),
            exited: false,
            last_id: 0,
        }))
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }
}

struct StdioSession {
    guard: Guard,
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    limits: Limits,
    checker: Option<Arc<Checker>>,
    /// Messages to the target that are not wholly written yet, and how much of them the pipe has taken.
    unwritten: Vec<u8>,
    written: usize,
    /// Since when it is known that it reads no more.
    deaf_since: Option<Instant>,
    /// Bytes of a line that has not ended yet, and of lines after it.
    unread: Vec<u8>,
    /// So many bytes of `unread` are known to hold no line end.
    scanned: usize,
    stderr_tail: VecDeque<u8>,
    output_bytes: u64,
    stderr_bytes: u64,
    requests: u64,
    /// Requests without an answer: their number and verb.
    waiting: BTreeMap<u64, String>,
    /// Requests of the target without an answer: their id and verb.
    asked: Vec<(Json, String)>,
    /// The program has ended; what is still in its pipes is read.
    exited: bool,
    last_id: u64,
}

impl Session for StdioSession {
    fn send(&mut self, verb: &str, params: &Json) -> Result<u64, Fault> {
        self.last_id += 1;
        let id = self.last_id;
        self.waiting.insert(id, verb.to_owned());
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": verb, "params": params });
        if let Some(checker) = &self.checker {
            checker.message(&message, To::Target).map_err(own_fault)?;
        }
        self.write(&message)?;
        Ok(id)
    }

    fn receive(&mut self, limit: Duration) -> Result<Option<Incoming>, Fault> {
        let until = Instant::now() + limit;
        loop {
            if let Some(line) = self.take_line()? {
                return self.message(&line).map(Some);
            }
            if self.stdout.is_none() {
                return Err(self.died());
            }
            if self.exited {
                // A descendant may hold the pipe open for ever: only what is there already counts.
                let before = self.unread.len();
                self.fill()?;
                if self.unread.len() == before {
                    return Err(self.died());
                }
                continue;
            }
            if self.deaf_since.is_some() && Instant::now() >= self.deadline(until) {
                return Err(self.died());
            }
            if !self.pump(self.deadline(until))? && Instant::now() >= until {
                return Ok(None);
            }
        }
    }

    fn answer(&mut self, id: &Json, result: Result<Json, RpcError>) -> Result<(), Fault> {
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
        self.write(&message)
    }

    fn settle(&mut self) -> Result<(), Fault> {
        let limit = self.limits.verb();
        let id = self.send("target.describe", &json!({ "protocol": cetp_vectors::protocol::VERSION }))?;
        match await_message(self, limit)? {
            Incoming::Answer { id: answered, .. } if answered == id => {
                self.output_bytes = 0;
                self.stderr_bytes = 0;
                self.requests = 0;
                Ok(())
            }
            Incoming::Answer { id, .. } => {
                Err(Fault::new(FaultKind::Garbage, format!("the target answered request {id} late, after its vector")))
            }
            Incoming::Request { verb, .. } => {
                let message = format!("the target sent {verb:?} when no request to it was open");
                Err(Fault::new(FaultKind::Garbage, message))
            }
        }
    }

    fn peak_memory_bytes(&mut self) -> Option<u64> {
        let pid = self.guard.program()?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
        // From here on the peak is counted anew.
        let _ = std::fs::write(format!("/proc/{pid}/clear_refs"), "5");
        Some(kib * 1024)
    }

    fn diagnostics(&mut self) -> String {
        self.drain_stderr();
        let bytes: Vec<u8> = self.stderr_tail.drain(..).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn end(mut self: Box<Self>) {
        // Politely: the verb and the end of its input, then the signal. The guard makes it certain.
        let _ = self.send("target.shutdown", &json!({}));
        self.stdin = None;
        let polite = Duration::from_millis(self.limits.end_ms);
        let until = Instant::now() + polite;
        while self.stdout.is_some() && !self.exited && self.pump(until).is_ok_and(|more| more) {
            self.unread.clear();
            self.scanned = 0;
        }
        if !self.exited && self.guard.exit(until.saturating_duration_since(Instant::now())).is_ok_and(|e| e.is_none()) {
            self.guard.terminate();
            let _ = self.guard.exit(polite);
        }
        self.guard.clear();
    }
}

impl StdioSession {
    fn write(&mut self, message: &Json) -> Result<(), Fault> {
        if self.stdin.is_none() {
            // That it is known to be deaf is told when what it wrote before has been read.
            return Ok(());
        }
        serde_json::to_writer(&mut self.unwritten, message).expect("JSON can be written");
        self.unwritten.push(b'\n');
        self.flush()?;
        let waiting = self.unwritten.len() - self.written;
        if waiting > self.limits.unread_bytes {
            return Err(Fault::new(FaultKind::Flood, format!("the target leaves {waiting} bytes unread")));
        }
        Ok(())
    }

    /// Writes as much as the pipe takes.
    fn flush(&mut self) -> Result<(), Fault> {
        while self.written < self.unwritten.len() {
            let Some(stdin) = &self.stdin else { break };
            match rustix::io::write(stdin, &self.unwritten[self.written..]) {
                Ok(n) => self.written += n,
                Err(Errno::AGAIN) => {
                    // Moved together rarely, as moving costs as much as writing.
                    if self.written > self.unwritten.len() / 2 {
                        self.unwritten.drain(..self.written);
                        self.written = 0;
                    }
                    return Ok(());
                }
                Err(Errno::INTR) => {}
                Err(_) => {
                    // It does not read any more; what it wrote before may still explain why.
                    self.stdin = None;
                    self.deaf_since = Some(Instant::now());
                    if self.stdout.is_none() {
                        return Err(self.died());
                    }
                }
            }
        }
        self.unwritten.clear();
        self.written = 0;
        Ok(())
    }

    /// When waiting is over. One that reads no more cannot answer what it was asked last; its end, or what it had written
    /// before, may still come.
    fn deadline(&self, until: Instant) -> Instant {
        let grace = Duration::from_millis(self.limits.end_ms);
        self.deaf_since.map_or(until, |since| until.min(since + grace))
    }

    /// Waits until a pipe is ready and serves it. False when the time is over.
    fn pump(&mut self, until: Instant) -> Result<bool, Fault> {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let (mut readable, mut noisy, mut ended) = (false, false, false);
        {
            let mut fds = Vec::with_capacity(4);
            // After the end there is nothing more to hear from the guard, and its hung-up socket would always be ready.
            let guard = Some(self.guard.descriptor()).filter(|_| !self.exited);
            fds.extend(guard.iter().map(|fd| (3, PollFd::new(fd, PollFlags::IN))));
            let stdout = self.stdout.as_ref().map(|fd| fd.as_fd());
            let stderr = self.stderr.as_ref().map(|fd| fd.as_fd());
            let stdin = self.stdin.as_ref().filter(|_| self.written < self.unwritten.len()).map(|fd| fd.as_fd());
            fds.extend(stdout.iter().map(|fd| (0, PollFd::new(fd, PollFlags::IN))));
            fds.extend(stderr.iter().map(|fd| (1, PollFd::new(fd, PollFlags::IN))));
            fds.extend(stdin.iter().map(|fd| (2, PollFd::new(fd, PollFlags::OUT))));
            let (names, mut polled): (Vec<u8>, Vec<PollFd<'_>>) = fds.into_iter().unzip();
            match poll(&mut polled, Some(&timeout)) {
                Ok(0) => return Ok(false),
                Ok(_) => {}
                Err(Errno::INTR) => return Ok(true),
                Err(error) => {
                    return Err(Fault::new(FaultKind::Died, format!("waiting for the target failed: {error}")));
                }
            }
            for (name, fd) in names.iter().zip(&polled) {
                let ready = !fd.revents().is_empty();
                match name {
                    0 => readable = ready,
                    1 => noisy = ready,
                    3 => ended = ready,
                    _ => {}
                }
            }
        }
        if ended {
            // An error means that the guard is gone, and with it the target.
            let exit = self.guard.exit(Duration::ZERO);
            self.exited = !matches!(exit, Ok(None));
        }
        if noisy {
            self.drain_stderr();
            if self.stderr_bytes > self.limits.stderr_bytes {
                let most = self.limits.stderr_bytes;
                return Err(Fault::new(FaultKind::Flood, format!("the target wrote more than {most} bytes to stderr")));
            }
        }
        self.flush()?;
        if readable {
            self.fill()?;
        }
        Ok(true)
    }

    /// Reads what stdout holds, up to one buffer.
    fn fill(&mut self) -> Result<(), Fault> {
        const CHUNK: usize = 64 << 10;
        let Some(stdout) = &self.stdout else { return Ok(()) };
        let start = self.unread.len();
        self.unread.resize(start + CHUNK, 0);
        let read = rustix::io::read(stdout, &mut self.unread[start..]);
        self.unread.truncate(start + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => self.stdout = None,
            Ok(n) => {
                self.output_bytes += n as u64;
                if self.output_bytes > self.limits.output_bytes {
                    let most = self.limits.output_bytes;
                    return Err(Fault::new(
                        FaultKind::Flood,
                        format!("the target wrote more than {most} bytes in one vector"),
                    ));
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.stdout = None,
        }
        Ok(())
    }

    fn drain_stderr(&mut self) {
        /// So much at a time, so that a flood cannot keep the runner here.
        const ROUNDS: usize = 16;
        let mut buffer = [0; 16 << 10];
        for _ in 0..ROUNDS {
            let Some(stderr) = &self.stderr else { return };
            match rustix::io::read(stderr, &mut buffer) {
                Ok(0) | Err(Errno::PIPE | Errno::BADF) => self.stderr = None,
                Ok(n) => {
                    self.stderr_bytes += n as u64;
                    self.stderr_tail.extend(&buffer[..n]);
                    let surplus = self.stderr_tail.len().saturating_sub(self.limits.stderr_kept);
                    self.stderr_tail.drain(..surplus);
                }
                Err(_) => return,
            }
        }
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
        if o.get("jsonrpc") != Some(&json!("2.0")) {
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
        let result = match (o.remove("result"), o.remove("error")) {
            (Some(result), None) => Ok(result),
            (None, Some(error)) => {
                let code = error["code"].as_i64();
                let Some(code) = code else { return Err(garbage("an error without a code".into())) };
                Err(RpcError { code, message: error["message"].as_str().unwrap_or_default().to_owned() })
            }
            _ => return Err(garbage("an answer with not exactly one of result and error".into())),
        };
        if let (Some(checker), Ok(result)) = (&self.checker, &result) {
            checker
                .result(&verb, To::Target, result)
                .map_err(|why| garbage(format!("not as the target protocol says ({why})")))?;
        }
        Ok(Incoming::Answer { id, result })
    }

    fn died(&mut self) -> Fault {
        // It may have closed its output and live on.
        let grace = Duration::from_millis(self.limits.end_ms);
        let how = match self.guard.exit(grace) {
            Ok(Some(exit)) => format!("the target ended ({exit})"),
            Err(_) => "the process that guards the target was killed".into(),
            _ if self.stdout.is_none() => "the target closed its output".into(),
            _ => "the target closed its input".into(),
        };
        let rest = if self.unread.is_empty() {
            String::new()
        } else {
            format!(" in the middle of a line: {}", excerpt(&self.unread))
        };
        Fault::new(FaultKind::Died, how + &rest)
    }
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
