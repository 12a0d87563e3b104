//! The only access to database connections. Every connection carries the tenant for row-level security.

mod connector;
mod documents;
mod long_transactions;
mod migrate;
mod one_of;
mod pool;
mod prepared;
mod protection;
mod replace;
mod rights;
mod schema;
mod session;
mod tls;
mod usage;

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::StatusCode;
use diesel::sql_types::Bool;
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use secrecy::SecretString;
use uuid::Uuid;

use crate::error::{Error, Rejection, Result};
use crate::ids::PLATFORM_TENANT;
use crate::scope::{Scope, VisibleTenants};

pub use connector::{Connector, Driven};
pub use documents::{DocumentTexts, read_documents};
use long_transactions::LongTransactions;
pub use long_transactions::{Holder, LongTransactionPermit};
pub use migrate::{MigrationState, MigrationSteps, Migrations, migrate, migrate_over, migration_state, revert_all};
pub use one_of::{KeyColumn, OneOf};
pub use pool::Connection;
pub(crate) use prepared::PreparedSql;
pub use prepared::{Prepared, PreparedIf, Recurring};
pub use protection::unprotected_tables;
pub use replace::{ColumnNames, ReplaceRow};
pub use rights::{close_database, open_rights};
pub(crate) use schema::{audit_action_logs, core_idempotency_keys};
pub use session::{PLANNER_OPTIONS, SessionOptions, UnmetSetting, UnmetSettings};
pub use tls::{TlsMode, TlsOptions};

/// An expression that lets the present transaction return before its commit is on the disk. If the database crashes right afterwards, the transaction
/// may be lost as a whole, so it is for best effort, and for work that is repeated then.
pub(crate) const ASYNC_COMMIT: &str = "set_config('synchronous_commit', 'off', true)";

/// Longest limit of statements: PostgreSQL counts the milliseconds in 31 bits.
pub const LONGEST_STATEMENT_TIMEOUT: Duration = Duration::from_millis(2_147_483_647);

/// Options of the database connections.
#[derive(Debug, Clone)]
pub struct DatabaseOptions {
    /// `postgres://` URL of the application role.
    pub url: SecretString,
    /// Maximum number of connections of one pool.
    pub pool_size: usize,
    /// Longest wait for a connection, whether idle in the pool or newly opened.
    pub timeout: Duration,
    /// Longest duration of a statement, unless the code allows more for it: PostgreSQL cancels a longer one, and the request is rejected with 503.
    /// At most [`LONGEST_STATEMENT_TIMEOUT`]; 0 = no limit.
    pub statement_timeout: Duration,
    /// Approximate age at which a connection is replaced, which frees the memory that its backend has accumulated.
    pub max_connection_age: Duration,
    /// TLS options that apply where the URL sets none.
    pub tls: TlsOptions,
    /// Whether scopes write their tenant predicates; switched off by the test of row-level security alone.
    pub predicates: bool,
}

impl DatabaseOptions {
    /// Returns options with a pool of 16, a wait of 1.5 s, statements of at most 30 s and connections of at most 30 min.
    #[must_use]
    pub fn new(url: SecretString) -> Self {
        Self {
            url,
            pool_size: 16,
            timeout: Duration::from_millis(1500),
            statement_timeout: Duration::from_secs(30),
            max_connection_age: Duration::from_secs(1800),
            tls: TlsOptions::default(),
            predicates: true,
        }
    }
}

/// Seconds after which a long-running transaction has probably ended.
const LONG_TRANSACTION_RETRY: u64 = 5;

/// Longest statement of a response that is produced while its client reads it.
const LONG_STATEMENT: Duration = Duration::from_secs(300);

/// Longest statement of a maintenance task that reads or changes a whole month, or all entries of a tenant.
pub(crate) const MAINTENANCE_STATEMENT: Duration = Duration::from_secs(3600);

/// A connection that receives notifications.
pub(crate) type Notified = (tokio_postgres::Client, Driven);

/// The rows that row-level security shows to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Visibility {
    tenant: Uuid,
    scope: ScopeSetting,
}

/// The setting `app.scope`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScopeSetting {
    /// The rows of the tenant.
    Tenant,
    /// All rows.
    System,
    /// The job tables of all tenants, and nothing else.
    Queue,
}

impl ScopeSetting {
    fn as_str(self) -> &'static str {
        match self {
            Self::Tenant => "",
            Self::System => "system",
            Self::Queue => "queue",
        }
    }
}

