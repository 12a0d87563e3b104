//! The events of tenants with open streams, read once for all streams of this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_web::web::Bytes;
use backoffice_core::events::{StoredEvent, between, last_numbers};
use backoffice_core::{Result, Runtime, Scope};
use tokio::sync::broadcast;
use tokio::time::sleep;
use uuid::Uuid;

use crate::message;

/// Maximum number of events of a tenant in one read.
pub(crate) const BATCH: i64 = 100;
/// Number of batches that a stream may lag behind; a stream that lags further reads by itself.
const KEPT: usize = 8;
/// Wait between reads of the outbox without a notification: other nodes announce events, too.
const POLL: Duration = Duration::from_secs(1);
/// Commits within this period are read together.
const GATHER: Duration = Duration::from_millis(50);

/// An event for browsers, and its text, which is the same for all of them.
#[derive(Debug)]
pub(crate) struct Reported {
    pub(crate) event: StoredEvent,
    pub(crate) message: Bytes,
}

/// The events of a tenant after one number and up to another.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) behind: i64,
    pub(crate) up_to: i64,
    /// [`Position::returns`] when it was read.
    pub(crate) returns: u64,
    /// The events for browsers, in order.
    pub(crate) events: Vec<Reported>,
}

impl Batch {
    /// Reads the events after a number, up to another position or until the batch is full.
    pub(crate) async fn read(runtime: &Runtime, tenant: Uuid, behind: i64, to: Position) -> Result<Self> {
        let last = to.reached;
        let stored = {
            let mut connection = runtime.database.read(&Scope::tenant(tenant)).await?;
            between(&mut connection, tenant, behind, last, BATCH).await?
        };
        let is_full = i64::try_from(stored.len()).unwrap_or(BATCH) >= BATCH;
        let up_to = stored.last().filter(|_| is_full).map_or(last, |event| event.seq);
        let shown = stored.into_iter().filter(|event| event.browser);
        let events = shown.map(|event| Reported {
            message: message::event(&event),
            event,
        });
        Ok(Self {
            behind,
            up_to,
            returns: to.returns,
            events: events.collect(),
        })
    }
}

/// How far the events of a tenant have been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// Everything up to this number has been sent or is being sent.
    pub(crate) reached: i64,
    /// How often the numbers of the tenant went back, as after a failover to a server that lacks the last commits. Streams that have followed fewer
    /// returns are reset.
    pub(crate) returns: u64,
}

/// A tenant with open streams.
#[derive(Debug)]
struct Feed {
    news: broadcast::Sender<Arc<Batch>>,
    position: Arc<Mutex<Position>>,
    streams: usize,
}

#[derive(Debug, Default)]
struct Inner {
    tenants: HashMap<Uuid, Feed>,
    is_read: bool,
}

/// The tenants with open streams of this process. One task reads for all of them: it starts with the first stream and ends after the last.
#[derive(Debug, Default)]
pub(crate) struct Feeds(Mutex<Inner>);

/// The subscription of a stream to the events of its tenant.
#[derive(Debug)]
pub(crate) struct Subscription {
    feeds: Arc<Feeds>,
    tenant: Uuid,
    position: Arc<Mutex<Position>>,
    pub(crate) news: broadcast::Receiver<Arc<Batch>>,
}

impl Feeds {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribes to the events of a tenant from now on; `last` is the number of the last event that the caller has just read.
    pub(crate) fn subscribe(self: Arc<Self>, runtime: &Runtime, tenant: Uuid, last: i64) -> Subscription {
        let mut inner = self.lock();
        let feed = inner.tenants.entry(tenant).or_insert_with(|| Feed {
            news: broadcast::channel(KEPT).0,
            position: Arc::new(Mutex::new(Position {
                reached: last,
                returns: 0,
            })),
            streams: 0,
        });
        feed.streams += 1;
        let (news, position) = (feed.news.subscribe(), Arc::clone(&feed.position));
        if !inner.is_read {
            inner.is_read = true;
            let reading = Reading {
                feeds: Arc::clone(&self),
                runtime: runtime.clone(),
                is_over: false,
            };
            tokio::spawn(reading.run());
        }
        drop(inner);
        Subscription {
            feeds: self,
            tenant,
            position,
            news,
        }
    }

