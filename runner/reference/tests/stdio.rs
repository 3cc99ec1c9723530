//! The provider as a program: a process that is really killed, and what is left of it.

use serde_json::{Value as Json, json};
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const NOW: i64 = 1_780_000_000_000;

struct Target {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Where it keeps its files: a folder of this test's own.
    folder: tempfile::TempDir,
    asked: u64,
    early: HashMap<u64, Json>,
}

impl Target {
    fn start(arguments: &[&str]) -> Target {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_cetp-reference"))
            .arg("provider")
            .args(arguments)
            .env("TMPDIR", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut target = Target { child, input, output, folder, asked: 0, early: HashMap::new() };
        target.act("target.reset", json!({"nonce":"n","now_ms":NOW}));
        target
    }

    fn send_line(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn send(&mut self, verb: &str, params: Json) -> u64 {
        self.asked += 1;
        let request = json!({"jsonrpc":"2.0","id":self.asked,"method":verb,"params":params});
        self.send_line(&request.to_string());
        self.asked
    }

    fn read(&mut self) -> Option<Json> {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    fn answer(&mut self, id: u64) -> Json {
        loop {
            if let Some(answer) = self.early.remove(&id) {
                return answer;
            }
            let answer = self.read().expect("an answer");
            self.early.insert(answer["id"].as_u64().unwrap(), answer);
        }
    }

    fn act(&mut self, verb: &str, params: Json) -> Json {
        let id = self.send(verb, params);
        let answer = self.answer(id);
        answer.get("result").unwrap_or_else(|| panic!("{verb}: {answer}")).clone()
    }

    fn negotiate(&mut self) -> String {
        let extras = json!({
            "consumer_versions":{"int_array":[2]},
            "consumer_capabilities":{"string":r#"["async_operations","cancellation","large_results"]"#},
        });
        let reply = self.act("provider.call", call("negotiate", extras));
        let data: Json = serde_json::from_str(reply["bundle"]["data"]["string"].as_str().unwrap()).unwrap();
        data["session_token"].as_str().unwrap().to_owned()
    }

    fn execute(&mut self, token: &str, tool: &str, id: u32, args: Json) -> Json {
        self.act("provider.call", execution(token, tool, id, args))
    }

    fn ledger(&mut self) -> Vec<String> {
        let token = self.negotiate();
        let reply = self.execute(&token, "fixture_ledger", 999, json!({}));
        let entries = data(&reply)["value"]["entries"].as_array().unwrap().clone();
        entries.iter().map(|entry| entry["value"].as_str().unwrap().to_owned()).collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    /// Ends its input and awaits its end; gives what it answered until then.
    fn end(&mut self) -> Vec<Json> {
        self.input = None;
        let answers = std::iter::from_fn(|| self.read()).collect();
        assert!(self.child.wait().unwrap().success());
        assert!(self.files().is_empty(), "{:?}", self.files());
        answers
    }
}

fn call(method: &str, extras: Json) -> Json {
    json!({
        "caller":{"uid":10_101,"packages":[{"name":"org.example.a","signing_sha256":["aa"],"history_sha256":[]}]},
        "authority":"org.cetp.reference.tools","method":method,"arg":null,"extras":extras,
    })
}

fn execution(token: &str, tool: &str, id: u32, args: Json) -> Json {
    let extras = json!({
        "protocol_version":{"int":2},
        "session_token":{"string":token},
        "request_id":{"string":format!("00000000-0000-4000-8000-{id:012}")},
        "deadline_at_ms":{"long":NOW + 60_000},
        "tool_name":{"string":tool},
        "args":{"string":args.to_string()},
    });
    call("execute_tool", extras)
}

fn data(reply: &Json) -> Json {
    serde_json::from_str(reply["bundle"]["data"]["string"].as_str().unwrap_or_else(|| panic!("{reply}"))).unwrap()
}

fn is_dead(reply: &Json) -> bool {
    reply["exception"]["class"] == "android.os.DeadObjectException"
}

/// The processes whose parent is this one.
fn children(parent: u32) -> HashSet<u32> {
    let mut found = HashSet::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // "pid (name) state parent …"; a name may hold anything but ends with the last bracket.
        let parent_of = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        if parent_of == Some(parent) {
            found.insert(pid);
        }
    }
    found
}

#[test]
fn a_kill_is_a_kill() {
    let mut target = Target::start(&[]);
    let before = children(target.child.id());
    assert_eq!(before.len(), 1);
    let token = target.negotiate();
    let done = target.execute(&token, "fixture_append", 1, json!({"value":"v"}));
    assert_eq!(target.act("control.restart", json!({"mode":"kill"})), json!({}));
    let after = children(target.child.id());
    assert_eq!(after.len(), 1);
    assert!(before.is_disjoint(&after));
    let stale = target.execute(&token, "fixture_append", 1, json!({"value":"v"}));
    assert_eq!(stale["bundle"]["error_code"]["string"], "NEGOTIATION_REQUIRED");
    let token = target.negotiate();
    let again = target.execute(&token, "fixture_append", 1, json!({"value":"v"}));
    assert_eq!(data(&again), data(&done));
    assert_eq!(target.ledger(), ["v"]);
    assert_eq!(target.act("control.restart", json!({"mode":"stop"})), json!({}));
    assert_eq!(target.ledger(), ["v"]);
    target.end();
}

#[test]
fn crash_points_kill_the_process() {
    let mut target = Target::start(&[]);
    for (id, at) in [(1, "after_reserve"), (2, "after_commit"), (3, "after_reserve"), (4, "after_commit")] {
        let token = target.negotiate();
        let before = children(target.child.id());
        target.act("control.fault", json!({"at":at,"tool":"fixture_append"}));
        let dead = target.execute(&token, "fixture_append", id, json!({"value":at}));
        assert!(is_dead(&dead), "{dead}");
        assert!(before.is_disjoint(&children(target.child.id())));
        let token = target.negotiate();
        let done = target.execute(&token, "fixture_append", id, json!({"value":at}));
        assert_eq!(data(&done)["value"], json!({"entry":id}));
    }
    assert_eq!(target.ledger(), ["after_reserve", "after_commit", "after_reserve", "after_commit"]);
    target.end();
}

#[test]
fn operations_survive_a_kill() {
    let mut target = Target::start(&[]);
    let token = target.negotiate();
    let held = target.execute(&token, "fixture_job", 1, json!({"value":"held","hold":true}));
    let held = data(&held)["operation_id"].clone();
    target.act("control.fault", json!({"at":"after_commit","tool":"fixture_job"}));
    assert_eq!(target.act("control.operation", json!({"operation_id":held,"to":"commit"})), json!({}));
    let token = target.negotiate();
    let mut poll = execution(&token, "fixture_job", 1, json!({}));
    poll["method"] = json!("get_operation");
    poll["extras"]["operation_id"] = json!({"string":held});
    assert_eq!(data(&target.act("provider.call", poll))["state"], "succeeded");
    assert_eq!(target.ledger(), ["held"]);
    target.end();
}

#[test]
fn open_calls_of_a_killed_process_are_dead() {
    let mut target = Target::start(&[]);
    let token = target.negotiate();
    // Whether the calls were answered before the kill is left to chance; what counts is that each is answered once.
    let calls: Vec<u64> = (0..8)
        .map(|_| target.send("provider.call", execution(&token, "fixture_append", 1, json!({"value":"v"}))))
        .collect();
    let restart = target.send("control.restart", json!({"mode":"kill"}));
    for id in calls {
        let reply = target.answer(id)["result"].clone();
        assert!(is_dead(&reply) || data(&reply)["value"] == json!({"entry":1}), "{reply}");
    }
    assert_eq!(target.answer(restart)["result"], json!({}));
    let token = target.negotiate();
    let done = target.execute(&token, "fixture_append", 1, json!({"value":"v"}));
    assert_eq!(data(&done)["value"], json!({"entry":1}));
    assert_eq!(target.ledger(), ["v"]);
    assert!(target.end().is_empty());
}

#[test]
fn a_reset_keeps_the_process() {
    let mut target = Target::start(&[]);
    let before = children(target.child.id());
    let token = target.negotiate();
    target.execute(&token, "fixture_append", 1, json!({"value":"v"}));
    assert_eq!(target.act("target.reset", json!({"nonce":"m","now_ms":NOW})), json!({"now_ms":NOW}));
    assert_eq!(before, children(target.child.id()));
    assert!(target.ledger().is_empty());
    target.end();
}

#[test]
fn shutdown_leaves_nothing() {
    let mut target = Target::start(&["--v2-only"]);
    assert_eq!(target.act("target.describe", json!({"protocol":1}))["versions"], json!([2]));
    assert_eq!(target.files().len(), 1);
    assert_eq!(target.act("target.shutdown", json!({})), json!({}));
    assert!(target.files().is_empty());
    assert!(target.read().is_none());
    assert!(target.child.wait().unwrap().success());
}

#[test]
fn what_was_asked_before_the_end_is_answered() {
    let mut target = Target::start(&[]);
    let id = target.send("provider.call", call("list_tools", Json::Null));
    let answers = target.end();
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0]["id"], id);
    assert_eq!(answers[0]["result"]["bundle"]["status"]["string"], "success");
}

#[test]
fn the_worker_ends_with_a_supervisor_that_is_killed() {
    let mut target = Target::start(&[]);
    let workers = children(target.child.id());
    target.child.kill().unwrap();
    target.child.wait().unwrap();
    for worker in workers {
        // It is gone, or a zombie that nobody has collected yet.
        while std::fs::read_to_string(format!("/proc/{worker}/stat")).is_ok_and(|stat| !stat.contains(") Z")) {
            std::thread::yield_now();
        }
    }
}

#[test]
fn what_is_no_request_is_answered_with_an_error() {
    let mut target = Target::start(&[]);
    for (line, code) in [
        ("{", -32700),
        ("", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"target.describe"}"#, -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","method":"target.describe"}"#, -32600),
    ] {
        target.send_line(line);
        assert_eq!(target.read().unwrap()["error"]["code"], code, "{line}");
    }
    for (verb, params, code) in [
        ("control.nonsense", json!({}), -32601),
        ("consumer.execute", json!({}), -32601),
        ("control.restart", json!({"mode":"gently"}), -32602),
        ("target.describe", json!({"protocol":7}), -32602),
        ("provider.call", json!({}), -32602),
        ("fd.read", json!({"fd":"fd-0","max_bytes":1}), -32000),
        ("control.operation", json!({"operation_id":"op_none","to":"commit"}), -32602),
        ("control.user", json!({"pending_intent":"pi-9","decision":"approve"}), -32602),
    ] {
        let id = target.send(verb, params);
        assert_eq!(target.answer(id)["error"]["code"], code, "{verb}");
    }
    // A deeply nested Bundle is a request like any other.
    let deep = format!("{}{}{}", r#"{"b":{"bundle":"#.repeat(4_000), "{}", "}}".repeat(4_000));
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":"deep","method":"provider.call","params":{{"caller":{{"uid":1,"packages":[]}},"authority":"org.cetp.reference.tools","method":"list_tools","extras":{deep}}}}}"#
    );
    target.send_line(&line);
    let answer = target.read().unwrap();
    assert_eq!(answer["result"]["bundle"]["status"]["string"], "success", "{answer}");
    target.end();
}

#[test]
fn a_worker_that_cannot_start_is_not_started_for_ever() {
    use cetp_reference::stdio::serve_supervisor;
    let served = serve_supervisor(|_: &Path| Command::new("true"), std::io::empty(), Vec::new());
    // Nothing was asked, so nothing is missing.
    assert!(served.is_ok());
    let asks = &b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"target.describe\"}\n"[..];
    let mut output = Vec::new();
    let served = serve_supervisor(|_: &Path| Command::new("true"), asks, &mut output);
    let answers = String::from_utf8(output).unwrap();
    assert!(served.is_err() || answers.contains("-32000"), "{answers}");
}

#[test]
fn a_wrong_command_line_is_told() {
    for arguments in
        [&["provider", "--nonsense"][..], &["provider", "--switch"], &["provider", "--switch", "no_such"], &[]]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_cetp-reference")).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(!output.stderr.is_empty());
    }
}
