//! A provider of `aw-provider` that follows a script: what a host under test starts instead of a real one. The main function
//! is [`run_if_asked`].
//!
//! It notes what it was given (arguments, environment, folder, standard input) and then does what its script says for the
//! method, honest or not. The script is a file; its actions are those of [`cetp_vectors::parse::aw::ACTIONS`]. Every
//! executable that a vector's host may start as a provider calls [`run_if_asked`] before anything else.

use cetp_vectors::aw;
use cetp_vectors::expr::{self, Scope};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The argument by which an executable is asked to follow a script.
pub const ARGUMENT: &str = "aw-scripted-provider";

/// The argument before the file of a descendant's actions.
const CHILD: &str = "--child";

/// How long it waits for the end of its standard input: a host that never closes it is noted as such.
const READING: Duration = Duration::from_secs(10);

/// Follows a script and never returns, where the first argument asks for it.
pub fn run_if_asked() {
    let mut arguments = std::env::args_os();
    if arguments.nth(1).is_none_or(|argument| argument != ARGUMENT) {
        return;
    }
    let words: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
    let code = match words.split_first() {
        Some((flag, rest)) if flag == CHILD => rest.first().map_or(2, |file| descendant(Path::new(file))),
        Some((script, _)) => provider(Path::new(script), &words),
        None => 2,
    };
    std::process::exit(code);
}

/// A record of one start, written again whenever something is to be added: it may be ended at any time.
struct Record {
    file: PathBuf,
    json: Json,
}

impl Record {
    fn write(&self) {
        let half = self.file.with_extension("half");
        let _ = std::fs::write(&half, self.json.to_string()).and_then(|()| std::fs::rename(&half, &self.file));
    }
}

struct Player {
    script: Json,
    folder: PathBuf,
    name: String,
    record: Record,
    /// What expressions see: `request`, `start`, `earlier`.
    known: Map<String, Json>,
    stdin: Vec<u8>,
}

impl Scope for Player {
    fn get(&self, name: &str) -> Option<Cow<'_, Json>> {
        self.known.get(name).map(Cow::Borrowed)
    }

    fn uuid(&self, name: &str) -> String {
        name.to_owned()
    }
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

fn provider(script: &Path, words: &[String]) -> i32 {
    let text = std::fs::read_to_string(script).unwrap_or_default();
    let Ok(script_json) = serde_json::from_str::<Json>(&text) else { return 2 };
    let name = script.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = script.parent().unwrap_or(Path::new(".")).join("../records");
    let environment: Map<String, Json> =
        std::env::vars_os().map(|(k, v)| (k.to_string_lossy().into_owned(), json!(v.to_string_lossy()))).collect();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    let pid = std::process::id();
    let record = Record {
        file: folder.join(format!("{started:030}-{pid}.json")),
        json: json!({
            "provider": name, "arguments": words[1..], "environment": environment, "pid": pid, "at_ms": now_ms(),
            "directory": std::env::current_dir().unwrap_or_default(), "signals": [], "done": false,
        }),
    };
    record.write();
    let mut records = records(&folder, &name);
    let start = records.len();
    let mut player = Player { script: script_json, folder, name, record, known: Map::new(), stdin: Vec::new() };
    player.record.json["start"] = json!(start);
    player.record.json["stdin_holds"] = json!(capacity());
    player.known.insert("start".into(), json!(start));
    records.retain(|record| record["pid"] != pid);
    player.known.insert("earlier".into(), records.iter().map(request_of).collect());
    let before = player.script["starts"][start.to_string()].as_array().cloned();
    if let Some(code) = before.and_then(|actions| player.act(&actions)) {
        return player.finish(code);
    }
    player.read_all();
    let method = player.known.get("request").and_then(|r| r["method"].as_str()).unwrap_or_default().to_owned();
    let actions = player.script["on"][&method].as_array().cloned();
    let actions = actions.unwrap_or_else(|| player.honest(&method));
    let code = player.act(&actions).unwrap_or(0);
    player.finish(code)
}

/// How many bytes fit into standard input while nobody reads: a whole request may be written where it is below that. It is
/// known of a pipe alone; of a file or socket it is nothing.
fn capacity() -> Option<usize> {
    // SAFETY: standard input is open; where it is not, asking fails.
    let stdin = unsafe { BorrowedFd::borrow_raw(0) };
    let pipe = rustix::fs::fstat(stdin)
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Fifo);
    if pipe { rustix::pipe::fcntl_getpipe_size(stdin).ok() } else { None }
}

