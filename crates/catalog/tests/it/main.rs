//! The catalog over HTTP, on a database of its own for each test.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod bulk;
mod categories;
mod fixture;
mod inputs;
mod lists;
mod own_organizations;
mod prices;
mod products;
mod rights;
mod undo;
mod variants;
