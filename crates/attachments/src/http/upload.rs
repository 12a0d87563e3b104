//! Uploads.

use backoffice_core::context::Call;
use backoffice_core::http::{Json, Multipart, Part, Routes, requires};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::records::FoundRecord;
use backoffice_core::{Placement, Rejection, RequestContext, Result, Timestamp};
use diesel_async::AsyncPgConnection;
use serde::Serialize;
use serde_json::{Value, json};
use time::Duration;
use tokio::task::spawn_blocking;
use utoipa::ToSchema;
use uuid::Uuid;

use super::items::{thumbnail_url, url};
use crate::commands::CreateAttachment;
use crate::error::Error;
use crate::files::Files;
use crate::model::{Assignment, NewAttachment, Partition};
use crate::query::partitions::{visible, with_code};
use crate::query::staged::Staged;
use crate::query::{fields, usage};
use crate::stores::{Spool, remove_now, stage};
use crate::upload::{
    Candidate, Constraints, ContentType, Described, Form, ImageSize, Text, UploadForm, check_name, clean_name, detect,
    extension, image_size, read_text,
};
use crate::{acl, hosts};

/// Uploads of one principal.
pub(crate) const UPLOADS: RateLimit = RateLimit::new("attachments.upload.actor", 600, 60);

/// Bytes of a body besides its file.
const OVERHEAD: u64 = 1024 * 1024;
/// Time after which the object of an upload that did not complete is removed.
const STAGED: Duration = Duration::hours(2);

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post("/attachments", requires(&[acl::MANAGE]), upload_attachment)
        .streaming()
        .about("Attach a file to a record")
        .rejects(&[408, 413, 422, 503]);
}

/// The result of an upload.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AttachmentUploaded)]
struct Uploaded {
    /// Always true.
    ok: bool,
    item: UploadedItem,
}

/// A new file.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AttachmentUploadedItem)]
struct UploadedItem {
    id: Uuid,
    /// Where the bytes are, relative to the site.
    url: String,
    file_name: String,
    /// In bytes.
    file_size: i64,
    /// The first 20,000 characters of the text of the file.
    content: Option<String>,
    mime_type: String,
    partition_code: String,
    /// A small image, for files that can be rendered.
    thumbnail_url: Option<String>,
    tags: Vec<String>,
    #[schema(value_type = Vec<Assignment>)]
    assignments: Value,
    #[schema(value_type = Object)]
    custom_fields: Value,
}

async fn upload_attachment(ctx: RequestContext, body: Multipart<UploadForm>) -> Result<Json<Uploaded>> {
    let outcome = upload(&ctx, body).await;
    let word = if outcome.is_ok() { "stored" } else { "rejected" };
    metrics::counter!("attachments_uploads_total", "outcome" => word).increment(1);
    outcome
}

async fn upload(ctx: &RequestContext, mut body: Multipart<UploadForm>) -> Result<Json<Uploaded>> {
    let placement = Placement::for_new(ctx, None)?;
    let files = ctx.call().provided::<Files>()?;
    let limits = ctx.platform().rate_limits();
    let principal = ctx.identity().id.unwrap_or_default();
    limits.count(ctx.call(), UPLOADS, &principal.to_string()).await?;
    let _permit = files.upload_permit(placement.tenant)?;
    let most = {
        let connection = ctx.read().await?;
        let usage = usage::of_tenant(&connection, placement.tenant, files.default_quota()).await?;
        check_length(&files, body.declared_length(), usage)?;
        files.config.max_upload
    };
    let (form, received) = receive(ctx.call(), &files, &mut body, most).await?;
    let described = form.describe()?;
    let received = received.ok_or(Error::FileRequired)?;
    let name = clean_name(received.file_name.as_deref().unwrap_or_default());
    check_name(&name)?;
    let claimed = received.content_type.as_deref();
    let content_type = detect(received.spool.head(), &extension(&name), claimed)?;
    let file = Candidate {
        extension: &extension(&name),
        mime_type: &content_type.mime_type,
        length: received.spool.length(),
    };
    let target = target(ctx, placement, &form, &described, file).await?;
    let contents = contents(&received.spool, &content_type).await?;
    let row = new_row(ctx, &target, described, form, name, content_type, contents, &received)?;
    save(ctx, &files, &target, row, received.spool).await
}

/// Rejects a body that can't fit before it is read.
fn check_length(files: &Files, declared: Option<u64>, usage: usage::Usage) -> Result<()> {
    let Some(declared) = declared else { return Ok(()) };
    let least = declared.saturating_sub(OVERHEAD);
    let left = u64::try_from(usage.quota.saturating_sub(usage.used)).unwrap_or(0);
    if least > files.config.max_upload {
        return Err(Error::TooLarge.into());
    }
    if least > left {
        return Err(Error::QuotaExceeded.into());
    }
    Ok(())
}

