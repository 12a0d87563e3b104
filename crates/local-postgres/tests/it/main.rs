//! Runs real clusters with the PostgreSQL of this machine, as root and as an ordinary user.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod access;
mod exclusive;
mod restart;
mod shared;
mod support;
mod takeover;
