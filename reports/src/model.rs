//! What a report holds. The main type is [`Report`], which is `report.json` (format [`FORMAT`]).

use crate::read;
use cetp_vectors::json;
use cetp_vectors::judge::Outcome;
use cetp_vectors::ledger::Role;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The value of `format`.
pub const FORMAT: &str = "cetp-conformance-report/1";

/// A whole report.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// `cetp-conformance-report/1`.
    #[schemars(extend("const" = FORMAT))]
    pub format: String,
    /// The vectors that were used.
    pub suite: Suite,
    /// The program that ran them.
    pub runner: Program,
    /// What was tested.
    pub target: Target,
    /// RFC 3339, when the run began.
    pub started_at: String,
    /// RFC 3339, when it ended.
    pub finished_at: String,
    /// Where it ran, for people: operating system, processor, seed.
    pub environment: BTreeMap<String, String>,
    /// The names of the secrets that were taken out of everything that follows, each with the number of places. In the
    /// place of each stands `[redacted NAME]`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, u64>,
    /// Whether the run ended before all that was selected had been run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// One row a vector that was selected, sorted by id.
    pub results: Vec<VectorRow>,
    /// The verdict on each level of the suite for the target's role.
    pub levels: BTreeMap<String, Level>,
    /// One row a requirement of the suite that binds the target's role, sorted by id.
    pub requirements: Vec<RequirementRow>,
    /// What the target may claim.
    pub claims: Vec<Claim>,
}

/// The vectors that were used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// For example `cetp-v2`.
    pub name: String,
    /// Version of the vectors.
    pub version: String,
    /// SHA-256 over the names and contents of all files of vectors, ledgers and rules.
    pub vectors_sha256: String,
    /// How many vectors the suite has for the target's role.
    pub vector_count: usize,
}

/// A program and its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What was tested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Name that the target gives itself.
    pub name: String,
    /// Version that the target gives itself.
    pub version: String,
    /// How it was reached: `in-process`, `stdio`, `adb`.
    pub adapter: String,
    /// The side that was tested.
    #[schemars(schema_with = "role_schema")]
    pub role: Role,
    /// Versions of the protocol that it claims.
    pub versions: Vec<u64>,
    /// Capabilities that it claims.
    pub capabilities: Vec<String>,
    /// Controls that it offers.
    pub controls: Vec<String>,
    /// The files that were tested.
    pub subjects: Vec<Subject>,
    /// Facts that only the target vouches for: no one else saw them.
    pub declared: Vec<String>,
    /// The whole answer to `target.describe`. Name, version, versions, capabilities and controls above follow from it.
    pub description: Json,
}

/// Facts that a target of this adapter tells of itself, where nobody could look: what follows from them is declared by the
/// target. Over a pipe the target plays the platform too; on a device the platform tells all but two.
pub fn declared_facts(adapter: &str) -> Vec<String> {
    let facts: &[&str] = match adapter {
        "adb" => &["audit", "fds"],
        _ => &["explicit", "immutable", "access", "audit", "ui", "fds"],
    };
    facts.iter().map(|fact| (*fact).to_owned()).collect()
}

/// A file and its digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// File name, without the folder it lay in.
    pub name: String,
    /// SHA-256 in lowercase hex.
    pub sha256: String,
}

/// What became of a vector.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VectorRow {
    /// Its id.
    pub vector: String,
    /// What it is about.
    pub requirements: Vec<String>,
    /// Requirements that its own expectations judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged_requirements: Vec<String>,
    /// Requirements that were broken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_requirements: Vec<String>,
    /// SHOULDs that were not met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warned_requirements: Vec<String>,
    /// Its level.
    pub level: String,
    /// The side that it tests.
    #[schemars(schema_with = "role_schema")]
    pub role: Role,
    /// The outcome.
    #[schemars(schema_with = "outcome_schema")]
    pub outcome: Outcome,
    /// Why, in a sentence; nothing for a pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
    /// How often each outcome came, where it was run more than once.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "repeats_schema")]
    pub repeats: BTreeMap<Outcome, u32>,
    /// The end of what the target wrote to stderr, for a vector that fell short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<String>,
    /// What happened, in the form of `cetp_vectors::transcript`; nothing for a vector that was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Json>")]
    pub transcript: Option<Packed>,
}

