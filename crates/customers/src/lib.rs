#![doc = include_str!("../README.md")]

pub mod acl;
pub mod bulk;
pub mod commands;
pub mod model;
pub mod query;
mod records;

mod destination;
mod documented;
mod error;
mod examples;
mod foreign;
mod http;
mod interceptors;
mod navigation;
mod owners;
mod schema;
mod values;

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::db::Migrations;
use backoffice_core::registry::{Registry, Startup};
use diesel_migrations::embed_migrations;

pub use destination::Destination;
pub use error::Error;
pub use owners::Owner;

const MIGRATIONS: Migrations = embed_migrations!("migrations");

/// The module.
pub static MODULE: Module = Module {
    name: "customers",
    title: "Customer Relationship Management",
    requires: &["auth", "progress"],
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    navigation: navigation::NAVIGATION,
    nav_titles: navigation::NAV_TITLES,
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    register,
    start,
    ..Module::EMPTY
};

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    startup.provide(Arc::new(query::deals::BesideDeals::new()));
    Ok(())
}

fn register(registry: &mut Registry) {
    commands::register(registry);
    bulk::register(registry);
    registry
        .extend(examples::EXAMPLES)
        .interceptor(interceptors::KEEP_ORGANIZATIONS_WITH_CUSTOMERS);
    records::register(registry);
}
