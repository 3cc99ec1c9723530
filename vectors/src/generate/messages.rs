//! Every message with every field once wrong: from `catalogue/messages.json`, which holds the messages, the types of their
//! fields and how a request that differs in one is answered. The main function is [`files`].
//!
//! A row of a field names its cases: `missing`, `null`, `other-types`, `unknown-key`, or a name of its own with `values`.
//! A vector is one message, field and row; its requests are the rounds of one repeat, so that many cases cost few steps.

use super::{Files, Made, catalogue, file};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

pub(super) const NAME: &str = "messages";
const SOURCE: &str = "catalogue/messages.json";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Messages {
    #[serde(rename = "format")]
    _format: Format,
    /// For people.
    #[serde(rename = "about")]
    _about: String,
    /// The error codes of the table of §5.
    codes: Vec<String>,
    messages: Vec<Message>,
    fields: Vec<Field>,
}

#[derive(Deserialize)]
enum Format {
    #[serde(rename = "cetp-messages/1")]
    One,
}

/// A message as it is right.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    name: String,
    level: String,
    #[serde(default)]
    capabilities: Vec<String>,
    /// Tools of the fixture, beside the ledger.
    #[serde(default)]
    tools: Vec<String>,
    /// Capabilities that the session offers.
    #[serde(default)]
    offer: Vec<String>,
    /// Steps between the negotiation and the message.
    #[serde(default)]
    before: Vec<Json>,
    /// A call of the vector format.
    call: Json,
    /// Whether it would write to the ledger.
    #[serde(default)]
    writes: bool,
    /// Whether it is about an operation that `before` started.
    #[serde(default)]
    operation: bool,
}

/// A field of some messages.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    key: String,
    kind: String,
    /// A right value; those of other types are made from it.
    right: Json,
    #[serde(rename = "in")]
    messages: Vec<String>,
    rows: Vec<Row>,
}

/// Requests that differ in the field, and how they are answered: exactly one of `codes`, `free`, `like`, `expect`.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    cases: String,
    /// What the cases are, for people.
    about: Option<String>,
    #[serde(default)]
    values: Vec<Json>,
    requirement: String,
    /// A requirement that the expectations judge beside it.
    judges: Option<String>,
    level: Option<String>,
    stack: Option<String>,
    codes: Option<Vec<String>>,
    #[serde(default, rename = "and")]
    more: Vec<Json>,
    #[serde(default)]
    free: bool,
    like: Option<Json>,
    expect: Option<Vec<Json>>,
}

pub(super) fn files(seed: u64) -> Result<Made, String> {
    let table: Messages = catalogue(SOURCE)?;
    let mut by_file: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    let (mut cases, mut rows) = (0, 0);
    for field in &table.fields {
        let mut together: Vec<Vec<&Message>> = Vec::new();
        for name in &field.messages {
            let message = table.messages.iter().find(|m| m.name == *name);
            let message = message.ok_or_else(|| format!("{}: there is no message {name:?}", field.key))?;
            match together.iter_mut().find(|group| group[0].goes_with(message)) {
                Some(group) => group.push(message),
                None => together.push(vec![message]),
            }
        }
        for messages in &together {
            for row in &field.rows {
                let name = name_of(messages);
                let (vector, made) = vector(messages, field, row, &table.codes)
                    .map_err(|e| format!("{name} {} {}: {e}", field.key, row.cases))?;
                cases += made;
                rows += messages.len();
                by_file.entry(name).or_default().push(vector);
            }
        }
    }
    let kept = by_file.values().map(Vec::len).sum::<usize>();
    let path = |name: String| format!("cetp-v2/provider/generated/message-{name}.json");
    let files: Files =
        by_file.into_iter().map(|(name, vectors)| (path(name), file(NAME, seed, SOURCE, vectors))).collect();
    let report = format!(
        "{cases} requests that differ in one field of one message, {rows} triples of message, field and rule; folded into {kept} vectors, one for each field and rule of the messages that need the same session, as they judge the same requirement"
    );
    Ok(Made { files, report })
}

impl Message {
    /// Whether both can be sent in one vector: in the same session, with nothing before them.
    fn goes_with(&self, other: &Message) -> bool {
        let plain = |m: &Message| m.before.is_empty() && m.offer.is_empty() && m.name != "negotiate";
        plain(self) && plain(other) && self.level == other.level && self.capabilities == other.capabilities
    }
}

/// What messages are called together.
fn name_of(messages: &[&Message]) -> String {
    let executed = messages.iter().filter(|message| message.name.starts_with("execute-")).count();
    match messages {
        [message] => message.name.clone(),
        _ if executed == messages.len() => "executions".into(),
        _ if executed == 0 => "reads".into(),
        _ => "calls".into(),
    }
}

