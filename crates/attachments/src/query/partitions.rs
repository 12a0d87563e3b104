//! Reads of partitions and stores.

use backoffice_core::command::Tx;
use backoffice_core::db::Recurring;
use backoffice_core::scope::Owned;
use backoffice_core::{Result, Scope};
use diesel::dsl::{Filter, exists};
use diesel::{ExpressionMethods, QueryDsl, QueryResult, SelectableHelper, select};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::{Partition, STORE_SETTINGS, StoreSettings};
use crate::schema::{
    attachments_attachments as attachments, attachments_partitions as partitions, attachments_stores as stores,
};

type InScope = Filter<partitions::table, Owned<partitions::tenant_id>>;

/// Returns the partitions of the visible tenants.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    partitions::table.filter(scope.owns(partitions::tenant_id))
}

/// Returns the partitions that files of this scope may be in: the default ones, and those of the visible tenants.
///
/// # Errors
/// When the database can't be reached.
pub async fn visible(connection: &AsyncPgConnection, scope: &Scope) -> QueryResult<Vec<Partition>> {
    partitions::table
        .filter(scope.owns_or_global(partitions::tenant_id))
        .order((partitions::created_at, partitions::id))
        .select(Partition::as_select())
        .load(&mut &*connection)
        .await
}

/// Returns whether everybody may read the files of a partition.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn is_public(tx: &mut Tx<'_>, tenant: Uuid, id: Uuid) -> Result<bool> {
    let found = partitions::table
        .filter(partitions::tenant_id.eq(tenant))
        .filter(partitions::id.eq(id))
        .select(partitions::is_public);
    Ok(found.prepared().get_result(tx.conn()).await?)
}

/// Returns the number of partitions of a tenant. Other transactions that create one wait until this one ends.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn count(tx: &mut Tx<'_>) -> Result<i64> {
    super::lock_number(tx, "attachments_partitions").await?;
    let own = partitions::table.filter(partitions::tenant_id.eq(tx.tenant()));
    Ok(own.count().get_result(tx.conn()).await?)
}

/// Returns the partition with this code among those that the tenant may use, regardless of case.
#[must_use]
pub fn with_code<'a>(partitions: &'a [Partition], code: &str) -> Option<&'a Partition> {
    partitions.iter().find(|one| one.code.eq_ignore_ascii_case(code))
}

/// Returns the store of a partition that the tenant may use.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn store(connection: &AsyncPgConnection, partition: &Partition) -> Result<StoreSettings> {
    let found = stores::table
        .filter(stores::tenant_id.eq(partition.tenant_id))
        .filter(stores::id.eq(partition.store_id))
        .select(STORE_SETTINGS);
    Ok(found.first(&mut &*connection).await?)
}

/// Returns whether files are in a partition of the transaction's tenant.
pub(crate) async fn has_files(tx: &mut Tx<'_>, id: Uuid) -> Result<bool> {
    let own = attachments::table
        .filter(attachments::partition_tenant_id.eq(tx.tenant()))
        .filter(attachments::partition_id.eq(id));
    Ok(select(exists(own)).get_result(tx.conn()).await?)
}
