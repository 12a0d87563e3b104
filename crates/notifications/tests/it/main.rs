//! Notifications over HTTP, on a database of its own for each test.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod channels;
mod erasure;
mod fixture;
mod listing;
mod mails;
mod marks;
mod preferences;
mod sending;
