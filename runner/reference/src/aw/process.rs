//! One provider process within its limits. The main function is [`run`].
//!
//! "调用方按配置的 argv 启动程序，将一个 UTF-8 JSON 对象写入 stdin 后关闭 stdin". The process has a group of its own; its
//! environment and folder are what the caller says; both outputs are read to their ends under caps; it ends by itself before
//! the deadline, or it and its group are ended.

use super::switches::{Fault, Switches};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a group has after SIGTERM before SIGKILL.
const GRACE: Duration = Duration::from_millis(250);

/// How long cleaning up may take in all.
const CLEANUP: Duration = Duration::from_secs(1);

/// How long nothing happens at most before the process is looked at again: its end makes no descriptor readable.
const GLANCE: Duration = Duration::from_millis(2);

/// What a process is given and allowed.
pub struct Terms<'t> {
    /// Program and arguments; no shell reads them.
    pub argv: &'t [String],
    /// Where it runs.
    pub directory: &'t Path,
    /// Its whole environment.
    pub environment: &'t [(String, String)],
    /// What it is given.
    pub stdin: &'t [u8],
    /// When a result comes too late.
    pub deadline: Instant,
    /// When the caller loses interest.
    pub cancel: Option<Instant>,
    /// So much of standard output is a result; more is a failure.
    pub stdout_bytes: usize,
    /// The same for standard error.
    pub stderr_bytes: usize,
}

/// Why there is no output. None of it is a decision of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It could not be started.
    Start,
    /// It ended with another status than 0, or by a signal.
    Exit,
    /// It ended before the whole request was written.
    Unread,
    /// It wrote more than it may.
    Output,
    /// It was not done in time, or something of it still held an output.
    Late,
    /// The caller lost interest.
    Cancelled,
}

impl Failure {
    /// In words that repeat nothing of the provider.
    pub fn words(self) -> &'static str {
        match self {
            Failure::Start => "the provider could not be started",
            Failure::Exit => "the provider ended with a failure",
            Failure::Unread => "the provider ended before the whole request was written",
            Failure::Output => "the provider wrote more than it may",
            Failure::Late => "the provider was not done in time",
            Failure::Cancelled => "the call was cancelled",
        }
    }
}

/// Runs a program to its end.
///
/// # Errors
/// Why it has no output that counts; by then its group has been ended.
pub fn run(terms: &Terms<'_>, switches: Switches) -> Result<Vec<u8>, Failure> {
    let mut process = Process::start(terms, switches).map_err(|_| Failure::Start)?;
    let result = process.exchange(terms, switches);
    let left = switches.broken(Fault::NotEnded)
        || match &result {
            Ok(_) => true,
            Err(Failure::Exit) => switches.broken(Fault::LeftAfterExit),
            Err(Failure::Cancelled) => switches.broken(Fault::LeftAfterCancel),
            Err(_) => false,
        };
    if !left {
        process.end(switches);
    }
    // Nothing waits for what a fault left alive.
    drop(process.stdin);
    if process.exited {
        let _ = process.child.wait();
    }
    result
}

struct Process {
    child: Child,
    group: Pid,
    stdin: Option<OwnedFd>,
    written: usize,
    outputs: [Output; 2],
    exited: bool,
}

struct Output {
    pipe: Option<OwnedFd>,
    content: Vec<u8>,
    cap: usize,
    exceeded: bool,
}

