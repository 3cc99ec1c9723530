//! What an app brings to the protocol. The main type is [`Application`].
//!
//! §10: the app answers for business rules, for the question that its user is asked, and for the effect. The protocol's
//! code calls it inside the transaction that also stores the result, so that both are durable or neither.

use crate::caller::Caller;
use crate::error::Result;
use crate::session::Capabilities;
use rusqlite::Connection;
use serde_json::Value as Json;

/// Who the provider is (§3.1, §3.2).
#[derive(Clone, Debug)]
pub struct About {
    /// Android package.
    pub package: &'static str,
    /// UID of the package.
    pub uid: i64,
    /// Authority of the ContentProvider.
    pub authority: &'static str,
    /// Stable; the package name or a name in its namespace.
    pub provider_id: &'static str,
    /// For people.
    pub provider_name: &'static str,
    /// For people.
    pub description: &'static str,
    /// The scope catalogue.
    pub scopes: Json,
}

/// A tool as the app describes it.
#[derive(Clone, Debug)]
pub struct Description {
    /// What `list_tools` shows (§3.3).
    pub descriptor: Json,
    /// Hidden from every caller (§7.2).
    pub hidden: bool,
}

/// One execution, as the app needs to know it.
#[derive(Clone, Copy, Debug)]
pub struct Work<'w> {
    /// Name of the tool.
    pub tool: &'w str,
    /// The logical execution.
    pub request_id: &'w str,
    /// Arguments that conform to `input_schema`.
    pub args: &'w Json,
}

/// An app behind the provider.
pub trait Application: Send + Sync {
    /// Who the provider is.
    fn about(&self) -> &About;

    /// SQL that makes the app's tables where they do not exist.
    fn tables(&self) -> &'static str;

    /// A text that names the present state of tools and capabilities: equal texts, equal tools.
    ///
    /// # Errors
    /// SQLite fails.
    fn edition(&self, db: &Connection) -> Result<String>;

    /// The tools of an edition.
    fn tools(&self, edition: &str) -> Vec<Description>;

    /// What of the optional capabilities an edition has.
    fn capabilities(&self, edition: &str, all: Capabilities) -> Capabilities;

    /// Called at the entry of every call: the app may know the caller or grant it something (§7.1).
    ///
    /// # Errors
    /// SQLite fails.
    fn arrives(&self, db: &Connection, caller: &Caller) -> Result<()>;

    /// Whether the user may be asked to grant a scope to a caller that lacks it (AUTH_REQUIRED). Otherwise lacking it is
    /// PERMISSION_DENIED (§3.4).
    fn may_be_asked_for(&self, scope: &str) -> bool;

    /// The business rules that the schema cannot say (§7.3). Called before the user is asked and before anything is
    /// written.
    ///
    /// # Errors
    /// The refusal to answer with.
    fn check(&self, work: Work<'_>) -> Result<()>;

    /// Whether these arguments make the call riskier than its static declaration (§3.4).
    fn needs_user(&self, work: Work<'_>) -> bool;

    /// What the confirmation shows (§7.2): the object, the action, the key parameters and what cannot be undone.
    fn question(&self, work: Work<'_>) -> Vec<String>;

    /// Whether the background work of this call waits for somebody outside instead of ending by itself.
    fn waits(&self, work: Work<'_>) -> bool;

    /// Computes the value and, for a tool that is no read, has the effect, through `db` alone: whoever calls commits
    /// both. It may panic; that is what an exception of the app is here.
    ///
    /// # Errors
    /// [`Error::Refused`](crate::Error::Refused) is a definite failure of the execution; it has no effect.
    fn perform(&self, db: &Connection, work: Work<'_>) -> Result<Json>;
}
