//! Connections that remember what row-level security lets them see. An idle connection that already shows the requested tenant is handed out
//! first, so most requests send no setting at all. If none is idle, the caller gets whichever is ready first: a returned connection or a new
//! one. A connection is reused only while it is young, and only after the server has responded to every statement sent on it.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;

use diesel::QueryableByName;
use diesel::pg::Pg;
use diesel_async::pooled_connection::PoolableConnection;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use futures_util::future::join;
use futures_util::poll;
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use super::connector::{Connector, Opened};
use super::long_transactions::{Holder, LongTransactionPermit, LongTransactionPermits, LongTransactions};
use super::usage::Usage;
use super::{DatabaseOptions, PreparedSql, Visibility};
use crate::error::{Error, Result};
use crate::ids::Ids;
use crate::scope::Scope;

pub(crate) struct Pool {
    connector: Arc<Connector>,
    permits: Arc<Semaphore>,
    /// Permits of transactions that hold a connection as long as a client takes.
    long_transactions: LongTransactionPermits,
    idle: Mutex<Vec<Idle>>,
    shared: Mutex<Option<Shared>>,
    timeout: Duration,
    /// Approximate age at which connections are replaced.
    longest_age: Duration,
    /// Number of connections that exist or are being opened.
    open: AtomicUsize,
    size: usize,
    /// Notified when a connection is returned, or when capacity for a new one becomes free.
    freed: Notify,
}

/// Capacity for one connection of the pool; released when dropped.
struct Capacity(Weak<Pool>);

impl Drop for Capacity {
    fn drop(&mut self) {
        if let Some(pool) = self.0.upgrade() {
            pool.open.fetch_sub(1, Ordering::AcqRel);
            pool.freed.notify_one();
        }
    }
}

/// A connection shared by concurrent short statements, as long as one of them runs.
struct Shared {
    connection: Weak<Connection>,
    shows: Visibility,
}

/// Maximum number of users of one shared connection; the next user gets another connection.
const SHARERS: usize = 16;

/// Time that a statement may still run after its borrower was dropped, before it is cancelled.
const GRACE: Duration = Duration::from_millis(50);
/// Longest attempt to cancel a statement.
const CANCELLING: Duration = Duration::from_millis(500);

/// Age at which a connection is replaced if its session began as one that can't write. Its server may accept writes again, or another server may have
/// become the primary, without any effect on the session.
const LONGEST_READ_ONLY: Duration = Duration::from_millis(500);

struct Idle {
    pg: AsyncPgConnection,
    shows: Option<Visibility>,
    usage: Usage,
    /// Not reused after this instant.
    until: Instant,
    _capacity: Capacity,
}

impl Idle {
    fn is_fit(&mut self) -> bool {
        Instant::now() < self.until && !self.pg.is_broken()
    }
}

type NewConnection = oneshot::Receiver<Result<Idle>>;

impl Pool {
    pub(super) fn new(
        connector: Arc<Connector>,
        options: &DatabaseOptions,
        long_transactions: &LongTransactions,
    ) -> Self {
        Self {
            connector,
            permits: Arc::new(Semaphore::new(options.pool_size)),
            long_transactions: long_transactions.permits_of_pool(options.pool_size),
            idle: Mutex::default(),
            shared: Mutex::default(),
            timeout: options.timeout,
            longest_age: options.max_connection_age,
            open: AtomicUsize::new(0),
            size: options.pool_size,
            freed: Notify::new(),
        }
    }

