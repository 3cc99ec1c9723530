//! Whether a condition of a vector holds.

use crate::expr::Scope;
use crate::model::Assertion;
use crate::pattern::{self, Match, Mismatch};
use serde_json::{Value as Json, json};

impl Assertion {
    /// Whether it holds in a scope. `answer` is what a condition without `that` is about.
    pub fn holds(&self, answer: Option<&Json>, scope: &dyn Scope) -> Match {
        let each = |list: &[Assertion]| -> Vec<Match> { list.iter().map(|a| a.holds(answer, scope)).collect() };
        match self {
            Assertion::Is { that: None, is } => pattern::matches(is, answer, scope),
            Assertion::Is { that: Some(that), is } => pattern::value_matches(that, is, scope),
            Assertion::AnyOf(list) => Match::any(each(list)),
            Assertion::AllOf(list) => Match::all(each(list)),
            Assertion::NoneOf(list) => Match::any(each(list)).negated(|| Mismatch {
                pointer: String::new(),
                expected: json!("none of the excluded cases"),
                actual: answer.cloned(),
            }),
        }
    }
}
