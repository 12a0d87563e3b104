//! The module over HTTP.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod activity;
mod fixture;
mod invitations;
mod limits;
mod list;
mod resend;
mod roles;
mod seeded;
