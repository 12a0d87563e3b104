//! The records that this module offers to others: business rules guard and change files.

use backoffice_core::crud;
use backoffice_core::db::KeyColumn;
use backoffice_core::http::{Done, Json};
use backoffice_core::records::FieldType::{Id, List, Number, Object, Text, Time};
use backoffice_core::records::{FoundRecord, RecordField, RecordKind};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::QueryDsl;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::acl;
use crate::commands::UpdateAttachment;
use crate::model::ATTACHMENT;
use crate::query::attachments as query;
use crate::schema::attachments_attachments as attachments;

/// Files.
pub(crate) const FILES: RecordKind = RecordKind {
    kind: ATTACHMENT,
    title: "File",
    view: &[acl::VIEW],
    manage: &[acl::MANAGE],
    find: find_files,
    guardable: true,
    fields: FIELDS,
    events: &["transferred"],
    write: Some(write_file),
};

const FIELDS: &[RecordField] = &[
    RecordField::new("tenantId", Id),
    RecordField::new("id", Id),
    RecordField::new("organizationId", Id),
    RecordField::new("entityId", Text),
    RecordField::new("recordId", Text),
    RecordField::new("fieldKey", Text),
    RecordField::new("partitionTenantId", Id),
    RecordField::new("partitionId", Id),
    RecordField::new("storeId", Id),
    RecordField::writable("fileName", Text),
    RecordField::new("mimeType", Text),
    RecordField::new("fileSize", Number),
    RecordField::new("imageFormat", Text),
    RecordField::new("imageWidth", Number),
    RecordField::new("imageHeight", Number),
    RecordField::writable("tags", List),
    RecordField::new("assignments", List),
    RecordField::writable("customFields", Object),
    RecordField::new("uploadedBy", Id),
    RecordField::new("createdAt", Time),
    RecordField::new("updatedAt", Time),
];

fn write_file(ctx: &RequestContext, id: Uuid, fields: Map<String, Value>) -> BoxFuture<'_, Result<()>> {
    Box::pin(async move {
        let command = UpdateAttachment::new(id, crud::input_of(fields)?)?;
        ctx.execute(&command, |_| Json(Done::OK)).await?;
        Ok(())
    })
}

fn find_files<'a>(
    connection: &'a AsyncPgConnection,
    scope: &'a Scope,
    ids: &'a [Uuid],
) -> BoxFuture<'a, Result<Vec<FoundRecord>>> {
    Box::pin(async move {
        let visible = query::in_scope(scope).filter(attachments::id.one_of(ids));
        let rows = visible.select((attachments::id, attachments::organization_id, attachments::file_name));
        let rows: Vec<(Uuid, Uuid, String)> = rows.load(&mut &*connection).await?;
        let record = |(id, organization, label)| FoundRecord {
            id,
            organization,
            label,
        };
        Ok(rows.into_iter().map(record).collect())
    })
}
