//! The grade of a tool, T0 to T4, as §4.1 of the text has it. The main function is [`grade`].
//!
//! Annotations come first. What the name says can only raise a grade: a descriptor that calls a payment an update is what a
//! reader wants to be told of. Where neither says anything there is no grade.

use super::executor::{self, Executor};
use super::tool::{Effect, Form, Tool};
use super::words::{Kind, Sure, prepares, tokens};
use schemars::JsonSchema;
use serde::Serialize;

/// The grades. What each means is in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub enum Grade {
    /// Pure computation.
    T0,
    /// Read.
    T1,
    /// Reversible write.
    T2,
    /// External communication or shared change.
    T3,
    /// High impact or hard to undo.
    T4,
}

impl Grade {
    /// The name in the ledger.
    pub fn name(self) -> &'static str {
        match self {
            Grade::T0 => "T0",
            Grade::T1 => "T1",
            Grade::T2 => "T2",
            Grade::T3 => "T3",
            Grade::T4 => "T4",
        }
    }
}

/// A grade with its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graded {
    /// Nothing where neither annotations nor name say.
    pub grade: Option<Grade>,
    /// Why, in words.
    pub because: String,
    /// True where it rests on annotations; false where the name or a parameter gave or raised it.
    pub declared: bool,
}

impl Graded {
    /// Whether it is at least a grade.
    pub fn at_least(&self, grade: Grade) -> bool {
        self.grade.is_some_and(|is| is >= grade)
    }
}

/// Grades a tool.
pub fn grade(tool: &Tool) -> Graded {
    let declared = by_annotations(tool);
    let raised = by_executor(tool).or_else(|| by_name(tool));
    match (declared, raised) {
        (Some((grade, because)), Some((higher, why))) if higher > grade => {
            Graded { grade: Some(higher), because: format!("{why}, though {because}"), declared: false }
        }
        (Some((grade, because)), _) => Graded { grade: Some(grade), because, declared: true },
        (None, Some((grade, because))) => Graded { grade: Some(grade), because, declared: false },
        (None, None) => {
            Graded { grade: None, because: "neither annotations nor name say what it does".into(), declared: false }
        }
    }
}

fn by_annotations(tool: &Tool) -> Option<(Grade, String)> {
    let declared = &tool.declared;
    let words = declared.effect_words.clone();
    // In MCP the hint counts for tools that are not read-only alone.
    let destroys = declared.destructive == Some(true) && !(tool.form == Form::Mcp && tool.is_read());
    match declared.effect {
        Some(Effect::Delete | Effect::Transaction) => return Some((Grade::T4, words)),
        _ if destroys => return Some((Grade::T4, "it is declared destructive".into())),
        _ if declared.risk.as_deref() == Some("high") => return Some((Grade::T4, "risk=high".into())),
        _ => {}
    }
    let open = declared.open_world == Some(true);
    match declared.effect? {
        Effect::Read => {
            let computes = tool.action.kind == Kind::Read && tool.action.computes();
            // Without a word about the world outside it may read what it compares or checks.
            let inside = match tool.form {
                Form::V2 => !open && tool.scopes().is_empty(),
                Form::Mcp => declared.open_world == Some(false),
                Form::V1 => false,
            };
            if computes && inside {
                let why = format!("{words}, it reaches nothing outside, and {:?} computes", tool.action.word);
                return Some((Grade::T0, why));
            }
            Some((Grade::T1, words))
        }
        _ if open => Some((Grade::T3, format!("{words}, and it reaches other systems"))),
        _ => Some((Grade::T2, words)),
    }
}

fn by_name(tool: &Tool) -> Option<(Grade, String)> {
    let action = &tool.action;
    let word = &action.word;
    match action.kind {
        Kind::Unknown => None,
        Kind::Read if tool.declared.effect.is_some() => None,
        Kind::Read => Some((Grade::T1, format!("the name says {word:?}"))),
        // A noun (an order, a transfer) is no reason against what is declared.
        Kind::Write if tool.is_read() && action.sure < Sure::Plain => None,
        Kind::Write if tool.declared.effect.is_some() && action.sure == Sure::Faint => None,
        Kind::Write if prepares(&tokens(&tool.name)) => {
            Some((Grade::T2, format!("the name says {word:?}, of what is only prepared")))
        }
        Kind::Write if action.is_grave() || (action.communicates() && moves_money(tool)) => {
            Some((Grade::T4, format!("the name says {word:?}")))
        }
        Kind::Write if action.communicates() => Some((Grade::T3, format!("the name says {word:?}"))),
        Kind::Write => Some((Grade::T2, format!("the name says {word:?}"))),
    }
}

/// Whether money is the object of a name.
fn moves_money(tool: &Tool) -> bool {
    tokens(&tool.name).last().is_some_and(|last| ["money", "funds", "payment"].contains(&last.as_str()))
}

fn by_executor(tool: &Tool) -> Option<(Grade, String)> {
    let found = executor::find(tool).into_iter().find(Executor::runs)?;
    Some((Grade::T4, format!("its parameter {:?} is {}", found.name, found.what())))
}
