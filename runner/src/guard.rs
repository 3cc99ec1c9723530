//! The guard: a small process between the runner and a target, so that nothing of a target outlives its use. The main
//! types are [`Guard`] (the runner's side) and [`serve`] (the process itself).
//!
//! A target may start others, leave its process group, ignore signals and hold on to its pipes. The guard is the parent of
//! it all: as a *child subreaper* it inherits every descendant whose parent ended, and it kills until it has no child left.
//! It does so when it is told to, and when its socket to the runner closes, which happens by itself however the runner ends.
//! A target can kill its guard as well; the runner notices, and finds what is left by process group and by a mark in the
//! environment.
//!
//! The guard is the runner's own executable, started with [`ARGUMENT`]. It starts a program on request, with the descriptors
//! that come with the request.

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use rustix::process::{Pid, Signal, WaitOptions};
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The argument by which an executable is asked to be a guard; see [`run_if_asked`].
pub const ARGUMENT: &str = "__guard-of-target-processes";

/// A program to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Program and arguments; no shell is involved.
    pub command: Vec<String>,
    /// Where it runs.
    pub directory: PathBuf,
    /// Its whole environment, nothing else is inherited.
    pub environment: Vec<(String, String)>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// By itself, with this status.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit status {code}"),
            Exit::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Exit {
        status.code().map_or_else(|| Exit::Signal(status.signal().unwrap_or(0)), Exit::Code)
    }
}

/// What the runner says to the guard.
#[derive(Serialize, Deserialize)]
enum Order {
    /// Start this with the three descriptors that come along.
    Start(Program),
    /// SIGTERM to the program's process group.
    Terminate,
    /// Kill all that is there, and say so when nothing is left.
    Clear,
}

/// What the guard says to the runner.
#[derive(Debug, Serialize, Deserialize)]
enum Notice {
    /// With its process id, which is also that of its process group.
    Started(i32),
    NotStarted(String),
    /// How it ended, and whether nothing of it is left: every descendant would be a child of the guard by now.
    Ended(Exit, bool),
    Cleared,
}

/// The runner's side of a guard process. Dropping it ends the guard and all that it started.
pub struct Guard {
    socket: UnixStream,
    process: Child,
    /// What every process that belongs to this guard has in its environment, unless it took it away.
    mark: String,
    /// The process group of the program.
    group: Option<i32>,
    exit: Option<Exit>,
    /// The program has ended and left nobody.
    alone: bool,
}

/// How long the runner waits for its guard. A guard that takes longer was stopped or killed, and is replaced by force.
const PATIENCE: Duration = Duration::from_secs(5);

/// The same where a program is to start. Nothing of a target runs then that could have stopped the guard: it has died, which is
/// told at once, or the machine is slow.
const PATIENCE_TO_START: Duration = Duration::from_secs(60);

/// The variable of [`Guard::mark`].
const MARK: &str = "CETP_GUARDED_BY";

impl Guard {
    /// Starts a guard process from an executable that calls [`run_if_asked`].
    ///
    /// # Errors
    /// The executable could not be started.
    pub fn new(executable: &std::path::Path) -> io::Result<Guard> {
        if std::env::var_os(MARK).is_some() {
            // An executable that does not call `run_if_asked` would start itself again and again.
            return Err(io::Error::other(
                "a target's own process cannot start guards: does its executable call run_if_asked?",
            ));
        }
        let (socket, theirs) = UnixStream::pair()?;
        let mark = format!("{}-{:x}", std::process::id(), next_mark());
        let process = Command::new(executable)
            .arg(ARGUMENT)
            .env_clear()
            .env(MARK, &mark)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            // Ctrl-C at a terminal is the runner's business: it says what ends.
            .process_group(0)
            .spawn()?;
        Ok(Guard { socket, process, mark, group: None, exit: None, alone: false })
    }

    /// Starts a program with its three standard descriptors. There must be none running.
    ///
    /// # Errors
    /// The program could not be started, or the guard is gone.
    pub fn start(&mut self, program: &Program, descriptors: [OwnedFd; 3]) -> io::Result<()> {
        (self.exit, self.alone) = (None, false);
        let mut program = program.clone();
        program.environment.push((MARK.to_owned(), self.mark.clone()));
        let [stdin, stdout, stderr] = &descriptors;
        send(&self.socket, &Order::Start(program), &[stdin.as_fd(), stdout.as_fd(), stderr.as_fd()])?;
        match self.notice(PATIENCE_TO_START)? {
            Some(Notice::Started(pid)) => {
                self.group = Some(pid);
                Ok(())
            }
            Some(Notice::NotStarted(why)) => Err(io::Error::other(why)),
            Some(_) => Err(io::Error::other("the guard answered out of turn")),
            None => Err(io::Error::other("the guard does not answer")),
        }
    }

    /// The process id of the program that runs.
    pub fn program(&self) -> Option<i32> {
        self.group.filter(|_| self.exit.is_none())
    }

