use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::events::Event;
use backoffice_core::jobs::{NewJob, enqueue_with};
use backoffice_core::{Feature, Patch, Result};
use diesel::{AsChangeset, ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use super::role_links::RoleLinks;
use crate::error::on_violation;
use crate::mails::jobs::NotifyOfPassword;
use crate::roles::grants;
use crate::schema::auth_users as users;
use crate::sessions::revocation::{self, Subject};
use crate::sessions::{one_time_token, session};
use crate::users::model::User;
use crate::users::query::{in_scope, password_hash};
use crate::{Error, acl, email, foreign};

/// Changes of a user; absent fields stay.
#[derive(Debug, Clone, Default)]
pub struct UserChanges {
    /// E-mail address, valid and trimmed.
    pub email: Option<String>,
    /// Name, not blank.
    pub name: Patch<String>,
    /// Organization of the same tenant.
    pub organization: Option<Uuid>,
    /// Hash of a new password.
    pub password_hash: Option<SecretString>,
    /// Hash of the current password with which callers confirmed the change of their own address or password.
    pub confirmed_hash: Option<SecretString>,
    /// The whole set of roles, by id or name.
    pub roles: Option<Vec<String>>,
    /// Whether the user may sign in.
    pub is_active: Option<bool>,
}

/// Changes a user. Written by hand, like all commands on users: they write a password that no snapshot contains, replace the links to roles,
/// end sessions, and their errors have an order.
#[derive(Debug, Clone)]
pub struct UpdateUser {
    /// The user.
    pub id: Uuid,
    /// The changes.
    pub changes: UserChanges,
}

#[derive(AsChangeset)]
#[diesel(table_name = users)]
struct Columns<'a> {
    email: Option<&'a str>,
    email_norm: Option<String>,
    name: Option<Option<&'a str>>,
    organization_id: Option<Uuid>,
    password_hash: Option<&'a str>,
    is_confirmed: Option<bool>,
    is_active: Option<bool>,
}

impl Command for UpdateUser {
    const ID: &'static str = "auth.user.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update user";
    const FEATURES: &'static [Feature] = &[acl::USERS_EDIT];
    type Entity = User;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let own = tx.context().identity().id == Some(self.id);
        let session = tx.context().identity().session.filter(|_| own);
        change(tx, self.id, &self.changes, session).await
    }
}

/// Changes the row, then its dependent rows; errors come in the order of the specification. `session` stays when the password changes.
pub(super) async fn change(tx: &mut Tx<'_>, id: Uuid, changes: &UserChanges, session: Option<Uuid>) -> Result<()> {
    if let Some(confirmed) = &changes.confirmed_hash {
        check_confirmed(tx, id, confirmed).await?;
    }
    if let Some(organization) = changes.organization {
        check_organization(tx, organization).await?;
    }
    let roles = match &changes.roles {
        Some(named) => Some(RoleLinks::find(tx, id, named).await?),
        None => None,
    };
    let (now, tenant) = (tx.now(), tx.tenant());
    let columns = Columns {
        email: changes.email.as_deref(),
        email_norm: changes.email.as_deref().map(email::normalized),
        name: changes.name.as_ref().map(String::as_str).into_change(),
        organization_id: changes.organization,
        password_hash: changes.password_hash.as_ref().map(ExposeSecret::expose_secret),
        is_confirmed: changes.password_hash.as_ref().map(|_| true),
        is_active: changes.is_active,
    };
    diesel::update(
        in_scope(tx.scope())
            .filter(users::tenant_id.eq(tenant))
            .filter(users::id.eq(id)),
    )
    .set((columns, users::updated_at.eq(now)))
    .prepared()
    .execute(tx.conn())
    .await
    .map_err(|error| on_violation("auth_users_tenant_id_email_norm_key", Error::DuplicateEmail)(error.into()))?;
    if changes.email.is_some() || changes.password_hash.is_some() {
        grants::check_credentials_of(tx, id, None).await?;
    }
    if let Some(roles) = &roles {
        roles.check(tx).await?;
    }
    if changes.email.is_some() && tx.context().identity().id == Some(id) {
        // The change required the current password, which an undo does not ask for.
        tx.cannot_be_undone();
    }
    if changes.password_hash.is_some() {
        tx.wrote_secret("passwordHash");
        tx.emit(Event::new("auth.user.password_changed", id));
        session::end_all(tx, id, session, "password_changed").await?;
        one_time_token::void(tx, id, None).await?;
        notify_of_password(tx, id).await?;
    }
    if let Some(roles) = roles {
        roles.store(tx).await?;
    }
    revocation::revoke(tx, Subject::User(id)).await
}

/// Rejects the change if the password that confirmed it is no longer that of the locked user. The request verifies the password before it waits in the
/// queue for hashing. The password may be reset during this wait, and a caller who knows only the earlier one must not replace it.
async fn check_confirmed(tx: &mut Tx<'_>, id: Uuid, confirmed: &SecretString) -> Result<()> {
    let tenant = tx.tenant();
    let stored = password_hash(tx.conn(), tenant, id).await?;
    match stored.as_deref() == Some(confirmed.expose_secret()) {
        true => Ok(()),
        false => Err(Error::CurrentPasswordIncorrect.into()),
    }
}

/// Enqueues a notice to a user whose password was set by another user.
async fn notify_of_password(tx: &mut Tx<'_>, id: Uuid) -> Result<()> {
    let (context, tenant) = (tx.context(), tx.tenant());
    if context.identity().id == Some(id) || context.platform().mailer().is_none() {
        return Ok(());
    }
    let job = NewJob::of_system(tenant, NotifyOfPassword { user: id });
    enqueue_with(tx, &job).await.map(drop)
}

/// Rejects an organization that is not live, not visible to the caller, or not of the user's tenant. Locks it until the end of the
/// transaction: a command that closes the organization then finds the user in it.
pub(super) async fn check_organization(tx: &mut Tx<'_>, organization: Uuid) -> Result<()> {
    let context = tx.context();
    let tenant = foreign::lock_organization(tx.conn(), context, organization).await?;
    if tenant == Some(tx.tenant()) {
        Ok(())
    } else {
        Err(Error::OrganizationNotFound.into())
    }
}
