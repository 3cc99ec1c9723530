//! `explain`: a requirement or vector in words.

use crate::VectorsArg;
use crate::audit::rules::{Judge, RULES};
use crate::exit::{Exit, Stop};
use crate::list::{about, find};
use cetp_reports::text;
use cetp_vectors::contract;
use cetp_vectors::ledger::{Requirement, Strength};
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::{FLAGS, Kind, Parallel, Rounds, Stack, Step, Vector};

/// Arguments of `explain`.
#[derive(clap::Args)]
pub struct ExplainArgs {
    /// Id of a requirement or vector
    id: String,
    /// The suite that it is of; ids say that themselves, so that this only guards against another
    #[arg(long)]
    suite: Option<String>,
    #[command(flatten)]
    vectors: VectorsArg,
}

/// Carries out `explain`.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Stop> {
    if let Some(row) = contract::ledger().get(&args.id) {
        tool_contract(row);
        return Ok(Exit::Good);
    }
    let catalogue = args.vectors.load()?;
    let of_suite = |suite: &str| match &args.suite {
        Some(asked) if asked != suite => Err(Stop::usage(format!("{} is of the suite {suite}", args.id))),
        _ => Ok(()),
    };
    match catalogue.ledger.get(&args.id) {
        Some(row) => {
            of_suite(&row.suite)?;
            requirement(row, &catalogue);
        }
        None => {
            let found = find(&catalogue, &args.id)?;
            of_suite(&found.suite)?;
            vector(found, &catalogue);
        }
    }
    Ok(Exit::Good)
}

fn line(name: &str, value: &str) {
    anstream::println!("{}", text::wrap(&format!("{name}: {value}"), "  "));
}

fn strength(row: &Requirement) -> &'static str {
    match row.strength {
        Strength::Must => "must: breaking it fails",
        Strength::MustNot => "must not: breaking it fails",
        Strength::Should => "should: not meeting it warns",
        Strength::May => "may: nothing to judge",
    }
}

fn tool_contract(row: &contract::Row) {
    anstream::println!("{}\n{}\n", row.id, text::wrap(&row.text, "  "));
    line("chapter", &row.chapter);
    line("weight", &row.weight);
    let Some(rule) = RULES.iter().find(|rule| rule.id == row.id) else { return };
    match rule.judge {
        Judge::No(reason) => line("not judged from a listing", reason),
        _ => line("judged by", "the command audit, which gives advice and no verdict"),
    }
    if !rule.beyond.is_empty() {
        line("not in a listing", rule.beyond);
    }
    if !rule.vectors.is_empty() {
        line("vectors are about it", &rule.vectors.join(", "));
    }
}

fn requirement(row: &Requirement, catalogue: &Catalogue) {
    anstream::println!("{}\n{}\n", row.id, text::wrap(&row.text, "  "));
    if !row.section.is_empty() {
        line("section", &row.section);
    }
    line("binds", row.role.name());
    line("level", &row.level);
    line("strength", strength(row));
    if row.reading {
        line("basis", "our reading: it rests on no sentence alone");
    }
    if let Some(interpretation) = &row.interpretation {
        line("accepted", interpretation);
    }
    if !row.needs.is_empty() {
        line("needs", &row.needs.join(", "));
    }
    if let Some(by) = &row.not_by_vector {
        line("not judged by vectors, but by", by);
    }
    let vectors = about(catalogue, &row.id, None);
    anstream::println!("\n  judged by {} vectors", vectors.len());
    for vector in vectors {
        anstream::println!("  - {}\n{}", vector.id, text::wrap(&vector.title, "      "));
    }
}

