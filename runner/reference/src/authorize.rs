//! Scopes and to whom they are granted (§7.1, §7.2).
//!
//! A grant is bound to an identity: the UID, all of its packages and their current certificates. A changed certificate
//! or a second package under the UID is another identity, which holds nothing until the user grants it something.

use crate::caller::Caller;
use crate::catalogue::Tool;
use crate::error::Result;
use crate::lock;
use crate::provider::Call;
use crate::store::exists;
use crate::switches::{Fault, Leeway};
use rusqlite::{Connection, OptionalExtension, params};

impl Call<'_> {
    /// The scopes of a tool that the caller does not hold now. §7.2: asked at every call, whatever was listed or granted
    /// before; §3.4: a tool needs all of its scopes.
    pub(crate) fn missing_scopes(&self, tool: &Tool) -> Result<Vec<String>> {
        if self.broken(Fault::AnyScopeSuffices) || self.remembers(tool) {
            return Ok(Vec::new());
        }
        let now_ms = self.now_ms();
        let missing = self.query(|db| {
            let mut missing = Vec::new();
            for scope in &tool.scopes {
                if !self.holds(db, scope, now_ms)? {
                    missing.push(scope.clone());
                }
            }
            Ok(missing)
        })?;
        if missing.is_empty() && self.broken(Fault::ScopesRemembered) {
            lock(&self.provider.fault_memory).insert(memory(self.caller, tool));
        }
        Ok(missing)
    }

    fn remembers(&self, tool: &Tool) -> bool {
        self.broken(Fault::ScopesRemembered) && lock(&self.provider.fault_memory).contains(&memory(self.caller, tool))
    }

    fn holds(&self, db: &Connection, scope: &str, now_ms: i64) -> Result<bool> {
        let caller = &*self.caller_now();
        if self.broken(Fault::ScopesOfSession) {
            return Ok(self.provider.noted(Fault::ScopesOfSession, &format!("{} {scope}", caller.uid)));
        }
        if self.holds_wrongly(db, scope, now_ms)? {
            return Ok(true);
        }
        if self.broken(Fault::FirstPackageOnly) {
            return any_grant_like(db, &first_package(caller), scope);
        }
        if self.broken(Fault::CertificateIgnored) {
            return any_grant_like(db, &any_certificate(caller), scope);
        }
        if is_granted(db, &caller.identity(), scope, now_ms)? {
            return Ok(true);
        }
        if self.leeway(Leeway::RotationAccepted) {
            for identity in caller.earlier_identities() {
                if is_granted(db, &identity, scope, now_ms)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Whether an identity holds a scope now.
///
/// # Errors
/// SQLite fails.
pub fn is_granted(db: &Connection, identity: &str, scope: &str, now_ms: i64) -> Result<bool> {
    let sql = "SELECT 1 FROM grants WHERE identity = ? AND scope = ? AND granted
               AND (expires_ms IS NULL OR expires_ms > ?)";
    let found = db.prepare_cached(sql)?.query_row(params![identity, scope, now_ms], |_| Ok(())).optional()?;
    Ok(found.is_some())
}

/// Grants a scope to an identity, until a time or for good.
///
/// # Errors
/// SQLite fails.
pub fn grant(db: &Connection, identity: &str, scope: &str, expires_ms: Option<i64>) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO grants VALUES (?, ?, 1, ?)";
    db.prepare_cached(sql)?.execute(params![identity, scope, expires_ms])?;
    Ok(())
}

/// Withdraws a scope from an identity. The withdrawal is kept: it stands against a grant that an app gives to newcomers.
///
/// # Errors
/// SQLite fails.
pub fn withdraw(db: &Connection, identity: &str, scope: &str) -> Result<()> {
    let sql = "INSERT OR REPLACE INTO grants VALUES (?, ?, 0, NULL)";
    db.prepare_cached(sql)?.execute(params![identity, scope])?;
    Ok(())
}

/// Grants scopes to an identity about which nothing was decided yet.
///
/// # Errors
/// SQLite fails.
pub fn grant_to_newcomer(db: &Connection, identity: &str, scopes: &[&str]) -> Result<()> {
    for scope in scopes {
        let sql = "INSERT OR IGNORE INTO grants VALUES (?, ?, 1, NULL)";
        db.prepare_cached(sql)?.execute(params![identity, scope])?;
    }
    Ok(())
}

// What follows serves faults only.

fn memory(caller: &Caller, tool: &Tool) -> String {
    format!("{} {}", caller.uid, tool.name)
}

fn any_grant_like(db: &Connection, identities: &str, scope: &str) -> Result<bool> {
    debug_assert!(!scope.contains('\''));
    exists(db, &format!("SELECT 1 FROM grants WHERE identity GLOB ? AND scope = '{scope}' AND granted"), identities)
}

fn first_package(caller: &Caller) -> String {
    caller.identity_of(caller.packages.iter().take(1).map(|package| (package.name.as_str(), &package.signers)))
}

fn any_certificate(caller: &Caller) -> String {
    let any = vec!["*".to_owned()];
    caller.identity_of(caller.packages.iter().map(|package| (package.name.as_str(), &any)))
}
