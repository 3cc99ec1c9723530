//! The tools that every vector knows: an app that keeps a ledger. The main type is [`Fixture`].
//!
//! Names, schemas and annotations come from the suite's own `fixture-tools.json`; what the tools do is in
//! [`Fixture::perform`]. The app can be changed while it runs ([`Change`]), which a control of the target protocol does.

use crate::application::{About, Application, Description, Work};
use crate::authorize;
use crate::caller::Caller;
use crate::envelope::{Code, Refusal, refuse};
use crate::error::Result;
use crate::session::Capabilities;
use crate::store::exists;
use crate::switches::{Fault, Leeway, Switches};
use cetp_vectors::json::object;
use rusqlite::{Connection, params};
use serde_json::{Value as Json, json};

/// Descriptors and scopes, as the suite publishes them.
const TOOLS: &str = include_str!("../../../vectors/fixture/fixture-tools.json");

/// What the first identity of a UID is given when it calls.
const NEWCOMER_SCOPES: [&str; 3] = ["fixture.read", "fixture.write", "fixture.admin"];

/// `fixture_escalate` needs the user above this amount.
const ESCALATION_LIMIT: f64 = 1000.0;

/// What `fixture_secret` gives.
pub(crate) const SECRET: &str = "what only the scope fixture.secret shows";

/// What `fixture_crash` throws: texts that must not reach a caller.
const CANARY: &str = "canary-5d1e at com.example.Fixture(Fixture.kt:7) /data/user/0/secret.db";

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS ledger (
    entry INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    value TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS callers (uid INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS changes (id INTEGER PRIMARY KEY, change TEXT NOT NULL);
";

/// A change of the app under live sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// One more tool, `fixture_added`, a copy of echo.
    AddTool,
    /// echo's input_schema gains a title.
    ChangeSchema,
    /// append becomes high and always.
    RaiseRisk,
    /// The last optional capability is gone.
    DropCapability,
}

impl Change {
    /// All of them.
    pub const ALL: [Change; 4] = [Change::AddTool, Change::ChangeSchema, Change::RaiseRisk, Change::DropCapability];

    /// The name in the target protocol.
    pub fn name(self) -> &'static str {
        match self {
            Change::AddTool => "add_tool",
            Change::ChangeSchema => "change_schema",
            Change::RaiseRisk => "raise_risk",
            Change::DropCapability => "drop_capability",
        }
    }
}

/// The app.
#[derive(Debug)]
pub struct Fixture {
    about: About,
    described: Vec<Json>,
    switches: Switches,
}

impl Fixture {
    /// The app with the suite's tools.
    ///
    /// # Panics
    /// Never: the embedded file is JSON.
    pub fn new(switches: Switches) -> Fixture {
        let file: Json = serde_json::from_str(TOOLS).expect("the embedded fixture-tools.json");
        let mut scopes = file["scopes"].clone();
        for scope in scopes.as_array_mut().into_iter().flatten() {
            let name = scope["name"].as_str().unwrap_or_default().to_owned();
            scope["title"] = json!(format!("Fixture: {}", name.rsplit('.').next().unwrap_or_default()));
            scope["description"] = json!(format!("What {name} covers in the fixture"));
        }
        let about = About {
            package: "org.cetp.reference",
            uid: 10_777,
            authority: "org.cetp.reference.tools",
            provider_id: "org.cetp.reference",
            provider_name: "CETP reference provider",
            description: "Keeps a ledger, so that the effect of every call can be counted",
            scopes,
        };
        Fixture { about, described: file["tools"].as_array().cloned().unwrap_or_default(), switches }
    }

    /// Makes a change; it lasts until the store is cleared.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn change(db: &Connection, change: Change) -> Result<()> {
        db.prepare_cached("INSERT INTO changes (change) VALUES (?)")?.execute([change.name()])?;
        Ok(())
    }

    fn amount(&self, work: &Work<'_>) -> f64 {
        let amount = number(work, "amount");
        if self.switches.broken(Fault::EscalationIn32Bits) { in_32_bits(&work.args["amount"]) } else { amount }
    }

    /// To whom, as the question says it.
    fn recipient(&self, work: &Work<'_>) -> String {
        let most = if self.switches.broken(Fault::QuestionCutShort) { 8 } else { usize::MAX };
        text(work, "to").chars().take(most).collect()
    }

    fn enter(&self, db: &Connection, work: Work<'_>, value: &str) -> Result<i64> {
        db.prepare_cached("INSERT INTO ledger (request_id, tool, value) VALUES (?, ?, ?)")?.execute(params![
            work.request_id,
            work.tool,
            value
        ])?;
        Ok(db.last_insert_rowid())
    }
}

