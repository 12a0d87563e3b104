//! Protection of the last super administrator (accounts specification, section 4.4), who must be able to repair mistakes.

use backoffice_core::Result;
use backoffice_core::command::Tx;
use backoffice_core::db::Recurring;
use diesel::sql_types::{Bool, Nullable, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::Error;

/// The tenant or organization that is being closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    /// A tenant.
    Tenant(Uuid),
    /// An organization.
    Organization(Uuid),
}

/// Rejects a step after which no super administrator could sign in. For changes of users, roles and ACLs: only super administrators and
/// the platform itself can remove that right from a user.
pub(crate) async fn last_super_admin(tx: &mut Tx<'_>) -> Result<()> {
    if !tx.context().rights().is_super_admin || find(tx, None).await?.elsewhere {
        return Ok(());
    }
    Err(Error::LastSuperAdmin.into())
}

/// Whether all super administrators who can sign in belong to the tenant or organization that is being closed, or was just closed in this
/// transaction. Applies to every caller, since every caller who may close an organization can cause this.
pub(crate) async fn all_belong_to(tx: &mut Tx<'_>, closing: Closing) -> Result<bool> {
    let found = find(tx, Some(closing)).await?;
    Ok(found.inside && !found.elsewhere)
}

/// Whether super administrators who can sign in exist inside and outside of what is closing, which counts as open.
#[derive(Debug, QueryableByName)]
struct Administrators {
    #[diesel(sql_type = Bool)]
    inside: bool,
    #[diesel(sql_type = Bool)]
    elsewhere: bool,
}

const FIND: &str = "\
with granted as (
    select a.tenant_id, a.user_id from auth_user_acls a where a.is_super_admin
    union
    select l.tenant_id, l.user_id from auth_role_acls a
    join auth_user_roles l on l.role_tenant_id = a.tenant_id and l.role_id = a.role_id
    where a.is_super_admin and not exists (
        select 1 from auth_user_acls o where o.tenant_id = l.tenant_id and o.user_id = l.user_id)
), able as (
    select coalesce(u.tenant_id = $1 or u.organization_id = $2, false) as inside
    from granted g join auth_users u on u.tenant_id = g.tenant_id and u.id = g.user_id
    where u.deleted_at is null and u.is_active and u.is_confirmed and u.password_hash is not null
      and (u.tenant_id in ('00000000-0000-0000-0000-000000000000', $1) or exists (
          select 1 from directory_tenants t where t.tenant_id = u.tenant_id and t.is_active and t.deleted_at is null))
      and (u.organization_id is null or u.organization_id = $2 or exists (
          select 1 from directory_organizations o
          where o.tenant_id = u.tenant_id and o.id = u.organization_id and o.is_active and o.deleted_at is null))
)
select coalesce(bool_or(inside), false) as inside, coalesce(bool_or(not inside), false) as elsewhere from able";

/// Finds where super administrators belong. Serializes steps that could remove the last one, so that two of them cannot each rely on the
/// administrator that the other removes.
async fn find(tx: &mut Tx<'_>, closing: Option<Closing>) -> Result<Administrators> {
    let (tenant, organization) = match closing {
        None => (None, None),
        Some(Closing::Tenant(id)) => (Some(id), None),
        Some(Closing::Organization(id)) => (None, Some(id)),
    };
    sql_query("select pg_advisory_xact_lock(hashtext('auth.last_super_admin'))")
        .prepared()
        .execute(tx.conn())
        .await?;
    tx.across_tenants(|connection| {
        Box::pin(async move {
            Ok(sql_query(FIND)
                .bind::<Nullable<SqlUuid>, _>(tenant)
                .bind::<Nullable<SqlUuid>, _>(organization)
                .prepared()
                .get_result(connection)
                .await?)
        })
    })
    .await
}
