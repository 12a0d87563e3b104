//! Files. Their bytes are destroyed with them, so neither their creation nor their deletion can be undone; everything else can.

use std::collections::HashMap;

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::events::Event;
use backoffice_core::text::hex;
use backoffice_core::{Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::sql_types::{Array, Jsonb, Timestamptz, Uuid as SqlUuid};
use diesel::{
    ExpressionMethods, Insertable, QueryDsl, Queryable, QueryableByName, Selectable, SelectableHelper, sql_query,
};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::returned_file;
use crate::schema::attachments_attachments as attachments;
use crate::{acl, known, query};

/// Kind of the entity.
pub const ATTACHMENT: &str = "attachments.attachment";

/// A file, the entity `attachments.attachment`, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize)]
#[diesel(table_name = attachments, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// Kind of the record that the file is attached to: `module.entity`, or `attachments.library`.
    pub entity_id: String,
    /// Id of that record.
    pub record_id: String,
    /// The field of the record for which the file was uploaded.
    pub field_key: Option<String>,
    /// Tenant of the partition: that of the file, or the nil UUID.
    pub partition_tenant_id: Uuid,
    /// The partition.
    pub partition_id: Uuid,
    /// The store.
    pub store_id: Uuid,
    /// Key of the object in the store. In no snapshot.
    #[serde(skip)]
    pub storage_key: String,
    /// The name, at most 255 bytes.
    pub file_name: String,
    /// The media type.
    pub mime_type: String,
    /// The number of bytes.
    pub file_size: i64,
    /// SHA-256 of the bytes. In no snapshot.
    #[serde(skip)]
    pub sha256: Vec<u8>,
    /// Whether it is a text in UTF-8. In no snapshot.
    #[serde(skip)]
    pub is_utf8: bool,
    /// Format of an image that can be rendered.
    pub image_format: Option<String>,
    /// Its width in pixels.
    pub image_width: Option<i32>,
    /// Its height in pixels.
    pub image_height: Option<i32>,
    /// The tags, in the order of the user.
    pub tags: Vec<String>,
    /// The records to which the file is assigned, see [`Assignment`](super::Assignment).
    pub assignments: Value,
    /// Values that users store with the file.
    pub custom_fields: Value,
    /// The user who uploaded it; `None` for an API key.
    pub uploaded_by: Option<Uuid>,
    /// Time of the upload.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// A file and its text.
#[derive(Debug, Clone, PartialEq, Eq, Insertable)]
#[diesel(table_name = attachments, treat_none_as_default_value = false, check_for_backend(Pg))]
pub struct NewAttachment {
    /// The file.
    #[diesel(embed)]
    pub row: Attachment,
    /// The first 20,000 characters of its text.
    pub content: Option<String>,
    /// The characters after these.
    pub content_rest: Option<String>,
    /// `none`, `pending`, `done` or `failed`.
    pub content_state: String,
}

/// What events say about a file.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, QueryableByName)]
#[diesel(table_name = attachments, check_for_backend(Pg))]
pub(crate) struct AnnouncedFile {
    pub(crate) id: Uuid,
    organization_id: Uuid,
    entity_id: String,
    record_id: String,
    file_name: String,
    mime_type: String,
    file_size: i64,
}

/// The fields of snapshots that events have too.
const ANNOUNCED: [&str; 5] = ["entityId", "recordId", "fileName", "mimeType", "fileSize"];

impl AnnouncedFile {
    /// Returns an event about the file.
    pub(crate) fn event(self, verb: &str) -> Event {
        Event::new(format!("{ATTACHMENT}.{verb}"), self.id)
            .with("entityId", self.entity_id)
            .with("recordId", self.record_id)
            .with("fileName", self.file_name)
            .with("mimeType", self.mime_type)
            .with("fileSize", self.file_size)
            .in_organization(Some(self.organization_id))
            .shown_to(acl::VIEW)
    }
}

/// The columns of a deleted file that no snapshot has, and without which it can't be stored again.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
#[diesel(table_name = attachments, check_for_backend(Pg))]
struct HiddenColumns {
    id: Uuid,
    storage_key: String,
    sha256: Vec<u8>,
    is_utf8: bool,
}

/// The files that the transaction has deleted. Files that an earlier transaction has deleted don't come back, because their bytes are destroyed.
#[derive(Debug, Default)]
struct DeletedFiles(HashMap<Uuid, HiddenColumns>);

/// Writes files back as they were; stored ones keep the columns that no snapshot has. The text is not part of a snapshot: a file that was deleted in the
/// same transaction comes back without it, and keeps its object.
const RESTORE: &str = "\
with given as (
    select * from jsonb_populate_recordset(null::attachments_attachments, $2)
), changed as (
    update attachments_attachments a set organization_id = g.organization_id, entity_id = g.entity_id, record_id = g.record_id,
        field_key = g.field_key, partition_tenant_id = g.partition_tenant_id, partition_id = g.partition_id, file_name = g.file_name,
        mime_type = g.mime_type, file_size = g.file_size, image_format = g.image_format, image_width = g.image_width,
        image_height = g.image_height, tags = g.tags, assignments = g.assignments, custom_fields = g.custom_fields,
        uploaded_by = g.uploaded_by, created_at = g.created_at, updated_at = $3
    from given g where a.tenant_id = $1 and a.id = g.id
), restored as (
    insert into attachments_attachments (tenant_id, id, organization_id, entity_id, record_id, field_key, partition_tenant_id, partition_id,
        store_id, storage_key, file_name, mime_type, file_size, sha256, is_utf8, image_format, image_width, image_height, content_state,
        tags, assignments, custom_fields, uploaded_by, created_at, updated_at)
    select $1, g.id, g.organization_id, g.entity_id, g.record_id, g.field_key, g.partition_tenant_id, g.partition_id,
        g.store_id, g.storage_key, g.file_name, g.mime_type, g.file_size, g.sha256, g.is_utf8, g.image_format, g.image_width, g.image_height,
        'none', g.tags, g.assignments, g.custom_fields, g.uploaded_by, g.created_at, $3
    from given g where g.storage_key is not null
    returning id
)
delete from attachments_staged s using restored r where s.tenant_id = $1 and s.id = r.id";

