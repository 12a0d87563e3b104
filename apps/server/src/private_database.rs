//! The private PostgreSQL of a host without a configured database.

use std::path::Path;

use backoffice_core::Module;
use backoffice_core::db::{self, MigrationState, TlsOptions};
use backoffice_core::module::migrations;
use backoffice_local_postgres::{LocalPostgres, Settings};
use secrecy::SecretString;

use crate::database;
use crate::{Error, Result};

const DATABASE: &str = "backoffice";
const OWNER: &str = "backoffice_owner";
const APPLICATION: &str = "backoffice_app";

/// A running private PostgreSQL with the schema of the enabled modules.
#[derive(Debug)]
pub(crate) struct PrivateDatabase {
    server: LocalPostgres,
}

impl PrivateDatabase {
    /// Starts the server below `data_dir`, or joins it if it runs, so that commands work beside a serving process. Migrates the schema.
    pub(crate) async fn start(data_dir: &Path, modules: &[&'static Module]) -> Result<Self> {
        let private = Self {
            server: run(data_dir).await?,
        };
        private.create_roles().await?;
        private.migrate(modules).await?;
        Ok(private)
    }

    /// Returns whether there is a server below `data_dir`. Creates and starts nothing.
    pub(crate) fn exists(data_dir: &Path) -> Result<bool> {
        Ok(LocalPostgres::exists(&settings(data_dir))?)
    }

    /// Returns the URL of the application's role.
    pub(crate) fn url(&self) -> SecretString {
        self.server.url(APPLICATION, DATABASE).into()
    }

    /// Stops the server, unless another process uses it.
    pub(crate) async fn stop(self) -> Result<()> {
        tokio::task::spawn_blocking(move || self.server.stop())
            .await
            .map_err(|error| Error::other(error.to_string()))??;
        Ok(())
    }

    async fn create_roles(&self) -> Result<()> {
        let url = self.server.url("postgres", "postgres").into();
        let client = database::connect(&database::parse("data_dir", &url, &TlsOptions::default())?).await?;
        let count = "select (select count(*) from pg_roles where rolname in ($1, $2)) + (select count(*) from pg_database where datname = $3)";
        let created: i64 = client
            .query_one(count, &[&OWNER, &APPLICATION, &DATABASE])
            .await?
            .try_get(0)?;
        if created == 3 {
            return Ok(());
        }
        // Two first starts may run at the same time; the lock ends with the connection.
        client
            .batch_execute("select pg_advisory_lock(hashtext('backoffice.roles'))")
            .await?;
        for role in [OWNER, APPLICATION] {
            if client
                .query_opt("select from pg_roles where rolname = $1", &[&role])
                .await?
                .is_none()
            {
                client
                    .batch_execute(&format!(
                        "create role {role} login nosuperuser nobypassrls nocreatedb nocreaterole"
                    ))
                    .await?;
            }
        }
        if client
            .query_opt("select from pg_database where datname = $1", &[&DATABASE])
            .await?
            .is_none()
        {
            client
                .batch_execute(&format!(
                    "create database {DATABASE} owner {OWNER} encoding 'UTF8' template template0"
                ))
                .await?;
        }
        Ok(())
    }

    async fn migrate(&self, modules: &[&'static Module]) -> Result<()> {
        let owner_url = SecretString::from(self.server.url(OWNER, DATABASE));
        let owner = database::parse("data_dir", &owner_url, &TlsOptions::default())?;
        let client = database::connect(&owner).await?;
        let state = database::schema_state(client, modules).await?;
        match &state {
            MigrationState::Current => Ok(()),
            MigrationState::Pending(_) | MigrationState::NotGranted => {
                let count = db::migrate(&owner_url, APPLICATION, &migrations(modules)).await?;
                tracing::info!(count, "migrations applied");
                Ok(())
            }
            MigrationState::Unknown(_) => Err(Error::other(database::schema_rejection(&state).unwrap_or_default())),
        }
    }
}

fn settings(data_dir: &Path) -> Settings {
    Settings::new(data_dir.join("postgres"))
}

async fn run(data_dir: &Path) -> Result<LocalPostgres> {
    let settings = settings(data_dir);
    let started = tokio::task::spawn_blocking(move || LocalPostgres::shared(&settings)).await;
    Ok(started.map_err(|error| Error::other(error.to_string()))??)
}
