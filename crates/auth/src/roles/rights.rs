//! Access control lists that apply to roles and users.

use std::collections::HashMap;

use backoffice_core::Result;
use backoffice_core::command::Tx;
use backoffice_core::db::KeyColumn;
use backoffice_core::ids::PLATFORM_TENANT;
use diesel::{ExpressionMethods, JoinOnDsl, OptionalExtension, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::grants::Acl;
use super::model::{RoleAcl, UserAcl};
use crate::schema::{auth_role_acls, auth_user_acls, auth_user_roles};

/// Returns the ACLs of these roles, in the transaction's tenant or global.
pub(crate) async fn acls_of(tx: &mut Tx<'_>, roles: &[Uuid]) -> Result<Vec<Acl>> {
    Ok(acls_by_role(tx, roles).await?.into_values().collect())
}

/// Like [`acls_of`], by role.
pub(crate) async fn acls_by_role(tx: &mut Tx<'_>, roles: &[Uuid]) -> Result<HashMap<Uuid, Acl>> {
    let tenant = tx.tenant();
    let rows: Vec<RoleAcl> = auth_role_acls::table
        .filter(auth_role_acls::tenant_id.one_of(vec![tenant, PLATFORM_TENANT]))
        .filter(auth_role_acls::role_id.one_of(roles))
        .select(RoleAcl::as_select())
        .load(tx.conn())
        .await?;
    Ok(rows.iter().map(|row| (row.role_id, Acl::from(row))).collect())
}

/// Returns the ACLs of a user's roles.
pub(crate) async fn acls_of_roles(tx: &mut Tx<'_>, user: Uuid) -> Result<Vec<Acl>> {
    let tenant = tx.tenant();
    acls_of_roles_in(tx.conn(), tenant, user).await
}

async fn acls_of_roles_in(connection: &mut AsyncPgConnection, tenant: Uuid, user: Uuid) -> Result<Vec<Acl>> {
    use diesel::BoolExpressionMethods;
    let rows: Vec<RoleAcl> = auth_role_acls::table
        .inner_join(
            auth_user_roles::table.on(auth_user_roles::role_tenant_id
                .eq(auth_role_acls::tenant_id)
                .and(auth_user_roles::role_id.eq(auth_role_acls::role_id))),
        )
        .filter(auth_user_roles::tenant_id.eq(tenant))
        .filter(auth_user_roles::user_id.eq(user))
        .select(RoleAcl::as_select())
        .load(connection)
        .await?;
    Ok(rows.iter().map(Acl::from).collect())
}

/// Returns the ACLs that apply to a user of this tenant: their own one, else those of their roles.
pub(crate) async fn counting(connection: &mut AsyncPgConnection, tenant: Uuid, user: Uuid) -> Result<Vec<Acl>> {
    match own_acl_in(connection, tenant, user).await? {
        Some(own) => Ok(vec![own]),
        None => acls_of_roles_in(connection, tenant, user).await,
    }
}

/// Returns a user's own ACL, which applies instead of those of their roles.
pub(crate) async fn own_acl(tx: &mut Tx<'_>, user: Uuid) -> Result<Option<Acl>> {
    let tenant = tx.tenant();
    own_acl_in(tx.conn(), tenant, user).await
}

async fn own_acl_in(connection: &mut AsyncPgConnection, tenant: Uuid, user: Uuid) -> Result<Option<Acl>> {
    let row: Option<UserAcl> = auth_user_acls::table
        .filter(auth_user_acls::tenant_id.eq(tenant))
        .filter(auth_user_acls::user_id.eq(user))
        .select(UserAcl::as_select())
        .first(connection)
        .await
        .optional()?;
    Ok(row.as_ref().map(Acl::from))
}
