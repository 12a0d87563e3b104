//! Moves files to another record.

use backoffice_core::command::{Class, Command, EntityRef, Target, Tx};
use backoffice_core::db::Prepared;
use backoffice_core::{Feature, Placement, Result};
use diesel::sql_query;
use diesel::sql_types::{Array, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::acl;
use crate::error::Error;
use crate::model::{ATTACHMENT, AnnouncedFile, Attachment};
use crate::query::fields;

/// Moves files of one kind of records to another record of this kind, and returns their number. Files that another request has moved away from their
/// old record meanwhile stay. The entry of the log is about the first file; the others are affected.
#[derive(Debug, Clone)]
pub struct TransferAttachments {
    /// The files, at least one, in ascending order.
    pub(crate) ids: Vec<Uuid>,
    /// The kind of the records.
    pub(crate) entity_id: String,
    /// The record at which the files must be; `None` for any.
    pub(crate) from_record_id: Option<String>,
    /// The record to which they are moved.
    pub(crate) record_id: String,
    /// The organization of the record; `None` to keep that of each file.
    pub(crate) organization: Option<Uuid>,
}

/// The assignment of a file to its old record becomes one to the new record, unless it has one. A file that is at the new record already keeps its
/// assignments.
const MOVE: &str = "\
update attachments_attachments a set
    record_id = $4,
    organization_id = coalesce($5, a.organization_id),
    assignments = case when a.record_id = $4 then a.assignments else (
        select coalesce(jsonb_agg(case
            when x.one ->> 'type' = $3 and x.one ->> 'id' = a.record_id then jsonb_build_object('type', $3, 'id', $4)
            else x.one end order by x.place), '[]')
        from jsonb_array_elements(a.assignments) with ordinality as x (one, place)
        where not (x.one ->> 'type' = $3 and x.one ->> 'id' = a.record_id
            and a.assignments @> jsonb_build_array(jsonb_build_object('type', $3, 'id', $4)))) end,
    updated_at = $6
where a.tenant_id = $1 and a.id = any(array(select unnest($2::uuid[]))) and a.entity_id = $3
    and ($7::text is null or a.record_id = $7)
returning a.id, a.organization_id, a.entity_id, a.record_id, a.file_name, a.mime_type, a.file_size";

impl Command for TransferAttachments {
    const ID: &'static str = "attachments.attachment.transfer";
    const CLASS: Class = Class::Assign;
    const LABEL: &'static str = "Move files to another record";
    const FEATURES: &'static [Feature] = &[acl::MANAGE];
    type Entity = Attachment;
    type Output = usize;

    fn target(&self) -> Target {
        Target::Existing(self.ids.as_slice().first().copied().unwrap_or_default())
    }

    fn affects(&self) -> Vec<EntityRef> {
        let others = self.ids.iter().skip(1);
        others
            .map(|id| EntityRef {
                kind: ATTACHMENT,
                id: *id,
            })
            .collect()
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<usize> {
        let (tenant, now) = (tx.tenant(), tx.now());
        let ids = self.ids.clone();
        if let Some(organization) = self.organization {
            Placement::lock(tx, organization).await?;
        }
        fields::lock_record(tx, &self.entity_id, &self.record_id).await?;
        let statement = sql_query(MOVE)
            .bind::<SqlUuid, _>(tenant)
            .bind::<Array<SqlUuid>, _>(ids)
            .bind::<Text, _>(&self.entity_id)
            .bind::<Text, _>(&self.record_id)
            .bind::<Nullable<SqlUuid>, _>(self.organization)
            .bind::<Timestamptz, _>(now)
            .bind::<Nullable<Text>, _>(self.from_record_id.as_deref());
        let mut moved: Vec<AnnouncedFile> = Prepared(statement).load(tx.conn()).await?;
        if moved.is_empty() {
            return Err(Error::NotFound.into());
        }
        moved.sort_by_key(|file| file.id);
        if fields::is_over(tx, &self.entity_id, &self.record_id, None).await? {
            return Err(Error::LimitOfTarget.into());
        }
        let updated = moved.len();
        for file in moved {
            tx.emit(file.event("transferred"));
        }
        Ok(updated)
    }
}
