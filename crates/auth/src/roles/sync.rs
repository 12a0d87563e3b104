//! Brings the seeded roles of existing tenants up to date with the enabled modules.

use std::sync::atomic::{AtomicUsize, Ordering};

use backoffice_core::http::Json;
use backoffice_core::{RequestContext, Result};
use backoffice_directory::query::in_live_tenant;
use diesel::sql_types::{Array, Nullable, Text, Uuid as SqlUuid};
use diesel::{ExpressionMethods, NullableExpressionMethods, QueryDsl, QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde_json::Value;
use uuid::Uuid;

use super::commands::{GrantDefaults, SeedRole};
use super::{query, seed};
use crate::Error;
use crate::schema::auth_roles as roles;

/// Creates the seeded roles that tenants lack, and gives the seeded roles of all live tenants, or of one, the default grants that they never had.
/// Returns the number of grants. A role that was not seeded gets none: if it has the name of a module's role, the module uses it as it is.
///
/// A tenant lacks the [`TENANT_ROLES`](crate::TENANT_ROLES) only if it has none of them, because it was created while this module was not enabled. If it
/// has one, an administrator deleted the other.
///
/// # Errors
/// If the database can't be reached.
pub async fn sync_roles(context: &RequestContext, tenant: Option<Uuid>) -> Result<usize> {
    let mut connection = context.read().await?;
    let mut query = query::in_scope(context.scope())
        .filter(in_live_tenant(context, roles::tenant_id))
        .filter(roles::seeded_as.is_not_null())
        .select((roles::id, roles::seeded_as.assume_not_null()))
        .order((roles::tenant_id, roles::id))
        .into_boxed();
    if let Some(tenant) = tenant {
        query = query.filter(roles::tenant_id.eq(tenant));
    }
    let seeded: Vec<(Uuid, String)> = query.load(&mut *connection).await?;
    drop(connection);
    let count = AtomicUsize::new(0);
    let respond = |added| {
        count.fetch_add(added, Ordering::Relaxed);
        Json(Value::Null)
    };
    for missing in missing_roles(context, tenant).await? {
        let command = SeedRole {
            id: context.new_id(),
            tenant: missing.tenant_id,
            name: missing.name,
        };
        match context.execute(&command, respond).await {
            // Another node created it first, or a user did.
            Err(error) if Error::DuplicateRoleName.is(&error) => {}
            done => {
                done?;
            }
        }
    }
    for (role, seeded_as) in seeded {
        context.execute(&GrantDefaults { role, seeded_as }, respond).await?;
    }
    Ok(count.into_inner())
}

/// A role that a tenant lacks.
#[derive(QueryableByName)]
struct MissingRole {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = Text)]
    name: String,
}

/// Roles that were seeded and then renamed are not missing; nor is a role of this name that a user created.
const MISSING: &str = "select t.tenant_id, n.name from directory_tenants t cross join unnest($1 || $3) as n (name) \
    where t.deleted_at is null and t.tenant_id = t.id and t.id = coalesce($2, t.id) and not exists ( \
        select from auth_roles r where r.tenant_id = t.id \
        and (r.name_norm = n.name or r.seeded_as = n.name or (n.name = any($3) and r.seeded_as = any($3)))) \
    order by t.tenant_id, n.name";

async fn missing_roles(context: &RequestContext, tenant: Option<Uuid>) -> Result<Vec<MissingRole>> {
    let names: Vec<&str> = seed::roles_of_modules(context.platform()).into_iter().collect();
    let mut connection = context.read().await?;
    Ok(sql_query(MISSING)
        .bind::<Array<Text>, _>(names)
        .bind::<Nullable<SqlUuid>, _>(tenant)
        .bind::<Array<Text>, _>(seed::TENANT_ROLES.to_vec())
        .load(&mut *connection)
        .await?)
}
