//! The settings of a test's application.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use backoffice_core::config::Config;
use backoffice_core::db::{Database, DatabaseOptions};
use backoffice_core::ids::Ids;
use backoffice_core::mail::Mailer;
use backoffice_core::{Module, Platform, PlatformOptions, Runtime, Timestamp};
use secrecy::SecretString;

use crate::clock::{MockClock, START};
use crate::data_dir::DataDir;
use crate::{MemoryMailer, SeededRandomness, TestApp, TestDatabase};

/// The start of the clock.
#[derive(Debug, Clone, Copy)]
enum Start {
    At(Timestamp),
    /// In a month, counted from the present one of the database's clock.
    InMonth(i32),
}

/// A builder of an application; see [`TestApp::builder`].
#[derive(Debug, Clone)]
pub struct TestAppBuilder {
    modules: Vec<&'static Module>,
    compiled: Vec<&'static Module>,
    config: String,
    predicates: bool,
    pool_size: usize,
    pool_timeout: Duration,
    pub(crate) through_proxy: bool,
    seed: u64,
    start: Start,
    real_mail: bool,
    pub(crate) mailer: MemoryMailer,
    data_dir: Arc<DataDir>,
}

impl TestAppBuilder {
    pub(crate) fn new(modules: &[&'static Module]) -> Self {
        Self {
            modules: modules.to_vec(),
            compiled: modules.to_vec(),
            config: String::new(),
            predicates: true,
            pool_size: 4,
            // A busy machine that runs many tests at once must not cause 503s.
            pool_timeout: Duration::from_secs(30),
            through_proxy: false,
            seed: 0,
            real_mail: false,
            mailer: MemoryMailer::default(),
            data_dir: Arc::new(DataDir::new()),
            start: Start::At(Timestamp::parse(START).expect("a constant instant")),
        }
    }

    /// Adds configuration as TOML text. A section may occur only once.
    #[must_use]
    pub fn config(mut self, toml: &str) -> Self {
        self.config.push_str(toml);
        self.config.push('\n');
        self
    }

    /// Returns the folder of all files that the application writes.
    pub(crate) fn data_dir(&self) -> &Path {
        self.data_dir.path()
    }

    pub(crate) fn without_config(mut self) -> Self {
        self.config.clear();
        self
    }

    /// Sets the compiled-in modules, if there are more than the enabled ones.
    #[must_use]
    pub fn compiled(mut self, modules: &[&'static Module]) -> Self {
        self.compiled = modules.to_vec();
        self
    }

    /// Omits the tenant predicates from every statement, so that row-level security is the only protection.
    #[must_use]
    pub fn without_tenant_predicates(mut self) -> Self {
        self.predicates = false;
        self
    }

    /// Sets the maximum number of connections of the pool. Default 4.
    #[must_use]
    pub fn pool_size(mut self, connections: usize) -> Self {
        self.pool_size = connections;
        self
    }

    /// Sets the maximum wait for a connection. Default 30 s.
    #[must_use]
    pub fn pool_timeout(mut self, timeout: Duration) -> Self {
        self.pool_timeout = timeout;
        self
    }

    /// Puts a [`FaultProxy`](crate::FaultProxy) between the pool and the server, which counts statements and fails them on demand.
    #[must_use]
    pub fn through_proxy(mut self) -> Self {
        self.through_proxy = true;
        self
    }

    pub(crate) fn without_proxy(mut self) -> Self {
        self.through_proxy = false;
        self
    }

    /// Sets the seed of ids and tokens. Default 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sends mail as section `mail` says. Otherwise mail stays in memory, unless the configuration disables it.
    #[must_use]
    pub fn with_real_mail(mut self) -> Self {
        self.real_mail = true;
        self
    }

    /// Sets the start of the clock. Default `2026-11-20T08:00:00Z`.
    #[must_use]
    pub fn starting_at(mut self, start: Timestamp) -> Self {
        self.start = Start::At(start);
        self
    }

    /// Starts the clock on the 20th of a month, at 08:00, counted from the present month of the database's clock. For tests of tables that are
    /// partitioned by month: PostgreSQL creates their partitions by its own clock, so with a constant start the rows of a test lie in another partition
    /// every month.
    #[must_use]
    pub fn starting_in_month(mut self, month: i32) -> Self {
        self.start = Start::InMonth(month);
        self
    }

    /// Creates the application and its database.
    ///
    /// # Panics
    /// When there is no PostgreSQL, a migration fails, or a module rejects the configuration.
    pub async fn build(self) -> TestApp {
        let database = Rc::new(TestDatabase::create(&self.modules).await);
        let start = match self.start {
            Start::At(instant) => instant,
            Start::InMonth(month) => day_of_month(&database, month).await,
        };
        let clock = Arc::new(MockClock::new(start));
        let ids = Ids::new(Arc::new(SeededRandomness::new(self.seed)));
        TestApp::compose(self, database, clock, ids).await
    }

    pub(crate) fn runtime(&self, url: String, clock: Arc<MockClock>, ids: Ids) -> Runtime {
        let config = format!("data_dir = '{}'\n{}", self.data_dir.path().display(), self.config);
        let config = Config::from_toml(&config).unwrap_or_else(|error| panic!("the configuration: {error}"));
        let options = PlatformOptions {
            enabled: self.modules.clone(),
            compiled: self.compiled.clone(),
            config,
            clock,
            ids,
            mailer: (!self.real_mail).then(|| Arc::new(self.mailer.clone()) as Arc<dyn Mailer>),
        };
        let platform = Platform::new(options).unwrap_or_else(|error| panic!("the platform: {error}"));
        let options = DatabaseOptions {
            pool_size: self.pool_size,
            timeout: self.pool_timeout,
            predicates: self.predicates,
            ..DatabaseOptions::new(SecretString::from(url))
        };
        let database = Database::new(options).unwrap_or_else(|error| panic!("the pool: {error}"));
        Runtime { platform, database }
    }
}

/// Returns the 20th of a month, at 08:00, counted from the present month of the database's clock.
async fn day_of_month(database: &TestDatabase, month: i32) -> Timestamp {
    let sql = format!(
        "select to_char(date_trunc('month', now() at time zone 'utc') + interval '{month} months 19 days 8 hours', \
            'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') as day"
    );
    let rows = database.rows(&sql).await;
    let day = rows[0]["day"].as_str().expect("a text");
    Timestamp::parse(day).expect("an instant")
}
