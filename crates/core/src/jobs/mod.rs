//! Background jobs: stored in the database, claimed by any node, and independent of the life of a process.
//!
//! A job is enqueued in the transaction that needs it. A worker claims it under a lease, runs it in steps, and stores its progress (the
//! *cursor*) in the same transaction as the effects of the step, so that a crash repeats nothing that was committed. Effects outside of a
//! transaction (a mail) happen at least once.

mod claim;
mod config;
mod enqueue;
mod named;
mod outcome;
mod pace;
mod queue;
mod requester;
mod retention;
mod schedule;
mod services;
mod throttle;
mod work;
mod worker;

use std::collections::BTreeMap;
use std::sync::Arc;

use diesel_async::AsyncPgConnection;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use time::Duration;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::context::Call;
use crate::error::{Error, Result};

use schedule::Schedule;

pub use crate::shutdown::{Stop, stop_signal};
pub use config::JobsConfig;
pub use enqueue::{NewJob, cancel_watched, enqueue, enqueue_with, notify_after_commit};
pub use named::Queue;
pub use queue::{Depth, QueuedJob, cancel, depth, list, retry};
pub(crate) use schedule::ScheduleIntervals;
pub use schedule::enqueue_due;
pub(crate) use services::JobServices;
pub use work::{Chunk, CommandChunk, Work};
pub use worker::{Worker, work};

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// There is more to do; the worker runs another step.
    More,
    /// The job is finished.
    Done,
}

/// A kind of background work. The value is the payload: it is stored as JSON and holds no secret.
pub trait Job: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The name: `<module>.<entity>.<verb>`.
    const KIND: &'static str;
    /// The queue whose worker slots run it.
    const QUEUE: Queue = Queue::Default;
    /// Priority among the jobs of a tenant; lower ones run first, and a running job yields to them when a step ends. A job for which a user waits must
    /// not wait for bulk operations or slow receivers.
    const PRIORITY: i16 = 100;
    /// Number of attempts without progress after which the job is dead.
    const MAX_ATTEMPTS: i32 = 8;
    /// Whether the payload of a finished job is kept as long as the job. A payload with data of persons whom the platform may not know is
    /// removed when the job is done. A dead or cancelled job keeps its payload, because operators can retry it.
    const KEEPS_PAYLOAD: bool = true;

    /// Returns the wait after failed attempt number `attempt`, from 1; the queue varies it by a fifth. By default 2 seconds, doubled with each
    /// attempt, and at most 10 minutes.
    fn backoff(attempt: i32, _error: &Error) -> Duration {
        doubled(attempt)
    }

    /// Runs when the job becomes dead, in the transaction that marks it. The connection sees the job's tenant.
    fn on_dead(
        _connection: &mut AsyncPgConnection,
        _call: &Call,
        _job: &DeadJob,
    ) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }

    /// Runs the next step. An error ends the attempt; the next attempt starts at the last committed cursor.
    fn run(&self, work: &mut Work<'_>) -> impl Future<Output = Result<Step>> + Send;
}

/// A dead job: too many attempts failed, or an operator cancelled it.
#[derive(Debug, Clone)]
pub struct DeadJob {
    /// The tenant.
    pub tenant: Uuid,
    /// The id.
    pub id: Uuid,
    /// The progress job, if any.
    pub progress_job: Option<Uuid>,
    /// Whether an operator cancelled it.
    pub is_cancelled: bool,
}

const SHORTEST_WAIT: Duration = Duration::seconds(2);
const LONGEST_WAIT: Duration = Duration::minutes(10);

fn doubled(attempt: i32) -> Duration {
    let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(0).min(20);
    SHORTEST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT)
}

type Run = for<'a> fn(Value, &'a mut Work<'_>) -> BoxFuture<'a, Result<Step>>;
type OnBackoff = fn(i32, &Error) -> Duration;
type OnDead = for<'a> fn(&'a mut AsyncPgConnection, &'a Call, &'a DeadJob) -> BoxFuture<'a, Result<()>>;

/// The registered properties of a kind of job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobKind {
    queue: Queue,
    run: Run,
    backoff: OnBackoff,
    on_dead: OnDead,
    keeps_payload: bool,
}

/// The kinds of jobs of the enabled modules, and those that run at intervals.
#[derive(Debug, Default)]
pub(crate) struct JobKinds(BTreeMap<&'static str, JobKind>, Vec<Schedule>);

impl JobKinds {
    /// Returns false when the name is taken.
    pub(crate) fn add<J: Job>(&mut self) -> bool {
        let kind = JobKind {
            queue: J::QUEUE,
            run: run::<J>,
            backoff: J::backoff,
            on_dead: on_dead::<J>,
            keeps_payload: J::KEEPS_PAYLOAD,
        };
        self.0.insert(J::KIND, kind).is_none()
    }

    /// Returns false when the name is taken.
    pub(crate) fn add_schedule<J: Job + Default>(&mut self, name: &'static str, every: Duration) -> bool {
        let is_new = self.1.iter().all(|known| known.name() != name);
        self.1.push(Schedule::of::<J>(name, every));
        is_new
    }

    fn schedules(&self) -> &[Schedule] {
        &self.1
    }

    /// Returns the kinds of a queue.
    fn names(&self, queue: Queue) -> Vec<&'static str> {
        let kinds = self.0.iter().filter(|(_, kind)| kind.queue == queue);
        kinds.map(|(name, _)| *name).collect()
    }

    /// Returns the kinds of all queues.
    fn all_names(&self) -> Vec<&'static str> {
        self.0.keys().copied().collect()
    }

    fn find(&self, kind: &str) -> Option<JobKind> {
        self.0.get(kind).copied()
    }

    /// Returns the kinds whose payload is removed when a job is done.
    fn without_payload(&self) -> Vec<&'static str> {
        let kinds = self.0.iter().filter(|(_, kind)| !kind.keeps_payload);
        kinds.map(|(name, _)| *name).collect()
    }
}

fn run<'a, J: Job>(payload: Value, work: &'a mut Work<'_>) -> BoxFuture<'a, Result<Step>> {
    Box::pin(async move {
        let job: J = serde_json::from_value(payload)?;
        job.run(work).await
    })
}

fn on_dead<'a, J: Job>(
    connection: &'a mut AsyncPgConnection,
    call: &'a Call,
    job: &'a DeadJob,
) -> BoxFuture<'a, Result<()>> {
    Box::pin(J::on_dead(connection, call, job))
}

/// Notifies the workers of this process: those of every queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkNotifier(Arc<[Notify; Queue::ALL.len()]>);

impl WorkNotifier {
    pub(crate) fn notify(&self) {
        self.0.iter().for_each(Notify::notify_one);
    }

    pub(crate) async fn notified(&self, queue: Queue) {
        let [default, network] = &*self.0;
        match queue {
            Queue::Default => default.notified().await,
            Queue::Network => network.notified().await,
        }
    }
}
