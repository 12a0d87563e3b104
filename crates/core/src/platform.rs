//! The composed platform: registrations, configuration and provided values. Immutable after the start.

use std::sync::Arc;

use crate::access_log::Committed;
use crate::acl::Catalogue;
use crate::config::{AppConfig, AuditConfig, Config, ConfigError, HttpConfig, RateLimitConfig};
use crate::db::Database;
use crate::events::CommitNotifier;
use crate::http::{BodyMemory, Budgets, EndpointInfo, Pages, RejectionLog, Routes, check_document};
use crate::ids::Ids;
use crate::jobs::{JobsConfig, Throttle, WorkNotifier};
use crate::mail::{self, Mailer};
use crate::module::{Module, in_order};
use crate::rate_limit::RateLimits;
use crate::registry::{Provided, Registry, Startup};
use crate::time::{Clock, SystemClock};

/// Version of the interface (section 9 of the contract).
pub const INTERFACE_VERSION: &str = "0.6.5";
/// Prefix of every path.
pub const API_PREFIX: &str = "/api";

/// The inputs of a platform.
#[derive(Clone)]
pub struct PlatformOptions {
    /// The enabled modules.
    pub enabled: Vec<&'static Module>,
    /// The compiled modules; the features of those that are not enabled are known, but not held.
    pub compiled: Vec<&'static Module>,
    /// The configuration.
    pub config: Config,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Source of ids and tokens.
    pub ids: Ids,
    /// Receives every message in place of the configured transport, unless that is `none`.
    pub mailer: Option<Arc<dyn Mailer>>,
}

impl PlatformOptions {
    /// Returns options for these modules, with the system's clock and randomness.
    #[must_use]
    pub fn new(enabled: &[&'static Module], config: Config) -> Self {
        Self {
            enabled: enabled.to_vec(),
            compiled: enabled.to_vec(),
            config,
            clock: Arc::new(SystemClock),
            ids: Ids::default(),
            mailer: None,
        }
    }
}

/// The composed platform.
pub struct Platform {
    modules: Vec<&'static Module>,
    catalogue: Catalogue,
    compiled: Catalogue,
    registry: Registry,
    provided: Provided,
    config: Config,
    http: HttpConfig,
    app: AppConfig,
    audit: AuditConfig,
    rate_limits: RateLimits,
    budgets: Budgets,
    body_memory: BodyMemory,
    committed_reads: Committed,
    clock: Arc<dyn Clock>,
    ids: Ids,
    mailer: Option<Arc<dyn Mailer>>,
    jobs: JobsConfig,
    notifier: WorkNotifier,
    throttle: Throttle,
    commit_notifier: CommitNotifier,
    rejections: RejectionLog,
}

impl std::fmt::Debug for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Platform")
            .field(
                "modules",
                &self.modules.iter().map(|module| module.name).collect::<Vec<_>>(),
            )
            .finish_non_exhaustive()
    }
}

impl Platform {
    /// Composes the enabled modules.
    ///
    /// # Errors
    /// When a requirement is missing, a name is registered twice, or a module rejects its configuration.
    pub fn new(options: PlatformOptions) -> Result<Arc<Self>, ConfigError> {
        let modules = in_order(&options.enabled)?;
        let mut registry = Registry::default();
        for module in &modules {
            (module.register)(&mut registry);
        }
        registry.check()?;
        let config = options.config;
        config.check_sections(
            options
                .compiled
                .iter()
                .flat_map(|module| module.config_sections.iter().copied()),
        )?;
        let mut startup = Startup::new(&config);
        for module in &modules {
            (module.start)(&mut startup)?;
        }
        let provided = startup.finish();
        let configured = mail::of_config(&config, &options.ids)?;
        let mailer = configured.map(|configured| options.mailer.unwrap_or(configured));
        let http = config.section::<HttpConfig>("http")?.checked()?;
        let limits = config.section::<RateLimitConfig>("rate_limits")?;
        let platform = Self {
            budgets: Budgets::new(if limits.enabled { http.principal_rate } else { 0 }),
            body_memory: BodyMemory::new(http.body_limit),
            catalogue: catalogue(&modules),
            compiled: catalogue(&options.compiled),
            registry,
            provided,
            http,
            app: config.section("app")?,
            audit: config.section::<AuditConfig>("audit")?.checked()?,
            rate_limits: RateLimits::new(&limits, &options.compiled)?,
            jobs: config.section::<JobsConfig>("jobs")?.checked()?,
            committed_reads: Committed::default(),
            config,
            clock: options.clock,
            ids: options.ids,
            mailer,
            notifier: WorkNotifier::default(),
            throttle: Throttle::new(),
            commit_notifier: CommitNotifier::default(),
            rejections: RejectionLog::default(),
            modules,
        };
        Pages::of(&platform).check()?;
        check_document(&platform.modules)?;
        Ok(Arc::new(platform))
    }

    /// Returns the enabled modules, each after its requirements.
    #[must_use]
    pub fn modules(&self) -> &[&'static Module] {
        &self.modules
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

    /// Returns the registered commands, entities and interceptors.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
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

    /// Returns the limits in force.
    #[must_use]
    pub fn rate_limits(&self) -> &RateLimits {
        &self.rate_limits
    }

    pub(crate) fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    pub(crate) fn body_memory(&self) -> &BodyMemory {
        &self.body_memory
    }

    pub(crate) fn committed_reads(&self) -> &Committed {
        &self.committed_reads
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

    /// Returns the section `jobs`.
    #[must_use]
    pub fn jobs(&self) -> &JobsConfig {
        &self.jobs
    }

    pub(crate) fn notifier(&self) -> &WorkNotifier {
        &self.notifier
    }

    pub(crate) fn throttle(&self) -> &Throttle {
        &self.throttle
    }

    /// Returns the notifier of commits that may have emitted events.
    #[must_use]
    pub fn commit_notifier(&self) -> &CommitNotifier {
        &self.commit_notifier
    }

    /// Returns the mailer, if mail is configured.
    #[must_use]
    pub fn mailer(&self) -> Option<&dyn Mailer> {
        self.mailer.as_deref()
    }

    pub(crate) fn rejections(&self) -> &RejectionLog {
        &self.rejections
    }

    /// Whether cookies are set without `Secure`: the value of `http.insecure_cookies`, else true only in development without an https
    /// `app.public_url`.
    #[must_use]
    pub fn insecure_cookies(&self) -> bool {
        let by_default = self.config.is_development() && !self.app.is_https();
        self.http.insecure_cookies.unwrap_or(by_default)
    }

    /// Returns every endpoint of the enabled modules, in the order of declaration.
    #[must_use]
    pub fn endpoints(&self) -> Vec<EndpointInfo> {
        Routes::of(&self.modules).into_infos()
    }
}

fn catalogue(modules: &[&'static Module]) -> Catalogue {
    Catalogue::new(modules.iter().flat_map(|module| module.features.iter().copied()))
}

/// The platform with a database, on which requests run. Each worker thread has one with its own pool.
#[derive(Debug, Clone)]
pub struct Runtime {
    /// The composed platform.
    pub platform: Arc<Platform>,
    /// This thread's pool.
    pub database: Database,
}
