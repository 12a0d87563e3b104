//! Composition: turns modules, configuration and database into an application that an actix-web server can mount. Used by this host and by programs
//! that embed modules.

use std::sync::Arc;
use std::time::Duration;

use actix_web::web;
use backoffice_core::config::Config;
use backoffice_core::db::{Database, DatabaseOptions, TlsOptions};
use backoffice_core::http::{Pages, Routes, internal, not_found};
use backoffice_core::{API_PREFIX, Module, Platform, PlatformOptions, Runtime};
use secrecy::SecretString;

use crate::Result;

/// The parts to compose.
#[derive(Debug)]
pub struct Composition {
    config: Config,
    enabled: Vec<&'static Module>,
    compiled: Option<Vec<&'static Module>>,
    database: DatabaseOptions,
}

impl Composition {
    /// A composition without modules.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            enabled: Vec::new(),
            compiled: None,
            database: DatabaseOptions::new(String::new().into()),
        }
    }

    /// Sets the modules to enable. The platform sorts them by their requirements.
    #[must_use]
    pub fn modules(mut self, modules: &[&'static Module]) -> Self {
        self.enabled = modules.to_vec();
        self
    }

    /// Sets the modules whose configuration and features are known without being enabled. By default none.
    #[must_use]
    pub fn compiled(mut self, modules: &[&'static Module]) -> Self {
        self.compiled = Some(modules.to_vec());
        self
    }

    /// Sets the maximum number of connections of all worker threads together. By default 16.
    #[must_use]
    pub fn pool_size(mut self, connections: usize) -> Self {
        self.database.pool_size = connections;
        self
    }

    /// Sets the maximum duration of a request's statement, at most 2147483647 ms; 0 = no limit. By default 30 s.
    #[must_use]
    pub fn statement_timeout(mut self, longest: Duration) -> Self {
        self.database.statement_timeout = longest;
        self
    }

    /// Sets the age at which connections are replaced. By default 30 min.
    #[must_use]
    pub fn max_connection_age(mut self, longest: Duration) -> Self {
        self.database.max_connection_age = longest;
        self
    }

    /// Sets the TLS options; options in the URL take precedence.
    #[must_use]
    pub fn tls(mut self, tls: TlsOptions) -> Self {
        self.database.tls = tls;
        self
    }

    /// Composes the platform. `url` is the `postgres://` URL of the application's role. Does not connect yet;
    /// [`database::check`](crate::database::check) rejects a role or a schema that must not be served.
    ///
    /// # Errors
    /// When a required module is missing, a module rejects its configuration, or the URL or the maximum duration of statements is invalid.
    pub fn build(self, url: SecretString) -> Result<Backoffice> {
        let (options, database) = self.into_options();
        Backoffice::assemble(Platform::new(options)?, DatabaseOptions { url, ..database })
    }

    /// Checks the configuration as [`build`](Self::build) does, and changes nothing: no folder is created.
    ///
    /// # Errors
    /// When a required module is missing, or a module rejects its configuration.
    pub fn check(self) -> Result<()> {
        let (options, _database) = self.into_options();
        Ok(Platform::check(options)?)
    }

    fn into_options(self) -> (PlatformOptions, DatabaseOptions) {
        let mut options = PlatformOptions::new(&self.enabled, self.config);
        if let Some(compiled) = self.compiled {
            options.compiled = compiled;
        }
        (options, self.database)
    }
}

/// The composed platform and its database.
#[derive(Debug, Clone)]
pub struct Backoffice {
    platform: Arc<Platform>,
    database: Database,
    options: DatabaseOptions,
}

impl Backoffice {
    fn assemble(platform: Arc<Platform>, options: DatabaseOptions) -> Result<Self> {
        Ok(Self {
            platform,
            database: Database::new(options.clone())?,
            options,
        })
    }

    /// Returns the same platform on another database.
    pub(crate) fn with_url(self, url: SecretString) -> Result<Self> {
        Self::assemble(self.platform, DatabaseOptions { url, ..self.options })
    }

    /// Returns the composed platform.
    #[must_use]
    pub fn platform(&self) -> &Arc<Platform> {
        &self.platform
    }

    /// Returns the options of the pools.
    pub(crate) fn database_options(&self) -> &DatabaseOptions {
        &self.options
    }

    /// Maximum number of database connections of requests and background work.
    pub(crate) fn database_connections(&self) -> usize {
        // Each worker thread has at least one; jobs, internal requests, the event relay and the operators' listener have theirs in addition.
        self.options
            .pool_size
            .saturating_add(self.platform.jobs().slots())
            .saturating_add(internal::CONNECTIONS)
            .saturating_add(16)
    }

    /// Creates the runtime of one of `workers` threads, with a pool of its own that this thread drives.
    #[must_use]
    pub fn worker(&self, workers: usize) -> Runtime {
        self.runtime(self.options.pool_size / workers.max(1))
    }

    /// Creates a runtime with a pool of up to `connections` connections, at least one, opened on demand.
    #[must_use]
    pub fn runtime(&self, connections: usize) -> Runtime {
        Runtime {
            platform: Arc::clone(&self.platform),
            database: self.database.for_worker(connections),
        }
    }
}

/// Mounts the modules' pages: `App::new().configure(pages(runtime.clone())).configure(api(runtime))`. Omit it if the program serves pages of its own
/// at those paths.
pub fn pages(runtime: Runtime) -> impl FnOnce(&mut web::ServiceConfig) {
    move |service| Pages::of(&runtime.platform).configure(&runtime, service)
}

/// Mounts the API below `/api`: `App::new().configure(api(office.worker(workers)))`.
pub fn api(runtime: Runtime) -> impl FnOnce(&mut web::ServiceConfig) {
    move |service| {
        let scope = web::scope(API_PREFIX).configure(|scope| {
            Routes::of(runtime.platform.modules()).configure(&runtime, scope);
            scope.default_service(web::to(not_found));
        });
        service.service(scope);
    }
}
