//! Saves an uploaded file.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Error as CoreError, Feature, Placement, Result, Timestamp};
use diesel::insert_into;
use diesel_async::RunQueryDsl;

use crate::acl;
use crate::error::Error;
use crate::model::{Attachment, NewAttachment};
use crate::query::{staged, usage};
use crate::schema::attachments_attachments as attachments;

/// Saves a file whose object is stored.
#[derive(Debug, Clone)]
pub struct CreateAttachment {
    pub(crate) row: NewAttachment,
    /// Time after which the object is removed if no file refers to it.
    pub(crate) expires_at: Timestamp,
    /// Bytes that a tenant without a quota of its own may use.
    pub(crate) default_quota: i64,
}

impl Command for CreateAttachment {
    const ID: &'static str = "attachments.attachment.create";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Upload file";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    const UNDOABLE: bool = false;
    type Entity = Attachment;
    type Output = ();

    fn target(&self) -> Target {
        Target::New {
            tenant: self.row.tenant_id,
            id: self.row.id,
        }
    }

    /// The counter of the tenant is locked by the insertion, the last statement but one, so that uploads of a tenant wait as shortly as possible.
    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        Placement::lock(tx, self.row.organization_id).await?;
        if !staged::keep(tx, self.row.id, self.expires_at).await? {
            return Err(Error::StorageFailed.into());
        }
        insert_into(attachments::table)
            .values(&self.row)
            .execute(tx.conn())
            .await
            .map_err(|error| rejection(error.into()))?;
        if usage::fits(tx.conn(), self.row.tenant_id, self.default_quota).await? {
            Ok(())
        } else {
            Err(Error::QuotaExceeded.into())
        }
    }
}

/// The partition may have been deleted since the upload began.
fn rejection(error: CoreError) -> CoreError {
    match error.violated_constraint() {
        Some("attachments_attachments_partition_tenant_id_partition_id_fkey") => Error::UnknownPartition.into(),
        _ => error,
    }
}
