//! Reading and writing are apart (§4, §14.1).

use crate::audit::finding::{Desk, Severity, quoted};
use crate::audit::tool::{Form, Provider, Tool};
use crate::audit::words::{self, Kind, Sure, may_read, may_write, tokens, writes};

/// Names in which `and` joins no two acts.
const IDIOMS: &[&[&str]] = &[&["find", "replace"], &["search", "replace"], &["drag", "drop"], &["copy", "paste"]];

/// TC-07.
pub fn apart(tool: &Tool, provider: &Provider, desk: &mut Desk<'_>) {
    let joined = joins(tool, desk);
    if tool.is_read() {
        if !joined {
            says_writing(tool, desk);
        }
    } else if !joined
        && tool.declared.effect.is_some()
        && tool.action.kind == Kind::Read
        && tool.action.sure == Sure::Plain
    {
        let seen =
            format!("The name says {:?}, and the tool writes ({}).", tool.action.word, tool.declared.effect_words);
        desk.hint("/name", seen, "Name the write, or part it from the read.");
    } else if tool.declared.effect.is_none() && tool.form == Form::Mcp {
        desk.unjudged("nothing declares whether the tool reads or writes (readOnlyHint)");
    }
    let v2 = provider.tools.iter().find(|other| other.form == Form::V2 && other.name == tool.name);
    if let (Form::V1, Some(v2)) = (tool.form, v2)
        && v2.writes()
    {
        let seen = format!("v1 lists a tool that writes ({}): v1 is read-only.", v2.declared.effect_words);
        desk.finding("/name", seen, "Show writing tools by v2 only.");
    }
}

/// A name or description that goes with reading and says writing.
fn says_writing(tool: &Tool, desk: &mut Desk<'_>) {
    let declared = &tool.declared.effect_words;
    let advice = "Declare the effect that it has; where it only reads, name and describe what it reads.";
    let action = &tool.action;
    if action.kind == Kind::Write && action.sure > Sure::Faint {
        let severity = if action.sure == Sure::Plain { Severity::Finding } else { Severity::Hint };
        desk.say(
            severity,
            "/name",
            format!("The name says {:?}, and the tool is a read ({declared}).", action.word),
            advice,
        );
    }
    for member in ["title", "description"] {
        let opening = words::opening(tool.text(member));
        if opening.kind != Kind::Write {
            continue;
        }
        let seen = format!("The {member} begins with {:?}, and the tool is a read ({declared}).", opening.word);
        // A summary or a hash is created too, and nothing is changed by it.
        let makes = ["create", "创建", "新建", "add", "start", "set"].contains(&opening.word.as_str());
        let severity = if opening.sure == Sure::Plain && !makes { Severity::Finding } else { Severity::Hint };
        desk.say(severity, &format!("/{member}"), seen, advice);
    }
    if let Some(word) = words::joined(tool.text("description")) {
        let seen = format!("The description goes on to {word:?} after a read, and the tool is a read ({declared}).");
        desk.hint("/description", seen, "Part the write from the read.");
    }
}

/// A name that joins two acts; whether it does. An idiom does, and nothing is wrong with it.
fn joins(tool: &Tool, desk: &mut Desk<'_>) -> bool {
    const DO: &str =
        "Make a tool of each: read, preview, execute, verify. An approval can then be of what is really done.";
    let mut joined = false;
    let words = tokens(&tool.name);
    let joint = |word: &String| ["and", "then", "n"].contains(&word.as_str());
    for at in words.iter().enumerate().filter(|(_, word)| joint(word)).map(|(at, _)| at) {
        let (left, right) = (&words[..at], &words[at + 1..]);
        let (Some(before), Some(after)) = (left.last(), right.first()) else { continue };
        let idiom =
            |pair: &&[&str]| left.iter().any(|word| word == pair[0]) && right.iter().any(|word| word == pair[1]);
        if IDIOMS.iter().any(idiom) {
            joined = true;
            continue;
        }
        // "author_and_book" joins nouns; "search_and_book" and "search_books_and_send" do not.
        let acts = |word: &String| may_read(word) || may_write(word);
        let right_writes = writes(after) || (may_write(after) && acts(before));
        let left_writes = left.iter().any(|word| writes(word)) || left.first().is_some_and(|word| may_write(word));
        let left_reads = left.iter().any(|word| may_read(word));
        let right_reads = may_read(after) && (acts(before) || left.first().is_some_and(acts));
        let shown = quoted(&tool.name);
        joined |= right_writes || left_writes && right_reads && !left_reads;
        if right_writes && left_reads || left_writes && right_reads && !left_reads {
            desk.finding("/name", format!("The name {shown} joins a read and a write."), DO);
        } else if right_writes {
            desk.hint("/name", format!("The name {shown} joins a write to something else."), DO);
        }
    }
    if tool.name.chars().any(words::is_han)
        && let Some(word) = words::joined(&tool.name)
    {
        desk.finding("/name", format!("The name {} joins {word} to a read.", quoted(&tool.name)), DO);
        joined = true;
    }
    joined
}