/// A file that has arrived.
struct Received {
    spool: Spool,
    sha256: [u8; 32],
    file_name: Option<String>,
    content_type: Option<String>,
}

/// Reads the whole body. The file is written to a spool file while it arrives; other parts stay in memory.
async fn receive(
    call: &Call,
    files: &Files,
    body: &mut Multipart<UploadForm>,
    most: u64,
) -> Result<(Form, Option<Received>)> {
    let (mut form, mut received) = (Form::default(), None);
    while let Some(part) = body.next().await? {
        if part.name != "file" {
            let name = part.name.clone();
            form.take(&name, part.text().await?);
            continue;
        }
        if received.is_some() {
            return Err(Error::MultipleFiles.into());
        }
        received = Some(receive_file(call, files, part, most).await?);
    }
    Ok((form, received))
}

async fn receive_file(call: &Call, files: &Files, mut part: Part<'_, UploadForm>, most: u64) -> Result<Received> {
    let unavailable = |error: std::io::Error| {
        tracing::error!(%error, "could not write an upload");
        Error::StorageUnavailable
    };
    let ids = call.platform().ids();
    let mut spool = Spool::create(&files.spool, ids, call.now).await.map_err(unavailable)?;
    while let Some(bytes) = part.chunk().await? {
        if spool.length() + bytes.len() as u64 > most {
            return Err(Error::TooLarge.into());
        }
        spool.write(&bytes).await.map_err(unavailable)?;
    }
    spool.flush().await.map_err(unavailable)?;
    if spool.length() == 0 {
        return Err(Error::EmptyFile.into());
    }
    metrics::counter!("attachments_uploaded_bytes_total").increment(spool.length());
    Ok(Received {
        sha256: part.sha256().unwrap_or_default(),
        file_name: part.file_name.clone(),
        content_type: part.content_type.clone(),
        spool,
    })
}

/// Where a file is stored and to what it belongs.
struct UploadTarget {
    id: Uuid,
    placement: Placement,
    partition: Partition,
    expires_at: Timestamp,
    is_limited: bool,
}

/// Checks the record, the constraints of its fields, and the partition of an upload.
async fn target(
    ctx: &RequestContext,
    placement: Placement,
    form: &Form,
    described: &Described,
    file: Candidate<'_>,
) -> Result<UploadTarget> {
    let kind = &described.entity_id;
    let manager = hosts::manager(ctx, kind)?;
    let connection = ctx.read().await?;
    let record = hosts::find(&manager, &connection, kind, &described.record_id).await?;
    if record.is_none() && ctx.platform().record_kind(kind).is_some() {
        return Err(Error::RecordNotFound.into());
    }
    let of_kind = fields::list(&connection, ctx.scope(), Some(kind)).await?;
    let constraints = Constraints::of(&of_kind, form.field_key.as_deref())?;
    constraints.check(file)?;
    let partition = partition(
        ctx,
        &connection,
        form.partition_code.as_deref(),
        kind,
        constraints.partition(),
    )
    .await?;
    let organization = |record: FoundRecord| record.organization;
    Ok(UploadTarget {
        id: ctx.new_id(),
        placement: Placement {
            organization: record.map_or(placement.organization, organization),
            ..placement
        },
        is_limited: constraints.limits_count(),
        partition,
        expires_at: ctx.now().after(STAGED),
    })
}

/// Returns the named partition, or that of the field, or the default one of the kind of records.
async fn partition(
    ctx: &RequestContext,
    connection: &AsyncPgConnection,
    named: Option<&str>,
    kind: &str,
    of_field: Option<Uuid>,
) -> Result<Partition> {
    let default = hosts::default_partition(kind);
    let partitions = visible(connection, ctx.scope()).await?;
    let found = match (named, of_field) {
        (Some(code), _) => with_code(&partitions, code),
        (None, Some(id)) => partitions.iter().find(|partition| partition.id == id),
        (None, None) => with_code(&partitions, default),
    };
    let found = found.ok_or(Error::UnknownPartition)?;
    let is_expected = found.code.eq_ignore_ascii_case(default) || of_field == Some(found.id);
    if found.is_public && !is_expected && !ctx.holds(acl::PARTITIONS_MANAGE) {
        return Err(Error::PublicPartition.into());
    }
    Ok(found.clone())
}

/// Reads what is derived from the bytes.
async fn contents(spool: &Spool, content_type: &ContentType) -> Result<(Option<Text>, Option<ImageSize>)> {
    let (path, kind, length) = (spool.path().to_owned(), content_type.mime_type.clone(), spool.length());
    let read = spawn_blocking(move || {
        let text = read_text(&path, &kind, length)?;
        Ok::<_, std::io::Error>((text, image_size(&path)))
    });
    let read = read
        .await
        .map_err(|error| backoffice_core::Error::internal(error.to_string()))?;
    read.map_err(|error| {
        tracing::error!(%error, "could not read an upload");
        Error::StorageUnavailable.into()
    })
}

