//! The v1 side of a dual-stack provider: the read-only subset, in v1's envelope (§8).
//!
//! v1 has no sessions, no confirmation and no deduplication, so nothing that needs one of them is reachable: a tool with
//! side effects does not exist here.

use crate::application::Work;
use crate::audit::Trail;
use crate::envelope::{self, Code, key, refuse};
use crate::error::{Error, Result};
use crate::provider::Call;
use crate::switches::Fault;
use cetp_vectors::bundle::{Bundle, Value};
use serde_json::json;

impl Call<'_> {
    /// Any v1 call.
    pub(crate) fn v1(&self, method: &str, extras: Option<&Bundle>) -> Result<Bundle> {
        let none = Bundle::new();
        let data = self.arrive().and_then(|()| match method {
            "list_tools" => Ok(self.provider.catalogue().v1_listing.clone()),
            "get_provider_info" => Ok(self.v1_info()),
            "execute_tool" => self.v1_execute(extras.unwrap_or(&none)),
            _ => refuse(Code::ToolNotFound, "There is no such method."),
        });
        match data {
            Ok(data) => {
                Ok(Bundle::new().with(key::STATUS, Value::string("success")).with(key::DATA, Value::string(data)))
            }
            Err(error @ (Error::Died | Error::Thrown(_))) => Err(error),
            Err(Error::Refused(refusal)) => Ok(error(refusal.code, &refusal.message)),
            Err(_) => Ok(error(Code::InternalError, "The provider cannot answer at the moment.")),
        }
    }

    fn v1_info(&self) -> String {
        let about = self.provider.setup.application.about();
        let scopes: Vec<_> = about
            .scopes
            .as_array()
            .into_iter()
            .flatten()
            .map(|scope| json!({ "name": scope["name"], "description": scope["description"] }))
            .collect();
        json!({ "provider_name": about.provider_name, "description": about.description, "scopes": scopes }).to_string()
    }

    fn v1_execute(&self, extras: &Bundle) -> Result<String> {
        let mut trail = Trail::default();
        let value = self.v1_value(extras, &mut trail);
        let reply = match &value {
            Ok(_) => Ok(Bundle::new().with(key::STATUS, Value::string("success"))),
            Err(Error::Refused(refusal)) => Err(Error::Refused(refusal.clone())),
            Err(_) => return value,
        };
        self.record_audit(trail, extras, &reply)?;
        value
    }

    fn v1_value(&self, extras: &Bundle, trail: &mut Trail) -> Result<String> {
        let catalogue = self.provider.catalogue();
        let name = envelope::string(extras, key::TOOL_NAME)?;
        let hidden = catalogue.find_hidden(name).filter(|_| self.broken(Fault::V1RunsHidden));
        let tool = hidden.map_or_else(|| self.find_tool(&catalogue, name), Ok)?;
        let reachable = !tool.writes
            || hidden.is_some()
            || self.broken(Fault::V1RunsWrites)
            || self.broken(Fault::V1RefusesTooLate)
            || (self.broken(Fault::V1RunsIdempotentWrites) && tool.idempotent)
            || (self.broken(Fault::V1RunsInSession) && extras.get(key::SESSION_TOKEN).is_some());
        // §8: a v1 consumer never reaches more than the read-only subset.
        if !reachable {
            return refuse(Code::ToolNotFound, "There is no such tool.");
        }
        trail.tool = Some(tool.name.clone());
        if !self.missing_scopes(tool)?.is_empty() && !self.broken(Fault::V1ScopesUnchecked) {
            return refuse(Code::PermissionDenied, "The caller lacks a scope of this tool.");
        }
        // In v1 request_id is for logs: it may be missing, and nothing depends on it.
        let request_id = envelope::optional_string(extras, key::REQUEST_ID)?.unwrap_or_default();
        let args = self.arguments(tool, request_id, self.args_text(extras)?)?;
        let work = Work { tool: &tool.name, request_id, args: &args };
        if tool.always_asks || self.provider.setup.application.needs_user(work) {
            return refuse(Code::PermissionDenied, "This call needs the user, whom v1 cannot ask.");
        }
        let value = self.query(|db| self.provider.perform(db, tool, work))?;
        if tool.writes && self.broken(Fault::V1RefusesTooLate) {
            return refuse(Code::ToolNotFound, "There is no such tool.");
        }
        if value.len() > self.limits().max_inline_result_bytes {
            return refuse(Code::InternalError, "The result is too large.");
        }
        Ok(value)
    }
}

/// An error in v1's envelope, with the nearest code that v1 has.
fn error(code: Code, message: &str) -> Bundle {
    let code = match code {
        Code::AuthRequired
        | Code::PermissionDenied
        | Code::ToolNotFound
        | Code::InvalidArgs
        | Code::RateLimited
        | Code::InternalError => code,
        Code::InvalidRequest => Code::InvalidArgs,
        _ => Code::InternalError,
    };
    Bundle::new()
        .with(key::STATUS, Value::string("error"))
        .with(key::ERROR_CODE, Value::string(code.name()))
        .with(key::ERROR_MESSAGE, Value::string(message))
}
