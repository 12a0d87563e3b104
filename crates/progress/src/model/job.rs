//! Progress jobs.

use backoffice_core::command::{Depth, Entity, Field, LockedRow, Snapshot, Snapshots};
use backoffice_core::db::Tx;
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

/// The kind of jobs in the log.
pub const KIND: &str = "progress.job";

/// A row of `progress_jobs` without what only the worker needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = jobs, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct JobRow {
    /// Its tenant.
    pub tenant_id: Uuid,
    /// Its id.
    pub id: Uuid,
    /// The organization that was selected at the request.
    pub organization_id: Option<Uuid>,
    /// Id of the bulk command.
    pub job_type: String,
    /// What people read.
    pub name: String,
    /// More of it.
    pub description: Option<String>,
    /// See [`Status`].
    pub status: String,
    /// Items.
    pub total_count: i32,
    /// Items that are done with.
    pub processed_count: i32,
    /// Items that were changed.
    pub succeeded_count: i32,
    /// Items where nothing was to change.
    pub skipped_count: i32,
    /// Items that could not be changed.
    pub failed_count: i32,
    /// Whether it can be stopped.
    pub cancellable: bool,
    /// When somebody asked to stop it.
    pub cancel_requested_at: Option<Timestamp>,
    /// Who did.
    pub cancelled_by: Option<Uuid>,
    /// What asked for it: `user`, `api_key` or `system`.
    pub actor_kind: String,
    /// Who did.
    pub actor_id: Option<Uuid>,
    /// Its name at that time.
    pub actor_name: Option<String>,
    /// When a worker first took it up.
    pub started_at: Option<Timestamp>,
    /// When a worker last worked on it.
    pub heartbeat_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Why it was given up.
    pub error_message: Option<String>,
    /// What the operation adds.
    pub meta: Option<Value>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl JobRow {
    /// Whether this principal asked for it.
    #[must_use]
    pub fn is_of(&self, identity: &Identity) -> bool {
        self.actor_kind == identity.kind.as_str() && self.actor_id == identity.id
    }

    /// Where it stands.
    ///
    /// # Errors
    /// When the stored word is none of ours.
    pub fn status(&self) -> Result<Status> {
        Status::parse(&self.status).ok_or_else(|| Error::internal(format!("no job is {}", self.status)))
    }
}

/// Entity kind `progress.job`.
#[derive(Debug)]
pub enum ProgressJob {}

impl Entity for ProgressJob {
    const KIND: &'static str = KIND;
    const FIELDS: &'static [Field] = &[
        Field::tracked("id"),
        Field::tracked("tenantId"),
        Field::tracked("organizationId"),
        Field::tracked("jobType"),
        Field::tracked("name"),
        Field::tracked("description"),
        Field::tracked("status"),
        Field::tracked("totalCount"),
        Field::volatile("processedCount"),
        Field::volatile("succeededCount"),
        Field::volatile("skippedCount"),
        Field::volatile("failedCount"),
        Field::tracked("cancellable"),
        Field::tracked("cancelRequestedAt"),
        Field::tracked("cancelledBy"),
        Field::tracked("actorKind"),
        Field::tracked("actorId"),
        Field::tracked("actorName"),
        Field::volatile("startedAt"),
        Field::volatile("heartbeatAt"),
        Field::volatile("finishedAt"),
        Field::volatile("errorMessage"),
        Field::tracked("meta"),
        Field::tracked("createdAt"),
        Field::volatile("updatedAt"),
    ];
    const NOT_FOUND: &'static str = "Not found";
    const VIEW: Option<Feature> = Some(acl::VIEW_TENANT);

    async fn lock(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let context = tx.context();
        let rows: Vec<(Uuid, Uuid)> = query::jobs::in_scope(context)
            .filter(jobs::id.eq_any(ids))
            .order(jobs::id)
            .select((jobs::id, jobs::tenant_id))
            .for_update()
            .load(tx.conn())
            .await?;
        Ok(rows.into_iter().map(|(id, tenant)| LockedRow { id, tenant }).collect())
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let tenant = tx.tenant();
        let rows: Vec<JobRow> = jobs::table
            .filter(jobs::tenant_id.eq(tenant))
            .filter(jobs::id.eq_any(ids))
            .select(JobRow::as_select())
            .load(tx.conn())
            .await?;
        rows.iter().map(|row| Ok((row.id, Snapshot::of(row)?))).collect()
    }

    /// No command on jobs can be undone, so no image of one is ever restored.
    async fn store(_tx: &mut Tx<'_>, _snapshots: &[Snapshot]) -> Result<Vec<String>> {
        Err(Error::internal("a job does not come back"))
    }

    /// No command removes one; they go when they are old.
    async fn remove(_tx: &mut Tx<'_>, _ids: &[Uuid]) -> Result<()> {
        Err(Error::internal("a job is not removed by a command"))
    }

    fn audience(snapshot: &Snapshot) -> Option<Uuid> {
        snapshot.get("actorId")?.as_str()?.parse().ok()
    }
}
