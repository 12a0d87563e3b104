//! How much a job does in one transaction, and how often it tells.

use std::time::Duration;

use tokio::time::Instant;

/// Items of a chunk at most.
const MOST: usize = 100;
/// A chunk that takes longer halves the next one.
const TOO_LONG: Duration = Duration::from_secs(2);
/// One that takes less lets the next one grow again.
const SHORT: Duration = Duration::from_millis(500);
const BETWEEN_NOTICES: Duration = Duration::from_millis(500);

/// The pace of one attempt.
#[derive(Debug)]
pub(super) struct Pace {
    items: usize,
    noticed: Option<Instant>,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            items: MOST,
            noticed: None,
        }
    }

    /// Items of the next chunk.
    pub(super) fn items(&self) -> usize {
        self.items
    }

    /// A chunk took this long.
    pub(super) fn took(&mut self, elapsed: Duration) {
        if elapsed > TOO_LONG {
            self.items = (self.items / 2).max(1);
        } else if elapsed < SHORT {
            self.items = (self.items * 2).min(MOST);
        }
    }

    /// Whether enough time has passed for another notice to those who watch; if so, it counts as given.
    pub(super) fn may_notify(&mut self, now: Instant) -> bool {
        let due = self
            .noticed
            .is_none_or(|last| now.duration_since(last) >= BETWEEN_NOTICES);
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
        let mut pace = Pace::new();
        for expected in [50, 25, 12, 6, 3, 1, 1] {
            pace.took(Duration::from_secs(3));
            assert_eq!(pace.items(), expected);
        }
        pace.took(Duration::from_secs(1));
        assert_eq!(pace.items(), 1);
        for _ in 0..10 {
            pace.took(Duration::from_millis(10));
        }
        assert_eq!(pace.items(), 100);
    }

    #[test]
    fn those_who_watch_are_told_twice_a_second_at_most() {
        let (mut pace, start) = (Pace::new(), Instant::now());

        assert!(pace.may_notify(start));
        assert!(!pace.may_notify(start + Duration::from_millis(499)));
        assert!(pace.may_notify(start + Duration::from_millis(500)));
    }
}
