//! Saves an uploaded file.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::jobs::{NewJob, enqueue_with};
use backoffice_core::{Error as CoreError, Feature, Placement, Result, Timestamp};
use diesel::{SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;

use crate::acl;
use crate::error::Error;
use crate::extraction::ExtractText;
use crate::model::{ALL_FIELDS, Attachment, NewAttachment};
use crate::query::staged::{self, Settled};
use crate::query::{fields, partitions};
use crate::schema::attachments_attachments as attachments;

/// Saves a file whose object is stored.
#[derive(Debug, Clone)]
pub struct CreateAttachment {
    pub(crate) file: NewAttachment,
    /// Time after which the object is removed if no file refers to it.
    pub(crate) expires_at: Timestamp,
    /// Whether the number of files of the record is limited.
    pub(crate) is_limited: bool,
    /// Whether the caller may store the file in a public partition.
    pub(crate) may_be_public: bool,
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
            tenant: self.file.row.tenant_id,
            id: self.file.row.id,
        }
    }

    /// The counter of the tenant is locked by the insertion, near the end, so that uploads of a tenant wait as shortly as possible.
    async fn apply(&self, tx: &mut Tx<'_>) -> Result<()> {
        let row = &self.file.row;
        Placement::lock(tx, row.organization_id).await?;
        let (entity, record) = (&row.entity_id, &row.record_id);
        if self.is_limited {
            fields::lock_record(tx, entity, record).await?;
        }
        let inserted: Attachment = insert_into(attachments::table)
            .values(&self.file)
            .returning(Attachment::as_returning())
            .prepared()
            .get_result(tx.conn())
            .await
            .map_err(|error| rejection(error.into()))?;
        // The reference to the partition now keeps it from changing; it may have become public while the bytes were stored.
        if !self.may_be_public && partitions::is_public(tx, row.partition_tenant_id, row.partition_id).await? {
            return Err(Error::PublicPartition.into());
        }
        tx.keep_written(row.id, inserted);
        let key = row.field_key.as_deref().unwrap_or(ALL_FIELDS);
        if self.is_limited && fields::is_over(tx, entity, record, Some(key)).await? {
            return Err(Error::LimitReached.into());
        }
        if self.file.content_state == "pending" {
            let job = NewJob::of_system(row.tenant_id, ExtractText { file: row.id });
            enqueue_with(tx, &job).await?;
        }
        let settled = staged::settle(tx, row.id, self.expires_at, self.default_quota).await?;
        match settled {
            Settled { is_kept: false, .. } => Err(Error::StorageFailed.into()),
            Settled { fits: false, .. } => Err(Error::QuotaExceeded.into()),
            Settled { .. } => Ok(()),
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
