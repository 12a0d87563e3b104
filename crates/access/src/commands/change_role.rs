use backoffice_auth::exchange_roles;
use backoffice_auth::model::User;
use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::events::Event;
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use super::{find_role, protect};
use crate::acl;
use crate::error::{Error, grantable};
use crate::values::{ROLE_NAMES, TeamRole};

/// Replaces the role of the team that a user holds. Other roles stay.
#[derive(Debug, Clone, Copy)]
pub struct ChangeRole {
    /// The user.
    pub id: Uuid,
    /// The new role.
    pub role: TeamRole,
}

impl Command for ChangeRole {
    const ID: &'static str = "access.user.change_role";
    const CLASS: Class = Class::Assign;
    const LABEL: &'static str = "Change role of user";
    const FEATURES: &'static [Feature] = &[acl::USERS_MANAGE];
    type Entity = User;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        if tx.context().identity().id == Some(self.id) {
            return Err(Error::CannotChangeOwnRole.into());
        }
        protect(tx, self.id).await?;
        let role = find_role(tx, self.role).await?;
        grantable(exchange_roles(tx, self.id, &ROLE_NAMES, &role).await)?;
        let event = Event::new("access.user.role_changed", self.id).with("role", self.role.as_str());
        tx.emit(event.shown_to(acl::USERS_VIEW));
        Ok(())
    }
}