    /// Becomes readable when the program ends.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// How the program ended, waiting at most so long for it.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn exit(&mut self, limit: Duration) -> io::Result<Option<Exit>> {
        if self.exit.is_none()
            && let Some(Notice::Ended(exit, alone)) = self.notice(limit)?
        {
            (self.exit, self.alone) = (Some(exit), alone);
        }
        Ok(self.exit)
    }

    /// Sends SIGTERM to the program's process group.
    pub fn terminate(&mut self) {
        // Where the guard is gone, what follows kills.
        let _ = send(&self.socket, &Order::Terminate, &[]);
    }

    /// Kills the program and every descendant, and returns when none is left.
    pub fn clear(&mut self) {
        // The usual end needs no question.
        if !self.alone && self.ask_to_clear().is_err() {
            self.sweep();
        }
        self.group = None;
    }

    fn ask_to_clear(&mut self) -> io::Result<()> {
        send(&self.socket, &Order::Clear, &[])?;
        loop {
            match self.notice(PATIENCE)? {
                Some(Notice::Cleared) => return Ok(()),
                Some(Notice::Ended(exit, _)) => self.exit = Some(exit),
                Some(_) => return Err(io::Error::other("the guard answered out of turn")),
                None => return Err(io::Error::other("the guard does not answer")),
            }
        }
    }

    /// The guard was killed or stopped, which a target can do. What belonged to it is found by its process group and mark.
    fn sweep(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let mark = format!("{MARK}={}", self.mark);
        let marked = |pid: &i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        };
        for _ in 0..SWEEPS {
            if let Some(group) = self.group.and_then(Pid::from_raw) {
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
            }
            let left: Vec<i32> = processes().into_iter().map(|(pid, _)| pid).filter(marked).collect();
            if left.is_empty() {
                return;
            }
            for pid in left.iter().filter_map(|pid| Pid::from_raw(*pid)) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn notice(&self, limit: Duration) -> io::Result<Option<Notice>> {
        self.socket.set_read_timeout(Some(limit.max(Duration::from_millis(1))))?;
        match receive::<Notice>(&self.socket, &mut Vec::new()) {
            Ok(notice) => Ok(Some(notice)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A few rounds are enough for whatever forks while it is killed; more would be a fight that cannot be won.
const SWEEPS: usize = 200;

fn next_mark() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::time::Instant::now())
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The guard sees the end of its socket, kills what is left, and exits.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let until = std::time::Instant::now() + PATIENCE;
        while std::time::Instant::now() < until {
            match self.process.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_micros(200)),
                // One that ended otherwise than of itself left its work to us.
                Ok(Some(status)) if status.success() => return,
                _ => break,
            }
        }
        self.sweep();
    }
}

/// Becomes the guard and never returns, where the first argument asks for it. Every executable that is given to
/// [`Guard::new`] calls this before anything else.
pub fn run_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == ARGUMENT) {
        let code = i32::from(serve().is_err());
        std::process::exit(code);
    }
}

/// The guard process: obeys the orders that come by its standard input until that closes.
///
/// # Errors
/// The socket or a wait failed; everything that was started is then killed as well.
pub fn serve() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // The runner may do without huge pages and leaves that to its children; a target's speed is not to depend on it.
    let _ = rustix::thread::disable_transparent_huge_pages(false);
    // Signals to a whole process tree, as a CI server sends them, reach the runner, which then ends us in order.
    let heard = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, std::sync::Arc::clone(&heard))?;
    }
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut child: Option<(Child, OwnedFd)> = None;
    let result = loop {
        match wait_for(&socket, child.as_ref().map(|(_, pidfd)| pidfd.as_fd())) {
            Ok(Event::Exit) => {
                let (mut ended, _) = child.take().expect("it had ended");
                let exit = ended.wait()?.into();
                if let Err(error) = send(&socket, &Notice::Ended(exit, no_child_is_left()), &[]) {
                    break Err(error);
                }
            }
            Ok(Event::Order) => {
                let mut descriptors = Vec::new();
                let order = match receive::<Order>(&socket, &mut descriptors) {
                    Ok(order) => order,
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break Ok(()),
                    Err(error) => break Err(error),
                };
                let notice = match order {
                    Order::Start(program) => match start(&program, descriptors) {
                        Ok(started) => {
                            let pid = Pid::from_child(&started.0).as_raw_nonzero().get();
                            child = Some(started);
                            Notice::Started(pid)
                        }
                        Err(error) => Notice::NotStarted(error.to_string()),
                    },
                    Order::Terminate => {
                        if let Some((child, _)) = &child {
                            let group = Pid::from_child(child);
                            let _ = rustix::process::kill_process_group(group, Signal::TERM);
                        }
                        continue;
                    }
                    Order::Clear => {
                        clear(child.as_ref().map(|(child, _)| Pid::from_child(child)));
                        child = None;
                        Notice::Cleared
                    }
                };
                if let Err(error) = send(&socket, &notice, &[]) {
                    break Err(error);
                }
            }
            Err(error) => break Err(error),
        }
    };
    clear(child.as_ref().map(|(child, _)| Pid::from_child(child)));
    result
}

