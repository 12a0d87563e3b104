use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::events::Event;
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::Error;
use crate::schema::auth_users as users;
use crate::sessions::revocation::{self, Subject};
use crate::sessions::{one_time_token, session};
use crate::users::model::User;

/// Sets a password with a one-time token, in the name of the user. Ends every session and voids every token of the user.
#[derive(Debug, Clone)]
pub struct ResetPassword {
    /// The user.
    pub id: Uuid,
    /// Id of the token.
    pub token: Uuid,
    /// Hash of the new password.
    pub password_hash: SecretString,
}

impl Command for ResetPassword {
    const ID: &'static str = "auth.user.reset_password";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Reset password";
    const FEATURES: &'static [Feature] = &[];
    const UNDOABLE: bool = false;
    type Entity = User;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        if !one_time_token::consume(tx, self.token).await? {
            return Err(Error::InvalidToken.into());
        }
        let (tenant, now) = (tx.tenant(), tx.now());
        let changed = diesel::update(
            users::table
                .filter(users::tenant_id.eq(tenant))
                .filter(users::id.eq(self.id))
                .filter(users::deleted_at.is_null())
                .filter(users::is_active),
        )
        .set((
            users::password_hash.eq(self.password_hash.expose_secret()),
            users::is_confirmed.eq(true),
            users::updated_at.eq(now),
        ))
        .prepared()
        .execute(tx.conn())
        .await?;
        if changed == 0 {
            return Err(Error::InvalidToken.into());
        }
        one_time_token::void(tx, self.id, None).await?;
        session::end_all(tx, self.id, None, "password_reset").await?;
        tx.wrote_secret("passwordHash");
        tx.emit(Event::new("auth.user.password_changed", self.id));
        revocation::revoke(tx, Subject::User(self.id)).await
    }
}
