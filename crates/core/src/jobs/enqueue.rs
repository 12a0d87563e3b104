//! Enqueues jobs in the caller's transaction.

use diesel::sql_types::{Bool, Integer, Jsonb, Nullable, SmallInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde_json::{Value, json};
use uuid::Uuid;

use super::Job;
use super::requester::Selection;
use crate::command::Tx;
use crate::context::{Call, RequestContext};
use crate::db::Prepared;
use crate::error::{Error, Result};
use crate::identity::ActorKind;
use crate::time::Timestamp;

/// Maximum number of attempts to insert a job, or to find the open job with its key.
const TRIES: usize = 5;

/// A job to enqueue.
#[derive(Debug, Clone)]
pub struct NewJob<J> {
    /// The tenant of the job; the nil UUID for jobs of the platform.
    pub tenant: Uuid,
    /// The organization that was selected in the request.
    pub organization: Option<Uuid>,
    /// The payload.
    pub job: J,
    /// The principal in whose name it runs.
    pub actor: (ActorKind, Option<Uuid>),
    /// Tenant and organization that the actor had selected.
    pub selection: Value,
    /// Priority among the jobs of a tenant; lower ones run first. By default that of the kind.
    pub priority: i16,
    /// Earliest start; `None` = at once.
    pub run_at: Option<Timestamp>,
    /// While a job of this kind, tenant and key is open, no second one is created.
    pub dedupe_key: Option<String>,
    /// The progress job, if any.
    pub progress_job: Option<Uuid>,
}

impl<J: Job> NewJob<J> {
    /// Creates a job of the platform itself for a tenant.
    pub fn of_system(tenant: Uuid, job: J) -> Self {
        Self {
            tenant,
            organization: None,
            job,
            actor: (ActorKind::System, None),
            selection: json!({}),
            priority: J::PRIORITY,
            run_at: None,
            dedupe_key: None,
            progress_job: None,
        }
    }

    /// Creates a job for the request's principal: it runs with the rights of the principal at that time, in the present selection.
    ///
    /// # Errors
    /// 400 when a super administrator selected all tenants.
    pub fn of_requester(context: &RequestContext, job: J) -> Result<Self> {
        let (identity, scope) = (context.identity(), context.scope());
        Ok(Self {
            organization: scope.selected,
            actor: (identity.kind, identity.id),
            selection: serde_json::to_value(Selection::of(context)?)?,
            ..Self::of_system(context.tenant()?, job)
        })
    }

    /// Sets the progress job.
    #[must_use]
    pub fn with_progress_job(mut self, progress_job: Uuid) -> Self {
        self.progress_job = Some(progress_job);
        self
    }

    /// Allows at most one open job with this key.
    #[must_use]
    pub fn deduplicated(mut self, key: impl Into<String>) -> Self {
        self.dedupe_key = Some(key.into());
        self
    }
}

#[derive(QueryableByName)]
struct Enqueued {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

/// Enqueues a job, usually with one statement; returns its id, or that of the open job with the same dedupe key. Workers see it when the
/// caller's transaction commits.
///
/// # Errors
/// When the database can't be reached or the connection may not write this tenant's rows.
pub async fn enqueue<J: Job>(connection: &mut AsyncPgConnection, call: &Call, new_job: &NewJob<J>) -> Result<Uuid> {
    let id = insert(connection, call, new_job).await?;
    call.platform().notifier().notify();
    Ok(id)
}

/// Enqueues a job in the transaction of a command; workers are notified once it is committed.
///
/// # Errors
/// As [`enqueue`].
pub async fn enqueue_with<J: Job>(tx: &mut Tx<'_>, new_job: &NewJob<J>) -> Result<Uuid> {
    let call = tx.context().call();
    let notifier = call.platform().notifier().clone();
    let id = insert(tx.conn(), call, new_job).await?;
    tx.after_commit(move || notifier.notify());
    Ok(id)
}

/// Notifies the workers once a command's transaction is committed, for jobs that [`enqueue`] enqueued on its connection.
pub fn notify_after_commit(tx: &mut Tx<'_>) {
    let notifier = tx.context().platform().notifier().clone();
    tx.after_commit(move || notifier.notify());
}

/// Cancels the waiting job of a progress job. `untouched` means that no part of it is done, so that it may also be taken from a worker that has
/// not begun. Returns false when another transaction holds its row. Never waits: a worker locks the job before the progress job.
///
/// # Errors
/// When the database can't be reached.
pub async fn cancel_watched(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    progress_job: Uuid,
    untouched: bool,
    now: Timestamp,
) -> Result<bool> {
    let statement = sql_query(
        "update core_jobs set state = 'cancelled', finished_at = $3, updated_at = $3, lease_owner = null, lease_until = null \
         where tenant_id = $1 and id = (
             select id from core_jobs
             where tenant_id = $1 and progress_job_id = $2 and (state = 'queued' or $4 and state = 'running')
             for update skip locked)",
    )
    .bind::<SqlUuid, _>(tenant)
    .bind::<SqlUuid, _>(progress_job)
    .bind::<Timestamptz, _>(now)
    .bind::<Bool, _>(untouched);
    let cancelled = Prepared(statement).execute(connection).await?;
    Ok(cancelled == 1)
}

/// Inserts the job or finds the open one. An open job with the same key may be committed while the statement waits for it, too late for the
/// statement to see it; the next statement does, unless that job has ended by then.
async fn insert<J: Job>(connection: &mut AsyncPgConnection, call: &Call, new_job: &NewJob<J>) -> Result<Uuid> {
    for _ in 0..TRIES {
        if let Some(id) = insert_or_find(connection, call, new_job).await? {
            return Ok(id);
        }
    }
    Err(Error::Collision("could not find the job with this key".into()))
}

async fn insert_or_find<J: Job>(
    connection: &mut AsyncPgConnection,
    call: &Call,
    new_job: &NewJob<J>,
) -> Result<Option<Uuid>> {
    let ids = call.platform().ids();
    let statement = sql_query(
        "with tenant as (
            insert into core_job_tenants (tenant_id, id, last_claim_at, created_at, updated_at)
            values ($1, $2, to_timestamp(0), $3, $3) on conflict (tenant_id) do nothing
        ), inserted as (
            insert into core_jobs (tenant_id, id, organization_id, kind, payload, actor_kind, actor_id, selection, priority, run_at,
                state, attempt, max_attempts, cursor, dedupe_key, progress_job_id, created_at, updated_at)
            values ($1, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'queued', 0, $13, 0, $14, $15, $3, $3)
            on conflict (tenant_id, kind, dedupe_key) where state in ('queued', 'running') do nothing
            returning id
        )
        select id from inserted
        union all
        select id from core_jobs
        where tenant_id = $1 and kind = $6 and dedupe_key = $14 and state in ('queued', 'running')
        limit 1",
    )
    .bind::<SqlUuid, _>(new_job.tenant)
    .bind::<SqlUuid, _>(ids.at(call.now))
    .bind::<Timestamptz, _>(call.now)
    .bind::<SqlUuid, _>(ids.at(call.now))
    .bind::<Nullable<SqlUuid>, _>(new_job.organization)
    .bind::<Text, _>(J::KIND)
    .bind::<Jsonb, _>(serde_json::to_value(&new_job.job)?)
    .bind::<Text, _>(new_job.actor.0.as_str())
    .bind::<Nullable<SqlUuid>, _>(new_job.actor.1)
    .bind::<Jsonb, _>(&new_job.selection)
    .bind::<SmallInt, _>(new_job.priority)
    .bind::<Timestamptz, _>(new_job.run_at.unwrap_or(call.now))
    .bind::<Integer, _>(J::MAX_ATTEMPTS)
    .bind::<Nullable<Text>, _>(&new_job.dedupe_key)
    .bind::<Nullable<SqlUuid>, _>(new_job.progress_job);
    let enqueued: Option<Enqueued> = Prepared(statement).get_result(connection).await.optional()?;
    Ok(enqueued.map(|job| job.id))
}
