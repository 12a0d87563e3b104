//! Threads that only hash. They give way to everything else, so that a flood of sign-ins does not slow the other requests down.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};

use backoffice_core::{Error as CoreError, Result};
use tokio::sync::oneshot;

use crate::Error;

/// How far the threads give way, on the scale from -20 to 19 of Unix.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

type Job = Box<dyn FnOnce() + Send>;

/// The threads and what waits for them. They start with the first computation and end with the pool.
pub(super) struct Pool {
    threads: usize,
    start: Once,
    queue: Arc<Queue>,
    /// Requests that hash or wait.
    taken: Arc<AtomicUsize>,
    /// How many there may be: the threads and the queue.
    places: usize,
}

/// A place among those who hash or wait; free again when dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<AtomicUsize>);

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

impl Pool {
    pub(super) fn new(threads: usize, queue: usize) -> Self {
        Self {
            threads,
            start: Once::new(),
            queue: Arc::default(),
            taken: Arc::default(),
            places: queue.saturating_add(threads),
        }
    }

    /// Takes a place; 429 when there is none.
    pub(super) fn place(&self) -> Result<Place> {
        let place = Place(Arc::clone(&self.taken));
        if self.taken.fetch_add(1, Ordering::AcqRel) >= self.places {
            return Err(Error::HashingBusy.into());
        }
        Ok(place)
    }

    /// Runs the work of a request that has a place, in the order in which they come. Work that nobody waits for any more is skipped.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        _place: &Place,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        self.start.call_once(|| self.start_threads());
        let (answer, answered) = oneshot::channel();
        let job = move || {
            if !answer.is_closed() {
                // Nobody waits for it any more.
                let _unwanted = answer.send(work());
            }
        };
        self.queue.push(Box::new(job));
        answered
            .await
            .map_err(|_| CoreError::internal("password hashing ended without a result"))
    }

    fn start_threads(&self) {
        for number in 0..self.threads {
            let queue = Arc::clone(&self.queue);
            let thread = std::thread::Builder::new().name(format!("hash-{number}"));
            if let Err(error) = thread.spawn(move || queue.work()) {
                tracing::error!(%error, "a thread for password hashing did not start");
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue.lock().is_closed = true;
        self.queue.changed.notify_all();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: Job) {
        self.lock().jobs.push_back(job);
        self.changed.notify_one();
    }

    /// The next job; `None` when the pool is gone.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What a thread does for all its life.
    fn work(&self) {
        give_way();
        while let Some(job) = self.next() {
            if catch_unwind(AssertUnwindSafe(job)).is_err() {
                tracing::error!("password hashing panicked");
            }
        }
    }
}

/// Lowers the priority of this thread. On Linux threads have their own; elsewhere it would be the whole process's.
fn give_way() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::warn!(%error, "password hashing runs with the priority of everything else");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn beyond_the_queue_there_is_a_429_until_a_place_is_free() {
        let pool = Pool::new(1, 1);
        let places = [pool.place().expect("a thread"), pool.place().expect("the queue")];

        let refused = pool.place().expect_err("full");
        drop(places);

        assert_eq!(refused.to_refusal().status.as_u16(), 429);
        assert!(pool.place().is_ok());
        assert_eq!(pool.taken.load(Ordering::Acquire), 0);
    }

    #[tokio::test]
    async fn a_panic_costs_its_own_request_only() {
        let pool = Pool::new(1, 1);
        let place = pool.place().expect("free");

        let failed: Result<()> = pool.run(&place, || panic!("on purpose")).await;
        let next = pool.run(&place, || 7).await;

        assert!(failed.is_err());
        assert_eq!(next.expect("the thread goes on"), 7);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn only_the_threads_that_hash_give_way() {
        let pool = Pool::new(1, 1);
        let place = pool.place().expect("free");
        let niceness = || rustix::process::getpriority_process(None).expect("known");
        let before = niceness();

        let there = pool.run(&place, niceness).await.expect("run");

        assert_eq!(there, NICENESS.max(before));
        assert_eq!(niceness(), before);
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_is_skipped() {
        let pool = Pool::new(1, 8);
        let place = pool.place().expect("free");
        let ran = Arc::new(AtomicUsize::new(0));
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let count = || {
            let ran = Arc::clone(&ran);
            move || {
                ran.fetch_add(1, Ordering::AcqRel);
            }
        };
        let blocking = pool.run(&place, move || wait.recv().is_ok());
        let abandoned = async {
            let mut abandoned = Box::pin(pool.run(&place, count()));
            assert!(futures_util::poll!(&mut abandoned).is_pending());
            drop(abandoned);
            release.send(()).expect("it waits");
        };

        let (_, ()) = tokio::join!(biased; blocking, abandoned);
        pool.run(&place, count()).await.expect("run");

        assert_eq!(ran.load(Ordering::Acquire), 1);
    }
}
