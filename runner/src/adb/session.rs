//! The target protocol over a stream to the harness on a device. The main type is [`AdbSession`].
//!
//! The harness listens on an abstract socket, under a name that is new for each session: one that was left behind cannot be
//! taken for it. What ends or hangs here is the harness or the way to it, and never the provider, whose death the harness
//! reports like any other reply; so it is a [`FaultKind::Device`], from which no verdict follows.

use super::device::{COMMAND, Device, instrument, sdk};
use super::settings::Settings;
use super::shell::{self, Packet, Packets};
use super::taps::{self, Taps};
use super::{AdbError, Trouble};
use crate::adapter::{Fault, FaultKind, Incoming, RpcError, Session, await_message};
use crate::jsonrpc::Conversation;
use crate::limits::Limits;
use crate::protocol::Checker;
use cetp_vectors::ledger::Role;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value as Json, json};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A session with the harness.
pub struct AdbSession {
    device: Device,
    harness: String,
    package: String,
    role: Role,
    limits: Limits,
    conversation: Conversation,
    /// None when it was closed.
    socket: Option<TcpStream>,
    /// What the other side did not take yet.
    unwritten: Vec<u8>,
    instrumentation: Instrumentation,
    /// The device's clock less ours, in milliseconds.
    clock_ms: i64,
    /// Since when the device's log belongs to the vector, by our clock.
    log_since: SystemTime,
    ended: bool,
    taps: Option<Taps>,
    /// The last request that asked the harness what it is.
    describing: Option<u64>,
    /// Whether decisions are made on the screen: they may be, and the package has no control for them.
    tapping: bool,
    /// Whether the package is ended by `am`: it may be, and has no control for it.
    ending: bool,
    /// What came while a decision or a restart was under way.
    early: VecDeque<Incoming>,
}

/// `am instrument`, as long as it runs.
struct Instrumentation {
    stream: Option<TcpStream>,
    packets: Packets,
    said: Vec<u8>,
}

/// How long the harness may take to end politely.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long a harness may take to answer a question that needs nobody else, when something else did not come in time.
const PROBE: Duration = Duration::from_secs(10);

/// How much is kept of what the instrumentation says.
const SAID_KEPT: usize = 8 << 10;

/// Before a vector, since clocks are only roughly compared.
const LOG_MARGIN: Duration = Duration::from_secs(2);

impl AdbSession {
    /// Starts the harness and connects to it.
    ///
    /// # Errors
    /// The device is sick, or the harness does not come up.
    pub fn start(
        device: Device,
        settings: &Settings,
        limits: Limits,
        checker: Option<Arc<Checker>>,
    ) -> Result<AdbSession, AdbError> {
        static SESSIONS: AtomicU64 = AtomicU64::new(0);
        let harness = settings.harness().to_owned();
        // Whatever an earlier run left.
        device.must(&format!("am force-stop {harness}"), COMMAND)?;
        let clock_ms = clock_difference(&device)?;
        let name = format!("org.cetp.{:x}.{}", std::process::id(), SESSIONS.fetch_add(1, Ordering::Relaxed));
        let command = instrument(settings, sdk(&device)?, &name);
        let instrumentation = Instrumentation::start(&device, &command, &name, limits.start())?;
        let mut session = AdbSession {
            harness,
            package: settings.package.clone(),
            role: settings.role,
            conversation: Conversation::new(limits.clone(), checker),
            limits,
            socket: None,
            unwritten: Vec::new(),
            instrumentation,
            clock_ms,
            log_since: SystemTime::now(),
            ended: false,
            taps: settings.decisions.clone(),
            describing: None,
            tapping: false,
            ending: false,
            early: VecDeque::new(),
            device,
        };
        let stream = session.device.server.open(&session.device.serial, &format!("localabstract:{name}"), COMMAND)?;
        let socket = stream.into_socket();
        socket.set_nonblocking(true).map_err(|error| AdbError::new(Trouble::Cut, error))?;
        session.socket = Some(socket);
        Ok(session)
    }

