//! Configuration: one section per crate, read from defaults < `backoffice.toml` < `BACKOFFICE__SECTION__KEY` < flags.

mod secrets;

use std::net::SocketAddr;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

pub use secrets::{MIN_SECRET_BYTES, SecretKey, read_secret};

/// An invalid value of the configuration, with its key.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{key}: {message}")]
pub struct ConfigError {
    /// The key, `section.name`.
    pub key: String,
    /// The problem and how to fix it.
    pub message: String,
}

impl ConfigError {
    /// Creates an error about a key.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            message: message.into(),
        }
    }
}

/// The configuration as it was read, section by section.
#[derive(Debug, Clone, Default)]
pub struct Config {
    raw: config::Config,
    development: bool,
}

/// Names of the sections that core and the host own.
pub const CORE_SECTIONS: &[&str] = &[
    "http",
    "admin",
    "database",
    "data_dir",
    "modules",
    "app",
    "i18n",
    "rate_limits",
    "log",
    "audit",
    "mail",
    "jobs",
    "vault",
    "egress",
];

impl Config {
    /// Wraps the configuration. `development` = no database is configured: a private one is used, and cookies work without TLS.
    #[must_use]
    pub fn new(raw: config::Config, development: bool) -> Self {
        Self { raw, development }
    }

    /// Parses a configuration from TOML text, for tests and embedders.
    ///
    /// # Errors
    /// When the text is not valid TOML.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        config::Config::builder()
            .add_source(config::File::from_str(text, config::FileFormat::Toml))
            .build()
            .map(|raw| Self::new(raw, true))
            .map_err(|error| ConfigError::new("configuration", error.to_string()))
    }

    /// Returns whether this is a development set-up.
    #[must_use]
    pub fn is_development(&self) -> bool {
        self.development
    }

    /// Returns the folder of all files that the platform writes. Default `var`.
    ///
    /// # Errors
    /// When the value is not a path.
    pub fn data_dir(&self) -> Result<std::path::PathBuf, ConfigError> {
        match self.raw.get("data_dir") {
            Ok(folder) => Ok(folder),
            Err(config::ConfigError::NotFound(_)) => Ok("var".into()),
            Err(error) => Err(ConfigError::new("data_dir", error.to_string())),
        }
    }

    /// Returns a section, or its defaults when it is not set. Unknown keys are errors when the type says `deny_unknown_fields`.
    ///
    /// # Errors
    /// When a value has the wrong type or is unknown.
    pub fn section<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T, ConfigError> {
        match self.raw.get::<T>(name) {
            Ok(section) => Ok(section),
            Err(config::ConfigError::NotFound(_)) => Ok(T::default()),
            Err(error) => Err(ConfigError::new(name, error.to_string())),
        }
    }

    /// Rejects unknown sections.
    ///
    /// # Errors
    /// Names the first unknown section, and the known ones.
    pub fn check_sections<'a>(&self, known: impl Iterator<Item = &'a str>) -> Result<(), ConfigError> {
        let Ok(table) = self.raw.cache.clone().into_table() else {
            return Ok(());
        };
        let mut sections: Vec<&str> = CORE_SECTIONS.iter().copied().chain(known).collect();
        sections.sort_unstable();
        let mut names: Vec<&String> = table.keys().collect();
        names.sort();
        for name in names {
            if !sections.contains(&name.as_str()) {
                let message = format!("unknown section; the known ones are {}", sections.join(", "));
                return Err(ConfigError::new(name, message));
            }
        }
        Ok(())
    }
}

/// Parses a duration written as `30s`, `5m`, `8h`, `30d`, `250ms` or a number of seconds.
///
/// # Errors
/// When the text has another form.
pub fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Seconds(u64),
        Text(String),
    }
    match Written::deserialize(deserializer)? {
        Written::Seconds(seconds) => Ok(Duration::from_secs(seconds)),
        Written::Text(text) => parse_duration(&text).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "invalid duration `{text}`; expected for example 250ms, 30s, 5m, 8h or 30d"
            ))
        }),
    }
}

fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text.get(..digits)?.parse().ok()?;
    let seconds = match text.get(digits..)?.trim() {
        "ms" => return Some(Duration::from_millis(number)),
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    number.checked_mul(seconds).map(Duration::from_secs)
}

