//! What the schema of the result promises (§3.4, §8.1).

use crate::audit::finding::{Desk, quoted};
use crate::audit::grade::Grade;
use crate::audit::shape::{Value, values};
use crate::audit::tool::{Form, Provider, Tool};
use crate::audit::words::{Words, singular, tokens};

/// Why nothing of a result is judged.
fn no_output(tool: &Tool) -> &'static str {
    match tool.form {
        Form::V1 => "a listing of v1 says nothing of results",
        _ => "there is no schema of the result (TC-06)",
    }
}

/// TC-06.
pub fn structured(tool: &Tool, _: &Provider, desk: &mut Desk<'_>) {
    const DO: &str = "Make the result an object with named members, so that each can be relied on.";
    if tool.form == Form::V1 {
        return desk.unjudged(no_output(tool));
    }
    let Some((pointer, schema)) = tool.output() else {
        return desk.finding("", "There is no schema of the result.", DO);
    };
    let values = values(pointer, schema);
    for value in values.list.iter().filter(|value| value.depth == 0 && value.name.is_empty()) {
        // Elements of an array are values of their own, and behind the array that is told.
        let element = value.pointer != pointer && !value.alternative;
        if element || value.has_alternatives() || value.never || value.types() == ["null"] {
            continue;
        }
        let types = value.types();
        if !(types.contains(&"object") || (types.is_empty() && value.has("properties"))) {
            let what = if types.is_empty() { "anything".to_owned() } else { types.join(" or ") };
            desk.finding(&value.pointer, format!("The result is no object: its type is {what}."), DO);
            continue;
        }
        let members = value.members();
        let texts = Words("result results output text message response content data answer");
        match members.as_slice() {
            [] => desk.finding(&value.pointer, "The result is an object without a declared member.", DO),
            [one] if texts.has(one) => {
                let only = values.list.iter().find(|member| member.depth == 1 && member.name == **one);
                if only.is_some_and(|member| member.is_text() && !member.is_listed() && !member.has("format")) {
                    let seen = format!("All of the result is one text, {}.", quoted(one));
                    desk.hint(&format!("{}/properties/{one}", value.pointer), seen, DO);
                }
            }
            _ => {}
        }
    }
}

/// Parameters that say how much is wanted.
const LIMITS: Words = Words(
    "limit max_results page_size per_page size count top_k k max_items first last length max_length max_bytes \
     max_count num_results n take rows max max_lines lines top amount",
);

/// Parameters that say from where on.
const OFFSETS: Words = Words(
    "offset cursor page page_token next_token next_page_token after before start skip from continuation_token \
     continuation position since start_index start_line range next_cursor marker",
);

/// Members of a result that say that there is more.
const TRUNCATED: Words = Words(
    "truncated is_truncated has_more more has_next next_cursor next_page_token next_token next_page next next_offset \
     total total_count total_results complete is_complete incomplete_results partial has_next_page page_info \
     remaining cursor",
);

/// Members of a result that lead to the whole of it.
const REFERENCES: Words = Words(
    "artifact artifact_uri artifact_url artifact_id artifact_ref resource_uri resource_link download_uri download_url \
     file_uri result_uri",
);

/// TC-11.
pub fn long(tool: &Tool, _: &Provider, desk: &mut Desk<'_>) {
    let Some((pointer, schema)) = tool.output() else { return desk.unjudged(no_output(tool)) };
    if tool.writes() {
        return;
    }
    let results = values(pointer, schema).list;
    let unbounded = |value: &&Value<'_>| {
        value.depth <= 2
            && value.types().contains(&"array")
            && !value.has("maxItems")
            && !value.is_listed()
            && value.keyword("items") != Some(&serde_json::Value::Bool(false))
    };
    let texts = Words("content contents text body log logs blob html markdown raw transcript");
    let lengthy = |value: &&Value<'_>| {
        value.depth == 1
            && value.is_text()
            && !value.is_listed()
            && !value.has_any(&["maxLength", "format", "pattern"])
            && texts.has(&value.snake_name())
    };
    let array = results.iter().find(unbounded);
    let Some(found) = array.or_else(|| results.iter().find(lengthy)) else { return };
    let parameters = tool.input().map(|(pointer, schema)| values(pointer, schema).list).unwrap_or_default();
    let takes = |names: Words| parameters.iter().any(|value| names.has(&value.snake_name()));
    let gives = |names: Words| results.iter().any(|value| names.has(&value.snake_name()));
    let mut missing = Vec::new();
    if !gives(REFERENCES) {
        if !takes(LIMITS) {
            missing.push("no limit can be asked for");
        }
        if !takes(OFFSETS) && array.is_some() {
            missing.push("nothing leads to the rest (offset or cursor)");
        }
    }
    if !gives(TRUNCATED) {
        missing.push("the result does not say whether it was truncated");
    }
    if missing.is_empty() {
        return;
    }
    let seeks = Words("list search find query history browse scan");
    let many = seeks.has_any(&tokens(&tool.name));
    let what = if array.is_some() { "An array of any length" } else { "A text of any length" };
    let seen = format!("{what} comes back, and {}.", missing.join("; "));
    let advice = "Take limit and offset or a cursor, say truncated in the result, or bound it (maxItems, maxLength).";
    // That a list gets long is plain; of another array it is a guess.
    let silent = missing.len() == 3;
    if array.is_some() && many && silent {
        desk.finding(&found.pointer, seen, advice);
    } else {
        desk.hint(&found.pointer, seen, advice);
    }
}

/// Words in the names of members that say where a result comes from.
const SOURCES: Words = Words(
    "source origin provider citation reference ref url uri system publisher provenance dataset feed registry station \
     exchange 来源",
);

/// Words in the names of members that say when something was so.
const TIMES: Words = Words(
    "observed retrieved fetched timestamp time date at checked queried updated modified generated datetime as when \
     asof 时间",
);

/// TC-12.
pub fn observed(tool: &Tool, _: &Provider, desk: &mut Desk<'_>) {
    if tool.graded.grade != Some(Grade::T1) {
        return;
    }
    let Some((pointer, schema)) = tool.output() else { return desk.unjudged(no_output(tool)) };
    let results = values(pointer, schema).list;
    let has =
        |words: Words| results.iter().any(|value| tokens(&value.name).iter().any(|word| words.has(&singular(word))));
    let timed = results.iter().any(|value| {
        value.keyword("format").and_then(|format| format.as_str()).is_some_and(|format| format.starts_with("date"))
    });
    let missing = match (has(SOURCES), timed || has(TIMES)) {
        (true, true) => return,
        (false, true) => "where it comes from",
        (true, false) => "when it was observed",
        (false, false) => "where it comes from and when it was observed",
    };
    let advice = "Let the result say its source and the time at which it was observed (source, observed_at).";
    desk.hint(pointer, format!("No member of the result seems to say {missing}."), advice);
}
