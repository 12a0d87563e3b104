//! Opens connections to one database, with or without TLS.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use diesel_async::AsyncPgConnection;
use secrecy::{ExposeSecret, SecretString};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{CancelToken, Client, Config, Connection, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;
use url::form_urlencoded;

use super::tls::{TlsMode, TlsOptions};
use crate::config::ConfigError;
use crate::error::{Error, Result};

/// The half of a connection that must be polled.
pub type Driven = Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// Parameters that the server reports when a session begins. One of them is `on` if the session can't write.
const READ_ONLY: [&str; 2] = ["default_transaction_read_only", "in_hot_standby"];

/// A connection for diesel.
pub(super) struct Opened {
    pub(super) pg: AsyncPgConnection,
    /// Whether its session began as one that can't write.
    pub(super) is_read_only: bool,
}

/// Address, role and TLS options of a database.
#[derive(Clone)]
pub struct Connector {
    config: Config,
    tls: MakeRustlsConnect,
    mode: TlsMode,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector")
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

impl Connector {
    /// Parses a `postgres://` URL. Its TLS parameters take precedence over `tls`; without a mode in either, the mode is `disable` for the same
    /// machine (a Unix socket, a loopback address), else `verify-full`.
    ///
    /// # Errors
    /// When the URL is invalid (its text is kept out of the error), or a TLS file can't be used.
    pub fn new(key: &str, url: &SecretString, tls: &TlsOptions) -> Result<Self, ConfigError> {
        let (configured, mut tls) = (tls, tls.clone());
        let invalid = || {
            ConfigError::new(
                key,
                "is not a valid URL of the form postgres://user:password@host:5432/name",
            )
        };
        let text = url.expose_secret();
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return Err(invalid());
        }
        let rest = without_tls(text, &mut tls)?;
        let mut config = Config::from_str(&rest).map_err(|_| invalid())?;
        let mode = tls.mode.unwrap_or(if is_local(&config) {
            TlsMode::Disable
        } else {
            TlsMode::VerifyFull
        });
        config.ssl_mode(match mode {
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
        });
        Ok(Self {
            config,
            tls: MakeRustlsConnect::new(tls.client_config(mode, configured)?),
            mode,
        })
    }

    /// Returns the configuration from the URL, without TLS.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the configuration for changes.
    pub fn config_mut(&mut self) -> &mut Config {
        &mut self.config
    }

    /// Returns the mode of TLS.
    #[must_use]
    pub fn mode(&self) -> TlsMode {
        self.mode
    }

    /// Opens a connection. The second half must be polled.
    ///
    /// # Errors
    /// When the server can't be reached, rejects the role, or does not meet the mode of TLS.
    pub async fn connect(&self) -> Result<(Client, Driven), tokio_postgres::Error> {
        self.config.connect(self.tls.clone()).await
    }

    /// Opens a connection for diesel, driven by the current runtime.
    pub(crate) async fn diesel(&self) -> Result<AsyncPgConnection> {
        Ok(self.open().await?.pg)
    }

    /// Opens a connection as [`Connector::diesel`] does, and finds whether its session can write.
    pub(super) async fn open(&self) -> Result<Opened> {
        let (client, connection) = self.connect().await?;
        let is_read_only = READ_ONLY.iter().any(|name| connection.parameter(name) == Some("on"));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "database connection ended");
            }
        });
        let pg = AsyncPgConnection::try_from(client)
            .await
            .map_err(|error| Error::Unavailable(Box::new(error)))?;
        Ok(Opened { pg, is_read_only })
    }

    /// Requests the server to cancel the running statement of a connection, within `longest`. Best effort: the result is only logged.
    pub(super) async fn cancel(&self, token: CancelToken, longest: Duration) {
        let asked = tokio::time::timeout(longest, token.cancel_query(self.tls.clone())).await;
        if !matches!(asked, Ok(Ok(()))) {
            tracing::debug!("statement could not be cancelled");
        }
    }
}

/// Returns the URL without its TLS parameters, of which tokio-postgres knows only some.
fn without_tls(url: &str, tls: &mut TlsOptions) -> Result<String, ConfigError> {
    let Some((start, query)) = url.split_once('?') else {
        return Ok(url.to_owned());
    };
    let mut kept = Vec::new();
    for part in query.split('&') {
        // A plus in these URLs is a literal plus.
        let text = part.replace('+', "%2B");
        let pair = form_urlencoded::parse(text.as_bytes()).next();
        let taken = match pair {
            Some((name, value)) => tls.take(&name, &value)?,
            None => false,
        };
        if !taken {
            kept.push(part);
        }
    }
    Ok(if kept.is_empty() {
        start.to_owned()
    } else {
        format!("{start}?{}", kept.join("&"))
    })
}