enum Event {
    Exit,
    Order,
}

fn wait_for(socket: &UnixStream, pidfd: Option<BorrowedFd<'_>>) -> io::Result<Event> {
    use rustix::event::{PollFd, PollFlags, poll};
    let socket_fd = socket.as_fd();
    let mut fds = vec![PollFd::new(&socket_fd, PollFlags::IN)];
    if let Some(pidfd) = &pidfd {
        fds.push(PollFd::new(pidfd, PollFlags::IN));
    }
    loop {
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if fds.get(1).is_some_and(|fd| !fd.revents().is_empty()) {
            return Ok(Event::Exit);
        }
        if !fds[0].revents().is_empty() {
            return Ok(Event::Order);
        }
    }
}

fn start(program: &Program, mut descriptors: Vec<OwnedFd>) -> io::Result<(Child, OwnedFd)> {
    let (Some(stderr), Some(stdout), Some(stdin)) = (descriptors.pop(), descriptors.pop(), descriptors.pop()) else {
        return Err(io::Error::other("three descriptors come with an order"));
    };
    let (name, arguments) = program.command.split_first().ok_or_else(|| io::Error::other("an empty command"))?;
    let child = Command::new(name)
        .args(arguments)
        .current_dir(&program.directory)
        .env_clear()
        .envs(program.environment.iter().cloned())
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0)
        .spawn()?;
    let pidfd = rustix::process::pidfd_open(Pid::from_child(&child), rustix::process::PidfdFlags::empty())?;
    Ok((child, pidfd))
}

/// Kills children until there is none. Orphans of a killed child come to the guard, so that the list is looked at again
/// and again; all are stopped first, so that a storm of forks cannot outrun the killing.
fn clear(group: Option<Pid>) {
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    // The usual end: the program was waited for, and left nobody. Looking through all processes costs more than the program.
    if no_child_is_left() {
        return;
    }
    // A process that cannot be killed (it waits for a broken disk) must not keep the run for ever.
    let until = std::time::Instant::now() + PATIENCE / 2;
    while std::time::Instant::now() < until {
        let family = descendants();
        for signal in [Signal::STOP, Signal::KILL] {
            for pid in &family {
                let _ = rustix::process::kill_process(*pid, signal);
            }
        }
        if no_child_is_left() {
            return;
        }
        // A killed process takes a moment to be gone.
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Takes the status of every child that has ended; whether that were all.
fn no_child_is_left() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

/// Every process below this one.
fn descendants() -> Vec<Pid> {
    let parents = processes();
    let mut family = vec![rustix::process::getpid().as_raw_nonzero().get()];
    let mut at = 0;
    while at < family.len() {
        let parent = family[at];
        family.extend(parents.iter().filter(|(_, p)| *p == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    family[1..].iter().filter_map(|pid| Pid::from_raw(*pid)).collect()
}

/// Every process of the system with its parent.
fn processes() -> Vec<(i32, i32)> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name of a process is in parentheses and may hold anything, also parentheses.
        let after = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        if let Some(parent) = after.split(' ').nth(1).and_then(|p| p.parse::<i32>().ok()) {
            out.push((pid, parent));
        }
    }
    out
}

/// A frame: its length in four bytes, then JSON. Descriptors travel with the first byte.
fn send<T: Serialize>(socket: &UnixStream, message: &T, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let body = serde_json::to_vec(message).map_err(io::Error::other)?;
    let mut frame = u32::try_from(body.len()).map_err(io::Error::other)?.to_le_bytes().to_vec();
    frame.extend(body);
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let sent = rustix::net::sendmsg(socket, &[IoSlice::new(&frame)], &mut ancillary, SendFlags::NOSIGNAL)?;
    let mut rest = &frame[sent..];
    while !rest.is_empty() {
        let sent = rustix::net::send(socket, rest, SendFlags::NOSIGNAL)?;
        rest = &rest[sent..];
    }
    Ok(())
}

fn receive<T: for<'de> Deserialize<'de>>(socket: &UnixStream, descriptors: &mut Vec<OwnedFd>) -> io::Result<T> {
    let mut length = [0; 4];
    read_exact(socket, &mut length, descriptors)?;
    let mut body = vec![0; u32::from_le_bytes(length) as usize];
    read_exact(socket, &mut body, descriptors)?;
    serde_json::from_slice(&body).map_err(io::Error::other)
}

fn read_exact(socket: &UnixStream, mut buffer: &mut [u8], descriptors: &mut Vec<OwnedFd>) -> io::Result<()> {
    while !buffer.is_empty() {
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut slices = [IoSliceMut::new(buffer)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let read = match rustix::net::recvmsg(socket, &mut slices, &mut ancillary, flags) {
            Ok(message) => message.bytes,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                descriptors.extend(rights);
            }
        }
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer = &mut buffer[read..];
    }
    Ok(())
}
