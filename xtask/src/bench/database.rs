//! The database of the server and of pgbench.

use std::path::{Path, PathBuf};
use std::process::Command;

use backoffice_local_postgres::LocalPostgres;
use tokio_postgres::error::{ErrorPosition, SqlState};
use tokio_postgres::{NoTls, SimpleQueryMessage};
use uuid::Uuid;

use super::Options;
use super::subject::{role, role_name};
use crate::Result;
use crate::process::output;
use crate::scratch::block_on;

pub(super) const NAME: &str = "bench";
/// Role that owns the schema.
pub(super) const OWNER: &str = "bench_owner";
/// The server's role.
pub(super) const APPLICATION: &str = "bench_application";
/// Role that reads the same rows without row-level security.
pub(super) const BYPASSING: &str = "bench_bypassing";
/// The caller: an administrator of the tenant without super administrator rights.
pub(super) const EMAIL: &str = "caller@example.com";
/// The caller's password. The database exists only for the bench and listens on no port.
pub(super) const PASSWORD: &str = "measured-Twice-0917";
pub(super) const TENANT: &str = "Measured";

/// PostgreSQL's response to preparing a statement.
#[derive(Debug)]
pub(super) enum Prepared {
    /// The types of its parameters.
    Types(Vec<String>),
    /// The error, and its position in the text.
    Rejected { position: u32, error: String },
}

/// A migrated database with one account.
#[derive(Debug)]
pub(super) struct Database {
    admin: String,
    application: String,
    owner: String,
    work: PathBuf,
    program: PathBuf,
    pub(super) log: PathBuf,
}

impl Database {
    /// Creates the database, replacing an earlier one.
    pub(super) fn create(postgres: &LocalPostgres, program: &Path, work: &Path) -> Result<Self> {
        let database = Self {
            admin: postgres.url("postgres", NAME),
            application: postgres.url(APPLICATION, NAME),
            owner: postgres.url(OWNER, NAME),
            work: work.to_owned(),
            program: program.to_owned(),
            log: postgres.log(),
        };
        let cluster = postgres.url("postgres", "postgres");
        execute(&cluster, &format!("drop database if exists {NAME} with (force)"))?;
        for (role, options) in [(OWNER, ""), (APPLICATION, ""), (BYPASSING, "bypassrls")] {
            execute(&cluster, &format!("drop role if exists {role}"))?;
            execute(&cluster, &format!("create role {role} login {options}"))?;
        }
        execute(&cluster, &format!("create database {NAME} owner {OWNER}"))?;
        let password = work.join("password");
        std::fs::write(&password, PASSWORD)?;
        let password = password.to_string_lossy();
        database.command(&["migrate"])?;
        database.command(&["init", "--password-file", &password])?;
        database.command(&["tenant", "create", TENANT])?;
        database.create_administrator(EMAIL, TENANT)?;
        Ok(database)
    }

    /// Creates an administrator of a tenant, with the password that all accounts have here.
    pub(super) fn create_administrator(&self, email: &str, tenant: &str) -> Result<()> {
        let password = self.work.join("password");
        let password = password.to_string_lossy();
        let user = ["user", "create", email, "--tenant", tenant, "--role", "admin"];
        self.command(&[&user[..], &["--password-file", &password]].concat())
    }

    /// Sets the variables that the server's program needs to use the database.
    pub(super) fn configure(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("BACKOFFICE__") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(&self.work)
            .env("BACKOFFICE__DATA_DIR", self.work.join("var"))
            .env("BACKOFFICE__DATABASE__URL", &self.application)
            .env("BACKOFFICE__DATABASE__OWNER_URL", &self.owner);
    }

    /// Runs a command of the server's program.
    pub(super) fn command(&self, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new(&self.program);
        self.configure(&mut command);
        output(command.args(arguments))?;
        Ok(())
    }

    /// Runs statements as the superuser.
    pub(super) fn execute(&self, sql: &str) -> Result<Vec<SimpleQueryMessage>> {
        execute(&self.admin, sql)
    }

    /// Prepares a statement and returns the types of its parameters.
    pub(super) fn prepare(&self, sql: &str) -> Result<Prepared> {
        block_on(async {
            let (client, connection) = tokio_postgres::connect(&self.admin, NoTls).await?;
            tokio::spawn(connection);
            let error = match client.prepare(sql).await {
                Ok(statement) => {
                    let types = statement.params().iter().map(|one| one.name().to_owned());
                    return Ok(Prepared::Types(types.collect()));
                }
                Err(error) => error,
            };
            let Some(reason) = error.as_db_error() else {
                return Err(error.into());
            };
            Ok(Prepared::Rejected {
                position: match reason.position() {
                    // PostgreSQL analyses FROM before the select list, so this error is reported first, wherever its position is.
                    _ if *reason.code() == SqlState::AMBIGUOUS_FUNCTION => 0,
                    Some(ErrorPosition::Original(position)) => *position,
                    // The error concerns the whole statement, after all of it was analysed.
                    Some(ErrorPosition::Internal { .. }) | None => u32::MAX,
                },
                error: reason.message().to_owned(),
            })
        })
    }

    /// Returns the single value of a statement's first row.
    pub(super) fn text(&self, sql: &str) -> Result<String> {
        let messages = self.execute(sql)?;
        let value = messages.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        Ok(value.ok_or_else(|| format!("no value: {sql}"))?.to_owned())
    }

    /// Returns the tenant that the requests read.
    pub(super) fn tenant(&self) -> Result<Uuid> {
        let tenant = self.text(&format!("select id from directory_tenants where name = '{TENANT}'"))?;
        Ok(tenant.parse()?)
    }

    /// Fills the database and returns the tenant that the requests read.
    pub(super) fn seed(&self, options: &Options) -> Result<Uuid> {
        let tenant = self.tenant()?;
        let roles: Vec<String> = (0..options.clients)
            .map(|client| {
                format!(
                    "('{tenant}', '{}', '{name}', '{name}', now(), now())",
                    role(client),
                    name = role_name(client, 0)
                )
            })
            .collect();
        let seed = include_str!("seed/tenants.sql")
            .replace("{tenant}", &format!("'{tenant}'"))
            .replace("{tenants}", &options.tenants.to_string())
            .replace("{users}", &options.users.to_string())
            .replace("{roles}", &roles.join(", "))
            .replace("{bypassing}", BYPASSING);
        self.execute(&seed)?;
        self.execute("vacuum analyze")?;
        self.execute("checkpoint")?;
        Ok(tenant)
    }
}

fn execute(url: &str, sql: &str) -> Result<Vec<SimpleQueryMessage>> {
    block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        tokio::spawn(connection);
        client.simple_query(sql).await.map_err(|error| {
            let reason = error
                .as_db_error()
                .map_or_else(|| error.to_string(), ToString::to_string);
            format!("{reason} in: {}", sql.chars().take(200).collect::<String>()).into()
        })
    })
}
