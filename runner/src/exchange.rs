//! One process from its start to its end: its input written and closed, both outputs read to their ends under their caps, a
//! time limit, and nothing of it left afterwards. The main type is [`Exchange`]; [`crate::spawn`] makes a target of it.

use crate::guard::{Exit, Guard, Program};
use cetp_vectors::aw::bytes_to_json;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde_json::{Value as Json, json};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// What a process is given and allowed.
#[derive(Clone, Debug)]
pub struct Terms {
    /// What is written to its standard input, which is then closed.
    pub stdin: Vec<u8>,
    /// Writing stops after so many bytes for so long.
    pub pause: Option<(usize, Duration)>,
    /// Time limit from its start to the end of its outputs.
    pub limit: Duration,
    /// So many bytes of standard output are read at most; one that writes more is ended.
    pub stdout_bytes: usize,
    /// The same for standard error, of which only the last [`Terms::stderr_kept`] are kept.
    pub stderr_bytes: usize,
    /// How much of standard error is kept.
    pub stderr_kept: usize,
}

/// A process that runs.
pub struct Exchange {
    terms: Terms,
    stdin: Option<OwnedFd>,
    stdout: Output,
    stderr: Output,
    written: usize,
    /// It does not read any more.
    refused: bool,
    resume_at: Option<Instant>,
    begun: Instant,
    exit: Option<Exit>,
    exit_ms: Option<u64>,
}

struct Output {
    pipe: Option<OwnedFd>,
    content: Vec<u8>,
    bytes: u64,
}

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// Exit status or signal; nothing where it had to be ended.
    pub exit: Option<Exit>,
    /// Its standard output; at most the cap and one byte.
    pub stdout: Vec<u8>,
    /// Bytes of standard output that came.
    pub stdout_bytes: u64,
    /// The end of its standard error.
    pub stderr: Vec<u8>,
    /// Bytes of standard error that came.
    pub stderr_bytes: u64,
    /// Outputs that were still open when the time was over, though it had ended: a descendant holds them.
    pub held: Vec<&'static str>,
    /// It had not ended when the time was over.
    pub timed_out: bool,
    /// The output that it wrote too much of.
    pub flooded: Option<&'static str>,
    /// Bytes of its standard input that it was given, in all and of these written.
    pub stdin: (usize, usize),
    /// It closed its standard input before all was written.
    pub refused: bool,
    /// Milliseconds from its start to the end of its outputs.
    pub ms: u64,
    /// Milliseconds from its start to its own end.
    pub exit_ms: Option<u64>,
}

