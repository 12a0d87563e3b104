//! The host's view of the database: reachability, roles, schema.

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::db::{self, Connector, MigrationState, TlsOptions};
use backoffice_core::module::migrations;
use diesel_async::AsyncPgConnection;
use postgres_protocol::password::scram_sha_256;
use secrecy::SecretString;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::session::PoolSession;
use crate::{Backoffice, Error, Result};

/// The powers of the application's role over the schema, its own and those that a membership gives it, inherited or with `set role`. A safe role has
/// none of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolePowers {
    /// The role is a superuser.
    pub superuser: bool,
    /// The role bypasses row-level security.
    pub bypass: bool,
    /// The role may create roles. Up to PostgreSQL 15 such a role can make itself a member of any role that is not a superuser.
    pub creates_roles: bool,
    /// The role may replicate, which copies the files of the whole server.
    pub replicates: bool,
    /// A role of which the role is a member, and which is a superuser, bypasses row-level security, replicates, writes all tables, or reads, writes or
    /// runs files of the server.
    pub member_of: Option<String>,
    /// The role owns a table, the schema or the database, or is a member of a role that does.
    pub owner: bool,
}

impl RolePowers {
    /// Returns the problem with the role and the next step, if there is a problem.
    #[must_use]
    pub fn rejection(self, role: &str) -> Option<String> {
        let quoted = quote(role);
        if self.superuser {
            return Some(format!(
                "the role {role} is a superuser; use another one, or run `alter role {quoted} nosuperuser`"
            ));
        }
        if self.bypass {
            return Some(format!(
                "the role {role} bypasses row-level security; run `alter role {quoted} nobypassrls`"
            ));
        }
        if self.creates_roles {
            return Some(format!(
                "the role {role} may create roles, so it could become a member of others; run `alter role {quoted} nocreaterole`"
            ));
        }
        if self.replicates {
            return Some(format!(
                "the role {role} may replicate the whole server, so it could read the rows of all tenants; run `alter role {quoted} noreplication`"
            ));
        }
        if let Some(other) = self.member_of {
            return Some(format!(
                "the role {role} is a member of {other}, which is not limited to the rows of a tenant; run `revoke {} from {quoted}`",
                quote(&other)
            ));
        }
        self.owner.then(|| {
            format!(
                "the role {role} owns the database, its schema or tables, itself or through a membership, so it could lift the separation of tenants; put the \
                 owner into database.owner_url, another role into database.url, and run `backoffice migrate`"
            )
        })
    }
}

/// Parses a URL.
///
/// # Errors
/// When it is not a valid `postgres://` URL (the error omits the text), or its TLS can't be set up.
pub fn parse(key: &str, url: &SecretString, tls: &TlsOptions) -> Result<Connector> {
    let mut connector = Connector::new(key, url, tls)?;
    let config = connector.config_mut();
    if config.get_user().is_none() {
        return Err(ConfigError::new(key, "names no user").into());
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(std::time::Duration::from_secs(5));
    }
    config.application_name("backoffice-host");
    Ok(connector)
}

/// Opens a connection outside of the pools.
///
/// # Errors
/// When the database can't be reached or rejects the role.
pub async fn connect(connector: &Connector) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = connector.connect().await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "host database connection ended");
        }
    });
    Ok(client)
}

/// Queries the powers of this connection's role.
///
/// # Errors
/// When the database can't be reached.
pub async fn role_powers(client: &Client) -> Result<RolePowers> {
    let row = client
        .query_one(
            // A member that inherits no rights has them after `set role`.
            "select r.rolsuper, r.rolbypassrls, r.rolcreaterole, r.rolreplication, (\
                 select o.rolname::text from pg_roles o \
                 where (o.rolsuper or o.rolbypassrls or o.rolreplication or o.rolname in ('pg_write_all_data', \
                     'pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')) \
                     and o.oid <> r.oid and pg_has_role(r.oid, o.oid, 'member') \
                 order by o.rolname limit 1), exists (\
                 select from pg_class c \
                 where c.relkind in ('r', 'p') and c.relnamespace = to_regnamespace(current_schema()) \
                   and pg_has_role(r.oid, c.relowner, 'member')) \
                 or exists (\
                     select from pg_database d where d.datname = current_database() and pg_has_role(r.oid, d.datdba, 'member')) \
                 or exists (\
                     select from pg_namespace n \
                     where n.oid = to_regnamespace(current_schema()) and pg_has_role(r.oid, n.nspowner, 'member')) \
             from pg_roles r where r.rolname = current_user",
            &[],
        )
        .await?;
    Ok(RolePowers {
        superuser: row.try_get(0)?,
        bypass: row.try_get(1)?,
        creates_roles: row.try_get(2)?,
        replicates: row.try_get(3)?,
        member_of: row.try_get(4)?,
        owner: row.try_get(5)?,
    })
}

