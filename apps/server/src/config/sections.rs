//! Sections `database`, `log` and `admin`.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use backoffice_core::config::{ConfigError, duration};
use backoffice_core::db::{LONGEST_STATEMENT_TIMEOUT, TlsOptions};
use secrecy::SecretString;
use serde::Deserialize;

/// Section `database`: the server to use. Without a URL the host runs a private PostgreSQL below `data_dir`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatabaseConfig {
    /// `postgres://` URL of the application's role, which owns nothing.
    pub url: Option<SecretString>,
    /// A file with `url`.
    pub url_file: Option<PathBuf>,
    /// `postgres://` URL of the role that owns the schema; read by `migrate` and `init` only.
    pub owner_url: Option<SecretString>,
    /// A file with `owner_url`.
    pub owner_url_file: Option<PathBuf>,
    /// Maximum number of connections of all worker threads together. Default 16.
    pub pool_size: usize,
    /// Maximum duration of a request's statement. PostgreSQL cancels a statement that takes longer, and the caller receives a 503. Exports and
    /// maintenance have more time. Default 30 s, at most 2147483647 ms; 0 disables the limit.
    #[serde(deserialize_with = "duration")]
    pub statement_timeout: Duration,
    /// Age at which a connection is replaced, reduced at random by up to a fifth. Default 30 min, at most 365 days.
    #[serde(deserialize_with = "duration")]
    pub max_connection_age: Duration,
    /// TLS of all connections; options in the URL take precedence.
    pub tls: TlsOptions,
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        Self {
            url: None,
            url_file: None,
            owner_url: None,
            owner_url_file: None,
            pool_size: 16,
            statement_timeout: Duration::from_secs(30),
            max_connection_age: Duration::from_secs(1800),
            tls: TlsOptions::default(),
        }
    }
}

/// Longest `database.max_connection_age`: 365 days.
const LONGEST_CONNECTION_AGE: Duration = Duration::from_secs(365 * 24 * 3600);

impl DatabaseConfig {
    /// Rejects values that PostgreSQL or the pool does not support.
    pub(super) fn checked(self) -> Result<Self, ConfigError> {
        if self.pool_size == 0 {
            return Err(ConfigError::new("database.pool_size", "must be at least 1"));
        }
        if self.statement_timeout > LONGEST_STATEMENT_TIMEOUT {
            let message = format!("must be at most {}ms", LONGEST_STATEMENT_TIMEOUT.as_millis());
            return Err(ConfigError::new("database.statement_timeout", message));
        }
        if self.max_connection_age > LONGEST_CONNECTION_AGE {
            return Err(ConfigError::new("database.max_connection_age", "must be at most 365d"));
        }
        Ok(self)
    }

    /// Returns the application's URL, if a database is configured.
    ///
    /// # Errors
    /// When the file can't be read, or both keys are set.
    pub fn url(&self) -> Result<Option<SecretString>, ConfigError> {
        secret("database.url", self.url.as_ref(), self.url_file.as_deref())
    }

    /// Returns the owner's URL.
    ///
    /// # Errors
    /// As [`DatabaseConfig::url`].
    pub fn owner_url(&self) -> Result<Option<SecretString>, ConfigError> {
        secret(
            "database.owner_url",
            self.owner_url.as_ref(),
            self.owner_url_file.as_deref(),
        )
    }
}

fn secret(key: &str, value: Option<&SecretString>, file: Option<&Path>) -> Result<Option<SecretString>, ConfigError> {
    match (value, file) {
        (Some(_), Some(_)) => Err(ConfigError::new(
            key,
            format!("set either `{key}` or `{key}_file`, not both"),
        )),
        (Some(value), None) => Ok(Some(value.clone())),
        (None, Some(file)) => fs::read_to_string(file)
            .map(|text| Some(SecretString::from(text.trim().to_owned())))
            .map_err(|error| ConfigError::new(format!("{key}_file"), format!("{}: {error}", file.display()))),
        (None, None) => Ok(None),
    }
}

/// Section `admin`: the operators' listener.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdminConfig {
    /// Address of `/healthz`, `/readyz` and `/metrics`. Default `127.0.0.1:9090`; the listener does not authenticate callers.
    pub listen: SocketAddr,
    /// Accepted `Host` names besides IP addresses and `localhost`. Default: none.
    pub allowed_hosts: Vec<String>,
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 9090)),
            allowed_hosts: Vec::new(),
        }
    }
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Human-readable.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Section `log`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// `text` or `json`. Default `text`.
    pub format: LogFormat,
    /// `error`, `warn`, `info`, `debug`, `trace`, or directives such as `info,backoffice_core=debug`. Default `info`.
    pub level: String,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            format: LogFormat::Text,
            level: "info".to_owned(),
        }
    }
}
