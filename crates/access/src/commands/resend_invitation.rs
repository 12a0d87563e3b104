use backoffice_auth::model::User;
use backoffice_auth::{invitation, protect_user};
use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::events::Event;
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::error::{Error, grantable};
use crate::values::UserStatus;
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
        check_invitable(query::status_of(tx, self.id).await?)?;
        invitation::issue(tx, self.id, &self.token).await?;
        tx.emit(Event::new("access.user.invited", self.id).shown_to(acl::USERS_VIEW));
        Ok(())
    }
}

/// Rejects deactivated users and users with a password.
pub(crate) fn check_invitable(status: UserStatus) -> Result<(), Error> {
    match status {
        UserStatus::Invited => Ok(()),
        UserStatus::Active => Err(Error::UserAlreadyActive),
        UserStatus::Disabled => Err(Error::UserDisabled),
    }
}
