use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::events::Event;
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::roles::grants;
use crate::schema::auth_users as users;
use crate::sessions::one_time_token::{self, NewToken};
use crate::users::model::User;
use crate::{Error, acl};

/// Issues another invitation to a user who has no password yet; voids earlier links.
#[derive(Debug, Clone)]
pub struct InviteUser {
    /// The user.
    pub id: Uuid,
    /// The token of the new link.
    pub token: NewToken,
}

impl Command for InviteUser {
    const ID: &'static str = "auth.user.invite";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Invite user";
    const FEATURES: &'static [Feature] = &[acl::USERS_CREATE];
    const UNDOABLE: bool = false;
    type Entity = User;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let tenant = tx.tenant();
        let (is_active, has_password): (bool, bool) = users::table
            .filter(users::tenant_id.eq(tenant))
            .filter(users::id.eq(self.id))
            .select((users::is_active, users::password_hash.is_not_null()))
            .first(tx.conn())
            .await?;
        grants::protect_user(tx, self.id).await?;
        check(is_active, has_password)?;
        one_time_token::issue(tx, self.id, &self.token).await?;
        tx.wrote_secret("inviteToken");
        tx.emit(Event::new("auth.user.invited", self.id));
        Ok(())
    }
}

/// Rejects inactive users and users with a password.
pub(crate) fn check(is_active: bool, has_password: bool) -> Result<(), Error> {
    match (is_active, has_password) {
        (false, _) => Err(Error::UserInactive),
        (true, true) => Err(Error::UserAlreadyActive),
        (true, false) => Ok(()),
    }
}