impl Visibility {
    pub(crate) fn of(scope: &Scope) -> Self {
        match scope.visible_tenants {
            VisibleTenants::All => Self {
                tenant: scope.tenant.unwrap_or(PLATFORM_TENANT),
                scope: ScopeSetting::System,
            },
            VisibleTenants::Tenant(tenant) => Self {
                tenant,
                scope: ScopeSetting::Tenant,
            },
        }
    }

    /// No tenant has this id.
    const QUEUE: Self = Self {
        tenant: Uuid::max(),
        scope: ScopeSetting::Queue,
    };

    /// Returns whether row-level security shows every tenant.
    pub(crate) fn sees_all(self) -> bool {
        self.scope == ScopeSetting::System
    }

    /// Returns the SQL that sets it. Both values have types whose text needs no quoting.
    pub(crate) fn sql(self, local: bool) -> String {
        let scope = if local { "local " } else { "" };
        format!(
            "set {scope}app.tenant_id = '{}'; set {scope}app.scope = '{}'",
            self.tenant,
            self.scope.as_str()
        )
    }
}

#[derive(QueryableByName)]
struct Writability {
    #[diesel(sql_type = Bool)]
    is_read_only: bool,
}

/// A pool of connections. Clones share it; [`Database::for_worker`] creates another one with the same options.
#[derive(Clone)]
pub struct Database {
    pool: Arc<pool::Pool>,
    options: Arc<DatabaseOptions>,
    connector: Arc<Connector>,
    long_transactions: LongTransactions,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("pool_size", &self.options.pool_size)
            .finish_non_exhaustive()
    }
}

impl Database {
    /// Creates a pool that opens connections on demand.
    ///
    /// # Errors
    /// When the URL or the limit of statements is invalid.
    pub fn new(options: DatabaseOptions) -> Result<Self> {
        if options.statement_timeout > LONGEST_STATEMENT_TIMEOUT {
            let longest = LONGEST_STATEMENT_TIMEOUT.as_millis();
            return Err(Error::internal(format!(
                "the limit of statements must be at most {longest} ms"
            )));
        }
        let mut connector = Connector::new("database.url", &options.url, &options.tls)
            .map_err(|error| Error::internal(error.to_string()))?;
        let config = connector.config_mut();
        config.connect_timeout(options.timeout);
        if config.get_application_name().is_none() {
            config.application_name("backoffice");
        }
        SessionOptions::new(config, options.statement_timeout).apply(config);
        let connector = Arc::new(connector);
        let long_transactions = LongTransactions::default();
        Ok(Self {
            pool: Arc::new(pool::Pool::new(Arc::clone(&connector), &options, &long_transactions)),
            options: Arc::new(options),
            connector,
            long_transactions,
        })
    }

    /// Creates another pool of `size` connections for a worker thread, whose runtime drives these connections.
    #[must_use]
    pub fn for_worker(&self, size: usize) -> Self {
        let options = DatabaseOptions {
            pool_size: size.max(1),
            ..(*self.options).clone()
        };
        Self {
            pool: Arc::new(pool::Pool::new(
                Arc::clone(&self.connector),
                &options,
                &self.long_transactions,
            )),
            options: Arc::new(options),
            connector: Arc::clone(&self.connector),
            long_transactions: self.long_transactions.clone(),
        }
    }

    /// Returns a connection for reads of this scope.
    ///
    /// # Errors
    /// 503 when the database can't be reached or the pool stays exhausted.
    pub async fn read(&self, scope: &Scope) -> Result<Connection> {
        let visibility = Visibility::of(scope);
        let mut connection = self.pool.acquire(visibility).await?;
        connection.show(visibility).await?;
        Ok(connection)
    }

    /// Returns a connection for one short read of this scope (a row by its key). Concurrent short reads of one tenant are pipelined on one
    /// connection, which saves most of their cost; a long statement would delay the others.
    ///
    /// # Errors
    /// As [`Database::read`].
    pub async fn read_briefly(&self, scope: &Scope) -> Result<Arc<Connection>> {
        self.pool.join(Visibility::of(scope)).await
    }

    /// Returns a connection for unlogged writes: sessions, counters, leases.
    ///
    /// # Errors
    /// As [`Database::read`].
    pub async fn unlogged(&self, scope: &Scope) -> Result<Connection> {
        self.read(scope).await
    }

