//! The program as its callers see it.

mod configuration;
#[cfg(feature = "auth")]
mod crash;
#[cfg(feature = "auth")]
mod directory;
mod init;
mod inspection;
#[cfg(feature = "auth")]
mod pages;
mod support;
