//! Stores the bytes of a file, then its row.

use backoffice_core::http::Json;
use backoffice_core::{RequestContext, Result};
use serde_json::json;

use super::inspect::Inspected;
use super::target::UploadTarget;
use super::{Uploaded, UploadedItem};
use crate::commands::{CreateAttachment, not_saved};
use crate::error::Error;
use crate::files::Files;
use crate::http::store;
use crate::model::{Attachment, NewAttachment};
use crate::query::staged::Staged;
use crate::stores::{Spool, note_upload, remove_now, stage};
use crate::upload::Described;

/// Returns the row of a file, and its bytes.
pub(super) fn new_row(
    ctx: &RequestContext,
    files: &Files,
    target: &UploadTarget,
    described: Described,
    file: Inspected,
) -> Result<(NewAttachment, Spool)> {
    let (tenant, now) = (target.placement.tenant, ctx.now());
    let date = now.get().date();
    let (year, month) = (date.year(), u8::from(date.month()));
    let row = Attachment {
        tenant_id: tenant,
        id: target.id,
        organization_id: target.placement.organization,
        entity_id: described.entity_id,
        record_id: described.record_id,
        field_key: described.field_key,
        partition_tenant_id: target.partition.tenant_id,
        partition_id: target.partition.id,
        store_id: target.partition.store_id,
        storage_key: format!("{tenant}/{}/{year:04}/{month:02}/{}", target.partition.code, target.id),
        file_name: file.name,
        mime_type: file.content_type.mime_type,
        file_size: i64::try_from(file.spool.length()).map_err(|_| Error::TooLarge)?,
        sha256: file.sha256.to_vec(),
        is_utf8: file.content_type.is_utf8,
        image_format: file.image.map(|image| image.format.to_owned()),
        image_width: file.image.map(|image| image.width),
        image_height: file.image.map(|image| image.height),
        tags: described.tags,
        assignments: serde_json::to_value(described.assignments)?,
        custom_fields: json!(described.custom_fields),
        uploaded_by: ctx.user_id().ok(),
        created_at: now,
        updated_at: now,
    };
    let length = row.file_size.unsigned_abs();
    let ocr = files.ocr(ctx.platform(), target.partition.requires_ocr, &row.mime_type, length);
    let content_state = match (&file.text, file.awaits_text || ocr.is_some()) {
        (Some(_), _) => "done",
        (None, true) => "pending",
        (None, false) => "none",
    };
    let (content, content_rest) = file.text.map_or((None, None), |text| (Some(text.first), text.rest));
    let new = NewAttachment {
        row,
        content_state: content_state.to_owned(),
        content,
        content_rest,
    };
    Ok((new, file.spool))
}

/// Stores the bytes, then the row. If the row can't be saved, or an earlier response is repeated, the bytes are removed again.
pub(super) async fn save(
    ctx: &RequestContext,
    files: &Files,
    target: &UploadTarget,
    file: NewAttachment,
    spool: Spool,
) -> Result<Json<Uploaded>> {
    let row = &file.row;
    let (call, tenant, id) = (ctx.call(), row.tenant_id, row.id);
    let store = store::open(ctx, &target.partition).await?;
    let staged = Staged {
        tenant_id: tenant,
        id,
        store_tenant_id: row.partition_tenant_id,
        store_id: row.store_id,
        storage_key: row.storage_key.clone(),
        expires_at: target.expires_at,
        created_at: row.created_at,
        updated_at: row.created_at,
    };
    stage(call, &staged).await?;
    let begun = async |upload: &str| note_upload(call, tenant, id, upload).await;
    if let Err(error) = store.put(&row.storage_key, spool, begun).await {
        let error = store.failed(&error);
        tracing::error!(%error, "could not store a file");
        remove_now(call, tenant, id).await;
        return Err(Error::StorageFailed.into());
    }
    let item = UploadedItem::of(&file, &target.partition);
    let command = CreateAttachment {
        file,
        expires_at: target.expires_at,
        is_limited: target.is_limited,
        may_be_public: target.may_be_public,
        default_quota: files.default_quota(),
    };
    let saved = ctx
        .execute(&command, |()| {
            Json(Uploaded {
                ok: true,
                item: item.clone(),
            })
        })
        .await;
    if saved.is_err() {
        remove_now(call, tenant, id).await;
    }
    saved.map_err(not_saved)
}
