//! Consents of users: what they agreed to or withdrew.

pub(crate) mod commands;
pub(crate) mod http;
pub(crate) mod integrity;
pub(crate) mod model;
pub mod query;
