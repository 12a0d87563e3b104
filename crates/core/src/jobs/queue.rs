//! The queue for operators: jobs of all tenants, under the scope that sees the job tables and nothing else.

use diesel::sql_types::{Array, BigInt, Bool, Double, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde::Serialize;
use uuid::Uuid;

use super::DeadJob;
use crate::context::Call;
use crate::error::{Error, Rejection, Result};
use crate::scope::Scope;
use crate::time::Timestamp;

/// The index that prevents a second open job with the same dedupe key.
const ONE_OPEN: &str = "core_jobs_tenant_id_kind_dedupe_key_key";

/// A job in the queue, without its payload.
#[derive(Debug, Clone, Serialize, QueryableByName)]
#[serde(rename_all = "camelCase")]
pub struct QueuedJob {
    /// The tenant.
    #[diesel(sql_type = SqlUuid)]
    pub tenant_id: Uuid,
    /// The id.
    #[diesel(sql_type = SqlUuid)]
    pub id: Uuid,
    /// Kind of the job.
    #[diesel(sql_type = Text)]
    pub kind: String,
    /// `queued`, `running`, `done`, `dead` or `cancelled`.
    #[diesel(sql_type = Text)]
    pub state: String,
    /// Number of attempts since the cursor last moved.
    #[diesel(sql_type = Integer)]
    pub attempt: i32,
    /// Position that the committed steps reached.
    #[diesel(sql_type = BigInt)]
    pub cursor: i64,
    /// Earliest start.
    #[diesel(sql_type = Timestamptz)]
    pub run_at: Timestamp,
    /// The progress job, if any.
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub progress_job_id: Option<Uuid>,
    /// Error of the last failed attempt.
    #[diesel(sql_type = Nullable<Text>)]
    pub last_error: Option<String>,
    /// Time of creation.
    #[diesel(sql_type = Timestamptz)]
    pub created_at: Timestamp,
}

/// Returns the open and dead jobs of all tenants, or all stored jobs, the oldest first; at most 1000.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(call: &Call, finished_too: bool) -> Result<Vec<QueuedJob>> {
    let mut connection = call.database().queue().await?;
    Ok(sql_query(
        "select tenant_id, id, kind, state, attempt, cursor, run_at, progress_job_id, last_error, created_at from core_jobs \
         where $1 or state in ('queued', 'running', 'dead') order by created_at, id limit 1000",
    )
    .bind::<Bool, _>(finished_too)
    .load(&mut *connection)
    .await?)
}

/// Requeues a dead or cancelled job: it continues at its cursor, with all attempts available.
///
/// # Errors
/// 404 when there is no such job; 409 when it has another state, when a job with its dedupe key is open, or when it has a progress job, which
/// has ended for good: its requester retries that one.
pub async fn retry(call: &Call, id: Uuid) -> Result<()> {
    if let Some(progress_job) = get(call, id).await?.progress_job_id {
        let rule = "this job has a progress job; retry that one with POST /progress/jobs";
        return Err(Rejection::conflict(format!("{rule}/{progress_job}/retry")).into());
    }
    let mut connection = call.database().queue().await?;
    let queued = sql_query(
        "update core_jobs set state = 'queued', run_at = $2, attempt = 0, finished_at = null, updated_at = $2 \
         where id = $1 and state in ('dead', 'cancelled')",
    )
    .bind::<SqlUuid, _>(id)
    .bind::<Timestamptz, _>(call.now)
    .execute(&mut *connection)
    .await;
    match queued.map_err(Error::from) {
        Ok(0) => Err(rejected(call, id, "only dead and cancelled jobs can be retried").await),
        Ok(_) => {
            call.platform().notifier().notify();
            Ok(())
        }
        Err(error) if error.violated_constraint() == Some(ONE_OPEN) => {
            Err(Rejection::conflict("another job that does the same is open already").into())
        }
        Err(error) => Err(error),
    }
}

#[derive(QueryableByName)]
struct Stopped {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    progress_job_id: Option<Uuid>,
    #[diesel(sql_type = Text)]
    kind: String,
}

