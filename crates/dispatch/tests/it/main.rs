//! The module over HTTP.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod access;
mod assignments;
mod bulk;
mod calendar;
mod conflicts;
mod dates;
mod fixture;
mod history;
mod job_sites;
mod lists;
mod notifications;
mod organizations;
mod resources;
mod revivals;
