//! The ledger of tool contracts: what an audit of descriptors looks for. The main type is [`Contract`].
//!
//! The rules are advice. No vector judges them, and no verdict or claim depends on them.

use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The ledger that the program brings with it.
const TEXT: &str = include_str!("../requirements/tool-contract.json");

static LEDGER: LazyLock<Contract> = LazyLock::new(|| {
    let json = crate::json::parse_text(TEXT).expect("the ledger of tool contracts is valid JSON");
    Contract::from_json(json).expect("the ledger of tool contracts has the members of one")
});

/// A whole ledger.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// The text that the rows are about.
    pub specification: String,
    /// What each grade of a tool means, `T0` to `T4`.
    pub grades: BTreeMap<String, String>,
    /// The rows, sorted by id.
    pub requirements: Vec<Row>,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// For example `TC-04`.
    pub id: String,
    /// How much weight it has: `advice`, `warning` or `error`.
    #[serde(rename = "grade")]
    pub weight: String,
    /// What it takes to judge it: `descriptor`, `several providers`, `transcript` or `events`.
    pub how: String,
    /// The requirement in words.
    pub text: String,
    /// Chapters of the text, as a list for people.
    pub chapter: String,
}

impl Contract {
    /// Reads a ledger.
    ///
    /// # Errors
    /// It is none, or a row occurs twice.
    pub fn from_json(json: Json) -> Result<Contract, String> {
        let mut contract: Contract = serde_json::from_value(json).map_err(|error| error.to_string())?;
        contract.requirements.sort_by(|a, b| a.id.cmp(&b.id));
        match contract.requirements.windows(2).find(|pair| pair[0].id == pair[1].id) {
            Some(pair) => Err(format!("the requirement {} occurs twice", pair[0].id)),
            None => Ok(contract),
        }
    }

    /// The row of an id.
    pub fn get(&self, id: &str) -> Option<&Row> {
        self.requirements.iter().find(|row| row.id == id)
    }
}

/// The ledger that the program brings with it.
pub fn ledger() -> &'static Contract {
    &LEDGER
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_broken_ledger_is_refused() {
        let row = json!({ "id": "TC-01", "grade": "advice", "how": "descriptor", "text": "x", "chapter": "3" });
        let ledger = |rows: Json| json!({ "specification": "x", "grades": {}, "requirements": rows });
        assert_eq!(Contract::from_json(ledger(json!([row]))).unwrap().get("TC-01").unwrap().weight, "advice");
        assert!(Contract::from_json(ledger(json!([row, row]))).unwrap_err().contains("TC-01 occurs twice"));
        assert!(Contract::from_json(ledger(json!([{ "id": "TC-01" }]))).is_err());
    }
}
