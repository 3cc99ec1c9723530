//! The tools of a provider beside each other (§2.2, §2.3, §3.5, §10.2).

use crate::audit::finding::{Desk, Severity};
use crate::audit::grade::Grade;
use crate::audit::shape::values;
use crate::audit::tool::{Form, Provider, Tool};
use crate::audit::words::{Words, is_han, is_verb, prepares, singular, tokens};
use std::collections::BTreeSet;

/// Tools above which a hint is given. The text has no number but speaks of hundreds as too many; this is about where lists
/// begin to be long for a reader.
pub const MANY_TOOLS: usize = 50;

/// Bytes of all descriptors above which a hint is given: what a provider of CETP v2 takes for one request at least.
pub const MANY_BYTES: usize = 64 * 1024;

/// Words that are no object.
const NO_OBJECT: Words =
    Words("and or then of to from for by in on with the a an all new id one many bulk batch now async state result");

/// The objects that a name is about, and the words before them that every tool of the provider has.
fn objects(name: &str, common: Option<&str>) -> BTreeSet<String> {
    let words = tokens(name);
    let verb_first = words.first().is_some_and(|first| is_verb(first));
    let mut out: BTreeSet<String> = BTreeSet::new();
    for (n, word) in words.iter().enumerate() {
        let lone = words.len() > 1 && n == 0 && verb_first;
        // An ambiguous verb behind another is an object: get_order.
        let act = is_verb(word) && (lone || !verb_first);
        if !act && !NO_OBJECT.has(word) && common != Some(word.as_str()) {
            out.insert(singular(word));
        }
    }
    out
}

/// The first word of every name, where all have the same: the app's own.
fn common(provider: &Provider) -> Option<String> {
    let firsts: BTreeSet<String> =
        provider.tools.iter().filter_map(|tool| tokens(&tool.name).first().cloned()).collect();
    (provider.tools.len() > 1 && firsts.len() == 1).then(|| firsts.into_iter().next()).flatten()
}

/// What some tools are about, by their names.
struct About<'c> {
    common: Option<&'c str>,
    objects: BTreeSet<String>,
    /// One of them is about the app as a whole: nothing but the app's own word is left of its name.
    whole: bool,
    any: bool,
}

impl<'c> About<'c> {
    fn new<'t>(tools: impl Iterator<Item = &'t Tool>, common: Option<&'c str>) -> About<'c> {
        let mut about = About { common, objects: BTreeSet::new(), whole: false, any: false };
        for tool in tools {
            let objects = objects(&tool.name, common);
            about.any = true;
            about.whole |= common.is_some() && objects.is_empty();
            about.objects.extend(objects);
        }
        about
    }

    /// Whether one of them is about what a tool is about.
    fn covers(&self, tool: &Tool) -> bool {
        let mine = objects(&tool.name, self.common);
        self.any && (self.whole || mine.is_empty() || mine.intersection(&self.objects).next().is_some())
    }
}

/// Whether a tool asks somebody to decide.
fn asks_for_approval(words: &[String]) -> bool {
    words.first().is_some_and(|word| word == "request") && words.iter().any(|word| word == "approval")
}

/// TC-13.
pub fn verifiable(provider: &Provider, desk: &mut Desk<'_>) {
    let common = common(provider);
    let reads = || provider.tools.iter().filter(|tool| !tool.writes() && tool.graded.grade.is_some());
    let names: BTreeSet<&str> = reads().map(|tool| tool.name.as_str()).collect();
    let about = About::new(reads(), common.as_deref());
    for tool in &provider.tools {
        let words = tokens(&tool.name);
        if tool.graded.grade.is_none() {
            desk.of(tool).unjudged(tool.graded.because.clone());
            continue;
        }
        // What a draft is comes back with it. Whether somebody decides is an event, not a state to be read.
        if !tool.writes() || prepares(&words) || asks_for_approval(&words) || tool.form == Form::V1 {
            continue;
        }
        let advice = "Offer a read of the same object (a status or get) and name it in the description.";
        let mut said = tool.text("description").split(|c: char| !c.is_ascii_alphanumeric() && !"_-.".contains(c));
        let named = said.any(|word| names.contains(word.trim_end_matches('.')));
        let chinese = tool.name.chars().any(is_han);
        if names.is_empty() {
            desk.of(tool).finding(
                "",
                "The tool writes, and the provider has no read to verify the final state with.",
                advice,
            );
        } else if chinese && !named {
            desk.of(tool).unjudged("a name without spaces does not tell its object");
        } else if !named && !about.covers(tool) {
            desk.of(tool).hint("", "The tool writes, and no read seems to be about the same object.", advice);
        }
    }
}

