//! The signal at which the background work of a process ends.

use tokio::sync::watch;

/// The signal at which workers end: they finish their step and release the job.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Returns whether workers must end.
    #[must_use]
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for the signal.
    pub async fn set(&mut self) {
        // An error means that the sender was dropped, which ends the workers too.
        let _ended = self.0.wait_for(|stop| *stop).await;
    }
}

/// Creates a signal and its sender: `send(true)`, or drop the sender.
#[must_use]
pub fn stop_signal() -> (watch::Sender<bool>, Stop) {
    let (sender, receiver) = watch::channel(false);
    (sender, Stop(receiver))
}
