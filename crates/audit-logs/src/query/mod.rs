//! Reads of the logs.

pub(crate) mod accesses;
pub(crate) mod actions;
pub(crate) mod export;

use backoffice_core::Result;
use backoffice_core::db::Connection;
use diesel::{ExpressionMethods, QueryDsl, dsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::foreign::directory_organizations as organizations;
use crate::visibility::Viewer;

/// The start of every statement on a log. The two logs are separate types with the same columns.
macro_rules! visible_entries {
    ($logs:ident) => {
        /// Returns the entries that the caller sees.
        fn visible(viewer: Viewer<'_>) -> Boxed<'_> {
            let (scope, identity) = (viewer.ctx.scope(), viewer.ctx.identity());
            let own = || {
                $logs::actor_kind
                    .eq(identity.kind.as_str())
                    .and($logs::actor_id.eq(identity.id))
            };
            let mut query = $logs::table.filter(scope.owns($logs::tenant_id)).into_boxed();
            if let Some(tenant) = viewer.own_tenant_of_many() {
                // Actions of super administrators on global rows are logged in the platform's tenant, which can't be selected.
                query = query.filter($logs::tenant_id.eq_any([tenant, PLATFORM_TENANT]));
            }
            // Entries in the visible organizations; without a selected organization also own entries that have none.
            query = match (&scope.organizations, scope.selected) {
                (None, _) => query,
                (Some(_), Some(_)) => query.filter(scope.within($logs::organization_id)),
                (Some(_), None) => query.filter(
                    scope
                        .within($logs::organization_id)
                        .or($logs::organization_id.is_null().and(own())),
                ),
            };
            match viewer.tenant_scope() {
                None => query.filter(own()),
                Some(all) if all.organizations == scope.organizations => query,
                Some(all) => query.filter(own().or(all.within($logs::organization_id))),
            }
        }
    };
}

/// The name of an entry's tenant, if it exists.
macro_rules! tenant_name {
    ($logs:ident) => {
        tenants::table
            .filter(tenants::tenant_id.eq($logs::tenant_id))
            .filter(tenants::deleted_at.is_null())
            .select(tenants::name)
            .single_value()
    };
}

/// The name of an entry's organization, if it exists.
macro_rules! organization_name {
    ($logs:ident) => {
        organizations::table
            .filter(organizations::tenant_id.eq($logs::tenant_id))
            .filter(organizations::id.nullable().eq($logs::organization_id))
            .filter(organizations::deleted_at.is_null())
            .select(organizations::name)
            .single_value()
    };
}

use {organization_name, tenant_name, visible_entries};

/// Returns the lowest id of a time in milliseconds since 1970; for earlier times the lowest id of all.
fn lowest_id(millis: i64) -> Uuid {
    Uuid::from_u128(u128::try_from(millis).unwrap_or(0) << 80)
}

/// Returns whether the organization, live or deleted, belongs to a tenant that is visible to the caller.
pub(crate) async fn knows_organization(
    connection: &mut Connection,
    viewer: Viewer<'_>,
    organization: Uuid,
) -> Result<bool> {
    let mut query = organizations::table
        .filter(viewer.ctx.scope().owns(organizations::tenant_id))
        .filter(organizations::id.eq(organization))
        .into_boxed();
    if let Some(tenant) = viewer.own_tenant_of_many() {
        query = query.filter(organizations::tenant_id.eq(tenant));
    }
    Ok(diesel::select(dsl::exists(query)).get_result(&mut **connection).await?)
}
