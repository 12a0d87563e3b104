use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use super::update_user::{UserChanges, change};
use crate::acl;
use crate::users::model::User;

/// Changes the caller's own address, name or password. The caller's session stays.
#[derive(Debug, Clone)]
pub struct UpdateProfile {
    /// The caller.
    pub id: Uuid,
    /// The changes.
    pub changes: UserChanges,
}

impl Command for UpdateProfile {
    const ID: &'static str = "auth.profile.update";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Update profile";
    const FEATURES: &'static [Feature] = &[];
    const FEATURES_OF_OTHERS: &'static [Feature] = &[acl::USERS_EDIT];
    type Entity = User;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let session = tx.context().identity().session;
        change(tx, self.id, &self.changes, session).await
    }
}
