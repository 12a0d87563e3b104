//! Deletes a file.

use backoffice_core::command::{Class, Command, Entity, Target, Tx};
use backoffice_core::{Feature, Rejection, Result};
use uuid::Uuid;

use crate::model::Attachment;
use crate::{acl, hosts};

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
        let row = Attachment::read(tx, &[self.id]).await?.pop();
        let row = row.ok_or_else(|| Rejection::not_found(Attachment::NOT_FOUND))?;
        hosts::require_manage(tx.context(), &row)?;
        Attachment::remove(tx, &[self.id]).await
    }
}
