use backoffice_auth::model::User;
use backoffice_auth::{invitation, protect_user};
use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::events::Event;
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::error::{Error, grantable};
use crate::{acl, query};

/// Issues another invitation to a user who has no password yet; earlier links stop working in the same transaction.
#[derive(Debug, Clone)]
pub struct ResendInvitation {
    /// The user.
    pub id: Uuid,
    /// The token of the new link.
    pub token: invitation::NewToken,
}

impl Command for ResendInvitation {
    const ID: &'static str = "access.user.resend_invite";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Resend invitation";
    const FEATURES: &'static [Feature] = &[acl::USERS_MANAGE];
    const UNDOABLE: bool = false;
    type Entity = User;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        grantable(protect_user(tx, self.id).await)?;
        let (is_active, has_password) = query::activity_and_password(tx, self.id).await?;
        check_invitable(is_active, has_password)?;
        invitation::issue(tx, self.id, &self.token).await?;
        tx.emit(Event::new("access.user.invited", self.id).shown_to(acl::USERS_VIEW));
        Ok(())
    }
}

/// Rejects users with a password, deactivated or not, and deactivated users.
pub(crate) fn check_invitable(is_active: bool, has_password: bool) -> Result<(), Error> {
    match (is_active, has_password) {
        (_, true) => Err(Error::UserAlreadyActive),
        (false, false) => Err(Error::UserDisabled),
        (true, false) => Ok(()),
    }
}
