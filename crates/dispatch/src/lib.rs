#![doc = include_str!("../README.md")]

pub mod acl;
pub mod commands;
pub mod model;
pub mod query;

mod after_change;
mod bulk;
mod busy;
mod check;
mod config;
mod conflicts;
mod documented;
mod events;
mod examples;
mod foreign;
mod http;
mod interceptors;
mod intervals;
mod navigation;
mod notify;
mod observer;
mod records;
mod references;
mod reject_conflicts;
mod schema;
mod strict_resources;
mod values;

use std::sync::Arc;

use backoffice_core::config::ConfigError;
use backoffice_core::db::Migrations;
use backoffice_core::registry::{Registry, Startup};
use backoffice_core::{ErrorShape, Module};
use backoffice_progress::bulk as progress;
use diesel_migrations::embed_migrations;

pub use bulk::BulkUpdateAssignments;
pub use commands::assignment::{AlertsOf, FindAlerts};
pub use config::DispatchConfig;

const MIGRATIONS: Migrations = embed_migrations!("migrations");

/// The module.
pub static MODULE: Module = Module {
    name: "dispatch",
    title: "Dispatch",
    requires: &["auth", "calendar", "notifications", "progress"],
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    navigation: navigation::NAVIGATION,
    nav_titles: navigation::NAV_TITLES,
    config_sections: &["dispatch"],
    errors: ErrorShape::Code,
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    register,
    start,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    commands::register(registry);
    progress::register::<BulkUpdateAssignments>(registry);
    registry
        .extend(examples::EXAMPLES)
        .extend(observer::DERIVE_ASSIGNMENTS)
        .extend(observer::DATED_ASSIGNMENTS)
        .extend(busy::ASSIGNMENTS)
        .extend(strict_resources::EXISTING)
        .interceptor(interceptors::KEEP_ORGANIZATIONS_IN_USE);
    notify::register(registry);
    records::register(registry);
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    let config: DispatchConfig = startup.config().section("dispatch")?;
    startup.provide(Arc::new(config.checked()?));
    Ok(())
}
