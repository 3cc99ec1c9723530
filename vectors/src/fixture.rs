//! The fixture: tools that every provider under test offers for the suite, and the callers that vectors name.

use serde_json::Value as Json;
use std::sync::LazyLock;

/// The fixture's tools as `list_tools` shows them, and their scopes (copied from the design; kept fresh by a test).
pub const TOOLS_JSON: &str = include_str!("../fixture/fixture-tools.json");

/// The identities behind the names of callers.
pub const CALLERS_JSON: &str = include_str!("../fixture/callers.json");

static TOOLS: LazyLock<Json> =
    LazyLock::new(|| crate::json::parse_text(TOOLS_JSON).expect("the fixture is valid JSON"));
static CALLERS: LazyLock<Json> =
    LazyLock::new(|| crate::json::parse_text(CALLERS_JSON).expect("the callers are valid JSON"));

/// The fixture: `scopes` and `tools`.
pub fn tools() -> &'static Json {
    &TOOLS
}

/// The descriptor of a tool of the fixture.
pub fn tool(name: &str) -> Option<&'static Json> {
    TOOLS["tools"].as_array()?.iter().find(|tool| tool["name"] == name)
}

/// An object of the callers by name: what `provider.call` carries as `caller`.
pub fn callers() -> &'static Json {
    &CALLERS
}
