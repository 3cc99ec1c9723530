//! The static tables: a program in another language comes to the same, it would notice where it did not, and the suite's own
//! rules judge the replies in them as the tables say.

use cetp_vectors::expr::{Scope, instant_ms};
use cetp_vectors::matching::{Match, matches, value_matches};
use serde_json::{Value as Json, json};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const TABLES: [&str; 6] =
    ["descriptors", "error-bundles", "file-envelopes", "manifests", "negotiate-replies", "parcel-sizes"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn table(name: &str) -> Json {
    let place = root().join("vectors/cetp-v2/tables").join(format!("{name}.json"));
    serde_json::from_str(&std::fs::read_to_string(place).unwrap()).unwrap()
}

fn check(folder: &Path) -> Output {
    Command::new("python3").arg(root().join("examples/tables/check_tables.py")).arg(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_example_comes_to_what_the_tables_say() {
    let output = check(&root().join("vectors/cetp-v2/tables"));
    assert!(output.status.success(), "{}", said(&output));
    for name in TABLES {
        let cases = table(name)["cases"].as_array().unwrap().len();
        assert!(said(&output).contains(&format!("{name}: {cases} cases")), "{}", said(&output));
    }
}

/// Every result of every case is looked at: a wrong one is noticed.
#[test]
fn the_example_notices_each_result_that_is_wrong() {
    for name in TABLES {
        let good = table(name);
        for result in ["versions", "consumer", "breaks", "bytes"] {
            if good["cases"][0].get(result).is_none() {
                continue;
            }
            let mut bad = good.clone();
            let cases = bad["cases"].as_array_mut().unwrap();
            cases.iter_mut().for_each(|case| case[result] = json!("wrong"));
            let wrong = cases.len();
            let folder = tempfile::tempdir().unwrap();
            for other in TABLES {
                let content = if other == name { bad.clone() } else { table(other) };
                std::fs::write(folder.path().join(format!("{other}.json")), content.to_string()).unwrap();
            }
            let output = check(folder.path());
            assert_eq!(output.status.code(), Some(1), "{name} {result}: {}", said(&output));
            assert_eq!(said(&output).matches("\"wrong\"").count() + said(&output).matches("'wrong'").count(), wrong);
        }
    }
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(check(empty.path()).status.code(), Some(1), "a folder without tables is no success");
}

/// What the suite's rules may ask for while they look at a reply.
struct Names(Json);

impl Scope for Names {
    fn get(&self, name: &str) -> Option<Cow<'_, Json>> {
        self.0.get(name).map(Cow::Borrowed)
    }
    fn uuid(&self, name: &str) -> String {
        name.to_owned()
    }
}

/// The requirements of a shared rule that a reply breaks; those with a `${with…}` depend on a vector and are left out.
fn broken(rule: &str, reply: &Json, scope: &Names) -> Vec<String> {
    let rules: Json = serde_json::from_str(include_str!("../cetp-v2/rules.json")).unwrap();
    let answer = json!({ "bundle": reply });
    let mut out = Vec::new();
    for one in rules["rules"][rule].as_array().unwrap() {
        let Some(id) = one["requirement"].as_str().filter(|_| !one.to_string().contains("${with")) else { continue };
        let found = match one.get("that") {
            Some(that) => value_matches(that, &one["is"], scope),
            None => matches(&one["is"], Some(&answer), scope),
        };
        if found != Match::Yes {
            out.push(id.to_owned());
        }
    }
    out
}

#[test]
fn the_rules_of_the_suite_judge_negotiate_replies_as_the_table_says() {
    for case in table("negotiate-replies")["cases"].as_array().unwrap() {
        let reply = &case["reply"];
        let data = reply["data"]["string"].as_str().and_then(|text| serde_json::from_str::<Json>(text).ok());
        let now = instant_ms(case["now"].as_str().unwrap()).unwrap();
        let scope = Names(json!({ "now": now, "reply": { "data": data } }));
        let found = broken("negotiated", reply, &scope).contains(&"CETP2-2.2-04".to_owned());
        assert_eq!(found, case["breaks"] == "CETP2-2.2-04", "{}", case["name"]);
    }
}

#[test]
fn the_rules_of_the_suite_judge_error_bundles_as_the_table_says() {
    for case in table("error-bundles")["cases"].as_array().unwrap() {
        let reply = &case["reply"];
        let scope = Names(json!({
            "answer": { "bundle": reply },
            "reply": { "error_code": reply["error_code"]["string"] },
            "request": { "typed": { "request_id": { "string": case["request_id"] } } },
        }));
        let found = broken("error_bundle", reply, &scope);
        match case["breaks"].as_str() {
            // Which code goes with which retryable is not in the rule: each vector says it.
            None | Some("CETP2-5-04") => assert!(found.is_empty(), "{}: {found:?}", case["name"]),
            Some(id) => assert!(found.contains(&id.to_owned()), "{}: {found:?}", case["name"]),
        }
    }
}
