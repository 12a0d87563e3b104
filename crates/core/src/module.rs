//! The descriptor of a module for the host: inert data in a `static`.

use futures_util::future::BoxFuture;
use serde_json::Value;
use uuid::Uuid;

use crate::acl::{DefaultGrant, Feature};
use crate::command::Tx;
use crate::config::{Config, ConfigError};
use crate::db::Migrations;
use crate::error::{ErrorShape, Result as CoreResult};
use crate::http::{self, DeclaringModule, EndpointInfo, Pages, Routes};
use crate::months::{self, ConfiguredTable, MonthlyTable};
use crate::platform::{Platform, Runtime};
use crate::rate_limit::RateLimit;
use crate::registry::{Registry, Startup};

/// Creates a module's initial records in a new tenant, in the transaction that creates the tenant.
pub type SeedHook = for<'a> fn(&'a mut Tx<'_>, Uuid) -> BoxFuture<'a, CoreResult<()>>;

/// The place of an entry in the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NavContext {
    /// In a group of the main menu; the id names the group (`customers`), the title is shown to users.
    Main {
        /// Id of the group.
        group: &'static str,
        /// Title of the group.
        title: &'static str,
    },
    /// In a section of the settings.
    Settings {
        /// Id of the section.
        section: &'static str,
        /// Title of the section.
        title: &'static str,
    },
    /// In a section of the caller's own profile.
    Profile {
        /// Id of the section.
        section: &'static str,
        /// Title of the section.
        title: &'static str,
    },
}

/// An entry that a module adds to the navigation of the administration (`GET /auth/admin/nav`).
#[derive(Debug, Clone, Copy)]
pub struct NavEntry {
    /// The id, unique among the enabled modules.
    pub id: &'static str,
    /// Path below `app.console_path`, without a leading slash.
    pub href: &'static str,
    /// Title shown to users, in English; other locales are found by the id.
    pub title: &'static str,
    /// Shown to users who hold all of these features.
    pub features: &'static [Feature],
    /// The place in the navigation.
    pub context: NavContext,
    /// Position among its neighbours; equal ones are sorted by title.
    pub order: i32,
}

/// A role that every tenant has from the start, besides those of the platform (`admin`, `employee`). Its grants are the default grants of this name of all
/// enabled modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeededRole {
    /// The name: 1 to 100 lower-case characters.
    pub name: &'static str,
}

/// A text in other languages than English: locale and text.
pub type Translations = &'static [(&'static str, &'static str)];

/// The titles of a module's navigation in other languages, by the ids of entries and groups. Missing titles are shown in English.
#[derive(Debug, Clone, Copy)]
pub struct NavTitles {
    /// Titles of entries.
    pub entries: &'static [(&'static str, Translations)],
    /// Titles of groups and sections.
    pub groups: &'static [(&'static str, Translations)],
}

/// Descriptor of a module.
pub struct Module {
    /// Name of its crate without the prefix: `audit-logs`.
    pub name: &'static str,
    /// Title in the API document and the feature catalogue.
    pub title: &'static str,
    /// Names of the modules that must be enabled with it; equal to the dependencies of its manifest.
    pub requires: &'static [&'static str],
    /// The declared rights.
    pub features: &'static [Feature],
    /// Further roles of every tenant.
    pub roles: &'static [SeededRole],
    /// Default grants of the seeded roles.
    pub default_grants: &'static [DefaultGrant],
    /// Entries in the navigation.
    pub navigation: &'static [NavEntry],
    /// The titles of its navigation in other languages.
    pub nav_titles: NavTitles,
    /// Sections of the configuration that the module owns.
    pub config_sections: &'static [&'static str],
    /// Whether the module seals secrets of tenants with the [vault](crate::vault), and so does not start without `vault.keys`.
    pub seals_secrets: bool,
    /// All limits that the module counts, by address or otherwise: the names allowed in `rate_limits.limits`.
    pub rate_limits: &'static [RateLimit],
    /// Shape of the error bodies.
    pub errors: ErrorShape,
    /// The migrations.
    pub migrations: Option<Migrations>,
    /// The tables that its migrations partition by month. Maintenance creates their coming months and drops the old ones.
    pub monthly_tables: &'static [MonthlyTable],
    /// Declares the endpoints.
    pub routes: fn(&mut Routes),
    /// Declares the pages outside of the API.
    pub pages: fn(&mut Pages<'_>),
    /// Registers commands, entities and interceptors. Of a compiled module that is not enabled only the columns with sealed values are used.
    pub register: fn(&mut Registry),
    /// Reads the configuration and provides values to other modules at run time. Changes nothing outside of the process if
    /// [`is_check`](Startup::is_check).
    pub start: fn(&mut Startup<'_>) -> Result<(), ConfigError>,
    /// Creates the initial records of a new tenant; called in the order of the requirements.
    pub seed: SeedHook,
    /// Starts background work (watching for revocations); it runs until the process ends and recovers from errors by itself.
    pub background: fn(Runtime) -> Option<BoxFuture<'static, ()>>,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module")
            .field("name", &self.name)
            .field("requires", &self.requires)
            .finish_non_exhaustive()
    }
}

