//! Targets that are programs: the target protocol over standard input and output. The main types are [`StdioAdapter`] and
//! the session that it starts.
//!
//! One message a line, JSON-RPC 2.0. One thread does all of it: it waits for whichever pipe is ready, writes what is
//! waiting to be written, reads lines, drains stderr, and keeps the limits. A program that does not read cannot block the
//! runner, and one that writes without end meets a limit.

use crate::adapter::{Adapter, Fault, FaultKind, Incoming, RpcError, Session, await_message};
use crate::guard::{Guard, Program};
use crate::jsonrpc::Conversation;
use crate::limits::Limits;
use crate::protocol::Checker;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
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
            conversation: Conversation::new(self.limits.clone(), self.checker.clone()),
            limits: self.limits.clone(),
            unwritten: Vec::new(),
            written: 0,
            deaf_since: None,
            stderr_tail: VecDeque::new(),
            stderr_bytes: 0,
            exited: false,
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
    conversation: Conversation,
    /// Lines to the target that are not wholly written yet, and how much of them the pipe has taken.
    unwritten: Vec<u8>,
    written: usize,
    /// Since when it is known that it reads no more.
    deaf_since: Option<Instant>,
    stderr_tail: VecDeque<u8>,
    stderr_bytes: u64,
    /// The program has ended; what is still in its pipes is read.
    exited: bool,
}

impl Session for StdioSession {
    fn send(&mut self, verb: &str, params: &Json) -> Result<u64, Fault> {
        let (id, line) = self.conversation.request(verb, params)?;
        self.write(&line)?;
        Ok(id)
    }

    fn receive(&mut self, limit: Duration) -> Result<Option<Incoming>, Fault> {
        let until = Instant::now() + limit;
        loop {
            if let Some(incoming) = self.conversation.next()? {
                return Ok(Some(incoming));
            }
            if self.stdout.is_none() {
                return Err(self.died());
            }
            if self.exited {
                // A descendant may hold the pipe open for ever: only what is there already counts.
                let before = self.conversation.unread();
                self.fill()?;
                if self.conversation.unread() == before {
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
        let line = self.conversation.answer(id, result)?;
        self.write(&line)
    }

    fn settle(&mut self) -> Result<(), Fault> {
        let limit = self.limits.verb();
        let id = self.send("target.describe", &json!({ "protocol": cetp_vectors::protocol::VERSION }))?;
        Conversation::settled(id, &await_message(self, limit)?)?;
        self.conversation.begin_anew();
        self.stderr_bytes = 0;
        Ok(())
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
            self.conversation.forget_unread();
        }
        if !self.exited && self.guard.exit(until.saturating_duration_since(Instant::now())).is_ok_and(|e| e.is_none()) {
            self.guard.terminate();
            let _ = self.guard.exit(polite);
        }
        self.guard.clear();
    }
}

impl StdioSession {
    fn write(&mut self, line: &[u8]) -> Result<(), Fault> {
        if self.stdin.is_none() {
            // That it is known to be deaf is told when what it wrote before has been read.
            return Ok(());
        }
        self.unwritten.extend_from_slice(line);
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
        let Some(stdout) = &self.stdout else { return Ok(()) };
        match self.conversation.fill(|buffer| rustix::io::read(stdout, buffer))? {
            Ok(1..) | Err(Errno::AGAIN | Errno::INTR) => {}
            Ok(0) | Err(_) => self.stdout = None,
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

    fn died(&mut self) -> Fault {
        // It may have closed its output and live on.
        let grace = Duration::from_millis(self.limits.end_ms);
        let how = match self.guard.exit(grace) {
            Ok(Some(exit)) => format!("the target ended ({exit})"),
            Err(_) => "the process that guards the target was killed".into(),
            _ if self.stdout.is_none() => "the target closed its output".into(),
            _ => "the target closed its input".into(),
        };
        Fault::new(FaultKind::Died, how + &self.conversation.rest())
    }
}
