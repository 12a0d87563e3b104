//! Composes the platform from its modules and their configuration.

use std::sync::Arc;

use crate::access_log;
use crate::acl::Catalogue;
use crate::collections::{CountedRows, Marks, SharedVersions, Totals};
use crate::command::WriteTurns;
use crate::config::{AuditConfig, Config, ConfigError, HttpConfig, RateLimitConfig};
use crate::events::EventServices;
use crate::http::internal::InternalRequests;
use crate::http::{CommonParameters, HttpServices, Pages};
use crate::ids::Ids;
use crate::jobs::{JobServices, JobsConfig};
use crate::list;
use crate::mail::{self, Mailer};
use crate::module::{EnabledModules, Module, in_order, monthly_tables};
use crate::months::MonthlyTables;
use crate::platform::Platform;
use crate::rate_limit::RateLimits;
use crate::registry::{Registry, Startup};
use crate::time::{Clock, SystemClock};
use crate::vault::{self, SealedColumn, SealedColumns, Vault};

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

impl std::fmt::Debug for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Platform")
            .field(
                "modules",
                &self.modules().iter().map(|module| module.name).collect::<Vec<_>>(),
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
        Self::compose(options, false).map(Arc::new)
    }

    /// Checks the configuration as [`new`](Self::new) does, and changes nothing outside of the process.
    ///
    /// # Errors
    /// As [`new`](Self::new), except for what only a start finds, such as a folder that can't be written.
    pub fn check(options: PlatformOptions) -> Result<(), ConfigError> {
        Self::compose(options, true).map(drop)
    }

    fn compose(options: PlatformOptions, is_check: bool) -> Result<Self, ConfigError> {
        let modules = in_order(&options.enabled)?;
        let mut registry = registered(&modules);
        let config = options.config;
        config.check_sections(
            options
                .compiled
                .iter()
                .flat_map(|module| module.config_sections.iter().copied()),
        )?;
        let vault = Arc::new(Vault::of_config(&config)?);
        let sealed = SealedColumns::new(sealed_columns(&registry, &modules, &options.compiled));
        if sealed.are_resealed(&vault) {
            registry
                .job::<vault::Reseal>()
                .schedule::<vault::Reseal>(vault::SCHEDULE, vault::EVERY);
        }
        registry.check()?;
        let mut startup = Startup::new(&config, &vault, &registry.extensions, is_check);
        for module in &modules {
            (module.start)(&mut startup)?;
        }
        let mut provided = startup.finish();
        provided.insert(Arc::new(vault));
        provided.insert(Arc::new(sealed));
        let configured = mail::of_config(&config, &options.ids)?;
        let mailer = configured.map(|configured| options.mailer.unwrap_or(configured));
        let http = config.section::<HttpConfig>("http")?.checked()?;
        let limits = config.section::<RateLimitConfig>("rate_limits")?;
        let app = config.section("app")?;
        let audit = config.section::<AuditConfig>("audit")?.checked()?;
        let declared = options.compiled.iter().flat_map(|module| module.rate_limits);
        provided.insert(Arc::new(RateLimits::new(&limits, declared)?));
        let jobs = config.section::<JobsConfig>("jobs")?.checked()?;
        provided.insert(Arc::new(Totals::new()));
        provided.insert(Arc::new(Marks::new()));
        provided.insert(Arc::new(CountedRows::new()));
        provided.insert(Arc::new(SharedVersions::default()));
        provided.insert(Arc::new(WriteTurns::default()));
        provided.insert(Arc::new(HttpServices::new(&http, &limits)));
        provided.insert(Arc::new(CommonParameters(list::report_common)));
        provided.insert(Arc::new(InternalRequests::default()));
        provided.insert(Arc::new(JobServices::new(jobs, registry.jobs)));
        provided.insert(Arc::new(EventServices::new(registry.subscribers)));
        provided.insert(Arc::new(registry.commands));
        provided.insert(Arc::new(access_log::Committed::default()));
        let enabled = catalogue(&modules);
        provided.insert(Arc::new(MonthlyTables(monthly_tables(&modules, &config)?.into())));
        provided.insert(Arc::new(EnabledModules(modules)));
        let platform = Self {
            catalogue: enabled,
            compiled: catalogue(&options.compiled),
            provided,
            extensions: registry.extensions,
            http,
            app,
            audit,
            config,
            clock: options.clock,
            ids: options.ids,
            mailer,
        };
        Pages::of(&platform).check()?;
        Ok(platform)
    }
}

