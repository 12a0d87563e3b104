//! A clock that moves only when a test moves it; sleeping tasks wait for that.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use backoffice_core::Timestamp;
use backoffice_core::time::Clock;
use futures_util::future::BoxFuture;
use time::Duration;
use tokio::sync::Notify;

/// The default start of a test's clock.
pub(crate) const START: &str = "2026-11-20T08:00:00Z";

/// A clock that the test sets.
#[derive(Debug)]
pub struct MockClock {
    now: Mutex<Timestamp>,
    moved: Notify,
    waiting: AtomicUsize,
}

impl MockClock {
    /// Creates a clock at this instant.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self {
            now: Mutex::new(now),
            moved: Notify::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Advances the clock; a negative duration sets it back.
    pub fn advance(&self, duration: Duration) {
        let now = self.lock().after(duration);
        self.set(now);
    }

    /// Sets the clock.
    pub fn set(&self, now: Timestamp) {
        *self.lock() = now;
        self.moved.notify_waiters();
    }

    /// Returns the number of tasks that wait for the clock.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, Timestamp> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A waiting task, counted until it continues or is dropped.
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
