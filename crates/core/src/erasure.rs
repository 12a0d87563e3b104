//! Erases personal data from the logs.

use diesel::sql_types::{Array, BigInt, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::context::Call;
use crate::db::MAINTENANCE_STATEMENT;
use crate::error::Result;
use crate::scope::Scope;
use crate::{collections, events};

#[derive(QueryableByName)]
struct Erased {
    #[diesel(sql_type = BigInt)]
    entries: i64,
}

/// Erases the contents of the log entries about a resource: snapshots, changed values, names and tokens; removes its name from the entries of
/// its own actions and reads. Entries about other resources lose their data about it: its row among the parts of a parent, and its snapshots as
/// an affected resource. The entries stay; those that were about it, or changed it too, can no longer be undone or redone. Returns the number
/// of entries about the resource. Reads all entries of the tenant.
///
/// For the module that owns the resource, after the command that removes the data, because that command's own entry is erased too. May be
/// repeated.
///
/// # Errors
/// When the database can't be reached; then nothing is erased.
pub async fn erase(call: &Call, tenant: Uuid, kind: &str, id: Uuid) -> Result<i64> {
    erase_resources(call, tenant, kind, &[id]).await
}

/// Does what [`erase`] does for several resources of a kind, in one transaction. Reads the entries of the tenant once for all of them: about a
/// thousand resources cost little more than one.
///
/// # Errors
/// As [`erase`].
pub async fn erase_resources(call: &Call, tenant: Uuid, kind: &str, ids: &[Uuid]) -> Result<i64> {
    if ids.is_empty() {
        return Ok(0);
    }
    let mut transaction = call.database().transaction(&Scope::tenant(tenant)).await?;
    let connection = transaction.connection();
    connection.allow(MAINTENANCE_STATEMENT).await?;
    let erased: Erased = sql_query("select audit_erase_resources($1, $2, $3) as entries")
        .bind::<SqlUuid, _>(tenant)
        .bind::<Text, _>(kind)
        .bind::<Array<SqlUuid>, _>(ids.to_vec())
        .get_result(&mut **connection)
        .await?;
    events::touch(connection, call, tenant, &[collections::LOG, collections::ACCESS_LOG]).await?;
    transaction.commit().await?;
    Ok(erased.entries)
}
