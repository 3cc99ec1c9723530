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
        } else if any(Outcome::Fail)
            || any(Outcome::NotRun)
            || (self.deny_warn && any(Outcome::Warn))
            || !comparison.stale.is_empty()
        {
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

#[cfg(test)]
mod tests {
    use super::*;
    use cetp_vectors::ledger::Role;
    use std::collections::BTreeMap;

    fn row(outcome: Outcome) -> VectorRow {
        VectorRow {
            vector: "cetp2/provider/6/x".into(),
            requirements: Vec::new(),
            judged_requirements: Vec::new(),
            failed_requirements: Vec::new(),
            warned_requirements: Vec::new(),
            level: "core".into(),
            role: Role::Provider,
            outcome,
            reason: Some("why".into()),
            duration_ms: 0,
            repeats: BTreeMap::new(),
            diagnostics: None,
            transcript: None,
        }
    }

    fn exit(outcomes: &[Outcome], deny_warn: bool) -> Exit {
        let rows: Vec<VectorRow> = outcomes.iter().map(|outcome| row(*outcome)).collect();
        let gate = Gate { rows: &rows, deny_warn, interrupted: false, fault: false };
        gate.exit(None, &Catalogue::embedded(), false, true, &|_| ())
    }

    #[test]
    fn the_codes_are_those_of_the_manual() {
        use Outcome::{Error, Fail, NotApplicable, NotRun, Pass, Warn};
        for (outcomes, deny_warn, code) in [
            (&[Pass, NotApplicable][..], false, Exit::Good),
            (&[Pass, Warn], false, Exit::Good),
            (&[Pass, Warn], true, Exit::FallsShort),
            (&[Pass, Fail, Error], false, Exit::FallsShort),
            (&[Pass, NotRun], false, Exit::FallsShort),
            (&[Pass, Error], false, Exit::Target),
            (&[NotApplicable], false, Exit::FallsShort),
            (&[], false, Exit::FallsShort),
        ] {
            assert_eq!(exit(outcomes, deny_warn), code, "{outcomes:?}");
        }
    }

    #[test]
    fn an_interruption_is_told_as_such() {
        let rows = [row(Outcome::Fail)];
        let gate = Gate { rows: &rows, deny_warn: false, interrupted: true, fault: false };
        assert_eq!(gate.exit(None, &Catalogue::embedded(), false, false, &|_| ()), Exit::Interrupted);
    }
}