    /// The next message from the stream; none when the time is over.
    fn next(&mut self, until: Instant) -> Result<Option<Incoming>, Fault> {
        loop {
            if let Some(incoming) = self.conversation.next()? {
                return Ok(Some(incoming));
            }
            if self.socket.is_none() {
                return Err(self.gone());
            }
            if !self.pump(until)? {
                return Ok(None);
            }
        }
    }

    /// Where the package has no control for decisions, the screen is one; where it has none for restarts, the system is.
    fn with_own_controls(&mut self, mut incoming: Incoming) -> Incoming {
        if let Incoming::Answer { id, result: Ok(described) } = &mut incoming
            && self.describing == Some(*id)
            && let Some(controls) = described.get_mut("controls").and_then(Json::as_array_mut)
        {
            let mut lacks = |control: &str, possible: bool| {
                let lacks = possible && !controls.contains(&json!(control));
                if lacks {
                    controls.push(json!(control));
                }
                lacks
            };
            self.tapping = lacks("user_decision", self.taps.is_some());
            self.ending = lacks("restart", self.role == Role::Provider && self.harness != self.package);
        }
        incoming
    }

    /// `control.restart` by way of the system. The process comes up again with the next call. The number is that of the answer,
    /// which is there when this returns.
    fn restart(&mut self) -> Result<u64, Fault> {
        let ended = end_process(&self.device, &self.package).map_err(|error| Fault::new(FaultKind::Device, error))?;
        let describe = json!({ "protocol": cetp_vectors::protocol::VERSION });
        let (id, there) = self.ask_harness("target.describe", &describe)?;
        let result = match ended {
            true => there.map(|_| json!({})),
            false => Err(RpcError {
                code: RpcError::CANNOT,
                message: format!("the process of {} does not end", self.package),
            }),
        };
        self.early.push_back(Incoming::Answer { id, result });
        Ok(id)
    }

    /// `control.user` by way of the screen: the driver opens the resolution and tells whether its Activity came to an end. The
    /// number is that of the answer, which is there when this returns.
    fn decide(&mut self, taps: &Taps, params: &Json) -> Result<u64, Fault> {
        let opened = json!({ "pending_intent": params["pending_intent"] });
        let (id, launched) = self.ask_harness("driver.launch", &opened)?;
        let result = match launched {
            Err(refusal) => Err(refusal),
            Ok(_) => {
                let decision = params["decision"].as_str().unwrap_or_default();
                match taps::decide(&self.device, &self.package, taps, decision) {
                    Ok(Ok(())) => match self.ask_harness("driver.finished", &opened)?.1 {
                        Ok(finished) => Ok(json!({ "activity_finished": finished })),
                        Err(refusal) => Err(refusal),
                    },
                    Ok(Err(why)) => Err(RpcError { code: RpcError::CANNOT, message: why }),
                    Err(error) => return Err(Fault::new(FaultKind::Device, error)),
                }
            }
        };
        self.early.push_back(Incoming::Answer { id, result });
        Ok(id)
    }

    /// Asks the harness for something of its own. Whatever else comes meanwhile is kept.
    fn ask_harness(&mut self, verb: &str, params: &Json) -> Result<(u64, Result<Json, RpcError>), Fault> {
        let (id, line) = self.conversation.request(verb, params)?;
        self.write(&line)?;
        let limit = self.limits.verb();
        let until = Instant::now() + limit;
        loop {
            match self.next(until)? {
                Some(Incoming::Answer { id: answered, result }) if answered == id => return Ok((id, result)),
                Some(other) => self.early.push_back(other),
                None => {
                    let message = format!("the harness did not answer {verb:?} within {} s", limit.as_secs_f64());
                    return Err(Fault::new(FaultKind::Device, message));
                }
            }
        }
    }