impl Application for Fixture {
    fn about(&self) -> &About {
        &self.about
    }

    fn tables(&self) -> &'static str {
        TABLES
    }

    fn edition(&self, db: &Connection) -> Result<String> {
        let mut statement = db.prepare_cached("SELECT change FROM changes ORDER BY id")?;
        let changes = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
        Ok(changes.join(" "))
    }

    fn tools(&self, edition: &str) -> Vec<Description> {
        let changed = |change: Change| edition.split(' ').any(|name| name == change.name());
        let mut tools = self.described.clone();
        for tool in &mut tools {
            if tool["name"] == "fixture_append" && changed(Change::RaiseRisk) {
                tool["annotations"]["risk"] = json!("high");
                tool["annotations"]["confirmation"] = json!("always");
            }
        }
        if changed(Change::AddTool) {
            let mut added = tools.iter().find(|tool| tool["name"] == "fixture_echo").cloned().unwrap_or_default();
            added["name"] = json!("fixture_added");
            tools.push(added);
        }
        for tool in &mut tools {
            if tool["name"] == "fixture_echo" && changed(Change::ChangeSchema) {
                tool["input_schema"]["title"] = json!("The value to return");
            }
        }
        tools
            .into_iter()
            .map(|descriptor| Description { hidden: descriptor["name"] == "fixture_hidden", descriptor })
            .collect()
    }

    fn capabilities(&self, edition: &str, all: Capabilities) -> Capabilities {
        let dropped = edition.split(' ').filter(|name| *name == Change::DropCapability.name()).count();
        all.iter().rev().take(dropped).fold(all, Capabilities::without)
    }

    fn arrives(&self, db: &Connection, caller: &Caller) -> Result<()> {
        if exists(db, "SELECT 1 FROM callers WHERE uid = ?", caller.uid)? {
            return Ok(());
        }
        // Once for a UID: another identity under the same UID is to hold nothing.
        db.prepare_cached("INSERT INTO callers VALUES (?)")?.execute([caller.uid])?;
        authorize::grant_to_newcomer(db, &caller.identity(), &NEWCOMER_SCOPES)
    }

    fn may_be_asked_for(&self, scope: &str) -> bool {
        if self.switches.leeway(Leeway::SecretDenied) {
            return false;
        }
        scope == "fixture.secret" || !self.switches.leeway(Leeway::PermissionDenied)
    }

    fn check(&self, work: Work<'_>) -> Result<()> {
        if work.tool == "fixture_append" && text(&work, "value").starts_with("forbidden") {
            return refuse(Code::InvalidArgs, "A value must not start with \"forbidden\".");
        }
        Ok(())
    }

    fn needs_user(&self, work: Work<'_>) -> bool {
        let limit =
            if self.switches.broken(Fault::EscalationOffByOne) { ESCALATION_LIMIT + 1.0 } else { ESCALATION_LIMIT };
        work.tool == "fixture_escalate" && self.amount(&work) > limit
    }

    fn question(&self, work: Work<'_>) -> Vec<String> {
        match work.tool {
            "fixture_transfer" if self.switches.broken(Fault::QuestionWithoutAmount) => {
                vec![format!("Transfer to {}?", text(&work, "to"))]
            }
            "fixture_transfer" => vec![
                "Transfer an amount?".to_owned(),
                format!("To: {}", self.recipient(&work)),
                format!("Amount: {}", integer_text(&work, "amount")),
                "A transfer cannot be undone.".to_owned(),
            ],
            "fixture_escalate" => vec![
                "Set a large amount?".to_owned(),
                format!("Amount: {}", integer_text(&work, "amount")),
                "The old amount is lost.".to_owned(),
            ],
            _ => vec![
                "Add to the ledger?".to_owned(),
                format!("Value: {}", text(&work, "value")),
                "An entry cannot be removed.".to_owned(),
            ],
        }
    }

    fn waits(&self, work: Work<'_>) -> bool {
        work.args["hold"] == json!(true)
    }

    fn perform(&self, db: &Connection, work: Work<'_>) -> Result<Json> {
        match work.tool {
            "fixture_echo" | "fixture_added" => {
                if self.switches.broken(Fault::ReadWrites) {
                    self.enter(db, work, "read")?;
                }
                Ok(work.args.clone())
            }
            "fixture_blob" => {
                let fill = if work.args["fill"] == "cjk" { "测" } else { "x" };
                Ok(object([("blob", Json::String(fill.repeat(length(&work))))]))
            }
            "fixture_ledger" => {
                let mut statement = db.prepare_cached("SELECT request_id, tool, value FROM ledger ORDER BY entry")?;
                let entries = statement.query_map([], |row| {
                    let (request_id, tool, value): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
                    Ok(json!({ "request_id": request_id, "tool": tool, "value": value }))
                })?;
                Ok(json!({ "entries": entries.collect::<rusqlite::Result<Vec<_>>>()? }))
            }
            "fixture_append" => Ok(json!({ "entry": self.enter(db, work, text(&work, "value"))? })),
            "fixture_set" => {
                let value = format!("{}={}", text(&work, "key"), text(&work, "value"));
                Ok(json!({ "entry": self.enter(db, work, &value)? }))
            }
            "fixture_transfer" => {
                let value = format!("{}:{}", text(&work, "to"), integer_text(&work, "amount"));
                Ok(json!({ "entry": self.enter(db, work, &value)? }))
            }
            "fixture_escalate" => Ok(json!({ "entry": self.enter(db, work, &integer_text(&work, "amount"))? })),
            "fixture_job" => {
                if work.args["fail"] == json!(true) {
                    return refuse(Code::Conflict, "The work could not be done.");
                }
                let mut value = json!({ "entry": self.enter(db, work, text(&work, "value"))? });
                if work.args.get("length").is_some() {
                    value["blob"] = Json::String("x".repeat(length(&work)));
                }
                Ok(value)
            }
            "fixture_hidden" => Ok(json!({ "entry": self.enter(db, work, "hidden")? })),
            "fixture_bad_output" => Ok(json!({ "count": "many" })),
            // Thrown without the panic hook, which would print it: an exception of a tool is an everyday matter here.
            "fixture_crash" => std::panic::resume_unwind(Box::new(CANARY)),
            "fixture_secret" => {
                if self.switches.broken(Fault::SecretWrites) {
                    self.enter(db, work, "read")?;
                }
                Ok(json!({ "secret": SECRET }))
            }
            "fixture_busy" => {
                let busy = Refusal::new(Code::RateLimited, "The tool is busy.");
                Err(Refusal { retry_after_ms: Some(250), ..busy }.into())
            }
            _ => refuse(Code::InternalError, "The tool failed."),
        }
    }
}

fn text<'w>(work: &Work<'w>, member: &str) -> &'w str {
    work.args[member].as_str().unwrap_or_default()
}

/// An integer may be written `5`, `5.0` or `5e0`, and be larger than any machine integer.
fn number(work: &Work<'_>, member: &str) -> f64 {
    work.args[member].as_f64().unwrap_or_default()
}

/// What a careless conversion makes of an integer; only a fault does so.
#[allow(clippy::cast_possible_truncation, reason = "the fault itself")]
fn in_32_bits(amount: &Json) -> f64 {
    amount.as_i64().map_or_else(|| amount.as_f64().unwrap_or_default(), |n| f64::from(n as i32))
}

fn integer_text(work: &Work<'_>, member: &str) -> String {
    match &work.args[member] {
        Json::Number(n) if n.is_i64() || n.is_u64() => n.to_string(),
        _ => format!("{:.0}", number(work, member)),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the schema bounds it to 0..=16777216")]
fn length(work: &Work<'_>) -> usize {
    number(work, "length") as usize
}