    pub(super) async fn acquire(self: &Arc<Self>, requested: Visibility) -> Result<Connection> {
        // One deadline for all waits together, so that an outage of the database is reported in time.
        let deadline = Instant::now() + self.timeout;
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.wait_for_permit(deadline).await?,
        };
        let idle = match self.take_idle(requested) {
            Some(idle) => idle,
            None => self.first_free(requested, deadline).await?,
        };
        Ok(Connection {
            idle: Some(idle),
            in_transaction: AtomicBool::new(false),
            is_altered: false,
            pool: Arc::clone(self),
            _permit: permit,
        })
    }

    /// Takes a permit for holding a connection as long as a client takes, if one is free.
    pub(super) fn long_transaction_permit(&self, holder: Holder) -> Option<LongTransactionPermit> {
        self.long_transactions.take(holder)
    }

    /// Returns the connection on which statements of the same visibility are already running, else a new one that later callers share.
    pub(super) async fn join(self: &Arc<Self>, requested: Visibility) -> Result<Arc<Connection>> {
        if let Some(connection) = self.joined(requested) {
            return Ok(connection);
        }
        let mut connection = self.acquire(requested).await?;
        connection.show(requested).await?;
        let connection = Arc::new(connection);
        *self.shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(Shared {
            connection: Arc::downgrade(&connection),
            shows: requested,
        });
        Ok(connection)
    }

    fn joined(&self, requested: Visibility) -> Option<Arc<Connection>> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = shared.as_ref().filter(|shared| shared.shows == requested)?;
        shared
            .connection
            .upgrade()
            .filter(|connection| Arc::strong_count(connection) <= SHARERS && connection.may_go_on())
    }

    async fn wait_for_permit(&self, deadline: Instant) -> Result<OwnedSemaphorePermit> {
        timeout_at(deadline, Arc::clone(&self.permits).acquire_owned())
            .await
            .map_err(|_| Error::Unavailable("no free database connection".into()))?
            .map_err(|closed| Error::Unavailable(closed.into()))
    }

    fn take_idle(&self, requested: Visibility) -> Option<Idle> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let same = idle.iter().rposition(|one| one.shows == Some(requested));
            let mut found = match same {
                Some(index) => idle.remove(index),
                None => idle.pop()?,
            };
            if found.is_fit() {
                return Some(found);
            }
        }
    }

    /// Returns whichever is ready first: a returned connection or a new one. Opening one takes longer than most requests hold theirs.
    async fn first_free(self: &Arc<Self>, requested: Visibility, deadline: Instant) -> Result<Idle> {
        let mut created: Option<NewConnection> = None;
        loop {
            // Registered before the check, so that a connection returned after it does not go unnoticed.
            let mut freed = std::pin::pin!(self.freed.notified());
            freed.as_mut().enable();
            if let Some(idle) = self.take_idle(requested) {
                return Ok(idle);
            }
            created = created.or_else(|| self.create_one(deadline));
            let new = async {
                match &mut created {
                    Some(created) => created.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                created = new => return created.unwrap_or_else(|_| Err(Error::Unavailable("connecting was cut off".into()))),
                () = freed => {}
                () = tokio::time::sleep_until(deadline) => return Err(Error::Unavailable("no free database connection".into())),
            }
        }
    }

    /// Opens a connection if there is capacity. If its caller no longer waits when it is open, it becomes idle.
    fn create_one(self: &Arc<Self>, deadline: Instant) -> Option<NewConnection> {
        let capacity = self.capacity()?;
        let (response, created) = oneshot::channel();
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            let connected = pool.connect(deadline).await;
            let idle = connected.map(|Opened { mut pg, is_read_only }| Idle {
                usage: Usage::of(&mut pg),
                pg,
                shows: None,
                until: pool.end_of_a_new_one(is_read_only),
                _capacity: capacity,
            });
            if let Err(Ok(unwanted)) = response.send(idle) {
                pool.give_back(unwanted);
            }
        });
        Some(created)
    }

    fn capacity(self: &Arc<Self>) -> Option<Capacity> {
        let one_more = |open: usize| (open < self.size).then_some(open + 1);
        let taken = self.open.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        taken.is_ok().then(|| Capacity(Arc::downgrade(self)))
    }

    fn give_back(&self, mut idle: Idle) {
        if !idle.is_fit() {
            return;
        }
        idle.usage.trim(&mut idle.pg);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(idle);
        self.freed.notify_one();
    }

    /// Recovers a connection whose borrower was dropped while the server was at work: it is reused if the server responds within a moment;
    /// otherwise its statement is cancelled and it is closed. It occupies its capacity until then.
    fn settle(self: &Arc<Self>, mut idle: Idle, may_go_on: bool) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let pool = Arc::clone(self);
        runtime.spawn(async move {
            if may_go_on && matches!(timeout(GRACE, idle.pg.batch_execute("")).await, Ok(Ok(()))) {
                idle.usage.responded();
                pool.give_back(idle);
                return;
            }
            metrics::counter!("database_statements_cancelled_total").increment(1);
            pool.connector.cancel(idle.pg.cancel_token(), CANCELLING).await;
        });
    }

    /// Ages differ by up to a fifth, so that connections opened together are not replaced together.
    fn end_of_a_new_one(&self, is_read_only: bool) -> Instant {
        let longest_age = match is_read_only {
            true => self.longest_age.min(LONGEST_READ_ONLY),
            false => self.longest_age,
        };
        let share = f64::from(u16::from_be_bytes(Ids::default().random())) / f64::from(u16::MAX);
        Instant::now() + longest_age.mul_f64(0.8 + 0.2 * share)
    }

    async fn connect(&self, deadline: Instant) -> Result<Opened> {
        timeout_at(deadline, self.connector.open())
            .await
            .map_err(|_| Error::Unavailable("connecting took too long".into()))?
    }
}

/// The statement that begins a transaction.
#[derive(Debug)]
pub(crate) struct Opening(String);

