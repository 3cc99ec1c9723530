//! The requirement ledgers: every sentence of the specifications that can be judged, with its id. The main type is
//! [`Ledger`].
//!
//! The files in `vectors/requirements/` are data of the project; this module only reads them. A requirement's id is
//! stable for ever and is what vectors, faults and reports refer to.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which side of the protocol a requirement or vector is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The app that offers tools; in `aw-provider` the policy program.
    Provider,
    /// The app that calls tools.
    Consumer,
    /// Provider and consumer alike (ledgers only).
    Both,
    /// The `aw-provider` host that starts providers.
    Host,
    /// The `aw-provider` offline admission check.
    Admission,
}

impl Role {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Role::Provider => "provider",
            Role::Consumer => "consumer",
            Role::Both => "both",
            Role::Host => "host",
            Role::Admission => "admission",
        }
    }

    /// Reads the name in JSON.
    pub fn from_name(name: &str) -> Option<Role> {
        [Role::Provider, Role::Consumer, Role::Both, Role::Host, Role::Admission].into_iter().find(|r| r.name() == name)
    }

    /// Whether a requirement of this role binds a target of `role`.
    pub fn binds(self, role: Role) -> bool {
        self == role || (self == Role::Both && matches!(role, Role::Provider | Role::Consumer))
    }
}

/// How strongly a sentence obliges. Only `must` and `must_not` can make a vector fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// 必须.
    Must,
    /// 不得.
    MustNot,
    /// 应该: not meeting it is a warning.
    Should,
    /// 可以: nothing to judge.
    May,
}

/// One row of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// For example `CETP2-2.2-05`.
    pub id: String,
    /// The suite that it belongs to, for example `cetp-v2`.
    pub suite: String,
    /// Section of the specification; empty where the ledger gives none.
    pub section: String,
    /// Whom it binds.
    pub role: Role,
    /// `core`, `v1_compat` or an optional capability.
    pub level: String,
    /// How strongly.
    pub strength: Strength,
    /// The requirement in words.
    pub text: String,
    /// What is accepted where the text leaves room.
    pub interpretation: Option<String>,
    /// True where it rests on no sentence alone (`basis: reading`).
    pub reading: bool,
    /// Controls without which it cannot be judged.
    pub needs: Vec<String>,
    /// None where vectors judge it, else who does and why.
    pub not_by_vector: Option<String>,
}

/// All requirements, by id.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    rows: BTreeMap<String, Requirement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    specification: String,
    #[serde(default)]
    #[allow(dead_code, reason = "kept for readers of the file")]
    note: Option<String>,
    requirements: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    #[serde(default)]
    section: String,
    role: Role,
    level: String,
    strength: Strength,
    text: String,
    interpretation: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
    judged_by: Option<String>,
    basis: Option<String>,
}

impl Ledger {
    /// Adds the rows of one ledger file.
    ///
    /// # Errors
    /// A sentence that says what is wrong: no ledger, an unknown member, a duplicate id.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let file: File = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let suite = if file.specification.starts_with("CETP v2") { "cetp-v2" } else { "aw-provider-v1alpha1" };
        for row in file.requirements {
            let requirement = Requirement {
                id: row.id.clone(),
                suite: suite.to_owned(),
                section: row.section,
                role: row.role,
                level: row.level,
                strength: row.strength,
                text: row.text,
                interpretation: row.interpretation,
                reading: row.basis.as_deref() == Some("reading"),
                needs: row.needs,
                not_by_vector: row.judged_by.filter(|by| by != "vector"),
            };
            if self.rows.insert(row.id.clone(), requirement).is_some() {
                return Err(format!("the requirement {} occurs twice", row.id));
            }
        }
        Ok(())
    }

    /// The row of an id.
    pub fn get(&self, id: &str) -> Option<&Requirement> {
        self.rows.get(id)
    }

    /// Every row, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = &Requirement> {
        self.rows.values()
    }
}
