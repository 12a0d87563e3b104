#![doc = include_str!("../README.md")]

mod http;
mod live;
mod message;
mod seats;

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::registry::Startup;

/// The module.
pub static MODULE: Module = Module {
    name: "events",
    title: "Events",
    routes: http::routes,
    start,
    ..Module::EMPTY
};

#[expect(clippy::unnecessary_wraps, reason = "the descriptor's signature")]
fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    startup.provide(Arc::new(seats::Seats::default()));
    Ok(())
}
