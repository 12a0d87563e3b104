//! Reads. Every statement begins with a scope.

pub(crate) mod absent;
pub mod attachments;
pub(crate) mod check;
pub(crate) mod extraction;
pub mod fields;
pub mod library;
pub mod links;
pub mod partitions;
pub(crate) mod relocation;
pub mod staged;
pub mod usage;
