#![doc = include_str!("../README.md")]

pub mod acl;
pub mod commands;
pub mod model;

mod busy;
mod changed;
mod config;
mod day;
mod derivation;
mod documented;
mod error;
mod http;
mod interceptors;
mod navigation;
mod plan;
mod query;
mod reasons;
mod resource_check;
mod schema;
mod subject;
mod weekdays;
mod working_days;
mod zones;

use std::sync::Arc;

use backoffice_core::config::ConfigError;
use backoffice_core::db::Migrations;
use backoffice_core::registry::{Registry, Startup};
use backoffice_core::{ErrorShape, Module};
use diesel_migrations::embed_migrations;

pub use busy::{Busy, BusyInterval, BusyQuery, FindBusy};
pub use changed::{Changed, Observer};
pub use config::CalendarConfig;
pub use day::Day;
pub use derivation::lock_zones;
pub use query::calendars::working_days_of;
pub use resource_check::ResourceCheck;
pub use subject::{ResourceType, Subject, lock_subjects, lock_subjects_of};
pub use working_days::{OffDay, WorkingDays};
pub use zones::{Zone, default_zone, zone_of};

const MIGRATIONS: Migrations = embed_migrations!("migrations");

/// The module of calendars.
pub static MODULE: Module = Module {
    name: "calendar",
    title: "Calendar",
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    navigation: navigation::NAVIGATION,
    nav_titles: navigation::NAV_TITLES,
    config_sections: &["calendar"],
    errors: ErrorShape::Code,
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    register,
    start,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    commands::register(registry);
    registry
        .interceptor(interceptors::KEEP_ORGANIZATIONS_IN_USE)
        .deferred_work(changed::handle_zones)
        .deferred_work(changed::handle);
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    let config: CalendarConfig = startup.config().section("calendar")?;
    startup.provide(Arc::new(config.checked()?));
    Ok(())
}