/// Returns the problem and the next step if the server's error messages are not in English. The error texts decide which failures may be retried and
/// which mean that the database is unavailable, because the code of an error is not always accessible.
///
/// # Errors
/// When the database can't be reached.
pub async fn language_rejection(client: &Client) -> Result<Option<String>> {
    let language: String = client.query_one("show lc_messages", &[]).await?.try_get(0)?;
    if is_english(&language) {
        return Ok(None);
    }
    // A server that was built without translations reports errors in English regardless of the setting.
    let reported = client.batch_execute("select 1 / 0").await.err();
    if reported.is_some_and(|error| {
        error
            .as_db_error()
            .is_some_and(|error| error.message() == "division by zero")
    }) {
        return Ok(None);
    }
    Ok(Some(format!(
        "the server reports errors in the language {language:?}; set lc_messages = 'C' in its postgresql.conf and reload it, or run \
         `alter role ... set lc_messages = 'C'` for this role as a superuser"
    )))
}

/// Returns the problem and the next step if the database can't store every text.
///
/// # Errors
/// When the database can't be reached.
pub async fn encoding_rejection(client: &Client) -> Result<Option<String>> {
    let encoding: String = client.query_one("show server_encoding", &[]).await?.try_get(0)?;
    Ok((encoding != "UTF8").then(|| {
        format!(
            "the encoding of the database is {encoding}, so it can't store every text; create a database with `encoding 'UTF8' template template0`, \
             and restore the data there"
        )
    }))
}

/// Returns the effect and the next step if the database converts only ASCII letters to lower case.
///
/// # Errors
/// When the database can't be reached.
pub async fn case_warning(client: &Client) -> Result<Option<String>> {
    let ctype = "select lower('Ż') = 'ż', datctype::text from pg_database where datname = current_database()";
    let row = client.query_one(ctype, &[]).await?;
    let (folds, ctype): (bool, String) = (row.try_get(0)?, row.try_get(1)?);
    Ok((!folds).then(|| {
        format!(
            "searches are case-sensitive for letters outside ASCII, because lc_ctype of the database is {ctype}; create a database with \
             `locale 'C.UTF-8' template template0`, and restore the data there"
        )
    }))
}

fn is_english(language: &str) -> bool {
    matches!(language, "C" | "POSIX")
        || ["C.", "en_", "en-", "English"]
            .iter()
            .any(|start| language.starts_with(start))
}

/// Returns the problem and the next step if the server accepts no writes.
///
/// # Errors
/// When the database can't be reached.
pub async fn write_rejection(client: &Client) -> Result<Option<String>> {
    let setting: String = client.query_one("show transaction_read_only", &[]).await?.try_get(0)?;
    Ok((setting == "on").then(|| {
        "the server accepts no writes: it is a standby, or `default_transaction_read_only` is on; promote it, or name the \
         primary server in database.url and database.owner_url"
            .to_owned()
    }))
}

