//! Tests of the customers over HTTP.

mod companies;
mod deals;
mod parties;
mod people;
mod pipelines;
mod stages;
mod world;
