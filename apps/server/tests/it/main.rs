//! The program as its callers see it.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

#[cfg(feature = "api-keys")]
mod api_keys;
#[cfg(feature = "attachments")]
mod attachments;
#[cfg(all(feature = "customers", feature = "catalog"))]
mod bulk;
#[cfg(all(feature = "auth", feature = "events"))]
mod cluster;
mod configuration;
#[cfg(feature = "auth")]
mod connection;
#[cfg(feature = "auth")]
mod crash;
#[cfg(feature = "auth")]
mod dead_letters;
#[cfg(feature = "auth")]
mod directory;
mod disabled_modules;
#[cfg(feature = "auth")]
mod edge;
#[cfg(all(feature = "auth", feature = "attachments"))]
mod encoding;
mod extraction;
mod init;
mod inspection;
#[cfg(feature = "auth")]
mod jobs;
#[cfg(all(feature = "customers", feature = "catalog"))]
mod killed_jobs;
#[cfg(feature = "auth")]
mod killed_reads;
#[cfg(all(feature = "auth", feature = "onboarding", feature = "customers", feature = "catalog"))]
mod killed_sign_ups;
#[cfg(all(feature = "auth", feature = "attachments"))]
mod killed_uploads;
#[cfg(all(feature = "business-rules", feature = "customers", feature = "catalog"))]
mod killed_webhooks;
mod migrate;
#[cfg(feature = "auth")]
mod office;
#[cfg(all(feature = "auth", feature = "onboarding"))]
mod onboarding;
#[cfg(all(feature = "auth", feature = "events"))]
mod outage;
#[cfg(feature = "auth")]
mod pages;
mod pooler;
#[cfg(feature = "auth")]
mod rejections;
#[cfg(all(feature = "api-keys", feature = "events"))]
mod replicas;
mod role_powers;
#[cfg(feature = "auth")]
mod server;
#[cfg(feature = "auth")]
mod signals;
mod sources;
#[cfg(all(feature = "auth", feature = "events"))]
mod stream;
#[cfg(all(feature = "customers", feature = "catalog"))]
mod struck_workers;
mod support;
#[cfg(feature = "auth")]
mod users;
