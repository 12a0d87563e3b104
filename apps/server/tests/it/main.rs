//! The program as its callers see it.

mod configuration;
#[cfg(feature = "auth")]
mod crash;
mod inspection;
mod support;
