//! A job on the wire.

use backoffice_core::http::wire_tenant;
use backoffice_core::identity::ActorKind;
use backoffice_core::{Result, Timestamp};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::words::{JobActorKind, JobStatus};
use crate::model::{ProgressJob, Status};

/// A job.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct JobItem {
    id: Uuid,
    /// Id of the bulk command. Modules define the commands: the set is open.
    job_type: String,
    name: String,
    description: Option<String>,
    /// `pending`, `running`, `completed`, `completed_with_errors`, `failed` or `cancelled`.
    #[schema(value_type = JobStatus)]
    status: String,
    /// 0 to 100.
    progress_percent: i32,
    total_count: i32,
    processed_count: i32,
    succeeded_count: i32,
    skipped_count: i32,
    failed_count: i32,
    /// Estimated seconds from `heartbeatAt` until the job ends; null if unknown.
    eta_seconds: Option<i64>,
    cancellable: bool,
    cancel_requested_at: Option<Timestamp>,
    /// Kind of the requester: `user`, `api_key` or `system`.
    #[schema(value_type = JobActorKind)]
    actor_kind: String,
    /// Id of the user or key; null for the system.
    actor_id: Option<Uuid>,
    /// Null if the requester is not a user.
    actor_user_id: Option<Uuid>,
    /// Name of the user or key at the time of the request.
    actor_user_name: Option<String>,
    tenant_id: Option<Uuid>,
    organization_id: Option<Uuid>,
    started_at: Option<Timestamp>,
    heartbeat_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    /// The error that ended the job.
    error_message: Option<String>,
    /// Additional data of the operation.
    #[schema(value_type = Option<Object>)]
    meta: Option<Value>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl JobItem {
    /// Creates the item. It depends on the row alone, as the entity tag does.
    pub(super) fn new(row: ProgressJob) -> Result<Self> {
        let status = row.status()?;
        Ok(Self {
            progress_percent: percent(&row, status),
            eta_seconds: eta(&row, status),
            id: row.id,
            job_type: row.job_type,
            name: row.name,
            description: row.description,
            status: row.status,
            total_count: row.total_count,
            processed_count: row.processed_count,
            succeeded_count: row.succeeded_count,
            skipped_count: row.skipped_count,
            failed_count: row.failed_count,
            cancellable: row.cancellable,
            cancel_requested_at: row.cancel_requested_at,
            actor_user_id: row.actor_id.filter(|_| row.actor_kind == ActorKind::User.as_str()),
            actor_kind: row.actor_kind,
            actor_id: row.actor_id,
            actor_user_name: row.actor_name,
            tenant_id: wire_tenant(row.tenant_id),
            organization_id: row.organization_id,
            started_at: row.started_at,
            heartbeat_at: row.heartbeat_at,
            finished_at: row.finished_at,
            error_message: row.error_message,
            meta: row.meta,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

fn percent(row: &ProgressJob, status: Status) -> i32 {
    match row.total_count {
        0 if status.is_final() => 100,
        0 => 0,
        total => i32::try_from(i64::from(row.processed_count) * 100 / i64::from(total)).unwrap_or(100),
    }
}

/// Estimates the seconds that remain after the last step from the pace of the processed items.
fn eta(row: &ProgressJob, status: Status) -> Option<i64> {
    let started = row.started_at.filter(|_| status == Status::Running)?;
    let latest = row.heartbeat_at?;
    let done = Some(i64::from(row.processed_count)).filter(|done| *done > 0)?;
    let left = i64::from(row.total_count) - done;
    let millis = (latest.unix_millis() - started.unix_millis()).max(0);
    let pace = done * 1000;
    Some((millis * left + pace - 1) / pace)
}