impl Exchange {
    /// Starts a program under a guard that has none running.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start(guard: &mut Guard, program: &Program, terms: Terms) -> io::Result<Exchange> {
        let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
        let (their_stdin, stdin) = pipe()?;
        let (stdout, their_stdout) = pipe()?;
        let (stderr, their_stderr) = pipe()?;
        for ours in [&stdin, &stdout, &stderr] {
            rustix::io::ioctl_fionbio(ours, true)?;
        }
        let begun = Instant::now();
        guard.start(program, [their_stdin, their_stdout, their_stderr])?;
        let output = |pipe| Output { pipe: Some(pipe), content: Vec::new(), bytes: 0 };
        let mut exchange = Exchange {
            terms,
            stdin: Some(stdin),
            stdout: output(stdout),
            stderr: output(stderr),
            written: 0,
            refused: false,
            resume_at: None,
            begun,
            exit: None,
            exit_ms: None,
        };
        exchange.write();
        Ok(exchange)
    }

    /// Goes on until the process and its outputs have ended, or until `until`. An exchange that is over leaves nothing
    /// behind; `look` is called before what is left is killed.
    ///
    /// # Errors
    /// Waiting failed, or the guard is gone.
    pub fn turn(&mut self, guard: &mut Guard, until: Instant, look: &mut dyn FnMut()) -> io::Result<Option<Ended>> {
        let deadline = self.begun + self.terms.limit;
        loop {
            let flooded = self.flooded();
            let over = self.exit.is_some() && self.stdout.pipe.is_none() && self.stderr.pipe.is_none();
            let now = Instant::now();
            if over || flooded.is_some() || now >= deadline {
                look();
                return Ok(Some(self.end(guard, flooded)));
            }
            if now >= until {
                return Ok(None);
            }
            self.wait(guard, until.min(deadline), now)?;
        }
    }

    fn flooded(&self) -> Option<&'static str> {
        if self.stdout.bytes > self.terms.stdout_bytes as u64 {
            Some("stdout")
        } else if self.stderr.bytes > self.terms.stderr_bytes as u64 {
            Some("stderr")
        } else {
            None
        }
    }

    fn wait(&mut self, guard: &mut Guard, until: Instant, now: Instant) -> io::Result<()> {
        let paused = self.resume_at.filter(|at| *at > now);
        let until = paused.map_or(until, |at| at.min(until));
        let left = until.saturating_duration_since(now);
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut ready = [false; 4];
        {
            let stdin = self.stdin.as_ref().filter(|_| paused.is_none());
            let sources = [
                Some(guard.descriptor()).filter(|_| self.exit.is_none()).map(|fd| (fd, PollFlags::IN)),
                self.stdout.pipe.as_ref().map(|fd| (fd.as_fd(), PollFlags::IN)),
                self.stderr.pipe.as_ref().map(|fd| (fd.as_fd(), PollFlags::IN)),
                stdin.map(|fd| (fd.as_fd(), PollFlags::OUT)),
            ];
            let (mut names, mut fds) = (Vec::with_capacity(4), Vec::with_capacity(4));
            for (name, source) in sources.iter().enumerate() {
                if let Some((fd, flags)) = source {
                    names.push(name);
                    fds.push(PollFd::new(fd, *flags));
                }
            }
            match poll(&mut fds, Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for (name, fd) in names.iter().zip(&fds) {
                ready[*name] = !fd.revents().is_empty();
            }
        }
        if ready[0]
            && let Some(exit) = guard.exit(Duration::ZERO)?
        {
            self.exit = Some(exit);
            self.exit_ms = Some(millis(self.begun));
        }
        if ready[1] {
            self.stdout.read(self.terms.stdout_bytes + 1, usize::MAX);
        }
        if ready[2] {
            self.stderr.read(usize::MAX, self.terms.stderr_kept);
        }
        if ready[3] || paused.is_none() && self.resume_at.is_some() {
            self.write();
        }
        Ok(())
    }

    /// Writes as much as the pipe takes, and closes it after the last byte.
    fn write(&mut self) {
        if self.resume_at.take_if(|at| *at <= Instant::now()).is_some() {
            self.terms.pause = None;
        }
        if self.resume_at.is_some() {
            return;
        }
        let end = self.terms.pause.map_or(self.terms.stdin.len(), |(after, _)| after.min(self.terms.stdin.len()));
        while self.written < end {
            let Some(stdin) = &self.stdin else { return };
            match rustix::io::write(stdin, &self.terms.stdin[self.written..end]) {
                Ok(n) => self.written += n,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    self.refused = true;
                    self.stdin = None;
                    return;
                }
            }
        }
        match self.terms.pause {
            Some((_, pause)) if self.written < self.terms.stdin.len() => {
                self.resume_at = Some(Instant::now() + pause);
            }
            _ => self.stdin = None,
        }
    }

    /// Makes sure that nothing is left, and says how it ended.
    fn end(&mut self, guard: &mut Guard, flooded: Option<&'static str>) -> Ended {
        let ms = millis(self.begun);
        self.stdin = None;
        guard.clear();
        let outputs = [("stdout", &self.stdout), ("stderr", &self.stderr)];
        let open: Vec<&str> = outputs.into_iter().filter(|(_, o)| o.pipe.is_some()).map(|(name, _)| name).collect();
        let held = if self.exit.is_some() && flooded.is_none() { open } else { Vec::new() };
        Ended {
            exit: self.exit,
            stdout: std::mem::take(&mut self.stdout.content),
            stdout_bytes: self.stdout.bytes,
            stderr: std::mem::take(&mut self.stderr.content),
            stderr_bytes: self.stderr.bytes,
            held,
            timed_out: self.exit.is_none() && flooded.is_none(),
            flooded,
            stdin: (self.terms.stdin.len(), self.written),
            refused: self.refused,
            ms,
            exit_ms: self.exit_ms,
        }
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl Output {
    /// Reads what is there, a bounded number of times: keeps the first `most` bytes, and of these the last `kept`.
    fn read(&mut self, most: usize, kept: usize) {
        const ROUNDS: usize = 16;
        let mut buffer = [0; 64 << 10];
        for _ in 0..ROUNDS {
            let Some(pipe) = &self.pipe else { return };
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(n) => {
                    self.bytes += n as u64;
                    let room = most.saturating_sub(self.content.len());
                    self.content.extend(&buffer[..n.min(room)]);
                    let surplus = self.content.len().saturating_sub(kept);
                    self.content.drain(..surplus);
                    if self.bytes > most as u64 {
                        return;
                    }
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(_) => self.pipe = None,
            }
        }
    }
}

impl Ended {
    /// The result of the verb `aw.spawn`.
    pub fn to_json(&self) -> Json {
        let mut out = json!({
            "stdout": { "bytes": self.stdout_bytes },
            "stderr": { "bytes": self.stderr_bytes, "content": String::from_utf8_lossy(&self.stderr) },
            "timed_out": self.timed_out,
            "held": self.held,
            "stdin": { "bytes": self.stdin.0, "written": self.stdin.1, "refused": self.refused },
            "ms": self.ms,
        });
        // What is beyond the cap is no message whatever it holds.
        if self.flooded != Some("stdout") {
            out["stdout"]["content"] = bytes_to_json(&self.stdout);
        }
        match self.exit {
            Some(Exit::Code(code)) => out["exit"] = json!({ "code": code }),
            Some(Exit::Signal(signal)) => out["exit"] = json!({ "signal": signal }),
            None => {}
        }
        if let Some(flooded) = self.flooded {
            out["flooded"] = json!(flooded);
        }
        if let Some(ms) = self.exit_ms {
            out["exit_ms"] = json!(ms);
        }
        out
    }
}
