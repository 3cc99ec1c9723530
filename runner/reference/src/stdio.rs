//! The target protocol over a pipe, with a provider process that can really be killed. The main functions are
//! [`serve_supervisor`] and [`serve_worker`].
//!
//! ```text
//! runner ── stdin/stdout ── supervisor ── stdin/stdout ── worker ── provider.db
//!                           keeps the                     is the provider's process:
//!                           connection                    is killed, is started again
//! ```
//!
//! Both speak the lines of the target protocol; the supervisor hands them on and handles only `control.restart` and
//! `target.shutdown` itself. What was open when the worker ended is answered by the supervisor: a `provider.call` with
//! the exception that a caller on Android would see. What survives is what the worker had committed to the database
//! file, in a temporary directory that goes with the supervisor.

use crate::error::{Error, Result};
use crate::lock;
use crate::target::{Options, ProviderTarget, VerbError};
use cetp_vectors::json::{Limits, parse};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// The longest line of the target protocol.
const MAX_LINE_BYTES: usize = 8 << 20;

/// What a line of the target protocol may hold: a duplicate member could mean two things.
pub(crate) const LINE: Limits = Limits { max_bytes: MAX_LINE_BYTES, ..Limits::TEXT };

/// Stack of a thread that works on one call. A line may be nested 10,000 deep, and reading a Bundle costs stack for
/// each level.
const CALL_STACK_BYTES: usize = 64 << 20;

/// After so many workers that ended without having answered anything, starting another one is pointless.
const MAX_FAILED_STARTS: u32 = 5;

/// One JSON-RPC request.
struct Request {
    id: Json,
    method: String,
    params: Json,
}

impl Request {
    /// Reads a line; what is no request is answered with the error.
    fn read(line: &[u8]) -> Result<Request, Json> {
        let mut json = parse(line, LINE).map_err(|e| failure(&Json::Null, -32700, &e.to_string()))?;
        let id = json.get("id").cloned().unwrap_or_default();
        let method = json["method"].as_str().map(str::to_owned);
        let addressed = id.is_string() || id.is_i64() || id.is_u64();
        match method {
            Some(method) if addressed && json["jsonrpc"] == "2.0" => {
                let params = json.get_mut("params").map(Json::take);
                Ok(Request { id, method, params: params.unwrap_or_else(|| json!({})) })
            }
            _ => Err(failure(&Json::Null, -32600, "this is no JSON-RPC 2.0 request")),
        }
    }
}

pub(crate) fn success(id: &Json, result: &Json) -> Json {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

pub(crate) fn failure(id: &Json, code: i64, message: &str) -> Json {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

pub(crate) fn write_line(output: &mut impl Write, message: &Json) -> std::io::Result<()> {
    let mut line = message.to_string();
    line.push('\n');
    output.write_all(line.as_bytes())?;
    output.flush()
}

// The worker.

/// Is the provider's process: serves the verbs on stdin and stdout over a database file until stdin ends, and then ends
/// at once. At a crash point it kills itself.
///
/// # Errors
/// The database cannot be opened.
pub fn serve_worker(database: &Path, options: Options) -> Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .map_err(std::io::Error::from)?;
    let target = Arc::new(ProviderTarget::open(database, options, Some(kill_self))?);
    let output = Arc::new(Mutex::new(std::io::stdout()));
    let mut input = BufReader::new(std::io::stdin().lock());
    while let Some(line) = read_line(&mut input)? {
        let request = match Request::read(&line) {
            Ok(request) => request,
            Err(answer) => {
                write_line(&mut *lock(&output), &answer)?;
                continue;
            }
        };
        if request.method != "provider.call" {
            // In order of arrival; none of these waits for a call.
            write_line(&mut *lock(&output), &answer(&target, &request))?;
            continue;
        }
        let (target, output) = (Arc::clone(&target), Arc::clone(&output));
        let work = move || {
            // If nobody reads any more the process is about to end.
            let _ = write_line(&mut *lock(&output), &answer(&target, &request));
        };
        thread::Builder::new().stack_size(CALL_STACK_BYTES).spawn(work)?;
    }
    Ok(())
}

fn answer(target: &ProviderTarget, request: &Request) -> Json {
    let handled =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| target.handle(&request.method, &request.params)));
    match handled {
        Ok(Ok(result)) => success(&request.id, &result),
        Ok(Err(error)) => failure(&request.id, error.code(), &error.to_string()),
        Err(_) => failure(&request.id, -32603, "the provider is broken"),
    }
}

