//! `get_provider_info` and `list_tools` (§3.2, §3.3).
//!
//! Both are lenient about `request_id` and `deadline_at_ms`: §3.3 lists only version and token, and nothing that could
//! happen twice or too late depends on them.

use crate::catalogue::DIALECT;
use crate::envelope;
use crate::error::Result;
use crate::provider::Call;
use crate::session::{Capability, Session};
use crate::switches::Leeway;
use cetp_vectors::bundle::Bundle;
use serde_json::json;

impl Call<'_> {
    /// `get_provider_info` (§3.2).
    pub(crate) fn provider_info(&self, _session: &Session, extras: &Bundle) -> Result<Bundle> {
        self.check_envelope(extras)?;
        let about = self.provider.setup.application.about();
        let data = json!({
            "provider_id": about.provider_id,
            "provider_name": about.provider_name,
            "description": about.description,
            "schema_dialect": DIALECT,
            "scopes": about.scopes,
        });
        Ok(envelope::success(envelope::echo(extras), data.to_string()))
    }

    /// `list_tools` (§3.3). A tool whose scope the caller lacks is listed: the caller may discover it and ask the user for
    /// the scope. What nobody may discover is hidden (§7.2).
    pub(crate) fn list_tools(&self, session: &Session, extras: &Bundle) -> Result<Bundle> {
        self.check_envelope(extras)?;
        let catalogue = self.provider.catalogue();
        let listing = if self.can(session, Capability::AsyncOperations) {
            &catalogue.listing
        } else {
            &catalogue.listing_without_async
        };
        if self.leeway(Leeway::ToolsWithoutScopeHidden) {
            let shown = self.without_hidden(&catalogue, listing)?;
            return Ok(envelope::success(envelope::echo(extras), shown.data));
        }
        Ok(envelope::success(envelope::echo(extras), listing.data.clone()))
    }

    /// §4.1 has every call carry both; see above for why we do not insist.
    fn check_envelope(&self, extras: &Bundle) -> Result<()> {
        if self.leeway(Leeway::DescribingNeedsEnvelope) {
            envelope::request_id(extras)?;
            envelope::deadline(extras)?;
        }
        Ok(())
    }
}
