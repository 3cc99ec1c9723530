//! How far a run is, on stderr. The main type is [`Progress`].
//!
//! On a terminal it is a line that is drawn again and again; elsewhere a plain counter, rarely, so that a log shows that
//! something happens without being filled by it.

use cetp_runner::engine::VectorResult;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How far a run is.
pub struct Progress {
    bar: Option<ProgressBar>,
    total: usize,
    done: usize,
    short: usize,
    told: Instant,
    running: Vec<String>,
}

/// Time between two lines of the plain counter.
const PLAIN_EVERY: Duration = Duration::from_secs(15);

impl Progress {
    /// A run of so many vectors begins.
    pub fn new(total: usize) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:24.cyan/dim} {pos}/{len} {prefix} {wide_msg:.dim}");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Progress { bar, total, done: 0, short: 0, told: Instant::now(), running: Vec::new() }
    }

    /// A vector begins.
    pub fn begun(&mut self, vector: &str) {
        self.running.push(vector.to_owned());
        self.draw();
    }

    /// A vector is over.
    pub fn finished(&mut self, result: &VectorResult) {
        self.running.retain(|vector| *vector != result.vector);
        self.done += 1;
        self.short += usize::from(result.falls_short());
        self.draw();
        if self.bar.is_none() && self.told.elapsed() >= PLAIN_EVERY && self.done < self.total {
            self.told = Instant::now();
            anstream::eprintln!("{} of {} vectors, {} fell short", self.done, self.total, self.short);
        }
    }

    /// Prints something else; the line makes room for it.
    pub fn aside(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// The run is over.
    pub fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn draw(&self) {
        let Some(bar) = &self.bar else { return };
        bar.set_position(self.done as u64);
        bar.set_prefix(if self.short == 0 { String::new() } else { format!("{} fell short", self.short) });
        // The one that has run longest is the one that a person wonders about.
        bar.set_message(self.running.first().cloned().unwrap_or_default());
    }
}
