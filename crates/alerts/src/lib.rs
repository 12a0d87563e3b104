#![doc = include_str!("../README.md")]

pub mod acl;
pub mod commands;
pub mod engine;
pub mod kinds;
pub mod model;

mod admin;
mod config;
mod documented;
mod error;
mod events;
mod http;
mod interceptors;
mod jobs;
mod link;
mod navigation;
mod notify;
mod query;
mod recompute;
mod schema;

use std::sync::Arc;

use backoffice_core::config::ConfigError;
use backoffice_core::db::Migrations;
use backoffice_core::registry::{Registry, Startup};
use backoffice_core::{ErrorShape, Module};
use diesel_migrations::embed_migrations;

pub use admin::{RecomputedAlerts, recompute_all};
pub use config::AlertsConfig;

const MIGRATIONS: Migrations = embed_migrations!("migrations");

/// The module of alerts.
pub static MODULE: Module = Module {
    name: "alerts",
    title: "Alerts",
    requires: &["auth", "calendar", "dispatch", "notifications"],
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    navigation: navigation::NAVIGATION,
    nav_titles: navigation::NAV_TITLES,
    config_sections: &["alerts"],
    errors: ErrorShape::Code,
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    register,
    start,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry
        .extend(recompute::RECOMPUTE)
        .extend(recompute::RECOMPUTE_EXTENDED)
        .extend(recompute::ALERTS_OF)
        .extend(notify::OPENED)
        .extend(notify::ESCALATED)
        .entity::<model::Alert>()
        .command::<commands::AcknowledgeAlert>()
        .command::<commands::UnacknowledgeAlert>()
        .interceptor(interceptors::KEEP_ORGANIZATIONS_WITH_ALERTS)
        .subscribe(notify::NOTIFY);
    jobs::register(registry);
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    let config: AlertsConfig = startup.config().section("alerts")?;
    let config = config.checked()?;
    startup.run_every(jobs::SWEEP_SCHEDULE, config.sweep);
    startup.provide(Arc::new(config));
    Ok(())
}
