//! Threads that only hash. They run at the lowest priority, so that a flood of sign-ins does not slow the other requests down.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use argon2::Block;
use backoffice_core::{Error as CoreError, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::Error;

/// Niceness of the threads, on the scale from -20 to 19 of Unix.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 19;

/// Permits for each thread: one request hashes, two others execute the statements before and after. More would not hash sooner, and in a
/// flood they would take the database connections from other requests. A request with a permit has its whole input: it waits for the
/// threads and the database, whose waits the process bounds, and never for a client.
const AT_WORK: usize = 3;

/// How long an idle thread keeps its memory.
const KEPT: Duration = Duration::from_secs(1);

type Job = Box<dyn FnOnce(&mut Memory) + Send>;

/// The memory of a thread, kept from hash to hash, because allocating and clearing it costs a twentieth of a hash.
#[derive(Debug, Default)]
pub(super) struct Memory(Vec<Block>);

impl Memory {
    /// Returns `count` blocks with arbitrary contents.
    pub(super) fn blocks(&mut self, count: usize) -> &mut [Block] {
        if self.0.len() < count {
            self.0.resize(count, Block::new());
        }
        &mut self.0[..count]
    }
}

/// The threads and their queue. The threads start with the first computation and end with the pool.
pub(super) struct Pool {
    threads: usize,
    start: Once,
    queue: Arc<Queue>,
    /// Number of requests that hash or wait.
    taken: Arc<AtomicUsize>,
    /// Largest number of such requests: the threads and the queue.
    capacity: usize,
    /// Permits of the requests that are at work.
    slots: Arc<Semaphore>,
}

/// A permit to hash; released when dropped.
#[derive(Debug)]
pub(crate) struct HashPermit {
    _slot: OwnedSemaphorePermit,
    _position: QueuePosition,
}

/// A place among the requests that hash or wait, without a permit yet; released when dropped.
#[derive(Debug)]
pub(crate) struct QueuePosition(Arc<AtomicUsize>);

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
            capacity: queue.saturating_add(threads),
            slots: Arc::new(Semaphore::new(threads * AT_WORK)),
        }
    }

    /// Takes a queue position; 429 at once if the queue is full.
    pub(super) fn queue_position(&self) -> Result<QueuePosition> {
        let queue_position = QueuePosition(Arc::clone(&self.taken));
        match self.taken.fetch_add(1, Ordering::AcqRel) < self.capacity {
            true => Ok(queue_position),
            false => Err(Error::HashingBusy.into()),
        }
    }

    /// Takes a queue position and waits for its permit, in order of arrival; 429 at once if the queue is full.
    pub(super) async fn permit(&self) -> Result<HashPermit> {
        self.acquire(self.queue_position()?).await
    }

    /// Waits for the permit of a queue position.
    pub(super) async fn acquire(&self, queue_position: QueuePosition) -> Result<HashPermit> {
        let acquire = Arc::clone(&self.slots).acquire_owned().await;
        Ok(HashPermit {
            _slot: acquire.map_err(|_| CoreError::internal("password hashing has ended"))?,
            _position: queue_position,
        })
    }

    /// Runs the work of a request with a permit, in order of arrival. Skips work whose caller no longer waits.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        _permit: &HashPermit,
        work: impl FnOnce(&mut Memory) -> T + Send + 'static,
    ) -> Result<T> {
        self.start.call_once(|| self.start_threads());
        let (response, responded) = oneshot::channel();
        let job = move |memory: &mut Memory| {
            if !response.is_closed() {
                // The caller may have stopped waiting.
                let _sent = response.send(work(memory));
            }
        };
        self.queue.push(Box::new(job));
        responded
            .await
            .map_err(|_| CoreError::internal("password hashing ended without a result"))
    }

    fn start_threads(&self) {
        for number in 0..self.threads {
            let queue = Arc::clone(&self.queue);
            let thread = std::thread::Builder::new().name(format!("hash-{number}"));
            if let Err(error) = thread.spawn(move || queue.work()) {
                tracing::error!(%error, "could not start a thread for password hashing");
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

impl Drop for QueuePosition {
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

    /// Returns the next job; `None` once the pool is dropped. Frees the memory while the queue is empty.
    fn next(&self, memory: &mut Memory) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if memory.0.is_empty() {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let waited = self.changed.wait_timeout(state, KEPT);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if timeout.timed_out() && state.jobs.is_empty() {
                *memory = Memory::default();
            }
        }
    }

    /// Runs jobs until the pool is dropped.
    fn work(&self) {
        throttle();
        let mut memory = Memory::default();
        while let Some(job) = self.next(&mut memory) {
            if catch_unwind(AssertUnwindSafe(|| job(&mut memory))).is_err() {
                tracing::error!("password hashing panicked");
            }
        }
    }
}

/// Lowers the priority of this thread. On Linux each thread has its own priority; elsewhere the whole process would be affected.
fn throttle() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::warn!(%error, "could not lower the priority of password hashing");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn beyond_the_queue_there_is_a_429_until_a_place_is_free() {
        let pool = Pool::new(1, 1);
        let capacity = [
            pool.permit().await.expect("a thread"),
            pool.permit().await.expect("the queue"),
        ];

        let rejected = pool.permit().await.expect_err("full");
        drop(capacity);

        assert_eq!(rejected.to_rejection().status.as_u16(), 429);
        assert!(pool.permit().await.is_ok());
        assert_eq!(pool.taken.load(Ordering::Acquire), 0);
    }

    #[tokio::test]
    async fn few_are_at_work_and_the_others_wait_in_order() {
        let pool = Pool::new(1, 8);
        let mut at_work = Vec::new();
        for _ in 0..AT_WORK {
            at_work.push(pool.permit().await.expect("free"));
        }
        let mut first = Box::pin(pool.permit());
        let mut second = Box::pin(pool.permit());
        assert!(futures_util::poll!(&mut first).is_pending());
        assert!(futures_util::poll!(&mut second).is_pending());

        at_work.pop();

        assert!(futures_util::poll!(&mut second).is_pending());
        let permit = first.await.expect("its turn");
        assert_eq!(pool.taken.load(Ordering::Acquire), AT_WORK + 1);
        drop(second);
        drop((at_work, permit));
        assert_eq!(pool.taken.load(Ordering::Acquire), 0);
    }

    #[tokio::test]
    async fn a_panic_costs_its_own_request_only() {
        let pool = Pool::new(1, 1);
        let permit = pool.permit().await.expect("free");

        let failed: Result<()> = pool.run(&permit, |_| panic!("on purpose")).await;
        let next = pool.run(&permit, |_| 7).await;

        assert!(failed.is_err());
        assert_eq!(next.expect("the thread goes on"), 7);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn only_hashing_threads_run_at_low_priority() {
        let pool = Pool::new(1, 1);
        let permit = pool.permit().await.expect("free");
        let niceness = || rustix::process::getpriority_process(None).expect("known");
        let before = niceness();

        let there = pool.run(&permit, move |_| niceness()).await.expect("run");

        assert_eq!(there, NICENESS.max(before));
        assert_eq!(niceness(), before);
    }

    #[tokio::test]
    async fn abandoned_work_is_skipped() {
        let pool = Pool::new(1, 8);
        let permit = pool.permit().await.expect("free");
        let ran = Arc::new(AtomicUsize::new(0));
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let count = || {
            let ran = Arc::clone(&ran);
            move |_: &mut Memory| {
                ran.fetch_add(1, Ordering::AcqRel);
            }
        };
        let blocking = pool.run(&permit, move |_| wait.recv().is_ok());
        let abandoned = async {
            let mut abandoned = Box::pin(pool.run(&permit, count()));
            assert!(futures_util::poll!(&mut abandoned).is_pending());
            drop(abandoned);
            release.send(()).expect("it waits");
        };

        let (_, ()) = tokio::join!(biased; blocking, abandoned);
        pool.run(&permit, count()).await.expect("run");

        assert_eq!(ran.load(Ordering::Acquire), 1);
    }
}
