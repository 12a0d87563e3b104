//! Notifies waiters for events of this process.

use tokio::sync::watch;

/// Notified after each commit that may have emitted events, of this process or another one.
#[derive(Debug)]
pub struct CommitNotifier {
    all: watch::Sender<bool>,
    here: watch::Sender<bool>,
}

impl Default for CommitNotifier {
    fn default() -> Self {
        Self {
            all: watch::channel(false).0,
            here: watch::channel(false).0,
        }
    }
}

impl CommitNotifier {
    pub(crate) fn notify(&self) {
        self.here.send_modify(|_| {});
        self.notify_remote();
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
