use backoffice_auth::change_activity;
use backoffice_auth::model::User;
use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::events::Event;
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use super::protect;
use crate::acl;

/// Lets a deactivated user sign in again. Sessions and invitations do not come back.
#[derive(Debug, Clone, Copy)]
pub struct ReactivateUser {
    /// The user.
    pub id: Uuid,
}

impl Command for ReactivateUser {
    const ID: &'static str = "access.user.reactivate";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Reactivate user";
    const FEATURES: &'static [Feature] = &[acl::USERS_MANAGE];
    const UNDOABLE: bool = false;
    type Entity = User;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        protect(tx, self.id).await?;
        change_activity(tx, self.id, true).await?;
        tx.emit(Event::new("access.user.reactivated", self.id).shown_to(acl::USERS_VIEW));
        Ok(())
    }
}