/// Parses a number of bytes written as `512KiB`, `25MiB`, `2GiB` or a number.
///
/// # Errors
/// When the text has another form.
pub fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Bytes(u64),
        Text(String),
    }
    match Written::deserialize(deserializer)? {
        Written::Bytes(bytes) => Ok(bytes),
        Written::Text(text) => parse_bytes(&text).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "invalid size `{text}`; expected for example 512KiB, 25MiB, 2GiB or a number of bytes"
            ))
        }),
    }
}

/// Parses a number of bytes: `512KiB`, `25MiB`, `2GiB` or a number; `None` for another form.
#[must_use]
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text.get(..digits)?.parse().ok()?;
    let unit: u64 = match text.get(digits..)?.trim() {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// Section `http`: the listener of the API.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpConfig {
    /// Address of the API. Default `127.0.0.1:8080`.
    pub listen: SocketAddr,
    /// Number of proxies in front that append to `X-Forwarded-For`. Default 0: the client is the socket's peer.
    pub proxy_depth: usize,
    /// Whether cookies are sent without `Secure`. Default: false; true in development without an https `app.public_url`.
    pub insecure_cookies: Option<bool>,
    /// Longest body of a JSON or form request in bytes. Default 1 MiB.
    pub body_limit: usize,
    /// Longest duration of receiving a body. Default 10 s.
    #[serde(deserialize_with = "duration")]
    pub body_timeout: Duration,
    /// Maximum number of concurrent connections of the API; further ones wait to be accepted. Default 10,000.
    pub max_connections: usize,
    /// Requests per second of one principal to this process, with bursts of five times as many; 0 = unlimited. Default 200.
    pub principal_rate: u32,
    /// Number of worker threads. Default: the number of cores.
    pub workers: Option<usize>,
}

impl HttpConfig {
    /// Rejects bounds that would shut out all clients.
    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        for (key, is_zero) in [
            ("http.body_timeout", self.body_timeout.is_zero()),
            ("http.max_connections", self.max_connections == 0),
        ] {
            if is_zero {
                return Err(ConfigError::new(key, "must be more than 0"));
            }
        }
        Ok(self)
    }
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            proxy_depth: 0,
            insecure_cookies: None,
            body_limit: 1024 * 1024,
            body_timeout: Duration::from_secs(10),
            max_connections: 10_000,
            principal_rate: 200,
            workers: None,
        }
    }
}

/// Section `app`: the URLs of the application.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AppConfig {
    /// Public origin, without path: `https://office.example`. Default: none (development: the listener).
    pub public_url: Option<String>,
    /// Further origins that may send requests that cause mails.
    pub allowed_origins: Vec<String>,
    /// Path of the login page. Default `/login`.
    pub login_path: String,
    /// Path of the console. Default `/backend`.
    pub console_path: String,
    /// Whether this is a demonstration, in which visitors may not change where files are stored. Default `false`.
    pub demo: bool,
}

impl Default for AppConfig {
    fn default() -> Self {
        Self {
            public_url: None,
            allowed_origins: Vec::new(),
            login_path: "/login".to_owned(),
            console_path: "/backend".to_owned(),
            demo: false,
        }
    }
}

impl AppConfig {
    /// Returns whether clients reach the application over https.
    #[must_use]
    pub fn is_https(&self) -> bool {
        let scheme = self.public_url.as_deref().and_then(|url| url.split_once("://"));
        scheme.is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("https"))
    }
}

/// Section `rate_limits`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateLimitConfig {
    /// Whether limits are enforced. Default true.
    pub enabled: bool,
    /// Other points and seconds by the name of the limit (`auth.login.ip = "50/60"`).
    pub limits: std::collections::BTreeMap<String, String>,
}

impl Default for RateLimitConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            limits: std::collections::BTreeMap::new(),
        }
    }
}

/// Section `audit`: the part that the command bus needs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditConfig {
    /// Settings of undo and redo.
    pub undo: UndoConfig,
    /// Settings of snapshots.
    pub snapshot: SnapshotConfig,
    /// Settings of the action log.
    pub action: ActionLogConfig,
    /// Settings of the access log.
    pub access: AccessLogConfig,
}

