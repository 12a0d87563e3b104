//! Threads for long computations: hashing passwords, rendering images. They run at the lowest priority, so that a flood of such requests does not
//! slow the others down, and their queue is bounded.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::error::{Error, Result};

/// Niceness of the threads, on the scale from -20 to 19 of Unix.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 19;

/// How long an idle thread keeps its memory.
const KEPT: Duration = Duration::from_secs(1);

type Job<S> = Box<dyn FnOnce(&mut S) + Send>;

/// Threads and their queue. The threads start with the first computation and end with the pool. Each has memory of type `S`, which it keeps from
/// one computation to the next, and frees when it has nothing to do for a second.
pub struct Pool<S> {
    name: &'static str,
    threads: usize,
    start: Once,
    queue: Arc<Queue<S>>,
    /// Number of requests that compute or wait.
    taken: Arc<AtomicUsize>,
    /// Largest number of such requests: the threads and the queue.
    capacity: usize,
    /// Permits of the requests that are at work.
    slots: Arc<Semaphore>,
}

impl<S> std::fmt::Debug for Pool<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("name", &self.name)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// A permit to compute; released when dropped.
#[derive(Debug)]
pub struct Permit {
    _slot: OwnedSemaphorePermit,
    _position: QueuePosition,
}

/// A position among the requests that compute or wait, without a permit yet; released when dropped.
#[derive(Debug)]
pub struct QueuePosition(Arc<AtomicUsize>);

struct Queue<S> {
    state: Mutex<State<S>>,
    changed: Condvar,
}

struct State<S> {
    jobs: VecDeque<Job<S>>,
    is_closed: bool,
}

impl<S: Default + Send + 'static> Pool<S> {
    /// Creates a pool of `threads` threads, with names that begin with `name`, and a queue for `queue` requests. `at_work` requests for each thread
    /// have a permit at once: those that do more than compute should have several, so that the threads do not wait for them.
    #[must_use]
    pub fn new(name: &'static str, threads: usize, queue: usize, at_work: usize) -> Self {
        Self {
            name,
            threads,
            start: Once::new(),
            queue: Arc::new(Queue {
                state: Mutex::new(State {
                    jobs: VecDeque::new(),
                    is_closed: false,
                }),
                changed: Condvar::new(),
            }),
            taken: Arc::default(),
            capacity: queue.saturating_add(threads),
            slots: Arc::new(Semaphore::new(threads * at_work)),
        }
    }

    /// Takes a queue position; `None` if the queue is full.
    #[must_use]
    pub fn queue_position(&self) -> Option<QueuePosition> {
        let queue_position = QueuePosition(Arc::clone(&self.taken));
        (self.taken.fetch_add(1, Ordering::AcqRel) < self.capacity).then_some(queue_position)
    }

    /// Waits for the permit of a queue position, in order of arrival.
    ///
    /// # Errors
    /// When the pool has ended.
    pub async fn acquire(&self, queue_position: QueuePosition) -> Result<Permit> {
        let acquire = Arc::clone(&self.slots).acquire_owned().await;
        Ok(Permit {
            _slot: acquire.map_err(|_| Error::internal(format!("the threads `{}` have ended", self.name)))?,
            _position: queue_position,
        })
    }

    /// Runs the work of a request with a permit, in order of arrival. Skips work whose caller no longer waits.
    ///
    /// # Errors
    /// When the work panics, or no thread of the pool could be started.
    pub async fn run<T: Send + 'static>(
        &self,
        _permit: &Permit,
        work: impl FnOnce(&mut S) -> T + Send + 'static,
    ) -> Result<T> {
        self.start.call_once(|| self.start_threads());
        let (response, responded) = oneshot::channel();
        let job = move |memory: &mut S| {
            if !response.is_closed() {
                // The caller may have stopped waiting.
                let _sent = response.send(work(memory));
            }
        };
        self.queue.push(Box::new(job));
        let name = self.name;
        responded
            .await
            .map_err(|_| Error::internal(format!("a thread `{name}` ended without a result")))
    }

    /// Closes the queue if no thread starts, so that no request waits for one.
    fn start_threads(&self) {
        let mut started = 0;
        for number in 0..self.threads {
            let (queue, name) = (Arc::clone(&self.queue), self.name);
            let thread = std::thread::Builder::new().name(format!("{name}-{number}"));
            match thread.spawn(move || queue.work(name)) {
                Ok(_detached) => started += 1,
                Err(error) => tracing::error!(%error, name, "could not start a thread"),
            }
        }
        if started == 0 {
            self.queue.lock().is_closed = true;
        }
    }
}

