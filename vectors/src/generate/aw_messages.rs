//! Every message of `aw-provider/v1alpha1` with every field once wrong: requests for providers, replies for hosts. From
//! `catalogue/aw-messages.json`. The main function is [`files`].
//!
//! A vector is one method, field and requirement; its cases are rounds or steps, as they judge the same.

use super::{Files, Made, catalogue, layout};
use serde::Deserialize;
use serde_json::{Value as Json, json};

pub(super) const NAME: &str = "aw-messages";
const SOURCE: &str = "catalogue/aw-messages.json";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    #[serde(rename = "format")]
    _format: Format,
    /// For people.
    #[serde(rename = "about")]
    _about: String,
    requests: Vec<Request>,
    replies: Vec<Reply>,
}

#[derive(Deserialize)]
enum Format {
    #[serde(rename = "aw-messages/1")]
    One,
}

/// What a provider is asked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    method: String,
    /// What of the target's profile it needs.
    needs: Option<String>,
    /// The argument of `$request` for one that is right.
    request: Json,
    unknown_fields: Vec<String>,
    fields: Vec<Field>,
}

/// What a host is answered.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    method: String,
    /// One that is right.
    reply: Json,
    fields: Vec<Field>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    /// Names and places, with dots between.
    path: String,
    #[serde(rename = "type")]
    kind: String,
    /// Whether null is right.
    #[serde(default)]
    nullable: bool,
    /// Whether it may be missing; whether null is that too is not said.
    #[serde(default)]
    optional: bool,
    /// What a request breaks that is wrong in it: missing or null, and otherwise.
    #[serde(default)]
    refused: Vec<String>,
    #[serde(default)]
    unknown: Vec<Json>,
}

pub(super) fn files(seed: u64) -> Result<Made, String> {
    let table: Catalogue = catalogue(SOURCE)?;
    let (mut cases, mut requests, mut replies) = (0, Vec::new(), Vec::new());
    for request in &table.requests {
        for field in &request.fields {
            of_request(request, field, &mut cases, &mut requests)?;
        }
        cases += request.unknown_fields.len();
        let unknown = |name: &String| with_member(&request.request, name, &json!(1));
        let over = request.unknown_fields.iter().map(unknown).collect();
        requests.push(refused(request, "unknown-fields", "a field that it does not have", "AW1-P-40", over));
        duplicates(request, &mut cases, &mut requests);
    }
    for reply in &table.replies {
        for field in &reply.fields {
            replies.push(of_reply(reply, field, &mut cases)?);
        }
        let extra = |name: &str| {
            let mut out = reply.reply.clone();
            out[name] = json!(1);
            out
        };
        cases += 2;
        replies.push(fails(reply, "unknown-fields", "fields that it does not have", vec![extra("extra"), extra("")]));
    }
    let report = format!(
        "{cases} messages that differ in one field; folded into {} vectors, one for each method, field and requirement",
        requests.len() + replies.len()
    );
    let file = |vectors: &[Json]| {
        let generated = json!({ "generator": NAME, "seed": seed, "source": SOURCE });
        layout::file(crate::aw::SUITE, &generated, vectors)
    };
    let files = Files::from([
        ("aw-provider-v1alpha1/provider/generated.json".to_owned(), file(&requests)),
        ("aw-provider-v1alpha1/host/generated.json".to_owned(), file(&replies)),
    ]);
    Ok(Made { files, report })
}

/// Values of every JSON type but one.
fn others(kind: &str) -> Vec<Json> {
    let all = [
        ("boolean", json!(true)),
        ("number", json!(1)),
        ("number", json!(1.5)),
        ("string", json!("x")),
        ("array", json!([])),
        ("array", json!(["x"])),
        ("object", json!({})),
        ("object", json!({ "x": 1 })),
    ];
    all.into_iter().filter(|(name, _)| *name != kind && kind != "any").map(|(_, value)| value).collect()
}

fn slug(path: &str) -> String {
    path.replace(['.', '_'], "-")
}

fn of_request(request: &Request, field: &Field, cases: &mut usize, out: &mut Vec<Json>) -> Result<(), String> {
    let [absent, wrong] = field.refused.as_slice() else {
        return Err(format!("{} {}: two requirements are wanted", request.method, field.path));
    };
    let mut gone = vec![without(&request.request, &field.path)];
    if !field.nullable {
        gone.push(with(&request.request, &field.path, &Json::Null));
    }
    let values = others(&field.kind).into_iter().chain(field.unknown.iter().cloned());
    let mut other: Vec<Json> = values.map(|value| with(&request.request, &field.path, &value)).collect();
    *cases += gone.len() + other.len();
    let (place, about) = (slug(&field.path), &field.path);
    if absent == wrong {
        gone.append(&mut other);
        out.push(refused(request, &place, &format!("{about} missing, of another type or value"), wrong, gone));
        return Ok(());
    }
    out.push(refused(request, &format!("{place}-missing"), &format!("{about} missing or null"), absent, gone));
    out.push(refused(
        request,
        &format!("{place}-of-another-kind"),
        &format!("{about} of another type or value"),
        wrong,
        other,
    ));
    Ok(())
}

