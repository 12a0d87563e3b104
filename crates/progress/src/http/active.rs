//! Unfinished and recently finished jobs.

use backoffice_core::http::{Json, Query};
use backoffice_core::{RequestContext, Result};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::job_item::JobItem;
use crate::model::ProgressJob;
use crate::query;

/// Filter of the jobs.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ActiveQuery {
    /// Only the caller's own jobs. Default false.
    mine: Option<bool>,
}

/// Unfinished and recently finished jobs.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ActiveJobs {
    /// Unfinished jobs, the newest first, at most 50.
    active: Vec<JobItem>,
    /// Jobs that finished within the last 30 seconds, the latest first, at most 10.
    recently_completed: Vec<JobItem>,
}

pub(super) async fn list_active_jobs(ctx: RequestContext, query: Query<ActiveQuery>) -> Result<Json<ActiveJobs>> {
    let connection = ctx.read().await?;
    let (active, recent) = query::jobs::under_way(&connection, &ctx, query.0.mine.unwrap_or(false)).await?;
    let items = |rows: Vec<ProgressJob>| -> Result<Vec<JobItem>> { rows.into_iter().map(JobItem::new).collect() };
    Ok(Json(ActiveJobs {
        active: items(active)?,
        recently_completed: items(recent)?,
    }))
}
