//! Outcomes of claimed jobs. Every statement checks the lease: a worker that lost it changes nothing.

use diesel::sql_types::{Array, Bool, Integer, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};

use super::claim::Claimed;
use super::{DeadJob, doubled};
use crate::backoff::spread;
use crate::context::Call;
use crate::db::{Prepared, Recurring};
use crate::error::{Error, Result};
use crate::platform::{Platform, Runtime};
use crate::scope::Scope;
use crate::time::Timestamp;

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
struct Attempts {
    #[diesel(sql_type = Integer)]
    attempt: i32,
    #[diesel(sql_type = Integer)]
    max_attempts: i32,
}

/// Records a failed attempt: it is repeated later, or the job becomes dead.
pub(super) async fn fail(runtime: &Runtime, job: &Claimed, error: &Error, now: Timestamp) -> Result<()> {
    let [random] = runtime.platform.ids().random::<1>();
    let mut transaction = runtime.database.transaction(&Scope::tenant(job.tenant_id)).await?;
    // The attempt is read from the row: it is reset whenever the cursor moves, so a failure after that counts as the first attempt.
    let attempts: Option<Attempts> = sql_query(
        "select greatest(attempt, 1) as attempt, max_attempts from core_jobs \
         where tenant_id = $1 and id = $2 and lease_owner = $3 and state = 'running' for update",
    )
    .bind::<SqlUuid, _>(job.tenant_id)
    .bind::<SqlUuid, _>(job.id)
    .bind::<SqlUuid, _>(job.lease_owner)
    .prepared()
    .get_result(&mut **transaction.connection())
    .await
    .optional()?;
    let Some(Attempts { attempt, max_attempts }) = attempts else {
        return Ok(());
    };
    let kind = runtime.platform.job_kinds().find(&job.kind);
    let is_dead = attempt >= max_attempts;
    let wait = kind.map_or_else(|| doubled(attempt), |kind| (kind.backoff)(attempt, error));
    sql_query(
        "update core_jobs set state = case when $4 then 'dead' else 'queued' end, finished_at = case when $4 then $5 end, attempt = $6, \
             run_at = $7, last_error = left($8, 2000), updated_at = $5, lease_owner = null, lease_until = null \
         where tenant_id = $1 and id = $2 and lease_owner = $3",
    )
    .bind::<SqlUuid, _>(job.tenant_id)
    .bind::<SqlUuid, _>(job.id)
    .bind::<SqlUuid, _>(job.lease_owner)
    .bind::<Bool, _>(is_dead)
    .bind::<Timestamptz, _>(now)
    .bind::<Integer, _>(attempt)
    .bind::<Timestamptz, _>(now.after(wait * spread(random) / 1000))
    .bind::<Text, _>(error.to_string())
    .prepared()
    .execute(&mut **transaction.connection())
    .await?;
    if is_dead && let Some(kind) = kind {
        let dead = DeadJob {
            tenant: job.tenant_id,
            id: job.id,
            progress_job: job.progress_job_id,
            is_cancelled: false,
        };
        let ended = (kind.on_dead)(transaction.connection(), &Call::internal(runtime), &dead).await;
        if let Err(failure) = ended {
            if !failure.is_outage() {
                tracing::warn!(job.id = %job.id, job.kind = %job.kind, error = %failure, "a job whose last attempt failed could not become dead");
            }
            return Err(failure);
        }
    }
    transaction.commit().await?;
    tracing::warn!(job.id = %job.id, job.kind = %job.kind, job.attempt = attempt, job.attempts = max_attempts, %error,
        "job attempt failed");
    Ok(())
}
