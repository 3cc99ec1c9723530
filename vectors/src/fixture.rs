//! The fixture: tools that every provider under test offers for the suite, and the callers that vectors name.

use serde_json::Value as Json;
use std::sync::LazyLock;

/// The fixture's tools as `list_tools` shows them, and their scopes (copied from the design; kept fresh by a test).
pub const TOOLS_JSON: &str = include_str!("../fixture/fixture-tools.json");

/// The identities behind the names of callers.
pub const CALLERS_JSON: &str = include_str!("../fixture/callers.json");

static TOOLS: LazyLock<Json> = LazyLock::new(|| {
    let mut fixture = crate::json::parse_text(TOOLS_JSON).expect("the fixture is valid JSON");
    let tools = fixture["tools"].as_array().into_iter().flatten();
    let by_name = tools.map(|tool| (tool["name"].as_str().unwrap_or_default().to_owned(), tool.clone())).collect();
    fixture["tool"] = Json::Object(by_name);
    fixture
});
static CALLERS: LazyLock<Json> =
    LazyLock::new(|| crate::json::parse_text(CALLERS_JSON).expect("the callers are valid JSON"));

/// The fixture: `scopes`, `tools`, and under `tool` the same tools by name.
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

/// The names of the callers.
pub fn caller_names() -> Vec<String> {
    CALLERS.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}