fn vector(vector: &Vector, catalogue: &Catalogue) {
    anstream::println!("{}\n{}\n", vector.id, text::wrap(&vector.title, "  "));
    line("tests", &format!("a {}, level {}", vector.role.name(), vector.level));
    match vector.stack {
        Stack::Any => {}
        Stack::Dual => line("applies to", "providers of versions 1 and 2"),
        Stack::V2Only => line("applies to", "providers of version 2 alone"),
    }
    for (name, list) in [
        ("needs the capabilities", &vector.capabilities),
        ("needs the controls", &vector.needs),
        ("needs the fixture's tools", &vector.tools),
        ("needs the callers", &vector.callers),
        ("needs to be told", &vector.facts),
    ] {
        if !list.is_empty() {
            line(name, &list.join(", "));
        }
    }
    for flag in &vector.flags {
        let meaning = FLAGS.iter().find(|(known, _)| known == flag).map_or("", |(_, meaning)| meaning);
        line(flag, meaning);
    }
    if let Some(notes) = &vector.notes {
        line("notes", notes);
    }
    if let Some(generated) = &vector.generated {
        line("generated", &format!("by {} from {}, seed {}", generated.generator, generated.source, generated.seed));
    }
    line("file", &vector.file);
    anstream::println!("\n  about");
    for id in &vector.requirements {
        let words = catalogue.ledger.get(id).map_or("", |row| row.text.as_str());
        anstream::println!("{}", text::wrap(&format!("{id}: {words}"), "    "));
    }
    anstream::println!("\n  steps");
    steps(&vector.steps, "    ", "");
}

fn steps(list: &[Step], indent: &str, prefix: &str) {
    for (n, step) in list.iter().enumerate() {
        let words = words(step);
        let save = step.save.as_ref().map(|name| format!(", kept as {name}")).unwrap_or_default();
        let condition = if step.when.is_some() { ", only on a condition" } else { "" };
        let expectations = match step.expect.len() {
            0 => String::new(),
            1 => "; 1 expectation".into(),
            n => format!("; {n} expectations"),
        };
        anstream::println!("{}", text::wrap(&format!("{prefix}{n}  {words}{save}{condition}{expectations}"), indent));
        let deeper = format!("{indent}  ");
        match &step.kind {
            Kind::Repeat { steps: inner, .. } => steps(inner, &deeper, &format!("{prefix}{n}[…].")),
            Kind::Parallel(parallel) => {
                for (b, branch) in parallel.branches.iter().enumerate() {
                    steps(branch, &deeper, &format!("{prefix}{n}{{{b}}}."));
                }
            }
            _ => {}
        }
    }
}

fn words(step: &Step) -> String {
    let plain = |json: &serde_json::Value| json.as_str().map_or_else(|| json.to_string(), str::to_owned);
    match &step.kind {
        Kind::Call(call) => {
            let tool = call.tool.as_ref().map(|tool| format!(" of {}", plain(tool))).unwrap_or_default();
            let session = call.session.as_ref().map(|s| format!(" in session {s}")).unwrap_or_default();
            format!("{} calls {}{tool}{session}", plain(&call.caller), plain(&call.method))
        }
        Kind::Control { name, with } => format!("control {name} {with}"),
        Kind::Discover(names) => format!("the consumer discovers {}", names.join(", ")),
        Kind::Execute { tool, provider_id, .. } => {
            format!("the consumer executes {} of {}", plain(tool), plain(provider_id))
        }
        Kind::Advance(ms) => format!("the clock moves on by {} ms", plain(ms)),
        Kind::Observe { name, .. } => format!("observe {name}"),
        Kind::Read { .. } => "read the descriptor to its end".into(),
        Kind::Spawn(spawn) if spawn.valid => "start the provider with a request".into(),
        Kind::Spawn(_) => "start the provider with what is no request".into(),
        Kind::Host { .. } => "the host runs a scenario with scripted providers".into(),
        Kind::Admit(_) => "ask the admission".into(),
        Kind::Close { .. } => "close the descriptor".into(),
        Kind::Repeat { rounds: Rounds::Times(times), .. } => format!("{} times", plain(times)),
        Kind::Repeat { rounds: Rounds::Over(list), .. } => format!("for each of {}", plain(list)),
        Kind::Repeat { rounds: Rounds::Until { .. }, .. } => "until a condition holds".into(),
        Kind::Parallel(Parallel { copies: Some(copies), .. }) => format!("{} times at once", plain(copies)),
        Kind::Parallel(parallel) => format!("{} branches at once", parallel.branches.len()),
        Kind::Let(values) => format!("compute {}", values.keys().cloned().collect::<Vec<_>>().join(", ")),
        Kind::Barrier => "wait for the other branches".into(),
        Kind::Expect => "look at what came so far".into(),
    }
}
