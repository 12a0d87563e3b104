//! The space that the files of a tenant use.

use backoffice_core::http::{Json, Routes, requires};
use backoffice_core::{RequestContext, Result};
use futures_util::future::try_join;
use serde::Serialize;
use utoipa::ToSchema;

use crate::files::Files;
use crate::{acl, query};

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/attachments/usage", requires(&[acl::VIEW]), get_attachment_usage)
        .about("The space that files use");
}

/// The space that files use.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AttachmentUsage)]
struct UsageResponse {
    /// Bytes of all files of the tenant.
    used_bytes: i64,
    /// Bytes that the tenant may use.
    quota_bytes: i64,
    /// Files that the caller may see.
    file_count: i64,
}

async fn get_attachment_usage(ctx: RequestContext) -> Result<Json<UsageResponse>> {
    let tenant = ctx.tenant()?;
    let default = ctx.call().provided::<Files>()?.default_quota();
    let connection = ctx.read().await?;
    let files = async { Ok(query::library::count(&connection, &ctx).await?) };
    let (usage, file_count) = try_join(query::usage::of_tenant(&connection, tenant, default), files).await?;
    Ok(Json(UsageResponse {
        used_bytes: usage.used,
        quota_bytes: usage.quota,
        file_count,
    }))
}
