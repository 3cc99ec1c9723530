//! A provider call over stdio, with everything that the suite does about it, against the bare exchange of the same bytes with
//! the same program; and against a record of sqllogictest's external engine.
//!
//! The program answers from a template, so that as little as possible of what is measured is its own work.

use cetp_bench::{Target, adapter, calls, catalogue};
use cetp_reference::target::{Options, ProviderTarget};
use cetp_vectors::machine::Answer;
use serde_json::{Value as Json, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::time::Instant;

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

/// So often each is measured, one after the other: what the machine does beside, and the speed at which it runs just now,
/// falls on all of them alike.
const ROUNDS: usize = 300;

/// Something that makes [`CALLS`] calls at a time, and how long each round took.
struct Measured<'m> {
    name: &'static str,
    round: Box<dyn FnMut() + 'm>,
    seconds: Vec<f64>,
}

impl<'m> Measured<'m> {
    fn new(name: &'static str, round: impl FnMut() + 'm) -> Measured<'m> {
        Measured { name, round: Box::new(round), seconds: Vec::with_capacity(ROUNDS) }
    }

    fn measure(&mut self) {
        let begun = Instant::now();
        (self.round)();
        self.seconds.push(begun.elapsed().as_secs_f64());
    }

    fn tell(&self) {
        let us = |seconds: f64| seconds / CALLS as f64 * 1e6;
        let [least, median, most] = [0.0, 0.5, 0.95].map(|part| us(quantile(&self.seconds, part)));
        let mean = us(self.seconds.iter().sum::<f64>() / self.seconds.len() as f64);
        println!(
            "call/{}: {median:.1} us (median), {mean:.1} (mean), {least:.1} to {most:.1} (of 95 % of rounds)",
            self.name
        );
    }
}

/// The value below which a part of the values lies.
fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * part) as usize]
}

/// Prints how many times longer one takes than another: the median of the ratios of each round, and the ratio of the means.
fn ratio(one: &Measured<'_>, other: &Measured<'_>, what: &str) {
    let of_rounds: Vec<f64> = one.seconds.iter().zip(&other.seconds).map(|(a, b)| a / b).collect();
    let of_means = one.seconds.iter().sum::<f64>() / other.seconds.iter().sum::<f64>();
    println!(
        "RATIO call: {} / {} = {:.2} by the median of the rounds, {of_means:.2} by the means ({what})",
        one.name,
        other.name,
        quantile(&of_rounds, 0.5)
    );
}

fn all() {
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
    let mut bare = Bare::start(exe, &request, &answer);
    let mut measured =
        vec![Measured::new("bare", move || bare.calls()), Measured::new("suite", || drop(target.pass(vector)))];
    #[cfg(feature = "sqllogictest")]
    measured.push(Measured::new("sqllogictest", sqllogictest(exe)));
    for _ in 0..ROUNDS {
        measured.iter_mut().for_each(Measured::measure);
    }
    measured.iter().for_each(Measured::tell);
    let [bare, suite, others @ ..] = measured.as_slice() else { panic!("there are two at least") };
    ratio(suite, bare, "at most 3 was the aim");
    for other in others {
        ratio(other, suite, "at least 4 was the aim");
        ratio(other, bare, "for comparison");
    }
}

/// The bare exchange of the same bytes with the same program.
struct Bare {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    request: String,
    answer: String,
    line: Vec<u8>,
}

impl Bare {
    /// The program gets the answer that the suite's one computed, so that both write the same bytes.
    fn start(exe: &str, request: &str, answer: &str) -> Bare {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), json!([request, answer]).to_string()).unwrap();
        let mut child = Command::new(exe)
            .arg(CANNED)
            .arg(file.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::with_capacity(64 << 10, child.stdout.take().unwrap());
        let (request, answer) = (request.to_owned(), answer.to_owned());
        let mut bare = Bare { stdin: child.stdin.take(), child, stdout, request, answer, line: Vec::new() };
        // It has read its file before it answers.
        bare.call();
        bare
    }

    fn call(&mut self) {
        self.stdin.as_mut().unwrap().write_all(self.request.as_bytes()).unwrap();
        self.line.clear();
        self.stdout.read_until(b'\n', &mut self.line).unwrap();
        assert_eq!(self.line, self.answer.as_bytes());
    }

    fn calls(&mut self) {
        (0..CALLS).for_each(|_| self.call());
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.stdin = None;
        self.child.wait().unwrap();
    }
}

/// Records of a script, through the external engine.
#[cfg(feature = "sqllogictest")]
fn sqllogictest(exe: &str) -> impl FnMut() + use<> {
    use sqllogictest::Runner;
    use sqllogictest_engines::external::ExternalDriver;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let script = "query T\nselect value from echo where value = 'hello'\n----\nhello\n\n".repeat(CALLS as usize);
    let exe = exe.to_owned();
    let mut runner = Runner::new(move || {
        let mut command = tokio::process::Command::new(&exe);
        command.arg(SQL);
        ExternalDriver::connect(command)
    });
    move || {
        let records = sqllogictest::parse(&script).unwrap();
        runtime.block_on(runner.run_multi_async(records)).unwrap();
    }
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
