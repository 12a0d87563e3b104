//! Access control lists of roles and users: separate entities when edited, otherwise children of their role or user. An ACL has the id of
//! its role or user.

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::{Feature, Result, Timestamp};
use diesel::upsert::excluded;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::stored::{parent_in, rows_of, snapshots, store_rows, stored_rows};
use super::{Role, User};
use crate::revocation::{self, Subject};
use crate::schema::{auth_role_acls as role_acls, auth_user_acls as user_acls};
use crate::super_admins::last_super_admin;
use crate::{acl, grants, query};

/// A row of `auth_role_acls`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = role_acls, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct RoleAclRow {
    /// Tenant of the role.
    pub tenant_id: Uuid,
    /// Id of the role.
    pub id: Uuid,
    /// Id of the role.
    pub role_id: Uuid,
    /// Whether the ACL grants everything.
    pub is_super_admin: bool,
    /// The grants, sorted.
    pub features: Vec<String>,
    /// The organizations, sorted; `None` = all of the tenant.
    pub organizations: Option<Vec<Uuid>>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// A row of `auth_user_acls`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = user_acls, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct UserAclRow {
    /// Tenant of the user.
    pub tenant_id: Uuid,
    /// Id of the user.
    pub id: Uuid,
    /// Id of the user.
    pub user_id: Uuid,
    /// Whether the ACL grants everything.
    pub is_super_admin: bool,
    /// The grants, sorted.
    pub features: Vec<String>,
    /// The organizations, sorted; `None` = all of the tenant.
    pub organizations: Option<Vec<Uuid>>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

pub(crate) fn acl_of(row: &RoleAclRow) -> grants::Acl {
    grants::Acl {
        is_super_admin: row.is_super_admin,
        features: row.features.clone(),
        organizations: row.organizations.clone(),
    }
}

pub(crate) fn acl_of_user(row: &UserAclRow) -> grants::Acl {
    grants::Acl {
        is_super_admin: row.is_super_admin,
        features: row.features.clone(),
        organizations: row.organizations.clone(),
    }
}

store_rows!(
    store_role_acls,
    RoleAclRow,
    role_acls,
    [is_super_admin, features, organizations]
);
store_rows!(
    store_user_acls,
    UserAclRow,
    user_acls,
    [is_super_admin, features, organizations]
);

/// Entity kind `auth.role_acl`.
#[derive(Debug)]
pub enum RoleAcl {}

impl Entity for RoleAcl {
    const KIND: &'static str = "auth.role_acl";
    const NOT_FOUND: &'static str = Role::NOT_FOUND;
    const VIEW: Option<Feature> = Some(acl::ACL_MANAGE);

    async fn lock(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        Role::lock(tx, ids).await
    }

    stored_rows!(RoleAclRow, role_acls, store_role_acls);

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let acl = |snapshot: Option<&Snapshot>| {
            snapshot
                .map(|snapshot| snapshot.row::<RoleAclRow>().map(|row| acl_of(&row)))
                .transpose()
        };
        let (from, to) = (acl(step.from)?, acl(step.to)?);
        grants::may_write_role(tx)?;
        grants::check_role_acl(tx, from.as_ref(), to.as_ref())?;
        if from.is_some_and(|acl| acl.is_super_admin) && !to.is_some_and(|acl| acl.is_super_admin) {
            last_super_admin(tx).await?;
        }
        Ok(())
    }

    async fn after_transition(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        revocation::revoke(tx, Subject::Role(step.id)).await
    }

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        parent_in(snapshot, "roleId", Role::KIND)
    }
}

/// Entity kind `auth.user_acl`.
#[derive(Debug)]
pub enum UserAcl {}

impl Entity for UserAcl {
    const KIND: &'static str = "auth.user_acl";
    const NOT_FOUND: &'static str = User::NOT_FOUND;
    const VIEW: Option<Feature> = Some(acl::ACL_MANAGE);

    async fn lock(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        User::lock(tx, ids).await
    }

    stored_rows!(UserAclRow, user_acls, store_user_acls);

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let acl = |snapshot: Option<&Snapshot>| {
            snapshot
                .map(|snapshot| snapshot.row::<UserAclRow>().map(|row| acl_of_user(&row)))
                .transpose()
        };
        let (from, to) = (acl(step.from)?, acl(step.to)?);
        let roles = query::rights::acls_of_roles(tx, step.id).await?;
        grants::check_user_acl(tx, from.as_ref(), to.as_ref(), &roles)?;
        if !to.is_some_and(|acl| acl.is_super_admin) {
            last_super_admin(tx).await?;
        }
        Ok(())
    }

    async fn after_transition(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        revocation::revoke(tx, Subject::User(step.id)).await
    }

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        parent_in(snapshot, "userId", User::KIND)
    }
}
