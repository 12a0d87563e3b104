//! Deletes a file.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, Result};
use uuid::Uuid;

use crate::acl;
use crate::model::Attachment;

/// Deletes a file. Its object is removed after the commit, so that this can't be undone.
#[derive(Debug, Clone, Copy)]
pub struct DeleteAttachment {
    /// The file.
    pub id: Uuid,
}

impl Command for DeleteAttachment {
    const ID: &'static str = "attachments.attachment.delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete file";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    const UNDOABLE: bool = false;
    type Entity = Attachment;
    type Output = ();

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        Attachment::remove(tx, &[self.id]).await
    }
}
