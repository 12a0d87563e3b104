//! Notifies waiters for events of this process.

use std::collections::BTreeSet;
use std::mem;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;
use uuid::Uuid;

/// Number of tenants with due events that are remembered; beyond it, the relay looks at all tenants.
const MOST_TENANTS: usize = 1000;

/// Notified after each commit that may have emitted events, of this process or another one.
#[derive(Debug)]
pub struct CommitNotifier {
    all: watch::Sender<bool>,
    here: watch::Sender<bool>,
    committed: Mutex<Committed>,
}

/// The tenants in which commits of this process announced events that a subscriber wants.
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
    /// Notifies of a commit of this process with events. `tenants` are those with events that a subscriber wants; cursors pass the other events when the
    /// relay looks at all tenants.
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

    /// Takes the tenants with due events of the commits of this process since the last time.
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn take(notifier: &CommitNotifier) -> Option<Vec<Uuid>> {
        match notifier.take_committed() {
            Committed::In(tenants) => Some(Vec::from_iter(tenants)),
            Committed::Anywhere => None,
        }
    }

    #[test]
    fn a_commit_without_wanted_events_wakes_waiters_and_is_not_remembered() {
        let notifier = CommitNotifier::default();
        let mut waiter = notifier.listen();

        notifier.notify([]);

        assert!(waiter.notified().now_or_never().is_some());
        assert_eq!(take(&notifier), Some(vec![]));
    }

    #[test]
    fn tenants_are_remembered_until_they_are_too_many() {
        let notifier = CommitNotifier::default();
        let tenants = |number: u128| (1..=number).map(Uuid::from_u128);

        notifier.notify(tenants(2));
        notifier.notify(tenants(3));
        assert_eq!(take(&notifier), Some(tenants(3).collect()));
        assert_eq!(take(&notifier), Some(vec![]));

        for number in 1..=1001 {
            notifier.notify([Uuid::from_u128(number)]);
        }
        assert_eq!(take(&notifier), None);
        assert_eq!(take(&notifier), Some(vec![]));
    }
}