impl Module {
    /// A module without any declarations, to fill in with struct update syntax.
    pub const EMPTY: Self = Self {
        name: "",
        title: "",
        requires: &[],
        features: &[],
        roles: &[],
        default_grants: &[],
        navigation: &[],
        nav_titles: NavTitles {
            entries: &[],
            groups: &[],
        },
        config_sections: &[],
        seals_secrets: false,
        rate_limits: &[],
        errors: ErrorShape::Error,
        migrations: None,
        monthly_tables: &[],
        routes: |_| {},
        pages: |_| {},
        register: |_| {},
        start: |_| Ok(()),
        seed: |_, _| Box::pin(async { Ok(()) }),
        background: |_| None,
    };
}

/// The enabled modules, each after its requirements.
pub(crate) struct EnabledModules(pub(crate) Vec<&'static Module>);

impl Platform {
    /// Returns the enabled modules, each after its requirements.
    #[must_use]
    pub fn modules(&self) -> &[&'static Module] {
        &self.services::<EnabledModules>().0
    }

    /// Returns every endpoint of the enabled modules, in the order of declaration.
    #[must_use]
    pub fn endpoints(&self) -> Vec<EndpointInfo> {
        Routes::of(self.modules()).into_infos()
    }
}

impl Routes {
    /// Collects the endpoints of these modules.
    #[must_use]
    pub fn of(modules: &[&'static Module]) -> Self {
        let mut routes = Self::default();
        for module in modules {
            routes.begin(DeclaringModule {
                name: module.name,
                title: module.title,
                errors: module.errors,
            });
            (module.routes)(&mut routes);
        }
        routes
    }
}

impl<'a> Pages<'a> {
    /// Collects the pages of this platform's modules.
    #[must_use]
    pub fn of(platform: &'a Platform) -> Self {
        let mut pages = Self::new(platform);
        for module in platform.modules() {
            pages.begin(module.name);
            (module.pages)(&mut pages);
        }
        pages
    }
}

/// Returns the API document of these modules. A platform starts without it: only a change of the code can spoil the document, and a test of the
/// modules that are compiled together finds that.
///
/// # Errors
/// When a schema name belongs to two types, two handlers have one name, a reference leads nowhere, or a body has no content type.
pub fn document(modules: &[&'static Module]) -> Result<Value, ConfigError> {
    http::document(&Routes::of(modules))
}

/// Returns the migrations of these modules, in their order.
#[must_use]
pub fn migrations(modules: &[&'static Module]) -> Vec<&'static Migrations> {
    modules.iter().filter_map(|module| module.migrations.as_ref()).collect()
}

/// Returns the tables of core and of these modules that are partitioned by month, with the configured retention.
///
/// # Errors
/// When a retention in the configuration is invalid.
pub fn monthly_tables(modules: &[&'static Module], config: &Config) -> Result<Vec<ConfiguredTable>, ConfigError> {
    months::configured(config, modules.iter().flat_map(|module| module.monthly_tables))
}

/// Sorts modules by their requirements, and rejects a list that lacks one or contains a module twice.
///
/// # Errors
/// When a module is in the list twice, a required module is missing, or the requirements form a cycle.
pub fn in_order(modules: &[&'static Module]) -> Result<Vec<&'static Module>, ConfigError> {
    for (at, module) in modules.iter().enumerate() {
        if modules[..at].iter().any(|earlier| earlier.name == module.name) {
            let message = format!("module `{}` is in the list twice", module.name);
            return Err(ConfigError::new("modules", message));
        }
    }
    let mut ordered: Vec<&'static Module> = Vec::with_capacity(modules.len());
    let mut waiting: Vec<&'static Module> = modules.to_vec();
    while !waiting.is_empty() {
        let ready = waiting.iter().position(|module| {
            module
                .requires
                .iter()
                .all(|required| ordered.iter().any(|done| done.name == *required))
        });
        let Some(index) = ready else {
            return Err(ConfigError::new("modules", unmet(modules, &waiting)));
        };
        ordered.push(waiting.remove(index));
    }
    Ok(ordered)
}

/// Describes why none of the waiting modules can come next.
fn unmet(modules: &[&'static Module], waiting: &[&'static Module]) -> String {
    let missing = |module: &Module| -> Vec<String> {
        let required = module.requires.iter();
        let missing = required.filter(|required| !modules.iter().any(|other| other.name == **required));
        missing.map(|name| format!("`{name}`")).collect()
    };
    let lacking = waiting.iter().map(|module| (module.name, missing(module)));
    match lacking.into_iter().find(|(_, missing)| !missing.is_empty()) {
        Some((name, missing)) => {
            let verb = if missing.len() == 1 { "is" } else { "are" };
            format!(
                "module `{name}` requires {}, which {verb} not enabled",
                missing.join(" and ")
            )
        }
        None => format!("module `{}` is part of a cycle of requirements", waiting[0].name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static A: Module = Module {
        name: "a",
        ..Module::EMPTY
    };
    static B: Module = Module {
        name: "b",
        requires: &["a"],
        ..Module::EMPTY
    };

    #[test]
    fn modules_come_after_what_they_require() {
        let order = in_order(&[&B, &A]).expect("complete");

        assert_eq!(order.iter().map(|module| module.name).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_missing_requirement_is_named() {
        let error = in_order(&[&B]).expect_err("a is missing");

        assert!(error.to_string().contains("`a`"), "{error}");
    }

    #[test]
    fn a_module_that_is_in_the_list_twice_is_named() {
        let error = in_order(&[&B, &A, &B]).expect_err("b is there twice");

        assert!(error.to_string().contains("module `b` is in the list twice"), "{error}");
    }
}
