//! The relay of a node: delivers events from the outbox to the subscribers.
//!
//! After a commit of its own process the relay looks at the tenants of that commit in which a subscriber wants an event, so the cost of a commit does not
//! depend on the number of tenants, and is nothing for most commits. It looks at all tenants at intervals: to pass events that no subscriber wants, for
//! commits whose process has ended, for deliveries that are repeated, and for what other relays left.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use uuid::Uuid;

use super::claim::{self, Claimed, Tenants};
use super::deliver;
use super::notifier::Committed;
use super::skip::{MOST_DUE, skip_unwanted};
use crate::backoff::Backoff;
use crate::error::{Error, Result};
use crate::platform::Runtime;
use crate::shutdown::Stop;
use crate::time::Timestamp;

mod delay;

/// Shortest interval between two looks at all tenants.
const POLL: Duration = Duration::from_secs(1);
/// The interval is at least so many times as long as the look itself took.
const SHARE: u32 = 20;
/// Commits within this time are handled together.
const GATHER: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A little less than the lease.
const LONGEST_DELIVERY: Duration = Duration::from_secs(28);
/// Interval at which all tenants, not only recent ones, are checked for missing cursors.
const ALL_TENANTS: time::Duration = time::Duration::minutes(10);
/// Longer than any transaction that creates a tenant.
const RECENT: time::Duration = time::Duration::hours(1);

/// Delivers events until the signal, at most two cursors at once. It survives errors, panics of subscribers, and outages of the database.
pub async fn relay(runtime: Runtime, mut stop: Stop) {
    if runtime.platform.subscribers().is_empty() {
        return;
    }
    while let Err(error) = claim::create_cursors(&runtime).await {
        tracing::debug!(%error, "could not create event cursors; retrying");
        tokio::select! {
            () = sleep(POLL) => {}
            () = stop.set() => return,
        }
    }
    let relay = Relay::new(runtime);
    let helper = help(relay.helper(), stop.clone());
    tokio::join!(lead(relay, stop), helper);
}

/// Looks for due deliveries until the signal, and delivers them.
async fn lead(mut relay: Relay, mut stop: Stop) {
    let mut notifier = relay.runtime.platform.commit_notifier().listen_here();
    let mut backoff = Backoff::new(POLL, LONGEST_PAUSE);
    let mut look_at_all = Instant::now();
    while !stop.is_set() {
        match relay.lead_once(&mut look_at_all).await {
            Ok(true) => {
                backoff.succeeded();
                continue;
            }
            Ok(false) => backoff.succeeded(),
            Err(error) => {
                tracing::debug!(%error, "could not read the outbox");
                backoff.failed();
                look_at_all = Instant::now() + backoff.wait();
            }
        }
        tokio::select! {
            () = sleep_until(look_at_all) => {}
            () = notifier.notified() => sleep(GATHER).await,
            () = stop.set() => {}
        }
    }
}

/// Delivers beside the leading task until the signal.
async fn help(relay: Relay, mut stop: Stop) {
    let mut backoff = Backoff::new(POLL, LONGEST_PAUSE);
    while !stop.is_set() {
        match relay.deliver_next().await {
            Ok(true) => backoff.succeeded(),
            Ok(false) => {
                backoff.succeeded();
                tokio::select! {
                    () = relay.due.changed.notified() => {}
                    () = stop.set() => {}
                }
            }
            Err(error) => {
                tracing::debug!(%error, "could not read the outbox");
                backoff.failed();
                tokio::select! {
                    () = sleep(backoff.wait()) => {}
                    () = stop.set() => {}
                }
            }
        }
    }
}

/// Tenants in which a delivery may be due.
#[derive(Debug, Default)]
struct Due {
    tenants: Mutex<Turns>,
    changed: Notify,
}

/// Tenants that take turns in the order of their ids.
#[derive(Debug, Default)]
struct Turns {
    tenants: BTreeSet<Uuid>,
    /// The tenant that was taken last.
    last: Uuid,
}

impl Due {
    fn lock(&self) -> MutexGuard<'_, Turns> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, tenants: impl IntoIterator<Item = Uuid>) {
        self.lock().tenants.extend(tenants);
        self.changed.notify_one();
    }

    /// Takes the next tenants, at most [`MOST_DUE`].
    fn take(&self) -> Vec<Uuid> {
        let mut turns = self.lock();
        let later = turns.tenants.range((Bound::Excluded(turns.last), Bound::Unbounded));
        let taken: Vec<Uuid> = later
            .chain(turns.tenants.range(..=turns.last))
            .take(MOST_DUE)
            .copied()
            .collect();
        for tenant in &taken {
            turns.tenants.remove(tenant);
        }
        turns.last = taken.last().copied().unwrap_or_default();
        taken
    }
}

/// Delivers events of one cursor at a time.
#[derive(Debug)]
pub struct Relay {
    runtime: Runtime,
    due: Arc<Due>,
    /// How long the last look at all tenants took, if it has found as many tenants as it returns at most.
    unfinished: Option<Duration>,
    checked: Option<Timestamp>,
    checked_all: Option<Timestamp>,
}

