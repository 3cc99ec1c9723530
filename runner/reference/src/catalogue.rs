//! The tools with their compiled schemas, and what is listed of them (§3.3, §3.4). The main type is [`Catalogue`].

use crate::application::{Application, Description};
use crate::distort;
use crate::error::{Error, Result};
use crate::session::Capabilities;
use crate::switches::{Fault, Leeway, Switches};
use jsonschema::Validator;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

/// The dialect of every schema here (§3.2).
pub const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// A tool, ready to be executed.
#[derive(Debug)]
pub struct Tool {
    /// Its name (§3.1).
    pub name: String,
    /// For people.
    pub title: String,
    /// For people.
    pub description: String,
    /// Whether `effect` is other than `read`: then it is deduplicated (§6) and not part of v1 (§8).
    pub writes: bool,
    /// `idempotent`, which changes nothing about deduplication (§6).
    pub idempotent: bool,
    /// `effect` is `create`; only a fault makes a difference of it.
    pub creates: bool,
    /// `destructive`; only a fault looks at it here, where `confirmation` decides.
    pub destructive: bool,
    /// `confirmation` is `always`.
    pub always_asks: bool,
    /// `execution` is `sync_or_async`.
    pub may_run_in_background: bool,
    /// Every scope that it takes (§3.4: all of them are needed).
    pub scopes: Vec<String>,
    /// Hidden from every caller (§7.2).
    pub hidden: bool,
    /// `input_schema`, compiled.
    pub input: Validator,
    /// `output_schema`, compiled.
    pub output: Validator,
}

/// What a session's `list_tools` says.
#[derive(Debug)]
pub struct Listing {
    /// Changes whenever something below it changes (§3.3): it is the digest of it.
    pub revision: String,
    /// `data` of the reply.
    pub data: String,
}

/// All tools of one edition of the app.
#[derive(Debug)]
pub struct Catalogue {
    /// The optional capabilities that can be negotiated.
    pub capabilities: Capabilities,
    /// What is listed.
    pub listing: Listing,
    /// What is listed where no operation can be had; the same, but for a leeway.
    pub listing_without_async: Listing,
    /// `data` of a v1 `list_tools`: the read-only subset (§8).
    pub v1_listing: String,
    tools: Vec<Tool>,
}

impl Catalogue {
    /// Compiles the app's tools.
    ///
    /// # Errors
    /// A descriptor that is incomplete, or whose declarations contradict each other.
    pub fn build(
        application: &dyn Application,
        edition: &str,
        all: Capabilities,
        switches: &Switches,
    ) -> Result<Catalogue> {
        let described = application.tools(edition);
        let tools: Vec<Tool> = described.iter().map(Tool::compile).collect::<Result<_>>()?;
        let hidden_listed = switches.broken(Fault::HiddenListed);
        let shown = |keep: &dyn Fn(&Tool) -> bool| -> Vec<Json> {
            let pairs = tools.iter().zip(&described).filter(|(tool, _)| (!tool.hidden || hidden_listed) && keep(tool));
            pairs.map(|(_, described)| described.descriptor.clone()).collect()
        };
        let without_async = switches.leeway(Leeway::JobHiddenWithoutAsync);
        let v1_shows = |tool: &Tool| {
            switches.broken(Fault::V1ListsWrites)
                || (switches.broken(Fault::V1ListsIdempotentWrites) && tool.idempotent)
                || (switches.broken(Fault::V1ListsByRisk) && !tool.always_asks)
        };
        Ok(Catalogue {
            capabilities: application.capabilities(edition, all),
            listing: Listing::new(shown(&|_| true), switches),
            listing_without_async: Listing::new(
                synchronous(switches, shown(&|tool| !(without_async && tool.may_run_in_background))),
                switches,
            ),
            v1_listing: v1_listing(shown(&|tool| !tool.writes || v1_shows(tool))),
            tools,
        })
    }

