//! Work behind the answer: jobs wait in the database, any node takes them, and they outlive every process.
//!
//! A job is enqueued in the transaction that wants it done. A worker claims it under a lease, runs it in steps, and keeps what it reached
//! (the *cursor*) in the same transaction as the effects of the step, so that a crash repeats nothing that was committed. What can't be
//! part of a transaction (a mail) happens at least once.

mod claim;
mod config;
mod enqueue;
mod outcome;
mod retention;
mod work;
mod worker;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Result;

pub use config::JobsConfig;
pub use enqueue::{Order, enqueue};
pub use work::{Chunk, Work};
pub use worker::{Stop, Worker, stop_signal, work};

/// What a step reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// There is more to do; the worker calls again.
    More,
    /// The job is finished.
    Done,
}

/// A kind of background work. The value is the payload: it is stored as JSON and holds no secret.
pub trait Job: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Its name: `<module>.<entity>.<verb>`.
    const KIND: &'static str;
    /// Attempts without progress before it is given up.
    const MAX_ATTEMPTS: i32 = 8;

    /// Does the next step. An error ends the attempt; the next one starts at the cursor that was last committed.
    fn run(&self, work: &mut Work<'_>) -> impl Future<Output = Result<Step>> + Send;
}

type Run = for<'a> fn(Value, &'a mut Work<'_>) -> BoxFuture<'a, Result<Step>>;

/// The kinds of jobs that the enabled modules know.
#[derive(Debug, Default)]
pub(crate) struct JobKinds(BTreeMap<&'static str, Run>);

impl JobKinds {
    /// Returns false when the name is taken.
    pub(crate) fn add<J: Job>(&mut self) -> bool {
        self.0.insert(J::KIND, run::<J>).is_none()
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.0.keys().copied().collect()
    }

    pub(crate) fn find(&self, kind: &str) -> Option<Run> {
        self.0.get(kind).copied()
    }
}

fn run<'a, J: Job>(payload: Value, work: &'a mut Work<'_>) -> BoxFuture<'a, Result<Step>> {
    Box::pin(async move {
        let job: J = serde_json::from_value(payload)?;
        job.run(work).await
    })
}

/// Wakes the workers of this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bell(Arc<tokio::sync::Notify>);

impl Bell {
    pub(crate) fn ring(&self) {
        self.0.notify_one();
    }

    pub(crate) async fn rung(&self) {
        self.0.notified().await;
    }
}