fn registered(modules: &[&'static Module]) -> Registry {
    let mut registry = Registry::default();
    for module in modules {
        (module.register)(&mut registry);
    }
    registry
}

/// Returns the columns with sealed values of the enabled modules, which `registry` has, and of the compiled modules that are not enabled, with the names of
/// these modules.
fn sealed_columns(
    registry: &Registry,
    enabled: &[&'static Module],
    compiled: &[&'static Module],
) -> Vec<(SealedColumn, Option<&'static str>)> {
    let of = |registry: &Registry, disabled_module: Option<&'static str>| -> Vec<_> {
        let columns = registry.extensions.of_type::<SealedColumn>();
        columns.map(|column| (*column, disabled_module)).collect()
    };
    let mut found = of(registry, None);
    let is_enabled = |module: &Module| enabled.iter().any(|one| one.name == module.name);
    for module in compiled.iter().filter(|module| !is_enabled(module)) {
        let mut own = Registry::default();
        (module.register)(&mut own);
        found.extend(of(&own, Some(module.name)));
    }
    found
}

fn catalogue(modules: &[&'static Module]) -> Catalogue {
    Catalogue::new(modules.iter().flat_map(|module| module.features.iter().copied()))
}

#[cfg(test)]
mod tests {
    use actix_web::HttpResponse;

    use super::*;
    use crate::Visitor;
    use crate::http::{Access, Done, Json};
    use crate::module::document;

    fn declared_at(module: &'static Module) -> Result<Vec<String>, ConfigError> {
        let platform = Platform::new(PlatformOptions::new(&[module], Config::default()))?;
        let infos = Pages::of(&platform).into_infos();
        Ok(infos.into_iter().map(|page| page.path).collect())
    }

    fn at(pages: &mut Pages<'_>, path: &str) {
        pages.get(path, || async { HttpResponse::Ok().finish() });
    }

    #[test]
    fn a_page_stands_outside_of_the_api() {
        static OUTSIDE: Module = Module {
            pages: |pages| at(pages, "/apiary"),
            ..Module::EMPTY
        };
        static INSIDE: Module = Module {
            pages: |pages| at(pages, "/api/page"),
            ..Module::EMPTY
        };
        static NOWHERE: Module = Module {
            pages: |pages| at(pages, "page"),
            ..Module::EMPTY
        };

        assert_eq!(declared_at(&OUTSIDE).expect("a platform"), ["/apiary"]);
        for module in [&INSIDE, &NOWHERE] {
            let error = declared_at(module).expect_err("not a page's path");
            assert!(error.to_string().contains("must begin with /"), "{error}");
        }
    }

    #[test]
    fn two_handlers_of_one_name_spoil_the_document() {
        async fn done(_visitor: Visitor) -> crate::error::Result<Json<Done>> {
            Ok(Json(Done::OK))
        }
        static TWICE: Module = Module {
            name: "twice",
            routes: |routes| {
                routes.get("/one", Access::Public, done);
                routes.get("/other", Access::Public, done);
            },
            ..Module::EMPTY
        };

        let error = document(&[&TWICE]).expect_err("two handlers");

        assert!(
            error.to_string().contains("two endpoints have a handler `done`"),
            "{error}"
        );
    }

    #[test]
    fn a_path_has_one_page() {
        static TWICE: Module = Module {
            name: "twice",
            pages: |pages| {
                at(pages, "/page");
                at(pages, "/page");
            },
            ..Module::EMPTY
        };

        let error = declared_at(&TWICE).expect_err("two pages");

        assert!(error.to_string().contains("/page of module twice"), "{error}");
    }
}
