#![doc = include_str!("../README.md")]

pub mod acl;
pub mod commands;
pub mod model;

mod config;
mod documented;
mod foreign;
mod http;
mod navigation;
mod query;
mod schema;
mod subscribers;

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::registry::{Registry, Startup};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

pub use config::DevicesConfig;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

/// The module of devices.
pub static MODULE: Module = Module {
    name: "devices",
    title: "Devices",
    requires: &["auth"],
    rate_limits: http::RATE_LIMITS,
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    navigation: navigation::NAVIGATION,
    nav_titles: navigation::NAV_TITLES,
    config_sections: &["devices"],
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    register,
    start,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry.extend(model::PUSH_TOKEN);
    registry
        .entity::<model::Device>()
        .command::<commands::RegisterDevice>()
        .command::<commands::UpdateDevice>()
        .command::<commands::DeactivateDevice>()
        .subscribe(subscribers::FORGET_TOKENS);
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    startup.vault()?;
    let config: DevicesConfig = startup.config().section("devices")?;
    startup.provide(Arc::new(config.checked()?));
    Ok(())
}
