//! The sources of settings; each overrides the ones before it.

use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use backoffice_core::config::{CORE_SECTIONS, Config as CoreConfig, ConfigError};
use config::{Config, File, FileFormat, FileSourceFile, Value, ValueKind};
use secrecy::SecretString;
use serde::de::DeserializeOwned;

use super::environment;
use super::sections::{AdminConfig, DatabaseConfig, LogConfig};
use crate::{modules, secrets};

const DEFAULTS: &str = include_str!("defaults.toml");
const DEFAULT_FILE: &str = "backoffice.toml";

/// The sources of the settings: built-in defaults < `secrets.toml` in `data_dir` < the file < the environment < flags.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The configuration file. If absent, `backoffice.toml` in the working directory, if it exists.
    pub file: Option<PathBuf>,
    /// The environment variables.
    pub environment: Vec<(String, String)>,
    /// Pairs of `section.key` and value from the command line.
    pub flags: Vec<(String, String)>,
}

/// The settings that were read.
#[derive(Debug, Clone)]
pub struct Settings {
    pub(super) raw: Config,
    pub(super) sources: Sources,
    /// The folder for all files that the host writes.
    pub data_dir: PathBuf,
    /// Names of the enabled modules. If absent, all compiled-in modules.
    pub modules: Option<Vec<String>>,
    /// Section `database`.
    pub database: DatabaseConfig,
    /// Section `admin`.
    pub admin: AdminConfig,
    /// Section `log`.
    pub log: LogConfig,
    /// The application's URL, when a database is configured.
    pub database_url: Option<SecretString>,
}

impl Sources {
    /// Reads the settings.
    ///
    /// # Errors
    /// Names the key, variable or file that can't be used.
    pub fn read(self) -> Result<Settings, ConfigError> {
        self.read_with(Vec::new())
    }

    /// Reads the settings; `fallbacks` apply to keys that no source sets.
    fn read_with(self, fallbacks: Vec<(String, Value)>) -> Result<Settings, ConfigError> {
        let data_dir: PathBuf = section(&self.merge(None, &fallbacks)?, "data_dir")?;
        let secrets_file = secrets::path(&data_dir);
        let raw = self.merge(is_file(&secrets_file)?.then_some(secrets_file.as_path()), &fallbacks)?;
        let database = section::<DatabaseConfig>(&raw, "database")?.checked()?;
        Ok(Settings {
            data_dir,
            modules: section(&raw, "modules")?,
            database_url: database.url()?,
            database,
            admin: section(&raw, "admin")?,
            log: section(&raw, "log")?,
            raw,
            sources: self,
        })
    }

    fn merge(&self, secrets: Option<&Path>, fallbacks: &[(String, Value)]) -> Result<Config, ConfigError> {
        let unreadable = |error: config::ConfigError| ConfigError::unreadable("configuration", &error);
        let mut builder = Config::builder().add_source(File::from_str(DEFAULTS, FileFormat::Toml));
        for (key, value) in fallbacks {
            builder = builder.set_default(key, value.clone()).map_err(unreadable)?;
        }
        if let Some(secrets) = secrets {
            check_readable(secrets)?;
            builder = builder.add_source(known_sections(secrets).map_err(unreadable)?);
        }
        if let Some(file) = self.file()? {
            check_readable(&file)?;
            builder = builder.add_source(toml_file(&file));
        }
        for (key, value) in environment::settings(self.environment.iter().cloned())? {
            builder = builder.set_override(&key, value).map_err(|_| bad_key(&key))?;
        }
        for (key, text) in &self.flags {
            let value = environment::value(key, text, "the command line")?;
            builder = builder.set_override(key, value).map_err(|_| bad_key(key))?;
        }
        builder.build().map_err(unreadable)
    }

    pub(super) fn file(&self) -> Result<Option<PathBuf>, ConfigError> {
        match &self.file {
            Some(file) => match is_file(file) {
                Ok(true) => Ok(Some(file.clone())),
                Ok(false) => Err(ConfigError::new(
                    "--config",
                    format!("{} does not exist", file.display()),
                )),
                Err(error) => Err(ConfigError::new("--config", error.to_string())),
            },
            None => Ok(Some(PathBuf::from(DEFAULT_FILE)).filter(|file| file.is_file())),
        }
    }
}

impl Settings {
    /// Returns whether no database is configured: the host then uses a private one, and cookies work without TLS.
    #[must_use]
    pub fn is_development(&self) -> bool {
        self.database_url.is_none()
    }

    /// Returns the configuration for the modules.
    #[must_use]
    pub fn to_core(&self) -> CoreConfig {
        CoreConfig::new(self.with_program(self.with_site()), self.is_development())
    }

    /// Returns the settings; in development, the default site is the listener, under both of its names.
    fn with_site(&self) -> Config {
        let raw = self.raw.clone();
        if !self.is_development() || self.has("app.public_url") {
            return raw;
        }
        let Ok(listen) = raw.get::<SocketAddr>("http.listen") else {
            return raw;
        };
        let named = format!("http://localhost:{}", listen.port());
        let allowed: Vec<String> = raw.get("app.allowed_origins").unwrap_or_default();
        let allowed: Vec<String> = allowed.into_iter().chain([named]).collect();
        let site = Config::builder()
            .add_source(raw.clone())
            .set_override("app.public_url", format!("http://{listen}"))
            .and_then(|site| site.set_override("app.allowed_origins", allowed))
            .and_then(|site| site.build());
        site.unwrap_or(raw)
    }

