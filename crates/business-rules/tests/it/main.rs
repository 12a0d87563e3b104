//! The module over HTTP.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod documents;
mod dry_runs;
mod effects;
mod erasure;
mod events;
mod execution;
mod fixture;
mod guards;
mod header_values;
mod kept_values;
mod limits;
mod links;
mod local_dates;
mod logs;
mod messages;
mod months;
mod nodes;
mod options;
mod platform_calls;
mod random_rules;
mod receiver;
mod recipients;
mod repeats;
mod rules;
mod sets;
mod several_records;
mod slots;
mod texts;
mod time_limits;
mod webhooks;
mod whole_tenant;
