//! Administration from the command line.

use backoffice_core::{Call, Result, Scope};
use serde::Serialize;
use uuid::Uuid;

use crate::jobs::recompute_next;

/// What a recomputation of all resources has found.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecomputedAlerts {
    /// Resources whose alerts were recomputed.
    pub subjects: usize,
    /// Alerts that differed from what they depend on, and were corrected.
    pub differences: usize,
}

/// Recomputes the alerts of all resources of a tenant, or of all tenants: 100 resources in a transaction.
///
/// # Errors
/// When the database can't be reached; what was recomputed until then stays.
pub async fn recompute_all(call: &Call, tenant: Option<Uuid>) -> Result<RecomputedAlerts> {
    let (mut all, mut after) = (RecomputedAlerts::default(), None);
    loop {
        let mut transaction = call.database().transaction(&Scope::system()).await?;
        let done = recompute_next(transaction.connection(), call, call.now, tenant, after).await?;
        transaction.commit().await?;
        let Some(done) = done else { return Ok(all) };
        all.subjects += done.subjects;
        all.differences += done.differences;
        after = Some(done.last);
    }
}
