//! Counts the running and the prepared statements of a connection, as reported by diesel.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use diesel::connection::{CacheSize, Instrumentation, InstrumentationEvent};
use diesel_async::{AsyncConnection, AsyncPgConnection};

/// Maximum number of statements that a connection keeps prepared, besides those that one borrower adds. A list has another statement for each
/// set of filters, so their number is not bounded otherwise; PostgreSQL needs up to 70 KiB for one of them.
pub(super) const MOST_STATEMENTS: usize = 200;

/// Counts the statements of one connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    kept: AtomicUsize,
    under_way: AtomicUsize,
}

impl Usage {
    /// Starts counting the statements of this connection.
    pub(super) fn of(connection: &mut AsyncPgConnection) -> Self {
        let usage = Self::default();
        connection.set_instrumentation(usage.clone());
        usage
    }

    /// Returns whether every sent statement has ended. A statement whose future was dropped never ends.
    pub(super) fn is_quiet(&self) -> bool {
        self.0.under_way.load(Ordering::Acquire) == 0
    }

    /// Records that the server has responded to all statements.
    pub(super) fn responded(&self) {
        self.0.under_way.store(0, Ordering::Release);
    }

    /// Returns the number of prepared statements that are kept; it grows when the connection begins to prepare another one.
    pub(super) fn kept(&self) -> usize {
        self.0.kept.load(Ordering::Acquire)
    }

    /// Returns whether the connection has more prepared statements than it may.
    pub(super) fn is_full(&self) -> bool {
        self.kept() > MOST_STATEMENTS
    }

    /// Drops the prepared statements, here and on the server, if there are too many. Does not wait.
    pub(super) fn trim(&self, connection: &mut AsyncPgConnection) {
        if self.is_full() {
            // Setting another cache size replaces the cache; the statements of the old one are closed.
            connection.set_prepared_statement_cache_size(CacheSize::Disabled);
            connection.set_prepared_statement_cache_size(CacheSize::Unbounded);
            self.0.kept.store(0, Ordering::Release);
        }
    }
}

impl Instrumentation for Usage {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        match event {
            InstrumentationEvent::StartQuery { .. } => {
                self.0.under_way.fetch_add(1, Ordering::AcqRel);
            }
            InstrumentationEvent::FinishQuery { .. } => {
                let one_less = |count: usize| count.checked_sub(1);
                // None: the statement began before counting started.
                let _ended = self
                    .0
                    .under_way
                    .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less);
            }
            InstrumentationEvent::CacheQuery { .. } => {
                self.0.kept.fetch_add(1, Ordering::AcqRel);
            }
            _ => {}
        }
    }
}