/// Returns whether all hosts are on this machine.
fn is_local(config: &Config) -> bool {
    let named = config.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
    });
    named && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(url: &str) -> TlsMode {
        Connector::new("database.url", &url.to_owned().into(), &TlsOptions::default())
            .expect("a URL")
            .mode()
    }

    #[test]
    fn s2_another_machine_is_verified_by_default() {
        for local in [
            "postgres://app@localhost/x",
            "postgres://app@127.0.0.1:6432/x",
            "postgres://app@[::1]/x",
            "postgres://app@%2Frun%2Fpostgresql/x",
        ] {
            assert_eq!(mode(local), TlsMode::Disable, "{local}");
        }
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let foreign = |url: &str, tls: &TlsOptions| Connector::new("database.url", &url.to_owned().into(), tls);
        // A file without a root certificate causes an error, which shows that a root is required.
        let tls = TlsOptions {
            root_cert_file: Some(root.into()),
            ..TlsOptions::default()
        };
        for url in [
            "postgres://app@db.example/x",
            "postgres://app@localhost,db.example/x",
            "postgres://app@localhost/x?hostaddr=192.0.2.1",
            "postgres://app@localhost/x?sslmode=verify-full",
        ] {
            assert!(foreign(url, &tls).is_err(), "{url}");
        }
        assert_eq!(mode("postgres://app@db.example/x?sslmode=disable"), TlsMode::Disable);
        assert_eq!(
            mode("postgres://app@db.example/x?sslmode=prefer&application_name=a"),
            TlsMode::Prefer
        );
    }

    #[test]
    fn the_url_wins_over_the_settings() {
        let tls = TlsOptions {
            mode: Some(TlsMode::Require),
            ..TlsOptions::default()
        };
        let of = |url: &str| Connector::new("k", &url.to_owned().into(), &tls).expect("a URL").mode();

        assert_eq!(of("postgres://app@db.example/x"), TlsMode::Require);
        assert_eq!(of("postgres://app@db.example/x?sslmode=prefer"), TlsMode::Prefer);
    }

    #[test]
    fn errors_about_files_name_where_the_file_was_named() {
        let (nowhere, some) = (Some("/nowhere".into()), Some("/some".into()));
        let root = TlsOptions {
            root_cert_file: nowhere.clone(),
            ..TlsOptions::default()
        };
        let cert = TlsOptions {
            mode: Some(TlsMode::Require),
            cert_file: nowhere.clone(),
            ..TlsOptions::default()
        };
        let key = TlsOptions {
            mode: Some(TlsMode::Require),
            key_file: nowhere.clone(),
            ..TlsOptions::default()
        };
        let both = TlsOptions {
            key_file: some,
            ..cert.clone()
        };
        let none = TlsOptions::default();
        for (tls, query, named, message) in [
            (&root, "", "database.tls.root_cert_file", "/nowhere"),
            (&root, "?sslrootcert=/elsewhere", "sslrootcert", "/elsewhere"),
            (&none, "?sslrootcert=/elsewhere", "sslrootcert", "/elsewhere"),
            (&cert, "", "database.tls.cert_file", "database.tls.key_file"),
            (&key, "", "database.tls.key_file", "database.tls.cert_file"),
            (&both, "", "database.tls.cert_file", "/nowhere"),
            (&none, "?sslmode=require&sslcert=/nowhere", "sslcert", "sslkey"),
            (&none, "?sslmode=require&sslkey=/nowhere", "sslkey", "sslcert"),
            (&both, "?sslcert=/elsewhere", "sslcert", "/elsewhere"),
        ] {
            let url = format!("postgres://app@db.example/x{query}");
            let error = Connector::new("database.url", &url.clone().into(), tls).expect_err(&url);
            assert_eq!(error.key, named, "{tls:?} {url}");
            assert!(error.message.contains(message), "{tls:?} {url}: {error}");
        }
    }

    #[test]
    fn errors_name_the_setting_without_the_url() {
        for (url, named) in [
            ("host=db user=app password=hunter2", "postgres://"),
            ("postgres://app:hunter2@db/x?sslmode=allow", "sslmode"),
            ("postgres://app:hunter2@db/x?sslmode=require&sslcert=/nowhere", "sslkey"),
            (
                "postgres://app:hunter2@db/x?sslmode=require&sslrootcert=/nowhere",
                "/nowhere",
            ),
            ("postgres://app:hunter2@db/x?nonsense=1", "database.url"),
        ] {
            let error = Connector::new("database.url", &url.to_owned().into(), &TlsOptions::default())
                .expect_err(url)
                .to_string();
            assert!(error.contains(named) && !error.contains("hunter2"), "{url}: {error}");
        }
    }
}
