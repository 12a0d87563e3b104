//! Configuration: one section per crate, read from defaults < `backoffice.toml` < `BACKOFFICE__SECTION__KEY` < flags.

mod secrets;
mod sections;

use std::path::PathBuf;
use std::time::Duration;

use config::{Value, ValueKind};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

pub use secrets::{MIN_SECRET_BYTES, SecretKey, read_secret};
pub use sections::{
    AccessLogConfig, ActionLogConfig, AppConfig, AuditConfig, HttpConfig, LONGEST_WINDOW, MOST_WORKERS,
    RateLimitConfig, SnapshotConfig, UndoConfig,
};

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

    /// Creates an error about a source that can't be read. It contains neither an excerpt of the source nor a value, which may be secret.
    pub fn unreadable(key: impl Into<String>, error: &config::ConfigError) -> Self {
        Self::new(key, reason(error))
    }
}

/// Returns the library's description of an error without the excerpt or the text that it contains.
fn reason(error: &config::ConfigError) -> String {
    let config::ConfigError::FileParse { uri, cause } = error else {
        return without_value(&error.to_string());
    };
    // The position is in the first line and the reason in the last one. The lines between them are an excerpt.
    let text = cause.to_string();
    let mut lines = text.trim_end().lines();
    let first = lines.next().unwrap_or_default();
    let reason = match lines.next_back() {
        Some(last) => format!("{first}: {last}"),
        None => first.to_owned(),
    };
    match uri {
        Some(uri) => format!("{reason} in {uri}"),
        None => reason,
    }
}

