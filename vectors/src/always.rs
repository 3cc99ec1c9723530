//! The rules that every message of a suite has to keep. The main type is [`Always`].
//!
//! Most rules do not apply to most messages, and many of them ask the same: whether it is a call of version 2, whether it
//! succeeded. So each different condition is asked once for a message, and only where a rule comes to it.

use crate::machine::View;
use crate::matching::Match;
use crate::model::{Assertion, Expectation};
use std::collections::HashMap;
use std::sync::Arc;

/// The rules of every message, with what their conditions have in common.
#[derive(Debug, Default)]
pub struct Always {
    rules: Vec<Rule>,
    /// Every different condition, once.
    conditions: Vec<Assertion>,
}

#[derive(Debug)]
struct Rule {
    expectation: Arc<Expectation>,
    /// Places in [`Always::conditions`] of all that have to hold.
    when: Vec<usize>,
}

/// What was asked of one message, see [`Always::asked`].
pub struct Asked<'a> {
    always: &'a Always,
    /// By the place of the condition.
    answers: Vec<Option<Match>>,
}

impl Always {
    /// From expectations, each with its own conditions.
    pub fn new(expectations: Vec<Arc<Expectation>>) -> Always {
        let mut always = Always::default();
        let mut places = HashMap::new();
        for expectation in expectations {
            let mut when = Vec::new();
            for condition in expectation.when.iter().flat_map(conjuncts) {
                // As it is written: an equal pattern with its members in another order may give another reason.
                let place = *places.entry(format!("{condition:?}")).or_insert_with(|| {
                    always.conditions.push(condition.clone());
                    always.conditions.len() - 1
                });
                when.push(place);
            }
            always.rules.push(Rule { expectation, when });
        }
        always
    }

    /// The rules, in their order.
    pub fn expectations(&self) -> impl Iterator<Item = &Expectation> {
        self.rules.iter().map(|rule| rule.expectation.as_ref())
    }

    /// To ask which rules apply to one message; what is visible must not change meanwhile.
    pub fn asked(&self) -> Asked<'_> {
        Asked { always: self, answers: vec![None; self.conditions.len()] }
    }
}

/// What has to hold for a condition to hold: all of a list, each by itself.
fn conjuncts(condition: &Assertion) -> Vec<&Assertion> {
    match condition {
        Assertion::AllOf(list) => list.iter().flat_map(conjuncts).collect(),
        one => vec![one],
    }
}

impl Asked<'_> {
    /// Whether the rule at a place applies; a No has no reasons.
    pub fn applies(&mut self, rule: usize, view: &View<'_>) -> Match {
        let Asked { always, answers } = self;
        let mut open = Vec::new();
        for place in &always.rules[rule].when {
            match answers[*place].get_or_insert_with(|| view.applies(&always.conditions[*place])) {
                Match::Yes => {}
                // Whatever the others say.
                Match::No(_) => return Match::No(Vec::new()),
                other => open.push(other.clone()),
            }
        }
        Match::all(open)
    }
}
