//! Notifies waiters for events of this process.

use std::collections::BTreeSet;
use std::mem;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;
use uuid::Uuid;

/// Number of tenants that are remembered; beyond it, the relay looks at all tenants.
const MOST_TENANTS: usize = 1000;

/// Notified after each commit that may have emitted events, of this process or another one.
#[derive(Debug)]
pub struct CommitNotifier {
    all: watch::Sender<bool>,
    here: watch::Sender<bool>,
    committed: Mutex<Committed>,
}

/// The tenants of commits of this process.
#[derive(Debug)]
pub(super) enum Committed {
    In(BTreeSet<Uuid>),
    /// In too many tenants to remember.
    Anywhere,
}

impl Default for Committed {
    fn default() -> Self {
        Self::In(BTreeSet::new())
    }
}

impl Default for CommitNotifier {
    fn default() -> Self {
        Self {
            all: watch::channel(false).0,
            here: watch::channel(false).0,
            committed: Mutex::default(),
        }
    }
}

impl CommitNotifier {
    /// Notifies of a commit of this process with events of these tenants.
    pub(crate) fn notify(&self, tenants: impl IntoIterator<Item = Uuid>) {
        {
            let mut committed = self.committed.lock().unwrap_or_else(PoisonError::into_inner);
            if let Committed::In(known) = &mut *committed {
                known.extend(tenants);
                if known.len() > MOST_TENANTS {
                    *committed = Committed::Anywhere;
                }
            }
        }
        self.here.send_modify(|_| {});
        self.notify_remote();
    }

    /// Takes the tenants of the commits of this process since the last time.
    pub(super) fn take_committed(&self) -> Committed {
        mem::take(&mut *self.committed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notifies of a commit in another process.
    pub(super) fn notify_remote(&self) {
        self.all.send_modify(|_| {});
    }

    /// Closes the streams, which would otherwise keep the process from ending.
    pub fn close(&self) {
        self.all.send_replace(true);
    }

    /// Returns a waiter for all later commits.
    #[must_use]
    pub fn listen(&self) -> CommitWaiter {
        CommitWaiter(self.all.subscribe())
    }

    /// Returns a waiter for commits of this process.
    pub(super) fn listen_here(&self) -> CommitWaiter {
        CommitWaiter(self.here.subscribe())
    }
}

/// Waits for commits.
#[derive(Debug)]
pub struct CommitWaiter(watch::Receiver<bool>);

impl CommitWaiter {
    /// Waits for the next notification; a missed one counts.
    pub async fn notified(&mut self) {
        if self.0.changed().await.is_err() {
            // The notifier was dropped: no further notification can arrive.
            std::future::pending::<()>().await;
        }
    }

    /// Returns whether the process is ending.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        *self.0.borrow()
    }
}
