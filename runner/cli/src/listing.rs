//! What a provider lists. The main types are [`Asked`], which asks, and [`Listing`], which came.

use cetp_runner::adapter::Session;
use cetp_runner::execute::exchange;
use cetp_vectors::fixture;
use cetp_vectors::machine::Answer;
use cetp_vectors::protocol::Describe;
use cetp_vectors::schema::DRAFT_2020_12;
use serde_json::{Value as Json, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What came of `get_provider_info` and `list_tools` of v2.
pub struct Listing {
    /// The data of `get_provider_info`.
    pub info: Json,
    /// The dialect of the schemas.
    pub dialect: String,
    /// The descriptors.
    pub tools: Vec<Json>,
}

/// A provider that is being asked, as the first of the callers.
pub struct Asked<'s> {
    session: &'s mut dyn Session,
    describe: &'s Describe,
    limit: Duration,
    now_ms: i64,
}

impl<'s> Asked<'s> {
    /// Resets a target, so that it can be asked; `limit` is for each question.
    ///
    /// # Errors
    /// It cannot be reset.
    pub fn begin(session: &'s mut dyn Session, describe: &'s Describe, limit: Duration) -> Result<Asked<'s>, String> {
        let mut asked = Asked { session, describe, limit, now_ms: 0 };
        let real = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let params = json!({ "nonce": "own-tools", "now_ms": u64::try_from(real).unwrap_or(0) });
        asked.now_ms = asked.verb("target.reset", &params)?["now_ms"].as_i64().unwrap_or_default();
        Ok(asked)
    }

    /// The tools of v2, by negotiation of these capabilities.
    ///
    /// # Errors
    /// The provider does not tell them.
    pub fn v2(&mut self, capabilities: &[String]) -> Result<Listing, String> {
        let versions = json!({ "consumer_versions": { "int_array": [2] },
            "consumer_capabilities": { "string": json!(capabilities).to_string() } });
        let token = self.data("negotiate", &versions)?["session_token"].clone();
        let extras = json!({ "protocol_version": { "int": 2 }, "session_token": { "string": token },
            "request_id": { "string": "6ba7b810-9dad-41d1-80b4-00c04fd430c8" },
            "deadline_at_ms": { "long": self.now_ms.saturating_add(60_000) } });
        let info = self.data("get_provider_info", &extras)?;
        let dialect = info["schema_dialect"].as_str().unwrap_or(DRAFT_2020_12).to_owned();
        let list = self.data("list_tools", &extras)?;
        let tools = list["tools"].as_array().cloned().ok_or("list_tools brought no tools")?;
        Ok(Listing { info, dialect, tools })
    }

    /// The tools of v1.
    ///
    /// # Errors
    /// The provider does not tell them.
    pub fn v1(&mut self) -> Result<Vec<Json>, String> {
        let list = self.data("list_tools", &Json::Null)?;
        list["tools"].as_array().cloned().ok_or_else(|| "list_tools of v1 brought no tools".to_owned())
    }

    /// The data of a success.
    fn data(&mut self, method: &str, extras: &Json) -> Result<Json, String> {
        let authority = self.describe.authority.as_deref().unwrap_or_default();
        let params = json!({ "caller": fixture::callers()["a"], "authority": authority, "method": method, "arg": null, "extras": extras });
        let bundle = self.verb("provider.call", &params)?["bundle"].clone();
        let text = bundle["data"]["string"].as_str().filter(|_| bundle["status"]["string"] == "success");
        let text = text.ok_or_else(|| format!("{method} did not succeed: {bundle}"))?;
        cetp_vectors::json::parse(text.as_bytes(), cetp_vectors::json::Limits::DATA)
            .map_err(|error| format!("data of {method}: {error}"))
    }

    fn verb(&mut self, verb: &str, params: &Json) -> Result<Json, String> {
        match exchange(self.session, verb, params, self.limit).map_err(|fault| fault.to_string())? {
            Answer::Result(result) => Ok(result),
            Answer::Refused { message, .. } => Err(format!("{verb} was refused: {message}")),
            Answer::Broken { why, .. } => Err(why),
            Answer::Unread => Err(format!("{verb} was not answered")),
        }
    }
}
