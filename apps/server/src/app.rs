//! Composition: modules, configuration and database become something that an actix-web server can mount. For this host and for
//! programs that embed modules.

use std::sync::Arc;
use std::time::Duration;

use actix_web::web;
use backoffice_core::config::Config;
use backoffice_core::db::{Database, DatabaseOptions, TlsOptions};
use backoffice_core::http::{Pages, Routes, not_found};
use backoffice_core::{API_PREFIX, Module, Platform, PlatformOptions, Runtime};
use secrecy::SecretString;

use crate::Result;

/// What is to be composed.
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

    /// The modules to enable; they are put into the order of their requirements.
    #[must_use]
    pub fn modules(mut self, modules: &[&'static Module]) -> Self {
        self.enabled = modules.to_vec();
        self
    }

    /// Modules whose configuration and features are known without being enabled. By default none.
    #[must_use]
    pub fn compiled(mut self, modules: &[&'static Module]) -> Self {
        self.compiled = Some(modules.to_vec());
        self
    }

    /// Connections of all worker threads together. By default 16.
    #[must_use]
    pub fn pool_size(mut self, connections: usize) -> Self {
        self.database.pool_size = connections;
        self
    }

    /// Longest statement of a request. By default 30 s.
    #[must_use]
    pub fn statement_timeout(mut self, longest: Duration) -> Self {
        self.database.statement_timeout = longest;
        self
    }

    /// Age at which connections are replaced. By default 30 min.
    #[must_use]
    pub fn max_connection_age(mut self, longest: Duration) -> Self {
        self.database.max_connection_age = longest;
        self
    }

    /// TLS, where the URL says nothing of it.
    #[must_use]
    pub fn tls(mut self, tls: TlsOptions) -> Self {
        self.database.tls = tls;
        self
    }

    /// Composes. `url` is the `postgres://` URL of the application's role; nothing is connected yet.
    ///
    /// # Errors
    /// When a requirement is missing, a module refuses its configuration, or the URL can't be read.
    pub fn build(self, url: SecretString) -> Result<Backoffice> {
        let mut options = PlatformOptions::new(&self.enabled, self.config);
        if let Some(compiled) = self.compiled {
            options.compiled = compiled;
        }
        Backoffice::assemble(Platform::new(options)?, DatabaseOptions { url, ..self.database })
    }
}

/// The composed platform with its database.
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

    /// The same platform on another database.
    pub(crate) fn with_url(self, url: SecretString) -> Result<Self> {
        Self::assemble(self.platform, DatabaseOptions { url, ..self.options })
    }

    /// The composed platform.
    #[must_use]
    pub fn platform(&self) -> &Arc<Platform> {
        &self.platform
    }

    /// Connections to the database that requests and background work may have at most.
    pub(crate) fn database_connections(&self) -> usize {
        // A thread has one at least; those of the jobs, of the relay and of the operators come on top.
        self.options
            .pool_size
            .saturating_add(self.platform.jobs().workers)
            .saturating_add(16)
    }

    /// What one of `workers` threads runs on: it gets a pool of its own, driven by that thread.
    #[must_use]
    pub fn worker(&self, workers: usize) -> Runtime {
        self.runtime(self.options.pool_size / workers.max(1))
    }

    /// A runtime with a pool of so many connections, at least one, opened when they are needed.
    #[must_use]
    pub fn runtime(&self, connections: usize) -> Runtime {
        Runtime {
            platform: Arc::clone(&self.platform),
            database: self.database.for_worker(connections),
        }
    }
}

/// Mounts the pages of the modules: `App::new().configure(pages(runtime.clone())).configure(api(runtime))`. A program with pages of its
/// own at those paths leaves them out.
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
