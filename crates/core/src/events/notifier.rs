//! Wakes whoever waits for events of this process.

use tokio::sync::watch;

/// Rung after each commit that may have announced something, of this process or another one.
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

    /// Something was committed in another process.
    pub(super) fn notify_remote(&self) {
        self.all.send_modify(|_| {});
    }

    /// The process ends: streams close, so that nobody waits for them.
    pub fn close(&self) {
        self.all.send_replace(true);
    }

    /// An ear for what rings from now on.
    #[must_use]
    pub fn listen(&self) -> CommitWaiter {
        CommitWaiter(self.all.subscribe())
    }

    /// An ear for what this process commits.
    pub(super) fn listen_here(&self) -> CommitWaiter {
        CommitWaiter(self.here.subscribe())
    }
}

/// Hears the bell.
#[derive(Debug)]
pub struct CommitWaiter(watch::Receiver<bool>);

impl CommitWaiter {
    /// Waits for the next ringing; one that was missed counts.
    pub async fn notified(&mut self) {
        if self.0.changed().await.is_err() {
            // Nobody can ring any more.
            std::future::pending::<()>().await;
        }
    }

    /// Whether the process ends.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        *self.0.borrow()
    }
}
