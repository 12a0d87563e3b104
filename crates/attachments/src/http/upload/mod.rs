//! Uploads: the body is received, the file is checked, its bytes are stored, and then its row is saved.

mod inspect;
mod receive;
mod save;
mod target;

use actix_web::HttpRequest;
use actix_web::http::header::HeaderMap;
use backoffice_core::http::{Json, Multipart, Routes, requires};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Placement, RequestContext, Result};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use self::inspect::inspect;
use self::receive::{Bounds, receive};
use self::save::{new_row, save};
use self::target::target;
use super::items::{THUMBNAIL, thumbnail_url, url};
use crate::acl;
use crate::error::Error;
use crate::files::Files;
use crate::model::{Assignment, NewAttachment, Partition};
use crate::query::usage;
use crate::upload::UploadForm;

/// Uploads of one principal.
pub(crate) const UPLOADS: RateLimit = RateLimit::new("attachments.upload.actor", 600, 60);

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
    /// Media type; the set is open.
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

async fn upload_attachment(
    ctx: RequestContext,
    request: HttpRequest,
    body: Multipart<UploadForm>,
) -> Result<Json<Uploaded>> {
    let outcome = upload(&ctx, request.headers(), body).await;
    let word = if outcome.is_ok() { "stored" } else { "rejected" };
    metrics::counter!("attachments_uploads_total", "outcome" => word).increment(1);
    outcome
}

async fn upload(ctx: &RequestContext, headers: &HeaderMap, mut body: Multipart<UploadForm>) -> Result<Json<Uploaded>> {
    let placement = Placement::for_new(ctx, None)?;
    let files = ctx.call().provided::<Files>()?;
    let limits = ctx.platform().rate_limits();
    let principal = ctx.identity().id.unwrap_or_default();
    limits.count(ctx.call(), UPLOADS, &principal.to_string()).await?;
    let _permit = files.upload_permit(placement.tenant, principal)?;
    let bounds = {
        let connection = ctx.read().await?;
        let usage = usage::of_tenant(&connection, placement.tenant, files.default_quota()).await?;
        Bounds::new(&files, usage, headers)
    };
    bounds.check_length(body.declared_length())?;
    let (form, received) = receive(ctx.call(), &files, &mut body, bounds).await?;
    let described = form.describe(ctx.platform())?;
    let received = received.ok_or(Error::FileRequired)?;
    let ctx = &body.context().await?;
    let placement = Placement::for_new(ctx, None)?;
    if bounds.exceeds_quota(received.spool.length()) {
        ctx.reject_repeat().await?;
        return Err(Error::QuotaExceeded.into());
    }
    let file = inspect(&files, received).await?;
    let target = target(ctx, placement, &described, &file).await?;
    let (new, spool) = new_row(ctx, &files, &target, described, file)?;
    save(ctx, &files, &target, new, spool).await
}

impl UploadedItem {
    fn of(file: &NewAttachment, partition: &Partition) -> Self {
        let row = &file.row;
        Self {
            id: row.id,
            url: url(row.id),
            file_name: row.file_name.clone(),
            file_size: row.file_size,
            content: file.content.clone(),
            mime_type: row.mime_type.clone(),
            partition_code: partition.code.clone(),
            thumbnail_url: thumbnail_url(row.id, row.image_format.as_deref(), &row.file_name, THUMBNAIL),
            tags: row.tags.clone(),
            assignments: row.assignments.clone(),
            custom_fields: row.custom_fields.clone(),
        }
    }
}
