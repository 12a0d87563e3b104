//! The space that the files of a tenant use.

use backoffice_core::Result;
use backoffice_core::db::Prepared;
use diesel::sql_types::{BigInt, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

/// Bytes used, and how many may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of all files.
    pub used: i64,
    /// The bound.
    pub quota: i64,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = BigInt)]
    used: i64,
    #[diesel(sql_type = BigInt)]
    quota: i64,
}

/// Returns the usage of a tenant. `default` is the quota of a tenant without one of its own.
///
/// # Errors
/// When the database can't be reached.
pub async fn of_tenant(connection: &AsyncPgConnection, tenant: Uuid, default: i64) -> Result<Usage> {
    let statement = sql_query(
        "select used_bytes as used, coalesce(quota, $2) as quota from attachments_usage where tenant_id = $1 and id = $1",
    )
    .bind::<SqlUuid, _>(tenant)
    .bind::<BigInt, _>(default);
    let row: Option<Row> = Prepared(statement).get_result(&mut &*connection).await.optional()?;
    let (used, quota) = row.map_or((0, default), |row| (row.used, row.quota));
    Ok(Usage { used, quota })
}
