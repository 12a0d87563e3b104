//! The interface of the platform to a running job.

use diesel::sql_types::{BigInt, Integer, Nullable, SmallInt, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use tokio::time::Instant;
use uuid::Uuid;

use super::claim::Claimed;
use super::pace::Pace;
use super::throttle::REDUCED_CHUNK;
use super::{outcome, requester};
use crate::command::Tx;
use crate::context::{Call, RequestContext};
use crate::db::{Prepared, UnloggedTransaction};
use crate::error::{Error, Result};
use crate::platform::{Platform, Runtime};
use crate::scope::Scope;
use crate::time::Timestamp;

/// A running job.
#[derive(Debug)]
pub struct Work<'a> {
    runtime: &'a Runtime,
    pub(super) job: Claimed,
    context: RequestContext,
    pace: Pace,
    throttles: bool,
    is_ended: bool,
}

impl<'a> Work<'a> {
    /// `throttles`: whether the job yields to the requests of this process.
    pub(super) fn new(runtime: &'a Runtime, job: Claimed, context: RequestContext, throttles: bool) -> Self {
        let pace = Pace::of(job.chunk_items, job.noticed_at);
        Self {
            runtime,
            job,
            context,
            pace,
            throttles,
            is_ended: false,
        }
    }

    /// Returns the context of the platform itself, in the job's tenant. See [`Work::requester`] for work in the name of a user.
    #[must_use]
    pub fn context(&self) -> &RequestContext {
        &self.context
    }

    /// Returns the call of this step.
    #[must_use]
    pub fn call(&self) -> &Call {
        self.context.call()
    }

    /// Returns the present instant.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.runtime.platform.clock().now()
    }

    /// Returns the job's id.
    #[must_use]
    pub fn id(&self) -> Uuid {
        self.job.id
    }

    /// Returns the tenant of the job.
    #[must_use]
    pub fn tenant(&self) -> Uuid {
        self.job.tenant_id
    }

    /// Returns the organization that was selected in the request.
    #[must_use]
    pub fn organization(&self) -> Option<Uuid> {
        self.job.organization_id
    }

    /// Returns the progress job, if any.
    #[must_use]
    pub fn progress_job(&self) -> Option<Uuid> {
        self.job.progress_job_id
    }

    /// Returns whether a step has committed the end of the job.
    pub(super) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Returns the position that the committed steps reached; 0 at the start.
    #[must_use]
    pub fn cursor(&self) -> i64 {
        self.job.cursor
    }

    /// Returns the number of this attempt since the cursor last moved, from 1.
    #[must_use]
    pub fn attempt(&self) -> i32 {
        self.job.attempt.max(1)
    }

    /// Returns the number of items that the next chunk should hold, 1 to 100: fewer when the last chunk took long, and at most 10 while
    /// requests arrive.
    #[must_use]
    pub fn chunk_items(&self) -> usize {
        let items = usize::try_from(self.pace.items()).unwrap_or(1);
        if self.should_throttle() {
            items.min(REDUCED_CHUNK)
        } else {
            items
        }
    }

    /// Returns whether the job should yield to arriving requests.
    pub(super) fn should_throttle(&self) -> bool {
        self.throttles && self.runtime.platform.throttle().is_due(self.now())
    }

    /// Returns the context of the principal that requested the job, with its present rights and its selection at that time; `None` if the
    /// principal was deleted, is inactive, was revoked, or may no longer make that selection.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn requester(&self) -> Result<Option<RequestContext>> {
        requester::context(self.runtime, &self.job).await
    }

    /// Starts a transaction of this step in which commands run as this principal, fenced as [`Work::begin`] says.
    ///
    /// # Errors
    /// When the lease is lost, or the database can't be reached.
    pub async fn begin_commands<'w>(&'w mut self, context: &'w RequestContext) -> Result<CommandChunk<'w>> {
        let started = Instant::now();
        let mut tx = Tx::begin(context, self.job.tenant_id).await?;
        fence(tx.conn(), &self.job).await?;
        let now = self.now();
        let lease_until = now.after(self.runtime.platform.jobs().lease());
        Ok(CommandChunk {
            job: &mut self.job,
            pace: &mut self.pace,
            is_ended: &mut self.is_ended,
            tx,
            now,
            lease_until,
            started,
        })
    }

    /// Starts a transaction of this step in the scope, fenced by the lease: fails if another worker holds the job.
    ///
    /// # Errors
    /// When the lease is lost, or the database can't be reached.
    pub async fn begin(&mut self, scope: &Scope) -> Result<Chunk<'_>> {
        let mut transaction = self.runtime.database.transaction(scope).await?;
        fence(transaction.connection(), &self.job).await?;
        let now = self.now();
        let lease_until = now.after(self.runtime.platform.jobs().lease());
        Ok(Chunk {
            platform: &self.runtime.platform,
            job: &mut self.job,
            pace: self.pace,
            is_ended: &mut self.is_ended,
            transaction,
            now,
            lease_until,
        })
    }
}

/// The transaction of one step: its effects and the cursor are committed together.
#[derive(Debug)]
pub struct Chunk<'a> {
    platform: &'a Platform,
    job: &'a mut Claimed,
    pace: Pace,
    is_ended: &'a mut bool,
    transaction: UnloggedTransaction,
    now: Timestamp,
    lease_until: Timestamp,
}