/// Cancels a job. A running job loses its lease: its current chunk ends without effect.
///
/// # Errors
/// 404 when there is no such job, 409 when it has ended.
pub async fn cancel(call: &Call, id: Uuid) -> Result<()> {
    let found = get(call, id).await?;
    let mut transaction = call.database().transaction(&Scope::tenant(found.tenant_id)).await?;
    let stopped: Option<Stopped> = sql_query(
        "update core_jobs set state = 'cancelled', finished_at = $2, updated_at = $2, lease_owner = null, lease_until = null \
         where id = $1 and state in ('queued', 'running') returning tenant_id, progress_job_id, kind",
    )
    .bind::<SqlUuid, _>(id)
    .bind::<Timestamptz, _>(call.now)
    .get_result(&mut **transaction.connection())
    .await
    .optional()?;
    let Some(stopped) = stopped else {
        return Err(rejected(call, id, "the job has ended already").await);
    };
    if let Some(kind) = call.platform().job_kinds().find(&stopped.kind) {
        let job = DeadJob {
            tenant: stopped.tenant_id,
            id,
            progress_job: stopped.progress_job_id,
            is_cancelled: true,
        };
        (kind.on_dead)(transaction.connection(), call, &job).await?;
    }
    transaction.commit().await
}

async fn get(call: &Call, id: Uuid) -> Result<QueuedJob> {
    find(call, id).await?.ok_or_else(not_found)
}

async fn find(call: &Call, id: Uuid) -> Result<Option<QueuedJob>> {
    let mut connection = call.database().queue().await?;
    Ok(sql_query(
        "select tenant_id, id, kind, state, attempt, cursor, run_at, progress_job_id, last_error, created_at from core_jobs \
         where id = $1",
    )
    .bind::<SqlUuid, _>(id)
    .get_result(&mut *connection)
    .await
    .optional()?)
}

async fn rejected(call: &Call, id: Uuid, rule: &'static str) -> Error {
    match find(call, id).await {
        Ok(Some(job)) => Rejection::conflict(format!("{rule}; this one is {}", job.state)).into(),
        Ok(None) => not_found(),
        Err(error) => error,
    }
}

fn not_found() -> Error {
    Rejection::not_found("no such job").into()
}

/// The size of the queue, on all nodes together.
#[derive(Debug, Clone, Copy, Default, PartialEq, QueryableByName)]
pub struct Depth {
    /// Jobs that could run now.
    #[diesel(sql_type = BigInt)]
    pub due: i64,
    /// Jobs scheduled for later.
    #[diesel(sql_type = BigInt)]
    pub later: i64,
    /// Jobs that a worker has claimed.
    #[diesel(sql_type = BigInt)]
    pub running: i64,
    /// Dead jobs.
    #[diesel(sql_type = BigInt)]
    pub dead: i64,
    /// Waiting time of the oldest job that could run now, in seconds.
    #[diesel(sql_type = Double)]
    pub oldest_seconds: f64,
}

/// Measures the queue, with one statement. It reads the open and the dead jobs, each by a partial index, and none of the other finished ones. Open jobs of
/// modules that are not enabled do not count: they wait until their module is enabled again.
///
/// # Errors
/// When the database can't be reached.
pub async fn depth(call: &Call) -> Result<Depth> {
    let mut connection = call.database().queue().await?;
    Ok(sql_query(
        "select count(*) filter (where state = 'queued' and run_at <= $1) as due,
            count(*) filter (where state = 'queued' and run_at > $1) as later,
            count(*) filter (where state = 'running') as running,
            (select count(*) from core_jobs where state = 'dead') as dead,
            coalesce(extract(epoch from $1 - min(run_at) filter (where state = 'queued' and run_at <= $1)), 0)::float8 as oldest_seconds
         from core_jobs where state in ('queued', 'running') and kind = any($2)",
    )
    .bind::<Timestamptz, _>(call.now)
    .bind::<Array<Text>, _>(call.platform().job_kinds().all_names())
    .get_result(&mut *connection)
    .await?)
}
