//! The target protocol over a pipe, for the consumer. The main function is [`serve`].
//!
//! Lines go both ways at once: the runner's verbs, each worked on by a thread of its own, and the consumer's requests
//! while it works on them.

use super::target::{ConsumerTarget, Host, HostError};
use crate::lock;
use crate::stdio::{LINE, failure, read_line, success, write_line};
use cetp_vectors::json::parse;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

/// Stack of a thread that works on one verb. Every depth is bounded; an answer of the runner may be nested 10,000 deep
/// before it is looked at.
const VERB_STACK_BYTES: usize = 64 << 20;

/// Serves verbs from `input` until it ends or `target.shutdown`. What is under way then is given up.
///
/// # Errors
/// The output cannot be written, or the system has no threads.
pub fn serve(
    target: ConsumerTarget,
    mut input: impl BufRead,
    output: impl Write + Send + 'static,
) -> crate::Result<()> {
    let connection = Arc::new(Connection { output: Mutex::new(Box::new(output)), asked: Mutex::default() });
    let target = Arc::new(target);
    let served = serve_lines(&target, &mut input, &connection);
    // Whoever still waits for an answer learns that there is none.
    let mut asked = lock(&connection.asked);
    asked.closed = true;
    asked.waiting.clear();
    served
}

fn serve_lines(
    target: &Arc<ConsumerTarget>,
    input: &mut impl BufRead,
    connection: &Arc<Connection>,
) -> crate::Result<()> {
    while let Some(line) = read_line(input)? {
        let mut message = match parse(&line, LINE) {
            Ok(message) => message,
            Err(error) => {
                connection.write(&failure(&Json::Null, -32700, &error.to_string()))?;
                continue;
            }
        };
        let id = message.get_mut("id").map(Json::take).unwrap_or_default();
        let Some(verb) = message["method"].as_str().map(str::to_owned) else {
            connection.answered(&id, message);
            continue;
        };
        let params = message.get_mut("params").map_or_else(|| json!({}), Json::take);
        let (target, theirs) = (Arc::clone(target), Arc::clone(connection));
        let shutdown = verb == "target.shutdown";
        // Only these ask the runner for anything, and so only these take time; all others take effect in order.
        let takes_time = matches!(verb.as_str(), "consumer.discover" | "consumer.execute");
        let work = move || {
            let handled = catch_unwind(AssertUnwindSafe(|| target.handle(&verb, &params, theirs.as_ref())));
            match handled {
                Ok(Ok(result)) => theirs.write(&success(&id, &result)),
                Ok(Err(error)) => theirs.write(&failure(&id, error.code(), &error.to_string())),
                // A consumer that breaks down is an app that crashes.
                Err(_) => std::process::abort(),
            }
        };
        if takes_time {
            std::thread::Builder::new().stack_size(VERB_STACK_BYTES).spawn(move || {
                // If nobody reads any more the process is about to end.
                let _ = work();
            })?;
        } else {
            work()?;
        }
        if shutdown {
            break;
        }
    }
    Ok(())
}

struct Connection {
    output: Mutex<Box<dyn Write + Send>>,
    asked: Mutex<Asked>,
}

/// Requests to the runner that wait for an answer.
#[derive(Default)]
struct Asked {
    last: u64,
    closed: bool,
    waiting: BTreeMap<u64, Sender<Json>>,
}

impl Connection {
    fn write(&self, message: &Json) -> std::io::Result<()> {
        write_line(&mut *lock(&self.output), message)
    }

    fn answered(&self, id: &Json, message: Json) {
        let waiting = id.as_u64().and_then(|id| lock(&self.asked).waiting.remove(&id));
        // An answer that nobody waits for is nobody's.
        let _ = waiting.map(|waiting| waiting.send(message));
    }
}

impl Host for Connection {
    fn request(&self, verb: &str, params: Json) -> Result<Json, HostError> {
        let gone = || HostError("the runner is gone".to_owned());
        let (sender, receiver) = channel();
        let id = {
            let mut asked = lock(&self.asked);
            if asked.closed {
                return Err(gone());
            }
            asked.last += 1;
            let id = asked.last;
            asked.waiting.insert(id, sender);
            id
        };
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": verb, "params": params });
        self.write(&request).map_err(|error| HostError(error.to_string()))?;
        let mut answer = receiver.recv().map_err(|_| gone())?;
        match answer.get_mut("result").map(Json::take) {
            Some(result) => Ok(result),
            None => Err(HostError(answer["error"]["message"].as_str().unwrap_or("refused").to_owned())),
        }
    }
}