/// Compares the schema with the migrations of these modules.
///
/// # Errors
/// When the database can't be reached.
pub async fn schema_state(client: Client, modules: &[&'static Module]) -> Result<MigrationState> {
    let mut connection = AsyncPgConnection::try_from(client)
        .await
        .map_err(|error| Error::other(format!("the database rejected the operation: {error}")))?;
    Ok(db::migration_state(&mut connection, &migrations(modules)).await?)
}

/// Returns the problem and the next step if the schema does not match this build.
#[must_use]
pub fn schema_rejection(state: &MigrationState) -> Option<String> {
    match state {
        MigrationState::Current => None,
        MigrationState::Pending(missing) => Some(format!(
            "the schema lacks {} migrations; run `backoffice migrate`",
            missing.len()
        )),
        MigrationState::Unknown(unknown) => Some(format!(
            "the schema is newer than this build (it has {}); start the newer build, or restore an older backup",
            unknown.join(", ")
        )),
        MigrationState::NotGranted => Some(
            "the role of database.url has no rights on the schema, because `backoffice migrate` was interrupted or granted them to another role; \
             run `backoffice migrate`"
                .to_owned(),
        ),
    }
}

/// Tables that an error names.
const NAMED_TABLES: usize = 5;

/// Returns the problem and the next step if tables lack what separates the tenants.
#[must_use]
pub fn protection_rejection(unprotected: &[String]) -> Option<String> {
    let first = unprotected.get(..NAMED_TABLES).unwrap_or(unprotected).join("; ");
    let more = match unprotected.len().saturating_sub(NAMED_TABLES) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    (!unprotected.is_empty()).then(|| {
        format!(
            "the separation of tenants is incomplete, because a restore was not completed or the schema was changed by hand; restore the whole \
             backup ({first}{more})"
        )
    })
}

/// Rejects a database that this platform must not serve: wrong role, wrong schema, tables without row-level security, sessions without limits of time
/// or at another isolation level.
///
/// # Errors
/// Describes the problem and the next step.
pub async fn check(office: &Backoffice) -> Result<()> {
    let session = PoolSession::open(office.database_options()).await?;
    // Sent without waiting for each other.
    let (powers, unmet) = tokio::join!(role_powers(&session.client), session.unmet());
    if let Some(rejection) = powers?.rejection(&session.role) {
        return Err(ConfigError::new("database.url", rejection).into());
    }
    if let Some(rejection) = session.rejection(&unmet?.required) {
        return Err(Error::other(rejection));
    }
    let client = session.client;
    if let Some(rejection) = language_rejection(&client).await? {
        return Err(Error::other(rejection));
    }
    if let Some(rejection) = encoding_rejection(&client).await? {
        return Err(Error::other(rejection));
    }
    let case = case_warning(&client).await?;
    let protection = protection_rejection(&db::unprotected_tables(&client).await?);
    let open = db::open_rights(&client).await?;
    if let Some(rejection) = schema_rejection(&schema_state(client, office.platform().modules()).await?) {
        return Err(Error::other(rejection));
    }
    if let Some(rejection) = protection {
        return Err(Error::other(rejection));
    }
    if let Some(warning) = case {
        tracing::warn!("{warning}");
    }
    for right in open {
        tracing::warn!(%right, "application role has a right that it does not need");
    }
    Ok(())
}

/// Returns the role of a connector.
#[must_use]
pub fn user(connector: &Connector) -> &str {
    connector.config().get_user().unwrap_or_default()
}

/// Creates the application's role if it is missing, and migrates the schema as its owner. Returns the number of applied migrations.
///
/// # Errors
/// When the owner is the application's role or does not own the schema, the owner may not create roles, the server accepts no writes, or a migration
/// fails.
pub async fn migrate(application: &Connector, owner: &Connector, modules: &[&'static Module]) -> Result<usize> {
    let role = user(application).to_owned();
    if user(owner) == role {
        return Err(ConfigError::new(
            "database.owner_url",
            format!("must be another role than {role} of database.url"),
        )
        .into());
    }
    let client = connect(owner).await?;
    if let Some(rejection) = write_rejection(&client).await? {
        return Err(Error::other(rejection));
    }
    if let Some(rejection) = owner_rejection(&client, user(owner)).await? {
        return Err(ConfigError::new("database.owner_url", rejection).into());
    }
    create_role(&client, application, &role).await?;
    drop(client);
    Ok(db::migrate_over(owner, &role, &migrations(modules)).await?)
}

/// Returns the problem and the next step if the role of this connection can't migrate the schema, because a table belongs to another role, or because the
/// role may not create tables.
async fn owner_rejection(client: &Client, role: &str) -> Result<Option<String>> {
    let row = client
        .query_one(
            "select coalesce(has_schema_privilege(current_schema(), 'create'), false), (\
                 select o.rolname::text from pg_class c join pg_roles o on o.oid = c.relowner \
                 where c.relkind in ('r', 'p') and c.relnamespace = to_regnamespace(current_schema()) and not pg_has_role(c.relowner, 'usage') \
                   and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e') \
                 order by o.rolname limit 1)",
            &[],
        )
        .await?;
    let (creates, other): (bool, Option<String>) = (row.try_get(0)?, row.try_get(1)?);
    if let Some(owner) = other {
        return Ok(Some(format!(
            "the role {role} does not own the schema: its tables belong to {owner}; put the URL of the role that owns them there"
        )));
    }
    Ok((!creates).then(|| {
        format!(
            "the role {role} may not create tables in the schema; put the URL of the role that owns the database there"
        )
    }))
}

/// Creates the application's role, or sets its configured password if the server rejects that password.
async fn create_role(owner: &Client, application: &Connector, role: &str) -> Result<()> {
    let known = owner
        .query_opt("select from pg_roles where rolname = $1", &[&role])
        .await?
        .is_some();
    // Hashed here, so that the server's logs never contain the password.
    let password = application
        .config()
        .get_password()
        .map(|password| format!(" password '{}'", scram_sha_256(password)));
    let password = password.unwrap_or_default();
    let statement = if !known {
        format!(
            "create role {} login nosuperuser nobypassrls nocreatedb nocreaterole{password}",
            quote(role)
        )
    } else if rejects_password(application).await && !password.is_empty() {
        format!("alter role {} login{password}", quote(role))
    } else {
        return Ok(());
    };
    owner.batch_execute(&statement).await.map_err(|error| {
        let reason = error.as_db_error().map_or_else(|| error.to_string(), |rejected| rejected.message().to_owned());
        Error::other(format!(
            "the role {role} of database.url can't be created or changed by the role of database.owner_url ({reason}); as an administrator \
             of the server run `create role {} login password '…'`, then `backoffice migrate` again",
            quote(role)
        ))
    })
}

async fn rejects_password(connector: &Connector) -> bool {
    match connect(connector).await {
        Ok(_) => false,
        Err(error) => matches!(
            error.code(),
            Some(code) if *code == SqlState::INVALID_PASSWORD || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION
        ),
    }
}

/// Quotes a name as an SQL identifier.
#[must_use]
pub fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: RolePowers = RolePowers {
        superuser: false,
        bypass: false,
        creates_roles: false,
        replicates: false,
        member_of: None,
        owner: false,
    };

    #[test]
    fn a_role_without_powers_is_accepted() {
        assert_eq!(NONE.rejection("app"), None);
    }

    #[test]
    fn every_power_is_rejected_with_a_next_step() {
        for powers in [
            RolePowers {
                superuser: true,
                ..NONE
            },
            RolePowers { bypass: true, ..NONE },
            RolePowers {
                creates_roles: true,
                ..NONE
            },
            RolePowers {
                replicates: true,
                ..NONE
            },
            RolePowers {
                member_of: Some("backup".to_owned()),
                ..NONE
            },
            RolePowers { owner: true, ..NONE },
        ] {
            let rejection = powers.rejection("app").expect("a rejection");

            assert!(rejection.contains('`'), "{rejection}");
        }
    }

    #[test]
    fn english_has_several_names() {
        for english in [
            "C",
            "POSIX",
            "C.UTF-8",
            "en_US.UTF-8",
            "en_GB",
            "English_United States.1252",
        ] {
            assert!(is_english(english), "{english}");
        }
        for other in ["", "de_DE.UTF-8", "ca_ES", "Cs"] {
            assert!(!is_english(other), "{other}");
        }
    }

    #[test]
    fn a_name_can_not_leave_its_quotes() {
        assert_eq!(quote("a\"; drop"), "\"a\"\"; drop\"");
    }
}
