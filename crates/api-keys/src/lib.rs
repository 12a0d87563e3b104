#![doc = include_str!("../README.md")]

pub mod acl;
pub mod commands;
pub mod model;
pub mod query;

mod authenticator;
mod config;
mod error;
mod http;
mod interceptors;
mod navigation;
mod schema;
mod secret;
mod usage;
mod values;

use std::sync::Arc;

use backoffice_auth::Accounts;
use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::registry::{Registry, Startup};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

pub use config::KeysConfig;
pub use error::Error;
pub use secret::NewSecret;
pub use usage::Usage;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

/// The module of API keys.
pub static MODULE: Module = Module {
    name: "api-keys",
    title: "API keys",
    requires: &["auth"],
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    navigation: navigation::NAVIGATION,
    nav_titles: navigation::NAV_TITLES,
    config_sections: &["api_keys"],
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    register,
    start,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry
        .entity::<model::Key>()
        .command::<commands::CreateKey>()
        .command::<commands::DeleteKey>()
        .interceptor(interceptors::KEEP_ROLES_OF_KEYS)
        .interceptor(interceptors::KEEP_ORGANIZATIONS_WITH_KEYS);
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    let config: KeysConfig = startup.config().section("api_keys")?;
    let accounts = startup
        .get::<Accounts>()
        .ok_or_else(|| ConfigError::new("modules", "`api-keys` needs `auth`"))?;
    let usage = Arc::new(Usage::new());
    startup.authenticator(Arc::new(authenticator::Keys::new(accounts, Arc::clone(&usage))));
    startup.provide(usage);
    startup.provide(Arc::new(config));
    Ok(())
}