    fn write(&mut self, line: &[u8]) -> Result<(), Fault> {
        self.unwritten.extend_from_slice(line);
        self.flush()
    }

    /// Writes as much as is taken.
    fn flush(&mut self) -> Result<(), Fault> {
        while !self.unwritten.is_empty() {
            let Some(socket) = &mut self.socket else { return Err(self.gone()) };
            match socket.write(&self.unwritten) {
                Ok(n) => drop(self.unwritten.drain(..n)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.socket = None;
                    return Err(self.gone());
                }
            }
        }
        Ok(())
    }

    /// Waits until there is something to read or room to write. False when the time is over.
    fn pump(&mut self, until: Instant) -> Result<bool, Fault> {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let (ready, talks) = {
            let Some(socket) = &self.socket else { return Err(self.gone()) };
            let wanted = if self.unwritten.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
            let mut fds = vec![PollFd::from_borrowed_fd(socket.as_fd(), wanted)];
            if let Some(stream) = &self.instrumentation.stream {
                fds.push(PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::IN));
            }
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) => return Ok(false),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    return Err(Fault::new(FaultKind::Device, format!("waiting for the device failed: {error}")));
                }
            }
            (fds[0].revents(), fds.get(1).is_some_and(|fd| !fd.revents().is_empty()))
        };
        if talks {
            self.instrumentation.read();
        }
        if ready.contains(PollFlags::OUT) {
            self.flush()?;
        }
        if ready.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            self.fill()?;
        }
        Ok(true)
    }

    fn fill(&mut self) -> Result<(), Fault> {
        let Some(socket) = &mut self.socket else { return Ok(()) };
        match self.conversation.fill(|buffer| socket.read(buffer))? {
            Ok(1..) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Ok(0) | Err(_) => self.socket = None,
        }
        Ok(())
    }

    /// Why there is no stream any more.
    fn gone(&mut self) -> Fault {
        // The end of the instrumentation comes on another stream, perhaps a moment later.
        self.instrumentation.await_end(Instant::now() + Duration::from_secs(1));
        let said = self.instrumentation.said();
        let rest = self.conversation.rest();
        if self.role == Role::Consumer && said.contains("Process crashed") {
            // The harness of a consumer runs in the consumer's own process.
            return Fault::new(FaultKind::Died, format!("the consumer's process crashed{rest}: {said}"));
        }
        let state = self.state();
        let said = if said.is_empty() { String::new() } else { format!("; the instrumentation said: {said}") };
        Fault::new(FaultKind::Device, format!("the stream to the harness was closed{rest}; {state}{said}"))
    }

    /// How it stands with the device, for a sentence.
    fn state(&self) -> String {
        match super::devices::list(&self.device.server) {
            Ok(rows) => match rows.iter().find(|row| row.serial == self.device.serial) {
                Some(row) => format!("adb says of {}: {}", row.serial, row.state.name()),
                None => format!("adb does not know {} any more", self.device.serial),
            },
            Err(error) => error.message,
        }
    }

    /// Ends the harness: politely if it is still there, then for certain.
    fn finish(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let until = Instant::now() + FAREWELL;
        let asked = self.conversation.request("target.shutdown", &json!({}));
        if asked.is_ok_and(|(_, line)| self.write(&line).is_ok()) {
            while self.socket.is_some() && self.pump(until).is_ok_and(|more| more) {
                self.conversation.forget_unread();
            }
            self.instrumentation.await_end(until);
        }
        self.socket = None;
        if self.instrumentation.stream.is_some() {
            let _ = self.device.shell(&format!("am force-stop {}", self.harness), FAREWELL);
        }
    }

    /// The device's log since the last vector, as far as it is about the harness or the package under test.
    fn log(&self) -> Result<String, AdbError> {
        let since = self.log_since.checked_sub(LOG_MARGIN).unwrap_or(UNIX_EPOCH);
        let since_ms = i64::try_from(since.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(0);
        let since_ms = since_ms.saturating_add(self.clock_ms).max(0);
        let command = format!("logcat -d -v threadtime -T {}.{:03}", since_ms / 1000, since_ms % 1000);
        let log = self.device.must(&command, COMMAND)?;
        // Most vectors find processes that are there already, of whose beginning this piece of the log says nothing.
        let names = format!("{} {}", shell::quoted(&self.harness), shell::quoted(&self.package));
        let running = self.device.shell(&format!("pidof {names}"), COMMAND)?.stdout;
        Ok(about(&log, &[&self.harness, &self.package], running.split_whitespace().collect()))
    }
}

