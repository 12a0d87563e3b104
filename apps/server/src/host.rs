//! An opened host: settings, composed platform, database. Commands and `serve` start here.

use backoffice_core::ids::Ids;
use backoffice_core::module::in_order;
use backoffice_core::{Module, RequestContext, Runtime};
use secrecy::SecretString;

use crate::app::{Backoffice, Composition};
use crate::config::Settings;
use crate::private_database::PrivateDatabase;
use crate::{Error, Result, database, modules, secrets};

/// The purpose for which the host is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Serving requests: the secrets are required, and a missing private database is created.
    Serve,
    /// Running jobs: the secrets and the database are required.
    Work,
    /// Setting up an installation: missing secrets are replaced while the command runs, and a missing private database is created.
    SetUp,
    /// A command that signs and seals nothing: missing secrets are replaced while it runs. The database is required.
    Command,
}

impl Purpose {
    fn creates_database(self) -> bool {
        matches!(self, Self::Serve | Self::SetUp)
    }
}

/// The opened host. [`Host::close`] shuts it down in order.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) settings: Settings,
    pub(crate) office: Backoffice,
    private: Option<PrivateDatabase>,
}

impl Host {
    /// Starts or checks the database and composes the enabled modules.
    pub(crate) async fn open(settings: Settings, purpose: Purpose) -> Result<Self> {
        for file in settings.exposed_files() {
            tracing::warn!(file = %file.display(), "file with secrets is readable by every user; run chmod o-r on it");
        }
        if !purpose.creates_database() {
            require_database(&settings)?;
        }
        let settings = with_secrets(settings, purpose)?;
        let modules = in_order(&modules::enabled(settings.modules.as_deref())?)?;
        // Before the database, so that an invalid configuration is reported without starting anything.
        let url = settings.database_url.clone();
        if let Some(url) = &url {
            database::parse("database.url", url, &settings.database.tls)?;
        }
        let mut office = compose(&settings, &modules, url.clone().unwrap_or_else(unused_url))?;
        let private = if url.is_some() {
            database::check(&office).await?;
            None
        } else {
            let private = PrivateDatabase::start(&settings.data_dir, &modules).await?;
            office = office.with_url(private.url())?;
            Some(private)
        };
        Ok(Self {
            settings,
            office,
            private,
        })
    }

    /// Creates a runtime for this process's work beside the requests.
    pub(crate) fn runtime(&self) -> Runtime {
        // A worker holds one connection for its chunk and at times needs a second one for the queue; the relay has its own connections.
        self.office.runtime(self.office.platform().jobs().slots() + 4)
    }

    /// Returns a context in which the platform itself is the actor.
    #[cfg_attr(
        not(feature = "directory"),
        expect(dead_code, reason = "commands on data need a module")
    )]
    pub(crate) fn context(&self) -> RequestContext {
        RequestContext::system(&self.runtime())
    }

    /// Returns whether the module is enabled.
    pub(crate) fn has(&self, module: &str) -> bool {
        self.office
            .platform()
            .modules()
            .iter()
            .any(|enabled| enabled.name == module)
    }

    /// Stops the private PostgreSQL, after everything that uses it.
    pub(crate) async fn close(self) -> Result<()> {
        let Self { private, office, .. } = self;
        drop(office);
        match private {
            Some(private) => private.stop().await,
            None => Ok(()),
        }
    }
}

/// Rejects settings that name no database in a folder without a private one. Such a folder is usually the wrong one, and a new database would be empty.
fn require_database(settings: &Settings) -> Result<()> {
    if !settings.is_development() || PrivateDatabase::exists(&settings.data_dir)? {
        return Ok(());
    }
    // An invalid setting is the more specific reason.
    check_settings(settings)?;
    let folder = std::path::absolute(&settings.data_dir).map_err(Error::file(&settings.data_dir))?;
    Err(Error::other(format!(
        "there is no database: `database.url` is not set, and {} has no private one; name the file of the settings with --config or the folder \
         with --data-dir, or run `backoffice init` to create an installation in this folder",
        folder.display()
    )))
}

fn with_secrets(settings: Settings, purpose: Purpose) -> Result<Settings> {
    if !lacks_secrets(&settings)? {
        return Ok(settings);
    }
    if settings.is_development() {
        secrets::create_missing(&settings, &Ids::default())?;
        return Ok(settings.reread()?);
    }
    match purpose {
        // The module rejects them and states why.
        Purpose::Serve | Purpose::Work => Ok(settings),
        Purpose::SetUp | Purpose::Command => with_any_secrets(&settings),
    }
}

/// Returns whether an enabled module needs secrets that are not set.
pub(crate) fn lacks_secrets(settings: &Settings) -> Result<bool> {
    Ok(!missing_secrets(settings)?.is_empty())
}

/// Returns the secrets that an enabled module needs and that are not set.
pub(crate) fn missing_secrets(settings: &Settings) -> Result<Vec<secrets::Secret>> {
    let enabled = modules::enabled(settings.modules.as_deref())?;
    let is_missing = |secret: &secrets::Secret| {
        enabled.iter().any(|module| secret.is_needed_by(module)) && !settings.has(secret.setting())
    };
    Ok(secrets::ALL.into_iter().filter(is_missing).collect())
}

/// Lets core and the enabled modules validate their sections, without a database, and changes nothing. Missing secrets are not an error here.
///
/// # Errors
/// Names the invalid key.
pub(crate) fn check_settings(settings: &Settings) -> Result<()> {
    let modules = in_order(&modules::enabled(settings.modules.as_deref())?)?;
    composition(&with_any_secrets(settings)?, &modules, &unused_url())?.check()
}

/// Does the same as [`check_settings`], and creates the folders of modules.
///
/// # Errors
/// Names the invalid key.
pub(crate) fn check_start(settings: &Settings) -> Result<()> {
    let modules = in_order(&modules::enabled(settings.modules.as_deref())?)?;
    compose(&with_any_secrets(settings)?, &modules, unused_url())?;
    Ok(())
}

/// Returns the settings with replacements of missing secrets.
fn with_any_secrets(settings: &Settings) -> Result<Settings> {
    match lacks_secrets(settings)? {
        true => Ok(settings.with_fallbacks(secrets::ephemeral(settings, &Ids::default()))?),
        false => Ok(settings.clone()),
    }
}

fn unused_url() -> SecretString {
    "postgres://unused@localhost/unused".to_owned().into()
}

fn compose(settings: &Settings, modules: &[&'static Module], url: SecretString) -> Result<Backoffice> {
    composition(settings, modules, &url)?.build(url)
}

fn composition(settings: &Settings, modules: &[&'static Module], url: &SecretString) -> Result<Composition> {
    // Its errors name the setting; the composition reports the same faults as its own.
    database::parse("database.url", url, &settings.database.tls)?;
    Ok(Composition::new(settings.to_core())
        .modules(modules)
        .compiled(&modules::compiled())
        .pool_size(settings.database.pool_size)
        .statement_timeout(settings.database.statement_timeout)
        .max_connection_age(settings.database.max_connection_age)
        .tls(settings.database.tls.clone()))
}
