//! Background work that repeats at an interval, and that tests can start at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};

/// The rounds of a loop that reads something from the database at an interval.
#[derive(Debug)]
pub struct Poll {
    requested: Notify,
    begun: AtomicU64,
    finished: watch::Sender<u64>,
}

impl Default for Poll {
    fn default() -> Self {
        Self {
            requested: Notify::new(),
            begun: AtomicU64::new(0),
            finished: watch::Sender::new(0),
        }
    }
}

impl Poll {
    /// Begins a round.
    pub fn begin(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends a round, and waits until the next one: for the interval, or until one is requested.
    pub async fn finish(&self, interval: Duration) {
        self.finished.send_replace(self.begun.load(Ordering::SeqCst));
        // Which of the two came first does not matter.
        let _elapsed = tokio::time::timeout(interval, self.requested.notified()).await;
    }

    /// Requests a round, and waits until one has ended that began after the request.
    pub async fn run(&self) {
        let begun = self.begun.load(Ordering::SeqCst);
        self.requested.notify_one();
        let mut finished = self.finished.subscribe();
        // The sender is this value, so that it exists as long as the wait.
        let _round = finished.wait_for(|round| *round > begun).await;
    }
}

/// The rounds in which a node reads the revocations of rights by other nodes; provided by the module that does so.
#[derive(Debug, Default)]
pub struct RevocationPoll(pub Poll);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn a_request_waits_for_a_round_that_began_after_it() {
        let poll = Arc::new(Poll::default());
        let rounds = Arc::new(AtomicU64::new(0));
        let (own, counted) = (Arc::clone(&poll), Arc::clone(&rounds));
        let work = tokio::spawn(async move {
            loop {
                own.begin();
                tokio::task::yield_now().await;
                counted.fetch_add(1, Ordering::SeqCst);
                own.finish(Duration::from_secs(3600)).await;
            }
        });

        poll.run().await;
        let first = rounds.load(Ordering::SeqCst);
        poll.run().await;

        assert!(first >= 1 && rounds.load(Ordering::SeqCst) > first);
        work.abort();
    }
}
