//! The sections that core owns, besides those of single parts (mail, jobs, vault).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};
use url::Url;

use super::{ConfigError, duration};

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
    /// Longest duration of receiving a body, at most a day. Default 10 s.
    #[serde(deserialize_with = "duration")]
    pub body_timeout: Duration,
    /// Time for which requests are still accepted after the signal to stop, while `/readyz` returns 503. Default 0, at most 60 s.
    #[serde(deserialize_with = "duration")]
    pub drain_delay: Duration,
    /// Maximum number of concurrent connections of the API; further ones wait to be accepted. Default 10,000.
    pub max_connections: usize,
    /// Requests per second of one principal to this process, with bursts of five times as many; 0 = unlimited. Default 200.
    pub principal_rate: u32,
    /// Number of worker threads, 1 to 512. Default: the number of cores.
    pub workers: Option<usize>,
}

/// Maximum number of worker threads; the server supports no more.
pub const MOST_WORKERS: usize = 512;

/// Longest `http.body_timeout`: one day.
const LONGEST_BODY_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// Longest `http.drain_delay`.
const LONGEST_DRAIN_DELAY: Duration = Duration::from_secs(60);

impl HttpConfig {
    /// Rejects bounds that would shut out all clients, or none.
    pub(crate) fn checked(self) -> Result<Self, ConfigError> {
        for (key, is_zero) in [
            ("http.body_limit", self.body_limit == 0),
            ("http.body_timeout", self.body_timeout.is_zero()),
            ("http.max_connections", self.max_connections == 0),
        ] {
            if is_zero {
                return Err(ConfigError::new(key, "must be more than 0"));
            }
        }
        if self.body_timeout > LONGEST_BODY_TIMEOUT {
            return Err(ConfigError::new("http.body_timeout", "must be at most 1d"));
        }
        if self.drain_delay > LONGEST_DRAIN_DELAY {
            return Err(ConfigError::new("http.drain_delay", "must be at most 60s"));
        }
        if self
            .workers
            .is_some_and(|workers| !(1..=MOST_WORKERS).contains(&workers))
        {
            let message = format!("must be between 1 and {MOST_WORKERS}");
            return Err(ConfigError::new("http.workers", message));
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
            drain_delay: Duration::ZERO,
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
    #[serde(deserialize_with = "origin")]
    pub public_url: Option<String>,
    /// Further origins that may send requests that cause mails.
    #[serde(deserialize_with = "origins")]
    pub allowed_origins: Vec<String>,
    /// Path or `http(s)` address of the login page. Default `/login`.
    #[serde(deserialize_with = "login_path")]
    pub login_path: String,
    /// Path or `http(s)` address of the console, without query. Default `/backend`.
    #[serde(deserialize_with = "console_path")]
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

/// Reads the public origin. It is validated here, because several modules read the section.
fn origin<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let written = Option::<String>::deserialize(deserializer)?;
    match written.as_deref().is_none_or(is_origin) {
        true => Ok(written),
        false => Err(D::Error::custom(
            "must be an origin without a path, such as https://office.example",
        )),
    }
}

/// Reads further origins.
fn origins<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let written = Vec::<String>::deserialize(deserializer)?;
    match written.iter().find(|text| !is_origin(text)) {
        None => Ok(written),
        Some(text) => Err(D::Error::custom(format!(
            "must consist of origins without a path, such as https://www.example; {text:?} is none"
        ))),
    }
}

fn login_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let written = String::deserialize(deserializer)?;
    match is_location(&written) {
        true => Ok(written),
        false => Err(D::Error::custom(
            "must be a path such as /login, or an address such as https://id.example/login",
        )),
    }
}

fn console_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let written = String::deserialize(deserializer)?;
    // The paths of the console's pages are appended.
    match is_location(&written) && !written.contains(['?', '#']) {
        true => Ok(written),
        false => Err(D::Error::custom(
            "must be a path such as /backend, or an address such as https://console.example, without query and fragment",
        )),
    }
}

/// Returns whether browsers that are sent there stay on this site or open an `http(s)` address. They read `//` and `/\` as the start of another
/// site's address.
fn is_location(text: &str) -> bool {
    if !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
        return false;
    }
    match text.strip_prefix('/') {
        Some(rest) => !rest.starts_with('/'),
        None => {
            text.contains("://")
                && Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        }
    }
}

fn is_origin(text: &str) -> bool {
    let is_written_out = text.trim() == text && text.contains("://");
    is_written_out
        && Url::parse(text).is_ok_and(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && url.username().is_empty()
                && url.password().is_none()
                && url.path() == "/"
                && url.query().is_none()
                && url.fragment().is_none()
        })
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
    /// Other points and seconds by the name of the limit (`"auth.login.ip" = "50/60"`).
    #[serde(deserialize_with = "limits")]
    pub limits: BTreeMap<String, String>,
}

impl Default for RateLimitConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            limits: BTreeMap::new(),
        }
    }
}

