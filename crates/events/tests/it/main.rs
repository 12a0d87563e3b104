//! Delivery of events to subscribers and browsers.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod crash;
mod crowd;
mod delivery;
mod last_writes;
mod outage;
mod retention;
mod sample;
mod stream;
