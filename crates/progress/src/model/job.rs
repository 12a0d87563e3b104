//! Progress jobs.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::KeyColumn;
use backoffice_core::identity::Identity;
use backoffice_core::{Error, Feature, Result, Timestamp};
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::Status;
use crate::schema::progress_jobs as jobs;
use crate::{acl, query};

/// The entity kind of jobs in the log.
pub const KIND: &str = "progress.job";

/// A job: a row of `progress_jobs` without the columns that only the worker needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = jobs, treat_none_as_default_value = false, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct ProgressJob {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization that was selected in the request.
    pub organization_id: Option<Uuid>,
    /// Id of the bulk command.
    pub job_type: String,
    /// Human-readable name.
    pub name: String,
    /// Human-readable description.
    pub description: Option<String>,
    /// The status, see [`Status`].
    pub status: String,
    /// Number of items.
    pub total_count: i32,
    /// Number of processed items.
    pub processed_count: i32,
    /// Number of changed items.
    pub succeeded_count: i32,
    /// Number of items that needed no change.
    pub skipped_count: i32,
    /// Number of failed items.
    pub failed_count: i32,
    /// Whether the job can be cancelled.
    pub cancellable: bool,
    /// Time of the cancel request.
    pub cancel_requested_at: Option<Timestamp>,
    /// The user who cancelled the job.
    pub cancelled_by: Option<Uuid>,
    /// Kind of the requester: `user`, `api_key` or `system`.
    pub actor_kind: String,
    /// Id of the requester.
    pub actor_id: Option<Uuid>,
    /// Name of the requester at the time of the request.
    pub actor_name: Option<String>,
    /// Time at which a worker first started the job.
    pub started_at: Option<Timestamp>,
    /// Time at which a worker last processed the job.
    pub heartbeat_at: Option<Timestamp>,
    /// Time at which the job ended.
    pub finished_at: Option<Timestamp>,
    /// The error that ended the job.
    pub error_message: Option<String>,
    /// Additional data of the operation.
    pub meta: Option<Value>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl ProgressJob {
    /// Returns whether this principal requested the job.
    #[must_use]
    pub fn is_of(&self, identity: &Identity) -> bool {
        self.actor_kind == identity.kind.as_str() && self.actor_id == identity.id
    }

    /// Returns the status.
    ///
    /// # Errors
    /// When the stored value is not a known status.
    pub fn status(&self) -> Result<Status> {
        Status::parse(&self.status).ok_or_else(|| Error::internal(format!("unknown job status {}", self.status)))
    }
}

impl Entity for ProgressJob {
    const KIND: &'static str = KIND;
    const VOLATILE: &'static [&'static str] = &[
        "processedCount",
        "succeededCount",
        "skippedCount",
        "failedCount",
        "startedAt",
        "heartbeatAt",
        "finishedAt",
        "errorMessage",
        "updatedAt",
    ];
    const NOT_FOUND: &'static str = "Not found";
    const VIEW: Option<Feature> = Some(acl::VIEW_TENANT);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let context = locker.context();
        Ok(query::jobs::in_scope(context)
            .filter(jobs::id.one_of(ids))
            .order(jobs::id)
            .select((jobs::id, jobs::tenant_id))
            .for_update()
            .load(&mut locker.connection())
            .await?)
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let tenant = tx.tenant();
        let rows: Vec<Self> = jobs::table
            .filter(jobs::tenant_id.eq(tenant))
            .filter(jobs::id.one_of(ids))
            .select(Self::as_select())
            .load(tx.conn())
            .await?;
        rows.iter().map(|row| Ok((row.id, Snapshot::of(row)?))).collect()
    }

    /// Always fails: no command on jobs can be undone, so that no snapshot is ever restored.
    async fn store(_tx: &mut Tx<'_>, _snapshots: &[Snapshot]) -> Result<Vec<String>> {
        Err(Error::internal("progress jobs can't be restored"))
    }

    /// Always fails: no command deletes jobs; the retention does.
    async fn remove(_tx: &mut Tx<'_>, _ids: &[Uuid]) -> Result<()> {
        Err(Error::internal("progress jobs can't be deleted by a command"))
    }

    fn audience(snapshot: &Snapshot) -> Option<Uuid> {
        snapshot.get("actorId")?.as_str()?.parse().ok()
    }
}
