//! Reads. Every statement starts from a scope, except the one that finds the tenant of a key.

pub(crate) mod identity;
pub mod keys;
