//! Reads. Every statement on a table of this module starts here, so that it includes the tenant and excludes deleted rows.

mod facts;
mod live;
mod lookup;
mod organizations;
mod switcher;
mod tenants;

use backoffice_core::scope::Owned;
use backoffice_core::{Result, Scope};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper, dsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::{Organization, Tenant};
use crate::schema::{directory_organizations, directory_tenants};

pub(crate) use facts::KnownFacts;
pub use live::{InLiveTenant, in_live_tenant};
pub use organizations::{OrganizationFilter, OrganizationSummary, Status, organization_tree, page_of_organizations};
pub use tenants::{TenantFilter, TenantSort, TenantSummary, page_of_tenants};

pub(crate) use switcher::{organizations_of_tenant, tenants_to_select};

pub(crate) use lookup::{oldest_organization, usable_tenant};

type OrganizationsInScope = dsl::Filter<
    dsl::Filter<directory_organizations::table, Owned<directory_organizations::tenant_id>>,
    dsl::IsNull<directory_organizations::deleted_at>,
>;
type OrganizationsOf = dsl::Filter<
    dsl::Filter<directory_organizations::table, dsl::Eq<directory_organizations::tenant_id, Uuid>>,
    dsl::IsNull<directory_organizations::deleted_at>,
>;
type TenantsInScope = dsl::Filter<
    dsl::Filter<directory_tenants::table, Owned<directory_tenants::tenant_id>>,
    dsl::IsNull<directory_tenants::deleted_at>,
>;

/// Returns the live organizations of the visible tenants.
pub(crate) fn organizations_in_scope(scope: &Scope) -> OrganizationsInScope {
    directory_organizations::table
        .filter(scope.owns(directory_organizations::tenant_id))
        .filter(directory_organizations::deleted_at.is_null())
}

/// Returns the live organizations of one tenant, that of the transaction.
pub(crate) fn organizations_of(tenant: Uuid) -> OrganizationsOf {
    directory_organizations::table
        .filter(directory_organizations::tenant_id.eq(tenant))
        .filter(directory_organizations::deleted_at.is_null())
}

/// Returns the live visible tenants.
pub(crate) fn tenants_in_scope(scope: &Scope) -> TenantsInScope {
    directory_tenants::table
        .filter(scope.owns(directory_tenants::tenant_id))
        .filter(directory_tenants::deleted_at.is_null())
}

/// Returns the live organization with this id, if it is visible to the scope.
///
/// # Errors
/// If the database can't be reached.
pub async fn find_organization(
    connection: &mut AsyncPgConnection,
    scope: &Scope,
    id: Uuid,
) -> Result<Option<Organization>> {
    Ok(organizations_in_scope(scope)
        .filter(scope.within(directory_organizations::id))
        .filter(directory_organizations::id.eq(id))
        .select(Organization::as_select())
        .first(connection)
        .await
        .optional()?)
}

/// Returns the live tenant with this id, if it is visible to the scope.
///
/// # Errors
/// If the database can't be reached.
pub async fn find_tenant(connection: &mut AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Tenant>> {
    Ok(tenants_in_scope(scope)
        .filter(directory_tenants::id.eq(id))
        .select(Tenant::as_select())
        .first(connection)
        .await
        .optional()?)
}

/// Returns the oldest visible organization.
///
/// # Errors
/// If the database can't be reached.
pub async fn first_organization(connection: &mut AsyncPgConnection, scope: &Scope) -> Result<Option<Uuid>> {
    Ok(organizations_in_scope(scope)
        .filter(scope.within(directory_organizations::id))
        .order(directory_organizations::id)
        .select(directory_organizations::id)
        .first(connection)
        .await
        .optional()?)
}