/// The vector of a row, and how many requests it sends.
fn vector(messages: &[&Message], field: &Field, row: &Row, codes: &[String]) -> Result<(Json, usize), String> {
    let key = &field.key;
    let name = name_of(messages);
    let section = row.requirement.split('-').nth(1).ok_or("no requirement")?;
    let kind = key.replace('_', "-");
    let stack = row.stack.as_deref().map(|stack| format!("-{}", stack.replace('_', "-"))).unwrap_or_default();
    let mut requirements = vec![row.requirement.clone()];
    requirements.extend(row.judges.clone().filter(|id| *id != row.requirement));
    let expect = expectations(row, codes)?;
    // Those that go together are alike in all that is asked of the first.
    let first = messages.first().ok_or("no messages")?;
    let mut steps = Vec::new();
    if first.name != "negotiate" {
        let mut expect = vec![json!("negotiated")];
        expect.extend(first.offer.iter().map(|name| json!({ "use": "granted", "with": { "capability": name } })));
        steps.push(json!({ "call": "negotiate", "offer": first.offer, "save": "s", "expect": expect }));
    }
    steps.extend(first.before.iter().cloned());
    if key == "deadline_at_ms" {
        steps.push(json!({ "let": { "later": { "$add": ["${now}", 60_000] } } }));
    }
    let mut made = 0;
    for message in messages {
        let (step, requests) = requests(message, field, row, &expect);
        steps.push(step);
        made += requests;
    }
    if made == 0 {
        return Err("no values".into());
    }
    let (operation, writes) = (first.operation, messages.iter().any(|message| message.writes));
    steps.extend(afterwards(operation, writes, row));
    // The tool may be named in a field only, and a name that is wrong is no tool.
    let mut tools: Vec<String> = messages.iter().flat_map(|message| message.tools.clone()).collect();
    if (writes || operation) && row.codes.is_some() {
        tools.push("fixture_ledger".into());
    }
    tools.sort();
    tools.dedup();
    let about = row.about.clone().unwrap_or_else(|| match row.cases.as_str() {
        "missing" => "without it".into(),
        "null" => "with a null in its place".into(),
        "unknown-key" => "with a key that it does not have, of every type".into(),
        _ => "of every other type, with the right value where the type can hold it".into(),
    });
    // A rule of the core that is looked at in an operation is judged where there are operations.
    let level = row.level.as_deref().or_else(|| crate::spec::render::level(&row.requirement)).unwrap_or(&first.level);
    let mut capabilities: Vec<&String> = first.capabilities.iter().chain(&first.offer).collect();
    capabilities.retain(|name| *name != level);
    capabilities.sort();
    capabilities.dedup();
    let sent: Vec<String> = messages.iter().map(|message| message.name.replace('-', " ")).collect();
    let mut vector = json!({
        "id": format!("cetp2/provider/{section}/{name}-{kind}-{}{stack}", row.cases),
        "title": format!("{}: {key}: {about}", sent.join(", ")),
        "role": "provider",
        "level": level,
        "requirements": requirements,
        "steps": steps,
    });
    if !capabilities.is_empty() {
        vector["capabilities"] = json!(capabilities);
    }
    if !tools.is_empty() {
        vector["tools"] = json!(tools);
    }
    if let Some(stack) = &row.stack {
        vector["stack"] = json!(stack);
    }
    let mut flags = Vec::new();
    if row.free {
        flags.push("grey-zone");
    }
    // The job goes on by itself: how far it has come when it is asked about is a matter of moments.
    if first.operation {
        flags.push("race");
    }
    if !flags.is_empty() {
        vector["flags"] = json!(flags);
    }
    Ok((vector, made))
}

/// A step for a field that is missing, one with rounds for what differs; and how many requests it sends.
fn requests(message: &Message, field: &Field, row: &Row, expect: &[Json]) -> (Json, usize) {
    let call = |value: Json| {
        let mut call = message.call.clone();
        let extras = call.as_object_mut().expect("an object").entry("extras").or_insert_with(|| json!({}));
        extras[&field.key] = value;
        call["expect"] = json!(expect);
        call
    };
    let tagged = |values: &[Json]| values.iter().map(|value| json!({ &field.kind: value })).collect::<Vec<Json>>();
    match row.cases.as_str() {
        "missing" => (call(Json::Null), 1),
        "null" => (call(json!({ "null": null })), 1),
        "other-types" => rounds(call(json!("${item}")), others(&field.kind, &field.right)),
        "unknown-key" => rounds(call(json!("${item}")), {
            let mut all = others(&field.kind, &field.right);
            all.push(json!({ &field.kind: field.right }));
            all
        }),
        _ => rounds(call(json!("${item}")), tagged(&row.values)),
    }
}

