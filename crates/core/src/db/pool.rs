//! Connections that remember what row-level security lets them see. A free connection that already shows the wanted tenant is handed
//! out first, so most requests send no setting at all. Who finds none free takes what comes first: one that is given back, or a new one.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use diesel_async::pooled_connection::PoolableConnection;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};

use super::lasting::{Holder, Lasting, LastingPlace, LastingPlaces};
use super::{DatabaseOptions, Visibility};
use crate::error::{Error, Result};

pub(crate) struct Pool {
    config: Arc<tokio_postgres::Config>,
    permits: Arc<Semaphore>,
    /// Places of those who hold a connection as long as a client takes.
    lasting: LastingPlaces,
    idle: Mutex<Vec<Idle>>,
    shared: Mutex<Option<Shared>>,
    timeout: Duration,
    /// Connections that exist or are being made.
    open: AtomicUsize,
    size: usize,
    /// A connection was given back, or there is room for a new one.
    freed: Notify,
}

/// Room for one connection of the pool; free again when dropped.
struct Room(Weak<Pool>);

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(pool) = self.0.upgrade() {
            pool.open.fetch_sub(1, Ordering::AcqRel);
            pool.freed.notify_one();
        }
    }
}

/// A connection that is in use for single short statements, as long as somebody uses it.
struct Shared {
    connection: Weak<Connection>,
    shows: Visibility,
}

/// Users of one shared connection at most; the next one gets another.
const SHARERS: usize = 16;

struct Idle {
    pg: AsyncPgConnection,
    shows: Option<Visibility>,
    _room: Room,
}

type Made = oneshot::Receiver<Result<Idle>>;

impl Pool {
    pub(super) fn new(config: Arc<tokio_postgres::Config>, options: &DatabaseOptions, lasting: &Lasting) -> Self {
        Self {
            config,
            permits: Arc::new(Semaphore::new(options.pool_size)),
            lasting: lasting.places(options.pool_size),
            idle: Mutex::default(),
            shared: Mutex::default(),
            timeout: options.timeout,
            open: AtomicUsize::new(0),
            size: options.pool_size,
            freed: Notify::new(),
        }
    }