/// The records of this provider so far, this start included, in the order of the starts.
fn records(folder: &Path, name: &str) -> Vec<Json> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    let read = |file: &PathBuf| serde_json::from_str::<Json>(&std::fs::read_to_string(file).ok()?).ok();
    files.iter().filter_map(read).filter(|record| record["provider"] == *name).collect()
}

/// The request that an earlier start was given; null where it was none.
fn request_of(record: &Json) -> Json {
    let content = aw::json_to_bytes(&record["stdin"]["content"]);
    content.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(Json::Null)
}

impl Player {
    fn finish(&mut self, code: i32) -> i32 {
        self.record.json["done"] = json!(true);
        self.record.write();
        code
    }

    fn honest(&self, method: &str) -> Vec<Json> {
        let mut reply = json!({ "api_version": aw::VERSION, "request_id": "${request.request_id}", "status": "ok" });
        match method {
            "describe" => {
                let usual = json!([{ "name": "check", "events": ["tool.before", "tool.after"], "effects": ["observe", "block"] }]);
                reply["operations"] = self.script.get("operations").cloned().unwrap_or(usual);
            }
            "invoke" => {
                reply["input_digest"] = json!("${request.input_digest}");
                reply["effects"] = self.script.get("effects").cloned().unwrap_or_else(|| json!([]));
            }
            _ => {}
        }
        vec![json!({ "out": reply })]
    }

    fn read_all(&mut self) {
        let until = Instant::now() + READING;
        let mut ended = false;
        let mut buffer = [0; 64 << 10];
        while !ended && wait_readable(0, until) {
            // SAFETY: standard input is open; where it is not, reading fails and that is the end.
            match rustix::io::read(unsafe { BorrowedFd::borrow_raw(0) }, &mut buffer) {
                Ok(0) => ended = true,
                Ok(n) => self.stdin.extend(&buffer[..n]),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => break,
            }
        }
        let stdin = &mut self.record.json["stdin"];
        *stdin = json!({ "bytes": self.stdin.len(), "eof": ended });
        // Beyond any message only the size matters.
        if self.stdin.len() <= 2 * aw::MESSAGE_BYTES {
            stdin["content"] = aw::bytes_to_json(&self.stdin);
        }
        self.record.json["read_ms"] = json!(now_ms());
        self.record.write();
        if let Ok(request) = serde_json::from_slice::<Json>(&self.stdin) {
            self.known.insert("request".into(), request);
        }
    }

    /// Reads the beginning of the input alone, and takes from it what a reply needs.
    fn read_some(&mut self, most: usize) {
        let mut buffer = vec![0; most];
        let mut read = 0;
        while read < most && wait_readable(0, Instant::now() + READING) {
            // SAFETY: as for reading all.
            match rustix::io::read(unsafe { BorrowedFd::borrow_raw(0) }, &mut buffer[read..]) {
                Ok(0) | Err(Errno::BADF) => break,
                Ok(n) => read += n,
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => break,
            }
        }
        let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
        let found = ["request_id", "input_digest"].map(|name| (name.to_owned(), json!(text_member(&text, name))));
        self.known.insert("request".into(), Json::Object(found.into_iter().filter(|(_, v)| !v.is_null()).collect()));
    }

    /// Does the actions; the exit status where they end it.
    fn act(&mut self, actions: &[Json]) -> Option<i32> {
        for action in actions {
            let Some((verb, value)) = action.as_object().and_then(|o| o.iter().find(|(name, _)| *name != "bytes"))
            else {
                continue;
            };
            match verb.as_str() {
                "read" => self.read_all(),
                "read_bytes" => self.read_some(usize::try_from(value.as_u64().unwrap_or(0)).unwrap_or(usize::MAX)),
                "out" => self.write(1, value),
                "err" => self.write(2, value),
                "flood" => flood(if value == "stdout" { 1 } else { 2 }, action["bytes"].as_u64().unwrap_or(u64::MAX)),
                "sleep_ms" => sleep(Duration::from_millis(value.as_u64().unwrap_or(0))),
                "close" => close(match value.as_str() {
                    Some("stdin") => 0,
                    Some("stdout") => 1,
                    _ => 2,
                }),
                "ignore_term" => self.ignore_term(),
                "child" => self.child(value),
                "exit" => return Some(i32::try_from(value.as_i64().unwrap_or(0)).unwrap_or(0)),
                "kill" => {
                    self.finish(0);
                    let signal = i32::try_from(value.as_i64().unwrap_or(9)).unwrap_or(9);
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                    if let Some(signal) = rustix::process::Signal::from_named_raw(signal) {
                        let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
                    }
                    sleep(READING);
                }
                _ => {}
            }
        }
        None
    }

