//! Cancellation of a job.

use backoffice_core::http::{Json, Path};
use backoffice_core::{RequestContext, Result};
use serde::Serialize;
use utoipa::ToSchema;

use super::job_id::JobId;
use super::words::JobStatus;
use crate::commands::CancelJob;

/// The status of the job after the request.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(super) struct Cancelled {
    /// Always true.
    ok: bool,
    /// `cancelled`, or `running` until the worker has finished its chunk.
    #[schema(value_type = JobStatus)]
    status: &'static str,
}

pub(super) async fn cancel_job(ctx: RequestContext, path: Path<JobId>) -> Result<Json<Cancelled>> {
    let response = |status: crate::model::Status| {
        Json(Cancelled {
            ok: true,
            status: status.as_str(),
        })
    };
    ctx.execute(&CancelJob { id: path.0.get()? }, response).await
}
