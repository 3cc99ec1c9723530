//! One template, many cases: families of vectors that differ in a value. The main function is [`files`].
//!
//! A family of `catalogue/matrix.json` has a `template`, which is a vector, and `cases`, which are objects. `${case.x}`
//! alone in a text takes the value of the case with its type, inside a text its text; `${case.x...}` alone in a list takes
//! the elements of a list; `${case.x?}` alone takes away the member or element where the case has no such value. What the
//! family has under `defaults`, every case has.

use super::{Files, catalogue, file};
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

const SOURCE: &str = "catalogue/matrix.json";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Matrix {
    #[serde(rename = "format")]
    _format: Format,
    families: Vec<Family>,
}

#[derive(Deserialize)]
enum Format {
    #[serde(rename = "cetp-matrix/1")]
    One,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    /// The file, without folder of the suite and ending: `consumer/manifests`. Families may share one.
    file: String,
    /// What they have in common, for people.
    #[serde(rename = "about")]
    _about: String,
    template: Json,
    #[serde(default)]
    defaults: Map<String, Json>,
    cases: Vec<Map<String, Json>>,
}

pub(super) fn files(seed: u64) -> Result<Files, String> {
    let matrix: Matrix = catalogue(SOURCE)?;
    let mut by_file: BTreeMap<String, Vec<Json>> = BTreeMap::new();
    for family in matrix.families {
        let vectors = by_file.entry(family.file.clone()).or_default();
        for (n, case) in family.cases.iter().enumerate() {
            let mut values = family.defaults.clone();
            values.extend(case.clone());
            let filled = fill(&family.template, &values).map_err(|e| format!("{}, case {n}: {e}", family.file))?;
            vectors.push(filled.ok_or("a template is more than a value of its case")?);
        }
    }
    let path = |name: String| format!("cetp-v2/{name}.json");
    Ok(by_file.into_iter().map(|(name, vectors)| (path(name), file("matrix", seed, SOURCE, vectors))).collect())
}

/// A template with the values of a case; nothing for what the case does not have.
fn fill(template: &Json, case: &Map<String, Json>) -> Result<Option<Json>, String> {
    Ok(Some(match template {
        Json::String(text) => return fill_text(text, case),
        Json::Array(items) => {
            let mut out = Vec::new();
            for item in items {
                let spliced = item.as_str().and_then(whole).and_then(|path| path.strip_suffix("..."));
                match spliced.map(|path| value(path, case)) {
                    Some(Some(Json::Array(list))) => out.extend(list.iter().cloned()),
                    Some(Some(_)) => return Err(format!("{item} is no list")),
                    Some(None) => {}
                    None => out.extend(fill(item, case)?),
                }
            }
            Json::Array(out)
        }
        Json::Object(members) => {
            let mut out = Map::new();
            for (name, member) in members {
                let name = fill_text(name, case)?;
                if let (Some(Json::String(name)), Some(member)) = (name, fill(member, case)?) {
                    out.insert(name, member);
                }
            }
            Json::Object(out)
        }
        other => other.clone(),
    }))
}

fn fill_text(text: &str, case: &Map<String, Json>) -> Result<Option<Json>, String> {
    let missing = |path: &str| format!("there is no {path:?}");
    if let Some(path) = whole(text) {
        return match (path.strip_suffix('?'), value(path.trim_end_matches('?'), case)) {
            (_, Some(value)) => Ok(Some(value.clone())),
            (Some(_), None) => Ok(None),
            (None, None) => Err(missing(path)),
        };
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(BEGIN) {
        let end = rest[start..].find('}').map(|end| start + end).ok_or("a placeholder does not end")?;
        let path = &rest[start + BEGIN.len()..end];
        let value = value(path, case).ok_or_else(|| missing(path))?;
        out.push_str(&rest[..start]);
        out.push_str(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        rest = &rest[end + 1..];
    }
    Ok(Some(Json::String(out + rest)))
}

const BEGIN: &str = "${case.";

/// The path of a placeholder that is the whole text.
fn whole(text: &str) -> Option<&str> {
    text.strip_prefix(BEGIN)?.strip_suffix('}').filter(|path| !path.contains('}'))
}

fn value<'c>(path: &str, case: &'c Map<String, Json>) -> Option<&'c Json> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let value = case.get(first)?;
    rest.map_or(Some(value), |rest| crate::expr::descend(value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cases_fill_templates() {
        let case = json!({"n": 1, "list": [1, 2], "deep": {"x": "y"}});
        let fill = |template: Json| super::fill(&template, case.as_object().unwrap());
        let template = json!({"a": "${case.n}", "b": "n is ${case.n}, ${case.deep.x}", "c": ["${case.list...}", "${case.none...}", 3],
            "d": "${case.none?}", "e": "${call.n}", "${case.deep.x}": 4});
        let filled = json!({"a": 1, "b": "n is 1, y", "c": [1, 2, 3], "e": "${call.n}", "y": 4});
        assert_eq!(fill(template), Ok(Some(filled)));
        assert!(fill(json!({"a": "${case.none}"})).is_err());
        assert!(fill(json!(["${case.n...}"])).is_err());
        assert!(fill(json!("x ${case.none}")).is_err());
    }
}
