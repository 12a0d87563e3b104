//! The module over HTTP.

mod activity;
mod fixture;
mod invitations;
mod limits;
mod list;
mod resend;
mod roles;
mod seeded;
