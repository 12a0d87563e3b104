#![doc = include_str!("../README.md")]

pub mod acl;
pub mod bulk;
pub mod commands;
mod documented;
mod error;
mod examples;
mod http;
mod interceptors;
pub mod model;
mod navigation;
pub mod query;
mod records;
mod schema;
mod values;

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::db::Migrations;
use backoffice_core::registry::{Registry, Startup};
use diesel_migrations::embed_migrations;

const MIGRATIONS: Migrations = embed_migrations!("migrations");

/// The module.
pub static MODULE: Module = Module {
    name: "catalog",
    title: "Product Catalog",
    requires: &["progress"],
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
    startup.provide(Arc::new(query::products::BesideProducts::new()));
    Ok(())
}

fn register(registry: &mut Registry) {
    bulk::register(registry);
    registry
        .extend(examples::EXAMPLES)
        .entity::<model::Product>()
        .entity::<model::Variant>()
        .entity::<model::Price>()
        .entity::<model::Category>();
    registry
        .command::<commands::CreateProduct>()
        .command::<commands::UpdateProduct>()
        .command::<commands::DeleteProduct>()
        .command::<commands::CreateVariant>()
        .command::<commands::UpdateVariant>()
        .command::<commands::DeleteVariant>()
        .command::<commands::CreatePrice>()
        .command::<commands::UpdatePrice>()
        .command::<commands::DeletePrice>()
        .command::<commands::CreateCategory>()
        .command::<commands::UpdateCategory>()
        .command::<commands::DeleteCategory>();
    registry
        .interceptor(interceptors::KEEP_PARENT_CATEGORIES)
        .interceptor(interceptors::KEEP_ORGANIZATIONS_IN_USE);
    registry.extend(records::PRODUCTS);
}
