#![doc = include_str!("../README.md")]

mod config;
mod docs;
mod http;

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::registry::Startup;

/// The module.
pub static MODULE: Module = Module {
    name: "api-docs",
    title: "API documentation",
    config_sections: &["version"],
    rate_limits: &[http::VERSION_LIMIT],
    routes: http::routes,
    start,
    ..Module::EMPTY
};

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    let config: config::VersionConfig = startup.config().section("version")?;
    startup.provide(Arc::new(docs::Docs::new(config.version()?)));
    Ok(())
}