    /// Returns the settings; by default this program extracts the texts of documents.
    fn with_program(&self, settings: Config) -> Config {
        const KEY: &str = "attachments.extract_program";
        let Ok(program) = std::env::current_exe() else {
            return settings;
        };
        if self.has(KEY) || !cfg!(feature = "attachments") {
            return settings;
        }
        let with_program = Config::builder()
            .add_source(settings.clone())
            .set_override(KEY, program.to_string_lossy().into_owned())
            .and_then(|with_program| with_program.build());
        with_program.unwrap_or(settings)
    }

    /// Returns whether this key is set.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.raw
            .get::<Value>(key)
            .is_ok_and(|value| value.kind != ValueKind::Nil)
    }

    /// Returns the source of this key's value, or of the list that contains it: a file, a variable or the command line.
    #[must_use]
    pub fn origin(&self, key: &str) -> Option<String> {
        CoreConfig::new(self.raw.clone(), false).origin(key)
    }

    /// Reads the sources again, after a file was written.
    ///
    /// # Errors
    /// As [`Sources::read`].
    pub fn reread(&self) -> Result<Self, ConfigError> {
        self.sources.clone().read()
    }

    /// Returns the settings with `fallbacks` for keys that are not set.
    pub(crate) fn with_fallbacks(&self, fallbacks: Vec<(String, Value)>) -> Result<Self, ConfigError> {
        self.sources.clone().read_with(fallbacks)
    }
}

/// Returns whether the file exists.
///
/// # Errors
/// Names the path if it is something else, such as a folder, or can't be looked at.
fn is_file(path: &Path) -> Result<bool, ConfigError> {
    let unusable = |reason: String| ConfigError::new(path.display().to_string(), reason);
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => Err(unusable("is not a file".to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(unusable(error.to_string())),
    }
}

/// Rejects a file that can't be read. The error names it, unlike that of the library.
fn check_readable(file: &Path) -> Result<(), ConfigError> {
    match fs::read_to_string(file) {
        Ok(_) => Ok(()),
        Err(error) => Err(ConfigError::new(file.display().to_string(), error.to_string())),
    }
}

/// Reads the generated file without the sections of modules that this build lacks: no operator wrote them by hand.
fn known_sections(file: &Path) -> Result<Config, config::ConfigError> {
    let modules = modules::compiled();
    let is_known = |name: &str| {
        CORE_SECTIONS.contains(&name) || modules.iter().any(|module| module.config_sections.contains(&name))
    };
    let read = Config::builder().add_source(toml_file(file)).build()?;
    let mut known = Config::builder();
    for (name, section) in read.cache.into_table()? {
        if is_known(&name) {
            known = known.set_default(name, section)?;
        }
    }
    known.build()
}

fn toml_file(path: &Path) -> File<FileSourceFile, FileFormat> {
    File::new(&path.to_string_lossy(), FileFormat::Toml)
}

fn section<T: DeserializeOwned + Default>(raw: &Config, name: &str) -> Result<T, ConfigError> {
    CoreConfig::new(raw.clone(), false).section(name)
}

fn bad_key(key: &str) -> ConfigError {
    ConfigError::new(
        key,
        "is not the name of a setting; write section.key, or BACKOFFICE__SECTION__KEY in the environment",
    )
}

#[cfg(test)]
mod tests {
    use backoffice_core::config::{AppConfig, HttpConfig, RateLimitConfig};

    use super::*;

    #[test]
    fn the_written_defaults_are_those_of_the_sections() {
        let settings = Sources::default().read().expect("defaults");
        let core = CoreConfig::new(settings.raw.clone(), settings.is_development());

        assert_eq!(
            format!("{:?}", core.section::<HttpConfig>("http")),
            format!("{:?}", ok(HttpConfig::default()))
        );
        assert_eq!(
            format!("{:?}", core.section::<AppConfig>("app")),
            format!("{:?}", ok(AppConfig::default()))
        );
        assert_eq!(
            format!("{:?}", core.section::<RateLimitConfig>("rate_limits")),
            format!("{:?}", ok(RateLimitConfig::default()))
        );
        assert_eq!(
            format!("{:?}", settings.database),
            format!("{:?}", DatabaseConfig::default())
        );
        assert_eq!(format!("{:?}", settings.admin), format!("{:?}", AdminConfig::default()));
        assert_eq!(format!("{:?}", settings.log), format!("{:?}", LogConfig::default()));
    }

    #[test]
    fn in_development_the_site_is_the_listener_unless_something_else_is_said() {
        let site = |flags: &[(&str, &str)]| {
            let flags = flags
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
            let sources = Sources {
                flags: flags.collect(),
                ..Sources::default()
            };
            let settings = sources.read().expect("settings");
            let app: AppConfig = settings.to_core().section("app").expect("the section");
            (app.public_url, app.allowed_origins)
        };
        let origin = |text: &str| Some(text.to_owned());

        assert_eq!(
            site(&[("http.listen", "127.0.0.1:9000")]),
            (
                origin("http://127.0.0.1:9000"),
                vec!["http://localhost:9000".to_owned()]
            )
        );
        assert_eq!(
            site(&[("app.public_url", "https://office.example")]).0,
            origin("https://office.example")
        );
        assert_eq!(site(&[("database.url", "postgres://x@localhost/x")]).0, None);
    }

    fn ok<T>(value: T) -> Result<T, ConfigError> {
        Ok(value)
    }
}
