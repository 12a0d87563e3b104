use backoffice_core::command::{Class, Command, Entity, Target};
use backoffice_core::db::Tx;
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::model::Role;
use crate::{Error, acl, query};

/// Removes a role that nobody holds, with its ACL.
#[derive(Debug, Clone)]
pub struct DeleteRole {
    /// The role.
    pub id: Uuid,
}

impl Command for DeleteRole {
    const ID: &'static str = "auth.role.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete role";
    const FEATURES: &'static [Feature] = &[acl::ROLES_MANAGE];
    type Entity = Role;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let tenant = tx.tenant();
        crate::grants::may_write_role(tx)?;
        if query::roles::is_held(tx.conn(), tenant, self.id).await? {
            return Err(Error::RoleInUse.into());
        }
        Role::remove(tx, &[self.id]).await
    }
}
