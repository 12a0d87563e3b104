use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::Error;
use crate::schema::auth_users as users;
use crate::sessions::one_time_token::{self, NewToken};
use crate::users::model::User;

/// Issues a reset token to an active user; the platform executes this on behalf of an anonymous caller who sent the user's address.
#[derive(Debug, Clone)]
pub struct RequestReset {
    /// The user.
    pub id: Uuid,
    /// The token.
    pub token: NewToken,
}

impl Command for RequestReset {
    const ID: &'static str = "auth.user.request_reset";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Request password reset";
    const FEATURES: &'static [Feature] = &[];
    const UNDOABLE: bool = false;
    type Entity = User;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let is_active: bool = users::table
            .filter(users::tenant_id.eq(tx.tenant()))
            .filter(users::id.eq(self.id))
            .select(users::is_active)
            .first(tx.conn())
            .await?;
        if !is_active {
            // Deactivation has voided all tokens; a new one would work again after an activation.
            return Err(Error::UserInactive.into());
        }
        one_time_token::issue(tx, self.id, &self.token).await?;
        tx.wrote_secret("resetToken");
        Ok(())
    }
}
