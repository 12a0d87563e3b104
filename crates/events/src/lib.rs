#![doc = include_str!("../README.md")]

mod config;
mod feed;
mod http;
mod live;
mod message;
mod slots;

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::registry::Startup;

use crate::config::EventsConfig;

/// The module.
pub static MODULE: Module = Module {
    name: "events",
    title: "Events",
    config_sections: &["events"],
    routes: http::routes,
    start,
    ..Module::EMPTY
};

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    let config = startup.config().section::<EventsConfig>("events")?.checked()?;
    startup.provide(Arc::new(slots::StreamSlots::new(config)));
    startup.provide(Arc::new(feed::Feeds::default()));
    Ok(())
}
