//! How a run exits. The main type is [`Gate`].

use crate::exit::Exit;
use cetp_reports::baseline::{Baseline, UNEXPLAINED};
use cetp_reports::model::VectorRow;
use cetp_vectors::judge::Outcome;
use cetp_vectors::load::Catalogue;

/// What decides how a run exits.
pub struct Gate<'g> {
    /// The results.
    pub rows: &'g [VectorRow],
    /// Whether a warning falls short.
    pub deny_warn: bool,
    /// The user ended the run.
    pub interrupted: bool,
    /// The suite itself broke.
    pub fault: bool,
}

impl Gate<'_> {
    /// The exit code; what the baseline has to say of it is told by `tell`. `whole` is whether the run came to its end: only
    /// then an entry can be stale.
    pub fn exit(
        &self,
        baseline: Option<&Baseline>,
        catalogue: &Catalogue,
        updates: bool,
        whole: bool,
        tell: &dyn Fn(&str),
    ) -> Exit {
        let mut comparison = baseline.map(|baseline| baseline.compare(self.rows, catalogue)).unwrap_or_default();
        if updates || !whole {
            comparison.stale.clear();
        }
        if let Some(baseline) = baseline.filter(|_| !updates) {
            tell(&format!("Baseline: {} fall short as expected.", comparison.expected.len()));
            for line in &comparison.stale {
                tell(&format!("Baseline, no longer so: {line}"));
            }
            let unexplained = baseline.expected.iter().filter(|entry| entry.why == UNEXPLAINED).count();
            if unexplained > 0 {
                tell(&format!("Baseline: {unexplained} entries are {UNEXPLAINED}."));
            }
        }
        let unexpected = |row: &&VectorRow| !updates && !comparison.expected.contains(&row.vector);
        let any = |outcome| self.rows.iter().filter(unexpected).any(|row| row.outcome == outcome);
        let tested = |row: &VectorRow| row.outcome != Outcome::NotApplicable;
        if self.fault {
            Exit::OwnFault
        } else if self.interrupted {
            Exit::Interrupted
        } else if any(Outcome::Fail) || any(Outcome::NotRun) || (self.deny_warn && any(Outcome::Warn)) {
            Exit::FallsShort
        } else if !comparison.stale.is_empty() {
            Exit::FallsShort
        } else if any(Outcome::Error) {
            Exit::Target
        } else if !self.rows.iter().any(tested) {
            // Where nothing was applicable, nothing was tested.
            Exit::FallsShort
        } else {
            Exit::Good
        }
    }
}