    pub(super) async fn acquire(self: &Arc<Self>, wanted: Visibility) -> Result<Connection> {
        // One limit for all waits together: whoever asks is told in time that the database is gone.
        let deadline = Instant::now() + self.timeout;
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.wait_for_permit(deadline).await?,
        };
        let idle = match self.take_idle(wanted) {
            Some(idle) => idle,
            None => self.first_free(wanted, deadline).await?,
        };
        Ok(Connection {
            idle: Some(idle),
            in_transaction: false,
            pool: Arc::clone(self),
            _permit: permit,
        })
    }

    /// A place for holding a connection as long as a client takes, if one is free.
    pub(super) fn lasting_place(&self, holder: Holder) -> Option<LastingPlace> {
        self.lasting.take(holder)
    }

    /// The connection on which others of the same visibility already have a statement under way, else one of one's own that the next
    /// ones join.
    pub(super) async fn join(self: &Arc<Self>, wanted: Visibility) -> Result<Arc<Connection>> {
        if let Some(connection) = self.joined(wanted) {
            return Ok(connection);
        }
        let mut connection = self.acquire(wanted).await?;
        connection.show(wanted).await?;
        let connection = Arc::new(connection);
        *self.shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(Shared {
            connection: Arc::downgrade(&connection),
            shows: wanted,
        });
        Ok(connection)
    }

    fn joined(&self, wanted: Visibility) -> Option<Arc<Connection>> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = shared.as_ref().filter(|shared| shared.shows == wanted)?;
        shared
            .connection
            .upgrade()
            .filter(|connection| Arc::strong_count(connection) <= SHARERS)
    }

    async fn wait_for_permit(&self, deadline: Instant) -> Result<OwnedSemaphorePermit> {
        timeout_at(deadline, Arc::clone(&self.permits).acquire_owned())
            .await
            .map_err(|_| Error::Unavailable("no free database connection".into()))?
            .map_err(|closed| Error::Unavailable(closed.into()))
    }

    fn take_idle(&self, wanted: Visibility) -> Option<Idle> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let same = idle.iter().rposition(|one| one.shows == Some(wanted));
            let mut found = match same {
                Some(index) => idle.remove(index),
                None => idle.pop()?,
            };
            if !found.pg.is_broken() {
                return Some(found);
            }
        }
    }

    /// What comes first: a connection that is given back, or a new one. Making one takes longer than most requests have theirs.
    async fn first_free(self: &Arc<Self>, wanted: Visibility, deadline: Instant) -> Result<Idle> {
        let mut made: Option<Made> = None;
        loop {
            // Before the look, so that nothing that is given back after it goes unnoticed.
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            if let Some(idle) = self.take_idle(wanted) {
                return Ok(idle);
            }
            made = made.or_else(|| self.make_one(deadline));
            let new = async {
                match &mut made {
                    Some(made) => made.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                made = new => return made.unwrap_or_else(|_| Err(Error::Unavailable("connecting was cut off".into()))),
                () = freed => {}
                () = tokio::time::sleep_until(deadline) => return Err(Error::Unavailable("no free database connection".into())),
            }
        }
    }

    /// Makes a connection if there is room for one. When nobody waits for it any more, it becomes a free one.
    fn make_one(self: &Arc<Self>, deadline: Instant) -> Option<Made> {
        let room = self.room()?;
        let (answer, made) = oneshot::channel();
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            let connected = pool.connect(deadline).await;
            let idle = connected.map(|pg| Idle {
                pg,
                shows: None,
                _room: room,
            });
            if let Err(Ok(unwanted)) = answer.send(idle) {
                pool.give_back(unwanted);
            }
        });
        Some(made)
    }

    fn room(self: &Arc<Self>) -> Option<Room> {
        let one_more = |open: usize| (open < self.size).then_some(open + 1);
        let taken = self.open.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        taken.is_ok().then(|| Room(Arc::downgrade(self)))
    }

    fn give_back(&self, idle: Idle) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(idle);
        self.freed.notify_one();
    }

    async fn connect(&self, deadline: Instant) -> Result<AsyncPgConnection> {
        let connecting = async {
            let (client, connection) = self.config.connect(tokio_postgres::NoTls).await?;
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a database connection ended");
                }
            });
            AsyncPgConnection::try_from(client)
                .await
                .map_err(|error| Error::Unavailable(Box::new(error)))
        };
        timeout_at(deadline, connecting)
            .await
            .map_err(|_| Error::Unavailable("connecting took too long".into()))?
    }
}

/// A pooled connection. Dropped inside a transaction it is closed, which rolls back.
pub struct Connection {
    idle: Option<Idle>,
    in_transaction: bool,
    pool: Arc<Pool>,
    _permit: OwnedSemaphorePermit,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("in_transaction", &self.in_transaction)
            .finish_non_exhaustive()
    }
}

impl Connection {
    fn idle(&mut self) -> &mut Idle {
        self.idle
            .as_mut()
            .expect("a connection is given back only when it is dropped")
    }

    pub(super) async fn show(&mut self, wanted: Visibility) -> Result<()> {
        let idle = self.idle();
        if idle.shows != Some(wanted) {
            // Unknown until the database has confirmed it: this future may be dropped in between.
            idle.shows = None;
            idle.pg.batch_execute(&wanted.sql(false)).await?;
            idle.shows = Some(wanted);
        }
        Ok(())
    }

    pub(super) async fn begin(&mut self, wanted: Visibility) -> Result<()> {
        self.in_transaction = true;
        let idle = self.idle();
        let sql = if idle.shows == Some(wanted) {
            "begin".to_owned()
        } else {
            format!("begin; {}", wanted.sql(true))
        };
        idle.pg.batch_execute(&sql).await?;
        Ok(())
    }

    pub(super) async fn end(&mut self, commit: bool) -> Result<()> {
        let sql = if commit { "commit" } else { "rollback" };
        self.idle().pg.batch_execute(sql).await?;
        self.in_transaction = false;
        Ok(())
    }
}

impl Deref for Connection {
    type Target = AsyncPgConnection;

    fn deref(&self) -> &AsyncPgConnection {
        &self
            .idle
            .as_ref()
            .expect("a connection is given back only when it is dropped")
            .pg
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut AsyncPgConnection {
        &mut self.idle().pg
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(mut idle) = self.idle.take()
            && !self.in_transaction
            && !idle.pg.is_broken()
        {
            self.pool.give_back(idle);
        }
    }
}
