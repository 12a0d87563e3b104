//! A clock that moves only when a test moves it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use backoffice_core::Timestamp;
use backoffice_core::time::Clock;
use time::Duration;

/// Where the time of a test starts.
pub(crate) const START: &str = "2026-11-20T08:00:00Z";

/// The present as the test sets it.
#[derive(Debug)]
pub struct MockClock {
    now: Mutex<Timestamp>,
}

impl MockClock {
    /// A clock that stands at this instant.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        Self { now: Mutex::new(now) }
    }

    /// Moves the present; a negative duration moves it back.
    pub fn advance(&self, duration: Duration) {
        let mut now = self.lock();
        *now = now.after(duration);
    }

    /// Sets the present.
    pub fn set(&self, now: Timestamp) {
        *self.lock() = now;
    }

    fn lock(&self) -> MutexGuard<'_, Timestamp> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for MockClock {
    fn now(&self) -> Timestamp {
        *self.lock()
    }
}
