//! How generated vectors are written: one that can be read, whatever order the map of this build keeps.

use serde_json::{Map, Value as Json};

/// The longest line that is not broken up.
const WIDTH: usize = 150;

/// Members that come first, in this order; the others follow by name.
const FIRST: [&str; 27] = [
    "id",
    "title",
    "notes",
    "role",
    "level",
    "requirements",
    "capabilities",
    "flags",
    "may_not_arise",
    "providers",
    "package",
    "version",
    "versions",
    "to",
    "nth",
    "discover",
    "execute",
    "provider_id",
    "tool",
    "use",
    "with",
    "requirement",
    "precondition",
    "not_run",
    "when",
    "that",
    "is",
];

/// The text of a file with these vectors of a suite.
pub(super) fn file(suite: &str, generated: &Json, vectors: &[Json]) -> String {
    let vectors: Vec<String> = vectors.iter().map(|vector| format!("  {}", text(vector, 2))).collect();
    format!(
        "{{\n \"format\": \"cetp-vectors/1\",\n \"suite\": {},\n \"generated\": {},\n \"vectors\": [\n{}\n ]\n}}\n",
        quoted(suite),
        text(generated, 1),
        vectors.join(",\n")
    )
}

/// The text of a table; its cases are lists of members, in the order in which they are written.
pub(super) fn table(suite: &str, about: &str, generated: &Json, cases: &[Vec<(String, Json)>]) -> String {
    let member = |(name, value): &(String, Json)| format!("{}: {}", quoted(name), text(value, 4));
    let case = |members: &Vec<_>| format!("  {{{}}}", members.iter().map(member).collect::<Vec<_>>().join(",\n   "));
    format!(
        "{{\n \"format\": \"cetp-table/1\",\n \"suite\": {},\n \"about\": {},\n \"generated\": {},\n \"cases\": [\n{}\n ]\n}}\n",
        quoted(suite),
        quoted(about),
        text(generated, 1),
        cases.iter().map(case).collect::<Vec<_>>().join(",\n")
    )
}

/// A value that begins at a column and is broken up where it does not fit into a line.
fn text(value: &Json, indent: usize) -> String {
    let short = line(value);
    if indent + short.chars().count() <= WIDTH {
        return short;
    }
    let inner = " ".repeat(indent + 1);
    let block = |open: char, parts: Vec<String>, close: char| {
        format!("{open}\n{inner}{}\n{}{close}", parts.join(&format!(",\n{inner}")), " ".repeat(indent))
    };
    match value {
        Json::Array(items) => block('[', items.iter().map(|item| text(item, indent + 1)).collect(), ']'),
        Json::Object(members) => {
            let part = |(name, value): (&String, &Json)| format!("{}: {}", quoted(name), text(value, indent + 1));
            block('{', ordered(members).into_iter().map(part).collect(), '}')
        }
        _ => short,
    }
}

fn line(value: &Json) -> String {
    match value {
        Json::Array(items) => format!("[{}]", items.iter().map(line).collect::<Vec<_>>().join(", ")),
        Json::Object(members) => {
            let part = |(name, value): (&String, &Json)| format!("{}: {}", quoted(name), line(value));
            format!("{{{}}}", ordered(members).into_iter().map(part).collect::<Vec<_>>().join(", "))
        }
        Json::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn ordered(members: &Map<String, Json>) -> Vec<(&String, &Json)> {
    let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    let mut list: Vec<(&String, &Json)> = members.iter().collect();
    list.sort_by_key(|(name, _)| (rank(name), name.as_str()));
    list
}

/// A JSON string in which nothing deceives the eye: what is no plain character is escaped.
fn quoted(text: &str) -> String {
    let plain = |c: char| {
        (' '..='~').contains(&c)
            || ('\u{a0}' < c && c < '\u{2000}' && c != '\u{ad}' && c != '\u{61c}')
            || ('\u{4e00}'..'\u{a000}').contains(&c)
    };
    let mut out = String::new();
    for c in Json::from(text).to_string().chars() {
        if plain(c) {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_what_was_meant() {
        let long = "x".repeat(200);
        let value = json!({"z": [1, {"id": "a\u{202e}b\u{0}", "and": "\u{1f600}测"}], "title": long, "id": 1});
        let written = text(&value, 0);
        assert_eq!(serde_json::from_str::<Json>(&written).unwrap(), value);
        assert!(written.starts_with("{\n \"id\": 1,\n \"title\""), "{written}");
        assert!(written.contains("{\"id\": \"a\\u202eb\\u0000\", \"and\": \"\\ud83d\\ude00测\"}"), "{written}");
    }
}
