//! Public look-ups, for callers whose tenant is not known yet.

use backoffice_core::Result;
use backoffice_core::db::Connection;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper, dsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::model::{Organization, Tenant};
use crate::schema::{directory_organizations as organizations, directory_tenants as tenants};

/// Returns the live, active organizations of live, active tenants.
#[dsl::auto_type(no_type_alias)]
fn usable_organizations() -> _ {
    let usable_tenant = tenants::table
        .filter(tenants::tenant_id.eq(organizations::tenant_id))
        .filter(tenants::deleted_at.is_null())
        .filter(tenants::is_active);
    organizations::table
        .filter(organizations::deleted_at.is_null())
        .filter(organizations::is_active)
        .filter(dsl::exists(usable_tenant))
}

/// Returns the tenant, if it is live and active.
pub(crate) async fn usable_tenant(connection: &mut Connection, id: Uuid) -> Result<Option<Tenant>> {
    Ok(tenants::table
        .filter(tenants::tenant_id.eq(id))
        .filter(tenants::deleted_at.is_null())
        .filter(tenants::is_active)
        .select(Tenant::as_select())
        .first(&mut **connection)
        .await
        .optional()?)
}

/// Returns the oldest live, active organization with this slug, in `tenant` or in any.
pub(crate) async fn oldest_organization(
    connection: &mut Connection,
    slug: &str,
    tenant: Option<Uuid>,
) -> Result<Option<Organization>> {
    let mut query = usable_organizations()
        .filter(organizations::slug.eq(slug))
        .order((organizations::created_at, organizations::id))
        .select(Organization::as_select())
        .into_boxed();
    if let Some(tenant) = tenant {
        query = query.filter(organizations::tenant_id.eq(tenant));
    }
    Ok(query.first(&mut **connection).await.optional()?)
}
