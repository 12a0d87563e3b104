use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::acl;
use crate::sidebar::model::SidebarVariant;

/// Deletes a variant of the caller's sidebar.
#[derive(Debug, Clone)]
pub struct DeleteSidebarVariant {
    /// The variant.
    pub id: Uuid,
}

impl Command for DeleteSidebarVariant {
    const ID: &'static str = "auth.sidebar_variant.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete sidebar variant";
    const FEATURES: &'static [Feature] = &[acl::SIDEBAR_MANAGE];
    type Entity = SidebarVariant;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        SidebarVariant::remove(tx, &[self.id]).await
    }
}
