//! The counters of files and bytes, which triggers write.

use std::time::Duration;

use backoffice_core::context::Call;
use backoffice_core::{Result, Scope};
use uuid::Uuid;

use crate::query::check::{correct_counters, wrong_counters};

/// Time that reading all files may take.
const LIMIT: Duration = Duration::from_secs(3600);

/// Returns the tenants whose counters differ from their files.
pub(super) async fn wrong(call: &Call) -> Result<Vec<Uuid>> {
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    connection.allow(LIMIT).await?;
    wrong_counters(&connection).await
}

/// Counts the files of a tenant. The triggers of concurrent uploads and deletions wait for the locked counters, and then change the corrected ones.
pub(super) async fn repair(call: &Call, tenant: Uuid) -> Result<()> {
    let mut transaction = call.database().transaction(&Scope::tenant(tenant)).await?;
    transaction.connection().allow(LIMIT).await?;
    correct_counters(transaction.connection(), tenant, call.now).await?;
    transaction.commit().await
}
