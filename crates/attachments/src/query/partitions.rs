//! Reads of partitions and stores.

use backoffice_core::command::Tx;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::scope::Owned;
use backoffice_core::{Result, Scope};
use diesel::dsl::{Filter, exists};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryResult, SelectableHelper, select};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::{Partition, Store};
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

/// Returns the number of partitions of a tenant.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn count(tx: &mut Tx<'_>) -> Result<i64> {
    let own = partitions::table.filter(partitions::tenant_id.eq(tx.tenant()));
    Ok(own.count().get_result(tx.conn()).await?)
}

/// Returns the partition with this code among those that the tenant may use, regardless of case.
#[must_use]
pub fn with_code<'a>(partitions: &'a [Partition], code: &str) -> Option<&'a Partition> {
    partitions.iter().find(|one| one.code.eq_ignore_ascii_case(code))
}

/// Returns a store of the tenant, or of the platform.
///
/// # Errors
/// When the database can't be reached.
pub async fn store(connection: &AsyncPgConnection, tenant: Uuid, id: Uuid) -> Result<Option<Store>> {
    let found = stores::table
        .filter(stores::tenant_id.eq_any([tenant, PLATFORM_TENANT]))
        .filter(stores::id.eq(id))
        .select(Store::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}

/// Returns whether files are in a partition of the transaction's tenant.
pub(crate) async fn has_files(tx: &mut Tx<'_>, id: Uuid) -> Result<bool> {
    let own = attachments::table
        .filter(attachments::partition_tenant_id.eq(tx.tenant()))
        .filter(attachments::partition_id.eq(id));
    Ok(select(exists(own)).get_result(tx.conn()).await?)
}
