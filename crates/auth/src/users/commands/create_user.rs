use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::events::Event;
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, insert_into};
use diesel_async::RunQueryDsl;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use super::role_links::RoleLinks;
use super::update_user::check_organization;
use crate::error::on_violation;
use crate::schema::auth_users as users;
use crate::sessions::one_time_token::{self, NewToken};
use crate::users::model::User;
use crate::{Error, acl, email};

/// Creates a confirmed user.
#[derive(Debug, Clone)]
pub struct CreateUser {
    /// The id.
    pub id: Uuid,
    /// The tenant, that of the organization.
    pub tenant: Uuid,
    /// The organization; `None` only for users of the platform.
    pub organization: Option<Uuid>,
    /// E-mail address, valid and trimmed.
    pub email: String,
    /// Name.
    pub name: Option<String>,
    /// Roles by id or name.
    pub roles: Vec<String>,
    /// Hash of the password.
    pub password_hash: Option<SecretString>,
    /// Whether the user may sign in.
    pub is_active: bool,
    /// Token of the invitation that is sent after the user is created, or the reason why none can be sent. That error is returned only if
    /// the user itself is valid.
    pub invitation: Result<Option<NewToken>, Error>,
}

impl Command for CreateUser {
    const ID: &'static str = "auth.user.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create user";
    const FEATURES: &'static [Feature] = &[acl::USERS_CREATE];
    type Entity = User;
    type Output = Uuid;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.tenant,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        if let Some(organization) = self.organization {
            check_organization(tx, organization).await?;
        }
        let roles = RoleLinks::find(tx, self.id, &self.roles).await?;
        roles.check(tx).await?;
        let row = NewUserRow {
            id: self.id,
            organization: self.organization,
            email: &self.email,
            name: self.name.as_deref(),
            password_hash: self.password_hash.as_ref(),
            is_active: self.is_active,
        };
        row.insert(tx).await?;
        let invitation = self.invitation.as_ref().map_err(Clone::clone)?;
        if self.password_hash.is_some() {
            tx.wrote_secret("passwordHash");
        }
        roles.store(tx).await?;
        if let Some(token) = invitation {
            one_time_token::issue(tx, self.id, token).await?;
            tx.emit(Event::new("auth.user.invited", self.id));
        }
        Ok(self.id)
    }
}

/// The row of a new, confirmed user in the tenant of the transaction.
pub(in crate::users) struct NewUserRow<'a> {
    pub(in crate::users) id: Uuid,
    pub(in crate::users) organization: Option<Uuid>,
    pub(in crate::users) email: &'a str,
    pub(in crate::users) name: Option<&'a str>,
    pub(in crate::users) password_hash: Option<&'a SecretString>,
    pub(in crate::users) is_active: bool,
}

impl NewUserRow<'_> {
    /// Inserts the row; 409 if the address is taken in the tenant.
    pub(in crate::users) async fn insert(&self, tx: &mut Tx<'_>) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        insert_into(users::table)
            .values((
                users::tenant_id.eq(tenant),
                users::id.eq(self.id),
                users::organization_id.eq(self.organization),
                users::email.eq(self.email),
                users::email_norm.eq(email::normalized(self.email)),
                users::name.eq(self.name),
                users::password_hash.eq(self.password_hash.map(ExposeSecret::expose_secret)),
                users::is_active.eq(self.is_active),
                users::is_confirmed.eq(true),
                users::created_at.eq(now),
                users::updated_at.eq(now),
            ))
            .prepared()
            .execute(tx.conn())
            .await
            .map_err(|error| {
                on_violation("auth_users_tenant_id_email_norm_key", Error::DuplicateEmail)(error.into())
            })?;
        Ok(())
    }
}