/// Removes the rejected text from a description of serde or of the library.
fn without_value(problem: &str) -> String {
    if let Some((name, _)) = problem.split_once(" does not have variant constructor ") {
        return format!("{name} does not have this variant");
    }
    for kind in ["invalid type: string", "invalid value: string"] {
        let quoted = problem.strip_prefix(kind).filter(|rest| rest.starts_with(" \""));
        // Quotation marks in the text are escaped, and only the text can contain them: the last ones end it.
        if let Some((_, expected)) = quoted.and_then(|rest| rest.rsplit_once("\", expected ")) {
            return format!("{kind}, expected {expected}");
        }
    }
    problem.to_owned()
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
            .map_err(|error| ConfigError::unreadable("configuration", &error))
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
    pub fn data_dir(&self) -> Result<PathBuf, ConfigError> {
        const KEY: &str = "data_dir";
        match self.written(KEY) {
            Some(folder) => PathBuf::deserialize(folder).map_err(|error| self.invalid(KEY, error)),
            None => Ok("var".into()),
        }
    }

    /// Returns a section, or its defaults when it is not set. Unknown keys are errors when the type says `deny_unknown_fields`.
    ///
    /// # Errors
    /// When a value has the wrong type or is unknown. The error names the key of the value, and its source if that is known.
    pub fn section<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T, ConfigError> {
        match self.written(name) {
            Some(section) => T::deserialize(section).map_err(|error| self.invalid(name, error)),
            None => Ok(T::default()),
        }
    }

    /// Returns a section as it was read.
    fn written(&self, section: &str) -> Option<Value> {
        match &self.raw.cache.kind {
            ValueKind::Table(sections) => sections.get(section).cloned(),
            _ => None,
        }
    }

    /// Names the key and the source of an invalid value of a section.
    fn invalid(&self, section: &str, error: config::ConfigError) -> ConfigError {
        let (below, source, problem) = match error {
            config::ConfigError::Type {
                key,
                origin,
                unexpected,
                expected,
            } => (key, origin, format!("invalid type: {unexpected}, expected {expected}")),
            config::ConfigError::At { key, origin, error } => (key, origin, error.to_string()),
            config::ConfigError::NotFound(key) => (Some(key), None, "is missing".to_owned()),
            other => (None, None, other.to_string()),
        };
        let problem = without_value(&problem);
        // The library writes no dot behind the number of an item.
        let below = below.unwrap_or_default().replace(']', "].").replace("].[", "][");
        let key = match below.trim_end_matches('.') {
            "" => section.to_owned(),
            item if item.starts_with('[') => format!("{section}{item}"),
            below => format!("{section}.{below}"),
        };
        match source.or_else(|| self.origin(&key)) {
            Some(source) => ConfigError::new(key, format!("{problem} (set in {source})")),
            None => ConfigError::new(key, problem),
        }
    }

    /// Returns the source of the value with this key, or of the list that contains it: a file, a variable or the command line.
    #[must_use]
    pub fn origin(&self, key: &str) -> Option<String> {
        let mut found = &self.raw.cache;
        for part in key.split('.') {
            let ValueKind::Table(table) = &found.kind else { break };
            let name = part.split_once('[').map_or(part, |(name, _)| name);
            found = table.get(name)?;
        }
        found.origin().map(str::to_owned)
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
    #[serde(
        untagged,
        expecting = "invalid duration; expected for example 250ms, 30s, 5m, 8h or 30d"
    )]
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
    #[serde(
        untagged,
        expecting = "invalid size; expected for example 512KiB, 25MiB, 2GiB or a number of bytes"
    )]
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
    fn errors_contain_no_text_that_was_read() {
        #[derive(Debug, Default, Deserialize)]
        #[serde(default)]
        struct Vault {
            keys: Vec<SecretKey>,
        }
        let rejected = |text: &str| {
            let read = Config::from_toml(text).and_then(|config| config.section::<Vault>("vault"));
            read.expect_err(text).to_string()
        };

        for (text, expected) in [
            ("vault = 'hidden'", "vault: invalid type: string, expected "),
            (
                "vault = 'hidden\", expected hidden'",
                "vault: invalid type: string, expected struct",
            ),
            (
                "[vault]\nkeys = 'hidden'",
                "vault.keys: invalid type: string, expected a sequence",
            ),
            (
                "[vault]\nkeys = ['hidden']",
                "vault.keys[0]: invalid type: string, expected struct",
            ),
            (
                "[vault]\nkeys = [{ kid = 'a', secret = \"hidden }]",
                "configuration: TOML parse error at line 2, column ",
            ),
            (
                "[vault]\nkeys = [{ kid = 'a' secret = 'hidden' }]",
                "configuration: TOML parse error at line 2, column ",
            ),
        ] {
            let reported = rejected(text);
            assert!(reported.starts_with(expected), "{reported}");
            assert!(
                !reported.contains("hidden") && reported.lines().count() == 1,
                "{reported}"
            );
        }
    }

    #[test]
    fn an_invalid_value_is_named_by_its_whole_key() {
        #[derive(Debug, Default, Deserialize)]
        struct Keys {
            #[expect(dead_code, reason = "only reading it matters")]
            keys: Vec<SecretKey>,
        }
        fn rejected<T: DeserializeOwned + Default + std::fmt::Debug>(section: &str, text: &str) -> String {
            let config = Config::from_toml(text).expect("toml");
            config.section::<T>(section).expect_err("invalid").to_string()
        }
        let http = |text: &str| rejected::<HttpConfig>("http", &format!("[http]\n{text}"));
        let limits = "[rate_limits.limits.auth.login]\nip = '3/600'";

        for (reported, expected) in [
            (http("listen = 'x'"), "http.listen: invalid socket address"),
            (
                http("body_timeout = 'abc'"),
                "http.body_timeout: invalid duration `abc`",
            ),
            (
                http("body_timeout = []"),
                "http.body_timeout: invalid duration; expected",
            ),
            (http("body_limit = 'much'"), "http.body_limit: invalid type: string"),
            (
                rejected::<Keys>("vault", "[vault]\nkeys = [{ secret = 'x' }]"),
                "vault.keys[0].kid: is missing",
            ),
            (
                rejected::<RateLimitConfig>("rate_limits", limits),
                "rate_limits.limits: `auth` must be `points/seconds`",
            ),
        ] {
            assert!(reported.starts_with(expected), "{reported}");
        }
    }
}
