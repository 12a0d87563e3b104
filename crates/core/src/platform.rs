//! The platform on which requests and jobs run: configuration, features and values by type. Immutable after the start.
//!
//! Each module of core that keeps state for the whole process adds a value of a type of its own (its *services*) and the methods of [`Platform`]
//! that read it, so that this module does not depend on them.

mod provided;

use std::sync::Arc;

use crate::acl::Catalogue;
use crate::config::{AppConfig, AuditConfig, Config, HttpConfig};
use crate::db::Database;
use crate::ids::Ids;
use crate::mail::Mailer;
use crate::time::Clock;

pub(crate) use provided::Extensions;
pub use provided::Provided;

/// Version of the interface (section 9 of the contract).
pub const INTERFACE_VERSION: &str = "0.6.5";
/// Prefix of every path.
pub const API_PREFIX: &str = "/api";

/// The composed platform.
pub struct Platform {
    pub(crate) catalogue: Catalogue,
    pub(crate) compiled: Catalogue,
    pub(crate) provided: Provided,
    pub(crate) extensions: Extensions,
    pub(crate) config: Config,
    pub(crate) http: HttpConfig,
    pub(crate) app: AppConfig,
    pub(crate) audit: AuditConfig,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) mailer: Option<Arc<dyn Mailer>>,
}

impl Platform {
    /// Returns the services of one of core's modules.
    #[expect(
        clippy::expect_used,
        reason = "the composition sets all services before a request arrives"
    )]
    pub(crate) fn services<T: Send + Sync + 'static>(&self) -> &T {
        let services = self.provided.find();
        services.expect("the composition sets the services of every module of core")
    }

    /// Returns all values of this type that modules registered.
    pub fn extensions<T: Send + Sync + 'static>(&self) -> impl Iterator<Item = &T> {
        self.extensions.of_type()
    }

    /// Returns the features of the enabled modules.
    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Returns the features of all compiled modules.
    #[must_use]
    pub fn compiled_catalogue(&self) -> &Catalogue {
        &self.compiled
    }

    /// Returns the values that modules provide.
    #[must_use]
    pub fn provided(&self) -> &Provided {
        &self.provided
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the section `http`.
    #[must_use]
    pub fn http(&self) -> &HttpConfig {
        &self.http
    }

    /// Returns the section `app`.
    #[must_use]
    pub fn app(&self) -> &AppConfig {
        &self.app
    }

    /// Returns the section `audit`.
    #[must_use]
    pub fn audit(&self) -> &AuditConfig {
        &self.audit
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Returns the source of ids and tokens.
    #[must_use]
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// Returns the mailer, if mail is configured.
    #[must_use]
    pub fn mailer(&self) -> Option<&dyn Mailer> {
        self.mailer.as_deref()
    }

    /// Returns whether cookies are set without `Secure`: the value of `http.insecure_cookies`, else true only in development without an https
    /// `app.public_url`.
    #[must_use]
    pub fn insecure_cookies(&self) -> bool {
        let by_default = self.config.is_development() && !self.app.is_https();
        self.http.insecure_cookies.unwrap_or(by_default)
    }
}

/// The platform with a database, on which requests run. Each worker thread has one with its own pool.
#[derive(Debug, Clone)]
pub struct Runtime {
    /// The composed platform.
    pub platform: Arc<Platform>,
    /// This thread's pool.
    pub database: Database,
}
