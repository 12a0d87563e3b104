//! The directory over HTTP.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod lookups;
mod organizations;
mod sign_in;
mod switcher;
mod tenants;
mod undo;
