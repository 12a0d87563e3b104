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

/// The lowest id of an instant, in milliseconds since 1970; before that the lowest of all.
fn lowest_id(millis: i64) -> Uuid {
    Uuid::from_u128(u128::try_from(millis).unwrap_or(0) << 80)
}

/// Whether the organization, live or deleted, is of a tenant that the caller reads.
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
