//! Devices over HTTP, on a database of its own for each test.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod fixture;
mod push;
mod registration;
mod rights;
mod tokens;
