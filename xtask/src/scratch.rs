//! Databases that exist for the duration of a check.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use backoffice_core::Module;
use backoffice_core::db::{MigrationSteps, migrate, revert_all};
use backoffice_core::module::migrations;
use backoffice_local_postgres::{LocalPostgres, Settings};
use secrecy::SecretString;
use tokio_postgres::{Client, NoTls};

use crate::Result;
use crate::process::say;
use crate::workspace::Workspace;

/// The variable with the folder of the cluster, for example on a file system in memory.
const FOLDER: &str = "BACKOFFICE_TEST_POSTGRES_DIR";
/// Role that owns the schema. Not a superuser, as in production.
const OWNER: &str = "xtask_owner";
/// Role with which the application would log in.
const APPLICATION: &str = "xtask_application";

/// Starts or joins the cluster that tests and checks share. It is below the target folder, unless `BACKOFFICE_TEST_POSTGRES_DIR` names another one,
/// and does not survive a crash of the machine.
pub(crate) fn cluster(workspace: &Workspace) -> Result<LocalPostgres> {
    let folder = std::env::var_os(FOLDER).filter(|folder| !folder.is_empty());
    let folder = folder.map_or_else(|| workspace.target().join("test-postgres"), PathBuf::from);
    let settings = Settings {
        durable: false,
        ..Settings::new(folder)
    };
    let postgres = LocalPostgres::shared(&settings)?;
    say(&format!(
        "PostgreSQL {} in {}",
        postgres.version(),
        postgres.dir().display()
    ));
    Ok(postgres)
}

/// Runs asynchronous work on several threads, because migrations block.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?
        .block_on(work)
}

/// An empty database with an owner of its own.
pub(crate) struct Scratch<'a> {
    postgres: &'a LocalPostgres,
    name: String,
}

impl<'a> Scratch<'a> {
    /// Creates a database for some work and drops it afterwards, whether the work succeeds or fails.
    pub(crate) async fn with<T>(
        postgres: &'a LocalPostgres,
        purpose: &str,
        work: impl AsyncFnOnce(&Self) -> Result<T>,
    ) -> Result<T> {
        let scratch = Self::create(postgres, purpose).await?;
        let outcome = work(&scratch).await;
        scratch.remove().await?;
        outcome
    }

    async fn create(postgres: &'a LocalPostgres, purpose: &str) -> Result<Self> {
        let scratch = Self {
            postgres,
            name: format!("xtask_{purpose}_{}_{}", std::process::id(), nanoseconds()),
        };
        let admin = connect(&postgres.url("postgres", "postgres")).await?;
        for role in [OWNER, APPLICATION] {
            // Another check may create the role at the same time.
            admin
                .batch_execute(&format!(
                    "do $$ begin create role {role} login; exception when duplicate_object or unique_violation then null; end $$"
                ))
                .await?;
        }
        admin
            .batch_execute(&format!("create database {} owner {OWNER}", scratch.name))
            .await?;
        Ok(scratch)
    }

    /// Applies the migrations of core and of these modules.
    pub(crate) async fn migrate(&self, modules: &[&'static Module]) -> Result<usize> {
        Ok(migrate(&self.owner(), APPLICATION, &migrations(modules)).await?)
    }

    /// Returns the migrations of core and of these modules, to be applied and reverted one by one.
    pub(crate) async fn steps(&self, modules: &[&'static Module]) -> Result<MigrationSteps> {
        Ok(MigrationSteps::new(&self.owner(), &migrations(modules)).await?)
    }

    /// Reverts these migrations.
    pub(crate) async fn revert(&self, modules: &[&'static Module]) -> Result<usize> {
        Ok(revert_all(&self.owner(), &migrations(modules)).await?)
    }

    /// Opens a superuser's connection to the database.
    pub(crate) async fn connect(&self) -> Result<Client> {
        connect(&self.postgres.url("postgres", &self.name)).await
    }

    async fn remove(self) -> Result<()> {
        let admin = connect(&self.postgres.url("postgres", "postgres")).await?;
        admin
            .batch_execute(&format!("drop database {} with (force)", self.name))
            .await?;
        Ok(())
    }

    fn owner(&self) -> SecretString {
        self.postgres.url(OWNER, &self.name).into()
    }
}

async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a name that no other run has; no business code sees it"
)]
fn nanoseconds() -> u128 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos()
}
