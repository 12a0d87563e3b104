//! Users and roles for modules that manage users by commands of their own. These functions run inside a command on [`User`](super::model::User), whose
//! guard protects users with more rights than the caller.

use backoffice_core::Result;
use backoffice_core::command::Tx;
use backoffice_core::db::Recurring;
use diesel::sql_types::{Bool, Uuid as SqlUuid};
use diesel::{ExpressionMethods, QueryDsl, QueryableByName, sql_query, update};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::commands::{NewUserRow, RoleLinks};
use super::invitation;
use crate::roles::grants;
use crate::roles::holders::RoleToHold;
use crate::schema::auth_users as users;
use crate::sessions::one_time_token::NewToken;

/// An active user without a password, who sets it with the link of an invitation.
#[derive(Debug, Clone)]
pub struct InvitedUser<'a> {
    /// The id.
    pub id: Uuid,
    /// The organization, which the command has locked.
    pub organization: Uuid,
    /// E-mail address, valid and trimmed.
    pub email: &'a str,
    /// Name, at most 120 characters.
    pub name: &'a str,
    /// The role.
    pub role: &'a RoleToHold,
    /// The token of the invitation.
    pub token: &'a NewToken,
}

impl InvitedUser<'_> {
    /// Inserts the user with the role and the token, in the tenant of the transaction.
    ///
    /// # Errors
    /// [`DuplicateEmail`](crate::Error::DuplicateEmail) if a live user of the tenant has the address; 403 if the caller does not cover the role.
    pub async fn insert(&self, tx: &mut Tx<'_>) -> Result<()> {
        let row = NewUserRow {
            id: self.id,
            organization: Some(self.organization),
            email: self.email,
            name: Some(self.name),
            password_hash: None,
            is_active: true,
        };
        row.insert(tx).await?;
        exchange_roles(tx, self.id, &[], self.role).await?;
        invitation::issue(tx, self.id, self.token).await
    }
}

/// Takes the roles with these names, in lower case, from a user, and assigns `role`. The user keeps all other roles, and `role` if they hold it.
///
/// # Errors
/// 403 if the caller does not cover the role; 400 if it was deleted in the meantime.
pub async fn exchange_roles(tx: &mut Tx<'_>, user: Uuid, names: &[&str], role: &RoleToHold) -> Result<()> {
    let named = [role.name.clone()];
    let links = RoleLinks::exchange(tx, user, names, role, &named).await?;
    links.check(tx).await?;
    links.store(tx).await?;
    let (tenant, now) = (tx.tenant(), tx.now());
    update(
        users::table
            .filter(users::tenant_id.eq(tenant))
            .filter(users::id.eq(user)),
    )
    .set(users::updated_at.eq(now))
    .prepared()
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Lets a user sign in, or not any more. The sessions and tokens of a deactivated user end with the command.
///
/// # Errors
/// If the database can't be reached.
pub async fn change_activity(tx: &mut Tx<'_>, user: Uuid, is_active: bool) -> Result<()> {
    let (tenant, now) = (tx.tenant(), tx.now());
    update(
        users::table
            .filter(users::tenant_id.eq(tenant))
            .filter(users::id.eq(user)),
    )
    .set((users::is_active.eq(is_active), users::updated_at.eq(now)))
    .prepared()
    .execute(tx.conn())
    .await?;
    Ok(())
}

/// Rejects a change of the access of a user who holds more than the caller. The guard of the command does the same after the change.
///
/// # Errors
/// 403 with the features and organizations that exceed the caller's rights.
pub async fn protect_user(tx: &mut Tx<'_>, user: Uuid) -> Result<()> {
    grants::protect_user(tx, user).await
}

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = Bool)]
    found: bool,
}

const IS_ADMINISTRATOR: &str = "select exists ( \
        select from auth_user_roles l join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id \
        left join auth_role_acls a on a.tenant_id = r.tenant_id and a.role_id = r.id \
        where l.tenant_id = $1 and l.user_id = $2 and (r.name_norm = 'admin' or r.seeded_as = 'admin' or a.is_super_admin)) \
    or exists (select from auth_user_acls a where a.tenant_id = $1 and a.user_id = $2 and a.is_super_admin) as found";

/// Returns whether a user of the transaction's tenant holds the role `admin`, under whatever name, or is a super administrator.
///
/// # Errors
/// If the database can't be reached.
pub async fn is_administrator(tx: &mut Tx<'_>, user: Uuid) -> Result<bool> {
    let tenant = tx.tenant();
    let row: Found = sql_query(IS_ADMINISTRATOR)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(user)
        .prepared()
        .get_result(tx.conn())
        .await?;
    Ok(row.found)
}