impl Session for AdbSession {
    fn send(&mut self, verb: &str, params: &Json) -> Result<u64, Fault> {
        if verb == "control.user"
            && self.tapping
            && let Some(taps) = self.taps.clone()
        {
            return self.decide(&taps, params);
        }
        if verb == "control.restart" && self.ending {
            return self.restart();
        }
        let (id, line) = self.conversation.request(verb, params)?;
        if verb == "target.describe" {
            self.describing = Some(id);
        }
        self.write(&line)?;
        Ok(id)
    }

    fn receive(&mut self, limit: Duration) -> Result<Option<Incoming>, Fault> {
        if let Some(incoming) = self.early.pop_front() {
            return Ok(Some(incoming));
        }
        let incoming = self.next(Instant::now() + limit)?;
        Ok(incoming.map(|incoming| self.with_own_controls(incoming)))
    }

    fn answer(&mut self, id: &Json, result: Result<Json, RpcError>) -> Result<(), Fault> {
        let line = self.conversation.answer(id, result)?;
        self.write(&line)
    }

    /// A harness that still answers has a target that does not; else it is the device.
    fn silence(&mut self, limit: Duration) -> Fault {
        let probe = self.send("target.describe", &json!({ "protocol": cetp_vectors::protocol::VERSION }));
        let until = Instant::now() + PROBE.min(limit);
        if let Ok(probe) = probe {
            while let Some(left) = until.checked_duration_since(Instant::now()) {
                match self.receive(left) {
                    Ok(Some(Incoming::Answer { id, .. })) if id == probe => return Fault::silent(limit),
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => break,
                }
            }
        }
        let state = self.state();
        let seconds = limit.as_secs_f64();
        Fault::new(
            FaultKind::Device,
            format!("nothing came from the device within {seconds} s, and its harness does not answer; {state}"),
        )
    }

    fn settle(&mut self) -> Result<(), Fault> {
        let limit = self.limits.verb();
        let id = self.send("target.describe", &json!({ "protocol": cetp_vectors::protocol::VERSION }))?;
        Conversation::settled(id, &await_message(self, limit)?)?;
        self.conversation.begin_anew();
        Ok(())
    }

