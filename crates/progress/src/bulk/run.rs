//! The worker: runs one chunk after the other, each in a transaction of effects, entries, events, item states, counts and cursor.

use backoffice_core::command::{Command, Tx, execute_all};
use backoffice_core::events;
use backoffice_core::jobs::{CommandChunk, DeadJob, Job, Step, Work};
use backoffice_core::{Call, Error, RequestContext, Result};
use diesel_async::AsyncPgConnection;
use futures_util::FutureExt;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::operation::BulkOperation;
use super::outcome::{Failure, Outcome};
use super::state::{self, Item, Notice, Progress};
use crate::model::{KIND as JOB_KIND, Status};

/// Number of failed attempts at one cursor after which chunks contain a single item.
const CAREFUL_AFTER: i32 = 2;
/// Number of further attempts for a single item.
const SINGLE_TRIES: i32 = 3;
/// Number of items that are processed one at a time after a crash: the maximum size of a chunk.
const SUSPECTS: i32 = 100;

/// The queue's job of a bulk request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct BulkJob<O> {
    pub(super) operation: O,
}

impl<O: BulkOperation> Job for BulkJob<O> {
    const KIND: &'static str = O::ID;

    async fn on_dead(connection: &mut AsyncPgConnection, call: &Call, job: &DeadJob) -> Result<()> {
        let Some(id) = job.progress_job else { return Ok(()) };
        let Some(progress) = state::open(connection, job.tenant, id).await? else {
            return Ok(());
        };
        if progress.status()?.is_final() {
            return Ok(());
        }
        let (status, reason) = if job.is_cancelled {
            (Status::Cancelled, None)
        } else {
            (Status::Failed, Some("The job failed after its last attempt"))
        };
        let notice = state::end(connection, &progress, status, call.now, reason).await?;
        notice.announce(connection, call).await
    }

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let id = work
            .progress_job()
            .ok_or_else(|| Error::internal("bulk job without progress record"))?;
        let requester = work.requester().await?;
        // Features that were withdrawn since the request, or moved to other organizations, do not count.
        let filtered = |context: RequestContext| {
            let context = context.for_features(O::FEATURES).ok()?;
            context.for_features(O::Item::FEATURES).ok()
        };
        match requester.and_then(filtered) {
            Some(context) => self.chunk(work, &context, id).await,
            None => forbid_rest(work, id).await,
        }
    }
}

impl<O: BulkOperation> BulkJob<O> {
    async fn chunk(&self, work: &mut Work<'_>, context: &RequestContext, id: Uuid) -> Result<Step> {
        let (cursor, requested) = (work.cursor(), work.chunk_items());
        let mut chunk = work.begin_commands(context).await?;
        let (tenant, now) = (chunk.tx().tenant(), context.now());
        // Reads without a lock: a cancel request waits only for the writes of a chunk, not for the locks that a chunk waits for.
        let Some(mut progress) = state::read(chunk.tx().conn(), tenant, id).await? else {
            return finished(chunk).await;
        };
        if progress.status()?.is_final() {
            return finished(chunk).await;
        }
        if progress.cancel_requested_at.is_some() {
            return end(chunk, &progress, Status::Cancelled).await;
        }
        if progress.status()? == Status::Pending {
            return begin(chunk, &progress, cursor).await;
        }
        let care = Isolation::of(&progress, cursor, chunk.attempt());
        let limit = if care.one_at_a_time { 1 } else { requested };
        let items = state::pending_items(chunk.tx().conn(), &progress, cursor, limit).await?;
        let Some(last) = items.last().map(|item| item.position) else {
            let status = Status::of_counts(progress.total_count, progress.failed_count);
            return end(chunk, &progress, status).await;
        };
        let outcomes = if care.gives_up {
            vec![Outcome::Failed(Failure::internal())]
        } else {
            self.run_items(chunk.tx(), id, &items).await?
        };
        if let Some(until) = care.suspects_until {
            progress.careful_until = until;
        }
        state::record(chunk.tx().conn(), &mut progress, &items, &outcomes, now).await?;
        if progress.processed_count == progress.total_count {
            let status = Status::of_counts(progress.total_count, progress.failed_count);
            return end(chunk, &progress, status).await;
        }
        if chunk.may_notify() {
            let notice = Notice::updated(&progress);
            notice.announce(chunk.tx().conn(), context.call()).await?;
        } else {
            events::touch(chunk.tx().conn(), context.call(), tenant, &[JOB_KIND]).await?;
        }
        chunk.advance(i64::from(last) + 1).await?;
        Ok(Step::More)
    }