/// Reads the limits. Their names contain dots, so a key such as `limits.auth.login.ip` without quotes is a table.
fn limits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Text(String),
        Other(IgnoredAny),
    }
    let written = BTreeMap::<String, Written>::deserialize(deserializer)?;
    let limit = |(name, value): (String, Written)| match value {
        Written::Text(value) => Ok((name, value)),
        Written::Other(_) => Err(D::Error::custom(format!(
            "`{name}` must be `points/seconds`, with the whole name of the limit in quotes, for example \
             rate_limits.limits={{\"auth.login.ip\"=\"50/60\"}}"
        ))),
    };
    written.into_iter().map(limit).collect()
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
        if self.undo.ttl_seconds.is_some_and(|seconds| seconds > LONGEST_UNDO) {
            let message = format!("must be at most {LONGEST_UNDO}");
            return Err(ConfigError::new("audit.undo.ttl_seconds", message));
        }
        Ok(self)
    }
}

/// Maximum number of years for which entries are kept, if not for ever.
const LONGEST_RETENTION: u32 = 100;

/// Seconds of the longest time in which an action can be undone: 36,500 days.
const LONGEST_UNDO: u64 = 36_500 * 24 * 3600;

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
    /// Seconds after which an action can no longer be undone, at most 36,500 days. Default: none.
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
    use crate::config::Config;

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
            ("[audit.undo]\nttl_seconds = 3153600001", "audit.undo.ttl_seconds"),
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

    #[test]
    fn settings_of_the_listener_have_bounds() {
        let read = |text: &str| {
            let config = Config::from_toml(text).expect("toml");
            config.section::<HttpConfig>("http")?.checked()
        };
        for workers in [1, 512] {
            read(&format!("[http]\nworkers = {workers}")).expect("a number of threads");
        }
        read("[http]\ndrain_delay = '60s'").expect("the longest delay");
        for (text, named) in [
            ("[http]\nworkers = 0", "http.workers"),
            ("[http]\nworkers = 513", "http.workers"),
            ("[http]\nbody_limit = 0", "http.body_limit"),
            ("[http]\nbody_timeout = '0s'", "http.body_timeout"),
            ("[http]\nbody_timeout = '2d'", "http.body_timeout"),
            ("[http]\nmax_connections = 0", "http.max_connections"),
            ("[http]\ndrain_delay = '61s'", "http.drain_delay"),
        ] {
            let error = read(text).expect_err("out of bounds");
            assert!(error.to_string().contains(named), "{error}");
        }
    }

    #[test]
    fn locations_of_pages_are_paths_or_addresses_of_the_web() {
        let read = |key: &str, value: &str| {
            let text = format!("[app]\n{key} = '{value}'");
            Config::from_toml(&text).expect("toml").section::<AppConfig>("app")
        };
        for key in ["login_path", "console_path"] {
            for value in ["/", "/sign-in/", "https://id.example/login", "http://127.0.0.1:8080"] {
                read(key, value).unwrap_or_else(|error| panic!("{key} {value}: {error}"));
            }
            for value in [
                "",
                "login",
                "//id.example",
                "/\\id.example",
                "/sign in",
                "/anmelden/ü",
                "javascript:alert(1)",
                "javascript://id.example/%0aalert(1)",
                "https:id.example",
                "https://",
                "ftp://id.example",
            ] {
                let error = read(key, value).expect_err(value).to_string();
                assert!(error.contains(&format!("app.{key}")), "{value}: {error}");
            }
        }
        read("login_path", "/login?client=office").expect("a path with a query");
        read("console_path", "/backend?client=office").expect_err("nothing can be appended");
    }

    #[test]
    fn allowed_origins_are_origins() {
        let read = |list: &str| {
            let config = Config::from_toml(&format!("[app]\nallowed_origins = {list}")).expect("toml");
            config.section::<AppConfig>("app")
        };
        read("['https://www.example', 'http://localhost:3000']").expect("origins");
        for list in [
            "['*']",
            "['']",
            "['https://www.example', 'www.example']",
            "['https://www.example/app']",
        ] {
            let error = read(list).expect_err(list).to_string();
            assert!(error.contains("app.allowed_origins"), "{list}: {error}");
        }
    }

    #[test]
    fn the_public_url_is_an_origin() {
        let read = |url: &str| {
            let config = Config::from_toml(&format!("[app]\npublic_url = '{url}'")).expect("toml");
            config.section::<AppConfig>("app").map(|app| app.public_url)
        };
        for url in [
            "https://office.example",
            "https://office.example/",
            "HTTPS://office.example",
            "http://127.0.0.1:8080",
            "http://[::1]:8080",
        ] {
            assert_eq!(read(url).expect("an origin").as_deref(), Some(url));
        }
        for url in [
            "",
            "office.example",
            "office.example:8080",
            "https:office.example",
            " https://office.example",
            "ftp://office.example",
            "mailto:office@office.example",
            "https://office.example/app",
            "https://office.example?a=b",
            "https://office.example#a",
            "https://user@office.example",
        ] {
            let error = read(url).expect_err("not an origin");
            assert!(error.to_string().contains("app.public_url"), "{url}: {error}");
        }
        let config = Config::from_toml("[app]\ndemo = true").expect("toml");
        let app = config.section::<AppConfig>("app").expect("no origin");
        assert_eq!((app.public_url, app.demo), (None, true));
    }
}