    fn diagnostics(&mut self) -> String {
        let log = self.log().unwrap_or_else(|error| format!("the device's log could not be read: {error}"));
        self.log_since = SystemTime::now();
        let mut text = log;
        let said = self.instrumentation.said();
        if !said.is_empty() {
            text = format!("the instrumentation said: {said}\n{text}");
        }
        let surplus = text.len().saturating_sub(self.limits.stderr_kept);
        let start = (surplus..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        text.split_off(start)
    }

    fn no_diagnostics(&mut self) {
        // To read the device's log costs a tenth of a second; nobody looks at it for a vector that passed.
        self.log_since = SystemTime::now();
    }

    fn end(mut self: Box<Self>) {
        self.finish();
    }
}

impl Drop for AdbSession {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Instrumentation {
    /// Starts it and waits until it listens on that socket.
    fn start(device: &Device, command: &str, socket: &str, limit: Duration) -> Result<Instrumentation, AdbError> {
        let mut stream = shell::start(&device.server, &device.serial, command, COMMAND)?;
        stream.limit(limit);
        let mut started = Instrumentation { stream: None, packets: Packets::default(), said: Vec::new() };
        let ready = format!("INSTRUMENTATION_STATUS: socket={socket}");
        let mut buffer = [0; 4096];
        loop {
            let n = stream.read(&mut buffer).map_err(|error| {
                AdbError::new(error.kind, format!("the harness does not come up: {error}{}", started.so_far()))
            })?;
            if n > 0 {
                started.packets.push(&buffer[..n]);
            }
            let over = n == 0 || started.take();
            let text = String::from_utf8_lossy(&started.said);
            if text.lines().any(|line| line.trim_end() == ready) {
                break;
            }
            let refused = ["INSTRUMENTATION_FAILED", "INSTRUMENTATION_RESULT", "INSTRUMENTATION_CODE", "Error"];
            if over
                || text.lines().any(|line| refused.iter().any(|word| line.contains(word)) && line.len() < text.len())
            {
                // The lines after the first one say why.
                let more = Duration::from_millis(500);
                let socket = stream.into_socket();
                let _ = socket.set_nonblocking(true);
                started.stream = Some(socket);
                started.await_end(Instant::now() + more);
                let message = format!("the harness does not come up{}", started.so_far());
                return Err(AdbError::new(Trouble::Refused, message));
            }
        }
        let socket = stream.into_socket();
        socket.set_nonblocking(true).map_err(|error| AdbError::new(Trouble::Cut, error))?;
        started.stream = Some(socket);
        Ok(started)
    }

    fn so_far(&self) -> String {
        let said = self.said();
        if said.is_empty() { String::new() } else { format!(": {said}") }
    }

    /// Takes the packets that are there; whether the end is among them.
    fn take(&mut self) -> bool {
        loop {
            match self.packets.next() {
                Ok(Some(Packet::Out(bytes) | Packet::Err(bytes))) => {
                    self.said.extend(bytes);
                    let surplus = self.said.len().saturating_sub(SAID_KEPT);
                    self.said.drain(..surplus);
                }
                Ok(Some(Packet::Exit(_))) | Err(_) => return true,
                Ok(None) => return false,
            }
        }
    }

