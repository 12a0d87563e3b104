use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Result};
use diesel::insert_into;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::error::on_violation;
use crate::model::{Role, RoleRow};
use crate::schema::auth_roles;
use crate::{Error, acl, seed};

/// Creates a role without any rights.
#[derive(Debug, Clone)]
pub struct CreateRole {
    /// The id.
    pub id: Uuid,
    /// The tenant; the nil UUID creates a global role.
    pub tenant: Uuid,
    /// The name, trimmed, 1 to 100 characters.
    pub name: String,
}

impl Command for CreateRole {
    const ID: &'static str = "auth.role.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create role";
    const FEATURES: &'static [Feature] = &[acl::ROLES_MANAGE];
    type Entity = Role;
    type Output = Uuid;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.tenant,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Uuid> {
        seed::check_reserved(tx, &self.name, false)?;
        let row = RoleRow {
            tenant_id: self.tenant,
            id: self.id,
            name: self.name.clone(),
            name_norm: self.name.to_lowercase(),
            seeded_as: None,
            created_at: tx.now(),
            updated_at: tx.now(),
        };
        insert_into(auth_roles::table)
            .values(&row)
            .execute(tx.conn())
            .await
            .map_err(|error| {
                on_violation("auth_roles_tenant_id_name_norm_key", Error::DuplicateRoleName)(error.into())
            })?;
        Ok(self.id)
    }
}