/// Ends this process as `kill -9` would.
fn kill_self() {
    // A process may always signal itself; if it could not, going on would be wrong.
    #[cfg(unix)]
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort();
}

/// One line without its end; nothing at the end of the input, or where it is cut off.
pub(crate) fn read_line(input: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    Ok((line.pop() == Some(b'\n')).then_some(line))
}

// The supervisor.

enum Event {
    Request(Vec<u8>),
    RequestsEnd,
    Answer(Vec<u8>),
    WorkerEnd(u64),
}

/// Keeps the connection on `input` and `output` and runs the provider in a worker process, which `worker` gives the
/// command for: a program that calls [`serve_worker`] with that database. Returns when the input has ended and what was
/// open is answered, or after `target.shutdown`; then the worker and all files are gone.
///
/// Call it from a thread that lives as long as it runs: the system ends workers together with the thread that started
/// them.
///
/// # Errors
/// The worker does not start, or the output cannot be written.
pub fn serve_supervisor(
    worker: impl FnMut(&Path) -> Command,
    input: impl BufRead + Send + 'static,
    output: impl Write,
) -> Result<()> {
    let folder = tempfile::Builder::new().prefix("cetp-reference-").tempdir()?;
    let (events, inbox) = channel();
    let requests = events.clone();
    // It blocks in reading when we return after target.shutdown, and ends with the process.
    thread::Builder::new().name("requests".to_owned()).spawn(move || {
        let mut input = input;
        while let Ok(Some(line)) = read_line(&mut input) {
            if requests.send(Event::Request(line)).is_err() {
                return;
            }
        }
        let _ = requests.send(Event::RequestsEnd);
    })?;
    let database = folder.path().join("provider.db");
    let mut supervisor = Supervisor {
        command: worker,
        database: &database,
        output,
        events,
        inbox,
        put_off: VecDeque::new(),
        open: BTreeMap::new(),
        worker: None,
        life: 0,
        failed_starts: 0,
    };
    let served = supervisor.serve();
    supervisor.end_worker(End::Politely)?;
    supervisor.answer_open()?;
    let mut output = supervisor.output;
    folder.close()?;
    // Answered when all is gone, so that who has the answer finds nothing.
    if let Some(id) = served? {
        write_line(&mut output, &success(&id, &json!({})))?;
    }
    Ok(())
}

struct Worker {
    child: Child,
    input: Option<ChildStdin>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Its input ends, and it goes.
    Politely,
    /// SIGKILL.
    Kill,
}

struct Supervisor<'s, C, W> {
    command: C,
    database: &'s Path,
    output: W,
    events: Sender<Event>,
    inbox: Receiver<Event>,
    /// What came while the end of a worker was awaited.
    put_off: VecDeque<Event>,
    /// Requests that the worker has and has not answered, in order of arrival: id and verb.
    open: BTreeMap<u64, (Json, String)>,
    worker: Option<Worker>,
    /// Number of the worker, to tell its end from that of an earlier one.
    life: u64,
    failed_starts: u32,
}