impl Chunk<'_> {
    /// Returns the connection, inside the transaction.
    pub fn connection(&mut self) -> &mut AsyncPgConnection {
        self.transaction.connection()
    }

    /// Commits the effects with the cursor.
    ///
    /// # Errors
    /// When the database rejects the commit or the connection is lost; then nothing of the step is stored.
    pub async fn advance(mut self, cursor: i64) -> Result<()> {
        let reached = Reached {
            cursor,
            pace: self.pace,
            now: self.now,
            lease_until: self.lease_until,
        };
        reached.store(self.transaction.connection(), self.job).await?;
        self.transaction.commit().await?;
        reached.note(self.job);
        Ok(())
    }

    /// Commits the effects with the end of the job. The step then returns [`Step::Done`](super::Step::Done).
    ///
    /// # Errors
    /// As [`Chunk::advance`].
    pub async fn finish(mut self) -> Result<()> {
        outcome::finish(self.transaction.connection(), self.platform, self.job, self.now).await?;
        self.transaction.commit().await?;
        *self.is_ended = true;
        Ok(())
    }
}

/// The transaction of one step in which commands run: their effects, log entries and events, and the cursor are committed together.
#[derive(Debug)]
pub struct CommandChunk<'a> {
    job: &'a mut Claimed,
    pace: &'a mut Pace,
    is_ended: &'a mut bool,
    tx: Tx<'a>,
    now: Timestamp,
    lease_until: Timestamp,
    started: Instant,
}

impl<'a> CommandChunk<'a> {
    /// Returns the transaction of the commands.
    pub fn tx(&mut self) -> &mut Tx<'a> {
        &mut self.tx
    }

    /// Returns the number of this attempt since the cursor last moved, from 1.
    #[must_use]
    pub fn attempt(&self) -> i32 {
        self.job.attempt.max(1)
    }

    /// Returns whether progress may be notified again, which is so twice a second; true counts as a notification.
    pub fn may_notify(&mut self) -> bool {
        self.pace.may_notify(self.now)
    }

    /// Commits the effects with the cursor.
    ///
    /// # Errors
    /// When the database rejects the commit or the connection is lost; then nothing of the step is stored.
    pub async fn advance(mut self, cursor: i64) -> Result<()> {
        let reached = Reached {
            cursor,
            pace: self.pace.after(self.started.elapsed()),
            now: self.now,
            lease_until: self.lease_until,
        };
        reached.store(self.tx.conn(), self.job).await?;
        self.tx.commit().await?;
        *self.pace = reached.pace;
        reached.note(self.job);
        Ok(())
    }

    /// Commits the effects with the end of the job. The step then returns [`Step::Done`](super::Step::Done).
    ///
    /// # Errors
    /// As [`CommandChunk::advance`].
    pub async fn finish(mut self) -> Result<()> {
        let platform = self.tx.context().platform();
        outcome::finish(self.tx.conn(), platform, self.job, self.now).await?;
        self.tx.commit().await?;
        *self.is_ended = true;
        Ok(())
    }
}

/// The position that a step reached.
struct Reached {
    cursor: i64,
    pace: Pace,
    now: Timestamp,
    lease_until: Timestamp,
}

impl Reached {
    /// Stores the position, in the transaction of the step.
    async fn store(&self, connection: &mut AsyncPgConnection, job: &Claimed) -> Result<()> {
        let statement = sql_query(
            "update core_jobs set cursor = $4, attempt = case when cursor = $4 then attempt else 0 end, chunk_items = $5, noticed_at = $6, \
                 lease_until = $7, updated_at = $8 \
             where tenant_id = $1 and id = $2 and lease_owner = $3",
        )
        .bind::<SqlUuid, _>(job.tenant_id)
        .bind::<SqlUuid, _>(job.id)
        .bind::<SqlUuid, _>(job.lease_owner)
        .bind::<BigInt, _>(self.cursor)
        .bind::<SmallInt, _>(self.pace.items())
        .bind::<Nullable<Timestamptz>, _>(self.pace.noticed())
        .bind::<Timestamptz, _>(self.lease_until)
        .bind::<Timestamptz, _>(self.now);
        Prepared(statement).execute(connection).await?;
        Ok(())
    }

    /// Records the position in memory, after the commit.
    fn note(&self, job: &mut Claimed) {
        if job.cursor != self.cursor {
            job.attempt = 0;
        }
        job.cursor = self.cursor;
    }
}

#[derive(QueryableByName)]
struct Held {
    #[diesel(sql_type = Integer)]
    #[expect(dead_code, reason = "only the existence of the row matters")]
    held: i32,
}

/// Locks the job's row; fails if another worker holds it.
async fn fence(connection: &mut AsyncPgConnection, job: &Claimed) -> Result<()> {
    let statement = sql_query(
        "select 1 as held from core_jobs where tenant_id = $1 and id = $2 and lease_owner = $3 and state = 'running' for update",
    )
    .bind::<SqlUuid, _>(job.tenant_id)
    .bind::<SqlUuid, _>(job.id)
    .bind::<SqlUuid, _>(job.lease_owner);
    let held: Option<Held> = Prepared(statement).get_result(connection).await.optional()?;
    match held {
        Some(_) => Ok(()),
        None => Err(Error::internal("another worker holds the job")),
    }
}
