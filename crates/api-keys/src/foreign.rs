//! Columns of the directory's tables that this module reads.

use backoffice_core::Result;
use backoffice_core::db::Tx;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, table};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

table! {
    directory_organizations (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        deleted_at -> Nullable<Timestamptz>,
    }
}

use directory_organizations as organizations;

/// Whether the organization is live in the transaction's tenant and in the caller's scope. It stays so until the end of the transaction.
pub(crate) async fn is_in_scope(tx: &mut Tx<'_>, id: Uuid) -> Result<bool> {
    let (scope, tenant) = (tx.scope(), tx.tenant());
    let found: Option<Uuid> = organizations::table
        .filter(organizations::tenant_id.eq(tenant))
        .filter(scope.owns(organizations::tenant_id))
        .filter(scope.within(organizations::id))
        .filter(organizations::id.eq(id))
        .filter(organizations::deleted_at.is_null())
        .select(organizations::id)
        .for_share()
        .first(tx.conn())
        .await
        .optional()?;
    Ok(found.is_some())
}