impl<C: FnMut(&Path) -> Command, W: Write> Supervisor<'_, C, W> {
    /// Serves until the end; the id is that of `target.shutdown`.
    fn serve(&mut self) -> Result<Option<Json>> {
        self.start_worker()?;
        let mut arrived = 0;
        let mut ended = false;
        while !(ended && self.open.is_empty()) {
            match self.next_event() {
                Event::Request(line) => {
                    arrived += 1;
                    if let Some(id) = self.take_request(arrived, &line)? {
                        return Ok(Some(id));
                    }
                }
                Event::RequestsEnd => ended = true,
                Event::Answer(line) => self.hand_back(&line)?,
                Event::WorkerEnd(life) if life == self.life => self.replace_worker()?,
                Event::WorkerEnd(_) => {}
            }
        }
        Ok(None)
    }

    fn next_event(&mut self) -> Event {
        // Our own sender keeps the channel open.
        self.put_off.pop_front().unwrap_or_else(|| self.inbox.recv().unwrap_or(Event::RequestsEnd))
    }

    fn take_request(&mut self, arrived: u64, line: &[u8]) -> Result<Option<Json>> {
        let request = match Request::read(line) {
            Ok(request) => request,
            Err(answer) => {
                write_line(&mut self.output, &answer)?;
                return Ok(None);
            }
        };
        match request.method.as_str() {
            "target.shutdown" => {
                self.await_verbs()?;
                return Ok(Some(request.id));
            }
            "control.restart" => {
                let how = match request.params["mode"].as_str() {
                    Some("stop") => End::Politely,
                    Some("kill") => End::Kill,
                    _ => {
                        let error = VerbError::InvalidParams("mode is stop or kill".to_owned());
                        write_line(&mut self.output, &failure(&request.id, error.code(), &error.to_string()))?;
                        return Ok(None);
                    }
                };
                self.await_verbs()?;
                self.end_worker(how)?;
                self.replace_worker()?;
                write_line(&mut self.output, &success(&request.id, &json!({})))?;
            }
            _ => {
                self.open.insert(arrived, (request.id, request.method));
                let input = self.worker.as_mut().and_then(|worker| worker.input.as_mut());
                // If the worker has ended, its end is the next event, and answers what is open.
                let _ = input.map(|input| input.write_all(line).and_then(|()| input.write_all(b"\n")));
            }
        }
        Ok(None)
    }

    /// Lets every verb but calls of the provider finish, so that verbs take effect in the order of their arrival.
    fn await_verbs(&mut self) -> Result<()> {
        let mut put_off = std::mem::take(&mut self.put_off);
        while self.open.values().any(|(_, verb)| verb != "provider.call") {
            match self.next_event() {
                Event::Answer(line) => self.hand_back(&line)?,
                Event::WorkerEnd(life) if life == self.life => self.replace_worker()?,
                Event::WorkerEnd(_) => {}
                event => put_off.push_back(event),
            }
        }
        self.put_off = put_off;
        Ok(())
    }

    fn hand_back(&mut self, line: &[u8]) -> Result<()> {
        self.failed_starts = 0;
        // Only our own worker writes here, so a plain reader of the id will do.
        let id = serde_json::from_slice::<Json>(line)?["id"].take();
        let answered = self.open.iter().find(|(_, (open, _))| *open == id).map(|(arrived, _)| *arrived);
        if let Some(arrived) = answered {
            self.open.remove(&arrived);
        }
        self.output.write_all(line)?;
        self.output.write_all(b"\n")?;
        Ok(self.output.flush()?)
    }

    fn start_worker(&mut self) -> Result<()> {
        self.life += 1;
        let mut command = (self.command)(self.database);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| Error::lost("the worker's pipes"))?;
        self.worker = Some(Worker { child, input: Some(input) });
        let (events, life) = (self.events.clone(), self.life);
        thread::Builder::new().name("answers".to_owned()).spawn(move || {
            let mut output = BufReader::new(output);
            // A line that was cut off by the end of the process is no answer.
            while let Ok(Some(line)) = read_line(&mut output) {
                if events.send(Event::Answer(line)).is_err() {
                    return;
                }
            }
            let _ = events.send(Event::WorkerEnd(life));
        })?;
        Ok(())
    }

    /// Ends the worker and hands back what it had answered before.
    fn end_worker(&mut self, how: End) -> Result<()> {
        let Some(worker) = self.worker.as_mut() else { return Ok(()) };
        if how == End::Kill {
            worker.child.kill()?;
        }
        worker.input = None;
        worker.child.wait()?;
        let mut put_off = std::mem::take(&mut self.put_off);
        loop {
            match self.inbox.recv() {
                Ok(Event::Answer(line)) => self.hand_back(&line)?,
                Ok(Event::WorkerEnd(life)) if life == self.life => break,
                Ok(event) => put_off.push_back(event),
                Err(_) => break,
            }
        }
        self.put_off = put_off;
        self.worker = None;
        Ok(())
    }

    /// Starts the next worker in the place of one that has ended, and answers what was open.
    fn replace_worker(&mut self) -> Result<()> {
        if let Some(mut worker) = self.worker.take() {
            worker.child.wait()?;
            self.failed_starts += 1;
            if self.failed_starts == MAX_FAILED_STARTS {
                return Err(std::io::Error::other("the provider process ends before it answers anything").into());
            }
        }
        self.start_worker()?;
        self.answer_open()
    }

    /// Answers what was open when the worker ended.
    fn answer_open(&mut self) -> Result<()> {
        for (id, method) in std::mem::take(&mut self.open).into_values() {
            let answer = match method.as_str() {
                "provider.call" => {
                    let class = "android.os.DeadObjectException";
                    success(&id, &json!({ "exception": { "class": class, "message": "" } }))
                }
                // It has moved the operation, and dying there is what was asked for.
                "control.operation" => success(&id, &json!({})),
                _ => failure(&id, VerbError::Died.code(), &VerbError::Died.to_string()),
            };
            write_line(&mut self.output, &answer)?;
        }
        Ok(())
    }
}
