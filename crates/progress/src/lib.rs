#![doc = include_str!("../README.md")]

pub mod acl;
pub mod bulk;
pub mod commands;
mod error;
mod http;
pub mod model;
pub mod query;
mod retention;
mod schema;

use backoffice_core::Module;
use backoffice_core::registry::Registry;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

pub use error::Error;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

/// Progress records of long-running work.
pub static MODULE: Module = Module {
    name: "progress",
    title: "Progress",
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    register,
    background: retention::background,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry.entity::<model::ProgressJob>().command::<commands::CancelJob>();
}