impl AuditConfig {
    /// Rejects values that the logs do not support.
    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        for (key, value, most) in [
            (
                "action.retention_months",
                self.action.retention_months,
                LONGEST_RETENTION * 12,
            ),
            (
                "access.retention_days",
                self.access.retention_days,
                LONGEST_RETENTION * 365,
            ),
            ("access.window_seconds", self.access.window_seconds, LONGEST_WINDOW),
        ] {
            if value > most {
                return Err(ConfigError::new(
                    format!("audit.{key}"),
                    format!("must be at most {most}"),
                ));
            }
        }
        Ok(self)
    }
}

/// Maximum number of years for which entries are kept, if not for ever.
const LONGEST_RETENTION: u32 = 100;

/// Seconds of the longest window: one day.
pub const LONGEST_WINDOW: u32 = 24 * 3600;

/// Section `audit.action`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ActionLogConfig {
    /// Months after which entries are dropped; 0 keeps them for ever. Default 24.
    pub retention_months: u32,
}

impl Default for ActionLogConfig {
    fn default() -> Self {
        Self { retention_months: 24 }
    }
}

/// Section `audit.access`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessLogConfig {
    /// Days after which entries are dropped, one month at a time; 0 keeps them for ever. Default 90.
    pub retention_days: u32,
    /// Seconds in which repeated reads of a record by one caller are one entry; 0 records every read. Default 900.
    pub window_seconds: u32,
    /// Kinds whose reads are not recorded. Default `business_rules.log`.
    pub disabled_kinds: Vec<String>,
}

impl Default for AccessLogConfig {
    fn default() -> Self {
        Self {
            retention_days: 90,
            window_seconds: 900,
            disabled_kinds: vec!["business_rules.log".to_owned()],
        }
    }
}

/// Section `audit.undo`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UndoConfig {
    /// Seconds after which an action can no longer be undone. Default: none.
    pub ttl_seconds: Option<u64>,
}

/// Section `audit.snapshot`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SnapshotConfig {
    /// Largest snapshot that can be undone, in bytes. Default 4 MiB.
    pub max_bytes: usize,
}

impl Default for SnapshotConfig {
    fn default() -> Self {
        Self {
            max_bytes: 4 * 1024 * 1024,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_in_their_units() {
        for (text, expected) in [
            ("250ms", 250),
            ("30s", 30_000),
            ("5", 5000),
            ("5m", 300_000),
            ("8h", 28_800_000),
        ] {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(expected)), "{text}");
        }
        assert_eq!(parse_duration("soon"), None);
    }

    #[test]
    fn sizes_are_read_in_their_units() {
        for (text, expected) in [
            ("0", 0),
            ("1048576", 1 << 20),
            ("512KiB", 512 << 10),
            ("25MiB", 25 << 20),
            (" 2 GiB ", 2 << 30),
        ] {
            assert_eq!(parse_bytes(text), Some(expected), "{text}");
        }
        for text in ["", "MiB", "25MB", "-1", "1.5GiB", "99999999999TiB"] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_it() {
        let config = Config::from_toml("[http]\nlisten_on = 'x'").expect("toml");

        let error = config.section::<HttpConfig>("http").expect_err("unknown key");

        assert!(error.to_string().contains("listen_on"), "{error}");
    }

    #[test]
    fn settings_of_the_logs_have_bounds_and_known_names() {
        let read = |text: &str| {
            let config = Config::from_toml(text).expect("toml");
            config.section::<AuditConfig>("audit")?.checked()
        };
        read("[audit.action]\nretention_months = 1200\n[audit.access]\nretention_days = 36500\nwindow_seconds = 86400")
            .expect("the longest");
        for (text, named) in [
            ("[audit.acces]\nwindow_seconds = 1", "acces"),
            ("[audit.access]\nwindow_seconds = 86401", "audit.access.window_seconds"),
            (
                "[audit.access]\nretention_days = 4294967295",
                "audit.access.retention_days",
            ),
            (
                "[audit.action]\nretention_months = 1201",
                "audit.action.retention_months",
            ),
        ] {
            let error = read(text).expect_err("out of bounds");
            assert!(error.to_string().contains(named), "{error}");
        }
    }
}