    fn write(&self, fd: RawFd, value: &Json) {
        let value = expr::resolve(value, self).unwrap_or_else(|error| json!(error.to_string()));
        write_all(fd, &aw::json_to_bytes(&value).unwrap_or_default());
    }

    /// SIGTERM is noted the moment it comes, as SIGKILL may follow soon, and does nothing else.
    fn ignore_term(&self) {
        let Ok(file) = std::fs::File::create(self.record.file.with_extension("term")) else { return };
        let note = move || {
            let _ = rustix::io::write(&file, b"T");
        };
        // SAFETY: the handler does nothing but write to a descriptor that stays open, which signal handlers may do.
        let _ = unsafe { signal_hook::low_level::register(signal_hook::consts::SIGTERM, note) };
    }

    /// Starts a descendant in the same process group, with the same descriptors.
    fn child(&self, actions: &Json) {
        let file = self.folder.join(format!("child-{}-{}.script", std::process::id(), now_ms()));
        let order = json!({ "actions": actions, "known": self.known, "name": self.name });
        let Ok(program) = std::env::current_exe() else { return };
        if std::fs::write(&file, order.to_string()).is_ok() {
            let _ = std::process::Command::new(program).arg(ARGUMENT).arg(CHILD).arg(&file).spawn();
        }
    }
}

/// A descendant: does its actions and ends.
fn descendant(file: &Path) -> i32 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let Ok(order) = serde_json::from_str::<Json>(&text) else { return 2 };
    let folder = file.parent().unwrap_or(Path::new(".")).to_owned();
    let pid = std::process::id();
    let record = Record {
        file: folder.join(format!("descendant-{pid}.child")),
        json: json!({ "pid": pid, "provider": order["name"], "signals": [], "done": false }),
    };
    record.write();
    let known = order["known"].as_object().cloned().unwrap_or_default();
    let name = order["name"].as_str().unwrap_or_default().to_owned();
    let mut player = Player { script: json!({}), folder, name, record, known, stdin: Vec::new() };
    let code = player.act(order["actions"].as_array().map_or(&[], Vec::as_slice)).unwrap_or(0);
    player.finish(code)
}

/// The first member of this name in the beginning of a request, where it is a text without escapes.
fn text_member<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("\"{name}\""))?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    rest.split_once('"').map(|(value, _)| value).filter(|value| !value.contains('\\'))
}

fn sleep(long: Duration) {
    let until = Instant::now() + long;
    // A signal cuts a pause short in some systems.
    while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        std::thread::sleep(left);
    }
}

fn wait_readable(fd: RawFd, until: Instant) -> bool {
    let left = until.saturating_duration_since(Instant::now());
    let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
    // SAFETY: only standard descriptors are polled; one that is closed is reported as such.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    matches!(poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)), Ok(1..))
}

fn write_all(fd: RawFd, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: only standard descriptors are written to; writing to one that is closed fails.
        match rustix::io::write(unsafe { BorrowedFd::borrow_raw(fd) }, bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn flood(fd: RawFd, mut left: u64) {
    let chunk = [b'x'; 64 << 10];
    while left > 0 {
        let n = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.len());
        // SAFETY: as for writing all.
        match rustix::io::write(unsafe { BorrowedFd::borrow_raw(fd) }, &chunk[..n]) {
            Ok(n) => left -= n as u64,
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

fn close(fd: RawFd) {
    // The number stays taken, so that nothing opened later gets it.
    if let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = match fd {
            0 => rustix::stdio::dup2_stdin(&null),
            1 => rustix::stdio::dup2_stdout(&null),
            _ => rustix::stdio::dup2_stderr(&null),
        };
    }
}
