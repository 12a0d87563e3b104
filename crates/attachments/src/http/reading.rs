//! Who may read the bytes of a file, and with which headers they are sent.

use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use backoffice_core::context::Call;
use backoffice_core::http::Caller;
use backoffice_core::{Rejection, Result, Scope};
use uuid::Uuid;

use crate::error::Error;
use crate::files::Files;
use crate::model::Attachment;
use crate::query::attachments::{Stored, locate, stored};
use crate::stores::Driver;
use crate::{acl, hosts};

/// A file that the caller may read.
#[derive(Debug)]
pub(super) struct Readable {
    pub(super) row: Attachment,
    pub(super) store: Driver,
    /// Whether everybody may read it.
    pub(super) is_public: bool,
}

/// Returns a file that the caller may read: one statement for files of the caller's tenant, else three at most, and one more for a file that depends
/// on its record.
///
/// # Errors
/// 401 for a visitor and a private file, 404 for a file that does not exist, is out of the caller's scope or has lost its record, 403 that names missing features, 500
/// for a store that can't be opened.
pub(super) async fn readable(caller: &Caller, id: Uuid) -> Result<Readable> {
    let (call, tenant) = match caller {
        Caller::SignedIn(ctx) => (ctx.call(), ctx.scope().tenant),
        Caller::Visitor(visitor) => (&**visitor, None),
    };
    if let Some(tenant) = tenant
        && let Some(file) = find(call, tenant, id).await?
    {
        check(caller, &file.row, file.is_public)?;
        return opened(call, file);
    }
    let location = {
        let connection = call.database().read_briefly(&Scope::system()).await?;
        locate(&connection, id).await?
    };
    let location = location.ok_or(Error::NotFound)?;
    admit(caller, location.tenant, location.organization, location.is_public)?;
    let file = find(call, location.tenant, id).await?.ok_or(Error::NotFound)?;
    // The file, or its partition, may have changed since.
    check(caller, &file.row, file.is_public)?;
    opened(call, file)
}

/// Returns a file of the tenant, unless its record hides it: requests for files of a tenant that arrive together share the statement, and the one
/// that looks for records.
///
/// # Errors
/// When the database can't be reached.
pub(super) async fn find(call: &Call, tenant: Uuid, id: Uuid) -> Result<Option<Stored>> {
    let files = call.provided::<Files>()?;
    let load = async |ids| {
        let scope = Scope::tenant(tenant);
        let connection = call.database().read_briefly(&scope).await?;
        let found = stored(&connection, &scope, ids).await?;
        let found = hosts::with_records(call.platform(), &connection, &scope, found).await?;
        Ok(found.into_iter().map(|file| (file.row.id, file)).collect())
    };
    let found = files.by_id.find(tenant, [id], load).await?;
    Ok(found.get(&id).cloned())
}

/// Checks that a file is public, or in the caller's scope, and that the caller holds the feature there.
fn admit(caller: &Caller, tenant: Uuid, organization: Uuid, is_public: bool) -> Result<()> {
    let ctx = match caller {
        _ if is_public => return Ok(()),
        Caller::Visitor(_) => return Err(Rejection::unauthorized().into()),
        Caller::SignedIn(ctx) => ctx,
    };
    let scope = ctx.scope();
    if !scope.sees_tenant(tenant) || !scope.reads_organization(Some(organization)) {
        return Err(Error::NotFound.into());
    }
    hosts::require(ctx, &[acl::VIEW], organization)
}

/// Checks that the caller may read a file, and see its record if it is private.
pub(super) fn check(caller: &Caller, row: &Attachment, is_public: bool) -> Result<()> {
    admit(caller, row.tenant_id, row.organization_id, is_public)?;
    match caller {
        Caller::SignedIn(ctx) if !is_public => hosts::require_view(ctx, row),
        _ => Ok(()),
    }
}

/// Opens the store of a file.
///
/// # Errors
/// 500 when that is not possible.
pub(super) fn opened(call: &Call, file: Stored) -> Result<Readable> {
    let files = call.provided::<Files>()?;
    Ok(Readable {
        store: files.stores.open(&file.store)?,
        row: file.row,
        is_public: file.is_public,
    })
}

/// The conditions under which browsers treat a file as what it is, and as nothing more.
const POLICY: &str = "default-src 'none'; sandbox";
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Media types that browsers may show in place.
const INLINE: [&str; 6] = [
    "image/avif",
    "image/bmp",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
];

/// Returns the headers of a file besides those of its type, length and version.
///
/// # Errors
/// When the name can't be written as a header.
pub(super) fn headers(
    row: &Attachment,
    is_public: bool,
    content_type: &str,
    forced: bool,
) -> Result<Vec<(HeaderName, HeaderValue)>> {
    let is_inline = !forced && INLINE.contains(&content_type);
    let mut headers = vec![
        (CONTENT_DISPOSITION, header(&disposition(&row.file_name, is_inline))?),
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    ];
    let (cached, policy) = match is_public {
        true => ("public, max-age=86400", "cross-origin"),
        false => ("private, no-cache", "same-origin"),
    };
    headers.push((CACHE_CONTROL, HeaderValue::from_static(cached)));
    headers.push((CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static(policy)));
    if !is_public {
        headers.push((VARY, HeaderValue::from_static("Authorization, Cookie, X-Api-Key")));
    }
    Ok(headers)
}

/// Returns the headers of a file that no cache may keep, because anybody with its address may read it.
pub(super) fn uncached(headers: Vec<(HeaderName, HeaderValue)>) -> Vec<(HeaderName, HeaderValue)> {
    let kept = headers
        .into_iter()
        .filter(|(name, _)| ![CACHE_CONTROL, VARY].contains(name));
    let no_store = (CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    kept.chain([no_store]).collect()
}

/// Returns a value as a header.
///
/// # Errors
/// When it has characters that headers can't have.
pub(super) fn header(text: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(text).map_err(|_| backoffice_core::Error::internal("a header has invalid characters"))
}

/// Returns `Content-Disposition` with the name for old clients and in full (RFC 6266).
fn disposition(name: &str, is_inline: bool) -> String {
    let is_plain = |c: char| (c.is_ascii_graphic() || c == ' ') && !matches!(c, '"' | '\\' | '%' | ';');
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let mut full = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
            full.push(char::from(byte));
        } else {
            full.push_str(&format!("%{byte:02X}"));
        }
    }
    let kind = if is_inline { "inline" } else { "attachment" };
    format!("{kind}; filename=\"{plain}\"; filename*=UTF-8''{full}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn att_16_names_are_sent_plain_and_in_full() {
        let expected = "attachment; filename=\"zdj_cie _1_.png\"; filename*=UTF-8''zdj%C4%99cie%20%221%22.png";
        assert_eq!(disposition("zdjęcie \"1\".png", false), expected);
        assert!(disposition("a\r\nX: 1\\.png", true).starts_with("inline; filename=\"a__X: 1_.png\"; "));
    }
}
