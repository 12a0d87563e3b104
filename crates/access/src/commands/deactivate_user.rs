use backoffice_auth::change_activity;
use backoffice_auth::model::User;
use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::events::Event;
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use super::protect;
use crate::acl;
use crate::error::Error;

/// Deactivates a user: their sessions end, and their tokens become void. [`ReactivateUser`](super::ReactivateUser) is the inverse.
#[derive(Debug, Clone, Copy)]
pub struct DeactivateUser {
    /// The user.
    pub id: Uuid,
}

impl Command for DeactivateUser {
    const ID: &'static str = "access.user.deactivate";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Deactivate user";
    const FEATURES: &'static [Feature] = &[acl::USERS_MANAGE];
    const UNDOABLE: bool = false;
    type Entity = User;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        if tx.context().identity().id == Some(self.id) {
            return Err(Error::CannotDisableSelf.into());
        }
        protect(tx, self.id).await?;
        change_activity(tx, self.id, false).await?;
        tx.emit(Event::new("access.user.deactivated", self.id).shown_to(acl::USERS_VIEW));
        Ok(())
    }
}
