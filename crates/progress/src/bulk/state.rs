//! The rows of a job, read and written by the worker in the transaction of a chunk.

use backoffice_core::db::{Prepared, Recurring};
use backoffice_core::events::{Event, announce};
use backoffice_core::{Call, Error, Result, Timestamp};
use diesel::sql_types::{Array, Integer, Nullable, SmallInt, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{
    ExpressionMethods, OptionalExtension, QueryDsl, Queryable, Selectable, SelectableHelper, sql_query, update,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::outcome::{Failure, Outcome};
use super::{event_name, shown};
use crate::model::{ItemState, KIND, Status};
use crate::schema::{progress_job_items as items, progress_jobs as jobs};

/// The columns of a job that the worker needs.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = jobs, check_for_backend(diesel::pg::Pg))]
pub(super) struct Progress {
    pub(super) tenant_id: Uuid,
    pub(super) id: Uuid,
    pub(super) organization_id: Option<Uuid>,
    status: String,
    pub(super) total_count: i32,
    pub(super) processed_count: i32,
    pub(super) succeeded_count: i32,
    pub(super) skipped_count: i32,
    pub(super) failed_count: i32,
    pub(super) cancel_requested_at: Option<Timestamp>,
    actor_id: Option<Uuid>,
    pub(super) careful_until: i32,
}

impl Progress {
    pub(super) fn status(&self) -> Result<Status> {
        Status::parse(&self.status).ok_or_else(|| Error::internal(format!("unknown job status {}", self.status)))
    }

    #[cfg(test)]
    pub(super) fn for_test(careful_until: i32) -> Self {
        Self {
            tenant_id: Uuid::nil(),
            id: Uuid::nil(),
            organization_id: None,
            status: Status::Running.as_str().to_owned(),
            total_count: 1000,
            processed_count: 0,
            succeeded_count: 0,
            skipped_count: 0,
            failed_count: 0,
            cancel_requested_at: None,
            actor_id: None,
            careful_until,
        }
    }

    fn add(&mut self, outcome: &Outcome) {
        self.processed_count += 1;
        match outcome {
            Outcome::Succeeded(_) => self.succeeded_count += 1,
            Outcome::Skipped => self.skipped_count += 1,
            Outcome::Failed(_) => self.failed_count += 1,
        }
    }
}

/// An item that is not yet processed.
#[derive(Debug, Clone, Copy, Queryable)]
pub(super) struct Item {
    pub(super) position: i32,
    pub(super) resource_id: Uuid,
}

/// An event of a job. Written last, because it locks the tenant's event stream.
#[derive(Debug)]
pub(super) struct Notice {
    tenant: Uuid,
    organization: Option<Uuid>,
    event: Event,
}

impl Notice {
    fn of(progress: &Progress, name: String, status: Status) -> Self {
        let event = Event::new(name, progress.id)
            .with("status", status.as_str())
            .with("totalCount", progress.total_count)
            .with("processedCount", progress.processed_count)
            .with("succeededCount", progress.succeeded_count)
            .with("skippedCount", progress.skipped_count)
            .with("failedCount", progress.failed_count);
        Self {
            tenant: progress.tenant_id,
            organization: progress.organization_id,
            event: shown(event, progress.actor_id),
        }
    }

    /// Creates the event for changed counts.
    pub(super) fn updated(progress: &Progress) -> Self {
        Self::of(progress, format!("{KIND}.updated"), Status::Running)
    }

    pub(super) async fn announce(&self, connection: &mut AsyncPgConnection, call: &Call) -> Result<()> {
        let events = std::slice::from_ref(&self.event);
        announce(connection, call, self.tenant, self.organization, events).await
    }
}

macro_rules! job {
    ($progress:expr) => {
        jobs::table
            .filter(jobs::tenant_id.eq($progress.tenant_id))
            .filter(jobs::id.eq($progress.id))
    };
}

/// Reads the job without a lock. Except for cancel requests, only the worker that holds the queue's row changes the job.
pub(super) async fn read(connection: &mut AsyncPgConnection, tenant: Uuid, id: Uuid) -> Result<Option<Progress>> {
    Ok(jobs::table
        .filter(jobs::tenant_id.eq(tenant))
        .filter(jobs::id.eq(id))
        .select(Progress::as_select())
        .first(connection)
        .await
        .optional()?)
}

/// Locks the job before the tenant's event stream, in the same order as a cancel request.
pub(super) async fn lock(connection: &mut AsyncPgConnection, tenant: Uuid, id: Uuid) -> Result<()> {
    open(connection, tenant, id).await.map(|_| ())
}

/// Reads and locks the job.
pub(super) async fn open(connection: &mut AsyncPgConnection, tenant: Uuid, id: Uuid) -> Result<Option<Progress>> {
    Ok(jobs::table
        .filter(jobs::tenant_id.eq(tenant))
        .filter(jobs::id.eq(id))
        .select(Progress::as_select())
        .for_update()
        .first(connection)
        .await
        .optional()?)
}

/// Marks the job as running. Returns `None` if it is no longer pending because it was cancelled after it was read.
pub(super) async fn begin(
    connection: &mut AsyncPgConnection,
    progress: &Progress,
    now: Timestamp,
) -> Result<Option<Notice>> {
    let pending = job!(progress).filter(jobs::status.eq(Status::Pending.as_str()));
    let statement = update(pending).set((
        jobs::status.eq(Status::Running.as_str()),
        jobs::started_at.eq(now),
        jobs::heartbeat_at.eq(now),
        jobs::updated_at.eq(now),
    ));
    let begun = Prepared(statement).execute(connection).await?;
    Ok((begun > 0).then(|| Notice::of(progress, event_name(Status::Running), Status::Running)))
}

/// Returns the next pending items from this position on.
pub(super) async fn pending_items(
    connection: &mut AsyncPgConnection,
    progress: &Progress,
    cursor: i64,
    limit: usize,
) -> Result<Vec<Item>> {
    Ok(items::table
        .filter(items::tenant_id.eq(progress.tenant_id))
        .filter(items::job_id.eq(progress.id))
        .filter(items::state.eq(ItemState::Pending.as_str()))
        .filter(items::position.ge(i32::try_from(cursor).unwrap_or(i32::MAX)))
        .order(items::position)
        .limit(i64::try_from(limit).unwrap_or(1))
        .select((items::position, items::resource_id))
        .load(connection)
        .await?)
}

/// Writes the outcomes of these items, which are ordered by position, and the counts: two statements.
pub(super) async fn record(
    connection: &mut AsyncPgConnection,
    progress: &mut Progress,
    done: &[Item],
    outcomes: &[Outcome],
    now: Timestamp,
) -> Result<()> {
    let failure = |outcome: &Outcome| outcome.failure().cloned();
    // The bounds keep a query plan that was prepared for small jobs from scanning all items of a large job.
    let statement = sql_query(
        "update progress_job_items i
         set state = o.state, log_id = o.log_id, error_status = o.status, error_code = o.code, error_message = o.message, updated_at = $3
         from unnest($4, $5, $6, $7, $8, $9) as o (position, state, log_id, status, code, message)
         where i.tenant_id = $1 and i.job_id = $2 and i.position = o.position and i.position between $10 and $11",
    )
    .bind::<SqlUuid, _>(progress.tenant_id)
    .bind::<SqlUuid, _>(progress.id)
    .bind::<Timestamptz, _>(now)
    .bind::<Array<Integer>, _>(done.iter().map(|item| item.position).collect::<Vec<_>>())
    .bind::<Array<Text>, _>(outcomes.iter().map(|one| one.state().as_str()).collect::<Vec<_>>())
    .bind::<Array<Nullable<SqlUuid>>, _>(outcomes.iter().map(Outcome::log_id).collect::<Vec<_>>())
    .bind::<Array<Nullable<SmallInt>>, _>(outcomes.iter().map(|one| failure(one).map(|it| it.status)).collect::<Vec<_>>())
    .bind::<Array<Nullable<Text>>, _>(outcomes.iter().map(|one| failure(one).map(|it| it.code)).collect::<Vec<_>>())
    .bind::<Array<Nullable<Text>>, _>(outcomes.iter().map(|one| failure(one).map(|it| it.message)).collect::<Vec<_>>())
    .bind::<Integer, _>(done.first().map_or(0, |item| item.position))
    .bind::<Integer, _>(done.last().map_or(0, |item| item.position));
    Prepared(statement).execute(connection).await?;
    for outcome in outcomes {
        progress.add(outcome);
    }
    store_counts(connection, progress, now).await
}

/// Marks all remaining items as failed.
pub(super) async fn fail_rest(
    connection: &mut AsyncPgConnection,
    progress: &mut Progress,
    failure: &Failure,
    now: Timestamp,
) -> Result<()> {
    let rest = items::table
        .filter(items::tenant_id.eq(progress.tenant_id))
        .filter(items::job_id.eq(progress.id))
        .filter(items::state.eq(ItemState::Pending.as_str()));
    let failed = update(rest)
        .set((
            items::state.eq(ItemState::Failed.as_str()),
            items::error_status.eq(failure.status),
            items::error_code.eq(&failure.code),
            items::error_message.eq(&failure.message),
            items::updated_at.eq(now),
        ))
        .prepared()
        .execute(connection)
        .await?;
    let failed = i32::try_from(failed).unwrap_or(i32::MAX);
    progress.processed_count += failed;
    progress.failed_count += failed;
    store_counts(connection, progress, now).await
}

async fn store_counts(connection: &mut AsyncPgConnection, progress: &Progress, now: Timestamp) -> Result<()> {
    let statement = update(job!(progress)).set((
        jobs::processed_count.eq(progress.processed_count),
        jobs::succeeded_count.eq(progress.succeeded_count),
        jobs::skipped_count.eq(progress.skipped_count),
        jobs::failed_count.eq(progress.failed_count),
        jobs::careful_until.eq(progress.careful_until),
        jobs::heartbeat_at.eq(now),
        jobs::updated_at.eq(now),
    ));
    Prepared(statement).execute(connection).await?;
    Ok(())
}

/// Marks the job as finished.
pub(super) async fn end(
    connection: &mut AsyncPgConnection,
    progress: &Progress,
    status: Status,
    now: Timestamp,
    error: Option<&str>,
) -> Result<Notice> {
    let statement = update(job!(progress)).set((
        jobs::status.eq(status.as_str()),
        jobs::finished_at.eq(now),
        jobs::heartbeat_at.eq(now),
        jobs::error_message.eq(error),
        jobs::updated_at.eq(now),
    ));
    Prepared(statement).execute(connection).await?;
    Ok(Notice::of(progress, event_name(status), status))
}
