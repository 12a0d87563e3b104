//! Reads. Every statement begins with a scope.

pub mod attachments;
pub mod fields;
pub mod library;
pub mod partitions;
pub mod staged;
pub mod usage;