impl Relay {
    /// Creates a relay of this platform and database.
    #[must_use]
    pub fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            due: Arc::default(),
            unfinished: None,
            checked: None,
            checked_all: None,
        }
    }

    /// Returns a relay that delivers what this one has found.
    fn helper(&self) -> Self {
        Self {
            due: Arc::clone(&self.due),
            ..Self::new(self.runtime.clone())
        }
    }

    /// Passes events that no subscriber wants, in all tenants, then claims one cursor and delivers the events after it; false when none could be claimed.
    /// A subscriber that fails is not an error here.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn run_one(&mut self) -> Result<bool> {
        if self.runtime.platform.subscribers().is_empty() {
            return Ok(false);
        }
        self.look_at_all().await?;
        self.deliver_next().await
    }

    /// Looks at all tenants if it is time, else at those in which the last commits announced wanted events, and delivers the events of one cursor;
    /// false when none could be claimed.
    async fn lead_once(&mut self, look_at_all: &mut Instant) -> Result<bool> {
        let committed = self.runtime.platform.commit_notifier().take_committed();
        let started = Instant::now();
        match committed {
            Committed::In(tenants) if started < *look_at_all => {
                if !tenants.is_empty() {
                    self.look_at(&Vec::from_iter(tenants)).await?;
                }
            }
            Committed::In(_) | Committed::Anywhere => {
                let found = self.look_at_all().await?;
                let took = started.elapsed();
                *look_at_all = started + POLL.max(took * SHARE);
                self.unfinished = (found >= MOST_DUE).then_some(took);
            }
        }
        if self.deliver_next().await? {
            return Ok(true);
        }
        // Those that it found are done: it looks for more, at most half of the time.
        if let Some(took) = self.unfinished.take() {
            *look_at_all = (*look_at_all).min(Instant::now() + took);
        }
        Ok(false)
    }

    /// Looks for due deliveries of all tenants. Returns the number of tenants that were found, at most [`MOST_DUE`].
    async fn look_at_all(&mut self) -> Result<usize> {
        let now = self.runtime.platform.clock().now();
        let mut found = skip_unwanted(&self.runtime, now, None).await?;
        let is_recent = self
            .checked
            .is_some_and(|at| is_within(now, at, time::Duration::SECOND));
        if (!is_recent || found.is_empty()) && self.create_missing_cursors(now).await? > 0 {
            found = skip_unwanted(&self.runtime, now, None).await?;
        }
        let number = found.len();
        self.due.add(found);
        Ok(number)
    }

    /// Looks for due deliveries of these tenants.
    async fn look_at(&self, tenants: &[Uuid]) -> Result<()> {
        let now = self.runtime.platform.clock().now();
        claim::create_missing_cursors(&self.runtime, now, Tenants::These(tenants)).await?;
        self.due.add(skip_unwanted(&self.runtime, now, Some(tenants)).await?);
        Ok(())
    }

    /// Claims a cursor of the tenants that were found and delivers the events after it; false when none could be claimed.
    async fn deliver_next(&self) -> Result<bool> {
        let cursor = loop {
            let tenants = self.due.take();
            if tenants.is_empty() {
                return Ok(false);
            }
            let now = self.runtime.platform.clock().now();
            let claimed = claim::claim(&self.runtime, now, &tenants).await;
            if !matches!(claimed, Ok(None)) {
                self.due.add(tenants);
            }
            if let Some(cursor) = claimed? {
                break cursor;
            }
        };
        let delivered = self.deliver(&cursor).await;
        // Events after the last one of a delivery wait for the next one.
        self.due.add([cursor.tenant_id]);
        if let Err(error) = delivered {
            tracing::warn!(subscriber = cursor.subscriber, tenant = %cursor.tenant_id, %error, "could not deliver events");
            deliver::postpone(&self.runtime, &cursor, &error).await?;
        }
        Ok(true)
    }

    async fn deliver(&self, cursor: &Claimed) -> Result<()> {
        let Some(subscriber) = self.runtime.platform.subscribers().find(&cursor.subscriber) else {
            return Err(Error::internal("unknown subscriber"));
        };
        let work = AssertUnwindSafe(deliver::deliver(&self.runtime, subscriber, cursor)).catch_unwind();
        match timeout(LONGEST_DELIVERY, work).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_panic)) => Err(Error::internal("the delivery panicked")),
            Err(_elapsed) => Err(Error::internal("the delivery took too long")),
        }
    }

    /// Creates the cursors of tenants that were created in the last hour, or, from time to time, of all. Returns how many were missing.
    async fn create_missing_cursors(&mut self, now: Timestamp) -> Result<usize> {
        let all = self.checked_all.is_none_or(|at| !is_within(now, at, ALL_TENANTS));
        let tenants = if all {
            Tenants::All
        } else {
            Tenants::CreatedSince(now.after(-RECENT))
        };
        let created = claim::create_missing_cursors(&self.runtime, now, tenants).await?;
        self.checked = Some(now);
        if all {
            self.checked_all = Some(now);
        }
        Ok(created)
    }
}

/// Returns whether less than `duration` has passed since an instant. The clock may have been set back since.
fn is_within(now: Timestamp, since: Timestamp, duration: time::Duration) -> bool {
    since <= now && now < since.after(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_take_turns() {
        let due = Due::default();
        let all: Vec<Uuid> = (1..=250).map(Uuid::from_u128).collect();
        due.add(all.clone());

        let mut taken = Vec::new();
        for _ in 0..5 {
            let some = due.take();
            due.add(some.iter().copied());
            taken.extend(some);
        }

        let twice: Vec<Uuid> = all.iter().chain(&all).copied().collect();
        assert_eq!(taken, twice);
        let mut rest: Vec<Uuid> = (0..3).flat_map(|_| due.take()).collect();
        rest.sort_unstable();
        assert_eq!((rest, due.take()), (all, vec![]));
    }
}
