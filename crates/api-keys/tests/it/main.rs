//! API keys over HTTP, on a database of its own for each test.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod caller;
mod credentials;
mod dependencies;
mod fixture;
mod keys;
mod retention;
mod secrets;
