//! The program as its callers see it.

#[cfg(feature = "api-keys")]
mod api_keys;
mod configuration;
#[cfg(feature = "auth")]
mod crash;
#[cfg(feature = "auth")]
mod dead_letters;
#[cfg(feature = "auth")]
mod directory;
mod init;
mod inspection;
#[cfg(feature = "auth")]
mod pages;
mod support;