/// A repeat over values, and how many there are.
fn rounds(step: Json, values: Vec<Json>) -> (Json, usize) {
    let made = values.len();
    (json!({ "repeat": [step], "over": values }), made)
}

fn expectations(row: &Row, table: &[String]) -> Result<Vec<Json>, String> {
    let requirement = &row.requirement;
    match (&row.codes, row.free, &row.like, &row.expect) {
        (Some(codes), false, None, None) => {
            let mut out = vec![json!({ "use": "turned_down", "with": { "requirement": requirement, "codes": codes } })];
            out.extend(row.more.iter().cloned());
            Ok(out)
        }
        // Nothing in the specification decides: the answer is one of the protocol.
        (None, true, None, None) => Ok(vec![json!({ "requirement": requirement, "that": "${reply.error_code}",
            "is": { "$optional": { "$one_of": table } } })]),
        (None, false, Some(data), None) => Ok(vec![
            json!("not_busy"),
            json!({ "requirement": requirement, "strength": "should", "that": "${reply.status}", "is": "success" }),
            json!({ "requirement": requirement, "when": { "that": "${reply.status}", "is": "success" },
                    "that": "${reply.data}", "is": data }),
        ]),
        (None, false, None, Some(expect)) => Ok(expect.clone()),
        _ => Err("exactly one of codes, free, like, expect".into()),
    }
}

/// What was refused has left nothing behind.
fn afterwards(operation: bool, writes: bool, row: &Row) -> Vec<Json> {
    if row.codes.is_none() {
        return Vec::new();
    }
    let with =
        |entries: Json| json!([{ "use": "ledger", "with": { "requirement": row.requirement, "entries": entries } }]);
    if operation {
        // A cancel that was refused has not cancelled: the job comes to its end.
        let entry = json!([{ "request_id": "${uuid.job}", "tool": "fixture_job", "value": "one" }]);
        return vec![
            json!({ "repeat": [{ "call": "get_operation", "session": "s", "request": "job",
                                 "extras": { "operation_id": { "string": "${job.data.operation_id}" } },
                                 "save": "end", "expect": ["polled"] }],
                    "until": { "that": "${end.data.state}", "is": { "$one_of": ["succeeded", "failed", "cancelled"] } } }),
            json!({ "expect": [{ "requirement": row.requirement, "that": "${end.data.state}", "is": "succeeded" }] }),
            json!({ "call": "execute_tool", "session": "s", "tool": "fixture_ledger", "args": {}, "expect": with(entry) }),
        ];
    }
    if writes {
        return vec![
            json!({ "call": "negotiate", "offer": [], "save": "later_on", "expect": ["negotiated"] }),
            json!({ "call": "execute_tool", "session": "later_on", "tool": "fixture_ledger", "args": {}, "expect": with(json!([])) }),
        ];
    }
    Vec::new()
}

/// Values of every type but the right one, which hold the right value where they can.
fn others(kind: &str, right: &Json) -> Vec<Json> {
    let text = if right.is_string() && kind == "string" { right.clone() } else { json!({ "$json_text": right }) };
    let first = right.as_array().and_then(|list| list.first()).unwrap_or(right);
    let number = if kind == "string" { json!(1) } else { first.clone() };
    let small = if kind == "long" { json!(127) } else { number.clone() };
    let int = if kind == "long" { json!(2_147_483_647) } else { number.clone() };
    let decimal = match number.as_i64() {
        Some(n) => json!(n as f64),
        None => number.clone(),
    };
    let mut all = Map::new();
    all.insert("string".into(), text.clone());
    all.insert("int".into(), int.clone());
    all.insert("long".into(), number.clone());
    all.insert("bool".into(), json!(true));
    all.insert("double".into(), decimal.clone());
    all.insert("float".into(), if kind == "long" { json!(1e30) } else { decimal.clone() });
    all.insert("short".into(), small.clone());
    all.insert("byte".into(), small);
    all.insert("char".into(), json!("2"));
    all.insert("int_array".into(), json!([int]));
    all.insert("int_list".into(), json!([int]));
    all.insert("long_array".into(), json!([number]));
    all.insert("bool_array".into(), json!([true]));
    all.insert("double_array".into(), json!([decimal]));
    all.insert("string_array".into(), json!([text]));
    all.insert("string_list".into(), json!([text]));
    all.insert("bytes".into(), json!("Ag=="));
    all.insert("bundle".into(), json!({ "value": { kind: right } }));
    all.into_iter().filter(|(name, _)| name != kind).map(|(name, value)| json!({ name: value })).collect()
}
