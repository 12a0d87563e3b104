//! The one database server of a test process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use backoffice_local_postgres::{LocalPostgres, Settings};
use tokio_postgres::{Client, NoTls};
use url::Url;

/// The role that the application logs in as: it owns nothing and can't bypass row-level security.
pub const APPLICATION_ROLE: &str = "backoffice_app";
/// Prefix of the names of databases that belong to one test.
pub(crate) const TEST_PREFIX: &str = "backoffice_test_";

const VARIABLE: &str = "BACKOFFICE_TEST_DATABASE";
const OWNER: &str = "postgres";

/// Serializes what must happen once per server: creation of roles and templates, and clean-up. Held until its connection ends.
const LOCK: &str = "select pg_advisory_lock(hashtext('backoffice.test'))";

/// The server for all databases of this process. A static is never dropped, so the private cluster keeps running for the next process; the kernel
/// releases the lock that marks it as in use.
static SERVER: OnceLock<Server> = OnceLock::new();

pub(crate) enum Server {
    /// Given by the environment.
    Given(Url),
    /// A private cluster, shared with other test processes.
    Private(LocalPostgres),
}

/// Returns the settings of the private cluster that all test processes of a target directory share. A program that runs many of them (`cargo xtask
/// test`) holds the cluster with `LocalPostgres::shared` for that time and stops it by dropping the handle.
#[must_use]
pub fn cluster_settings(target_dir: &Path) -> Settings {
    Settings {
        durable: false,
        ..Settings::new(target_dir.join("test-postgres"))
    }
}

/// Returns the server; the first call starts it. Blocks.
pub(crate) fn server() -> &'static Server {
    SERVER.get_or_init(|| {
        let server = match std::env::var(VARIABLE) {
            Ok(text) if !text.is_empty() => {
                Server::Given(Url::parse(&text).expect("BACKOFFICE_TEST_DATABASE is a postgres:// URL of a superuser"))
            }
            _ => Server::Private(
                LocalPostgres::shared(&cluster_settings(&target_dir())).expect("a private PostgreSQL starts"),
            ),
        };
        block_on(server.prepare());
        server
    })
}

impl Server {
    /// Returns the URL of the superuser, who owns every schema.
    pub(crate) fn owner_url(&self, database: &str) -> String {
        match self {
            Self::Given(url) => with_database(url, database).into(),
            Self::Private(cluster) => cluster.url(OWNER, database),
        }
    }

    /// Returns the URL of the application's role.
    pub(crate) fn application_url(&self, database: &str) -> String {
        match self {
            Self::Given(url) => {
                let mut url = with_database(url, database);
                url.set_username(APPLICATION_ROLE)
                    .expect("a URL with a host has room for a user");
                url.into()
            }
            Self::Private(cluster) => cluster.url(APPLICATION_ROLE, database),
        }
    }

    /// Connects to the database from which others are created.
    pub(crate) async fn connect(&self) -> Client {
        match self {
            Self::Given(url) => connect(url.as_str()).await,
            Self::Private(cluster) => connect(&cluster.url(OWNER, "postgres")).await,
        }
    }

    /// Connects and takes the server's lock.
    pub(crate) async fn connect_locked(&self) -> Client {
        let client = self.connect().await;
        client.batch_execute(LOCK).await.expect("the server's lock is granted");
        client
    }

    async fn prepare(&self) {
        let client = self.connect_locked().await;
        client
            .batch_execute(&format!(
                "do $$ begin create role {APPLICATION_ROLE} login nosuperuser nobypassrls nocreatedb nocreaterole; \
                 exception when duplicate_object then null; end $$"
            ))
            .await
            .expect("the application's role can be created");
        if let Self::Given(url) = self
            && let Some(password) = url.password()
        {
            let password = url::form_urlencoded::parse(format!("p={}", password.replace('+', "%2B")).as_bytes())
                .map(|(_, value)| value.replace('\'', "''"))
                .collect::<String>();
            let sql = format!("alter role {APPLICATION_ROLE} password '{password}'");
            client
                .batch_execute(&sql)
                .await
                .expect("the application's role takes a password");
        }
        sweep(&client).await;
    }
}

/// Returns the strategy for copying a template. Copying files is faster if the checkpoints around it need not wait for the disk.
pub(crate) async fn copy_strategy(client: &Client) -> &'static str {
    let sql = "select current_setting('fsync') = 'off'";
    let row = client.query_one(sql, &[]).await.expect("the settings can be read");
    if row.get(0) { "file_copy" } else { "wal_log" }
}

/// Returns the present month of the server's clock, as `yyyymm`.
pub(crate) async fn month(client: &Client) -> String {
    let sql = "select to_char(now() at time zone 'utc', 'YYYYMM')";
    let row = client.query_one(sql, &[]).await.expect("the server has a clock");
    row.get(0)
}

/// Drops the databases that killed test processes left behind. A database in use is kept: nothing is forced.
async fn sweep(client: &Client) {
    let sql = format!("select datname from pg_database where starts_with(datname, '{TEST_PREFIX}')");
    for row in client.query(&sql, &[]).await.expect("the catalogue can be read") {
        let name: &str = row.get(0);
        let pid = name
            .strip_prefix(TEST_PREFIX)
            .and_then(|rest| rest.split('_').next()?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !is_alive(pid)) {
            // In use, or dropped by another process in the meantime.
            let _kept = client
                .batch_execute(&format!("drop database if exists \"{name}\""))
                .await;
        }
    }
}

fn is_alive(pid: u32) -> bool {
    if Path::new("/proc/self").exists() {
        return Path::new("/proc").join(pid.to_string()).exists();
    }
    let mut kill = Command::new("kill");
    kill.args(["-0", &pid.to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    kill.status().map_or(true, |status| status.success())
}

/// Connects and drives the connection on the current runtime.
pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls)
        .await
        .unwrap_or_else(|error| panic!("the test database can't be reached: {error:?}"));
    tokio::spawn(connection);
    client
}

/// Runs the future to completion on a multi-threaded runtime of its own, which migrations need. Must not be called from async threads.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime starts")
        .block_on(future)
}

fn with_database(url: &Url, database: &str) -> Url {
    let mut url = url.clone();
    url.set_path(database);
    url
}

/// Returns the target directory, which Cargo marks; test programs are below it.
fn target_dir() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let marked = program
        .ancestors()
        .find(|dir| dir.join("CACHEDIR.TAG").exists())
        .map(Path::to_owned);
    marked
        .or_else(|| std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from))
        .unwrap_or_else(|| std::env::temp_dir().join("backoffice"))
}
