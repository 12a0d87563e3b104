use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::acl;
use crate::model::Key;

/// Deletes a key and its role links. This node rejects the key at once, others within a second.
#[derive(Debug, Clone)]
pub struct DeleteKey {
    /// The key.
    pub id: Uuid,
}

impl Command for DeleteKey {
    const ID: &'static str = "api_keys.key.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete API key";
    const FEATURES: &'static [Feature] = &[acl::DELETE];
    const UNDOABLE: bool = false;
    type Entity = Key;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        Key::remove(tx, &[self.id]).await
    }
}
