//! The module over HTTP.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod administration;
mod concurrency;
mod crashes;
mod erasure;
mod examples;
mod fixture;
mod form;
mod pages;
mod provisioning;
mod status;
mod submission;
mod verification;