    /// Reads what is there, without waiting.
    fn read(&mut self) {
        let mut buffer = [0; 4096];
        while let Some(stream) = &mut self.stream {
            match stream.read(&mut buffer) {
                Ok(0) => self.stream = None,
                Ok(n) => {
                    self.packets.push(&buffer[..n]);
                    if self.take() {
                        self.stream = None;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.stream = None,
            }
        }
    }

    fn await_end(&mut self, until: Instant) {
        while let Some(stream) = &self.stream {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            let mut fds = [PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(1..) => self.read(),
                Err(rustix::io::Errno::INTR) => {}
                _ => return,
            }
        }
    }

    /// What it said, but for the line that says it is ready.
    fn said(&self) -> String {
        let text = String::from_utf8_lossy(&self.said);
        let lines = text.lines().map(str::trim).filter(|line| {
            !line.is_empty()
                && !line.starts_with("INSTRUMENTATION_STATUS: socket=")
                && *line != "INSTRUMENTATION_STATUS_CODE: 1"
        });
        lines.collect::<Vec<_>>().join("; ")
    }
}

/// Ends the process of a package, if there is one; false if it is still there. `am kill` ends what nobody uses at the moment, which
/// a provider is between two calls; `am force-stop` ends everything, and on Android 15 takes the PendingIntents along.
fn end_process(device: &Device, package: &str) -> Result<bool, AdbError> {
    /// How long it may take, and between two looks.
    const PATIENCE: Duration = Duration::from_secs(3);
    const PAUSE: Duration = Duration::from_millis(100);
    let package = shell::quoted(package);
    let running = || -> Result<Vec<String>, AdbError> {
        let said = device.shell(&format!("pidof {package}"), COMMAND)?.stdout;
        Ok(said.split_whitespace().map(str::to_owned).collect())
    };
    let before = running()?;
    for command in ["am kill", "am force-stop"] {
        if before.is_empty() {
            break;
        }
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            // Again each time: what the driver has just called counts as in use for another second.
            device.must(&format!("{command} {package}"), COMMAND)?;
            // Another one may have begun since.
            if !running()?.iter().any(|process| before.contains(process)) {
                return Ok(true);
            }
            std::thread::sleep(PAUSE);
        }
    }
    Ok(before.is_empty())
}

/// The device's clock less ours, in milliseconds.
fn clock_difference(device: &Device) -> Result<i64, AdbError> {
    let text = device.must("date +%s", COMMAND)?;
    let theirs: i64 = text.trim().parse().map_err(|_| {
        AdbError::new(Trouble::Protocol, format!("the device {} says {text:?} for its time", device.serial))
    })?;
    let ours = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    Ok(theirs.saturating_sub(i64::try_from(ours).unwrap_or(0)).saturating_mul(1000))
}

/// The lines of a log that are about these packages: those that name one, and those of their processes, which are those
/// that run now, and those that such a line names (`Start proc 123:com.example/u0a1`, `Process com.example (pid 123) has
/// died`). The third word of a line is the process.
fn about<'l>(log: &'l str, packages: &[&str], mut processes: Vec<&'l str>) -> String {
    /// The harness's own, and what the system writes about a crash.
    const TAGS: [&str; 4] = [" CetpDriver", " AndroidRuntime", " DEBUG ", " libc "];
    let names = |line: &str| packages.iter().any(|name| line.contains(name));
    for line in log.lines().filter(|line| names(line)) {
        for package in packages {
            if let Some((before, _)) = line.split_once(&format!(":{package}"))
                && let Some(number) = before.rsplit(|c: char| !c.is_ascii_digit()).next().filter(|n| !n.is_empty())
            {
                processes.push(number);
            }
            if let Some((_, after)) = line.split_once(&format!("{package} (pid "))
                && let Some((number, _)) = after.split_once(')')
            {
                processes.push(number);
            }
        }
    }
    let of_process = |line: &str| line.split_whitespace().nth(2).is_some_and(|pid| processes.contains(&pid));
    let kept = log.lines().filter(|line| names(line) || of_process(line) || TAGS.iter().any(|tag| line.contains(tag)));
    kept.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_cut_to_what_concerns_us() {
        let log = "\
--------- beginning of main
11-30 08:00:00.100   500   510 I ActivityManager: Start proc 4321:com.example.app/u0a1 for content provider
11-30 08:00:00.200   700   700 I SomebodyElse: hello
11-30 08:00:00.300  4321  4330 W App     : about to fail
11-30 08:00:00.400  4321  4330 E AndroidRuntime: FATAL EXCEPTION
11-30 08:00:00.500   500   510 I ActivityManager: Process com.example.app (pid 4321) has died
11-30 08:00:00.600   701   701 W CetpDriver: provider.call has not returned";
        let kept = about(log, &["com.example.app"], Vec::new());
        assert_eq!(kept.lines().count(), 5, "{kept}");
        assert!(!kept.contains("SomebodyElse"));
        // Of a process that was there before, and still is, or has died since.
        let log: String = log.lines().filter(|line| !line.contains("Start proc")).collect::<Vec<_>>().join("\n");
        assert!(about(&log, &["com.example.app"], Vec::new()).contains("about to fail"), "it says which one has died");
        let log: String = log.lines().filter(|line| !line.contains("has died")).collect::<Vec<_>>().join("\n");
        assert!(!about(&log, &["com.example.app"], Vec::new()).contains("about to fail"));
        let kept = about(&log, &["com.example.app"], vec!["4321"]);
        assert!(kept.contains("about to fail") && !kept.contains("SomebodyElse"), "{kept}");
    }
}