/// A transcript as its JSON text. A report holds hundreds, and as values they take twenty times as much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed(Box<str>);

impl Packed {
    /// From the JSON form of a transcript.
    pub fn new(transcript: &Json) -> Packed {
        Packed(transcript.to_string().into_boxed_str())
    }

    /// The JSON form.
    pub fn json(&self) -> Json {
        json::parse(self.0.as_bytes(), read::LIMITS).expect("what was written can be read")
    }
}

impl Serialize for Packed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Packed, D::Error> {
        Json::deserialize(deserializer).map(|json| Packed::new(&json))
    }
}

/// The verdict on a level, with its denominators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// The verdict.
    pub verdict: Verdict,
    /// Vectors that the suite has for this level and role.
    pub vectors: usize,
    /// Of these, passed.
    pub passed: usize,
    /// Failed.
    pub failed: usize,
    /// Passed but for a SHOULD.
    pub warned: usize,
    /// Not run, as something was missing.
    pub not_run: usize,
    /// Not applicable.
    pub not_applicable: usize,
    /// Nobody's verdict.
    pub errors: usize,
    /// Not selected for this run.
    pub unselected: usize,
    /// Requirements of the level that vectors should judge and none does: with such a gap there is no pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncovered: Vec<String>,
}

/// What can be said of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every vector of the level was run, and none is error, fail or not_run.
    Pass,
    /// A vector failed.
    Fail,
    /// None failed, but the suite or target broke.
    Error,
    /// Nothing fell short in what was run, but not all was run.
    Incomplete,
    /// Every vector is not applicable.
    NotApplicable,
}

impl Verdict {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Error => "error",
            Verdict::Incomplete => "incomplete",
            Verdict::NotApplicable => "not_applicable",
        }
    }
}

/// What became of a requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequirementRow {
    /// Its id.
    pub id: String,
    /// The strongest outcome over its vectors, where not applicable is the weakest; nothing where no vector judges it.
    #[schemars(schema_with = "optional_outcome_schema")]
    pub outcome: Option<Outcome>,
    /// Why nothing was judged, or how many of its vectors have not judged it, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The vectors that are about it, or broke it.
    pub vectors: Vec<String>,
}

/// Something that the target may claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// For example `cetp-v2-core`.
    pub claim: String,
    /// The side that may claim it.
    #[schemars(schema_with = "role_schema")]
    pub role: Role,
    /// The version of the suite that it rests on.
    pub suite_version: String,
}

fn role_schema(_: &mut SchemaGenerator) -> Schema {
    let names = [Role::Provider, Role::Consumer, Role::Host, Role::Admission].map(Role::name);
    json_schema!({ "type": "string", "enum": names })
}

fn outcome_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Outcome::ALL.map(Outcome::name) })
}

fn optional_outcome_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<Option<&str>> = Outcome::ALL.map(|outcome| Some(outcome.name())).into_iter().chain([None]).collect();
    json_schema!({ "type": ["string", "null"], "enum": names })
}

fn repeats_schema(_: &mut SchemaGenerator) -> Schema {
    let names = Outcome::ALL.map(Outcome::name);
    json_schema!({
        "type": "object",
        "propertyNames": { "enum": names },
        "additionalProperties": { "type": "integer", "minimum": 1 },
    })
}

/// The JSON Schema of `report.json`, as it lies in `reports/report.schema.json`.
pub fn schema() -> Json {
    let mut schema = schemars::schema_for!(Report).to_value();
    schema["title"] = "Report of a run of the CETP conformance suite".into();
    schema
}
