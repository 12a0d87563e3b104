#![doc = include_str!("../README.md")]

pub mod acl;
pub mod commands;
pub mod model;
pub mod query;

mod action;
mod administration;
mod compiled;
mod condition;
mod config;
mod documented;
mod engine;
mod events;
mod guard;
mod header_values;
mod http;
mod interceptors;
mod jobs;
mod navigation;
mod platform_calls;
mod reasons;
mod schema;
mod texts;
mod webhooks;

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::db::Migrations;
use backoffice_core::registry::{Registry, Startup};
use backoffice_egress::Egress;
use diesel_migrations::embed_migrations;

pub use administration::{WebhookSummary, list_webhooks, retry_webhook};
pub use config::RulesConfig;

const MIGRATIONS: Migrations = embed_migrations!("migrations");

/// The module of business rules.
pub static MODULE: Module = Module {
    name: "business-rules",
    title: "Business rules",
    requires: &["api-keys", "auth", "notifications"],
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    navigation: navigation::NAVIGATION,
    nav_titles: navigation::NAV_TITLES,
    config_sections: &["business_rules"],
    seals_secrets: true,
    rate_limits: http::RATE_LIMITS,
    migrations: Some(MIGRATIONS),
    monthly_tables: &[query::logs::TABLE],
    routes: http::routes,
    register,
    start,
    background: |runtime| {
        let cache = runtime.platform.provided().get::<compiled::RuleCache>()?;
        Some(Box::pin(cache.watch(runtime)))
    },
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry
        .extend(texts::NOTIFIED)
        .extend(texts::FAILED)
        .extend(model::WEBHOOK_SECRET)
        .extend(header_values::HEADER_VALUE)
        .entity::<model::Rule>()
        .entity::<model::RuleSet>()
        .entity::<model::SetMember>()
        .entity::<model::Run>()
        .entity::<model::WebhookSecret>()
        .entity::<model::WebhookDelivery>()
        .command::<commands::CreateRule>()
        .command::<commands::UpdateRule>()
        .command::<commands::DeleteRule>()
        .command::<commands::CreateSet>()
        .command::<commands::UpdateSet>()
        .command::<commands::DeleteSet>()
        .command::<commands::CreateMember>()
        .command::<commands::UpdateMember>()
        .command::<commands::DeleteMember>()
        .command::<commands::RecordRun>()
        .command::<commands::CreateWebhookSecret>()
        .command::<commands::DeleteWebhookSecret>()
        .command::<commands::RetryWebhookDelivery>()
        .interceptor(interceptors::KEEP_ORGANIZATIONS_WITH_RULES)
        .interceptor(guard::GUARD)
        .deferred_work::<guard::GuardRun>(|tx, guard_runs| Box::pin(guard::write_allowed(tx, guard_runs)))
        .subscribe(events::START_RULES)
        .job::<jobs::RunRules>()
        .job::<platform_calls::CallPlatform>()
        .job::<jobs::EraseOld>()
        .job::<jobs::EraseWebhooks>()
        .job::<jobs::EraseHeaderValues>()
        .job::<webhooks::SendWebhooks>()
        .schedule::<jobs::EraseOld>(jobs::ERASE_SCHEDULE, jobs::ERASE_EVERY)
        .schedule::<jobs::EraseWebhooks>(jobs::ERASE_WEBHOOKS_SCHEDULE, jobs::ERASE_EVERY)
        .schedule::<jobs::EraseHeaderValues>(jobs::ERASE_HEADER_VALUES_SCHEDULE, jobs::ERASE_HEADER_VALUES_EVERY);
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    let config: RulesConfig = startup.config().section("business_rules")?;
    startup.vault()?;
    let egress = Egress::of_config(startup.config())?;
    startup.provide(Arc::new(webhooks::Sender::new(egress)));
    startup.provide(Arc::new(config.checked()?));
    startup.provide(Arc::new(compiled::new_cache()));
    startup.provide(Arc::new(condition::Patterns::default()));
    startup.provide(Arc::new(condition::SearchThreads::default()));
    startup.provide(Arc::new(engine::lines::LineLog::default()));
    startup.provide(Arc::new(http::RunningExecutions::default()));
    startup.provide(Arc::new(http::ExecutionSlots::default()));
    startup.provide(Arc::new(platform_calls::CallableEndpoints::default()));
    Ok(())
}
