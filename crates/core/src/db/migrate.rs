//! Runs migrations: core first, then the modules by dependency, each one's migrations by version.

use std::collections::{BTreeMap, HashMap};

use diesel::QueryableByName;
use diesel::connection::BoxableConnection;
use diesel::migration::{Migration, MigrationMetadata, MigrationName, MigrationSource};
use diesel::pg::Pg;
use diesel::sql_types::{Bool, Text};
use diesel_async::{AsyncMigrationHarness, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use secrecy::SecretString;

use super::rights;
use super::{Connector, TlsOptions};
use crate::error::{Error, Result};

const CORE: EmbeddedMigrations = embed_migrations!("migrations");

/// Migrations of one module, embedded in its crate.
pub type Migrations = EmbeddedMigrations;

/// The state of the database's schema relative to the enabled modules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MigrationState {
    /// Every migration of the enabled modules is applied.
    Current,
    /// Some migrations are missing.
    Pending(Vec<String>),
    /// Unknown migrations are applied: the schema is newer than this build.
    Unknown(Vec<String>),
    /// The role may not read which migrations are applied: [`migrate`] was interrupted before it granted the rights, or granted them to another role.
    NotGranted,
}

#[derive(QueryableByName)]
struct Version {
    #[diesel(sql_type = Text)]
    version: String,
}

#[derive(QueryableByName)]
struct Ledger {
    #[diesel(sql_type = Bool)]
    it_exists: bool,
    #[diesel(sql_type = Bool)]
    is_readable: bool,
}

const LEDGER: &str = "\
select ledger is not null as it_exists, coalesce(has_table_privilege(ledger, 'select'), false) as is_readable \
from to_regclass('__diesel_schema_migrations') as ledger";

/// Returns the migrations of core and of these modules in their order.
///
/// # Errors
/// When two modules have the same number: of two migrations with one version only one would ever be applied.
fn all(modules: &[&Migrations]) -> Result<Vec<Box<dyn Migration<Pg>>>> {
    let mut migrations = Vec::new();
    let mut first_of: HashMap<String, String> = HashMap::new();
    for source in std::iter::once(&CORE).chain(modules.iter().copied()) {
        let mut own = MigrationSource::<Pg>::migrations(source).map_err(Error::Internal)?;
        own.sort_by_key(|migration| migration.name().version().as_owned().to_string());
        // Reversed, so that each number is reported with its first migration.
        let numbers: BTreeMap<String, String> = own.iter().rev().map(|one| number_and_name(&**one)).collect();
        for (number, name) in numbers {
            if let Some(other) = first_of.insert(number.clone(), name.clone()) {
                return Err(Error::internal(format!(
                    "the migrations {other} and {name} belong to two modules, but both have the number {number}"
                )));
            }
        }
        migrations.extend(own);
    }
    Ok(migrations)
}

fn number_and_name(migration: &dyn Migration<Pg>) -> (String, String) {
    let version = migration.name().version().as_owned().to_string();
    (module_number(&version).to_owned(), migration.name().to_string())
}

/// Returns the last four digits of a version: the number of its module.
fn module_number(version: &str) -> &str {
    version.get(version.len().saturating_sub(4)..).unwrap_or(version)
}

/// Applies pending migrations of core and of these modules, as the schema's owner, under an advisory lock, grants `application_role` its rights, and
/// creates the coming months of tables that are partitioned by month. Returns the number of migrations applied. Needs a multi-threaded runtime.
///
/// # Errors
/// When the database can't be reached or a migration fails; the migrations applied before it stay.
pub async fn migrate(owner_url: &SecretString, application_role: &str, modules: &[&Migrations]) -> Result<usize> {
    migrate_over(&connector(owner_url)?, application_role, modules).await
}

/// Changes the version of everything: a migration may change any row, so no list keeps a total or an entity tag from before it.
const CHANGE_ALL: &str = "\
do $$ begin \
  if to_regclass('core_collections') is not null then \
    perform set_config('app.scope', 'system', true); \
    insert into core_collections as c (tenant_id, id, kind, version, created_at, updated_at) \
    values ('00000000-0000-0000-0000-000000000000', gen_random_uuid(), '*', 1, now(), now()) \
    on conflict (tenant_id, kind) do update set version = c.version + 1, updated_at = now(); \
  end if; \
end $$";

/// A migration that changes the version of everything in its own transaction, so that neither a crash nor a later migration that fails separates them.
struct Announced(Box<dyn Migration<Pg>>);

impl Migration<Pg> for Announced {
    fn run(&self, connection: &mut dyn BoxableConnection<Pg>) -> diesel::migration::Result<()> {
        self.0.run(connection)?;
        Ok(connection.batch_execute(CHANGE_ALL)?)
    }

    fn revert(&self, connection: &mut dyn BoxableConnection<Pg>) -> diesel::migration::Result<()> {
        self.0.revert(connection)
    }

    fn metadata(&self) -> &dyn MigrationMetadata {
        self.0.metadata()
    }

    fn name(&self) -> &dyn MigrationName {
        self.0.name()
    }
}