    /// The tool of a name, if callers may know of it. A hidden tool cannot be executed by its name either (§3.4, §5).
    pub fn find(&self, name: &str) -> Option<&Tool> {
        self.find_hidden(name).filter(|tool| !tool.hidden)
    }

    /// The tool of a name, hidden or not.
    pub fn find_hidden(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

impl Listing {
    pub(crate) fn new(mut tools: Vec<Json>, switches: &Switches) -> Listing {
        distort::with_leeway(switches, &mut tools);
        let revision = distort::revision(switches, &tools)
            .unwrap_or_else(|| format!("tools-{}", &hex(&Sha256::digest(json!(tools).to_string()))[..16]));
        distort::tools(switches, &mut tools);
        Listing { data: json!({ "revision": revision, "tools": tools }).to_string(), revision }
    }
}

impl Tool {
    fn compile(description: &Description) -> Result<Tool> {
        let descriptor = &description.descriptor;
        let name = descriptor["name"].as_str().unwrap_or("(without a name)").to_owned();
        let wrong = |message: &str| Error::Tool { tool: name.clone(), message: message.to_owned() };
        let text = |member: &'static str| {
            descriptor[member].as_str().map(str::to_owned).ok_or_else(|| wrong(&format!("{member} is no string")))
        };
        let annotations = &descriptor["annotations"];
        let annotation = |member: &'static str, allowed: &[&str]| {
            let value = annotations[member].as_str().unwrap_or_default();
            if allowed.contains(&value) { Ok(value) } else { Err(wrong(&format!("{member} is {value:?}"))) }
        };
        let flag = |member: &'static str| annotations[member].as_bool().ok_or_else(|| wrong(member));
        let effect = annotation("effect", &["read", "create", "update", "delete", "transaction"])?;
        let risk = annotation("risk", &["low", "moderate", "high"])?;
        let confirmation = annotation("confirmation", &["never", "provider_policy", "always"])?;
        let execution = annotation("execution", &["sync", "sync_or_async"])?;
        let (destructive, idempotent, _) = (flag("destructive")?, flag("idempotent")?, flag("open_world")?);
        // §3.4: what cannot be undone is confirmed every time.
        let grave = matches!(effect, "delete" | "transaction") || destructive || risk == "high";
        if grave && confirmation != "always" {
            return Err(wrong("its effect, destructive or risk needs confirmation=always"));
        }
        let schema = |member: &'static str| {
            jsonschema::draft202012::new(&descriptor[member]).map_err(|e| wrong(&format!("{member}: {e}")))
        };
        let scopes = descriptor["scopes"].as_array().ok_or_else(|| wrong("scopes is no array"))?;
        Ok(Tool {
            title: text("title")?,
            description: text("description")?,
            writes: effect != "read",
            idempotent,
            creates: effect == "create",
            destructive,
            always_asks: confirmation == "always",
            may_run_in_background: execution == "sync_or_async",
            scopes: scopes
                .iter()
                .map(|scope| scope.as_str().map(str::to_owned).ok_or_else(|| wrong("a scope is no string")))
                .collect::<Result<_>>()?,
            hidden: description.hidden,
            input: schema("input_schema")?,
            output: schema("output_schema")?,
            name,
        })
    }
}

/// The tools as they may be shown where no operation can be had (§3.4).
fn synchronous(switches: &Switches, mut tools: Vec<Json>) -> Vec<Json> {
    if switches.leeway(Leeway::JobListedAsSync) {
        tools.iter_mut().for_each(|tool| tool["annotations"]["execution"] = json!("sync"));
    }
    tools
}

fn v1_listing(tools: Vec<Json>) -> String {
    let tools: Vec<Json> = tools
        .into_iter()
        .map(|tool| {
            json!({ "name": tool["name"], "description": tool["description"], "parameters": tool["input_schema"] })
        })
        .collect();
    json!({ "tools": tools }).to_string()
}

/// Bytes in lowercase hex, as §4.5 wants digests.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
