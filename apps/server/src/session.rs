//! Whether the sessions of the pools start with the settings of the platform. A pooler between a process and PostgreSQL may prevent it.

use backoffice_core::db::{DatabaseOptions, SessionOptions, UnmetSetting, UnmetSettings};
use tokio_postgres::Client;

use crate::{Error, Result, database};

/// A connection outside of the pools, whose session starts as those of the pools do.
pub(crate) struct PoolSession {
    pub(crate) client: Client,
    pub(crate) role: String,
    options: SessionOptions,
}

impl PoolSession {
    /// Opens a connection.
    ///
    /// # Errors
    /// When the database can't be reached, or rejects the role or its options.
    pub(crate) async fn open(options: &DatabaseOptions) -> Result<Self> {
        let mut connector = database::parse("database.url", &options.url, &options.tls)?;
        let role = database::user(&connector).to_owned();
        let options = SessionOptions::new(connector.config(), options.statement_timeout);
        options.apply(connector.config_mut());
        match database::connect(&connector).await {
            Ok(client) => Ok(Self { client, role, options }),
            Err(error) => Err(options_rejection(&error, &role, &options).map_or_else(|| error.into(), Error::other)),
        }
    }

    /// Returns the settings that are not in effect.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub(crate) async fn unmet(&self) -> Result<UnmetSettings> {
        Ok(self.options.unmet(&self.client).await?)
    }

    /// Returns the problem and the next step if required settings are not in effect.
    pub(crate) fn rejection(&self, unmet: &[UnmetSetting]) -> Option<String> {
        (!unmet.is_empty()).then(|| {
            format!(
                "sessions start without the settings of the platform ({}; durations in ms), because a pooler drops the startup parameter `options`; run {} and let the \
                 pooler open new connections, or connect without a pooler",
                found(unmet),
                self.statements(unmet)
            )
        })
    }

    /// Returns the effect and the next step if settings of the planner are not in effect.
    pub(crate) fn warning(&self, unmet: &[UnmetSetting]) -> Option<String> {
        (!unmet.is_empty()).then(|| {
            format!(
                "statements may be slower ({}), because a pooler drops the startup parameter `options`; run {}",
                found(unmet),
                self.statements(unmet)
            )
        })
    }

    fn statements(&self, unmet: &[UnmetSetting]) -> String {
        let requested = unmet.iter().map(|one| (one.name.as_str(), one.requested.as_str()));
        statements(&self.role, requested)
    }
}

/// Returns the problem and the next step if a pooler rejects the options of a session.
fn options_rejection(error: &tokio_postgres::Error, role: &str, options: &SessionOptions) -> Option<String> {
    let reason = error.as_db_error()?.message();
    reason.contains("startup parameter").then(|| {
        format!(
            "a pooler rejects the startup parameter `options` ({reason}); let it drop the parameter (PgBouncer: \
             `ignore_startup_parameters = options`) and run {}, or connect without a pooler",
            statements(role, options.required())
        )
    })
}

fn found(unmet: &[UnmetSetting]) -> String {
    let texts = unmet
        .iter()
        .map(|UnmetSetting { name, requested, found }| format!("{name} is {found}, not {requested}"));
    texts.collect::<Vec<_>>().join(", ")
}

/// Returns the statements that give the sessions of a role these settings.
fn statements<'a>(role: &str, settings: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let role = database::quote(role);
    let statements = settings.map(|(name, value)| {
        let quote = if value.contains(' ') { "'" } else { "" };
        format!("`alter role {role} set {name} = {quote}{value}{quote}`")
    });
    statements.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_two_words_is_quoted() {
        let settings = [
            ("lock_timeout", "5000"),
            ("default_transaction_isolation", "read committed"),
        ];

        assert_eq!(
            statements("app", settings.into_iter()),
            "`alter role \"app\" set lock_timeout = 5000`, `alter role \"app\" set default_transaction_isolation = 'read committed'`"
        );
    }
}
