#![doc = include_str!("../README.md")]

pub mod acl;
pub mod commands;
pub mod config;
mod error;
mod http;
pub mod model;
mod navigation;
pub mod query;
mod records;
mod schema;
mod tree;
mod user_counter;
mod values;

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::db::Migrations;
use backoffice_core::registry::{Registry, Startup};
use backoffice_core::slug::SlugForm;
use diesel_migrations::embed_migrations;

pub use error::Error;
pub use user_counter::{UserCounter, UserCounterHandle};

/// Slugs of organizations.
const SLUG: SlugForm = SlugForm {
    longest: 100,
    fallback: "organization",
};

const MIGRATIONS: Migrations = embed_migrations!("migrations");

/// The module.
pub static MODULE: Module = Module {
    name: "directory",
    title: "Directory",
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    navigation: navigation::NAVIGATION,
    nav_titles: navigation::NAV_TITLES,
    config_sections: &["directory"],
    rate_limits: http::RATE_LIMITS,
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    register,
    start,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry.entity::<model::Tenant>().entity::<model::Organization>();
    registry.extend(records::ORGANIZATIONS);
    registry
        .command::<commands::CreateTenant>()
        .command::<commands::UpdateTenant>()
        .command::<commands::DeleteTenant>()
        .command::<commands::CreateOrganization>()
        .command::<commands::UpdateOrganization>()
        .command::<commands::DeleteOrganization>();
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    let settings = config::Settings::read(startup.config())?;
    startup.provide(Arc::new(settings));
    startup
        .provide(Arc::new(query::KnownFacts::new()))
        .organizations(Arc::new(tree::Tree));
    Ok(())
}
