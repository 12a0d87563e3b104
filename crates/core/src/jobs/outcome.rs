//! Outcomes of claimed jobs. Every statement checks the lease: a worker that lost it changes nothing.

use diesel::sql_types::{Array, Integer, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use time::Duration;

use super::DeadJob;
use super::claim::Claimed;
use crate::backoff::spread;
use crate::context::Call;
use crate::db::Prepared;
use crate::error::{Error, Result};
use crate::platform::{Platform, Runtime};
use crate::scope::Scope;
use crate::time::Timestamp;

const LONGEST_WAIT: Duration = Duration::minutes(10);

/// Extends the lease; false when it was lost.
pub(super) async fn extend(runtime: &Runtime, job: &Claimed, now: Timestamp) -> Result<bool> {
    let mut connection = runtime.database.queue().await?;
    let statement = sql_query(
        "update core_jobs set lease_until = $4, updated_at = $5 \
         where tenant_id = $1 and id = $2 and lease_owner = $3 and state = 'running'",
    )
    .bind::<SqlUuid, _>(job.tenant_id)
    .bind::<SqlUuid, _>(job.id)
    .bind::<SqlUuid, _>(job.lease_owner)
    .bind::<Timestamptz, _>(now.after(runtime.platform.jobs().lease()))
    .bind::<Timestamptz, _>(now);
    let extended = Prepared(statement).execute(&mut *connection).await?;
    Ok(extended == 1)
}

/// Marks the job as done.
pub(super) async fn finish(
    connection: &mut AsyncPgConnection,
    platform: &Platform,
    job: &Claimed,
    now: Timestamp,
) -> Result<()> {
    let statement = sql_query(
        "update core_jobs set state = 'done', finished_at = $4, updated_at = $4, lease_owner = null, lease_until = null, last_error = null, \
             payload = case when kind = any($5) then '{}' else payload end \
         where tenant_id = $1 and id = $2 and lease_owner = $3 and state = 'running'",
    )
    .bind::<SqlUuid, _>(job.tenant_id)
    .bind::<SqlUuid, _>(job.id)
    .bind::<SqlUuid, _>(job.lease_owner)
    .bind::<Timestamptz, _>(now)
    .bind::<Array<Text>, _>(platform.job_kinds().without_payload());
    Prepared(statement).execute(connection).await?;
    Ok(())
}

/// Releases the job: it returns to its queue position, and this attempt does not count. Used when another tenant waits, or this worker ends.
pub(super) async fn release(runtime: &Runtime, job: &Claimed, now: Timestamp) -> Result<()> {
    let mut connection = runtime.database.queue().await?;
    let statement = sql_query(
        "update core_jobs set state = 'queued', updated_at = $4, attempt = greatest(attempt - 1, 0), \
             lease_owner = null, lease_until = null \
         where tenant_id = $1 and id = $2 and lease_owner = $3 and state = 'running'",
    )
    .bind::<SqlUuid, _>(job.tenant_id)
    .bind::<SqlUuid, _>(job.id)
    .bind::<SqlUuid, _>(job.lease_owner)
    .bind::<Timestamptz, _>(now);
    Prepared(statement).execute(&mut *connection).await?;
    Ok(())
}

#[derive(QueryableByName)]
struct Ended {
    #[diesel(sql_type = Text)]
    state: String,
    #[diesel(sql_type = Integer)]
    attempt: i32,
}

/// Records a failed attempt: it is repeated later, or the job becomes dead.
pub(super) async fn fail(runtime: &Runtime, job: &Claimed, error: &Error, now: Timestamp) -> Result<()> {
    let [random] = runtime.platform.ids().random::<1>();
    let mut transaction = runtime.database.transaction(&Scope::tenant(job.tenant_id)).await?;
    // The attempt is read from the row: it is reset whenever the cursor moves, so a failure after that counts as the first attempt.
    let ended: Option<Ended> = sql_query(
        "update core_jobs set \
             state = case when greatest(attempt, 1) >= max_attempts then 'dead' else 'queued' end, \
             attempt = greatest(attempt, 1), \
             finished_at = case when greatest(attempt, 1) >= max_attempts then $4 end, \
             run_at = $4 + least(interval '2 seconds' * power(2, least(greatest(attempt, 1) - 1, 20)), make_interval(secs => $6)) \
                 * ($7 / 1000.0), \
             last_error = left($5, 2000), updated_at = $4, lease_owner = null, lease_until = null \
         where tenant_id = $1 and id = $2 and lease_owner = $3 and state = 'running' returning state, attempt",
    )
    .bind::<SqlUuid, _>(job.tenant_id)
    .bind::<SqlUuid, _>(job.id)
    .bind::<SqlUuid, _>(job.lease_owner)
    .bind::<Timestamptz, _>(now)
    .bind::<Text, _>(error.to_string())
    .bind::<Integer, _>(i32::try_from(LONGEST_WAIT.whole_seconds()).unwrap_or(600))
    .bind::<Integer, _>(spread(random))
    .get_result(&mut **transaction.connection())
    .await
    .optional()?;
    let Some(ended) = ended else { return Ok(()) };
    if ended.state == "dead"
        && let Some(kind) = runtime.platform.job_kinds().find(&job.kind)
    {
        let dead = DeadJob {
            tenant: job.tenant_id,
            id: job.id,
            progress_job: job.progress_job_id,
            is_cancelled: false,
        };
        (kind.on_dead)(transaction.connection(), &Call::internal(runtime), &dead).await?;
    }
    transaction.commit().await?;
    tracing::warn!(job.id = %job.id, job.kind = %job.kind, job.attempt = ended.attempt, job.attempts = job.max_attempts, %error,
        "job attempt failed");
    Ok(())
}