/// TC-14.
pub fn previewed(provider: &Provider, desk: &mut Desk<'_>) {
    let common = common(provider);
    let drafts = provider.tools.iter().filter(|tool| prepares(&tokens(&tool.name)));
    let drafts = About::new(drafts, common.as_deref());
    for tool in provider.tools.iter().filter(|tool| tool.form != Form::V1) {
        if tool.graded.grade.is_none() {
            desk.of(tool).unjudged(tool.graded.because.clone());
            continue;
        }
        if !tool.graded.at_least(Grade::T3) || !tool.writes() || tool.always_confirmed() {
            continue;
        }
        let words = tokens(&tool.name);
        // To ask for an approval is the step before.
        if prepares(&words) || asks_for_approval(&words) || drafts.covers(tool) || refers_to_preview(tool) {
            continue;
        }
        let grade = tool.graded.grade.map_or("", Grade::name);
        let mut seen = format!("{grade} ({}), and neither a preview or draft comes before it", tool.graded.because);
        // A listing of MCP cannot say that the user is asked each time.
        let (severity, rest) = match tool.form {
            Form::V2 if tool.graded.declared => (Severity::Finding, " nor does the user always confirm."),
            Form::V2 => (Severity::Hint, " nor does the user always confirm."),
            _ => (Severity::Hint, ", nor can the listing say that the user confirms."),
        };
        seen.push_str(rest);
        let advice = "Offer a tool that shows exactly what would be executed, or set confirmation to always.";
        desk.of(tool).say(severity, "", seen, advice);
    }
}

/// Whether a parameter refers to what was previewed or approved, or asks for a trial.
fn refers_to_preview(tool: &Tool) -> bool {
    let Some((pointer, schema)) = tool.input() else { return false };
    values(pointer, schema).list.iter().any(|value| {
        let words = tokens(&value.name);
        let about = ["preview", "draft", "approval", "proposal", "quote"];
        let refers = words.iter().any(|word| about.contains(&word.as_str()))
            && words.last().is_some_and(|last| ["id", "ref", "token", "version", "hash"].contains(&last.as_str()));
        refers || ["dry_run", "preview_only", "validate_only"].contains(&words.join("_").as_str())
    })
}

/// Bytes of the descriptors, and of the schemas in them, written without spaces.
pub fn bytes(provider: &Provider) -> (usize, usize) {
    let descriptors = provider.tools.iter().map(|tool| tool.descriptor.to_string().len()).sum();
    let schemas = provider.tools.iter().flat_map(|tool| [tool.input(), tool.output()]).flatten();
    (descriptors, schemas.map(|(_, schema)| schema.to_string().len()).sum())
}

/// TC-20.
pub fn size(provider: &Provider, desk: &mut Desk<'_>) {
    let count = provider.tools.len();
    let (all, _) = bytes(provider);
    if count > MANY_TOOLS || all > MANY_BYTES {
        let seen = format!(
            "{count} tools of {all} bytes in all; above {MANY_TOOLS} tools or {MANY_BYTES} bytes a model is likely to confuse them."
        );
        let advice =
            "Part them into packages, show an index first and full schemas on demand, or offer a search of tools.";
        desk.hint("", seen, advice);
    }
}
