//! Roles, for modules whose own principals hold roles.

use std::collections::HashMap;

use backoffice_core::Result;
use backoffice_core::acl::Rights;
use backoffice_core::command::Tx;
use backoffice_core::db::KeyColumn;
use backoffice_core::identity::HeldRole;
use backoffice_core::ids::PLATFORM_TENANT;
use diesel::QueryDsl;
use diesel_async::RunQueryDsl;
use serde_json::Value;
use uuid::Uuid;

use super::grants::{self, Acl};
use super::{query, rights};
use crate::schema::auth_roles as roles;
use crate::{Error, sessions};

/// A role that is visible to the caller and that a principal of the transaction's tenant may hold.
#[derive(Debug, Clone)]
pub struct RoleToHold {
    /// The tenant; the nil UUID for a global role.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The name.
    pub name: String,
    /// The ACL; empty if the role has none.
    pub acl: Acl,
}

/// Finds roles by id or name (the tenant's role before a global one), in the order of `named`.
///
/// # Errors
/// 400 with the roles that do not exist for the caller.
pub async fn find_roles(tx: &mut Tx<'_>, named: &[String]) -> Result<Vec<RoleToHold>> {
    let (context, tenant) = (tx.context(), tx.tenant());
    let found = match query::resolve(tx.conn(), context, tenant, named).await? {
        Ok(found) => found,
        Err(missing) => return Err(Error::RolesNotFound(missing).into()),
    };
    let ids: Vec<Uuid> = found.iter().map(|(_, id)| *id).collect();
    let names: Vec<(Uuid, String)> = roles::table
        .filter(roles::tenant_id.one_of(vec![tenant, PLATFORM_TENANT]))
        .filter(roles::id.one_of(&ids))
        .select((roles::id, roles::name))
        .load(tx.conn())
        .await?;
    let mut names: HashMap<Uuid, String> = names.into_iter().collect();
    let mut acls = rights::acls_by_role(tx, &ids).await?;
    Ok(found
        .into_iter()
        .map(|(tenant_id, id)| RoleToHold {
            tenant_id,
            id,
            name: names.remove(&id).unwrap_or_default(),
            acl: acls.remove(&id).unwrap_or_default(),
        })
        .collect())
}

/// Rejects the assignment of an ACL that the caller does not cover.
///
/// # Errors
/// 403 with the features and organizations that exceed the caller's rights.
pub fn check_assignment(tx: &Tx<'_>, acl: &Acl) -> Result<()> {
    grants::check_assignment(tx, acl)
}

/// Rejects a change of the access of a principal of this organization (`None` = of the whole tenant) that holds these roles, if they grant
/// more in the organization than the caller covers.
///
/// # Errors
/// 403 with the features and organizations that exceed the caller's rights.
pub async fn protect_holder(tx: &mut Tx<'_>, roles: &[Uuid], organization: Option<Uuid>) -> Result<()> {
    if tx.context().rights().is_super_admin {
        return Ok(());
    }
    let mut counting = rights::acls_of(tx, roles).await?;
    for acl in &mut counting {
        // The super-admin flag never applies to such principals.
        acl.is_super_admin = false;
        if let Some(own) = organization {
            acl.organizations = Some(shared(tx, own, acl.organizations.take()).await?);
        }
    }
    grants::protect(tx, &counting)
}

/// Returns the organizations that are both below `own` and below those of an ACL, given by their roots.
async fn shared(tx: &mut Tx<'_>, own: Uuid, listed: Option<Vec<Uuid>>) -> Result<Vec<Uuid>> {
    let Some(listed) = listed else { return Ok(vec![own]) };
    if tx.expand_organizations(&listed).await?.contains(&own) {
        return Ok(vec![own]);
    }
    let below = tx.expand_organizations(&[own]).await?;
    Ok(listed.into_iter().filter(|id| below.contains(id)).collect())
}

/// Whether the caller's rights cover the role, so that an error may reveal why the role cannot be deleted.
///
/// # Errors
/// If the database can't be reached.
pub async fn may_change_role(tx: &mut Tx<'_>, role: Uuid) -> Result<bool> {
    match grants::may_remove_role(tx, role).await {
        Ok(()) => Ok(true),
        Err(backoffice_core::Error::Rejected(_)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the rights that roles grant to a principal that is never a super administrator, and the roles themselves. `roles` is an array of
/// objects with the fields `id`, `name`, `features` and `organizations`; a role without ACL has null features.
///
/// # Errors
/// If the value has another shape.
pub fn rights_of_roles(roles: Value) -> Result<(Rights, Vec<HeldRole>)> {
    sessions::query::without_super_admin(roles)
}
