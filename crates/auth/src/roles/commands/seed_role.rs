use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::acl;
use crate::roles::model::Role;
use crate::roles::seed;

/// Creates a role in a tenant that existed before this module or the role's module was enabled. Returns the number of its default grants.
#[derive(Debug, Clone)]
pub(crate) struct SeedRole {
    pub(crate) id: Uuid,
    pub(crate) tenant: Uuid,
    pub(crate) name: String,
}

impl Command for SeedRole {
    const ID: &'static str = "auth.role.seed";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Create default role";
    const FEATURES: &'static [Feature] = &[acl::ROLES_MANAGE];
    const UNDOABLE: bool = false;
    type Entity = Role;
    type Output = usize;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.tenant,
            id: self.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<usize> {
        seed::insert(tx, self.tenant, self.id, &self.name).await
    }
}
