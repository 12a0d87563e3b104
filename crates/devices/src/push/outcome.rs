//! The outcomes of attempts, and what they mean for deliveries.

use std::time::Duration;

use backoffice_core::Timestamp;
use backoffice_core::ids::Ids;

/// Attempts of a delivery.
pub(crate) const ATTEMPTS: i32 = 3;
/// The waits after the first and the second attempt.
const WAITS: [time::Duration; 2] = [time::Duration::seconds(10), time::Duration::minutes(1)];
/// Age at which a message is no longer sent.
pub(crate) const OLDEST: time::Duration = time::Duration::days(1);

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The provider accepted the message.
    Sent,
    /// The message is not sent, for this reason.
    Skipped(&'static str),
    /// No attempt will succeed, for this reason.
    Failed(&'static str),
    /// The token is no longer valid.
    Unregistered,
    /// The attempt failed; the provider may have asked for a wait.
    Retry(Option<Duration>),
    /// The provider, its service or the token is stopped until then. This is no attempt.
    Stopped(Timestamp),
}

/// The state of a delivery after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    /// `pending`, `sent`, `failed` or `skipped`.
    pub(crate) status: &'static str,
    /// The number of attempts.
    pub(crate) attempts: i32,
    /// The earliest time of the next one.
    pub(crate) due: Timestamp,
    /// The reason of a failure.
    pub(crate) error: Option<&'static str>,
    /// The label in the metric of deliveries.
    pub(crate) label: &'static str,
}

impl Outcome {
    /// Returns the state of a delivery that had `attempts` attempts before.
    pub(crate) fn state(self, attempts: i32, now: Timestamp, ids: &Ids) -> State {
        let state = |status, attempts, error| State {
            status,
            attempts,
            due: now,
            error,
            label: status,
        };
        match self {
            Self::Sent => state("sent", attempts + 1, None),
            Self::Skipped(reason) => state("skipped", attempts, Some(reason)),
            Self::Failed(reason) => state("failed", attempts + 1, Some(reason)),
            Self::Unregistered => state("failed", attempts + 1, Some("unregistered")),
            Self::Stopped(until) => State {
                due: until,
                label: "stopped",
                ..state("pending", attempts, Some("provider_rejects_keys"))
            },
            Self::Retry(_) if attempts + 1 >= ATTEMPTS => state("failed", attempts + 1, Some("not_accepted")),
            Self::Retry(after) => State {
                due: now.after(wait(attempts, after, ids)),
                label: "retried",
                ..state("pending", attempts + 1, Some("not_accepted"))
            },
        }
    }
}

/// Returns the wait after an attempt: the usual one, longer by up to a fifth, or the one that the provider asked for, if it is longer.
fn wait(attempts: i32, after: Option<Duration>, ids: &Ids) -> time::Duration {
    let usual = usize::try_from(attempts)
        .ok()
        .and_then(|index| WAITS.get(index))
        .copied();
    let usual = usual.unwrap_or(WAITS[1]);
    let [random] = ids.random::<1>();
    let asked = after.map(|after| time::Duration::try_from(after).unwrap_or(OLDEST));
    let wait = asked.unwrap_or_default().clamp(usual, OLDEST);
    wait + usual * i32::from(random) / 1275
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_has_three_attempts_and_a_requested_wait_is_kept() {
        let (now, ids) = (Timestamp::UNIX_EPOCH, Ids::default());
        let after =
            |attempts, asked: Option<u64>| Outcome::Retry(asked.map(Duration::from_secs)).state(attempts, now, &ids);
        let seconds = |state: State| (state.due.get() - now.get()).whole_seconds();

        assert!((10..=12).contains(&seconds(after(0, None))));
        assert!((60..=72).contains(&seconds(after(1, None))));
        assert!((120..=122).contains(&seconds(after(0, Some(120)))));
        assert!((10..=12).contains(&seconds(after(0, Some(1)))));
        assert!((86_400..=86_402).contains(&seconds(after(0, Some(u64::MAX)))));
        assert_eq!(
            (after(1, None).status, after(2, Some(60)).status),
            ("pending", "failed")
        );
    }

    #[test]
    fn a_stopped_provider_costs_no_attempt() {
        let now = Timestamp::UNIX_EPOCH;
        let state = Outcome::Stopped(now.after(OLDEST)).state(2, now, &Ids::default());

        assert_eq!(
            (state.status, state.attempts, state.due),
            ("pending", 2, now.after(OLDEST))
        );
    }
}
