use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, Result};
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::model::Role;
use crate::schema::auth_roles as roles;
use crate::{Error, acl, grants, query, seed};

/// Deletes a role that no user holds, with its ACL.
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
        grants::may_remove_role(tx, self.id).await?;
        let name: String = query::roles::in_scope(tx.scope())
            .filter(roles::tenant_id.eq(tenant))
            .filter(roles::id.eq(self.id))
            .select(roles::name)
            .first(tx.conn())
            .await?;
        seed::check_reserved(tx, &name, true)?;
        if query::roles::is_held(tx.conn(), tenant, self.id).await? {
            return Err(Error::RoleInUse.into());
        }
        Role::remove(tx, &[self.id]).await
    }
}
