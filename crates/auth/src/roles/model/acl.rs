//! Access control lists of roles and users: separate entities when edited, otherwise children of their role or user. An ACL has the id of
//! its role or user.

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::{KeyColumn, ReplaceRow};
use backoffice_core::{Feature, Rejection, Result, Timestamp};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, Insertable, JoinOnDsl, QueryDsl, Queryable, Selectable, SelectableHelper,
};
use diesel_async::RunQueryDsl;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Role;
use crate::roles::super_admins::last_super_admin;
use crate::roles::{grants, rights};
use crate::schema::{auth_role_acls as role_acls, auth_user_acls as user_acls, auth_users};
use crate::sessions::revocation::{self, Subject};
use crate::stored::{parent_in, restored_rows, rows_of, snapshots, stored_rows, written_rows};
use crate::users::model::User;
use crate::{acl, users};

/// The ACL of a role: a row of `auth_role_acls`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = role_acls, treat_none_as_default_value = false, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct RoleAcl {
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

/// A user's own ACL: a row of `auth_user_acls`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = user_acls, treat_none_as_default_value = false, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct UserAcl {
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

impl From<&RoleAcl> for grants::Acl {
    fn from(row: &RoleAcl) -> Self {
        Self {
            is_super_admin: row.is_super_admin,
            features: row.features.clone(),
            organizations: row.organizations.clone(),
        }
    }
}

impl From<&UserAcl> for grants::Acl {
    fn from(row: &UserAcl) -> Self {
        Self {
            is_super_admin: row.is_super_admin,
            features: row.features.clone(),
            organizations: row.organizations.clone(),
        }
    }
}

/// Returns the ACL of a snapshot, if there is one.
fn acl_in<R: DeserializeOwned>(snapshot: Option<&Snapshot>) -> Result<Option<grants::Acl>>
where
    for<'r> grants::Acl: From<&'r R>,
{
    let row = snapshot.map(Snapshot::row::<R>).transpose()?;
    Ok(row.as_ref().map(grants::Acl::from))
}

written_rows!(RoleAcl, role_acls);
written_rows!(UserAcl, user_acls);

impl Entity for RoleAcl {
    const KIND: &'static str = "auth.role_acl";
    const NOT_FOUND: &'static str = Role::NOT_FOUND;
    const VIEW: Option<Feature> = Some(acl::ACL_MANAGE);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        Role::lock(locker, ids).await
    }

    stored_rows!(role_acls);

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let (from, to) = (acl_in::<Self>(step.from)?, acl_in::<Self>(step.to)?);
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

impl Entity for UserAcl {
    const KIND: &'static str = "auth.user_acl";
    /// The organization is that of the user. It is not a part of the ACL, because the user may be moved to another one later.
    const VOLATILE: &'static [&'static str] = &["organizationId", "updatedAt"];
    const NOT_FOUND: &'static str = User::NOT_FOUND;
    const VIEW: Option<Feature> = Some(acl::ACL_MANAGE);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        User::lock(locker, ids).await
    }

    /// A snapshot also has the organization of the user, to which the log assigns the entry.
    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let user = auth_users::tenant_id
            .eq(user_acls::tenant_id)
            .and(auth_users::id.eq(user_acls::user_id));
        let rows = user_acls::table
            .inner_join(auth_users::table.on(user))
            .filter(user_acls::tenant_id.eq(tx.tenant()))
            .filter(user_acls::id.one_of(ids))
            .select((Self::as_select(), auth_users::organization_id));
        let rows: Vec<(Self, Option<Uuid>)> = rows.load(tx.conn()).await?;
        let snapshot = |(row, organization): &(Self, Option<Uuid>)| {
            Ok((row.id, Snapshot::of(row)?.with_organization(*organization)))
        };
        rows.iter().map(snapshot).collect()
    }

    restored_rows!(user_acls);

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        if step.restoring && step.from.is_none() && step.to.is_some() {
            keep_user(tx, step.id).await?;
        }
        let (from, to) = (acl_in::<Self>(step.from)?, acl_in::<Self>(step.to)?);
        let roles = rights::acls_of_roles(tx, step.id).await?;
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

/// Locks the user whose ACL an undo or redo creates again. Rejects the step if the user is deleted or not visible to the caller: the bus checks this
/// only for ACLs that exist, and the foreign key accepts the row of a deleted user.
async fn keep_user(tx: &mut Tx<'_>, user: Uuid) -> Result<()> {
    let visible = users::query::lock(tx.shared(), tx.context(), &[user]).await?;
    match visible.is_empty() {
        true => Err(Rejection::undo_conflict(&["userId"]).into()),
        false => Ok(()),
    }
}
