//! Pauses before work is repeated.

use std::time::Duration;

use crate::ids::Ids;

/// Number of repetitions of a transaction that collides with another one.
const REPEATS: u32 = 3;

/// Counts the repetitions of a transaction that collides with others.
#[derive(Debug, Default)]
pub(crate) struct Collisions(u32);

impl Collisions {
    /// Returns whether the transaction may be repeated once more.
    pub(crate) fn may_repeat(&self) -> bool {
        self.0 < REPEATS
    }

    /// Counts a repetition, and waits until the colliding transactions have probably ended.
    pub(crate) async fn pause(&mut self, ids: &Ids) {
        self.0 += 1;
        let [jitter] = ids.random::<1>();
        tokio::time::sleep(Duration::from_millis(u64::from(self.0) * 5 + u64::from(jitter) / 10)).await;
    }
}

/// The wait of a loop that survives outages: it doubles with every failure, up to a limit.
#[derive(Debug)]
pub(crate) struct Backoff {
    shortest: Duration,
    longest: Duration,
    wait: Duration,
}

impl Backoff {
    pub(crate) fn new(shortest: Duration, longest: Duration) -> Self {
        Self {
            shortest,
            longest,
            wait: shortest,
        }
    }

    /// Returns the wait before the next attempt.
    pub(crate) fn wait(&self) -> Duration {
        self.wait
    }

    pub(crate) fn succeeded(&mut self) {
        self.wait = self.shortest;
    }

    pub(crate) fn failed(&mut self) {
        self.wait = (self.wait * 2).min(self.longest);
    }
}

/// Returns 800 to 1200 thousandths, by which waits are multiplied so that simultaneous failures are not repeated simultaneously.
pub(crate) fn spread(random: u8) -> i32 {
    800 + i32::from(random) * 400 / 255
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_spread_by_a_fifth() {
        assert_eq!((spread(0), spread(255)), (800, 1200));
    }

    #[test]
    fn a_wait_doubles_until_a_success() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(10));
        let waits: Vec<u64> = (0..5)
            .map(|_| {
                backoff.failed();
                backoff.wait().as_secs()
            })
            .collect();
        assert_eq!(waits, [2, 4, 8, 10, 10]);

        backoff.succeeded();

        assert_eq!(backoff.wait(), Duration::from_secs(1));
    }
}
