//! The amount of work of a job in one transaction, and the frequency of its progress notifications.

use std::time::Duration;

use crate::time::Timestamp;

/// Maximum number of items of a chunk.
const MOST: i16 = 100;
/// A chunk that takes longer halves the next one.
const TOO_LONG: Duration = Duration::from_secs(2);
/// A chunk that takes less doubles the next one.
const SHORT: Duration = Duration::from_millis(500);
const BETWEEN_NOTICES: time::Duration = time::Duration::milliseconds(500);

/// The pace of a job. It is stored with the cursor, so that it survives the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    items: i16,
    noticed: Option<Timestamp>,
}

impl Pace {
    /// Creates the pace from stored values.
    pub(super) fn of(items: i16, noticed: Option<Timestamp>) -> Self {
        Self {
            items: items.clamp(1, MOST),
            noticed,
        }
    }

    /// Returns the number of items of the next chunk.
    pub(super) fn items(self) -> i16 {
        self.items
    }

    /// Returns the time of the last progress notification.
    pub(super) fn noticed(self) -> Option<Timestamp> {
        self.noticed
    }

    /// Returns the pace after a chunk that took this long.
    #[must_use]
    pub(super) fn after(self, elapsed: Duration) -> Self {
        let items = if elapsed > TOO_LONG {
            self.items / 2
        } else if elapsed < SHORT {
            self.items * 2
        } else {
            self.items
        };
        Self::of(items, self.noticed)
    }

    /// Returns whether enough time has passed for another progress notification; if so, it counts as sent.
    pub(super) fn may_notify(&mut self, now: Timestamp) -> bool {
        let due = self
            .noticed
            .is_none_or(|last| last.after(BETWEEN_NOTICES) <= now || last > now);
        if due {
            self.noticed = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_chunks_shrink_to_one_item_and_quick_ones_grow_back() {
        let mut pace = Pace::of(100, None);
        for expected in [50, 25, 12, 6, 3, 1, 1] {
            pace = pace.after(Duration::from_secs(3));
            assert_eq!(pace.items(), expected);
        }
        pace = pace.after(Duration::from_secs(1));
        assert_eq!(pace.items(), 1);
        for _ in 0..10 {
            pace = pace.after(Duration::from_millis(10));
        }
        assert_eq!(pace.items(), 100);
    }

    #[test]
    fn progress_is_announced_twice_a_second_at_most() {
        let start = Timestamp::parse("2026-11-20T08:00:00Z").expect("an instant");
        let millis = |millis| start.after(time::Duration::milliseconds(millis));
        let mut pace = Pace::of(100, None);

        assert!(pace.may_notify(start));
        assert!(!pace.may_notify(millis(499)));
        assert!(pace.may_notify(millis(500)));
        assert!(pace.may_notify(millis(-1)), "the clock was set back");
    }
}
