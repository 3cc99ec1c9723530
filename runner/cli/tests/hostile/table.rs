//! Every misbehaviour, and what must come of it. The main item is [`TABLE`]; `docs/robustness.md` is generated from it.

use crate::program::Stage;
use cetp_vectors::ledger::Role;
use libtest_mimic::Failed;
use rustix::process::{Signal, getpid, getppid, kill_process};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// One misbehaviour.
pub struct Case {
    /// Its name.
    pub switch: &'static str,
    /// The side that misbehaves.
    pub role: Role,
    /// What it does, for people.
    pub does: &'static str,
    /// When it does so.
    pub on: Moment,
    /// What is done.
    pub act: fn(&mut Stage),
    /// The outcome of the vector under way.
    pub outcome: &'static str,
    /// A part of the message.
    pub message: &'static str,
}

/// When a target misbehaves. It does so in its first process, but for [`Moment::Start`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Whenever it gets this verb.
    Verb(&'static str),
    /// Whenever it gets a `provider.call` of this method.
    Method(&'static str),
    /// Whenever it gets anything.
    Always,
    /// When it is asked, after a vector, whether it is still there.
    Settling,
    /// When its second process starts; the first one ends in its first vector.
    Start,
    /// When its first process starts: no vector can be run.
    FirstStart,
}

impl Case {
    /// The process that misbehaves, from 1.
    pub fn child(&self) -> usize {
        if self.on == Moment::Start { 2 } else { 1 }
    }

    /// Whether no vector can be run.
    pub fn never_starts(&self) -> bool {
        self.on == Moment::FirstStart
    }

    /// Outcome and part of the message of the n-th vector.
    pub fn expected(&self, n: usize) -> (&'static str, &'static str) {
        match (self.on, n) {
            (Moment::Start, 0) => ("error", "the target ended (exit status 0)"),
            (Moment::Start, 1) => (self.outcome, self.message),
            (Moment::Start, _) => ("pass", ""),
            (_, 0) => (self.outcome, self.message),
            _ => ("pass", ""),
        }
    }
}

const EXECUTE: Moment = Moment::Method("execute_tool");
const LIST: Moment = Moment::Method("list_tools");
const NEGOTIATE: Moment = Moment::Method("negotiate");

const fn provider(
    switch: &'static str,
    does: &'static str,
    on: Moment,
    act: fn(&mut Stage),
    outcome: &'static str,
    message: &'static str,
) -> Case {
    Case { switch, role: Role::Provider, does, on, act, outcome, message }
}

const fn consumer(
    switch: &'static str,
    does: &'static str,
    on: &'static str,
    act: fn(&mut Stage),
    outcome: &'static str,
    message: &'static str,
) -> Case {
    Case { switch, role: Role::Consumer, does, on: Moment::Verb(on), act, outcome, message }
}

/// Terminal escapes, a bell, bidirectional marks, an invisible mark and a line end.
const ESCAPES: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{2066}\u{200b}\u{61c}\u{feff}\r\nGREEN\u{0}";

const NO_MESSAGE: &str = "wrote a line that is no message";
const SILENT: &str = "did not answer within 5 s";
const BREAKS: &str = "breaks the target protocol";

/// Every misbehaviour.
pub static TABLE: &[Case] = &[
    // Silence and floods.
    provider("silence", "never answers", EXECUTE, |s| s.hang(), "error", SILENT),
    provider("drip", "writes a byte every 100 ms", EXECUTE, drip, "error", SILENT),
    provider(
        "endless-line",
        "writes a line without end",
        EXECUTE,
        |s| s.endlessly(b"x"),
        "error",
        "a line of more than 8388608 bytes",
    ),
    provider(
        "gibibyte-line",
        "answers with a text of 1 GiB",
        EXECUTE,
        gibibyte,
        "error",
        "a line of more than 8388608 bytes",
    ),
    provider(
        "million-lines",
        "writes 1,000,000 lines `{}`",
        EXECUTE,
        |s| lines(s, b"{}\n"),
        "error",
        "no JSON-RPC 2.0 message",
    ),
    provider("million-empty-lines", "writes 1,000,000 empty lines", EXECUTE, |s| lines(s, b"\n"), "error", NO_MESSAGE),
    provider(
        "million-notifications",
        "writes 1,000,000 notifications",
        EXECUTE,
        |s| lines(s, b"{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n"),
        "error",
        "a request without an id",
    ),
    provider(
        "stderr-flood",
        "writes to stderr without end",
        EXECUTE,
        stderr_flood,
        "error",
        "more than 4194304 bytes to stderr",
    ),
    provider("stderr-much", "writes 1 MiB of escapes to stderr, and answers", EXECUTE, stderr_much, "pass", ""),
    provider("deaf", "reads nothing more", EXECUTE, |s| s.hang(), "error", SILENT),
    // What is no JSON, or no message.
    provider(
        "deep",
        "writes 1,000,000 opening brackets",
        EXECUTE,
        |s| s.line(&"[".repeat(1_000_000)),
        "error",
        "nested too deeply",
    ),
    provider("deep-bundle", "answers with 4,000 Bundles in each other", EXECUTE, deep_bundle, "fail", "CETP2-5-01"),
    provider(
        "deep-data",
        "answers with a result nested 9,000 deep",
        EXECUTE,
        deep_data,
        "not_run",
        "no earlier answer brought ${big.data.size_bytes}",
    ),
    provider(
        "huge-number",
        "answers with 1e999999999",
        EXECUTE,
        |s| s.bundle("{\"int\":1e999999999}"),
        "error",
        BREAKS,
    ),
    provider(
        "million-digits",
        "answers with an integer of 1,000,000 digits",
        EXECUTE,
        |s| s.bundle(&format!("{{\"long\":{}}}", "9".repeat(1_000_000))),
        "error",
        BREAKS,
    ),
    provider(
        "duplicate-member",
        "names a member twice",
        EXECUTE,
        |s| s.text(r#"{"jsonrpc":"2.0","id":ID,"id":ID,"result":{"bundle":null}}"#),
        "error",
        "\"id\" occurs twice",
    ),
    provider(
        "duplicate-member-escaped",
        "names a member twice, once escaped",
        EXECUTE,
        |s| s.text(r#"{"jsonrpc":"2.0","id":ID,"result":{"bundle":null,"\u0062undle":null}}"#),
        "error",
        "\"bundle\" occurs twice",
    ),
    provider(
        "invalid-utf8",
        "writes bytes that are no UTF-8",
        EXECUTE,
        |s| s.raw(b"{\"jsonrpc\":\"2.0\",\"\xff\xfe\xc0\x80\":1}\n"),
        "error",
        "not UTF-8",
    ),
    provider("nul", "writes NUL bytes", EXECUTE, |s| s.raw(b"\0\0\0\0\n"), "error", NO_MESSAGE),
    provider(
        "byte-order-mark",
        "writes a byte order mark first",
        EXECUTE,
        |s| s.text("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"bundle\":null}}"),
        "error",
        "byte order mark",
    ),
    provider(
        "lone-surrogate",
        "writes half of a surrogate pair",
        EXECUTE,
        |s| s.bundle(r#"{"string":"\ud800"}"#),
        "error",
        "half of a surrogate pair",
    ),
    provider("banner", "greets on stdout", EXECUTE, |s| s.line("Hello! Ready."), "error", "\"Hello! Ready.\""),
    provider(
        "batch",
        "answers with a batch",
        EXECUTE,
        |s| s.text(r#"[{"jsonrpc":"2.0","id":ID,"result":{}}]"#),
        "error",
        "no JSON-RPC message",
    ),
    provider(
        "two-on-a-line",
        "writes two messages on a line",
        EXECUTE,
        |s| s.text(r#"{"jsonrpc":"2.0","id":ID,"result":{}}{"jsonrpc":"2.0","id":ID,"result":{}}"#),
        "error",
        NO_MESSAGE,
    ),
    provider(
        "another-version",
        "speaks JSON-RPC 1.0",
        EXECUTE,
        |s| s.text(r#"{"id":ID,"result":{},"error":null}"#),
        "error",
        "no JSON-RPC 2.0 message",
    ),
    provider("white-space", "writes spaces, tabs and CR around its answers", EXECUTE, white_space, "pass", ""),
    // Answers that answer nothing.
    provider(
        "twice",
        "answers twice",
        EXECUTE,
        |s| {
            s.honestly();
            s.honestly();
        },
        "error",
        "which is no open request",
    ),
    provider(
        "unknown-id",
        "answers a request that was never sent",
        EXECUTE,
        |s| s.line(r#"{"jsonrpc":"2.0","id":4000000000,"result":{}}"#),
        "error",
        "an answer to 4000000000, which is no open request",
    ),
    provider(
        "id-before-its-time",
        "answers the request that comes next",
        EXECUTE,
        ahead,
        "error",
        "which is no open request",
    ),
    provider(
        "old-id",
        "answers an old request",
        EXECUTE,
        |s| s.line(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        "error",
        "an answer to 1, which is no open request",
    ),
    provider(
        "text-id",
        "answers with the id as a text",
        EXECUTE,
        |s| s.text(r#"{"jsonrpc":"2.0","id":"ID","result":{"bundle":null}}"#),
        "error",
        "without the id of a request",
    ),
    provider(
        "null-id",
        "answers with the id null",
        EXECUTE,
        |s| s.line(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#),
        "error",
        "without the id of a request",
    ),
    provider(
        "result-and-error",
        "answers with result and error",
        EXECUTE,
        |s| s.text(r#"{"jsonrpc":"2.0","id":ID,"result":{"bundle":null},"error":{"code":1,"message":""}}"#),
        "error",
        "not exactly one of result and error",
    ),
    provider(
        "neither",
        "answers with neither result nor error",
        EXECUTE,
        |s| s.text(r#"{"jsonrpc":"2.0","id":ID}"#),
        "error",
        "not exactly one of result and error",
    ),
    provider(
        "error-without-code",
        "answers with an error that is a text",
        EXECUTE,
        |s| s.text(r#"{"jsonrpc":"2.0","id":ID,"error":"no"}"#),
        "error",
        "an error without a code",
    ),
    provider(
        "error-of-megabytes",
        "refuses in 4 MiB",
        EXECUTE,
        |s| {
            s.text(&format!(
                r#"{{"jsonrpc":"2.0","id":ID,"error":{{"code":-32000,"message":"{}"}}}}"#,
                "no ".repeat(4 << 18)
            ))
        },
        "error",
        "the target cannot do this step: no no no",
    ),
    // Answers of the wrong shape for their verb.
    provider(
        "call-list",
        "answers a call with a list",
        EXECUTE,
        |s| s.result(json!([1])),
        "error",
        "the result is no object",
    ),
    provider(
        "call-both",
        "answers a call with Bundle and exception",
        EXECUTE,
        |s| s.result(json!({ "bundle": null, "exception": { "class": "x" } })),
        "error",
        "exactly one of bundle and exception",
    ),
    provider(
        "call-text",
        "answers a call with a Bundle that is a text",
        EXECUTE,
        |s| s.result(json!({ "bundle": "x" })),
        "error",
        BREAKS,
    ),
    provider(
        "call-type",
        "answers a call with a type that there is not",
        EXECUTE,
        |s| s.bundle(r#"{"uri":"x"}"#),
        "error",
        BREAKS,
    ),
    provider(
        "call-int",
        "answers a call with an Int of 2^31",
        EXECUTE,
        |s| s.bundle(r#"{"int":2147483648}"#),
        "error",
        BREAKS,
    ),
    provider(
        "call-base64",
        "answers a call with bytes that are no base64",
        EXECUTE,
        |s| s.bundle(r#"{"bytes":"*"}"#),
        "error",
        BREAKS,
    ),
    provider(
        "reset-empty",
        "answers a reset with {}",
        Moment::Verb("target.reset"),
        |s| s.result(json!({})),
        "error",
        "now_ms is missing",
    ),
    provider(
        "reset-refused",
        "refuses a reset",
        Moment::Verb("target.reset"),
        |s| s.text(r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"what?"}}"#),
        "error",
        "refuses target.reset: what?",
    ),
    provider(
        "manifest-empty",
        "answers provider.manifest with {}",
        Moment::Verb("provider.manifest"),
        |s| s.result(json!({})),
        "error",
        "package is missing",
    ),
    provider(
        "audit-shape",
        "answers observe.audit with a text",
        Moment::Verb("observe.audit"),
        |s| s.result(json!({ "events": "none" })),
        "error",
        "events is no list",
    ),
    provider(
        "clock-shape",
        "answers control.clock with a number",
        Moment::Verb("control.clock"),
        |s| s.result(json!(5)),
        "error",
        "the result is no object",
    ),
    // Descriptors.
    provider(
        "read-shape",
        "reads without saying whether that was the end",
        Moment::Verb("fd.read"),
        |s| s.result(json!({ "base64": "" })),
        "error",
        "eof is missing",
    ),
    provider(
        "read-text",
        "reads what is no base64",
        Moment::Verb("fd.read"),
        |s| s.result(json!({ "base64": "*", "eof": false })),
        "error",
        "no padded base64",
    ),
    provider(
        "read-more",
        "reads more than was asked for",
        Moment::Verb("fd.read"),
        |s| s.result(json!({ "base64": "AAAA".repeat(100_000), "eof": false })),
        "error",
        "where 100000 were asked for",
    ),
    provider(
        "read-nothing",
        "reads nothing, and no end",
        Moment::Verb("fd.read"),
        |s| s.result(json!({ "base64": "", "eof": false })),
        "error",
        "nothing and no end of file",
    ),
    provider(
        "read-without-end",
        "reads without end",
        Moment::Verb("fd.read"),
        |s| s.result(json!({ "base64": "AAAA".repeat(30_000), "eof": false })),
        "error",
        "more than 67108864 bytes in one vector",
    ),
    provider(
        "read-early-end",
        "says that the first bytes were the last",
        Moment::Verb("fd.read"),
        |s| s.changed(|result| result["eof"] = json!(true)),
        "fail",
        "CETP2-4.5-06",
    ),
    provider(
        "read-fails",
        "cannot read",
        Moment::Verb("fd.read"),
        |s| s.text(r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"EIO"}}"#),
        "fail",
        "CETP2-4.5-06",
    ),
    // Pipes.
    provider(
        "closes-stdout",
        "closes stdout and lives on",
        EXECUTE,
        |s| {
            s.close(1);
            s.hang()
        },
        "error",
        "the target closed its output",
    ),
    provider(
        "closes-stdin",
        "closes stdin, answers, and lives on",
        EXECUTE,
        |s| {
            s.close(0);
            s.honestly();
            s.hang()
        },
        "error",
        "the target closed its input",
    ),
    provider(
        "closes-stderr",
        "closes stderr, and is honest",
        EXECUTE,
        |s| {
            s.close(2);
            s.honestly()
        },
        "pass",
        "",
    ),
    // Ends.
    provider(
        "ends-on-reset",
        "exits with 0 on target.reset",
        Moment::Verb("target.reset"),
        |_| std::process::exit(0),
        "error",
        "the target ended (exit status 0)",
    ),
    provider(
        "ends-on-negotiate",
        "exits with 0 on negotiate",
        NEGOTIATE,
        |_| std::process::exit(0),
        "error",
        "the target ended (exit status 0)",
    ),
    provider(
        "ends-on-list",
        "exits with 7 on list_tools",
        LIST,
        |_| std::process::exit(7),
        "error",
        "the target ended (exit status 7)",
    ),
    provider(
        "ends-on-execute",
        "exits with 0 on execute_tool",
        EXECUTE,
        |_| std::process::exit(0),
        "error",
        "the target ended (exit status 0)",
    ),
    provider(
        "ends-on-read",
        "exits with 0 on fd.read",
        Moment::Verb("fd.read"),
        |_| std::process::exit(0),
        "error",
        "the target ended (exit status 0)",
    ),
    provider(
        "ends-on-close",
        "exits with 0 on fd.close",
        Moment::Verb("fd.close"),
        |_| std::process::exit(0),
        "error",
        "the target ended (exit status 0)",
    ),
    provider(
        "ends-on-clock",
        "exits with 0 on control.clock",
        Moment::Verb("control.clock"),
        |_| std::process::exit(0),
        "error",
        "the target ended (exit status 0)",
    ),
    provider(
        "ends-on-manifest",
        "exits with 0 on provider.manifest",
        Moment::Verb("provider.manifest"),
        |_| std::process::exit(0),
        "error",
        "the target ended (exit status 0)",
    ),
    provider(
        "ends-on-audit",
        "exits with 0 on observe.audit",
        Moment::Verb("observe.audit"),
        |_| std::process::exit(0),
        "error",
        "the target ended (exit status 0)",
    ),
    provider(
        "ends-while-settling",
        "exits with 0 after the last answer of the vector",
        Moment::Settling,
        |_| std::process::exit(0),
        "error",
        "the target ended (exit status 0)",
    ),
    provider(
        "ends-in-a-line",
        "exits with 0 in the middle of a line",
        EXECUTE,
        |s| {
            s.raw(b"{\"jsonrpc\"");
            std::process::exit(0)
        },
        "error",
        "in the middle of a line: \"{\\\"jsonrpc\\\"\"",
    ),
    provider(
        "aborts",
        "is ended by SIGABRT",
        EXECUTE,
        |_| std::process::abort(),
        "error",
        "the target ended (signal 6)",
    ),
    provider(
        "kills-itself",
        "is ended by SIGKILL",
        EXECUTE,
        |_| signal_self(Signal::KILL),
        "error",
        "the target ended (signal 9)",
    ),
    provider("stops-itself", "is stopped by SIGSTOP", EXECUTE, |_| signal_self(Signal::STOP), "error", SILENT),
    provider(
        "ignores-sigterm",
        "ignores SIGTERM and the end of its input",
        EXECUTE,
        |s| {
            ignore_sigterm();
            s.hang()
        },
        "error",
        SILENT,
    ),
    // Descendants.
    provider(
        "leaves-a-descendant",
        "exits, and a descendant holds the pipes",
        EXECUTE,
        |s| {
            s.relative("in-the-group", true);
            std::process::exit(0)
        },
        "error",
        "the target ended (exit status 0)",
    ),
    provider(
        "leaves-one-in-another-group",
        "exits, and a descendant in a session of its own holds the pipes",
        EXECUTE,
        |s| {
            s.relative("away", true);
            std::process::exit(0)
        },
        "error",
        "the target ended (exit status 0)",
    ),
    provider(
        "leaves-an-orphan",
        "exits, and an orphan without its environment holds the pipes",
        EXECUTE,
        |s| {
            s.relative("orphan", false);
            std::process::exit(0)
        },
        "error",
        "the target ended (exit status 0)",
    ),
    provider(
        "answers-beside-an-orphan",
        "is honest, and leaves an orphan behind",
        EXECUTE,
        |s| {
            s.relative("orphan", false);
            s.honestly()
        },
        "pass",
        "",
    ),
    provider(
        "fork-storm",
        "starts processes without end, each in a session of its own",
        EXECUTE,
        |s| {
            s.relative("storm", false);
            std::process::exit(0)
        },
        "error",
        "the target ended (exit status 0)",
    ),
    provider(
        "kills-its-guard",
        "kills the process that guards it, and hides in a session of its own",
        EXECUTE,
        |s| {
            s.relative("away", true);
            signal_parent(Signal::KILL);
            s.hang()
        },
        "error",
        "the process that guards the target was killed",
    ),
    provider(
        "stops-its-guard",
        "stops the process that guards it",
        EXECUTE,
        |s| {
            signal_parent(Signal::STOP);
            s.hang()
        },
        "error",
        SILENT,
    ),
    // Clocks.
    provider(
        "clock-at-zero",
        "says that it is 1970",
        Moment::Verb("target.reset"),
        |s| s.changed(|result| result["now_ms"] = json!(0)),
        "error",
        "the call should have succeeded",
    ),
    provider(
        "clock-before-time",
        "says that it is the least time",
        Moment::Verb("target.reset"),
        |s| s.changed(|result| result["now_ms"] = json!(i64::MIN)),
        "error",
        "the call should have succeeded",
    ),
    provider(
        "clock-after-time",
        "says that it is the greatest time",
        Moment::Verb("target.reset"),
        |s| s.changed(|result| result["now_ms"] = json!(i64::MAX)),
        "error",
        "does not fit a long",
    ),
    // Requests of a target that has nothing to ask.
    provider(
        "asks",
        "asks the runner before it answers",
        EXECUTE,
        |s| {
            s.ask("clock.now", &json!({}));
            s.honestly()
        },
        "pass",
        "",
    ),
    provider(
        "asks-without-end",
        "asks the runner without end",
        EXECUTE,
        |s| loop {
            s.ask("clock.sleep", &json!({ "ms": u64::MAX }));
        },
        "error",
        "nothing that it was asked needs that",
    ),
    provider(
        "asks-while-settling",
        "asks the runner after the last answer of the vector",
        Moment::Settling,
        |s| {
            s.ask("provider.call", &json!({}));
            s.honestly()
        },
        "error",
        "when no request to it was open",
    ),
    provider(
        "asks-twice",
        "asks twice with one id",
        EXECUTE,
        |s| {
            for _ in 0..2 {
                s.line(r#"{"jsonrpc":"2.0","id":"a","method":"clock.now","params":{}}"#)
            }
        },
        "error",
        SILENT,
    ),
    provider(
        "asks-with-an-object",
        "asks with an object for an id",
        EXECUTE,
        |s| s.line(r#"{"jsonrpc":"2.0","id":{"a":1},"method":"clock.now"}"#),
        "error",
        "a request without an id",
    ),
    // Texts that act on terminals, shells or readers.
    provider("paths-for-ids", "names descriptors like paths and commands", Moment::Always, odd_descriptors, "pass", ""),
    provider(
        "escapes-in-a-refusal",
        "refuses with terminal escapes and directional marks",
        EXECUTE,
        |s| {
            let text = json!(ESCAPES);
            s.text(&format!(r#"{{"jsonrpc":"2.0","id":ID,"error":{{"code":-32000,"message":{text}}}}}"#))
        },
        "error",
        "GREEN",
    ),
    provider(
        "escapes-in-an-exception",
        "throws with terminal escapes in class and message",
        EXECUTE,
        |s| s.result(json!({ "exception": { "class": ESCAPES, "message": ESCAPES } })),
        "fail",
        "CETP2-5-13",
    ),
    provider(
        "escapes-in-a-bundle",
        "answers with terminal escapes in keys and values",
        EXECUTE,
        |s| s.result(json!({ "bundle": { ESCAPES: { "string": ESCAPES }, "status": { "string": ESCAPES } } })),
        "fail",
        "CETP2-5-01",
    ),
    provider(
        "escapes-in-data",
        "answers with terminal escapes in the result",
        EXECUTE,
        |s| {
            s.changed(|result| {
                result["bundle"]["data"]["string"] =
                    json!(json!({ "kind": "inline", "value": { ESCAPES: ESCAPES } }).to_string())
            })
        },
        "fail",
        "CETP2-4.5-06",
    ),
    provider(
        "escapes-in-a-line",
        "writes terminal escapes that are no JSON",
        EXECUTE,
        |s| s.raw("\u{1b}[2J\u{202e}\u{9b}2J\n".as_bytes()),
        "error",
        "\\u{1b}[2J\\u{202e}",
    ),
    provider(
        "escapes-in-a-verb",
        "asks for a verb of terminal escapes",
        EXECUTE,
        |s| loop {
            s.ask(ESCAPES, &json!({}));
        },
        "error",
        "GREEN",
    ),
    provider(
        "escapes-on-stderr",
        "writes terminal escapes to stderr, and ends",
        EXECUTE,
        |_| {
            eprintln!("{ESCAPES}");
            std::process::exit(1)
        },
        "error",
        "the target ended (exit status 1)",
    ),
    // What is expensive to judge.
    provider(
        "schema-doubles",
        "lists a schema whose references double the work 60 times",
        LIST,
        |s| schema(s, &doubling()),
        "not_run",
        "validation would take more than 5000000 steps",
    ),
    provider(
        "schema-without-end",
        "lists a schema that refers to itself",
        LIST,
        |s| schema(s, &json!({ "$ref": "#" })),
        "not_run",
        "refers to itself for the same value, without end",
    ),
    provider(
        "schema-of-repeats",
        "lists a pattern of 10^12 repeats",
        LIST,
        |s| schema(s, &json!({ "properties": { "value": { "pattern": "((((a{1000}){1000}){1000}){1000})" } } })),
        "not_run",
        "the schema does not compile",
    ),
    provider(
        "schema-of-megabytes",
        "lists a schema of 100,000 properties",
        LIST,
        |s| schema(s, &large_schema()),
        "pass",
        "",
    ),
    provider(
        "schema-elsewhere",
        "lists a schema that refers to a server and a file",
        LIST,
        |s| schema(s, &json!({ "allOf": [{ "$ref": "http://127.0.0.1:9/x" }, { "$ref": "file:///etc/passwd" }] })),
        "not_run",
        "the schema does not compile",
    ),
    provider(
        "million-numbers",
        "answers with a list of 4,000,000 numbers",
        EXECUTE,
        |s| s.bundle(&format!("{{\"int_array\":[0{}]}}", ",0".repeat(4_000_000))),
        "error",
        "more values than allowed",
    ),
    provider(
        "million-members",
        "answers with a Bundle of 500,000 keys",
        EXECUTE,
        million_members,
        "error",
        "more values than allowed",
    ),
    provider(
        "million-lists-in-data",
        "answers with a result of 2,500,000 lists",
        EXECUTE,
        |s| {
            let text = format!("[[]{}]", ",[]".repeat(2_500_000));
            s.changed(|result| result["bundle"]["data"]["string"] = json!(text))
        },
        "fail",
        "CETP2-4.5-06",
    ),
    provider(
        "large-answers",
        "answers every call with 7 MiB",
        Moment::Verb("provider.call"),
        large_answers,
        "error",
        "longer than 10485760 bytes",
    ),
    // When it is started.
    provider(
        "starts-silent",
        "says nothing to the first verb",
        Moment::Start,
        |s| s.hang(),
        "error",
        "no target: the target did not answer within 10 s",
    ),
    provider(
        "starts-and-ends",
        "exits with 3 at once",
        Moment::Start,
        |_| {
            eprintln!("cannot find libfoo");
            std::process::exit(3)
        },
        "error",
        "no target: the target ended (exit status 3); it wrote: cannot find libfoo",
    ),
    provider(
        "starts-with-a-banner",
        "greets on stdout at once",
        Moment::Start,
        |s| s.line("Hello! Ready."),
        "error",
        "no target: the target wrote a line that is no message",
    ),
    provider(
        "never-starts",
        "exits with 3 at once, always",
        Moment::FirstStart,
        |_| {
            eprintln!("cannot find {ESCAPES}");
            std::process::exit(3)
        },
        "",
        "the target ended (exit status 3); it wrote: cannot find",
    ),
    provider(
        "never-answers",
        "says nothing, always",
        Moment::FirstStart,
        |s| s.hang(),
        "",
        "did not answer within 10 s",
    ),
    provider(
        "never-describes-itself",
        "says {} of itself",
        Moment::FirstStart,
        |s| s.line(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        "",
        BREAKS,
    ),
    provider(
        "describes-itself-in-escapes",
        "has a name of terminal escapes, and ends in its first call",
        Moment::FirstStart,
        |s| {
            s.line(&json!({ "jsonrpc": "2.0", "id": 1, "result": { "protocol": 1, "name": ESCAPES, "version": ESCAPES, "roles": [ESCAPES] } }).to_string())
        },
        "",
        BREAKS,
    ),
    // Consumers.
    consumer(
        "finds-nothing-for-ever",
        "never answers consumer.discover",
        "consumer.discover",
        |s| s.hang(),
        "error",
        SILENT,
    ),
    consumer("works-for-ever", "never answers consumer.execute", EXECUTED, |s| s.hang(), "error", SILENT),
    consumer(
        "ends-while-it-finds",
        "exits with 0 on consumer.discover",
        "consumer.discover",
        |_| std::process::exit(0),
        "error",
        "the target ended (exit status 0)",
    ),
    consumer(
        "ends-while-it-works",
        "exits with 0 on consumer.execute",
        EXECUTED,
        |_| std::process::exit(0),
        "error",
        "the target ended (exit status 0)",
    ),
    consumer(
        "ends-while-it-asks",
        "exits with 0 while its request is open",
        EXECUTED,
        |s| {
            s.ask("clock.now", &json!({}));
            std::process::exit(0)
        },
        "error",
        "the target ended (exit status 0)",
    ),
    consumer(
        "asks-for-the-time-for-ever",
        "asks for the time without end",
        EXECUTED,
        |s| loop {
            s.asked("clock.now", &json!({}));
        },
        "error",
        "more than 300 requests",
    ),
    consumer(
        "sleeps-for-ever",
        "sleeps 292 million years again and again",
        EXECUTED,
        |s| loop {
            s.asked("clock.sleep", &json!({ "ms": i64::MAX }));
        },
        "error",
        "more than 300 requests",
    ),
    consumer(
        "sleeps-back",
        "sleeps a negative time",
        EXECUTED,
        |s| {
            s.asked("clock.sleep", &json!({ "ms": i64::MIN }));
            s.honestly()
        },
        "pass",
        "",
    ),
    consumer(
        "sleeps-once",
        "sleeps 292 million years, and goes on",
        EXECUTED,
        |s| {
            s.asked("clock.sleep", &json!({ "ms": i64::MAX }));
            s.honestly()
        },
        "pass",
        "",
    ),
    consumer(
        "sleeps-a-text",
        "sleeps a text",
        EXECUTED,
        |s| {
            s.asked("clock.sleep", &json!({ "ms": "long" }));
            s.honestly()
        },
        "pass",
        "",
    ),
    consumer(
        "asks-and-does-not-listen",
        "asks for lists of tools without end, and reads no answer",
        EXECUTED,
        |s| loop {
            s.ask(
                "provider.call",
                &json!({ "authority": "org.example.p.tools", "method": "list_tools", "arg": null, "extras": {} }),
            );
        },
        "fail",
        "CETP2-8-01",
    ),
    consumer(
        "asks-for-megabytes",
        "asks for 4 MiB of a descriptor again and again, and reads no answer",
        EXECUTED,
        |s| {
            let fd = s.endless();
            loop {
                s.ask("fd.read", &json!({ "fd": fd, "max_bytes": 4 << 20 }));
            }
        },
        "error",
        "bytes unread",
    ),
    consumer(
        "reads-everything",
        "reads 2^63 bytes at once",
        EXECUTED,
        |s| {
            let fd = s.endless();
            s.asked("fd.read", &json!({ "fd": fd, "max_bytes": i64::MAX }));
            s.honestly()
        },
        "pass",
        "",
    ),
    consumer(
        "reads-for-ever",
        "reads a descriptor that never ends, without end",
        EXECUTED,
        |s| {
            let fd = s.endless();
            loop {
                s.asked("fd.read", &json!({ "fd": fd, "max_bytes": 65536 }));
            }
        },
        "error",
        "more than 300 requests",
    ),
    consumer(
        "reads-a-path",
        "reads /etc/passwd",
        EXECUTED,
        |s| {
            s.asked("fd.read", &json!({ "fd": "/etc/passwd", "max_bytes": 1 }));
            s.honestly()
        },
        "pass",
        "",
    ),
    consumer(
        "reads-less-than-nothing",
        "reads -1 bytes",
        EXECUTED,
        |s| {
            let fd = s.endless();
            s.asked("fd.read", &json!({ "fd": fd, "max_bytes": -1 }));
            s.honestly()
        },
        "pass",
        "",
    ),
    consumer(
        "asks-for-what-is-not",
        "asks for a verb that there is not",
        EXECUTED,
        |s| {
            s.asked("no.such.verb", &json!({}));
            s.honestly()
        },
        "pass",
        "",
    ),
    consumer(
        "asks-in-a-list",
        "asks with parameters in a list",
        EXECUTED,
        |s| {
            s.asked("provider.call", &json!([1, 2]));
            s.honestly()
        },
        "pass",
        "",
    ),
    consumer(
        "asks-nobody",
        "calls an authority that there is not",
        EXECUTED,
        |s| {
            s.asked(
                "provider.call",
                &json!({ "authority": "../../x; rm -rf /", "method": "$(id)", "arg": null, "extras": {} }),
            );
            s.honestly()
        },
        "pass",
        "",
    ),
    consumer(
        "asks-deeply",
        "calls with 9,000 lists in each other",
        EXECUTED,
        |s| {
            s.line(&format!(
                r#"{{"jsonrpc":"2.0","id":"d","method":"provider.call","params":{}{}}}"#,
                "[".repeat(9000),
                "]".repeat(9000)
            ));
            s.hang()
        },
        "error",
        SILENT,
    ),
    consumer(
        "asks-in-megabytes",
        "calls with 7 MiB again and again",
        EXECUTED,
        |s| {
            let extras = json!({ "a": { "string": "x".repeat(7 << 20) } });
            loop {
                s.asked(
                    "provider.call",
                    &json!({ "authority": "org.example.p.tools", "method": "x", "arg": null, "extras": extras }),
                );
            }
        },
        "error",
        "longer than 10485760 bytes",
    ),
    consumer(
        "asks-with-a-long-id",
        "asks with an id of 4 MiB",
        EXECUTED,
        |s| {
            s.line(&json!({ "jsonrpc": "2.0", "id": "i".repeat(4 << 20), "method": "clock.now" }).to_string());
            s.hang()
        },
        "error",
        SILENT,
    ),
    consumer(
        "asks-again-with-an-old-id",
        "asks twice with one id",
        EXECUTED,
        |s| {
            for _ in 0..2 {
                s.line(r#"{"jsonrpc":"2.0","id":"a","method":"consumer.nothing","params":{}}"#)
            }
            s.hang()
        },
        "error",
        SILENT,
    ),
    consumer(
        "answers-itself",
        "answers its own request",
        EXECUTED,
        |s| {
            let id = s.ask("clock.now", &json!({}));
            s.line(&json!({ "jsonrpc": "2.0", "id": id + 1_000_000, "result": {} }).to_string());
            s.hang()
        },
        "error",
        "which is no open request",
    ),
    consumer(
        "shows-for-ever",
        "shows the user a confirmation without end",
        EXECUTED,
        |s| loop {
            s.asked("ui.launch", &json!({ "pending_intent": "pi-1" }));
        },
        "error",
        "more than 300 requests",
    ),
    consumer(
        "finds-a-text",
        "answers consumer.discover with a text",
        "consumer.discover",
        |s| s.result(json!("none")),
        "error",
        "the result is no object",
    ),
    consumer(
        "finds-odd-things",
        "answers consumer.discover with providers that are numbers",
        "consumer.discover",
        |s| s.result(json!({ "providers": [1, 2, 3] })),
        "not_run",
        "execute_tool was not called",
    ),
    consumer(
        "finds-a-million",
        "answers consumer.discover with 300,000 rows",
        "consumer.discover",
        |s| s.result(json!({ "providers": vec![json!({}); 300_000] })),
        "error",
        "more values than allowed",
    ),
    consumer(
        "comes-to-nothing",
        "answers consumer.execute with {}",
        EXECUTED,
        |s| s.result(json!({})),
        "error",
        "an honest call should have succeeded",
    ),
    consumer(
        "comes-to-escapes",
        "answers consumer.execute with terminal escapes",
        EXECUTED,
        |s| s.result(json!({ "outcome": "error", "error_code": ESCAPES, "message": ESCAPES })),
        "not_run",
        "execute_tool was not called",
    ),
    consumer(
        "asks-after-its-answer",
        "asks when nothing is open any more",
        EXECUTED,
        |s| {
            s.honestly();
            s.ask("clock.now", &json!({}));
        },
        "error",
        "when no request to it was open",
    ),
    consumer(
        "asks-after-its-answer-for-ever",
        "asks without end when nothing is open any more",
        EXECUTED,
        |s| {
            s.honestly();
            loop {
                s.ask("clock.now", &json!({}));
            }
        },
        "error",
        "when no request to it was open",
    ),
];

const EXECUTED: &str = "consumer.execute";

fn drip(s: &mut Stage) {
    loop {
        s.raw(b" ");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn gibibyte(s: &mut Stage) {
    s.raw(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"bundle":{{"status":{{"string":""#, s.id).as_bytes());
    for _ in 0..1024 {
        s.raw(&[b'x'; 1 << 20]);
    }
    s.raw(b"\"}}}}\n");
}

fn lines(s: &mut Stage, line: &[u8]) {
    let many = line.repeat(1000);
    for _ in 0..1000 {
        s.raw(&many);
    }
}

fn stderr_flood(_: &mut Stage) {
    loop {
        eprintln!("{}", "noise ".repeat(1000));
    }
}

fn stderr_much(s: &mut Stage) {
    for _ in 0..1024 {
        eprintln!("{ESCAPES}{}", "x".repeat(1000));
    }
    s.honestly();
}

fn nested(open: &str, close: &str, inner: &str, times: usize) -> String {
    open.repeat(times) + inner + &close.repeat(times)
}

fn deep_bundle(s: &mut Stage) {
    s.bundle(&nested(r#"{"bundle":{"b":"#, "}}", r#"{"int":1}"#, 4000));
}

fn deep_data(s: &mut Stage) {
    let data = format!(r#"{{"kind":"inline","value":{{"value":{}}}}}"#, nested("[", "]", "", 9000));
    s.changed(|result| result["bundle"]["data"]["string"] = json!(data));
}

fn white_space(s: &mut Stage) {
    let reply = s.honest().to_string();
    s.line(&format!(" \t{reply} \t\r"));
}

fn ahead(s: &mut Stage) {
    let id = s.id.as_u64().expect("the runner counts") + 1;
    s.line(&json!({ "jsonrpc": "2.0", "id": id, "result": { "bundle": null } }).to_string());
}

fn odd_descriptors(s: &mut Stage) {
    const ODD: &str = "../../etc/passwd; $(touch owned) `id` | %n%s";
    if s.params["fd"] == ODD {
        s.params["fd"] = s.kept.clone();
    }
    let mut reply = s.honest();
    if let Some(fd) = reply.pointer_mut("/result/bundle/result_fd/fd/id") {
        s.kept = std::mem::replace(fd, json!(ODD));
    }
    s.line(&reply.to_string());
}

fn schema(s: &mut Stage, schema: &Json) {
    s.changed(|result| {
        let data = result["bundle"]["data"]["string"].as_str().expect("a list").to_owned();
        let mut data: Json = serde_json::from_str(&data).expect("JSON");
        for tool in data["tools"].as_array_mut().expect("tools") {
            tool["output_schema"] = schema.clone();
        }
        result["bundle"]["data"]["string"] = json!(data.to_string());
    });
}

fn doubling() -> Json {
    let twice =
        |n: usize| json!({ "allOf": [{ "$ref": format!("#/$defs/d{n}") }, { "$ref": format!("#/$defs/d{n}") }] });
    let mut defs: serde_json::Map<String, Json> = (0..60).map(|n| (format!("d{n}"), twice(n + 1))).collect();
    defs.insert("d60".into(), json!({}));
    json!({ "$defs": defs, "$ref": "#/$defs/d0" })
}

fn large_schema() -> Json {
    let properties: serde_json::Map<String, Json> = (0..4000).map(|n| (format!("p{n}"), json!({}))).collect();
    json!({ "properties": properties })
}

fn million_members(s: &mut Stage) {
    let members: Vec<String> = (0..400_000).map(|n| format!(r#""{n}":{{"int":0}}"#)).collect();
    s.text(&format!(r#"{{"jsonrpc":"2.0","id":ID,"result":{{"bundle":{{{}}}}}}}"#, members.join(",")));
}

fn large_answers(s: &mut Stage) {
    let padding = json!({ "string": "x".repeat(7 << 20) });
    s.changed(|result| result["bundle"]["padding"] = padding);
}

fn signal_self(signal: Signal) {
    let _ = kill_process(getpid(), signal);
    std::thread::sleep(Duration::from_secs(60));
}

fn signal_parent(signal: Signal) {
    let parent = getppid().expect("it has a parent");
    let _ = kill_process(parent, signal);
}

fn ignore_sigterm() {
    let flag = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGTERM, flag).expect("a handler");
}

/// Names are unique, every message tells something, and there are as many as were asked for.
pub fn is_whole() -> Result<(), Failed> {
    let names: BTreeSet<(&str, &str)> = TABLE.iter().map(|case| (case.role.name(), case.switch)).collect();
    if names.len() != TABLE.len() || TABLE.len() < 60 {
        return Err(format!("{} rows with {} names", TABLE.len(), names.len()).into());
    }
    match TABLE.iter().find(|case| case.outcome != "pass" && case.message.is_empty()) {
        Some(case) => Err(format!("{} has no message", case.switch).into()),
        None => Ok(()),
    }
}