    fn positions(&self) -> Vec<(Uuid, Position)> {
        let position = |(tenant, feed): (&Uuid, &Feed)| (*tenant, *lock(&feed.position));
        self.lock().tenants.iter().map(position).collect()
    }

    /// Sends a batch to the streams of its tenant. Stores the position first, so that a stream that subscribes in between knows what to read itself.
    fn send(&self, tenant: Uuid, batch: Batch) {
        if let Some(feed) = self.lock().tenants.get(&tenant) {
            *lock(&feed.position) = Position {
                reached: batch.up_to,
                returns: batch.returns,
            };
            // Fails if the last stream is just ending.
            let _streams = feed.news.send(Arc::new(batch));
        }
    }
}

fn lock(position: &Mutex<Position>) -> MutexGuard<'_, Position> {
    position.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Subscription {
    /// Returns the position after which events arrive as news; the stream reads earlier events itself.
    pub(crate) fn position(&self) -> Position {
        *lock(&self.position)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut inner = self.feeds.lock();
        // Ignores a later feed of the same tenant.
        let own = |feed: &&mut Feed| Arc::ptr_eq(&feed.position, &self.position);
        if let Some(feed) = inner.tenants.get_mut(&self.tenant).filter(own) {
            feed.streams -= 1;
            if feed.streams == 0 {
                inner.tenants.remove(&self.tenant);
            }
        }
    }
}

/// The reading task. If it ends unexpectedly, the remaining streams end, too, and their clients reconnect.
#[derive(Debug)]
struct Reading {
    feeds: Arc<Feeds>,
    runtime: Runtime,
    is_over: bool,
}

impl Drop for Reading {
    fn drop(&mut self) {
        if !self.is_over {
            *self.feeds.lock() = Inner::default();
        }
    }
}

impl Reading {
    async fn run(mut self) {
        let mut notifier = self.runtime.platform.commit_notifier().listen();
        while !notifier.is_closed() && !self.is_unneeded() {
            match self.look().await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    tracing::debug!(%error, "event streams waiting for the database");
                    sleep(POLL).await;
                }
            }
            tokio::select! {
                () = notifier.notified() => sleep(GATHER).await,
                () = sleep(POLL) => {}
            }
        }
    }

    /// Returns true if the last stream has ended; the next stream then starts a new task.
    fn is_unneeded(&mut self) -> bool {
        let mut inner = self.feeds.lock();
        self.is_over = inner.tenants.is_empty();
        inner.is_read = !self.is_over;
        self.is_over
    }

    /// Reads in one statement which tenants have news, and the news of each of them in one more. Returns true if there may be more.
    async fn look(&self) -> Result<bool> {
        let positions = self.feeds.positions();
        let tenants: Vec<Uuid> = positions.iter().map(|(tenant, _)| *tenant).collect();
        let last: HashMap<Uuid, i64> = {
            let mut connection = self.runtime.database.read(&Scope::system()).await?;
            last_numbers(&mut connection, &tenants).await?.into_iter().collect()
        };
        let mut has_more = false;
        for (tenant, Position { reached, returns }) in positions {
            let last = last.get(&tenant).copied().unwrap_or(0);
            if last == reached {
                continue;
            }
            if last < reached {
                // The server has lost commits: the next events take their numbers again.
                self.feeds.send(
                    tenant,
                    Batch {
                        behind: last,
                        up_to: last,
                        returns: returns + 1,
                        events: Vec::new(),
                    },
                );
                continue;
            }
            let to = Position { reached: last, returns };
            match Batch::read(&self.runtime, tenant, reached, to).await {
                Ok(batch) => {
                    has_more |= batch.up_to < last;
                    self.feeds.send(tenant, batch);
                }
                // An error of one tenant must not delay the others.
                Err(error) => tracing::debug!(%tenant, %error, "could not read events of a tenant"),
            }
        }
        Ok(has_more)
    }
}