    async fn run_items(&self, tx: &mut Tx<'_>, job: Uuid, items: &[Item]) -> Result<Vec<Outcome>> {
        let tenant = tx.tenant();
        let commands: Vec<O::Item> = items.iter().map(|item| self.operation.item(item.resource_id)).collect();
        let outcomes = execute_all(tx, &commands, |connection| state::lock(connection, tenant, job).boxed());
        let outcomes = outcomes.await?;
        Ok(outcomes.into_iter().map(Outcome::from).collect())
    }
}

/// Commits only that a worker has started the job: clients see the start before any item runs, and the announcement locks the tenant's event
/// stream, on which no item may wait.
async fn begin(mut chunk: CommandChunk<'_>, progress: &Progress, cursor: i64) -> Result<Step> {
    let context = chunk.tx().context();
    let connection = chunk.tx().conn();
    let Some(notice) = state::begin(connection, progress, context.now()).await? else {
        return finished(chunk).await;
    };
    notice.announce(connection, context.call()).await?;
    chunk.advance(cursor).await?;
    Ok(Step::More)
}

async fn finished(chunk: CommandChunk<'_>) -> Result<Step> {
    chunk.finish().await?;
    Ok(Step::Done)
}

async fn end(mut chunk: CommandChunk<'_>, progress: &Progress, status: Status) -> Result<Step> {
    let context = chunk.tx().context();
    let connection = chunk.tx().conn();
    let notice = state::end(connection, progress, status, context.now(), None).await?;
    notice.announce(connection, context.call()).await?;
    finished(chunk).await
}

/// Fails the remaining items because the requester lost the required features, unless the job was cancelled or has ended.
async fn forbid_rest(work: &mut Work<'_>, id: Uuid) -> Result<Step> {
    let (call, tenant) = (work.call().clone(), work.tenant());
    let scope = work.context().scope().clone();
    let mut chunk = work.begin(&scope).await?;
    let connection = chunk.connection();
    if let Some(mut progress) = state::open(connection, tenant, id).await?
        && !progress.status()?.is_final()
    {
        let status = if progress.cancel_requested_at.is_some() {
            Status::Cancelled
        } else {
            state::fail_rest(connection, &mut progress, &Failure::forbidden(), call.now).await?;
            Status::of_counts(progress.total_count, progress.failed_count)
        };
        let notice = state::end(connection, &progress, status, call.now, None).await?;
        notice.announce(connection, &call).await?;
    }
    chunk.finish().await?;
    Ok(Step::Done)
}

/// How to process a chunk that may contain an item which crashes the worker.
#[derive(Debug, PartialEq, Eq)]
struct Isolation {
    one_at_a_time: bool,
    /// The item has used all of its attempts.
    gives_up: bool,
    /// Items before this position are processed one at a time from now on.
    suspects_until: Option<i32>,
}

impl Isolation {
    fn of(progress: &Progress, cursor: i64, attempt: i32) -> Self {
        let suspected = i64::from(progress.careful_until) > cursor;
        let tries = if suspected {
            SINGLE_TRIES
        } else {
            CAREFUL_AFTER + SINGLE_TRIES
        };
        let one_at_a_time = suspected || attempt > CAREFUL_AFTER;
        let position = i32::try_from(cursor).unwrap_or(i32::MAX);
        Self {
            one_at_a_time,
            gives_up: attempt > tries,
            suspects_until: (one_at_a_time && !suspected).then(|| position.saturating_add(SUSPECTS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn care(careful_until: i32, cursor: i64, attempt: i32) -> Isolation {
        Isolation::of(&Progress::for_test(careful_until), cursor, attempt)
    }

    #[test]
    fn two_failed_attempts_lead_to_chunks_of_one_item() {
        assert!(!care(0, 0, 2).one_at_a_time);
        let third = care(0, 40, 3);
        assert!(third.one_at_a_time && !third.gives_up);
        assert_eq!(third.suspects_until, Some(140));
    }

    #[test]
    fn an_item_has_three_tries_of_its_own() {
        assert!(!care(0, 0, 5).gives_up);
        assert!(care(0, 0, 6).gives_up);
        assert!(!care(140, 41, 3).gives_up);
        assert!(care(140, 41, 4).gives_up);
    }

    #[test]
    fn behind_the_suspects_chunks_are_whole_again() {
        assert!(care(140, 139, 0).one_at_a_time);
        assert!(!care(140, 140, 0).one_at_a_time);
    }
}
