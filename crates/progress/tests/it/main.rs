//! The module over HTTP and a real database.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod cancelling;
mod deferred;
mod failures;
mod fixture;
mod list;
mod people;
mod recovery;
mod retention;
mod rights;
mod run;
mod sample;
mod start;
mod turns;
mod visibility;
