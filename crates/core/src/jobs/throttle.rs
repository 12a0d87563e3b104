//! Throttling: jobs yield to requests that arrive at the same process. They do less in one step, and rest between steps.

use std::num::NonZero;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::time::Timestamp;

/// Maximum number of items of a chunk while requests arrive.
pub(super) const REDUCED_CHUNK: usize = 10;
/// Milliseconds of use that a request adds: fewer than five requests per second, such as those of a user who follows the progress of a job, add
/// less time than passes between them.
const REQUEST_WEIGHT_MS: i64 = 200;
/// Milliseconds ahead from which the process counts as busy: more than four requests at once, or five per second for a while.
const BUSY_MS: i64 = 4 * REQUEST_WEIGHT_MS;
/// Maximum number of milliseconds after which requests are forgotten.
const HORIZON_MS: i64 = 2000;
/// Longest rest.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// The load of a process: its requests and its jobs.
#[derive(Debug)]
pub(crate) struct Throttle {
    /// End of the use added by the requests so far, in milliseconds since 1970.
    used_until: AtomicI64,
    /// Number of running jobs that may have to rest.
    at_work: AtomicUsize,
    cores: usize,
}

/// A counted job; dropping it ends the count.
#[derive(Debug)]
pub(super) struct AtWork<'a>(&'a Throttle);

impl Throttle {
    /// Creates a throttle for the cores of this machine.
    pub(super) fn new() -> Self {
        Self::with_cores(std::thread::available_parallelism().map_or(1, NonZero::get))
    }

    fn with_cores(cores: usize) -> Self {
        Self {
            used_until: AtomicI64::new(i64::MIN),
            at_work: AtomicUsize::new(0),
            cores,
        }
    }

    /// Records the arrival of a request.
    pub(crate) fn request(&self, now: Timestamp) {
        let now = now.unix_millis();
        let next = |until: i64| Some((until.max(now) + REQUEST_WEIGHT_MS).min(now + HORIZON_MS));
        // The closure always returns a value, so the update can't fail.
        let _before = self.used_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    /// Returns whether so many requests arrive that jobs must yield. After the clock was set back, the result is false until the next request.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let now = now.unix_millis();
        let until = self.used_until.load(Ordering::Relaxed);
        (now + BUSY_MS + 1..=now + HORIZON_MS).contains(&until)
    }

    /// Counts a running job.
    pub(super) fn work(&self) -> AtWork<'_> {
        self.at_work.fetch_add(1, Ordering::Relaxed);
        AtWork(self)
    }

    /// Returns the rest after a step that took this long: all jobs together leave one core to the requests.
    pub(super) fn rest(&self, step: Duration) -> Duration {
        let at_work = u32::try_from(self.at_work.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        let others = u32::try_from(self.cores.saturating_sub(1).max(1)).unwrap_or(u32::MAX);
        (step.saturating_mul(at_work.max(1)) / others).min(LONGEST_REST)
    }
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::parse("2026-11-20T08:00:00Z")
            .expect("an instant")
            .after(time::Duration::milliseconds(millis))
    }

    /// Sends requests at this interval for two seconds; returns the end.
    fn steady(throttle: &Throttle, every: i64) -> i64 {
        let mut now = 0;
        while now < 2000 {
            throttle.request(at(now));
            now += every;
        }
        now
    }

    #[test]
    fn occasional_requests_do_not_count() {
        let throttle = Throttle::with_cores(2);
        assert!(!throttle.is_due(at(0)));
        let now = steady(&throttle, 201);
        assert!(!throttle.is_due(at(now)));
    }

    #[test]
    fn many_requests_count_until_shortly_after_the_last_one() {
        for every in [1, 20, 100] {
            let throttle = Throttle::with_cores(2);
            let now = steady(&throttle, every);
            assert!(throttle.is_due(at(now)), "one every {every} ms");
            assert!(!throttle.is_due(at(now + HORIZON_MS)), "one every {every} ms");
        }
        let at_once = Throttle::with_cores(2);
        (0..4).for_each(|_| at_once.request(at(0)));
        assert!(!at_once.is_due(at(0)));
        at_once.request(at(0));
        assert!(at_once.is_due(at(0)));
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_count_as_use_for_ever() {
        let throttle = Throttle::with_cores(2);
        steady(&throttle, 20);
        let back = -3_600_000;
        assert!(!throttle.is_due(at(back)));
        throttle.request(at(back));
        assert!(throttle.is_due(at(back)));
        assert!(!throttle.is_due(at(back + HORIZON_MS)));
    }

    #[test]
    fn jobs_leave_a_core_to_the_requests() {
        let step = Duration::from_millis(12);
        for (cores, jobs, rest) in [(1, 1, 12), (2, 1, 12), (2, 3, 36), (4, 1, 4), (4, 3, 12)] {
            let throttle = Throttle::with_cores(cores);
            let at_work: Vec<_> = (0..jobs).map(|_| throttle.work()).collect();
            assert_eq!(
                throttle.rest(step),
                Duration::from_millis(rest),
                "{jobs} on {cores} cores"
            );
            drop(at_work);
            assert_eq!(throttle.at_work.load(Ordering::Relaxed), 0);
        }
        let slow = Throttle::with_cores(2).rest(Duration::from_secs(5));
        assert_eq!(slow, LONGEST_REST);
    }
}
