//! Personal data leaves the logs.

use diesel::sql_types::{BigInt, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::context::Call;
use crate::db::MAINTENANCE_STATEMENT;
use crate::error::Result;
use crate::scope::Scope;

#[derive(QueryableByName)]
struct Erased {
    #[diesel(sql_type = BigInt)]
    entries: i64,
}

/// Empties the log's entries about a resource: images, changed values, names and tokens; and takes its name out of the entries of what it
/// did and read itself. Entries about other resources lose what they tell of it: its row among the parts of what it belonged to, and its
/// images where it was changed beside them. The entries stay; none that was about it, or changed it too, can be undone or redone any more.
/// Returns how many are about the resource. All entries of the tenant are read for it.
///
/// For the module that owns the resource, after the command that removes the data: that command's own entry is among them. It may be
/// repeated.
///
/// # Errors
/// When the database can't be reached; then nothing is erased.
pub async fn erase(call: &Call, tenant: Uuid, kind: &str, id: Uuid) -> Result<i64> {
    let mut connection = call.database().unlogged(&Scope::tenant(tenant)).await?;
    connection.allow(MAINTENANCE_STATEMENT).await?;
    let erased: Erased = sql_query("select audit_erase($1, $2, $3) as entries")
        .bind::<SqlUuid, _>(tenant)
        .bind::<Text, _>(kind)
        .bind::<SqlUuid, _>(id)
        .get_result(&mut *connection)
        .await?;
    Ok(erased.entries)
}
