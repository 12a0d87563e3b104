//! Users. Role links are part of a user; the ACL and the sidebar of a user are deleted and restored with it. A deleted user remains as a
//! tombstone that keeps the password.

use std::collections::BTreeSet;

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::jobs::{NewJob, enqueue};
use backoffice_core::{Feature, Result, Timestamp};
use diesel::upsert::excluded;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::query;
use crate::mails::jobs::NotifyOldAddress;
use crate::roles::model::UserAcl;
use crate::roles::super_admins::last_super_admin;
use crate::roles::{grants, rights};
use crate::schema::{auth_roles as roles, auth_user_acls as acls, auth_user_roles as links, auth_users as users};
use crate::sessions::one_time_token;
use crate::sessions::revocation::{self, Subject};
use crate::sidebar::model::UserSidebar;
use crate::{Error, acl, email};

const LINK_KIND: &str = "auth.user_role";

/// A user: a row of `auth_users` without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = users, treat_none_as_default_value = false, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// The tenant; the nil UUID for users of the platform.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Option<Uuid>,
    /// E-mail address as typed.
    pub email: String,
    #[serde(skip)]
    pub(crate) email_norm: String,
    /// Name.
    pub name: Option<String>,
    /// Whether the user may sign in.
    pub is_active: bool,
    /// Whether the user has proved that the address is theirs, or an administrator vouches for it.
    pub is_confirmed: bool,
    /// Last sign-in.
    pub last_login_at: Option<Timestamp>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// A row of `auth_user_roles`: a user holds a role of their tenant or a global one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = links, treat_none_as_default_value = false, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct UserRole {
    /// Tenant of the user.
    pub tenant_id: Uuid,
    /// Id of the link.
    pub id: Uuid,
    /// The user.
    pub user_id: Uuid,
    /// Tenant of the role; the nil UUID for a global one.
    pub role_tenant_id: Uuid,
    /// The role.
    pub role_id: Uuid,
    /// Time of the assignment.
    pub created_at: Timestamp,
    /// The same as `created_at`.
    pub updated_at: Timestamp,
}

