//! Reads. Every statement starts from a scope.

pub mod consents;
pub mod identity;
pub mod rights;
pub mod roles;
pub mod sidebar;
pub mod users;
