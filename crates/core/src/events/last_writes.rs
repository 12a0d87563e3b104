//! What the handlers of a delivery write last: events, and versions of collections.
//!
//! Both lock rows that every command of the tenant needs at its end, in this order. A delivery runs many handlers in one transaction, so it collects what
//! they announce and writes it with one statement before its commit. The locks are held for that statement and the commit only.

use std::collections::BTreeSet;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use diesel_async::AsyncPgConnection;
use uuid::Uuid;

use super::{EventRows, write_events};
use crate::collections;
use crate::context::Call;
use crate::error::{Error, Result};
use crate::platform::Runtime;

/// Number of collected events after which a delivery handles no further event.
const MOST_EVENTS: usize = 1000;

/// Collects the last writes of one handler.
#[derive(Debug)]
pub(super) struct Collector {
    tenant: Uuid,
    writes: Mutex<LastWrites>,
}

/// Events and changed kinds.
#[derive(Debug, Default)]
pub(super) struct LastWrites {
    events: EventRows,
    kinds: BTreeSet<String>,
}

impl Collector {
    /// Creates the call of a delivery in a tenant.
    pub(super) fn call(runtime: &Runtime, tenant: Uuid) -> Call {
        let collector = Self {
            tenant,
            writes: Mutex::default(),
        };
        Call {
            collector: Some(Arc::new(collector)),
            ..Call::internal(runtime)
        }
    }

    /// Returns what a call collects, if it is that of a delivery.
    pub(super) fn of(call: &Call) -> Option<&Self> {
        call.collector.as_ref()?.downcast_ref()
    }

    pub(super) fn add(&self, tenant: Uuid, events: EventRows, kinds: &[&str]) -> Result<()> {
        if tenant != self.tenant {
            return Err(Error::internal("a subscriber announces a change of another tenant"));
        }
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        writes.events.append(events);
        writes.kinds.extend(kinds.iter().map(|&kind| kind.to_owned()));
        Ok(())
    }

    /// Takes what was collected since the last time.
    pub(super) fn take(call: &Call) -> LastWrites {
        let taken = |collector: &Self| mem::take(&mut *collector.writes.lock().unwrap_or_else(PoisonError::into_inner));
        Self::of(call).map(taken).unwrap_or_default()
    }
}

impl LastWrites {
    pub(super) fn append(&mut self, mut other: Self) {
        self.events.append(other.events);
        self.kinds.append(&mut other.kinds);
    }

    pub(super) fn is_full(&self) -> bool {
        self.events.len() >= MOST_EVENTS
    }

    /// Writes everything with at most one statement, the last one before the commit. Returns the names of the events.
    pub(super) async fn write(
        self,
        connection: &mut AsyncPgConnection,
        call: &Call,
        tenant: Uuid,
    ) -> Result<Vec<String>> {
        if self.events.len() > 0 {
            let kinds = Vec::from_iter(self.kinds);
            let names = self.events.names.clone();
            write_events(connection, call, tenant, self.events, &kinds).await?;
            return Ok(names);
        }
        if !self.kinds.is_empty() {
            let kinds: Vec<&str> = self.kinds.iter().map(String::as_str).collect();
            let id = call.platform().ids().at(call.now);
            collections::touch(connection, tenant, &kinds, id, call.now).await?;
        }
        Ok(Vec::new())
    }
}