/// A pooled connection. If it is dropped inside a transaction, it is closed, which rolls back.
pub struct Connection {
    idle: Option<Idle>,
    in_transaction: AtomicBool,
    /// Whether its settings differ from those of the pool, so that it is not reused.
    is_altered: bool,
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
    #[expect(
        clippy::expect_used,
        reason = "the option is empty only while the connection is dropped"
    )]
    fn idle(&mut self) -> &mut Idle {
        self.idle
            .as_mut()
            .expect("a connection is given back only when it is dropped")
    }

    #[expect(
        clippy::expect_used,
        reason = "the option is empty only while the connection is dropped"
    )]
    fn held(&self) -> &Idle {
        self.idle
            .as_ref()
            .expect("a connection is given back only when it is dropped")
    }

    pub(super) async fn show(&mut self, requested: Visibility) -> Result<()> {
        let idle = self.idle();
        if idle.shows != Some(requested) {
            // Unknown until the database has confirmed it: this future may be dropped in between.
            idle.shows = None;
            idle.pg.batch_execute(&requested.sql(false)).await?;
            idle.shows = Some(requested);
        }
        Ok(())
    }

    pub(super) async fn begin(&mut self, requested: Visibility, longest: Option<Duration>) -> Result<()> {
        let sql = self.enter(requested, longest);
        self.idle().pg.batch_execute(&sql).await?;
        Ok(())
    }

    /// Returns the statement that begins a transaction, for [`Connection::begin_with`].
    pub(crate) fn opening(&mut self, scope: &Scope) -> Opening {
        Opening(self.enter(Visibility::of(scope), None))
    }

    /// Begins a transaction together with its first statements, in one round trip, and returns the output of these.
    ///
    /// # Errors
    /// When the begin fails.
    pub(crate) async fn begin_with<T>(&self, Opening(sql): Opening, first: impl Future<Output = T>) -> Result<T> {
        let mut pg: &AsyncPgConnection = self;
        // `join` polls the begin first, and a batch is sent when it is polled.
        let (begun, output) = join(pg.batch_execute(&sql), first).await;
        begun?;
        Ok(output)
    }

    /// Returns the statement that begins a transaction.
    fn enter(&mut self, requested: Visibility, longest: Option<Duration>) -> String {
        *self.in_transaction.get_mut() = true;
        let mut sql = "begin".to_owned();
        if let Some(longest) = longest {
            sql.push_str(&format!("; set local {}", limit(longest)));
        }
        if self.idle().shows != Some(requested) {
            sql.push_str(&format!("; {}", requested.sql(true)));
        }
        sql
    }

    /// Sets the longest duration of a single statement, until the end of the transaction, or for the rest of the connection, which is then not
    /// reused.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn allow(&mut self, longest: Duration) -> Result<()> {
        let in_transaction = *self.in_transaction.get_mut();
        let local = if in_transaction { "local " } else { "" };
        self.is_altered |= !in_transaction;
        let sql = format!("set {local}{}", limit(longest));
        self.idle().pg.batch_execute(&sql).await?;
        Ok(())
    }

    /// Returns whether further callers may share it.
    fn may_go_on(&self) -> bool {
        self.idle
            .as_ref()
            .is_some_and(|idle| !idle.usage.is_full() && Instant::now() < idle.until)
    }

    /// Runs the last statement of the transaction and commits: in one round trip, unless this connection has yet to prepare the statement. If the
    /// statement fails, PostgreSQL rolls back instead of committing.
    ///
    /// # Errors
    /// When the statement or the commit fails; the transaction has ended then, too.
    pub(crate) async fn commit_with<T>(&self, last: PreparedSql) -> Result<T>
    where
        T: QueryableByName<Pg> + Send + 'static,
    {
        let Idle { pg, usage, .. } = self.held();
        let mut to_commit = pg;
        let kept = usage.kept();
        let mut last = last.run(pg);
        // A statement that is already prepared is sent when it is polled. Another one is sent later, and a commit must not overtake it.
        let at_once = poll!(&mut last);
        let (done, committed) = match at_once {
            Poll::Ready(done) => (done, to_commit.batch_execute("commit").await),
            Poll::Pending if usage.kept() == kept => join(last, to_commit.batch_execute("commit")).await,
            Poll::Pending => (last.await, to_commit.batch_execute("commit").await),
        };
        self.in_transaction.store(committed.is_err(), Ordering::Release);
        let done = done?;
        committed?;
        Ok(done)
    }

    pub(crate) async fn end(&mut self, commit: bool) -> Result<()> {
        if !*self.in_transaction.get_mut() {
            return Ok(());
        }
        let sql = if commit { "commit" } else { "rollback" };
        self.idle().pg.batch_execute(sql).await?;
        *self.in_transaction.get_mut() = false;
        Ok(())
    }
}

impl Deref for Connection {
    type Target = AsyncPgConnection;

    fn deref(&self) -> &AsyncPgConnection {
        &self.held().pg
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut AsyncPgConnection {
        &mut self.idle().pg
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let Some(mut idle) = self.idle.take() else { return };
        let may_go_on = !*self.in_transaction.get_mut() && !self.is_altered;
        if idle.pg.is_broken() {
            return;
        }
        if !idle.usage.is_quiet() {
            self.pool.settle(idle, may_go_on);
        } else if may_go_on {
            self.pool.give_back(idle);
        }
    }
}

fn limit(longest: Duration) -> String {
    format!("statement_timeout = {}", longest.as_millis())
}
