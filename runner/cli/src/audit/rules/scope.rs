//! Least privilege (§4.2).

use crate::audit::finding::{Desk, Severity, quoted};
use crate::audit::tool::{Access, Form, Provider, Tool};
use crate::audit::words::{Words, tokens};

/// Words of a scope that say that it is for everything.
const EVERYTHING: Words =
    Words("all admin administrator root any full fullaccess everything superuser sudo access owner");

/// Words of a scope that say writing.
const WRITING: Words =
    Words("write admin manage edit modify create update delete send post publish pay full rw readwrite draft execute");

/// Words of a scope that say reading.
const READING: Words = Words("read readonly view list get search");

/// What a scope allows, and whether the catalogue says so.
fn access(scope: &str, provider: &Provider) -> (Option<Access>, bool) {
    if let Some(known) = provider.scopes.as_ref().and_then(|scopes| scopes.get(scope)) {
        return (Some(*known), true);
    }
    let words = tokens(scope);
    let says = |list: Words| list.has_any(&words);
    let guess = if says(WRITING) { Some(Access::Write) } else { says(READING).then_some(Access::Read) };
    (guess, false)
}

/// TC-09.
pub fn least(tool: &Tool, provider: &Provider, desk: &mut Desk<'_>) {
    if tool.form != Form::V2 {
        return desk.unjudged("a listing like this has no scopes");
    }
    let scopes = tool.scopes();
    for (n, scope) in scopes.iter().enumerate() {
        let words = tokens(scope);
        let wide = scope.contains('*') || words.iter().all(|word| EVERYTHING.has(word));
        if wide {
            let seen = format!("The scope {} is for everything.", quoted(scope));
            desk.finding(&format!("/scopes/{n}"), seen, "Take a scope of the tool's own subject.");
        }
    }
    if tool.writes() {
        let known: Vec<(Option<Access>, bool)> = scopes.iter().map(|scope| access(scope, provider)).collect();
        if scopes.is_empty() {
            let pointer = if tool.descriptor.get("scopes").is_some() { "/scopes" } else { "" };
            desk.finding(pointer, "The tool writes and needs no scope.", "Give it a write scope of its own subject.");
        } else if known.iter().all(|(access, _)| *access != Some(Access::Write)) {
            // A scope that says nothing may well be one of writing.
            let sure = known.iter().all(|(access, told)| *told && *access == Some(Access::Read));
            let severity = if sure { Severity::Finding } else { Severity::Hint };
            let seen = "The tool writes, and none of its scopes is known to be of writing.";
            desk.say(severity, "/scopes", seen, "Give it a write scope of its own subject.");
        }
    } else if tool.is_read() {
        for (n, scope) in scopes.iter().enumerate() {
            if let (Some(Access::Write), told) = access(scope, provider) {
                let severity = if told { Severity::Finding } else { Severity::Hint };
                let seen = format!("The tool reads, and needs the write scope {}.", quoted(scope));
                desk.say(severity, &format!("/scopes/{n}"), seen, "Let a read need a read scope only.");
            }
        }
    } else {
        desk.unjudged("neither annotations nor name say whether the tool reads or writes");
    }
}
