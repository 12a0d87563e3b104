//! Tests of the platform with all its modules.

mod audit;
mod bad_input;
mod bounds;
mod browser;
mod bulk;
mod call;
mod catalog;
mod composition;
mod customers;
mod endpoints;
mod events;
mod history;
mod idempotency;
mod isolation;
mod only_commands;
mod parallel;
mod platform_user;
mod privileges;
mod progress;
mod random;
mod rate_limits;
mod revocation;
mod scenarios;
mod transactions;
mod undo_law;
mod world;