impl<S> Drop for Pool<S> {
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

impl<S> Queue<S> {
    fn lock(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Default> Queue<S> {
    /// Adds a job. Drops it if the queue is closed, which ends the wait of its caller.
    fn push(&self, job: Job<S>) {
        let mut state = self.lock();
        if !state.is_closed {
            state.jobs.push_back(job);
            self.changed.notify_one();
        }
    }

    /// Returns the next job; `None` once the queue is closed. Frees the memory while the queue is empty.
    fn next(&self, memory: &mut Option<S>) -> Option<Job<S>> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if memory.is_none() {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let waited = self.changed.wait_timeout(state, KEPT);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if timeout.timed_out() && state.jobs.is_empty() {
                *memory = None;
            }
        }
    }

    /// Runs jobs until the pool is dropped.
    fn work(&self, name: &str) {
        throttle();
        let mut memory = None;
        while let Some(job) = self.next(&mut memory) {
            let memory = memory.get_or_insert_with(S::default);
            if catch_unwind(AssertUnwindSafe(|| job(memory))).is_err() {
                tracing::error!(name, "a computation panicked");
            }
        }
    }
}

/// Lowers the priority of this thread. On Linux each thread has its own priority; elsewhere the whole process would be affected.
fn throttle() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::warn!(%error, "could not lower the priority of a thread");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_WORK: usize = 3;

    fn pool(queue: usize) -> Pool<()> {
        Pool::new("test", 1, queue, AT_WORK)
    }

    async fn permit(pool: &Pool<()>) -> Permit {
        let position = pool.queue_position().expect("free");
        pool.acquire(position).await.expect("running")
    }

    #[tokio::test]
    async fn beyond_the_queue_nothing_is_taken_until_a_place_is_free() {
        let pool = pool(1);
        let capacity = [permit(&pool).await, permit(&pool).await];

        assert!(pool.queue_position().is_none());
        drop(capacity);

        assert!(pool.queue_position().is_some());
        assert_eq!(pool.taken.load(Ordering::Acquire), 0);
    }

    #[tokio::test]
    async fn few_are_at_work_and_the_others_wait_in_order() {
        let pool = pool(8);
        let mut at_work = Vec::new();
        for _ in 0..AT_WORK {
            at_work.push(permit(&pool).await);
        }
        let mut first = Box::pin(permit(&pool));
        let mut second = Box::pin(permit(&pool));
        assert!(futures_util::poll!(&mut first).is_pending());
        assert!(futures_util::poll!(&mut second).is_pending());

        at_work.pop();

        assert!(futures_util::poll!(&mut second).is_pending());
        let permit = first.await;
        assert_eq!(pool.taken.load(Ordering::Acquire), AT_WORK + 1);
        drop(second);
        drop((at_work, permit));
        assert_eq!(pool.taken.load(Ordering::Acquire), 0);
    }

    #[tokio::test]
    async fn a_panic_costs_its_own_request_only() {
        let pool = pool(1);
        let permit = permit(&pool).await;

        let failed: Result<()> = pool.run(&permit, |()| panic!("on purpose")).await;
        let next = pool.run(&permit, |()| 7).await;

        assert!(failed.is_err());
        assert_eq!(next.expect("the thread goes on"), 7);
    }

    #[tokio::test]
    async fn without_threads_no_request_waits() {
        let pool: Pool<()> = Pool::new("test", 0, 1, AT_WORK);
        let permit = Permit {
            _slot: Arc::new(Semaphore::new(1)).try_acquire_owned().expect("free"),
            _position: pool.queue_position().expect("free"),
        };

        for _ in 0..2 {
            let failed = pool.run(&permit, |()| 7).await;

            assert!(failed.is_err(), "{failed:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn only_the_threads_of_the_pool_run_at_low_priority() {
        let pool = pool(1);
        let permit = permit(&pool).await;
        let niceness = || rustix::process::getpriority_process(None).expect("known");
        let before = niceness();

        let there = pool.run(&permit, move |()| niceness()).await.expect("run");

        assert_eq!(there, NICENESS.max(before));
        assert_eq!(niceness(), before);
    }

    #[tokio::test]
    async fn abandoned_work_is_skipped() {
        let pool = pool(8);
        let permit = permit(&pool).await;
        let ran = Arc::new(AtomicUsize::new(0));
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let count = || {
            let ran = Arc::clone(&ran);
            move |(): &mut ()| {
                ran.fetch_add(1, Ordering::AcqRel);
            }
        };
        let blocking = pool.run(&permit, move |()| wait.recv().is_ok());
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
