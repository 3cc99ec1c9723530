//! What the schema of the arguments lets through (§2.1, §3.3).

use crate::audit::finding::{Desk, Severity, quoted};
use crate::audit::shape::{Value, values};
use crate::audit::tool::{Provider, Tool};
use crate::audit::words::{Words, may_read, may_write, tokens};
use serde_json::Value as Json;

/// Parameters that choose what a tool does.
const CHOOSERS: Words = Words(
    "action actions operation operations op method command cmd verb function function_name tool tool_name task \
     action_name action_type operation_type operation_name api intent",
);

/// Whether any object may come for a value: no member of it is declared.
fn free_object(value: &Value<'_>) -> bool {
    let typed = value.types();
    typed.contains(&"object")
        && value.members().is_empty()
        && !value.is_closed()
        && !value.is_listed()
        && !value.has_alternatives()
        && !value.has_any(&["patternProperties", "propertyNames"])
        && !value.all.iter().any(|schema| schema.get("additionalProperties").is_some_and(shaped))
}

/// Whether a schema says anything.
fn shaped(schema: &Json) -> bool {
    schema.as_object().is_some_and(|members| !members.is_empty())
}

/// Whether anything may come for a value.
fn untyped(value: &Value<'_>) -> bool {
    value.types().is_empty()
        && !value.never
        && !value.is_listed()
        && !value.has_alternatives()
        && !value.has_any(&[
            "properties",
            "items",
            "prefixItems",
            "patternProperties",
            "additionalProperties",
            "pattern",
            "maxLength",
            "format",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "maxItems",
            "not",
            "required",
            "$recursiveRef",
        ])
}

/// TC-03.
pub fn universal(tool: &Tool, _: &Provider, desk: &mut Desk<'_>) {
    const DO: &str = "Make one tool of each action, each with parameters, scopes and annotations of its own.";
    let Some((pointer, schema)) = tool.input() else { return };
    let values = values(pointer, schema);
    let parameters: Vec<&Value<'_>> =
        values.list.iter().filter(|value| value.depth == 1 && !value.name.is_empty() && !value.alternative).collect();
    let payload = parameters.iter().find(|value| {
        let named = Words("payload params parameters args arguments data body input options json kwargs request");
        let text = value.is_text() && named.has(&value.snake_name()) && !value.is_listed();
        free_object(value) || untyped(value) || text
    });
    for chooser in parameters.iter().filter(|value| CHOOSERS.has(&value.snake_name())) {
        let name = quoted(&chooser.name);
        if chooser.is_listed() {
            let listed =
                chooser.keyword("enum").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
            let first: Vec<String> = listed.filter_map(|choice| tokens(choice).first().cloned()).collect();
            let mixed = first.iter().any(|word| may_read(word)) && first.iter().any(|word| may_write(word));
            if mixed {
                let seen = format!("{name} chooses between reading and writing: several tools in one.");
                desk.hint(&chooser.pointer, seen, DO);
            } else if let Some(payload) = payload.filter(|_| first.len() > 1) {
                let free = quoted(&payload.name);
                desk.hint(&chooser.pointer, format!("{name} chooses between actions that share the free {free}."), DO);
            }
        } else if let Some(payload) = payload.filter(|payload| payload.pointer != chooser.pointer)
            && chooser.may_be("string")
            && !chooser.has_any(&["pattern", "format"])
        {
            let seen = format!("{name} is any text beside the free {}: an entry for anything.", quoted(&payload.name));
            desk.finding(&chooser.pointer, seen, DO);
        }
    }
}

/// TC-04.
pub fn bounded(tool: &Tool, _: &Provider, desk: &mut Desk<'_>) {
    let Some((pointer, schema)) = tool.input() else { return };
    let values = values(pointer, schema);
    for value in values.list.iter().filter(|value| value.pointer != pointer && !value.never) {
        // What is told by alternatives is judged by each of them; where the whole is bounded, each of them is.
        if value.has_alternatives() || value.is_listed() {
            continue;
        }
        if value.alternative && value.depth == 0 {
            continue;
        }
        if untyped(value) {
            // An alternative may only say what is required; the value that it belongs to has been judged.
            if !value.alternative {
                desk.finding(&value.pointer, "Any value is taken: it has no type.", "Give it a type, and bounds.");
            }
            continue;
        }
        if free_object(value) {
            let advice = "Declare its members, or the schema of what may be in it.";
            desk.finding(&value.pointer, "Any object is taken: none of its members is declared.", advice);
        }
        let types = value.types();
        let text = types.contains(&"string");
        if text && !value.has_any(&["format", "pattern", "maxLength"]) {
            let advice = "Give it an enum, a format, a pattern or a maxLength; free text needs a maxLength at least.";
            desk.finding(&value.pointer, "A text without enum, format, pattern or maxLength.", advice);
        }
        let number = types.iter().any(|name| ["integer", "number"].contains(name));
        let ranges = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
        if number && !value.has_any(&ranges) {
            desk.finding(&value.pointer, "A number without a range.", "Give it a minimum and a maximum, or an enum.");
        }
        let tuple = value.has("prefixItems") && value.keyword("items") == Some(&Json::Bool(false));
        if types.contains(&"array") {
            if !value.has("maxItems") && !tuple {
                desk.finding(&value.pointer, "An array without maxItems.", "Say how many elements it has at most.");
            }
            if !value.has_any(&["items", "prefixItems", "unevaluatedItems"]) {
                desk.finding(&value.pointer, "An array of anything.", "Give its items a schema.");
            }
        }
    }
}

/// TC-05.
pub fn closed(tool: &Tool, _: &Provider, desk: &mut Desk<'_>) {
    let Some((pointer, schema)) = tool.input() else {
        desk.finding(
            "",
            "There is no schema of the arguments.",
            "Declare one; a tool without arguments takes a closed, empty object.",
        );
        return;
    };
    let values = values(pointer, schema);
    for value in &values.list {
        let whole = value.depth == 0 && !value.alternative;
        let objects = value.types().contains(&"object") || value.has("properties");
        if value.has_alternatives() || value.never || (!whole && (!objects || value.members().is_empty())) {
            continue;
        }
        // Of alternatives of the whole each is as much the whole.
        let severity = if value.depth == 0 { Severity::Finding } else { Severity::Hint };
        if value.depth == 0 && !objects && !value.alternative {
            desk.finding(
                &value.pointer,
                "The arguments are not said to be an object.",
                "Give the schema the type object.",
            );
            continue;
        }
        if !value.is_closed() && objects {
            let advice = "Set additionalProperties (or unevaluatedProperties) to false.";
            desk.say(severity, &value.pointer, "Members that are not declared are let through.", advice);
        }
        let members = value.members();
        if value.depth == 0 && !members.is_empty() && !value.has("required") {
            let advice = "Name what is required; where nothing is, say so with an empty list.";
            desk.say(Severity::Finding, &value.pointer, "It names no required member.", advice);
        }
        for name in value.required() {
            if value.is_closed() && !members.contains(&name) && !value.has("patternProperties") {
                let seen = format!(
                    "{} is required and not declared: nothing can satisfy a closed schema like that.",
                    quoted(name)
                );
                desk.finding(&value.pointer, seen, "Declare it, or do not require it.");
            }
        }
    }
}
