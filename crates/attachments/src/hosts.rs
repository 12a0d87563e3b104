//! The records that files are attached to.

use backoffice_core::records::FoundRecord;
use backoffice_core::{RequestContext, Result};
use diesel_async::AsyncPgConnection;
use uuid::Uuid;

use crate::model::{ATTACHMENT, DEFAULT_PRIVATE, DEFAULT_PUBLIC, PARTITION};

/// The kind of a file without a record.
pub(crate) const LIBRARY: &str = "attachments.library";

/// The kinds on which the list of the files of a record depends: the files are shown as long as the record is. Kinds of modules that are not enabled
/// never change.
pub(crate) const SHOWN: &[&str] = &[
    ATTACHMENT,
    PARTITION,
    "catalog.product",
    "customers.company",
    "customers.deal",
    "customers.person",
];

/// Returns the code of the partition for files of this kind of records.
pub(crate) fn default_partition(kind: &str) -> &'static str {
    match kind {
        "catalog.product" => DEFAULT_PUBLIC,
        _ => DEFAULT_PRIVATE,
    }
}

/// Returns the request limited to the organizations in which the caller may see records of this kind.
///
/// # Errors
/// 403 that names the features of the kind.
pub(crate) fn viewer(ctx: &RequestContext, kind: &str) -> Result<RequestContext> {
    match ctx.platform().record_kind(kind) {
        Some(offered) => ctx.for_features(offered.view),
        None => Ok(ctx.clone()),
    }
}

/// Returns the request limited to the organizations in which the caller may change records of this kind.
///
/// # Errors
/// 403 that names the features of the kind.
pub(crate) fn manager(ctx: &RequestContext, kind: &str) -> Result<RequestContext> {
    match ctx.platform().record_kind(kind) {
        Some(offered) => ctx.for_features(offered.manage),
        None => Ok(ctx.clone()),
    }
}

/// Returns a visible record; `None` if it does not exist or is not visible, which look alike.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn find(
    ctx: &RequestContext,
    connection: &AsyncPgConnection,
    kind: &str,
    record: &str,
) -> Result<Option<FoundRecord>> {
    let (Some(offered), Ok(id)) = (ctx.platform().record_kind(kind), record.parse::<Uuid>()) else {
        return Ok(None);
    };
    let found = (offered.find)(connection, ctx.scope(), &[id]).await?;
    Ok(found.into_iter().next())
}

/// Returns whether files of a record may be shown: its kind is not offered by any module, or it is visible.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn shows(
    ctx: &RequestContext,
    connection: &AsyncPgConnection,
    kind: &str,
    record: &str,
) -> Result<bool> {
    if ctx.platform().record_kind(kind).is_none() {
        return Ok(true);
    }
    // The tag of the response counts the files before the record is looked up.
    ctx.read_version_first(connection).await?;
    Ok(find(ctx, connection, kind, record).await?.is_some())
}
