//! The signals that end the process.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{Error, Result};

/// Receives SIGTERM and SIGINT. The first signal begins the shutdown, the second one ends it at once.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    received: u32,
}

impl Signals {
    /// Handles the signals from now on; without this they end the process.
    pub(crate) fn listen() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).map_err(Error::file("SIGTERM"))?,
            interrupt: signal(SignalKind::interrupt()).map_err(Error::file("SIGINT"))?,
            received: 0,
        })
    }

    /// Waits for the first signal.
    pub(crate) async fn first(&mut self) {
        self.wait_for(1).await;
    }

    /// Waits for the second signal; returns immediately once it was received.
    pub(crate) async fn second(&mut self) {
        self.wait_for(2).await;
    }

    /// Returns whether the second signal was received.
    pub(crate) fn is_urgent(&self) -> bool {
        self.received > 1
    }

    async fn wait_for(&mut self, number: u32) {
        while self.received < number {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
            }
            self.received += 1;
        }
    }
}
