//! Tests of the customers over HTTP.

mod bulk;
mod companies;
mod deal_history;
mod deal_lists;
mod deal_references;
mod deals;
mod parties;
mod party_access;
mod people;
mod pipelines;
mod stages;
mod world;
