//! Tests of this module over HTTP.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod bulk;
mod bulk_items;
mod companies;
mod deal_history;
mod deal_lists;
mod deal_references;
mod deals;
mod fixture;
mod parties;
mod party_access;
mod people;
mod pipelines;
mod races;
mod restored_owners;
mod stages;
