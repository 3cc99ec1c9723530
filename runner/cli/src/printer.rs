//! What `run` tells on the terminal. The main type is [`Printer`].

use crate::progress::Progress;
use crate::run::RunArgs;
use cetp_reports::model::Report;
use cetp_reports::redact::Redactor;
use cetp_reports::text;
use cetp_runner::engine::{Event, VectorResult, findings};
use cetp_vectors::judge::Outcome;
use cetp_vectors::load::Catalogue;
use cetp_vectors::model::Vector;
use cetp_vectors::protocol::Describe;
use libtest_mimic::FormatSetting;

/// Tells on the terminal what happens.
pub struct Printer<'p> {
    catalogue: &'p Catalogue,
    args: &'p RunArgs,
    format: Option<FormatSetting>,
    redactor: &'p Redactor,
    progress: Progress,
    column: usize,
}

impl<'p> Printer<'p> {
    /// Tells that a run begins.
    pub fn new(
        catalogue: &'p Catalogue,
        describe: &Describe,
        args: &'p RunArgs,
        redactor: &'p Redactor,
        count: usize,
    ) -> Printer<'p> {
        let format = if args.test.quiet { Some(FormatSetting::Terse) } else { args.test.format };
        if !matches!(format, Some(FormatSetting::Json)) {
            let name = text::safe(&redactor.text(&format!("{} {}", describe.name, describe.version)));
            let target = text::safe(&redactor.text(&args.target));
            anstream::println!("Running {count} vectors against {name} ({target})\n");
        }
        Printer { catalogue, args, format, redactor, progress: Progress::new(count), column: 0 }
    }

    /// Tells an event.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Begun { vector } => self.progress.begun(vector),
            Event::Finished { result } => {
                if let Some(line) = self.line(result) {
                    self.progress.aside(|| anstream::print!("{line}"));
                }
                self.progress.finished(result);
            }
        }
    }

    /// What is printed of a result while the run goes on.
    fn line(&mut self, result: &VectorResult) -> Option<String> {
        let style = text::style(result.outcome);
        let word = word(result.outcome);
        match self.format {
            Some(FormatSetting::Json) => {
                let line = serde_json::json!({
                    "vector": result.vector, "outcome": result.outcome, "reason": result.reason,
                    "failed_requirements": result.judgement.as_ref().map(|j| j.failed_requirements()),
                    "duration_ms": u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX),
                });
                Some(format!("{}\n", cetp_reports::json::text(&line).unwrap_or_default()))
            }
            Some(FormatSetting::Terse) => {
                let letter = match result.outcome {
                    Outcome::Pass => '.',
                    Outcome::Fail => 'F',
                    Outcome::Error => 'E',
                    Outcome::Warn => 'w',
                    Outcome::NotRun => 'n',
                    Outcome::NotApplicable => '-',
                };
                self.column += 1;
                let end = if self.column == text::WIDTH { "\n" } else { "" };
                self.column %= text::WIDTH;
                Some(format!("{style}{letter}{style:#}{end}"))
            }
            None if result.outcome == Outcome::Pass || result.outcome == Outcome::NotApplicable => None,
            Some(FormatSetting::Pretty) | None => Some(format!("{style}{word:>7}{style:#} {}\n", result.vector)),
        }
    }

    /// Tells what the run came to.
    pub fn summary(&mut self, report: &Report, results: &[VectorResult]) {
        self.progress.end();
        if matches!(self.format, Some(FormatSetting::Json)) {
            return;
        }
        if self.column > 0 {
            anstream::println!();
        }
        for result in results.iter().filter(|r| !matches!(r.outcome, Outcome::Pass | Outcome::NotApplicable)) {
            self.explain(result);
        }
        if report.interrupted {
            anstream::println!("The run was interrupted: what follows is about the vectors that were run.\n");
        }
        anstream::println!("{}", text::summary(report).trim_end());
    }

    /// A sentence about what was written or decided, where people read.
    pub fn remark(&self, words: &str) {
        if !matches!(self.format, Some(FormatSetting::Json)) {
            anstream::println!("{}", text::safe(words));
        }
    }

    fn explain(&self, result: &VectorResult) {
        let vector = self.catalogue.get(&result.vector).expect("results are about vectors of the catalogue");
        let style = text::style(result.outcome);
        anstream::println!("{style}{}{style:#} {}", word(result.outcome), vector.id);
        anstream::println!("{}", text::wrap(&vector.title, "  "));
        if result.judgement.is_none() || result.repeats.len() > 1 {
            anstream::println!("{}", text::wrap(result.reason.as_deref().unwrap_or_default(), "  "));
        }
        for finding in findings(result) {
            anstream::print!("{}", text::finding(finding, &self.catalogue.ledger));
        }
        if result.falls_short() && !result.diagnostics.trim().is_empty() {
            anstream::println!("  the target wrote:");
            anstream::println!("{}", text::wrap(result.diagnostics.trim(), "    "));
        }
        if result.transcript.is_some() {
            anstream::println!("  again: {}", text::safe(&self.redactor.text(&self.again(vector, result))));
        }
        anstream::println!();
    }

    /// The command that repeats a vector.
    fn again(&self, vector: &Vector, result: &VectorResult) -> String {
        let seed = result.transcript.as_ref().map_or(self.args.seed, |t| t.start.seed);
        let mut command = format!("cetp-conformance run --target {}", quoted(&self.args.target));
        if self.args.selection.suite != "cetp-v2" {
            command += &format!(" --suite {}", self.args.selection.suite);
        }
        if self.args.check_protocol {
            command += " --check-protocol";
        }
        if let Some(role) = &self.args.selection.role {
            command += &format!(" --role {role}");
        }
        if let Some(folder) = &self.args.vectors.vectors {
            command += &format!(" --vectors {}", quoted(&folder.display().to_string()));
        }
        if seed != 0 {
            command += &format!(" --seed {seed}");
        }
        command + &format!(" --exact {}", vector.id)
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:+=,@%".contains(c);
    if word.chars().all(plain) && !word.is_empty() {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "FAIL",
        Outcome::Error => "ERROR",
        Outcome::Warn => "warn",
        Outcome::NotRun => "not run",
        Outcome::NotApplicable => "n/a",
    }
}
