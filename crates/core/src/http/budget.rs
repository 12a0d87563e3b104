//! Request budgets of principals in a process. Counted in memory, after the credential was checked and before any other work for the request.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use crate::error::Result;
use crate::identity::Identity;
use crate::rate_limit::rejection;
use crate::time::Timestamp;

/// Seconds of the rate that may arrive in one burst.
const BURST_SECONDS: u32 = 5;
/// Number of principals that are remembered in each half of the memory.
const PRINCIPALS: usize = 20_000;
const NANOS_PER_MILLI: i64 = 1_000_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// The kind of a principal with its id; the platform has none, and has a budget in each tenant.
type Key = (&'static str, Uuid);

/// The budgets of all principals of this process.
#[derive(Debug)]
pub(crate) struct Budgets {
    /// Requests per second; 0 = no budget.
    rate: u32,
    used: Mutex<Used>,
}

/// The instant until which each principal has used up its budget, in nanoseconds: one number per principal. A principal in neither half has
/// sent no request for as long as a budget needs to recover.
#[derive(Debug, Default)]
struct Used {
    present: HashMap<Key, i64>,
    past: HashMap<Key, i64>,
    turned_at: i64,
}

impl Budgets {
    /// Creates budgets of this many requests per second.
    pub(crate) fn new(rate: u32) -> Self {
        Self {
            rate,
            used: Mutex::default(),
        }
    }

    /// Counts a request of this principal.
    ///
    /// # Errors
    /// 429 with `Retry-After`, `RateLimit-Policy` and `RateLimit` when the budget is used up.
    pub(crate) fn spend(&self, identity: &Identity, now: Timestamp) -> Result<()> {
        if self.rate == 0 {
            return Ok(());
        }
        let key = (identity.kind.as_str(), identity.id.unwrap_or(identity.tenant));
        let now = now.unix_millis().saturating_mul(NANOS_PER_MILLI);
        if self
            .used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .spend(key, now, self.rate)
        {
            return Ok(());
        }
        let burst = self.rate.saturating_mul(BURST_SECONDS);
        Err(rejection("http.principal", burst, BURST_SECONDS, 1))
    }
}

impl Used {
    /// Whether budget was left. One request is recovered after 1/`rate` of a second.
    fn spend(&mut self, key: Key, now: i64, rate: u32) -> bool {
        let longest = i64::from(BURST_SECONDS) * NANOS_PER_SECOND;
        if self.present.len() >= PRINCIPALS || !(0..longest).contains(&(now - self.turned_at)) {
            self.past = std::mem::take(&mut self.present);
            self.turned_at = now;
        }
        let until = self.present.get(&key).or_else(|| self.past.get(&key));
        // Setting the clock back takes no budget away.
        let until = until.copied().unwrap_or(now).clamp(now, now.saturating_add(longest));
        let next = until.saturating_add(NANOS_PER_SECOND / i64::from(rate));
        let is_left = next <= now.saturating_add(longest);
        self.present.insert(key, if is_left { next } else { until });
        is_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 200;
    const KEY: Key = ("user", Uuid::nil());

    #[test]
    fn a_burst_is_let_through_and_then_the_rate() {
        let mut used = Used::default();
        let at = |millis: i64| millis * NANOS_PER_MILLI;
        let mut let_through = |now: i64, asked: usize| (0..asked).filter(|_| used.spend(KEY, now, RATE)).count();

        assert_eq!(let_through(at(10), 2000), 1000);
        assert_eq!(let_through(at(15), 10), 1);
        assert_eq!(let_through(at(1015), 2000), 200);
        assert_eq!(let_through(at(60_000), 2000), 1000, "filled up");
        assert_eq!(let_through(at(59_000), 2000), 0, "a clock that was set back");
    }

    #[test]
    fn a_principal_of_its_own_has_a_budget_of_its_own() {
        let mut used = Used::default();
        while used.spend(KEY, 0, RATE) {}

        assert!(used.spend(("api_key", Uuid::nil()), 0, RATE));
        assert!(used.spend(("user", Uuid::max()), 0, RATE));
    }

    #[test]
    fn the_platform_has_a_budget_in_each_tenant() {
        let budgets = Budgets::new(1);
        let now = Timestamp::parse("2026-11-20T08:00:00Z").expect("an instant");
        let spend = |tenant: u128| {
            let identity = Identity {
                tenant: Uuid::from_u128(tenant),
                ..Identity::system()
            };
            budgets.spend(&identity, now).is_ok()
        };

        let let_through = (0..100).filter(|_| spend(1)).count();

        assert_eq!(let_through, BURST_SECONDS as usize);
        assert!(spend(2));
    }

    #[test]
    fn memory_is_bounded_and_a_turn_forgets_nothing_that_is_owed() {
        let mut used = Used::default();
        for number in 0..100_000_u128 {
            assert!(used.spend(("user", Uuid::from_u128(number)), 0, RATE));
        }
        assert!(used.present.len() + used.past.len() <= 2 * PRINCIPALS);

        let mut used = Used::default();
        let full = 5 * NANOS_PER_SECOND;
        while used.spend(KEY, full - 1, RATE) {}
        assert!(!used.spend(KEY, full, RATE), "the memory has turned");
    }
}
