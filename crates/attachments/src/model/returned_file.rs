//! Files that undo and redo restore: the caller must be able to change their records, and a record to which files return must still exist and
//! accept them.

use std::collections::BTreeSet;

use backoffice_core::command::{Snapshot, Tx};
use backoffice_core::{Rejection, RequestContext, Result};
use serde::Deserialize;
use uuid::Uuid;

use crate::hosts;
use crate::query::fields;

/// The record of a file, as a snapshot of the file names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordOfFile {
    entity_id: String,
    record_id: String,
    organization_id: Uuid,
}

impl RecordOfFile {
    fn require_manage(&self, ctx: &RequestContext) -> Result<()> {
        match ctx.platform().record_kind(&self.entity_id) {
            Some(offered) => hosts::require(ctx, offered.manage, self.organization_id),
            None => Ok(()),
        }
    }
}

/// Rejects restoring a file whose record the caller may not change. The record to which a file returns is checked at the end of the transaction, once
/// for all of its files.
pub(super) fn validate(tx: &mut Tx<'_>, from: &Snapshot, to: &Snapshot) -> Result<()> {
    let (present, restored): (RecordOfFile, RecordOfFile) = (from.row()?, to.row()?);
    present.require_manage(tx.context())?;
    restored.require_manage(tx.context())?;
    if restored != present {
        tx.defer(restored);
    }
    Ok(())
}

/// Checks the records to which files have returned: they are visible to the caller, and have no more files than their fields accept.
///
/// # Errors
/// 400 `undo_conflict`, 403 without the features of the records.
pub(crate) async fn check_records(tx: &mut Tx<'_>, records: Vec<RecordOfFile>) -> Result<()> {
    // In the order of their names, so that no two transactions wait for each other.
    let records: BTreeSet<RecordOfFile> = records.into_iter().collect();
    for record in &records {
        let (entity, id) = (&record.entity_id, &record.record_id);
        if tx.context().platform().record_kind(entity).is_some() {
            let ctx = hosts::manager(tx.context(), entity)?;
            let found = hosts::find(&ctx, tx.shared(), entity, id).await?;
            if found.is_none_or(|found| found.organization != record.organization_id) {
                return Err(Rejection::undo_conflict(&["recordId"]).into());
            }
        }
        fields::lock_record(tx, entity, id).await?;
        if fields::is_over(tx, entity, id, None).await? {
            return Err(Rejection::undo_conflict(&["recordId"]).into());
        }
    }
    Ok(())
}
