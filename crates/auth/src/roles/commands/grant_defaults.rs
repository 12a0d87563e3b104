use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::acl;
use crate::roles::model::RoleAcl;
use crate::roles::seed;

/// Adds default grants of modules that the role was never given. Grants that an administrator removed are not added again.
#[derive(Debug, Clone)]
pub(crate) struct GrantDefaults {
    pub(crate) role: Uuid,
    pub(crate) seeded_as: String,
}

impl Command for GrantDefaults {
    const ID: &'static str = "auth.role_acl.sync";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Add default permissions";
    const FEATURES: &'static [Feature] = &[acl::ACL_MANAGE];
    const UNDOABLE: bool = false;
    type Entity = RoleAcl;
    type Output = usize;

    fn target(&self) -> Target {
        Target::Existing(self.role)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<usize> {
        seed::grant_defaults(tx, self.role, &self.seeded_as).await
    }
}
