//! One job.

use backoffice_core::http::{Json, Path};
use backoffice_core::{RequestContext, Result};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::job_id::JobId;
use super::job_item::JobItem;
use crate::query::items::ItemRow;
use crate::{Error, query};

/// A job with its result.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobDetail {
    #[serde(flatten)]
    job: JobItem,
    result_summary: ResultSummary,
}

/// The result of a job so far.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ResultSummary {
    /// Items that were changed.
    affected_count: i32,
    /// Items that needed no change.
    skipped_count: i32,
    /// Items that could not be changed.
    failed_count: i32,
    /// The first 100 failed items, by position.
    failed_items: Vec<FailedItem>,
}

/// An item that could not be changed.
#[derive(Debug, Serialize, ToSchema)]
struct FailedItem {
    /// The resource.
    id: Uuid,
    /// HTTP status of the error.
    status: i16,
    code: String,
    message: String,
}

impl From<ItemRow> for FailedItem {
    fn from(row: ItemRow) -> Self {
        Self {
            id: row.resource_id,
            status: row.error_status.unwrap_or_default(),
            code: row.error_code.unwrap_or_default(),
            message: row.error_message.unwrap_or_default(),
        }
    }
}

pub(super) async fn get_job(ctx: RequestContext, path: Path<JobId>) -> Result<Json<JobDetail>> {
    let id = path.0.get()?;
    let connection = ctx.read().await?;
    let row = query::jobs::find(&connection, &ctx, id).await?.ok_or(Error::NotFound)?;
    let failed = query::items::first_failed(&connection, &row).await?;
    let result_summary = ResultSummary {
        affected_count: row.succeeded_count,
        skipped_count: row.skipped_count,
        failed_count: row.failed_count,
        failed_items: failed.into_iter().map(FailedItem::from).collect(),
    };
    Ok(Json(JobDetail {
        job: JobItem::new(row)?,
        result_summary,
    }))
}
