//! The bytes of a file.

use backoffice_core::access_log::AccessType;
use backoffice_core::http::{
    Access, Caller, Conditions, Contents, Download, FileResponse, Id, Path, Query, Response, Routes,
};
use backoffice_core::text::hex;
use backoffice_core::{RequestContext, Result};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use uuid::Uuid;

use super::items::record_of;
use super::reading::{Readable, header, headers, readable};
use crate::files::unreadable;
use crate::model::ATTACHMENT;
use crate::upload::harmless;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/attachments/file/{id}", Access::Optional, get_attachment_file)
        .downloads(&["*/*"])
        .reads(ATTACHMENT)
        .across_tenants()
        .sends_headers(HEADERS)
        .about("The bytes of a file")
        .rejects(&[401, 403, 404]);
    routes
        .get("/attachments/file", Access::Optional, get_attachment_file_by_query)
        .downloads(&["*/*"])
        .reads(ATTACHMENT)
        .across_tenants()
        .sends_headers(HEADERS)
        .about("The bytes of a file, named by a parameter")
        .rejects(&[401, 403, 404]);
}

const HEADERS: &[&str] = &[
    "Content-Disposition",
    "Content-Security-Policy",
    "Cross-Origin-Resource-Policy",
    "Vary",
];

/// How the file is sent.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct FileQuery {
    /// `1`: browsers save the file instead of showing it.
    download: Option<String>,
}

async fn get_attachment_file(
    caller: Caller,
    path: Path<Id>,
    query: Query<FileQuery>,
    conditions: Conditions,
) -> Result<FileResponse> {
    file(&caller, path.0.id, &query.0, conditions).await
}

async fn get_attachment_file_by_query(
    caller: Caller,
    id: Query<Id>,
    query: Query<FileQuery>,
    conditions: Conditions,
) -> Result<FileResponse> {
    file(&caller, id.0.id, &query.0, conditions).await
}

async fn file(caller: &Caller, id: Uuid, query: &FileQuery, conditions: Conditions) -> Result<FileResponse> {
    let file = readable(caller, id).await?;
    let forced = query.download.as_deref() == Some("1");
    let is_head = conditions.is_head();
    let logged = match caller {
        Caller::SignedIn(ctx) if !file.is_public => Some((ctx.clone(), file.row.clone())),
        _ => None,
    };
    let download = original(file, forced, &conditions).await?;
    let response = conditions.respond(download).await?;
    if let Some((ctx, row)) = logged
        && !is_head
        && response.status() != actix_web::http::StatusCode::NOT_MODIFIED
    {
        log_download(&ctx, &row).await?;
    }
    Ok(response)
}

/// What the access log records of a download.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Downloaded<'a> {
    id: Uuid,
    file_name: &'a str,
}

async fn log_download(ctx: &RequestContext, row: &crate::model::Attachment) -> Result<()> {
    let connection = ctx.read().await?;
    let downloaded = Downloaded {
        id: row.id,
        file_name: &row.file_name,
    };
    let record = |_: &Downloaded<'_>| record_of(row);
    ctx.log_reads(
        &connection,
        AccessType::Download,
        std::slice::from_ref(&downloaded),
        record,
    )
    .await
}

/// Returns the unchanged bytes of a file. A bucket is asked for them when they are sent, and for their length by a request for the headers only.
///
/// # Errors
/// 404 when the store does not have them, 503 when it does not respond.
pub(super) async fn original(file: Readable, forced: bool, conditions: &Conditions) -> Result<Download> {
    let (id, key) = (file.row.id, &file.row.storage_key);
    let expected = match conditions.is_head() {
        true => file.store.existing_length(key).await,
        false => Ok(file.row.file_size.unsigned_abs()),
    };
    let expected = expected.map_err(|error| unreadable(&file.store, id, &error))?;
    let opened = file.store.open(key, expected).await;
    let (bytes, length) = opened.map_err(|error| unreadable(&file.store, id, &error))?;
    // Earlier releases stored types that are rejected now.
    let kind = harmless(&file.row.mime_type);
    let content_type = match file.row.is_utf8 {
        true => format!("{kind}; charset=utf-8"),
        false => kind.to_owned(),
    };
    Ok(Download {
        length,
        etag: Some(hex(&file.row.sha256)),
        modified: file.row.created_at,
        content_type: header(&content_type)?,
        headers: headers(&file.row, file.is_public, kind, forced)?,
        contents: Contents::Stream(Box::new(move |range| {
            metrics::counter!("attachments_served_bytes_total").increment(range.end - range.start);
            Box::pin(async move {
                let pieces = bytes.pieces(range).await;
                pieces.map_err(|error| unreadable(&file.store, id, &error).into())
            })
        })),
    })
}