impl Process {
    fn start(terms: &Terms<'_>, switches: Switches) -> io::Result<Process> {
        let (name, arguments) = terms.argv.split_first().ok_or_else(|| io::Error::other("an empty argv"))?;
        let mut command = Command::new(name);
        if switches.broken(Fault::ArgumentsTrimmed) {
            command.args(arguments.iter().map(|argument| argument.trim()));
        } else {
            command.args(arguments);
        }
        if switches.broken(Fault::ShellExpands) {
            command = Command::new("/bin/sh");
            command.arg("-c").arg(terms.argv.join(" "));
        }
        if !switches.broken(Fault::EnvironmentInherited) {
            command.env_clear();
        }
        if switches.broken(Fault::HomeInherited) {
            command.env("HOME", std::env::var_os("HOME").unwrap_or_else(|| "/".into()));
        }
        if !switches.broken(Fault::FolderInherited) {
            command.current_dir(terms.directory);
        }
        command.envs(terms.environment.iter().cloned()).process_group(0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take().map(OwnedFd::from);
        let pipes = [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
        for pipe in pipes.iter().chain([&stdin]).flatten() {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        let caps = [
            if switches.broken(Fault::OutputUncapped) || switches.broken(Fault::OutputCut) {
                usize::MAX
            } else {
                terms.stdout_bytes
            },
            if switches.broken(Fault::StderrUncapped) { usize::MAX } else { terms.stderr_bytes },
        ];
        let [stdout, stderr] = pipes;
        let output = |pipe, cap| Output { pipe, content: Vec::new(), cap, exceeded: false };
        let group = Pid::from_child(&child);
        let outputs = [output(stdout, caps[0]), output(stderr, caps[1])];
        Ok(Process { child, group, stdin, written: 0, outputs, exited: false })
    }

    /// Writes and reads until the process and both outputs have ended.
    fn exchange(&mut self, terms: &Terms<'_>, switches: Switches) -> Result<Vec<u8>, Failure> {
        let late = switches.broken(Fault::LateCounts);
        while !self.over(switches) {
            let now = Instant::now();
            let over = now >= terms.deadline || terms.cancel.is_some_and(|cancel| now >= cancel);
            if over && switches.broken(Fault::RunningCounts) && !self.outputs[0].content.is_empty() {
                self.end(switches);
                return Ok(std::mem::take(&mut self.outputs[0].content));
            }
            if self.outputs.iter().any(|output| output.exceeded) {
                return Err(Failure::Output);
            }
            if terms.cancel.is_some_and(|cancel| now >= cancel) && !switches.broken(Fault::CancelIgnored) {
                return Err(Failure::Cancelled);
            }
            // A faulty host waits for what is late, though not for ever.
            let deadline = if late { terms.deadline + Duration::from_secs(20) } else { terms.deadline };
            if now >= deadline {
                return self.last_words(switches).ok_or(Failure::Late);
            }
            self.turn(terms.stdin, deadline.min(now + GLANCE), switches);
        }
        if Instant::now() >= terms.deadline && !late {
            return Err(Failure::Late);
        }
        if self.outputs.iter().any(|output| output.exceeded) {
            return Err(Failure::Output);
        }
        // "非零退出码表示执行失败，不论 stdout 内容是什么": this comes before anything is read.
        let status = self.child.wait().map_err(|_| Failure::Exit)?;
        let failed = match status.signal() {
            Some(_) => !switches.broken(Fault::SignalIgnored),
            None => !status.success() && !switches.broken(Fault::ExitIgnored),
        };
        if failed {
            return Err(Failure::Exit);
        }
        if self.written < terms.stdin.len() && !switches.broken(Fault::UnwrittenIgnored) {
            return Err(Failure::Unread);
        }
        if switches.broken(Fault::WaitsForDescendants) && rustix::process::test_kill_process_group(self.group).is_ok() {
            return Err(Failure::Late);
        }
        let mut stdout = std::mem::take(&mut self.outputs[0].content);
        if switches.broken(Fault::OutputCut) {
            stdout.truncate(terms.stdout_bytes);
        }
        Ok(stdout)
    }

    /// What a process that was asked to end writes before it does: nobody's result, but for a faulty host. That waits longer
    /// than [`GRACE`], so that it is faulty on a busy machine as well.
    fn last_words(&mut self, switches: Switches) -> Option<Vec<u8>> {
        if !switches.broken(Fault::GraceCounts) {
            return None;
        }
        let until = Instant::now() + GRACE * 4;
        let _ = kill_process_group(self.group, Signal::TERM);
        while !self.over(switches) && Instant::now() < until {
            self.turn(&[], until.min(Instant::now() + GLANCE), switches);
        }
        let ended_well = self.exited && self.child.wait().is_ok_and(|status| status.success());
        ended_well.then(|| std::mem::take(&mut self.outputs[0].content))
    }

    /// Whether it has ended and both outputs with it: a descendant that holds one keeps it open.
    fn over(&mut self, switches: Switches) -> bool {
        self.exited = self.exited || has_exited(self.group);
        let at_end = self.outputs.iter().all(|output| output.pipe.is_none());
        if self.exited && !at_end && switches.broken(Fault::EofNotNeeded) {
            self.outputs.iter_mut().for_each(Output::read);
            return true;
        }
        self.exited && at_end
    }

    fn turn(&mut self, request: &[u8], until: Instant, switches: Switches) {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut waited = Vec::with_capacity(3);
        let unwritten = self.stdin.as_ref().filter(|_| self.written < request.len());
        waited.extend(unwritten.map(|pipe| (pipe.as_fd(), PollFlags::OUT)));
        waited.extend(self.outputs.iter().filter_map(|o| o.pipe.as_ref()).map(|pipe| (pipe.as_fd(), PollFlags::IN)));
        let mut fds: Vec<PollFd<'_>> = waited.iter().map(|(fd, flags)| PollFd::new(fd, *flags)).collect();
        let _ = poll(&mut fds, Some(&timeout));
        self.write(request, switches);
        self.outputs.iter_mut().for_each(Output::read);
    }

    fn write(&mut self, request: &[u8], switches: Switches) {
        while let Some(pipe) = self.stdin.as_ref().filter(|_| self.written < request.len()) {
            match rustix::io::write(pipe, &request[self.written..]) {
                Ok(n) => self.written += n,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // Nobody reads any more.
                Err(_) => self.stdin = None,
            }
        }
        if !switches.broken(Fault::StdinOpen) {
            self.stdin = None;
        }
    }

    /// SIGTERM to the group, SIGKILL to what is left of it after a while, and the end of both within the cleanup budget.
    fn end(&mut self, switches: Switches) {
        self.stdin = None;
        let begun = Instant::now();
        let group = self.group;
        let signal = |signal| {
            let _ = if switches.broken(Fault::OnlyLeaderKilled) {
                kill_process(group, signal)
            } else {
                kill_process_group(group, signal)
            };
        };
        if !switches.broken(Fault::KilledAtOnce) {
            signal(Signal::TERM);
            while begun.elapsed() < GRACE {
                if self.is_gone(switches) {
                    return;
                }
                std::thread::sleep(GLANCE);
            }
        }
        signal(Signal::KILL);
        while begun.elapsed() < CLEANUP && !self.is_gone(switches) {
            std::thread::sleep(GLANCE);
        }
    }

    /// Whether nothing of the group is left. The leader is waited for only here, when its number is not needed any more.
    fn is_gone(&mut self, switches: Switches) -> bool {
        self.exited = self.exited || has_exited(self.group);
        if self.exited {
            let _ = self.child.wait();
        }
        self.exited
            && (switches.broken(Fault::OnlyLeaderAwaited)
                || rustix::process::test_kill_process_group(self.group).is_err())
    }
}

/// Whether the leader of a group has ended. It is not waited for yet, so that the group's number stays its own.
fn has_exited(leader: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(leader), options), Ok(None) | Err(Errno::INTR))
}

impl Output {
    /// Reads what is there, up to its cap.
    fn read(&mut self) {
        /// After so many pieces it is time to look at the clock.
        const PIECES: usize = 16;
        let mut buffer = [0; 64 << 10];
        for _ in 0..PIECES {
            let Some(pipe) = self.pipe.as_ref().filter(|_| !self.exceeded) else { return };
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(n) => {
                    self.exceeded = n > self.cap - self.content.len();
                    let room = self.cap - self.content.len();
                    self.content.extend(&buffer[..n.min(room)]);
                    if self.content.len() > KEPT {
                        // Only a faulty host reads on.
                        self.content.truncate(KEPT);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

/// Above every cap: what a host without caps keeps in memory.
const KEPT: usize = 8 << 20;
