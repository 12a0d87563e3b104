//! The workers of a node.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::sync::watch;
use tokio::time::Instant;

use super::claim::{self, Claimed};
use super::{Step, Work, outcome};
use crate::context::{Call, RequestContext};
use crate::error::{Error, Result};
use crate::identity::Identity;
use crate::platform::Runtime;
use crate::scope::Scope;

/// Wait between looks at an empty queue, when nobody rings.
const POLL: Duration = Duration::from_secs(1);
/// After this long a job makes room for another tenant's.
const TURN: time::Duration = time::Duration::seconds(2);
/// Times that a step is repeated when its transaction collides with another one.
const REPEATS: u32 = 3;
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Tells workers to end: they finish their step and hand the job back.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Whether workers are to end.
    #[must_use]
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until they are.
    pub async fn set(&mut self) {
        // An error means that nobody can say it any more, which is an end too.
        let _ended = self.0.wait_for(|stop| *stop).await;
    }
}

/// A signal and the end that gives it: `send(true)`, or drop it.
#[must_use]
pub fn stop_signal() -> (watch::Sender<bool>, Stop) {
    let (sender, receiver) = watch::channel(false);
    (sender, Stop(receiver))
}

/// Runs the configured number of workers until the signal. They outlive errors, panics of jobs, and the database's absence.
pub async fn work(runtime: Runtime, stop: Stop) {
    let config = runtime.platform.jobs();
    let (slots, gives_way) = (config.workers, config.throttle);
    let sweeper = super::retention::sweep(runtime.clone(), stop.clone());
    let workers = (0..slots).map(|_| {
        let worker = Worker::new(runtime.clone());
        let worker = if gives_way { worker.throttling() } else { worker };
        slot(worker, stop.clone())
    });
    tokio::join!(join_all(workers), sweeper);
}

async fn slot(worker: Worker, mut stop: Stop) {
    let mut pause = POLL;
    while !stop.is_set() {
        let wait = match worker.run_one(Some(&stop)).await {
            Ok(true) => {
                pause = POLL;
                continue;
            }
            Ok(false) => {
                pause = POLL;
                POLL
            }
            Err(error) => {
                tracing::debug!(%error, "the job queue can't be read");
                pause = (pause * 2).min(LONGEST_PAUSE);
                pause
            }
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = worker.runtime.platform.notifier().rung() => {}
            () = stop.set() => {}
        }
    }
}

/// One worker.
#[derive(Debug)]
pub struct Worker {
    runtime: Runtime,
    gives_way: bool,
}

/// How often a worker tries to tell how its attempt ended, a second apart, while the database is gone.
const REPORT_ATTEMPTS: u32 = 60;

/// How an attempt ended.
enum End {
    Finished,
    Release,
    Failed(Error),
    LeaseLost,
}

impl Worker {
    /// A worker of this platform and database.
    #[must_use]
    pub fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            gives_way: false,
        }
    }

    /// Its jobs give way while this process has requests to answer: they take smaller chunks and rest between them.
    #[must_use]
    pub fn throttling(self) -> Self {
        Self {
            gives_way: true,
            ..self
        }
    }

    /// Claims and runs one job; false when none could be claimed. A job that fails is not an error here.
    ///
    /// # Errors
    /// When the queue can't be reached.
    pub async fn run_one(&self, stop: Option<&Stop>) -> Result<bool> {
        let now = self.runtime.platform.clock().now();
        let Some(job) = claim::claim(&self.runtime, now).await? else {
            return Ok(false);
        };
        let end = tokio::select! {
            end = self.attempt(job.clone(), stop) => end,
            () = self.keep_alive(&job) => End::LeaseLost,
        };
        let mut left = REPORT_ATTEMPTS;
        loop {
            match self.conclude(&job, &end).await {
                // What can't be said now is said a little later, or else the lease runs out first.
                Err(Error::Unavailable(_)) if left > 0 => left -= 1,
                concluded => return concluded.map(|()| true),
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn conclude(&self, job: &Claimed, end: &End) -> Result<()> {
        let now = self.runtime.platform.clock().now();
        match end {
            End::Finished | End::LeaseLost => Ok(()),
            End::Release => outcome::release(&self.runtime, job, now).await,
            // The job is not to blame for a database that is gone.
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
        let Some(kind) = self.runtime.platform.registry().job_kinds().find(&job.kind) else {
            return Err(Error::internal(format!("nobody knows jobs of kind {}", job.kind)));
        };
        if job.attempt > job.max_attempts {
            return Err(Error::internal("every attempt at the job took its worker down"));
        }
        let (clock, mut collisions) = (self.runtime.platform.clock(), 0);
        let ends_turn = clock.now().after(TURN);
        let (payload, tenant) = (job.payload.clone(), job.tenant_id);
        let context = self.context(&job);
        let mut work = Work::new(&self.runtime, job, context, self.gives_way);
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
                Ok(Step::More) => collisions = 0,
                Err(Error::Collision(_)) if collisions < REPEATS => {
                    collisions += 1;
                    self.pause(collisions).await;
                    continue;
                }
                Err(error) => return Err(error),
            }
            if stop.is_some_and(Stop::is_set) {
                return Ok(End::Release);
            }
            let now = clock.now();
            if now >= ends_turn && claim::others_wait(&self.runtime, tenant, now).await? {
                return Ok(End::Release);
            }
            if work.should_throttle() {
                tokio::time::sleep(throttle.rest(began.elapsed())).await;
            }
        }
    }

    /// Until those that collided are out of each other's way.
    async fn pause(&self, collisions: u32) {
        let [jitter] = self.runtime.platform.ids().random::<1>();
        tokio::time::sleep(Duration::from_millis(
            u64::from(collisions) * 5 + u64::from(jitter) / 10,
        ))
        .await;
    }

    async fn finish(&self, job: &Claimed) -> Result<()> {
        let now = self.runtime.platform.clock().now();
        let mut connection = self.runtime.database.queue().await?;
        outcome::finish(&mut connection, &self.runtime.platform, job, now).await
    }

    fn context(&self, job: &Claimed) -> RequestContext {
        let mut scope = Scope::system();
        scope.tenant = Some(job.tenant_id);
        RequestContext::new(Call::internal(&self.runtime), Arc::new(Identity::system()), scope)
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
                Err(error) => tracing::debug!(%error, "a lease could not be extended"),
            }
        }
    }
}
