//! The relay of a node: delivers events from the outbox to the subscribers.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::claim::{self, Claimed};
use super::deliver;
use super::skip::skip_unwanted;
use crate::backoff::Backoff;
use crate::error::{Error, Result};
use crate::platform::Runtime;
use crate::shutdown::Stop;
use crate::time::Timestamp;

mod delay;

/// Number of concurrent deliveries of a node.
const SLOTS: usize = 2;
/// Wait between checks of the cursors without a notification: other nodes emit events too.
const POLL: Duration = Duration::from_secs(1);
/// Commits within this time are handled together.
const GATHER: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A little less than the lease.
const LONGEST_DELIVERY: Duration = Duration::from_secs(28);
/// Interval at which all tenants, not only recent ones, are checked for missing cursors.
const ALL_TENANTS: time::Duration = time::Duration::minutes(10);
/// Longer than any transaction that creates a tenant.
const RECENT: time::Duration = time::Duration::hours(1);

/// Delivers events until the signal. It survives errors, panics of subscribers, and outages of the database.
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
    let busy = Arc::new(Notify::new());
    let slots = (0..SLOTS).map(|number| {
        slot(
            Relay::new(runtime.clone()),
            number == 0,
            Arc::clone(&busy),
            stop.clone(),
        )
    });
    join_all(slots).await;
}

/// Delivers events until the signal. Only the first slot looks after every commit; it wakes the others when it finds something to deliver.
async fn slot(mut relay: Relay, is_first: bool, busy: Arc<Notify>, mut stop: Stop) {
    let mut notifier = relay.runtime.platform.commit_notifier().listen();
    let mut backoff = Backoff::new(POLL, LONGEST_PAUSE);
    while !stop.is_set() {
        match relay.run_one().await {
            Ok(true) => {
                busy.notify_waiters();
                backoff.succeeded();
                continue;
            }
            Ok(false) => backoff.succeeded(),
            Err(error) => {
                tracing::debug!(%error, "could not read the outbox");
                backoff.failed();
            }
        }
        tokio::select! {
            () = sleep(backoff.wait()) => {}
            () = notifier.notified(), if is_first => sleep(GATHER).await,
            () = busy.notified(), if !is_first => {}
            () = stop.set() => {}
        }
    }
}

/// Delivers events of one cursor at a time.
#[derive(Debug)]
pub struct Relay {
    runtime: Runtime,
    met: Option<Timestamp>,
    met_all: Option<Timestamp>,
}

impl Relay {
    /// Creates a relay of this platform and database.
    #[must_use]
    pub fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            met: None,
            met_all: None,
        }
    }

    /// Passes events that no subscriber wants, then claims one cursor and delivers the events after it; false when none could be claimed. A
    /// subscriber that fails is not an error here.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn run_one(&mut self) -> Result<bool> {
        if self.runtime.platform.subscribers().is_empty() {
            return Ok(false);
        }
        let now = self.runtime.platform.clock().now();
        if self.met.is_none_or(|met| met.after(time::Duration::seconds(1)) <= now) {
            self.create_missing_cursors(now).await?;
        }
        let mut claimed = match skip_unwanted(&self.runtime, now).await? {
            true => claim::claim(&self.runtime, now).await?,
            false => None,
        };
        if claimed.is_none() && self.create_missing_cursors(now).await? > 0 {
            claimed = claim::claim(&self.runtime, now).await?;
        }
        let Some(cursor) = claimed else { return Ok(false) };
        if let Err(error) = self.deliver(&cursor).await {
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

    async fn create_missing_cursors(&mut self, now: Timestamp) -> Result<usize> {
        let all = self.met_all.is_none_or(|met| met.after(ALL_TENANTS) <= now);
        let since = (!all).then(|| now.after(-RECENT));
        let met = claim::create_missing_cursors(&self.runtime, now, since).await?;
        self.met = Some(now);
        if all {
            self.met_all = Some(now);
        }
        Ok(met)
    }
}
