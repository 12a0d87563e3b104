//! What a connection has under way and what it keeps, as diesel tells it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use diesel::connection::{CacheSize, Instrumentation, InstrumentationEvent};
use diesel_async::{AsyncConnection, AsyncPgConnection};

/// Statements that a connection keeps prepared at most, besides those that one borrower adds. A list with filters is another statement for
/// each set of filters, so their number has no bound of its own; PostgreSQL needs up to 70 KiB for one of them.
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
    /// Counts from now on what this connection does.
    pub(super) fn of(connection: &mut AsyncPgConnection) -> Self {
        let usage = Self::default();
        connection.set_instrumentation(usage.clone());
        usage
    }

    /// Whether every statement that was sent has ended. One whose future was dropped never does.
    pub(super) fn is_quiet(&self) -> bool {
        self.0.under_way.load(Ordering::Acquire) == 0
    }

    /// The server has answered everything.
    pub(super) fn after_transition(&self) {
        self.0.under_way.store(0, Ordering::Release);
    }

    /// Whether the connection keeps more statements than it may.
    pub(super) fn is_full(&self) -> bool {
        self.0.kept.load(Ordering::Acquire) > MOST_STATEMENTS
    }

    /// Forgets the kept statements, here and at the server, when they have become too many. Nothing is waited for.
    pub(super) fn trim(&self, connection: &mut AsyncPgConnection) {
        if self.is_full() {
            // A cache of another size is a new one; the statements of the old one are closed.
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
                // None: it began before anything was counted.
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
