#![doc = include_str!("../README.md")]

pub mod acl;
pub mod commands;
mod http;
mod interceptors;
pub mod model;
pub mod query;
mod schema;

use backoffice_core::Module;
use backoffice_core::db::Migrations;
use backoffice_core::registry::Registry;
use diesel_migrations::embed_migrations;

const MIGRATIONS: Migrations = embed_migrations!("migrations");

/// The module.
pub static MODULE: Module = Module {
    name: "business-rules",
    title: "Business rules",
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    register,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry
        .entity::<model::Rule>()
        .command::<commands::CreateRule>()
        .command::<commands::UpdateRule>()
        .command::<commands::DeleteRule>()
        .interceptor(interceptors::KEEP_ORGANIZATIONS_WITH_RULES);
}
