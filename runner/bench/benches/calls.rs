//! A provider call over stdio, with everything that the suite does about it, against the bare exchange of the same bytes with
//! the same program; and against a record of sqllogictest's external engine.
//!
//! The program answers from a template, so that as little as possible of what is measured is its own work.

use cetp_bench::{Target, adapter, calls, catalogue, ratio};
use cetp_reference::target::{Options, ProviderTarget};
use cetp_vectors::machine::Answer;
use criterion::{BenchmarkId, Criterion, Throughput};
use serde_json::{Value as Json, json};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const CANNED: &str = "__canned";
const SQL: &str = "__sql";

/// Calls of one vector; more would only make its transcript longer.
const CALLS: u64 = 200;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(CANNED) => canned(),
        Some(SQL) => sql(),
        _ => return cetp_bench::bench(all),
    }
    ExitCode::SUCCESS
}

fn all() {
    let mut criterion = Criterion::default().configure_from_args().measurement_time(Duration::from_secs(8));
    compare(&mut criterion);
    criterion.final_summary();
    ratio("call", "suite", "bare", "at most 3 was the aim");
    ratio("call", "sqllogictest", "suite", "at least 4 was the aim");
    ratio("call", "sqllogictest", "bare", "for comparison");
}

fn compare(criterion: &mut Criterion) {
    let exe = &cetp_bench::program();
    let catalogue = catalogue(&[calls(0, CALLS)]);
    let vector = &catalogue.vectors[0];
    let mut target = Target::new(adapter(&format!("stdio:{exe} {CANNED}")));
    // The request and answer of a call, as they are on the wire.
    let transcript = target.pass(vector).transcript.unwrap();
    let call = transcript.entries.iter().find(|entry| entry.params["method"] == "execute_tool").unwrap();
    let request =
        json!({ "jsonrpc": "2.0", "id": 1000, "method": call.verb, "params": call.params }).to_string() + "\n";

    let Answer::Result(result) = &call.answer else { panic!("{:?}", call.answer) };
    let answer = json!({ "jsonrpc": "2.0", "id": 1000, "result": result }).to_string() + "\n";
    // The bare program gets the answer that the suite's one computed, so that both write the same bytes.
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), json!([request, answer]).to_string()).unwrap();

    let mut group = criterion.benchmark_group("call");
    group.throughput(Throughput::Elements(1));
    group.bench_function(BenchmarkId::from_parameter("bare"), |b| {
        let mut child = Command::new(exe)
            .arg(CANNED)
            .arg(file.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::with_capacity(64 << 10, child.stdout.take().unwrap());
        let mut line = Vec::new();
        stdin.write_all(request.as_bytes()).unwrap();
        stdout.read_until(b'\n', &mut line).unwrap();
        assert_eq!(line, answer.as_bytes());
        b.iter(|| {
            stdin.write_all(request.as_bytes()).unwrap();
            line.clear();
            stdout.read_until(b'\n', &mut line).unwrap();
            black_box(&line);
        });
        drop(stdin);
        child.wait().unwrap();
    });
    group.bench_function(BenchmarkId::from_parameter("suite"), |b| {
        b.iter_custom(|calls| {
            let rounds = calls.div_ceil(CALLS);
            let begun = Instant::now();
            for _ in 0..rounds {
                black_box(target.pass(vector));
            }
            begun.elapsed().mul_f64(calls as f64 / (rounds * CALLS) as f64)
        });
    });
    #[cfg(feature = "sqllogictest")]
    sqllogictest(&mut group, exe);
    group.finish();
}

/// A record of a script, through the external engine.
#[cfg(feature = "sqllogictest")]
fn sqllogictest(group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>, exe: &str) {
    use sqllogictest::Runner;
    use sqllogictest_engines::external::ExternalDriver;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let script = "query T\nselect value from echo where value = 'hello'\n----\nhello\n\n".repeat(CALLS as usize);
    group.bench_function(BenchmarkId::from_parameter("sqllogictest"), |b| {
        let mut runner = Runner::new(|| async {
            let mut command = tokio::process::Command::new(exe);
            command.arg(SQL);
            ExternalDriver::connect(command).await
        });
        b.iter_custom(|calls| {
            let rounds = calls.div_ceil(CALLS);
            let begun = Instant::now();
            for _ in 0..rounds {
                let records = sqllogictest::parse(&script).unwrap();
                runtime.block_on(runner.run_multi_async(records)).unwrap();
            }
            begun.elapsed().mul_f64(calls as f64 / (rounds * CALLS) as f64)
        });
    });
}

/// Answers calls of tools from a template, and everything else as the reference does.
fn canned() {
    let target = ProviderTarget::in_memory(Options::default()).unwrap();
    let (mut input, mut output) =
        (BufReader::with_capacity(64 << 10, std::io::stdin().lock()), std::io::stdout().lock());
    let given = std::env::args().nth(2).map(|file| std::fs::read_to_string(file).unwrap());
    let given: Option<[String; 2]> = given.map(|text| serde_json::from_str(&text).unwrap());
    let mut template = given.map(|[request, answer]| template_of(&request, &answer));
    let mut line = String::new();
    loop {
        line.clear();
        if input.read_line(&mut line).unwrap() == 0 {
            return;
        }
        let id = between(&line, "\"id\":", ",");
        let request = between(&line, "\"request_id\":{\"string\":\"", "\"");
        if let (true, Some([a, b, c])) = (line.contains("\"method\":\"execute_tool\""), &template) {
            let answer = [a, id, b, request, c].concat();
            output.write_all(answer.as_bytes()).unwrap();
            output.flush().unwrap();
            continue;
        }
        let message: Json = serde_json::from_str(&line).unwrap();
        let verb = message["method"].as_str().unwrap();
        let result = target.handle(verb, &message["params"]).unwrap_or_else(|_| json!({}));
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }).to_string() + "\n";
        output.write_all(answer.as_bytes()).unwrap();
        output.flush().unwrap();
        if line.contains("\"method\":\"execute_tool\"") {
            template = Some(template_of(&line, &answer));
        }
    }
}

/// The parts of an answer around its id and request id.
fn template_of(request: &str, answer: &str) -> [String; 3] {
    let id = between(request, "\"id\":", ",");
    let request_id = between(request, "\"request_id\":{\"string\":\"", "\"");
    let (before, rest) = answer.split_once(&format!("\"id\":{id},")).unwrap();
    let (middle, after) = rest.split_once(request_id).unwrap();
    [format!("{before}\"id\":"), format!(",{middle}"), after.to_owned()]
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> &'t str {
    let Some((_, rest)) = text.split_once(before) else { return "" };
    rest.split_once(after).map_or("", |(value, _)| value)
}

/// A database whose only row is known. What is asked comes without an end mark, one question at a time.
fn sql() {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut buffer = vec![0; 64 << 10];
    loop {
        let n = input.read(&mut buffer).unwrap();
        if n == 0 {
            return;
        }
        output.write_all(b"{\"result\":[[\"hello\"]]}").unwrap();
        output.flush().unwrap();
    }
}