    /// Returns a connection for claiming jobs: it sees the job tables of all tenants, and nothing else.
    pub(crate) async fn queue(&self) -> Result<Connection> {
        let mut connection = self.pool.acquire(Visibility::QUEUE).await?;
        connection.show(Visibility::QUEUE).await?;
        Ok(connection)
    }

    /// Opens a connection outside the pool that receives notifications. The first half sends statements; the second half must be polled.
    pub(crate) async fn listener(&self) -> Result<Notified> {
        let connecting = self.connector.connect();
        let connected = tokio::time::timeout(self.options.timeout, connecting)
            .await
            .map_err(|_| Error::Unavailable("connecting took too long".into()))?;
        Ok(connected?)
    }

    pub(crate) async fn begin(&self, scope: &Scope) -> Result<Connection> {
        self.begin_limited(scope, None).await
    }

    /// Takes a connection for a transaction that [`Connection::begin_with`] begins.
    pub(crate) async fn acquire(&self, scope: &Scope) -> Result<Connection> {
        self.pool.acquire(Visibility::of(scope)).await
    }

    async fn begin_limited(&self, scope: &Scope, longest: Option<Duration>) -> Result<Connection> {
        let visibility = Visibility::of(scope);
        let mut connection = self.pool.acquire(visibility).await?;
        connection.begin(visibility, longest).await?;
        Ok(connection)
    }

    /// Begins an unlogged transaction over several statements (signing in).
    ///
    /// # Errors
    /// As [`Database::read`].
    pub async fn transaction(&self, scope: &Scope) -> Result<UnloggedTransaction> {
        Ok(UnloggedTransaction {
            connection: self.begin(scope).await?,
            _permit: None,
        })
    }

    /// Takes a permit for an unlogged transaction of a response that is produced while its client reads it, and that lasts as long as the client
    /// takes. Only a quarter of the pool serves such responses, so that slow clients leave enough connections for the other requests; one tenant gets
    /// at most half of that, and in the process at most four for each tenant and two for each principal.
    ///
    /// # Errors
    /// 429 when that many are taken.
    pub fn long_transaction_permit(&self, holder: Holder) -> Result<LongTransactionPermit> {
        let permit = self.pool.long_transaction_permit(holder);
        permit.ok_or_else(|| {
            let rejection = Rejection {
                retry_after: Some(LONG_TRANSACTION_RETRY),
                ..Rejection::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests")
            };
            rejection.into()
        })
    }

    /// Begins the unlogged transaction of a permit.
    ///
    /// # Errors
    /// As [`Database::read`].
    pub async fn long_transaction(&self, scope: &Scope, permit: LongTransactionPermit) -> Result<UnloggedTransaction> {
        Ok(UnloggedTransaction {
            connection: self.begin_limited(scope, Some(LONG_STATEMENT)).await?,
            _permit: Some(permit),
        })
    }

    /// Returns whether the database accepts writes. A standby does not, nor does a server whose transactions are read-only by default.
    ///
    /// # Errors
    /// As [`Database::read`].
    pub async fn accepts_writes(&self) -> Result<bool> {
        let statement =
            sql_query("select current_setting('transaction_read_only')::boolean as is_read_only").prepared();
        let mut connection = self.read(&Scope::system()).await?;
        let found: Writability = statement.get_result(&mut *connection).await?;
        Ok(!found.is_read_only)
    }

    /// Returns whether scopes of this database write their tenant predicates.
    #[must_use]
    pub fn writes_predicates(&self) -> bool {
        self.options.predicates
    }
}

/// A transaction outside the command bus; rolled back when dropped.
#[derive(Debug)]
pub struct UnloggedTransaction {
    connection: Connection,
    _permit: Option<LongTransactionPermit>,
}

impl UnloggedTransaction {
    /// Returns the connection.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Commits the transaction.
    ///
    /// # Errors
    /// When the database rejects the commit or the connection is lost.
    pub async fn commit(mut self) -> Result<()> {
        self.connection.end(true).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_statements_that_postgresql_rejects_is_an_error() {
        let create = |statement_timeout| {
            let url = SecretString::from("postgres://app@localhost/app".to_owned());
            Database::new(DatabaseOptions {
                statement_timeout,
                ..DatabaseOptions::new(url)
            })
        };

        assert!(create(LONGEST_STATEMENT_TIMEOUT).is_ok());
        let error = create(LONGEST_STATEMENT_TIMEOUT + Duration::from_millis(1)).expect_err("too long");
        assert!(error.to_string().contains("2147483647 ms"), "{error}");
    }
}
