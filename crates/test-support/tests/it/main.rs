//! Tests of the test support, and through it of what core does without any module.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod attempts;
mod bodies;
mod connections;
mod database;
mod depth;
mod files;
mod http;
mod internal;
mod isolation;
mod jobs;
mod proxy;
mod raw;
mod responses;
mod sample;
mod sweep;
mod tls;
mod uploads;
mod vault;
