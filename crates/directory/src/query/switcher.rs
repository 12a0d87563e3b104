//! Tenants and organizations that a caller may select.

use backoffice_core::{Result, Scope};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::{Organization, organizations_in_scope, tenants_in_scope};
use crate::schema::{directory_organizations as organizations, directory_tenants as tenants};

/// Returns the live organizations of one tenant that are visible to the scope, by name.
pub(crate) async fn organizations_of_tenant(
    connection: &mut AsyncPgConnection,
    scope: &Scope,
    tenant: Uuid,
) -> Result<Vec<Organization>> {
    Ok(organizations_in_scope(scope)
        .filter(organizations::tenant_id.eq(tenant))
        .filter(scope.within(organizations::id))
        .order((organizations::name, organizations::id))
        .select(Organization::as_select())
        .load(connection)
        .await?)
}

/// Returns id and name of the first `limit` live tenants, by name.
pub(crate) async fn tenants_to_select(
    connection: &mut AsyncPgConnection,
    scope: &Scope,
    limit: i64,
) -> Result<Vec<(Uuid, String)>> {
    Ok(tenants_in_scope(scope)
        .order((tenants::name, tenants::id))
        .limit(limit)
        .select((tenants::id, tenants::name))
        .load(connection)
        .await?)
}
