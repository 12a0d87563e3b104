//! The outcomes of attempts, and what they mean for deliveries.

use std::time::Duration;

use backoffice_core::Timestamp;
use backoffice_core::ids::Ids;

/// The waits between the attempts, which take place 0 s, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 14 h after the first one.
const WAITS: [time::Duration; 7] = [
    time::Duration::seconds(5),
    time::Duration::seconds(295),
    time::Duration::minutes(25),
    time::Duration::minutes(90),
    time::Duration::hours(3),
    time::Duration::hours(5),
    time::Duration::hours(4),
];
/// Longest wait that a receiver can ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(3600);
/// The wait for a host to which enough requests are in flight.
const BUSY: time::Duration = time::Duration::seconds(1);

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The receiver responded.
    Response {
        status: u16,
        /// The wait that it asks for.
        retry_after: Option<Duration>,
    },
    /// The request may not be sent: no attempt will succeed.
    Rejected,
    /// The request could not be created: no attempt will succeed.
    Invalid,
    /// A secret of the request can't be opened: no attempt will succeed with the present keys.
    UnreadableSecret,
    /// The tenant was deleted: the request is not sent. This is no attempt.
    TenantDeleted,
    /// There was no response, for this reason.
    NoResponse(&'static str),
    /// Enough requests to the host are in flight. This is no attempt.
    Busy,
}

/// The state of a delivery after an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// `pending`, `sent` or `failed`.
    pub(crate) status: &'static str,
    pub(crate) attempts: i32,
    /// The earliest time of the next attempt.
    pub(crate) due: Timestamp,
    pub(crate) response_status: Option<i32>,
    pub(crate) error: Option<String>,
    /// The label in the metric of deliveries.
    pub(crate) label: &'static str,
}

impl Outcome {
    /// Returns the state of a delivery that had `attempts` attempts before.
    pub(crate) fn state(self, attempts: i32, now: Timestamp, ids: &Ids) -> State {
        let response_status = match self {
            Self::Response { status, .. } => Some(i32::from(status)),
            _ => None,
        };
        let state = |status, error: Option<String>| State {
            status,
            attempts: attempts + 1,
            due: now,
            response_status,
            error,
            label: status,
        };
        let (error, asked) = match self {
            Self::Busy => {
                return State {
                    attempts,
                    due: now.after(BUSY),
                    label: "delayed",
                    ..state("pending", None)
                };
            }
            Self::TenantDeleted => {
                return State {
                    attempts,
                    ..state("failed", Some("tenant_deleted".to_owned()))
                };
            }
            Self::Response { status: 200..=299, .. } => return state("sent", None),
            // Redirects are not followed, because the target of one is not checked when the rule is saved.
            Self::Rejected | Self::Response { status: 300..=399, .. } => {
                return state("failed", Some("egress_refused".to_owned()));
            }
            Self::Invalid => return state("failed", Some("invalid_request".to_owned())),
            Self::UnreadableSecret => return state("failed", Some("unreadable_secret".to_owned())),
            Self::NoResponse(reason) => (reason.to_owned(), None),
            Self::Response { status, retry_after } => {
                let error = format!("status_{status}");
                if (400..=499).contains(&status) && !matches!(status, 408 | 429) {
                    return state("failed", Some(error));
                }
                (error, retry_after.filter(|_| matches!(status, 429 | 503)))
            }
        };
        let usual = usize::try_from(attempts).ok().and_then(|index| WAITS.get(index));
        let Some(usual) = usual.copied() else {
            return state("failed", Some(error));
        };
        let wait = varied(usual, ids);
        let asked = asked.map(|asked| time::Duration::try_from(asked.min(LONGEST_ASKED)).unwrap_or(usual));
        State {
            due: now.after(asked.map_or(wait, |asked| asked.max(wait))),
            label: "retried",
            ..state("pending", Some(error))
        }
    }
}

/// Returns a wait that is longer or shorter by up to a tenth.
fn varied(usual: time::Duration, ids: &Ids) -> time::Duration {
    let [random] = ids.random::<1>();
    usual * 9 / 10 + usual * i32::from(random) / 1275
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn respond(status: u16, attempts: i32, retry_after: Option<u64>) -> State {
        let retry_after = retry_after.map(Duration::from_secs);
        Outcome::Response { status, retry_after }.state(attempts, NOW, &Ids::default())
    }

    fn seconds(state: &State) -> i64 {
        (state.due.get() - NOW.get()).whole_seconds()
    }

    #[test]
    fn statuses_decide_whether_there_is_another_attempt() {
        for (status, expected) in [
            (200, "sent"),
            (204, "sent"),
            (302, "failed"),
            (400, "failed"),
            (408, "pending"),
            (410, "failed"),
            (429, "pending"),
            (500, "pending"),
            (503, "pending"),
        ] {
            assert_eq!(respond(status, 0, None).status, expected, "{status}");
        }
        assert_eq!(respond(302, 0, None).error.as_deref(), Some("egress_refused"));
        assert_eq!(
            (respond(500, 6, None).status, respond(500, 7, None).status),
            ("pending", "failed")
        );
    }

    #[test]
    fn waits_vary_by_a_tenth_and_a_requested_wait_is_kept_up_to_an_hour() {
        for (attempts, usual) in [
            (0, 5),
            (1, 295),
            (2, 1500),
            (3, 5400),
            (4, 10_800),
            (5, 18_000),
            (6, 14_400),
        ] {
            for _ in 0..50 {
                let wait = seconds(&respond(500, attempts, Some(9999)));
                assert!((usual * 9 / 10..=usual * 11 / 10).contains(&wait), "{attempts}: {wait}");
            }
        }
        assert_eq!(seconds(&respond(429, 0, Some(120))), 120);
        assert_eq!(seconds(&respond(503, 0, Some(9999))), 3600);
        assert!(seconds(&respond(503, 0, Some(1))) >= 4);
    }

    #[test]
    fn a_delivery_of_a_deleted_tenant_fails_without_an_attempt() {
        let state = Outcome::TenantDeleted.state(3, NOW, &Ids::default());
        assert_eq!(
            (state.status, state.attempts, state.error.as_deref()),
            ("failed", 3, Some("tenant_deleted"))
        );
    }

    #[test]
    fn a_busy_host_costs_no_attempt() {
        let state = Outcome::Busy.state(3, NOW, &Ids::default());
        assert_eq!((state.status, state.attempts, seconds(&state)), ("pending", 3, 1));
    }
}
