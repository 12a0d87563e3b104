//! Wakes whoever waits for events of this process.

use tokio::sync::watch;

/// Rung after each commit that may have announced something, of this process or another one.
#[derive(Debug)]
pub struct EventBell {
    all: watch::Sender<bool>,
    here: watch::Sender<bool>,
}

impl Default for EventBell {
    fn default() -> Self {
        Self {
            all: watch::channel(false).0,
            here: watch::channel(false).0,
        }
    }
}

impl EventBell {
    pub(crate) fn ring(&self) {
        self.here.send_modify(|_| {});
        self.ring_from_afar();
    }

    /// Something was committed in another process.
    pub(super) fn ring_from_afar(&self) {
        self.all.send_modify(|_| {});
    }

    /// The process ends: streams close, so that nobody waits for them.
    pub fn close(&self) {
        self.all.send_replace(true);
    }

    /// An ear for what rings from now on.
    #[must_use]
    pub fn listen(&self) -> Listening {
        Listening(self.all.subscribe())
    }

    /// An ear for what this process commits.
    pub(super) fn listen_here(&self) -> Listening {
        Listening(self.here.subscribe())
    }
}

/// Hears the bell.
#[derive(Debug)]
pub struct Listening(watch::Receiver<bool>);

impl Listening {
    /// Waits for the next ringing; one that was missed counts.
    pub async fn heard(&mut self) {
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
