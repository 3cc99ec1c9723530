//! The program that misbehaves: an honest provider or consumer, until the row's moment comes. The main type is [`Stage`],
//! on which a misbehaviour acts.
//!
//! A run starts it several times in one folder. Only one of these children misbehaves (see [`Moment`]); the others are
//! honest, so that a run shows whether the misbehaviour harmed what came after it.

use crate::table::{Case, Moment, TABLE};
use cetp_reference::consumer::target::{ConsumerTarget, Host, HostError};
use cetp_reference::target::{Options, ProviderTarget};
use cetp_vectors::json::{Limits, parse};
use cetp_vectors::ledger::Role;
use serde_json::{Value as Json, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Stdin, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The argument by which the executable is asked to be a target: SWITCH FOLDER.
pub const ARGUMENT: &str = "__hostile";

/// The argument by which it is asked to be a descendant of one: KIND FOLDER.
pub const RELATIVE: &str = "__relative";

/// Nothing of this lives longer, whatever fails.
const LIFETIME: Duration = Duration::from_secs(120);

/// What a misbehaviour acts on.
pub struct Stage {
    target: Honest,
    output: Mutex<File>,
    input: Mutex<BufReader<Stdin>>,
    asked: AtomicU64,
    folder: PathBuf,
    /// The id of the request under way.
    pub id: Json,
    /// Its verb.
    pub verb: String,
    /// Its parameters.
    pub params: Json,
    /// What a misbehaviour wants to remember.
    pub kept: Json,
}

enum Honest {
    Provider(Box<ProviderTarget>),
    Consumer(Box<ConsumerTarget>),
}

/// Serves until the input ends.
pub fn serve(switch: &str, folder: &Path) -> ! {
    let case = TABLE.iter().find(|case| case.switch == switch).expect("a switch of the table");
    let armed = ordinal(folder) == case.child();
    let target = match case.role {
        Role::Consumer => Honest::Consumer(Box::new(ConsumerTarget::new(Default::default()))),
        _ => Honest::Provider(Box::new(ProviderTarget::in_memory(Options::default()).expect("a provider"))),
    };
    let output = File::from(std::io::stdout().as_fd().try_clone_to_owned().expect("a descriptor"));
    let mut stage = Stage {
        target,
        output: Mutex::new(output),
        input: Mutex::new(BufReader::new(std::io::stdin())),
        asked: AtomicU64::new(0),
        folder: folder.to_owned(),
        id: Json::Null,
        verb: String::new(),
        params: Json::Null,
        kept: Json::Null,
    };
    if armed && case.on == Moment::Start || case.on == Moment::FirstStart {
        (case.act)(&mut stage);
    }
    let (mut described, mut resets) = (0, 0);
    while let Some(message) = stage.read() {
        stage.id = message["id"].clone();
        stage.verb = message["method"].as_str().unwrap_or_default().to_owned();
        stage.params = message["params"].clone();
        if stage.verb.is_empty() {
            // An answer to what a misbehaviour had asked.
            continue;
        }
        described += u32::from(stage.verb == "target.describe");
        resets += u32::from(stage.verb == "target.reset");
        if stage.verb == "target.shutdown" {
            stage.honestly();
            break;
        }
        // A child that is to be followed by another one ends in its first vector.
        if case.on == Moment::Start && ordinal_so_far(folder) == 1 && stage.verb == "provider.call" {
            break;
        }
        // Where the first vector leaves it alive, the next ones meet an honest target.
        if armed && resets <= 1 && is_now(case, &stage, described) { (case.act)(&mut stage) } else { stage.honestly() }
    }
    exit(0)
}

fn is_now(case: &Case, stage: &Stage, described: u32) -> bool {
    match case.on {
        Moment::Verb(verb) => stage.verb == verb,
        Moment::Method(method) => stage.verb == "provider.call" && stage.params["method"] == method,
        Moment::Always => true,
        Moment::Settling => stage.verb == "target.describe" && described > 1,
        Moment::Start | Moment::FirstStart => false,
    }
}

/// The number of this child, from 1.
fn ordinal(folder: &Path) -> usize {
    let mut n = 1;
    while File::create_new(folder.join(format!("child-{n}"))).is_err() {
        n += 1;
    }
    n
}

fn ordinal_so_far(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

impl Stage {
    fn read(&self) -> Option<Json> {
        let mut line = Vec::new();
        let mut input = self.input.lock().expect("one thread");
        if input.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        Some(parse(&line, Limits::TEXT).expect("the runner speaks JSON"))
    }

    /// Answers as the reference does.
    pub fn honestly(&mut self) {
        let reply = self.honest();
        self.line(&reply.to_string());
    }

    /// What the reference answers.
    pub fn honest(&self) -> Json {
        let handled = match &self.target {
            Honest::Provider(target) => target.handle(&self.verb, &self.params),
            Honest::Consumer(target) => target.handle(&self.verb, &self.params, self),
        };
        match handled {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": self.id, "result": result }),
            Err(error) => {
                json!({ "jsonrpc": "2.0", "id": self.id, "error": { "code": error.code(), "message": error.to_string() } })
            }
        }
    }

    /// Answers with this result.
    pub fn result(&self, result: Json) {
        self.line(&json!({ "jsonrpc": "2.0", "id": self.id, "result": result }).to_string());
    }

    /// Answers as the reference does, with a change.
    pub fn changed(&mut self, change: impl FnOnce(&mut Json)) {
        let mut reply = self.honest();
        change(&mut reply["result"]);
        self.line(&reply.to_string());
    }

    /// Answers with this text in the place of the id, and of the rest.
    pub fn text(&self, text: &str) {
        self.line(&text.replace("ID", &self.id.to_string()));
    }

    /// Answers with a Bundle of one typed value, which is given as text.
    pub fn bundle(&self, value: &str) {
        self.text(&format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{{"bundle":{{"status":{value}}}}}}}"#));
    }

    /// Writes a line.
    pub fn line(&self, line: &str) {
        self.raw(&[line.as_bytes(), b"\n"].concat());
    }

    /// Writes bytes. One that nobody reads any more ends.
    pub fn raw(&self, bytes: &[u8]) {
        if self.output.lock().expect("one thread").write_all(bytes).is_err() {
            exit(0);
        }
    }

    /// Writes the same bytes without end.
    pub fn endlessly(&self, bytes: &[u8]) -> ! {
        let many = bytes.repeat((64 << 10) / bytes.len() + 1);
        loop {
            self.raw(&many);
        }
    }

    /// Asks the runner, and does not wait for the answer.
    pub fn ask(&self, verb: &str, params: &Json) -> u64 {
        let id = self.asked.fetch_add(1, Ordering::Relaxed);
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "method": verb, "params": params }).to_string());
        id
    }

    /// Asks the runner, and waits for the answer.
    pub fn asked(&self, verb: &str, params: &Json) -> Json {
        let id = self.ask(verb, params);
        loop {
            let Some(message) = self.read() else { exit(0) };
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// The descriptor that never ends.
    pub fn endless(&self) -> Json {
        let params = json!({ "authority": "org.example.p.tools", "method": "hand_over", "arg": null, "extras": {} });
        self.asked("provider.call", &params)["result"]["bundle"]["result_fd"]["fd"]["id"].clone()
    }

    /// Closes a standard descriptor.
    pub fn close(&self, descriptor: i32) {
        let null = File::options().read(true).write(true).open("/dev/null").expect("it is there");
        match descriptor {
            0 => rustix::stdio::dup2_stdin(null),
            1 => {
                *self.output.lock().expect("one thread") = null.try_clone().expect("a descriptor");
                rustix::stdio::dup2_stdout(null)
            }
            _ => rustix::stdio::dup2_stderr(null),
        }
        .expect("it can be closed");
    }

    /// Does nothing any more.
    pub fn hang(&self) -> ! {
        std::thread::sleep(LIFETIME);
        exit(0)
    }

    /// Starts a descendant: see [`relative`].
    pub fn relative(&self, kind: &str, keeps_environment: bool) {
        let mut command = Command::new(std::env::current_exe().expect("this executable"));
        command.args([RELATIVE, kind]).arg(&self.folder);
        if !keeps_environment {
            command.env_clear();
        }
        command.spawn().expect("it starts");
        // It is where it wants to be before this one goes on.
        std::thread::sleep(Duration::from_millis(300));
    }
}

impl Host for Stage {
    fn request(&self, verb: &str, params: Json) -> Result<Json, HostError> {
        let mut answer = self.asked(verb, &params);
        match answer.get_mut("result").map(Json::take) {
            Some(result) => Ok(result),
            None => Err(HostError(answer["error"]["message"].as_str().unwrap_or("refused").to_owned())),
        }
    }
}

/// A descendant of a target, which holds on to its pipes.
pub fn relative(kind: &str) -> ! {
    let again = |kind: &str| {
        let mut command = Command::new(std::env::current_exe().expect("this executable"));
        command.args([RELATIVE, kind]).arg(std::env::args().nth(3).unwrap_or_default());
        command.spawn()
    };
    match kind {
        "in-the-group" => {}
        "away" => drop(rustix::process::setsid()),
        // Its parent ends, and it is nobody's child.
        "orphan" => {
            let _ = rustix::process::setsid();
            let _ = again("away");
            exit(0)
        }
        // A few dozen, each of which starts another in its place without end.
        "storm" => {
            for _ in 0..24 {
                let _ = again("runner");
            }
        }
        "runner" => {
            let _ = rustix::process::setsid();
            let begun = Instant::now();
            while begun.elapsed() < LIFETIME / 8 {
                if let Ok(mut child) = again("short") {
                    let _ = child.wait();
                }
            }
            exit(0)
        }
        _ => exit(0),
    }
    std::thread::sleep(LIFETIME);
    exit(0)
}
