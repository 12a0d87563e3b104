//! A clock that moves only when a test moves it; whoever sleeps by it sleeps until then.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use backoffice_core::Timestamp;
use backoffice_core::time::Clock;
use futures_util::future::BoxFuture;
use time::Duration;
use tokio::sync::Notify;

/// Where the time of a test starts.
pub(crate) const START: &str = "2026-11-20T08:00:00Z";

/// The present as the test sets it.
#[derive(Debug)]
pub struct MockClock {
    now: Mutex<Timestamp>,
    moved: Notify,
    waiting: AtomicUsize,
}

impl MockClock {
    /// A clock that stands at this instant.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self {
            now: Mutex::new(now),
            moved: Notify::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Moves the present; a negative duration moves it back.
    pub fn advance(&self, duration: Duration) {
        let now = self.lock().after(duration);
        self.set(now);
    }

    /// Sets the present.
    pub fn set(&self, now: Timestamp) {
        *self.lock() = now;
        self.moved.notify_waiters();
    }

    /// How many wait for the clock to move.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, Timestamp> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who waits, until it goes on or is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::SeqCst);
        Self(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Clock for MockClock {
    fn now(&self) -> Timestamp {
        *self.lock()
    }

    fn sleep(&self, duration: std::time::Duration) -> BoxFuture<'_, ()> {
        let end = self.now().after(duration.try_into().unwrap_or(Duration::MAX));
        Box::pin(async move {
            let _waiting = Waiting::begin(&self.waiting);
            loop {
                let mut moved = std::pin::pin!(self.moved.notified());
                moved.as_mut().enable();
                if self.now() >= end {
                    break;
                }
                moved.await;
            }
        })
    }
}
