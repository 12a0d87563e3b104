//! The workers of a node.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::claim::{self, Claimed};
use super::{Queue, Step, Stop, Work, outcome};
use crate::backoff::{Backoff, Collisions};
use crate::context::{Call, RequestContext};
use crate::error::{Error, Result};
use crate::identity::Identity;
use crate::platform::Runtime;
use crate::scope::Scope;

/// Wait between checks of an empty queue, without a notification.
const POLL: Duration = Duration::from_secs(1);
/// Time after which a job yields to jobs of other tenants, and to more urgent ones of its own.
const TURN: time::Duration = time::Duration::seconds(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Runs jobs in the configured slots of every queue until the signal. Survives errors, panics of jobs, and outages of the database.
pub async fn work(runtime: Runtime, stop: Stop) {
    let config = runtime.platform.jobs();
    let sweeper = super::retention::sweep(runtime.clone(), stop.clone());
    let schedules = super::schedule::run(runtime.clone(), stop.clone());
    let queues = Queue::ALL.map(|queue| {
        let worker = Worker::new(runtime.clone()).of(queue);
        let worker = if config.throttle { worker.throttling() } else { worker };
        serve(Arc::new(worker), queue.slots(config), stop.clone())
    });
    tokio::join!(join_all(queues), sweeper, schedules);
}

/// Claims jobs as long as a slot is free, and runs each in a task of its own. After the signal it waits for the current steps.
async fn serve(worker: Arc<Worker>, slots: usize, mut stop: Stop) {
    let mut running = JoinSet::new();
    let mut backoff = Backoff::new(POLL, LONGEST_PAUSE);
    while slots > 0 && !stop.is_set() {
        while running.try_join_next().is_some() {}
        if running.len() >= slots {
            running.join_next().await;
            continue;
        }
        match worker.claim().await {
            Ok(Some(job)) => {
                backoff.succeeded();
                let (worker, stop) = (Arc::clone(&worker), stop.clone());
                running.spawn(async move {
                    if let Err(error) = worker.run(job, Some(&stop)).await {
                        if error.is_outage() {
                            tracing::debug!(%error, "could not report the end of a job's attempt");
                        } else {
                            tracing::warn!(%error, "could not report the end of a job's attempt");
                        }
                    }
                });
                continue;
            }
            Ok(None) => backoff.succeeded(),
            Err(error) => {
                if error.is_outage() {
                    tracing::debug!(%error, "could not reach the job queue");
                } else {
                    tracing::warn!(%error, job.queue = ?worker.queue, "could not claim a job");
                }
                backoff.failed();
            }
        }
        tokio::select! {
            () = tokio::time::sleep(backoff.wait()) => {}
            () = worker.runtime.platform.notifier().notified(worker.queue) => {}
            Some(_) = running.join_next() => {}
            () = stop.set() => {}
        }
    }
    while running.join_next().await.is_some() {}
}

/// A worker of one queue.
#[derive(Debug)]
pub struct Worker {
    runtime: Runtime,
    queue: Queue,
    throttles: bool,
}

/// Maximum number of attempts to report the end of a job's attempt while the database can't be reached, one second apart.
const REPORT_ATTEMPTS: u32 = 60;

/// The end of an attempt.
enum End {
    Finished,
    Release,
    Failed(Error),
    LeaseLost,
}

impl Worker {
    /// Creates a worker of this platform and database, for the default queue.
    #[must_use]
    pub fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            queue: Queue::Default,
            throttles: false,
        }
    }

    /// Claims jobs of this queue.
    #[must_use]
    pub fn of(self, queue: Queue) -> Self {
        Self { queue, ..self }
    }

    /// Throttles its jobs while this process has requests to serve: they take smaller chunks and rest between them.
    #[must_use]
    pub fn throttling(self) -> Self {
        Self {
            throttles: true,
            ..self
        }
    }

    /// Claims and runs one job; false when none could be claimed. A job that fails is not an error here.
    ///
    /// # Errors
    /// When the queue can't be reached.
    pub async fn run_one(&self, stop: Option<&Stop>) -> Result<bool> {
        match self.claim().await? {
            Some(job) => self.run(job, stop).await.map(|()| true),
            None => Ok(false),
        }
    }

    async fn claim(&self) -> Result<Option<Claimed>> {
        claim::claim(&self.runtime, self.queue, self.runtime.platform.clock().now()).await
    }

    /// Runs a claimed job and reports the end of the attempt.
    async fn run(&self, job: Claimed, stop: Option<&Stop>) -> Result<()> {
        let end = tokio::select! {
            end = self.attempt(job.clone(), stop) => end,
            () = self.keep_alive(&job) => End::LeaseLost,
        };
        let mut left = REPORT_ATTEMPTS;
        loop {
            match self.conclude(&job, &end).await {
                // A report that fails now is repeated a little later, until the lease expires.
                Err(Error::Unavailable(_)) if left > 0 => left -= 1,
                concluded => return concluded,
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn conclude(&self, job: &Claimed, end: &End) -> Result<()> {
        let now = self.runtime.platform.clock().now();
        match end {
            End::Finished | End::LeaseLost => Ok(()),
            End::Release => outcome::release(&self.runtime, job, now).await,
            // An outage of the database is not a failure of the job.
            End::Failed(error) if error.is_outage() => outcome::release(&self.runtime, job, now).await,
            End::Failed(error) => outcome::fail(&self.runtime, job, error, now).await,
        }
    }

    async fn attempt(&self, job: Claimed, stop: Option<&Stop>) -> End {
        let work = AssertUnwindSafe(self.steps(job, stop)).catch_unwind();
        match work.await {
            Ok(Ok(end)) => end,
            Ok(Err(error)) => End::Failed(error),
            Err(_panic) => End::Failed(Error::internal("the job panicked")),
        }
    }

    async fn steps(&self, job: Claimed, stop: Option<&Stop>) -> Result<End> {
        let Some(kind) = self.runtime.platform.job_kinds().find(&job.kind) else {
            return Err(Error::internal(format!("unknown kind of job: {}", job.kind)));
        };
        if job.attempt > job.max_attempts {
            return Err(Error::internal("every attempt at the job took its worker down"));
        }
        let payload: Value = serde_json::from_str(&job.payload)
            .map_err(|error| Error::internal(format!("could not read the payload of the job: {error}")))?;
        let (clock, mut collisions) = (self.runtime.platform.clock(), Collisions::default());
        let ends_turn = clock.now().after(TURN);
        let context = self.context(&job);
        let mut work = Work::new(&self.runtime, job, context, self.throttles);
        let throttle = self.runtime.platform.throttle();
        let _counted = throttle.work();
        loop {
            let began = Instant::now();
            match (kind.run)(payload.clone(), &mut work).await {
                Ok(Step::Done) => {
                    if !work.is_ended() {
                        self.finish(&work.job).await?;
                    }
                    return Ok(End::Finished);
                }
                Ok(Step::More) => collisions = Collisions::default(),
                Err(Error::Collision(_)) if collisions.may_repeat() => {
                    collisions.pause(self.runtime.platform.ids()).await;
                    continue;
                }
                Err(error) => return Err(error),
            }
            if stop.is_some_and(Stop::is_set) {
                return Ok(End::Release);
            }
            let now = clock.now();
            if now >= ends_turn && claim::others_wait(&self.runtime, self.queue, &work.job, now).await? {
                return Ok(End::Release);
            }
            if work.should_throttle() {
                tokio::time::sleep(throttle.rest(began.elapsed())).await;
            }
        }
    }

    async fn finish(&self, job: &Claimed) -> Result<()> {
        let now = self.runtime.platform.clock().now();
        let mut connection = self.runtime.database.queue().await?;
        outcome::finish(&mut connection, &self.runtime.platform, job, now).await
    }

    fn context(&self, job: &Claimed) -> RequestContext {
        let mut scope = Scope::system();
        scope.tenant = Some(job.tenant_id);
        let call = Call {
            job: Some(job.id),
            ..Call::internal(&self.runtime)
        };
        RequestContext::new(call, Arc::new(Identity::system()), scope)
    }

    /// Returns when the lease is lost.
    async fn keep_alive(&self, job: &Claimed) {
        let lease = self.runtime.platform.jobs().lease_seconds;
        let heartbeat = Duration::from_secs(u64::from(lease)) / 4;
        loop {
            tokio::time::sleep(heartbeat).await;
            let now = self.runtime.platform.clock().now();
            match outcome::extend(&self.runtime, job, now).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => tracing::debug!(%error, "could not extend a lease"),
            }
        }
    }
}
