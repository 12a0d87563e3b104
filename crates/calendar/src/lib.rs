#![doc = include_str!("../README.md")]

pub mod acl;
pub mod commands;
pub mod model;

mod busy;
mod changed;
mod config;
mod dated;
mod day;
mod derivation;
mod documented;
mod error;
mod extension;
mod foreign;
mod http;
mod ical;
mod interceptors;
mod jobs;
mod navigation;
mod plan;
mod query;
mod reasons;
mod records;
mod recurrence;
mod resource_check;
mod schema;
mod subject;
mod subscribers;
mod token;
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
pub use dated::DatedTable;
pub use day::Day;
pub use derivation::lock_zones;
pub use extension::{ExtendedSubject, ExtensionObserver};
pub use jobs::{ExtendAllSeries, derive_if_newer};
pub use query::calendars::working_days_of;
pub use resource_check::ResourceCheck;
pub use subject::{ResourceType, Subject, lock_subjects, lock_subjects_of};
pub use working_days::{OffDay, WorkingDays};
pub use zones::{Zone, database_version, default_zone, zone_of, zones_of};

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
    rate_limits: http::RATE_LIMITS,
    errors: ErrorShape::Code,
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    register,
    start,
    background: jobs::background,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    commands::register(registry);
    registry
        .extend(zones::ORGANIZATION_ZONE)
        .extend(dated::WINDOWS)
        .extend(records::WINDOWS)
        .interceptor(interceptors::KEEP_ORGANIZATIONS_IN_USE)
        .deferred_work(changed::handle_zones)
        .deferred_work(changed::handle)
        .subscribe(subscribers::FORGET_USER)
        .job::<ExtendAllSeries>()
        .job::<jobs::DeriveAllInstants>()
        .job::<jobs::ForgetFeeds>()
        .schedule::<ExtendAllSeries>(jobs::EXTEND_SCHEDULE, jobs::EXTEND_EVERY);
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    let config: CalendarConfig = startup.config().section("calendar")?;
    startup.provide(Arc::new(config.checked()?));
    Ok(())
}
