//! Columns of the directory's tables that this module reads.

use backoffice_core::{Call, RequestContext, Result, Scope};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, table};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

table! {
    directory_organizations (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        deleted_at -> Nullable<Timestamptz>,
    }
}

table! {
    directory_tenants (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        locales -> Nullable<Array<Text>>,
    }
}

/// The locales that a tenant is offered in; `None` = all that are served.
pub(crate) async fn locales_of_tenant(call: &Call, tenant: Uuid) -> Result<Option<Vec<String>>> {
    let connection = call.database().read_briefly(&Scope::tenant(tenant)).await?;
    let locales: Option<Option<Vec<String>>> = directory_tenants::table
        .filter(directory_tenants::tenant_id.eq(tenant))
        .select(directory_tenants::locales)
        .first(&mut &**connection)
        .await
        .optional()?;
    Ok(locales.flatten())
}

use directory_organizations as organizations;

/// The tenant of a live organization that the caller reaches.
pub(crate) async fn tenant_of_organization(
    connection: &mut AsyncPgConnection,
    context: &RequestContext,
    id: Uuid,
) -> Result<Option<Uuid>> {
    let scope = context.scope();
    Ok(organizations::table
        .filter(scope.owns(organizations::tenant_id))
        .filter(scope.within(organizations::id))
        .filter(organizations::id.eq(id))
        .filter(organizations::deleted_at.is_null())
        .select(organizations::tenant_id)
        .first(connection)
        .await
        .optional()?)
}
