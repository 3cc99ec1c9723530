//! Whether a condition of a vector holds.

use crate::expr::Scope;
use crate::matching::{Match, Matcher};
use crate::model::Assertion;
use serde_json::Value as Json;

impl Assertion {
    /// Whether it holds in a scope. `answer` is what a condition without `that` is about.
    pub fn holds(&self, answer: Option<&Json>, scope: &dyn Scope) -> Match {
        Matcher { scope, reasons: true }.assertion(self, answer)
    }

    /// The same where nobody reads why not: a No has no reasons.
    pub fn applies(&self, answer: Option<&Json>, scope: &dyn Scope) -> Match {
        Matcher { scope, reasons: false }.assertion(self, answer)
    }
}
