//! Controls of what is of high impact, and of what can do anything (§4.1, §4.3, §6.2, §11.1).

use crate::audit::executor;
use crate::audit::finding::{Desk, Severity};
use crate::audit::grade::Grade;
use crate::audit::tool::{Form, Provider, Tool};

/// Why scopes and confirmation are not judged.
const MCP: &str = "a listing like this has no scopes and no confirmation: what asks the user lies with the client";

/// TC-08.
pub fn high_impact(tool: &Tool, _: &Provider, desk: &mut Desk<'_>) {
    if tool.graded.grade.is_none() {
        return desk.unjudged(tool.graded.because.clone());
    }
    if tool.graded.grade != Some(Grade::T4) {
        return;
    }
    let because = &tool.graded.because;
    if tool.form != Form::V2 {
        return desk.unjudged(MCP);
    }
    // What only a name says is a sign; what is declared is plain.
    let severity = if tool.graded.declared { Severity::Finding } else { Severity::Hint };
    if !tool.always_confirmed() {
        let (pointer, is) = match &tool.declared.confirmation {
            Some(is) => ("/annotations/confirmation", format!("confirmation is {is}")),
            None => ("/annotations", "there is no confirmation".into()),
        };
        let seen = format!("High impact ({because}), and {is}.");
        desk.say(severity, pointer, seen, "Set confirmation to always: the user decides on each execution.");
    }
    if tool.scopes().is_empty() {
        let pointer = if tool.descriptor.get("scopes").is_some() { "/scopes" } else { "" };
        let seen = format!("High impact ({because}), and no scope is needed.");
        desk.say(severity, pointer, seen, "Give it a scope of its own.");
    }
}

/// TC-10.
pub fn executor(tool: &Tool, _: &Provider, desk: &mut Desk<'_>) {
    let high = tool.declared.risk.as_deref() == Some("high");
    for found in executor::find(tool) {
        let what = format!("{:?} takes {}", found.name, found.what());
        let narrow =
            "Better a narrow tool for each business action; else isolate it, with risk=high and confirmation=always.";
        let open = match tool.form {
            Form::V2 if high && tool.always_confirmed() => {
                desk.hint(&found.pointer, format!("A general executor: {what}. It is graded and confirmed."), narrow);
                continue;
            }
            Form::V2 => "it is not both risk=high and confirmation=always",
            _ if tool.is_read() => "it is said to be a read",
            _ if tool.declared.destructive == Some(false) => "it is said not to be destructive",
            _ => "the listing cannot say that it is confirmed",
        };
        let plain =
            found.runs() && (tool.form == Form::V2 || tool.is_read() || tool.declared.destructive == Some(false));
        let severity = if plain { Severity::Finding } else { Severity::Hint };
        desk.say(severity, &found.pointer, format!("A general executor: {what}, and {open}."), narrow);
    }
}