impl Entity for User {
    const KIND: &'static str = "auth.user";
    const VOLATILE: &'static [&'static str] = &["lastLoginAt", "updatedAt"];
    const SECRET: &'static [&'static str] = &["passwordHash"];
    const NOT_FOUND: &'static str = "User not found";
    const VIEW: Option<Feature> = Some(acl::USERS_LIST);
    const TOMBSTONES: Option<&'static str> = Some("auth_users");

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let context = locker.context();
        query::lock(locker.connection(), context, ids).await
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> Result<Snapshots> {
        let tenant = tx.tenant();
        let rows: Vec<User> = users::table
            .filter(users::tenant_id.eq(tenant))
            .filter(users::id.one_of(ids))
            .filter(users::deleted_at.is_null())
            .select(User::as_select())
            .load(tx.conn())
            .await?;
        if rows.is_empty() {
            return Ok(Snapshots::new());
        }
        let held: Vec<UserRole> = links::table
            .filter(links::tenant_id.eq(tenant))
            .filter(links::user_id.one_of(ids))
            .order(links::id)
            .select(UserRole::as_select())
            .load(tx.conn())
            .await?;
        let own_acls: Vec<UserAcl> = match depth {
            Depth::Own => Vec::new(),
            Depth::Tree => {
                acls::table
                    .filter(acls::tenant_id.eq(tenant))
                    .filter(acls::user_id.one_of(ids))
                    .select(UserAcl::as_select())
                    .load(tx.conn())
                    .await?
            }
        };
        let sidebar = match depth {
            Depth::Own => UserSidebar::default(),
            Depth::Tree => UserSidebar::load(tx, ids).await?,
        };
        let mut snapshots = Snapshots::new();
        for row in rows {
            let held: Vec<&UserRole> = held.iter().filter(|link| link.user_id == row.id).collect();
            let role_ids: BTreeSet<Uuid> = held.iter().map(|link| link.role_id).collect();
            let mut snapshot = Snapshot::of(&row)?
                .with_field("roleIds", json!(role_ids))
                .with_children(LINK_KIND, &held)?;
            if depth == Depth::Tree {
                let own: Vec<&UserAcl> = own_acls.iter().filter(|acl| acl.user_id == row.id).collect();
                snapshot = sidebar.with(snapshot.with_children(UserAcl::KIND, &own)?, row.id)?;
            }
            snapshots.insert(row.id, snapshot);
        }
        Ok(snapshots)
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let now = tx.now();
        let (mut rows, mut requested, mut own_acls) = (Vec::new(), Vec::new(), Vec::new());
        let mut sidebar = UserSidebar::default();
        for snapshot in snapshots {
            let row: User = snapshot.row()?;
            rows.push(User {
                email_norm: email::normalized(&row.email),
                updated_at: now,
                ..row
            });
            requested.extend(snapshot.children::<UserRole>(LINK_KIND)?.unwrap_or_default());
            for acl in snapshot.children::<UserAcl>(UserAcl::KIND)?.unwrap_or_default() {
                own_acls.push(UserAcl { updated_at: now, ..acl });
            }
            sidebar.collect(snapshot, now)?;
        }
        // Neither the password nor the last sign-in is part of a snapshot; a stored row keeps them.
        diesel::insert_into(users::table)
            .values(&rows)
            .on_conflict((users::tenant_id, users::id))
            .do_update()
            .set((
                users::organization_id.eq(excluded(users::organization_id)),
                users::email.eq(excluded(users::email)),
                users::email_norm.eq(excluded(users::email_norm)),
                users::name.eq(excluded(users::name)),
                users::is_active.eq(excluded(users::is_active)),
                users::is_confirmed.eq(excluded(users::is_confirmed)),
                users::created_at.eq(excluded(users::created_at)),
                users::updated_at.eq(excluded(users::updated_at)),
                users::deleted_at.eq(None::<Timestamp>),
            ))
            .prepared_if(rows.len() == 1)
            .execute(tx.conn())
            .await?;
        let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
        let dropped = replace_links(tx, &ids, requested).await?;
        UserAcl::write(tx, &own_acls).await?;
        sidebar.store(tx).await?;
        Ok(dropped)
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        diesel::delete(
            links::table
                .filter(links::tenant_id.eq(tenant))
                .filter(links::user_id.one_of(ids)),
        )
        .execute(tx.conn())
        .await?;
        diesel::delete(
            acls::table
                .filter(acls::tenant_id.eq(tenant))
                .filter(acls::user_id.one_of(ids)),
        )
        .execute(tx.conn())
        .await?;
        UserSidebar::remove(tx, ids).await?;
        diesel::update(
            users::table
                .filter(users::tenant_id.eq(tenant))
                .filter(users::id.one_of(ids)),
        )
        .set((users::deleted_at.eq(now), users::updated_at.eq(now)))
        .prepared()
        .execute(tx.conn())
        .await?;
        Ok(())
    }

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        keep_caller(tx, step)?;
        let held = |snapshot: Option<&Snapshot>| -> Result<Vec<UserRole>> {
            Ok(snapshot
                .map(|snapshot| snapshot.children(LINK_KIND))
                .transpose()?
                .flatten()
                .unwrap_or_default())
        };
        let (before, after) = (held(step.from)?, held(step.to)?);
        let added: Vec<Uuid> = after
            .iter()
            .map(|link| link.role_id)
            .filter(|role| !before.iter().any(|link| link.role_id == *role))
            .collect();
        if !added.is_empty() {
            for acl in rights::acls_of(tx, &added).await? {
                grants::check_assignment(tx, &acl)?;
            }
        }
        let is_moved = |name: &str| step.from.and_then(|from| from.get(name)) != step.to.and_then(|to| to.get(name));
        if step.restoring && step.from.is_some() && step.to.is_some() && is_moved("email") {
            let held: Vec<Uuid> = before.iter().map(|link| link.role_id).collect();
            grants::check_credentials_of(tx, step.id, Some(&held)).await?;
        }
        if step.restoring && step.to.is_some() {
            grants::check_user_acl(tx, None, own_acl(step.to)?.as_ref(), &[])?;
        }
        if ["roleIds", "isActive", "organizationId"].into_iter().any(is_moved) {
            protect(tx, step.id, step.from, &before).await?;
            protect(tx, step.id, step.to, &after).await?;
        }
        let taken = before
            .iter()
            .any(|link| !after.iter().any(|kept| kept.role_id == link.role_id));
        // The new organization may be closed.
        let moved = is_moved("organizationId");
        if step.from.is_some() && (taken || moved || step.to.is_none_or(|to| !is_active(to))) {
            last_super_admin(tx).await?;
        }
        Ok(())
    }

    async fn after_transition(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let Some(from) = step.from else { return Ok(()) };
        let signed_out = step.to.is_none_or(|to| is_active(from) && !is_active(to));
        if signed_out {
            crate::sessions::session::end_all(tx, step.id, None, "account_closed").await?;
        }
        let moved = step
            .to
            .is_some_and(|to| normalized_address(to) != normalized_address(from));
        if signed_out || moved {
            one_time_token::void(tx, step.id, None).await?;
        }
        if moved {
            notify_old_address(tx, from).await?;
        }
        revocation::revoke(tx, Subject::User(step.id)).await
    }
}

