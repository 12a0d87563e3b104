//! One database per test.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use backoffice_core::Module;
use backoffice_core::db::close_database;
use backoffice_core::ids::Ids;
use futures_util::future::join;
use serde_json::Value;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::server::{TEST_PREFIX, block_on, connect, copy_strategy, month, server};
use crate::template::{drop_database, ensure, forget, run};

/// Maximum number of attempts to copy a template that another process replaces at the same time.
const ATTEMPTS: u32 = 5;

/// A database that belongs to one test and is dropped with this value. Also used by tests that start the server program.
pub struct TestDatabase {
    name: String,
    owner: Client,
}

impl std::fmt::Debug for TestDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestDatabase")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl TestDatabase {
    /// Creates a copy of the migrated template of these modules.
    ///
    /// # Panics
    /// When there is no PostgreSQL, or a migration fails.
    pub async fn create(modules: &[&'static Module]) -> Self {
        for attempt in 1.. {
            let requested = modules.to_vec();
            let client = blocking(server).await.connect().await;
            let month = month(&client).await;
            let template = blocking(move || ensure(server(), &requested, &month)).await;
            let name = unique_name();
            let strategy = copy_strategy(&client).await;
            let sql = format!("create database \"{name}\" template \"{template}\" strategy {strategy}");
            match client.batch_execute(&sql).await {
                Ok(()) => {
                    // A copy does not include the rights on the database itself.
                    run(&client, &close_database(&name)).await;
                    return Self::open(name).await;
                }
                Err(error) if attempt < ATTEMPTS && is_passing(error.code()) => forget(&template),
                Err(error) => panic!("the test's database can't be created: {error:?}"),
            }
        }
        unreachable!("the last attempt returns or panics")
    }

    /// Creates a database without tables, for tests of the migrations. The application's role exists.
    ///
    /// # Panics
    /// When there is no PostgreSQL.
    pub async fn empty() -> Self {
        let client = blocking(server).await.connect().await;
        let name = unique_name();
        run(&client, &format!("create database \"{name}\"")).await;
        Self::open(name).await
    }

    async fn open(name: String) -> Self {
        let owner = connect(&server().owner_url(&name)).await;
        Self { name, owner }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the URL of the superuser, who owns the schema.
    #[must_use]
    pub fn owner_url(&self) -> String {
        server().owner_url(&self.name)
    }

    /// Returns the URL of the application's role.
    #[must_use]
    pub fn application_url(&self) -> String {
        server().application_url(&self.name)
    }

    /// Returns the superuser's connection.
    #[must_use]
    pub fn owner(&self) -> &Client {
        &self.owner
    }

    /// Runs one or more statements as the schema's owner, past row-level security. Returns the number of affected rows.
    ///
    /// # Panics
    /// When a statement fails.
    pub async fn sql(&self, sql: &str) -> u64 {
        let messages = self
            .owner
            .simple_query(sql)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        let counted = messages.iter().map(|message| match message {
            SimpleQueryMessage::CommandComplete(rows) => *rows,
            _ => 0,
        });
        counted.sum()
    }

    /// Returns the number of rows of a table, or of what follows `from` in a query.
    ///
    /// # Panics
    /// When the query fails.
    pub async fn count(&self, from: &str) -> i64 {
        let rows = self.rows(&format!("select count(*) as n from {from}")).await;
        rows[0]["n"].as_i64().expect("count(*) is a number")
    }

    /// Runs the work while a transaction with these statements is open, and commits the transaction once the work waits for it. Work that does not
    /// wait does not see the changes. Returns the output of the work.
    pub async fn while_changing<T>(&self, sql: &str, work: impl Future<Output = T>) -> T {
        self.sql(&format!("begin; {sql}")).await;
        let commit = async {
            self.until_waited_for().await;
            self.sql("commit").await;
        };
        join(work, commit).await.0
    }

    /// Waits until another transaction is blocked by this connection, for two seconds at most.
    async fn until_waited_for(&self) {
        let waiting =
            "select 1 as found from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))";
        for _ in 0..200 {
            if !self.rows(waiting).await.is_empty() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Returns the rows of a query as JSON, read as the schema's owner.
    ///
    /// # Panics
    /// When the query fails.
    pub async fn rows(&self, query: &str) -> Vec<Value> {
        let sql = format!("select to_jsonb(t)::text from ({query}) t");
        let rows = self
            .owner
            .query(&sql, &[])
            .await
            .unwrap_or_else(|error| panic!("{query}: {error:?}"));
        rows.iter().map(|row| parse(row.get(0))).collect()
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let name = std::mem::take(&mut self.name);
        let dropping = thread::spawn(move || {
            block_on(async { drop_database(&server().connect().await, &name).await });
        });
        // A later process drops what could not be dropped now; the test must not fail because of it.
        let _outcome = dropping.join();
    }
}

pub(crate) fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("PostgreSQL writes JSON")
}

/// Runs blocking work on a thread of its own.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn unique_name() -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let random = u32::from_be_bytes(Ids::default().random());
    format!(
        "{TEST_PREFIX}{}_{}_{random:08x}",
        std::process::id(),
        COUNTER.fetch_add(1, Ordering::Relaxed)
    )
}

/// Returns whether the error is temporary: the template is missing, or another session uses it.
fn is_passing(code: Option<&SqlState>) -> bool {
    code.is_some_and(|code| [SqlState::UNDEFINED_DATABASE, SqlState::OBJECT_IN_USE].contains(code))
}
