#![doc = include_str!("../README.md")]

pub mod commands;
pub mod model;

mod channel;
mod config;
mod dates;
mod groups;
mod http;
mod jobs;
mod navigation;
mod query;
mod schema;
mod send;
mod subscribers;
mod texts;
mod types;

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::registry::{Registry, Startup};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

pub use channel::{Channel, Delivered};
pub use config::NotificationsConfig;
pub use groups::{dismiss_groups, read_groups};
pub use send::{MOST_IN_A_STATEMENT, New, Severity, send, send_last};
pub use types::{Channels, NotificationType, TypeTexts, ValueTexts, Wording, wording};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

/// The module of notifications.
pub static MODULE: Module = Module {
    name: "notifications",
    title: "Notifications",
    requires: &["auth"],
    navigation: navigation::NAVIGATION,
    nav_titles: navigation::NAV_TITLES,
    config_sections: &["notifications"],
    rate_limits: jobs::MAIL_LIMITS,
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    register,
    start,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry
        .entity::<model::Preferences>()
        .command::<commands::UpdatePreferences>()
        .job::<jobs::SendMails>()
        .job::<jobs::EraseExpired>()
        .schedule::<jobs::EraseExpired>(jobs::ERASE_SCHEDULE, jobs::ERASE_EVERY)
        .subscribe(subscribers::FORGET_USER);
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    let config: NotificationsConfig = startup.config().section("notifications")?;
    startup.provide(Arc::new(config.checked()?));
    Ok(())
}