/// Migrates over a connector, where the URL alone does not determine the connection.
///
/// # Errors
/// As [`migrate`].
pub async fn migrate_over(owner: &Connector, application_role: &str, modules: &[&Migrations]) -> Result<usize> {
    let mut connection = connect(owner).await?;
    connection
        .batch_execute("select pg_advisory_lock(hashtext('backoffice.migrate'))")
        .await?;
    let mut harness = AsyncMigrationHarness::new(connection);
    let applied: Vec<String> = harness
        .applied_migrations()
        .map_err(Error::Internal)?
        .iter()
        .map(ToString::to_string)
        .collect();
    let mut count = 0;
    for migration in all(modules)? {
        if !applied.contains(&migration.name().version().to_string()) {
            harness.run_migration(&Announced(migration)).map_err(Error::Internal)?;
            count += 1;
        }
    }
    let mut connection = harness.into_inner();
    connection.batch_execute(&rights::grants(application_role)).await?;
    connection
        .batch_execute("select app_make_months(name, 3) from core_monthly_tables order by name")
        .await?;
    Ok(count)
}

/// Reverts every migration, last module first. For the check that each `down.sql` works.
///
/// # Errors
/// When the database can't be reached or a migration fails.
pub async fn revert_all(owner_url: &SecretString, modules: &[&Migrations]) -> Result<usize> {
    let mut harness = AsyncMigrationHarness::new(connect(&connector(owner_url)?).await?);
    let mut count = 0;
    for migration in all(modules)?.iter().rev() {
        harness.revert_migration(&**migration).map_err(Error::Internal)?;
        count += 1;
    }
    Ok(count)
}

/// The migrations of core and of some modules, in the order in which [`migrate`] applies them. For the check that each `down.sql` reverses its own
/// `up.sql`. Its methods need a multi-threaded runtime.
pub struct MigrationSteps {
    harness: AsyncMigrationHarness<AsyncPgConnection>,
    migrations: Vec<Box<dyn Migration<Pg>>>,
}

impl std::fmt::Debug for MigrationSteps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MigrationSteps")
            .field("migrations", &self.names())
            .finish_non_exhaustive()
    }
}

impl MigrationSteps {
    /// Connects as the schema's owner to a database without migrations, and creates diesel's table of applied migrations.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn new(owner_url: &SecretString, modules: &[&Migrations]) -> Result<Self> {
        let mut harness = AsyncMigrationHarness::new(connect(&connector(owner_url)?).await?);
        MigrationHarness::<Pg>::applied_migrations(&mut harness).map_err(Error::Internal)?;
        Ok(Self {
            harness,
            migrations: all(modules)?,
        })
    }

    /// Returns the names of all migrations.
    pub fn names(&self) -> Vec<String> {
        let names = self.migrations.iter().map(|migration| migration.name().to_string());
        names.collect()
    }

    /// Applies the migration with this index, without the rights and the months that [`migrate`] adds at the end.
    ///
    /// # Errors
    /// When the migration fails, or there is none with this index.
    pub fn apply(&mut self, index: usize) -> Result<()> {
        let migration = self.migrations.get(index).ok_or_else(no_migration)?;
        self.harness.run_migration(&**migration).map_err(Error::Internal)?;
        Ok(())
    }

    /// Reverts the migration with this index.
    ///
    /// # Errors
    /// When the migration fails, or there is none with this index.
    pub fn revert(&mut self, index: usize) -> Result<()> {
        let migration = self.migrations.get(index).ok_or_else(no_migration)?;
        self.harness.revert_migration(&**migration).map_err(Error::Internal)?;
        Ok(())
    }
}

fn no_migration() -> Error {
    Error::internal("no migration has this index")
}

/// Compares the applied migrations with those of the enabled modules. Versions of modules that are not enabled don't count.
///
/// # Errors
/// When the database can't be reached.
pub async fn migration_state(connection: &mut AsyncPgConnection, modules: &[&Migrations]) -> Result<MigrationState> {
    let requested: Vec<String> = all(modules)?
        .iter()
        .map(|migration| migration.name().version().to_string())
        .collect();
    let ledger: Ledger = diesel::sql_query(LEDGER).get_result(connection).await?;
    if !ledger.it_exists {
        return Ok(MigrationState::Pending(requested));
    }
    if !ledger.is_readable {
        return Ok(MigrationState::NotGranted);
    }
    let applied: Vec<Version> = diesel::sql_query("select version::text from __diesel_schema_migrations")
        .load(connection)
        .await?;
    let applied: Vec<String> = applied.into_iter().map(|row| row.version).collect();
    let unknown: Vec<String> = applied
        .iter()
        .filter(|version| !requested.contains(version))
        .filter(|version| {
            requested
                .iter()
                .any(|known| module_number(known) == module_number(version))
        })
        .cloned()
        .collect();
    if !unknown.is_empty() {
        return Ok(MigrationState::Unknown(unknown));
    }
    let pending: Vec<String> = requested
        .into_iter()
        .filter(|version| !applied.contains(version))
        .collect();
    Ok(if pending.is_empty() {
        MigrationState::Current
    } else {
        MigrationState::Pending(pending)
    })
}

fn connector(url: &SecretString) -> Result<Connector> {
    Connector::new("database.owner_url", url, &TlsOptions::default())
        .map_err(|error| Error::internal(error.to_string()))
}

/// Connects without limits for statements and locks, regardless of the role's settings: migrations, and the wait for those of another process, may take
/// any time.
async fn connect(owner: &Connector) -> Result<AsyncPgConnection> {
    let mut connection = owner.diesel().await?;
    connection
        .batch_execute("set statement_timeout = 0; set lock_timeout = 0")
        .await?;
    Ok(connection)
}
