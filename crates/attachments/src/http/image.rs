//! Images in requested sizes.

use backoffice_core::Result;
use backoffice_core::context::Call;
use backoffice_core::http::{Access, Caller, Conditions, Contents, Download, FileResponse, Path, Query, Routes};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::text::hex;
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use super::file::original;
use super::reading::{Readable, check, header, headers, readable};
use crate::error::Error;
use crate::files::Files;
use crate::images::{Image, ImageBox, RENDERER, Requester, Source, Variant};
use crate::model::Attachment;
use crate::{hosts, known};

/// Images that are rendered for the visitors from one network. Those in the cache are not counted.
pub(crate) const RENDERS: RateLimit = RateLimit::new("attachments.render.ip", 120, 60);

/// Formats of files that are rendered.
const RENDERED: [&str; 5] = ["bmp", "gif", "jpeg", "png", "webp"];

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/attachments/image/{id}", Access::Optional, get_attachment_image)
        .downloads(MEDIA)
        .across_tenants()
        .sends_headers(HEADERS)
        .about("An image, in a requested size")
        .rejects(&[401, 403, 404, 503]);
    routes
        .get(
            "/attachments/image/{id}/{slug}",
            Access::Optional,
            get_named_attachment_image,
        )
        .takes_rest()
        .downloads(MEDIA)
        .across_tenants()
        .sends_headers(HEADERS)
        .about("An image, in a requested size, with a name for people")
        .rejects(&[401, 403, 404, 503]);
}

const MEDIA: &[&str] = &[
    "image/avif",
    "image/bmp",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
];
const HEADERS: &[&str] = &[
    "Content-Disposition",
    "Content-Security-Policy",
    "Cross-Origin-Resource-Policy",
    "Vary",
];

/// The requested size. Without one, the file is sent unchanged.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default)]
#[into_params(parameter_in = Query)]
#[derive(Default)]
struct SizeQuery {
    /// In pixels. Without `height`, the ratio is kept, and nothing is enlarged.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 4000)]
    width: Vec<String>,
    /// In pixels. Without `width`, the ratio is kept, and nothing is enlarged.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 4000)]
    height: Vec<String>,
    /// `cover` (default): the image fills the box and is cut; `contain`: the image is shown whole.
    #[param(value_type = Option<String>, pattern = "^(cover|contain)$")]
    crop_type: Vec<String>,
}

/// The file, and a name that means nothing.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct NamedImage {
    /// The file.
    id: Uuid,
    /// A name for people.
    #[serde(rename = "slug")]
    #[param(rename = "slug")]
    _slug: String,
}

async fn get_attachment_image(
    caller: Caller,
    path: Path<backoffice_core::http::Id>,
    query: Query<SizeQuery>,
    conditions: Conditions,
) -> Result<FileResponse> {
    image(&caller, path.0.id, &query.0, conditions).await
}

async fn get_named_attachment_image(
    caller: Caller,
    path: Path<NamedImage>,
    query: Query<SizeQuery>,
    conditions: Conditions,
) -> Result<FileResponse> {
    image(&caller, path.0.id, &query.0, conditions).await
}

async fn image(caller: &Caller, id: Uuid, query: &SizeQuery, conditions: Conditions) -> Result<FileResponse> {
    let size = ImageBox::parse(&query.width, &query.height, &query.crop_type)?;
    let call = match caller {
        Caller::SignedIn(ctx) => ctx.call(),
        Caller::Visitor(visitor) => visitor,
    };
    let known = match caller {
        Caller::SignedIn(ctx) if size.is_some() => ctx.scope().tenant,
        _ => None,
    };
    // Before the row is read, so that a later change drops it.
    let known = match known {
        Some(tenant) => Some(known::images_of(call, tenant).await?),
        None => None,
    };
    if let Some(size) = size
        && let Some(known) = known.as_ref().and_then(|known| known.find(id, call.now))
        && check(caller, &known.row, known.is_public).is_ok()
        && let Some(image) = kept(call, &known.row, size).await?
    {
        let image = picture(call, &known.row, known.is_public, size, image)?;
        return conditions.without_ranges().respond(image).await;
    }
    let file = readable(caller, id).await?;
    let is_avif = file.row.mime_type == "image/avif" && size.is_none();
    let can_be_rendered = file
        .row
        .image_format
        .as_deref()
        .is_some_and(|format| RENDERED.contains(&format));
    if !can_be_rendered && !is_avif {
        return Err(Error::NotAnImage.into());
    }
    let Some(size) = size else {
        let download = original(file, false, &conditions).await?;
        return conditions.respond(download).await;
    };
    let image = resized(caller, &file, size).await?;
    if let Some(known) = known {
        let depends_on_record = hosts::depends_on_record(call.platform(), &file.row, file.is_public);
        known.keep(&file.row, file.is_public, depends_on_record.then_some(call.now));
    }
    let image = picture(call, &file.row, file.is_public, size, image)?;
    conditions.without_ranges().respond(image).await
}

/// Returns the image of a file in a size, if it is in the cache.
async fn kept(call: &Call, row: &Attachment, size: ImageBox) -> Result<Option<Image>> {
    let variant = Variant {
        tenant: row.tenant_id,
        id: row.id,
        size,
    };
    Ok(call.provided::<Files>()?.images.kept(variant).await)
}

/// Returns the image of a file in a size, rendered if it is not in the cache.
async fn resized(caller: &Caller, file: &Readable, size: ImageBox) -> Result<Image> {
    let (call, requester) = match caller {
        Caller::SignedIn(ctx) => (ctx.call(), Requester::Principal(ctx.identity().id.unwrap_or_default())),
        Caller::Visitor(visitor) => (&**visitor, Requester::Visitor(visitor.network())),
    };
    let source = Source {
        tenant: file.row.tenant_id,
        id: file.row.id,
        storage_key: file.row.storage_key.clone(),
        store: file.store.clone(),
        file_size: file.row.file_size,
        width: file.row.image_width.unwrap_or_default(),
        height: file.row.image_height.unwrap_or_default(),
    };
    let admit = async |requester: &Requester| match requester {
        Requester::Principal(_) => Ok(()),
        Requester::Visitor(network) => call.platform().rate_limits().count(call, RENDERS, network).await,
    };
    let files = call.provided::<Files>()?;
    files.images.get(&source, size, requester, admit).await
}

/// Returns what is sent of an image.
fn picture(call: &Call, row: &Attachment, is_public: bool, size: ImageBox, image: Image) -> Result<Download> {
    let content_type = image.content_type();
    let served = metrics::counter!("attachments_served_bytes_total");
    Ok(Download {
        length: image.length(),
        etag: Some(format!("{}-{}-v{RENDERER}", hex(&row.sha256), size.name())),
        modified: row.created_at,
        content_type: header(content_type)?,
        headers: headers(row, is_public, content_type, false)?,
        contents: match image {
            Image::Memory(bytes) => {
                served.increment(bytes.len() as u64);
                Contents::Bytes(bytes)
            }
            Image::File { file, .. } => {
                let readers = call.provided::<Files>()?.stores.readers().clone();
                Contents::Stream(Box::new(move |range| {
                    served.increment(range.end - range.start);
                    Box::pin(async move { Ok(readers.pieces(file, range)) })
                }))
            }
        },
    })
}
