//! Tests of the platform with all its modules.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod attachments;
mod audit;
mod bad_input;
mod bounds;
mod browser;
mod bulk;
mod call;
mod catalog;
mod collections;
mod composed;
mod composition;
mod customers;
mod database_rights;
mod devices;
mod endpoints;
mod events;
mod fixture;
mod headers;
mod history;
mod idempotency;
mod isolation;
mod names;
mod notifications;
mod onboarding;
mod only_commands;
mod pairs;
mod parallel;
mod platform_user;
mod privileges;
mod progress;
mod random;
mod rate_limits;
mod rejections;
mod revocation;
mod scenarios;
mod searches;
mod statements;
mod transactions;
mod undo_invariants;