/// Deletes files, hands their objects over to the clean-up, and returns the columns that no snapshot has.
const REMOVE: &str = "\
with gone as (
    delete from attachments_attachments where tenant_id = $1 and id = any($2)
    returning id, partition_tenant_id, store_id, storage_key, sha256, is_utf8
), staged as (
    insert into attachments_staged (tenant_id, id, store_tenant_id, store_id, storage_key, expires_at, created_at, updated_at)
    select $1, g.id, g.partition_tenant_id, g.store_id, g.storage_key, $3, $3, $3 from gone g order by g.id
)
select id, storage_key, sha256, is_utf8 from gone";

impl Entity for Attachment {
    const KIND: &'static str = ATTACHMENT;
    const SECRET: &'static [&'static str] = &[
        "absentSince",
        "content",
        "contentRest",
        "contentState",
        "isUtf8",
        "sha256",
        "storageKey",
    ];
    /// The store changes when the files of a partition are moved, which is no change of the file.
    const VOLATILE: &'static [&'static str] = &["storeId", "updatedAt"];
    const NOT_FOUND: &'static str = "Attachment not found";
    const VIEW: Option<Feature> = Some(acl::VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::attachments::in_scope(locker.scope()).filter(attachments::id.one_of(ids));
        let locked = visible
            .order(attachments::id)
            .select((attachments::id, attachments::tenant_id))
            .for_update();
        Ok(locked.load(&mut locker.connection()).await?)
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows = match tx.take_fresh::<Self>(ids) {
            Some(rows) => rows,
            None => Self::read(tx, ids).await?,
        };
        rows.iter().map(|row| Ok((row.id, Snapshot::of(row)?))).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut deleted = tx.take_kept::<DeletedFiles>().unwrap_or_default();
        let mut rows = Vec::with_capacity(snapshots.len());
        for snapshot in snapshots {
            let row: Self = snapshot.row()?;
            let hidden = deleted.0.remove(&row.id);
            rows.push(row.restored(hidden));
        }
        tx.keep(deleted);
        let (tenant, now) = (tx.tenant(), tx.now());
        let statement = sql_query(RESTORE)
            .bind::<SqlUuid, _>(tenant)
            .bind::<Jsonb, _>(Value::Array(rows))
            .bind::<Timestamptz, _>(now);
        Prepared(statement).execute(tx.conn()).await?;
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        let statement = sql_query(REMOVE)
            .bind::<SqlUuid, _>(tenant)
            .bind::<Array<SqlUuid>, _>(ids)
            .bind::<Timestamptz, _>(now);
        let hidden: Vec<HiddenColumns> = Prepared(statement).load(tx.conn()).await?;
        let mut deleted = tx.take_kept::<DeletedFiles>().unwrap_or_default();
        deleted.0.extend(hidden.into_iter().map(|file| (file.id, file)));
        tx.keep(deleted);
        Ok(())
    }

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        match (step.from, step.to) {
            (Some(from), Some(to)) if step.restoring => returned_file::validate(tx, from, to),
            _ => Ok(()),
        }
    }

    async fn after_transition(tx: &mut Tx<'_>, _step: &Transition<'_>) -> Result<()> {
        known::forget(tx)
    }

    fn event_fields(snapshot: &Snapshot) -> Map<String, Value> {
        let field = |name: &str| Some((name.to_owned(), snapshot.get(name)?.clone()));
        ANNOUNCED.into_iter().filter_map(field).collect()
    }
}

impl Attachment {
    /// Loads files of the transaction's tenant.
    pub(crate) async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = attachments::table.filter(attachments::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(attachments::id.one_of(ids)).order(attachments::id);
        Ok(rows.select(Self::as_select()).load(tx.conn()).await?)
    }

    /// Returns the values that a restore writes, by the names of their columns; with the hidden ones if the transaction has deleted the file.
    fn restored(self, hidden: Option<HiddenColumns>) -> Value {
        let sha256 = hidden.as_ref().map(|file| format!("\\x{}", hex(&file.sha256)));
        let is_utf8 = hidden.as_ref().map(|file| file.is_utf8);
        json!({
            "id": self.id,
            "organization_id": self.organization_id,
            "entity_id": self.entity_id,
            "record_id": self.record_id,
            "field_key": self.field_key,
            "partition_tenant_id": self.partition_tenant_id,
            "partition_id": self.partition_id,
            "store_id": self.store_id,
            "storage_key": hidden.map(|file| file.storage_key),
            "file_name": self.file_name,
            "mime_type": self.mime_type,
            "file_size": self.file_size,
            "sha256": sha256,
            "is_utf8": is_utf8,
            "image_format": self.image_format,
            "image_width": self.image_width,
            "image_height": self.image_height,
            "tags": self.tags,
            "assignments": self.assignments,
            "custom_fields": self.custom_fields,
            "uploaded_by": self.uploaded_by,
            "created_at": self.created_at,
        })
    }
}