/// Returns the user's own ACL, if the snapshot contains it.
fn own_acl(snapshot: Option<&Snapshot>) -> Result<Option<grants::Acl>> {
    let rows = snapshot
        .map(|snapshot| snapshot.children::<UserAcl>(UserAcl::KIND))
        .transpose()?
        .flatten();
    Ok(rows.iter().flatten().next().map(grants::Acl::from))
}

/// Rejects a step with which callers delete or deactivate themselves, and an undo or redo that changes their own address.
fn keep_caller(tx: &Tx<'_>, step: &Transition<'_>) -> Result<()> {
    let own = step.from.filter(|_| tx.context().identity().id == Some(step.id));
    let Some(from) = own else { return Ok(()) };
    let error = match step.to {
        None => Error::CannotDeleteSelf,
        Some(to) if is_active(from) && !is_active(to) => Error::CannotDeactivateSelf,
        // The endpoints require the current password for it, which undo and redo do not ask for.
        Some(to) if step.restoring && address(Some(to)) != address(Some(from)) => Error::CurrentPasswordRequired,
        Some(_) => return Ok(()),
    };
    Err(match step.restoring {
        true => error.while_restoring(),
        false => error.into(),
    })
}

/// Rejects a step on the access of another user who, according to this snapshot, holds more than the caller.
async fn protect(tx: &mut Tx<'_>, user: Uuid, snapshot: Option<&Snapshot>, held: &[UserRole]) -> Result<()> {
    let Some(snapshot) = snapshot else { return Ok(()) };
    if tx.context().rights().is_super_admin || tx.context().identity().id == Some(user) {
        return Ok(());
    }
    let roles: Vec<Uuid> = held.iter().map(|link| link.role_id).collect();
    let counting = match snapshot.children::<UserAcl>(UserAcl::KIND)? {
        Some(own) if own.is_empty() => rights::acls_of(tx, &roles).await?,
        Some(own) => own.iter().map(grants::Acl::from).collect(),
        // An edit leaves the user's own ACL unchanged.
        None => grants::counting_for(tx, user, Some(&roles)).await?,
    };
    grants::protect(tx, &counting)
}

/// Notifies the user at their previous address that the address changed.
async fn notify_old_address(tx: &mut Tx<'_>, from: &Snapshot) -> Result<()> {
    let call = tx.context().call();
    let email = address(Some(from)).and_then(serde_json::Value::as_str);
    let (Some(email), Some(_)) = (email, call.platform().mailer()) else {
        return Ok(());
    };
    let job = NotifyOldAddress {
        email: email.to_owned(),
        name: from.get("name").and_then(serde_json::Value::as_str).map(str::to_owned),
    };
    let job = NewJob::of_system(tx.tenant(), job);
    enqueue(tx.conn(), call, &job).await?;
    Ok(())
}

fn address(snapshot: Option<&Snapshot>) -> Option<&serde_json::Value> {
    snapshot.and_then(|snapshot| snapshot.get("email"))
}

/// Returns the address in the form in which addresses are compared: another spelling is still the user's address.
fn normalized_address(snapshot: &Snapshot) -> Option<String> {
    let address = address(Some(snapshot)).and_then(serde_json::Value::as_str);
    address.map(email::normalized)
}

fn is_active(snapshot: &Snapshot) -> bool {
    snapshot
        .get("isActive")
        .and_then(serde_json::Value::as_bool)
        .unwrap_or(false)
}

/// Replaces the role links with exactly these, including their ids. Omits links to deleted roles and returns those roles.
async fn replace_links(tx: &mut Tx<'_>, users: &[Uuid], requested: Vec<UserRole>) -> Result<Vec<String>> {
    let tenant = tx.tenant();
    let kept: Vec<Uuid> = requested.iter().map(|link| link.id).collect();
    diesel::delete(
        links::table
            .filter(links::tenant_id.eq(tenant))
            .filter(links::user_id.one_of(users))
            .filter(links::id.ne_all(&kept)),
    )
    .execute(tx.conn())
    .await?;
    let named: Vec<Uuid> = requested.iter().map(|link| link.role_id).collect();
    let existing: Vec<(Uuid, Uuid)> = roles::table
        .filter(roles::tenant_id.one_of(vec![tenant, backoffice_core::ids::PLATFORM_TENANT]))
        .filter(roles::id.one_of(&named))
        .select((roles::tenant_id, roles::id))
        .load(tx.conn())
        .await?;
    let (kept, missing): (Vec<_>, Vec<_>) = requested
        .into_iter()
        .partition(|link| existing.contains(&(link.role_tenant_id, link.role_id)));
    diesel::insert_into(links::table)
        .values(&kept)
        .on_conflict_do_nothing()
        .prepared_if(kept.len() == 1)
        .execute(tx.conn())
        .await?;
    Ok(missing
        .into_iter()
        .map(|link| format!("auth.role:{}", link.role_id))
        .collect())
}
