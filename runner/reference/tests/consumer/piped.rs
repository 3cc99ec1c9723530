//! The consumer as a program: the same verbs over a pipe, in both directions at once.

use crate::rig::{NOW, World, v2};
use cetp_reference::consumer::target::Host;
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

struct Piped {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Piped {
    fn start(arguments: &[&str]) -> Piped {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cetp-reference"));
        command.arg("consumer").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Piped { child, input, output, asked: 0 }
    }

    fn send(&mut self, message: &Json) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, verb: &str, params: Json) -> u64 {
        self.asked += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": verb, "params": params }));
        self.asked
    }

    fn read(&mut self) -> Option<Json> {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Serves the consumer's requests until a verb is answered; whether there is a result or an error.
    fn answer(&mut self, id: u64, world: &World<'_>) -> Json {
        loop {
            let message = self.read().expect("the consumer lives");
            match message["method"].as_str() {
                Some(verb) => {
                    let result = world.request(verb, message["params"].clone()).unwrap();
                    self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
                }
                None if message["id"] == id => return message,
                None => panic!("nobody asked: {message}"),
            }
        }
    }

    fn act(&mut self, verb: &str, params: Json, world: &World<'_>) -> Json {
        let id = self.ask(verb, params);
        let answer = self.answer(id, world);
        answer.get("result").unwrap_or_else(|| panic!("{verb}: {answer}")).clone()
    }

    /// Ends its input and awaits its end.
    fn end(&mut self) {
        self.input = None;
        while self.read().is_some() {}
        assert!(self.child.wait().unwrap().success());
    }
}

fn execution(value: u64) -> Json {
    json!({ "provider_id": "org.example.p", "tool": "fixture_echo", "args": json!({ "value": value }).to_string(), "timeout_ms": 1000 })
}

#[test]
fn it_speaks_the_target_protocol() {
    let world = World::new(|call| call.honest());
    let mut target = Piped::start(&[]);
    let described = target.act("target.describe", json!({ "protocol": 1 }), &world);
    assert_eq!(described["roles"], json!(["consumer"]));
    assert_eq!(described["capabilities"], json!(["async_operations", "cancellation", "large_results"]));
    assert_eq!(target.act("target.reset", json!({ "nonce": "n", "now_ms": NOW }), &world), json!({ "now_ms": NOW }));
    let found = target.act("consumer.discover", json!({ "packages": [v2("org.example.p")] }), &world);
    assert_eq!(found["providers"][0]["decision"], "v2");
    let answer = target.act("consumer.execute", execution(1), &world);
    assert_eq!(answer, json!({ "outcome": "success", "trust": "data", "value": { "value": 1 } }));
    // A reset forgets.
    target.act("target.reset", json!({ "nonce": "m", "now_ms": NOW }), &world);
    assert_eq!(target.act("consumer.execute", execution(1), &world)["outcome"], "refused");
    assert_eq!(target.act("target.shutdown", json!({}), &world), json!({}));
    target.end();
}

#[test]
fn executions_overlap() {
    let world = World::new(|call| call.honest());
    let mut target = Piped::start(&["--core"]);
    target.act("target.reset", json!({ "nonce": "n", "now_ms": NOW }), &world);
    target.act("consumer.discover", json!({ "packages": [v2("org.example.p")] }), &world);
    let (first, second) = (target.ask("consumer.execute", execution(1)), target.ask("consumer.execute", execution(2)));
    // Both calls are there before either is answered; then the second one is answered first.
    let mut calls = Vec::new();
    while calls.len() < 2 {
        let message = target.read().unwrap();
        match message["params"]["method"].as_str() {
            Some(_) => calls.push(message),
            None => {
                let result = world.request(message["method"].as_str().unwrap(), message["params"].clone()).unwrap();
                target.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
            }
        }
    }
    calls.sort_by_key(|call| call["params"]["extras"]["args"].to_string());
    for (call, id, value) in [(&calls[1], second, 2), (&calls[0], first, 1)] {
        let result = world.request("provider.call", call["params"].clone()).unwrap();
        target.send(&json!({ "jsonrpc": "2.0", "id": call["id"], "result": result }));
        assert_eq!(target.answer(id, &world)["result"]["value"], json!({ "value": value }));
    }
    target.end();
}

#[test]
fn a_runner_that_goes_away_ends_it() {
    let world = World::new(|call| call.honest());
    let mut target = Piped::start(&[]);
    target.act("target.reset", json!({ "nonce": "n", "now_ms": NOW }), &world);
    target.ask("consumer.discover", json!({ "packages": [v2("org.example.p")] }));
    assert!(target.read().unwrap()["method"].is_string());
    target.end();
}

#[test]
fn what_is_no_request_is_answered_with_an_error() {
    let world = World::new(|call| call.honest());
    let mut target = Piped::start(&[]);
    writeln!(target.input.as_mut().unwrap(), "{{").unwrap();
    assert_eq!(target.read().unwrap()["error"]["code"], -32700);
    for (verb, params, code) in [
        ("provider.manifest", json!({}), -32601),
        ("target.describe", json!({ "protocol": 7 }), -32602),
        ("target.reset", json!({}), -32602),
        ("consumer.discover", json!({}), -32602),
        ("consumer.execute", json!({ "provider_id": "x" }), -32602),
    ] {
        let id = target.ask(verb, params);
        assert_eq!(target.answer(id, &world)["error"]["code"], code, "{verb}");
    }
    target.end();
}

#[test]
fn a_wrong_command_line_is_told() {
    for arguments in [&["--nonsense"][..], &["--switch"], &["--switch", "no_such"]] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_cetp-reference")).arg("consumer").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(!output.stderr.is_empty());
    }
}
