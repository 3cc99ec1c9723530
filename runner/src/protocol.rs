//! Checks every message against the JSON Schemas of the target protocol, for `--check-protocol`. The main type is
//! [`Checker`].

use jsonschema::Validator;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// The schemas of the target protocol.
///
/// # Panics
/// Never: the file is embedded.
pub fn schema() -> &'static str {
    let mut files = cetp_vectors::load::EMBEDDED.iter();
    let (_, text) = files.find(|(name, _)| *name == "schemas/target-protocol.schema.json").expect("it is embedded");
    text
}

/// Compiled schemas of every message.
pub struct Checker {
    message: Validator,
    by_name: BTreeMap<String, Validator>,
}

/// Which side a request is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// From the runner to the target.
    Target,
    /// From a consumer target to the runner.
    Runner,
}

impl To {
    fn prefix(self) -> &'static str {
        match self {
            To::Target => "to_target",
            To::Runner => "to_runner",
        }
    }
}

impl Default for Checker {
    fn default() -> Checker {
        Checker::new()
    }
}

impl Checker {
    /// Compiles the schemas.
    ///
    /// # Panics
    /// When they are broken, which a test excludes.
    pub fn new() -> Checker {
        let document: Json = serde_json::from_str(schema()).expect("the schema is JSON");
        let compile = |name: &str| {
            let schema = json!({ "$ref": format!("#/$defs/{name}"), "$defs": document["$defs"] });
            jsonschema::options().build(&schema).expect("the schema compiles")
        };
        let names = document["$defs"].as_object().expect("definitions").keys();
        let verbs = names.filter(|name| name.starts_with("to_")).map(|name| (name.clone(), compile(name)));
        Checker { by_name: verbs.collect(), message: compile("message") }
    }

    /// Checks a whole message, and its parameters where it is a request.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn message(&self, message: &Json, to: To) -> Result<(), String> {
        apply(&self.message, message)?;
        match message.get("method").and_then(Json::as_str) {
            Some(verb) => {
                let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
                self.part(&format!("{}.{verb}.params", to.prefix()), &params)
            }
            None => Ok(()),
        }
    }

    /// Checks the result of a verb.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn result(&self, verb: &str, to: To, result: &Json) -> Result<(), String> {
        self.part(&format!("{}.{verb}.result", to.prefix()), result)
    }

    fn part(&self, name: &str, value: &Json) -> Result<(), String> {
        match self.by_name.get(name) {
            Some(validator) => apply(validator, value),
            None => Err(format!("there is no verb for {name:?}")),
        }
    }
}

fn apply(validator: &Validator, value: &Json) -> Result<(), String> {
    validator.validate(value).map_err(|error| format!("{error} at {:?}", error.instance_path().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cetp_vectors::bundle::{Bundle, Value};

    #[test]
    fn accepts_the_protocols_own_examples_and_refuses_others() {
        let checker = Checker::new();
        let call = json!({"jsonrpc":"2.0","id":1,"method":"provider.call","params":{
            "caller":{"uid":10101,"packages":[{"name":"org.example.a","signing_sha256":["0".repeat(64)],"history_sha256":[]}]},
            "authority":"x","method":"negotiate","arg":null,"extras":{"consumer_versions":{"int_array":[2,1]}}}});
        assert_eq!(checker.message(&call, To::Target), Ok(()));
        let mut wrong = call.clone();
        wrong["params"]["extras"]["consumer_versions"] = json!({"int_array": ["2"]});
        assert!(checker.message(&wrong, To::Target).is_err());
        assert!(checker.message(&json!({"jsonrpc":"1.0","id":1,"result":{}}), To::Target).is_err());
        assert!(checker.message(&json!({"jsonrpc":"2.0","id":1,"method":"target.nonsense"}), To::Target).is_err());
        assert_eq!(checker.result("provider.call", To::Target, &json!({"bundle":null})), Ok(()));
        assert!(checker.result("provider.call", To::Target, &json!({"bundle":{"a":{"int":1.5}}})).is_err());
        assert!(checker.result("provider.call", To::Target, &json!({})).is_err());
    }

    #[test]
    fn the_schema_knows_every_type_of_the_codec() {
        let document: Json = serde_json::from_str(schema()).unwrap();
        let types = document["$defs"]["value"]["properties"].as_object().unwrap();
        assert_eq!(types.len(), 22);
        for name in types.keys() {
            let error = Value::from_json(&json!({ name: {"no": "such"} })).unwrap_err();
            assert!(!error.message.contains("is no type"), "{name}: {error}");
        }
        assert!(Bundle::from_json(&json!({"a": {"uri": 1}})).is_err());
    }
}