#[expect(
    clippy::too_many_arguments,
    reason = "a row is assembled from all that is known of an upload"
)]
fn new_row(
    ctx: &RequestContext,
    target: &UploadTarget,
    described: Described,
    form: Form,
    file_name: String,
    content_type: ContentType,
    (text, image): (Option<Text>, Option<ImageSize>),
    received: &Received,
) -> Result<NewAttachment> {
    let (tenant, now) = (target.placement.tenant, ctx.now());
    let mut assignments = described.assignments;
    if described.entity_id != hosts::LIBRARY {
        let is_record = |one: &Assignment| one.kind == described.entity_id && one.id == described.record_id;
        if !assignments.iter().any(is_record) {
            assignments.push(Assignment {
                kind: described.entity_id.clone(),
                id: described.record_id.clone(),
                label: None,
                href: None,
            });
        }
    }
    let date = now.get().date();
    let code = &target.partition.code;
    let (content, content_rest) = text.map_or((None, None), |text| (Some(text.first), text.rest));
    Ok(NewAttachment {
        tenant_id: tenant,
        id: target.id,
        organization_id: target.placement.organization,
        entity_id: described.entity_id,
        record_id: described.record_id,
        field_key: form.field_key,
        partition_tenant_id: target.partition.tenant_id,
        partition_id: target.partition.id,
        store_id: target.partition.store_id,
        storage_key: format!(
            "{tenant}/{code}/{:04}/{:02}/{}",
            date.year(),
            u8::from(date.month()),
            target.id
        ),
        file_name,
        mime_type: content_type.mime_type,
        file_size: i64::try_from(received.spool.length()).map_err(|_| Error::TooLarge)?,
        sha256: received.sha256.to_vec(),
        is_utf8: content_type.is_utf8,
        image_format: image.map(|image| image.format.to_owned()),
        image_width: image.map(|image| image.width),
        image_height: image.map(|image| image.height),
        content_state: if content.is_some() { "done" } else { "none" }.to_owned(),
        content,
        content_rest,
        tags: described.tags,
        assignments: serde_json::to_value(assignments)?,
        custom_fields: json!(described.custom_fields),
        uploaded_by: ctx.user_id().ok(),
        created_at: now,
        updated_at: now,
    })
}

/// Stores the bytes, then the row. If the row can't be saved, or an earlier response is repeated, the bytes are removed again.
async fn save(
    ctx: &RequestContext,
    files: &Files,
    target: &UploadTarget,
    row: NewAttachment,
    spool: Spool,
) -> Result<Json<Uploaded>> {
    let (call, tenant) = (ctx.call(), row.tenant_id);
    let store = files.stores.open(
        &target.partition.storage_driver,
        &json!({"code": target.partition.code}),
    );
    let store = store.ok_or(Error::Misconfigured)?;
    let staged = Staged {
        tenant_id: tenant,
        id: row.id,
        store_tenant_id: row.partition_tenant_id,
        store_id: row.store_id,
        storage_key: row.storage_key.clone(),
        expires_at: target.expires_at,
        created_at: row.created_at,
        updated_at: row.created_at,
    };
    stage(call, &staged).await?;
    if let Err(error) = store.put(&row.storage_key, spool).await {
        metrics::counter!("attachments_store_errors_total", "driver" => "local").increment(1);
        tracing::error!(%error, "could not store a file");
        remove_now(call, tenant, row.id).await;
        return Err(Error::StorageFailed.into());
    }
    let item = uploaded(&row, &target.partition);
    let id = row.id;
    let command = CreateAttachment {
        row,
        expires_at: target.expires_at,
        is_limited: target.is_limited,
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
    match saved {
        Err(backoffice_core::Error::Internal(cause)) => {
            remove_now(call, tenant, id).await;
            tracing::error!(%cause, "could not save a file");
            let text = "Failed to save attachment attributes.";
            Err(Rejection::new(actix_web::http::StatusCode::INTERNAL_SERVER_ERROR, text).into())
        }
        Err(error) => {
            remove_now(call, tenant, id).await;
            Err(error)
        }
        Ok(saved) => Ok(saved),
    }
}

fn uploaded(row: &NewAttachment, partition: &Partition) -> UploadedItem {
    UploadedItem {
        id: row.id,
        url: url(row.id),
        file_name: row.file_name.clone(),
        file_size: row.file_size,
        content: row.content.clone(),
        mime_type: row.mime_type.clone(),
        partition_code: partition.code.clone(),
        thumbnail_url: thumbnail_url(row.id, row.image_format.as_deref(), &row.file_name, 320),
        tags: row.tags.clone(),
        assignments: row.assignments.clone(),
        custom_fields: row.custom_fields.clone(),
    }
}
