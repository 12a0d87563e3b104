//! Deletes an organization.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::acl;
use crate::model::Organization;

/// Deletes an organization that has no child and is not the last one of its tenant. Modules whose rows belong to organizations
/// reject the deletion with an interceptor.
#[derive(Debug, Clone, Copy)]
pub struct DeleteOrganization {
    /// The organization.
    pub id: Uuid,
}

impl Command for DeleteOrganization {
    const ID: &'static str = "directory.organization.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete organization";
    const FEATURES: &'static [Feature] = &[acl::ORGANIZATIONS_MANAGE];
    type Entity = Organization;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        Organization::remove(tx, &[self.id]).await
    }
}
