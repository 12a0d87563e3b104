#![doc = include_str!("../README.md")]

pub mod acl;
pub mod commands;
pub mod model;

mod config;
mod documented;
mod foreign;
mod http;
mod navigation;
mod push;
mod query;
mod schema;
mod subscribers;

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::config::{AppConfig, ConfigError};
use backoffice_core::registry::{Registry, Startup};
use backoffice_egress::Egress;
use backoffice_notifications::Channel;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

pub use config::DevicesConfig;
use push::Providers;
pub use push::{ApnsConfig, FcmConfig, PushConfig, PushDefaults, WebPushConfig};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

/// The module of devices.
pub static MODULE: Module = Module {
    name: "devices",
    title: "Devices",
    requires: &["auth", "notifications"],
    rate_limits: http::RATE_LIMITS,
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    navigation: navigation::NAVIGATION,
    nav_titles: navigation::NAV_TITLES,
    config_sections: &["devices", "push"],
    seals_secrets: true,
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    register,
    start,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry
        .extend(model::PUSH_TOKEN)
        .extend::<&'static dyn Channel>(push::CHANNEL)
        .entity::<model::Device>()
        .deferred_work::<model::RestoredDevice>(|tx, restored| Box::pin(model::check_restored(tx, restored)))
        .command::<commands::RegisterDevice>()
        .command::<commands::UpdateDevice>()
        .command::<commands::DeactivateDevice>()
        .job::<push::SendPushes>()
        .job::<push::EraseDeliveries>()
        .job::<push::EraseOwners>()
        .schedule::<push::EraseDeliveries>(push::DELIVERIES_SCHEDULE, push::DELIVERIES_EVERY)
        .schedule::<push::EraseOwners>(push::OWNERS_SCHEDULE, push::OWNERS_EVERY)
        .subscribe(subscribers::FORGET_TOKENS);
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    startup.vault()?;
    let config: DevicesConfig = startup.config().section("devices")?;
    let push: PushConfig = startup.config().section("push")?;
    let app: AppConfig = startup.config().section("app")?;
    let egress = Egress::of_config(startup.config())?;
    let providers = Providers::new(&push, egress, app.public_url.as_deref())?;
    startup
        .provide(Arc::new(config.checked()?))
        .provide(Arc::new(providers));
    Ok(())
}
