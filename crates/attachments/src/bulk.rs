//! The bulk operation that deletes files.

use backoffice_core::command::{BatchCommand, BatchItem, Class, Entity, Tx};
use backoffice_core::registry::Registry;
use backoffice_core::{Error, Feature, Rejection, Result};
use backoffice_progress::bulk::{self, BulkOperation};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::commands::DeleteAttachment;
use crate::model::Attachment;
use crate::stores::sweep_soon;
use crate::{acl, hosts};

pub(crate) fn register(registry: &mut Registry) {
    bulk::register::<BulkDelete>(registry);
}

/// Deletes files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BulkDelete {}

impl BulkOperation for BulkDelete {
    const ID: &'static str = "attachments.attachment.bulk_delete";
    const CLASS: Class = Class::Delete;
    const LABEL: &'static str = "Delete files";
    const NAME: &'static str = "Delete files";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    type Item = DeleteAttachment;

    fn item(&self, id: Uuid) -> DeleteAttachment {
        DeleteAttachment { id }
    }

    fn message(total: usize) -> String {
        format!("Bulk delete started ({total} files).")
    }

    async fn meta(&self, _tx: &mut Tx<'_>) -> Result<Value> {
        Ok(json!({}))
    }
}

impl BatchCommand for DeleteAttachment {
    async fn apply_all(tx: &mut Tx<'_>, items: &[BatchItem<'_, Self>]) -> Result<Vec<(Uuid, Rejection)>> {
        let (mut failed, mut deleted) = (Vec::new(), Vec::with_capacity(items.len()));
        for item in items {
            match hosts::require_manage(tx.context(), &item.before.row::<Attachment>()?) {
                Ok(()) => deleted.push(item.id),
                Err(Error::Rejected(rejection)) => failed.push((item.id, *rejection)),
                Err(error) => return Err(error),
            }
        }
        if !deleted.is_empty() {
            Attachment::remove(tx, &deleted).await?;
            sweep_soon(tx);
        }
        Ok(failed)
    }
}
