use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::acl;
use crate::users::model::User;

/// Deletes a user with their role links and ACL; ends their sessions.
#[derive(Debug, Clone)]
pub struct DeleteUser {
    /// The user.
    pub id: Uuid,
}

impl Command for DeleteUser {
    const ID: &'static str = "auth.user.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete user";
    const FEATURES: &'static [Feature] = &[acl::USERS_DELETE];
    type Entity = User;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        User::remove(tx, &[self.id]).await
    }
}
