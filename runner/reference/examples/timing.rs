//! How long a call and a reset take: `cargo run --release -p cetp-reference --example timing [PROGRAM]`, where PROGRAM
//! is a built `cetp-reference` to be measured over its pipe as well.

#![allow(clippy::print_stdout, reason = "this is what it is for")]

use cetp_reference::target::{Options, ProviderTarget};
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

const NOW: i64 = 1_780_000_000_000;
const ROUNDS: u32 = 2_000;

fn main() {
    let target = ProviderTarget::in_memory(Options::default()).expect("a target");
    measure("in process", |verb, params| target.handle(verb, params).expect("a result"));
    let started = Instant::now();
    for _ in 0..100 {
        ProviderTarget::in_memory(Options::default()).expect("a target");
    }
    println!("{:<12} {:<22} {:>9.1} µs", "in process", "a new target", started.elapsed().as_secs_f64() * 1e6 / 100.0);
    let Some(program) = std::env::args().nth(1) else { return };
    let mut child = Command::new(program)
        .arg("provider")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    measure("stdio", |verb, params| {
        let request = json!({"jsonrpc":"2.0","id":1,"method":verb,"params":params});
        input.write_all(format!("{request}\n").as_bytes()).expect("it reads");
        let mut line = String::new();
        output.read_line(&mut line).expect("it answers");
        let mut answer: Json = serde_json::from_str(&line).expect("JSON");
        answer["result"].take()
    });
    drop(input);
    child.wait().expect("it ends");
}

fn measure(how: &str, mut act: impl FnMut(&str, &Json) -> Json) {
    let reset = json!({"nonce":"n","now_ms":NOW});
    act("target.reset", &reset);
    let offer = json!({
        "consumer_versions":{"int_array":[2,1]},
        "consumer_capabilities":{"string":r#"["async_operations","cancellation","large_results"]"#},
    });
    let negotiate = call("negotiate", offer);
    let mut token = String::new();
    let mut data = |act: &mut dyn FnMut(&str, &Json) -> Json| {
        let reply = act("provider.call", &negotiate);
        let data: Json = serde_json::from_str(reply["bundle"]["data"]["string"].as_str().expect("data")).expect("JSON");
        token = data["session_token"].as_str().expect("a token").to_owned();
        token.clone()
    };
    let session = data(&mut act);
    let list = call("list_tools", json!({"protocol_version":{"int":2},"session_token":{"string":session}}));
    let mut time = |what: &str, request: &mut dyn FnMut(u32) -> (&'static str, Json)| {
        let requests: Vec<_> = (0..ROUNDS).map(request).collect();
        let mut times: Vec<f64> = requests
            .iter()
            .map(|(verb, params)| {
                let started = Instant::now();
                act(verb, params);
                started.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let (median, high) = (times[times.len() / 2], times[times.len() * 99 / 100]);
        println!("{how:<12} {what:<22} {median:>9.1} µs median {high:>9.1} µs p99");
    };
    time("list_tools", &mut |_| ("provider.call", list.clone()));
    time("fixture_echo", &mut |n| ("provider.call", execute(&session, "fixture_echo", n, r#"{"value":[1,"x"]}"#)));
    time("fixture_append", &mut |n| ("provider.call", execute(&session, "fixture_append", n, r#"{"value":"x"}"#)));
    time("append, repeated", &mut |n| ("provider.call", execute(&session, "fixture_append", n, r#"{"value":"x"}"#)));
    time("TOOL_NOT_FOUND", &mut |n| ("provider.call", execute(&session, "fixture_none", n, "{}")));
    time("USER_ACTION_REQUIRED", &mut |n| {
        ("provider.call", execute(&session, "fixture_transfer", 10_000 + n, r#"{"to":"bob","amount":1}"#))
    });
    time("negotiate", &mut |_| ("provider.call", negotiate.clone()));
    time("reset, nothing there", &mut |_| ("target.reset", reset.clone()));
}

fn call(method: &str, extras: Json) -> Json {
    json!({
        "caller":{"uid":10_101,"packages":[{"name":"org.example.a","signing_sha256":["aa"],"history_sha256":[]}]},
        "authority":"org.cetp.reference.tools","method":method,"arg":null,"extras":extras,
    })
}

fn execute(token: &str, tool: &str, id: u32, args: &str) -> Json {
    let extras = json!({
        "protocol_version":{"int":2},
        "session_token":{"string":token},
        "request_id":{"string":format!("00000000-0000-4000-8000-{id:012}")},
        "deadline_at_ms":{"long":NOW + 60_000},
        "tool_name":{"string":tool},
        "args":{"string":args},
    });
    call("execute_tool", extras)
}
