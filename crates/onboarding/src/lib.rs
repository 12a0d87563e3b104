#![doc = include_str!("../README.md")]

pub mod commands;
pub mod model;

mod administration;
mod config;
mod documented;
mod form;
mod http;
mod jobs;
mod letters;
mod mail_limits;
mod pages;
mod query;
mod schema;
mod sign_up;
mod texts;
mod token;

use std::sync::Arc;

use backoffice_core::config::ConfigError;
use backoffice_core::registry::{Registry, Startup};
use backoffice_core::{ErrorShape, Module};
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

pub use administration::{RequestSummary, expire_request, list_requests};
pub use config::OnboardingConfig;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

/// The module of sign-ups.
pub static MODULE: Module = Module {
    name: "onboarding",
    title: "Onboarding",
    requires: &["auth", "directory"],
    rate_limits: http::RATE_LIMITS,
    config_sections: &["onboarding"],
    seals_secrets: true,
    migrations: Some(MIGRATIONS),
    errors: ErrorShape::OkFalse,
    routes: http::routes,
    pages: pages::pages,
    register,
    start,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry.extend(model::EMAIL);
    registry
        .entity::<model::Request>()
        .command::<commands::SubmitRequest>()
        .command::<commands::VerifyRequest>()
        .command::<commands::CreateWorkspace>()
        .job::<jobs::SendLink>()
        .job::<jobs::Provision>()
        .job::<jobs::SendReady>()
        .job::<jobs::SendExisting>()
        .job::<jobs::EraseEnded>()
        .schedule::<jobs::EraseEnded>(jobs::ERASE_SCHEDULE, jobs::ERASE_EVERY);
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    startup.vault()?;
    let config: OnboardingConfig = startup.config().section("onboarding")?;
    startup.provide(Arc::new(sign_up::SignUp::new(config.checked()?)));
    Ok(())
}