/// The argument of `$request` with a value at a path.
fn with(request: &Json, path: &str, value: &Json) -> Json {
    let nested = path.rsplit('.').fold(value.clone(), |inner, name| json!({ name: inner }));
    // The method is an argument of its own.
    let mut out = request.clone();
    let set = out.as_object_mut().expect("an object").entry("set").or_insert_with(|| json!({}));
    for (name, value) in nested.as_object().into_iter().flatten() {
        set[name] = value.clone();
    }
    json!({ "$request": out })
}

fn with_member(request: &Json, name: &str, value: &Json) -> Json {
    let mut out = request.clone();
    out.as_object_mut().expect("an object").entry("set").or_insert_with(|| json!({}))[name] = value.clone();
    json!({ "$request": out })
}

fn without(request: &Json, path: &str) -> Json {
    let mut out = request.clone();
    out["without"] = json!([path]);
    json!({ "$request": out })
}

fn refused(request: &Request, name: &str, about: &str, requirement: &str, over: Vec<Json>) -> Json {
    let never = json!([{ "use": "never_ok", "with": { "requirement": requirement } }]);
    let steps = json!([{ "repeat": [{ "spawn": "${item}", "valid": false, "expect": never }], "over": over }]);
    vector(request, name, &format!("{} with {about} is never answered with ok", request.method), requirement, &steps)
}

fn vector(request: &Request, name: &str, title: &str, requirement: &str, steps: &Json) -> Json {
    let mut vector = json!({
        "id": format!("aw1/provider/fields/{}-{name}", slug(&request.method)),
        "title": title, "role": "provider", "level": "core", "flags": ["hostile"],
        "requirements": [requirement], "steps": steps,
    });
    if let Some(need) = &request.needs {
        vector["needs"] = json!([need]);
    }
    vector
}

/// Each member of the envelope twice: with the same value and with another, before the right one and after it.
fn duplicates(request: &Request, cases: &mut usize, out: &mut Vec<Json>) {
    let mut over = Vec::new();
    for name in ["api_version", "method", "request_id"] {
        let escaped = format!("\\u{:04x}{}", u32::from(name.as_bytes()[0]), &name[1..]);
        for member in [name, &escaped] {
            let first = json!({ "$slice": { "text": "${d}", "from": 1 } });
            over.push(json!({ "$text": [format!("{{\"{member}\":\"other\","), first] }));
            let rest = json!({ "$slice": { "text": "${d}", "from": 0, "to": -1 } });
            over.push(json!({ "$text": [rest, format!(",\"{member}\":\"other\"}}")] }));
        }
    }
    *cases += over.len();
    let requirement = "AW1-P-39";
    let never = json!([{ "use": "never_ok", "with": { "requirement": requirement } }]);
    let steps = json!([
        { "let": { "d": { "$json_text": { "$request": request.request } } } },
        { "repeat": [{ "spawn": "${item}", "valid": false, "expect": never }], "over": over }
    ]);
    let title = format!("{} with a member of the envelope twice is never answered with ok", request.method);
    out.push(vector(request, "duplicates", &title, requirement, &steps));
}

fn of_reply(reply: &Reply, field: &Field, cases: &mut usize) -> Result<Json, String> {
    let pointer = format!("/{}", field.path.replace('.', "/"));
    let mut outs = Vec::new();
    let mut change = |value: Option<&Json>| -> Result<(), String> {
        let mut out = reply.reply.clone();
        let (parent, name) = pointer.rsplit_once('/').ok_or("no path")?;
        let parent = out.pointer_mut(parent).and_then(Json::as_object_mut);
        let parent = parent.ok_or_else(|| format!("{} {}: there is no such member", reply.method, field.path))?;
        match value {
            Some(value) => drop(parent.insert(name.to_owned(), value.clone())),
            None => drop(parent.remove(name)),
        }
        outs.push(out);
        Ok(())
    };
    if !field.optional {
        change(None)?;
        change(Some(&Json::Null))?;
    }
    for value in others(&field.kind).iter().chain(&field.unknown) {
        change(Some(value))?;
    }
    *cases += outs.len();
    Ok(fails(reply, &slug(&field.path), &format!("{} missing, of another type or value", field.path), outs))
}

/// A host that gets such replies.
fn fails(reply: &Reply, name: &str, about: &str, outs: Vec<Json>) -> Json {
    let invoked = reply.method == "invoke";
    let requirement = if invoked { "AW1-H-15" } else { "AW1-H-26" };
    let expect = if invoked {
        json!(["prepared", { "use": "failed", "with": { "requirement": requirement } }])
    } else {
        json!([{ "requirement": requirement, "that": "${reply.account.prepared}", "is": false },
               { "requirement": requirement, "that": "${reply.invokes}", "is": [] }])
    };
    let steps: Vec<Json> = outs
        .into_iter()
        .map(|out| {
            json!({ "host": "${values.host}", "scripts": { "p": { "on": { &reply.method: [{ "out": out }] } } }, "expect": expect })
        })
        .collect();
    let what = if invoked { "is a failure and no block" } else { "yields no host" };
    json!({
        "id": format!("aw1/host/fields/{}-{name}", slug(&reply.method)),
        "title": format!("A reply to {} with {about} {what}", reply.method),
        "role": "host", "level": "core", "requirements": [requirement], "steps": steps,
    })
}
